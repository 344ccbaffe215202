//! Cassettes: a real program's run is recorded, and played again without the program.

use crate::project::{Project, RIGHT_AT_TWO, task};
use async_trait::async_trait;
use futures_util::future::join_all;
use reflexion::domain::{
    AgentReport, Ending, Role, RunId, RunReport, SessionId, SubtaskId, TaskId, TranscriptItem, Usage,
};
use reflexion::host::HostRunner;
use reflexion::layer::{Layers, Svc};
use reflexion::runtime;
use reflexion::services::{
    Abilities, AgentRequest, AgentWatch, Completion, Conversation, Mode, Model, ModelError, ModelRequest, Orchestrator,
    RetryFrom, RunRequest, Subagent, SubagentError, Subagents, Unwatched,
};
use reflexion::subagents::{CommandAgent, CommandAgentParams};
use reflexion::testing::Cassette;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A workspace of three files, and a place for cassettes beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.dir()).unwrap();
        for file in ["kept.txt", "edited.txt", "deleted.txt"] {
            fs::write(place.dir().join(file), "before\n").unwrap();
        }
        place
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn tape(&self) -> PathBuf {
        self.0.path().join("cassette.jsonl")
    }

    fn request(&self, prompt: &str) -> AgentRequest {
        AgentRequest {
            run: RunId::new("20260101-000000-0001").unwrap(),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            session: SessionId::new(self.0.path().file_name().unwrap().to_str().unwrap()),
            prompt: prompt.to_owned(),
            prompt_file: self.0.path().join("prompt.md"),
            dir: self.dir(),
            mode: Mode::Work,
            env: BTreeMap::new(),
            conversation: Conversation::New,
            protect: Vec::new(),
            watch: Arc::new(Unwatched),
            cancel: CancellationToken::new(),
        }
    }

    fn files(&self) -> BTreeMap<String, String> {
        let files = fs::read_dir(self.dir()).unwrap().map(|entry| entry.unwrap().path());
        files
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap()))
            .collect()
    }
}

/// A shell script as an agent, on real processes.
fn script(script: &str) -> Arc<dyn Subagent> {
    Arc::new(CommandAgent::new(CommandAgentParams {
        name: "sh".to_owned(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        timeout: Duration::from_secs(60),
        env: BTreeMap::new(),
        env_deny: Vec::new(),
        runner: Arc::new(HostRunner::new()),
    }))
}

/// Stands where a live agent would; it must not be run.
struct Absent;

#[async_trait]
impl Subagent for Absent {
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        panic!("the program was run in a replay")
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }
}

/// Says one step, then how it ended.
struct Speaks(Result<AgentReport, SubagentError>);

#[async_trait]
impl Subagent for Speaks {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let text = format!("I work in {}", request.dir.display());
        request.watch.step(TranscriptItem::Message { role: Role::Assistant, text }, Some("call-1".to_owned()));
        self.0.clone()
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }

    fn abilities(&self) -> Abilities {
        Abilities { resume: true, ..Abilities::default() }
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<(TranscriptItem, Option<String>)>>);

impl AgentWatch for Heard {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        self.0.lock().unwrap().push((item, parent));
    }
}

/// What a call panics with.
async fn panic_of<T: Send + 'static>(call: impl Future<Output = T> + Send + 'static) -> String {
    let panic = tokio::spawn(call).await.err().expect("it panics").into_panic();
    *panic.downcast::<String>().expect("a message")
}

async fn record(place: &Place, agent: Arc<dyn Subagent>, prompts: &[&str]) {
    let cassette = Cassette::record(place.tape()).unwrap();
    let agent = cassette.agent("sh", agent);
    for prompt in prompts {
        let _ = agent.run(place.request(prompt)).await;
    }
    cassette.finish().unwrap();
}

#[tokio::test]
async fn a_program_is_recorded_and_replayed_without_it_elsewhere() {
    let (first, second) = (Place::new(), Place::new());
    let program =
        "read -r prompt; printf 'after\\n' > edited.txt; rm deleted.txt; echo \"$prompt\" > new.txt; echo done in $PWD";
    let prompt = |place: &Place| {
        let tmp = place.0.path().display();
        format!("fix it in {}, {tmp}/prompt.md says why; took {} s\n", place.dir().display(), tmp.to_string().len())
    };
    let cassette = Cassette::record(first.tape()).unwrap();
    let recorded = cassette.agent("sh", script(program)).run(first.request(&prompt(&first))).await.unwrap();
    drop(cassette);
    assert_eq!(recorded.ending, Ending::Finished);
    let tape = fs::read_to_string(first.tape()).unwrap();
    assert!(tape.contains("fix it in <dir>, <prompt-file> says why; took <duration>"), "{tape}");

    let cassette = Cassette::replay(first.tape()).unwrap();
    let agent = cassette.agent("sh", Arc::new(Absent));
    let replayed = agent.run(second.request(&prompt(&second))).await.unwrap();
    cassette.finish().unwrap();

    let mut expected = first.files();
    assert_eq!(expected["edited.txt"], "after\n");
    // A file's bytes are what they were, whatever they say.
    expected.insert("new.txt".to_owned(), prompt(&first));
    assert_eq!(second.files(), expected);
    assert_eq!(recorded.message.trim(), format!("done in {}", first.dir().display()));
    let message = recorded.message.replace(first.dir().to_str().unwrap(), second.dir().to_str().unwrap());
    assert_eq!(replayed, AgentReport { message, ..recorded });
    assert_eq!(agent.retry_from(), RetryFrom::Base, "as recorded, not as the agent in its place says");
}

#[tokio::test]
async fn steps_reports_errors_and_abilities_are_replayed() {
    let check = async |result: Result<AgentReport, SubagentError>| {
        let (first, second) = (Place::new(), Place::new());
        record(&first, Arc::new(Speaks(result.clone())), &["x"]).await;
        let cassette = Cassette::replay(first.tape()).unwrap();
        let agent = cassette.recorded_agents().get("sh").unwrap();
        let heard = Arc::new(Heard::default());
        let replayed = agent.run(AgentRequest { watch: heard.clone(), ..second.request("x") }).await;
        assert_eq!(format!("{replayed:?}"), format!("{result:?}"));
        let text = format!("I work in {}", second.dir().display());
        let step = TranscriptItem::Message { role: Role::Assistant, text };
        assert_eq!(*heard.0.lock().unwrap(), [(step, Some("call-1".to_owned()))]);
        assert_eq!((agent.retry_from(), agent.abilities().resume), (RetryFrom::Change, true));
        let unknown = cassette.recorded_agents().get("other").err().unwrap();
        assert_eq!(unknown.to_string(), "there is no agent `other`; configured: sh");
        cassette.finish().unwrap();
    };
    let usage = Usage { input: Some(10), cost_usd: Some(0.25), ..Usage::default() };
    check(Ok(AgentReport { usage, agent_session: Some("s-1".to_owned()), ..AgentReport::new(Ending::Budget) })).await;
    let resets_at = Some("2026-01-01T00:00:00Z".parse().unwrap());
    check(Ok(AgentReport::new(Ending::RateLimited { resets_at }))).await;
    check(Err(SubagentError::Missing { agent: "sh".to_owned(), message: "install it".to_owned() })).await;
}

#[tokio::test]
async fn a_call_without_a_recording_shows_the_difference_to_the_nearest_one() {
    let place = Place::new();
    record(&place, script("true"), &["something else\nentirely", "# Task\nfix the dates\nbe quick\n"]).await;
    let cassette = Cassette::replay(place.tape()).unwrap();
    let agent = cassette.agent("sh", Arc::new(Absent));
    let request = place.request("# Task\nfix the times\nbe quick\n");
    let message = panic_of(async move { agent.run(request).await }).await;
    let words =
        "has no recording of agent `sh` on subtask `t` of task `t`, attempt 1. The difference to the nearest one:";
    let diff = "--- recorded in line 3\n+++ asked for now\n@@ -7,5 +7,5 @@\n prompt:\n # Task\n-fix the dates\n+fix the times\n be quick\n";
    assert!(message.starts_with(&format!("cassette {} {words}\n{diff}", place.tape().display())), "{message}");
    assert!(message.ends_with("record it again with `Cassette::record`."), "{message}");

    let unused = cassette.finish().unwrap_err().to_string();
    assert!(unused.contains("line 2: agent `sh` on subtask `t` of task `t`, attempt 1, line 3: agent"), "{unused}");
}

#[tokio::test]
async fn another_attempt_mode_or_conversation_is_another_request() {
    let place = Place::new();
    record(&place, script("true"), &["x"]).await;
    let check = async |change: fn(&mut AgentRequest), words: &str| {
        let cassette = Cassette::replay(place.tape()).unwrap();
        let agent = cassette.agent("sh", Arc::new(Absent));
        let mut request = place.request("x");
        change(&mut request);
        let message = panic_of(async move { agent.run(request).await }).await;
        assert!(message.contains(words), "{message}");
        cassette.finish().unwrap_err();
    };
    check(|request| request.attempt = 2, "-attempt: 1\n+attempt: 2").await;
    check(|request| request.mode = Mode::ReadOnly, "-mode: work\n+mode: read_only").await;
    let resume = |request: &mut AgentRequest| {
        let earlier = reflexion::services::Earlier { agent_session: "s".to_owned(), usage: Usage::default() };
        request.conversation = Conversation::Resume(earlier);
    };
    check(resume, "-conversation: new\n+conversation: resume").await;
}

#[tokio::test]
async fn each_recording_is_played_once_and_equal_requests_get_theirs_in_order() {
    let place = Place::new();
    record(&place, script("echo x >> kept.txt; wc -l < kept.txt"), &["x", "x", "x"]).await;
    let cassette = Cassette::replay(place.tape()).unwrap();
    let agent = cassette.agent("sh", Arc::new(Absent));
    for lines in ["2", "3", "4"] {
        assert_eq!(agent.run(place.request("x")).await.unwrap().message.trim(), lines);
    }
    let request = place.request("x");
    let message = panic_of(async move { agent.run(request).await }).await;
    assert!(message.contains("has 3 recording(s) of agent `sh`"), "{message}");
    assert!(message.contains("played already (line 2, line 3, line 4)"), "{message}");
    cassette.finish().unwrap();
}

#[tokio::test]
async fn calls_at_the_same_time_are_recorded_and_replayed() {
    let places: Vec<_> = (0..8).map(|_| Place::new()).collect();
    let run = async |cassette: &Cassette, live: fn() -> Arc<dyn Subagent>| {
        let runs = places.iter().enumerate().map(|(number, place)| {
            let (agent, request) = (cassette.agent("sh", live()), place.request(&format!("number {number}\n")));
            async move { agent.run(request).await.unwrap().message }
        });
        join_all(runs).await
    };
    let tape = places[0].tape();
    let cassette = Cassette::record(&tape).unwrap();
    let recorded = run(&cassette, || script("cat")).await;
    cassette.finish().unwrap();
    let cassette = Cassette::replay(&tape).unwrap();
    assert_eq!(run(&cassette, || Arc::new(Absent)).await, recorded);
    assert_eq!(recorded[7].trim(), "number 7");
    cassette.finish().unwrap();
}

#[tokio::test]
async fn no_secret_of_the_environment_is_in_a_cassette() {
    let place = Place::new();
    let cassette = Cassette::record(place.tape()).unwrap();
    let mut request = place.request("the key is hunter2-hunter2");
    request.env = [("MY_API_KEY", "hunter2-hunter2"), ("PLAIN", "not-a-secret-name")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let agent = cassette.agent("sh", script("echo $MY_API_KEY; echo key=$MY_API_KEY > .env; exit 1"));
    let report = agent.run(request).await.unwrap();
    assert!(report.message.contains("hunter2"), "the caller gets what the agent says");
    cassette.finish().unwrap();
    let text = fs::read_to_string(place.tape()).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("not-a-secret-name"), "{text}");
    assert_eq!(text.matches("<env:MY_API_KEY>").count(), 3, "{text}");
}

#[tokio::test]
async fn too_much_to_record_and_recordings_nobody_asked_for_are_loud() {
    let place = Place::new();
    let cassette = Cassette::record(place.tape()).unwrap().max_bytes(10);
    let agent = cassette.agent("sh", script("echo 0123456789 > big.txt"));
    let request = place.request("x");
    let message = panic_of(async move { agent.run(request).await }).await;
    assert!(message.contains("the agent changed 11 bytes in 1 files, and at most 10"), "{message}");
    drop(cassette);

    record(&place, script("true"), &["x"]).await;
    let tape = place.tape();
    let message = panic_of(async move { drop(Cassette::replay(tape).unwrap()) }).await;
    assert!(message.contains("has recordings that nobody asked for: line 2: agent `sh`"), "{message}");
}

/// Answers with its own count.
#[derive(Default)]
struct Counts(Mutex<u32>);

#[async_trait]
impl Model for Counts {
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError> {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        if request.prompt == "fail" {
            let retry_after = Some(Duration::from_millis(1500));
            return Err(ModelError::RateLimited { retry_after, message: "slow down".to_owned() });
        }
        let usage = Usage { output: Some(3), ..Usage::default() };
        Ok(Completion { text: format!("answer {count}"), usage, truncated: true })
    }
}

#[tokio::test]
async fn questions_to_a_model_are_recorded_and_replayed() {
    let place = Place::new();
    let question = |prompt: &str| ModelRequest {
        system: Some("be brief".to_owned()),
        prompt: prompt.to_owned(),
        schema: Some(json!({ "type": "object" })),
    };
    let ask = async |cassette: &Cassette| {
        let model = cassette.model("test/counts", Arc::new(Counts::default()));
        let mut answers = Vec::new();
        for prompt in ["a", "took 3 s", "a", "fail"] {
            answers.push(model.complete(question(prompt)).await);
        }
        answers
    };
    let cassette = Cassette::record(place.tape()).unwrap();
    let recorded = ask(&cassette).await;
    cassette.finish().unwrap();

    let cassette = Cassette::replay(place.tape()).unwrap();
    assert_eq!(ask(&cassette).await, recorded);
    assert_eq!(recorded[2].as_ref().unwrap().text, "answer 3");
    assert_eq!(recorded[3].as_ref().unwrap_err().to_string(), "rate limited: slow down");
    let model = cassette.model("test/counts", Arc::new(Counts::default()));
    let other = ModelRequest { schema: Some(json!({ "type": "array" })), ..question("a") };
    let message = panic_of(async move { model.complete(other).await }).await;
    assert!(message.contains("-  \"type\": \"object\"\n+  \"type\": \"array\""), "{message}");
    cassette.finish().unwrap();
}

/// Runs the project's tasks with these layers on top of the live ones.
async fn run(project: &Project, layers: impl FnOnce(Layers) -> Layers) -> RunReport {
    let live = runtime::live().with(runtime::project(&project.dir).unwrap());
    let app = layers(live).build::<Svc<dyn Orchestrator>>().await.unwrap();
    let report = app.run(RunRequest::everything(runtime::new_run_id())).await.unwrap();
    app.shutdown().await.unwrap();
    report
}

/// A report without what differs between two runs: their name, their place, and how long they took.
fn comparable(mut report: RunReport) -> RunReport {
    report.run = RunId::new("run").unwrap();
    report.totals.duration_ms = 0;
    for task in &mut report.tasks {
        task.duration_ms = 0;
        let branch = task.branch.take().expect("it is confirmed");
        task.branch = branch.rsplit('/').next().map(str::to_owned);
    }
    report
}

async fn a_run_is_the_same_as_recorded(project: fn(&str) -> Project) {
    let (first, second) = (project(RIGHT_AT_TWO), project("echo the program was run in a replay >&2; exit 9"));
    for project in [&first, &second] {
        project.tasks(&[task("a"), task("b")]);
    }
    let tape: PathBuf = Path::new(&first.out).join("cassette.jsonl");

    let cassette = Cassette::record(&tape).unwrap();
    let on = cassette.clone();
    let recorded = run(&first, |layers| layers.wrap::<dyn Subagents>(move |agents| on.agents(agents))).await;
    cassette.finish().unwrap();
    assert_eq!((recorded.totals.confirmed, recorded.tasks[0].attempts), (2, 2));

    let cassette = Cassette::replay(&tape).unwrap();
    let agents = cassette.recorded_agents();
    let replayed = run(&second, |layers| layers.with(agents)).await;
    cassette.finish().unwrap();
    assert_eq!(comparable(replayed), comparable(recorded));
    let text = fs::read_to_string(&tape).unwrap();
    assert!(!text.contains(first.dir.to_str().unwrap()), "a path of this machine is in the cassette: {text}");
}

#[tokio::test]
async fn a_live_run_is_the_same_as_recorded_in_a_repository() {
    a_run_is_the_same_as_recorded(Project::new).await;
}

#[tokio::test]
async fn a_live_run_is_the_same_as_recorded_without_git() {
    a_run_is_the_same_as_recorded(Project::without_git).await;
}
