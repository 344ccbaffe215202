//! Plain values ([`domain`]) and the contracts between the steps ([`services`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_layer::service;
use reflexion_toolchain::toolchain;

pub mod domain;
pub mod services;
