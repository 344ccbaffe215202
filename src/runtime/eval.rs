//! Evaluation on the live layers: the very ports of a run, for each time that the suites run.

use super::judge::{TranscriptFormat, read_transcript};
use super::live::live;
use crate::domain::{CompletionVerdict, policy};
use crate::evaluation;
use crate::evaluation::{Bench, Conversation, EvalResult, Grade, LaidOut, RunParams, Stage, Suite, Threshold};
use crate::files::Place;
use crate::layer::{App, BoxError, Svc};
use crate::services::{
    Clock, CompletionVerifier, Judge, JudgeRole, OpenQuestion, ProgressJudge, Settings, TurnEvidence, UsageMeter,
};
use crate::verification::judging;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::str::FromStr;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Who judges what the facts leave open while suites run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EvalJudge {
    /// Whoever the settings name, with self-assessment and committee.
    #[default]
    Settings,
    /// Nobody.
    None,
    /// A program and its arguments.
    Command(Vec<String>),
    /// A configured agent.
    Agent(String),
}

impl FromStr for EvalJudge {
    type Err = String;

    /// `none`, `command:PROGRAM ARGUMENT…` (parts at spaces, no shell), `agent:NAME`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("command", line)) if !line.trim().is_empty() => {
                Ok(Self::Command(line.split_whitespace().map(str::to_owned).collect()))
            }
            Some(("agent", name)) if !name.is_empty() => Ok(Self::Agent(name.to_owned())),
            _ => Err(format!("`{text}` is no judge; there are none, command:PROGRAM ARGUMENT… and agent:NAME")),
        }
    }
}

/// What is evaluated, and how.
pub struct EvalParams<'a> {
    /// The settings; only the judge and its surroundings are taken from them, so that a suite means the same everywhere.
    pub settings: policy::Values,
    /// Who judges what the facts leave open.
    pub judge: EvalJudge,
    /// The suites, each with the file it was read from.
    pub suites: &'a [(String, Suite)],
    /// Each case runs so many times, at least once.
    pub repeat: u32,
    /// So many cases at a time.
    pub jobs: usize,
    /// What every suite must come to, instead of what it says itself.
    pub threshold: Option<Threshold>,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// Suites could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// A case cannot be read, or the judge is none of the settings'; what to do is said.
    #[error("{0}")]
    Usage(String),
    /// The services could not be built, or not ended.
    #[error("{0}")]
    Built(#[from] BoxError),
}

/// Runs suites.
///
/// # Errors
/// [`EvalError`]. A judge that cannot be asked is no error: what it was to judge stays open.
pub async fn evaluate(params: EvalParams<'_>, clock: &dyn Clock) -> Result<EvalResult, EvalError> {
    let EvalParams { mut settings, judge, suites, repeat, jobs, threshold, cancel } = params;
    for (file, suite) in suites {
        if let Some((case, because)) = evaluation::unreadable(suite, &Files) {
            return Err(EvalError::Usage(format!("{file}: case `{case}`: {because}")));
        }
    }
    settings.verification.workflow = policy::Workflow::default();
    if judge != EvalJudge::Settings {
        let timeout = settings.verification.judge_timeout;
        settings.verification = policy::Verification { judge_timeout: timeout, ..policy::Verification::default() };
    }
    match judge {
        EvalJudge::Settings | EvalJudge::None => {}
        EvalJudge::Command(argv) => settings.verification.judge = policy::Judge::Command { argv },
        EvalJudge::Agent(name) => {
            if !settings.agents.named.contains_key(&name) {
                let known: Vec<&str> = settings.agents.named.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(EvalError::Usage(format!(
                    "--judge: there is no agent `{name}` in {}; there are: {known}",
                    settings.project.settings
                )));
            }
            settings.verification.judge = policy::Judge::Agent { name };
        }
    }
    let name = judge_name(&settings.verification.judge);
    let settings: Svc<dyn Settings> = Svc::new(settings);
    let at = clock.now();
    let mut apps = Vec::new();
    for _ in 0..repeat.max(1) {
        let layers = live().with(settings.clone());
        apps.push(layers.build::<Ports>().await.map_err(BoxError::from)?);
    }
    let benches = apps.iter().map(bench).collect::<Result<Vec<Bench>, BoxError>>()?;
    let spent = UsageMeter::default();
    let mut results = Vec::new();
    for (file, suite) in suites {
        let params = RunParams { benches: &benches, jobs, file, threshold, spent: &spent, cancel: &cancel };
        results.push(evaluation::run(suite, &params).await);
    }
    drop(benches);
    for app in apps {
        app.shutdown().await.map_err(BoxError::from)?;
    }
    Ok(EvalResult { v: 1, at, judge: name, repeat: repeat.max(1), usage: spent.total(), suites: results })
}

/// What is built once for each round; the judge is among what these need.
type Ports = (Svc<dyn CompletionVerifier>, Svc<dyn ProgressJudge>);

fn bench(app: &App<Ports>) -> Result<Bench, BoxError> {
    let (completion, progress) = &**app;
    let judge = app.get::<dyn Judge>().ok_or("the completion verifier was built without a judge")?;
    Ok(Bench {
        completion: completion.clone().into_arc(),
        progress: progress.clone().into_arc(),
        judge: judge.into_arc(),
        stage: Arc::new(Files),
    })
}

fn judge_name(judge: &policy::Judge) -> String {
    match judge {
        policy::Judge::None => "none".to_owned(),
        policy::Judge::Command { argv } => format!("command:{}", argv.join(" ")),
        policy::Judge::Agent { name } => format!("agent:{name}"),
        policy::Judge::Model { models, template } => {
            let provider = format!("{:?}", template.provider).to_lowercase();
            format!("model:{provider} {}", if models.is_empty() { "(fast ones)".to_owned() } else { models.join(", ") })
        }
    }
}

/// The readers of `reflexion judge`, and directories that are removed when a case is over.
struct Files;

impl Stage for Files {
    fn conversation(&self, input: &Value) -> Result<Conversation, String> {
        let reading = match input {
            Value::String(text) => read_transcript(text.as_bytes(), None),
            document => read_transcript(document.to_string().as_bytes(), Some(TranscriptFormat::Plain)),
        };
        let reading = reading.map_err(|e| format!("`input`: {e}"))?;
        Ok(Conversation { trace: reading.trace, task: reading.task, ending: reading.ending })
    }

    fn lay_out(&self, files: &BTreeMap<String, String>) -> Result<LaidOut, String> {
        let dir = tempfile::tempdir().map_err(|e| format!("failed to make a directory for `files`: {e}"))?;
        for (name, text) in files {
            let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            if !inside || name.is_empty() {
                return Err(format!("`files`: `{name}` is no path inside a project"));
            }
            let made = Place::new(dir.path(), name).replace_soon(text.as_bytes());
            made.map_err(|e| format!("`files`: `{name}`: {e}"))?;
        }
        Ok(LaidOut { dir: dir.path().to_owned(), keep: Box::new(dir) })
    }
    fn grade_question(&self, turn: &TurnEvidence, verdict: &CompletionVerdict) -> OpenQuestion {
        judging::grade_question(&judging::question(turn, JudgeRole::Judge, &verdict.reasons), "")
    }

    fn read_grade(&self, answer: &str) -> Result<Grade, String> {
        let grade = judging::read_grade(answer).map_err(|e| e.to_string())?;
        Ok(Grade { score: grade.score, reason: grade.reason })
    }
}
