//! reflexion
#![forbid(unsafe_code)]
pub mod domain;
pub mod prompt;
pub mod reflection;
pub mod services;
