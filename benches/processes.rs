//! What the loop adds to the programs that it starts: `cargo bench --bench processes`.
//!
//! A thousand attempts without git (workspaces and journal in memory): each is an agent that does nothing and a check that
//! fails, as real processes. Beside them `xargs -P`, which starts the same two programs and forgets what they printed. Printed is
//! the CPU time of both with all their children, the time, and the ratios; in one run, because times belong to a machine.

use reflexion::domain::policy::LimitWait;
use reflexion::domain::{RunReport, Task};
use reflexion::host::HostRunner;
use reflexion::layer::Svc;
use reflexion::reflection::Signatures;
use reflexion::runtime;
use reflexion::services::{
    Command, CommandError, CommandOutput, CommandRunner, Orchestrator, RunRequest, Settings, Subagent, SubagentError,
    Subagents, Tasks, Verifier, Watch, Workspaces,
};
use reflexion::subagents::{CommandAgent, CommandAgentParams};
use reflexion::testing::{MemoryTasks, MemoryWorkspaces, fixed_settings};
use reflexion::verification::Checks;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TASKS: usize = 100;
const ATTEMPTS: u32 = 10;
const JOBS: usize = 2;
const CHECK: &str = "test -e nothing";

/// Starts programs in one real directory, whatever workspace they are meant for.
struct InPlace {
    runner: HostRunner,
    dir: PathBuf,
}

#[async_trait::async_trait]
impl CommandRunner for InPlace {
    async fn run(&self, command: Command) -> Result<CommandOutput, CommandError> {
        self.runner.run(Command { dir: self.dir.clone(), ..command }).await
    }

    async fn run_watched(&self, command: Command, watch: Watch) -> Result<CommandOutput, CommandError> {
        self.runner.run_watched(Command { dir: self.dir.clone(), ..command }, watch).await
    }
}

/// The one agent.
struct One(Arc<CommandAgent>);

impl Subagents for One {
    fn get(&self, _: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        Ok(self.0.clone())
    }
}

fn tasks() -> Vec<Task> {
    let task = |n: usize| {
        let checks = serde_json::json!([{ "name": "test", "run": CHECK }]);
        let task = serde_json::json!({ "id": format!("task-{n}"), "title": "Nothing to do", "checks": checks });
        serde_json::from_value(task).expect("a task")
    };
    (0..TASKS).map(task).collect()
}

async fn run(dir: PathBuf) -> RunReport {
    let runner: Arc<dyn CommandRunner> = Arc::new(InPlace { runner: HostRunner::new(), dir });
    let agent = CommandAgent::new(CommandAgentParams {
        name: "nothing".to_owned(),
        argv: vec!["/bin/true".to_owned()],
        timeout: Duration::from_secs(60),
        env: BTreeMap::new(),
        env_deny: Vec::new(),
        runner: Arc::clone(&runner),
    });
    let mut settings = fixed_settings();
    (settings.run.max_attempts, settings.run.jobs) = (ATTEMPTS, JOBS);
    settings.run.limit_wait = LimitWait::Off;
    let layers = runtime::test::test()
        .with(Svc::<dyn Settings>::new(settings))
        .with(Svc::<dyn Tasks>::new(MemoryTasks::new(tasks())))
        .with(Svc::<dyn Subagents>::new(One(Arc::new(agent))))
        .with(Svc::<dyn Workspaces>::new(MemoryWorkspaces::new([("a.txt", "a")])))
        .with(Svc::<dyn Verifier>::new(Checks::new(runner, Arc::new(Signatures), Vec::new())));
    let app = layers.build::<Svc<dyn Orchestrator>>().await.expect("the layers build");
    let report = app.run(RunRequest::everything(runtime::new_run_id())).await.expect("the run starts");
    app.shutdown().await.expect("the layers are released");
    report
}

/// CPU time of this process and of its children that are over, from `/proc/self/stat` (1/100 s).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((11..15).map(ticks).sum::<u64>() * 10)
}

fn measured<T>(work: impl FnOnce() -> T) -> (T, Duration, Duration) {
    let (before, started) = (cpu(), Instant::now());
    let done = work();
    (done, cpu().saturating_sub(before), started.elapsed())
}

fn by_hand(dir: &std::path::Path) {
    let attempts: String = (0..TASKS * ATTEMPTS as usize).map(|n| n.to_string() + "\n").collect::<Vec<_>>().concat();
    std::fs::write(dir.join("attempts"), attempts).expect("a file");
    let script =
        format!("< attempts xargs -P {JOBS} -I '{{}}' sh -c '/bin/true; sh -c \"{CHECK}\" || true' > log 2>&1");
    let status = std::process::Command::new("sh").args(["-c", &script]).current_dir(dir).stdin(Stdio::null()).status();
    assert!(status.expect("a shell").success());
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(JOBS).enable_all().build().expect("a runtime");
    let ((), hand, hand_time) = measured(|| by_hand(dir.path()));
    let (report, ours, our_time) = measured(|| runtime.block_on(run(dir.path().to_owned())));
    let attempts = report.totals.attempts;
    let each = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(attempts);
    println!(
        "{attempts} attempts, {JOBS} at a time: xargs -P {:.2} ms CPU and {:.2} ms each, the loop {:.2} ms CPU and {:.2} ms each: \
         {:.2} times the CPU, {:.2} times the time",
        each(hand),
        each(hand_time),
        each(ours),
        each(our_time),
        ours.as_secs_f64() / hand.as_secs_f64(),
        our_time.as_secs_f64() / hand_time.as_secs_f64(),
    );
}
