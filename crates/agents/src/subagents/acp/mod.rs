//! Any agent that speaks the Agent Client Protocol (version 1) on stdin and stdout.
//!
//! The agent is our own child process (`run`); the crate `agent-client-protocol` does the JSON-RPC on its lines (`wire`).
//! A `conversation` opens a session, chooses its model and mode, sends the prompt and waits; meanwhile a listener
//! (`streams::acp`) hears what the agent says by itself. At the end `report` says why it ended.
//!
//! What was seen of real agents: opencode's reply has the last step's tokens only; gemini-cli cannot write new files if
//! it is offered a file system; codex-acp ends a turn normally after errors of its model's service and says so beside
//! the reply; claude-agent-acp tries again for three minutes on a refused key, in silence, and may put notices of its own
//! behind the model's last message; opencode answers `end_turn` right after a refused permission; Zed's codex-acp starts read-only and does not
//! end when its stdin is closed.

mod agent;
#[cfg(feature = "acp")]
mod run;
#[cfg(feature = "acp")]
mod conversation;
#[cfg(feature = "acp")]
mod session;
#[cfg(feature = "acp")]
mod report;
#[cfg(feature = "acp")]
mod wire;

pub use agent::{AcpAgent, AcpAgentParams};

#[cfg(all(test, feature = "acp"))]
mod player;
#[cfg(all(test, feature = "acp"))]
mod recordings;
#[cfg(all(test, feature = "acp"))]
mod tests;
