//! Marks: how the runtime knows its own words again in a conversation.
//!
//! A mark is a whole first line that nobody types. Words that a person might use ("you are a judge") are no mark:
//! whoever quoted them would switch the verification off.

/// The first line of every prompt for a conversation that only judges, reviews, assesses or reflects.
pub const INTERNAL_MARK: &str = "<!-- reflexion:internal -->";
/// The first line of everything the runtime says to an agent at work: feedback and nudges.
pub const FEEDBACK_MARK: &str = "<!-- reflexion:feedback -->";

/// A prompt with the mark of the runtime's own conversations.
#[must_use]
pub fn internal(prompt: &str) -> String {
    format!("{INTERNAL_MARK}\n{prompt}")
}

/// Whether a conversation that begins with these words is one of the runtime's own, so that nobody judges the judge.
///
/// ```
/// # use reflexion_core::domain::{internal, is_internal};
/// assert!(is_internal(&internal("Is the task done?")));
/// assert!(!is_internal("You are a judge. Why does our log say <!-- reflexion:internal -->?"));
/// ```
#[must_use]
pub fn is_internal(first_asked: &str) -> bool {
    begins(first_asked, INTERNAL_MARK)
}

/// Whether the runtime said this to an agent at work, and no person.
#[must_use]
pub fn is_feedback(asked: &str) -> bool {
    begins(asked, FEEDBACK_MARK)
}

fn begins(text: &str, mark: &str) -> bool {
    text.trim_start().lines().next().is_some_and(|line| line.trim_end() == mark)
}
