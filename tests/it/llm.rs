//! Language models against a scripted model server that was written apart from this crate, in its three dialects; and
//! the whole loop with a `completion` agent and an `llm` generator on it.

use reflexion::domain::policy;
use reflexion::services::{Completion, ModelError, ModelRequest};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROVIDERS: [policy::Provider; 3] =
    [policy::Provider::Anthropic, policy::Provider::OpenAi, policy::Provider::Gemini];

/// The scripted server; it ends with the test.
struct Server {
    child: Child,
    address: String,
    log: PathBuf,
    _dir: tempfile::TempDir,
}

impl Server {
    /// None, loudly, where the server is not there.
    fn start(script: &Value) -> Option<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tools/mock_llm.py");
        if !program.exists() {
            eprintln!("SKIPPED: no scripted model server at {}", program.display());
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
        let log = dir.path().join("requests.jsonl");
        let mut child = Command::new("python3")
            .arg(program)
            .args(["--port", "0", "--script"])
            .arg(dir.path().join("script.json"))
            .arg("--log")
            .arg(&log)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("http://"), "{line}");
        Some(Self { child, address, log, _dir: dir })
    }

    fn model(&self, provider: policy::Provider) -> policy::Model {
        let version = if provider == policy::Provider::Gemini { "v1beta" } else { "v1" };
        policy::Model {
            provider,
            name: "mock-model".to_owned(),
            base_url: Some(format!("{}/{version}", self.address)),
            key_env: None,
            max_tokens: 400,
            temperature_milli: Some(0),
            structured: policy::Structured::On,
            limits: policy::Limits {
                timeout: Duration::from_secs(30),
                concurrency: None,
                per_minute: None,
                retries: 0,
            },
        }
    }

    async fn ask(&self, provider: policy::Provider, schema: Option<Value>) -> Result<Completion, ModelError> {
        let model = reflexion::llm::open(&self.model(provider), |_| None).unwrap();
        model.complete(ModelRequest { system: Some("be brief".to_owned()), prompt: "why?".to_owned(), schema }).await
    }

    fn requests(&self) -> Vec<String> {
        std::fs::read_to_string(&self.log).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A script that answers every question alike.
fn always(turn: &Value) -> Value {
    json!({ "rules": [{ "name": "all", "when": {}, "turns": [turn] }] })
}

#[tokio::test]
async fn each_dialect_gives_text_and_usage() {
    let usage = json!({ "input": 1200, "output": 80, "cache_read": 200 });
    let Some(server) = Server::start(&always(&json!({ "text": "because", "usage": usage }))) else { return };
    for provider in PROVIDERS {
        let answer = server.ask(provider, None).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.truncated), ("because", false), "{provider:?}");
        assert_eq!((answer.usage.cached, answer.usage.output), (Some(200), Some(80)), "{provider:?}");
        // Whether the script's `input` holds the cached ones is the dialect's convention; ours always does.
        assert!(answer.usage.input >= Some(1200), "{provider:?}: {:?}", answer.usage);
    }
}

#[tokio::test]
async fn each_dialect_sends_the_schema_and_says_when_it_was_cut_off() {
    let Some(server) = Server::start(&always(&json!({ "json": { "a": "x" }, "stop": "length" }))) else { return };
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false,
    });
    for provider in PROVIDERS {
        let answer = server.ask(provider, Some(schema.clone())).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&answer.text).unwrap(), json!({ "a": "x" }), "{provider:?}");
        assert!(answer.truncated, "{provider:?}");
    }
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|line| line.contains("\"required\"")).count(), 3, "{requests:#?}");
}

#[tokio::test]
async fn each_dialect_has_its_errors() {
    async fn check(turn: Value, expected: fn(&ModelError) -> bool) {
        let Some(server) = Server::start(&always(&turn)) else { return };
        for provider in PROVIDERS {
            let error = server.ask(provider, None).await.unwrap_err();
            assert!(expected(&error), "{provider:?} on {turn}: {error:?}");
        }
    }
    check(
        json!({ "error": { "status": 429, "retry_after": 7 } }),
        |e| matches!(e, ModelError::RateLimited { retry_after: Some(wait), .. } if wait.as_secs() == 7),
    )
    .await;
    check(json!({ "error": { "status": 401 } }), |e| matches!(e, ModelError::Auth(_))).await;
    check(json!({ "error": { "status": 403 } }), |e| matches!(e, ModelError::Auth(_))).await;
    check(json!({ "error": { "status": 400 } }), |e| matches!(e, ModelError::Rejected(_))).await;
    check(json!({ "error": { "status": 500 } }), |e| matches!(e, ModelError::Transient(_))).await;
    check(json!({ "error": { "status": 529 } }), |e| matches!(e, ModelError::Transient(_))).await;
    check(json!({ "drop": true, "text": "half" }), |e| matches!(e, ModelError::Transient(_))).await;
    check(json!({ "drop": "start" }), |e| matches!(e, ModelError::Transient(_))).await;
}

/// A git repository with a wrong function, its check, and a `completion` agent on the server.
fn project(server: &Server) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(dir.path().join(path), text).unwrap();
    write("calc.py", "def half(a):\n    return a * 2\n");
    write("check.py", "from calc import half\nassert half(6) == 3, half(6)\n");
    let task = json!({
        "id": "half", "title": "half", "description": "Mend half in calc.py.", "status": "open",
        "checks": [{ "name": "test", "run": "python3 -B check.py" }], "createdAt": "2026-01-01T00:00:00Z",
    });
    write("tasks.jsonl", &format!("{task}\n"));
    let model = json!({ "provider": "openai", "baseUrl": format!("{}/v1", server.address), "model": "mock-model" });
    let settings = json!({
        "models": { "mock": model },
        "agents": { "default": "small", "small": { "type": "completion", "model": "mock" } },
        "protect": ["check.py"],
        "reflexion": { "generator": { "type": "llm", "model": "mock" } },
    });
    write("project.json", &settings.to_string());
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "start"]] {
        let git = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(dir.path())
            .status();
        assert!(git.unwrap().success(), "git {args:?}");
    }
    dir
}

#[test]
fn a_reflection_by_the_model_reaches_the_model_and_the_task_is_confirmed() {
    let lesson = "divide by two and keep whole numbers";
    let usage = json!({ "input": 1000, "output": 50 });
    let files = |code: &str| json!({ "usage": { "input": 7, "output": 3 }, "text": format!("Done.\n\n`calc.py`:\n```python\n{code}```\n") });
    let script = json!({ "rules": [
        { "name": "lesson", "when": { "contains": "Change no files and run nothing" }, "turns": [
            { "text": "It subtracts.", "usage": usage },
            { "json": {
                "category": "root_cause", "analysis": "it subtracts", "suggestion": lesson, "actionItems": [],
                "confidence": 0.9,
            }, "usage": usage },
            { "json": {
                "category": "root_cause", "analysis": "only the change that passed divides", "suggestion": "look at the operator first",
                "actionItems": [], "confidence": 0.9,
            }, "usage": usage },
        ] },
        { "name": "second", "when": { "contains": lesson }, "turns": [files("def half(a):\n    return a // 2\n")] },
        { "name": "first", "when": {}, "turns": [files("def half(a):\n    return a - 2\n")] },
    ] });
    let Some(server) = Server::start(&script) else { return };
    let dir = project(&server);
    let run = |args: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("reflexion").unwrap();
        command
            .env("REFLEXION_TRUST", "1")
            .env("REFLEXION_HOLDOUT", "0")
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap()
    };
    let done = run(&["run", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["tasks"][0]["solvedAt"], 2, "{report:#}");
    assert_eq!(report["tasks"][0]["verdict"], "confirmed");
    let listed: Value = serde_json::from_slice(&run(&["memory", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed["reflections"][0]["origin"], json!({ "by": "llm", "model": "mock-model" }));
    let [contrast, guess] = [&listed["reflections"][0], &listed["reflections"][1]];
    assert_eq!((&contrast["replaces"], &contrast["suggestion"]), (&guess["id"], &json!("look at the operator first")));
    let asked = server.requests();
    assert_eq!(asked.len(), 5, "an answer that cannot be read is asked for again");
    assert!(asked[4].contains("What the attempt that passed changed"), "{}", asked[4]);
    // All answers of the generator were paid for.
    assert_eq!(report["totals"]["tokens"], 2 * 10 + 3 * 1050, "{report:#}");
    let run = report["run"].as_str().unwrap();
    let journal = std::fs::read_to_string(dir.path().join(".reflection/runs").join(run).join("journal.jsonl")).unwrap();
    let judged: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let used: Vec<&Value> = judged.iter().filter_map(|entry| entry.get("reflectionUsage")).collect();
    let input: Vec<_> = used.iter().map(|used| used["input"].as_u64().unwrap()).collect();
    assert_eq!(input, [2000, 1000], "{journal}");
}
