//! How risky a change is, from the names of the files it touches: a floor under every opinion about it.
//!
//! The agent's own word decides nothing here: [`Surface::of_path`] says what kind of thing a path is, the heaviest
//! surface of a change is its [`Risk`], and at the [`RiskThreshold`] somebody should look at it. "No review needed" never
//! means that a change is right: CI and tests come before a person's merge, that before a reviewer, and that before what
//! an agent says of itself (`docs/risk.md`).
//!
//! A path is cut into segments and words ([`name`]), tables say what they mean ([`words`] everywhere in a path, [`files`]
//! for names of files and directories, [`places`] for what only several pieces say), and of all that match the heaviest
//! counts. Names that look alike but mean
//! something else (`tokenizer.rs`, `author/`, `latest.rs`) are no whole word of a table, or stand beside a word that tells
//! ([`words::unless`]).

mod assessed;
mod by_path;
mod files;
mod name;
mod places;
mod surface;
mod threshold;
mod words;

#[cfg(test)]
mod cases;

pub use assessed::Risk;
pub use by_path::belongs_to_tests;
pub use surface::Surface;
pub use threshold::{RISK_THRESHOLD_VARIABLE, RiskThreshold, RiskThresholdError};
