//! What all workspaces of a project share.

use super::layout::Layout;
use super::slots::Slots;
use crate::domain::policy;
use crate::services::{Clock, CommandRunner};
use std::sync::Arc;

/// What workspaces need.
pub struct HostWorkspacesParams {
    /// Runs `setup`.
    pub runner: Arc<dyn CommandRunner>,
    /// Dates commits.
    pub clock: Arc<dyn Clock>,
    /// Where the project is.
    pub project: policy::Project,
    /// `setup`, `carry`, environment.
    pub workspace: policy::Workspace,
    /// What `setup` may not see.
    pub environment: policy::Environment,
}

/// What all workspaces of a project share.
pub(super) struct Shared {
    pub(super) params: HostWorkspacesParams,
    pub(super) layout: Layout,
    pub(super) slots: Slots,
}
