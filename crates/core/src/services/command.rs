//! Running programs.

use crate::domain::{CheckCommand, Output};
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

    /// Like [`CommandRunner::run`], and somebody reads stdout while it comes and may end the program.
    ///
    /// # Errors
    /// As [`CommandRunner::run`].
    async fn run_watched(&self, command: Command, watch: Watch) -> Result<CommandOutput, CommandError>;
}

/// Who reads a program's stdout while it runs, and who may write to its stdin.
pub struct Watch {
    /// Gets stdout in pieces as they come, until the program ends or is ended. None of that is kept in [`CommandOutput`].
    pub reader: Box<dyn OutputReader>,
    /// Written to stdin after `command.stdin`, as it comes; stdin is closed when the sender is dropped. Without it stdin
    /// is closed after `command.stdin`.
    pub stdin: Option<tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>>,
    /// Ends the program when neither stdout nor stderr had anything for so long.
    pub idle: Option<Duration>,
    /// How long a program that said its last word may take to end by itself.
    pub linger: Duration,
}

/// Reads a program's stdout while it runs.
pub trait OutputReader: Send {
    /// Takes a piece; pieces end anywhere, also in the middle of a line or of a character. Must not block.
    fn read(&mut self, piece: &[u8]) -> Flow;
}

/// What follows from a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The program goes on.
    Continue,
    /// The program has said its last word: it gets [`Watch::linger`] to end by itself.
    Done,
    /// The program is to be ended now: TERM, grace, KILL.
    Stop,
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
    /// It is known to start no other program, so that nothing which runs without a parent is taken for its.
    pub starts_nobody: bool,
    /// When the project's sandbox is around it.
    pub sandboxed: Sandboxed,
}

/// When a program is started in the project's sandbox, if the project has one; else it is not started at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sandboxed {
    /// If it works in a workspace of the project: checks, setup.
    #[default]
    InWorkspaces,
    /// In a sandbox of its own, whatever the project has: it may write to its workspace, to the caches of package managers and to a temporary
    /// directory of its own, and it may take 2 GiB of memory, or twice as much as the same program took that somebody wrote (where the system says
    /// how much that is: Linux). For programs that nobody
    /// wrote: a change of which a part is taken back may do anything. A project's own `command` sandbox is taken where there is one.
    Walled,
    /// Wherever it works: agents, which are also asked questions in an empty directory. Beside what every program in the
    /// sandbox may write to, it is given its working directory.
    Always,
    /// Wherever it works, and it may not write there: judges, generators and notices that are programs, which the settings name and which run in
    /// the project. What they start and load is of the repository, where agents' work is merged.
    ReadOnly,
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
            timeout: Duration::from_mins(10),
            keep_bytes: Self::KEEP_BYTES,
            cancel: CancellationToken::new(),
            starts_nobody: false,
            sandboxed: Sandboxed::default(),
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
    /// The runtime ended it: nothing was heard of it for too long.
    Idle,
    /// The runtime ended it: its reader said [`Flow::Stop`], or it did not end after [`Flow::Done`].
    Stopped,
    /// The runtime ended it: it, and what it started, took more memory than [a program that nobody wrote](Sandboxed::Walled) may.
    TookMemory {
        /// How much it might take, in bytes.
        most: u64,
    },
}

impl CommandEnd {
    /// What went wrong, to be put behind the program's name; none for exit status 0.
    ///
    /// ```
    /// # use reflexion_core::services::CommandEnd;
    /// assert_eq!(CommandEnd::Exited(0).failure(), None);
    /// assert_eq!(CommandEnd::Exited(2).failure().as_deref(), Some("exited with status 2"));
    /// assert_eq!(CommandEnd::Signaled(9).failure().as_deref(), Some("was ended by signal 9"));
    /// ```
    #[must_use]
    pub fn failure(self) -> Option<String> {
        match self {
            Self::Exited(0) => None,
            Self::Exited(status) => Some(format!("exited with status {status}")),
            Self::Signaled(signal) => Some(format!("was ended by signal {signal}")),
            Self::TimedOut => Some("took too long".to_owned()),
            Self::TookMemory { most } => Some(format!("took more than {} MiB of memory", most >> 20)),
            Self::Cancelled | Self::Idle | Self::Stopped => Some("was cancelled".to_owned()),
        }
    }
}

impl CommandOutput {
    /// What a program of no duration left behind, for doubles.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn printed(end: CommandEnd, stdout: &str, stderr: &str) -> Self {
        let (stdout, stderr) = (Output::whole(stdout), Output::whole(stderr));
        Self { end, stdout, stderr, combined: Output::default(), duration: Duration::ZERO }
    }

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
    /// It is there, but the project's sandbox hides it.
    #[error(
        "program `{program}` is there, but cannot be seen inside the sandbox; let `sandbox` in the project's settings show it, e.g. with \
         \"--ro-bind\", \"PATH\", \"PATH\""
    )]
    Hidden {
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
