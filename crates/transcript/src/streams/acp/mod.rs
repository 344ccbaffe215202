//! What agents say over the Agent Client Protocol (version 1), whoever carries the messages.
//!
//! A [`Listener`] hears what an agent says by itself, tells it to the transcript, answers permissions at once, and knows when
//! a limit is exceeded. Messages are read as JSON, not as the types of a crate: agents say more than the protocol has. What is
//! particular to some agents stands in `config/agents/acp.json` (`rules`). A recorded conversation is heard again by the same
//! listener (`replay`).

mod calls;
mod listener;
mod permission;
mod replay;
mod rules;
mod text;
mod usage;

pub use listener::{Heard, Hears, Listener, ListenerParams, Phase};
pub(crate) use replay::Replay;
pub use rules::{Failure, has_read_only_mode, read_only_modes, tells_last_step_only, work_modes};
pub use usage::tokens;
