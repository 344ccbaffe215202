//! The night: when it begins and ends, and which run goes on.
//!
//! ```text
//!  --between 22:00-07:00 ──▶ wait ──▶ is there a night that was killed? ── yes ──▶ go on with it ──▶ orchestrator
//!                                                                     └─ no ───▶ a new run ──────▶
//! ```
//!
//! The loop itself is the orchestrator's: a night is a run whose confirmed work is merged, that puts up with passing faults
//! until its deadline, and that goes on where it was killed. `window` is pure; `night` asks the journal.

mod night;
mod window;

pub use night::{Night, Unfinished};
pub use window::{Until, Window, WindowError};
