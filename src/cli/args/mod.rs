//! The command line; the doc comments are its help and `docs/cli.md`. A file holds the arguments of one command, or of a few that
//! belong together.

mod analyze;
mod eval;
mod hook;
mod judge;
mod memory;
mod overnight;
mod program;
mod report;
mod run;
mod setup;
mod task;
mod transcript;

pub use analyze::AnalyzeArgs;
pub use analyze::AnalyzeCommand;
pub use analyze::ConfidenceOf;
pub use eval::EvalArgs;
pub use hook::HookArgs;
pub use hook::HookCallArgs;
pub use hook::HookCommand;
pub use hook::HookInstallArgs;
pub use hook::HookPlaceArgs;
pub use hook::HookUninstallArgs;
pub use judge::JudgeArgs;
pub use judge::JudgeWhat;
pub use judge::RiskArgs;
pub use memory::MemoryArgs;
pub use memory::MemoryCommand;
pub use overnight::OvernightArgs;
pub use program::Args;
pub use program::Command;
pub use report::ReportArgs;
pub use report::StatusArgs;
pub use run::ApplyArgs;
pub use run::RunArgs;
pub use setup::CompletionsArgs;
pub use setup::ConfigArgs;
pub use setup::ConfigCommand;
pub use setup::DoctorArgs;
pub use setup::InitArgs;
pub use task::TaskAddArgs;
pub use task::TaskArgs;
pub use task::TaskCommand;
pub use transcript::TranscriptArgs;
pub use transcript::TranscriptCommand;
