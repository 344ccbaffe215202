//! Domain values as text for people.

mod effect;
mod events;
pub mod night;
mod quoted;
mod risk;
mod run;
mod transcript;
mod verdict;

pub use crate::effect::LessonEffect;
pub use effect::{EffectShown, effect_words};
pub use events::{line, plural};
pub use quoted::quoted;
pub use risk::RiskShown;
pub use run::{run, run_by_part};
pub use transcript::{Detail, step, steps, transcript};
pub use verdict::{compaction, completion, stuck};
