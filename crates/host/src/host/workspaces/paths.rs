//! Paths of a project: whether git's own, and where links lead.

use std::path::{Component, Path, PathBuf};

/// Whether a path is a repository's own, or leads to one: by a `.git` of the user's, or what it names (`gitdir:`, `core.worktree`), git in a
/// workspace would work on the user's repository.
pub(super) fn is_of_git(path: &Path) -> bool {
    path.iter().any(|name| name == ".git")
}

/// The link's target as it has to be written in a copy of the project, if it points into the project.
pub(super) fn inside(project: &Path, link: &Path, target: &Path) -> Option<PathBuf> {
    let dir = link.parent()?;
    let full = normal(&dir.join(target))?;
    let in_project = full.strip_prefix(project).ok()?;
    if target.is_relative() {
        return Some(target.to_owned());
    }
    // An absolute one would lead out of the copy, to the user's own file.
    let up = dir.strip_prefix(project).ok()?.components().count();
    Some(std::iter::repeat_n("..", up).collect::<PathBuf>().join(in_project))
}

/// The path without `.` and `..`, by its words alone.
pub(super) fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            part => normal.push(part),
        }
    }
    Some(normal)
}
