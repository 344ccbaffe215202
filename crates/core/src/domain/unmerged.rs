//! What became of a task whose confirmed work could not be merged.

use super::{FailureType, MergeOutcome, Verdict};

/// The attempt whose confirmed work could not be merged, and those after it, which were made on top of what was merged.
///
/// ```
/// # use reflexion_core::domain::{FailureType, MergeOutcome, Unmerged, Verdict};
/// let (files, kept) = (vec!["a.py".to_owned()], "run/a@1".to_owned());
/// let mut unmerged = Unmerged::default();
/// unmerged.merge_ended(1, &MergeOutcome::Conflict { files, kept });
/// for attempt in [2, 3] {
///     unmerged.judged(attempt, (Verdict::FalseDone, Some(FailureType::EmptyChange)), "nothing was changed");
/// }
/// assert_eq!(
///     unmerged.words().as_deref(),
///     Some(
///         "attempt 1 was confirmed and conflicts in a.py with what was merged before it (kept on `run/a@1`); attempts 2 and 3, on top of what \
///          was merged, changed nothing"
///     )
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unmerged {
    /// What each attempt came to, behind its number; the first is the one that could not be merged.
    came: Vec<(u32, String)>,
    kept: Option<String>,
}

impl Unmerged {
    /// How merging this attempt ended. What could be merged leaves nothing to say.
    pub fn merge_ended(&mut self, attempt: u32, outcome: &MergeOutcome) {
        let (wrong, kept) = match outcome {
            MergeOutcome::Merged { .. } | MergeOutcome::LeftToPerson { .. } => return *self = Self::default(),
            MergeOutcome::Conflict { files, kept } => {
                (format!("conflicts{} with what was merged before it", places(files)), kept)
            }
            MergeOutcome::Red { because, kept } => {
                (format!("is red on top of what was merged before: {because}"), kept)
            }
        };
        self.came.push((attempt, format!("was confirmed and {wrong} (kept on `{kept}`)")));
        self.kept = Some(kept.clone());
    }

    /// How an attempt was judged. Before anything could not be merged, and of one that may be merged yet, that says nothing here.
    pub fn judged(&mut self, attempt: u32, (verdict, failure): (Verdict, Option<FailureType>), because: &str) {
        if self.came.is_empty() {
            return;
        }
        let came = match verdict {
            Verdict::Confirmed => return,
            _ if failure == Some(FailureType::EmptyChange) => "changed nothing".to_owned(),
            Verdict::Unverifiable => format!("could not be verified: {because}"),
            Verdict::Failed | Verdict::FalseDone => format!("failed: {because}"),
        };
        self.came.push((attempt, came));
    }

    /// All of it in words; none: nothing was left unmerged.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let ((first, came), later) = self.came.split_first()?;
        let mut said = vec![format!("attempt {first} {came}")];
        for (at, alike) in later.chunk_by(|(_, one), (_, other)| one == other).enumerate() {
            let numbers: Vec<String> = alike.iter().map(|(attempt, _)| attempt.to_string()).collect();
            let attempts = match numbers.as_slice() {
                [one] => format!("attempt {one}"),
                [first @ .., last] => format!("attempts {} and {last}", first.join(", ")),
                [] => continue,
            };
            let on_top = if at == 0 { ", on top of what was merged," } else { "" };
            said.push(format!("{attempts}{on_top} {}", alike[0].1));
        }
        Some(said.join("; "))
    }

    /// The branch that keeps the newest of the work that could not be merged.
    #[must_use]
    pub fn kept(&self) -> Option<&str> {
        self.kept.as_deref()
    }
}

/// ` in a.py, b.py`; nothing where no file is named.
fn places(files: &[String]) -> String {
    const NAMED: usize = 3;
    let named = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!(" in {named}"),
        1 => format!(" in {named} and 1 other file"),
        more => format!(" in {named} and {more} other files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_later_attempts_is_said_once_for_those_alike() {
        let refuted = (Verdict::FalseDone, Some(FailureType::CheckFailed));
        let mut unmerged = Unmerged::default();
        unmerged.judged(1, refuted, "red");
        assert_eq!((unmerged.words(), unmerged.kept()), (None, None));
        unmerged
            .merge_ended(2, &MergeOutcome::Red { because: "check `test` is red".to_owned(), kept: "k@2".to_owned() });
        unmerged.judged(3, (Verdict::FalseDone, Some(FailureType::EmptyChange)), "nothing was changed");
        unmerged.judged(4, refuted, "check `test` is red");
        unmerged.judged(5, (Verdict::Confirmed, None), "green");
        let files = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        unmerged.merge_ended(5, &MergeOutcome::Conflict { files, kept: "k@5".to_owned() });
        assert_eq!(
            unmerged.words().unwrap(),
            "attempt 2 was confirmed and is red on top of what was merged before: check `test` is red (kept on `k@2`); \
             attempt 3, on top of what was merged, changed nothing; attempt 4 failed: check `test` is red; \
             attempt 5 was confirmed and conflicts in a, b, c and 1 other file with what was merged before it (kept on `k@5`)"
        );
        assert_eq!(unmerged.kept(), Some("k@5"));
        unmerged.merge_ended(6, &MergeOutcome::Merged { commit: "c".to_owned(), flaky: Vec::new(), was_there: false });
        assert_eq!(unmerged, Unmerged::default());
    }
}
