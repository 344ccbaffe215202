//! `task`.

use crate::domain::Allow;
use clap::Subcommand;
use clap::builder::PossibleValuesParser;

/// List and change tasks.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion task list\n  reflexion task add 'Fix the date parser' --check 'cargo test dates'"
)]
pub struct TaskArgs {
    /// What to do
    #[command(subcommand)]
    pub command: TaskCommand,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// List tasks with their effective status, in the order of work: by priority, then age
    List {
        /// Only tasks with this status: open, `in_progress`, blocked, closed
        #[arg(long)]
        status: Option<String>,
        /// Print `{"tasks":[…]}`
        #[arg(long)]
        json: bool,
    },
    /// List the tasks that a run would start with, in the order of work, and say what the other open ones wait for
    #[command(after_help = "Example:\n  reflexion task ready")]
    Ready {
        /// Print `{"tasks":[…],"waiting":[{"id","because":[…]}]}`
        #[arg(long)]
        json: bool,
    },
    /// Show one task, why it stands where it stands, and what it would be split into
    Show {
        /// The task
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a task to the task file
    Add(TaskAddArgs),
    /// Change fields of a task; what is not named stays as it is
    #[command(
        after_help = "An option that may be given several times replaces the whole list; `--label ''` empties it.\n\nExamples:\n  reflexion task edit fix-dates --expects fix --check 'cargo test dates'\n  reflexion task edit fix-dates '{\"maxAttempts\":5}'"
    )]
    Edit(TaskEditArgs),
    /// Mark tasks as done
    Close(TasksNamed),
    /// Open closed or blocked tasks again; their attempts count anew
    Reopen(TasksNamed),
    /// Write what runs found out into the task file
    Sync {
        /// Print the number of changed tasks as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Tasks, and how what became of them is printed.
#[derive(Debug, clap::Args)]
pub struct TasksNamed {
    /// The tasks
    #[arg(value_name = "TASK", required = true)]
    pub ids: Vec<String>,
    /// Print the changed task as JSON; several as `{"tasks":[…]}`
    #[arg(long)]
    pub json: bool,
}

/// Change a task.
#[derive(Debug, clap::Args)]
pub struct TaskEditArgs {
    /// The task
    #[arg(value_name = "TASK")]
    pub id: String,
    /// Fields as one JSON object, e.g. '{"priority":0}'; an option stands above it
    #[arg(value_name = "JSON")]
    pub fields: Option<String>,
    /// One line that says what is to be done
    #[arg(long)]
    pub title: Option<String>,
    /// The other fields
    #[command(flatten)]
    pub options: TaskOptions,
    /// Print the changed task as JSON
    #[arg(long)]
    pub json: bool,
}

/// Add a task.
#[derive(Debug, clap::Args)]
pub struct TaskAddArgs {
    /// One line that says what is to be done
    #[arg(value_name = "TITLE")]
    pub title: String,
    /// The id, such as fix-dates; made of the title if not given
    #[arg(long)]
    pub id: Option<String>,
    /// The other fields
    #[command(flatten)]
    pub options: TaskOptions,
    /// Do not try its checks at the base
    #[arg(long)]
    pub no_check: bool,
    /// Print the stored task as JSON
    #[arg(long)]
    pub json: bool,
}

/// Fields of a task that can be given as options.
#[derive(Debug, clap::Args)]
pub struct TaskOptions {
    /// More words for the agent
    #[arg(long)]
    pub description: Option<String>,
    /// When it counts as done, in words
    #[arg(long)]
    pub criteria: Option<String>,
    /// A shell command that must pass; may be given several times
    #[arg(long = "check", value_name = "COMMAND")]
    pub checks: Vec<String>,
    /// `bug`, `feature` or another word; a bug should have a check that is red until it is fixed
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// What confirms it: a change with green checks (the default), a red check that turned green, or green checks alone
    #[arg(long, value_name = "WHAT", value_parser = ["change", "fix", "nothing"])]
    pub expects: Option<String>,
    /// What its agent may do that counts against it otherwise; may be given several times
    #[arg(long = "allow", value_name = "WHAT", value_parser = PossibleValuesParser::new(Allow::ALL.map(Allow::as_str)))]
    pub allow: Vec<String>,
    /// Files that its agent may not change, as a glob; may be given several times
    #[arg(long = "protect", value_name = "GLOB")]
    pub protect: Vec<String>,
    /// 0 (first) to 4 (last)
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u8).range(0..=4))]
    pub priority: Option<u8>,
    /// A task that must be closed first; may be given several times
    #[arg(long = "after", value_name = "TASK")]
    pub after: Vec<String>,
    /// The agent that works on it, as named in the settings
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// A word that it is known by; may be given several times
    #[arg(long = "label", value_name = "WORD")]
    pub labels: Vec<String>,
}
