//! Test layers, shipped: scripted doubles that fail loudly, and the contract every store must pass.
//!
//! Use them to test a program built on this crate without an account, a network or a process. A double that is asked for
//! something it has no script for panics with the call it was asked for.
//!
//! [`Cassette`] records what real agents and models do, once, and plays it again in tests.

mod cassette;
mod clock;
mod events;
mod generator;
mod lock;
mod settings;
mod storage_contract;
mod subagent;
mod tasks;
mod undecided;
mod verifier;
mod workspace;

pub use cassette::{Cassette, CassetteError};
pub use clock::{TestClock, VirtualClock};
pub use events::CollectedEvents;
pub use generator::{CannedGenerator, Forgetful};
pub use lock::Unlocked;
pub use settings::fixed_settings;
pub use storage_contract::storage_contract;
pub use subagent::ScriptedSubagent;
pub use tasks::{MemoryTasks, task};
pub use undecided::Undecided;
pub use verifier::ScriptedVerifier;
pub use workspace::MemoryWorkspaces;
