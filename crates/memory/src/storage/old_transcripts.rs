//! Making room among the transcripts of earlier runs.

use crate::files::{Kind, Place};
use std::path::{Path, PathBuf};

/// Removes whole directories of transcripts, the oldest run's first, until at most `keep` bytes of them are left below
/// `runs`. The newest of the earlier runs and the `current` one keep theirs whatever they hold; journals, patches and reports
/// are never touched. Gives what was removed.
///
/// What cannot be read or removed is left where it is: transcripts explain a run, and no run fails for want of room there.
pub(super) fn make_room(runs: &Place, current: &str, keep: u64) -> Vec<PathBuf> {
    // Ids of runs begin with the time.
    let earlier = runs.list().unwrap_or_default().into_iter().filter(|(name, _)| name != current);
    let mut dirs: Vec<(Place, u64)> = earlier
        .map(|(name, _)| runs.join(name).join("transcripts"))
        .filter(|dir| dir.look().is_ok_and(|look| look.is_some_and(|look| look.kind == Kind::Dir)))
        .map(|dir| (dir.clone(), bytes_in(&dir)))
        .collect();
    let mut all: u64 = dirs.iter().map(|(_, bytes)| bytes).sum();
    // Whoever looks at the morning's report wants to see them.
    dirs.pop();
    let mut removed = Vec::new();
    for (dir, bytes) in dirs {
        if all <= keep {
            break;
        }
        match dir.remove() {
            Ok(()) => {
                all -= bytes;
                removed.push(dir.path().to_owned());
            }
            Err(error) => tracing::warn!(dir = %dir.path().display(), %error, "old transcripts were not removed"),
        }
    }
    removed
}

fn bytes_in(dir: &Place) -> u64 {
    let files = dir.open_dir().into_iter().flat_map(|dir| dir.walk(Path::new(""))).flatten().map(|(_, look)| look);
    files.filter(|look| look.kind == Kind::File).map(|look| look.len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Runs with so many bytes of transcripts each, oldest first; which of them still have some.
    fn check(bytes: &[usize], keep: u64, expected: &[usize]) {
        let dir = tempfile::tempdir().unwrap();
        for (run, bytes) in bytes.iter().enumerate() {
            let run = dir.path().join(format!("2026010{run}"));
            fs::create_dir_all(run.join("transcripts")).unwrap();
            fs::write(run.join("transcripts/a.jsonl"), vec![b'x'; *bytes]).unwrap();
            fs::write(run.join("journal.jsonl"), "{}\n").unwrap();
            fs::write(run.join("t.unconfirmed.patch"), "work").unwrap();
        }
        let current = format!("2026010{}", bytes.len() - 1);
        make_room(&Place::new(dir.path(), ""), &current, keep);
        let has = |run: &usize| dir.path().join(format!("2026010{run}/transcripts/a.jsonl")).exists();
        assert_eq!((0..bytes.len()).filter(has).collect::<Vec<_>>(), expected, "{bytes:?}, {keep}");
        for run in 0..bytes.len() {
            for name in ["journal.jsonl", "t.unconfirmed.patch"] {
                assert!(dir.path().join(format!("2026010{run}")).join(name).exists(), "{run}/{name}");
            }
        }
    }

    #[test]
    fn the_oldest_go_first_and_the_newest_stay() {
        check(&[10, 10, 10, 10], 30, &[0, 1, 2, 3]);
        check(&[10, 10, 10, 10], 29, &[1, 2, 3]);
        check(&[10, 10, 10, 10], 0, &[2, 3]);
        check(&[1, 100, 1, 1], 50, &[2, 3]);
        check(&[10], 0, &[0]);
        assert!(make_room(&Place::new("/nowhere", ""), "x", 0).is_empty());
    }
}
