//! The embedded agent, see [`repair`].
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
use reflexion_text::prompt;

pub mod repair;
