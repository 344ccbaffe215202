//! What agents' hooks call: `reflexion hook session-start` and `reflexion hook stop`.
//!
//! At a session's start [`session_start`] notes the commit and the files that were dirty before the agent touched
//! anything. At a stop [`stop`] asks git once what differs now, adds what the agent says of its own work, and writes one
//! [`Capture`](crate::domain::Capture). A hook runs inside somebody else's session, so it never fails, never waits for
//! anybody and never says anything to the agent: what goes wrong is a word in the record ([`reasons`](stop)) and a line
//! on stderr.
//!
//! [`environment`] and [`payload`] read what a hook is told, [`session`] is what is kept between the hooks of a session,
//! [`files`] is where records go; the orchestrator writes its own there ([`CaptureFiles`] is its port too).

mod change;
mod environment;
mod files;
mod payload;
mod session;
mod start;
mod stop;

pub use environment::HookEnvironment;
pub use environment::HookMode;
pub use files::CaptureFiles;
pub use payload::Payload;
pub use start::session_start;
pub use stop::Stopped;
pub use stop::stop;

use crate::services::Clock;
use crate::services::WorkTree;
use std::path::Path;

/// What a hook works with.
pub struct Hook<'a> {
    /// What its environment says.
    pub environment: &'a HookEnvironment,
    /// What the agent says on stdin.
    pub payload: &'a Payload,
    /// The agent that the hook was installed in, if it says so.
    pub agent: Option<&'a str>,
    /// The session's directory.
    pub dir: &'a Path,
    /// The checkout around it, if there is one.
    pub tree: Option<&'a dyn WorkTree>,
    /// The time.
    pub clock: &'a dyn Clock,
}

impl Hook<'_> {
    /// The top of the work: of the checkout, or the session's directory.
    fn top(&self) -> &Path {
        self.tree.map_or(self.dir, WorkTree::top)
    }

    /// Where records and sessions are kept.
    fn files(&self) -> CaptureFiles {
        match &self.environment.dir {
            Some(dir) => CaptureFiles::in_dir(self.dir.join(dir)),
            None => CaptureFiles::of_project(self.top()),
        }
    }

    /// The session's id, which may be missing.
    fn session(&self) -> &str {
        self.payload.session.as_deref().unwrap_or("unknown")
    }
}
