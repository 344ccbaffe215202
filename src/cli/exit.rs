//! The documented exit codes.

use crate::config::ConfigError;
use crate::services::{NotifyError, RunError, SubagentError};
use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: all that was asked for is confirmed or done, or nothing was open.
    Confirmed,
    /// 1: ran, but not all is confirmed.
    NotConfirmed,
    /// 2: wrong usage or configuration.
    Usage,
    /// 3: a deadline, budget or limit left work open; run again to go on.
    LeftOpen,
    /// 4: the environment failed: storage, disk, agent missing, another run.
    Environment,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Confirmed => 0,
            Self::NotConfirmed => 1,
            Self::Usage => 2,
            Self::LeftOpen => 3,
            Self::Environment => 4,
            Self::Interrupted => 130,
        }
    }

    /// The code of an error that ended the program.
    pub(super) fn of(error: &anyhow::Error) -> Self {
        let usage = error.downcast_ref::<UsageError>().is_some()
            || error.downcast_ref::<ConfigError>().is_some()
            || matches!(error.downcast_ref::<RunError>(), Some(RunError::Usage(_)));
        // An agent that cannot do what the settings want of it, seen while the program is put together.
        let unsupported =
            |e: &(dyn std::error::Error + 'static)| matches!(e.downcast_ref(), Some(SubagentError::Unsupported { .. }));
        // A way to tell somebody that this program was built without.
        let unable = |e: &(dyn std::error::Error + 'static)| e.downcast_ref::<NotifyError>().is_some();
        let usage = usage || error.chain().any(|e| unsupported(e) || unable(e));
        if usage { Self::Usage } else { Self::Environment }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Something the user asked for wrongly.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub String);
