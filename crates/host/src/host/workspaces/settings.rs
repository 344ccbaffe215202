//! Git's settings, as `git config --list -z` prints them and as a configuration file has them.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Sections that decide what is written to files and recorded of them, and how a filter (`git lfs`) finds its content.
const OF_FILES: [&str; 8] = ["credential", "filter", "http", "lfs", "merge", "remote", "url", "user"];
/// The same of section `core`. No program, and no place where git looks for programs or files.
const OF_CORE: [&str; 9] = [
    "autocrlf",
    "bigfilethreshold",
    "checkroundtripencoding",
    "eol",
    "filemode",
    "precomposeunicode",
    "protecthfs",
    "protectntfs",
    "symlinks",
];
/// What makes a repository ask others for objects; ours has its objects from the user's, and asks nobody.
const OF_PARTIAL_CLONES: [&str; 2] = [".promisor", ".partialclonefilter"];
/// What belongs to the very repository that it stands in.
const OF_ONE_REPOSITORY: [&str; 10] =
    ["alias", "branch", "extensions", "fetch", "gc", "hook", "include", "includeif", "index", "maintenance"];

/// The sections that git knows, in lower case, from what `git help --config` lists.
pub(super) fn sections(listed: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(listed);
    text.lines().filter_map(|line| Some(line.split_once('.')?.0.trim().to_ascii_lowercase())).collect()
}

/// Keys in lower case (but for the middle part), and values; none is git's way to write `true`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings(Vec<(String, Option<String>)>);

impl Settings {
    /// From `git config --list -z`.
    pub(super) fn parse(listing: &[u8]) -> Self {
        let text = String::from_utf8_lossy(listing);
        let entries = text.split('\0').filter(|entry| !entry.is_empty());
        Self(
            entries
                .map(|entry| match entry.split_once('\n') {
                    Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                    None => (entry.to_owned(), None),
                })
                .collect(),
        )
    }

    /// The value that counts: the last one.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == key)?.1.as_deref()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// Adds one behind the others.
    pub(super) fn set(&mut self, key: &str, value: impl Into<String>) {
        self.0.push((key.to_owned(), Some(value.into())));
    }

    /// What decides about files: all that a repository of the runtime's own takes over from the user's. Sections that git does not know
    /// (it knows `known`) say nothing to git itself: filters ask for them, such as `transcrypt` for its password, and would take its absence
    /// for an empty one.
    pub(super) fn of_files(&self, known: &BTreeSet<String>) -> Self {
        let is_unknown =
            |section: &str| !known.is_empty() && !known.contains(section) && !OF_ONE_REPOSITORY.contains(&section);
        self.only(|key| match key.split_once('.') {
            Some(("core", name)) => OF_CORE.contains(&name),
            Some((section, _)) => OF_FILES.contains(&section) || is_unknown(section),
            None => false,
        })
    }

    /// What an agent's repository takes over from the user's: all but what belongs to that one alone.
    pub(super) fn of_agents(&self) -> Self {
        self.only(|key| match key.split_once('.') {
            Some(("core", name)) => OF_CORE.contains(&name),
            Some((section, _)) => !OF_ONE_REPOSITORY.contains(&section),
            None => false,
        })
    }

    /// Without those that have these keys.
    pub(super) fn without(&self, is_out: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(key, _)| !is_out(key)).cloned().collect())
    }

    fn only(&self, takes: impl Fn(&str) -> bool) -> Self {
        let takes = |key: &str| takes(key) && !OF_PARTIAL_CLONES.iter().any(|end| key.ends_with(end));
        Self(self.0.iter().filter(|(key, _)| takes(key)).cloned().collect())
    }

    /// As a file [git-config(1), Syntax]. A key that no file can hold is left out.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.0 {
            let Some((section, rest)) = key.split_once('.') else { continue };
            let (below, name) = match rest.rsplit_once('.') {
                Some((below, name)) => (Some(below), name),
                None => (None, rest),
            };
            if below.is_some_and(|below| below.contains('\n')) {
                continue;
            }
            let heading = below.map_or_else(|| section.to_owned(), |below| format!("{section} {}", quoted(below)));
            let value = value.as_ref().map_or_else(String::new, |value| format!(" = {}", quoted(value)));
            // Writing to a text never fails.
            let _ = writeln!(text, "[{heading}]\n\t{name}{value}");
        }
        text
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_reads_what_it_has_listed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            let out = git.args(["config", "--file"]).arg(&file).args(args).output().unwrap();
            assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
            out.stdout
        };
        let odd = " a \"quoted\" \\ value;\n# on two lines\t";
        for (key, value) in [
            ("core.autocrlf", "input"),
            ("remote.or\"ig.in.url", odd),
            ("filter.lfs.clean", "git-lfs clean -- %f"),
            ("alias.x", "!rm -rf /"),
            ("core.fsmonitor", "evil"),
            ("core.worktree", "/elsewhere"),
            ("remote.origin.promisor", "true"),
            ("user.name", "A B"),
            ("pull.rebase", "true"),
            ("transcrypt.password", "secret"),
        ] {
            git(&[key, value]);
        }
        std::fs::write(&file, [std::fs::read(&file).unwrap(), b"[filter \"lfs\"]\n\trequired\n".to_vec()].concat())
            .unwrap();
        let all = Settings::parse(&git(&["--list", "-z"]));
        assert_eq!(all.get("remote.or\"ig.in.url"), Some(odd));
        let known = sections(&std::process::Command::new("git").args(["help", "--config"]).output().unwrap().stdout);
        let of_files = all.of_files(&known);
        std::fs::write(&file, of_files.render()).unwrap();
        let read = Settings::parse(&git(&["--list", "-z"]));
        assert_eq!(read, of_files);
        let keys: Vec<&str> = read.0.iter().map(|(key, _)| key.as_str()).collect();
        let expected = [
            "core.autocrlf",
            "remote.or\"ig.in.url",
            "filter.lfs.clean",
            "filter.lfs.required",
            "user.name",
            "transcrypt.password",
        ];
        let mut sorted = (keys.clone(), expected);
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        assert_eq!(sorted.0, sorted.1);
        let agents = all.of_agents();
        assert_eq!((agents.get("pull.rebase"), agents.get("core.fsmonitor")), (Some("true"), None));
        assert_eq!((agents.get("alias.x"), agents.get("remote.origin.promisor")), (None, None));
    }
}
