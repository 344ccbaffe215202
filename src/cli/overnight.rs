//! `reflexion overnight`.

use super::Exit;
use super::args::OvernightArgs;
use super::exit::UsageError;
use super::interrupt;
use super::output::errln;
use super::progress::Progress;
use super::project;
use super::run;
use crate::config::Origin;
use crate::config::Override;
use crate::domain::Again;
use crate::domain::RunKind;
use crate::domain::TaskId;
use crate::domain::Timestamp;
use crate::layer::Svc;
use crate::overnight::Night;
use crate::overnight::Unfinished;
use crate::runtime;
use crate::services::Clock;
use crate::services::EventSink;
use crate::services::Journal;
use crate::services::Orchestrator;
use crate::services::RunRequest;
use crate::services::Start;
use crate::services::Tasks;
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(super) async fn overnight(dir: &Path, args: OvernightArgs) -> anyhow::Result<Exit> {
    let ids = args.tasks.iter().map(|id| TaskId::new(id.as_str()).map_err(|e| UsageError(e.to_string())));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let (layers, settings) = project::layers(dir, overrides(&args))?;
    run::check_agent(args.how.agent.as_deref(), &*settings)?;
    let progress = Progress::new(args.json);
    let app = layers
        .with(Svc::<dyn EventSink>::new(progress.clone()))
        .build::<(Svc<dyn Orchestrator>, Svc<dyn Tasks>, Svc<dyn Journal>, Svc<dyn Clock>)>()
        .await?;
    let (orchestrator, tasks, journal, clock) = (app.0.clone(), app.1.clone(), app.2.clone(), app.3.clone());
    let night = Night { journal: journal.into_arc(), clock: clock.clone().into_arc() };
    let unfinished = to_go_on_with(&args, &ids, &night).await?;
    let list = tasks.load().await?;
    run::say_problems(&list, &*settings);
    let again = if args.how.again { Again::Yes } else { Again::No };
    if unfinished.is_none() && ids.is_empty() && again == Again::No && !list.tasks.iter().any(run::is_open) {
        drop((orchestrator, tasks, night, clock));
        app.shutdown().await?;
        return run::nothing_open(&list, &*settings, args.json);
    }
    let cancel = CancellationToken::new();
    let drain = CancellationToken::new();
    let interrupt = tokio::spawn(interrupt::drain_then_cancel(drain.clone(), cancel.clone()));
    let opened = tokio::select! {
        opened = opens(&args, &night, &drain) => opened,
        () = cancel.cancelled() => Err(Closed),
    };
    let Ok(until) = opened else {
        drop((orchestrator, tasks, night, clock));
        app.shutdown().await?;
        return Ok(Exit::Interrupted);
    };
    let now = clock.now();
    check_deadline(until, unfinished.as_ref(), now)?;
    let request = RunRequest { drain, cancel, ..request(&args, ids, unfinished, until) };
    let result = orchestrator.run(request).await;
    interrupt.abort();
    progress.finish();
    drop((orchestrator, tasks, night, clock));
    app.shutdown().await?;
    run::shown(&result?, args.json, if args.tasks.is_empty() { list.problems.len() } else { 0 })
}

fn overrides(args: &OvernightArgs) -> Vec<Override> {
    let budget = |key: &str, value: Option<serde_json::Value>, flag: &str| {
        value.map(|value| Override { key: format!("budget.run.{key}"), value, origin: Origin::Flag(flag.to_owned()) })
    };
    let cost = budget("costUsd", args.max_cost.map(Into::into), "--max-cost");
    let tokens = budget("tokens", args.max_tokens.map(Into::into), "--max-tokens");
    run::overrides(args.how.jobs, args.how.no_reflexion).into_iter().chain(cost).chain(tokens).collect()
}

/// The night that goes on, if one does; says so, because nobody asked for it where a night was killed.
async fn to_go_on_with(args: &OvernightArgs, ids: &[TaskId], night: &Night) -> anyhow::Result<Option<Unfinished>> {
    if args.new {
        return Ok(None);
    }
    let unfinished = night.unfinished().await?;
    if args.resume {
        return match unfinished {
            Some(unfinished) => Ok(Some(unfinished)),
            None => Err(UsageError("--resume: no night was killed or stopped; start one without it".to_owned()).into()),
        };
    }
    let Some(killed) = unfinished.filter(Unfinished::was_killed) else { return Ok(None) };
    let other_things = !ids.is_empty() || args.how.again || args.how.agent.is_some() || args.how.max_attempts.is_some();
    if other_things {
        let message = format!(
            "the night {} was killed, and goes on as it was asked for: give `--resume` without tasks and other options \
             for it, or `--new` to begin another",
            killed.run
        );
        return Err(UsageError(message).into());
    }
    errln!("the night {} did not come to its end; it goes on (`--new` begins another)", killed.run);
    Ok(Some(killed))
}

/// A night that is over before it begins is a slip of the pen.
fn check_deadline(until: Option<Timestamp>, unfinished: Option<&Unfinished>, now: Timestamp) -> Result<(), UsageError> {
    let old = unfinished.and_then(|unfinished| unfinished.past.plan.until);
    match (until, old) {
        (Some(until), _) if until <= now => Err(UsageError(format!("--until: {until} is over"))),
        (None, Some(old)) if old <= now => {
            Err(UsageError(format!("the night's own deadline {old} is over: give another with --until or --for")))
        }
        _ => Ok(()),
    }
}

/// The window did not open before somebody interrupted.
struct Closed;

/// Waits for the window, and gives the deadline.
async fn opens(
    args: &OvernightArgs,
    night: &Night,
    interrupted: &CancellationToken,
) -> Result<Option<Timestamp>, Closed> {
    let (clock, zone) = (&night.clock, night.clock.zone());
    if let Some(window) = &args.between {
        let opens = window.opens(clock.now(), &zone);
        if opens > clock.now() {
            errln!("waiting until {}", opens.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M"));
        }
        if !night.wait_for(window, interrupted).await {
            return Err(Closed);
        }
        return Ok(Some(window.closes(clock.now(), &zone)));
    }
    let in_time = args.duration.map(|duration| clock.now() + duration);
    Ok(args.until.map(|until| until.after(clock.now(), &zone)).or(in_time))
}

fn request(
    args: &OvernightArgs,
    tasks: Vec<TaskId>,
    unfinished: Option<Unfinished>,
    until: Option<Timestamp>,
) -> RunRequest {
    let new = RunRequest {
        tasks,
        again: if args.how.again { Again::Yes } else { Again::No },
        agent: args.how.agent.clone(),
        max_attempts: args.how.max_attempts,
        kind: RunKind::Overnight,
        until,
        ..RunRequest::everything(runtime::new_run_id())
    };
    match unfinished {
        // A night that goes on keeps its deadline, unless another is given.
        Some(Unfinished { run, past }) => {
            let until = until.or(past.plan.until);
            RunRequest { run, start: Start::Resume, until, ..new }
        }
        None => new,
    }
}
