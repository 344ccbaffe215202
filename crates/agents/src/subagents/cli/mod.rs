//! Coding agents' command-line programs.
//!
//! What differs between them is data ([`Description`](crate::streams::program::Description)): `arguments` makes the command
//! line of it, and what the program prints is read by `streams::program`.

mod agent;
mod arguments;

pub use agent::{CliAgent, CliAgentParams};
