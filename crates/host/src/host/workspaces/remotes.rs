//! Where a project's user pushes to.

use std::collections::{BTreeMap, BTreeSet};

/// The remotes of a repository.
#[derive(Debug, Clone, Default)]
pub(super) struct Remotes {
    /// Their URLs, by name.
    pub(super) remotes: BTreeMap<String, BTreeSet<String>>,
    /// How URLs begin of which the user's settings make others.
    pub(super) rewritten: BTreeSet<String>,
}
