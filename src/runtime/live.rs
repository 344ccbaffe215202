//! The live layers, in the order in which a reader meets them.

use super::agents::{AgentSet, Parts};
use super::events::TracedEvents;
use super::files::task_file;
use super::given::guarded;
use super::models::ModelSet;
use super::policies::GuardedModels;
use super::redacted::RedactedRunner;
use super::runs::runs;
use super::settings::settings_of_current_dir;
use super::{judges, notify, shared};
use crate::asking::{ConfiguredRespondents, ConfiguredRespondentsParams};
use crate::decomposition::AskedDecomposer;
use crate::domain::{Origin, policy};
use crate::hooks::AttemptCaptures;
use crate::host::{
    HostKeepAwake, HostRemote, HostRunner, HostWorkspaces, HostWorkspacesParams, ProjectLock, SystemClock,
};
use crate::layer::{Layers, Svc};
use crate::reflection::{AskedGenerator, Heuristic, Signatures};
use crate::services::{
    Captures, Clock, CommandRunner, CompletionVerifier, Decomposer, EventSink, FailureReader, Generator, Journal,
    Judge, KeepAwake, Lessons, Models, Notifiers, Orchestrator, ProgressJudge, ReflectionService, Remote, Respondents,
    RunLock, Runs, Settings, Storage, SubagentError, Subagents, Tasks, Transcripts, Verdicts, Verifier, Who,
    Workspaces,
};
use crate::storage::{JsonlStorage, LessonFiles, RunJournal, Seals, TranscriptFiles, VerdictFiles};
use crate::verification::judging::Authors;
use crate::verification::{Checks, Completion, CompletionParams, Progress};
use crate::{decomposition, layers};
use std::convert::Infallible;
use std::sync::Arc;

/// Everything live: the orchestrator on real processes, git and files, with the settings of the current directory until
/// `.with(…)` brings others. Services that are given in place of these stay behind guards, see [`guarded`](super::guarded).
#[must_use]
pub fn live() -> Layers {
    guarded(layers![
        root: dyn Orchestrator, dyn ReflectionService, dyn Storage, dyn Lessons, dyn Tasks, dyn Workspaces, dyn CompletionVerifier, dyn ProgressJudge, dyn Journal, dyn Runs, dyn Clock, dyn Notifiers;
        settings_of_current_dir, // project.json under the environment
        clock,                   // wall clock and ids
        command_runner,          // processes in groups of their own, swept at the end
        run_lock,                // one run per project
        workspaces,              // repositories of their own, or copies where there is no git
        tasks,                   // tasks.jsonl and the overlay
        transcripts,             // what agents did, step by step, per run
        models,                  // language models, each behind its policies
        subagents,               // the configured agents, each behind its policies (`policies.rs`)
        respondents,             // programs, agents and models that are asked for an answer
        failure_reader,          // failure signatures
        verifier,                // checks
        judge,                   // who is asked where the facts leave it open
        keep_awake,              // the machine does not go to sleep
        remote,                  // what git and gh know of the remote
        completion_verifier,     // gates, then self-assessment, judge, committee
        progress_judge,          // stuck, looping, forgetful agents
        verdicts,                // .reflection/verdict_<session>.json
        captures,                // .reflection/reflections/*.reflection.json
        storage,                 // memory/reflections.jsonl
        lessons,                 // memory/lessons.jsonl, and memory/attempts.jsonl to read
        generator,               // heuristic, command, agent or llm
        shared::reflection_service, // generate (in time, or by the heuristic), save, recall, format, prune
        decomposer,              // who is asked for the parts of a task; nobody unless `decompose` says so
        journal,                 // .reflection/runs/<run>/journal.jsonl
        runs,                    // the same for those who look at it: report, status, watch, analyze
        events,                  // logs; the program puts its progress display in this place
        notify::notifiers,       // whoever hears of a run that nobody watches; nobody unless `notify` says so
        shared::orchestrator     // the loop over all of these
    ])
}

/// Only the reflection service and what it needs, live: for a loop of your own.
#[must_use]
pub fn reflection_service_live() -> Layers {
    guarded(layers![
        root: dyn ReflectionService;
        settings_of_current_dir,
        clock,
        command_runner,
        models,
        subagents,
        respondents,
        storage,
        lessons,
        generator,
        shared::reflection_service
    ])
}

async fn clock() -> Result<Svc<dyn Clock>, Infallible> {
    Ok(Svc::new(SystemClock::new()))
}

async fn command_runner(settings: Svc<dyn Settings>) -> Result<Svc<dyn CommandRunner>, Infallible> {
    let (project, sandbox) = (settings.project(), settings.environment().sandbox.clone());
    let runner = HostRunner::of_project(project.state_dir()).confined(project, sandbox);
    Ok(Svc::new(RedactedRunner(Arc::new(runner))))
}

async fn run_lock(settings: Svc<dyn Settings>, clock: Svc<dyn Clock>) -> Result<Svc<dyn RunLock>, Infallible> {
    Ok(Svc::new(ProjectLock::new(settings.project().state_dir(), clock.into_arc())))
}

async fn workspaces(
    settings: Svc<dyn Settings>,
    runner: Svc<dyn CommandRunner>,
    clock: Svc<dyn Clock>,
) -> Result<Svc<dyn Workspaces>, Infallible> {
    Ok(Svc::new(HostWorkspaces::new(HostWorkspacesParams {
        project: settings.project().clone(),
        workspace: settings.workspace().clone(),
        environment: settings.environment().clone(),
        runner: runner.into_arc(),
        clock: clock.into_arc(),
    })))
}

async fn tasks(settings: Svc<dyn Settings>, clock: Svc<dyn Clock>) -> Result<Svc<dyn Tasks>, Infallible> {
    Ok(Svc::new(task_file(&*settings, clock.into_arc())))
}

async fn subagents(
    settings: Svc<dyn Settings>,
    runner: Svc<dyn CommandRunner>,
    models: Svc<dyn Models>,
    clock: Svc<dyn Clock>,
) -> Result<Svc<dyn Subagents>, SubagentError> {
    let parts = Parts { runner: runner.into_arc(), models: models.into_arc(), clock: clock.into_arc() };
    Ok(Svc::new(AgentSet::new(&*settings, &parts)?))
}

async fn transcripts(settings: Svc<dyn Settings>, clock: Svc<dyn Clock>) -> Result<Svc<dyn Transcripts>, Infallible> {
    let keep = settings.workspace().transcripts_bytes;
    Ok(Svc::new(TranscriptFiles::new(settings.project().clone(), clock.into_arc(), keep)))
}

async fn models() -> Result<Svc<dyn Models>, Infallible> {
    Ok(Svc::new(GuardedModels::new(ModelSet)))
}

async fn failure_reader() -> Result<Svc<dyn FailureReader>, Infallible> {
    Ok(Svc::new(Signatures))
}

async fn verifier(
    settings: Svc<dyn Settings>,
    runner: Svc<dyn CommandRunner>,
    reader: Svc<dyn FailureReader>,
) -> Result<Svc<dyn Verifier>, Infallible> {
    Ok(Svc::new(Checks::new(runner.into_arc(), reader.into_arc(), settings.environment().deny.clone())))
}

async fn respondents(
    settings: Svc<dyn Settings>,
    runner: Svc<dyn CommandRunner>,
    subagents: Svc<dyn Subagents>,
    models: Svc<dyn Models>,
    clock: Svc<dyn Clock>,
) -> Result<Svc<dyn Respondents>, Infallible> {
    Ok(Svc::new(ConfiguredRespondents::new(ConfiguredRespondentsParams {
        runner: runner.into_arc(),
        subagents: subagents.into_arc(),
        models: models.into_arc(),
        clock: clock.into_arc(),
        dir: settings.project().root.clone(),
        env_deny: settings.environment().deny.clone(),
        places: settings.project().asked_dir(),
    })))
}

async fn judge(
    settings: Svc<dyn Settings>,
    respondents: Svc<dyn Respondents>,
    clock: Svc<dyn Clock>,
) -> Result<Svc<dyn Judge>, SubagentError> {
    Ok(judges::judge(&*settings, &*respondents, clock.into_arc())?.into())
}

async fn remote(runner: Svc<dyn CommandRunner>) -> Result<Svc<dyn Remote>, Infallible> {
    Ok(Svc::new(HostRemote::new(runner.into_arc())))
}

async fn keep_awake(runner: Svc<dyn CommandRunner>) -> Result<Svc<dyn KeepAwake>, Infallible> {
    Ok(Svc::new(HostKeepAwake::new(runner.into_arc())))
}

async fn completion_verifier(
    settings: Svc<dyn Settings>,
    judge: Svc<dyn Judge>,
    remote: Svc<dyn Remote>,
    respondents: Svc<dyn Respondents>,
) -> Result<Svc<dyn CompletionVerifier>, SubagentError> {
    let verification = settings.verification();
    let committee = judges::committee(verification, &*respondents)?;
    Ok(Svc::new(Completion::new(CompletionParams {
        policy: verification.clone(),
        judge: judge.into_arc(),
        authors: Authors { respondents: respondents.into_arc(), limit: verification.judge_timeout },
        reviewer: committee.reviewer,
        auditor: committee.auditor,
        remote: remote.into_arc(),
    })))
}

async fn progress_judge(judge: Svc<dyn Judge>, clock: Svc<dyn Clock>) -> Result<Svc<dyn ProgressJudge>, Infallible> {
    Ok(Svc::new(Progress::new(judge.into_arc(), clock.into_arc())))
}

async fn verdicts(settings: Svc<dyn Settings>) -> Result<Svc<dyn Verdicts>, Infallible> {
    Ok(Svc::new(VerdictFiles::new(settings.project()).keeping(settings.reflexion().retention_days)))
}

async fn captures(settings: Svc<dyn Settings>, clock: Svc<dyn Clock>) -> Result<Svc<dyn Captures>, Infallible> {
    Ok(Svc::new(AttemptCaptures::new(settings.project().clone(), clock.into_arc())))
}

async fn storage(settings: Svc<dyn Settings>) -> Result<Svc<dyn Storage>, Infallible> {
    Ok(Svc::new(JsonlStorage::of(settings.project(), Seals::of(settings.project()))))
}

async fn lessons(settings: Svc<dyn Settings>) -> Result<Svc<dyn Lessons>, Infallible> {
    Ok(Svc::new(LessonFiles::of(settings.project(), Seals::of(settings.project()))))
}

/// The configured generator. Its time limit and the heuristic behind it are the reflection service's: one that is swapped in has them too.
async fn generator(
    settings: Svc<dyn Settings>,
    respondents: Svc<dyn Respondents>,
) -> Result<Svc<dyn Generator>, SubagentError> {
    let reflexion = settings.reflexion();
    let (who, origin) = match &reflexion.generator {
        policy::Generator::Heuristic => return Ok(Svc::new(Heuristic)),
        policy::Generator::Command { argv } => (Who::Program { argv: argv.clone() }, Origin::Command),
        policy::Generator::Agent { name } => {
            let cannot = "write reflections; name another agent in `reflexion.generator.agent`, or use a generator of \
                          another type";
            (Who::Agent { name: name.clone(), cannot: cannot.to_owned() }, Origin::Agent)
        }
        policy::Generator::Llm { model } => (one_model(model), Origin::Llm { model: model.name.clone() }),
    };
    Ok(Svc::new(AskedGenerator { who: respondents.open(who, reflexion.generation_timeout)?, origin }))
}

async fn decomposer(
    settings: Svc<dyn Settings>,
    respondents: Svc<dyn Respondents>,
) -> Result<Svc<dyn Decomposer>, SubagentError> {
    let (who, limit) = match &settings.run().decomposer {
        policy::Decomposer::Nobody => return Ok(Svc::new(decomposition::Nobody)),
        policy::Decomposer::Agent { name, timeout } => {
            let cannot = "split tasks; name another agent in `decompose.agent`".to_owned();
            (Who::Agent { name: name.clone(), cannot }, *timeout)
        }
        policy::Decomposer::Llm { model } => (one_model(model), model.limits.timeout),
    };
    Ok(Svc::new(AskedDecomposer { who: respondents.open(who, limit)? }))
}

fn one_model(model: &policy::Model) -> Who {
    Who::Model { wanted: vec![model.name.clone()], template: model.clone() }
}

async fn journal(settings: Svc<dyn Settings>, clock: Svc<dyn Clock>) -> Result<Svc<dyn Journal>, Infallible> {
    Ok(Svc::new(RunJournal::new(settings.project().clone(), Seals::of(settings.project()), clock.into_arc())))
}

async fn events() -> Result<Svc<dyn EventSink>, Infallible> {
    Ok(Svc::new(TracedEvents))
}
