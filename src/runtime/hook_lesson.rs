//! What sessions that no run began are given of what was learned, and what they leave: the lesson of a stop that was refuted, which a run would write of
//! such an attempt, from the session's own record.

use super::failure::{failed_output, signature_of};
use super::hook::{Around, HookCall};
use super::run_id::system_clock;
use super::settings::settings_from_values;
use crate::config::{ConfigError, Effective};
use crate::domain::{
    Action, CheckCommand, CompletionVerdict, Ending, FailedCheck, FailureContext, FailureType, GateOutcome, GateReport,
    Output, ReflectionId, Refutation, SessionId, TaskId, ToolStatus, Trace, policy,
};
use crate::hooks;
use crate::hooks::{Payload, Teaching};
use crate::host::SystemClock;
use crate::layer::Svc;
use crate::prompt::{AgentSteps, last_bytes, one_line, relative, shorten};
use crate::services::{Lessons, ReflectionError, ReflectionService, Settings, UsageMeter};
use crate::toolchain::summary;
use std::io;
use std::path::Path;

/// Of a tool's answer or a prompt at most this much is read, at its end: there a command says what failed.
const TEXT_BYTES: usize = 128 << 10;

/// How much, at most, of a command line stands for it in the rules' evidence, and names it in a lesson.
const COMMAND_BYTES: usize = 160;

/// What a tool's answer says of the command that it ran.
#[derive(Debug, Default)]
pub struct CommandEnd {
    /// Whether it passed; none where neither the agent nor a test runner's summary says it.
    pub passed: Option<bool>,
    /// The failure that it shows, if that would be known again.
    pub failure: Option<FailureContext>,
}

/// How the command ended after which a hook is called. What passed may still show a failure: the status of a pipe is that of its last command.
#[must_use]
pub fn hook_command_end(call: &HookCall) -> CommandEnd {
    let Payload { answer: Some(answer), passed, session, .. } = &call.payload else { return CommandEnd::default() };
    seen(session.as_deref(), answer, *passed)
}

/// The failure that a person's prompt holds, because its output was pasted: only what a compiler or a test runner says, never a person's own words.
#[must_use]
pub fn hook_prompt_failure(call: &HookCall) -> Option<FailureContext> {
    let Payload { prompt: Some(prompt), session, .. } = &call.payload else { return None };
    seen(session.as_deref(), prompt, Some(true)).failure
}

/// What a text shows of a failure, where it is known whether its command passed, or not.
fn seen(session: Option<&str>, text: &str, passed: Option<bool>) -> CommandEnd {
    let text = last_bytes(text, TEXT_BYTES);
    let green = summary(text).map(|summary| summary.green);
    let failure = failed_output(hooks::session_task(session.unwrap_or_default()), 1, text);
    let signature = &failure.signature;
    let is_told = green == Some(false) || !signature.tests.is_empty() || signature.frame.is_some();
    let shows = match passed {
        Some(true) => is_told,
        Some(false) | None => green != Some(true) && !signature.fingerprint.is_empty(),
    };
    let failed = passed == Some(false) || is_told;
    let passed = if failed { Some(false) } else { passed.or(green) };
    CommandEnd { passed, failure: shows.then_some(failure) }
}

/// Whether the record of a moment waits for how this command ends.
#[must_use]
pub fn hook_awaits_command(call: &HookCall) -> bool {
    hooks::awaits_command(&Around::of(call).hook(call, &SystemClock::new()))
}

/// Writes down how moments ended that waited for this command.
///
/// # Errors
/// What could not be read or written.
pub async fn hook_command_ended(call: &HookCall, passed: bool, lessons: &dyn Lessons) -> io::Result<()> {
    let (around, clock) = (Around::of(call), SystemClock::new());
    hooks::command_ended(&around.hook(call, &clock), passed, lessons).await.map(drop)
}

/// Writes down how moments ended of which nobody knew it, by what the session's stop showed; and how far lessons have come by that.
///
/// # Errors
/// What could not be read or written.
pub async fn hook_stop_ended(
    call: &HookCall,
    passed: bool,
    lessons: &dyn Lessons,
    app: &dyn ReflectionService,
) -> io::Result<()> {
    let (around, clock) = (Around::of(call), SystemClock::new());
    if hooks::stop_ended(&around.hook(call, &clock), passed, lessons).await? > 0 {
        app.curate().await.map_err(io::Error::other)?;
    }
    Ok(())
}

/// The lessons of the project that a session is given when it starts, or after this failure, as the hook says them; none where there are none, and where a coin
/// holds them out.
///
/// # Errors
/// What could not be read or written.
pub async fn hook_lessons(
    call: &HookCall,
    failure: Option<FailureContext>,
    teaching: &Teaching<'_>,
) -> io::Result<Option<serde_json::Value>> {
    let (around, clock) = (Around::of(call), SystemClock::new());
    let hook = around.hook(call, &clock);
    let (otherwise, text) = match failure {
        None => ("SessionStart", hooks::lessons_at_start(&hook, teaching).await?),
        Some(failure) => ("PostToolUse", hooks::lesson_after_failure(&hook, failure, teaching).await?),
    };
    let event = around.payload.event.as_deref().unwrap_or(otherwise);
    // The shape that Claude Code, Codex and Gemini CLI share to put a text before their models.
    let said =
        |text| serde_json::json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } });
    Ok(text.map(said))
}

/// A stop that was refuted.
pub(super) struct RefutedStop<'a> {
    /// The session, which stands for a task.
    pub task: TaskId,
    /// The agent's name of the session.
    pub session: &'a str,
    /// From 1, for one prompt of the person.
    pub turn: u32,
    /// What happened in the session.
    pub trace: &'a Trace,
    /// What refutes it.
    pub verdict: &'a CompletionVerdict,
    /// What was changed since the session began, from the top.
    pub files: Vec<String>,
    /// The top of the work: paths below it are named from there.
    pub top: &'a Path,
}

impl RefutedStop<'_> {
    /// What a generator is given to write the lesson from: the command that is red, where one refutes the stop, and else the rule that does.
    pub fn failure(self) -> FailureContext {
        let failed: Vec<&GateReport> =
            self.verdict.reasons.iter().filter(|reason| reason.outcome == GateOutcome::Failed).collect();
        let red = failed.iter().find_map(|reason| red_command(self.trace, &reason.evidence));
        let said: Vec<String> = failed.iter().map(|reason| format!("{}: {}", reason.gate, reason.evidence)).collect();
        let steps = AgentSteps::of(self.trace, &[self.top]);
        let new = FailureContext::new(self.task, self.turn, system_clock().now());
        let mut failure = FailureContext {
            id: format!("fc-{}", system_clock().new_id()),
            session_id: SessionId::new(self.session),
            subtask_description: self.trace.task(),
            failure_type: FailureType::of(&Ending::Finished),
            files_changed: self.files,
            steps: steps.steps,
            steps_left_out: steps.left_out,
            agent_message: self.trace.response.clone(),
            ..new
        };
        if let Some(action) = red {
            show_red(&mut failure, action, self.top);
        } else {
            let rule = failed.first().map(|reason| reason.gate.clone());
            failure.refuted_by = rule.map(|rule| Refutation { rule, place: None, line: None });
            failure.todo.clone_from(&self.verdict.next_actions);
            let words = if said.is_empty() { self.verdict.feedback.clone() } else { said.join("; ") };
            failure.output = Output::whole(words);
        }
        failure
    }
}

/// The last command that failed, of those that the evidence of a rule names.
fn red_command<'t>(trace: &'t Trace, evidence: &str) -> Option<&'t Action> {
    let is_named = |action: &&Action| {
        let command = action.command.as_deref().map(|line| shorten(&one_line(line), COMMAND_BYTES).replace('`', "'"));
        command.is_some_and(|command| evidence.contains(&format!("`{command}`")))
    };
    let is_red = |action: &&Action| {
        let outcome = action.outcome.as_ref();
        outcome.is_some_and(|one| one.exit_code.unwrap_or_default() != 0 || one.status == ToolStatus::Failed)
    };
    trace.actions.iter().rev().filter(is_named).find(is_red)
}

fn show_red(failure: &mut FailureContext, action: &Action, top: &Path) {
    let line = action.command.clone().unwrap_or_default();
    let outcome = action.outcome.as_ref();
    let printed = outcome.map(|outcome| relative(&outcome.output, top).into_owned());
    let exit_status = outcome.and_then(|outcome| outcome.exit_code);
    let run = CheckCommand::Shell(line.clone());
    failure.output = Output::whole(printed.unwrap_or_default());
    failure.signature = signature_of(run.clone(), exit_status.or(Some(1)), &failure.output);
    failure.check = Some(FailedCheck {
        name: shorten(&one_line(&line), COMMAND_BYTES).into_owned(),
        run,
        exit_status,
        signal: None,
        timed_out: false,
    });
}

/// The settings by which a hook writes lessons: as a run does it, but no program that a project names is started, and no host of its own asked,
/// only because an agent stops; the rules write the lesson then.
///
/// # Errors
/// [`ConfigError`] if values do not fit together.
pub fn hook_writing_settings(effective: &Effective) -> Result<Svc<dyn Settings>, ConfigError> {
    settings_from_values(effective, |values| match &values.reflexion.generator {
        policy::Generator::Command { .. } | policy::Generator::Agent { .. } => {
            values.reflexion.generator = policy::Generator::Heuristic;
        }
        policy::Generator::Llm { model } if model.base_url.is_some() || model.key_env.is_some() => {
            values.reflexion.generator = policy::Generator::Heuristic;
        }
        policy::Generator::Heuristic | policy::Generator::Llm { .. } => {}
    })
}

/// Writes the lesson of a stop that was refuted, and keeps it as that of a run is kept.
///
/// # Errors
/// If none could be written, or it could not be kept.
pub async fn hook_reflect(
    mut failure: FailureContext,
    settings: &dyn Settings,
    app: &dyn ReflectionService,
) -> Result<ReflectionId, ReflectionError> {
    let most = settings.reflexion().max_reflections_per_retry;
    failure.previous_reflections = app.get_recent(&failure.subtask_id, most).await.unwrap_or_default();
    let reflection = app.generate_counted(&failure, &UsageMeter::default()).await?;
    app.save(&reflection).await
}
