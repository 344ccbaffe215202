//! The files an agent changed: found by looking before and after, and changed again in a replay.

use super::normalise::Secrets;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use globset::GlobSet;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};
use walkdir::{DirEntry, WalkDir};

/// So many of the largest files are named when there is too much.
const NAMED: usize = 3;

/// What is recorded of a directory.
#[derive(Clone)]
pub(super) struct Recorded {
    pub leave_out: GlobSet,
    /// Of one run's files together.
    pub max_bytes: u64,
}

/// One file as the agent left it; paths are relative to its directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(super) enum FileChange {
    /// Created, or changed in content or executable bit.
    Write {
        path: PathBuf,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
        #[serde(flatten)]
        content: Content,
    },
    /// A symbolic link, new or to another target.
    Link { path: PathBuf, target: PathBuf },
    /// Gone.
    Delete { path: PathBuf },
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// UTF-8.
    Text(String),
    /// Any other bytes.
    Base64(String),
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Base64(STANDARD.encode(error.as_bytes())), Self::Text)
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).map_err(|error| error.to_string()),
        }
    }
}

/// A directory at one moment.
pub(super) type Snapshot = BTreeMap<PathBuf, Seen>;

/// A file at one moment. Content is compared by its hash: times and sizes miss an edit of the same length within a tick
/// of the file system's clock.
#[derive(PartialEq)]
pub(super) enum Seen {
    File { hash: [u8; 32], executable: bool, bytes: u64 },
    Link(PathBuf),
}

impl Recorded {
    /// What stands in a directory; nothing where there is none (in-memory workspaces).
    pub fn look(&self, dir: &Path) -> Result<Snapshot, String> {
        let mut seen = Snapshot::new();
        if !dir.is_dir() {
            return Ok(seen);
        }
        let entered = |entry: &DirEntry| {
            let path = entry.path().strip_prefix(dir).unwrap_or(entry.path());
            entry.depth() == 0 || (entry.file_name() != ".git" && !self.leave_out.is_match(path))
        };
        for entry in WalkDir::new(dir).into_iter().filter_entry(entered) {
            let entry = entry.map_err(|error| error.to_string())?;
            let failed = |error: io::Error| format!("failed to read {}: {error}", entry.path().display());
            let path = entry.path().strip_prefix(dir).unwrap_or(entry.path()).to_owned();
            if entry.file_type().is_symlink() {
                seen.insert(path, Seen::Link(fs::read_link(entry.path()).map_err(failed)?));
            } else if entry.file_type().is_file() {
                seen.insert(path, look_at(entry.path()).map_err(failed)?);
            }
        }
        Ok(seen)
    }

    /// What differs in a directory from how it was.
    pub fn changes(&self, dir: &Path, before: &Snapshot, secrets: &Secrets) -> Result<Vec<FileChange>, String> {
        let after = self.look(dir)?;
        let changed: Vec<_> = after.iter().filter(|(path, seen)| before.get(*path) != Some(seen)).collect();
        self.fits(&changed)?;
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        // What is gone comes first: a directory may stand where a file was.
        let mut changes: Vec<_> = gone.map(|path| FileChange::Delete { path: path.clone() }).collect();
        for (path, seen) in changed {
            if path.to_str().is_none() {
                return Err(format!("the file name {} is not UTF-8 and cannot be recorded", path.display()));
            }
            let path = path.clone();
            changes.push(match seen {
                Seen::Link(target) => FileChange::Link { path, target: target.clone() },
                Seen::File { executable, .. } => {
                    let bytes =
                        fs::read(dir.join(&path)).map_err(|e| format!("failed to read {}: {e}", path.display()))?;
                    FileChange::Write { path, executable: *executable, content: Content::of(secrets.hide_bytes(bytes)) }
                }
            });
        }
        Ok(changes)
    }

    fn fits(&self, changed: &[(&PathBuf, &Seen)]) -> Result<(), String> {
        let mut sizes: Vec<_> = changed
            .iter()
            .filter_map(|(path, seen)| match seen {
                Seen::File { bytes, .. } => Some((*bytes, path.display())),
                Seen::Link(_) => None,
            })
            .collect();
        let all: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
        if all <= self.max_bytes {
            return Ok(());
        }
        sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let largest: Vec<_> = sizes.iter().take(NAMED).map(|(bytes, path)| format!("{path} ({bytes})")).collect();
        Err(format!(
            "the agent changed {all} bytes in {} files, and at most {} are recorded; the largest: {}. Leave out what the \
             test does not need with `leave_out`, or raise `max_bytes`",
            sizes.len(),
            self.max_bytes,
            largest.join(", ")
        ))
    }
}

fn look_at(file: &Path) -> io::Result<Seen> {
    let mut hash = Sha256::new();
    let mut open = fs::File::open(file)?;
    let executable = open.metadata()?.permissions().mode() & 0o111 != 0;
    let bytes = io::copy(&mut open, &mut hash)?;
    Ok(Seen::File { hash: hash.finalize().into(), executable, bytes })
}

/// Makes recorded changes in a directory.
pub(super) fn make(dir: &Path, changes: &[FileChange]) -> Result<(), String> {
    changes.iter().try_for_each(|change| {
        let (FileChange::Write { path, .. } | FileChange::Link { path, .. } | FileChange::Delete { path }) = change;
        make_one(dir, path, change).map_err(|error| format!("failed to change {} again: {error}", path.display()))
    })
}

fn make_one(dir: &Path, path: &Path, change: &FileChange) -> Result<(), String> {
    let words = |error: io::Error| error.to_string();
    let file = inside(dir, path)?;
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_dir() => {
            // Where a directory became a file, its files are gone already.
            if !matches!(change, FileChange::Delete { .. }) {
                fs::remove_dir(&file).map_err(words)?;
            }
        }
        Ok(_) => fs::remove_file(&file).map_err(words)?,
        Err(_) => {}
    }
    if let (FileChange::Write { .. } | FileChange::Link { .. }, Some(parent)) = (change, file.parent()) {
        fs::create_dir_all(parent).map_err(words)?;
    }
    match change {
        FileChange::Delete { .. } => remove_empty(dir, &file),
        FileChange::Link { target, .. } => std::os::unix::fs::symlink(target, &file).map_err(words)?,
        FileChange::Write { executable, content, .. } => {
            fs::write(&file, content.bytes()?).map_err(words)?;
            if *executable {
                let mut permissions = fs::metadata(&file).map_err(words)?.permissions();
                // Whoever may read it may run it.
                permissions.set_mode(permissions.mode() | (permissions.mode() & 0o444) >> 2);
                fs::set_permissions(&file, permissions).map_err(words)?;
            }
        }
    }
    Ok(())
}

/// Directories are there for their files, as in git; one that is not empty stays.
fn remove_empty(dir: &Path, file: &Path) {
    let parents = file.ancestors().skip(1).take_while(|parent| *parent != dir);
    let _ = parents.map_while(|parent| fs::remove_dir(parent).ok()).count();
}

/// The path below the directory; a cassette is a file that anybody may edit, and changes nothing elsewhere.
fn inside(dir: &Path, path: &Path) -> Result<PathBuf, String> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_))) && path.file_name().is_some();
    if !plain {
        return Err("the path leads out of the agent's directory".to_owned());
    }
    let mut at = dir.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        at.push(part);
        if at.is_symlink() {
            return Err(format!("{} is a symbolic link", at.display()));
        }
    }
    Ok(dir.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Cassette;
    use std::os::unix::fs::symlink;

    fn put(dir: &Path, path: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), bytes).unwrap();
    }

    fn mode(file: PathBuf, mode: u32) {
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn start() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        for path in ["same.txt", "edited.txt", "gone/deep/file.txt", "becomes_dir", "dir/file", "tool.sh"] {
            put(dir, path, "before");
        }
        put(dir, ".git/index", "git's");
        symlink("same.txt", dir.join("link")).unwrap();
        temp
    }

    fn recorded() -> Recorded {
        Recorded { leave_out: globset::GlobSet::empty(), max_bytes: 1000 }
    }

    /// Path, content, target of a link, executable.
    type State = (PathBuf, Option<Vec<u8>>, Option<PathBuf>, bool);

    fn state(dir: &Path) -> Vec<State> {
        let file = |entry: DirEntry| {
            let link = fs::read_link(entry.path()).ok();
            let executable = link.is_none() && entry.metadata().unwrap().permissions().mode() & 0o111 != 0;
            let bytes = if link.is_none() { fs::read(entry.path()).ok() } else { None };
            let path = entry.path().strip_prefix(dir).unwrap().to_owned();
            (path, bytes, link, executable && entry.file_type().is_file())
        };
        WalkDir::new(dir).sort_by_file_name().into_iter().map(|entry| file(entry.unwrap())).collect()
    }

    #[test]
    fn every_kind_of_change_is_made_again() {
        let (first, second) = (start(), start());
        let before = recorded().look(first.path()).unwrap();
        let dir = first.path();
        put(dir, "edited.txt", "after!");
        put(dir, "new/deep/file.txt", "new");
        put(dir, "bytes.bin", [0, 255, 254, 10]);
        fs::remove_dir_all(dir.join("gone")).unwrap();
        fs::remove_file(dir.join("becomes_dir")).unwrap();
        put(dir, "becomes_dir/file", "below");
        fs::remove_dir_all(dir.join("dir")).unwrap();
        put(dir, "dir", "a file now");
        mode(dir.join("tool.sh"), 0o755);
        fs::remove_file(dir.join("link")).unwrap();
        symlink("edited.txt", dir.join("link")).unwrap();
        let changes = recorded().changes(dir, &before, &Secrets::of(&BTreeMap::new())).unwrap();

        let line = serde_json::to_string(&changes).unwrap();
        make(second.path(), &serde_json::from_str::<Vec<_>>(&line).unwrap()).unwrap();
        assert_eq!(state(second.path()), state(first.path()));
        assert!(!line.contains(".git"), "{line}");
    }

    #[test]
    fn an_edit_of_the_same_length_is_seen() {
        let temp = start();
        let before = recorded().look(temp.path()).unwrap();
        put(temp.path(), "same.txt", "befere");
        let changes = recorded().changes(temp.path(), &before, &Secrets::of(&BTreeMap::new())).unwrap();
        assert_eq!(changes.len(), 1, "{changes:?}");
    }

    #[test]
    fn too_much_names_the_largest_files_and_what_is_left_out_does_not_count() {
        let temp = start();
        let before = recorded().look(temp.path()).unwrap();
        put(temp.path(), "target/debug/big", [b'x'; 2000]);
        put(temp.path(), "small", "x");
        let none = Secrets::of(&BTreeMap::new());
        let error = recorded().changes(temp.path(), &before, &none).unwrap_err();
        assert!(error.starts_with("the agent changed 2001 bytes in 2 files, and at most 1000"), "{error}");
        assert!(error.contains("target/debug/big (2000), small (1)"), "{error}");

        let cassette = Cassette::record(temp.path().join("c.jsonl")).unwrap().leave_out(["target"]).unwrap();
        let changes = cassette.files.changes(temp.path(), &before, &none).unwrap();
        let paths: Vec<_> = changes
            .iter()
            .map(|c| if let FileChange::Write { path, .. } = c { path.clone() } else { "".into() })
            .collect();
        assert_eq!(paths, [PathBuf::from("c.jsonl.recording"), "small".into()]);
    }

    #[test]
    fn nothing_is_changed_outside_of_the_directory() {
        let temp = start();
        let (dir, outside) = (temp.path().join("dir"), temp.path().join("outside"));
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir_all(&dir).unwrap();
        fs::create_dir_all(&outside).unwrap();
        symlink(&outside, dir.join("link")).unwrap();
        let check = |path: &str, words: &str| {
            let change =
                FileChange::Write { path: path.into(), executable: false, content: Content::Text(String::new()) };
            let error = make(&dir, &[change]).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        check("../outside/x", "leads out");
        check("/etc/x", "leads out");
        check("a/../../outside/x", "leads out");
        check("", "leads out");
        check("link/x", "is a symbolic link");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
