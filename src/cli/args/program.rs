//! The program and its commands.

use super::{
    AnalyzeArgs, ApplyArgs, CompletionsArgs, ConfigArgs, DoctorArgs, EvalArgs, HookArgs, InitArgs, JudgeArgs,
    MemoryArgs, NotifyArgs, OvernightArgs, ReportArgs, RiskArgs, RunArgs, StatusArgs, TaskArgs, TranscriptArgs,
    TrustArgs, WatchArgs,
};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Makes coding agents learn from their failed attempts.
///
/// reflexion hands a task to any agent, checks the result itself, turns every failed attempt into a short written
/// reflection, and puts the reflections that matter into the next attempt's prompt.
#[derive(Debug, Parser)]
#[command(
    name = "reflexion",
    version,
    after_help = "Exit codes: 0 all confirmed, or nothing was open; 1 ran, not all confirmed; 2 wrong usage or configuration; \
                  3 a deadline, budget or limit left work open; 4 the environment failed; 130 interrupted."
)]
pub struct Args {
    /// The directory with project.json or reflexion.json, or one below it in the same checkout
    #[arg(long, short = 'C', global = true, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub project: PathBuf,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write commented settings (project.json) for this directory, with the checks, setup and carry of its toolchain
    Init(InitArgs),
    /// Trust what a project names: its programs, and who gets keys
    Trust(TrustArgs),
    /// Work on tasks: attempt, check, reflect, retry
    Run(RunArgs),
    /// Work through the task list unattended, merge what is proven, and stop in the morning
    Overnight(OvernightArgs),
    /// Say what a run did: what needs you, what is done, what failed, what it used
    Report(ReportArgs),
    /// Explain a running or dead run in words
    Status(StatusArgs),
    /// Show a run on the screen while it goes on, and afterwards
    Watch(WatchArgs),
    /// Bring a task's confirmed work into your checkout, uncommitted
    Apply(ApplyArgs),
    /// List and change tasks
    Task(TaskArgs),
    /// Look at what agents did, step by step
    Transcript(TranscriptArgs),
    /// Judge a transcript: is the task done? Or: is the agent stuck, what after its context was shortened?
    Judge(JudgeArgs),
    /// Say how risky a change is, from the names of its files
    Risk(RiskArgs),
    /// Look at what was learned, and change it
    Memory(MemoryArgs),
    /// Measure how often verdicts are right, on suites of cases
    Eval(EvalArgs),
    /// Ask your own history whether self-reflection is worth it: three experiments with a kill condition each
    Analyze(AnalyzeArgs),
    /// Show the effective settings
    Config(ConfigArgs),
    /// Say what is installed, what is missing, and what to do about it
    Doctor(DoctorArgs),
    /// Try whether notices of a run arrive
    Notify(NotifyArgs),
    /// Record what an agent knew when it stopped: what agents' hooks call, and how they get installed
    Hook(HookArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}
