//! The files that a user's settings of git name: further settings, hooks, excluded files, templates, and programs.
//!
//! Read without git, whose answer depends on where it is asked: what is included under a condition counts, whether it holds or not.

use super::peek::first_bytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// No file of settings is longer.
const MOST_BYTES: u64 = 1 << 20;
/// Limit of files that are read; they may include each other.
const MOST_FILES: usize = 64;
/// Limit of files of a directory that is named.
const MOST_ENTRIES: usize = 256;

/// Keys of command lines.
const COMMANDS: [&str; 20] = [
    "askpass",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "diff",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "helper",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "receivepack",
    "smudge",
    "sshcommand",
    "textconv",
    "uploadpack",
];
/// What stands around the words of a command line.
const AROUND: &[char] = &['"', '\'', ';', '|', '&', '(', ')', '=', '<', '>', '`'];

/// What these files name, and what those name that they include.
pub(super) fn of(settings: impl Iterator<Item = PathBuf>, home: &Path) -> BTreeSet<PathBuf> {
    let (mut named, mut read) = (BTreeSet::new(), BTreeSet::new());
    let mut left: Vec<PathBuf> = settings.collect();
    while let Some(file) = left.pop() {
        if read.len() >= MOST_FILES || !read.insert(file.clone()) {
            continue;
        }
        let text = first_bytes(&file, MOST_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for (section, key, value) in values(&text) {
            let is_alias = section == "alias" && value.starts_with('!');
            if is_alias || COMMANDS.contains(&key.as_str()) {
                named.extend(words(&value, home));
                continue;
            }
            let value = match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") | ("core", "excludesfile" | "attributesfile" | "hookspath") => {
                    Some(value.as_str())
                }
                ("init", "templatedir") => Some(value.as_str()),
                _ => None,
            };
            let Some(path) = value.and_then(|value| path(value, &file, home)) else { continue };
            match key.as_str() {
                "path" => left.push(path.clone()),
                "hookspath" | "templatedir" => named.extend(below(&path)),
                _ => {}
            }
            named.insert(path);
        }
    }
    named
}

/// The paths that stand in a command line; a word without a place is found in PATH.
fn words(line: &str, home: &Path) -> Vec<PathBuf> {
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || AROUND.contains(&c)).collect();
    // `store --file ~/.git-credentials`: git writes to that itself.
    let is_program = |at: &usize| at.checked_sub(1).is_none_or(|before| words[before] != "--file");
    let whole =
        (0..words.len()).filter(is_program).map(|at| words[at]).map(|word| word.trim_start_matches('!')).filter_map(
            |word| {
                let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| word.strip_prefix(start));
                below.map(|below| home.join(below)).or_else(|| word.starts_with('/').then(|| PathBuf::from(word)))
            },
        );
    // A directory is an argument, and no program.
    whole.filter(|path| !path.is_dir()).collect()
}

/// Section, key and value, the first two in lower case and without a subsection.
fn values(text: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.replace("\\\n", "").lines() {
        let mut line = line.trim();
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            let name = head.split(|c: char| c.is_whitespace() || c == '"' || c == '.').next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            line = rest.trim();
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) else { continue };
        found.push((section.clone(), key.trim().to_ascii_lowercase(), unquoted(value.trim())));
    }
    found
}

/// A value as git reads it: what stands in quotes holds `;` and `#`, which begin a comment elsewhere.
fn unquoted(value: &str) -> String {
    let (mut read, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in value.chars() {
        match c {
            _ if is_escaped => {
                read.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ';' | '#' if !is_quoted => break,
            c => read.push(c),
        }
    }
    read.trim_end().to_owned()
}

/// The path that a value is; a relative one is beside the settings.
fn path(value: &str, file: &Path, home: &Path) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(below) => Some(home.join(below)),
        None => Some(file.parent()?.join(value)).filter(|_| !value.is_empty()),
    }
}

/// The files of a directory, one level deep and those in directories in it.
fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_ENTRIES).map(|entry| entry.path()).collect()
    };
    let first = entries(dir);
    let second = first.iter().filter(|path| path.is_dir()).flat_map(|dir| entries(dir)).take(MOST_ENTRIES);
    second.collect::<Vec<_>>().into_iter().chain(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_settings_name_is_found_and_what_they_include_too() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let write = |file: &str, text: &str| {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), text).unwrap();
        };
        write(
            ".gitconfig",
            "[user]\n\tname = Ada\n[Core]\n excludesFile = \"~/my ignores\" ; why\n\thooksPath = ~/hooks\n\
             [includeIf \"gitdir:~/work/\"]\n\tpath = work.inc\n[filter \"lfs\"] clean = git-lfs clean -- %f\n",
        );
        write(
            "work.inc",
            "[core]\nattributesfile = /etc/attributes\n[filter \"x\"]\n\tprocess = ~/bin/filter --all\n[include]\npath=.gitconfig\n[include]\npath=filters.inc\n",
        );
        write("hooks/pre-commit", "");
        write(
            "filters.inc",
            "[filter \"y\"]\n clean = \"python3 '~/dot/clean.py' %f\"\n[alias]\n unit = \"!f() { $HOME/dot/unit \\\"$@\\\"; }; f\"\n st = status\n\
             [diff]\n external = ~/dot/diff\n[credential]\n helper = !~/dot/cred get # mine\n",
        );
        let found = of([home.join(".gitconfig")].into_iter(), home);
        let expected = [
            "my ignores",
            "hooks",
            "hooks/pre-commit",
            "work.inc",
            "bin/filter",
            ".gitconfig",
            "filters.inc",
            "dot/clean.py",
            "dot/unit",
            "dot/diff",
            "dot/cred",
        ]
        .map(|file| home.join(file));
        assert_eq!(found, expected.into_iter().chain(["/etc/attributes".into()]).collect());
    }
}
