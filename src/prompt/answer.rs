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
/// # use reflexion::prompt::{Wholeness, read_answer};
/// let answer = read_answer("Fixed.\n\n`src/a.py`:\n```python\nx = 1\n```\n", Wholeness::Whole)?;
/// assert_eq!((answer.files[0].path.as_str(), answer.files[0].text.as_str()), ("src/a.py", "x = 1\n"));
/// # Ok::<(), reflexion::prompt::AnswerError>(())
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
        let text = |from: usize| body[from..].iter().map(|line| format!("{line}\n")).collect::<String>();
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
        Some((label, rest))
            if ["file", "path", "filename", "file name"].contains(&label.to_ascii_lowercase().as_str()) =>
        {
            rest
        }
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
    let mut paths = line.split('`').skip(1).step_by(2).filter_map(bare_path);
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
    bare_path(text)
}

/// The path of a text that is one, without its quotes.
fn bare_path(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['`', '"', '\'']);
    looks_like_path(text).then(|| text.to_owned())
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
