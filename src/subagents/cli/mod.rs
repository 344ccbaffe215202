//! Coding agents' command-line programs.

mod agent;

pub use agent::{CliAgent, CliAgentParams};
