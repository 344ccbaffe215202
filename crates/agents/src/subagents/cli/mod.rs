//! Coding agents' command-line programs.
//!
//! What differs between them is data: `config/agents/<name>.json` ([`Description`]) says how a program is started and
//! how the lines it prints become steps, usage and an ending. What is the same is here: lines in bounded memory
//! (`lines`), each read once and only where a rule looks (`doc`, `path`, `rule`), folded into what is known of the run
//! (`fold`, `emit`, `later`), and concluded when the program is gone (`failure`, `resets`, `conclusion`).

mod agent;
mod arguments;
mod conclusion;
mod description;
mod doc;
mod emit;
mod failure;
mod fold;
mod later;
mod lines;
mod path;
mod prices;
mod replay;
mod resets;
mod rule;

#[cfg(test)]
mod tests;

pub use agent::{CliAgent, CliAgentParams};
pub use description::{AGENTS, Description, Login, Version, describe};
pub(super) use later::exit_in_tail;
pub(super) use lines::{Line, Lines};
pub use prices::with_estimate;
pub use replay::Recording;
pub(super) use replay::{Likeness, Replay, recorders};
