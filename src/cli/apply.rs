//! `reflexion apply`.

use super::args::ApplyArgs;
use super::exit::UsageError;
use super::init::quoted;
use super::output::{errln, outln};
use super::{Exit, interrupt, project, trust};
use crate::domain::{TaskId, in_a_line};
use crate::layer::Svc;
use crate::services::{Tasks, WorkspaceError, Workspaces};
use serde_json::json;
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(super) async fn apply(dir: &Path, args: ApplyArgs) -> anyhow::Result<Exit> {
    let task = TaskId::new(args.task.as_str()).map_err(|e| UsageError(e.to_string()))?;
    let (layers, _, trust) = project::guarded(dir, Vec::new())?;
    let app = layers.build::<(Svc<dyn Workspaces>, Svc<dyn Tasks>)>().await?;
    let list = app.1.load().await?;
    let Some(run) = list.closed_by.get(&task) else {
        let known = list.tasks.iter().any(|t| t.id == task);
        let why = if known { "has no confirmed work; `reflexion run` it first" } else { "is not in the task file" };
        return Err(UsageError(format!("task `{task}` {why}")).into());
    };
    trust::ensure_beside(&trust).await?;
    let cancel = CancellationToken::new();
    let interrupt = tokio::spawn(interrupt::cancel_quietly(cancel.clone()));
    let applied = app.0.apply(run, &task, &cancel).await;
    interrupt.abort();
    let applied = match applied {
        Ok(applied) => applied,
        Err(error @ WorkspaceError::Conflict { .. }) => {
            errln!(
                "error: {error}\nnothing was changed; commit, stash or move away those files first, or merge the branch by hand"
            );
            return Ok(Exit::NotConfirmed);
        }
        Err(error @ WorkspaceError::Interrupted) => {
            errln!("\n{error}");
            return Ok(Exit::Interrupted);
        }
        Err(error) => return Err(error.into()),
    };
    app.shutdown().await?;
    if args.json {
        project::print_json(&json!({ "task": task, "from": applied.from, "files": applied.files }))?;
    } else if applied.files.is_empty() {
        outln!("nothing to do: {} has nothing that your checkout does not have", applied.from);
    } else {
        outln!("brought {} into your checkout, uncommitted:", applied.from);
        for file in &applied.files {
            outln!("  {}", in_a_line(file));
        }
    }
    if !args.json
        && let Some(remove) = removes(&applied.from)
    {
        outln!("{remove}");
    }
    for remark in &applied.remarks {
        errln!("note: {remark}");
    }
    Ok(Exit::Confirmed)
}

/// How the branch is removed that the work came from: it stays, for what is uncommitted is easily lost. None of a patch file.
fn removes(from: &str) -> Option<String> {
    (!from.ends_with(".patch"))
        .then(|| format!("the branch stays; once this is committed, `git branch -D {}` removes it", quoted(from)))
}
