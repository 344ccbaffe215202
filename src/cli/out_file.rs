//! The file that `--out` names. As with the `-o` of a compiler, what stands there is replaced, but for what would be missed.

use super::events::places_of_others;
use super::project::{is_special, no_file};
use crate::domain::{SETTINGS_FILES, policy};
use crate::files::{open_named, open_way};
use crate::runtime;
use serde_json::Value;
use std::io;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// So much of a file is read to see whether an earlier call wrote it; a report is smaller.
const MOST_BYTES: u64 = 16 << 20;
const STATE_DIR: &str = ".reflection";

/// Writes it as a whole, durably. As for `--events`, no link leads there that came with the project's files, or that others may have made.
///
/// # Errors
/// Also where a device or a pipe stands, a file of the project or of git that reflexion or git reads, and a file of the repository with changes
/// that would be lost; nothing is changed then.
pub(super) fn write_out(path: &Path, text: &str, project: &policy::Project) -> io::Result<()> {
    let whole = std::path::absolute(path)?;
    let (Some(dir), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it names a directory"));
    };
    if is_special(&whole) {
        return Err(no_file());
    }
    if let Some(because) = kept(&dir.canonicalize()?.join(name), project) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, because));
    }
    // What a sandbox is given beyond the usual stands in settings, which are not read here.
    let dir = open_way(dir, &places_of_others(project, &policy::Sandbox::None)?)?;
    let mut new = dir.begin(Path::new(name))?;
    new.write_all(text.as_bytes())?;
    new.finish()
}

/// Why a file is not replaced.
fn kept(file: &Path, project: &policy::Project) -> Option<&'static str> {
    let would_be_missed = || runtime::has_unsaved_changes(file) && !is_output(file);
    let missed = "it has changes that are not in git and would be lost: commit them, or name another file";
    not_to_write_to(file, project).or_else(|| would_be_missed().then_some(missed))
}

/// Why nothing that a person asks for is written to a file, whatever stands there: reflexion or git reads it. No component of its path is a link
/// but the last one, which may be (`/dev/fd/7`).
pub(super) fn not_to_write_to(file: &Path, project: &policy::Project) -> Option<&'static str> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(&project.root);
    let mut read: Vec<PathBuf> = SETTINGS_FILES.iter().map(|name| real(&root.join(name))).collect();
    read.push(real(&project.tasks));
    if read.contains(&real(file)) {
        return Some("reflexion reads its settings or tasks from it: name another file");
    }
    let (memory, state) = (project.memory_file(), project.state_dir());
    let own = [memory.parent(), Some(&*state), Some(project.user_state())];
    let own: Vec<PathBuf> = own.into_iter().flatten().map(real).collect();
    let file = real(file);
    let mut dirs = file.ancestors().skip(1);
    if dirs.clone().any(|dir| own.iter().any(|own| dir == own) || is_state(dir)) {
        return Some("`memory/`, `.reflection/` and your state directory are reflexion's own: name a file elsewhere");
    }
    // Of a worktree that is a file, which says where git's directory is.
    let is_gits_file = file.file_name().is_some_and(|name| name == ".git");
    (is_gits_file || dirs.any(is_of_git)).then_some("it is in git's own directory: name a file elsewhere")
}

/// Whether it holds the state or the memory of any project.
fn is_state(dir: &Path) -> bool {
    let is = |name: &str| dir.file_name().is_some_and(|own| own == name);
    is(STATE_DIR) || (is("memory") && dir.with_file_name(STATE_DIR).is_dir())
}

/// Whether it is a directory of git, as git knows one whatever it is called: a bare repository, `--separate-git-dir`.
fn is_of_git(dir: &Path) -> bool {
    let holds = |name: &str| dir.join(name).symlink_metadata().is_ok();
    dir.file_name().is_some_and(|name| name == ".git") || (holds("HEAD") && holds("objects") && holds("refs"))
}

/// Whether an earlier call wrote it.
fn is_output(file: &Path) -> bool {
    let mut text = String::new();
    let read = open_named(file).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    let title = "Report of run ";
    let is_report = text.strip_prefix("# ").unwrap_or(&text).starts_with(title)
        || (text.starts_with("<!DOCTYPE html>") && text.contains(&format!("<title>{title}")));
    let is_document = || {
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        ["run", "judge"].iter().zip(["counts", "suites"]).any(|(one, other)| {
            document.get(*one).is_some_and(Value::is_string)
                && document.get(other).is_some_and(|other| !other.is_null())
        })
    };
    read.is_ok() && (is_report || is_document())
}
