//! What a coding agent's program prints, and the transcript that it writes itself.
//!
//! What differs between agents is data: `config/agents/<name>.json` ([`Description`]) says how a program is started and how
//! its lines become steps, usage and an ending. What is the same is here: lines in bounded memory (`lines`), each read once
//! and only where a rule looks (`doc`, `path`, `rule`), folded into what is known of the run (`fold`, `emit`, `later`), and
//! concluded when the program is gone (`failure`, `resets`, `conclusion`).

mod at;
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

pub use conclusion::Conclusion;
pub use description::{AGENTS, Arguments, Description, Login, RefusesRoot, Version, describe};
pub use fold::{Fold, FoldParams};
pub(crate) use later::exit_in_tail;
pub use lines::{Line, Lines};
pub use prices::with_estimate;
pub use replay::Recording;
pub(crate) use replay::{Likeness, Replay, recorders};
