//! Which files of a project a command line runs as programs. Pure.

use crate::domain::FileGlobs;

/// Programs that run a program of which they are given the name.
pub(super) const INTERPRETERS: [&str; 16] = [
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "python", "python2", "python3", "node", "ruby", "perl", "php",
    "deno", "bun",
];

/// What may stand before the program of a command.
const BEFORE_A_PROGRAM: [&str; 14] =
    ["env", "exec", "time", "command", "nice", "nohup", "if", "then", "else", "elif", "while", "until", "do", "!"];

/// Options with which an interpreter only reads the file behind them (`bash -n`, `php -l`, `node --check`), or runs something else than it.
const ONLY_READS: [&str; 5] = ["-m", "-c", "-n", "-l", "--check"];

/// Whether a command line runs this file as a program; a file that it only reads is the work.
///
/// Whatever stands before an interpreter (`timeout 60 sh`, `if sh`, `! sh`, `uv run python`) or among its options leaves it one. A pattern
/// (`sh checks/*.sh`, `sh checks/$name.sh`) runs all files that it may mean. Where nothing says what is run (`sh $f` in a loop, `xargs sh`,
/// `-exec sh {}`, `… | sh`), it may be whatever else the line names.
pub(super) fn runs(command: &str, file: &str) -> bool {
    let simple = simple_commands(command);
    simple.iter().any(|part| part.runs(file))
        || simple.iter().any(|part| part.runs_anything(command)) && simple.iter().any(|part| part.names(file))
        // A name with a blank is none of the words.
        || file.contains(char::is_whitespace) && command.replace('\\', "").contains(file)
}

fn simple_commands(command: &str) -> Vec<Simple<'_>> {
    let (mut found, mut start, mut is_piped) = (Vec::new(), 0, false);
    for (at, c) in command.char_indices().filter(|(_, c)| matches!(c, '\n' | ';' | '&' | '|' | '(' | ')' | '`')) {
        found.push(Simple::of(&command[start..at], is_piped));
        // Of `||` the second has nothing before it.
        is_piped = c == '|' && start != at;
        start = at + 1;
    }
    found.push(Simple::of(&command[start..], is_piped));
    found
}

/// A simple command, in words without quotes.
struct Simple<'c> {
    words: Vec<&'c str>,
    /// Where its interpreter stands, if it has one.
    interpreter: Option<usize>,
    /// It reads what the one before it prints.
    is_piped: bool,
}

impl<'c> Simple<'c> {
    fn of(part: &'c str, is_piped: bool) -> Self {
        let is_between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '\\' | '<' | '>');
        let words: Vec<&str> = part.split(is_between).filter(|word| !word.is_empty()).collect();
        // Elsewhere, a dot is a directory.
        let is_program = |at: usize| words[..at].iter().all(|word| is_setting(word));
        let interpreter = (0..words.len()).find(|at| {
            INTERPRETERS.contains(&name(words[*at])) && (!matches!(words[*at], "." | "source") || is_program(*at))
        });
        Self { words, interpreter, is_piped }
    }

    /// What is no setting: of programs that are not known, what they are given is the work.
    fn program(&self) -> Option<&str> {
        self.words.iter().find(|word| !is_setting(word)).copied()
    }

    /// The words among which the script is that an interpreter is given.
    fn script(&self) -> &[&'c str] {
        let Some(at) = self.interpreter else { return &[] };
        // What follows the first path is for the program that this is. Values of options look like none.
        let words = &self.words[at + 1..];
        let end = words.iter().position(|word| !word.starts_with('-') && word.contains(['.', '/', '$', '*', '{']));
        &words[..end.map_or(words.len(), |end| end + 1)]
    }

    fn only_reads(&self) -> bool {
        self.script().iter().any(|word| ONLY_READS.contains(word))
    }

    fn runs(&self, file: &str) -> bool {
        let module = self.interpreter.filter(|at| name(self.words[*at]).starts_with("python"));
        let module = module.and_then(|at| self.words[at..].iter().skip_while(|word| **word != "-m").nth(1));
        let by_interpreter = match module {
            // `python -m qa.all`
            Some(module) => {
                let module = module.replace('.', "/");
                is_file(&format!("{module}.py"), file) || is_file(&format!("{module}/__main__.py"), file)
            }
            None => {
                self.script().iter().any(|word| is_file(word, file) && !(self.only_reads() && pattern(word).is_some()))
            }
        };
        // What begins with a pattern is no command, but the text of a script in another language: `glob("src/*.py")`.
        let program = self.program().map(plain_path).filter(|program| pattern(program).is_none());
        by_interpreter || program.is_some_and(|program| is_file(&program, file))
    }

    /// Whether nothing in it says what it runs.
    fn runs_anything(&self, command: &str) -> bool {
        match self.interpreter {
            Some(at) if self.script().iter().all(|word| word.starts_with('-')) => {
                let is_given = |word: &&str| matches!(*word, "xargs" | "parallel" | "-exec" | "-execdir");
                self.is_piped || self.words[..at].iter().any(is_given)
            }
            // What settings are read from is no check.
            Some(at) if self.only_reads() || matches!(self.words[at], "." | "source") => false,
            Some(_) => self.script().last().is_some_and(|word| is_open(word)),
            // What a loop goes through.
            None => self.program().filter(|program| is_open(program)).is_some_and(|program| {
                let variable = program.rsplit('$').next().unwrap_or_default().trim_matches(['{', '}']);
                let words = || command.split(|c: char| c.is_whitespace() || c == ';');
                words().zip(words().skip(1)).any(|(word, next)| matches!(word, "for" | "read") && next == variable)
            }),
        }
    }

    /// Whether a word of it is this file, a pattern of it, or a directory that it is in.
    fn names(&self, file: &str) -> bool {
        // `HEAD:tools/check.sh`, `CHECK=tools/check.sh`
        self.words.iter().flat_map(|word| word.split([':', '='])).any(|word| {
            let dir = word.trim_start_matches("./").trim_end_matches('/');
            let is_below = !dir.is_empty() && file.strip_prefix(dir).is_some_and(|below| below.starts_with('/'));
            !is_open(word) && (is_below || is_file(word, file))
        })
    }
}

fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_setting(word: &str) -> bool {
    word.contains('=') || BEFORE_A_PROGRAM.contains(&word)
}

/// The pattern of what a word may mean: a shell, or who calls it, puts something in place of a variable.
fn pattern(word: &str) -> Option<String> {
    let has_brackets = word.find('[').is_some_and(|at| word[at..].contains(']'));
    if !has_brackets && !word.contains(['*', '?', '$', '{']) {
        return None;
    }
    let mut pattern = String::new();
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' => {
                let is_of_name = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '{' | '}' | '@' | '*');
                while rest.next_if(is_of_name).is_some() {}
                pattern.push('*');
            }
            // One of several, which are words of their own here.
            '{' | '}' | '[' | ']' => pattern.push('*'),
            _ => pattern.push(c),
        }
    }
    Some(pattern)
}

/// Whether a word may mean any file.
fn is_open(word: &str) -> bool {
    pattern(word).is_some_and(|pattern| pattern.chars().all(|c| matches!(c, '*' | '?' | '/' | '.')))
}

/// A path without what leads nowhere: `.`, `..` with the directory before it, and what stands for the directory in which a command is run.
pub(super) fn plain_path(word: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in word.split('/') {
        match part {
            "" | "." => {}
            // Names are compared without case here and there.
            of_shell if ["$pwd", "${pwd}"].contains(&of_shell.to_lowercase().as_str()) => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_file(word: &str, file: &str) -> bool {
    let word = plain_path(word);
    let word = word.as_str();
    match pattern(word) {
        Some(pattern) if !is_open(word) => {
            FileGlobs::new(&[pattern.clone(), format!("**/{pattern}")]).is_ok_and(|globs| globs.has(file))
        }
        Some(_) => false,
        None => {
            let before = file.strip_suffix(word);
            !word.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_runs_is_known_by_its_file() {
        let check = |command: &str, file: &str, expected: bool| {
            assert_eq!(runs(command, file), expected, "{command:?} and {file}");
        };
        check("./qa/all.sh", "qa/all.sh", true);
        check("A=1 sh -e qa/all.sh && echo", "qa/all.sh", true);
        check(". qa/all.sh", "qa/all.sh", true);
        check("set -e; source ./qa/all.sh", "qa/all.sh", true);
        check("python3 -m qa.all", "qa/all.py", true);
        check("python3 -m qa", "qa/__main__.py", true);
        check("python3 -m unittest", "shop.py", false);
        check("grep -q right answer.txt", "answer.txt", false);
        check("sh qa/all.sh", "other/qa/all.sh.txt", false);
        for command in [
            "timeout 60 sh qa/all.sh",
            "if sh qa/all.sh; then true; fi",
            "! sh qa/all.sh",
            "bash -o pipefail qa/all.sh",
        ] {
            check(command, "qa/all.sh", true);
        }
        check("python3 -X dev qa/all.py cases.py", "qa/all.py", true);
        check("python3 qa/all.py cases.py", "cases.py", false);
        check("python3 -m mypy shop.py", "shop.py", false);
        check("ruff check . shop.py", "shop.py", false);
    }

    #[test]
    fn what_is_run_by_a_pattern_or_by_a_loop_is_whatever_that_may_mean() {
        let check = |command: &str, file: &str, expected: bool| {
            assert_eq!(runs(command, file), expected, "{command:?} and {file}");
        };
        for command in [
            "bash checks/*.sh",
            "for f in checks/*.sh; do sh $f || exit 1; done",
            "for t in checks/*; do \"$t\" || exit 1; done",
            "for n in one two; do sh checks/$n.sh; done",
            "sh checks/${NAME}.sh",
            "ls checks | while read f; do sh checks/$f || exit 1; done",
            "find checks -name '*.sh' -exec sh {} +",
            "find checks -name '*.sh' | xargs -n1 sh",
            "git show HEAD:checks/a.sh | sh",
            "for f in $1/*.sh; do sh $f || exit 1; done",
            "sh checks/a.sh>/dev/null",
            "sh <checks/a.sh",
            "sh $PWD/checks/a.sh",
            "cd sub && ../checks/a.sh",
            "sh lib/../checks//a.sh",
            "CHECK=checks/a.sh; sh $CHECK",
            "python3 -c \"exec(open(\\\"checks/a.sh\\\").read())\"",
        ] {
            check(command, "checks/a.sh", true);
            check(command, "lib/a.py", false);
        }
        check("sh 'my checks/a.sh'", "my checks/a.sh", true);
        check("sh my\\ checks/a.sh", "my checks/a.sh", true);
        check("for f in src/*.py; do python3 -m py_compile $f || exit 1; done", "src/a.py", false);
        check("bash -n scripts/*.sh && for f in lib/*.php; do php -l $f; done", "scripts/a.sh", false);
        check("find src -name '*.js' -exec node --check {} +", "src/a.js", false);
        // Scripts in other languages list what they read.
        check("for path in glob.glob(\"src/*.py\"):\n    ast.parse(open(path).read())", "src/a.py", false);
        check("files = Path(\"src\").rglob(\"*.py\")\nrun([\"sh\", f])", "src/f.py", false);
        // Compilers and linters only read what they are given.
        check("for f in src/*.c; do cc -c $f || exit 1; done; ./run.sh", "src/a.c", false);
        check("cc src/*.c -o app && ./app", "src/a.c", false);
        check("command -v python3 && make -C src check", "src/a.py", false);
        check("$PYTHON -m pytest src", "src/a.py", false);
        check("test -x node || exit 1; npm test --prefix src", "src/a.js", false);
        check("for i in 1 2 3; do sh check.sh $i src; done", "src/a.sh", false);
    }
}
