//! Transcripts from files: what any agent did becomes one [`Trace`](crate::domain::Trace), in bounded memory.
//!
//! The first records say whose they are (`format`). Agents' own records go through the rules of their descriptions
//! (`config/agents/*.json`, `recorded`); recordings of the Agent Client Protocol through the listener of `acp`; our own transcripts are read as they were written (`own`); [`Format::Plain`] is
//! one JSON document that anybody can write (`plain`, `messages`). What tools do is told by their names, of all agents
//! (`tools`). A record is what stands at the beginning of a line; whatever looks like one inside a text is text.

mod acp;
mod format;
mod messages;
mod own;
mod plain;
mod plain_tool;
mod read;
mod recorded;
mod result;
mod tools;

#[cfg(test)]
mod kinds_tests;
#[cfg(test)]
mod tests;

pub use format::{FORMATS, Format};
pub use read::read;
pub use result::{ReadError, Reading, Unread};
