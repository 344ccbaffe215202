//! Which run is watched, and in which form.

use super::ink::Ink;
use super::{lines, terminal};
use crate::cli::args::WatchArgs;
use crate::cli::output::out;
use crate::cli::report::{Chosen, Waits, choose, unreadable, waits};
use crate::cli::{Exit, project};
use crate::report::night::watch::Scene;
use crate::report::night::{NightState, Times, watch};
use crate::runtime::RunWatch;
use anyhow::Context;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

pub(in crate::cli) async fn watch(dir: &Path, args: WatchArgs) -> anyhow::Result<Exit> {
    if let Some(Waits { text, .. }) = waits(dir, args.run.as_deref()).await?.filter(|waits| waits.alone && !args.json) {
        out!("{text}");
        return Ok(Exit::Confirmed);
    }
    let Chosen { records, run } = choose(dir, args.run.as_deref()).await?;
    let journal = records.project().run_dir(&run).join("journal.jsonl");
    let mut source = Source { watch: records.watch(run), journal: journal.display().to_string() };
    let Some(scene) = source.scene().await? else { anyhow::bail!("{}: nothing can be read", source.journal) };
    // One that works may be about to write its first line.
    if scene.night.state != NightState::Running
        && let Some(first) = unreadable(&scene.night)
    {
        anyhow::bail!("{}: failed to read it; {first}", source.journal);
    }
    if args.json {
        project::print_json(&document(&scene))?;
    } else if args.once {
        out!("{}", watch::text(&scene, &now()));
    } else if is_screen() {
        return terminal::show(source, scene, Ink::of_environment()).await;
    } else {
        lines::follow(source, scene).await?;
    }
    Ok(Exit::Confirmed)
}

/// Where scenes come from, with the name of the file for errors.
pub(super) struct Source {
    pub watch: RunWatch,
    journal: String,
}

impl Source {
    /// What there is to see now, if that is anything new.
    pub(super) async fn scene(&mut self) -> anyhow::Result<Option<Scene>> {
        self.watch.scene().await.with_context(|| format!("{}: failed to read it", self.journal))
    }
}

/// The moment, and the zone of whoever looks.
pub(super) fn now() -> Times {
    let clock = crate::runtime::system_clock();
    Times { zone: clock.zone(), now: clock.now() }
}

/// Keys and a screen need a terminal on both sides, and one that can place its cursor.
fn is_screen() -> bool {
    let able = std::env::var_os("TERM").is_none_or(|term| !term.is_empty() && term != "dumb");
    able && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// What `--json` prints: the moment. What happened is in `report --json`.
fn document(scene: &Scene) -> serde_json::Value {
    let Scene { night, workers, recent, notes } = scene;
    let task =
        |task: &crate::report::night::NightTask| json!({ "id": task.id, "title": task.title, "state": task.state });
    json!({
        "v": 1,
        "run": night.run,
        "state": night.state,
        "headline": night.headline,
        "startedAt": night.started_at,
        "lastSignAt": night.last_sign_at,
        "until": night.plan.until,
        "counts": night.counts,
        "usage": night.spend.usage,
        "needs": night.needs,
        "workers": workers,
        "tasks": night.tasks.iter().map(task).collect::<Vec<_>>(),
        "recent": recent,
        "notes": notes,
    })
}
