//! Cassettes: calls of real agents and models, recorded once and played again in tests.
//!
//! [`Cassette`] is what a test holds. While recording it stands around the real agents ([`agents`]) and models
//! ([`models`]) and writes each call to a file ([`tape`], the lines are in [`wire`]): the request as a comparable text
//! ([`request`], [`normalise`]), what was answered, and for an agent its steps and the files it changed ([`changes`]).
//! While replaying it looks for the recording of a request, and shows the nearest one when there is none ([`missing`]).

mod agents;
mod changes;
#[expect(clippy::module_inception, reason = "the file is named for what it holds")]
mod cassette;
mod missing;
mod models;
mod normalise;
mod request;
mod tape;
mod wire;

pub use cassette::Cassette;
pub use tape::CassetteError;
