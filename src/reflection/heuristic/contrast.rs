//! What made the difference between an attempt that failed and the next one, which passed.

use super::advice::{category, worked};
use super::words::Facts;
use crate::domain::{Category, ChangedLine, PassedAttempt, changed_lines};
use crate::prompt::one_line;
use crate::reflection::changes;

/// What is said of two attempts.
pub(super) struct Contrast {
    pub category: Category,
    pub analysis: String,
    pub suggestion: String,
    pub items: Vec<String>,
}

/// The lesson of a failed attempt, when it is known what passes; none where the two changes are the same, so that something else made the
/// difference.
pub(super) fn contrast(facts: &Facts<'_>, passed: &PassedAttempt) -> Option<Contrast> {
    let failure = facts.failure;
    let old = changes::beyond(changed_lines(&failure.diff), &passed.diff);
    // Lines that no check notices made no difference.
    let new = changes::beyond(passed.noticed().into_iter(), &failure.diff);
    // A line without which a check fails says the most, and what is written anew more than what is gone.
    let carried = new.iter().find(|line| passed.carries(line));
    let first = carried.or(new.iter().find(|line| line.is_added)).or(new.first()).or(old.first())?;
    let (n, m) = (failure.attempt_number, passed.attempt);
    let in_short = |lines: &[ChangedLine<'_>]| changes::in_short(lines.iter().copied());
    let mut sentences = vec![facts.cause()];
    sentences.extend(in_short(&new).map(|new| format!("Only attempt {m}, which passed, has: {new}")));
    sentences.extend(in_short(&old).map(|old| format!("Only attempt {n} had: {old}")));
    sentences.retain(|sentence| !sentence.is_empty());
    let file = one_line(first.file);
    let came = failure.files_changed.iter().any(|changed| changed == first.file);
    let missed = if came { String::new() } else { format!(" Attempt {n} left {file} as it was.") };
    let suggestion = format!("Look at {file}:{} first: there the change that passed differs.{missed}", first.number);
    Some(Contrast {
        category: category(facts),
        analysis: sentences.join(" "),
        suggestion,
        items: worked(facts).into_iter().collect(),
    })
}
