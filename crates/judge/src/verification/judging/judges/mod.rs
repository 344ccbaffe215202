//! The judges: whoever answers questions, and the agent that did the work itself.
//!
//! [`Instructed`] adds the project's own instructions to what a judge is asked.

mod asked;
mod author;
mod instructed;
#[cfg(test)]
pub(super) mod test_question;

pub use asked::AskedJudge;
pub use author::Authors;
pub use instructed::Instructed;
