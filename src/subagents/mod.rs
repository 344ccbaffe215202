//! ATTEMPT: agents behind the port [`Subagent`](crate::services::Subagent).
//!
//! [`CommandAgent`] runs any program. [`Repair`] is the embedded default: a search-based repair agent without a model,
//! so that the whole loop can be seen to work (and, with `--no-reflexion`, to fail to learn) without an account.

mod acp;
mod cli;
mod command;
mod completion;
pub mod reading;
mod repair;
mod request;

pub use acp::{AcpAgent, AcpAgentParams};
pub use cli::{AGENTS, CliAgent, CliAgentParams, Description, Login, Version, describe, with_estimate};
pub use command::{CommandAgent, CommandAgentParams};
pub use completion::{CompletionAgent, CompletionAgentParams};
pub use repair::Repair;
