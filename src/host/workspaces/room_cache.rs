//! The build caches of clean rooms (`{cache}`), without what an agent's code wrote to them.
//!
//! A check runs what the agent wrote, and what that leaves in a build cache would speak for the next attempt. So the caches of all
//! rooms begin with what the checks of the user's own commit left, which is kept, and are put back to it after every check of
//! anything else. Compiled dependencies stay warm that way; what depends on the work is built anew.

use super::kept::Entry;
use super::kept::look;
use super::layout::io_error;
use crate::files::Root;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

/// Where the kept caches are, in the machine state. No program is let in there.
const KEPT: &str = "cache-kept";

type Entries = BTreeMap<PathBuf, Entry>;

/// The caches of one room.
#[derive(Debug)]
pub(super) struct RoomCache {
    live: Root,
    kept: Root,
    /// What is in `live` when nobody has used it.
    entries: Entries,
}

impl RoomCache {
    /// The caches below `live`, filled with what is kept.
    pub(super) fn open(state: &Root, live: &Path) -> Result<Self, WorkspaceError> {
        let make = |path: &Path| state.make_below(path).map_err(io_error("make", &state.path().join(path)));
        state.remove(live).map_err(io_error("empty", &state.path().join(live)))?;
        let mut cache = Self { live: make(live)?, kept: make(Path::new(KEPT))?, entries: Entries::new() };
        let kept = all(&cache.kept)?;
        cache.bring(&kept, |_| true)?;
        cache.entries = all(&cache.live)?;
        Ok(cache)
    }

    /// Keeps what the checks of the user's own commit have left.
    pub(super) fn keep(&mut self) -> Result<(), WorkspaceError> {
        let now = all(&self.live)?;
        for path in all(&self.kept)?.keys().rev().filter(|path| !now.contains_key(*path)) {
            self.kept.remove(path).map_err(io_error("remove", &self.kept.path().join(path)))?;
        }
        let changed = |path: &PathBuf| self.entries.get(path) != now.get(path);
        copy(&self.live, &self.kept, &now, changed)?;
        self.entries = now;
        Ok(())
    }

    /// Puts the caches back to what they were before a check used them.
    pub(super) fn put_back(&mut self) -> Result<(), WorkspaceError> {
        let now = all(&self.live)?;
        for path in now.keys().rev().filter(|path| !self.entries.contains_key(*path)) {
            self.live.remove(path).map_err(io_error("remove", &self.live.path().join(path)))?;
        }
        let entries = std::mem::take(&mut self.entries);
        self.bring(&entries, |path| now.get(path) != entries.get(path))?;
        self.entries = all(&self.live)?;
        Ok(())
    }

    fn bring(&self, entries: &Entries, which: impl Fn(&PathBuf) -> bool) -> Result<(), WorkspaceError> {
        copy(&self.kept, &self.live, entries, which)
    }
}

fn all(root: &Root) -> Result<Entries, WorkspaceError> {
    let mut entries = look(root, &BTreeSet::from([PathBuf::new()]))?;
    entries.remove(Path::new(""));
    Ok(entries)
}

/// Copies these paths from one directory to another; what is not in the first one is left out.
fn copy(from: &Root, to: &Root, entries: &Entries, which: impl Fn(&PathBuf) -> bool) -> Result<(), WorkspaceError> {
    for (path, entry) in entries.iter().filter(|(path, _)| which(path)) {
        let one = || match entry {
            Entry::Dir { mode, .. } => {
                if !to.look(path)?.is_some_and(|look| look.kind == crate::files::Kind::Dir) {
                    to.remove(path)?;
                    to.make_below(path)?;
                }
                to.set_mode(path, *mode)
            }
            Entry::Link(target) => {
                to.remove(path)?;
                to.link(path, target)
            }
            Entry::File { .. } => {
                to.remove(path)?;
                // Somebody's room may have kept less.
                if from.look(path)?.is_some() { to.copy(path, from, path) } else { Ok(()) }
            }
            Entry::Other => Ok(()),
        };
        one().map_err(io_error("copy", &to.path().join(path)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_the_users_commit_left_stays_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let state = Root::open(dir.path()).unwrap();
        let live = dir.path().join("cache/room-1");
        let mut cache = RoomCache::open(&state, Path::new("cache/room-1")).unwrap();
        fs::create_dir_all(live.join("deps")).unwrap();
        fs::write(live.join("deps/lib"), "built").unwrap();
        cache.keep().unwrap();
        for _ in 0..2 {
            fs::write(live.join("deps/lib"), "forged").unwrap();
            fs::write(live.join("planted"), "x").unwrap();
            std::os::unix::fs::symlink("/etc", live.join("deps/link")).unwrap();
            cache.put_back().unwrap();
            let names: Vec<_> = walkdir::WalkDir::new(&live).min_depth(1).into_iter().map(Result::unwrap).collect();
            assert_eq!(names.len(), 2, "{names:?}");
            assert_eq!(fs::read_to_string(live.join("deps/lib")).unwrap(), "built");
        }
        fs::remove_dir_all(live.join("deps")).unwrap();
        cache.put_back().unwrap();
        assert_eq!(fs::read_to_string(live.join("deps/lib")).unwrap(), "built");
        // Another room, and the next run: what an interrupted check left there is gone.
        fs::write(live.join("planted"), "x").unwrap();
        for room in ["cache/room-1", "cache/room-2"] {
            RoomCache::open(&state, Path::new(room)).unwrap();
            let names: Vec<_> = fs::read_dir(dir.path().join(room)).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(names, ["deps"]);
        }
    }
}
