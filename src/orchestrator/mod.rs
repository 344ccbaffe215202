//! RETRY: the fast loop, from a ready task to a confirmed change.
//!
//! ```text
//!  queue ──▶ open workspace ──▶ baseline ──▶ attempt ──▶ record the change ──▶ checks ──▶ judge
//!                                              ▲                                          │
//!                                              └── inject ◀── store ◀── reflect ◀── refuted ┤
//!                                                                                         ▼
//!                                                              commit on a branch ◀── confirmed
//! ```
//!
//! What happens next is decided purely: [`queue`] says which task is ready, [`router`] which agents it is given to, [`judge`] what the evidence says of an
//! attempt, [`machine`] what follows from it. `drive` and `task` perform those effects through the ports and write
//! each intent to the journal before, each result after.

mod attempt;
mod drive;
mod failure;
pub mod judge;
pub mod machine;
mod nudge;
pub mod queue;
mod request;
pub mod router;
mod task;
mod turn;
pub mod turns;
mod watch;

pub use drive::Loop;
pub use drive::Services;
