//! Checks whose results a function decides.

use crate::domain::{CheckReport, CheckScope, CheckSpec, CheckStatus, Output, Signature};
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

    fn report(&self, scope: CheckScope, spec: &CheckSpec, dir: &Path) -> CheckReport {
        let result = (self.0)(spec, dir);
        let output = result.as_ref().err().cloned().unwrap_or_default();
        CheckReport {
            spec: spec.clone(),
            scope,
            status: if result.is_ok() { CheckStatus::Passed } else { CheckStatus::Failed },
            exit_status: Some(i32::from(result.is_err())),
            signal: None,
            timed_out: false,
            signature: Signature { fingerprint: output.clone(), ..Signature::default() },
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
            output: Output::whole(output),
            duration_ms: 0,
        }
    }
}

#[async_trait]
impl<F: Fn(&CheckSpec, &Path) -> Result<(), String> + Send + Sync> Verifier for ScriptedVerifier<F> {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        request.checks.iter().map(|(scope, spec)| self.report(*scope, spec, &request.dir)).collect()
    }
}
