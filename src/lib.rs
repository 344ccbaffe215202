//! reflexion
#![forbid(unsafe_code)]
pub mod domain;
pub mod services;
pub mod host;
