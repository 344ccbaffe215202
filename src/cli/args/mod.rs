//! The command line; the doc comments are its help and `docs/cli.md`. A file holds the arguments of one command, or of a few that
//! belong together.

mod analyze;
mod eval;
mod hook;
mod judge;
mod memory;
mod notify;
mod overnight;
mod program;
mod report;
mod run;
mod setup;
mod task;
mod transcript;

pub use analyze::{AnalyzeArgs, AnalyzeCommand, ConfidenceOf};
pub use eval::EvalArgs;
pub use hook::{HookArgs, HookCallArgs, HookCommand, HookInstallArgs, HookPlaceArgs, HookUninstallArgs};
pub use judge::{JudgeArgs, JudgeWhat, RiskArgs};
pub use memory::{EditArgs, ExportFormat, LessonArgs, LessonFormat, MemoryArgs, MemoryCommand};
pub use notify::{NotifyArgs, NotifyCommand};
pub use overnight::OvernightArgs;
pub use program::{Args, Command};
pub use report::{ReportArgs, StatusArgs, WatchArgs};
pub use run::{ApplyArgs, HowArgs, RunArgs};
pub use setup::{CompletionsArgs, ConfigArgs, ConfigCommand, DoctorArgs, InitArgs, TrustArgs};
pub use task::{TaskAddArgs, TaskArgs, TaskCommand, TaskEditArgs, TaskOptions, TasksNamed};
pub use transcript::{TranscriptArgs, TranscriptCommand};
