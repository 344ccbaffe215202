//! Files of the user's that are about to be changed: all of a change arrives or nothing.
//!
//! There are two copies of each. One is changed, which may take long where the user's filters do; the other one tells then whether the
//! user saved something meanwhile. Only when all is ready, what was changed is moved to its place. Whatever ends that earlier leaves
//! nothing behind: the [`Bench`] on which it is prepared goes with its value.

use super::layout::{Layout, io_error};
use crate::files::{Kind, Look, Root};
use crate::host::lock::{STARTING, try_lock_within};
use crate::services::WorkspaceError;
use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Where the copies are, in the machine state, until the user's files are touched.
const PREPARED: &str = "applying.prepared";

/// Where they are from then on.
const PLACE: &str = "applying";

/// What is needed to find out what is to be changed.
const SCRATCH: &str = "scratch";

/// In either, the files as they were, and as they are to be.
const BEFORE: &str = "before";
const AFTER: &str = "after";

/// Held by who makes and uses copies; nothing is written into it.
const LOCK: &str = "applying.lock";

/// What to do about copies that an earlier change left because it was cut short, if there are any.
pub(super) fn left_behind(layout: &Layout) -> Option<String> {
    let left = cut_short(layout)?;
    // Unless whoever made them is at work still.
    let lock = layout.files().and_then(|state| state.open_shared(Path::new(LOCK))).ok()?;
    lock.try_lock().is_ok().then_some(left)
}

/// Removes what an earlier `apply` had prepared, or needs no more, when it was killed; unless one is at work just now.
pub(super) fn remove_left(state: &Root) -> io::Result<()> {
    let prepared = Path::new(PREPARED);
    if state.look(prepared)?.is_none() {
        return Ok(());
    }
    let lock = state.open_shared(Path::new(LOCK))?;
    match lock.try_lock() {
        Ok(()) => state.remove(prepared),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn cut_short(layout: &Layout) -> Option<String> {
    let place = layout.state().join(PLACE);
    place.symlink_metadata().is_ok().then(|| {
        format!(
            "an earlier `reflexion apply` was cut short: the files as they were before it are in {}. Take back what you need from \
             there, and remove {}",
            place.join(BEFORE).display(),
            place.display()
        )
    })
}

/// Where one process at a time prepares a change; removed when it is dropped.
pub(super) struct Bench {
    state: Root,
    /// Let go after the directory.
    _lock: File,
}

impl Bench {
    /// Takes the place, and removes what a killed process left in it.
    ///
    /// # Errors
    /// [`WorkspaceError::Unusable`] where copies of an earlier change that was cut short are there still: somebody has to look at
    /// them. The same where another process applies something just now.
    pub(super) fn take(layout: &Layout) -> Result<Self, WorkspaceError> {
        let place = layout.state().join(PREPARED);
        let failed = || io_error("make", &place);
        let state = layout.files().map_err(failed())?;
        let lock = state.open_shared(Path::new(LOCK)).map_err(failed())?;
        try_lock_within(STARTING, || lock.try_lock()).map_err(|error| match error {
            TryLockError::WouldBlock => WorkspaceError::Unusable(
                "another `reflexion apply` is at work in this project: wait for its end".to_owned(),
            ),
            TryLockError::Error(error) => failed()(error),
        })?;
        if let Some(left) = cut_short(layout) {
            return Err(WorkspaceError::Unusable(left));
        }
        state.remove(Path::new(PREPARED)).map_err(failed())?;
        Ok(Self { state, _lock: lock })
    }

    /// An empty directory for what is needed until files are copied.
    pub(super) fn scratch(&self) -> Result<Root, WorkspaceError> {
        self.make(SCRATCH)
    }

    fn make(&self, name: &str) -> Result<Root, WorkspaceError> {
        let path = Path::new(PREPARED).join(name);
        self.state.make_below(&path).map_err(io_error("make", &self.state.path().join(&path)))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one. A git that was just ended finds no directory to write to.
        let _ = self.state.remove(Path::new(PREPARED));
    }
}

/// The files as they were, and as they are to be.
pub(super) struct Copies {
    bench: Bench,
    before: Root,
    after: Root,
    top: Root,
    files: Vec<Copied>,
}

/// A file, and what stood there, with its permissions.
struct Copied {
    path: PathBuf,
    was: Option<(Kind, u32)>,
}

/// A file that was moved to its place, or away, and what stood there then.
struct Moved<'a> {
    file: &'a Copied,
    now: Option<Look>,
}

impl Copies {
    /// Copies these files.
    ///
    /// # Errors
    /// Where one cannot be copied, and [`WorkspaceError::Interrupted`].
    pub(super) fn take(
        bench: Bench,
        top: &Path,
        files: Vec<PathBuf>,
        cancel: &CancellationToken,
    ) -> Result<Self, WorkspaceError> {
        let (before, after) = (bench.make(BEFORE)?, bench.make(AFTER)?);
        let top = Root::open(top).map_err(io_error("open", top))?;
        let mut taken = Self { bench, before, after, top, files: Vec::new() };
        let failed = || io_error("copy to", taken.before.path());
        let mut copied = Vec::new();
        for path in files {
            if cancel.is_cancelled() {
                return Err(WorkspaceError::Interrupted);
            }
            let was = taken.copy(&path).map_err(failed())?;
            copied.push(Copied { path, was });
        }
        taken.files = copied;
        taken.copy_attributes().map_err(io_error("copy to", taken.after.path()))?;
        Ok(taken)
    }

    fn copy(&self, path: &Path) -> io::Result<Option<(Kind, u32)>> {
        let look = self.top.look(path)?;
        match look.as_ref().map(|look| look.kind) {
            Some(Kind::File) => {
                self.before.copy(path, &self.top, path)?;
                self.after.copy(path, &self.before, path)?;
            }
            Some(Kind::Link) => {
                let target = self.top.target(path)?;
                self.before.link(path, &target)?;
                self.after.link(path, &target)?;
            }
            // One of a submodule, or one that a file takes the place of. What is in it is not copied.
            Some(Kind::Dir) => drop(self.after.make_below(path)?),
            Some(Kind::Other) | None => {}
        }
        Ok(look.map(|look| (look.kind, look.mode)))
    }

    /// Git asks the directories of a file how it is to be written.
    fn copy_attributes(&self) -> io::Result<()> {
        let mut dirs: HashSet<&Path> = self.files.iter().flat_map(|file| file.path.ancestors().skip(1)).collect();
        // What takes the place of a directory finds nothing in it.
        self.files.iter().for_each(|file| _ = dirs.remove(file.path.as_path()));
        for dir in dirs {
            let attributes = dir.join(".gitattributes");
            let is_there = |root: &Root| Ok::<_, io::Error>(root.look(&attributes)?.map(|look| look.kind));
            if is_there(&self.top).ok().flatten() == Some(Kind::File) && is_there(&self.after)?.is_none() {
                self.after.copy(&attributes, &self.top, &attributes)?;
            }
        }
        Ok(())
    }

    /// The files as they are to be: what is made of them here is what arrives.
    pub(super) fn after(&self) -> &Root {
        &self.after
    }

    /// Moves the files to their places, and lets the copies go.
    ///
    /// # Errors
    /// Where the user saved one of them meanwhile, or one cannot be moved: those that were moved are put back. Where that cannot be
    /// done either, the copies stay. Before anything is moved, where something is in the way.
    pub(super) fn arrive(self) -> Result<(), WorkspaceError> {
        self.nothing_is_in_the_way()?;
        let (prepared, place) = (Path::new(PREPARED), Path::new(PLACE));
        let state = &self.bench.state;
        let failed = || io_error("rename", &state.path().join(prepared));
        state.remove(&prepared.join(SCRATCH)).and_then(|()| state.rename(prepared, place)).map_err(failed())?;
        // First what goes, which may be in the way of what comes.
        let (go, come): (Vec<&Copied>, Vec<&Copied>) = self.files.iter().partition(|file| !self.comes(file));
        let mut moved = Vec::new();
        for file in go.into_iter().chain(come) {
            let done = self.was_saved(file).unwrap_or_else(|| {
                let put = self.put(file);
                moved.push(Moved { file, now: self.top.look(&file.path).ok().flatten() });
                put
            });
            if let Err(error) = done {
                return self.put_back(&moved, &format!("{}: {error}", file.path.display()));
            }
        }
        self.let_go()
    }

    /// Whether a file or a link is to be there.
    fn comes(&self, file: &Copied) -> bool {
        self.after.look(&file.path).ok().flatten().is_some_and(|look| look.kind != Kind::Dir)
    }

    /// A file takes the place of a directory if nothing stays in that but directories.
    fn nothing_is_in_the_way(&self) -> Result<(), WorkspaceError> {
        let goes: HashSet<&Path> =
            self.files.iter().filter(|file| !self.comes(file)).map(|file| file.path.as_path()).collect();
        let is_replaced = |file: &&Copied| matches!(file.was, Some((Kind::Dir, _))) && self.comes(file);
        let mut stays = Vec::new();
        for file in self.files.iter().filter(is_replaced) {
            for found in self.top.walk(&file.path) {
                let (path, look) = found.map_err(io_error("look through", &self.top.path().join(&file.path)))?;
                if look.kind != Kind::Dir && !goes.contains(path.as_path()) {
                    stays.push(path.display().to_string());
                }
            }
        }
        if stays.is_empty() {
            return Ok(());
        }
        let what =
            "the work, which has a file where you have a directory with files of which it does not know,".to_owned();
        Err(WorkspaceError::Conflict { what, files: stays })
    }

    /// The error of a file that is not any more as it was copied.
    fn was_saved(&self, file: &Copied) -> Option<io::Result<()>> {
        let changed = !self.is_as_it_was(file);
        changed.then(|| Err(io::Error::other("it was changed while the work was prepared; apply it again")))
    }

    fn is_as_it_was(&self, file: &Copied) -> bool {
        let path = &file.path;
        match file.was {
            Some((Kind::File, _)) => is_same_file(&self.top, &self.before, path),
            Some((Kind::Link, _)) => {
                self.top.target(path).is_ok_and(|now| self.before.target(path).is_ok_and(|before| now == before))
            }
            // A directory goes with what was in it, where that is all that goes.
            _ => self.top.look(path).ok().flatten().is_none_or(|look| look.kind == Kind::Dir),
        }
    }

    fn put(&self, file: &Copied) -> io::Result<()> {
        let (path, was) = (&file.path, file.was.map(|(kind, _)| kind));
        match (was, self.after.look(path)?.map(|look| (look.kind, look.mode))) {
            // The files of a submodule are no part of the work.
            (Some(Kind::Dir), Some((Kind::Dir, _))) | (None, None) => Ok(()),
            (_, None) => {
                match was {
                    // One of a submodule stays, as git has it, if something is in it.
                    Some(Kind::Dir) => _ = self.top.remove_empty(path),
                    _ => self.top.remove(path)?,
                }
                let emptied = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
                emptied.map(|dir| self.top.remove_empty(dir)).take_while(Result::is_ok).for_each(drop);
                Ok(())
            }
            (_, Some((Kind::Dir, _))) => {
                if was.is_some() {
                    self.top.remove(path)?;
                }
                self.top.make_below(path).map(drop)
            }
            (_, Some((now, mode))) => {
                // Git makes new files of those that it changes.
                if let Some((Kind::File, was)) = file.was
                    && now == Kind::File
                    && (mode & 0o111 == 0) == (was & 0o111 == 0)
                {
                    self.after.set_mode(path, was)?;
                }
                clear(&self.top, path)?;
                self.top.take(path, &self.after, path)
            }
        }
    }

    /// Makes the files that were moved what they were, and lets the copies go.
    fn put_back(&self, moved: &[Moved<'_>], why: &str) -> Result<(), WorkspaceError> {
        // What came last may be in the way of what went first.
        let failed: Vec<String> = moved
            .iter()
            .rev()
            .filter_map(|moved| Some(format!("{} ({})", moved.file.path.display(), self.restore(moved).err()?)))
            .collect();
        if failed.is_empty() {
            self.let_go()?;
            return Err(WorkspaceError::Unusable(format!(
                "the work could not be applied, and nothing was changed: {why}"
            )));
        }
        Err(WorkspaceError::Unusable(format!(
            "the work could not be applied ({why}), and these files could not be put back: {}. As they were they are in {}: take them \
             back from there, and remove {}",
            failed.join(", "),
            self.bench.state.path().join(PLACE).join(BEFORE).display(),
            self.bench.state.path().join(PLACE).display(),
        )))
    }

    fn restore(&self, Moved { file, now }: &Moved<'_>) -> io::Result<()> {
        let path = &file.path;
        if !is_still(now.as_ref(), self.top.look(path)?.as_ref()) {
            return Err(io::Error::other("it was saved meanwhile, and stays as it was saved"));
        }
        let is_dir = self.top.look(path)?.map(|look| look.kind == Kind::Dir);
        match file.was {
            None if is_dir == Some(true) => {
                // What somebody has put there meanwhile stays.
                let _ = self.top.remove_empty(path);
                Ok(())
            }
            None => self.top.remove(path),
            Some((Kind::Dir, _)) => {
                if is_dir == Some(false) {
                    self.top.remove(path)?;
                }
                self.top.make_below(path).map(drop)
            }
            Some((Kind::File, _)) if !is_same_file(&self.top, &self.before, path) => {
                clear(&self.top, path)?;
                self.top.take(path, &self.before, path)
            }
            Some((Kind::Link, _)) if !self.is_as_it_was(file) => {
                clear(&self.top, path)?;
                self.top.remove(path)?;
                self.top.link(path, &self.before.target(path)?)
            }
            _ => Ok(()),
        }
    }

    /// Removes the copies, which nobody needs any more. That is said first, in one step: whoever is killed here leaves what the next one removes,
    /// and nothing that a person would have to look at.
    fn let_go(&self) -> Result<(), WorkspaceError> {
        let (state, place) = (&self.bench.state, Path::new(PLACE));
        let removed = state.rename(place, Path::new(PREPARED)).and_then(|()| state.remove(Path::new(PREPARED)));
        removed.map_err(io_error("remove", &state.path().join(place)))
    }
}

/// Whether nobody has written there since. What is in a directory is nobody's business here.
fn is_still(then: Option<&Look>, now: Option<&Look>) -> bool {
    match (then, now) {
        (Some(then), Some(now)) if then.kind == Kind::Dir => now.kind == Kind::Dir,
        (Some(then), Some(now)) => {
            (then.kind, then.inode, then.len, then.modified) == (now.kind, now.inode, now.len, now.modified)
        }
        (then, now) => then.is_none() && now.is_none_or(|now| now.kind == Kind::Dir),
    }
}

/// Removes a directory with nothing but directories in it, if one stands there.
fn clear(files: &Root, path: &Path) -> io::Result<()> {
    if files.look(path)?.is_none_or(|look| look.kind != Kind::Dir) {
        return Ok(());
    }
    let mut dirs = Vec::new();
    for found in files.walk(path) {
        let (path, look) = found?;
        if look.kind != Kind::Dir {
            return Err(io::Error::other(format!("`{}` is in the way", path.display())));
        }
        dirs.push(path);
    }
    dirs.iter().rev().try_for_each(|dir| files.remove_empty(dir))
}

fn is_same_file(one: &Root, other: &Root, path: &Path) -> bool {
    let look = |root: &Root| root.look(path).ok().flatten().map(|look| (look.kind, look.len, look.mode));
    look(one).is_some_and(|now| look(other) == Some(now)) && one.read(path).ok() == other.read(path).ok()
}
