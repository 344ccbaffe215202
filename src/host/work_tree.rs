//! Asking git about a checkout at a session's start and stop: as few calls as possible, and none that changes anything.

use super::changes::DEFAULT_BRANCHES;
use super::changes::Status;
use super::changes::read_status;
use super::git;
use crate::services::TreeStatus;
use crate::services::WorkTree;
use crate::services::WorkTreeError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

/// A checkout on this machine.
#[derive(Debug, Clone)]
pub struct HostWorkTree {
    top: PathBuf,
}

impl HostWorkTree {
    /// The checkout that a directory lies in, if there is one. Git itself is not asked for it: its rules for that are
    /// simple without `GIT_DIR`, and a process costs more than all the rest of a hook.
    #[must_use]
    pub fn around(dir: &Path) -> Option<Self> {
        let dir = dir.canonicalize().ok()?;
        let top = dir.ancestors().find(|dir| is_git_dir(&dir.join(".git")))?;
        Some(Self { top: top.to_owned() })
    }

    fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, WorkTreeError> {
        let mut process = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
            process.env_remove(name);
        }
        for (name, value) in git::ENVIRONMENT {
            process.env(name, value);
        }
        // A hook is quick: what a partial clone left out is not fetched for it.
        process.env("GIT_NO_LAZY_FETCH", "1");
        for key_value in ["core.hooksPath=/dev/null", "core.fsmonitor=false", "status.showStash=false"] {
            process.args(["-c", key_value]);
        }
        process.args(args).current_dir(&self.top).stdin(Stdio::null());
        let failed = |message: &str| WorkTreeError {
            command: args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned()).unwrap_or_default(),
            message: message.lines().next().unwrap_or_default().trim().to_owned(),
        };
        let output = process.output().map_err(|error| failed(&error.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(if said.trim().is_empty() { "it said nothing" } else { &said }))
    }

    fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Option<String> {
        let out = self.git(args).ok()?;
        let line = String::from_utf8_lossy(&out).lines().next()?.trim().to_owned();
        (!line.is_empty()).then_some(line)
    }
}

/// A `.git` directory, or the file that stands in its place in linked worktrees and submodules.
fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok() || path.is_file()
}

impl WorkTree for HostWorkTree {
    fn top(&self) -> &Path {
        &self.top
    }

    fn name(&self) -> String {
        // `gitdir: <main>/.git/worktrees/<name>`
        let link = std::fs::read(self.top.join(".git")).unwrap_or_default();
        let main = link.strip_prefix(b"gitdir: ").and_then(|to| {
            let to = Path::new(OsStr::from_bytes(to.trim_ascii_end()));
            let worktrees = to.parent().filter(|dir| dir.ends_with(".git/worktrees"))?;
            worktrees.parent()?.parent().map(Path::to_owned)
        });
        let dir = main.as_deref().unwrap_or(&self.top);
        dir.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    fn status(&self) -> Result<TreeStatus, WorkTreeError> {
        let out = self.git(&[
            "status",
            "--porcelain=v2",
            "--branch",
            "--no-ahead-behind",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=none",
            "-z",
        ])?;
        let Status { head, branch, upstream, files } = read_status(&out);
        Ok(TreeStatus { head, branch, upstream, dirty: files.into_iter().collect() })
    }

    fn changed(&self, from: Option<&str>, to: &str) -> Result<Vec<PathBuf>, WorkTreeError> {
        let out = match from {
            Some(from) => {
                let diff = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none"];
                // A name that comes from a file must not be taken for an option: `--output=` writes.
                self.git(&[&diff[..], &["--end-of-options", from, to]].concat())?
            }
            None => self.git(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", to])?,
        };
        Ok(git::paths(&out).collect())
    }

    fn merge_base(&self, status: &TreeStatus) -> Result<Option<String>, WorkTreeError> {
        if status.head.is_none() {
            return Ok(None);
        }
        let merge_base = |name: &str| self.line(&["merge-base", "HEAD", name]);
        if let Some(fork) = status.upstream.as_deref().and_then(merge_base) {
            return Ok(Some(fork));
        }
        let listed = self.git(&[&["for-each-ref", "--format=%(refname)"][..], &DEFAULT_BRANCHES].concat())?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let mut there = DEFAULT_BRANCHES.into_iter().filter(|name| listed.lines().any(|line| line == *name));
        Ok(there.find_map(merge_base))
    }

    fn stamp(&self, path: &Path) -> Option<String> {
        let meta = self.top.join(path).symlink_metadata().ok()?;
        Some(format!("{}-{}.{:09}-{:o}", meta.size(), meta.mtime(), meta.mtime_nsec(), meta.mode()))
    }
}
