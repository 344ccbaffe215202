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

// The code of the guide is compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
mod guide {}

mod agents;
mod analyze;
mod assignments;
mod builder;
mod env_files;
mod eval;
mod events;
mod failure;
mod files;
mod given;
mod health;
mod hook;
mod hook_lesson;
mod judge;
mod judges;
mod live;
mod models;
mod notify;
mod policies;
mod programs;
mod prune;
mod rate;
mod redacted;
mod report;
mod retry;
mod route;
mod run_id;
mod runs;
mod search;
mod settings;
mod shared;
#[cfg(feature = "testing")]
pub mod test;
mod tower_agent;
mod tower_model;
mod trust;
mod watch;

pub use crate::hooks::{
    Changed as HookChanged, HookAgent, HookMode, Installing, Learn as HookLearn, Rules as HookRules,
    Scope as HookScope, Stopped, Teaching, Verify as HookVerify,
};
pub use crate::host::{edit, git_version, given_in_sandbox, is_the_program, is_within_run_of};
pub use crate::orchestrator::queue::{Readiness, readiness};
pub use crate::recall::Same;
pub use crate::reflection::{Decided, ExplainedLesson, lacks_something};
pub use crate::storage::EvalFiles;
pub use crate::verification::gates::seems_to_allow;
pub use analyze::{Observations, history, read_observations};
pub use builder::{Reflexion, ReflexionBuilder};
pub use eval::{EvalError, EvalJudge, EvalParams, evaluate};
pub use events::{EventLines, EventSinks};
pub use failure::failed_output;
pub use files::{
    Adopted, Damage, ImportFormat, ImportHow, Imported, KeptAttempts, Rebuilt, TaskFile, adopt_memory, check_state,
    foreign_lessons, foreign_marks, has_unsaved_changes, is_foreign_run, is_left_out, memory_damage, read_attempts,
    read_import, rebuild_attempts, run_began, task_file,
};
pub use given::guarded;
pub use health::{
    Health, HealthParams, HealthState, agent_health, base_health, idle_globs, installed_agents, protect_health,
    runs_all_with, sandbox_health,
};
pub use hook::{
    HookCall, JudgedStop, SentBack, checkout_around, hook_mode, hook_problem, hook_project, hook_rules,
    hook_session_start, hook_settings, hook_stop, hook_verify,
};
pub use hook_lesson::{
    CommandEnd, hook_awaits_command, hook_command_end, hook_command_ended, hook_lessons, hook_prompt_failure,
    hook_reflect, hook_stop_ended, hook_writing_settings,
};
pub use judge::{
    TRANSCRIPT_FORMATS, TranscriptFormat, TranscriptReadError, TranscriptReading, TranscriptTurn, judge_transcript,
    read_transcript,
};
pub use live::{live, reflection_service_live};
pub use notify::notify_test;
pub use programs::{changes, command_runner, find_program};
pub use prune::prune_lessons;
pub use report::{Records, Waiting, choose_run};
pub use route::{Route, Sized, Told, TrackRecord, proposed, route, size, track_record};
pub use run_id::{new_run_id, system_clock};
pub use search::{AskedRecall, FittingLesson, explain_recall, fitting_lessons};
pub use settings::{project, settings_before_trust, settings_from, settings_to_look};
pub use tower_agent::layer_agents;
pub use tower_model::layer_models;
pub use trust::{Trust, Untrusted};
pub use watch::RunWatch;
