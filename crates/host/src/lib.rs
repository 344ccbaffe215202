//! What touches the machine, see [`host`]: processes, git, workspaces, the run lock, the clock.
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
use reflexion_text::prompt;
use reflexion_toolchain::toolchain;

pub mod host;
