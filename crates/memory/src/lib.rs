//! What outlives a process, see [`storage`]; which lessons fit a failure, see [`recall`], and which may be shown, see [`curation`].
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
use reflexion_text::{prompt, redaction};

pub mod storage;
pub mod curation;
pub mod recall;
