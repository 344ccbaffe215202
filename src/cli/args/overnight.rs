//! `overnight`.

use super::HowArgs;
use crate::overnight::{Until, Window};
use jiff::SignedDuration;

/// Work through the task list unattended.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Proven work is rebased onto the branch reflexion/<run>/integration, checked there once more, and merged; nothing \
is pushed. A night that was killed goes on when the command is given again.\n\nExamples:\n  reflexion overnight --until 07:00\n  reflexion \
overnight --between 22:00-07:00 --jobs 4\n  reflexion overnight --resume --max-cost 20"
)]
pub struct OvernightArgs {
    /// The tasks; every open one if none is named
    #[arg(value_name = "TASK", conflicts_with = "resume")]
    pub tasks: Vec<String>,
    /// Stop everything at this time: the next 07:00, or an instant such as 2026-11-23T07:00:00+01:00
    #[arg(long, value_name = "TIME")]
    pub until: Option<Until>,
    /// Stop everything after so long, such as 8h or 90m
    #[arg(long = "for", value_name = "DURATION", conflicts_with = "until", allow_hyphen_values = true, value_parser = duration)]
    pub duration: Option<SignedDuration>,
    /// Begin when this part of the day begins, such as 22:00-07:00, and stop when it ends
    #[arg(long, value_name = "TIME-TIME", conflicts_with_all = ["until", "duration"])]
    pub between: Option<Window>,
    /// Go on with the newest night that was killed or stopped, with the options that it had; those given here replace them
    #[arg(long, conflicts_with = "again")]
    pub resume: bool,
    /// Begin a new night although the newest one was killed
    #[arg(long, conflicts_with = "resume")]
    pub new: bool,
    /// Stop everything when it has cost this many US dollars, over all tasks; `budget.run.costUsd`
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Stop everything when this many tokens were used, over all tasks; `budget.run.tokens`
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = tokens)]
    pub max_tokens: Option<u64>,
    /// Let the machine go to sleep when it likes; `overnight.keepAwake`
    #[arg(long)]
    pub no_keep_awake: bool,
    /// How
    #[command(flatten)]
    pub how: HowArgs,
    /// Print the result as one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    let duration: SignedDuration =
        text.parse().map_err(|_| "give hours, minutes or both, such as 8h, 90m or 1h30m".to_owned())?;
    if duration.is_positive() { Ok(duration) } else { Err("a night takes longer than nothing".to_owned()) }
}

fn dollars(text: &str) -> Result<f64, String> {
    let dollars =
        text.trim_start_matches('$').parse().ok().filter(|dollars: &f64| dollars.is_finite() && *dollars > 0.0);
    dollars.ok_or_else(|| "give US dollars, such as 20 or 2.50; without the option there is no limit".to_owned())
}

fn tokens(text: &str) -> Result<u64, String> {
    let tokens = text.parse().ok().filter(|tokens| *tokens > 0);
    tokens.ok_or_else(|| "give a number of tokens, such as 2000000; without the option there is no limit".to_owned())
}
