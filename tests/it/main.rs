//! The integration tests, one binary: what is seen from outside the crate.

mod after_a_run;
mod agents;
mod allow;
mod analyze;
mod architecture;
mod asked_for;
mod bad_input;
mod cases_cmds;
mod cases_readers;
mod cassette;
mod circles;
mod cli;
mod docs;
mod eval;
mod events;
mod everywhere;
mod exit_codes;
mod flow;
mod forged;
mod golden;
mod guarded;
mod hands;
mod halted;
mod healer;
mod holdout;
mod home;
mod hooks;
mod hooks_gate;
mod hooks_learn;
mod judge;
mod keep_awake;
mod known_red_runners;
mod lesson_files;
mod lessons;
#[cfg(feature = "llm")]
mod lineage;
mod llm;
mod made_up_night;
mod morning;
mod names;
mod night;
mod notify;
mod numbered;
mod overnight;
mod parts;
mod project;
mod proof;
mod queue;
mod recall;
mod report;
mod report_page;
mod results;
mod retry_prompts;
mod risk;
mod rough;
mod routing;
mod secrets;
#[cfg(feature = "cli")]
mod standing;
mod steering;
#[cfg(feature = "cli")]
mod state_files;
#[cfg(feature = "cli")]
mod toolchains;
#[cfg(feature = "cli")]
mod trust;
mod turns;
#[cfg(feature = "cli")]
mod watch;
#[cfg(feature = "cli")]
mod words;
