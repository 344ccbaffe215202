//! Text that is put together for agents: values in, text out.
mod attempt;
pub mod budget;
pub mod fence;
pub use attempt::*;
