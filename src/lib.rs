//! reflexion
#![forbid(unsafe_code)]
pub mod domain;
pub mod services;
pub mod storage;
#[cfg(feature = "testing")]
pub mod testing;
