//! VERIFY: what really happened, from commands that the runtime runs itself, and whether a turn ended with the task done.
//!
//! [`Checks`] runs the checks of an attempt, all of them and in order, and reads what each failure looks like.
//! [`Completion`] decides after every turn: [`gates`] first, three-valued and on facts; only where they leave it open, and
//! if it is configured, the self-assessment, the judge and the committee ([`judging`]). [`Progress`] looks at an agent
//! while it works: stuck, looping, or forgetful after its context was shortened. [`commands`] and [`context`] say what
//! command lines do and what a task and its project ask for. Nothing here weighs or averages.

#[cfg(test)]
mod cases;
mod checks;
pub mod commands;
mod completion;
pub mod context;
pub mod gates;
pub mod judging;
pub mod progress;
mod result_files;
mod verdict;

pub use checks::Checks;
pub use completion::{Completion, CompletionParams};
pub use progress::Progress;
