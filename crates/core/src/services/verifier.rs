//! Running checks.

use crate::domain::{CheckReport, CheckScope, CheckSpec};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Runs the checks of an attempt, all of them, in order.
///
/// *Who calls:* the orchestrator, once for the baseline and once after each agent run. *Promise:* every check has a
/// report, also those that could not be started; no process of a check is left running.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Verifier: Send + Sync {
    /// Runs the checks; cancellation leaves the remaining ones `not_run`.
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport>;
}

/// What to check, and where.
#[derive(Debug, Clone)]
pub struct VerifyRequest {
    /// The checks, in order, with their owners.
    pub checks: Vec<(CheckScope, CheckSpec)>,
    /// The workspace, in the project's place of it.
    pub dir: PathBuf,
    /// [Directories](crate::services::Workspace::places) whose names say nothing of the work: the same failure in another workspace is the same.
    pub places: Vec<PathBuf>,
    /// Added to the inherited environment.
    pub env: BTreeMap<String, String>,
    /// Whether what they run is something that nobody wrote, and so may [write to nothing](crate::services::Sandboxed::Walled) but its workspace.
    pub walled: bool,
    /// Ends the checks early.
    pub cancel: CancellationToken,
}
