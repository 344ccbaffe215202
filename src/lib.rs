//! reflexion
#![forbid(unsafe_code)]
pub mod config;
pub mod domain;
pub mod orchestrator;
pub mod prompt;
pub mod services;
pub mod subagents {
    pub mod command;
}
#[cfg(feature = "testing")]
pub mod testing;
pub mod verification;
