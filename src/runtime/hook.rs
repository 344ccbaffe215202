//! Hooks of agents' sessions, on the real machine. No settings are read and no service is built: they run at every stop
//! of every agent.

use super::hook_lesson::RefutedStop;
use super::judge::{TranscriptTurn, judge_transcript, read_transcript};
use super::settings::without_strangers;
use crate::config::{ConfigError, Effective, Inputs};
use crate::domain::{
    CompletionVerdict, FailureContext, GateOutcome, GateReport, RiskThreshold, SETTINGS_FILES, Standing, policy,
};
use crate::files::open_named;
use crate::hooks::{Gating, Hook, HookEnvironment, HookMode, Payload, Rules, Stopped};
use crate::host::{HostWorkTree, SystemClock};
use crate::layer::Svc;
use crate::prompt::{Feedback, first_bytes};
use crate::reading::Reading;
use crate::services::{Clock, CompletionVerifier, Settings, UsageMeter, WorkTree};
use crate::{config, hooks};
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Settings are some pages; more is not read into memory.
const SETTINGS_BYTES: u64 = 1 << 20;

/// How often a transcript is read for the agent's last words, and how long is waited in between: two seconds in all.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
/// So many bytes of these words tell them from others.
const WORDS_BYTES: usize = 200;

/// What an agent calls a hook with.
#[derive(Debug, Clone)]
pub struct HookCall {
    pub(super) payload: Payload,
    agent: Option<String>,
    dir: PathBuf,
}

impl HookCall {
    /// `payload`: what came on stdin, or why it could not be read, which is read once; `agent`: the one that the hook was installed in; `dir`: where the hook was called,
    /// if the payload does not say where the session is.
    #[must_use]
    pub fn new(payload: Result<Vec<u8>, String>, agent: Option<String>, dir: PathBuf) -> Self {
        let payload = match payload {
            Ok(text) => Payload::read(&text),
            Err(because) => Payload::broken(&because),
        };
        Self { payload, agent, dir }
    }
}

/// `REFLECTION_MODE`.
#[must_use]
pub fn hook_mode() -> HookMode {
    HookMode::read(std::env::var_os("REFLECTION_MODE"))
}

/// Notes what is there at a session's start.
///
/// # Errors
/// What could not be read or written.
pub fn hook_session_start(call: &HookCall) -> io::Result<()> {
    with(call, hooks::session_start)
}

/// Writes the record of a session that stops.
///
/// # Errors
/// What could not be written.
pub fn hook_stop(call: &HookCall) -> io::Result<Stopped> {
    with(call, hooks::stop)
}

/// What is wrong with what the agent said to a hook, if it could not be read.
#[must_use]
pub fn hook_problem(call: &HookCall) -> Option<String> {
    call.payload.problem.clone()
}

fn with<T>(call: &HookCall, work: impl FnOnce(&Hook<'_>) -> io::Result<T>) -> io::Result<T> {
    let around = Around::of(call);
    let clock = SystemClock::new();
    work(&around.hook(call, &clock))
}

/// What is around a call.
pub(super) struct Around {
    environment: HookEnvironment,
    pub(super) payload: Payload,
    dir: PathBuf,
    elsewhere: Option<String>,
    tree: Option<HostWorkTree>,
}

impl Around {
    pub(super) fn of(call: &HookCall) -> Self {
        let payload = call.payload.clone();
        let environment = HookEnvironment::read(|name| std::env::var_os(name));
        let (dir, elsewhere) = place(&[payload.dir.as_deref(), environment.project_dir.as_deref()], &call.dir);
        let tree = HostWorkTree::around(&dir);
        Self { environment, payload, dir, elsewhere, tree }
    }

    pub(super) fn hook<'a>(&'a self, call: &'a HookCall, clock: &'a SystemClock) -> Hook<'a> {
        Hook {
            environment: &self.environment,
            payload: &self.payload,
            agent: call.agent.as_deref(),
            dir: &self.dir,
            elsewhere: self.elsewhere.as_deref(),
            threshold,
            tree: self.tree.as_ref().map(|tree| tree as &dyn WorkTree),
            clock,
        }
    }

    fn top(&self) -> PathBuf {
        self.tree.as_ref().map_or_else(|| self.dir.clone(), |tree| tree.top().to_owned())
    }
}

/// The first of the directories that is there, or the last resort; and why it is not the first that is named.
fn place(named: &[Option<&Path>], otherwise: &Path) -> (PathBuf, Option<String>) {
    let mut named = named.iter().flatten().copied();
    let first = named.next();
    let found = first.into_iter().chain(named).find(|dir| dir.is_dir()).unwrap_or(otherwise);
    let missing = first.filter(|first| *first != found);
    let why = |missing: &Path| format!("no_directory: {} is not there; {} is", missing.display(), found.display());
    (found.to_owned(), missing.map(why))
}

/// What the settings of a project say about the threshold of risks, if they speak of risks at all. A `project.json` may be
/// another program's, and one that is broken must not trouble whoever does not set this.
fn threshold(dir: &Path) -> Option<Result<RiskThreshold, String>> {
    let speaks = |file: &&str| {
        let mut text = String::new();
        let read = open_named(&dir.join(file)).and_then(|file| file.take(SETTINGS_BYTES + 1).read_to_string(&mut text));
        read.is_ok_and(|bytes| bytes as u64 <= SETTINGS_BYTES) && text.contains("\"risk\"")
    };
    SETTINGS_FILES.into_iter().find(speaks)?;
    let effective = config::load(&Inputs { dir: dir.to_owned(), ..Inputs::default() });
    match effective.and_then(|effective| effective.settings()) {
        Ok(settings) => Some(Ok(settings.risk.threshold)),
        Err(ConfigError::Missing { .. }) => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// The top of the checkout that a directory lies in, if there is one.
#[must_use]
pub fn checkout_around(dir: &Path) -> Option<PathBuf> {
    HostWorkTree::around(dir).map(|tree| tree.top().to_owned())
}

/// Where a session's project is: the checkout around it, or its directory.
#[must_use]
pub fn hook_project(call: &HookCall) -> PathBuf {
    Around::of(call).top()
}

/// Whether the settings of a session's project may say how its stops are judged.
#[must_use]
pub fn hook_rules(call: &HookCall) -> Rules {
    hooks::rules(&Around::of(call).hook(call, &SystemClock::new()))
}

/// The settings by which a hook judges, and whom of them it does not ask: a project that somebody else wrote must not
/// have programs started, or the caller's keys and words sent somewhere, only because an agent stops in it.
///
/// # Errors
/// [`ConfigError`] if values do not fit together.
pub fn hook_settings(effective: &Effective) -> Result<(Svc<dyn Settings>, Option<String>), ConfigError> {
    let mut values = effective.settings()?;
    let asked = std::mem::take(&mut values.verification.judge);
    let (judge, passed_over) = asked_by_hooks(asked);
    values.verification.judge = judge;
    let passed_over = passed_over.map(str::to_owned);
    let stranger = without_strangers(effective, &mut values)?;
    let passed_over = passed_over.or(stranger);
    if passed_over.is_some() {
        // Nobody is left to answer the questions.
        values.verification.self_assessment = policy::SelfAssessment::Off;
    }
    (values.verification.reviewer, values.verification.auditor) = (None, None);
    Ok((Svc::new(values), passed_over))
}

fn asked_by_hooks(judge: policy::Judge) -> (policy::Judge, Option<&'static str>) {
    match judge {
        policy::Judge::Command { .. } | policy::Judge::Agent { .. } => {
            (policy::Judge::None, Some("verification.judge starts a program, so a hook does not ask it"))
        }
        policy::Judge::Model { template, .. } if template.base_url.is_some() || template.key_env.is_some() => (
            policy::Judge::None,
            Some("verification.judge has a `baseUrl` or `keyEnv` of its own, so a hook does not ask it"),
        ),
        other => (other, None),
    }
}

/// What came of judging a stop.
#[derive(Debug)]
pub struct JudgedStop {
    /// It is sent back to work.
    pub sent_back: Option<SentBack>,
    /// What facts say of the work: refuted, or that its last tests passed; none where they say nothing.
    pub passed: Option<bool>,
}

/// A stop that is sent back to work.
#[derive(Debug)]
pub struct SentBack {
    /// What the agent is told.
    pub why: String,
    /// What a lesson of it is written from.
    pub failure: FailureContext,
}

/// Judges a session that stops by its transcript, and says whether it is sent back to work, with what the agent is told then. Facts against it send it back, and whoever the settings ask; that nothing is known never does.
///
/// # Errors
/// Why it was not judged; it may stop then.
pub async fn hook_verify(call: &HookCall, app: &dyn CompletionVerifier, max_turns: u32) -> Result<JudgedStop, String> {
    if let (None, Some(problem)) = (&call.payload.session, &call.payload.problem) {
        return Err(problem.clone());
    }
    let around = Around::of(call);
    let clock = SystemClock::new();
    let gate = match hooks::gate(&around.hook(call, &clock), max_turns).map_err(|error| error.to_string())? {
        Gating::Judge(gate) => gate,
        Gating::LetGo(because) => return Err(because.to_owned()),
    };
    let transcript = around.payload.transcript.as_ref().ok_or("the payload names no transcript")?;
    let reading = whole(transcript, around.payload.last_words.as_deref(), &clock).await?;
    let trace = reading.trace.clone();
    let turn = TranscriptTurn {
        reading,
        task: None,
        dir: Some(around.top()),
        // A hook has nobody to tell what it cost.
        spent: UsageMeter::default(),
        cancel: CancellationToken::new(),
    };
    let verdict = judge_transcript(app, turn).await;
    let passed = passed(&verdict);
    let to_do = !verdict.missing.is_empty() || !verdict.next_actions.is_empty();
    if verdict.complete || !(verdict.status == Standing::Refuted || to_do) {
        return Ok(JudgedStop { sent_back: None, passed });
    }
    let said = Feedback { verdict: &verdict, turn: gate.next_turn, max_turns, previous: None, in_loop: None };
    let Some(why) = said.render() else { return Ok(JudgedStop { sent_back: None, passed }) };
    // The turn's number is no news about the work.
    let about = format!("{:?} {:?} {}", verdict.missing, verdict.next_actions, verdict.feedback);
    let session = around.payload.session.as_deref().unwrap_or_default();
    let stop = RefutedStop {
        task: hooks::session_task(session),
        session,
        turn: gate.next_turn - 1,
        trace: &trace,
        verdict: &verdict,
        files: gate.files.clone(),
        top: &around.top(),
    };
    let failure = stop.failure();
    let sent_back = gate.send_back(&about).map_err(|error| error.to_string())?;
    Ok(JudgedStop { sent_back: sent_back.then_some(SentBack { why, failure }), passed })
}

/// What the facts of a verdict say of the work, without anybody's opinion.
fn passed(verdict: &CompletionVerdict) -> Option<bool> {
    let tests_passed = |reason: &GateReport| reason.gate == "tests_passed" && reason.outcome == GateOutcome::Passed;
    match verdict.status {
        Standing::Refuted => Some(false),
        Standing::Proven | Standing::Unproven => verdict.reasons.iter().any(tests_passed).then_some(true),
    }
}

/// What stands in a transcript once it has the agent's last words: an agent calls its hook and writes its record at the same time.
async fn whole(transcript: &Path, last_words: Option<&str>, clock: &dyn Clock) -> Result<Reading, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", transcript.display());
    let mut tries = 0;
    loop {
        let input = open_named(transcript).map_err(|error| wrong(&error))?;
        let reading = read_transcript(Box::new(input), None).map_err(|error| wrong(&error));
        let has = |reading: &Reading| {
            last_words.is_none_or(|words| reading.trace.response.contains(first_bytes(words.trim(), WORDS_BYTES)))
        };
        tries += 1;
        if tries == TRIES || reading.as_ref().is_ok_and(has) {
            return reading;
        }
        clock.sleep(BETWEEN_TRIES).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_where_it_says_or_where_it_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two, gone] = ["one", "two", "gone"].map(|name| dir.path().join(name));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&two).unwrap();
        let check = |named: [Option<&Path>; 2], expected: &Path, lost: Option<&Path>| {
            let (found, why) = place(&named, dir.path());
            assert_eq!((found.as_path(), why.is_some()), (expected, lost.is_some()), "{named:?}");
            assert!(lost.is_none_or(|lost| why.unwrap().contains(lost.to_str().unwrap())));
        };
        check([Some(&one), Some(&two)], &one, None);
        check([Some(&gone), Some(&two)], &two, Some(&gone));
        check([Some(&gone), None], dir.path(), Some(&gone));
        check([None, Some(&two)], &two, None);
        check([None, None], dir.path(), None);
    }

    #[test]
    fn a_projects_threshold_counts_and_its_mistakes_trouble_nobody_else() {
        let check = |project: &str, shared: &str, expected: Option<Result<f64, &str>>| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("config")).unwrap();
            for (file, text) in [("project.json", project), ("config/reflexion.json", shared)] {
                if !text.is_empty() {
                    std::fs::write(dir.path().join(file), text).unwrap();
                }
            }
            match (threshold(dir.path()), expected) {
                (Some(Err(said)), Some(Err(words))) => assert!(said.contains(words), "{said}"),
                (found, expected) => {
                    let found = found.map(|found| found.map(RiskThreshold::value).map_err(|_| ""));
                    assert_eq!(found, expected, "{project} {shared}");
                }
            }
        };
        check("", "", None);
        check(r#"{"name":"x"}"#, "", None);
        check(r#"{"risk":{"threshold":0.9}}"#, "", Some(Ok(0.9)));
        check(r#"{"name":"x"}"#, r#"{"risk":{"threshold":0.3}}"#, Some(Ok(0.3)));
        check("", r#"{"risk":{"threshold":0.3}}"#, None);
        check(r#"{"risk":{"threshold":9}}"#, "", Some(Err("`9` is no risk threshold")));
        check(r#"{"risk":"#, "", Some(Err("project.json")));
        // Another program's, and no JSON at all.
        check(r#"{"$schema":"nx","targets":{}}"#, "", None);
        check("no JSON", "", None);
    }

    #[test]
    fn a_project_names_no_program_and_no_place_to_a_hook() {
        let check = |judge: &str, because: &str| {
            let dir = tempfile::tempdir().unwrap();
            let text = format!(r#"{{"name":"x","verification":{{"judge":{judge}}}}}"#);
            std::fs::write(dir.path().join("project.json"), text).unwrap();
            let effective = config::load(&Inputs { dir: dir.path().to_owned(), ..Inputs::default() }).unwrap();
            let (settings, passed_over) = hook_settings(&effective).unwrap();
            let passed_over = passed_over.as_deref();
            assert_eq!(settings.verification().judge, policy::Judge::None, "{judge}");
            assert!(passed_over.unwrap_or_default().contains(because), "{judge}: {passed_over:?}");
            assert_eq!(passed_over.is_none(), because.is_empty(), "{judge}");
        };
        check(r#"{"type":"none"}"#, "");
        check(r#"{"type":"command","argv":["true"]}"#, "starts a program");
        // Nobody has trusted it here.
        check(r#"{"type":"model","provider":"anthropic"}"#, "is not trusted");
        check(r#"{"type":"model","provider":"openai","baseUrl":"https://x.example/v1"}"#, "baseUrl");
        check(r#"{"type":"model","provider":"openai","keyEnv":"AWS_SECRET_ACCESS_KEY"}"#, "keyEnv");
    }
}
