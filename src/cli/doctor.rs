//! `reflexion doctor`.

use super::Exit;
use super::args::DoctorArgs;
use super::interrupt;
use super::output::outln;
use super::project;
use crate::domain::CheckScope;
use crate::domain::CheckSpec;
use crate::domain::TaskId;
use crate::domain::policy::AgentKind;
use crate::domain::policy::Generator;
use crate::layer::Layers;
use crate::layer::Svc;
use crate::runtime;
use crate::services::Command;
use crate::services::CommandRunner;
use crate::services::OpenWorkspace;
use crate::services::RunLock;
use crate::services::Settings;
use crate::services::Storage;
use crate::services::Tasks;
use crate::services::Verifier;
use crate::services::VerifyRequest;
use crate::services::Workspaces;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    ok: bool,
    detail: String,
    /// What to do, if it is not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn good(what: &str, detail: impl Into<String>) -> Self {
        Self { what: what.to_owned(), ok: true, detail: detail.into(), advice: None }
    }

    fn bad(what: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.to_owned(), ok: false, detail: detail.into(), advice: Some(advice.into()) }
    }
}

pub(super) async fn doctor(dir: &Path, args: &DoctorArgs) -> anyhow::Result<Exit> {
    if args.graph {
        outln!("{}", runtime::live().mermaid());
        return Ok(Exit::Confirmed);
    }
    let mut findings = vec![git(runtime::live()).await?];
    match project::layers(dir, Vec::new()) {
        Ok((layers, settings)) => {
            findings.push(Finding::good("project.json", settings.project().root.display().to_string()));
            findings.extend(programs(&*settings));
            findings.extend(files(&layers).await?);
            if args.checks {
                findings.extend(checks(&layers, &*settings).await?);
            }
        }
        Err(error) => findings.push(Finding::bad(
            "project.json",
            format!("{error:#}"),
            "mend it, or write one with `reflexion init`",
        )),
    }
    let ok = findings.iter().all(|f| f.ok);
    let cannot_start = findings.iter().any(|f| !f.ok && (f.what == "workspace" || f.what.starts_with("check ")));
    if args.json {
        project::print_json(&serde_json::json!({ "ok": ok, "findings": findings }))?;
    } else {
        for finding in &findings {
            let mark = if finding.ok { "✓" } else { "✗" };
            outln!("{}", project::printable(&format!("{mark} {}: {}", finding.what, finding.detail)));
            if let Some(advice) = &finding.advice {
                outln!("    {advice}");
            }
        }
    }
    Ok(match (ok, cannot_start) {
        (true, _) => Exit::Confirmed,
        (false, true) => Exit::Environment,
        (false, false) => Exit::NotConfirmed,
    })
}

async fn git(layers: Layers) -> anyhow::Result<Finding> {
    let app = layers.build::<Svc<dyn CommandRunner>>().await?;
    let command = Command { timeout: Duration::from_secs(10), ..Command::new(["git", "--version"], ".") };
    let output = app.run(command).await;
    app.shutdown().await?;
    Ok(match output {
        Ok(output) if output.success() => Finding::good("git", output.stdout.text().trim()),
        Ok(output) => Finding::bad("git", output.combined.text().trim(), "mend the installation of git"),
        Err(error) => Finding::bad("git", error.to_string(), "install git; workspaces are made with it"),
    })
}

/// Whether the agents' and the generator's programs are there. No agent is started: that might cost money.
fn programs(settings: &dyn Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, agent) in &settings.agents().named {
        let what = format!("agent `{name}`");
        findings.push(match &agent.kind {
            AgentKind::Repair => Finding::good(&what, "embedded"),
            AgentKind::Command { argv } | AgentKind::Acp { argv, .. } => {
                program(&what, &argv[0], &settings.project().root)
            }
            AgentKind::Cli { .. } | AgentKind::Completion { .. } => continue,
        });
    }
    if let Generator::Command { argv } = &settings.reflexion().generator {
        findings.push(program("generator", &argv[0], &settings.project().root));
    }
    findings
}

fn program(what: &str, program: &str, root: &Path) -> Finding {
    let found = if program.contains('/') {
        Some(root.join(program)).filter(|p| p.is_file())
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|p| p.is_file())
    };
    match found {
        Some(path) => Finding::good(what, path.display().to_string()),
        None => {
            Finding::bad(what, format!("`{program}` was not found"), "install it, or mend its `argv` in project.json")
        }
    }
}

async fn files(layers: &Layers) -> anyhow::Result<Vec<Finding>> {
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
    let tasks = match list {
        Ok(list) if list.problems.is_empty() => Finding::good("tasks", format!("{} tasks", list.tasks.len())),
        Ok(list) => {
            let first = &list.problems[0];
            let detail =
                format!("{} lines cannot be read; line {}: {}", list.problems.len(), first.line, first.message);
            Finding::bad("tasks", detail, "mend these lines; the others are worked on")
        }
        Err(error) => Finding::bad("tasks", error.to_string(), "mend `tasks` in project.json or the file it names"),
    };
    Ok(vec![memory, tasks])
}

/// Builds one workspace, runs setup and every check at the base. Red is no fault here, not being able to start is.
async fn checks(layers: &Layers, settings: &dyn Settings) -> anyhow::Result<Vec<Finding>> {
    let app = layers.build::<(Svc<dyn Workspaces>, Svc<dyn Verifier>)>().await?;
    let locks = layers.build::<(Svc<dyn RunLock>, Svc<dyn Tasks>)>().await?;
    let run = runtime::new_run_id();
    let _guard = locks.0.acquire(&run)?;
    let list = locks.1.load().await?;
    let own = list.tasks.iter().flat_map(|t| t.subtasks.iter().flat_map(|s| &s.checks).chain(&t.checks));
    let all: Vec<(CheckScope, CheckSpec)> = settings
        .run()
        .checks
        .iter()
        .map(|c| (CheckScope::Project, c.clone()))
        .chain(own.map(|c| (CheckScope::Task, c.clone())))
        .collect();
    app.0.begin(&run).await?;
    let request = OpenWorkspace { run, task: TaskId::new("doctor")?, on_top_of: Vec::new() };
    let workspace = app.0.open(request).await?;
    let cancel = CancellationToken::new();
    let interrupt = tokio::spawn(interrupt::cancel_on_signal(cancel.clone()));
    let mut findings = Vec::new();
    match workspace.reset(&workspace.base(), &cancel).await {
        Ok(()) => {
            findings.push(Finding::good("workspace", "made, and setup ran"));
            let request = VerifyRequest { checks: all, dir: workspace.dir(), env: workspace.env(), cancel };
            for report in app.1.verify(request).await {
                let what = format!("check `{}`", report.spec.name);
                findings.push(match &report.status {
                    crate::domain::CheckStatus::NotRun { because } => {
                        Finding::bad(&what, because.clone(), "install it, or mend the check")
                    }
                    _ => Finding::good(&what, format!("starts; {} at the base", report.how())),
                });
            }
        }
        Err(error) => {
            findings.push(Finding::bad("workspace", error.to_string(), "mend `setup` or `carry` in project.json"));
        }
    }
    interrupt.abort();
    workspace.close().await?;
    app.shutdown().await?;
    locks.shutdown().await?;
    Ok(findings)
}
