//! Evidence gates: deterministic, three-valued, and never an average.
//!
//! [`findings`] lays the recorded tool calls out in order (`timeline`: what changed files, what ran, how it went) and
//! asks every gate in turn. A gate passes or fails on facts - exit statuses, the runner's own [`summary`](crate::toolchain::summary()), the diff, the
//! order of calls, what the remote says - and says why it did not run where there are none. What the agent writes is no
//! fact; only an explicit claim to have run a concrete command is compared with the record (`claims`). `docs/verdicts.md`
//! lists the gates.

mod all;
mod allowed;
mod answer;
mod build;
mod change;
mod change_asked;
mod claims;
mod count;
mod diff;
mod facts;
mod finding;
mod hooks;
#[cfg(test)]
pub(in crate::verification) mod fixture;
mod kept;
mod kept_edits;
mod kept_moves;
mod kept_scripts;
mod kept_shell;
mod kept_targets;
mod kept_tests;
mod offence;
mod paths;
mod place;
mod pushes;
mod red;
mod remote;
mod repeated;
mod runtime_checks;
mod tested;
mod timeline;
mod went;

pub use all::{findings, gates};
pub use allowed::seems_to_allow;
pub(in crate::verification) use change::changes_code;
pub use facts::Facts;
pub use finding::{Finding, Todo};
