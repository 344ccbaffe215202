//! Where git's own files are in a workspace.

/// Where it lies in a workspace.
pub(super) const DIR: &str = ".git";

/// Its index.
pub(super) const INDEX: &str = ".git/index";

/// Where git keeps the repositories of submodules.
pub(super) const MODULES: &str = ".git/modules";
