//! Doubles, contracts and cassettes for unit tests, see [`testing`].
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_layer::layer;
use reflexion_toolchain::toolchain;

pub mod testing;
