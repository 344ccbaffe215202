//! `reflexion hook`.
//!
//! `stop`, `session-start`, `prompt` and `after-tool` run inside somebody else's session, often: they are answered before anything else
//! of the program starts, end with 0 whatever happens, and write nothing on stdout but what `--verify` and `--learn` ask for.

use super::args::{
    Args, Command, HookArgs, HookCallArgs, HookCommand, HookInstallArgs, HookPlaceArgs, HookUninstallArgs,
};
use super::exit::UsageError;
use super::output::{errln, outln};
use super::{Exit, judge, project};
use crate::config::Effective;
use crate::domain::CaptureMode;
use crate::layer::Svc;
use crate::runtime::{
    CommandEnd, HookAgent, HookCall, HookChanged, HookLearn, HookMode, HookScope, HookVerify, Installing, JudgedStop,
    SentBack, Stopped, Teaching, Trust,
};
use crate::services::{CompletionVerifier, Lessons, ReflectionService, Settings};
use crate::{config, runtime};
use serde::de::IgnoredAny;
use serde_json::json;
use std::ffi::OsString;
use std::io;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The program's name, as it is found on `PATH`.
const NAME: &str = "reflexion";

/// An agent's last words are its longest text; more than this is no payload.
const PAYLOAD_BYTES: u64 = 16 << 20;

/// Whether these arguments are a call by an agent's hook, right or wrong.
pub(super) fn is_call(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1);
    let calls = |word: &OsString| ["stop", "session-start", "prompt", "after-tool"].iter().any(|call| word == call);
    words.any(|word| word == "hook") && words.next().is_some_and(calls)
}

/// Whether a hook's call has nothing to do.
pub(super) fn is_off(args: &[OsString]) -> bool {
    let says = |words: &[&str]| args.iter().any(|arg| words.iter().any(|word| arg == word));
    match runtime::hook_mode() {
        _ if says(&["--help", "-h"]) => false,
        HookMode::Off => true,
        HookMode::Unset => !says(&["--verify", "--learn", "prompt", "after-tool"]),
        HookMode::On(_) | HookMode::Unknown(_) => false,
    }
}

/// A hook that is called wrongly says so and fails nobody: an exit code of 2 would send Claude Code back to work.
pub(super) fn misused(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let said = error.to_string();
        let line = said.lines().next().unwrap_or_default();
        say(line.strip_prefix("error: ").unwrap_or(line));
    } else {
        let _ = error.print();
    }
    Exit::Confirmed.into()
}

/// Does what a hook of an agent asks, if these arguments are such a call.
pub(super) fn at_once(args: &Args) -> Option<Exit> {
    let Command::Hook(HookArgs { command }) = &args.command else { return None };
    let call = match command {
        HookCommand::SessionStart(start) => &start.call,
        HookCommand::Prompt(from) | HookCommand::AfterTool(from) => &from.call,
        HookCommand::Stop(stop) => &stop.call,
        HookCommand::Install(_) | HookCommand::Uninstall(_) => return None,
    };
    let call = received(call, &args.project);
    // A bug of ours must not look like an answer of the hook's.
    let done = std::panic::catch_unwind(|| match command {
        HookCommand::SessionStart(start) => {
            session_start(&call);
            if start.learn {
                teach(&call, CommandEnd::default());
            }
        }
        HookCommand::Prompt(_) | HookCommand::AfterTool(_) => {
            if let Some(problem) = runtime::hook_problem(&call) {
                say(&format!("no lesson was looked for: {problem}"));
            } else if matches!(command, HookCommand::Prompt(_)) {
                if let Some(failure) = runtime::hook_prompt_failure(&call) {
                    teach(&call, CommandEnd { passed: None, failure: Some(failure) });
                }
            } else {
                let CommandEnd { passed, failure } = runtime::hook_command_end(&call);
                let passed = passed.filter(|_| runtime::hook_awaits_command(&call));
                if passed.is_some() || failure.is_some() {
                    teach(&call, CommandEnd { passed, failure });
                }
            }
        }
        HookCommand::Stop(args) => {
            stop(&call);
            if args.verify {
                let judged = judge_stop(&call);
                if let Some(judged) = judged.filter(|_| args.learn) {
                    learn(&call, judged);
                }
            }
        }
        HookCommand::Install(_) | HookCommand::Uninstall(_) => {}
    });
    if done.is_err() {
        say("it broke off, which is a bug");
    }
    Some(Exit::Confirmed)
}

/// What else there is to do with hooks.
pub(super) fn hook(project: &Path, args: HookArgs) -> anyhow::Result<Exit> {
    match args.command {
        HookCommand::SessionStart(_) | HookCommand::Prompt(_) | HookCommand::AfterTool(_) | HookCommand::Stop(_) => {
            Ok(Exit::Confirmed)
        }
        HookCommand::Install(HookInstallArgs { place, verify, learn }) => {
            if verify && place.agent == HookAgent::OpenCode {
                let message =
                    "--verify: a plugin of opencode's is told when a session rests, and cannot send it back to work";
                return Err(UsageError(message.to_owned()).into());
            }
            let verify = if verify { HookVerify::On } else { HookVerify::Off };
            let learn = if learn { HookLearn::On } else { HookLearn::Off };
            let installing = Installing { verify, learn, ..installing(project, &place)? };
            let (was_gated, had_lessons) = (installing.is_gated(), installing.has_learned());
            tell(&installing, installing.put()?, &place)?;
            if was_gated && installing.verify == HookVerify::Off {
                let agent = installing.agent.as_str();
                errln!(
                    "note: stops were judged before and are not any more; `reflexion hook install {agent} --verify` judges them"
                );
            }
            if had_lessons && installing.learn == HookLearn::Off {
                let agent = installing.agent.as_str();
                errln!(
                    "note: sessions were given lessons before and are not any more; `reflexion hook install {agent} --learn` gives them"
                );
            }
            hint_of_top(&installing);
            if !place.json {
                outln!("{}", what_next(&installing));
            }
            Ok(Exit::Confirmed)
        }
        HookCommand::Uninstall(HookUninstallArgs { place }) => {
            let installing = installing(project, &place)?;
            tell(&installing, installing.take_out()?, &place)?;
            Ok(Exit::Confirmed)
        }
    }
}

fn installing(project: &Path, place: &HookPlaceArgs) -> anyhow::Result<Installing> {
    let agent = place.agent;
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let scope = if place.user {
        let home = set("HOME").ok_or_else(|| UsageError("--user: HOME is not set".to_owned()))?;
        HookScope::User { home, moved: agent.moved_by().and_then(set) }
    } else {
        let top = std::path::absolute(project)?;
        if !top.is_dir() {
            return Err(UsageError(format!("--project: {} is no directory", top.display())).into());
        }
        HookScope::Project(top)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The name works on every machine; the path only where the name would not be found.
    let program = match runtime::find_program(NAME, Path::new("."), &path) {
        Some(_) => NAME.to_owned(),
        None => std::env::current_exe()?.display().to_string(),
    };
    Ok(Installing { agent, scope, program, verify: HookVerify::Off, learn: HookLearn::Off })
}

/// The agents whose hooks, a project's or the user's, give lessons to sessions in a project.
pub(super) fn learning_agents(project: &Path) -> Vec<&'static str> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of = |agent: &HookAgent| {
        let user = set("HOME").map(|home| HookScope::User { home, moved: agent.moved_by().and_then(set) });
        let mut scopes = std::iter::once(HookScope::Project(project.to_owned())).chain(user);
        let learns = |scope| {
            let program = NAME.to_owned();
            Installing { agent: *agent, scope, program, verify: HookVerify::Off, learn: HookLearn::Off }.has_learned()
        };
        scopes.any(learns)
    };
    HookAgent::ALL.iter().filter(|agent| of(agent)).map(|agent| agent.as_str()).collect()
}

/// Agents look for their settings where they are started, which usually is the top of the repository.
fn hint_of_top(installing: &Installing) {
    let HookScope::Project(dir) = &installing.scope else { return };
    let top = runtime::checkout_around(dir).filter(|top| dir.canonicalize().is_ok_and(|dir| dir != *top));
    if let Some(top) = top {
        errln!(
            "note: {} is not the top of its repository; these hooks are called where the agent is started here. For all of it: \
             `reflexion -C {} hook install {}{}`",
            dir.display(),
            top.display(),
            installing.agent.as_str(),
            flags(installing)
        );
    }
}

fn flags(installing: &Installing) -> String {
    let verify = if installing.verify == HookVerify::On { " --verify" } else { "" };
    let learn = if installing.learn == HookLearn::On { " --learn" } else { "" };
    format!("{verify}{learn}")
}

fn tell(installing: &Installing, changed: HookChanged, place: &HookPlaceArgs) -> anyhow::Result<()> {
    let file = installing.file().display().to_string();
    if place.json {
        return project::print_json(&json!({ "file": file, "changed": changed != HookChanged::Nothing }));
    }
    match changed {
        HookChanged::Written => outln!("{file}: written"),
        HookChanged::Removed => outln!("{file}: removed, it held nothing else"),
        HookChanged::Nothing => outln!("{file}: nothing to change"),
    }
    Ok(())
}

/// What the user still has to do.
fn what_next(installing: &Installing) -> String {
    let user = matches!(installing.scope, HookScope::User { .. });
    let trust = match installing.agent {
        HookAgent::Codex if user => " Codex asks you to trust new hooks: open it once and use /hooks.",
        HookAgent::Codex => " Codex asks you to trust the project and its hooks: open it there once and use /hooks.",
        HookAgent::Gemini if !user => " Gemini CLI calls a project's hooks only in folders that you trust.",
        _ => "",
    };
    let judged = match installing.verify {
        HookVerify::On => "Stops are judged from the next session on. ",
        HookVerify::Off => "",
    };
    let taught = match installing.learn {
        HookLearn::On => "Sessions are given lessons of projects that you trust (`reflexion trust`). ",
        HookLearn::Off => "",
    };
    format!("{judged}{taught}Sessions are recorded where REFLECTION_MODE=solo is set.{trust}")
}

fn received(args: &HookCallArgs, dir: &Path) -> HookCall {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| PathBuf::from("."));
    HookCall::new(read_payload(io::stdin().lock()), args.agent.clone(), dir)
}

fn read_payload(stdin: io::StdinLock<'_>) -> Result<Vec<u8>, String> {
    if stdin.is_terminal() {
        return Ok(Vec::new());
    }
    // The payload ends where its JSON does: an agent may keep the pipe open behind it.
    let mut noted = Noted { from: stdin.take(PAYLOAD_BYTES + 1), bytes: Vec::new() };
    let payload = serde_json::Deserializer::from_reader(&mut noted).into_iter::<IgnoredAny>().next();
    if let Some(Err(error)) = payload
        && error.is_io()
    {
        return Err(error.to_string());
    }
    let text = noted.bytes;
    if text.len() as u64 > PAYLOAD_BYTES {
        return Err(format!("it is larger than {} MiB", PAYLOAD_BYTES >> 20));
    }
    Ok(text)
}

/// Keeps what is read through it.
struct Noted<R> {
    from: R,
    bytes: Vec<u8>,
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.bytes.extend_from_slice(&into[..read]);
        Ok(read)
    }
}

fn session_start(call: &HookCall) {
    match runtime::hook_mode() {
        HookMode::Unknown(word) => no_mode(&word),
        _ => {
            if let Err(error) = runtime::hook_session_start(call) {
                say(&error.to_string());
            }
        }
    }
}

fn stop(call: &HookCall) {
    if let HookMode::Unknown(word) = runtime::hook_mode() {
        return no_mode(&word);
    }
    match runtime::hook_stop(call) {
        Ok(Stopped::Nothing | Stopped::Recorded { degraded: None, .. }) => {}
        Ok(Stopped::Recorded { degraded: Some(because), .. }) => say(&because),
        Ok(Stopped::Busy) => say("another hook of this session is at work; this one records nothing"),
        Err(error) => say(&format!("the record could not be written: {error}")),
    }
}

/// Says on stdout what the agent is to know of lessons: at the start of its session, or after a command that ended so.
fn teach(call: &HookCall, end: CommandEnd) {
    match in_runtime(lessons(call, end)) {
        Ok(Some(answer)) => outln!("{answer}"),
        Ok(None) => {}
        Err(error) => say(&format!("no lessons were given: {error:#}")),
    }
}

fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

async fn lessons(call: &HookCall, end: CommandEnd) -> anyhow::Result<Option<serde_json::Value>> {
    if matches!(runtime::hook_mode(), HookMode::Off | HookMode::On(CaptureMode::Orchestrated)) {
        return Ok(None);
    }
    let Some(effective) = learning(call)? else { return Ok(None) };
    let settings = runtime::settings_from(&effective)?;
    let app = project::live().with(settings.clone()).build::<(Svc<dyn ReflectionService>, Svc<dyn Lessons>)>().await?;
    let teaching = Teaching {
        service: &*app.0,
        lessons: &*app.1,
        hold_out: settings.reflexion().hold_out,
        start: settings.run().retry_start,
    };
    let answer = async {
        let is_start = end.passed.is_none() && end.failure.is_none();
        if let Some(passed) = end.passed {
            runtime::hook_command_ended(call, passed, &*app.1).await?;
        }
        if is_start || end.failure.is_some() {
            return runtime::hook_lessons(call, end.failure, &teaching).await;
        }
        Ok(None)
    };
    let answer = answer.await;
    app.shutdown().await?;
    Ok(answer?)
}

/// The session's project, if it is trusted and has lessons switched on.
fn learning(call: &HookCall) -> anyhow::Result<Option<Effective>> {
    let Some(effective) = judge::of_project(&runtime::hook_project(call))? else { return Ok(None) };
    let is_on = effective.settings()?.reflexion.enabled;
    Ok((is_on && Trust::of(&effective)?.is_given()).then_some(effective))
}

/// Writes down how a stop ended, and the lesson of one that was refuted. What it costs if that fails is the lesson.
fn learn(call: &HookCall, judged: JudgedStop) {
    if let Err(error) = in_runtime(learned(call, judged)) {
        say(&format!("what the stop teaches was not written: {error:#}"));
    }
}

async fn learned(call: &HookCall, judged: JudgedStop) -> anyhow::Result<()> {
    let Some(effective) = learning(call)? else { return Ok(()) };
    let settings = runtime::hook_writing_settings(&effective)?;
    let app = project::live().with(settings.clone()).build::<(Svc<dyn ReflectionService>, Svc<dyn Lessons>)>().await?;
    let written = async {
        if let Some(passed) = judged.passed {
            runtime::hook_stop_ended(call, passed, &*app.1, &*app.0).await?;
        }
        if let Some(sent_back) = judged.sent_back {
            runtime::hook_reflect(sent_back.failure, &*settings, &*app.0).await?;
        }
        anyhow::Ok(())
    };
    let written = written.await;
    app.shutdown().await?;
    written
}

/// Says on stdout that the agent must go on, and why.
fn judge_stop(call: &HookCall) -> Option<JudgedStop> {
    if runtime::hook_mode() == HookMode::On(CaptureMode::Orchestrated) {
        return None;
    }
    match in_runtime(judged_stop(call)) {
        Ok(Ok(judged)) => {
            if let Some(SentBack { why, .. }) = &judged.sent_back {
                outln!("{}", json!({ "decision": "block", "reason": why }));
            }
            return Some(judged);
        }
        Ok(Err(because)) => say(&format!("the stop was not judged: {because}")),
        Err(error) => say(&format!("the stop was not judged: {error:#}")),
    }
    None
}

async fn judged_stop(call: &HookCall) -> anyhow::Result<Result<JudgedStop, String>> {
    let dir = runtime::hook_project(call);
    let rules = runtime::hook_rules(call).because();
    let found = if rules.is_some() { None } else { judge::of_project(&dir)? };
    let (settings, passed_over) = runtime::hook_settings(&found.map_or_else(|| config::defaults(&dir), Ok)?)?;
    for note in rules.iter().chain(&passed_over) {
        say(note);
    }
    let layers = project::live().with(settings);
    let app = layers.build::<(Svc<dyn CompletionVerifier>, Svc<dyn Settings>)>().await?;
    let max_turns = app.1.verification().max_turns;
    let answer = runtime::hook_verify(call, &*app.0, max_turns).await;
    app.shutdown().await?;
    let noted = |why: String| rules.as_ref().map_or_else(|| why.clone(), |rules| format!("{why}\n\n({rules}.)"));
    Ok(answer.map(|judged| {
        let sent_back = judged.sent_back.map(|one| SentBack { why: noted(one.why), ..one });
        JudgedStop { sent_back, ..judged }
    }))
}

fn no_mode(word: &str) {
    say(&format!("REFLECTION_MODE is `{word}`, not off, solo or orchestrated; nothing is recorded"));
}

fn say(because: &str) {
    errln!("reflexion hook: {}", because.replace('\n', " "));
}
