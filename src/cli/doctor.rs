//! `reflexion doctor`.

use super::args::DoctorArgs;
use super::output::outln;
use super::{Exit, base_checks, hook, project, trust};
use crate::domain::policy::Generator;
use crate::domain::{CheckReport, CheckScope, CheckSpec, CheckStatus, Task, TaskId, TaskList, policy};
use crate::files::{Kind, Place};
use crate::layer::{Layers, Svc};
use crate::prompt::{one_line, shorten};
use crate::report::plural;
use crate::runtime::{Health, HealthParams, HealthState, Trust, Untrusted};
use crate::services::{KeepAwake, Models, Notifiers, RunLock, Settings, Storage, Tasks};
use crate::{config, runtime};
use serde::Serialize;
use std::io;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    ok: bool,
    detail: String,
    /// What to do, if it is not as it should be, or nobody can say.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// It is a check that is red at the base, which is no fault.
    #[serde(skip)]
    red: bool,
    /// The tests that fail in it, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failing: Vec<String>,
}

impl Finding {
    fn good(what: &str, detail: impl Into<String>) -> Self {
        Self { ok: true, advice: None, ..Self::bad(what, detail, "") }
    }

    fn bad(what: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        let (what, detail, advice) = (what.to_owned(), detail.into(), Some(advice.into()));
        Self { what, ok: false, detail, advice, red: false, failing: Vec::new() }
    }
}

pub(super) async fn doctor(dir: &Path, args: &DoctorArgs) -> anyhow::Result<Exit> {
    if args.graph {
        outln!("{}", project::live().mermaid());
        return Ok(Exit::Confirmed);
    }
    let mut findings = vec![git().await];
    match project::guarded(dir, Vec::new()) {
        Ok((layers, settings, trust)) => {
            findings.push(Finding::good(settings.project().settings, settings.project().root.display().to_string()));
            findings.push(runtime::base_health(&*settings).await.into());
            findings.extend(runtime::protect_health(&*settings).map(Finding::from));
            let state = state(settings.project());
            let is_sound = state.ok;
            findings.push(state);
            let (files, tasks) = files(&layers, settings.project().settings).await?;
            let untrusted = trust.untrusted(tasks.as_ref().map(|list| list.tasks.as_slice()).unwrap_or_default());
            let trusted = untrusted.as_ref().is_ok_and(|found| found.settings.is_empty());
            let used = used(&*settings, tasks.as_ref(), untrusted.as_ref().ok());
            findings.extend(lessons_in_sessions(&settings.project().root, &trust));
            findings.push(trust_finding(&trust, untrusted, args.checks));
            findings.extend(agents(&layers, &*settings, &used, trusted).await?);
            findings.extend(files);
            findings.extend(notifiers(&layers, settings.project().settings).await);
            findings.extend(awake(&layers, &*settings).await?);
            // They need a place below the state, which is not looked for behind what is wrong with it.
            if is_sound {
                let found = runtime::sandbox_health(&*settings, &used, trusted).await;
                findings.extend(found.into_iter().map(Finding::from));
            }
            // They need a workspace, which there is none of.
            if args.checks && !cannot_start(&findings) {
                trust::own_runs(&trust).await?;
                findings.extend(checks(&layers, &*settings).await?);
            }
        }
        Err(error) => findings.extend([
            Finding::bad(
                config::settings_file(dir).ok().flatten().unwrap_or_else(|| config::name_to_write(dir)),
                format!("{error:#}"),
                "fix it, or write one with `reflexion init`",
            ),
            installed(),
        ]),
    }
    let ok = findings.iter().all(|f| f.ok);
    if args.json {
        project::print_json(&serde_json::json!({ "ok": ok, "findings": findings }))?;
    } else {
        for finding in &findings {
            let mark = match (finding.ok, &finding.advice) {
                (true, _) if finding.red => "-",
                (true, None) => "✓",
                (true, Some(_)) => "!",
                (false, _) => "✗",
            };
            outln!("{mark} {}: {}", finding.what, finding.detail);
            if let Some(advice) = &finding.advice {
                outln!("    {advice}");
            }
        }
    }
    Ok(match (ok, cannot_start(&findings)) {
        (true, _) => Exit::Confirmed,
        (false, true) => Exit::Environment,
        (false, false) => Exit::NotConfirmed,
    })
}

/// Whether no run can begin with that.
fn cannot_start(findings: &[Finding]) -> bool {
    let needed = |what: &str| {
        matches!(what, "git" | "base" | "workspace" | "sandbox" | TRUST | STATE) || what.starts_with("check ")
    };
    findings.iter().any(|finding| !finding.ok && needed(&finding.what))
}

const TRUST: &str = "trust";

/// Whether a run would be asked for trust. Checks are started, so they need it.
fn trust_finding(trust: &Trust, untrusted: io::Result<Untrusted>, checks: bool) -> Finding {
    let advice = "`reflexion trust --show` lists it, `reflexion trust` trusts it";
    match untrusted {
        Err(error) => Finding::bad(TRUST, format!("{}: {error}", trust.path().display()), "make it readable"),
        Ok(found) if found.settings.is_empty() && found.tasks.is_empty() => {
            Finding::good(TRUST, "all that is named is trusted")
        }
        Ok(found) => {
            let count = found.settings.len() + found.tasks.values().map(Vec::len).sum::<usize>();
            let detail =
                format!("{} named here and not trusted, so nothing of that is started", plural(count, "thing"));
            Finding { ok: !checks, ..Finding::bad(TRUST, detail, advice) }
        }
    }
}

/// Hooks that would give lessons give none in a project that nobody trusts, and a session is no place to say so.
fn lessons_in_sessions(root: &Path, trust: &Trust) -> Option<Finding> {
    let agents = hook::learning_agents(root);
    if agents.is_empty() || trust.is_given() {
        return None;
    }
    let detail = format!("sessions with {} are given none, because this project is not trusted", agents.join(", "));
    let advice = "`reflexion trust --show` lists what is named here, `reflexion trust` trusts it";
    Some(Finding { ok: true, ..Finding::bad("lessons in sessions", detail, advice) })
}

async fn git() -> Finding {
    match runtime::git_version().await {
        Ok(version) => Finding::good("git", version),
        Err(error) => Finding::bad(
            "git",
            error.to_string(),
            "install it, or put a newer one first in PATH; no run begins before that",
        ),
    }
}

/// Whether a night could keep the machine awake; it is tried, and let go at once.
async fn awake(layers: &Layers, settings: &dyn Settings) -> anyhow::Result<Option<Finding>> {
    const WHAT: &str = "stays awake";
    if settings.run().keep_awake == policy::KeepAwake::Off {
        return Ok(None);
    }
    let app = layers.build::<Svc<dyn KeepAwake>>().await?;
    let finding = match app.hold().await {
        Ok(awake) => Finding::good(WHAT, format!("during a night, by {}", awake.how())),
        // Servers do not sleep, and need nothing for it.
        Err(because) => Finding {
            advice: Some("if it goes to sleep by itself, switch that off in its own settings".to_owned()),
            ..Finding::good(WHAT, format!("nothing keeps it awake during a night: {because}"))
        },
    };
    app.shutdown().await?;
    Ok(Some(finding))
}

impl From<Health> for Finding {
    fn from(health: Health) -> Self {
        let Health { what, state, detail, advice } = health;
        Self { ok: state != HealthState::Bad, advice, ..Self::good(&what, detail) }
    }
}

/// The agents that the project uses and its generator, and which other agents are installed. None of them is set to
/// work: that might cost money.
async fn agents(
    layers: &Layers,
    settings: &dyn Settings,
    used: &[String],
    trusted: bool,
) -> anyhow::Result<Vec<Finding>> {
    let app = layers.build::<Svc<dyn Models>>().await?;
    let params = HealthParams { settings, used, trusted, runner: &*runtime::command_runner(), models: &**app };
    let health = runtime::agent_health(params).await;
    app.shutdown().await?;
    let mut findings: Vec<Finding> = health.into_iter().map(Finding::from).collect();
    let others: Vec<&str> =
        runtime::installed_agents().into_iter().filter(|name| !used.iter().any(|u| u == name)).collect();
    if !others.is_empty() {
        findings.push(Finding::good("also here", others.join(", ")));
    }
    Ok(findings)
}

/// The agents that some task would be given to, or that write reflections; each once, the default first. A task that nobody trusts
/// is given to none.
fn used(settings: &dyn Settings, tasks: Option<&TaskList>, untrusted: Option<&Untrusted>) -> Vec<String> {
    let agents = settings.agents();
    let labelled = agents.by_label.iter().flat_map(|(_, chain)| chain);
    let is_trusted = |task: &&Task| untrusted.is_some_and(|untrusted| !untrusted.tasks.contains_key(&task.id));
    let asked = tasks.iter().flat_map(|list| &list.tasks).filter(is_trusted).filter_map(|task| task.agent.as_ref());
    let writes = match &settings.reflexion().generator {
        Generator::Agent { name } => Some(name),
        Generator::Heuristic | Generator::Command { .. } | Generator::Llm { .. } => None,
    };
    let mut used: Vec<String> = Vec::new();
    for name in agents.default.iter().chain(labelled).chain(asked).chain(writes) {
        if !used.contains(name) {
            used.push(name.clone());
        }
    }
    used
}

/// Without a project there is nothing that is used, only what is installed.
fn installed() -> Finding {
    let names = runtime::installed_agents();
    if names.is_empty() {
        let advice = "install one, e.g. npm install -g @anthropic-ai/claude-code@latest; `repair` is built in";
        return Finding { advice: Some(advice.to_owned()), ..Finding::good("agents", "no coding agent is installed") };
    }
    Finding::good("agents", format!("installed: {}", names.join(", ")))
}

/// What the memory and the task file are like, and the tasks.
async fn files(layers: &Layers, settings: &str) -> anyhow::Result<(Vec<Finding>, Option<TaskList>)> {
    let app = layers.build::<(Svc<dyn Storage>, Svc<dyn Tasks>)>().await?;
    let store = app.0.check().await;
    let list = app.1.load().await;
    app.shutdown().await?;
    let memory = match store {
        Ok(report) if report.unreadable == 0 => Finding::good("memory", format!("{} reflections", report.reflections)),
        Ok(report) => Finding::bad(
            "memory",
            format!("{} reflections, {} lines that cannot be read", report.reflections, report.unreadable),
            "`reflexion memory list` names the lines; they are kept and cost nothing",
        ),
        Err(error) => Finding::bad("memory", error.to_string(), "make memory/ readable and writable"),
    };
    let tasks = match &list {
        Ok(list) if list.problems.is_empty() => Finding::good("tasks", plural(list.tasks.len(), "task")),
        Ok(list) => {
            let first = &list.problems[0];
            let detail =
                format!("{} lines cannot be read; line {}: {}", list.problems.len(), first.line, first.message);
            Finding::bad("tasks", detail, "fix these lines; the others are worked on")
        }
        Err(error) => {
            Finding::bad("tasks", error.to_string(), format!("fix `tasks` in {settings} or the file it names"))
        }
    };
    Ok((vec![memory, tasks], list.ok()))
}

const STATE: &str = ".reflection";

/// How much of the disk runs have filled, if what is there is what belongs there.
fn state(project: &policy::Project) -> Finding {
    let mut parts: Vec<(String, u64)> = Vec::new();
    let place = Place::new(&project.root, STATE);
    let entries = match runtime::check_state(project).and_then(|()| place.list()) {
        Ok(entries) => entries,
        Err(error) => return Finding::bad(STATE, error.to_string(), "no run begins before that"),
    };
    for (name, _) in entries {
        let files = place.open_dir().into_iter().flat_map(|dir| dir.walk(Path::new(&name))).flatten();
        let bytes = files.map(|(_, look)| look).filter(|look| look.kind == Kind::File).map(|look| look.len).sum();
        parts.push((name.to_string_lossy().into_owned(), bytes));
    }
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    // What is shown as nothing is not most of anything.
    let large = parts.iter().take(3).filter(|(_, bytes)| *bytes >= 50_000);
    let largest: Vec<String> = large.map(|(name, bytes)| format!("{name} {}", mb(*bytes))).collect();
    let all = mb(parts.iter().map(|(_, bytes)| bytes).sum());
    let most = if largest.is_empty() { String::new() } else { format!(", most of it in {}", largest.join(", ")) };
    Finding::good(STATE, format!("{all}{most}"))
}

/// Whether everybody who is to hear of a run can be reached, as far as that is seen without sending anything.
async fn notifiers(layers: &Layers, file: &str) -> Vec<Finding> {
    let fix = format!("fix `notify` in {file}, or set the variable; `reflexion notify test` tries it");
    let app = match layers.build::<Svc<dyn Notifiers>>().await {
        Ok(app) => app,
        Err(error) => return vec![Finding::bad("notify", error.to_string(), fix)],
    };
    let all = app.all();
    if all.is_empty() {
        let detail = format!("nobody is told of a run; `notify` in {file} says who would be");
        return vec![Finding::good("notify", detail)];
    }
    let found = all.iter().map(|recipient| {
        let what = format!("notify, {}", recipient.notifier.name());
        match recipient.notifier.check() {
            Ok(detail) => Finding::good(&what, detail),
            Err(error) => Finding::bad(&what, error.to_string(), fix.clone()),
        }
    });
    found.collect()
}

/// Builds one workspace, runs setup and every check at the base. Red is no fault here, not being able to start is.
async fn checks(layers: &Layers, settings: &dyn Settings) -> anyhow::Result<Vec<Finding>> {
    let locks = layers.build::<(Svc<dyn RunLock>, Svc<dyn Tasks>)>().await?;
    let run = runtime::new_run_id();
    let _guard = locks.0.acquire(&run)?;
    let list = locks.1.load().await?;
    let own = list.tasks.iter().flat_map(|task| {
        let checks = task.subtasks.iter().flat_map(|part| &part.checks).chain(&task.checks);
        checks.map(|check| (Some(&task.id), check.clone()))
    });
    let named = settings.run().checks.iter().map(|check| (None, check.clone())).chain(own);
    let (whose, all): (Vec<Option<&TaskId>>, Vec<(CheckScope, CheckSpec)>) =
        named.map(|(task, check)| (task, (task.map_or(CheckScope::Project, |_| CheckScope::Task), check))).unzip();
    let findings = match base_checks::at_base(layers, &run, all, CancellationToken::new()).await? {
        Ok(ran) => {
            let made = if settings.workspace().setup.is_some() { "made, and setup ran" } else { "made" };
            let said = std::iter::once(made.to_owned()).chain(ran.said);
            let workspace = Finding::good("workspace", said.collect::<Vec<_>>().join("; "));
            std::iter::once(workspace)
                .chain(ran.reports.iter().zip(whose).map(|(report, task)| at_the_base(report, task)))
                .collect()
        }
        Err(error) => {
            let fix = format!("fix `setup` or `carry` in {}", settings.project().settings);
            vec![Finding::bad("workspace", error.to_string(), fix)]
        }
    };
    locks.shutdown().await?;
    Ok(findings)
}

/// Red is no fault; a task's own check that is green already can show nothing of its work.
fn at_the_base(report: &CheckReport, task: Option<&TaskId>) -> Finding {
    let of = task.map(|task| format!(" of task {task}")).unwrap_or_default();
    let what = format!("check `{}`{of}", report.spec.name);
    if let CheckStatus::NotRun { because } = &report.status {
        return Finding::bad(&what, because.clone(), "install it, or fix the check");
    }
    if report.passed() {
        return Finding { advice: advice_on(report), ..Finding::good(&what, "green at the base") };
    }
    // It is what the task is about, or what no agent is blamed for.
    let means = match report.scope {
        CheckScope::Task => "the task is to turn it green",
        CheckScope::Project => "what fails in it now is held against no attempt",
    };
    let detail = format!("red at the base ({}){}; {means}", report.how(), base_checks::known_red(report));
    Finding {
        failing: base_checks::failing(report),
        red: true,
        advice: advice_on(report),
        ..Finding::good(&what, detail)
    }
}

/// What makes a check that starts say more.
fn advice_on(report: &CheckReport) -> Option<String> {
    if report.scope == CheckScope::Task {
        let idle = "a check that is green already shows only that nothing broke: unless a new test proves the work, a night leaves it to you; better is one that is red until then";
        return report.passed().then(|| idle.to_owned());
    }
    if !report.passed() && runtime::lacks_something(&report.signature) {
        let said = report.signature.message.as_deref().map(|said| format!(" ({})", shorten(&one_line(said), 200)));
        return Some(format!(
            "it does not find what it needs{}: checks run in a clean room, which has what is committed; let `setup` install the rest, or name it \
             in `carry`",
            said.unwrap_or_default()
        ));
    }
    let option = runtime::runs_all_with(&report.spec.run)?;
    Some(format!(
        "add `{option}` to it, unless its settings say so: it stops at a failure, and what else fails, which may be nobody's fault, is not known then"
    ))
}
