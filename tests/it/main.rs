//! The integration tests, one binary: what is seen from outside the crate.

mod agents;
mod analyze;
mod architecture;
mod bad_input;
mod cases_cmds;
mod cases_readers;
mod cassette;
mod cli;
mod docs;
mod eval;
mod flow;
mod hooks;
mod judge;
#[cfg(feature = "llm")]
mod llm;
mod notify;
mod project;
mod queue;
mod risk;
mod turns;
