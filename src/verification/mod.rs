//! VERIFY: what really happened, from commands that the runtime runs itself.
//!
//! [`Checks`] runs the checks of an attempt, all of them and in order, and reads what each failure looks like. What the
//! results mean is decided by `orchestrator::judge`; nothing here weighs or averages.

mod checks;

pub use checks::Checks;
