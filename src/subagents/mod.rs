//! ATTEMPT: agents behind the port [`Subagent`](crate::services::Subagent).
//!
//! [`CommandAgent`] runs any program. [`Repair`] is the embedded default: a search-based repair agent without a model,
//! so that the whole loop can be seen to work (and, with `--no-reflexion`, to fail to learn) without an account.
//! [`with_deadline`] is the policy around each of them.

mod command;
mod deadline;
mod repair;

pub use command::CommandAgent;
pub use command::CommandAgentParams;
pub use deadline::with_deadline;
pub use repair::Repair;
