//! The judges: a program, an agent, a language model; and what stands around each of them.
//!
//! Outermost first: [`Instructed`] adds the project's own instructions, [`Cached`] answers the same question for a
//! minute, [`Deadline`] ends what takes too long.

mod agent;
mod author;
mod cached;
mod command;
mod deadline;
mod fast;
mod instructed;
mod model;
#[cfg(test)]
pub(super) mod test_question;

pub use agent::AgentJudge;
pub use author::Authors;
pub use cached::Cached;
pub use command::CommandJudge;
pub use deadline::Deadline;
pub use fast::{FastModel, FastModelParams};
pub use instructed::Instructed;
pub use model::ModelJudge;
