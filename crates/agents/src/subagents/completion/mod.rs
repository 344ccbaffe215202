//! A language model as an agent.
//!
//! [`CompletionAgent`] puts the attempt's prompt and the files it names (`context`) into one question, reads whole files out
//! of the answer ([`read_answer`](crate::prompt::read_answer)), and writes them (`apply`) if every one of them may be
//! written: inside the workspace, without following links, and not protected.

mod agent;
mod apply;
mod context;

pub use agent::{CompletionAgent, CompletionAgentParams};
