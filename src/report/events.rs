//! Events as text.

use crate::domain::CheckStatus;
use crate::domain::Event;
use crate::domain::EventKind;
use crate::domain::HealOutcome;
use crate::domain::Origin;
use crate::domain::SubtaskId;
use crate::domain::TurnReason;
use crate::domain::gates_in_words;

/// The event as one line for people; none for what only a live display shows.
#[must_use]
pub fn line(event: &Event) -> Option<String> {
    let text = match &event.kind {
        EventKind::RunStarted { tasks, jobs } => format!("{tasks} open, {jobs} at a time"),
        EventKind::Warning { message } => format!("warning: {message}"),
        EventKind::TaskStarted { title, max_attempts } => {
            format!("{title} (up to {})", plural(*max_attempts as usize, "attempt"))
        }
        EventKind::Routed { agents, because } => format!("goes to {}, because {because}", agents.join(", then ")),
        EventKind::Decomposed { parts } if parts.is_empty() => "is worked on as a whole, as was proposed".to_owned(),
        EventKind::Decomposed { parts } => first_words(&format!("in {} parts: {}", parts.len(), parts.join("; "))),
        EventKind::AttemptStarted { subtask, attempt, agent, injected } => {
            let part = part(event, subtask);
            match injected {
                0 => format!("attempt {attempt}{part}: {agent} works"),
                n => format!("attempt {attempt}{part}: {agent} works, with {} in its prompt", plural(*n, "reflection")),
            }
        }
        EventKind::AgentEnded { ending, files, detail } => {
            let detail = detail.as_ref().map(|d| format!("; {}", first_words(d))).unwrap_or_default();
            format!("agent stopped: {}, {} changed since the base{detail}", ending.as_str(), plural(*files, "file"))
        }
        EventKind::Checked { name, status } => match status {
            CheckStatus::Passed => format!("check `{name}` passed"),
            CheckStatus::Failed => format!("check `{name}` failed"),
            CheckStatus::NotRun { because } => format!("check `{name}` was not run: {because}"),
        },
        EventKind::TurnStarted { turn, reason: TurnReason::Test, .. } => {
            format!("turn {turn}: asked for a test that fails without the work, by what it asserts")
        }
        EventKind::TurnStarted { turn, reason, because } => {
            format!("turn {turn} ({}): {}", reason.as_str(), first_words(because))
        }
        EventKind::PersonNeeded { actions } => format!("waits for you: {}", actions.join("; ")),
        EventKind::AttemptJudged { subtask, attempt, verdict, because } => {
            format!("attempt {attempt}{}: {}, {}", part(event, subtask), verdict.as_str(), gates_in_words(because))
        }
        EventKind::Reflected { origin, analysis, .. } => {
            format!("reflection ({}): {}", origin_word(origin), first_words(analysis))
        }
        EventKind::Waiting { until, because } => {
            let until = until.round(jiff::Unit::Second).unwrap_or(*until);
            format!("waiting until {until}: {because}")
        }
        EventKind::Tampered { what } => format!("the agent changed your repository: {}", what.join(", ")),
        EventKind::RepositoryChanged { what } => format!("needs you: your repository: {}", what.join("; ")),
        EventKind::Merged { commit, flaky } => {
            let short: String = commit.chars().take(12).collect();
            let flaky = match flaky.as_slice() {
                [] => String::new(),
                names => format!("; flaky, failed once and passed on the same files: {}", names.join(", ")),
            };
            format!("merged as {short}{flaky}")
        }
        EventKind::Healed { symptom, spell, outcome } => match outcome {
            HealOutcome::Healed { did } => {
                let did = if did.is_empty() { String::new() } else { format!(" ({})", did.join(", ")) };
                format!("workspace healed: {}; {}{did}, and it goes on", symptom.as_str(), spell.as_str())
            }
            HealOutcome::NotHealed { because } => {
                format!("workspace not healed: {}; {}: {}", symptom.as_str(), spell.as_str(), first_words(because))
            }
        },
        EventKind::BudgetReached { because } => because.clone(),
        EventKind::NotMerged { because } => format!("not merged: {because}"),
        EventKind::TaskEnded { verdict, note, .. } => {
            let verdict = verdict.map_or("not judged", |v| v.as_str());
            note.as_ref().map_or_else(|| verdict.to_owned(), |note| format!("{verdict}: {note}"))
        }
        EventKind::Doing { .. } | EventKind::AgentActed { .. } | EventKind::RunEnded => return None,
    };
    Some(match &event.task {
        Some(task) => format!("[{task}] {text}"),
        None => text,
    })
}

/// Which part an attempt is of, where its task has parts.
fn part(event: &Event, subtask: &SubtaskId) -> String {
    let whole = event.task.as_ref().is_some_and(|task| task.as_str() == subtask.as_str());
    if whole { String::new() } else { format!(" of part `{subtask}`") }
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
    use crate::domain::Timestamp;

    #[test]
    fn asking_for_a_test_is_no_feedback() {
        let because = || "every check was green before and is green still".to_owned();
        let said = |reason: TurnReason| {
            let kind = EventKind::TurnStarted { turn: 2, reason, because: because() };
            line(&Event { at: Timestamp::UNIX_EPOCH, task: None, kind }).unwrap()
        };
        assert!(said(TurnReason::Test).starts_with("turn 2: asked for a test"), "{}", said(TurnReason::Test));
        assert!(said(TurnReason::Feedback).starts_with("turn 2 (feedback): every check"));
    }
}
