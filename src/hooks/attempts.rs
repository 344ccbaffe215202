//! The records of a run's attempts, which the runtime writes itself: not every agent has hooks.

use super::files::{Binding, CaptureFiles};
use super::report::{Asked, Named, self_report};
use crate::domain::{
    Capture, CaptureMode, CaptureSchema, CaptureSource, Provenance, RISK_THRESHOLD_VARIABLE, RiskThreshold, SelfReport,
    policy,
};
use crate::files::Place;
use crate::services::{AttemptEnd, CapturedAttempt, Captures, CapturesError, Clock};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The records of a project's runs, in its `.reflection/reflections/`; agents are asked for their reports beside their
/// prompts, outside of where they work.
pub struct AttemptCaptures {
    project: policy::Project,
    clock: Arc<dyn Clock>,
}

impl AttemptCaptures {
    /// Of a project.
    #[must_use]
    pub fn new(project: policy::Project, clock: Arc<dyn Clock>) -> Self {
        Self { project, clock }
    }

    fn files(&self) -> CaptureFiles {
        CaptureFiles::of_project(&self.project.root)
    }

    /// The report, below the project: `.reflection/runs/<run>/reports/<name>`.
    fn input(&self, attempt: &CapturedAttempt) -> Place {
        let CapturedAttempt { run, task, subtask, attempt, .. } = attempt;
        let file = self.project.run_dir(run).join("reports").join(format!("{task}+{subtask}+{attempt}.json"));
        Place::with_names(&file, 5)
    }

    fn repo(&self) -> String {
        let name = self.project.root.file_name();
        name.map_or_else(|| self.project.name.clone(), |name| name.to_string_lossy().into_owned())
    }
}

#[async_trait]
impl Captures for AttemptCaptures {
    fn environment(&self, attempt: &CapturedAttempt, threshold: RiskThreshold) -> BTreeMap<String, String> {
        let input = self.input(attempt);
        // An agent that cannot leave its report has none; that is no reason to stop it.
        if let Some(dir) = input.path().parent() {
            let _ = Place::with_names(dir, 4).make_dir();
        }
        let said = [
            ("REFLECTION_MODE", "orchestrated".to_owned()),
            ("REFLECTION_DIR", self.files().records().display().to_string()),
            ("REFLECTION_INPUT", input.path().display().to_string()),
            ("REFLECTION_TASK_REF", attempt.task_ref()),
            ("REFLECTION_AGENT", attempt.agent.clone()),
            (RISK_THRESHOLD_VARIABLE, threshold.to_string()),
        ];
        said.map(|(name, value)| (name.to_owned(), value)).into()
    }

    async fn attempt_ended(&self, end: AttemptEnd) -> Result<(), CapturesError> {
        let AttemptEnd { attempt, agent_session, turn, files, risk } = end;
        let sessions: Vec<&str> =
            [Some(attempt.session.as_str()), agent_session.as_deref()].into_iter().flatten().collect();
        let report = self_report(&Asked { place: self.input(&attempt), named: Named::ByUs, sessions });
        let (report, degraded_reason) = match report {
            Ok(report) => (report, None),
            Err(because) => (SelfReport::default(), Some(because)),
        };
        let capture = Capture {
            schema: CaptureSchema::V1,
            task_ref: attempt.task_ref(),
            agent: attempt.agent.clone(),
            session_id: attempt.session.to_string(),
            timestamp: self.clock.now(),
            repo: self.repo(),
            confidence: report.confidence,
            most_likely_wrong: report.most_likely_wrong,
            known_not_in_diff: report.known_not_in_diff,
            risk,
            files_changed: files,
            provenance: Provenance {
                source: CaptureSource::Orchestrator,
                reflection_attempt: turn,
                degraded: degraded_reason.is_some(),
                reflection_mode: CaptureMode::Orchestrated,
                degraded_reason,
                run: Some(attempt.run.to_string()),
                attempt: Some(attempt.attempt),
                is_final: None,
                base_commit: None,
            },
        };
        let files = self.files();
        let error = |message: String| CapturesError {
            task_ref: attempt.task_ref(),
            attempt: attempt.attempt,
            dir: files.records().display().to_string(),
            message,
        };
        let written = {
            let files = files.clone();
            let binding = Binding::of(&capture);
            tokio::task::spawn_blocking(move || files.prepare().and_then(|()| files.write(capture, binding.as_ref())))
                .await
        };
        match written {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refused)) => Err(error(refused.to_string())),
            Err(lost) => Err(error(lost.to_string())),
        }
    }
}

/// Keeps records in memory, for tests to read; clones share it. Nobody's hooks are told anything.
#[derive(Debug, Clone, Default)]
pub struct MemoryCaptures {
    kept: Arc<Mutex<Vec<AttemptEnd>>>,
}

impl MemoryCaptures {
    /// The ends of all attempts, in order.
    #[must_use]
    pub fn kept(&self) -> Vec<AttemptEnd> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Captures for MemoryCaptures {
    fn environment(&self, _: &CapturedAttempt, _: RiskThreshold) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    async fn attempt_ended(&self, end: AttemptEnd) -> Result<(), CapturesError> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(end);
        Ok(())
    }
}
