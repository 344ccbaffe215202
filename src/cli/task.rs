//! `reflexion task`.

use super::args::{TaskAddArgs, TaskArgs, TaskCommand, TaskEditArgs, TaskOptions, TasksNamed};
use super::exit::UsageError;
use super::output::{errln, out, outln};
use super::run::foreign_marks;
use super::{Exit, parts, project, task_checks, trust};
use crate::config::Effective;
use crate::domain::{
    AttemptCount, DistinctKeys, Expects, Status, Task, TaskList, TrustItem, is_integration, nearest_id,
};
use crate::layer::Svc;
use crate::prompt::one_line;
use crate::report::plural;
use crate::runtime;
use crate::runtime::{Readiness, TaskFile, TrackRecord, Trust};
use crate::services::{Journal, Settings, Tasks, TasksError};
use serde_json::{Map, Value, json};
use std::path::Path;

pub(super) async fn task(dir: &Path, args: TaskArgs) -> anyhow::Result<Exit> {
    let effective = project::load(dir, Vec::new())?;
    let settings = runtime::settings_before_trust(&effective)?;
    let trust = Trust::of(&effective)?;
    let file = runtime::task_file(&*settings, runtime::system_clock());
    if matches!(args.command, TaskCommand::List { .. } | TaskCommand::Ready { .. } | TaskCommand::Show { .. }) {
        foreign_marks(settings.project()).iter().for_each(|line| errln!("warning: {line}"));
    }
    match args.command {
        TaskCommand::List { status, json } => list(&file, status.as_deref(), json).await,
        TaskCommand::Ready { json } => ready(&file, json).await,
        TaskCommand::Show { id, json } => {
            let app = project::live().with(settings.clone()).build::<Svc<dyn Journal>>().await?;
            show(&file, &id, &*settings, &**app, json).await
        }
        TaskCommand::Add(add) => {
            trust::ensure_task_file(&trust)?;
            if let Some(id) = add.id.as_deref().filter(|id| is_integration(id)) {
                let message = "a night's own branch is called that, and tasks' branches are beside it: give another id";
                return Err(UsageError(format!("--id {id}: {message}")).into());
            }
            let fields = new_task(&add);
            globs_inside(&effective, &fields)?;
            checks_told_apart(&fields, &*settings)?;
            // Before a night that is at work sees it.
            trust::wrote(&trust, &theirs(&effective, add.id.as_deref().unwrap_or("new"), &fields)).await;
            let added = usage(file.add(fields.clone()).await)?;
            // What a task permits is trusted by its id, which may have been found just now.
            trust::wrote(&trust, &theirs(&effective, added.id.as_str(), &fields)).await;
            say_unknown(&added, &file, &*settings).await?;
            say_idle(&added, &*settings);
            task_checks::seems_to_allow(&added).iter().for_each(|line| errln!("{line}"));
            print(&added, "added", add.json)?;
            if !add.no_check {
                task_checks::try_at_base(&effective, &trust, &added, add.options.expects.as_deref()).await;
            }
            Ok(Exit::Confirmed)
        }
        TaskCommand::Edit(edit) => {
            trust::ensure_task_file(&trust)?;
            let (fields, id) = (changes(&edit)?, edit.id);
            globs_inside(&effective, &fields)?;
            checks_told_apart(&fields, &*settings)?;
            say_misspelt(&fields);
            trust::wrote(&trust, &theirs(&effective, &id, &fields)).await;
            let changed = usage(file.edit(&id, fields).await)?;
            say_unknown(&changed, &file, &*settings).await?;
            say_idle(&changed, &*settings);
            task_checks::seems_to_allow(&changed).iter().for_each(|line| errln!("{line}"));
            print(&changed, "changed", edit.json)
        }
        TaskCommand::Close(named) => {
            trust::ensure_task_file(&trust)?;
            set_status(&file, &named, Status::Closed, "closed").await
        }
        TaskCommand::Reopen(named) => {
            trust::ensure_task_file(&trust)?;
            set_status(&file, &named, Status::Open, "opened").await
        }
        TaskCommand::Sync { json } => {
            trust::ensure_task_file(&trust)?;
            sync(&file, json).await
        }
    }
}

/// What a person names in the fields of a task that they write; other fields of it are somebody else's.
fn theirs(effective: &Effective, id: &str, fields: &Map<String, Value>) -> Vec<TrustItem> {
    let mut task = json!({ "id": id, "title": id });
    for key in ["checks", "subtasks", "agent", "allow"] {
        if let Some(value) = fields.get(key) {
            task[key] = value.clone();
        }
    }
    // What is no task is refused by whoever writes it.
    serde_json::from_value::<Task>(task).map(|task| effective.trust_items_of(&task)).unwrap_or_default()
}

/// Refuses globs of `protect` that mean a place outside of the project.
fn globs_inside(effective: &Effective, fields: &Map<String, Value>) -> Result<(), UsageError> {
    let globs = fields.get("protect").and_then(Value::as_array).into_iter().flatten();
    let globs: Vec<String> = globs.filter_map(Value::as_str).map(str::to_owned).collect();
    effective.elsewhere(&globs).map_or(Ok(()), |error| Err(UsageError(format!("`protect`: {error}"))))
}

/// Refuses a check that has the name of another one that it would be run with.
fn checks_told_apart(fields: &Map<String, Value>, settings: &dyn Settings) -> Result<(), UsageError> {
    let mut task = json!({ "id": "a", "title": "A" });
    for key in ["checks", "subtasks"] {
        if let Some(value) = fields.get(key) {
            task[key] = value.clone();
        }
    }
    // What is no task is refused by whoever writes it.
    let Ok(task) = serde_json::from_value::<Task>(task) else { return Ok(()) };
    task.checks_told_apart(&settings.run().checks)
        .map_err(|because| UsageError(format!("nothing was written: {because}")))
}

/// A glob of a task that protects nothing is a slip of the pen, or means what is not there yet.
fn say_idle(task: &Task, settings: &dyn Settings) {
    for glob in runtime::idle_globs(settings.project(), &task.protect).unwrap_or_default() {
        let line = format!(
            "warning: the glob `{glob}` under `protect` of task {} matches no file at the base; globs start at the project's directory, also \
             with a leading `/`",
            task.id
        );
        errln!("{line}");
    }
}

/// What the user asked for wrongly is usage; what the system refused is the environment.
fn usage<T>(result: Result<T, TasksError>) -> anyhow::Result<T> {
    result.map_err(|error| match error {
        error @ TasksError::Io { .. } => error.into(),
        error => UsageError(error.to_string()).into(),
    })
}

fn say_problems(list: &TaskList) {
    for problem in &list.problems {
        errln!(
            "warning: line {} of the task file cannot be read and is kept: {}",
            problem.line,
            one_line(&problem.message)
        );
    }
}

/// Warns of an agent or task that the task names and that is not there (yet): it could not be worked on.
async fn say_unknown(task: &Task, file: &TaskFile, settings: &dyn Settings) -> anyhow::Result<()> {
    let agents = &settings.agents().named;
    let meant = |nearest: Option<&str>| nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    if let Some(agent) = task.agent.as_ref().filter(|agent| !agents.contains_key(*agent)) {
        let meant = meant(nearest_id(agent, agents.keys().map(String::as_str)));
        errln!(
            "warning: task {} is for the agent `{agent}`, which is not under `agents` in {}{meant}",
            task.id,
            settings.project().settings
        );
    }
    let list = file.load().await?;
    if task.blockers().any(|other| *other == task.id) {
        errln!("warning: task {} waits for itself, so it is never begun", task.id);
    }
    for other in task.blockers() {
        if let Err(unknown) = list.find(other.as_str()) {
            errln!("warning: task {} waits for another one, but {unknown}", task.id);
        }
    }
    Ok(())
}

async fn list(file: &TaskFile, status: Option<&str>, json: bool) -> anyhow::Result<Exit> {
    let status = match status {
        None => None,
        Some(word) => Some(serde_json::from_value::<Status>(Value::String(word.to_owned())).map_err(|_| {
            UsageError(format!("--status: there is no status `{word}`; there are open, in_progress, blocked, closed"))
        })?),
    };
    let list = file.load().await?;
    let mut tasks: Vec<&Task> = list.tasks.iter().filter(|t| status.is_none_or(|s| t.status == s)).collect();
    tasks.sort_by_key(|task| task.rank());
    say_problems(&list);
    if json {
        let values: Vec<Value> = tasks.iter().map(|t| with_cause(t, &list)).collect();
        project::print_json(&json!({ "tasks": values }))?;
        return Ok(Exit::Confirmed);
    }
    let width = tasks.iter().map(|t| t.id.as_str().len()).max().unwrap_or(0);
    for task in &tasks {
        let cause = list.causes.get(&task.id).map(|c| format!("  ({c})")).unwrap_or_default();
        let line = format!(
            "{:width$}  {:11}  P{}  {}{cause}",
            task.id.as_str(),
            task.status.as_str(),
            task.priority,
            task.title
        );
        outln!("{line}");
    }
    if tasks.is_empty() {
        errln!("no tasks; add one with `reflexion task add TITLE --check COMMAND`");
    }
    Ok(Exit::Confirmed)
}

async fn ready(file: &TaskFile, json: bool) -> anyhow::Result<Exit> {
    let list = file.load().await?;
    say_problems(&list);
    let (ready, waiting): (Vec<_>, Vec<_>) =
        runtime::readiness(&list.tasks).into_iter().partition(|readiness| readiness.because.is_empty());
    if json {
        let waiting = waiting.iter().map(|r| json!({ "id": r.task.id, "because": r.because }));
        let tasks: Vec<Value> = ready.iter().map(|r| with_cause(&r.task, &list)).collect();
        project::print_json(&json!({ "tasks": tasks, "waiting": waiting.collect::<Vec<_>>() }))?;
        return Ok(Exit::Confirmed);
    }
    let width = ready.iter().map(|r| r.task.id.as_str().len()).max().unwrap_or(0);
    for Readiness { task, .. } in &ready {
        let line = format!("{:width$}  P{}  {}", task.id.as_str(), task.priority, task.title);
        outln!("{line}");
    }
    if ready.is_empty() {
        errln!("no task is ready");
    }
    for Readiness { task, because } in &waiting {
        errln!("{} waits: it {}", task.id, because.join("; it "));
    }
    Ok(Exit::Confirmed)
}

fn with_cause(task: &Task, list: &TaskList) -> Value {
    let mut value = json!(task);
    if let Some(cause) = list.causes.get(&task.id) {
        value["cause"] = json!(cause);
    }
    value
}

async fn show(
    file: &TaskFile,
    id: &str,
    settings: &dyn Settings,
    journal: &dyn Journal,
    json: bool,
) -> anyhow::Result<Exit> {
    let how = settings.run().decompose;
    let list = file.load().await?;
    say_problems(&list);
    let task = list.find(id).map_err(UsageError)?;
    if json {
        project::print_json(&with_cause(task, &list))?;
        return Ok(Exit::Confirmed);
    }
    let mut text = format!("{}  {}\n{}, priority {}\n", task.id, task.title, task.status.as_str(), task.priority);
    if !task.kind.is_empty() {
        text += &format!("type: {}\n", task.kind);
    }
    let expects = match task.expects {
        Expects::Change => "change: any change with green checks",
        Expects::Fix => "fix: a check that was red must turn green",
        Expects::Nothing => "nothing: green checks, with or without a change",
    };
    text += &format!("expects: {expects}\n");
    if let Some(cause) = list.causes.get(&task.id) {
        text += &format!("because: {cause}\n");
    }
    if let Some(Readiness { because, .. }) = runtime::readiness(&list.tasks).into_iter().find(|r| r.task.id == task.id)
        && !because.is_empty()
    {
        text += &format!("waits: it {}\n", because.join("; it "));
    }
    text += &goes_to(task, settings, &runtime::track_record(settings, journal, &list.tasks).await?);
    let proposed = runtime::proposed(settings, journal).await?;
    let told = parts::Known { how, list: &list, told: proposed.get(&task.id) };
    text += &told.said(task);
    for part in told.split(task).parts() {
        if let Some(count) = list.attempts.get(&(task.id.clone(), part.id.clone())) {
            text += &format!("{}: {}\n", part.id, made(task.status, *count));
        }
    }
    for check in &task.checks {
        text += &format!("check {}: {}\n", check.name, check.run);
    }
    if !task.allow.is_empty() {
        let may: Vec<&str> = task.allow.iter().map(|allow| allow.permits()).collect();
        text += &format!("may: {}\n", may.join("; "));
    }
    if !task.protect.is_empty() {
        text += &format!("protects: {}\n", task.protect.join(", "));
    }
    for section in [&task.description, &task.acceptance_criteria] {
        if !section.is_empty() {
            text += &format!("\n{section}\n");
        }
    }
    out!("{text}");
    Ok(Exit::Confirmed)
}

/// How many attempts were made at it. Who opens a task again begins to count anew.
fn made(status: Status, count: AttemptCount) -> String {
    let attempts = |n: u32| plural(n as usize, "attempt");
    match (status, count.since_opened) {
        (Status::Closed | Status::Blocked, _) => attempts(count.last),
        (_, 0) => format!("{} before it was opened again", attempts(count.last)),
        (_, n) if n == count.last => attempts(n),
        (_, n) => format!("{} since it was opened again, {} in all", attempts(n), count.last),
    }
}

/// Which agents a run would give it to, and how large it counts as where that decides.
fn goes_to(task: &Task, settings: &dyn Settings, earlier: &TrackRecord) -> String {
    let agents = settings.agents();
    let route = runtime::route(agents, task, None, earlier);
    let because = route.because.map(|because| format!(", because {because}")).unwrap_or_default();
    let size = if agents.by_size.is_empty() {
        String::new()
    } else {
        let sized = runtime::size(task);
        format!("size: {} ({})\n", sized.size.as_str(), sized.because)
    };
    format!("{size}goes to {}{because}\n", route.agents.join(", then "))
}

/// All of them, or none where one is not there.
async fn set_status(file: &TaskFile, named: &TasksNamed, status: Status, what: &str) -> anyhow::Result<Exit> {
    let list = file.load().await?;
    for id in &named.ids {
        list.find(id).map_err(UsageError)?;
    }
    let mut changed = Vec::new();
    for id in &named.ids {
        changed.push(usage(file.set_status(id, status).await)?);
    }
    if named.json && changed.len() > 1 {
        project::print_json(&json!({ "tasks": changed }))?;
        return Ok(Exit::Confirmed);
    }
    for task in &changed {
        print(task, what, named.json)?;
    }
    Ok(Exit::Confirmed)
}

fn new_task(args: &TaskAddArgs) -> Map<String, Value> {
    let mut task = fields_of(&args.options, false);
    task.extend(args.id.clone().map(|id| ("id".to_owned(), id.into())));
    task.insert("title".to_owned(), args.title.clone().into());
    task
}

/// What an edit changes: its JSON object, and above that its options.
fn changes(args: &TaskEditArgs) -> anyhow::Result<Map<String, Value>> {
    let mut options = fields_of(&args.options, true);
    options.extend(args.title.clone().map(|title| ("title".to_owned(), title.into())));
    let mut fields = args.fields.as_deref().map_or_else(|| Ok(Map::new()), parse)?;
    fields.extend(options);
    if fields.is_empty() {
        let message =
            "there is nothing to change: give an option, such as --priority 0, or fields, such as '{\"priority\":0}'";
        return Err(UsageError(message.to_owned()).into());
    }
    Ok(fields)
}

/// The fields that are given; where that is so, an empty word alone `empties` a list.
fn fields_of(args: &TaskOptions, empties: bool) -> Map<String, Value> {
    let mut task = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            task.insert(key.to_owned(), value);
        }
    };
    let list = |words: &[String], of: fn((usize, &String)) -> Value| -> Option<Value> {
        let is_emptied = empties && words.iter().all(String::is_empty);
        let given = words.iter().enumerate().filter(|_| !is_emptied).map(of);
        (!words.is_empty()).then(|| given.collect::<Vec<Value>>().into())
    };
    let word = |(_, word): (usize, &String)| Value::from(word.clone());
    set("agent", args.agent.clone().map(Value::from));
    set("labels", list(&args.labels, word));
    set("description", args.description.clone().map(Value::from));
    set("priority", args.priority.map(Value::from));
    set("type", args.kind.clone().map(Value::from));
    set("expects", args.expects.clone().map(Value::from));
    set("allow", list(&args.allow, word));
    set("protect", list(&args.protect, word));
    set("acceptanceCriteria", args.criteria.clone().map(Value::from));
    set("deps", list(&args.after, |(_, id)| json!({ "id": id, "type": "blocks" })));
    set("checks", list(&args.checks, |(i, run)| json!({ "name": format!("check-{}", i + 1), "run": run })));
    task
}

fn parse(fields: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str::<DistinctKeys>(fields).and_then(|_| serde_json::from_str(fields)) {
        Ok(Value::Object(map)) if map.get("maxAttempts").is_some_and(|most| *most == 0) => {
            Err(UsageError("maxAttempts: a task that may not be tried is never done; give 1 or more".to_owned()).into())
        }
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(UsageError("the fields must be one JSON object, e.g. '{\"priority\":0}'".to_owned()).into()),
        Err(error) => {
            // What is wrong in an object helps; of anything else it is that it is none.
            let how = if fields.trim_start().starts_with('{') { format!(" ({error})") } else { String::new() };
            let message = format!(
                "`{fields}` is no JSON object{how}: give the fields to change, such as '{{\"title\":\"Another title\"}}' or '{{\"priority\":0}}'"
            );
            Err(UsageError(message).into())
        }
    }
}

/// A key that nobody reads is kept, because other programs may have put it there; one that is nearly a field is a slip.
fn say_misspelt(fields: &Map<String, Value>) {
    for key in fields.keys().filter(|key| !Task::FIELDS.contains(&key.as_str())) {
        // A short word is near to many others.
        let meant = nearest_id(key, Task::FIELDS).filter(|meant| meant.chars().next() == key.chars().next());
        if let Some(meant) = meant {
            errln!(
                "warning: `{key}` is no field of a task, and is kept without meaning anything; did you mean `{meant}`?"
            );
        }
    }
}

fn print(task: &Task, what: &str, json: bool) -> anyhow::Result<Exit> {
    if json {
        project::print_json(task)?;
    } else {
        outln!("{what} {}  {}", task.id, task.title);
    }
    Ok(Exit::Confirmed)
}

async fn sync(file: &TaskFile, json: bool) -> anyhow::Result<Exit> {
    let changed = usage(file.sync().await)?;
    if json {
        project::print_json(&json!({ "changed": changed }))?;
    } else {
        outln!("wrote the status of {} into the task file", plural(changed, "task"));
    }
    Ok(Exit::Confirmed)
}
