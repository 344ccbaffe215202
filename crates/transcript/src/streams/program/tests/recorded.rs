//! Every stream that was recorded from a real agent, with the ending that it must have.
//!
//! The recordings lie outside the repository; where they are missing, this says so and passes. `own.rs` has streams of
//! our own for that case.

use super::{Play, Played};
use crate::domain::Usage;
use crate::services::CommandEnd;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Scenarios, each with its ending.
type Endings = &'static [(&'static str, &'static str)];

/// Our name of the agent, its folder, and its scenarios with the ending each must have.
///
/// An agent that somebody else interrupted did not finish: `crash` where it died by the signal or says so with its exit
/// status, `agent_error` where it left quietly.
const EXPECTED: [(&str, &str, Endings); 6] = [
    (
        "claude",
        "claude-code",
        &[
            ("success-with-tool-calls", "finished"),
            ("long-multi-tool", "finished"),
            ("api-error", "transient"),
            ("rate-limit", "rate_limited"),
            ("rate-limit-recovered", "finished"),
            ("auth-error", "auth"),
            ("auth-missing", "auth"),
            ("context-overflow", "context"),
            ("max-turns", "budget"),
            ("max-budget", "budget"),
            ("interrupted", "crash"),
            ("interrupted-in-tool", "crash"),
            ("interrupted-sigint", "agent_error"),
            ("dropped-connection-recovered", "finished"),
            ("stream-error-recovered", "finished"),
            ("plan-mode", "finished"),
            ("permission-denied", "finished"),
            ("resume-second-run", "finished"),
            ("resume-unknown-session", "no such conversation"),
            ("partial-messages", "finished"),
            ("json-schema", "finished"),
            ("json-output", "finished"),
            ("stop-hook-block-once", "finished"),
            ("stop-hook-block-cap", "finished"),
            ("stop-hook-continue-false", "finished"),
            ("subagent", "finished"),
        ],
    ),
    (
        "codex",
        "codex",
        &[
            ("success-with-tool-calls", "finished"),
            ("long-multi-tool", "finished"),
            ("api-error", "transient"),
            ("api-error-default-retries", "transient"),
            ("rate-limit", "rate_limited"),
            ("rate-limit-recovered", "finished"),
            ("auth-error", "auth"),
            ("auth-missing", "auth"),
            ("context-overflow", "context"),
            ("stream-error", "transient"),
            ("dropped-connection-recovered", "finished"),
            ("interrupted", "crash"),
            ("interrupted-in-tool", "crash"),
            ("interrupted-sigint", "agent_error"),
            ("resume-second-run", "finished"),
            ("resume-unknown-session", "no such conversation"),
            ("output-schema", "finished"),
            ("read-only-sandbox", "finished"),
            ("stop-hook-block-once", "finished"),
        ],
    ),
    (
        "opencode",
        "opencode",
        &[
            ("success-with-tool-calls", "finished"),
            ("long-multi-tool", "finished"),
            ("auth-error", "auth"),
            ("rate-limit", "rate_limited in 1 s"),
            ("rate-limit-recovered", "finished"),
            ("api-error", "hang"),
            ("context-overflow", "context"),
            ("max-turns", "budget"),
            ("dropped-connection-recovered", "finished"),
            ("interrupted", "crash"),
            ("interrupted-in-tool", "crash"),
            ("interrupted-sigint", "crash"),
            ("plan-mode", "finished"),
            ("permission-denied", "permission"),
            ("resume-second-run", "finished"),
            ("unknown-model", "agent_error"),
        ],
    ),
    (
        "gemini",
        "gemini-cli",
        &[
            ("success-with-tool-calls", "finished"),
            ("long-multi-tool", "finished"),
            ("api-error", "transient"),
            ("rate-limit", "rate_limited"),
            ("rate-limit-recovered", "finished"),
            ("auth-error", "auth"),
            ("auth-missing", "auth"),
            ("context-overflow", "context"),
            ("max-turns", "budget"),
            ("loop-detected", "agent_error"),
            ("dropped-connection", "transient"),
            ("interrupted", "agent_error"),
            ("interrupted-in-tool", "agent_error"),
            ("plan-mode", "finished"),
            ("resume-second-run", "finished"),
            ("json-output", "agent_error"),
            ("untrusted-folder", "permission"),
            ("after-agent-hook-deny", "finished"),
        ],
    ),
    (
        "qwen",
        "qwen-code",
        &[
            ("success-with-tool-calls", "finished"),
            ("long-multi-tool", "finished"),
            ("auth-error", "auth"),
            // It says that it waits for its model, but not why.
            ("rate-limit", "transient"),
            ("rate-limit-recovered", "finished"),
            ("max-turns", "budget"),
            ("dropped-connection-recovered", "finished"),
            ("interrupted", "crash"),
            ("resume-second-run", "finished"),
        ],
    ),
    (
        "pi",
        "pi",
        &[
            ("success-with-tool-calls", "finished"),
            ("long-multi-tool", "finished"),
            ("auth-error", "auth"),
            ("rate-limit", "rate_limited"),
            ("api-error", "transient"),
            ("rate-limit-recovered", "finished"),
            ("dropped-connection-recovered", "finished"),
            ("interrupted", "crash"),
            ("resume-second-run", "finished"),
        ],
    ),
];

#[derive(Deserialize)]
struct Manifest {
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    file: String,
    exit_code: Option<i32>,
    signal: Option<i32>,
    killed_by: Option<String>,
    #[serde(default)]
    stderr: String,
}

impl Scenario {
    fn name(&self) -> &str {
        self.file.split('.').next().unwrap_or_default()
    }

    /// How our runner would have seen it end; what the harness ended by its clock, ours ends because it is silent.
    fn end(&self) -> CommandEnd {
        match (self.killed_by.as_deref(), self.exit_code, self.signal) {
            (Some("timeout"), _, _) => CommandEnd::Idle,
            (_, Some(code), _) => CommandEnd::Exited(code),
            (_, None, signal) => CommandEnd::Signaled(signal.expect("it exited or was ended by a signal")),
        }
    }
}

/// The folder of recordings, if it is there.
fn recordings() -> Option<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-streams");
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("SKIPPED: the recorded streams of agents are not here ({})", dir.display());
    None
}

fn scenarios(folder: &str) -> Vec<(Scenario, Vec<u8>)> {
    let Some(dir) = recordings() else { return Vec::new() };
    let text = fs::read_to_string(dir.join(folder).join("manifest.json")).expect("a folder has a manifest");
    let manifest: Manifest = serde_json::from_str(&text).expect("a manifest can be read");
    let with_stream = |scenario: Scenario| {
        let stream = fs::read(dir.join(folder).join(&scenario.file)).expect("a scenario has a stream");
        (scenario, stream)
    };
    manifest.scenarios.into_iter().map(with_stream).collect()
}

fn recorded(agent: &str, folder: &str, name: &str, play: Play) -> Option<Played> {
    let (scenario, stream) = scenarios(folder).into_iter().find(|(scenario, _)| scenario.name() == name)?;
    Some(play.of(agent, &stream, scenario.end(), &scenario.stderr))
}

#[test]
fn every_recorded_scenario_has_its_ending() {
    let mut wrong = Vec::new();
    for (agent, folder, expected) in EXPECTED {
        let mut left: BTreeSet<&str> = expected.iter().map(|(name, _)| *name).collect();
        for (scenario, stream) in scenarios(folder) {
            let name = scenario.name();
            left.remove(name);
            let expected = expected.iter().find(|(known, _)| *known == name).map(|(_, ending)| *ending);
            // Our own limit of turns, where the agent has none that it keeps.
            let max_turns = (agent == "opencode" && name == "max-turns").then_some(3);
            let played = Play { max_turns, ..Play::default() }.of(agent, &stream, scenario.end(), &scenario.stderr);
            if Some(played.ending().as_str()) != expected {
                wrong.push(format!(
                    "{folder}/{name}: {}, expected {expected:?}; {:?}",
                    played.ending(),
                    played.conclusion
                ));
            }
            if !played.fold.unknown.is_empty() && !scenario.file.ends_with(".json") {
                wrong.push(format!("{folder}/{name}: unknown records {:?}", played.fold.unknown));
            }
        }
        if recordings().is_some() && !left.is_empty() {
            wrong.push(format!("{folder}: no recording of {left:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The same scripted work everywhere: 4200 tokens read of which 2900 cached, 110 written; the Anthropic dialect counts
/// cached tokens beside the others.
#[test]
fn the_same_work_has_the_same_usage() {
    let check = |agent: &str, folder: &str, input: u64, turns: u32, cost: Option<f64>| {
        let Some(played) = recorded(agent, folder, "success-with-tool-calls", Play::default()) else { return };
        let usage = played.fold.used();
        let tokens = (usage.input, usage.cached, usage.output);
        assert_eq!(tokens, (Some(input), Some(2900), Some(110)), "{agent}");
        assert_eq!(played.fold.turns, turns, "{agent}");
        let close = usage.cost_usd.zip(cost).is_none_or(|(cost, expected)| (cost - expected).abs() < 1e-6);
        assert!(close && usage.cost_usd.is_some() == cost.is_some(), "{agent}: {:?}", usage.cost_usd);
        assert_eq!(played.fold.message, "Done: hello.txt says hi.", "{agent}");
    };
    check("claude", "claude-code", 7100, 3, Some(0.01958));
    check("codex", "codex", 4200, 3, None);
    check("opencode", "opencode", 4200, 3, Some(0.00642));
    check("gemini", "gemini-cli", 4200, 3, Some(0.003_087_5));
    check("qwen", "qwen-code", 4200, 3, None);
    check("pi", "pi", 4200, 3, Some(0.00642));
}

#[test]
fn a_resumed_run_has_only_its_own_usage() {
    let check = |agent: &str, folder: &str, input: u64, output: u64| {
        let play = |earlier| Play { earlier, ..Play::default() };
        let Some(first) = recorded(agent, folder, "success-with-tool-calls", Play::default()) else { return };
        let earlier: Usage = first.fold.used();
        let Some(second) = recorded(agent, folder, "resume-second-run", play(earlier)) else { return };
        let usage = second.fold.used();
        assert_eq!((usage.input, usage.output), (Some(input), Some(output)), "{agent}");
    };
    check("claude", "claude-code", 7100, 40);
    check("codex", "codex", 3700, 40);
    check("opencode", "opencode", 3700, 40);
    check("gemini", "gemini-cli", 3700, 40);
    check("qwen", "qwen-code", 3700, 40);
    check("pi", "pi", 3700, 40);
}

#[test]
fn denied_calls_are_counted() {
    let check = |agent: &str, folder: &str, name: &str| {
        if let Some(played) = recorded(agent, folder, name, Play::default()) {
            assert_eq!(played.fold.denied.len(), 1, "{folder}/{name}");
        }
    };
    check("claude", "claude-code", "permission-denied");
    check("claude", "claude-code", "plan-mode");
    check("opencode", "opencode", "plan-mode");
    check("opencode", "opencode", "permission-denied");
    check("gemini", "gemini-cli", "plan-mode");
}

#[test]
fn a_sub_agents_steps_have_their_parent() {
    use crate::domain::{ToolKind, TranscriptItem};
    let Some(played) = recorded("claude", "claude-code", "subagent", Play::default()) else { return };
    let call = played.steps.iter().find_map(|(item, _)| match item {
        TranscriptItem::ToolCall { id, kind: ToolKind::Agent, .. } => Some(id.clone()),
        _ => None,
    });
    assert!(call.is_some());
    assert!(
        played.steps.iter().any(|(item, parent)| *parent == call && matches!(item, TranscriptItem::ToolCall { .. }))
    );
    // Its tokens count, its turns do not.
    assert_eq!((played.fold.turns, played.fold.used().input), (2, Some(15829)));
}
