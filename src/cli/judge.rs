//! `reflexion judge`.

use super::args::{JudgeArgs, JudgeWhat};
use super::exit::UsageError;
use super::output::{errln, out};
use super::{Exit, interrupt, project, question};
use crate::config::{ConfigError, Effective};
use crate::domain::Usage;
use crate::files::open_to_its_end;
use crate::layer::{Layers, Svc};
use crate::runtime::TranscriptTurn;
use crate::services::{CompletionVerifier, ProgressJudge, UsageMeter};
use crate::{config, report, runtime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// A question of some texts is never larger.
const QUESTION_BYTES: u64 = 8 << 20;

pub(super) async fn judge(dir: &Path, args: JudgeArgs) -> anyhow::Result<Exit> {
    let (layers, root) = settings(is_dir("--project", dir)?)?;
    if let Some(dir) = args.dir.as_deref() {
        // Its own project.json says how it is tested; a broken one must not look like none.
        match project::load(&config::around(is_dir("--dir", dir)?), Vec::new()) {
            Err(error) if !is_missing(&error) => return Err(in_full(dir, error)),
            _ => {}
        }
    }
    match args.kind {
        JudgeWhat::Completion => completion(&layers, root, args).await,
        JudgeWhat::Stuck => {
            let question = question(&args, question::STUCK)?;
            let app = layers.build::<Svc<dyn ProgressJudge>>().await?;
            let spent = UsageMeter::default();
            let verdict = app.stuck(&question, &spent).await;
            app.shutdown().await?;
            answer(&args, &Judged { verdict: &verdict, usage: spent.total() }, || report::stuck(&verdict))
        }
        JudgeWhat::Compaction => {
            let question = question(&args, question::COMPACTION)?;
            let app = layers.build::<Svc<dyn ProgressJudge>>().await?;
            let spent = UsageMeter::default();
            let verdict = app.after_compaction(&question, &spent).await;
            app.shutdown().await?;
            answer(&args, &Judged { verdict: &verdict, usage: spent.total() }, || report::compaction(&verdict))
        }
    }
}

/// The layers of the project at `dir` and its root; where there is none, those of the default settings.
pub(super) fn settings(dir: &Path) -> anyhow::Result<(Layers, Option<PathBuf>)> {
    let found = of_project(dir)?;
    let effective = found.clone().map_or_else(|| config::defaults(dir), Ok)?;
    let looked = runtime::settings_to_look(&effective).map_err(|error| in_full(dir, error.into()));
    let (settings, passed_over) = looked?;
    if let Some(passed_over) = passed_over {
        errln!("note: {passed_over}");
    }
    let root = found.map(|_| settings.project().root.clone());
    Ok((project::live().with(settings), root))
}

/// What the project at `dir` says; none where there is none.
pub(super) fn of_project(dir: &Path) -> anyhow::Result<Option<Effective>> {
    match project::load(dir, Vec::new()) {
        Ok(effective) => Ok(Some(effective)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(in_full(dir, error)),
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ConfigError::Missing { .. }))
}

fn is_dir<'d>(flag: &str, dir: &'d Path) -> Result<&'d Path, UsageError> {
    let no = || UsageError(format!("{flag}: {} is no directory", absolute(dir).display()));
    dir.is_dir().then_some(dir).ok_or_else(no)
}

/// A directory as a record would name it: without `.` and `..`, and with the links that its user goes through.
fn named(dir: &Path) -> PathBuf {
    let up = dir.components().any(|part| part == std::path::Component::ParentDir);
    up.then(|| dir.canonicalize().ok()).flatten().unwrap_or_else(|| absolute(dir))
}

fn absolute(dir: &Path) -> PathBuf {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}

/// Whoever judges works somewhere else than the project: its files are named in full.
fn in_full(dir: &Path, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ConfigError::File { file, line, column, message }) => {
            let file = absolute(dir).join(file);
            UsageError(format!("{}:{line}:{column}: {message}", file.display())).into()
        }
        Some(ConfigError::Value { .. } | ConfigError::Read { .. }) => {
            UsageError(format!("{}: {error}", absolute(dir).display())).into()
        }
        _ => error,
    }
}

async fn completion(layers: &Layers, root: Option<PathBuf>, args: JudgeArgs) -> anyhow::Result<Exit> {
    let format = args.format.as_deref().map(str::parse).transpose();
    let format = format.map_err(|error| UsageError(format!("--format: {error}")))?;
    let (name, input) = open(&args)?;
    let reading = runtime::read_transcript(input, format).map_err(|error| UsageError(format!("{name}: {error}")))?;
    let app = layers.build::<Svc<dyn CompletionVerifier>>().await?;
    let cancel = CancellationToken::new();
    let interrupted = tokio::spawn(interrupt::cancel_on_signal(cancel.clone()));
    let (task, spent) = (args.task.clone(), UsageMeter::default());
    // Transcripts name their files from the root.
    let dir = args.dir.clone().or(root).map(|dir| named(&dir));
    let turn = TranscriptTurn { reading, task, dir, spent: spent.clone(), cancel: cancel.clone() };
    let verdict = runtime::judge_transcript(&**app, turn).await;
    interrupted.abort();
    app.shutdown().await?;
    if cancel.is_cancelled() {
        return Ok(Exit::Interrupted);
    }
    answer(&args, &Judged { verdict: &verdict, usage: spent.total() }, || report::completion(&verdict))?;
    Ok(if verdict.complete { Exit::Confirmed } else { Exit::NotConfirmed })
}

/// The document for programs: the verdict, and what whoever was asked about it used.
#[derive(Serialize)]
struct Judged<'a, V> {
    #[serde(flatten)]
    verdict: &'a V,
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    usage: Usage,
}

/// Prints an answer, for programs or for people.
fn answer(args: &JudgeArgs, verdict: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<Exit> {
    if args.json {
        project::print_json(verdict)?;
    } else {
        out!("{}", text());
    }
    Ok(Exit::Confirmed)
}

/// What is judged, and its name for messages.
fn open(args: &JudgeArgs) -> anyhow::Result<(String, Box<dyn Read>)> {
    let file = args.file.as_deref();
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let name = file.display().to_string();
            let input =
                open_to_its_end(file).map_err(|error| UsageError(format!("{name}: failed to open it: {error}")))?;
            Ok((name, Box::new(input)))
        }
        None if file.is_none() && std::io::stdin().is_terminal() => {
            Err(UsageError("name a transcript, or give one on stdin; `reflexion judge --help` has examples".to_owned())
                .into())
        }
        None => Ok(("stdin".to_owned(), Box::new(std::io::stdin().lock()))),
    }
}

/// A question about an agent that is still there, as JSON.
fn question<T: DeserializeOwned>(args: &JudgeArgs, keys: &[question::Key]) -> anyhow::Result<T> {
    for (flag, given) in
        [("--task", args.task.is_some()), ("--dir", args.dir.is_some()), ("--format", args.format.is_some())]
    {
        if given {
            return Err(UsageError(format!("{flag} belongs to --kind completion")).into());
        }
    }
    let (name, input) = open(args)?;
    let mut text = Vec::new();
    input.take(QUESTION_BYTES + 1).read_to_end(&mut text).map_err(|error| UsageError(format!("{name}: {error}")))?;
    if text.len() as u64 > QUESTION_BYTES {
        return Err(UsageError(format!("{name}: a question has at most {} MiB", QUESTION_BYTES >> 20)).into());
    }
    let wrong = |error: &dyn std::fmt::Display| UsageError(format!("{name}: {error}"));
    let (known, warnings) = question::known(&text, keys).map_err(|error| wrong(&error))?;
    for warning in warnings {
        errln!("warning: {name}: {warning}");
    }
    Ok(serde_json::from_value(known.into()).map_err(|error| wrong(&error))?)
}
