//! `analyze`.

use clap::Subcommand;
use std::path::PathBuf;

/// Ask your own history whether self-reflection is worth it.
///
/// Three experiments, offline. Each prints first what would end the idea behind it, decided before any data was seen.
/// Nothing is written, and no project is needed where a file or a repository is named.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 whatever came of it (`killed` in the JSON: true, false, or null where there is too little to decide on); \
                  2 wrong usage, or nothing that can be read; 4 git or the disk failed.\n\nExamples:\n  \
                  reflexion analyze calibration labels.jsonl\n  reflexion analyze calibration --json | jq .auc.value\n  reflexion analyze git-history --repo ../other\n  reflexion analyze board-history board.jsonl"
)]
pub struct AnalyzeArgs {
    /// The experiment
    #[command(subcommand)]
    pub experiment: AnalyzeCommand,
}

/// The experiments.
#[derive(Debug, Subcommand)]
pub enum AnalyzeCommand {
    /// P1: does confidence tell right work from wrong?
    #[command(
        after_help = "Examples:\n  reflexion analyze calibration\n  jq -c '{confidence, correct: .passed}' runs.jsonl | reflexion analyze calibration -"
    )]
    Calibration {
        /// JSON Lines of `{"confidence": 0.9, "correct": true}`; `-` reads stdin; the project's own runs if not given
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Whose confidence, without FILE; `self-reports` if there are any, else `lessons`, if not given
        #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "file")]
        of: Option<ConfidenceOf>,
        /// Print the result as one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// P2: which gate would have caught what was repaired soon after it came?
    #[command(
        after_help = "Examples:\n  reflexion analyze git-history\n  reflexion analyze git-history --repo ../other --days 30 --since 2026-01-01 --json"
    )]
    GitHistory {
        /// The repository; the project's directory if not given
        #[arg(long, value_name = "DIR")]
        repo: Option<PathBuf>,
        /// How soon after a change a repair counts
        #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=365), allow_negative_numbers = true)]
        days: u32,
        /// Only what was committed since: a day (2026-01-31) or a moment (2026-01-31T12:00:00Z)
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Print the result as one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// P3: does anything say afterwards whether finished work was right?
    #[command(
        after_help = "Examples:\n  reflexion analyze board-history\n  reflexion analyze board-history board.csv --json"
    )]
    BoardHistory {
        /// An exported board: JSON Lines, a JSON list or CSV; `-` reads stdin; the project's own tasks if not given
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print the result as one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
}

/// Whose confidence is compared with the verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ConfidenceOf {
    /// Agents', in their work, as they reported it at the end of an attempt
    SelfReports,
    /// The reflections', in themselves: was the attempt confirmed whose prompt held them first?
    Lessons,
}
