//! A running or dead run in words.

use super::needs::go_on;
use super::value::{Fate, NeedKind, Night, NightState, NightTask, Span, SpanKind};
use super::words::{Times, duration, foreign, joined, plural, who_works};
use crate::domain::Timestamp;

/// So many tasks in work are named.
const NAMED: usize = 6;
/// So many things that need somebody are named.
const NEEDS: usize = 8;

/// How a run stands, in a few sentences: what it does, or what it was in the middle of when it died, and what to do next.
#[must_use]
pub fn status(night: &Night, times: &Times) -> String {
    let mut said = vec![first(night, times)];
    said.extend(doing(night, times));
    said.extend(counted(night));
    said.extend(kept(night));
    said.extend(yours(night));
    if night.unreadable > 0 {
        let torn = if night.torn { " (the last one was not written to its end)" } else { "" };
        said.push(format!("{} of its journal could not be read{torn}.", plural(night.unreadable, "line")));
    }
    if let Some(step) = go_on(night) {
        said.push(format!("Go on with `{}`.", step.command));
    }
    if night.state != NightState::Running && !night.tasks.is_empty() {
        said.push(format!("`reflexion report {}` has the whole story.", night.run));
    }
    said.join("\n") + "\n"
}

/// A night that has not begun, in a sentence.
#[must_use]
pub fn waits(pid: u32, until: Timestamp, times: &Times) -> String {
    format!("A night waits for its window, until {}: process {pid}; `kill {pid}` ends it.", times.near(until))
}

fn first(night: &Night, times: &Times) -> String {
    let began = night.started_at.map(|at| format!(" of {}", times.near(at))).unwrap_or_default();
    let run = format!("Run {}{began}", night.run);
    let last = night.last_sign_at.map(|at| times.near(at));
    let Some(last) = last else {
        return match night.state {
            NightState::Running => format!("{run} has just begun."),
            _ => format!("{run} left nothing that can be read, and {}.", who_works(night)),
        };
    };
    match night.state {
        NightState::Running => {
            let ms = night.last_sign_at.map_or(0, |at| super::replay::millis(times.now.duration_since(at)));
            let until = night.plan.until.map(|until| format!(" until {} at the latest", times.near(until)));
            let old = if ms < 2000 { "of this moment".to_owned() } else { format!("{} old", duration(ms)) };
            if let Some(pid) = night.stopped_pid {
                return format!(
                    "{run} stands still: its process {pid} is stopped, and `kill -CONT {pid}` lets it go on. Its last sign is {old}."
                );
            }
            format!("{run} goes on{}. Its last sign is {old}.", until.unwrap_or_default())
        }
        NightState::Ended => format!("{run} came to its end, {last}."),
        NightState::Deadline => format!("{run} stopped because its time was up, {last}."),
        NightState::Budget => format!("{run} stopped because its budget was used up, {last}."),
        NightState::Interrupted => format!("{run} was interrupted, {last}."),
        NightState::Halted => {
            let because = foreign(night.halted.as_deref().unwrap_or_default(), 400);
            format!("{run} could not go on, {last}: {because}.")
        }
        NightState::Dead => format!("{run} broke off: {}, and its last sign is of {last}.", who_works(night)),
    }
}

/// What is being done, or was when the run died.
fn doing(night: &Night, times: &Times) -> Option<String> {
    let in_work: Vec<(usize, &NightTask)> = night.tasks.iter().enumerate().filter(|(_, task)| task.in_work).collect();
    if in_work.is_empty() {
        return None;
    }
    let now = night.state == NightState::Running;
    let mut said: Vec<String> = Vec::new();
    for (place, task) in in_work.iter().take(NAMED) {
        let span = night.spans.iter().rev().find(|span| span.task == *place && span.cut);
        said.push(did(night, task, span, times));
    }
    if in_work.len() > NAMED {
        said.push(format!("{} more", in_work.len() - NAMED));
    }
    let when = if now { "Now" } else { "At that moment" };
    Some(format!("{when}: {}.", said.join("; ")))
}

fn did(night: &Night, task: &NightTask, span: Option<&Span>, times: &Times) -> String {
    let Some(span) = span else { return format!("`{}` was between two steps", task.id) };
    let since = times.clock(span.start);
    let healing = night.heals.iter().rev().find(|heal| heal.outcome.is_none() && heal.task == task.id);
    if let Some(heal) = healing {
        let since = times.clock(heal.started_at);
        return format!("the repair of the workspace of `{}` ({}), since {since}", task.id, heal.symptom.as_str());
    }
    let attempt = span.attempt.map(|place| &night.attempts[place]);
    match (span.kind, attempt) {
        (SpanKind::Agent, Some(attempt)) => {
            format!(
                "attempt {} of `{}` (agent {}), since {since}",
                attempt.attempt,
                task.id,
                foreign(&attempt.agent, 60)
            )
        }
        (SpanKind::Checking, Some(attempt)) => {
            format!("the checks of attempt {} of `{}`, since {since}", attempt.attempt, task.id)
        }
        (SpanKind::Waiting, _) => format!("`{}` waiting for a service, since {since}", task.id),
        (SpanKind::Merging, _) => format!("the commit and merge of `{}`, since {since}", task.id),
        (SpanKind::Preparing | SpanKind::Agent | SpanKind::Checking, _) => {
            format!("the workspace of `{}`, since {since}", task.id)
        }
    }
}

fn counted(night: &Night) -> Option<String> {
    let counts = night.counts;
    if counts.tasks == 0 {
        return None;
    }
    let done = counts.merged + counts.confirmed + counts.unchanged + counts.failed + counts.blocked;
    let parts = [
        (counts.merged, "merged"),
        (counts.confirmed, "confirmed on a branch"),
        (counts.unchanged, "done without a change"),
        (counts.failed, "failed"),
        (counts.blocked, "blocked"),
    ];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", joined(&parts)) };
    let verb = if done == 1 { "has" } else { "have" };
    Some(format!("{done} of {} {verb} a result{parts}.{}", plural(counts.tasks, "task"), super::conclude::since(night)))
}

/// Everything that needs a person, as many things as the report counts.
fn yours(night: &Night) -> Option<String> {
    let of = |kind: NeedKind, places: &[usize]| {
        let tasks: Vec<String> =
            places.iter().take(NAMED).map(|place| format!("`{}`", night.tasks[*place].id)).collect();
        let more = places.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let about = if tasks.is_empty() { String::new() } else { format!(" ({}{more})", tasks.join(", ")) };
        format!("{}{about}", short(kind))
    };
    // Those of one kind stand together, and are told once.
    let mut kinds: Vec<(NeedKind, Vec<usize>)> = Vec::new();
    for need in &night.needs {
        match kinds.iter_mut().find(|(kind, _)| *kind == need.kind) {
            Some((_, tasks)) => tasks.extend(&need.tasks),
            None => kinds.push((need.kind, need.tasks.clone())),
        }
    }
    let said: Vec<String> = kinds.iter().take(NEEDS).map(|(kind, tasks)| of(*kind, tasks)).collect();
    let more = kinds.len().saturating_sub(NEEDS);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    let things = match night.things() {
        0 => return None,
        1 => "One thing needs you".to_owned(),
        n => format!("{n} things need you"),
    };
    Some(format!("{things}: {}{more}. `reflexion report` says what to do.", said.join("; ")))
}

/// What kind of thing needs a person, in a few words.
fn short(kind: NeedKind) -> &'static str {
    match kind {
        NeedKind::Repository => "your repository was changed",
        NeedKind::Login => "a login or a quota",
        NeedKind::Environment => "something is missing",
        NeedKind::Person => "waits for you",
        NeedKind::Unverifiable => "not verified",
        NeedKind::Unmerged => "confirmed, and not merged",
        NeedKind::YoursToMerge => "confirmed, and yours to merge",
        NeedKind::Blocked => "blocked",
        NeedKind::Failed => "failed",
        NeedKind::Held => "waits for another one",
        NeedKind::Review => "done, and worth a look",
    }
}

/// What a dead run cost, and what it did not.
fn kept(night: &Night) -> Option<String> {
    if !matches!(night.state, NightState::Dead | NightState::Halted) {
        return None;
    }
    // What was cut by an earlier death was taken up again since, if its task went on.
    let cut = night.tasks.iter().filter(|task| task.in_work);
    let cut = cut.filter(|task| task.attempts.last().is_some_and(|place| night.attempts[*place].fate == Fate::Cut));
    let cut = cut.count();
    let landing: Vec<&str> = night.tasks.iter().filter(|task| task.landing).map(|task| task.id.as_str()).collect();
    let mut said = match cut {
        0 => "No attempt was cut off.".to_owned(),
        1 => "One attempt was cut off; the next run takes it up again.".to_owned(),
        n => format!("{n} attempts were cut off; the next run takes them up again."),
    };
    if night.counts.merged + night.counts.confirmed > 0 {
        said.push_str(" What was confirmed is on its branches.");
    }
    if !landing.is_empty() {
        said.push_str(&format!(
            " Whether the commit or merge of {} was made, its journal cannot say; the next run looks.",
            joined(&landing)
        ));
    }
    Some(said)
}
