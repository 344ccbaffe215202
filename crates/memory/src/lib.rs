//! What outlives a process ([`storage`]), and whether it helps ([`effect`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
use reflexion_text::{prompt, redaction};

pub mod storage;
pub mod effect;
