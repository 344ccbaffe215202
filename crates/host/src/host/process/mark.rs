//! The mark that a program and its descendants carry in their environment.

use super::table::Process;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The variable by which a program's descendants are recognised wherever they went.
pub(super) const MARK: &str = "REFLEXION_MARK";

/// A mark that no other program has, with the project it works for, if there is one, and the runtime that started it:
/// `<id>@<project>.<pid>.<start>`.
pub(super) fn new_mark(state_dir: Option<&Path>) -> String {
    let id = uuid::Uuid::now_v7().simple();
    let me = rustix::process::getpid().as_raw_pid();
    let project = state_dir.and_then(project_key).unwrap_or_default();
    match Process::read(me) {
        Some(runtime) => format!("{id}@{project}.{me}.{}", runtime.start),
        None => id.to_string(),
    }
}

/// The variable with a new mark, for a program that works for the project itself.
pub(in crate::host) fn marked(state_dir: &Path) -> (&'static str, String) {
    (MARK, new_mark(Some(state_dir)))
}

/// Of [`project_key`], in hexadecimal digits.
pub(in crate::host) const KEY_LENGTH: usize = 16;

/// A name for the project with this state directory; none if there is no such directory.
///
/// Of its path, device and inode, so that neither a copy of the project nor one at the same path in another container
/// is taken for it.
pub(in crate::host) fn project_key(state_dir: &Path) -> Option<String> {
    let dir = state_dir.canonicalize().ok()?;
    let metadata = dir.metadata().ok()?;
    let mut hash = Sha256::new();
    hash.update(metadata.dev().to_le_bytes());
    hash.update(metadata.ino().to_le_bytes());
    hash.update(dir.as_os_str().as_bytes());
    let mut key = format!("{:x}", hash.finalize());
    key.truncate(KEY_LENGTH);
    Some(key)
}

/// Whether the variable's value has a mark of this project whose runtime is not there any more. A program inside a
/// program has the marks of both, joined by `:`.
pub(super) fn is_of_dead_run(value: &str, project: &str) -> bool {
    let lives = |pid, start| Process::read(pid).is_some_and(|runtime| runtime.start == start && !runtime.zombie);
    runtimes(value).any(|(key, pid, start)| key == project && !lives(pid, start))
}

/// Whether this process was started, or what started it, by a run of the project with this state directory.
#[must_use]
pub fn is_within_run_of(state_dir: &Path) -> bool {
    let value = std::env::var(MARK).unwrap_or_default();
    project_key(state_dir).is_some_and(|own| runtimes(&value).any(|(key, ..)| key == own))
}

/// Whether the variable's value names runtimes, and this process is none of them.
pub(super) fn is_of_another_runtime(value: &str, me: &Process) -> bool {
    let mut named = runtimes(value).peekable();
    named.peek().is_some() && named.all(|(_, pid, start)| (pid, start) != (me.pid, me.start))
}

/// The marks of the variable's value, each with its project (empty: none), and its runtime's id and start time.
fn runtimes(value: &str) -> impl Iterator<Item = (&str, i32, u64)> {
    value.split(':').filter_map(|mark| {
        let mut parts = mark.split_once('@')?.1.split('.');
        Some((parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_project_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let key = |name: &str| project_key(&dir.path().join(name));
        assert_eq!(key("state"), None);
        std::fs::create_dir(dir.path().join("state")).unwrap();
        std::fs::create_dir(dir.path().join("other")).unwrap();
        std::os::unix::fs::symlink("state", dir.path().join("link")).unwrap();
        assert!(key("state").is_some());
        assert_eq!(key("link"), key("state"));
        assert_ne!(key("other"), key("state"));
        let before = key("state");
        std::fs::rename(dir.path().join("state"), dir.path().join("old")).unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        assert_ne!(key("state"), before, "another directory took its place");
        assert_ne!(key("old"), before);
    }

    #[test]
    fn only_what_a_dead_runtime_of_this_project_started_is_of_a_dead_run() {
        let me = rustix::process::getpid().as_raw_pid();
        let start = Process::read(me).unwrap().start;
        let check = |value: &str, expected: bool| assert_eq!(is_of_dead_run(value, "p"), expected, "{value}");
        check(&format!("a@p.{me}.{start}"), false);
        check(&format!("a@p.{me}.{}", start + 1), true);
        check(&format!("a@q.{me}.{}", start + 1), false);
        check(&format!("a@p.{me}.1:b@q.{me}.{start}"), true);
        check(&format!("b@q.{me}.{start}:a@p.{me}.1:c"), true);
        // One that works for no project.
        let without = new_mark(None);
        assert_eq!(runtimes(&without).collect::<Vec<_>>(), [("", me, start)]);
        check(&without, false);
        for nothing in ["", "a", "a:b", "a@", "a@p", "a@p.x.y", "a@p.1", "p.1.1"] {
            check(nothing, false);
        }
    }
}
