//! Workspaces: places to work in that leave the user's checkout alone.
//!
//! [`HostWorkspaces`] finds the project's repository ([`repository`]) or keeps a private one where there is none, fixes
//! the run's base ([`begin`]), and makes a workspace per task ([`open`]): a detached worktree under
//! `.reflection/worktrees/<run>`, which one task after another gets ([`slots`], proven to be as new by [`handover`], on its
//! [`ground`]; [`seen`] tells whether anything was touched), or a plain copy. A [`workspace`] is put back to recorded trees and recorded
//! through an index of our own ([`recorder`]); untracked things that are carried in ([`carry`]) or made by `setup` stay
//! as they were ([`kept`]). Around an attempt the user's refs, stash, configuration and hooks are guarded ([`guard`], by
//! the evidence of reflogs, [`trace`], [`stash`]; [`watch`] keeps attempts of the same time apart, and [`saved`] is for the case
//! that we are killed), what the user has checked out is looked at ([`heads`]), locks of a killed git
//! are taken away ([`locks`]), and pushes are refused or at least noticed ([`pushes`]). A [`sandbox`] is tried before a run begins. Confirmed work becomes a branch or a patch; a night puts
//! it on one branch ([`integration`]; [`refs`] says where they stand), and [`apply`] brings it into the user's files. [`layout`] says where everything lies; [`removal`] removes what agents leave.
//! [`mend`] repairs what is broken.

mod apply;
mod begin;
mod carry;
mod ground;
mod guard;
mod heads;
mod handover;
mod host_workspaces;
mod integration;
mod kept;
mod layout;
mod mend;
mod locks;
mod open;
mod pushes;
mod recorder;
mod refs;
mod removal;
mod repository;
mod room;
mod sandbox;
mod saved;
mod seen;
mod slots;
mod stash;
mod trace;
mod watch;
mod workspace;

pub(super) use layout::make_state_dir;

pub use begin::try_base;
pub use host_workspaces::HostWorkspaces;
pub use host_workspaces::HostWorkspacesParams;
pub use sandbox::try_sandbox;

#[cfg(test)]
mod tests;
