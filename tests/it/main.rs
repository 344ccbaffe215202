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

mod halted;
mod hooks;
mod hooks_gate;
mod judge;
#[cfg(feature = "llm")]
mod llm;
mod made_up_night;
mod night;
mod notify;
mod overnight;
mod project;
mod queue;
mod report;
mod report_page;
mod risk;
mod turns;
