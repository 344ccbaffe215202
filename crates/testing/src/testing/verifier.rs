//! Checks whose results a function decides.

use crate::domain::{CheckReport, CheckScope, CheckSpec};
use crate::services::{Verifier, VerifyRequest};
use async_trait::async_trait;
use std::path::Path;

/// Decides each check by a function of its specification and the workspace: `Ok` passes, `Err` fails with that output.
/// The output is the failure's fingerprint too.
pub struct ScriptedVerifier<F>(F);

impl<F: Fn(&CheckSpec, &Path) -> Result<(), String> + Send + Sync> ScriptedVerifier<F> {
    /// Checks decided by `decide`.
    pub fn new(decide: F) -> Self {
        Self(decide)
    }
}

#[async_trait]
impl<F: Fn(&CheckSpec, &Path) -> Result<(), String> + Send + Sync> Verifier for ScriptedVerifier<F> {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        let decide = |(scope, spec): (CheckScope, CheckSpec)| {
            let result = (self.0)(&spec, &request.dir);
            CheckReport::decided(scope, spec, result)
        };
        request.checks.into_iter().map(decide).collect()
    }
}
