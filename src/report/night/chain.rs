//! What became of a task attempt by attempt: what was wrong, what was learned of it, and how the next one went.

use super::block::{LESSON, Learned, Link, Mark, ticked};
use super::said::without_lines;
use super::value::{Fate, Lesson, Merge, Night, NightAttempt, NightTask};
use super::words::{duration, foreign, usage};
use crate::domain::{MergeOutcome, ReflectionId, Verdict};

/// How much is shown of why an attempt ended as it did, in bytes.
const WHY: usize = 300;
/// How many attempts of a task are shown one by one, the newest.
const LINKS: usize = 12;

/// The attempts of a task; none where there was one and nothing was learned: then the task's own lines say everything.
pub(super) fn chain(night: &Night, task: &NightTask) -> Vec<Link> {
    let attempts = || task.attempts.iter().map(|place| &night.attempts[*place]);
    let learned = attempts().any(|attempt| attempt.reflection.is_some());
    let unmerged = task.merges.iter().any(|merge| merge.reflection.is_some());
    if task.attempts.len() < 2 && !learned && !unmerged {
        return Vec::new();
    }
    let mut links = Vec::new();
    for attempt in attempts() {
        links.push(link(night, task, attempt));
        let merges = task.merges.iter().filter(|merge| merge.attempt == attempt.attempt);
        links.extend(merges.filter(|_| attempt.fate == Fate::Judged).filter_map(|merge| unmerged_link(night, merge)));
    }
    let earlier = links.len().saturating_sub(LINKS);
    if earlier > 0 {
        let words = ticked(&format!("{earlier} earlier; `reflexion report --json` has them all"));
        links.splice(..earlier, [Link { mark: Mark::Plain, words, lesson: None }]);
    }
    links
}

fn link(night: &Night, task: &NightTask, attempt: &NightAttempt) -> Link {
    let (mark, came) = came(task, attempt);
    let of = if attempt.subtask.as_str() == task.id.as_str() {
        String::new()
    } else {
        format!(" of `{}`", foreign(attempt.subtask.as_str(), 80))
    };
    let spent = usage(&attempt.usage).map(|spent| format!(", {spent}")).unwrap_or_default();
    let by = format!("{}, {}{spent}", foreign(&attempt.agent, 60), duration(attempt.agent_ms));
    let words = ticked(&format!("attempt {}{of} ({by}): {came}", attempt.attempt));
    Link { mark, words, lesson: attempt.reflection.as_ref().and_then(|id| learned(night, id)) }
}

/// How an attempt ended, in one line.
fn came(task: &NightTask, attempt: &NightAttempt) -> (Mark, String) {
    let why = match attempt.verdict {
        Some(Verdict::Confirmed) => foreign(&without_lines(task, &attempt.because), WHY),
        _ => foreign(&attempt.because, WHY),
    };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    match (attempt.verdict, attempt.fate) {
        (Some(Verdict::Confirmed), _) => (Mark::Good, format!("confirmed{why}")),
        (Some(Verdict::FalseDone), _) => (Mark::Bad, format!("stopped by itself, and it was not done{why}")),
        (Some(Verdict::Failed), _) => (Mark::Bad, format!("failed{why}")),
        (Some(Verdict::Unverifiable), _) => (Mark::Review, format!("nothing could verify it{why}")),
        (None, Fate::Working) => (Mark::Open, "still working".to_owned()),
        (None, Fate::Cut) => (Mark::Open, "cut off when its run ended".to_owned()),
        (None, Fate::Judged | Fate::Dropped) => {
            let ending = attempt.ending.as_ref().map(|ending| super::used::ending(ending.as_str()));
            (Mark::Open, format!("not judged{}", ending.map(|words| format!(": {words}")).unwrap_or_default()))
        }
    }
}

/// A confirmed attempt that did not merge.
fn unmerged_link(night: &Night, merge: &Merge) -> Option<Link> {
    match &merge.outcome {
        MergeOutcome::Conflict { .. } | MergeOutcome::Red { .. } => {}
        MergeOutcome::Merged { .. } | MergeOutcome::LeftToPerson { .. } => return None,
    }
    let why = foreign(&merge.outcome.failed().unwrap_or_default(), WHY);
    let words = ticked(&format!("not merged: {why}"));
    Some(Link { mark: Mark::Bad, words, lesson: merge.reflection.as_ref().and_then(|id| learned(night, id)) })
}

/// The lesson with this id: in full where its words are told for the first time, else where that is.
fn learned(night: &Night, id: &ReflectionId) -> Option<Learned> {
    let lesson = night.lesson(id)?;
    if let Some(first) = lesson.same_as.as_ref().and_then(|first| night.lesson(first)).filter(|one| one.written) {
        let words = ticked(&format!("the lesson of `{}` again", first.origin()));
        return Some(Learned { words, in_full: None });
    }
    let words = ticked(&foreign(lesson.words()?, LESSON));
    Some(Learned { words, in_full: Some(id.clone()) })
}

impl Lesson {
    /// What it says to do, or what went wrong where it says no more; none if the memory no longer has it.
    pub(super) fn words(&self) -> Option<&str> {
        self.suggestion.as_deref().filter(|words| !words.is_empty()).or(self.analysis.as_deref())
    }

    /// The attempt that it is about, or its id where that is not known.
    pub(super) fn origin(&self) -> String {
        match (&self.task, self.attempt) {
            (Some(task), Some(attempt)) => format!("{}#{attempt}", foreign(task, 64)),
            _ => foreign(self.id.as_str(), 64),
        }
    }
}
