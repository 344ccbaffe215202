//! Agents ([`subagents`]) and language models ([`llm`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
#[cfg(feature = "llm")]
use reflexion_http::http;
use reflexion_text::prompt;
use reflexion_transcript::streams;

pub mod subagents;
pub mod llm;
