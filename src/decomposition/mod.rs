//! In which parts a task is worked on, where somebody is asked: a configured agent, read-only, or a language model.
//!
//! The explicit structure of a description needs nobody; it is read in `domain::decompose`. Whoever is asked proposes words
//! for agents and nothing else, and a proposal that cannot be had costs nothing but itself: the task stays whole.

mod asked;
mod nobody;

pub use asked::AskedDecomposer;
pub use nobody::Nobody;
