//! Trees of commits, and the tree that merging two of them makes.

use super::begun::Begun;
use crate::host::git;
use crate::host::git::Git;
use crate::services::WorkspaceError;
use std::collections::BTreeSet;

pub(super) async fn tree_of(begun: &Begun, commit: &str) -> Result<String, WorkspaceError> {
    let tree = begun.repository.resolve(&format!("{commit}^{{tree}}")).await?;
    tree.ok_or_else(|| git::failed("rev-parse", "the base has no tree"))
}

/// A merge of two commits.
pub(super) struct Merge<'a> {
    /// What both come from, if their history does not say.
    pub(super) origin: Option<String>,
    pub(super) ours: &'a str,
    pub(super) theirs: &'a str,
}

impl Merge<'_> {
    /// The merged tree; a conflict names the files and says `what` does not fit.
    pub(super) async fn tree(self, git: &Git, what: &str) -> Result<String, WorkspaceError> {
        let call = git.call(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        // How files are merged (`merge=union`) is said by what was there before. (Git before 2.41 does not know the variable.)
        let call = call.env("GIT_ATTR_SOURCE", self.ours);
        let call = call.args(self.origin.map(|origin| format!("--merge-base={origin}")));
        let out = call.args([self.ours, self.theirs]).run().await?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut words = text.split('\0');
        let tree = words.next().unwrap_or_default().trim().to_owned();
        // Where a file and a directory want the same name, git names the file after the commit that it is of.
        let of = [format!("~{}", self.ours), format!("~{}", self.theirs)];
        let plain = |word: &str| of.iter().find_map(|of| word.strip_suffix(of)).unwrap_or(word).to_owned();
        match out.status {
            0 => Ok(tree),
            1 => Err(WorkspaceError::Conflict {
                what: what.to_owned(),
                files: words.filter(|file| !file.is_empty()).map(plain).collect::<BTreeSet<_>>().into_iter().collect(),
            }),
            _ => Err(git::failed("merge-tree", &out.stderr)),
        }
    }
}
