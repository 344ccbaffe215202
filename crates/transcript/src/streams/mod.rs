//! What agents say while they work becomes steps, usage and an ending: lines of their programs ([`program`]), and messages of
//! the Agent Client Protocol ([`acp`]). What was recorded is read by the same rules.

pub mod acp;
pub mod program;
