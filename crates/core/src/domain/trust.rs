//! What a project's files name that acts outside of them, and so needs a person's trust.

use super::{Allow, CheckCommand, CheckSpec, Task};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// One thing that a project's files name and that starts a program, or lets one do or learn more.
///
/// ```
/// # use reflexion_core::domain::{TrustItem, TrustKind};
/// let item = TrustItem::new("checks[0]", TrustKind::Shell, "cargo test");
/// let elsewhere = TrustItem::new("task fix, check test", TrustKind::Shell, "cargo test");
/// assert_eq!(item.digest(), elsewhere.digest());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustItem {
    /// Where it is named: a key of the settings, or a task and its check.
    pub place: String,
    /// What it does.
    pub kind: TrustKind,
    /// The command line, the words of a program as a JSON list, the variable with its value, or the address with the names of
    /// the variables whose values it gets.
    pub text: String,
    /// What it may do when it runs.
    #[serde(default, skip_serializing_if = "Rights::is_usual")]
    pub rights: Rights,
}

/// What a program may do, from the least to the most: who trusts it with more trusts it with less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// An agent, what its own settings allow (`permissions`: `deny`).
    Held,
    /// What agents, checks and setup may, in the sandbox if there is one.
    #[default]
    Usual,
    /// Those of a judge, a generator or a notice: it runs in the checkout, and gets keys.
    Outside,
}

impl Rights {
    /// Whether they are those of most programs.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::Usual
    }

    /// Behind what runs, in words; nothing for the usual ones.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Held => ", without what it would have to ask for",
            Self::Usual => "",
            Self::Outside => ", in your checkout",
        }
    }
}

/// What something does that needs trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustKind {
    /// Runs a line in the shell.
    Shell,
    /// Starts a program.
    Program,
    /// Sets an environment variable of programs.
    Variable,
    /// Sends words, and keys, to a host.
    Host,
    /// What programs run in.
    Sandbox,
    /// Lets programs push.
    Push,
    /// Lets git start a program, or reach another machine by one.
    Git,
    /// Is gone on with: journals and workspaces of runs.
    Runs,
    /// Says which texts are no secrets.
    Redaction,
    /// Says what tools are like, and what they print when tests pass.
    Toolchain,
    /// A file outside of the project that tasks are written to.
    Tasks,
    /// Permits the agent of one task what counts against it otherwise.
    Allow,
    /// A file that tools read, and that was changed while a run worked.
    Home,
}

impl fmt::Display for TrustKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shell | Self::Program => "runs",
            Self::Variable => "sets",
            Self::Host => "sends to",
            Self::Sandbox => "runs them in",
            Self::Push => "lets them",
            Self::Git => "lets git run",
            Self::Runs => "goes on with",
            Self::Redaction => "finds secrets by",
            Self::Toolchain => "knows tools by",
            Self::Tasks => "writes tasks to",
            Self::Allow => "lets its agent",
            Self::Home => "was",
        })
    }
}

impl TrustItem {
    /// An item.
    pub fn new(place: impl Into<String>, kind: TrustKind, text: impl Into<String>) -> Self {
        Self { place: place.into(), kind, text: text.into(), rights: Rights::Usual }
    }

    /// The same with other rights.
    #[must_use]
    pub fn with(self, rights: Rights) -> Self {
        Self { rights, ..self }
    }

    /// A command: a line for the shell, or a program with its arguments.
    pub fn command(place: impl Into<String>, command: &CheckCommand) -> Self {
        match command {
            CheckCommand::Shell(line) => Self::new(place, TrustKind::Shell, line),
            CheckCommand::Argv(argv) => Self::program(place, argv),
        }
    }

    /// A program with its arguments.
    pub fn program(place: impl Into<String>, argv: &[String]) -> Self {
        Self::new(place, TrustKind::Program, serde_json::to_string(argv).unwrap_or_default())
    }

    /// What a task brings with it: its own checks and those of its subtasks, and what it permits.
    #[must_use]
    pub fn of_task(task: &Task) -> Vec<Self> {
        let check = |check: &CheckSpec| Self::command(format!("task {}, check {}", task.id, check.name), &check.run);
        let checks = task.subtasks.iter().flat_map(|subtask| &subtask.checks).chain(&task.checks).map(check);
        let allow = |allow: &Allow| Self::new(format!("task {}, allow", task.id), TrustKind::Allow, allow.permits());
        checks.chain(task.allow.iter().map(allow)).collect()
    }

    /// The same for the same thing wherever it is named: a command that is trusted in one task is in another. With more rights it is another
    /// thing.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest_with(self.rights)
    }

    /// Its digest, and those of the same with more rights.
    pub fn digests_that_cover(&self) -> impl Iterator<Item = String> {
        let all = [Rights::Held, Rights::Usual, Rights::Outside].into_iter();
        all.filter(|rights| *rights >= self.rights).map(|rights| self.digest_with(rights))
    }

    fn digest_with(&self, rights: Rights) -> String {
        let kind = match self.kind {
            TrustKind::Shell => "shell",
            TrustKind::Program => "program",
            // What a judge may be started with, a check may not.
            TrustKind::Variable => {
                &format!("variable {}", self.place.rsplit_once(".env.").map_or("", |(whose, _)| whose))
            }
            TrustKind::Host => "host",
            TrustKind::Sandbox => "sandbox",
            TrustKind::Push => "push",
            // What a value does is in its key.
            TrustKind::Git => &format!("git {}", self.place),
            TrustKind::Runs => "runs",
            TrustKind::Redaction => "redaction",
            TrustKind::Toolchain => "toolchain",
            TrustKind::Tasks => "tasks",
            // What one task may do, another may not.
            TrustKind::Allow => &format!("allow {}", self.place),
            TrustKind::Home => &format!("home {}", self.place),
        };
        let rights = match rights {
            Rights::Held => " held",
            Rights::Usual => "",
            Rights::Outside => " outside",
        };
        format!("{:x}", Sha256::digest(format!("{kind}{rights}\0{}", self.text)))
    }
}
