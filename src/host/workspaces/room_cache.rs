//! The build caches of clean rooms (`{cache}`), without what an agent's code wrote to them.
//!
//! A check runs what the agent wrote, and what that leaves in a build cache would speak for the next attempt. So the caches of a
//! room begin with what the checks of the user's own commit left there, which is kept, and are put back to it after every check of
//! anything else. Compiled dependencies stay warm that way; what depends on the work is built anew.
//!
//! Many tools write down where the sources are, and would read those of the other room in a copy: what one room has kept is brought
//! to another only where the tool is known to notice that.

use super::kept::Entry;
use super::kept::look;
use super::layout::io_error;
use crate::files::Kind;
use crate::files::Root;
use crate::services::WorkspaceError;
use crate::toolchain::moves;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Where the kept caches of each room are, in the machine state. No program is let in there.
pub(super) const KEPT: &str = "cache-kept";
/// Beside those of a room, says that they are being written: where it stands, somebody was killed at that.
const UNFINISHED: &str = ".unfinished";
/// More is not kept of a room: caches grow with every state of the files that they have seen.
const MOST_BYTES: u64 = 8 << 30;

type Entries = BTreeMap<PathBuf, Entry>;

/// The caches of one room.
#[derive(Debug)]
pub(super) struct RoomCache {
    all_kept: Root,
    live: Root,
    kept: Root,
    unfinished: PathBuf,
    /// What is in `live` when nobody has used it.
    entries: Entries,
    /// Held while somebody is at the kept caches of any room.
    one_at_a_time: Arc<Mutex<()>>,
}

impl RoomCache {
    /// The caches below `live`, filled with what is kept of the room with this name.
    pub(super) fn open(
        state: &Root,
        live: &Path,
        room: &str,
        one_at_a_time: Arc<Mutex<()>>,
    ) -> Result<Self, WorkspaceError> {
        let lock = Arc::clone(&one_at_a_time);
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let all_kept = make(state, Path::new(KEPT))?;
        let unfinished = PathBuf::from(format!("{room}{UNFINISHED}"));
        let is_unfinished = all_kept.look(&unfinished).map_err(io_error("read", all_kept.path()))?.is_some();
        if is_unfinished || bytes(&all_kept, room)? > MOST_BYTES {
            remove(&all_kept, Path::new(room))?;
            remove(&all_kept, &unfinished)?;
        }
        let is_new = all_kept.look(Path::new(room)).map_err(io_error("read", all_kept.path()))?.is_none();
        remove(state, live)?;
        let (live, kept) = (make(state, live)?, make(&all_kept, Path::new(room))?);
        let entries = Entries::new();
        let mut cache = Self { all_kept, live, kept, unfinished, entries, one_at_a_time };
        if is_new {
            cache.writing(|cache| cache.bring_movable(room))?;
        }
        cache.fill()?;
        Ok(cache)
    }

    /// Begins with what another room has kept and can be used here.
    fn bring_movable(&mut self, room: &str) -> Result<(), WorkspaceError> {
        let listed = self.all_kept.list(Path::new("")).map_err(io_error("read", self.all_kept.path()))?;
        let is_whole = |name: &Path| {
            let unfinished = format!("{}{UNFINISHED}", name.display());
            matches!(self.all_kept.look(Path::new(&unfinished)), Ok(None))
        };
        let rooms = listed.into_iter().filter(|(_, kind)| *kind == Kind::Dir).map(|(name, _)| PathBuf::from(name));
        let Some(other) = rooms.into_iter().find(|name| name != Path::new(room) && is_whole(name)) else {
            return Ok(());
        };
        let other = self.all_kept.below(&other).map_err(io_error("open", &self.all_kept.path().join(&other)))?;
        let entries = all(&other)?;
        let named = entries.keys().filter(|path| path.file_name().is_some_and(|name| moves(&name.to_string_lossy())));
        let tops: BTreeSet<&Path> = named.filter_map(|path| path.parent()).collect();
        let is_movable = |path: &PathBuf| tops.iter().any(|top| path.starts_with(top) || top.starts_with(path));
        copy(&other, &self.kept, &entries, is_movable)
    }

    /// Fills the empty caches with what is kept.
    fn fill(&mut self) -> Result<(), WorkspaceError> {
        copy(&self.kept, &self.live, &all(&self.kept)?, |_| true)?;
        self.entries = all(&self.live)?;
        Ok(())
    }

    /// Keeps what the checks of the user's own commit have left. Where that cannot be, nothing is kept.
    pub(super) fn keep(&mut self) -> Result<(), WorkspaceError> {
        let lock = Arc::clone(&self.one_at_a_time);
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.writing(Self::try_keep)
    }

    /// Writes to what is kept.
    fn writing(&mut self, write: impl FnOnce(&mut Self) -> Result<(), WorkspaceError>) -> Result<(), WorkspaceError> {
        let all_kept = self.all_kept.clone();
        let failed = || io_error("write to", all_kept.path());
        all_kept.put(&self.unfinished, b"").map_err(failed())?;
        let written = write(self);
        if written.is_err() {
            empty(&self.kept)?;
        }
        all_kept.remove(&self.unfinished).map_err(failed())?;
        written.or_else(|error| self.begin_anew(&error))
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

fn make(root: &Root, path: &Path) -> Result<Root, WorkspaceError> {
    root.make_below(path).map_err(io_error("make", &root.path().join(path)))
}

fn remove(root: &Root, path: &Path) -> Result<(), WorkspaceError> {
    root.remove(path).map_err(io_error("empty", &root.path().join(path)))
}

/// How much is kept of a room.
fn bytes(all_kept: &Root, room: &str) -> Result<u64, WorkspaceError> {
    let kept = look(all_kept, &BTreeSet::from([PathBuf::from(room)]))?;
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
            to.copy(path, from, path)
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
        let open = |room: &str| RoomCache::open(&state, &Path::new("cache").join(room), room, Arc::default()).unwrap();
        let mut cache = open("room-1");
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
        // The next run: what an interrupted check left there is gone.
        fs::write(live.join("planted"), "x").unwrap();
        open("room-1");
        let names = |room: &str| {
            let list = fs::read_dir(dir.path().join("cache").join(room)).unwrap();
            list.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
        };
        assert_eq!(names("room-1"), ["deps"]);
        // Another room begins with what its tool knows to have moved.
        let mut cache = open("room-1");
        fs::create_dir_all(live.join("target/debug")).unwrap();
        fs::write(live.join("target/.rustc_info.json"), "{}").unwrap();
        fs::write(live.join("target/debug/lib"), "built").unwrap();
        cache.keep().unwrap();
        open("room-2");
        assert_eq!(names("room-2"), ["target"]);
        assert_eq!(fs::read_to_string(dir.path().join("cache/room-2/target/debug/lib")).unwrap(), "built");
        // Whoever was killed at keeping has kept nothing that can be relied on.
        fs::write(dir.path().join(KEPT).join(format!("room-1{UNFINISHED}")), "").unwrap();
        fs::remove_dir_all(dir.path().join(KEPT).join("room-2")).unwrap();
        open("room-1");
        assert_eq!(fs::read_dir(&live).unwrap().count(), 0);
    }
}
