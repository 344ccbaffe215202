//! What a task and its project ask for.
//!
//! [`task_type`] reads the task's own words, [`RepositorySignals`] the project's manifests, and [`requirements`] puts both
//! together with what the settings declare. Nothing here reads what an agent said.

mod manifests;
mod requirements;
mod signals;
mod task_type;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

pub(in crate::verification) use requirements::asks_for_no_tests;
pub use requirements::{Requirements, requirements};
pub use signals::RepositorySignals;
pub use task_type::task_type;
