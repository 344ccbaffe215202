//! The build caches of clean rooms (`{cache}`), without what was built of other files than those that are checked.
//!
//! What a tool finds in a build cache it mostly believes by the times of the files that it read; an agent can set those, and none
//! tells of a file that is new and would have been found first. So what the checks of the user's own commit left is used again only
//! as far as it does not depend on the repository's files ([`Reuse`]), in later runs and in other rooms too. What `setup`
//! wrote there stays as long as what it made of the files does. All else is gone before the next check.

use super::cargo_cache;
use super::kept::{Entry, look};
use super::layout::io_error;
use crate::files::{Kind, Root};
use crate::services::WorkspaceError;
use crate::toolchain::Reuse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the kept caches of each room are, in the machine state. No program is let in there.
pub(super) const KEPT: &str = "cache-kept";
/// Beside those of a room, what `setup` has made in its caches.
const OF_SETUP: &str = ".setup";
/// Beside those of a room, says that they are being written: where it stands, somebody was killed at that.
const UNFINISHED: &str = ".unfinished";
/// More is not kept of a room: caches grow with every state of what they have seen.
const MOST_BYTES: u64 = 8 << 30;

type Entries = BTreeMap<PathBuf, Entry>;

/// Whose build caches these are.
pub(super) struct Room<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Where the repository's files are.
    pub(super) files: &'a Path,
    /// Where the build caches are, in the machine state.
    pub(super) live: &'a Path,
    /// Which of them are known, below that.
    pub(super) known: Vec<(PathBuf, Reuse)>,
}

/// The caches of one room.
#[derive(Debug)]
pub(super) struct RoomCache {
    all_kept: Root,
    live: Root,
    /// What is used again, and what `setup` has made.
    kept: Root,
    of_setup: Root,
    unfinished: PathBuf,
    files: PathBuf,
    known: Vec<(PathBuf, Reuse)>,
    /// What is in `live` when nobody has used it.
    entries: Entries,
    /// Held while somebody is at the kept caches of any room.
    one_at_a_time: Arc<Mutex<()>>,
}

impl RoomCache {
    /// The caches of a room, filled with what is kept for it.
    pub(super) fn open(state: &Root, room: Room<'_>, one_at_a_time: Arc<Mutex<()>>) -> Result<Self, WorkspaceError> {
        let lock = Arc::clone(&one_at_a_time);
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let Room { name, files, live, known } = room;
        let all_kept = make(state, Path::new(KEPT))?;
        let unfinished = PathBuf::from(format!("{name}{UNFINISHED}"));
        let is_unfinished = all_kept.look(&unfinished).map_err(io_error("read", all_kept.path()))?.is_some();
        if is_unfinished || bytes(&all_kept, name)? > MOST_BYTES {
            remove(&all_kept, Path::new(name))?;
            remove(&all_kept, &unfinished)?;
        }
        let is_new = all_kept.look(Path::new(name)).map_err(io_error("read", all_kept.path()))?.is_none();
        let of_setup = PathBuf::from(format!("{name}{OF_SETUP}"));
        remove(&all_kept, &of_setup)?;
        remove(state, live)?;
        let (live, kept, of_setup) =
            (make(state, live)?, make(&all_kept, Path::new(name))?, make(&all_kept, &of_setup)?);
        let (files, entries) = (files.to_owned(), Entries::new());
        let mut cache = Self { all_kept, live, kept, of_setup, unfinished, files, known, entries, one_at_a_time };
        if is_new {
            cache.writing(|cache| cache.bring_from_other(name))?;
        }
        cache.fill()?;
        Ok(cache)
    }

    /// Begins with what another room has kept.
    fn bring_from_other(&mut self, room: &str) -> Result<(), WorkspaceError> {
        let listed = self.all_kept.list(Path::new("")).map_err(io_error("read", self.all_kept.path()))?;
        let is_whole = |name: &str| {
            let unfinished = format!("{name}{UNFINISHED}");
            !name.ends_with(OF_SETUP) && matches!(self.all_kept.look(Path::new(&unfinished)), Ok(None))
        };
        let rooms = listed.into_iter().filter(|(_, kind)| *kind == Kind::Dir);
        let mut names = rooms.map(|(name, _)| name.to_string_lossy().into_owned());
        let Some(other) = names.find(|name| name != room && is_whole(name)) else { return Ok(()) };
        let other =
            self.all_kept.below(Path::new(&other)).map_err(io_error("open", &self.all_kept.path().join(&other)))?;
        copy(&other, &self.kept, &all(&other)?, |_| true)
    }

    /// Fills the empty caches with what is kept.
    fn fill(&mut self) -> Result<(), WorkspaceError> {
        for from in [&self.kept, &self.of_setup] {
            copy(from, &self.live, &all(from)?, |_| true)?;
        }
        self.entries = all(&self.live)?;
        Ok(())
    }

    /// Keeps what the checks of the user's own commit have left and is used again, and puts all else back. Where it cannot be kept,
    /// nothing is.
    pub(super) fn keep(&mut self) -> Result<(), WorkspaceError> {
        let lock = Arc::clone(&self.one_at_a_time);
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.writing(Self::try_keep)?;
        self.put_back()
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
        let reused = self.reused(&now);
        let of_setup = all(&self.of_setup)?;
        let is_new = |path: &PathBuf, entry: &Entry| {
            let is_changed = || self.entries.get(path) != Some(entry) && !of_setup.contains_key(path);
            reused.contains(path.as_path()) && (matches!(entry, Entry::Dir { .. }) || is_changed())
        };
        let new: Entries = now
            .iter()
            .filter(|(path, entry)| is_new(path, entry))
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        copy(&self.live, &self.kept, &new, |_| true)?;
        // They are what is to be there from now on.
        self.entries.extend(new);
        Ok(())
    }

    /// What may be used again for other files, with the directories above.
    fn reused<'a>(&self, now: &'a Entries) -> BTreeSet<&'a Path> {
        let of = |(root, reuse): &(PathBuf, Reuse)| match reuse {
            Reuse::All => now.keys().map(PathBuf::as_path).filter(|path| path.starts_with(root)).collect(),
            Reuse::DependenciesOfCargo => cargo_cache::of_dependencies(&self.live, root, now.keys(), &self.files),
        };
        let reused = self.known.iter().flat_map(of);
        reused.flat_map(Path::ancestors).collect()
    }

    /// Takes away all but what `setup` has written, until the caches are put back.
    pub(super) fn leave_out_kept(&mut self) -> Result<(), WorkspaceError> {
        empty(&self.live)?;
        copy(&self.of_setup, &self.live, &all(&self.of_setup)?, |_| true)
    }

    /// `setup` is about to run on files for which nothing that it made before is right.
    pub(super) fn begin_setup(&mut self) -> Result<(), WorkspaceError> {
        empty(&self.of_setup)?;
        empty(&self.live)?;
        self.fill()
    }

    /// Keeps what `setup` has written, until it runs again.
    pub(super) fn end_setup(&mut self) -> Result<(), WorkspaceError> {
        let now = all(&self.live)?;
        if now == self.entries {
            return Ok(());
        }
        let is_made = |path: &PathBuf| self.entries.get(path) != now.get(path);
        let made: BTreeSet<&Path> = now.keys().filter(|path| is_made(path)).flat_map(|path| path.ancestors()).collect();
        copy(&self.live, &self.of_setup, &now, |path| made.contains(path.as_path()))?;
        self.entries = now;
        Ok(())
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
        let of_setup = all(&self.of_setup)?;
        let changed = |path: &PathBuf| now.get(path) != self.entries.get(path);
        copy(&self.kept, &self.live, &self.entries, |path| changed(path) && !of_setup.contains_key(path))?;
        copy(&self.of_setup, &self.live, &self.entries, |path| changed(path) && of_setup.contains_key(path))?;
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
    // A directory may be what a build makes: it is as old as it was. And some tools close what they have filled.
    for (path, entry) in entries.iter().rev() {
        let Entry::Dir { mode, modified, .. } = entry else { continue };
        let date = || match to.look(path)? {
            Some(look) if look.modified != *modified => to.date(path, *modified),
            _ => Ok(()),
        };
        date().map_err(io_error("date", &to.path().join(path)))?;
        if which(path) {
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
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    fn open(dir: &TempDir, name: &str) -> RoomCache {
        let (state, live) = (Root::open(dir.path()).unwrap(), Path::new("cache").join(name));
        let known = vec![(PathBuf::from("go"), Reuse::All), (PathBuf::from("target"), Reuse::DependenciesOfCargo)];
        RoomCache::open(&state, Room { name, files: Path::new("/files"), live: &live, known }, Arc::default()).unwrap()
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn names(dir: &Path) -> Vec<String> {
        let all = walkdir::WalkDir::new(dir).min_depth(1).sort_by_file_name().into_iter();
        all.map(|entry| entry.unwrap().path().strip_prefix(dir).unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn what_is_used_again_is_what_the_users_commit_left_and_the_tool_finds_by_digests() {
        let dir = tempfile::tempdir().unwrap();
        let live = dir.path().join("cache/room-1");
        let mut cache = open(&dir, "room-1");
        write(&live.join("go/closed/a"), "built");
        write(&live.join("objects/main.o"), "built");
        write(&live.join("target/debug/app"), "built");
        fs::set_permissions(live.join("go/closed"), fs::Permissions::from_mode(0o555)).unwrap();
        cache.keep().unwrap();
        for _ in 0..2 {
            assert_eq!(names(&live), ["go", "go/closed", "go/closed/a"]);
            fs::set_permissions(live.join("go/closed"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(live.join("go/closed/a"), "forged").unwrap();
            fs::write(live.join("planted"), "x").unwrap();
            symlink("/etc", live.join("go/link")).unwrap();
            cache.put_back().unwrap();
            assert_eq!(fs::read_to_string(live.join("go/closed/a")).unwrap(), "built");
        }
        fs::remove_dir_all(live.join("go")).unwrap();
        cache.put_back().unwrap();
        // What a check has closed is filled anew.
        fs::set_permissions(live.join("go"), fs::Permissions::from_mode(0o000)).unwrap();
        cache.put_back().unwrap();
        assert_eq!(fs::metadata(live.join("go/closed")).unwrap().permissions().mode() & 0o777, 0o555);
        // The next run, and another room: what an interrupted check left there is gone.
        fs::write(live.join("planted"), "x").unwrap();
        for room in ["room-1", "room-2"] {
            open(&dir, room);
            assert_eq!(names(&dir.path().join("cache").join(room)), ["go", "go/closed", "go/closed/a"]);
        }
        // Whoever was killed at keeping has kept nothing that can be relied on.
        fs::write(dir.path().join(KEPT).join(format!("room-1{UNFINISHED}")), "").unwrap();
        fs::remove_dir_all(dir.path().join(KEPT).join("room-2")).unwrap();
        open(&dir, "room-1");
        assert!(names(&live).is_empty());
    }

    #[test]
    fn what_setup_wrote_stays_until_it_runs_again() {
        let dir = tempfile::tempdir().unwrap();
        let live = dir.path().join("cache/room-1");
        let mut cache = open(&dir, "room-1");
        cache.begin_setup().unwrap();
        write(&live.join("venv/one"), "1");
        cache.end_setup().unwrap();
        let made = || fs::metadata(live.join("venv")).unwrap().modified().unwrap();
        let before = made();
        for used in [RoomCache::keep, RoomCache::put_back] {
            write(&live.join("venv/one"), "forged");
            write(&live.join("venv/planted"), "x");
            used(&mut cache).unwrap();
            assert_eq!(made(), before, "a directory may be what a build makes");
            assert_eq!(names(&live), ["venv", "venv/one"]);
            assert_eq!(fs::read_to_string(live.join("venv/one")).unwrap(), "1");
        }
        cache.begin_setup().unwrap();
        assert!(names(&live).is_empty());
        write(&live.join("venv/two"), "2");
        cache.end_setup().unwrap();
        fs::remove_dir_all(live.join("venv")).unwrap();
        cache.put_back().unwrap();
        assert_eq!(names(&live), ["venv", "venv/two"]);
        open(&dir, "room-1");
        assert!(names(&live).is_empty(), "the next run begins without it");
    }
}
