//! MEASURE: whether lessons in the prompt of a retry help.
//!
//! Before each retry that could get lessons a coin decides whether it does; its probability is written down before the attempt starts. What
//! this module makes of those coins and of how the attempts ended are pure functions of the record: the same trials give the same bytes.
//!
//! | question | answer |
//! |---|---|
//! | do lessons help at all? | [`Effect::of`]: the lift with its interval, and a verdict that may be looked at every morning |
//! | which lesson helps? | [`lesson_effects`]: each lesson against the attempts without lessons |
//! | which of two ways did better on the same tasks? | [`paired`] |
//!
//! Own and foreign lessons have a coin each, hence a list of trials and an [`Effect`] each.
//!
//! # Bad input
//!
//! Nothing here fails. A trial whose logged probability is outside [`PROBABILITIES`] (or no number) was not drawn by a coin that could have
//! fallen either way: it is left out of everything and counted in [`Effect::ignored`]. Lessons named by a held-out trial were not shown and
//! are not counted; a lesson that a trial names twice counts once; a trial with more than [`MAX_LESSONS`] lessons says nothing about any of
//! them. Without trials in one of the arms there is no lift, and the verdict is undecided.

mod adjusted;
mod beta;
mod coin;
mod evidence;
mod interval;
mod lessons;
mod paired;
mod record;
mod report;
mod strata;
mod trial;

#[cfg(test)]
mod simulation;

pub use coin::{Probabilities, drawn};
pub use interval::Interval;
pub use lessons::{LessonEffect, lesson_effects};
pub use paired::{Paired, paired};
pub use record::{Whose, trials};
pub use report::{Arm, Effect, Method, Verdict};
pub use trial::{MAX_LESSONS, PROBABILITIES, Trial};
