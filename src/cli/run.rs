//! `reflexion run`.

use super::args::RunArgs;
use super::events::{Events, ResultTo};
use super::exit::UsageError;
use super::output::{errln, out, outln};
use super::parts::Known;
use super::{Exit, interrupt, project, trust};
use crate::config::{Origin, Override};
use crate::domain::policy::Project;
use crate::domain::{Again, RunKind, RunReport, Status, Stop, Task, TaskId, TaskList, Verdict};
use crate::layer::Svc;
use crate::prompt::one_line;
use crate::runtime::Records;
use crate::services::{Journal, Orchestrator, RunRequest, Settings, Tasks};
use crate::{report, runtime};
use serde_json::json;
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(super) async fn run(dir: &Path, args: RunArgs) -> anyhow::Result<Exit> {
    let ids = args.tasks.iter().map(|id| TaskId::new(id.as_str()).map_err(|e| UsageError(e.to_string())));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    if args.dry_run && args.how.events.is_some() {
        return Err(UsageError("--events: with --dry-run nothing happens".to_owned()).into());
    }
    let result_to = ResultTo::of(args.json, args.how.events.as_deref())?;
    let (layers, settings, trust) = project::guarded(dir, overrides(args.how.jobs, args.how.no_reflexion))?;
    runtime::check_state(settings.project())?;
    check_agent(args.how.agent.as_deref(), &*settings)?;
    let events = Events::open(result_to, args.how.events.as_deref(), &*settings)?;
    let app = layers.clone().with(events.sink()).build::<(Svc<dyn Orchestrator>, Svc<dyn Tasks>)>().await?;
    let (orchestrator, tasks) = (app.0.clone(), app.1.clone());
    let list = tasks.load().await?;
    say_problems(&list, &*settings);
    let ids = if args.next { next(&list)? } else { ids };
    let again = if args.how.again { Again::Yes } else { Again::No };
    if args.dry_run {
        drop((orchestrator, tasks));
        app.shutdown().await?;
        let app = layers.build::<Svc<dyn Journal>>().await?;
        return dry_run(&list, &ids, (again, &**app), &*settings, &args).await;
    }
    if ids.is_empty() && again == Again::No && !list.tasks.iter().any(is_open) {
        drop((orchestrator, tasks));
        app.shutdown().await?;
        return nothing_open(&list, &*settings, args.json);
    }
    let asked =
        |task: &Task| if ids.is_empty() { again == Again::Yes || is_open(task) } else { ids.contains(&task.id) };
    checks_told_apart(list.tasks.iter().filter(|task| asked(task)), &*settings)?;
    trust::ensure(&trust, &list.tasks, asked, args.how.trust).await?;
    trust::own_runs(&trust).await?;
    say_unprotected(&*settings);
    say_foreign(&*settings);
    let cancel = CancellationToken::new();
    let interrupt = tokio::spawn(interrupt::cancel_on_signal(cancel.clone()));
    let named = !ids.is_empty();
    let request = RunRequest {
        run: runtime::new_run_id(),
        tasks: ids,
        again,
        agent: args.how.agent.clone(),
        max_attempts: args.how.max_attempts,
        cancel,
        ..RunRequest::everything(runtime::new_run_id())
    };
    let result = orchestrator.run(request).await;
    interrupt.abort();
    events.finish();
    drop((orchestrator, tasks));
    app.shutdown().await?;
    let records = Records::of(&layers).await?;
    // An unreadable line may be a task that was asked for, unless those asked for were named.
    shown(&result?, &records, result_to, if named { 0 } else { list.problems.len() }).await
}

/// Prints what a run came to, and says which exit code that is.
pub(super) async fn shown(report: &RunReport, of: &Records, to: ResultTo, problems: usize) -> anyhow::Result<Exit> {
    let text = async || {
        match of.night(&report.run).await {
            Ok((night, _)) => report::run_by_part(report, &night),
            // What cannot be read back was told all the same.
            Err(_) => report::run(report),
        }
    };
    match to {
        ResultTo::Json => project::print_json(report)?,
        ResultTo::Stdout => out!("{}", text().await),
        ResultTo::Stderr => errln!("{}", text().await.trim_end()),
    }
    Ok(exit(report, problems))
}

/// The task that a run would begin with. None, if no task is open.
fn next(list: &TaskList) -> Result<Vec<TaskId>, UsageError> {
    let open = runtime::readiness(&list.tasks);
    match open.iter().find(|readiness| readiness.because.is_empty()) {
        Some(ready) => Ok(vec![ready.task.id.clone()]),
        None if open.is_empty() => Ok(Vec::new()),
        None => Err(UsageError(
            "--next: no task is ready; `reflexion task ready` says what the open ones wait for".to_owned(),
        )),
    }
}

pub(super) fn is_open(task: &crate::domain::Task) -> bool {
    matches!(task.status, Status::Open | Status::InProgress)
}

/// Flags that stand for settings.
pub(super) fn overrides(jobs: Option<usize>, no_reflexion: bool) -> Vec<Override> {
    let set = |key: &str, value: serde_json::Value, flag: &str| Override {
        key: key.to_owned(),
        value,
        origin: Origin::Flag(flag.to_owned()),
    };
    let jobs = jobs.map(|n| set("jobs", n.into(), "--jobs"));
    let off = no_reflexion.then(|| set("reflexion.enabled", false.into(), "--no-reflexion"));
    jobs.into_iter().chain(off).collect()
}

pub(super) fn check_agent(agent: Option<&str>, settings: &dyn Settings) -> anyhow::Result<()> {
    let known = &settings.agents().named;
    match agent {
        Some(name) if !known.contains_key(name) => {
            let names = known.keys().cloned().collect::<Vec<_>>().join(", ");
            Err(UsageError(format!("--agent: there is no agent `{name}`; configured: {names}")).into())
        }
        _ => Ok(()),
    }
}

pub(super) fn say_problems(list: &TaskList, settings: &dyn Settings) {
    for problem in &list.problems {
        let file = settings.project().tasks.display();
        errln!("warning: {file}:{}: {}; the line is left as it is", problem.line, one_line(&problem.message));
    }
}

/// Refuses tasks with two checks of one name before anybody waits for a night.
pub(super) fn checks_told_apart<'t>(
    tasks: impl IntoIterator<Item = &'t Task>,
    settings: &dyn Settings,
) -> Result<(), UsageError> {
    let (checks, file) = (&settings.run().checks, settings.project().tasks.display());
    tasks.into_iter().try_for_each(|task| {
        let told = task.checks_told_apart(checks);
        told.map_err(|because| UsageError(format!("{file}: task `{}`: {because}", task.id)))
    })
}

/// A glob that protects nothing is a slip of the pen, or a directory that has moved.
pub(super) fn say_unprotected(settings: &dyn Settings) {
    if let Some(health) = runtime::protect_health(settings).filter(|health| health.advice.is_some()) {
        errln!("warning: {}", health.detail);
    }
}

/// Lessons that no prompt will hold: somebody merged, edited or forged them.
pub(super) fn say_foreign(settings: &dyn Settings) {
    for line in foreign(settings.project()) {
        errln!("warning: {line}");
    }
}

/// What of the records nobody believes, in words. Whoever reads or writes them says in its own words where that cannot be done.
pub(super) fn foreign(project: &Project) -> Vec<String> {
    let lines =
        |found: std::io::Result<usize>| found.ok().filter(|lines| *lines > 0).map(|n| report::plural(n, "line"));
    let lessons = lines(runtime::foreign_lessons(project)).map(|lines| {
        format!(
            "{lines} of memory/reflections.jsonl not written by reflexion here, so no prompt holds them: \
             `reflexion memory check` lists them, `reflexion memory check --adopt` takes them over"
        )
    });
    lessons.into_iter().chain(foreign_marks(project)).collect()
}

/// What somebody else says that runs found out about tasks.
pub(super) fn foreign_marks(project: &Project) -> Option<String> {
    let marks = runtime::foreign_marks(project).ok().filter(|marks| *marks > 0)?;
    let then = match runtime::run_began(project) {
        Ok(false) => {
            "and no run of yours has begun anywhere yet, so what they say of tasks is believed: remove the file if it is not yours"
        }
        _ => "so what they say of tasks is not believed",
    };
    Some(format!("{} of .reflection/tasks.jsonl not written by reflexion here, {then}", report::plural(marks, "line")))
}

pub(super) fn nothing_open(list: &TaskList, settings: &dyn Settings, json: bool) -> anyhow::Result<Exit> {
    let blocked = list.tasks.iter().filter(|t| t.status == Status::Blocked).count();
    let closed = list.tasks.iter().filter(|t| t.status == Status::Closed).count();
    errln!("nothing is open in {}: {closed} closed, {blocked} blocked", settings.project().tasks.display());
    for task in list.tasks.iter().filter(|t| t.status == Status::Blocked) {
        let cause = list.causes.get(&task.id).map(|c| format!(": {c}")).unwrap_or_default();
        errln!("  {} is blocked{cause}", task.id);
    }
    if list.tasks.is_empty() {
        errln!("add a task with `reflexion task add TITLE --check COMMAND`");
    } else {
        errln!("`reflexion task reopen TASK` opens one again; `reflexion run --again` does them all again");
    }
    if json {
        let report = RunReport {
            run: runtime::new_run_id(),
            project: settings.project().name.clone(),
            tasks: Vec::new(),
            totals: crate::domain::RunTotals::default(),
            kind: RunKind::Run,
            interrupted: false,
            stopped: None,
            integration: None,
        };
        project::print_json(&report)?;
    }
    Ok(if list.problems.is_empty() { Exit::Confirmed } else { Exit::NotConfirmed })
}

async fn dry_run(
    list: &TaskList,
    ids: &[TaskId],
    (again, journal): (Again, &dyn Journal),
    settings: &dyn Settings,
    args: &RunArgs,
) -> anyhow::Result<Exit> {
    let mut tasks = list.select(ids, again).map_err(UsageError)?;
    checks_told_apart(&tasks, settings)?;
    tasks.sort_by_key(crate::domain::Task::rank);
    let earlier = runtime::track_record(settings, journal, &list.tasks).await?;
    let route = |t: &crate::domain::Task| runtime::route(settings.agents(), t, args.how.agent.as_deref(), &earlier);
    let checks = |t: &crate::domain::Task| -> Vec<String> {
        let own = t.subtasks.iter().flat_map(|s| &s.checks).chain(&t.checks);
        settings.run().checks.iter().chain(own).map(|c| format!("{}: {}", c.name, c.run)).collect()
    };
    let attempts =
        |t: &crate::domain::Task| args.how.max_attempts.or(t.max_attempts).unwrap_or(settings.run().max_attempts);
    if args.json {
        let planned: Vec<_> = tasks
            .iter()
            .map(|t| {
                let route = route(t);
                json!({"id": t.id, "title": t.title, "agents": route.agents, "because": route.because, "checks": checks(t), "maxAttempts": attempts(t)})
            })
            .collect();
        project::print_json(&json!({ "dryRun": true, "tasks": planned }))?;
    } else {
        let proposed = runtime::proposed(settings, journal).await?;
        for task in &tasks {
            let route = route(task);
            let because = route.because.map(|because| format!(", because {because}")).unwrap_or_default();
            if let Some(unknown) = task.agent.as_ref().filter(|agent| !settings.agents().named.contains_key(*agent)) {
                errln!(
                    "warning: task {} is for the agent `{unknown}`, which is not under `agents` in {}",
                    task.id,
                    settings.project().settings
                );
            }
            let agents = format!("{}{because}", route.agents.join(", then "));
            outln!(
                "{}  {}\n  agent: {agents}; up to {}",
                task.id,
                task.title,
                report::plural(attempts(task) as usize, "attempt")
            );
            let known = Known { how: settings.run().decompose, list, told: proposed.get(&task.id) };
            known.said(task).lines().for_each(|line| outln!("  {line}"));
            let checks = checks(task);
            outln!(
                "  checks: {}",
                if checks.is_empty() { "none, so it will be unverifiable".to_owned() } else { checks.join("; ") }
            );
        }
        let asked = |id: &TaskId| tasks.iter().any(|task| task.id == *id);
        let waits = runtime::readiness(&list.tasks);
        let waits = waits.iter().filter(|r| !r.because.is_empty() && asked(&r.task.id)).count();
        outln!(
            "{} would be worked on{}, {} at a time; nothing was started",
            report::plural(tasks.len(), "task"),
            if waits == 0 { String::new() } else { format!(" ({waits} of them when what they wait for is done)") },
            settings.run().jobs
        );
    }
    Ok(Exit::Confirmed)
}

fn exit(report: &RunReport, problems: usize) -> Exit {
    let environment = |t: &crate::domain::TaskReport| t.verdict.is_none() && t.stop == Some(Stop::Environment);
    // What was confirmed on its branch and not merged any more has a reason why it was stopped.
    let done = |t: &crate::domain::TaskReport| t.verdict == Some(Verdict::Confirmed) && t.stop.is_none();
    if report.interrupted {
        Exit::Interrupted
    } else if report.tasks.iter().all(done) && problems == 0 {
        Exit::Confirmed
    } else if report.stopped.is_some()
        || report.tasks.iter().any(|t| matches!(t.stop, Some(Stop::Limit | Stop::Budget)))
    {
        Exit::LeftOpen
    } else if !report.tasks.is_empty() && report.tasks.iter().all(environment) {
        Exit::Environment
    } else {
        Exit::NotConfirmed
    }
}
