//! `reflexion overnight`.

use super::args::OvernightArgs;
use super::events::{Events, ResultTo};
use super::exit::UsageError;
use super::init::quoted;
use super::output::errln;
use super::{Exit, interrupt, project, run, trust};
use crate::config::{Origin, Override};
use crate::domain::{
    Again, INTEGRATION, RunKind, RunOptions, RunReport, RunStop, Task, TaskId, TaskList, Timestamp, is_integration,
    policy,
};
use crate::layer::{Layers, Svc};
use crate::overnight::{Night, Unfinished, Window};
use crate::report::plural;
use crate::runtime;
use crate::services::{
    Awake, Clock, Journal, KeepAwake, Orchestrator, RunError, RunGuard, RunLock, RunRequest, Settings, Start, Tasks,
};
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(super) async fn overnight(dir: &Path, args: OvernightArgs) -> anyhow::Result<Exit> {
    let ids = args.tasks.iter().map(|id| TaskId::new(id.as_str()).map_err(|e| UsageError(e.to_string())));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let result_to = ResultTo::of(args.json, args.how.events.as_deref())?;
    let (layers, settings, trust) = project::guarded(dir, overrides(&given(&args)))?;
    runtime::check_state(settings.project())?;
    // A night may begin in hours, when nobody is there to install another one.
    runtime::git_version().await?;
    let records = layers.build::<(Svc<dyn Journal>, Svc<dyn Clock>)>().await?;
    let night = Night { journal: records.0.clone().into_arc(), clock: records.1.clone().into_arc() };
    let deadline = deadline(&args, &*night.clock)?;
    // Before anything is said: a night that works is not one that was killed, and one that waits is not joined by another.
    let held = hold(&layers, &args, &night).await?;
    let unfinished = to_go_on_with(&args, &ids, &night).await?;
    let asked_for = AskedFor::of(&args, unfinished.as_ref());
    let until = UntilOf { given: deadline, window: asked_for.window(deadline)? };
    until.check(unfinished.as_ref(), night.clock.now())?;
    // What the night had stands in the place of settings from now on.
    let (layers, settings, trust) = match &unfinished {
        Some(_) => project::guarded_again(dir, overrides(&asked_for.options))?,
        None => (layers, settings, trust),
    };
    let trust = match &unfinished {
        Some(unfinished) => trust.going_on_with(&unfinished.run),
        None => trust,
    };
    run::check_agent(asked_for.agent.as_deref(), &*settings)?;
    if let Some(unfinished) = &unfinished {
        asked_for.say(unfinished, until.given, args.resume);
        if let Some(because) = used_up(unfinished, &*settings) {
            drop(night);
            records.shutdown().await?;
            return refused(unfinished, &asked_for.options, &because, &*settings, args.json);
        }
    }
    let events = Events::open(result_to, args.how.events.as_deref(), &*settings)?;
    let layers = layers.with(events.sink());
    let app = layers.build::<(Svc<dyn Orchestrator>, Svc<dyn Tasks>)>().await?;
    let (orchestrator, tasks) = (app.0.clone(), app.1.clone());
    let list = tasks.load().await?;
    run::say_problems(&list, &*settings);
    check_names(&args, &ids, &list)?;
    let again = if args.how.again { Again::Yes } else { Again::No };
    if unfinished.is_none() && ids.is_empty() && again == Again::No && !list.tasks.iter().any(run::is_open) {
        drop((orchestrator, tasks, night));
        app.shutdown().await?;
        records.shutdown().await?;
        return run::nothing_open(&list, &*settings, args.json);
    }
    let asked =
        |task: &Task| unfinished.is_some() || again == Again::Yes || run::is_open(task) || ids.contains(&task.id);
    run::checks_told_apart(begins(&list, &ids, again, unfinished.as_ref()), &*settings)?;
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
        opened = opens(until.window.as_ref(), &night, &drain) => opened,
        () = cancel.cancelled() => Err(Closed),
    };
    let Ok(closes) = opened else {
        drop((orchestrator, tasks, night));
        app.shutdown().await?;
        records.shutdown().await?;
        return Ok(Exit::Interrupted);
    };
    let request = RunRequest { drain, cancel, ..request(again, ids, asked_for, unfinished, until.given.or(closes)) };
    say_limits(&request, &*settings, &night.clock.zone());
    // The run takes it itself.
    drop(held);
    let result = orchestrator.run(request).await;
    drop(awake);
    interrupt.abort();
    events.finish();
    drop((orchestrator, tasks, night));
    app.shutdown().await?;
    records.shutdown().await?;
    let problems = if args.tasks.is_empty() { list.problems.len() } else { 0 };
    run::shown(&result?, &runtime::Records::of(&layers).await?, result_to, problems).await
}

/// What stands on this command line in the place of settings.
fn given(args: &OvernightArgs) -> RunOptions {
    RunOptions {
        jobs: args.how.jobs,
        max_cost: args.max_cost,
        max_tokens: args.max_tokens,
        no_reflexion: args.how.no_reflexion,
        no_keep_awake: args.no_keep_awake,
        between: args.between.as_ref().map(ToString::to_string),
    }
}

fn overrides(options: &RunOptions) -> Vec<Override> {
    let set = |key: &str, value: Option<serde_json::Value>, flag: &str| {
        value.map(|value| Override { key: key.to_owned(), value, origin: Origin::Flag(flag.to_owned()) })
    };
    let cost = set("budget.run.costUsd", options.max_cost.map(Into::into), "--max-cost");
    let tokens = set("budget.run.tokens", options.max_tokens.map(Into::into), "--max-tokens");
    let awake = options.no_keep_awake.then(|| false.into());
    let awake = set("overnight.keepAwake", awake, "--no-keep-awake");
    let how = run::overrides(options.jobs, options.no_reflexion).into_iter();
    how.chain(cost).chain(tokens).chain(awake).collect()
}

/// How a night is asked for: what is given now, and of one that goes on what it had.
struct AskedFor {
    options: RunOptions,
    agent: Option<String>,
    max_attempts: Option<u32>,
}

impl AskedFor {
    fn of(args: &OvernightArgs, unfinished: Option<&Unfinished>) -> Self {
        let plan = unfinished.map(|unfinished| unfinished.past.plan.clone()).unwrap_or_default();
        let mut options = given(args).or(&plan.options);
        // Another end takes the place of a window, and a window that of an end.
        if args.until.is_some() || args.duration.is_some() {
            options.between = None;
        }
        Self {
            options,
            agent: args.how.agent.clone().or(plan.agent),
            max_attempts: args.how.max_attempts.or(plan.max_attempts),
        }
    }

    /// The part of the day in which there is work.
    fn window(&self, deadline: Option<Timestamp>) -> Result<Option<Window>, UsageError> {
        let window = self.options.between.as_deref().filter(|_| deadline.is_none());
        window.map(str::parse).transpose().map_err(|error: crate::overnight::WindowError| UsageError(error.to_string()))
    }

    /// Says how a night that goes on was asked for, and what it is asked for now.
    fn say(&self, unfinished: &Unfinished, until: Option<Timestamp>, resume: bool) {
        let plan = &unfinished.past.plan;
        let tasks = (!plan.everything).then(|| unfinished.past.tasks.iter().map(ToString::to_string));
        let again = (plan.again == Again::Yes).then(|| "--again".to_owned());
        let agent = self.agent.as_ref().map(|agent| format!("--agent {agent}"));
        let attempts = self.max_attempts.map(|attempts| format!("--max-attempts {attempts}"));
        let until = until.or(plan.until).filter(|_| self.options.between.is_none());
        let until = until.map(|until| format!("--until {until}"));
        let words: Vec<String> = tasks.into_iter().flatten().chain(again).chain(agent).chain(attempts).collect();
        let words: Vec<String> = words.into_iter().chain(words_of(&self.options)).chain(until).collect();
        let words = if words.is_empty() { "no options".to_owned() } else { words.join(" ") };
        let goes_on = if resume {
            "goes on as it was asked for"
        } else {
            "did not come to its end; it goes on (`--new` begins another)"
        };
        errln!("the night {} {goes_on}: {words}", unfinished.run);
    }
}

fn words_of(options: &RunOptions) -> impl Iterator<Item = String> {
    let jobs = options.jobs.map(|jobs| format!("--jobs {jobs}"));
    let cost = options.max_cost.map(|cost| format!("--max-cost {cost}"));
    let tokens = options.max_tokens.map(|tokens| format!("--max-tokens {tokens}"));
    let reflexion = options.no_reflexion.then(|| "--no-reflexion".to_owned());
    let awake = options.no_keep_awake.then(|| "--no-keep-awake".to_owned());
    let between = options.between.as_ref().map(|between| format!("--between {between}"));
    [jobs, cost, tokens, reflexion, awake, between].into_iter().flatten()
}

/// Says until when a night works, and what it may use; nothing where neither has an end.
fn say_limits(request: &RunRequest, settings: &dyn Settings, zone: &jiff::tz::TimeZone) {
    let budget = settings.run().budgets.run;
    let until = request.until.map(|until| until.to_zoned(zone.clone()).strftime("until %Y-%m-%d %H:%M").to_string());
    let cost = budget.micro_usd.map(|micro| format!("at most ${:.2}", micro as f64 / 1e6));
    let tokens = budget.tokens.map(|tokens| format!("at most {tokens} tokens"));
    let attempts = budget.attempts.map(|attempts| format!("at most {}", plural(attempts as usize, "attempt")));
    let limits: Vec<String> = until.into_iter().chain(cost).chain(tokens).chain(attempts).collect();
    if limits.is_empty() {
        errln!("the night works until the list is empty, without a budget (`--for 8h`, `--max-cost 20`)");
    } else {
        errln!("the night works {}", limits.join(", "));
    }
}

/// How the budget of a night that was stopped is used up, if nobody has raised it. One that was killed may have work that is only to be
/// merged, which costs nothing.
fn used_up(unfinished: &Unfinished, settings: &dyn Settings) -> Option<String> {
    let stopped = !unfinished.was_killed();
    unfinished.past.used_up(&settings.run().budgets.run).filter(|_| stopped)
}

/// Nothing begins, and nothing is written down of it.
fn refused(
    unfinished: &Unfinished,
    options: &RunOptions,
    because: &str,
    settings: &dyn Settings,
    json: bool,
) -> anyhow::Result<Exit> {
    let raise = match options.raised() {
        Some(flags) => format!("as in `reflexion overnight --resume {flags}`"),
        None => "under `budget.run` in the settings, or with `--max-cost` and `--max-tokens`".to_owned(),
    };
    errln!("{because}; nothing was begun. Raise it to go on, {raise}");
    if json {
        let report = RunReport {
            run: unfinished.run.clone(),
            project: settings.project().name.clone(),
            tasks: Vec::new(),
            totals: crate::domain::RunTotals::default(),
            kind: RunKind::Overnight,
            interrupted: false,
            stopped: Some(RunStop::Budget),
            integration: None,
        };
        project::print_json(&report)?;
    }
    Ok(Exit::LeftOpen)
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
            let because = because.to_string().replace('\n', " ");
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
    if !is_asked_for_again(args, ids, &killed) {
        return Err(UsageError(two_nights(&killed)).into());
    }
    Ok(Some(killed))
}

/// What was found where another night is asked for than the one that was killed, and the two commands to choose from.
fn two_nights(killed: &Unfinished) -> String {
    let past = &killed.past;
    let ids: Vec<String> = past.tasks.iter().map(|id| format!("`{id}`")).collect();
    let tasks = if past.plan.everything { "every open task".to_owned() } else { ids.join(", ") };
    let again = if past.plan.again == Again::Yes { " with `--again`" } else { "" };
    let given: Vec<String> = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy())).collect();
    format!(
        "the night {} was killed before it was done. It was asked for {tasks}{again}, and this one is asked for something else. Choose:\n  \
         reflexion overnight --resume\n    goes on with that night, as it was asked for\n  reflexion {} --new\n    begins this one, and leaves \
         that one as it is",
        killed.run,
        given.join(" ")
    )
}

/// Whether the tasks are those of a night, or none are given. Other options may be others by now.
fn is_asked_for_again(args: &OvernightArgs, ids: &[TaskId], night: &Unfinished) -> bool {
    let past = &night.past;
    let mut given: Vec<&TaskId> = ids.iter().collect();
    let mut had: Vec<&TaskId> = past.tasks.iter().collect();
    given.sort();
    had.sort();
    let same_tasks = ids.is_empty() || (!past.plan.everything && given == had);
    same_tasks && (!args.how.again || past.plan.again == Again::Yes)
}

/// The tasks that a night begins with.
fn begins<'l>(
    list: &'l TaskList,
    ids: &'l [TaskId],
    again: Again,
    unfinished: Option<&'l Unfinished>,
) -> impl Iterator<Item = &'l Task> {
    let ids = unfinished.filter(|night| !night.past.plan.everything).map_or(ids, |night| &night.past.tasks);
    let asked =
        move |task: &&Task| (again == Again::Yes || run::is_open(task)) && (ids.is_empty() || ids.contains(&task.id));
    list.tasks.iter().filter(asked)
}

/// A night that would do nothing for a mere name is refused; among others such a task is blocked.
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
async fn hold(layers: &Layers, args: &OvernightArgs, night: &Night) -> anyhow::Result<RunGuard> {
    let app = layers.build::<Svc<dyn RunLock>>().await?;
    let now = night.clock.now();
    // What a night that works writes down may change while it is read: another look follows when it is known that none works.
    let before = night.unfinished().await?.filter(|before| !args.new && (args.resume || before.was_killed()));
    let window = AskedFor::of(args, before.as_ref()).window(None)?;
    let opens = window.map(|window| window.opens(now, &night.clock.zone())).filter(|opens| *opens > now);
    let run = runtime::new_run_id();
    let held = match opens {
        Some(opens) => app.acquire_waiting(&run, opens),
        None => app.acquire(&run),
    };
    app.shutdown().await?;
    Ok(held.map_err(|held| RunError::Environment(held.to_string()))?)
}

/// When a night ends.
struct UntilOf {
    given: Option<Timestamp>,
    window: Option<Window>,
}

impl UntilOf {
    /// A night that is over before it begins is a slip of the pen.
    fn check(&self, unfinished: Option<&Unfinished>, now: Timestamp) -> Result<(), UsageError> {
        let old = unfinished.and_then(|unfinished| unfinished.past.plan.until);
        match (self.given, old) {
            (Some(until), _) if until <= now => Err(UsageError(format!("the deadline {until} is over"))),
            (None, Some(old)) if old <= now && self.window.is_none() => {
                let message = "is over: give another, as in `reflexion overnight --resume --for 8h`";
                Err(UsageError(format!("the night's own deadline {old} {message}")))
            }
            _ => Ok(()),
        }
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
    again: Again,
    tasks: Vec<TaskId>,
    asked_for: AskedFor,
    unfinished: Option<Unfinished>,
    until: Option<Timestamp>,
) -> RunRequest {
    let new = RunRequest {
        tasks,
        again,
        agent: asked_for.agent,
        max_attempts: asked_for.max_attempts,
        kind: RunKind::Overnight,
        until,
        options: asked_for.options,
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
