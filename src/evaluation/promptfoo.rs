//! promptfoo's own test-case layout.

use super::assertion::Assertion;
use super::case::{Case, Expectation, Given, TranscriptCase};
use super::read::strictly;
use super::suite::{Suite, SuiteKind};
use crate::services::{CompactionQuestion, StuckQuestion};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

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
            files: vars
                .get("files")
                .cloned()
                .map(serde_json::from_value)
                .transpose()
                .map_err(|e| e.to_string())?
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

#[cfg(test)]
mod tests {
    use super::super::read::{Format, read};
    use super::*;

    #[test]
    fn promptfoos_layout_is_read() {
        let text = "description: from elsewhere
prompts: [file://judge.txt]
providers: [openai:gpt-5-mini]
defaultTest:
  assert: [{type: is-json}]
tests:
- description: a tool runs
  vars: {time_since_activity: 90, message_completed: false, tool_calls: 'bash: running'}
  assert:
  - {type: contains, value: working}
  - {type: javascript, value: output.length > 2}
";
        let suite = read("foo.yaml", text, Format::Yaml).unwrap();
        assert_eq!(
            (suite.kind, suite.name.as_str(), suite.cases[0].id.as_str()),
            (SuiteKind::Stuck, "foo", "test-001")
        );
        assert!(suite.notes[0].starts_with("`prompts`, `providers` of promptfoo are not used"), "{:?}", suite.notes);
        let Expectation::Assertions(assertions) = &suite.cases[0].expect else { panic!() };
        assert_eq!(
            assertions.iter().map(|a| a.kind.as_str()).collect::<Vec<_>>(),
            ["contains", "javascript", "is-json"]
        );
    }

    #[test]
    fn conversations_come_in_one_variable_or_in_several() {
        let given = |vars: &str| {
            let suite = read("foo.yaml", &format!("tests: [{{vars: {vars}}}]"), Format::Yaml).unwrap();
            let Given::Transcript(case) = suite.cases[0].given.clone() else { panic!("{suite:?}") };
            (suite.kind, case.input, suite.notes)
        };
        let (kind, input, notes) = given("{task: Fix it, agent_response: Done, tools_used: 'bash: npm test'}");
        assert_eq!((kind, input), (SuiteKind::Completion, json!({"response": "Done", "task": "Fix it"})));
        assert!(notes[0].starts_with("the variable `tools_used` is not read"), "{notes:?}");
        let (kind, input, _) = given("{kind: agent, transcript: '{\"task\":\"Fix it\"}'}");
        assert_eq!((kind, input), (SuiteKind::Agent, json!("{\"task\":\"Fix it\"}")));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let check = |tests: &str, expected: &str| {
            let error = read("foo.yaml", &format!("tests: {tests}"), Format::Yaml).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("[{vars: {topic: birds}}]", "`tests[0].vars` are of no known kind");
        check("[]", "`tests` is empty");
        check("file://tests.csv", "`tests`");
        check("[{vars: {task: a}}, {vars: {tool_calls: b}}]", "`tests[1]` is of another kind");
        check("[{vars: {tool_calls: b, tools: c}}]", "`tests[0].vars`: unknown field `tools`");
    }
}
