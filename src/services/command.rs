//! Running programs.

use crate::domain::CheckCommand;
use crate::domain::Output;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Runs a program and everything it starts, within limits.
///
/// *Who calls:* agents, checks, generators, workspace setup. *Promise:* when `run` returns, for whatever reason, no
/// process that the program started is left running (its own process group is ended, and descendants that left the
/// group are swept). Dropping the returned future kills the group at once.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs `command` to its end, its time limit, or the cancellation of `command.cancel`.
    ///
    /// # Errors
    /// [`CommandError`] only if the program could not be started or waited for; a non-zero exit status is no error.
    async fn run(&self, command: Command) -> Result<CommandOutput, CommandError>;
}

/// A program to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// What is run; only a check's own string goes through a shell.
    pub program: CheckCommand,
    /// Working directory.
    pub dir: PathBuf,
    /// Added to the inherited environment, after `env_deny` has removed from it.
    pub env: BTreeMap<String, String>,
    /// Globs of inherited variables that the program does not get.
    pub env_deny: Vec<String>,
    /// Written to stdin, which is then closed; a program that does not read it is no error.
    pub stdin: Vec<u8>,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// At most so many bytes of head, and as many of tail, are kept of each stream; the rest is counted.
    pub keep_bytes: usize,
    /// Ends the program early: TERM, grace, KILL.
    pub cancel: CancellationToken,
}

impl Command {
    /// Half of what is kept of a program's output by default: enough for a whole failing test run's words.
    pub const KEEP_BYTES: usize = 64 * 1024;

    /// A program without a shell, with the defaults: inherited environment, empty stdin, 10 minutes.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>, dir: impl Into<PathBuf>) -> Self {
        Self {
            program: CheckCommand::Argv(argv.into_iter().map(Into::into).collect()),
            dir: dir.into(),
            env: BTreeMap::new(),
            env_deny: Vec::new(),
            stdin: Vec::new(),
            timeout: Duration::from_secs(600),
            keep_bytes: Self::KEEP_BYTES,
            cancel: CancellationToken::new(),
        }
    }
}

/// What a program left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOutput {
    /// How it ended.
    pub end: CommandEnd,
    /// stdout, as UTF-8 (invalid bytes replaced).
    pub stdout: Output,
    /// stderr, as UTF-8 (invalid bytes replaced).
    pub stderr: Output,
    /// Both, in the order of arrival.
    pub combined: Output,
    /// How long it ran.
    pub duration: Duration,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal that the runtime did not send.
    Signaled(i32),
    /// The runtime ended it: time limit.
    TimedOut,
    /// The runtime ended it: cancellation.
    Cancelled,
}

impl CommandOutput {
    /// Exit status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.end == CommandEnd::Exited(0)
    }
}

/// The program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No such program.
    #[error("program `{program}` was not found{hint}", hint = if program.contains('/') { "" } else { " on PATH" })]
    NotFound {
        /// As it was asked for.
        program: String,
    },
    /// It exists but could not be started (no permission, not a program, no such directory).
    #[error("failed to start `{program}` in {dir}: {source}", dir = dir.display())]
    Start {
        /// As it was asked for.
        program: String,
        /// Where it was to run.
        dir: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Lost track of it.
    #[error("failed to wait for `{program}`: {source}")]
    Wait {
        /// As it was asked for.
        program: String,
        /// What the system says.
        source: std::io::Error,
    },
}
