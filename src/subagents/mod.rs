//! ATTEMPT: agents behind the port [`Subagent`](crate::services::Subagent).

mod command;

pub use command::CommandAgent;
pub use command::CommandAgentParams;
