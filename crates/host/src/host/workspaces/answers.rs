//! What remotes of submodules have answered.

use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// What the remotes of submodules, by URL, have answered in a run.
#[derive(Debug, Default)]
pub(super) struct Answers(pub(super) std::sync::Mutex<HashMap<String, Arc<Mutex<Remote>>>>);

/// What one of them has answered. Held while it is asked: who asks it too then has the answer, and nobody waits who asks another one.
#[derive(Debug, Default)]
pub(super) struct Remote {
    /// By commit. What is not there is not in it: it may be pushed in a moment.
    pub(super) places: HashMap<String, Place>,
    /// Why it could not be asked: it is not asked for any other commit then.
    pub(super) is_silent: Option<String>,
}

/// Where a submodule's commit is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Somewhere,
    /// The submodule's remote was asked.
    Nowhere,
    /// Nobody could be asked, because of this.
    Unknown(String),
}
