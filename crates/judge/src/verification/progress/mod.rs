//! An agent while it works: stuck, looping, or forgetful after its context was shortened.
//!
//! Facts come first - what runs, what came back, how long ago - and only where they are silent is the judge asked. What
//! an agent *says* never makes it stuck. [`not_judged`] says which conversations nobody judges; when one may be judged
//! is [`Guard`](crate::domain::Guard)'s matter.

#[cfg(test)]
mod cases;
mod compaction;
mod guards;
mod judge;
mod loops;
mod stuck;
mod writes;

pub use compaction::has_git_work;
pub use guards::{NotJudged, not_judged};
pub use judge::Progress;
pub use loops::{ActionLoop, PlanningLoop, action_loop, planning_loop};
