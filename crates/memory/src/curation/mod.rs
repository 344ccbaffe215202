//! Which lessons may be shown, and to whom.
//!
//! [`write_gate`] looks at a new reflection: what reaches into its reader is set apart, what cites nothing or is not plainly fine for others stays with its task. What
//! happens to a lesson later is a line of `memory/lessons.jsonl` ([`LessonEvent`](crate::domain::LessonEvent)); [`States`] is the fold over these lines, and says which lines the
//! rules would write next ([`States::proposals`]). Nothing here reads or writes a file, and nothing decides by a model.
//!
//! Gates, states and limits are those of a survey of what agents' memories became in weeks of use: most of what they held was repetition of what
//! had been injected, and what had once been accepted was not to be rewritten.

mod words;
mod orders;
mod sentences;
mod shape;
mod speaks;
mod for_others;
mod echo;
mod gate;
mod states;
mod steps;
mod rules;
mod due;
mod lineage;
mod retention;
#[cfg(test)]
pub(crate) mod testing;

pub use due::{due, states};
pub use echo::Shingles;
pub use gate::{Evidence, Gate, kept_from_prompts, plain_name, same_words, stays_home, write_gate};
pub use lineage::follow_files;
pub use orders::{Order, contradict, orders};
pub use retention::{MOST_EXPIRED, Worth, days_before, expired, known, worth_keeping};
pub use rules::Measured;
pub use states::{Standing, State, States};
