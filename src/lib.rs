//! reflexion
#![forbid(unsafe_code)]
pub mod domain;
pub mod services;
pub mod config;
pub mod prompt;
pub mod orchestrator;
pub mod subagents { pub mod command; }
pub mod verification;
#[cfg(feature = "testing")]
pub mod testing;
