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

/// The files as they were.
pub(super) struct Copies {
    state: Root,
    kept: Root,
    top: Root,
    files: Vec<(PathBuf, Option<Kind>)>,
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
        if state.look(Path::new(PLACE)).map_err(failed())?.is_some() {
            let place = place.display();
            return Err(WorkspaceError::Unusable(format!(
                "an earlier `reflexion apply` was cut short: the files as they were before it are in {place}. Take back what \
                 you need from there, and remove that directory"
            )));
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

    fn copy(&self, file: &Path) -> io::Result<Option<Kind>> {
        let kind = self.top.look(file)?.map(|look| look.kind);
        match kind {
            Some(Kind::File) => self.kept.copy(file, &self.top, file)?,
            Some(Kind::Link) => self.kept.link(file, &self.top.target(file)?)?,
            Some(Kind::Dir | Kind::Other) | None => {}
        }
        Ok(kind)
    }

    /// Makes the files what they were, and lets the copies go.
    pub(super) fn put_back(self) -> Result<(), WorkspaceError> {
        // First what is new, which may be in the way of what was there.
        for (file, _) in self.files.iter().filter(|(_, kind)| kind.is_none()) {
            self.put(file, |top| match top.look(file)? {
                Some(look) if look.kind != Kind::Dir => top.remove(file),
                _ => Ok(()),
            })?;
        }
        for (file, kind) in &self.files {
            self.put(file, |top| match kind {
                Some(Kind::File) => top.copy(file, &self.kept, file),
                Some(Kind::Link) => {
                    top.remove(file)?;
                    top.link(file, &self.kept.target(file)?)
                }
                _ => Ok(()),
            })?;
        }
        self.let_go()
    }

    fn put(&self, file: &Path, act: impl FnOnce(&Root) -> io::Result<()>) -> Result<(), WorkspaceError> {
        act(&self.top).map_err(io_error("put back", &self.top.path().join(file)))
    }

    /// Lets the copies go.
    pub(super) fn let_go(self) -> Result<(), WorkspaceError> {
        self.state.remove(Path::new(PLACE)).map_err(io_error("remove", self.kept.path()))
    }
}
