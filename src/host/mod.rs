//! The machine: processes, git, files of workspaces, the clock. No other module touches them.
//!
//! A run takes the project's [`ProjectLock`], makes workspaces with [`HostWorkspaces`], and starts every agent, check and
//! generator through [`HostRunner`], which leaves nothing running. [`SystemClock`] is the only source of time and ids.
//!
//! ```no_run
//! use reflexion::host::{HostRunner, HostWorkspaces, HostWorkspacesParams, SystemClock};
//! use std::sync::Arc;
//! # fn wire(settings: &dyn reflexion::services::Settings) {
//! let workspaces = HostWorkspaces::new(HostWorkspacesParams {
//!     runner: Arc::new(HostRunner::new()),
//!     clock: Arc::new(SystemClock::new()),
//!     project: settings.project().clone(),
//!     workspace: settings.workspace().clone(),
//!     environment: settings.environment().clone(),
//! });
//! # }
//! ```

mod changes;
mod clock;
mod foreign;
mod git;
mod history;
mod home;
mod keep_awake;
mod lock;
mod process;
mod remote;
mod work_base;
mod work_listing;
mod work_tree;
mod workspaces;

pub use changes::HostChanges;
pub use clock::SystemClock;
pub use foreign::git_programs;
pub use foreign::left_by_runs;
pub use foreign::make_place_of_runs;
pub use git::git_version;
pub use history::GitHistory;
pub use home::HomeChange;
pub use home::HomeFiles;
pub use home::HomePlaces;
pub use home::HomeRuns;
pub use home::LeftInHome;
pub use keep_awake::HostKeepAwake;
pub use lock::LockHolder;
pub use lock::ProjectLock;
pub use lock::lock_holder;
pub use process::HostRunner;
pub use process::is_the_program;
pub use process::is_within_run_of;
pub use process::left_running;
pub use remote::HostRemote;
pub use work_tree::HostWorkTree;
pub use workspaces::HostWorkspaces;
pub use workspaces::HostWorkspacesParams;
pub use workspaces::hidden_in_sandbox;
pub use workspaces::try_base;
pub use workspaces::try_sandbox;
