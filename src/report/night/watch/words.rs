//! The short sentences of a watcher's screen.

use super::super::replay::millis;
use super::super::value::{Need, NeedKind, Night, NightState, SpanKind, TaskState};
use super::super::words::who_works;
use super::super::words::{Times, duration, foreign, number, plural, usage};
use super::scene::AtWork;
use crate::domain::Timestamp;

/// A running night that gave no sign for so long says so: agents think for minutes, hardly ever for longer.
const QUIET_MS: u64 = 10 * 60 * 1000;

/// How the run stands, in a few words: `running since 21:04 (3 h 12 min), until 07:00`.
#[must_use]
pub fn standing(night: &Night, times: &Times) -> String {
    let last = night.last_sign_at.map_or_else(String::new, |at| format!(" {}", times.near(at)));
    if let Some(pid) = night.stopped_pid {
        return format!("stands still: its process {pid} is stopped, and `kill -CONT {pid}` lets it go on");
    }
    match night.state {
        NightState::Running => {
            let Some(since) = night.started_at else { return "running".to_owned() };
            let until =
                night.plan.until.map(|until| format!(", until {}", times.near_clock(until))).unwrap_or_default();
            let quiet = night.last_sign_at.map_or(0, |at| between(at, times.now));
            let quiet = if quiet >= QUIET_MS { format!(", no sign for {}", duration(quiet)) } else { String::new() };
            format!("running since {} ({}){until}{quiet}", times.near_clock(since), duration(between(since, times.now)))
        }
        NightState::Ended => format!("over,{last}"),
        NightState::Deadline => format!("over, its time was up,{last}"),
        NightState::Budget => format!("over, its budget was used up,{last}"),
        NightState::Interrupted => format!("interrupted,{last}"),
        NightState::Halted => {
            let because = night.halted.as_deref().map(|because| foreign(because, 120)).unwrap_or_default();
            format!("could not go on,{last}: {because}")
        }
        NightState::Dead if night.last_sign_at.is_none() => "left nothing that can be read".to_owned(),
        NightState::Dead => format!("broke off,{last}: {}", who_works(night)),
    }
}

/// A text from outside, such as a title or a warning, in one line that drives no terminal.
#[must_use]
pub fn line(text: &str) -> String {
    foreign(text, 300)
}

/// What was used until now.
#[must_use]
pub fn spent(night: &Night) -> String {
    usage(&night.spend.usage).unwrap_or_else(|| "no tokens or cost reported yet".to_owned())
}

/// How many tasks stand where, without the zeros: mark, number and word.
pub fn tallies(night: &Night) -> impl Iterator<Item = (TaskState, usize)> {
    let counts = night.counts;
    let all = [
        (TaskState::Merged, counts.merged),
        (TaskState::Confirmed, counts.confirmed),
        (TaskState::Unchanged, counts.unchanged),
        (TaskState::Failed, counts.failed),
        (TaskState::Blocked, counts.blocked),
        (TaskState::Working, counts.working),
        (TaskState::Open, counts.open),
        (TaskState::Closed, counts.closed),
    ];
    all.into_iter().filter(|(_, n)| *n > 0)
}

/// A state's mark and word; never a colour alone.
#[must_use]
pub fn mark(state: TaskState) -> (&'static str, &'static str) {
    match state {
        TaskState::Merged => ("✓", "merged"),
        TaskState::Confirmed => ("✓", "confirmed"),
        TaskState::Unchanged => ("✓", "done, nothing changed"),
        TaskState::Failed => ("✗", "failed"),
        TaskState::Blocked => ("!", "blocked"),
        TaskState::Working => ("▸", "at work"),
        TaskState::Open => ("·", "open"),
        TaskState::Closed => ("-", "closed"),
    }
}

/// What is done for a task, in a word or two.
#[must_use]
pub fn phase(kind: Option<SpanKind>) -> &'static str {
    match kind {
        Some(SpanKind::Preparing) => "preparing",
        Some(SpanKind::Agent) => "agent works",
        Some(SpanKind::Checking) => "checking",
        Some(SpanKind::Waiting) => "waiting",
        Some(SpanKind::Merging) => "merging",
        None => "between steps",
    }
}

/// A need in one line: the task or what it is about, and why.
#[must_use]
pub fn need(night: &Night, need: &Need) -> String {
    let task = need.tasks.first().and_then(|place| night.tasks.get(*place));
    let about = match (need.kind, task) {
        (NeedKind::Login, _) => "a login".to_owned(),
        (NeedKind::Environment, _) => "something is missing".to_owned(),
        (NeedKind::Repository, _) => "your repository".to_owned(),
        (_, Some(task)) => task.id.to_string(),
        (_, None) => String::new(),
    };
    let what = match need.kind {
        NeedKind::Repository | NeedKind::Login | NeedKind::Environment => "",
        NeedKind::Person => "waits for you: ",
        NeedKind::Unverifiable => "not verified: ",
        NeedKind::Unmerged => "not merged: ",
        NeedKind::YoursToMerge => "confirmed, and yours to merge: ",
        NeedKind::Blocked => "blocked: ",
        NeedKind::Failed => "failed: ",
        NeedKind::Held => "waits for ",
        NeedKind::Review => "worth a look: ",
    };
    let tasks = if need.tasks.len() > 1 { format!(" ({})", plural(need.tasks.len(), "task")) } else { String::new() };
    format!("{about}{tasks}: {what}{}", foreign(&need.why, 300))
}

/// What a worker does: phase, attempt, agent, for how long, tokens, and its last step.
#[must_use]
pub fn at_work(at_work: &AtWork, times: &Times) -> String {
    let mut said = match (at_work.phase, &at_work.agent, at_work.attempt) {
        (Some(SpanKind::Agent), Some(agent), Some(attempt)) => format!("attempt {attempt}, {agent}"),
        (kind, _, Some(attempt)) => format!("attempt {attempt}, {}", phase(kind)),
        (kind, ..) => phase(kind).to_owned(),
    };
    if let Some(since) = at_work.since {
        said.push_str(&format!(", {}", duration(between(since, times.now))));
    }
    if let Some(tokens) = at_work.tokens {
        said.push_str(&format!(", {} tokens", number(tokens)));
    }
    if let Some(doing) = at_work.doing.as_ref().filter(|_| at_work.phase == Some(SpanKind::Agent)) {
        said.push_str(&format!(": {doing}"));
    }
    said
}

fn between(from: Timestamp, to: Timestamp) -> u64 {
    millis(to.duration_since(from))
}
