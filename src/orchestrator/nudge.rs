//! Nudging: an agent that is stuck, loops, or lost its thread when its context was shortened is told so while it works.

use super::watch::{Last, Seen, Watching};
use crate::domain::{Action, CompactionAction, Evaluated, Guard, Pass, SessionId, StateId, ToolStatus};
use crate::services::{Clock, CompactionQuestion, ProgressJudge, StuckQuestion, UsageMeter};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// An agent that said something and then nothing for so long may be stuck. Below it nobody is nudged: models think.
pub(super) const IDLE: Duration = Duration::from_secs(30);
/// A loop is looked for after each tool call at first; later, when one look takes longer, after every so many.
const LOOK_EVERY: u64 = 16;
/// Looked for after each call until so many.
const LOOK_ALWAYS: u64 = 64;
/// So many of its latest tool calls are shown to whoever is asked whether an agent is stuck.
const SHOWN_CALLS: usize = 20;

/// What an agent is told while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nudge {
    /// Why, in words for people.
    pub because: String,
    /// What it is told.
    pub message: String,
}

impl Nudge {
    /// The prompt of the turn that says it.
    pub fn prompt(&self) -> String {
        crate::prompt::nudge(&self.message)
    }
}

/// Looks after one agent's conversation.
pub(super) struct Nudger<'a> {
    pub watching: &'a Watching,
    pub progress: &'a dyn ProgressJudge,
    pub clock: &'a dyn Clock,
    pub session: &'a SessionId,
    /// Shared by all turns of the attempt, so that no state is evaluated twice.
    pub guard: &'a Mutex<Guard>,
    /// Counts what whoever is asked uses.
    pub spent: &'a UsageMeter,
    /// The task in short.
    pub task: &'a str,
}

/// What was looked at already.
struct Looked {
    compactions: usize,
    results: u64,
}

/// What to look at next.
enum Look {
    /// It is at work, or was evaluated like this: nothing before its next step.
    Wait,
    /// It is in a loop.
    Nudge(Nudge),
    /// Its context was shortened.
    Compacted(Pass, CompactionQuestion),
    /// It rests after so many steps: whether it is stuck is asked when it has rested for so long.
    Rests { left: Duration, steps: u64 },
}

impl Nudger<'_> {
    /// Returns when the agent is to be told something; never, as long as it works.
    pub async fn nudge(&self) -> Nudge {
        let mut looked = Looked { compactions: self.watching.seen().trace.compactions.len(), results: 0 };
        let mut after_compaction: Option<(u64, Nudge)> = None;
        loop {
            // From here on no step is missed.
            let moved = self.watching.moved();
            match self.look(&mut looked) {
                Look::Wait => moved.await,
                Look::Nudge(nudge) => return nudge,
                Look::Compacted(pass, question) => {
                    let verdict = self.progress.after_compaction(&question, self.spent).await;
                    self.leave(pass);
                    let goes_on =
                        matches!(verdict.action, CompactionAction::ContinueTask | CompactionAction::NeedsGithubUpdate);
                    if goes_on && !verdict.nudge_message.is_empty() {
                        let because = "its context was shortened".to_owned();
                        let nudge = Nudge { because, message: verdict.nudge_message };
                        after_compaction = Some((self.watching.seen().trace.calls, nudge));
                    }
                }
                Look::Rests { left, steps } => {
                    tokio::select! {
                        () = moved => continue,
                        () = self.clock.sleep(left) => {}
                    }
                    // An agent that goes on by itself after its context was shortened has not lost its thread.
                    let calls = self.watching.seen().trace.calls;
                    if let Some((_, nudge)) = after_compaction.take().filter(|(at, _)| *at == calls) {
                        return nudge;
                    }
                    if let Some(nudge) = self.stuck(steps).await {
                        return nudge;
                    }
                }
            }
        }
    }

    fn look(&self, looked: &mut Looked) -> Look {
        let seen = self.watching.seen();
        // Without its conversation there is nothing to go on with; a running tool is work, whatever its age.
        if seen.agent_session.is_none() || seen.trace.running().is_some() {
            return Look::Wait;
        }
        // Some agents say more in the same breath as a result, so that the result is not the last step.
        let answered = std::mem::replace(&mut looked.results, seen.results) != seen.results;
        if answered
            && looks_for_loop(seen.trace.calls)
            && let Some(words) = self.progress.in_loop(&seen.trace)
            && let Some(pass) = self.enter(&seen)
        {
            self.leave(pass);
            return Look::Nudge(Nudge { because: "it repeats itself".to_owned(), message: words });
        }
        if seen.trace.compactions.len() > looked.compactions {
            looked.compactions = seen.trace.compactions.len();
            if let Some(pass) = self.enter(&seen) {
                return Look::Compacted(pass, compaction_question(&seen, self.task));
            }
        }
        match seen.last {
            Last::Message | Last::WholeMessage | Last::Compaction => {
                let rested = self.clock.elapsed().saturating_sub(seen.at);
                Look::Rests { left: IDLE.saturating_sub(rested), steps: seen.steps }
            }
            Last::Nothing | Last::Result | Last::Other => Look::Wait,
        }
    }

    /// Asks whether it is stuck after so many steps; once for each state, and a state that was asked about waits for the next
    /// step.
    async fn stuck(&self, steps: u64) -> Option<Nudge> {
        let (moved, state, entered) = {
            let seen = self.watching.seen();
            // A step in the moment the rest was long enough: it may be one that asks for something else, so it is looked at.
            if seen.steps != steps {
                return None;
            }
            let idle = self.clock.elapsed().saturating_sub(seen.at);
            let entered = self.enter(&seen).map(|pass| (pass, stuck_question(&seen, idle)));
            (self.watching.moved(), StateId::of_trace(&seen.trace), entered)
        };
        if let Some((pass, question)) = entered {
            let verdict = self.progress.stuck(&question, self.spent).await;
            self.leave(pass);
            let as_it_was = StateId::of_trace(&self.watching.seen().trace) == state;
            if as_it_was && verdict.should_nudge && !verdict.nudge_message.is_empty() {
                let because = format!("it said nothing for {} s", question.time_since_activity.round());
                return Some(Nudge { because, message: verdict.nudge_message });
            }
        }
        moved.await;
        None
    }

    fn guard(&self) -> std::sync::MutexGuard<'_, Guard> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, seen: &Seen) -> Option<Pass> {
        self.guard().enter(self.session.as_str(), StateId::of_trace(&seen.trace), self.clock.now()).ok()
    }

    fn leave(&self, pass: Pass) {
        self.guard().leave(pass, Evaluated::Yes);
    }
}

fn looks_for_loop(calls: u64) -> bool {
    calls <= LOOK_ALWAYS || calls.is_multiple_of(LOOK_EVERY)
}

fn stuck_question(seen: &Seen, idle: Duration) -> StuckQuestion {
    let trace = &seen.trace;
    let skipped = trace.actions.len().saturating_sub(SHOWN_CALLS);
    let calls: Vec<String> = trace.actions.iter().skip(skipped).map(state_of).collect();
    StuckQuestion {
        time_since_activity: idle.as_secs_f64(),
        message_completed: (seen.last == Last::WholeMessage).then_some(true),
        output_tokens: seen.output,
        last_user_message: trace.asked.last().map(|asked| asked.text.clone()).unwrap_or_default(),
        last_assistant_response: trace.response.clone(),
        tool_calls: calls.join("\n"),
    }
}

/// `name: state`, with the exit status of a command that failed.
fn state_of(action: &Action) -> String {
    let state = match &action.outcome {
        None => "running".to_owned(),
        Some(outcome) => match (outcome.status, outcome.exit_code) {
            (ToolStatus::Ok, None | Some(0)) => "completed".to_owned(),
            (ToolStatus::Ok, Some(code)) => format!("completed - exit code {code}"),
            (ToolStatus::Failed, Some(code)) => format!("error - exit code {code}"),
            (ToolStatus::Failed, None) => "error".to_owned(),
            (ToolStatus::Denied, _) => "error - permission denied".to_owned(),
        },
    };
    format!("{}: {state}", action.tool)
}

fn compaction_question(seen: &Seen, task: &str) -> CompactionQuestion {
    let mut used: Vec<&str> = Vec::new();
    for action in &seen.trace.actions {
        for word in std::iter::once(action.tool.as_str()).chain(action.command.as_deref()) {
            if !used.contains(&word) && used.len() < SHOWN_CALLS * 4 {
                used.push(word);
            }
        }
    }
    CompactionQuestion {
        task_summary: task.to_owned(),
        last_assistant_response: seen.trace.response.clone(),
        tools_used: used.join(", "),
        has_git_commands: None,
        has_pr_issue_ref: None,
    }
}
