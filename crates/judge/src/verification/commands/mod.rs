//! What a command line does: its simple commands, what each is for, what it writes, where it pushes.
//!
//! [`runs`] reads a line the way a shell does (`syntax`, `compound`), follows its `&&`, `||`, `;`, pipes, groups and substitutions to
//! see whose exit status the line ends with (`flow`), looks behind `env`, `timeout`, `sh -c` or `docker exec`
//! (`wrappers`) and says of every simple command what it is for (`kinds`, `builders`,
//! `scripts`, `git`) and what it writes
//! (`writes`). Nothing is expanded and nothing is run: a word that only a shell could know (`$BRANCH`) stays as it is
//! written. [`loop_key`] says which lines are the same command once more.

mod builders;
mod compound;
mod flow;
mod git;
mod kinds;
mod loop_key;
mod run;
mod scripts;
mod syntax;
#[cfg(test)]
mod tests;
mod words;
mod wrappers;
mod writes;

pub use flow::runs;
pub use loop_key::loop_key;
pub use run::{CommandKind, Edits, PushTarget, Run};
