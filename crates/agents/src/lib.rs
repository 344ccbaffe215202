//! Agents ([`subagents`]), language models ([`llm`]), and asking either of them a question ([`asking`]).
#![forbid(unsafe_code)]

// What its modules import.
use reflexion_core::{domain, services};
use reflexion_files::files;
#[cfg(feature = "llm")]
use reflexion_http::http;
use reflexion_text::{prompt, redaction};
use reflexion_transcript::streams;

pub mod asking;
pub mod subagents;
pub mod llm;
