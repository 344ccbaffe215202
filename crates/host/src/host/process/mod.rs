//! Running programs so that nothing of them stays behind.
//!
//! A program gets its own process group and a mark in its environment ([`environment`]), and no open file but its streams ([`descriptors`]). Its output is kept as head and
//! tail ([`capture`]), so that it is never blocked and never fills the memory. When it ends - by itself, by its time
//! limit, by cancellation, or because its future was dropped - its group is killed and what left the group is found in
//! `/proc` by mark or descent ([`running`]), killed and reaped ([`family`]); this process is the sub-reaper of all of them.
//! [`runner`] puts these together. The mark names the project and its runtime ([`mark`]), so that the next run can end what
//! a killed one left running ([`left_behind`]), [`occupants`] says whether anybody is left in a directory,
//! and [`idle`] whether programs only wait, and for which pipe; [`memory`] says how much memory they take. Where the project
//! has a sandbox, what works in a workspace is started in it ([`confine`], [`mod@landlock`]).

mod capture;
mod confine;
mod descriptors;
mod environment;
mod family;
mod idle;
mod landlock;
mod left_behind;
mod mark;
mod memory;
mod occupants;
mod runner;
mod running;
mod table;

pub(super) use confine::git_dir_of;
pub use confine::given_in_sandbox;
pub(super) use descriptors::keep_descriptors;
pub(super) use environment::OF_SHELL;
pub(super) use idle::{ChildTree, WaitsFor, until_at_pipe, until_idle};
pub(super) use left_behind::end_left_behind;
pub use left_behind::left_running;
pub use mark::is_within_run_of;
pub(super) use mark::{KEY_LENGTH, marked, project_key};
pub(super) use occupants::is_occupied;
pub use runner::HostRunner;
pub use running::is_the_program;
pub(super) use running::start_child;

#[cfg(test)]
mod tests;
