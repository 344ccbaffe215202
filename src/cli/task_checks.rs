//! What a task's own checks can show of it: they are tried at the base when it is added.

use super::output::errln;
use super::{base_checks, project};
use crate::config::Effective;
use crate::domain::{Allow, CheckReport, CheckScope, CheckSpec, CheckStatus, Expects, Task};
use crate::layer::Svc;
use crate::runtime;
use crate::runtime::Trust;
use crate::services::RunLock;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long `task add` tries a task's checks. A night begins with them anyway.
const LIMIT: Duration = Duration::from_secs(60);

/// What a task reads as if it permitted it, and does not declare: one line for each.
pub(super) fn seems_to_allow(task: &Task) -> Vec<String> {
    let words = [task.title.as_str(), &task.description, &task.acceptance_criteria].join("\n\n");
    let missing = runtime::seems_to_allow(&words).into_iter().filter(|allow| !task.allow.contains(allow));
    let said = |allow: Allow| {
        let all: Vec<&str> = task.allow.iter().chain([&allow]).map(|allow| allow.as_str()).collect();
        format!(
            "task {} reads as if its agent may {}. Words permit nothing; this does: reflexion task edit {} --allow {}",
            task.id,
            allow.permits(),
            task.id,
            all.join("\",\"")
        )
    };
    missing.map(said).collect()
}

/// Runs a task's own checks at the base and says what they can show; nothing where they cannot be run now. `expects` is whether what the task
/// expects was given.
pub(super) async fn try_at_base(effective: &Effective, trust: &Trust, task: &Task, expects: Option<&str>) {
    let own: Vec<CheckSpec> = task.subtasks.iter().flat_map(|part| &part.checks).chain(&task.checks).cloned().collect();
    if own.is_empty() {
        if task.is_fault() || task.expects == Expects::Fix {
            errln!(
                "warning: task {} has no check of its own: give it one that is red until the bug is fixed (--check), or only the project's \
                 checks can show the fix",
                task.id
            );
        }
        return;
    }
    if !trust.untrusted(&[]).is_ok_and(|found| found.settings.is_empty()) {
        errln!("its check was not tried: this project is not trusted (`reflexion trust --show`)");
        return;
    }
    errln!("trying its check at the base (at most 60 s; --no-check leaves that out)");
    match in_time(effective, own).await {
        Ok(reports) => {
            let fix = expects.is_none().then(|| only_the_fix(task, &reports)).flatten();
            said(task, &reports).iter().chain(&fix).for_each(|line| errln!("{line}"));
        }
        Err(because) => errln!("its check was not tried: {because}"),
    }
}

async fn in_time(effective: &Effective, own: Vec<CheckSpec>) -> Result<Vec<CheckReport>, String> {
    let cancel = CancellationToken::new();
    let late = cancel.clone();
    let timer = tokio::spawn(async move {
        tokio::time::sleep(LIMIT).await;
        late.cancel();
    });
    let tried = at_base(effective, own, cancel.clone()).await;
    timer.abort();
    if cancel.is_cancelled() {
        return Err("that takes more than 60 s; `reflexion doctor --checks` has no such limit".to_owned());
    }
    tried.map_err(|error| format!("{error:#}"))
}

async fn at_base(
    effective: &Effective,
    own: Vec<CheckSpec>,
    cancel: CancellationToken,
) -> anyhow::Result<Vec<CheckReport>> {
    let settings = runtime::settings_before_trust(effective)?;
    let layers = project::live().with(settings);
    let locks = layers.build::<Svc<dyn RunLock>>().await?;
    let run = runtime::new_run_id();
    let _guard = locks.acquire(&run)?;
    let checks = own.into_iter().map(|check| (CheckScope::Task, check)).collect();
    let reports = base_checks::at_base(&layers, &run, checks, cancel).await??.reports;
    locks.shutdown().await?;
    Ok(reports)
}

/// Of a bug that a red check shows: how changed tests alone do not count as its fix.
fn only_the_fix(task: &Task, reports: &[CheckReport]) -> Option<String> {
    let shows_it = |report: &CheckReport| !report.passed() && !report.is_not_run();
    (task.is_fault() && task.expects == Expects::Change && reports.iter().any(shows_it)).then(|| {
        let id = &task.id;
        format!("task {id} is a bug: add `--expects fix` so that changed tests alone do not count: reflexion task edit {id} --expects fix")
    })
}

/// What these checks can show of the task.
fn said(task: &Task, reports: &[CheckReport]) -> Vec<String> {
    let mut lines: Vec<String> = reports.iter().map(at_the_base).collect();
    if reports.iter().all(CheckReport::passed) && task.expects != Expects::Nothing {
        lines.push(match task.expects {
            Expects::Fix => format!(
                "warning: task {} expects a fix, and a check that is green already cannot show one: no attempt can be confirmed before one is red",
                task.id
            ),
            _ if task.is_fault() => format!(
                "warning: task {} is a bug, and none of its checks is red: they cannot show that it is fixed. Give it one that fails until then",
                task.id
            ),
            _ => format!(
                "warning: a check that is green already shows only that nothing broke: unless a new test proves the work of task {}, a night \
                 leaves it to you. Better is a check that is red until the work is done",
                task.id
            ),
        });
    }
    lines
}

fn at_the_base(report: &CheckReport) -> String {
    let name = &report.spec.name;
    match &report.status {
        CheckStatus::NotRun { because } => format!("warning: check `{name}` cannot start: {because}"),
        _ if report.passed() => format!("check `{name}` is green at the base already"),
        _ => format!("check `{name}` is red at the base ({}){}", report.how(), base_checks::known_red(report)),
    }
}
