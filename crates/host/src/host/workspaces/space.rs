//! Room on the disk that holds workspaces.

use super::layout::io_error;
use crate::files::{Root, gone};
use crate::services::WorkspaceError;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether so many bytes are free for us where `state` is, or will be.
pub(super) fn at_least(state: &Path, least: u64) -> Result<(), WorkspaceError> {
    if least == 0 {
        return Ok(());
    }
    let place = state.ancestors().find(|dir| dir.exists()).unwrap_or(state);
    let free = free(place).map_err(io_error("ask for the free space of", place))?;
    if free >= least {
        return Ok(());
    }
    let mb = |bytes: u64| bytes >> 20;
    Err(WorkspaceError::Machine(format!(
        "only {} MB are free on the disk of {}, and `workspace.minFreeMb` asks for {}: make room there",
        mb(free),
        place.display(),
        mb(least)
    )))
}

/// Whether what is at these paths has room once more where `place` is, and so many bytes are free then.
pub(super) fn for_a_copy(files: &Root, paths: &[PathBuf], place: &Path, least: u64) -> Result<(), WorkspaceError> {
    if least == 0 {
        return Ok(());
    }
    let mut bytes = 0_u64;
    for found in paths.iter().flat_map(|path| files.walk(path)) {
        bytes = bytes.saturating_add(found.map_err(io_error("look through", files.path()))?.1.allocated);
    }
    let free = free(place).map_err(io_error("ask for the free space of", place))?;
    if free >= bytes.saturating_add(least) {
        return Ok(());
    }
    let mb = |bytes: u64| bytes >> 20;
    Err(WorkspaceError::Machine(format!(
        "what `setup` made has {} MB, which are kept once more in {}; {} MB are free there, and `workspace.minFreeMb` asks for {} that stay: make \
         room there",
        mb(bytes),
        place.display(),
        mb(free),
        mb(least)
    )))
}

/// Whether a file can be made and written to in this directory, which must be there: of a disk without inodes, of quotas and of permissions
/// the free bytes say nothing.
pub(super) fn is_writable(place: &Path) -> Result<(), WorkspaceError> {
    let made = tempfile::tempfile_in(place).and_then(|mut file| file.write_all(b"reflexion\n"));
    made.map_err(|error| {
        WorkspaceError::Machine(match error.kind() {
            io::ErrorKind::NotFound => format!("failed to write to {}: {}", place.display(), gone()),
            _ => format!("{} cannot be written to: {error}; fix that first", place.display()),
        })
    })
}

/// What a process without privileges may still use.
fn free(place: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(place)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_decides_and_the_place_need_not_be_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("not/yet");
        assert!(at_least(&state, 0).is_ok());
        assert!(at_least(&state, 1).is_ok());
        let error = at_least(&state, u64::MAX).unwrap_err();
        assert!(matches!(error, WorkspaceError::Machine(_)), "{error:?}");
        assert!(error.to_string().contains("`workspace.minFreeMb` asks for"), "{error}");
    }
}
