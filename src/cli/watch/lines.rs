//! A run as lines in a pipe or a log, as they come.

use super::command::{Source, now};
use crate::cli::output::outln;
use crate::report::night::watch::Scene;
use crate::report::night::{NightState, watch};
use std::time::Duration;

/// So many lines of what was before are printed first.
const BEFORE: usize = 20;
/// How often it looks.
const EVERY: Duration = Duration::from_millis(500);

/// Prints how the run stands and its newest lines, then each line as it comes, until no process works on it.
pub(super) async fn follow(mut source: Source, mut scene: Scene) -> anyhow::Result<()> {
    let times = now();
    outln!("run {}: {}", scene.night.run, watch::standing(&scene.night, &times));
    let (before, mut seen) = source.watch.said_since(0);
    for line in &before[before.len().saturating_sub(BEFORE)..] {
        outln!("{}", watch::said(line, &times));
    }
    let runs = scene.night.state == NightState::Running;
    while scene.night.state == NightState::Running {
        tokio::time::sleep(EVERY).await;
        let Some(newer) = source.scene().await? else { continue };
        scene = newer;
        let (lines, until) = source.watch.said_since(seen);
        seen = until;
        for line in &lines {
            outln!("{}", watch::said(line, &now()));
        }
    }
    if runs {
        outln!("run {}: {}", scene.night.run, watch::standing(&scene.night, &now()));
    }
    outln!("{}", scene.night.headline);
    Ok(())
}
