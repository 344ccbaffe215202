//! What the runtime adds to an agent run: spawn, stream, end.
//!
//! The same program is run by hand (`std::process`, output read to its end) and as a `claude` agent, in turns, 20 times
//! each; printed are both medians and their ratio. Workspaces and checks are no part of it.
//!
//! Without an argument the program is a stand-in that prints a short stream within about half a second:
//!
//! ```sh
//! cargo bench --bench agent_overhead
//! cargo bench --bench agent_overhead -- claude     # a real one, as its own environment points it
//! ```

use reflexion::domain::policy::AgentOptions;
use reflexion::domain::{Ending, RunId, SessionId, SubtaskId, TaskId};
use reflexion::host::{HostRunner, SystemClock};
use reflexion::services::{AgentRequest, Conversation, Mode, Subagent, Unwatched};
use reflexion::subagents::{CliAgent, CliAgentParams};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const RUNS: usize = 20;
const PROMPT: &str = "Say hello.";

/// Prints what a short run prints, with the pauses of a model that thinks.
const STAND_IN: &str = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
for i in 1 2 3 4 5; do
  sleep 0.1
  echo '{"type":"assistant","message":{"id":"'$i'","content":[{"type":"text","text":"working"}]},"session_id":"s"}'
done
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","terminal_reason":"completed"}'
"#;

/// What the agent adds to its program on a fresh conversation, as `config/agents/claude.json` has it.
const ARGUMENTS: [&str; 5] = ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];

fn main() {
    let program = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let argv: Vec<String> = match program {
        Some(program) => vec![program],
        None => ["sh", "-c", STAND_IN, "sh"].map(str::to_owned).to_vec(),
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let agent = agent(argv.clone());
    let (mut by_hand, mut by_agent) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        by_hand.push(time(|| run_by_hand(&argv, dir.path())));
        by_agent.push(time(|| {
            let report = runtime.block_on(agent.run(request(dir.path()))).expect("it runs");
            assert_eq!(report.ending, Ending::Finished, "{report:?}");
        }));
    }
    let (hand, agent) = (median(by_hand), median(by_agent));
    let ratio = agent.as_secs_f64() / hand.as_secs_f64();
    println!("by hand {hand:?}, as an agent {agent:?}: {:+.1} % (median of {RUNS})", (ratio - 1.0) * 100.0);
}

fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn run_by_hand(argv: &[String], dir: &Path) {
    let mut child = std::process::Command::new(&argv[0])
        .args(&argv[1..])
        .args(ARGUMENTS)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("stdin").write_all(PROMPT.as_bytes()).expect("it is written");
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.stdout.is_empty());
}

fn agent(argv: Vec<String>) -> CliAgent {
    CliAgent::new(CliAgentParams {
        name: "claude".to_owned(),
        adapter: "claude".to_owned(),
        argv,
        options: AgentOptions::default(),
        timeout: Duration::from_secs(60),
        idle: None,
        env: BTreeMap::new(),
        env_deny: Vec::new(),
        runner: Arc::new(HostRunner::new()),
        clock: Arc::new(SystemClock::new()),
    })
    .expect("there is a description")
}

fn request(dir: &Path) -> AgentRequest {
    AgentRequest {
        run: RunId::new("bench").expect("an id"),
        task: TaskId::new("bench").expect("an id"),
        subtask: SubtaskId::new("bench").expect("an id"),
        attempt: 1,
        session: SessionId::new("bench"),
        prompt: PROMPT.to_owned(),
        prompt_file: dir.join("prompt.md"),
        dir: dir.to_owned(),
        mode: Mode::Work,
        env: BTreeMap::new(),
        conversation: Conversation::New,
        protect: Vec::new(),
        watch: Arc::new(Unwatched),
        cancel: CancellationToken::new(),
    }
}
