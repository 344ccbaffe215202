//! Notices to a person who is not watching: few, and each says what to do.
//!
//! [`Decider`] is pure: of a run's events and its report it makes the notices that are worth somebody's attention, each
//! cause once. The [`Bell`] stands in the event sink's place and [`Watched`] around the loop; a courier per recipient
//! carries notices out of the run's way, within a time limit. One that fails costs a warning, never the run. [`Configured`] makes the recipients of the settings:
//! any command, a webhook, a topic of ntfy, the desktop. Without the feature `notify` there is nothing that speaks HTTP,
//! and settings that ask for it are refused.

mod bell;
mod command;
mod configured;
mod decide;
mod desktop;
#[cfg(test)]
mod fixtures;
mod headline;
#[cfg(feature = "notify")]
mod ntfy;
#[cfg(feature = "notify")]
mod post;
mod surroundings;
mod watched;
#[cfg(feature = "notify")]
mod webhook;

pub use bell::{Bell, BellParams, LIMIT, send};
pub use configured::{Configured, Nobody};
pub use decide::Decider;
pub use surroundings::Surroundings;
pub use watched::Watched;
