//! REFLECT: what a failure looks like, the lesson it teaches, and the life of that lesson.
//!
//! [`Signatures`] reads a check's output into a signature. A generator makes a draft of a failure context: the
//! [`Heuristic`] by rules, [`AskedGenerator`] by asking a program, an agent or a language model.
//! [`Limited`] puts a time limit around one, and [`Fallback`] lets the heuristic answer when it fails, so that the
//! assembled generator always answers. [`ReflectionServiceLive`] makes a reflection of the draft, stores, recalls and
//! formats it; it starts no process of its own.

mod changes;
mod explained;
mod generators;
mod heuristic;
mod recalled;
mod retention;
mod service;
mod signature;
mod trajectory;

pub use explained::{Decided, ExplainedLesson};
pub use generators::{AskedGenerator, Fallback, Limited};
pub use heuristic::{Heuristic, lacks_something};
pub use service::ReflectionServiceLive;
pub use signature::Signatures;
pub use trajectory::{TrajectoryError, lesson_of_trajectory};

#[cfg(test)]
mod fixtures;
#[cfg(test)]
pub(crate) use fixtures::test_failure;
