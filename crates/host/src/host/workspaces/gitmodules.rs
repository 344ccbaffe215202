//! What `.gitmodules` says: a file of whoever works in the repository, read as git reads its settings.

use super::settings::Settings;
use crate::host::git::Git;
use crate::services::WorkspaceError;
use std::path::Path;

/// Where git looks for it, at the top.
pub(super) const GITMODULES: &str = ".gitmodules";

/// Which submodules there are to be, by their names; each has a path and says where its repository is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Gitmodules(Settings);

impl Gitmodules {
    /// Of a tree or commit; nothing where it has none, or one that git cannot read either.
    pub(super) async fn of_tree(git: &Git, tree: &str) -> Result<Self, WorkspaceError> {
        let listed = git.call(["config", "-z", "--list"]).arg(format!("--blob={tree}:{GITMODULES}")).run().await?;
        Ok(if listed.status == 0 { Self(Settings::parse(&listed.stdout)) } else { Self::default() })
    }

    /// Of the file's content.
    pub(super) async fn of_file(git: &Git, content: Vec<u8>) -> Result<Self, WorkspaceError> {
        if content.is_empty() {
            return Ok(Self::default());
        }
        let listed = git.call(["config", "-z", "--list", "--file", "-"]).stdin(content).run().await?;
        Ok(if listed.status == 0 { Self(Settings::parse(&listed.stdout)) } else { Self::default() })
    }

    /// Names and paths. Of two names for one path git takes the last.
    pub(super) fn paths(&self) -> impl DoubleEndedIterator<Item = (&str, &Path)> {
        self.0.iter().filter_map(|(key, value)| Some((name_in(key, ".path")?, Path::new(value?))))
    }

    /// Where the submodule of this name comes from.
    pub(super) fn url(&self, name: &str) -> Option<&str> {
        self.0.get(&format!("submodule.{name}.url"))
    }

    /// Where the submodule at this path comes from.
    pub(super) fn url_at(&self, path: &Path) -> Option<&str> {
        let (name, _) = self.paths().rev().find(|(_, at)| *at == path)?;
        self.url(name)
    }
}

/// The name of a submodule in a key that ends so.
pub(super) fn name_in<'a>(key: &'a str, end: &str) -> Option<&'a str> {
    key.strip_prefix("submodule.")?.strip_suffix(end)
}
