//! `run` and `apply`.

use std::path::PathBuf;

/// Work on tasks.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion run\n  reflexion run fix-dates --max-attempts 5\n  reflexion run --json --jobs 2 > result.json\n  reflexion run --events - | jq -r 'select(.type == \"attempt_judged\") | .verdict'"
)]
pub struct RunArgs {
    /// The tasks; every open one if none is named
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,
    /// Only the next one: the first of `reflexion task ready`
    #[arg(long, conflicts_with_all = ["tasks", "again"])]
    pub next: bool,
    /// Print the result as one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Say what would be done, and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How
    #[command(flatten)]
    pub how: HowArgs,
}

/// How tasks are worked on.
#[derive(Debug, clap::Args)]
pub struct HowArgs {
    /// Work on this many tasks at the same time
    #[arg(long, short, value_name = "N", allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Attempts per task
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_attempts: Option<u32>,
    /// The agent for every task, as named in the settings
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Neither write reflections nor put them into prompts
    #[arg(long)]
    pub no_reflexion: bool,
    /// Trust what the project names, from now on; see `reflexion trust`
    #[arg(long)]
    pub trust: bool,
    /// Also do closed and blocked tasks, as if they had just been opened
    #[arg(long)]
    pub again: bool,
    /// Write everything that happens to this file, at its end, or pipe, as a JSON object a line; `-` is stdout
    #[arg(long, value_name = "PATH")]
    pub events: Option<PathBuf>,
}

/// Bring a task's confirmed work into your checkout.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "All of it arrives or nothing: Ctrl-C before that changes nothing (exit code 130). What\narrives is what the task's branch has beside what the task started from, as the run has noted it:\nwhat somebody put on top comes too. Where the branch does not stand on that any more, or was\nmoved and holds the confirmed work no more, or where a sparse checkout leaves out what it changes,\nnothing is changed, and it says what to do (exit code 4). What is in submodules stays as it is.\n\nExample:\n  reflexion apply fix-dates && git diff"
)]
pub struct ApplyArgs {
    /// The task
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
