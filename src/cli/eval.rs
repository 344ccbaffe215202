//! `reflexion eval`.

use super::args::EvalArgs;
use super::exit::UsageError;
use super::interrupt::cancel_on_signal;
use super::out_file::write_out;
use super::output::{errln, out, outln};
use super::{Exit, project, trust};
use crate::config::ConfigError;
use crate::domain::policy;
use crate::evaluation::{Comparison, EvalResult, Format, Lines, Suite};
use crate::files::{Place, read_named};
use crate::runtime::{EvalError, EvalFiles, EvalJudge, EvalParams, Trust};
use crate::{config, evaluation, runtime};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Where a project's suites are, if none is named.
const SUITES: &str = "config/evals";

pub(super) async fn eval(dir: &Path, args: EvalArgs) -> anyhow::Result<Exit> {
    if let Some(files) = &args.compare {
        return compare(dir, files, args.json);
    }
    let suites = suites(dir, &args.suites)?;
    if args.list {
        return list(&suites, args.json);
    }
    let (settings, trust) = settings(dir)?;
    let judge = args.judge.unwrap_or_default();
    // A program that the caller names is theirs, and who asks nobody starts nothing.
    let asks = match judge {
        EvalJudge::Settings => settings.verification.asks_somebody(),
        EvalJudge::Agent(_) => true,
        EvalJudge::None | EvalJudge::Command(_) => false,
    };
    if let Some(trust) = trust.as_ref().filter(|_| asks) {
        trust::ensure(trust, &[], |_| false, false).await?;
    }
    let (state, project) = (trust.map(|_| settings.project.state_dir()), settings.project.clone());
    let cancel = CancellationToken::new();
    let watched = tokio::spawn(cancel_on_signal(cancel.clone()));
    let params = EvalParams {
        settings,
        judge,
        suites: &suites,
        repeat: args.repeat,
        jobs: args.jobs,
        threshold: args.threshold,
        cancel: cancel.clone(),
    };
    let clock = runtime::system_clock();
    let evaluated = runtime::evaluate(params, &*clock).await;
    watched.abort();
    let result = evaluated.map_err(|error| match error {
        EvalError::Usage(message) => UsageError(message).into(),
        EvalError::Built(error) => anyhow::Error::from_boxed(error),
    })?;
    let lines = if args.cases { Lines::All } else { Lines::Wrong };
    let text = evaluation::table(&result, lines);
    if args.json {
        project::print_json(&result)?;
    } else {
        out!("{text}");
    }
    if cancel.is_cancelled() {
        return Ok(Exit::Interrupted);
    }
    keep(&result, &project, state.as_deref(), args.out.as_deref())?;
    let below = result.suites.iter().any(|suite| !suite.missed.is_empty());
    Ok(if below { Exit::NotConfirmed } else { Exit::Confirmed })
}

/// The settings of the project at `dir`, and what is trusted there; the built-in ones where there is none.
fn settings(dir: &Path) -> anyhow::Result<(policy::Values, Option<Trust>)> {
    match project::load(dir, Vec::new()) {
        Ok(effective) => Ok((effective.settings()?, Some(Trust::of(&effective)?))),
        Err(error) if matches!(error.downcast_ref(), Some(ConfigError::Missing { .. })) => {
            Ok((config::defaults(dir)?.settings()?, None))
        }
        Err(error) => Err(error),
    }
}

/// Reads the named suites, or those of the project.
fn suites(dir: &Path, named: &[PathBuf]) -> anyhow::Result<Vec<(String, Suite)>> {
    let files = if named.is_empty() { of_project(dir)? } else { named.to_vec() };
    let mut suites: Vec<(String, Suite)> = Vec::new();
    for file in files {
        let shown = file.display().to_string();
        let Some(format) = Format::of(&shown) else {
            let message = format!("{shown} is no suite: its name ends neither in .yaml, .yml, .json nor .jsonl");
            return Err(UsageError(message).into());
        };
        let text =
            read_named(&file).map_err(|e| UsageError(format!("failed to read {shown}: {e}{}", left_out(&file))))?;
        let suite = evaluation::read(&shown, &text, format).map_err(|e| UsageError(e.to_string()))?;
        if let Some((other, _)) = suites.iter().find(|(_, other)| other.name == suite.name) {
            let message = format!("{other} and {shown} have the same name `{}`; results are kept by it", suite.name);
            return Err(UsageError(message).into());
        }
        suites.push((shown, suite));
    }
    Ok(suites)
}

fn of_project(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let place = if dir == Path::new(".") { PathBuf::from(SUITES) } else { dir.join(SUITES) };
    let nothing = || UsageError(format!("name a suite, or put suites into {}{}", place.display(), left_out(&place)));
    let entries = fs::read_dir(&place).map_err(|_| nothing())?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.is_file() && Format::of(&file.display().to_string()).is_some());
    files.sort();
    if files.is_empty() { Err(nothing().into()) } else { Ok(files) }
}

/// What is said where git has something that is not here.
fn left_out(path: &Path) -> String {
    if !runtime::is_left_out(path) {
        return String::new();
    }
    let dir = if Format::of(&path.display().to_string()).is_some() { path.parent().unwrap_or(path) } else { path };
    format!(
        "; git has it, and this sparse checkout leaves it out: `git sparse-checkout add {}` brings it",
        dir.display()
    )
}

fn list(suites: &[(String, Suite)], json: bool) -> anyhow::Result<Exit> {
    if json {
        let rows = suites.iter().map(|(file, suite)| {
            let cases = suite.cases.iter().map(|c| serde_json::json!({ "id": c.id, "description": c.description }));
            serde_json::json!({
                "suite": suite.name, "file": file, "kind": suite.kind, "threshold": suite.threshold,
                "notes": suite.notes, "cases": cases.collect::<Vec<_>>(),
            })
        });
        project::print_json(&serde_json::json!({ "suites": rows.collect::<Vec<_>>() }))?;
        return Ok(Exit::Confirmed);
    }
    for (file, suite) in suites {
        outln!("{} ({}, {} cases): {file}", suite.name, suite.kind.as_str(), suite.cases.len());
        for case in &suite.cases {
            outln!("  {:<32} {}", case.id, case.description);
        }
    }
    Ok(Exit::Confirmed)
}

/// Keeps the results in the project, and where the user wants them.
fn keep(result: &EvalResult, of: &policy::Project, state: Option<&Path>, out: Option<&Path>) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(result)?;
    if let Some(out) = out {
        write_out(out, &json, of).with_context(|| format!("failed to write {}", out.display()))?;
        errln!("result: {}", out.display());
    }
    let Some(state) = state else {
        if out.is_none() {
            errln!("there is no project here, so the result is not kept; `--out FILE` keeps it");
        }
        return Ok(());
    };
    let files = EvalFiles::new(state);
    let time = result.at.strftime("%Y%m%d-%H%M%S%.3f").to_string().replace('.', "");
    let kept = || -> anyhow::Result<PathBuf> {
        for suite in &result.suites {
            let one = EvalResult { suites: vec![suite.clone()], ..result.clone() };
            files.keep(&time, &suite.suite, &serde_json::to_string_pretty(&one)?)?;
        }
        Ok(files.keep_latest(&json)?)
    };
    let latest = kept().context("failed to keep the result")?;
    errln!("result: {}", latest.display());
    Ok(())
}

/// Compares two results: those that are named, or the two newest of every suite.
fn compare(dir: &Path, files: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let compared: Vec<Comparison> = match files {
        [old, new] => evaluation::compare(&load(&Place::named(old))?, &load(&Place::named(new))?),
        [] => newest(dir)?,
        _ => return Err(UsageError("--compare takes two results, OLD and NEW, or none for the newest".into()).into()),
    };
    if compared.is_empty() {
        return Err(UsageError("the two results have no suite in common".to_owned()).into());
    }
    if json {
        project::print_json(&serde_json::json!({ "suites": compared }))?;
    } else {
        out!("{}", evaluation::comparison(&compared));
    }
    let lost = compared.iter().any(|suite| !suite.lost.is_empty());
    Ok(if lost { Exit::NotConfirmed } else { Exit::Confirmed })
}

fn load(file: &Place) -> anyhow::Result<EvalResult> {
    let shown = file.path().display();
    let bytes = file.read().map_err(|e| UsageError(format!("failed to read {shown}: {e}")))?;
    let wrong = |e| UsageError(format!("{shown} is no result of `reflexion eval`: {e}"));
    Ok(serde_json::from_slice(&bytes).map_err(wrong)?)
}

/// The two newest results of every suite that has two.
fn newest(dir: &Path) -> anyhow::Result<Vec<Comparison>> {
    let files = EvalFiles::new(&dir.join(".reflection"));
    let mut by_suite: Vec<(String, Vec<EvalResult>)> = Vec::new();
    for file in files.kept()?.iter().rev() {
        let result = load(file)?;
        let Some(name) = result.suites.first().map(|suite| suite.suite.clone()) else { continue };
        match by_suite.iter_mut().find(|(other, _)| *other == name) {
            Some((_, results)) if results.len() < 2 => results.push(result),
            Some(_) => {}
            None => by_suite.push((name, vec![result])),
        }
    }
    by_suite.sort_by(|a, b| a.0.cmp(&b.0));
    let compared: Vec<Comparison> = by_suite
        .iter()
        .filter_map(|(_, results)| match results.as_slice() {
            [new, old] => Some(evaluation::compare(old, new)),
            _ => None,
        })
        .flatten()
        .collect();
    if compared.is_empty() {
        let place = dir.join(".reflection/evals");
        return Err(UsageError(format!("{} has no two results of one suite; run them first", place.display())).into());
    }
    Ok(compared)
}
