//! What an attempt proves, see [`verification`]: checks, command lines, gates, judges.
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
use reflexion_text::{prompt, redaction};
use reflexion_toolchain::toolchain;

pub mod verification;
