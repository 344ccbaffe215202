//! Rules that make a lesson of a failure without a model: always an answer, and only from evidence.
//!
//! `class` decides from signature, check and ending what kind of failure it is, never from a bare word in the output.
//! `words` tells what happened, `history` what the earlier attempts say about it, `advice` what to do for this class
//! of failure with this tool. `draft` puts them together and says how sure it is.

mod advice;
mod class;
mod contrast;
mod draft;
mod history;
#[cfg(test)]
mod table;
mod words;

pub use class::lacks_something;
pub use draft::Heuristic;
