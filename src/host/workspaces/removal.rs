//! Removing what an agent left, however it left it.

use super::layout::io_error;
use crate::services::WorkspaceError;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a file, a link or a whole directory; read-only directories in and around it are opened first. Links are not followed.
/// What is not there is no error.
pub(super) fn remove(path: &Path) -> Result<(), WorkspaceError> {
    match try_remove(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            if let Some(dir) = path.parent() {
                let_in(dir);
            }
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
        if !let_in(&dir) {
            continue;
        }
        let children = fs::read_dir(&dir).into_iter().flatten().flatten();
        open.extend(
            children.filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir())).map(|child| child.path()),
        );
    }
}

/// Lets the owner into a directory; whether it is one. If it cannot be done, the operation that follows says so.
fn let_in(dir: &Path) -> bool {
    let Ok(meta) = fs::symlink_metadata(dir) else {
        return false;
    };
    let mut permissions = meta.permissions();
    if meta.is_dir() && permissions.mode() & 0o700 != 0o700 {
        permissions.set_mode(permissions.mode() | 0o700);
        let _ = fs::set_permissions(dir, permissions);
    }
    meta.is_dir()
}
