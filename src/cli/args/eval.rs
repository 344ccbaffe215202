//! `eval`.

use crate::evaluation::Threshold;
use crate::runtime::EvalJudge;
use std::path::PathBuf;

/// Measure how often verdicts are right, on suites of cases.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every suite held its threshold; 1 one fell short, or a case was lost; 2 a suite cannot be read.\n\nExamples:\n  reflexion eval config/evals/*.yaml --judge none\n  reflexion eval stuck.yaml --repeat 5 --jobs 4 --threshold max_false_complete=0,max_false_alarm=0.02\n  reflexion eval --compare"
)]
pub struct EvalArgs {
    /// Suites: .yaml, .json or .jsonl, our own or promptfoo's test cases; every one in config/evals/ if none is named
    #[arg(value_name = "SUITE")]
    pub suites: Vec<PathBuf>,
    /// Who judges what the facts leave open: none, command:PROGRAM ARGUMENT…, agent:NAME; `verification.judge` of the
    /// settings if not given
    #[arg(long, value_name = "WHO")]
    pub judge: Option<EvalJudge>,
    /// Run every case this many times, and say which are flaky
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// This many cases at a time
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = parse_jobs)]
    pub jobs: usize,
    /// What every suite must come to, instead of its own threshold: `max_false_complete=SHARE,max_false_alarm=SHARE`, and
    /// `min_accuracy=SHARE` beside one of them
    #[arg(long, value_name = "LIMITS")]
    pub threshold: Option<Threshold>,
    /// Show a line for every case, not only for those that do not hold
    #[arg(long)]
    pub cases: bool,
    /// Print the result as one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Also write the result to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// List the suites and their cases, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Say what two results differ in; the two newest of every suite if none is named
    #[arg(long, num_args = 0..=2, value_names = ["OLD", "NEW"], conflicts_with_all = ["suites", "list", "judge", "out"])]
    pub compare: Option<Vec<PathBuf>>,
}

fn parse_jobs(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|jobs| (1..=1024).contains(jobs)).ok_or_else(|| "is a number, 1 to 1024".to_owned())
}
