//! ATTEMPT: agents behind the port [`Subagent`](crate::services::Subagent).
//!
//! [`CliAgent`] drives a coding agent's program by its description, [`AcpAgent`] one that speaks the Agent Client Protocol,
//! [`CommandAgent`] any program; [`CompletionAgent`] asks a model. The embedded agent is a crate of its own, `repair`.

mod acp;
mod cli;
mod command;
mod completion;
mod request;

pub use crate::streams::program::{AGENTS, Description, Login, Version, describe, with_estimate};
pub use acp::{AcpAgent, AcpAgentParams};
pub use cli::{CliAgent, CliAgentParams};
pub use command::{CommandAgent, CommandAgentParams};
pub use completion::{CompletionAgent, CompletionAgentParams};
