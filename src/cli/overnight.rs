//! `reflexion overnight`.

use super::Exit;
use super::args::OvernightArgs;
use super::exit::UsageError;
use super::interrupt;
use super::output::errln;
use super::progress::Progress;
use super::project;
use super::run;
use super::trust;
use crate::config::Origin;
use crate::config::Override;
use crate::domain::Again;
use crate::domain::INTEGRATION;
use crate::domain::RunKind;
use crate::domain::Task;
use crate::domain::TaskId;
use crate::domain::TaskList;
use crate::domain::Timestamp;
use crate::domain::is_integration;
use crate::domain::policy;
use crate::layer::Layers;
use crate::layer::Svc;
use crate::overnight::Night;
use crate::overnight::Unfinished;
use crate::overnight::Window;
use crate::runtime;
use crate::services::Awake;
use crate::services::Clock;
use crate::services::EventSink;
use crate::services::Journal;
use crate::services::KeepAwake;
use crate::services::Orchestrator;
use crate::services::RunError;
use crate::services::RunGuard;
use crate::services::RunLock;
use crate::services::RunRequest;
use crate::services::Settings;
use crate::services::Start;
use crate::services::Tasks;
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(super) async fn overnight(dir: &Path, args: OvernightArgs) -> anyhow::Result<Exit> {
    let ids = args.tasks.iter().map(|id| TaskId::new(id.as_str()).map_err(|e| UsageError(e.to_string())));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let (layers, settings, trust) = project::guarded(dir, overrides(&args))?;
    runtime::check_state(settings.project())?;
    // A night may begin in hours, when nobody is there to install another one.
    runtime::git_version().await?;
    run::check_agent(args.how.agent.as_deref(), &*settings)?;
    let progress = Progress::new(args.json);
    let layers = layers.with(Svc::<dyn EventSink>::new(progress.clone()));
    let app = layers.build::<(Svc<dyn Orchestrator>, Svc<dyn Tasks>, Svc<dyn Journal>, Svc<dyn Clock>)>().await?;
    let (orchestrator, tasks, journal, clock) = (app.0.clone(), app.1.clone(), app.2.clone(), app.3.clone());
    let night = Night { journal: journal.into_arc(), clock: clock.clone().into_arc() };
    let given = deadline(&args, &*clock)?;
    // Before anything is said: a night that works is not one that was killed, and one that waits is not joined by another.
    let held = hold(&layers, &args, &*clock).await?;
    let unfinished = to_go_on_with(&args, &ids, &night).await?;
    check_deadline(given, args.between.as_ref(), unfinished.as_ref(), clock.now())?;
    let list = tasks.load().await?;
    run::say_problems(&list, &*settings);
    check_names(&args, &ids, &list)?;
    let again = if args.how.again { Again::Yes } else { Again::No };
    if unfinished.is_none() && ids.is_empty() && again == Again::No && !list.tasks.iter().any(run::is_open) {
        drop((orchestrator, tasks, night, clock));
        app.shutdown().await?;
        return run::nothing_open(&list, &*settings, args.json);
    }
    let asked =
        |task: &Task| unfinished.is_some() || again == Again::Yes || run::is_open(task) || ids.contains(&task.id);
    trust::ensure(&trust, &list.tasks, asked, args.how.trust).await?;
    trust::own_runs(&trust).await?;
    run::say_unprotected(&*settings);
    run::say_foreign(&*settings);
    let cancel = CancellationToken::new();
    let drain = CancellationToken::new();
    let interrupt = tokio::spawn(interrupt::drain_then_cancel(drain.clone(), cancel.clone()));
    // Before the window opens: a machine that sleeps then opens no window.
    let awake = kept_awake(&layers, &*settings).await?;
    let opened = tokio::select! {
        opened = opens(args.between.as_ref(), &night, &drain) => opened,
        () = cancel.cancelled() => Err(Closed),
    };
    let Ok(closes) = opened else {
        drop((orchestrator, tasks, night, clock));
        app.shutdown().await?;
        return Ok(Exit::Interrupted);
    };
    let request = RunRequest { drain, cancel, ..request(&args, ids, unfinished, given.or(closes)) };
    // The run takes it itself.
    drop(held);
    let result = orchestrator.run(request).await;
    drop(awake);
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
    let awake = args.no_keep_awake.then(|| Override {
        key: "overnight.keepAwake".to_owned(),
        value: false.into(),
        origin: Origin::Flag("--no-keep-awake".to_owned()),
    });
    let how = run::overrides(args.how.jobs, args.how.no_reflexion).into_iter();
    how.chain(cost).chain(tokens).chain(awake).collect()
}

/// Keeps the machine awake if that is wanted, and says once whether it does. A night is never refused for it.
async fn kept_awake(layers: &Layers, settings: &dyn Settings) -> anyhow::Result<Option<Awake>> {
    if settings.run().keep_awake == policy::KeepAwake::Off {
        return Ok(None);
    }
    let app = layers.build::<Svc<dyn KeepAwake>>().await?;
    let held = app.hold().await;
    app.shutdown().await?;
    Ok(match held {
        Ok(awake) => {
            errln!("the machine stays awake until the night is over ({})", awake.how());
            Some(awake)
        }
        Err(because) => {
            let because = project::printable(&because.to_string()).replace('\n', " ");
            errln!(
                "note: the machine may go to sleep in the middle: {because} (`--no-keep-awake` if that is all right)"
            );
            None
        }
    })
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
            None => Err(UsageError(
                "--resume: no night was killed or stopped, or none whose journal reflexion wrote here; start one without it"
                    .to_owned(),
            )
            .into()),
        };
    }
    let Some(unfinished) = unfinished else { return Ok(None) };
    if !unfinished.was_killed() {
        errln!(
            "the night {} was stopped before its end, and this is a new one: `--resume` goes on with it",
            unfinished.run
        );
        return Ok(None);
    }
    let killed = unfinished;
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

/// A night that would do nothing for a mere name is refused; among others such a task is set aside.
fn check_names(args: &OvernightArgs, ids: &[TaskId], list: &TaskList) -> Result<(), UsageError> {
    let named = |id: &TaskId| is_integration(id.as_str());
    let mut open =
        list.tasks.iter().filter(|task| args.how.again || run::is_open(task)).map(|task| &task.id).peekable();
    let alone = ids.is_empty() && open.peek().is_some() && open.all(named);
    if alone || ids.iter().any(named) {
        let message = "its branch would be the one that a night merges into: give it another id in the task file";
        return Err(UsageError(format!("task `{INTEGRATION}`: {message}")));
    }
    Ok(())
}

/// When `--until` or `--for` ends it.
fn deadline(args: &OvernightArgs, clock: &dyn Clock) -> Result<Option<Timestamp>, UsageError> {
    let Some(duration) = args.duration else {
        return Ok(args.until.map(|until| until.after(clock.now(), &clock.zone())));
    };
    let ends = clock.now().checked_add(duration);
    let too_long = |_| UsageError("--for: that is longer than anybody counts; give a time such as 8h".to_owned());
    ends.map(Some).map_err(too_long)
}

/// The project is this night's from now on, also while it waits for its window.
async fn hold(layers: &Layers, args: &OvernightArgs, clock: &dyn Clock) -> anyhow::Result<RunGuard> {
    let app = layers.build::<Svc<dyn RunLock>>().await?;
    let now = clock.now();
    let opens = args.between.as_ref().map(|window| window.opens(now, &clock.zone())).filter(|opens| *opens > now);
    let run = runtime::new_run_id();
    let held = match opens {
        Some(opens) => app.acquire_waiting(&run, opens),
        None => app.acquire(&run),
    };
    app.shutdown().await?;
    Ok(held.map_err(|held| RunError::Environment(held.to_string()))?)
}

/// A night that is over before it begins is a slip of the pen.
fn check_deadline(
    until: Option<Timestamp>,
    between: Option<&Window>,
    unfinished: Option<&Unfinished>,
    now: Timestamp,
) -> Result<(), UsageError> {
    let old = unfinished.and_then(|unfinished| unfinished.past.plan.until);
    match (until, old) {
        (Some(until), _) if until <= now => Err(UsageError(format!("the deadline {until} is over"))),
        (None, Some(old)) if old <= now && between.is_none() => {
            let message = "is over: give another, as in `reflexion overnight --resume --for 8h`";
            Err(UsageError(format!("the night's own deadline {old} {message}")))
        }
        _ => Ok(()),
    }
}

/// The window did not open before somebody interrupted.
struct Closed;

/// Waits for the window, if there is one, and says when it closes.
async fn opens(
    window: Option<&Window>,
    night: &Night,
    interrupted: &CancellationToken,
) -> Result<Option<Timestamp>, Closed> {
    let Some(window) = window else { return Ok(None) };
    let (clock, zone) = (&night.clock, night.clock.zone());
    let opens = window.opens(clock.now(), &zone);
    if opens > clock.now() {
        errln!("waiting until {}", opens.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M"));
    }
    if !night.wait_for(window, interrupted).await {
        return Err(Closed);
    }
    Ok(Some(window.closes(clock.now(), &zone)))
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
