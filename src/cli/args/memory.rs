//! `memory`.

use crate::curation::State;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Subcommand, ValueEnum};
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
        /// Only lessons that have come this far
        #[arg(long, value_parser = state())]
        state: Option<State>,
        /// At most this many; all if not given
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        limit: Option<usize>,
        /// Instead of this project's those that you let all of your projects see, with the project that each is of
        #[arg(long, conflicts_with_all = ["task", "subtask", "state", "limit"])]
        everywhere: bool,
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
        after_help = "Examples:\n  reflexion memory search test.log\n  cargo test 2>&1 | reflexion memory search\n  reflexion memory search --explain --task fix-dates test.log"
    )]
    Search {
        /// What the command printed; read from stdin if not given
        file: Option<PathBuf>,
        /// At most this many lessons
        #[arg(long, value_name = "N", default_value_t = 5)]
        limit: usize,
        /// Say of each lesson whether a run would show it to an attempt after this failure, and to a first one, and why or why not
        #[arg(long)]
        explain: bool,
        /// With `--explain`: as this task sees it, whose own lessons come first
        #[arg(long, value_name = "ID", requires = "explain")]
        task: Option<String>,
        /// Print `{"lessons":[{"score","shared","reflection"}]}`; with `--explain` `{"lessons":[{"id","same","lines","words","shared","retry","first",…}]}`
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
    /// Let other tasks of this project see a lesson, one step further than it has come; with `--everywhere` your other projects, too
    #[command(
        after_help = "With `--everywhere` a copy of the lesson is kept in your state directory. Another project of yours sees it where an attempt fails in just the same way and nothing of its own fits; it must be plainly fine for that, and about what a check printed. `reflexion memory retire` takes it back, from whichever project."
    )]
    Promote {
        /// The lesson
        #[command(flatten)]
        of: LessonArgs,
        /// Let your other projects see it as well, where an attempt fails in just the same way
        #[arg(long)]
        everywhere: bool,
    },
    /// Show a lesson in no prompt any more, of whatever project; its line stays
    Retire(LessonArgs),
    /// Keep a lesson as it is: no rule moves it
    Pin(LessonArgs),
    /// Leave a pinned lesson to the rules again
    Unpin(LessonArgs),
    /// Decide about lessons one by one: each with its failure, where it comes from, how far it has come, and what was measured of it
    #[command(
        after_help = "Those that wait for a decision come in this order: candidates, those on probation, those that rules have set apart. Answers are read from stdin, a line each: \n  k, keep    other tasks that fail alike may see it, as `memory promote` says; one that was set apart is pinned too\n  e, edit    give it other words, as `memory edit` does\n  r, retire  no prompt holds it any more\n  s, skip    leave it as it is, until the next review\n  q, quit    stop here; what was decided stays"
    )]
    Review {
        /// Only lessons of this task
        #[arg(long)]
        task: Option<String>,
        /// Print those that wait as `{"waiting":[…]}`, and ask nothing
        #[arg(long)]
        json: bool,
    },
    /// Give a lesson other words, in your editor or by options; what it said stays in the file
    #[command(
        after_help = "The editor is what VISUAL or, without that, EDITOR names. Its words are divided at blanks; '…' and \"…\" hold blanks together, `\\` takes the next character as it is. No shell reads it.\n\nExamples:\n  reflexion memory edit ref-01a2\n  reflexion memory edit ref-01a2 --suggestion 'Collect the keys before the pool is changed'\n\nExit codes: 0, and 1 if nothing was changed because no text was left."
    )]
    Edit(EditArgs),
    /// Store one reflection, read as JSON from stdin; missing ids and times are filled in
    Add {
        /// Print the stored reflection as JSON (it is printed in words otherwise)
        #[arg(long)]
        json: bool,
    },
    /// Remove reflections older than the retention time, but none that is pinned, that other tasks may see, or that was measured to help
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
    #[command(after_help = "Exit codes: 0, and 1 if there are any; after a repair, if any are left.")]
    Check {
        /// Take those over as yours, such as a colleague's that you have pulled, with what became of them and the attempts in memory/attempts.jsonl
        #[arg(long)]
        adopt: bool,
        /// Set aside what nobody can use, in a file beside it (`….damaged`): lines that cannot be read, marks of a merge that was not ended, and what somebody
        /// has changed of a reflection that stands here as it was written
        #[arg(long)]
        repair: bool,
        /// Print `{"reflections","foreign","unreadable","stale","adopted","adoptedEvents","adoptedAttempts","foreignAttempts","unreadableAttempts","damaged"}`
        #[arg(long)]
        json: bool,
    },
    /// Take over lessons from another file: another project's, the Golden Loop's, an ACE playbook, a list in Markdown, an ATIF trajectory
    #[command(
        after_help = "What is brought in stays with its own task until you promote it, whoever it says wrote it.\n\nExamples:\n  reflexion memory import ../other/memory/reflections.jsonl\n  reflexion memory import --task fix-dates notes.md\n\nExit codes: 0, and 1 if a line could not be read."
    )]
    Import {
        /// The file
        file: PathBuf,
        /// Its format; found out from what it holds if not given
        #[arg(long)]
        format: Option<LessonFormat>,
        /// The task that lessons are of which name none
        #[arg(long, value_name = "ID", default_value = "imported")]
        task: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print lessons for another project, or for people: those that some prompt may hold
    #[command(
        after_help = "Examples:\n  reflexion memory export --out lessons.jsonl\n  reflexion memory export --format markdown --state active"
    )]
    Export {
        /// The format
        #[arg(long, default_value = "jsonl")]
        format: ExportFormat,
        /// Only lessons that have come this far
        #[arg(long, value_parser = state())]
        state: Option<State>,
        /// Those too that no prompt holds; never what others wrote
        #[arg(long, conflicts_with = "state")]
        all: bool,
        /// Write into this file instead of stdout
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// A format that lessons are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LessonFormat {
    /// One reflection a line: reflexion's, or the Golden Loop's
    Jsonl,
    /// The same
    Openagents,
    /// A playbook: `[id] helpful=1 harmful=0 :: what to do`
    Ace,
    /// Each item of a list is a lesson
    Markdown,
    /// An agent's trajectory: what its last output says that failed
    Atif,
}

/// A format that lessons are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One reflection a line, with all that is known of it
    Jsonl,
    /// The same for the Golden Loop: its eleven keys, its names of categories
    Openagents,
    /// A list for people
    Markdown,
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

/// Which lesson, and its new words.
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// Its id, or the beginning of it that no other one has
    pub id: String,
    /// What went wrong, instead of an editor
    #[arg(long, value_name = "TEXT")]
    pub analysis: Option<String>,
    /// What to do differently, instead of an editor
    #[arg(long, value_name = "TEXT")]
    pub suggestion: Option<String>,
    /// A step; give it once for each. The lesson has these steps then, and none of its old ones; an empty one takes out all
    #[arg(long, value_name = "TEXT")]
    pub action_item: Vec<String>,
    /// Why, in a sentence; `memory show` of the old one says it
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    /// Print the new lesson as JSON
    #[arg(long)]
    pub json: bool,
}

/// Reads how far a lesson has come.
fn state() -> impl TypedValueParser<Value = State> {
    let words = State::ALL.map(|state| PossibleValue::new(state.as_str()).help(state.seen_by()));
    let of = |word: String| State::ALL.into_iter().find(|state| state.as_str() == word);
    PossibleValuesParser::new(words).map(move |word| of(word).unwrap_or_default())
}
