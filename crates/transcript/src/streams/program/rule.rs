//! The rules that turn records into steps, as data.

use super::at::At;
use super::doc::{Doc, Shape};
use super::path::Path;
use crate::domain::Role;
use crate::prompt::first_bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How a program's stream is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", try_from = "StreamText")]
pub(super) struct Stream {
    /// What names a record: the values at these places, joined by `/`.
    pub name: Vec<Path>,
    /// Where a record says which call started the sub-agent that it is of: a text, or `true` where it only says that it
    /// is of one; the first place that has something.
    pub parent: Vec<Path>,
    /// A user's message that begins so comes from the agent program itself.
    pub asides: Vec<String>,
    /// Of which records without a name this holds, they are known, and no step.
    pub quiet: Option<When>,
    /// Where a record says in which mode the agent works: the first place that has something.
    pub mode: Vec<Path>,
    /// Where a record says when it was written, as RFC 3339 or in milliseconds since 1970.
    pub time: Option<Path>,
    /// What only a record of this agent has, where another agent's records look alike.
    pub mark: Option<When>,
    /// The model answered anew whenever it acts after a tool's answer, for streams that do not say so.
    pub infer_turns: bool,
    /// By name, or by its first part. A record with no rules is known, and no step.
    pub records: BTreeMap<String, Vec<Rule>>,
    /// What all rules want of a line.
    pub shape: Shape,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StreamText {
    name: Vec<Path>,
    #[serde(default)]
    parent: Vec<Path>,
    #[serde(default)]
    asides: Vec<String>,
    #[serde(default)]
    quiet: Option<When>,
    #[serde(default)]
    mode: Vec<Path>,
    #[serde(default)]
    time: Option<Path>,
    #[serde(default)]
    mark: Option<When>,
    #[serde(default)]
    infer_turns: bool,
    records: BTreeMap<String, Vec<Rule>>,
}

impl From<StreamText> for Stream {
    fn from(text: StreamText) -> Self {
        let mut shape = Shape::new();
        let marks = text.mark.iter().chain(&text.quiet).flat_map(BTreeMap::keys);
        text.name.iter().chain(&text.parent).chain(&text.mode).chain(&text.time).chain(marks).for_each(|path| {
            shape.want(0, path);
        });
        text.records.values().flatten().for_each(|rule| rule.want(&mut shape));
        Self {
            name: text.name,
            parent: text.parent,
            asides: text.asides,
            quiet: text.quiet,
            mode: text.mode,
            time: text.time,
            mark: text.mark,
            infer_turns: text.infer_turns,
            records: text.records,
            shape,
        }
    }
}

impl Stream {
    /// What names a record.
    pub fn name_of(&self, record: &Doc<'_>) -> String {
        let mut name = String::new();
        for part in self.name.iter().filter_map(|path| record.at(path)?.text()) {
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(first_bytes(part, 80));
        }
        name
    }

    /// The rules of the records of this name; none if they are not known.
    pub fn rules(&self, name: &str, record: &Doc<'_>) -> Option<&[Rule]> {
        let at = At { record, entry: record, parent: None };
        if name.is_empty() && self.quiet.as_ref().is_some_and(|quiet| at.holds(quiet)) {
            return Some(&[]);
        }
        let rules = self.records.get(name).or_else(|| self.records.get(name.split('/').next()?))?;
        Some(rules)
    }
}

/// What a record says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// Once for each entry there; other paths then start at the entry.
    #[serde(default)]
    pub each: Option<Path>,
    /// Only if all of these hold.
    #[serde(default)]
    pub when: When,
    /// What it is.
    pub emit: Emit,
}

/// Conditions on values; all must hold.
pub(super) type When = BTreeMap<Path, Test>;

/// A condition on one value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Test {
    /// It is one of these; `null` is also a value that is not there.
    Any(Vec<serde_json::Value>),
    /// See [`Check`].
    Check(Check),
    /// It is this.
    Is(serde_json::Value),
}

/// A condition that is more than "is this value".
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Check {
    /// It is a text that begins with one of these.
    Starts(Vec<String>),
    /// It does not begin with any of these.
    StartsNot(Vec<String>),
    /// It is a text, or is not.
    Text(bool),
    /// It is there, or is not.
    Present(bool),
}

/// What a record, or a part of one, is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Emit {
    /// Which conversation it is.
    Session(SessionAt),
    /// Something was said.
    Message(MessageAt),
    /// The model's reasoning, at this place.
    Reasoning(Path),
    /// A tool is called.
    ToolCall(ToolCallAt),
    /// A tool answered.
    ToolResult(ToolResultAt),
    /// A call goes on by itself, as a task of its own.
    Background(BackgroundAt),
    /// What became of a call that went on by itself.
    Later(LaterAt),
    /// The model answered.
    Turn(TurnAt),
    /// Usage in all.
    Usage(UsageRule),
    /// The context was shortened; words about it are at this place.
    Compaction(Path),
    /// The agent asks its model again.
    Retry(ErrorAt),
    /// Something went wrong; what follows decides whether it ended the run.
    Error(ErrorAt),
    /// Something went wrong, and the run is over, whatever follows.
    Fatal(ErrorAt),
    /// A call was refused a permission; the call is at this place.
    Denied(Path),
    /// The agent's word: it is done. With a closing message, where there is one.
    Done(Closing),
    /// The agent's word: it failed.
    Failed(ErrorAt),
    /// The agent goes on: an earlier word was not its last.
    GoesOn {},
    /// Nothing follows: the program may end now.
    Over {},
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SessionAt {
    pub id: Path,
    #[serde(default)]
    pub model: Option<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct MessageAt {
    pub role: Role,
    pub text: Path,
    /// A piece of a message: pieces that follow each other are one.
    #[serde(default)]
    pub piece: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ToolCallAt {
    pub id: Path,
    /// Where its name is …
    #[serde(default)]
    pub tool: Option<Path>,
    /// … or the name itself.
    #[serde(default)]
    pub named: Option<String>,
    #[serde(default)]
    pub input: Option<Path>,
    /// The input is a text that holds JSON.
    #[serde(default)]
    pub input_is_json: bool,
    /// What names the call, where several records tell of it.
    #[serde(default)]
    pub once: Option<Path>,
    /// Where the files are that it edits, if it is a tool that does: the first place that has any.
    #[serde(default)]
    pub edits: Vec<EditsAt>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum EditsAt {
    /// One file.
    One(Path),
    /// One in each entry.
    Each { each: Path, path: Path },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ToolResultAt {
    pub id: Path,
    #[serde(default)]
    pub failed: Option<When>,
    #[serde(default)]
    pub denied: Option<When>,
    #[serde(default)]
    pub exit_code: Option<Path>,
    /// Without a place for it: a call that failed says its exit status after these words, at the beginning of its output.
    #[serde(default)]
    pub exit_code_prefix: Option<String>,
    /// Without a place for it: lines around the tool's own output, one of which says the exit status.
    #[serde(default)]
    pub exit_code_line: Option<ExitLine>,
    /// Without a place for it: what says that a command ran to its end with exit status 0.
    #[serde(default)]
    pub exit_zero: Option<When>,
    /// The first place that has words.
    #[serde(default)]
    pub output: Vec<Path>,
    /// When it began and ended, in milliseconds.
    #[serde(default)]
    pub times: Option<(Path, Path)>,
}

/// A line that an agent program writes around what a command printed, with the exit status after these words.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ExitLine {
    /// Before a line `Output:`.
    Head(String),
    /// Among the last lines.
    Tail(String),
}

/// Where a record says that a call goes on by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackgroundAt {
    pub call: Path,
    pub task: Path,
}

/// Where a record says what became of a call that went on by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct LaterAt {
    /// Where its task is named …
    #[serde(default)]
    pub task: Vec<Path>,
    /// … or the call itself …
    #[serde(default)]
    pub call: Option<Path>,
    /// … which may be in a text, as `<tag>…</tag>`.
    #[serde(default)]
    pub call_tag: Option<String>,
    /// Where the exit status is: a number, or the last one of a text after the words `exit code`.
    pub exit_code: Vec<Path>,
    /// Only from texts in which this stands.
    #[serde(default)]
    pub said_with: Option<String>,
    /// The first place that has words.
    #[serde(default)]
    pub output: Vec<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TurnAt {
    /// What names the answer, where several records are of one.
    #[serde(default)]
    pub once: Option<Path>,
    #[serde(default)]
    pub usage: Option<UsageAt>,
    /// The record stands at the end of the turn; else at its beginning.
    #[serde(default)]
    pub at_end: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct UsageRule {
    /// Summed over the entries there.
    #[serde(default)]
    pub each: Option<Path>,
    pub at: UsageAt,
    #[serde(default)]
    pub counts: Counts,
}

/// What a resumed agent's usage counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Counts {
    /// This run.
    #[default]
    Run,
    /// The conversation from its beginning.
    Conversation,
}

/// Where tokens are; values at several places are summed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct UsageAt {
    /// All that the model read, so for providers that count cached tokens beside the input, those too.
    pub input: Vec<Path>,
    pub cached: Vec<Path>,
    pub output: Vec<Path>,
    pub reasoning: Vec<Path>,
    pub cost: Option<Path>,
}

/// Where an error says what it is; of several places the first that has something.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ErrorAt {
    pub status: Option<Path>,
    pub kind: Vec<Path>,
    pub message: Vec<Path>,
    /// A time: seconds or milliseconds since 1970, or RFC 3339.
    pub resets_at: Vec<Path>,
    /// Seconds from now.
    pub retry_after: Vec<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closing {
    #[serde(default)]
    pub text: Option<Path>,
}

impl Rule {
    /// Adds what it wants to the shape.
    fn want(&self, shape: &mut Shape) {
        let entry = self.each.as_ref().map_or(0, |each| shape.want_each(0, each));
        for path in self.when.keys().chain(self.emit.paths()) {
            shape.want(if path.is_of_record() { 0 } else { entry }, path);
        }
        match &self.emit {
            Emit::Usage(UsageRule { each: Some(each), at, .. }) => {
                let entry = shape.want_each(entry, each);
                at.paths().for_each(|path| {
                    shape.want(entry, path);
                });
            }
            Emit::Usage(UsageRule { each: None, at, .. }) => at.paths().for_each(|path| {
                shape.want(entry, path);
            }),
            Emit::ToolCall(call) => {
                for edits in &call.edits {
                    if let EditsAt::Each { each, path } = edits {
                        let file = shape.want_each(entry, each);
                        shape.want(file, path);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Emit {
    fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Session(at) => std::iter::once(&at.id).chain(&at.model).collect(),
            Self::Message(at) => vec![&at.text],
            Self::Reasoning(at) | Self::Compaction(at) | Self::Denied(at) => vec![at],
            Self::ToolCall(at) => {
                let edits = at.edits.iter().filter_map(|edits| match edits {
                    EditsAt::One(path) => Some(path),
                    EditsAt::Each { .. } => None,
                });
                std::iter::once(&at.id).chain(&at.tool).chain(&at.input).chain(&at.once).chain(edits).collect()
            }
            Self::Background(at) => vec![&at.call, &at.task],
            Self::Later(at) => at.task.iter().chain(&at.call).chain(&at.exit_code).chain(&at.output).collect(),
            Self::ToolResult(at) => {
                let when = at.failed.iter().chain(&at.denied).chain(&at.exit_zero).flat_map(BTreeMap::keys);
                let times = at.times.iter().flat_map(|(from, to)| [from, to]);
                std::iter::once(&at.id).chain(when).chain(&at.exit_code).chain(&at.output).chain(times).collect()
            }
            Self::Turn(at) => at.once.iter().chain(at.usage.iter().flat_map(UsageAt::paths)).collect(),
            Self::Retry(at) | Self::Error(at) | Self::Fatal(at) | Self::Failed(at) => at
                .status
                .iter()
                .chain(&at.kind)
                .chain(&at.message)
                .chain(&at.resets_at)
                .chain(&at.retry_after)
                .collect(),
            Self::Done(closing) => closing.text.iter().collect(),
            Self::Usage(_) | Self::GoesOn {} | Self::Over {} => Vec::new(),
        }
    }
}

impl UsageAt {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.input.iter().chain(&self.cached).chain(&self.output).chain(&self.reasoning).chain(&self.cost)
    }
}

impl Test {
    pub(super) fn holds(&self, value: Option<&Doc<'_>>) -> bool {
        match self {
            Self::Any(values) => values.iter().any(|expected| is(value, expected)),
            Self::Check(check) => check.holds(value),
            Self::Is(expected) => is(value, expected),
        }
    }
}

impl Check {
    pub(super) fn holds(&self, value: Option<&Doc<'_>>) -> bool {
        let starts = |with: &[String]| {
            value.and_then(Doc::text).is_some_and(|text| with.iter().any(|start| text.starts_with(start)))
        };
        match self {
            Self::Starts(with) => starts(with),
            Self::StartsNot(with) => !starts(with),
            Self::Text(expected) => value.is_some_and(|value| value.text().is_some()) == *expected,
            Self::Present(expected) => value.is_some() == *expected,
        }
    }
}

fn is(value: Option<&Doc<'_>>, expected: &serde_json::Value) -> bool {
    match (value, expected) {
        (None | Some(Doc::Null), serde_json::Value::Null) => true,
        (Some(Doc::Text(text)), serde_json::Value::String(expected)) => text == expected,
        (Some(Doc::Bool(value)), serde_json::Value::Bool(expected)) => value == expected,
        (Some(Doc::Int(value)), serde_json::Value::Number(expected)) => expected.as_i64() == Some(*value),
        _ => false,
    }
}
