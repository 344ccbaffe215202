//! Which lessons may be shown, and to whom.
//!
//! [`write_gate`] looks at a new reflection: what weakens a check or reaches into its reader is set apart, what cites nothing stays with its task. What
//! happens to a lesson later is a line of `memory/lessons.jsonl` ([`LessonEvent`](crate::domain::LessonEvent)); [`States`] is the fold over these lines, and says which lines the
//! rules would write next ([`States::proposals`]). Nothing here reads or writes a file, and nothing decides by a model.
//!
//! Gates, states and limits are those of a survey of what agents' memories became in weeks of use: most of what they held was repetition of what
//! had been injected, and what had once been accepted was not to be rewritten.

mod words;
mod orders;
mod advice;
mod shape;
mod echo;
mod gate;
mod states;
mod rules;
mod due;
#[cfg(test)]
pub(crate) mod testing;

pub use due::{due, states};
pub use echo::Shingles;
pub use gate::{Evidence, Gate, kept_from_prompts, write_gate};
pub use orders::{Order, contradict, orders};
pub use rules::Measured;
pub use states::{Standing, State, States};
pub use words::Sense;
