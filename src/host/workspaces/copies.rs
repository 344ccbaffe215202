//! Copies of files of the user's that are about to be changed, so that all of a change arrives or nothing.

use super::layout::Layout;
use super::layout::io_error;
use crate::files::Kind;
use crate::files::Root;
use crate::services::WorkspaceError;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Where the copies are, in the machine state.
const PLACE: &str = "applying";

/// What to do about copies that an earlier change left because it was cut short, if there are any.
pub(super) fn left_behind(layout: &Layout) -> Option<String> {
    let place = layout.state().join(PLACE);
    place.symlink_metadata().is_ok().then(|| {
        format!(
            "an earlier `reflexion apply` was cut short: the files as they were before it are in {}. Take back what you need from \
             there, and remove that directory",
            place.display()
        )
    })
}

/// The files as they were.
pub(super) struct Copies {
    state: Root,
    kept: Root,
    top: Root,
    /// What stood there, with its permissions.
    files: Vec<(PathBuf, Option<(Kind, u32)>)>,
}

impl Copies {
    /// Copies these files.
    ///
    /// # Errors
    /// [`WorkspaceError::Unusable`] where copies of an earlier change that was cut short are there still: somebody has to look at
    /// them.
    pub(super) fn take(layout: &Layout, top: &Path, files: Vec<PathBuf>) -> Result<Self, WorkspaceError> {
        let place = layout.state().join(PLACE);
        let failed = || io_error("copy to", &place);
        let state = layout.files().map_err(failed())?;
        if let Some(left) = left_behind(layout) {
            return Err(WorkspaceError::Unusable(left));
        }
        let kept = state.make_below(Path::new(PLACE)).map_err(failed())?;
        let top = Root::open(top).map_err(io_error("open", top))?;
        let mut taken = Self { state, kept, top, files: Vec::new() };
        for file in files {
            match taken.copy(&file) {
                Ok(kind) => taken.files.push((file, kind)),
                Err(error) => {
                    // Nothing was changed yet, so nothing is needed from there.
                    taken.let_go()?;
                    return Err(failed()(error));
                }
            }
        }
        Ok(taken)
    }

    fn copy(&self, file: &Path) -> io::Result<Option<(Kind, u32)>> {
        let look = self.top.look(file)?;
        match look.as_ref().map(|look| look.kind) {
            Some(Kind::File) => self.kept.copy(file, &self.top, file)?,
            Some(Kind::Link) => self.kept.link(file, &self.top.target(file)?)?,
            Some(Kind::Dir | Kind::Other) | None => {}
        }
        Ok(look.map(|look| (look.kind, look.mode)))
    }

    /// Makes the files what they were, and lets the copies go.
    ///
    /// # Errors
    /// Where some cannot be put back: all others are, and the copies of these stay.
    pub(super) fn put_back(self) -> Result<(), WorkspaceError> {
        // First what is new, which may be in the way of what was there.
        let (new, there): (Vec<_>, Vec<_>) = self.files.iter().partition(|(_, was)| was.is_none());
        let failed: Vec<String> = new
            .into_iter()
            .chain(there)
            .filter_map(|(file, was)| {
                let error = self.put(file, was.map(|(kind, _)| kind)).err()?;
                Some(format!("{} ({error})", file.display()))
            })
            .collect();
        if failed.is_empty() {
            return self.let_go();
        }
        Err(WorkspaceError::Unusable(format!(
            "the work could not be applied, and these files could not be put back: {}. As they were they are in {}: take them back from \
             there, and remove that directory",
            failed.join(", "),
            self.kept.path().display()
        )))
    }

    fn put(&self, file: &Path, was: Option<Kind>) -> io::Result<()> {
        match was {
            None if self.top.look(file)?.is_some_and(|look| look.kind != Kind::Dir) => self.top.remove(file),
            Some(Kind::File) if !self.is_as_it_was(file) => self.top.take(file, &self.kept, file),
            Some(Kind::Link) if self.top.target(file).ok() != self.kept.target(file).ok() => {
                self.top.remove(file)?;
                self.top.link(file, &self.kept.target(file)?)
            }
            _ => Ok(()),
        }
    }

    fn is_as_it_was(&self, file: &Path) -> bool {
        let look = |root: &Root| root.look(file).ok().flatten().map(|look| (look.kind, look.len, look.mode));
        look(&self.top).is_some_and(|now| look(&self.kept) == Some(now))
            && self.top.read(file).ok() == self.kept.read(file).ok()
    }

    /// Gives what was changed the permissions that it had, and lets the copies go: git makes new files of those that it changes.
    pub(super) fn keep_modes(self) -> Result<(), WorkspaceError> {
        for (file, was) in &self.files {
            let Some((Kind::File, mode)) = was else { continue };
            let now = self.top.look(file).ok().flatten().filter(|look| look.kind == Kind::File);
            if let Some(now) = now
                && (now.mode & 0o111 == 0) == (mode & 0o111 == 0)
                && now.mode != *mode
            {
                self.top.set_mode(file, *mode).map_err(io_error("open", &self.top.path().join(file)))?;
            }
        }
        self.let_go()
    }

    /// Lets the copies go.
    pub(super) fn let_go(self) -> Result<(), WorkspaceError> {
        self.state.remove(Path::new(PLACE)).map_err(io_error("remove", self.kept.path()))
    }
}
