//! Any agent that speaks the Agent Client Protocol.

mod agent;

pub use agent::{AcpAgent, AcpAgentParams};
