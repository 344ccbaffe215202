//! A night on a clock of its own: a scripted agent is wrong at first and then meets the limit of its service, and eight hours
//! pass at once.
//!
//! `cargo run --example night --features testing`; the same request works on `runtime::live()`.

use reflexion::domain::{Ending, RunKind, RunReport, Task};
use reflexion::layer::{BoxError, Svc};
use reflexion::services::{Clock, Orchestrator, RunRequest, Subagents, Tasks, Verifier, Workspaces};
use reflexion::{report, runtime, testing};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Works until the list is empty or eight hours have passed; gives the report and how long it took on the night's clock.
async fn night() -> Result<(RunReport, Duration), BoxError> {
    let clock = Arc::new(testing::VirtualClock::new());
    let files = testing::MemoryWorkspaces::new([("one.txt", ""), ("two.txt", "")]);
    let resets_at = Some(clock.now() + Duration::from_secs(5 * 60 * 60));
    let agent = testing::ScriptedSubagent::new()
        .writes(&files, "one.txt", "wrong")
        .writes(&files, "one.txt", "right")
        .ends(Ending::RateLimited { resets_at }, "")
        .writes(&files, "two.txt", "right");
    let seen = files.clone();
    let verifier = testing::ScriptedVerifier::new(move |spec, dir| {
        let said = seen.read(dir, Path::new(&spec.name)).unwrap_or_default();
        if said == "right" { Ok(()) } else { Err(format!("{} says `{said}`", spec.name)) }
    });
    let task = |id: &str| -> Result<Task, BoxError> {
        let checks = serde_json::json!([{ "name": format!("{id}.txt"), "run": "./check" }]);
        Ok(Task { checks: serde_json::from_value(checks)?, ..testing::task(id) })
    };
    let app = runtime::test::test()
        .with(Svc::<dyn Clock>::from(clock.clone() as Arc<dyn Clock>))
        .with(Svc::<dyn Workspaces>::new(files))
        .with(Svc::<dyn Subagents>::new(agent))
        .with(Svc::<dyn Verifier>::new(verifier))
        .with(Svc::<dyn Tasks>::new(testing::MemoryTasks::new(vec![task("one")?, task("two")?])))
        .build::<Svc<dyn Orchestrator>>()
        .await?;
    let until = Some(clock.now() + Duration::from_secs(8 * 60 * 60));
    let request = RunRequest { kind: RunKind::Overnight, until, ..RunRequest::everything(runtime::new_run_id()) };
    let result = app.run(request).await;
    app.shutdown().await?;
    Ok((result?, clock.elapsed()))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let (report, took) = night().await?;
    print!("{}", report::run(&report));
    println!("on its own clock the night took {} minutes", took.as_secs() / 60);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_limit_is_slept_through_and_everything_is_merged() {
        let (report, took) = night().await.unwrap();
        assert_eq!((report.totals.confirmed, report.totals.attempts), (2, 3), "{report:?}");
        assert!(report.tasks.iter().all(|task| task.merged.is_some()), "{report:?}");
        assert_eq!(took.as_secs() / 3600, 5);
    }
}
