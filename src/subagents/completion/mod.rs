//! A language model as an agent.

mod agent;

pub use agent::{CompletionAgent, CompletionAgentParams};
