//! What a command line does: its simple commands, what each is for, what it writes, where it pushes.

mod run;

pub use run::CommandKind;
pub use run::PushTarget;
pub use run::Run;
pub use run::runs;
