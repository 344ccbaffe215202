//! Reading suites from files.

use super::case::{
    Case, Expectation, ExpectedCompaction, ExpectedCompletion, ExpectedScore, ExpectedStuck, Given, ObservedCase,
    TranscriptCase,
};
use super::promptfoo;
use super::suite::{Suite, SuiteKind};
use super::threshold::Threshold;
use crate::domain::{DistinctKeys, Expects};
use crate::services::{CompactionQuestion, StuckQuestion};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How a suite is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.2.
    Yaml,
    /// JSON.
    Json,
    /// JSON Lines: the suite without its cases on the first line, then a case on each.
    JsonLines,
}

impl Format {
    /// By the end of a file's name; none if it is none of ours.
    #[must_use]
    pub fn of(file: &str) -> Option<Self> {
        match file.rsplit_once('.')?.1 {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "jsonl" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

/// A suite that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{place}: {message}", place = self.place())]
pub struct SuiteError {
    /// The file, as it was named.
    pub file: String,
    /// From 1; none where the whole file is meant.
    pub line: Option<u64>,
    /// What is wrong, with the key.
    pub message: String,
}

impl SuiteError {
    fn place(&self) -> String {
        self.line.map(|line| format!(":{line}")).unwrap_or_default()
    }
}

/// Reads a suite: our own shape, or promptfoo's test cases. `file` is only named in messages, and gives the name of a
/// suite that has none.
///
/// # Errors
/// [`SuiteError`] with the line and the key.
pub fn read(file: &str, text: &str, format: Format) -> Result<Suite, SuiteError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source { file, text, format };
    let shape: Value = source.parse()?;
    let suite = if shape.get("cases").is_some() {
        own(&source, &shape)?
    } else if shape.get("tests").is_some() {
        promptfoo::suite(source.parse()?, &shape, &source.stem()).map_err(|message| source.wrong(&message))?
    } else {
        return Err(source.wrong("has neither `cases` nor promptfoo's `tests`; see docs/eval.md for both layouts"));
    };
    checked(&source, suite)
}

/// A file and its text.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    format: Format,
}

impl Source<'_> {
    fn parse<T: DeserializeOwned>(&self) -> Result<T, SuiteError> {
        match self.format {
            Format::Yaml => self.yaml(),
            Format::Json => self.json(self.text, None),
            Format::JsonLines => self.json_lines(),
        }
    }

    fn yaml<T: DeserializeOwned>(&self) -> Result<T, SuiteError> {
        let mut track = serde_path_to_error::Track::new();
        let parsed = serde_saphyr::with_deserializer_from_str(self.text, |de| {
            T::deserialize(serde_path_to_error::Deserializer::new(de, &mut track))
        });
        parsed.map_err(|error| {
            let line = error.location().map(|location| location.line());
            self.at(line, &track.path().to_string(), &first_line(&error.without_snippet().to_string()))
        })
    }

    /// `line` is that of the text in the file, if it is a part of it.
    fn json<T: DeserializeOwned>(&self, text: &str, line: Option<u64>) -> Result<T, SuiteError> {
        self.json_value::<DistinctKeys>(text, line)?;
        self.json_value(text, line)
    }

    fn json_value<T: DeserializeOwned>(&self, text: &str, line: Option<u64>) -> Result<T, SuiteError> {
        let de = &mut serde_json::Deserializer::from_str(text);
        let read = serde_path_to_error::deserialize(&mut *de);
        let value = read.map_err(|e| {
            let inner = e.inner();
            self.at(line.or(Some(inner.line() as u64)), &e.path().to_string(), &inner.to_string())
        })?;
        de.end().map_err(|e| self.at(line.or(Some(e.line() as u64)), ".", &e.to_string()))?;
        Ok(value)
    }

    /// The lines put together to one value; a wrong case is found again by its line.
    fn json_lines<T: DeserializeOwned>(&self) -> Result<T, SuiteError> {
        let mut lines = (1..).zip(self.text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or_else(|| self.wrong("is empty"))?;
        let mut suite: serde_json::Map<String, Value> = self.json(first, Some(1))?;
        let mut numbers = Vec::new();
        let mut cases = Vec::new();
        for (number, line) in lines {
            cases.push(self.json(line, Some(number))?);
            numbers.push(number);
        }
        suite.insert("cases".to_owned(), Value::Array(cases));
        serde_path_to_error::deserialize(Value::Object(suite)).map_err(|e| {
            let in_case = e.path().iter().find_map(|segment| match segment {
                serde_path_to_error::Segment::Seq { index } => numbers.get(*index).copied(),
                _ => None,
            });
            self.at(Some(in_case.unwrap_or(1)), &e.path().to_string(), &e.inner().to_string())
        })
    }

    fn at(&self, line: Option<u64>, path: &str, message: &str) -> SuiteError {
        let message = message.rsplit_once(" at line ").map_or(message, |(before, _)| before);
        let message =
            if path == "." || path.contains('?') { message.to_owned() } else { format!("`{path}`: {message}") };
        SuiteError { file: self.file.to_owned(), line, message }
    }

    fn wrong(&self, message: &str) -> SuiteError {
        SuiteError { file: self.file.to_owned(), line: None, message: message.to_owned() }
    }

    /// Where a case's id stands, to show where something is wrong that its keys and types do not show.
    fn wrong_case(&self, id: &str, message: &str) -> SuiteError {
        let names = |line: &str| line.contains("id") && line.contains(id);
        let line = (1..).zip(self.text.lines()).filter(|(_, line)| names(line)).map(|(number, _)| number).last();
        SuiteError { file: self.file.to_owned(), line, message: format!("case `{id}`: {message}") }
    }

    fn stem(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        name.split('.').next().unwrap_or(name).to_owned()
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

/// Our own shape.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile<C> {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    kind: SuiteKind,
    #[serde(default)]
    threshold: Option<Threshold>,
    cases: Vec<C>,
}

/// A case about a conversation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TranscriptCaseFile<E> {
    id: String,
    description: String,
    input: Value,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    observed: Option<ObservedCase>,
    #[serde(default)]
    expects: Option<Expects>,
    expect: E,
}

/// A case about a question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound = "Q: DeserializeOwned + Serialize + Default, E: DeserializeOwned")]
struct QuestionCaseFile<Q, E> {
    id: String,
    description: String,
    #[serde(deserialize_with = "strictly")]
    input: Q,
    expect: E,
}

/// The questions' own readers take no offence at a misspelt key, which would make a case about something else.
pub(super) fn strictly<'de, D, Q>(deserializer: D) -> Result<Q, D::Error>
where
    D: serde::Deserializer<'de>,
    Q: DeserializeOwned + Serialize + Default,
{
    let value = Value::deserialize(deserializer)?;
    let known = serde_json::to_value(Q::default()).map_err(D::Error::custom)?;
    if let Some(key) = value.as_object().and_then(|map| map.keys().find(|key| known.get(key).is_none())) {
        let known: Vec<&str> = known.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        return Err(D::Error::custom(format!("unknown field `{key}`, expected one of {}", known.join(", "))));
    }
    serde_json::from_value(value).map_err(D::Error::custom)
}

fn own(source: &Source<'_>, shape: &Value) -> Result<Suite, SuiteError> {
    #[derive(Deserialize)]
    struct Head {
        kind: SuiteKind,
    }
    let Head { kind } = match shape.get("kind") {
        Some(_) => source.parse()?,
        None => return Err(source.wrong("has no `kind`: completion, stuck, compaction or agent")),
    };
    match kind {
        SuiteKind::Completion => {
            suite(source, |case: TranscriptCaseFile<ExpectedCompletion>| transcript(case, Expectation::Completion))
        }
        SuiteKind::Agent => {
            suite(source, |case: TranscriptCaseFile<ExpectedScore>| transcript(case, Expectation::Score))
        }
        SuiteKind::Stuck => suite(source, |case: QuestionCaseFile<StuckQuestion, ExpectedStuck>| Case {
            id: case.id,
            description: case.description,
            given: Given::Stuck(case.input),
            expect: Expectation::Stuck(case.expect),
        }),
        SuiteKind::Compaction => suite(source, |case: QuestionCaseFile<CompactionQuestion, ExpectedCompaction>| Case {
            id: case.id,
            description: case.description,
            given: Given::Compaction(case.input),
            expect: Expectation::Compaction(case.expect),
        }),
    }
}

fn suite<C: DeserializeOwned>(source: &Source<'_>, case: impl Fn(C) -> Case) -> Result<Suite, SuiteError> {
    let file: SuiteFile<C> = source.parse()?;
    Ok(Suite {
        name: if file.name.is_empty() { source.stem() } else { file.name },
        description: file.description,
        kind: file.kind,
        threshold: file.threshold,
        cases: file.cases.into_iter().map(case).collect(),
        notes: Vec::new(),
    })
}

fn transcript<E>(case: TranscriptCaseFile<E>, expect: impl Fn(E) -> Expectation) -> Case {
    let TranscriptCaseFile { id, description, input, files, observed, expects, expect: expected } = case;
    let given = Given::Transcript(TranscriptCase { input, files, observed, expects });
    Case { id, description, given, expect: expect(expected) }
}

/// What keys and types do not show.
fn checked(source: &Source<'_>, suite: Suite) -> Result<Suite, SuiteError> {
    if suite.cases.is_empty() {
        return Err(source.wrong("has no cases"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if suite.name.is_empty() || !suite.name.chars().all(plain) {
        return Err(source.wrong("`name` becomes part of a file's name: letters, digits, `-`, `_` and `.`"));
    }
    if let Some(threshold) = &suite.threshold {
        threshold.check().map_err(|message| source.wrong(&format!("`threshold` {message}")))?;
    }
    let mut ids = BTreeSet::new();
    for case in &suite.cases {
        if case.id.is_empty() || !ids.insert(&case.id) {
            return Err(source.wrong_case(&case.id, "its `id` is empty or stands twice; results are compared by it"));
        }
        match &case.expect {
            Expectation::Score(score) if score.min > score.max || score.max > 5 => {
                return Err(source.wrong_case(&case.id, "`expect` is a range of scores within 0 to 5"));
            }
            Expectation::Completion(expected) if !expected.done && expected.complete == Some(true) => {
                return Err(source.wrong_case(&case.id, "expects a false complete: `done` is false, `complete` true"));
            }
            _ => {}
        }
    }
    Ok(suite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Standing;
    use serde_json::json;

    const OURS: &str = "kind: completion
cases:
- id: a
  description: one
  input: {task: Fix it}
  expect: {done: false, status: refuted}
- id: b
  description: two
  input: {task: Fix it}
  expect: {done: true, status: [unproven, proven]}
";

    fn wrong(text: &str, expected: &str) {
        let format = if text.starts_with('{') { Format::Json } else { Format::Yaml };
        let error = read("s.yaml", text, format).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nof\n{text}");
    }

    #[test]
    fn all_three_formats_say_the_same() {
        let yaml = read("dir/s.yaml", OURS, Format::Yaml).unwrap();
        assert_eq!((yaml.name.as_str(), yaml.cases.len()), ("s", 2));
        let Expectation::Completion(expected) = &yaml.cases[1].expect else { panic!("{:?}", yaml.cases[1]) };
        assert_eq!(expected.status.0, [Standing::Unproven, Standing::Proven]);
        let case = |id: &str, description: &str, done: bool, status: Value| json!({"id": id, "description": description, "input": {"task": "Fix it"}, "expect": {"done": done, "status": status}});
        let cases = [case("a", "one", false, json!("refuted")), case("b", "two", true, json!(["unproven", "proven"]))];
        let whole = json!({"kind": "completion", "cases": cases}).to_string();
        assert_eq!(read("s.json", &whole, Format::Json).unwrap(), yaml);
        let lines = format!("{}\n{}\n\n{}\n", json!({"kind": "completion"}), cases[0], cases[1]);
        assert_eq!(read("s.jsonl", &lines, Format::JsonLines).unwrap(), yaml);
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_key() {
        wrong("kind: [completion", "s.yaml:");
        wrong(&OURS.replace("refuted", "refutet"), "s.yaml:6: `cases[0].expect.status`: unknown variant `refutet`");
        wrong(&OURS.replace("done: true", "dine: true"), "`cases[1].expect.dine`");
        wrong(&OURS.replace("  expect: {done: true", "  expectd: {done: true"), "s.yaml:10");
        wrong(&OURS.replace("id: b", "id: a"), "s.yaml:7: case `a`: its `id` is empty or stands twice");
        wrong(&OURS.replace("kind: completion", "kind: complete"), "s.yaml:1: `kind`: unknown variant `complete`");
        wrong(&OURS.replace("kind: completion\n", ""), "has no `kind`");
        wrong(&OURS.replace("status: refuted", "status: proven, complete: true"), "expects a false complete");
        wrong("kind: stuck\ncases: []\n", "has no cases");
        wrong(
            "kind: stuck\ncases:\n- {id: a, description: x, input: {tool_cals: ''}, expect: {stuck: true}}\n",
            "unknown field `tool_cals`",
        );
        wrong(
            "name: a/b\nkind: stuck\ncases:\n- {id: a, description: x, input: {}, expect: {stuck: true}}\n",
            "letters, digits",
        );
        wrong(
            "kind: agent\ncases:\n- {id: a, description: x, input: {}, expect: {min: 4, max: 3}}\n",
            "a range of scores",
        );
        wrong(&format!("threshold: {{min_accuracy: 0.9}}\n{OURS}"), "accuracy alone says little");
        wrong(&format!("threshold: {{max_false_complete: 2}}\n{OURS}"), "it is a share, 0 to 1");
        wrong(
            "{\"kind\": \"stuck\",\n \"cases\": [{\"id\": 1}]}",
            "s.yaml:2: `cases[0].id`: invalid type: integer `1`",
        );
        wrong("just a text", "has neither `cases` nor");
        wrong("", "s.yaml");
        let lines = "{\"kind\":\"stuck\"}\n\n{\"id\":\"a\",\"description\":\"x\",\"input\":{},\"expect\":{}}\n";
        let error = read("s.jsonl", lines, Format::JsonLines).unwrap_err();
        assert_eq!((error.line, error.message.contains("`stuck`")), (Some(3), true), "{error}");
    }

    #[test]
    fn hostile_files_are_refused_and_not_followed() {
        let deep = format!("kind: {}", "[".repeat(100_000));
        assert!(read("s.yaml", &deep, Format::Yaml).is_err());
        let deep = format!("{{\"cases\": {}", "[".repeat(100_000));
        assert!(read("s.json", &deep, Format::Json).is_err());
        // A billion laughs: nine levels of nine references each.
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert!(read("s.yaml", &laughs, Format::Yaml).is_err());
        assert!(read("s.yaml", "cases: !include /etc/passwd\n", Format::Yaml).is_err());
    }
    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", at in 0..OURS.len()) {
            // A suite with foreign text in the middle of it comes further than text alone.
            let mixed = format!("{}{text}{}", &OURS[..at], &OURS[at..]);
            for format in [Format::Yaml, Format::Json, Format::JsonLines] {
                let _ = read("s", &text, format);
                let _ = read("s", &mixed, format);
            }
        }
    }
}
