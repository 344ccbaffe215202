//! How the hooks get into an agent's settings, and out of them.
//!
//! [`Installing`] says which file of which agent it is; [`edit`] makes the new text of a settings file from the old one
//! and is pure: whatever is not ours stays as it stands, byte for byte. Nothing is written where nothing changes.

mod agent;
mod edit;
mod place;
mod plugin;

pub use agent::{HookAgent, Installing, Learn, Left, Scope, Verify};
pub use edit::EditError;
pub use place::{Changed, InstallError};
