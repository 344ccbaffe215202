//! Where programs are, and what runs them.

use super::redacted::RedactedRunner;
use crate::host::{HostChanges, HostRunner};
use crate::services::{Changes, CommandRunner};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs programs outside of any run, as `doctor` does; a run has its own, which is told the project.
#[must_use]
pub fn command_runner() -> Arc<dyn CommandRunner> {
    Arc::new(RedactedRunner(Arc::new(HostRunner::new())))
}

/// Lists what changed in a work tree, with git.
#[must_use]
pub fn changes() -> Arc<dyn Changes> {
    Arc::new(HostChanges)
}

/// The file that would be started: a name with a `/` is a path from `root`, any other is looked for on `path`, a list as
/// in the variable `PATH`.
///
/// Nothing is started; a file that exists and may be executed may still fail.
#[must_use]
pub fn find_program(program: &str, root: &Path, path: &OsStr) -> Option<PathBuf> {
    let runs = |file: &PathBuf| file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return Some(root.join(program)).filter(runs);
    }
    std::env::split_paths(path).map(|dir| root.join(dir).join(program)).find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_it_would_be_started_from() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (name, mode) in [("bin/tool", 0o755), ("late/tool", 0o755), ("bin/notes", 0o644), ("late/notes", 0o755)] {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::create_dir(root.join("bin/folder")).unwrap();
        let check = |program: &str, expected: Option<&str>| {
            let path = std::env::join_paths([root.join("none"), root.join("bin"), root.join("late")]).unwrap();
            assert_eq!(find_program(program, root, &path), expected.map(|e| root.join(e)), "{program}");
        };
        check("tool", Some("bin/tool"));
        check("notes", Some("late/notes"));
        check("folder", None);
        check("other", None);
        check("./bin/tool", Some("./bin/tool"));
        check("bin/notes", None);
        check("", None);
    }
}
