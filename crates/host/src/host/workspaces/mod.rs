//! Workspaces: places to work in that leave the user's checkout alone.
//!
//! [`HostWorkspaces`] finds the project's [`repository`] and lays the runtime's own beside it ([`store`], with the user's
//! [`settings`]), fixes the run's base ([`begin`]; [`partial`] clones are completed), and makes a workspace per task ([`open`]): a
//! directory with a repository of its own ([`agents_git`]; of what an agent does there only names are read, [`agents_index`]), and beside it a clean room for its checks, with build caches that no agent's
//! code has written to ([`room_cache`]). A [`slot`] is one such
//! directory, which one task after another gets ([`slots`]): put back to recorded trees with nothing else in it ([`sweep`];
//! [`seen`] tells whether anything was touched), and recorded through an index of our own ([`recorder`]; [`blend`] makes trees of parts of two, [`as_written`] knows what nobody has touched; what it says about [`submodules`], in [`gitmodules`]); untracked things
//! that are carried in ([`carry`], which looks for [`whole_paths`]; [`carried`] finds them in changes under other names) or made by `setup` ([`set_up`], of what it [`reads`]) stay as they
//! were ([`kept`]), with the same [`ages`],
//! and nothing that was [`built`] speaks for other files. [`mend`] repairs what is broken.
//!
//! Pushes are refused or at least noticed ([`pushes`]), and so is what steers tools from the [`home`] directory. A [`sandbox`] is tried before a run begins. Confirmed work becomes a
//! branch or a patch; a night puts it on one branch ([`integration`]; [`refs`] says where they stand, [`placed`] where the runtime has put them), and [`apply`] brings it
//! into the user's files. What a killed run left where agents were [`asked`] is removed. [`layout`] says where everything lies, [`space`] whether there is room on the disk.

mod ages;
mod agents_git;
mod agents_index;
mod answers;
mod apply;
mod as_written;
mod asked;
mod begin;
mod begun;
mod blend;
mod built;
mod cargo_cache;
mod carried;
mod carry;
mod copies;
mod gitmodules;
mod home;
mod host_workspaces;
mod integration;
mod kept;
mod layout;
mod links_out;
mod mend;
mod merge;
mod names;
mod open;
mod partial;
mod parts;
mod paths;
mod placed;
mod pushes;
mod readable;
mod reads;
mod recorder;
mod refs;
mod remotes;
mod repository;
mod room_cache;
mod sandbox;
mod seen;
mod set_up;
mod settings;
mod shared;
mod slot;
mod slot_ages;
mod slots;
mod space;
mod store;
mod submodules;
mod sweep;
mod whole_paths;
mod workspace;

pub(super) use layout::{EACH_RUN, WORKTREES, cache_of, make_state_dir, state_dir};
pub(super) use sandbox::TRIED;

pub use begin::try_base;
pub use host_workspaces::HostWorkspaces;
pub use sandbox::{hidden_in_sandbox, try_sandbox};
pub use shared::HostWorkspacesParams;

use crate::services::WorkspaceError;

/// Why what is in a directory cannot be trusted, so that it is made anew.
#[derive(Debug, thiserror::Error)]
enum Doubt {
    #[error("{0}")]
    Of(&'static str),
    #[error(transparent)]
    Failed(#[from] WorkspaceError),
}

#[cfg(test)]
mod tests;
