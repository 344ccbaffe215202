//! The reader of an answer that consists of whole files.

/// Languages of blocks that show commands, output or differences; such a block is a file only where its path is
/// unmistakable.
const NOT_FILES: [&str; 14] = [
    "bash",
    "sh",
    "shell",
    "zsh",
    "console",
    "terminal",
    "text",
    "txt",
    "plaintext",
    "output",
    "log",
    "diff",
    "patch",
    "shell-session",
];

/// Files that have neither a slash nor a dot in their path.
const BARE_NAMES: [&str; 9] =
    ["Makefile", "Dockerfile", "Justfile", "Gemfile", "Rakefile", "Procfile", "LICENSE", "README", "CODEOWNERS"];

/// Endings of files that are written by hand. In a sentence or a comment a dotted word may be code (`self.total`), so
/// without a slash only these make it a path.
const ENDINGS: [&str; 64] = [
    "bash", "c", "cc", "cfg", "clj", "cpp", "cs", "css", "csv", "dart", "el", "env", "erl", "ex", "exs", "go",
    "gradle", "h", "hpp", "hs", "html", "ini", "java", "jl", "js", "json", "jsx", "kt", "lua", "m", "md", "mjs", "cjs",
    "ml", "nim", "php", "pl", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql",
    "svelte", "swift", "tcl", "tf", "toml", "ts", "tsx", "txt", "vim", "vue", "xml", "yaml", "yml", "zig", "lock",
];

/// Languages that look like file names.
const DOTTED_LANGUAGES: [&str; 4] = ["asp.net", "vb.net", "f#.net", "node.js"];

/// What an answer holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answered {
    /// The files, in the order of the answer; of two with one path the later.
    pub files: Vec<AnsweredFile>,
    /// Code blocks without a path, leaving out those that show commands or output.
    pub unnamed: Vec<String>,
}

/// A file of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredFile {
    /// The path as the answer has it; nothing is known of whether it may be written.
    pub path: String,
    /// The whole text, lines ended by `\n`.
    pub text: String,
}

/// An answer that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It was cut off inside a file.
    #[error("the answer was cut off inside {}; a higher `maxTokens` gives it more room", path.as_deref().map_or("a code block".to_owned(), |p| format!("`{p}`")))]
    CutOff {
        /// The file, if it has a path.
        path: Option<String>,
    },
}

/// Whether an answer is all that the model had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wholeness {
    /// It ended by itself; a fence that it forgot to close ends with it.
    Whole,
    /// It was cut off at the limit of tokens; a fence that is open then is half a file.
    CutOff,
}

/// Reads whole files out of a model's answer: fenced blocks (backticks or tildes, of any length from three on) with a
/// path in the info string (`` ```python src/a.py ``, `` ```src/a.py ``, `` ```py:src/a.py ``, `` ```py file=src/a.py ``), on the line before
/// (`src/a.py:`, `### src/a.py`, `**src/a.py**`, ``Here is `src/a.py`:``), or in a comment that is the first line.
///
/// # Errors
/// [`AnswerError::CutOff`] if the answer was cut off inside a block.
///
/// ```
/// # use reflexion_text::prompt::{Wholeness, read_answer};
/// let answer = read_answer("Fixed.\n\n`src/a.py`:\n```python\nx = 1\n```\n", Wholeness::Whole)?;
/// assert_eq!((answer.files[0].path.as_str(), answer.files[0].text.as_str()), ("src/a.py", "x = 1\n"));
/// # Ok::<(), reflexion_text::prompt::AnswerError>(())
/// ```
pub fn read_answer(text: &str, wholeness: Wholeness) -> Result<Answered, AnswerError> {
    let mut answered = Answered::default();
    let mut before = "";
    let mut gap = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = Fence::open(line) else {
            match line.trim() {
                "" => gap += 1,
                words => (before, gap) = (words, 0),
            }
            continue;
        };
        let mut body = Vec::new();
        let mut closed = false;
        for line in lines.by_ref() {
            if fence.is_closed_by(line) {
                closed = true;
                break;
            }
            body.push(fence.inside(line));
        }
        let named = name(&fence, if gap <= 1 { before } else { "" }, &body);
        if !closed && wholeness == Wholeness::CutOff {
            return Err(AnswerError::CutOff { path: named.map(|(path, _)| path) });
        }
        before = "";
        answered.add(&fence, named, &body);
    }
    Ok(answered)
}

impl Answered {
    fn add(&mut self, fence: &Fence<'_>, named: Option<(String, usize)>, body: &[&str]) {
        let text = |from: usize| body[from..].iter().flat_map(|line| [line, "\n"]).collect::<String>();
        match named {
            Some((path, skip)) => {
                self.files.retain(|file| file.path != path);
                self.files.push(AnsweredFile { path, text: text(skip) });
            }
            None if fence.shows_no_file() => {}
            None => self.unnamed.push(text(0)),
        }
    }
}

/// The path of a block, and how many of its lines are only there to say it.
fn name(fence: &Fence<'_>, before: &str, body: &[&str]) -> Option<(String, usize)> {
    let exact = path_in_info(fence.info).or_else(|| path_alone(before));
    if let Some(path) = exact {
        return Some((path, 0));
    }
    if fence.shows_no_file() {
        return None;
    }
    path_in_sentence(before).map(|path| (path, 0)).or_else(|| {
        let markdown = matches!(fence.language().as_str(), "md" | "markdown");
        path_in_comment(body.first()?).filter(|_| !markdown).map(|path| (path, 1))
    })
}

/// An opening fence.
struct Fence<'a> {
    indent: usize,
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn open(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        let is_code_span = mark == '`' && info.contains('`');
        (length >= 3 && !is_code_span).then(|| Self {
            indent: line.len() - text.len(),
            mark,
            length,
            info: info.trim(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }

    /// A line of the body without the fence's own indentation.
    fn inside<'b>(&self, line: &'b str) -> &'b str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        &line[spaces.min(self.indent)..]
    }

    fn language(&self) -> String {
        self.info.split([' ', ':', '{', ',']).next().unwrap_or_default().to_ascii_lowercase()
    }

    fn shows_no_file(&self) -> bool {
        NOT_FILES.contains(&self.language().as_str())
    }
}

/// `python src/a.py`, `src/a.py`, `py:src/a.py`, `py file="src/a.py"`, `{.python file=src/a.py}`.
fn path_in_info(info: &str) -> Option<String> {
    info.split_whitespace().enumerate().find_map(|(at, word)| {
        let word = word.trim_matches(['{', '}', ',']);
        if let Some((key, value)) = word.split_once('=') {
            let known = ["file", "filename", "filepath", "file_path", "path", "title", "name"];
            return known.contains(&key.to_ascii_lowercase().as_str()).then(|| bare_path(value)).flatten();
        }
        if let Some((_, path)) = word.split_once(':').filter(|(language, _)| !looks_like_path(language)) {
            return bare_path(path);
        }
        let language =
            at == 0 && (DOTTED_LANGUAGES.contains(&word.to_ascii_lowercase().as_str()) || word.starts_with('.'));
        let bare_name = at == 0 && BARE_NAMES.contains(&word);
        bare_path(word).filter(|_| !language && !bare_name)
    })
}

/// A line that is nothing but a path and its decoration: `### src/a.py`, `**src/a.py**:`, `1. File: src/a.py (new)`.
fn path_alone(line: &str) -> Option<String> {
    let mut text = line.trim_start_matches(['#', '>', '-', '*', '+', ' ']);
    if let Some((number, rest)) = text.split_once(['.', ')'])
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit())
    {
        text = rest;
    }
    let text = text.trim_matches(['*', '_', ' ', ':']);
    let text = match text.split_once([':', ' ']) {
        Some((label, rest)) if ["file", "path", "filename"].contains(&label.to_ascii_lowercase().as_str()) => rest,
        _ => text,
    };
    let text = text.trim_start_matches(['*', ' ', ':']);
    // What stands in brackets behind the path is said to people.
    let text = text.split_once(" (").filter(|(_, note)| note.ends_with([')', '*', ':'])).map_or(text, |(path, _)| path);
    bare_path(text.trim_matches(['*', ' ', ':']))
}

/// A sentence that leads to the block and names one path: ``Here is the whole `src/a.py`:``.
fn path_in_sentence(line: &str) -> Option<String> {
    let leads = line.ends_with(':') || line.starts_with('#');
    let mut paths = line.split('`').skip(1).step_by(2).filter_map(bare_path).filter(|path| is_surely_a_path(path));
    let path = paths.next().filter(|_| leads)?;
    paths.all(|other| other == path).then_some(path)
}

/// A first line that is a comment with a path in it and nothing else.
fn path_in_comment(line: &str) -> Option<String> {
    let line = line.trim();
    let marks = ["<!--", "/*", "//", "#", "--", ";", "%"];
    let mark = marks.into_iter().find(|mark| line.starts_with(mark))?;
    let text = line[mark.len()..].trim_end_matches("-->").trim_end_matches("*/").trim();
    let text = ["File:", "file:", "Path:", "path:", "filename:"]
        .into_iter()
        .find_map(|label| text.strip_prefix(label))
        .unwrap_or(text);
    bare_path(text).filter(|path| is_surely_a_path(path))
}

/// The path of a text that is one, without its quotes.
fn bare_path(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['`', '"', '\'']);
    looks_like_path(text).then(|| text.to_owned())
}

fn is_surely_a_path(path: &str) -> bool {
    path.contains('/')
        || path.rsplit_once('.').is_some_and(|(_, end)| ENDINGS.contains(&end.to_ascii_lowercase().as_str()))
}

fn looks_like_path(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@~[]()$".contains(c);
    let last = text.rsplit('/').next().unwrap_or(text);
    let has_ending = last.rsplit_once('.').is_some_and(|(_, end)| {
        (1..=12).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !end.chars().all(|c| c.is_ascii_digit())
    });
    !text.is_empty() && text.chars().all(plain) && (text.contains('/') || has_ending || BARE_NAMES.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(text: &str) -> Vec<(String, String)> {
        let answer = read_answer(text, Wholeness::Whole).unwrap();
        answer.files.into_iter().map(|file| (file.path, file.text)).collect()
    }

    fn file(path: &str, text: &str) -> (String, String) {
        (path.to_owned(), text.to_owned())
    }

    #[test]
    fn a_path_is_found_wherever_models_put_it() {
        let check = |text: &str| assert_eq!(files(text), [file("src/a.py", "x = 1\n")], "{text}");
        // The info string.
        check("```src/a.py\nx = 1\n```");
        check("```python src/a.py\nx = 1\n```\nDone.");
        check("```python:src/a.py\nx = 1\n```");
        check("``` py  file=src/a.py\nx = 1\n```");
        check("```python title=\"src/a.py\"\nx = 1\n```");
        check("```{.python filename='src/a.py'}\nx = 1\n```");
        check("~~~~python src/a.py\nx = 1\n~~~~");
        // The line before.
        check("`src/a.py`:\n```python\nx = 1\n```");
        check("src/a.py\n```\nx = 1\n```");
        check("### src/a.py\n\n```python\nx = 1\n```");
        check("**src/a.py**\n```python\nx = 1\n```");
        check("**`src/a.py`:**\n```python\nx = 1\n```");
        check("1. File: `src/a.py` (new)\n```python\nx = 1\n```");
        check("- src/a.py:\n  ```python\n  x = 1\n  ```");
        check("Here is the corrected file `src/a.py`:\n\n```python\nx = 1\n```");
        check("## The whole `src/a.py`\n```python\nx = 1\n```");
        // A comment, which is no line of the file.
        check("```python\n# src/a.py\nx = 1\n```");
        check("```\n// File: src/a.py\nx = 1\n```");
        check("```\n/* src/a.py */\nx = 1\n```");
        check("```\n<!-- src/a.py -->\nx = 1\n```");
        // Line ends of another system.
        check("`src/a.py`:\r\n```python\r\nx = 1\r\n```\r\n");
        // A fence that was forgotten.
        check("`src/a.py`:\n```python\nx = 1\n");
        // Of two with the same path the later counts.
        check("`src/a.py`:\n```\nold\n```\nand better `src/a.py`:\n```\nx = 1\n```");
    }

    #[test]
    fn a_block_that_shows_something_else_is_no_file() {
        let check = |text: &str, unnamed: &[&str]| {
            let answer = read_answer(text, Wholeness::Whole).unwrap();
            assert_eq!(answer.files, [], "{text}");
            assert_eq!(answer.unnamed, unnamed, "{text}");
        };
        check("", &[]);
        check("Nothing is to be done in `src/a.py`.", &[]);
        check("```python\nx = 1\n```", &["x = 1\n"]);
        check("Run `src/a.py` like this:\n```sh\npython src/a.py\n```", &[]);
        check("It prints:\n```text\n# a.py\n```", &[]);
        check("Instead of `self.total` write:\n```python\nself.sum\n```", &["self.sum\n"]);
        check("`a.py` calls `b.py`:\n```python\nb()\n```", &["b()\n"]);
        check("In `a.py` there is an error. Use this\n```python\nb()\n```", &["b()\n"]);
        check("a.py\n\n\n```python\nb()\n```", &["b()\n"]);
        check("```asp.net\nx\n```", &["x\n"]);
        check("```Makefile\nall:\n```", &["all:\n"]);
        check("```markdown\n# README.md\n```", &["# README.md\n"]);
        check("```python\n# the total\nx = 1\n```", &["# the total\nx = 1\n"]);
        check("a ```code span``` in a line\n", &[]);
    }

    #[test]
    fn several_files_and_fences_inside_fences() {
        let text = "Two files.\n\n````markdown docs/a.md\n# A\n```sh\nls\n```\n````\n\nMakefile:\n~~~\nall:\n\ttrue\n~~~\n\
                    ```rust src/empty.rs\n```\n";
        let expected =
            [file("docs/a.md", "# A\n```sh\nls\n```\n"), file("Makefile", "all:\n\ttrue\n"), file("src/empty.rs", "")];
        assert_eq!(files(text), expected);
    }

    #[test]
    fn half_a_file_is_an_error_and_whole_ones_before_it_are_not() {
        let cut = |text: &str| read_answer(text, Wholeness::CutOff).map(|answer| answer.files.len());
        assert_eq!(cut("`a.py`:\n```\nx\n```\nThis is because"), Ok(1));
        let error = cut("`a.py`:\n```\nx\n```\n`b.py`:\n```\ny").unwrap_err();
        assert!(error.to_string().starts_with("the answer was cut off inside `b.py`;"), "{error}");
        let error = cut("```\nx").unwrap_err();
        assert!(error.to_string().starts_with("the answer was cut off inside a code block;"), "{error}");
    }

    proptest! {
        #[test]
        fn no_answer_panics(text in "(```|~~~|`|a\\.py|src/|\n|\r\n| |:|#|//|<!--|=|\\{|ä|\\PC){0,40}") {
            for wholeness in [Wholeness::Whole, Wholeness::CutOff] {
                let _ = read_answer(&text, wholeness);
            }
        }

        #[test]
        fn what_is_written_as_asked_is_read_back(body in "([a-z#/` ]{0,12}\n){0,6}") {
            let ticks = "`".repeat(body.lines().map(|line| line.matches('`').count()).max().unwrap_or(0).max(2) + 1);
            let text = format!("`src/a.py`:\n{ticks}\n{body}{ticks}\n");
            prop_assert_eq!(files(&text), [file("src/a.py", &body)]);
        }
    }
}
