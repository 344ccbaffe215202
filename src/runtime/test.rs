//! The test layers: the very same loop and service on doubles. Nothing here starts a process, opens a file or waits.
//!
//! The counterparts of the Reflexion log's `ReflectionServiceTest` and `ReflectionServiceTestWithStorage` are
//! [`reflection_service_test`] and [`reflection_service_test_with_storage`].

use super::shared;
use crate::domain::{Category, Draft, Origin};
use crate::hooks::MemoryCaptures;
use crate::layer::{Layers, Svc};
use crate::notify::Nobody;
use crate::reflection::Heuristic;
use crate::services::{
    Captures, Clock, CompletionVerifier, Decomposer, EventSink, Generator, Journal, Lessons, Notifiers, Orchestrator,
    ProgressJudge, ReflectionService, RunLock, Settings, Storage, Subagents, Tasks, Transcripts, Verdicts, Verifier,
    Workspaces,
};
use crate::storage::{InMemoryLessons, InMemoryStorage, MemoryJournal, MemoryTranscripts, MemoryVerdicts};
use crate::testing::{
    CannedGenerator, CollectedEvents, Forgetful, MemoryTasks, MemoryWorkspaces, ScriptedSubagent, ScriptedVerifier,
    TestClock, Undecided, Unlocked,
};
use crate::{decomposition, layers};
use std::convert::Infallible;

/// The orchestrator on doubles: no tasks, an agent without a script, checks that all pass, in-memory everything. Give it
/// what the test is about with `.with(…)`.
///
/// ```
/// # use reflexion::layer::{BoxError, Svc};
/// # use reflexion::services::{Orchestrator, RunRequest, Tasks};
/// # use reflexion::{runtime, testing};
/// # #[tokio::main]
/// # async fn main() -> Result<(), BoxError> {
/// let tasks = testing::MemoryTasks::new(vec![]);
/// let app = runtime::test::test().with(Svc::<dyn Tasks>::new(tasks)).build::<Svc<dyn Orchestrator>>().await?;
/// let report = app.run(RunRequest::everything(runtime::new_run_id())).await?;
/// assert_eq!(report.totals.tasks, 0);
/// app.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn test() -> Layers {
    layers![
        root: dyn Orchestrator;
        fixed_settings,
        test_clock,
        unlocked,
        memory_workspaces,
        no_tasks,
        no_script,
        all_green,
        undecided,
        unlooked,
        memory_verdicts,
        memory_captures,
        whole_tasks,
        in_memory_storage,
        in_memory_lessons,
        heuristic,
        shared::reflection_service,
        memory_journal,
        memory_transcripts,
        collected_events,
        nobody,
        shared::orchestrator
    ]
}

/// `ReflectionServiceTest`: always the same reflection, and a memory that keeps nothing.
#[must_use]
pub fn reflection_service_test() -> Layers {
    layers![root: dyn ReflectionService; fixed_settings, test_clock, forgetful, in_memory_lessons, canned, shared::reflection_service]
}

/// `ReflectionServiceTestWithStorage`: reflections by the rules, kept in memory.
#[must_use]
pub fn reflection_service_test_with_storage() -> Layers {
    layers![root: dyn ReflectionService; fixed_settings, test_clock, in_memory_storage, in_memory_lessons, heuristic, shared::reflection_service]
}

async fn fixed_settings() -> Result<Svc<dyn Settings>, Infallible> {
    Ok(Svc::new(crate::testing::fixed_settings()))
}

async fn test_clock() -> Result<Svc<dyn Clock>, Infallible> {
    Ok(Svc::new(TestClock::new()))
}

async fn unlocked() -> Result<Svc<dyn RunLock>, Infallible> {
    Ok(Svc::new(Unlocked))
}

async fn memory_workspaces() -> Result<Svc<dyn Workspaces>, Infallible> {
    Ok(Svc::new(MemoryWorkspaces::default()))
}

async fn no_tasks() -> Result<Svc<dyn Tasks>, Infallible> {
    Ok(Svc::new(MemoryTasks::default()))
}

async fn no_script() -> Result<Svc<dyn Subagents>, Infallible> {
    Ok(Svc::new(ScriptedSubagent::new()))
}

async fn all_green() -> Result<Svc<dyn Verifier>, Infallible> {
    Ok(Svc::new(ScriptedVerifier::new(|_, _| Ok(()))))
}

async fn undecided() -> Result<Svc<dyn CompletionVerifier>, Infallible> {
    Ok(Svc::new(Undecided))
}

async fn unlooked() -> Result<Svc<dyn ProgressJudge>, Infallible> {
    Ok(Svc::new(Undecided))
}

async fn memory_verdicts() -> Result<Svc<dyn Verdicts>, Infallible> {
    Ok(Svc::new(MemoryVerdicts::default()))
}

async fn memory_captures() -> Result<Svc<dyn Captures>, Infallible> {
    Ok(Svc::new(MemoryCaptures::default()))
}

async fn in_memory_lessons() -> Result<Svc<dyn Lessons>, Infallible> {
    Ok(Svc::new(InMemoryLessons::default()))
}

async fn in_memory_storage() -> Result<Svc<dyn Storage>, Infallible> {
    Ok(Svc::new(InMemoryStorage::default()))
}

async fn forgetful() -> Result<Svc<dyn Storage>, Infallible> {
    Ok(Svc::new(Forgetful))
}

async fn heuristic() -> Result<Svc<dyn Generator>, Infallible> {
    Ok(Svc::new(Heuristic))
}

async fn canned() -> Result<Svc<dyn Generator>, Infallible> {
    Ok(Svc::new(CannedGenerator::new(Draft {
        category: Category::RootCause,
        analysis: "The change did not do what was asked.".to_owned(),
        suggestion: "Read the failing check's output before changing anything.".to_owned(),
        action_items: vec!["Run the failing check alone.".to_owned()],
        confidence: 0.5,
        origin: Origin::Person,
    })))
}

async fn memory_journal() -> Result<Svc<dyn Journal>, Infallible> {
    Ok(Svc::new(MemoryJournal::default()))
}

async fn memory_transcripts(clock: Svc<dyn Clock>) -> Result<Svc<dyn Transcripts>, Infallible> {
    Ok(Svc::new(MemoryTranscripts::new(clock.into_arc())))
}

async fn whole_tasks() -> Result<Svc<dyn Decomposer>, Infallible> {
    Ok(Svc::new(decomposition::Nobody))
}

async fn nobody() -> Result<Svc<dyn Notifiers>, Infallible> {
    Ok(Svc::new(Nobody))
}

async fn collected_events() -> Result<Svc<dyn EventSink>, Infallible> {
    Ok(Svc::new(CollectedEvents::default()))
}
