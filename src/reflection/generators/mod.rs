//! Who writes reflections, and the two wrappers that make anybody dependable.
//!
//! The assembled generator reads from the outside in: [`Fallback`] (the heuristic answers if the rest fails), [`Limited`], and the
//! generator itself: [`AskedGenerator`], the heuristic, or a program's own.

mod asked;
mod fallback;
mod limited;

pub use asked::AskedGenerator;
pub use fallback::Fallback;
pub use limited::Limited;
