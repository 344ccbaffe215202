//! What stands at the head of a report.

use super::block::{Line, named, text};
use super::replay::millis;
use super::value::{Gap, Night, NightState};
use super::words::who_works;
use super::words::{Times, duration, foreign, plural};
use jiff::SignedDuration;

/// A shorter time without a process is how long it takes to begin again.
const AWAY: SignedDuration = SignedDuration::from_mins(1);

/// The times without a process that are worth a word.
pub(super) fn away(night: &Night) -> impl Iterator<Item = &Gap> {
    night.gaps.iter().filter(|gap| gap.end.duration_since(gap.start) >= AWAY)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What a reader must know before believing the rest.
pub(super) fn notes(night: &Night, times: &Times) -> Vec<Line> {
    let mut notes = Vec::new();
    let last = night.last_sign_at.map(|at| times.full(at)).unwrap_or_default();
    match night.state {
        NightState::Running => notes.push(text(format!("It is not over: this is what stood there at {last}."))),
        NightState::Dead if night.last_sign_at.is_some() => notes.push(text(format!(
            "{}, and it never said that it ended: it was killed, or the machine went down. Its last sign is of {last}.",
            capital(&who_works(night))
        ))),
        NightState::Dead => notes.push(text("Its journal holds nothing that can be read.")),
        _ => {}
    }
    let landing: Vec<&str> = night.tasks.iter().filter(|t| t.landing).map(|t| t.id.as_str()).collect();
    if !landing.is_empty() && night.state != NightState::Running {
        notes.push(text(format!(
            "A commit or a merge of {} was begun, and nothing says whether it was made; the next run looks.",
            named(&landing)
        )));
    }
    for gap in away(night) {
        let away = duration(millis(gap.end.duration_since(gap.start)));
        notes.push(text(format!(
            "For {away}, {} to {}, no process worked on it; then it was gone on with.",
            times.clock(gap.start),
            times.clock(gap.end)
        )));
    }
    // What is merged is in one branch with that.
    if let Some((head, base)) = night.head.as_ref().zip(night.plan.base.as_ref()).filter(|_| !night.brought_in) {
        let short = |commit: &str| foreign(commit, 12);
        notes.push(text(format!(
            "It went on from {}, when your HEAD was at {}: what you alone had committed in between is not in it.",
            short(base),
            short(head)
        )));
    }
    if night.started_at.is_none() && night.last_sign_at.is_some() {
        notes.push(text("The beginning of its journal is missing: tasks that were never started are not counted."));
    }
    if night.clock_set_back_ms > 0 {
        let back = duration(night.clock_set_back_ms);
        notes.push(text(format!(
            "The clock was set back by {back} while it went on; later times are shown as if it had not been."
        )));
    }
    if night.unreadable > 0 {
        let lines = plural(night.unreadable, "line");
        let torn = if night.torn { " (the last one was not written to its end)" } else { "" };
        let first = night.problems.first().map(|p| format!("; line {}: {}", p.line, foreign(&p.message, 200)));
        notes.push(text(format!(
            "{lines} of the journal could not be read{torn}{}. What they said is missing here.",
            first.unwrap_or_default()
        )));
    }
    notes
}
