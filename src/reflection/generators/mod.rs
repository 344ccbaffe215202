//! Who writes reflections: any program, a configured agent, and the two wrappers that make either dependable.
//!
//! The assembled generator reads from the outside in: [`Fallback`] (the heuristic answers if the rest fails), the
//! policies of [`with_policies`] (ordinary tower layers, among them the time limit), and the generator itself.

mod agent;
mod command;
mod fallback;
mod llm;
mod policies;

pub use agent::AgentGenerator;
pub use command::CommandGenerator;
pub use fallback::Fallback;
pub use llm::LlmGenerator;
pub use policies::with_policies;
