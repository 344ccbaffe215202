//! Layers that the live and the test lists share: the same loop and the same service, on different ground.

use crate::layer::Svc;
use crate::notify::{Bell, BellParams, Watched};
use crate::orchestrator::{Loop, Services};
use crate::reflection::{Fallback, Limited, ReflectionServiceLive};
use crate::services::{
    Captures, Clock, CompletionVerifier, Decomposer, EventSink, Generator, Journal, Lessons, Notifiers, Orchestrator,
    ProgressJudge, ReflectionService, RunLock, Settings, Storage, Subagents, Tasks, Transcripts, Verdicts, Verifier,
    Workspaces,
};
use std::convert::Infallible;
use std::sync::Arc;

/// The reflection service over a store and a generator, whichever that is: within its time limit, and with the heuristic behind it.
pub(super) async fn reflection_service(
    settings: Svc<dyn Settings>,
    storage: Svc<dyn Storage>,
    lessons: Svc<dyn Lessons>,
    generator: Svc<dyn Generator>,
    clock: Svc<dyn Clock>,
) -> Result<Svc<dyn ReflectionService>, Infallible> {
    let first = Arc::new(Limited { inner: generator.into_arc(), limit: settings.reflexion().generation_timeout });
    Ok(Svc::new(ReflectionServiceLive {
        storage: storage.into_arc(),
        lessons: lessons.into_arc(),
        generator: Arc::new(Fallback { first }),
        clock: clock.into_arc(),
        settings: settings.reflexion().clone(),
    }))
}

/// The loop over its services, and whoever is told of its runs. On shutdown nothing is left to do: every attempt ends before `run` returns.
#[expect(clippy::too_many_arguments, reason = "a layer's arguments are the services it needs")]
pub(super) async fn orchestrator(
    settings: Svc<dyn Settings>,
    clock: Svc<dyn Clock>,
    tasks: Svc<dyn Tasks>,
    workspaces: Svc<dyn Workspaces>,
    subagents: Svc<dyn Subagents>,
    transcripts: Svc<dyn Transcripts>,
    verifier: Svc<dyn Verifier>,
    completion: Svc<dyn CompletionVerifier>,
    progress: Svc<dyn ProgressJudge>,
    verdicts: Svc<dyn Verdicts>,
    captures: Svc<dyn Captures>,
    reflections: Svc<dyn ReflectionService>,
    decomposer: Svc<dyn Decomposer>,
    journal: Svc<dyn Journal>,
    lock: Svc<dyn RunLock>,
    events: Svc<dyn EventSink>,
    notifiers: Svc<dyn Notifiers>,
) -> Result<Svc<dyn Orchestrator>, Infallible> {
    let bell = Arc::new(Bell::new(BellParams {
        notifiers: notifiers.into_arc(),
        events: events.into_arc(),
        clock: clock.clone().into_arc(),
        project: settings.project().name.clone(),
    }));
    let services = Services {
        settings: settings.into_arc(),
        clock: clock.into_arc(),
        tasks: tasks.into_arc(),
        workspaces: workspaces.into_arc(),
        subagents: subagents.into_arc(),
        transcripts: transcripts.into_arc(),
        verifier: verifier.into_arc(),
        completion: completion.into_arc(),
        progress: progress.into_arc(),
        verdicts: verdicts.into_arc(),
        captures: captures.into_arc(),
        decomposer: decomposer.into_arc(),
        reflections: reflections.into_arc(),
        journal: journal.into_arc(),
        lock: lock.into_arc(),
        events: bell.clone(),
    };
    Ok(Svc::new(Watched::new(Loop::new(services), bell)))
}
