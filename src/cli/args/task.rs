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
    Edit {
        /// The task
        id: String,
        /// Fields as one JSON object, e.g. '{"priority":0}'
        #[arg(value_name = "JSON")]
        fields: String,
        /// Print the changed task as JSON
        #[arg(long)]
        json: bool,
    },
    /// Mark a task as done
    Close {
        /// The task
        id: String,
        /// Print the changed task as JSON
        #[arg(long)]
        json: bool,
    },
    /// Open a closed or blocked task again; its attempts count anew
    Reopen {
        /// The task
        id: String,
        /// Print the changed task as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write what runs found out into the task file
    Sync {
        /// Print the number of changed tasks as JSON
        #[arg(long)]
        json: bool,
    },
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
    /// Do not try its checks at the base
    #[arg(long)]
    pub no_check: bool,
    /// 0 (first) to 4 (last)
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u8).range(0..=4))]
    pub priority: Option<u8>,
    /// A task that must be closed first; may be given several times
    #[arg(long = "after", value_name = "TASK")]
    pub after: Vec<String>,
    /// Print the stored task as JSON
    #[arg(long)]
    pub json: bool,
}
