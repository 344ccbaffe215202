//! Checks at the base, as a run has them before an agent is paid.

use super::interrupt;
use crate::domain::{CheckReport, CheckScope, CheckSpec, RunId, TaskId};
use crate::layer::{Layers, Svc};
use crate::prompt::{one_line, shorten};
use crate::services::{OpenWorkspace, Verifier, VerifyRequest, WorkspaceError, Workspaces};
use tokio_util::sync::CancellationToken;

/// How checks went at the base.
pub(super) struct AtBase {
    /// What there is to say of the workspace.
    pub(super) said: Vec<String>,
    /// The checks, in their order.
    pub(super) reports: Vec<CheckReport>,
}

/// Makes one workspace at the base, runs `setup` and these checks in it, and removes it. The caller holds the project's lock as `run`.
/// The inner error is what is wrong with the workspace itself.
pub(super) async fn at_base(
    layers: &Layers,
    run: &RunId,
    checks: Vec<(CheckScope, CheckSpec)>,
    cancel: CancellationToken,
) -> anyhow::Result<Result<AtBase, WorkspaceError>> {
    let app = layers.build::<(Svc<dyn Workspaces>, Svc<dyn Verifier>)>().await?;
    app.0.begin(run.clone().into()).await?;
    let (task, subject) = (TaskId::new("base")?, String::new());
    let request = OpenWorkspace { run: run.clone(), task, subject, on_top_of: Vec::new(), onto: None };
    let workspace = app.0.open(request).await?;
    let interrupt = tokio::spawn(interrupt::cancel_on_signal(cancel.clone()));
    let ran = match workspace.reset(&workspace.base(), &cancel).await {
        Ok(restored) => {
            let (dir, places, env) = (workspace.dir(), workspace.places(), workspace.env());
            let request = VerifyRequest { checks, dir, places, env, walled: false, cancel };
            Ok(AtBase { said: restored.said, reports: app.1.verify(request).await })
        }
        Err(error) => Err(error),
    };
    interrupt.abort();
    workspace.close().await?;
    app.0.finish().await?;
    app.shutdown().await?;
    Ok(ran)
}

/// At most this many failing tests are named for people.
const NAMED: usize = 10;

/// Which tests are known to fail: agents are not blamed for these.
pub(super) fn known_red(report: &CheckReport) -> String {
    let tests = failing(report);
    let more = tests.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = tests.iter().take(NAMED).map(|test| format!("`{}`", shorten(&one_line(test), 200)));
    match tests.len() {
        0 => String::new(),
        1 => format!(": 1 test fails: {}", named.collect::<String>()),
        n => format!(": {n} tests fail: {}{more}", named.collect::<Vec<_>>().join(", ")),
    }
}

/// The failing tests: by their ids, where they are known one by one.
pub(super) fn failing(report: &CheckReport) -> Vec<String> {
    match &report.signature.counted {
        Some(counted) if !counted.failing.is_empty() => counted.failing.keys().cloned().collect(),
        _ => report.signature.tests.clone(),
    }
}
