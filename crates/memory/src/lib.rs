//! What outlives a process, see [`storage`].
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::domain;
use reflexion_core::services;
use reflexion_files::files;
use reflexion_text::prompt;
use reflexion_text::redaction;

pub mod storage;
