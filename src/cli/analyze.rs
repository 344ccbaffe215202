//! `reflexion analyze`.

use super::args::{AnalyzeArgs, AnalyzeCommand, ConfidenceOf};
use super::exit::UsageError;
use super::interrupt::cancel_on_signal;
use super::output::{errln, out};
use super::{Exit, project};
use crate::analysis::{Board, BoardResult, Calibration, Experiment, FollowUps, Own};
use crate::config::ConfigError;
use crate::domain::{LineProblem, Past};
use crate::files::open_to_its_end;
use crate::layer::Svc;
use crate::runtime::{Observations, Records};
use crate::services::{HistoryError, HistoryQuery, Settings, Tasks};
use crate::{analysis, config, runtime};
use anyhow::Context;
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// So many unreadable lines are named on stderr; all that were kept stand in the JSON.
const NAMED: usize = 10;
/// A board of a hundred thousand tasks is smaller.
const LARGEST_BOARD: u64 = 256 << 20;

pub(super) async fn analyze(dir: &Path, args: AnalyzeArgs) -> anyhow::Result<Exit> {
    match args.experiment {
        AnalyzeCommand::Calibration { file: Some(file), json, .. } => {
            announce(Experiment::Calibration, json);
            let (name, input) = open(&file)?;
            let read = runtime::read_observations(input).map_err(|error| UsageError(format!("{name}: {error}")))?;
            calibration(&name, read, json)
        }
        AnalyzeCommand::Calibration { file: None, of, json } => {
            announce(Experiment::Calibration, json);
            own_calibration(dir, of, json).await
        }
        AnalyzeCommand::GitHistory { repo, days, since, json } => {
            let since = since.map(|text| {
                let wrong = || {
                    UsageError(format!(
                        "--since: `{text}` is neither a day (2026-01-31) nor a moment (2026-01-31T12:00:00Z)"
                    ))
                };
                analysis::parse_time(&text).ok_or_else(wrong)
            });
            let query = HistoryQuery { repository: repo.unwrap_or_else(|| dir.to_owned()), since: since.transpose()? };
            announce(Experiment::GitHistory, json);
            git_history(query, days, json).await
        }
        AnalyzeCommand::BoardHistory { file: Some(file), json } => {
            announce(Experiment::BoardHistory, json);
            board_file(&file, json)
        }
        AnalyzeCommand::BoardHistory { file: None, json } => {
            announce(Experiment::BoardHistory, json);
            own_board(dir, json).await
        }
    }
}

/// The question and what would end the idea, before anything is read.
fn announce(experiment: Experiment, json: bool) {
    if json {
        errln!("kill condition: {}", experiment.kill_condition());
    } else {
        out!("{}", experiment.heading());
    }
}

/// What P1 prints: the result first, then what it rests on.
#[derive(Serialize)]
struct CalibrationDocument<'r> {
    #[serde(flatten)]
    result: &'r Calibration,
    source: &'r str,
    unsaid: u64,
    unreadable: u64,
    problems: &'r [LineProblem],
}

fn calibration(name: &str, read: Observations, json: bool) -> anyhow::Result<Exit> {
    let Observations { observed, unsaid, problems, unreadable } = read;
    name_problems(name, &problems, unreadable);
    if observed.is_empty() && unsaid == 0 {
        let example = r#"{"confidence": 0.9, "correct": true}"#;
        let what = match unreadable {
            0 => "it has no lines".to_owned(),
            n => format!("none of its {n} lines can be read"),
        };
        return Err(UsageError(format!("{name}: {what}; one is such as {example}")).into());
    }
    let result = analysis::calibrate(&observed);
    if json {
        let problems = &problems;
        project::print_json(&CalibrationDocument { result: &result, source: name, unsaid, unreadable, problems })?;
    } else {
        out!("{}", analysis::calibration_text(&result));
        if unsaid > 0 {
            out!("\n{unsaid} more records say no confidence, or nobody knows whether they were right.\n");
        }
    }
    Ok(Exit::Confirmed)
}

/// What P1 prints about the project's own runs.
#[derive(Serialize)]
struct OwnDocument<'r> {
    #[serde(flatten)]
    result: &'r Calibration,
    source: &'r str,
    #[serde(flatten)]
    own: &'r Own,
    unreadable: usize,
    problems: &'r [String],
}

async fn own_calibration(dir: &Path, of: Option<ConfidenceOf>, json: bool) -> anyhow::Result<Exit> {
    let records = own_records(dir).await?;
    let past = own_past(&records)?;
    let reports = analysis::self_reports(&past);
    let of = of.unwrap_or(if reports.observed.is_empty() { ConfidenceOf::Lessons } else { ConfidenceOf::SelfReports });
    let (source, what, own) = match of {
        ConfidenceOf::SelfReports => ("self-reports", "what agents said of their work", reports),
        ConfidenceOf::Lessons => {
            let reflections = records.reflections().await?;
            ("lessons", "what the lessons in memory/ say of themselves", analysis::lessons(&past, &reflections))
        }
    };
    let result = analysis::calibrate(&own.observed);
    if json {
        let (unreadable, problems) = (past.problems.len(), past.problems.as_slice());
        project::print_json(&OwnDocument { result: &result, source, own: &own, unreadable, problems })?;
        return Ok(Exit::Confirmed);
    }
    out!("\nSource: {what}, beside the runtime's verdicts.\n{}", analysis::calibration_text(&result));
    out!(
        "\nNot counted: {} without a confidence, {} whose attempt has no verdict, {} that belong to no attempt of a run.\n",
        own.unsaid,
        own.unjudged,
        own.unbound
    );
    Ok(Exit::Confirmed)
}

async fn git_history(query: HistoryQuery, days: u32, json: bool) -> anyhow::Result<Exit> {
    let cancel = CancellationToken::new();
    let watched = tokio::spawn(cancel_on_signal(cancel.clone()));
    let mut follow_ups = FollowUps::within(days);
    let history = runtime::history();
    let read = tokio::select! {
        read = history.read(query, &mut follow_ups) => read,
        () = cancel.cancelled() => return Ok(Exit::Interrupted),
    };
    watched.abort();
    let extent = read.map_err(|error| match error {
        HistoryError::Nothing(message) => UsageError(message).into(),
        other @ HistoryError::Git(_) => anyhow::Error::from(other),
    })?;
    if extent.shallow {
        errln!("warning: this is a shallow clone; what came before it is not counted");
    }
    let result = follow_ups.result(extent);
    if json {
        project::print_json(&result)?;
    } else {
        out!("{}", analysis::git_history_text(&result));
    }
    Ok(Exit::Confirmed)
}

/// What P3 prints: the result first, then what it rests on.
#[derive(Serialize)]
struct BoardDocument<'r> {
    #[serde(flatten)]
    result: &'r BoardResult,
    source: &'r str,
    unreadable: usize,
    problems: &'r [LineProblem],
}

fn board_file(file: &Path, json: bool) -> anyhow::Result<Exit> {
    let (name, input) = open(file)?;
    let wrong = |message: &dyn std::fmt::Display| UsageError(format!("{name}: {message}"));
    let mut bytes = Vec::new();
    input.take(LARGEST_BOARD + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
    if bytes.len() as u64 > LARGEST_BOARD {
        return Err(wrong(&format!("a board has at most {} MiB", LARGEST_BOARD >> 20)).into());
    }
    if bytes.trim_ascii().is_empty() {
        return Err(wrong(&"it is empty").into());
    }
    let Board { tasks, problems } =
        analysis::read_board(&String::from_utf8_lossy(&bytes)).map_err(|message| wrong(&message))?;
    name_problems(&name, &problems, problems.len() as u64);
    if tasks.is_empty() && !problems.is_empty() {
        return Err(wrong(&format!("none of its {} records can be read", problems.len())).into());
    }
    board(
        &BoardDocument {
            result: &analysis::board(&tasks),
            source: &name,
            unreadable: problems.len(),
            problems: &problems,
        },
        json,
    )
}

async fn own_board(dir: &Path, json: bool) -> anyhow::Result<Exit> {
    let settings = project::load(dir, Vec::new());
    let settings = match settings {
        Err(error) if matches!(error.downcast_ref(), Some(ConfigError::Missing { .. })) => {
            let message =
                format!("there is no project in {}, so no board of its own; name an exported board", dir.display());
            return Err(UsageError(message).into());
        }
        other => runtime::settings_before_trust(&other?)?,
    };
    let past = own_past(&records_of(settings.clone()).await?)?;
    let list = runtime::task_file(&*settings, runtime::system_clock()).load().await?;
    name_problems("the task file", &list.problems, list.problems.len() as u64);
    let tasks = analysis::own_board(&list.tasks, &past);
    let (unreadable, problems) = (list.problems.len(), list.problems.as_slice());
    board(&BoardDocument { result: &analysis::board(&tasks), source: "tasks", unreadable, problems }, json)
}

fn board(document: &BoardDocument<'_>, json: bool) -> anyhow::Result<Exit> {
    if json {
        project::print_json(document)?;
    } else {
        out!("{}", analysis::board_history_text(document.result));
    }
    Ok(Exit::Confirmed)
}

/// What runs left in this directory, with or without a project.json: it has its fixed places.
async fn own_records(dir: &Path) -> anyhow::Result<Records> {
    let effective = match project::load(dir, Vec::new()) {
        Err(error) if matches!(error.downcast_ref(), Some(ConfigError::Missing { .. })) => config::defaults(dir)?,
        other => other?,
    };
    records_of(Svc::new(effective.settings()?)).await
}

async fn records_of(settings: Svc<dyn Settings>) -> anyhow::Result<Records> {
    Ok(Records::of(&project::live().with(settings)).await?)
}

fn own_past(records: &Records) -> anyhow::Result<Past> {
    let state = records.project().state_dir();
    let past = records.past().with_context(|| format!("failed to read {}", state.display()))?;
    past.problems.iter().take(NAMED).for_each(|problem| errln!("warning: {problem}"));
    if past.problems.len() > NAMED {
        errln!("warning: {} more records in {} cannot be read", past.problems.len() - NAMED, state.display());
    }
    Ok(past)
}

fn name_problems(name: &str, problems: &[LineProblem], unreadable: u64) {
    for problem in problems.iter().take(NAMED) {
        errln!("warning: {name}:{}: {}", problem.line, problem.message);
    }
    if unreadable > NAMED as u64 {
        errln!("warning: {name}: {} more cannot be read", unreadable - NAMED as u64);
    }
}

fn open(file: &Path) -> Result<(String, Box<dyn Read>), UsageError> {
    if file == Path::new("-") {
        return Ok(("stdin".to_owned(), Box::new(std::io::stdin().lock())));
    }
    let name = file.display().to_string();
    let failed = |error: std::io::Error| UsageError(format!("{name}: failed to open it: {error}"));
    let input = open_to_its_end(file).map_err(failed)?;
    Ok((name, Box::new(input)))
}
