//! Agents: whoever does the work, each behind the port `Subagent`.

mod repair;

pub use repair::Repair;
