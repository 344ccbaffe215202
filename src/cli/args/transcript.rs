//! `transcript`.

use clap::Subcommand;

/// Look at what agents did, step by step.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion transcript list\n  reflexion transcript show fix-dates#2\n  reflexion transcript show --json | jq '.records[] | select(.type == \"tool_call\")'"
)]
pub struct TranscriptArgs {
    /// What to do
    #[command(subcommand)]
    pub command: TranscriptCommand,
}

/// What to do with transcripts.
#[derive(Debug, Subcommand)]
pub enum TranscriptCommand {
    /// List the agent runs that have a transcript, newest last
    #[command(after_help = "Example:\n  reflexion transcript list --run 20261121-2233")]
    List {
        /// Only of this run; the beginning of its id is enough
        #[arg(long)]
        run: Option<String>,
        /// Print `{"transcripts":[…]}`
        #[arg(long)]
        json: bool,
    },
    /// Show one transcript: what was said, called, printed and used
    #[command(after_help = "Examples:\n  reflexion transcript show\n  reflexion transcript show fix-dates#2 --full")]
    Show {
        /// A session, or a task (its newest attempt), or a task and an attempt; the beginning is enough where it is
        /// unique. The newest transcript if not given
        #[arg(value_name = "SESSION|TASK[#ATTEMPT]")]
        which: Option<String>,
        /// Only of this run; the beginning of its id is enough
        #[arg(long)]
        run: Option<String>,
        /// Print `{"head","records","unreadable"}`
        #[arg(long)]
        json: bool,
        /// Show everything that was kept, not only first lines
        #[arg(long, conflicts_with = "json")]
        full: bool,
    },
}
