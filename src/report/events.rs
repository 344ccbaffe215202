//! Events as text.

use crate::domain::{
    About, CheckStatus, Ending, Event, EventKind, Exposure, HealOutcome, JournalEntry, MergeOutcome, Origin, Spell,
    SubtaskId, Symptom, TaskId, TaskReport, TurnReason, gates_in_words,
};

/// The event as one line for people; none for what only a live display shows.
#[must_use]
pub fn line(event: &Event) -> Option<String> {
    let text = match &event.kind {
        EventKind::Recorded(entry) => recorded(entry)?,
        EventKind::Warning { message } => format!("warning: {message}"),
        EventKind::Routed { agents, because } => format!("goes to {}, because {because}", agents.join(", then ")),
        EventKind::Checked { name, as_at_base: true, .. } => {
            format!("check `{name}` is red as at the base, which says nothing of the work")
        }
        EventKind::Checked { name, status, .. } => match status {
            CheckStatus::Passed => format!("check `{name}` passed"),
            CheckStatus::Failed => format!("check `{name}` failed"),
            CheckStatus::NotRun { because } => format!("check `{name}` was not run: {because}"),
        },
        EventKind::PersonNeeded { actions } => format!("waits for you: {}", actions.join("; ")),
        EventKind::Judged { verdict, because } => {
            let (attempt, part) = (event.about.attempt.unwrap_or_default(), part(&event.about));
            format!("attempt {attempt}{part}: {}, {}", verdict.as_str(), gates_in_words(because))
        }
        EventKind::Reflected { origin, analysis } => {
            format!("reflection ({}): {}", origin_word(origin), first_words(analysis))
        }
        EventKind::Tampered { what } => format!("the agent changed your repository: {}", what.join(", ")),
        EventKind::BudgetReached { because } => because.clone(),
        EventKind::LeftAlone { because } => format!("not judged: {because}"),
        EventKind::Doing { .. } | EventKind::AgentActed { .. } => return None,
    };
    Some(match &event.about.task {
        Some(task) => format!("[{task}] {text}"),
        None => text,
    })
}

/// An entry of the journal as one line; none where nothing of it is news, or another event says the same.
fn recorded(entry: &JournalEntry) -> Option<String> {
    Some(match entry {
        JournalEntry::RunStarted { tasks, plan, .. } => begins(tasks.len(), plan.jobs),
        JournalEntry::RunResumed { tasks, plan, .. } => begins(tasks.len(), plan.as_ref().map_or(1, |plan| plan.jobs)),
        JournalEntry::TaskStarted { title, max_attempts: Some(attempts), .. } => {
            format!("{title} (up to {})", plural(*attempts as usize, "attempt"))
        }
        JournalEntry::TaskStarted { title, max_attempts: None, .. } => title.clone(),
        JournalEntry::TaskDecomposed { failed: None, proposal, .. } if proposal.parts.is_empty() => {
            "is worked on as a whole, as was proposed".to_owned()
        }
        JournalEntry::TaskDecomposed { failed: None, proposal, .. } => {
            let titles: Vec<&str> = proposal.parts.iter().map(|part| part.title.as_str()).collect();
            first_words(&format!("in {} parts: {}", titles.len(), titles.join("; ")))
        }
        JournalEntry::AttemptStarted { task, subtask, attempt, agent, injected, exposure, .. } => {
            let with = lessons_of(injected.len(), exposure.as_ref());
            format!("attempt {attempt}{}: {agent} works{with}", part_of(task, subtask))
        }
        // The agent was stopped to be told something, which was told when it was.
        JournalEntry::AgentStopped { ending: Ending::Nudged, .. } => return None,
        JournalEntry::AgentStopped { ending, files: Some(files), detail, .. }
        | JournalEntry::AttemptDropped { ending: Some(ending), files: Some(files), detail, .. } => {
            stopped(ending, *files, detail.as_deref())
        }
        JournalEntry::TurnNudged { files: Some(files), .. } => stopped(&Ending::Nudged, *files, None),
        JournalEntry::TurnStarted { turn, reason: TurnReason::Test, .. } => {
            format!("turn {turn}: asked for a test that fails without the work, by what it asserts")
        }
        JournalEntry::TurnStarted { turn, reason, because, .. } => {
            format!("turn {turn} ({}): {}", reason.as_str(), first_words(because))
        }
        JournalEntry::WaitStarted { until, because, .. } => {
            let until = until.round(jiff::Unit::Second).unwrap_or(*until);
            format!("waiting until {until}: {because}")
        }
        JournalEntry::RepositoryChanged { what, .. } => format!("needs you: your repository: {}", what.join("; ")),
        JournalEntry::MergeEnded { outcome, .. } => merged(outcome)?,
        JournalEntry::HealEnded { symptom, spell, outcome, .. } => healed(*symptom, *spell, outcome),
        JournalEntry::TaskEnded { verdict, cause, report, .. } => {
            let verdict = verdict.map_or("not judged", |verdict| verdict.as_str());
            let note = report.as_ref().map_or_else(|| cause.clone(), |report| note(report));
            note.map_or_else(|| verdict.to_owned(), |note| format!("{verdict}: {note}"))
        }
        // What failed is a warning of its own.
        JournalEntry::TaskDecomposed { failed: Some(_), .. }
        // Whoever wrote it down before this was told has said it, or it is said with the verdict, or in a warning.
        | JournalEntry::AgentStopped { files: None, .. }
        | JournalEntry::AttemptDropped { .. }
        | JournalEntry::TurnNudged { files: None, .. }
        | JournalEntry::TurnJudged { .. }
        | JournalEntry::AttemptJudged { .. }
        | JournalEntry::Noticed { .. }
        // Intents, and ends that everybody sees.
        | JournalEntry::CommitStarted { .. }
        | JournalEntry::WaitEnded { .. }
        | JournalEntry::MergeStarted { .. }
        | JournalEntry::MergeReady { .. }
        | JournalEntry::HealStarted { .. }
        | JournalEntry::RunHalted { .. }
        | JournalEntry::RunEnded { .. } => return None,
    })
}

fn begins(tasks: usize, jobs: usize) -> String {
    format!("{tasks} open, {jobs} at a time")
}

fn stopped(ending: &Ending, files: usize, detail: Option<&str>) -> String {
    let detail = detail.map(|detail| format!("; {}", first_words(detail))).unwrap_or_default();
    format!("agent stopped: {}, {} changed since the base{detail}", ending.as_str(), plural(files, "file"))
}

/// Said before a commit, where the work of a task brings nothing to what was merged.
pub(super) const NOTHING_LEFT: &str = "nothing was left to merge: what it changes was there before, in";

/// None where a person is called for it.
fn merged(outcome: &MergeOutcome) -> Option<String> {
    match outcome {
        MergeOutcome::Merged { commit, flaky, was_there } => {
            let short: String = commit.chars().take(12).collect();
            let flaky = match flaky.as_slice() {
                [] => String::new(),
                names => format!("; flaky, failed once and passed on the same files: {}", names.join(", ")),
            };
            let how = if *was_there { NOTHING_LEFT } else { "merged as" };
            Some(format!("{how} {short}{flaky}"))
        }
        MergeOutcome::LeftToPerson { .. } => None,
        MergeOutcome::Conflict { .. } | MergeOutcome::Red { .. } => {
            outcome.failed().map(|because| format!("not merged: {because}"))
        }
    }
}

fn healed(symptom: Option<Symptom>, spell: Spell, outcome: &HealOutcome) -> String {
    let symptom = symptom.map(|symptom| format!("{}; ", symptom.as_str())).unwrap_or_default();
    match outcome {
        HealOutcome::Healed { did } => {
            let did = if did.is_empty() { String::new() } else { format!(" ({})", did.join(", ")) };
            format!("workspace healed: {symptom}{}{did}, and it goes on", spell.as_str())
        }
        HealOutcome::NotHealed { because } => {
            format!("workspace not healed: {symptom}{}: {}", spell.as_str(), first_words(because))
        }
    }
}

/// Why a task is not confirmed, or where its confirmed work is; and what a person has set it to meanwhile.
fn note(report: &TaskReport) -> Option<String> {
    let by_hand = report.by_hand.map(|status| format!("set to {} by you meanwhile", status.as_str()));
    [report.note(), by_hand].into_iter().flatten().reduce(|note, by_hand| format!("{note}; {by_hand}"))
}

/// Which part an attempt is of, where its task has parts.
fn part(about: &About) -> String {
    about.task.as_ref().zip(about.subtask.as_ref()).map(|(task, subtask)| part_of(task, subtask)).unwrap_or_default()
}

fn part_of(task: &TaskId, subtask: &SubtaskId) -> String {
    if task.as_str() == subtask.as_str() { String::new() } else { format!(" of part `{subtask}`") }
}

/// A line is for watching; the whole text is in the memory and the journal.
fn first_words(text: &str) -> String {
    const CHARS: usize = 300;
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}

/// `1 file`, `2 files`.
#[must_use]
pub fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// What the prompt of an attempt holds of lessons, behind what the attempt is.
pub(super) fn lessons_of(injected: usize, exposure: Option<&Exposure>) -> String {
    match (Exposure::held_out(exposure), injected) {
        (Some(words), _) => format!("; {words}"),
        (None, 0) => String::new(),
        (None, n) => format!(", with {} in its prompt", plural(n, "reflection")),
    }
}

fn origin_word(origin: &Origin) -> String {
    match origin {
        Origin::Command => "command".to_owned(),
        Origin::Agent => "agent".to_owned(),
        Origin::Llm { model } => format!("model {model}"),
        Origin::Heuristic { because } => format!("heuristic, because {because}"),
        Origin::Person => "person".to_owned(),
        Origin::Import => "import".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{RunId, Timestamp};
    use serde_json::{Value, json};

    fn said(kind: Value) -> Option<String> {
        let about = About::run(&RunId::new("r").unwrap());
        line(&Event { at: Timestamp::UNIX_EPOCH, about, kind: serde_json::from_value(kind).unwrap() })
    }

    #[test]
    fn asking_for_a_test_is_no_feedback() {
        let turn = |reason: &str| {
            let because = "every check was green before and is green still";
            said(
                json!({ "type": "turn_started", "task": "a", "session": "s", "turn": 2, "reason": reason, "because": because }),
            )
        };
        assert!(turn("test").unwrap().starts_with("turn 2: asked for a test"));
        assert!(turn("feedback").unwrap().starts_with("turn 2 (feedback): every check"));
    }

    #[test]
    fn how_an_agent_stopped_is_told_once() {
        let entry = |kind: &str, ending: &str, more: Value| {
            let mut entry = json!({ "type": kind, "task": "a", "session": "s", "ending": { "kind": ending } });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            said(entry)
        };
        let stopped = |ending: &str| Some(format!("agent stopped: {ending}, 1 file changed since the base"));
        assert_eq!(entry("agent_stopped", "finished", json!({ "files": 1 })), stopped("finished"));
        assert_eq!(entry("agent_stopped", "nudged", json!({ "files": 1 })), None);
        let logged_out = entry("attempt_dropped", "auth", json!({ "files": 1, "detail": "401\nlog in" }));
        assert_eq!(logged_out, stopped("auth").map(|line| line + "; 401 log in"));
        // After its agent's own line.
        assert_eq!(entry("attempt_dropped", "cancelled", json!({})), None);
    }
}
