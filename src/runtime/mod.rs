//! The composition root: the one place that names implementations.
//!
//! [`live`] is the list of provider layers of the real thing, [`mod@test`] the same on doubles. Both are ordinary
//! [`Layers`](crate::layer::Layers): swap one service with `.with(…)`, decorate one with `.wrap(…)`, build what you need
//! and shut it down.
//!
//! ```no_run
//! use reflexion::layer::{BoxError, Svc};
//! use reflexion::runtime;
//! use reflexion::services::{Orchestrator, RunRequest};
//!
//! # async fn example() -> Result<(), BoxError> {
//! let settings = runtime::project("path/to/project")?;
//! let app = runtime::live().with(settings).build::<Svc<dyn Orchestrator>>().await?;
//! let report = app.run(RunRequest::everything(runtime::new_run_id())).await?;
//! println!("{} confirmed", report.totals.confirmed);
//! app.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod agents;
mod analyze;
mod env_files;
mod eval;
mod events;
mod files;
mod health;
mod hook;
mod judge;
mod judges;
mod live;
mod models;
mod notify;
mod policies;
mod programs;
mod rate;
mod redacted;
mod report;
mod retry;
mod route;
mod run_id;
mod settings;
mod shared;
#[cfg(feature = "testing")]
pub mod test;
mod tower_agent;
mod tower_model;
mod trust;
mod watch;

pub use crate::hooks::Changed as HookChanged;
pub use crate::hooks::HookAgent;
pub use crate::hooks::HookMode;
pub use crate::hooks::Installing;
pub use crate::hooks::Rules as HookRules;
pub use crate::hooks::Scope as HookScope;
pub use crate::hooks::Stopped;
pub use crate::hooks::Verify as HookVerify;
pub use crate::host::git_version;
pub use crate::host::is_the_program;
pub use crate::host::is_within_run_of;
pub use crate::orchestrator::queue::Readiness;
pub use crate::orchestrator::queue::readiness;
pub use crate::storage::EvalFiles;
pub use crate::verification::gates::seems_to_allow;
pub use analyze::Observations;
pub use analyze::history;
pub use analyze::past;
pub use analyze::read_observations;
pub use analyze::reflections;
pub use eval::EvalError;
pub use eval::EvalJudge;
pub use eval::EvalParams;
pub use eval::evaluate;
pub use events::EventLines;
pub use events::EventSinks;
pub use files::Imported;
pub use files::TaskFile;
pub use files::adopt_lessons;
pub use files::check_state;
pub use files::foreign_lessons;
pub use files::foreign_marks;
pub use files::read_import;
pub use files::run_began;
pub use files::task_file;
pub use health::Health;
pub use health::HealthParams;
pub use health::HealthState;
pub use health::agent_health;
pub use health::base_health;
pub use health::idle_globs;
pub use health::installed_agents;
pub use health::protect_health;
pub use health::runs_all_with;
pub use health::sandbox_health;
pub use hook::HookCall;
pub use hook::checkout_around;
pub use hook::hook_mode;
pub use hook::hook_project;
pub use hook::hook_rules;
pub use hook::hook_session_start;
pub use hook::hook_settings;
pub use hook::hook_stop;
pub use hook::hook_verify;
pub use judge::TRANSCRIPT_FORMATS;
pub use judge::TranscriptFormat;
pub use judge::TranscriptReadError;
pub use judge::TranscriptReading;
pub use judge::TranscriptTurn;
pub use judge::judge_transcript;
pub use judge::read_transcript;
pub use live::live;
pub use live::reflection_service_live;
pub use notify::notify_test;
pub use programs::changes;
pub use programs::command_runner;
pub use programs::find_program;
pub use report::Waiting;
pub use report::choose_run;
pub use report::night;
pub use report::runs;
pub use report::waiting;
pub use route::Route;
pub use route::Sized;
pub use route::Told;
pub use route::TrackRecord;
pub use route::proposed;
pub use route::route;
pub use route::size;
pub use route::track_record;
pub use run_id::new_run_id;
pub use run_id::system_clock;
pub use settings::project;
pub use settings::settings_before_trust;
pub use settings::settings_from;
pub use settings::settings_to_look;
pub use tower_agent::layer_agents;
pub use tower_model::layer_models;
pub use trust::Trust;
pub use trust::Untrusted;
pub use watch::RunWatch;
