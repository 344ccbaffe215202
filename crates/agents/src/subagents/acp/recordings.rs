//! Recorded exchanges with real agents, played again.

use super::player::{Act, Played, Stage};
use crate::domain::policy::Permissions;
use crate::domain::{CostSource, Ending, Usage};
use serde_json::Value;
use std::path::PathBuf;

/// What must be known of a recorded run.
struct Expected {
    file: &'static str,
    ending: Ending,
    denied: u32,
    /// Input, cached, output.
    tokens: Option<(u64, Option<u64>, u64)>,
    reasoning: Option<u64>,
    cost: Option<f64>,
}

fn expect(file: &'static str, ending: Ending) -> Expected {
    Expected { file, ending, denied: 0, tokens: None, reasoning: None, cost: None }
}

impl Expected {
    fn denied(self, denied: u32) -> Self {
        Self { denied, ..self }
    }
    fn tokens(self, input: u64, cached: impl Into<Option<u64>>, output: u64) -> Self {
        Self { tokens: Some((input, cached.into(), output)), ..self }
    }
    fn reasoning(self, reasoning: u64) -> Self {
        Self { reasoning: Some(reasoning), ..self }
    }
    fn cost(self, cost: f64) -> Self {
        Self { cost: Some(cost), ..self }
    }
    fn usage(&self) -> Usage {
        let (input, cached, output) = self.tokens.map_or((None, None, None), |(i, c, o)| (Some(i), c, Some(o)));
        Usage {
            input,
            cached,
            output,
            reasoning: self.reasoning,
            cost_usd: self.cost,
            cost_source: self.cost.map(|_| CostSource::Reported),
        }
    }
}

fn table() -> Vec<Expected> {
    let limited = || Ending::RateLimited { resets_at: None };
    vec![
        expect("claude-code-success", Ending::Finished).tokens(7100, 2900, 110).cost(0.023_068),
        expect("claude-code-reject", Ending::Finished).denied(1).tokens(7100, 2900, 110).cost(0.023_068),
        expect("claude-code-cancel", Ending::Cancelled).tokens(1500, 300, 50).cost(0.009_348),
        // It tries again for minutes and says nothing.
        expect("claude-code-error401", Ending::Timeout),
        expect("codex-success", Ending::Finished).tokens(4200, 2900, 110).reasoning(0),
        expect("codex-reject", Ending::Finished).tokens(4200, 2900, 110).reasoning(0),
        expect("codex-cancel", Ending::Cancelled).tokens(1200, 300, 50).reasoning(0),
        expect("codex-error401", Ending::Auth),
        expect("codex-error429", limited()),
        expect("codex-zed-success", Ending::Finished),
        expect("codex-zed-cancel", Ending::Cancelled),
        expect("gemini-cli-success", Ending::Finished).tokens(4200, None, 110),
        expect("gemini-cli-nofs", Ending::Finished).tokens(4200, None, 110),
        expect("gemini-cli-reject", Ending::Finished).denied(1).tokens(4200, None, 110),
        expect("gemini-cli-cancel", Ending::Cancelled),
        expect("gemini-cli-error401", Ending::Auth),
        expect("opencode-success", Ending::Finished).cost(0.006_42),
        expect("opencode-reject", Ending::Finished).cost(0.006_42),
        expect("opencode-cancel", Ending::Cancelled).cost(0.003_54),
        expect("opencode-error401", Ending::Auth),
        expect("opencode-error429", limited()),
    ]
}

/// The recordings are shared between projects and stand beside this one, where they are.
fn recordings() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-streams/acp")
}

async fn play(file: &str) -> Played {
    let text = std::fs::read_to_string(recordings().join(format!("{file}.jsonl"))).unwrap();
    let act = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        match entry["dir"].as_str().unwrap() {
            "client->agent" => Act::Hears(entry["msg"].take()),
            "agent->client" => Act::Says(entry["msg"].take()),
            _ if entry["msg"]["rc"] == 0 => Act::EndsAfterStdin,
            _ => Act::Stays,
        }
    };
    let mut stage = Stage::new(text.lines().map(act).collect());
    if file.ends_with("-reject") {
        stage.options.permissions = Permissions::Deny;
    }
    stage.play().await
}

#[tokio::test(start_paused = true)]
async fn every_recorded_run_ends_as_it_did() {
    if !recordings().is_dir() {
        eprintln!("SKIPPED: the recorded exchanges are not at {}", recordings().display());
        return;
    }
    let mut known: Vec<_> = table().iter().map(|expected| format!("{}.jsonl", expected.file)).collect();
    let files = std::fs::read_dir(recordings()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<_> = files.filter(|name| name.ends_with(".jsonl")).collect();
    known.sort();
    files.sort();
    assert_eq!(files, known, "every recording has its line in the table");
    for expected in table() {
        let played = play(expected.file).await;
        let report = played.report.unwrap_or_else(|error| panic!("{}: {error}", expected.file));
        let file = expected.file;
        assert_eq!(report.ending, expected.ending, "{file}: {:?}", report.detail);
        assert_eq!(report.denied, expected.denied, "{file}");
        assert_eq!(report.usage, expected.usage(), "{file}");
        assert!(report.agent_session.is_some(), "{file}");
        let unknown: Vec<_> = report.unknown.keys().filter(|name| *name != "fs/read_text_file").collect();
        assert_eq!(unknown, Vec::<&String>::new(), "{file}");
    }
}
