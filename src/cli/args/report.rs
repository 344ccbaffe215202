//! `report` and `status`: what a run did, and how it stands.

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
    /// Print `{"v","run","state","text","counts","next"}`
    #[arg(long)]
    pub json: bool,
}
