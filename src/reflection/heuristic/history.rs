//! What the earlier attempts say about this failure.

use crate::domain::{FailureContext, Reflection};

/// How this failure compares with the earlier ones, which are known by their fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum History {
    /// There is nothing to compare with.
    First,
    /// The attempts that failed alike, oldest first; the last of them directly before this one.
    Repeated(Vec<u32>),
    /// This failure was there before, and another one in between.
    Returned(u32),
    /// The last attempt failed differently.
    MovedOn(u32),
}

pub(super) fn history(failure: &FailureContext) -> History {
    let now = &failure.signature.fingerprint;
    // A record of this very attempt would compare it with itself.
    let mut earlier = failure
        .previous_reflections
        .iter()
        .filter(|earlier| earlier.signature.is_some() && earlier.attempt_number != failure.attempt_number)
        .peekable();
    let alike = |earlier: &&Reflection| earlier.signature.as_ref() == Some(now);
    let Some(last) = earlier.peek().copied().filter(|_| !now.is_empty()) else {
        return History::First;
    };
    if alike(&last) {
        let mut attempts: Vec<u32> = earlier.take_while(alike).map(|earlier| earlier.attempt_number).collect();
        attempts.reverse();
        attempts.dedup();
        return History::Repeated(attempts);
    }
    match earlier.find(alike) {
        Some(before) => History::Returned(before.attempt_number),
        None => History::MovedOn(last.attempt_number),
    }
}

impl History {
    /// As a sentence; empty if there is nothing to compare with.
    pub(super) fn sentence(&self, attempt: u32) -> String {
        match self {
            Self::First => String::new(),
            Self::Repeated(attempts) => {
                format!(
                    "Attempt {attempt} failed in the same way as {}: change the approach.",
                    attempts_in_words(attempts)
                )
            }
            Self::Returned(before) => format!(
                "Attempt {attempt} is back at the failure of attempt {before}: what was changed in between undid its own repair."
            ),
            Self::MovedOn(last) => {
                format!("Attempt {last} failed differently, so its failure is behind us; this one is another.")
            }
        }
    }
}

fn attempts_in_words(attempts: &[u32]) -> String {
    match attempts {
        [one] => format!("attempt {one}"),
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(u32::to_string).collect();
            format!("attempts {} and {last}", rest.join(", "))
        }
        [] => String::new(),
    }
}
