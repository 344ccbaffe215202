//! A double of a process that plays an exchange: what an agent said, in order, waiting for what it was told.

use super::agent::{AcpAgent, AcpAgentParams};
use crate::domain::policy::AgentOptions;
use crate::domain::{AgentReport, Output, RunId, SessionId, SubtaskId, TaskId, Timestamp, TranscriptItem};
use crate::services::{
    AgentRequest, AgentWatch, Clock, Command, CommandEnd, CommandError, CommandOutput, CommandRunner, Conversation,
    Flow, Mode, Subagent, SubagentError, Watch,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One thing that happens.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// The agent prints a message; the id of an answer is that of the question as it was really asked.
    Says(Value),
    /// The agent prints bytes.
    Prints(Vec<u8>),
    /// The agent prints to stderr.
    Complains(&'static str),
    /// The client is to send this method, or an answer to this id.
    Hears(Value),
    /// The process ends by itself, at once.
    Ends(CommandEnd),
    /// It ends by itself when its stdin is closed.
    EndsAfterStdin,
    /// It ends only when it is ended.
    Stays,
}

/// An agent and everything around it.
pub(super) struct Stage {
    pub acts: Vec<Act>,
    pub options: AgentOptions,
    pub mode: Mode,
    pub conversation: Conversation,
    pub timeout: Duration,
}

impl Stage {
    pub fn new(acts: Vec<Act>) -> Self {
        Self {
            acts,
            options: AgentOptions::default(),
            mode: Mode::Work,
            conversation: Conversation::New,
            timeout: Duration::from_secs(600),
        }
    }

    /// Plays it to its end.
    pub async fn play(self) -> Played {
        let cancel = CancellationToken::new();
        let steps = Arc::new(Steps::default());
        let player = Arc::new(Player { acts: self.acts, interrupt: cancel.clone(), heard: Mutex::default() });
        let agent = AcpAgent::new(AcpAgentParams {
            name: "acp".to_owned(),
            argv: vec!["agent".to_owned()],
            options: self.options,
            timeout: self.timeout,
            idle: None,
            env: BTreeMap::new(),
            env_deny: Vec::new(),
            runner: Arc::clone(&player) as Arc<dyn CommandRunner>,
            clock: Arc::new(PausedClock),
        });
        let report = agent
            .run(AgentRequest {
                run: RunId::new("r").unwrap(),
                task: TaskId::new("t").unwrap(),
                subtask: SubtaskId::new("t").unwrap(),
                attempt: 1,
                session: SessionId::new("s"),
                prompt: "Create hello.txt containing hi".to_owned(),
                prompt_file: std::env::temp_dir().join("reflexion-acp-test-prompt.md"),
                dir: "/repo".into(),
                mode: self.mode,
                env: BTreeMap::new(),
                conversation: self.conversation,
                protect: Vec::new(),
                watch: Arc::clone(&steps) as Arc<dyn AgentWatch>,
                cancel,
            })
            .await;
        let items = steps.0.lock().unwrap().clone();
        let heard = player.heard.lock().unwrap().clone();
        Played { report, items, heard }
    }
}

/// What came of it.
pub(super) struct Played {
    pub report: Result<AgentReport, SubagentError>,
    pub items: Vec<TranscriptItem>,
    /// What the agent was told.
    pub heard: Vec<Value>,
}

impl Played {
    /// The first message of this method that the agent was told.
    pub fn told(&self, method: &str) -> Option<&Value> {
        self.heard.iter().find(|message| message["method"] == method)
    }
}

/// An exchange up to the prompt, with what `session/new` is answered with.
pub(super) fn opening(offer: Value) -> Vec<Act> {
    let mut opened = json!({"sessionId": "s1"});
    opened.as_object_mut().unwrap().extend(offer.as_object().cloned().unwrap_or_default());
    vec![
        Act::Hears(json!({"method": "initialize", "id": 1})),
        Act::Says(json!({"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}})),
        Act::Hears(json!({"method": "session/new", "id": 2})),
        Act::Says(json!({"id": 2, "result": opened})),
        Act::Hears(json!({"method": "session/prompt", "id": 3})),
    ]
}

/// An update of the session.
pub(super) fn update(update: Value) -> Act {
    Act::Says(json!({"method": "session/update", "params": {"sessionId": "s1", "update": update}}))
}

/// The reply to the prompt.
pub(super) fn reply(reason: &str) -> Act {
    Act::Says(json!({"id": 3, "result": {"stopReason": reason}}))
}

struct Player {
    acts: Vec<Act>,
    /// Cancels the run where the recorded client cancelled its turn.
    interrupt: CancellationToken,
    heard: Mutex<Vec<Value>>,
}

#[async_trait]
impl CommandRunner for Player {
    async fn run(&self, _: Command) -> Result<CommandOutput, CommandError> {
        unreachable!("the agent is watched")
    }

    async fn run_watched(&self, command: Command, watch: Watch) -> Result<CommandOutput, CommandError> {
        let mut stderr = String::new();
        let end = tokio::select! {
            () = command.cancel.cancelled() => CommandEnd::Cancelled,
            () = tokio::time::sleep(command.timeout) => CommandEnd::TimedOut,
            end = self.act(watch, &mut stderr) => end,
        };
        let nothing = || Output::whole(String::new());
        Ok(CommandOutput {
            end,
            stdout: nothing(),
            stderr: Output::whole(stderr),
            combined: nothing(),
            duration: Duration::ZERO,
        })
    }
}

impl Player {
    async fn act(&self, mut watch: Watch, stderr: &mut String) -> CommandEnd {
        let mut stdin = watch.stdin.take().expect("an agent is talked to");
        let mut ids: Vec<(Value, Value)> = Vec::new();
        for act in &self.acts {
            let bytes = match act {
                Act::Says(message) => line(message, &ids),
                Act::Prints(bytes) => bytes.clone(),
                Act::Complains(text) => {
                    stderr.push_str(text);
                    continue;
                }
                Act::Hears(expected) => {
                    if expected["method"] == "session/cancel" {
                        self.interrupt.cancel();
                    }
                    loop {
                        let Some(message) =
                            stdin.recv().await.map(|line| serde_json::from_slice::<Value>(&line).unwrap())
                        else {
                            return CommandEnd::Exited(0);
                        };
                        self.heard.lock().unwrap().push(message.clone());
                        let is_it = match expected.get("method") {
                            Some(method) => message["method"] == *method,
                            None => message.get("method").is_none() && message["id"] == expected["id"],
                        };
                        if is_it {
                            ids.push((expected["id"].clone(), message["id"].clone()));
                            break;
                        }
                        // What the recorded client did not ask for is granted.
                        if message.get("method").is_some() && message.get("id").is_some() {
                            watch.reader.read(&line(&json!({"id": message["id"], "result": {}}), &[]));
                        }
                    }
                    continue;
                }
                Act::Ends(end) => return *end,
                Act::EndsAfterStdin => {
                    while let Some(line) = stdin.recv().await {
                        self.heard.lock().unwrap().push(serde_json::from_slice(&line).unwrap());
                    }
                    return CommandEnd::Exited(0);
                }
                Act::Stays => std::future::pending().await,
            };
            // Pieces end anywhere.
            for piece in bytes.chunks(1000) {
                if watch.reader.read(piece) == Flow::Stop {
                    return CommandEnd::Stopped;
                }
            }
            tokio::task::yield_now().await;
        }
        std::future::pending().await
    }
}

fn line(message: &Value, ids: &[(Value, Value)]) -> Vec<u8> {
    let mut message = message.clone();
    message["jsonrpc"] = json!("2.0");
    if message.get("method").is_none()
        && let Some((_, real)) = ids.iter().find(|(recorded, _)| *recorded == message["id"])
    {
        message["id"] = real.clone();
    }
    format!("{message}\n").into_bytes()
}

#[derive(Default)]
struct Steps(Mutex<Vec<TranscriptItem>>);

impl AgentWatch for Steps {
    fn step(&self, item: TranscriptItem, _: Option<String>) {
        self.0.lock().unwrap().push(item);
    }
}

/// The paused clock of the tests' runtime: it moves on when nothing else is to be done.
struct PausedClock;

#[async_trait]
impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn new_id(&self) -> String {
        "1".to_owned()
    }
}
