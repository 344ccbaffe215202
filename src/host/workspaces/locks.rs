//! Locks of refs that a killed git has left behind.
//!
//! Git holds `refs/….lock` for the blink in which it writes a ref. An agent that is ended in that blink leaves the file, and
//! then nobody can move that ref any more: not the user, and not we when it is to be put back.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// No living git holds the lock of a ref for so long.
const HELD: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// The locks that there are.
pub(super) fn locks(git_dir: &Path) -> BTreeSet<PathBuf> {
    let files = walkdir::WalkDir::new(git_dir.join("refs")).into_iter().flatten();
    let files = files.filter(|file| file.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.filter(|path| path.extension().is_some_and(|extension| extension == "lock")).collect()
}

/// Locks that were not there `before`, and stay.
pub(super) async fn left_since(git_dir: &Path, before: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let started = Instant::now();
    let mut left: BTreeSet<PathBuf> = locks(git_dir).difference(before).cloned().collect();
    while !left.is_empty() && started.elapsed() < HELD {
        tokio::time::sleep(PAUSE).await;
        let now = locks(git_dir);
        left.retain(|lock| now.contains(lock));
    }
    left
}

/// The ref that a lock is on.
pub(super) fn locked_ref(git_dir: &Path, lock: &Path) -> String {
    lock.strip_prefix(git_dir).unwrap_or(lock).with_extension("").display().to_string()
}
