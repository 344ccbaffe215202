//! `reflexion analyze`.

use super::Exit;
use super::args::AnalyzeArgs;
use super::args::AnalyzeCommand;
use super::exit::UsageError;
use super::output::errln;
use super::output::out;
use super::project;
use crate::analysis;
use crate::analysis::Calibration;
use crate::analysis::Experiment;
use crate::domain::LineProblem;
use crate::runtime;
use crate::runtime::Observations;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// So many unreadable lines are named on stderr; all that were kept stand in the JSON.
const NAMED: usize = 10;

pub(super) async fn analyze(_dir: &Path, args: AnalyzeArgs) -> anyhow::Result<Exit> {
    match args.experiment {
        AnalyzeCommand::Calibration { file, json } => {
            announce(Experiment::Calibration, json);
            let file = file.unwrap_or_else(|| "-".into());
            let (name, read) = observations(&file)?;
            calibration(&name, read, json)
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
    if observed.is_empty() && unsaid == 0 && unreadable > 0 {
        let message = format!(
            "{name}: none of its {unreadable} lines can be read; a line is {{\"confidence\": 0.9, \"correct\": true}}"
        );
        return Err(UsageError(message).into());
    }
    let result = analysis::calibrate(&observed);
    if json {
        let problems = &problems;
        project::print_json(&CalibrationDocument { result: &result, source: name, unsaid, unreadable, problems })?;
    } else {
        out!("{}", project::printable(&analysis::calibration_text(&result)));
        if unsaid > 0 {
            out!("\n{unsaid} more records say no confidence, or nobody knows whether they were right.\n");
        }
    }
    Ok(Exit::Confirmed)
}

fn name_problems(name: &str, problems: &[LineProblem], unreadable: u64) {
    for problem in problems.iter().take(NAMED) {
        errln!("warning: {name}:{}: {}", problem.line, project::printable(&problem.message));
    }
    if unreadable > NAMED as u64 {
        errln!("warning: {name}: {} more lines cannot be read", unreadable - NAMED as u64);
    }
}

fn observations(file: &Path) -> anyhow::Result<(String, Observations)> {
    let (name, input): (String, Box<dyn Read>) = if file == Path::new("-") {
        ("stdin".to_owned(), Box::new(std::io::stdin().lock()))
    } else {
        (file.display().to_string(), Box::new(open(file)?))
    };
    let read = runtime::read_observations(input).map_err(|error| UsageError(format!("{name}: {error}")))?;
    Ok((name, read))
}

fn open(file: &Path) -> Result<File, UsageError> {
    File::open(file).map_err(|error| UsageError(format!("{}: failed to open it: {error}", file.display())))
}
