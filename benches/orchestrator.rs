//! What the loop itself costs: `cargo bench --bench orchestrator`.
//!
//! An agent that does nothing, workspaces in memory: what is left is the orchestrator. Prints, in one run, the CPU time
//! per attempt with the in-memory journal, the syncs per attempt with the file journal and the durable memory at 64 jobs,
//! and the peak memory of 10,000 subtasks with 256 jobs. CPU time is this process's own, all threads.

use reflexion::domain::policy::LimitWait;
use reflexion::domain::{AgentReport, Ending, RunReport, Task};
use reflexion::layer::{Layers, Svc};
use reflexion::runtime;
use reflexion::services::{
    AgentRequest, Journal, Orchestrator, RetryFrom, RunRequest, Settings, Storage, Subagent, SubagentError, Subagents,
    Tasks, Verifier, Workspaces,
};
use reflexion::storage::{FileJournal, JsonlStorage};
use reflexion::testing::{MemoryTasks, MemoryWorkspaces, ScriptedVerifier, fixed_settings};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Says it is done and does nothing.
#[derive(Clone, Copy)]
struct NoOp;

#[async_trait::async_trait]
impl Subagent for NoOp {
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        Ok(AgentReport::new(Ending::Finished))
    }
    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }
}

impl Subagents for NoOp {
    fn get(&self, _: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        Ok(Arc::new(*self))
    }
}

fn tasks(count: usize) -> Vec<Task> {
    let task = |n: usize| {
        serde_json::from_value(serde_json::json!({
            "id": format!("task-{n}"), "title": "Nothing to do", "checks": [{"name": "test", "run": "never"}],
        }))
        .expect("a task")
    };
    (0..count).map(task).collect()
}

/// `count` tasks with `attempts` attempts each, all of them refuted.
fn layers(count: usize, attempts: u32, jobs: usize) -> Layers {
    let mut settings = fixed_settings();
    settings.run.max_attempts = attempts;
    settings.run.jobs = jobs;
    settings.run.limit_wait = LimitWait::Off;
    let red = ScriptedVerifier::new(|_: &_, _: &_| Err("assertion failed: it is still red".to_owned()));
    runtime::test::test()
        .with(Svc::<dyn Settings>::new(settings))
        .with(Svc::<dyn Tasks>::new(MemoryTasks::new(tasks(count))))
        .with(Svc::<dyn Subagents>::new(NoOp))
        .with(Svc::<dyn Workspaces>::new(MemoryWorkspaces::new([("a.txt", "a")])))
        .with(Svc::<dyn Verifier>::new(red))
}

fn run(layers: &Layers) -> RunReport {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let app = layers.build::<Svc<dyn Orchestrator>>().await.expect("the layers build");
        let report = app.run(RunRequest::everything(runtime::new_run_id())).await.expect("the run starts");
        app.shutdown().await.expect("the layers are released");
        report
    })
}

/// CPU time of this process so far, from `/proc/self/stat` (1/100 s).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// Peak memory of this process in MB, from `/proc/self/status`.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() {
    let (before, started) = (cpu(), Instant::now());
    let report = run(&layers(10_000, 1, 256));
    let (attempts, spent) = (report.totals.attempts, cpu().checked_sub(before).unwrap());
    println!(
        "10,000 subtasks, 256 jobs, in-memory journal: {attempts} attempts, {:.1} µs CPU per attempt, {:.2} s, peak {} MB",
        spent.as_secs_f64() * 1e6 / f64::from(attempts),
        started.elapsed().as_secs_f64(),
        peak_mb(),
    );

    let dir = tempfile::tempdir().expect("a temporary directory");
    let journal = Arc::new(FileJournal::create(dir.path().join("run"), runtime::system_clock()));
    let storage = JsonlStorage::open(dir.path().join("reflections.jsonl"));
    let durable = layers(1_000, 3, 64)
        .with(Svc::<dyn Journal>::from(Arc::clone(&journal) as Arc<dyn Journal>))
        .with(Svc::<dyn Storage>::new(storage.clone()));
    let (before, started) = (cpu(), Instant::now());
    let report = run(&durable);
    let attempts = f64::from(report.totals.attempts);
    println!(
        "1,000 tasks, 64 jobs, file journal and durable memory: {:.0} attempts, {:.2} journal syncs and {:.2} memory syncs \
         per attempt, {:.1} µs CPU per attempt, {:.2} s",
        attempts,
        journal.syncs() as f64 / attempts,
        storage.syncs() as f64 / attempts,
        cpu().checked_sub(before).unwrap().as_secs_f64() * 1e6 / attempts,
        started.elapsed().as_secs_f64(),
    );
}
