//! What agents did: their streams while they work ([`streams`]), and transcripts from files ([`reading`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_text::prompt;

pub mod streams;
pub mod reading;
