//! Everything the loop talks to.

use crate::services::{
    Captures, Clock, CompletionVerifier, Decomposer, EventSink, Journal, ProgressJudge, ReflectionService, RunLock,
    Settings, Subagents, Tasks, Transcripts, Verdicts, Verifier, Workspaces,
};
use std::sync::Arc;

/// Everything the loop talks to; no field is optional.
#[derive(Clone)]
pub struct Services {
    /// The user's settings.
    pub settings: Arc<dyn Settings>,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// The task file and its overlay.
    pub tasks: Arc<dyn Tasks>,
    /// Places to work in.
    pub workspaces: Arc<dyn Workspaces>,
    /// Whoever does the work.
    pub subagents: Arc<dyn Subagents>,
    /// What they did, step by step.
    pub transcripts: Arc<dyn Transcripts>,
    /// Runs checks.
    pub verifier: Arc<dyn Verifier>,
    /// Gates, and whoever is asked where they leave it open.
    pub completion: Arc<dyn CompletionVerifier>,
    /// Looks at an agent that says nothing, loops, or forgot.
    pub progress: Arc<dyn ProgressJudge>,
    /// Verdicts for other programs.
    pub verdicts: Arc<dyn Verdicts>,
    /// What agents knew at the end of their attempts.
    pub captures: Arc<dyn Captures>,
    /// The parts of tasks, where somebody is asked for them.
    pub decomposer: Arc<dyn Decomposer>,
    /// Lessons.
    pub reflections: Arc<dyn ReflectionService>,
    /// Intents and results.
    pub journal: Arc<dyn Journal>,
    /// One run at a time.
    pub lock: Arc<dyn RunLock>,
    /// Watchers.
    pub events: Arc<dyn EventSink>,
}
