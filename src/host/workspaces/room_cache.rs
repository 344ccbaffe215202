//! The build caches of clean rooms (`{cache}`), without what an agent's code wrote to them.
//!
//! A check runs what the agent wrote, and what that leaves in a build cache would speak for the next attempt. So the caches of all
//! rooms begin with what the checks of the user's own commit left, which is kept, and are put back to it after every check of
//! anything else. Compiled dependencies stay warm that way; what depends on the work is built anew.

use super::kept::Entry;
use super::kept::look;
use super::layout::io_error;
use crate::files::Kind;
use crate::files::Root;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Where the kept caches are, in the machine state. No program is let in there.
pub(super) const KEPT: &str = "cache-kept";
/// Says that the kept caches are being written: where it stands, somebody was killed at that.
const UNFINISHED: &str = "cache-kept.unfinished";
/// More is not kept: caches grow with every state of the files that they have seen, and are in every room.
const MOST_BYTES: u64 = 8 << 30;

type Entries = BTreeMap<PathBuf, Entry>;

/// The caches of one room.
#[derive(Debug)]
pub(super) struct RoomCache {
    state: Root,
    live: Root,
    kept: Root,
    /// What is in `live` when nobody has used it.
    entries: Entries,
    /// How often something was kept. Held while somebody is at the kept caches, which are those of all rooms.
    kept_times: Arc<Mutex<u64>>,
}

impl RoomCache {
    /// The caches below `live`, filled with what is kept.
    pub(super) fn open(state: &Root, live: &Path, kept_times: Arc<Mutex<u64>>) -> Result<Self, WorkspaceError> {
        let make = |path: &Path| state.make_below(path).map_err(io_error("make", &state.path().join(path)));
        let remove = |path: &Path| state.remove(path).map_err(io_error("empty", &state.path().join(path)));
        remove(live)?;
        let lock = Arc::clone(&kept_times);
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let unfinished = Path::new(UNFINISHED);
        if state.look(unfinished).map_err(io_error("read", state.path()))?.is_some() || bytes(state)? > MOST_BYTES {
            remove(Path::new(KEPT))?;
            remove(unfinished)?;
        }
        let (live, kept) = (make(live)?, make(Path::new(KEPT))?);
        let mut cache = Self { state: state.clone(), live, kept, entries: Entries::new(), kept_times };
        cache.fill()?;
        Ok(cache)
    }

    /// Fills the empty caches with what is kept.
    fn fill(&mut self) -> Result<(), WorkspaceError> {
        copy(&self.kept, &self.live, &all(&self.kept)?, |_| true)?;
        self.entries = all(&self.live)?;
        Ok(())
    }

    /// Keeps what the checks of the user's own commit have left. Where that cannot be, nothing is kept.
    pub(super) fn keep(&mut self) -> Result<(), WorkspaceError> {
        let kept_times = Arc::clone(&self.kept_times);
        let mut kept_times = kept_times.lock().unwrap_or_else(PoisonError::into_inner);
        *kept_times += 1;
        let unfinished = Path::new(UNFINISHED);
        let state = self.state.clone();
        let failed = || io_error("write to", state.path());
        state.put(unfinished, b"").map_err(failed())?;
        let kept = self.try_keep();
        if kept.is_err() {
            empty(&self.kept)?;
        }
        state.remove(unfinished).map_err(failed())?;
        kept.or_else(|error| self.begin_anew(&error))
    }

    fn try_keep(&mut self) -> Result<(), WorkspaceError> {
        let now = all(&self.live)?;
        for path in all(&self.kept)?.keys().rev().filter(|path| !now.contains_key(*path)) {
            self.kept.remove(path).map_err(io_error("remove", &self.kept.path().join(path)))?;
        }
        let changed = |path: &PathBuf| self.entries.get(path) != now.get(path);
        copy(&self.live, &self.kept, &now, changed)?;
        self.entries = now;
        Ok(())
    }

    /// How often something was kept until now.
    pub(super) fn kept_times(&self) -> u64 {
        *self.kept_times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody has written to the caches since they were filled or put back.
    pub(super) fn is_used(&self) -> bool {
        all(&self.live).is_ok_and(|now| now != self.entries)
    }

    /// Takes everything away, until it is put back.
    pub(super) fn empty(&mut self) -> Result<(), WorkspaceError> {
        empty(&self.live)
    }

    /// Puts the caches back to what they were before a check used them.
    pub(super) fn put_back(&mut self) -> Result<(), WorkspaceError> {
        let lock = Arc::clone(&self.kept_times);
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.try_put_back().or_else(|error| self.begin_anew(&error))
    }

    fn begin_anew(&mut self, because: &WorkspaceError) -> Result<(), WorkspaceError> {
        tracing::info!(%because, "the build caches of a clean room are filled anew");
        empty(&self.live)?;
        self.fill()
    }

    fn try_put_back(&mut self) -> Result<(), WorkspaceError> {
        let now = all(&self.live)?;
        if now == self.entries {
            return Ok(());
        }
        for path in now.keys().rev().filter(|path| !self.entries.contains_key(*path)) {
            self.live.remove(path).map_err(io_error("remove", &self.live.path().join(path)))?;
        }
        copy(&self.kept, &self.live, &self.entries, |path| now.get(path) != self.entries.get(path))?;
        self.entries = all(&self.live)?;
        Ok(())
    }
}

fn empty(root: &Root) -> Result<(), WorkspaceError> {
    for (name, _) in root.list(Path::new("")).map_err(io_error("read", root.path()))? {
        root.remove(Path::new(&name)).map_err(io_error("remove", &root.path().join(&name)))?;
    }
    Ok(())
}

/// How much is kept.
fn bytes(state: &Root) -> Result<u64, WorkspaceError> {
    let kept = look(state, &BTreeSet::from([PathBuf::from(KEPT)]))?;
    Ok(kept.values().map(|entry| if let Entry::File { size, .. } = entry { *size } else { 0 }).sum())
}

/// Everything in a directory.
///
/// # Errors
/// If a part of it cannot be looked at.
fn all(root: &Root) -> Result<Entries, WorkspaceError> {
    let mut entries = look(root, &BTreeSet::from([PathBuf::new()]))?;
    entries.remove(Path::new(""));
    let closed = |entry: &Entry| matches!(entry, Entry::Dir { mode, .. } if mode & 0o500 != 0o500);
    match entries.iter().find(|(_, entry)| closed(entry)) {
        Some((path, _)) => Err(io_error("read", &root.path().join(path))(io::ErrorKind::PermissionDenied.into())),
        None => Ok(entries),
    }
}

/// Copies these paths from one directory to another; what is not in the first one is left out.
fn copy(from: &Root, to: &Root, entries: &Entries, which: impl Fn(&PathBuf) -> bool) -> Result<(), WorkspaceError> {
    let chosen: Vec<(&PathBuf, &Entry)> = entries.iter().filter(|(path, _)| which(path)).collect();
    for (path, entry) in &chosen {
        bring(from, to, path, entry).map_err(io_error("copy", &to.path().join(path)))?;
    }
    // Some tools close what they have filled.
    for (path, entry) in chosen.iter().rev() {
        if let Entry::Dir { mode, .. } = entry {
            to.set_mode(path, *mode).map_err(io_error("copy", &to.path().join(path)))?;
        }
    }
    Ok(())
}

fn bring(from: &Root, to: &Root, path: &Path, entry: &Entry) -> io::Result<()> {
    match entry {
        Entry::Dir { mode, .. } => {
            if !to.look(path)?.is_some_and(|look| look.kind == Kind::Dir) {
                to.remove(path)?;
                to.make_below(path)?;
            }
            to.set_mode(path, mode | 0o700)
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_the_users_commit_left_stays_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let state = Root::open(dir.path()).unwrap();
        let live = dir.path().join("cache/room-1");
        let open = |room: &str| RoomCache::open(&state, Path::new(room), Arc::default()).unwrap();
        let mut cache = open("cache/room-1");
        fs::create_dir_all(live.join("deps/closed")).unwrap();
        fs::write(live.join("deps/lib"), "built").unwrap();
        fs::write(live.join("deps/closed/lib"), "built").unwrap();
        fs::set_permissions(live.join("deps/closed"), fs::Permissions::from_mode(0o555)).unwrap();
        cache.keep().unwrap();
        for _ in 0..2 {
            fs::write(live.join("deps/lib"), "forged").unwrap();
            fs::write(live.join("planted"), "x").unwrap();
            std::os::unix::fs::symlink("/etc", live.join("deps/link")).unwrap();
            cache.put_back().unwrap();
            let names: Vec<_> = walkdir::WalkDir::new(&live).min_depth(1).into_iter().map(Result::unwrap).collect();
            assert_eq!(names.len(), 4, "{names:?}");
            assert_eq!(fs::read_to_string(live.join("deps/lib")).unwrap(), "built");
        }
        fs::remove_dir_all(live.join("deps")).unwrap();
        cache.put_back().unwrap();
        assert_eq!(fs::read_to_string(live.join("deps/lib")).unwrap(), "built");
        // What a check has closed is filled anew.
        fs::set_permissions(live.join("deps"), fs::Permissions::from_mode(0o000)).unwrap();
        cache.put_back().unwrap();
        assert_eq!(fs::metadata(live.join("deps/closed")).unwrap().permissions().mode() & 0o777, 0o555);
        // Another room, and the next run: what an interrupted check left there is gone.
        fs::write(live.join("planted"), "x").unwrap();
        for room in ["cache/room-1", "cache/room-2"] {
            open(room);
            let names: Vec<_> = fs::read_dir(dir.path().join(room)).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(names, ["deps"]);
        }
        // Whoever was killed at keeping has kept nothing that can be relied on.
        fs::write(dir.path().join(UNFINISHED), "").unwrap();
        open("cache/room-1");
        assert_eq!(fs::read_dir(&live).unwrap().count(), 0);
    }
}
