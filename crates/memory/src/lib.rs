//! What outlives a process ([`storage`]), which lessons fit a failure ([`recall`]) and may be shown ([`curation`]), and whether they help
//! ([`effect`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
use reflexion_text::{prompt, redaction};
use reflexion_toolchain::toolchain;

pub mod storage;
pub mod curation;
pub mod recall;
pub mod effect;
