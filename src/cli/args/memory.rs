//! `memory`.

use clap::Subcommand;
use std::path::PathBuf;

/// Look at what was learned, and change it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion memory list --task fix-dates --limit 3\n  reflexion memory add < reflection.json"
)]
pub struct MemoryArgs {
    /// What to do
    #[command(subcommand)]
    pub command: MemoryCommand,
}

/// What to do with the memory.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List reflections, newest first
    List {
        /// Only of this task
        #[arg(long)]
        task: Option<String>,
        /// Only of this subtask
        #[arg(long)]
        subtask: Option<String>,
        /// At most so many; all if not given
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        limit: Option<usize>,
        /// Print `{"reflections":[…]}`
        #[arg(long)]
        json: bool,
    },
    /// Show one reflection
    Show {
        /// Its id, or the beginning of it that no other one has
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find the lessons that fit what a failing command printed, and say by which words
    #[command(
        after_help = "Examples:\n  reflexion memory search test.log\n  cargo test 2>&1 | reflexion memory search"
    )]
    Search {
        /// What the command printed; read from stdin if not given
        file: Option<PathBuf>,
        /// At most this many lessons
        #[arg(long, value_name = "N", default_value_t = 5)]
        limit: usize,
        /// Print `{"lessons":[{"score","shared","reflection"}]}`
        #[arg(long)]
        json: bool,
    },
    /// Say whether lessons help: how retries with them ended, and retries whose lessons a coin held out
    Stats {
        /// Print the numbers as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write memory/attempts.jsonl anew, from the journals of the runs
    Rebuild {
        /// Print how many attempts it holds as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let other tasks of this project see a lesson, one step further than it has come
    Promote(LessonArgs),
    /// Show a lesson in no prompt any more; its line stays
    Retire(LessonArgs),
    /// Keep a lesson as it is: no rule moves it
    Pin(LessonArgs),
    /// Leave a pinned lesson to the rules again
    Unpin(LessonArgs),
    /// Store one reflection, read as JSON from stdin; missing ids and times are filled in
    Add {
        /// Print the stored reflection as JSON (it is printed in words otherwise)
        #[arg(long)]
        json: bool,
    },
    /// Remove reflections older than the retention time
    Prune {
        /// Days to keep, instead of `reflexion.retentionDays`
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        days: Option<u32>,
        /// Say how many would go, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Look for lines that cannot be read, and for reflections that reflexion did not write here: these reach no prompt
    #[command(after_help = "Exit codes: 0, and 1 if there are any.")]
    Check {
        /// Take those reflections over as yours, such as a colleague's that you have pulled
        #[arg(long)]
        adopt: bool,
        /// Print `{"reflections","foreign","unreadable","adopted"}`
        #[arg(long)]
        json: bool,
    },
    /// Take over the reflections of another file, such as the Golden Loop's
    Import {
        /// A JSON Lines file of reflections
        file: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which lesson, and why.
#[derive(Debug, clap::Args)]
pub struct LessonArgs {
    /// Its id, or the beginning of it that no other one has
    pub id: String,
    /// Why, in a sentence; `memory show` says it
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    /// Print `{"lesson","standing"}`
    #[arg(long)]
    pub json: bool,
}
