//! What agents' hooks call: `reflexion hook session-start`, `prompt`, `after-tool` and `stop`.
//!
//! At a session's start [`session_start`] notes the commit and the files that were dirty before the agent touched
//! anything. At a stop [`stop`] asks git once what differs now, adds what the agent says of its own work, and writes one
//! [`Capture`](crate::domain::Capture). A hook runs inside somebody else's session, so it never fails, never waits for
//! anybody and says nothing to the agent but what it was installed for: what goes wrong is a word in the record ([`reasons`](stop)) and
//! a line on stderr.
//!
//! `environment` and `payload` read what a hook is told, `session` is what is kept between the hooks of a session,
//! `files` is where records go; the orchestrator writes its own there through [`AttemptCaptures`].

mod attempts;
mod change;
mod environment;
mod files;
mod gate;
mod install;
mod learn;
mod payload;
mod report;
mod rules;
mod session;
mod start;
mod stop;

use change::Own;

pub use attempts::{AttemptCaptures, MemoryCaptures};
pub use environment::{HookEnvironment, HookMode};
pub use files::CaptureFiles;
pub use gate::{Gate, Gating, gate};
pub use install::{Changed, EditError, HookAgent, InstallError, Installing, Learn, Left, Scope, Verify};
pub use learn::{
    Teaching, awaits_command, command_ended, lesson_after_failure, lessons_at_start, session_task, stop_ended,
};
pub use payload::Payload;
pub use rules::{Rules, rules};
pub use start::session_start;
pub use stop::{Stopped, stop};

use crate::domain::RiskThreshold;
use crate::services::{Clock, WorkTree};
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
    /// Why that is not the one that the agent says, if it is not.
    pub elsewhere: Option<&'a str>,
    /// The checkout around it, if there is one.
    pub tree: Option<&'a dyn WorkTree>,
    /// What the settings of a project in a directory say about the threshold, if they say anything.
    pub threshold: fn(&Path) -> Option<Result<RiskThreshold, String>>,
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
            // From the top, so that the hooks of a session mean the same directory wherever the agent stands.
            Some(dir) => CaptureFiles::in_dir(self.top().join(dir)),
            None => CaptureFiles::of_project(self.top()),
        }
    }

    fn own(&self) -> Own {
        let files = self.files();
        // The top is where it really is; the records may be named by a link.
        let records = files.records().canonicalize().unwrap_or_else(|_| files.records().to_owned());
        Own { records: records.strip_prefix(self.top()).ok().map(Path::to_owned) }
    }

    /// The session's id, which may be missing.
    fn session(&self) -> &str {
        self.payload.session.as_deref().unwrap_or("unknown")
    }
}
