//! `report`, `status` and `watch`: what a run did, and how it stands.

use std::path::PathBuf;

/// Say what a run did.
///
/// First what needs you, then what is merged or confirmed, what failed and why, what was left open; then what it used, where
/// time went, limits, and lessons. Reads the run's journal, starts nothing, and works while the run goes on and after it died.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 reported; 2 no such run; 4 its journal cannot be read, or the report cannot be written.\n\n\
                  Examples:\n  \
                  reflexion report\n  \
                  reflexion report --html\n  \
                  reflexion report 20261121 --md --out night.md\n  \
                  reflexion report --json | jq '.needs[].commands'"
)]
pub struct ReportArgs {
    /// The run; the beginning of its id is enough. The newest if not given
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// One HTML file with a timeline, written to .reflection/runs/RUN/report.html; its path is printed
    #[arg(long, conflicts_with_all = ["md", "json"])]
    pub html: bool,
    /// Markdown
    #[arg(long, conflicts_with = "json")]
    pub md: bool,
    /// One JSON document with everything
    #[arg(long)]
    pub json: bool,
    /// Write it to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Explain a running or dead run in words.
///
/// What it does, or what it was in the middle of when it died; what is done; and how to go on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 told; 2 no such run; 4 its journal cannot be read.\n\nExamples:\n  reflexion status\n  reflexion status --json | jq -r .state"
)]
pub struct StatusArgs {
    /// The run; the beginning of its id is enough. The newest if not given
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Print `{"v","run","state","text","counts","next","waiting"}`
    #[arg(long)]
    pub json: bool,
}

/// Show a run on the screen while it goes on, and afterwards.
///
/// Who works on what in this moment, what needs you, the tasks, a timeline, and what came last; Enter shows everything about a
/// task. It only reads what the run writes down, so it works beside it in another terminal, over SSH, and when it is over; to
/// leave it stops nothing. Where stdout is no terminal it prints a line for each thing that happens, until the run is over.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keys: arrows or j k choose, Enter opens, Esc goes back, Tab is the next list, ? is help, q leaves.\n\n\
                  Exit codes: 0 shown; 2 no such run; 4 its journal cannot be read, or the terminal cannot be used; 130 ended by \
                  a signal.\n\nExamples:\n  reflexion watch\n  reflexion watch --once\n  reflexion watch | tee night.log\n  \
                  reflexion watch --json | jq '.workers[].task'"
)]
pub struct WatchArgs {
    /// The run; the beginning of its id is enough. The newest if not given
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Print the moment as text, and end
    #[arg(long, conflicts_with = "json")]
    pub once: bool,
    /// Print the moment as `{"v","run","state","headline","startedAt","lastSignAt","until","counts","usage","needs","workers","tasks","recent","notes"}`
    #[arg(long)]
    pub json: bool,
}
