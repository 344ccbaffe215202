//! Makes coding agents learn from their failed attempts.
//!
//! A **task** ([`domain`]) is handed to an agent ([`subagents`]); the runtime records what the agent changed, runs the
//! checks itself ([`verification`]) and judges ([`orchestrator::verdict`]). A refuted attempt becomes a short written
//! reflection ([`reflection`]), which is kept as JSON Lines ([`storage`]) and put into the next attempt's prompt
//! ([`prompt`]). Confirmed work is committed on a branch of its own ([`host`]). What may follow from what is one pure
//! function ([`orchestrator::machine`]).
//!
//! Every step stands behind a port ([`services`]) and is built by a provider layer ([`layer`]); [`runtime`] lists
//! them. Three ways to use it:
//!
//! - `reflexion run` on a directory with a `project.json` (the `cli` module);
//! - from code: `runtime::live()`, see `examples/batch.rs`; or only the [`services::ReflectionService`] in a loop of
//!   your own, see `examples/own_loop.rs`;
//! - in unit tests, on the swap-in layers of `runtime::test` and the doubles of `testing` (feature `testing`), see
//!   `examples/unit_test.rs`.
//!
//! The modules stand here in reading order. Who may import whom is a table in `docs/ARCHITECTURE.md`, and a test
//! checks it.
#![forbid(unsafe_code)]

// Types of other crates that stand in the signatures of ports and values: of the versions that these use.
pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;
pub use {jiff, serde_json, tower};

// Words: plain values and text.
pub mod decomposition;
#[doc(inline)]
pub use reflexion_core::domain;
#[doc(inline)]
pub use reflexion_text::prompt;
#[doc(inline)]
pub use reflexion_text::redaction;
#[doc(inline)]
pub use reflexion_toolchain::toolchain;
pub mod config;

// Contracts: what a service promises, and how services are put together.
#[doc(inline)]
pub use reflexion_core::services;
#[doc(inline)]
pub use reflexion_files::files;
#[cfg(any(feature = "llm", feature = "notify"))]
#[doc(inline)]
pub use reflexion_http::http;
#[doc(inline)]
pub use reflexion_layer::layer;
pub use reflexion_layer::{layers, service};

// Steps, in the order of the flow; they meet in `services` and never import each other.
#[doc(inline)]
pub use reflexion_agents::asking;
#[doc(inline)]
pub use reflexion_agents::subagents;
#[doc(inline)]
pub use reflexion_judge::verification;
#[doc(inline)]
pub use reflexion_repair::repair;
#[doc(inline)]
pub use reflexion_transcript::reading;
#[doc(inline)]
pub use reflexion_transcript::streams;
pub mod reflection;
#[doc(inline)]
pub use reflexion_memory::curation;
#[doc(inline)]
pub use reflexion_memory::effect;
#[doc(inline)]
pub use reflexion_memory::recall;
#[doc(inline)]
pub use reflexion_memory::storage;
pub mod hooks;
#[doc(inline)]
pub use reflexion_agents::llm;
pub mod notify;
#[doc(inline)]
pub use reflexion_host::host;

// Loops: they see ports only.
pub mod orchestrator;
pub mod overnight;
pub mod evaluation;
pub mod analysis;

// Edges.
pub mod report;
#[cfg(feature = "testing")]
#[doc(inline)]
pub use reflexion_testing::testing;
pub mod runtime;
#[doc(inline)]
pub use runtime::{Reflexion, ReflexionBuilder};
#[cfg(feature = "cli")]
pub mod cli;

// The code of the guide is compiled with the documentation tests.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/testing.md"))]
mod guide {}
