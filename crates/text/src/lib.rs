//! Texts that go out: without secrets ([`redaction`]), capped and fenced ([`prompt`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::domain;

pub mod redaction;
pub mod prompt;
