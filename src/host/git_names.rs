//! The files that a user's settings of git name: further settings, hooks, excluded files, templates, and programs.
//!
//! Read without git, whose answer depends on where it is asked: what is included under a condition counts, whether it holds or not.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

/// No file of settings is longer.
const MOST_BYTES: u64 = 1 << 20;
/// Limit of files that are read; they may include each other.
const MOST_FILES: usize = 64;
/// Limit of files of a directory that is named.
const MOST_ENTRIES: usize = 256;

/// Keys of command lines.
const COMMANDS: [&str; 9] =
    ["clean", "smudge", "process", "textconv", "driver", "command", "program", "sshcommand", "fsmonitor"];

/// What these files name, and what those name that they include.
pub(super) fn of(settings: impl Iterator<Item = PathBuf>, home: &Path) -> BTreeSet<PathBuf> {
    let (mut named, mut read) = (BTreeSet::new(), BTreeSet::new());
    let mut left: Vec<PathBuf> = settings.collect();
    while let Some(file) = left.pop() {
        if read.len() >= MOST_FILES || !read.insert(file.clone()) {
            continue;
        }
        let text = text_of(&file).unwrap_or_default();
        for (section, key, value) in values(&text) {
            // Of a command line, the program; one without a place is found in PATH.
            let program = value.split_whitespace().next().filter(|program| program.starts_with(['/', '~']));
            let value = match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") | ("core", "excludesfile" | "attributesfile" | "hookspath") => {
                    Some(value.as_str())
                }
                ("init", "templatedir") => Some(value.as_str()),
                (_, key) => program.filter(|_| COMMANDS.contains(&key)),
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

/// Blocks neither on a pipe nor on a device.
fn text_of(file: &Path) -> Option<String> {
    let without_waiting = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(without_waiting.bits()).ok()?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
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
        let value = value.trim();
        let value = match value.strip_prefix('"').and_then(|value| value.split_once('"')) {
            Some((value, _)) => value,
            None => value.split([';', '#']).next().unwrap_or_default().trim_end(),
        };
        found.push((section.clone(), key.trim().to_ascii_lowercase(), value.to_owned()));
    }
    found
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
            "[core]\nattributesfile = /etc/attributes\n[filter \"x\"]\n\tprocess = ~/bin/filter --all\n[include]\npath=.gitconfig\n",
        );
        write("hooks/pre-commit", "");
        let found = of([home.join(".gitconfig")].into_iter(), home);
        let expected = ["my ignores", "hooks", "hooks/pre-commit", "work.inc", "bin/filter", ".gitconfig"]
            .map(|file| home.join(file));
        assert_eq!(found, expected.into_iter().chain(["/etc/attributes".into()]).collect());
    }
}
