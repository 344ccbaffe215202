//! The machine: processes, git, files of workspaces, the clock. No other module touches them.
//!
//! A run takes the project's [`ProjectLock`], makes workspaces with [`HostWorkspaces`], and starts every agent, check and
//! generator through [`HostRunner`], which leaves nothing running. [`SystemClock`] is the only source of time and ids.
//!
//! ```no_run
//! use reflexion_host::host::{HostRunner, HostWorkspaces, HostWorkspacesParams, SystemClock};
//! use std::sync::Arc;
//! # fn wire(settings: &dyn reflexion_core::services::Settings) {
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
mod editor;
mod foreign;
mod git;
mod history;
mod home;
mod keep_awake;
mod lock;
mod process;
mod remote;
mod shown_change;
mod work_base;
mod work_listing;
mod work_tree;
mod workspaces;

pub use changes::HostChanges;
pub use clock::SystemClock;
pub use editor::edit;
pub use foreign::{git_programs, left_by_runs, make_place_of_runs};
pub use git::git_version;
pub use history::GitHistory;
pub use home::{HomeChange, HomeFiles, HomePlaces, HomeRuns, LeftInHome};
pub use keep_awake::HostKeepAwake;
pub use lock::{LockHolder, ProjectLock, lock_holder};
pub use process::{HostRunner, given_in_sandbox, is_the_program, is_within_run_of, left_running};
pub use remote::HostRemote;
pub use shown_change::{brought_in, shown_changes};
pub use work_tree::HostWorkTree;
pub use workspaces::{HostWorkspaces, HostWorkspacesParams, hidden_in_sandbox, try_base, try_sandbox};
