//! promptfoo's own test-case layout.

use super::assertion::Assertion;
use super::case::Case;
use super::case::Expectation;
use super::case::Given;
use super::case::TranscriptCase;
use super::read::strictly;
use super::suite::Suite;
use super::suite::SuiteKind;
use crate::services::CompactionQuestion;
use crate::services::StuckQuestion;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// The part of promptfoo's configuration that is read.
#[derive(Debug, Deserialize)]
pub(super) struct PromptfooFile {
    #[serde(default, rename = "defaultTest")]
    default_test: Test,
    tests: Vec<Test>,
}

/// One test case in promptfoo's layout.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Test {
    /// What it shows.
    #[serde(default)]
    pub description: Option<String>,
    /// What is judged.
    #[serde(default)]
    pub vars: Map<String, Value>,
    /// What must hold of the verdict's JSON.
    #[serde(default)]
    pub assert: Vec<Assertion>,
}

/// Variables that carry a conversation in the plain form, and other names that suites have for them.
const PLAIN: [(&str, &str); 9] = [
    ("task", "task"),
    ("messages", "messages"),
    ("tools", "tools"),
    ("commands", "commands"),
    ("response", "response"),
    ("agent_response", "response"),
    ("output", "response"),
    ("files", ""),
    ("kind", ""),
];

/// The suite of a file, of which `shape` is the whole.
pub(super) fn suite(file: PromptfooFile, shape: &Value, name: &str) -> Result<Suite, String> {
    let used = ["tests", "defaultTest", "description"];
    let unused: Vec<&str> = shape.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    let unused: Vec<&str> = unused.into_iter().filter(|key| !used.contains(key)).collect();
    let mut notes = Vec::new();
    if !unused.is_empty() {
        let named = unused.join("`, `");
        notes.push(format!("`{named}` of promptfoo are not used: the project's own prompts and judges answer"));
    }
    let mut kinds = Vec::new();
    let mut cases = Vec::new();
    for (number, test) in (1..).zip(file.tests) {
        let mut vars = file.default_test.vars.clone();
        vars.extend(test.vars);
        let kind = kind_of(&vars)
            .ok_or_else(|| format!("`tests[{}].vars` are of no known kind; see docs/eval.md", number - 1))?;
        kinds.push(kind);
        let given = given(kind, &vars, &mut notes).map_err(|e| format!("`tests[{}].vars`: {e}", number - 1))?;
        let assertions: Vec<Assertion> = test.assert.iter().chain(&file.default_test.assert).cloned().collect();
        cases.push(Case {
            id: format!("test-{number:03}"),
            description: test.description.unwrap_or_default(),
            given,
            expect: Expectation::Assertions(assertions),
        });
    }
    let kind = kinds.first().copied().ok_or("`tests` is empty")?;
    if let Some(at) = kinds.iter().position(|other| *other != kind) {
        return Err(format!("`tests[{at}]` is of another kind than `tests[0]`; a suite has one kind"));
    }
    notes.dedup();
    let description = shape.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Suite { name: name.to_owned(), description, kind, threshold: None, cases, notes })
}

/// The kind by its name, or by the variables that only it has.
fn kind_of(vars: &Map<String, Value>) -> Option<SuiteKind> {
    if let Some(kind) = vars.get("kind") {
        return serde_json::from_value(kind.clone()).ok();
    }
    let has = |names: &[&str]| names.iter().any(|name| vars.contains_key(*name));
    if has(&["time_since_activity", "message_completed", "output_tokens", "tool_calls"]) {
        return Some(SuiteKind::Stuck);
    }
    if has(&["task_summary", "has_git_commands", "has_pr_issue_ref"]) {
        return Some(SuiteKind::Compaction);
    }
    has(&["transcript", "task", "messages", "tools"]).then_some(SuiteKind::Completion)
}

fn given(kind: SuiteKind, vars: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Given, String> {
    Ok(match kind {
        SuiteKind::Stuck => Given::Stuck(question::<StuckQuestion>(vars)?),
        SuiteKind::Compaction => Given::Compaction(question::<CompactionQuestion>(vars)?),
        SuiteKind::Completion | SuiteKind::Agent => Given::Transcript(TranscriptCase {
            input: conversation(vars, notes),
            files: vars.get("files").cloned().map(serde_json::from_value).transpose().map_err(|e| e.to_string())?
                .unwrap_or_default(),
            ..TranscriptCase::default()
        }),
    })
}

fn question<Q: DeserializeOwned + serde::Serialize + Default>(vars: &Map<String, Value>) -> Result<Q, String> {
    let mut vars = vars.clone();
    vars.remove("kind");
    strictly::<_, Q>(Value::Object(vars)).map_err(|e| e.to_string())
}

/// A whole transcript in one variable, or the plain form in several.
fn conversation(vars: &Map<String, Value>, notes: &mut Vec<String>) -> Value {
    if let Some(transcript) = vars.get("transcript") {
        return transcript.clone();
    }
    let mut plain = json!({});
    for (key, value) in vars {
        match PLAIN.iter().find(|(name, _)| name == key) {
            Some((_, "")) => {}
            Some((_, place)) => plain[*place] = value.clone(),
            None => notes.push(format!("the variable `{key}` is not read: what it says are no facts of a tool call")),
        }
    }
    plain
}
