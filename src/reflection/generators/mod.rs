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

use crate::domain::{Draft, Origin};
use crate::prompt::Reply;

/// An answer as a draft; what it has lost is said.
fn drafted(reply: Reply, origin: Origin) -> Draft {
    if reply.items_dropped > 0 {
        tracing::warn!("{} of the action items of a lesson are no texts, and left out", reply.items_dropped);
    }
    reply.by(origin)
}
