//! How fast an agent's stream is read: `cargo bench --bench adapter`.
//!
//! A stream in Claude Code's shape (texts, tool calls, tool results of all sizes) goes through the real adapter on one
//! thread, in the pieces that a pipe delivers. In the same run the same bytes go through a plain parse of every line,
//! and through a search for line ends: the ratios say more than the MB/s of a busy machine. Constant memory is shown by
//! a stream that is four times as long.

use reflexion::domain::policy::AgentOptions;
use reflexion::domain::{RunId, SessionId, SubtaskId, TaskId, Timestamp};
use reflexion::services::{
    AgentRequest, Clock, Command, CommandEnd, CommandError, CommandOutput, CommandRunner, Conversation, Mode, Subagent,
    Unwatched, Watch,
};
use reflexion::subagents::{CliAgent, CliAgentParams};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a pipe delivers at once.
const PIECE: usize = 32 * 1024;

/// The stream is played so often; the best round counts, the others are the machine's other work.
const ROUNDS: usize = 7;

/// "Runs" a program by playing a stream.
struct Player {
    stream: Arc<Vec<u8>>,
    times: usize,
}

#[async_trait::async_trait]
impl CommandRunner for Player {
    async fn run(&self, _: Command) -> Result<CommandOutput, CommandError> {
        unreachable!("an agent is watched")
    }

    async fn run_watched(&self, _: Command, mut watch: Watch) -> Result<CommandOutput, CommandError> {
        for _ in 0..self.times {
            for piece in self.stream.chunks(PIECE) {
                black_box(watch.reader.read(piece));
            }
        }
        watch.reader.read(RESULT.as_bytes());
        let empty = reflexion::domain::Output { head: String::new(), tail: String::new(), bytes: 0 };
        Ok(CommandOutput {
            end: CommandEnd::Exited(0),
            stdout: empty.clone(),
            stderr: empty.clone(),
            combined: empty,
            duration: Duration::ZERO,
        })
    }
}

const RESULT: &str = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\"}\n";

struct Standing;

#[async_trait::async_trait]
impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
    async fn sleep(&self, _: Duration) {}
    fn new_id(&self) -> String {
        "1".to_owned()
    }
}

/// A session's lines over and over: what an agent says, what it calls, and what comes back, from a word to a file of
/// 60 KB; as lines stand in real streams, with ids, usage and the tool's own account of the result beside it.
fn stream() -> Vec<u8> {
    let mut stream = String::new();
    let words = "fn main() {\n    println!(\"a line of \\\"code\\\"\");\n}\n";
    for number in 0..400 {
        let id = format!("toolu_{number:08}");
        let envelope = |kind: &str, message: serde_json::Value| {
            serde_json::json!({
                "type": kind, "message": message, "parent_tool_use_id": null,
                "session_id": "6c00e0a8-3663-4b12-81db-a9b859d048ee", "uuid": format!("{number:08}-3663-4b12-81db-a9b859d048ee"),
                "timestamp": "2026-11-21T21:56:31.755Z", "request_id": format!("req_{number:08}"),
            })
        };
        let usage = serde_json::json!({"input_tokens": 1200, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 300, "output_tokens": 1});
        let assistant = |block: serde_json::Value| {
            envelope(
                "assistant",
                serde_json::json!({"id": format!("msg_{number:08}"), "type": "message",
                "role": "assistant", "model": "claude-opus-5-5", "content": [block], "stop_reason": null, "usage": usage}),
            )
        };
        let text = "I look at the next file, because the test names it.".repeat(1 + number % 5);
        let output = words.repeat([2, 20, 200, 1200][number % 4]);
        let call = serde_json::json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/repo/src/main.rs"}});
        let mut result = envelope(
            "user",
            serde_json::json!({"role": "user",
            "content": [{"tool_use_id": id, "type": "tool_result", "content": output}]}),
        );
        result["tool_use_result"] =
            serde_json::json!({"type": "text", "file": {"filePath": "/repo/src/main.rs", "content": output}});
        for line in [assistant(serde_json::json!({"type": "text", "text": text})), assistant(call), result] {
            stream.push_str(&line.to_string());
            stream.push('\n');
        }
    }
    stream.into_bytes()
}

fn through_the_adapter(stream: &Arc<Vec<u8>>, times: usize) {
    let runner = Arc::new(Player { stream: Arc::clone(stream), times });
    let agent = CliAgent::new(CliAgentParams {
        name: "claude".to_owned(),
        adapter: "claude".to_owned(),
        argv: Vec::new(),
        options: AgentOptions::default(),
        timeout: Duration::from_secs(60),
        idle: None,
        env: BTreeMap::new(),
        env_deny: Vec::new(),
        runner,
        clock: Arc::new(Standing),
    })
    .expect("it is described");
    let request = AgentRequest {
        run: RunId::new("r").expect("an id"),
        task: TaskId::new("t").expect("an id"),
        subtask: SubtaskId::new("t").expect("an id"),
        attempt: 1,
        session: SessionId::new("s"),
        prompt: String::new(),
        prompt_file: "unused".into(),
        dir: ".".into(),
        mode: Mode::ReadOnly,
        env: BTreeMap::new(),
        conversation: Conversation::New,
        protect: Vec::new(),
        watch: Arc::new(Unwatched),
        cancel: tokio_util::sync::CancellationToken::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let report = runtime.block_on(agent.run(request)).expect("it runs");
    assert_eq!((report.ending.as_str(), report.message.as_str()), ("finished", "Done."));
    assert!(report.unknown.is_empty());
}

fn plain_parse(stream: &[u8]) {
    for line in stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        black_box(serde_json::from_slice::<serde_json::Value>(line).expect("JSON"));
    }
}

fn line_ends(stream: &[u8]) {
    black_box(memchr::memchr_iter(b'\n', stream).count());
}

/// The best of several rounds, in MB/s.
fn speed(bytes: usize, mut round: impl FnMut()) -> f64 {
    let best = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed()
    });
    bytes as f64 / 1e6 / best.min().unwrap_or_default().as_secs_f64()
}

/// The most memory that this process had at once, in MB (Linux).
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: Option<f64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or_default() / 1e3
}

fn main() {
    let stream = Arc::new(stream());
    let bytes = stream.len();
    println!("stream: {:.1} MB, {} lines", bytes as f64 / 1e6, memchr::memchr_iter(b'\n', &stream).count());
    through_the_adapter(&stream, 1);
    let before = peak_memory();
    let adapter = speed(bytes * 4, || through_the_adapter(&stream, 4));
    println!(
        "adapter:        {adapter:8.0} MB/s; peak memory {before:.0} MB after one stream, {:.0} MB after four",
        peak_memory()
    );
    let lines = speed(bytes, || line_ends(&stream));
    println!("line ends only: {lines:8.0} MB/s; the adapter takes {:.1} times as long", lines / adapter);
    let plain = speed(bytes, || plain_parse(&stream));
    println!("plain parse:    {plain:8.0} MB/s; the adapter is {:.1} times as fast", adapter / plain);
}
