//! What a reader found, and where.

use regex::Regex;

/// A failure in one tool's words, nothing masked yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::reflection) struct Found {
    /// The tool.
    pub tool: &'static str,
    /// Error code or exception type.
    pub code: Option<String>,
    /// The first line of what is wrong.
    pub message: Option<String>,
    /// What was expected and what came instead, if the output says so.
    pub detail: Option<String>,
    /// Failing tests.
    pub tests: Vec<String>,
    /// Where, inside the project.
    pub frame: Option<Frame>,
    /// The last line, counted from 0, that only this tool prints.
    pub last_mark: usize,
}

/// A place in the project's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::reflection) struct Frame {
    /// As printed: relative, or absolute inside a workspace whose place nobody knows here.
    pub file: String,
    /// From 1.
    pub line: Option<String>,
    /// The function, where the tool names it.
    pub function: Option<String>,
}

impl Frame {
    /// A place without a function.
    pub(super) fn new(file: &str, line: Option<&str>) -> Self {
        Self { file: file.strip_prefix("./").unwrap_or(file).to_owned(), line: line.map(str::to_owned), function: None }
    }

    /// The same place, in a function.
    pub(super) fn within(mut self, function: Option<&str>) -> Self {
        self.function = function.filter(|name| !name.starts_with('<')).map(str::to_owned);
        self
    }
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = &self.line {
            write!(f, ":{line}")?;
        }
        match &self.function {
            Some(function) => write!(f, " in {function}"),
            None => Ok(()),
        }
    }
}

/// Whether a path is the project's own, and not a toolchain's, a system's or a dependency's.
pub(super) fn in_project(path: &str) -> bool {
    const FOREIGN: [&str; 18] = [
        "/rustc/",
        "/.cargo/registry/",
        "/.cargo/git/",
        "/.rustup/",
        "/site-packages/",
        "/dist-packages/",
        "/lib/python3",
        "/.pyenv/versions/",
        "node_modules/",
        "node:",
        "/usr/lib/",
        "/usr/local/lib/",
        "/usr/local/go/",
        "/usr/include/",
        "/go/pkg/mod/",
        "/library/std/src/",
        "webpack-internal:",
        // The root of what was built to be the same everywhere: .NET's own packages.
        "/_/",
    ];
    !path.starts_with('<') && !FOREIGN.iter().any(|part| path.contains(part))
}

/// The captures of the last line that matches, with its index.
pub(super) fn last_match(lines: &[&str], pattern: &Regex) -> Option<usize> {
    lines.iter().rposition(|line| pattern.is_match(line))
}

/// The first capture group of every line that matches, without duplicates, sorted.
pub(super) fn names(lines: &[&str], pattern: &Regex) -> Vec<String> {
    let mut names: Vec<String> =
        lines.iter().filter_map(|line| Some(pattern.captures(line)?.get(1)?.as_str().trim().to_owned())).collect();
    names.sort();
    names.dedup();
    names
}

/// The lines behind the first one that `starts`, up to the next one that `ends`.
pub(super) fn section<'a, 't>(
    lines: &'a [&'t str],
    starts: impl Fn(&str) -> bool,
    ends: impl Fn(&str) -> bool,
) -> Option<&'a [&'t str]> {
    let start = lines.iter().position(|line| starts(line))? + 1;
    let rest = &lines[start..];
    let end = rest.iter().position(|line| ends(line)).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Joins what there is with `; `; none if there is nothing.
pub(super) fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A regular expression compiled at its first use.
macro_rules! pattern {
    ($visible:vis $name:ident, $pattern:expr) => {
        $visible static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($pattern).expect("a constant pattern; a test compiles every one")
        });
    };
}
pub(super) use pattern;
