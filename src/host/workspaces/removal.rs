//! Removing what an agent left, however it left it.

use super::layout::io_error;
use crate::services::WorkspaceError;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a file, a link or a whole directory; read-only directories in it are opened first. Links are not followed.
/// What is not there is no error.
pub(super) fn remove(path: &Path) -> Result<(), WorkspaceError> {
    match try_remove(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            try_remove(path)
        }
        result => result,
    }
    .map_err(io_error("remove", path))
}

fn try_remove(path: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => gone(fs::remove_dir_all(path)),
        Ok(_) => gone(fs::remove_file(path)),
        Err(error) => gone(Err(error)),
    }
}

/// Lets the owner into every directory of a tree, top down.
pub(super) fn make_writable(top: &Path) {
    let mut open = vec![top.to_owned()];
    while let Some(dir) = open.pop() {
        let Ok(meta) = fs::symlink_metadata(&dir) else {
            continue;
        };
        if !meta.is_dir() {
            continue;
        }
        let mut permissions = meta.permissions();
        if permissions.mode() & 0o700 != 0o700 {
            permissions.set_mode(permissions.mode() | 0o700);
            // If it cannot be done, the operation that follows says so.
            let _ = fs::set_permissions(&dir, permissions);
        }
        let children = fs::read_dir(&dir).into_iter().flatten().flatten();
        open.extend(
            children.filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir())).map(|child| child.path()),
        );
    }
}
