//! Tool calls and commands of the plain form.

use super::plain::{text_of, value_of};
use super::tools::{edits_of, kind_of};
use crate::domain::{Timestamp, ToolKind, ToolStatus, Trace, TranscriptItem};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// Arguments beside the known keys are kept up to so many.
const ARGUMENTS: usize = 100;

/// `{"tool", "input", "exitCode"?, "isError"?, "output"?, "time"?}`, and what others call these; other keys are arguments
/// too.
pub(super) struct Call {
    tool: String,
    input: Value,
    exit_code: Option<i32>,
    failed: bool,
    output: Option<String>,
    time: Option<Timestamp>,
}

impl Call {
    /// Adds it to a trace. Where neither an exit status nor an output is recorded, nothing is known of how it went.
    pub fn tell(self, trace: &mut Trace) {
        let kind = kind_of(&self.tool, &self.input);
        let input = match self.input {
            // A command's only argument is its line.
            Value::String(line) if kind == ToolKind::Execute => serde_json::json!({ "command": line }),
            input => input,
        };
        let id = trace.calls.to_string();
        let edits = edits_of(kind, &input);
        let item = TranscriptItem::ToolCall { id: id.clone(), tool: self.tool, kind, input, edits };
        trace.step(&item, None, self.time);
        if self.exit_code.is_none() && self.output.is_none() && !self.failed {
            return;
        }
        let failed = self.failed || self.exit_code.is_some_and(|code| code != 0);
        let item = TranscriptItem::ToolResult {
            id,
            status: if failed { ToolStatus::Failed } else { ToolStatus::Ok },
            exit_code: self.exit_code,
            output: self.output.unwrap_or_default(),
            duration_ms: None,
        };
        trace.step(&item, None, self.time);
    }
}

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys { tool: None })
    }
}

struct Keys {
    /// The tool, where the call need not name it.
    tool: Option<&'static str>,
}

impl<'de> Visitor<'de> for Keys {
    type Value = Call;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a tool call such as {"tool": "bash", "command": "make test", "exitCode": 0}"#)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Call, A::Error> {
        let (mut tool, mut input, mut beside) = (self.tool.map(str::to_owned), None, Map::new());
        let (mut exit_code, mut failed, mut output, mut time) = (None, false, None, None);
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "tool" => tool = Some(text(map.next_value()?, "tool").map_err(A::Error::custom)?),
                "input" => input = Some(value_of(map.next_value()?)),
                "exitCode" | "exit_code" => {
                    exit_code = whole_number(map.next_value()?).map_err(A::Error::custom)?.or(exit_code);
                }
                "isError" | "is_error" | "error" => {
                    let error = fault(map.next_value()?);
                    failed |= error.is_some();
                    output = output.or(error.filter(|words| !words.is_empty()));
                }
                "output" | "result" => {
                    let found = Told::of(map.next_value()?);
                    (exit_code, failed) = (exit_code.or(found.exit_code), failed | found.failed);
                    output = found.output.or(output);
                }
                "time" => time = moment(map.next_value()?),
                key if beside.len() < ARGUMENTS => {
                    let key = key.to_owned();
                    beside.insert(key, value_of(map.next_value()?));
                }
                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        // As chat completions have it: `{"function": {"name", "arguments"}}`, or these two alone.
        let mut function = match tool.is_none().then(|| beside.remove("function")).flatten() {
            Some(Value::Object(function)) => function,
            _ => Map::new(),
        };
        let mut named = |name: &str| function.remove(name).or_else(|| beside.remove(name));
        if tool.is_none() {
            tool = named("name").and_then(|name| Some(name.as_str()?.to_owned()));
        }
        if input.is_none() {
            input = ["arguments", "args"].into_iter().find_map(named).map(|given| match given {
                Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                given => given,
            });
        }
        let tool = tool.ok_or_else(|| A::Error::custom("it has no `tool`, the name of the tool that was called"))?;
        Ok(Call { tool, input: merged(input, beside), exit_code, failed, output, time })
    }
}

/// The arguments: those of `input`, and those that stand beside it.
fn merged(input: Option<Value>, mut beside: Map<String, Value>) -> Value {
    match input {
        None | Some(Value::Null) if beside.is_empty() => Value::Null,
        None | Some(Value::Null) => Value::Object(beside),
        Some(Value::Object(input)) => {
            beside.extend(input);
            Value::Object(beside)
        }
        Some(input) if beside.is_empty() => input,
        Some(input) => {
            beside.insert("input".to_owned(), input);
            Value::Object(beside)
        }
    }
}

fn text(part: &RawValue, key: &str) -> Result<String, String> {
    let found: Result<Cow<'_, str>, _> = serde_json::from_str(part.get());
    found.map(Cow::into_owned).map_err(|_| format!("`{key}` is a text"))
}

/// What `isError` or `error` says: its words, or none if there is no error.
pub(super) fn fault(part: &RawValue) -> Option<String> {
    match part.get() {
        "null" | "false" | "0" | "\"\"" | "{}" | "[]" => None,
        "true" => Some(String::new()),
        _ => Some(text_of(part)),
    }
}

/// What came of a call: a text, or an object that says more.
#[derive(Default)]
struct Told {
    exit_code: Option<i32>,
    failed: bool,
    output: Option<String>,
}

impl Told {
    fn of(part: &RawValue) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Keys<'a> {
            #[serde(borrow, rename = "exitCode")]
            camel: Option<&'a RawValue>,
            #[serde(borrow)]
            exit_code: Option<&'a RawValue>,
            #[serde(borrow, rename = "isError")]
            is: Option<&'a RawValue>,
            #[serde(borrow)]
            is_error: Option<&'a RawValue>,
        }
        if part.get() == "null" {
            return Self::default();
        }
        let keys: Keys<'_> = if part.get().starts_with('{') {
            serde_json::from_str(part.get()).unwrap_or_default()
        } else {
            Keys::default()
        };
        let exit =
            [keys.camel, keys.exit_code].into_iter().flatten().find_map(|code| whole_number(code).ok().flatten());
        let failed = [keys.is, keys.is_error].into_iter().flatten().any(|part| fault(part).is_some());
        Self { exit_code: exit, failed, output: Some(text_of(part)) }
    }
}

/// An exit status. `null` is unknown, as if the key were not there.
pub(super) fn whole_number(part: &RawValue) -> Result<Option<i32>, String> {
    let value: Option<f64> = serde_json::from_str(part.get()).map_err(|_| WHOLE.to_owned())?;
    match value {
        None => Ok(None),
        Some(code) if code.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&code) => {
            Ok(Some(code as i32))
        }
        Some(_) => Err(WHOLE.to_owned()),
    }
}

const WHOLE: &str = "`exitCode` is a whole number, or left out where it is not known";

/// A time as RFC 3339, or seconds or milliseconds since 1970; what is none of these is not known.
fn moment(part: &RawValue) -> Option<Timestamp> {
    /// As milliseconds, larger numbers are later than 1973; as seconds, later than the year 5000.
    const MILLISECONDS: f64 = 1e11;
    match serde_json::from_str::<Value>(part.get()).ok()? {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => {
            let number = number.as_f64()?;
            Timestamp::from_millisecond(if number >= MILLISECONDS { number } else { number * 1000.0 } as i64).ok()
        }
        _ => None,
    }
}

/// A command that ran: its line, or `{"command", "exitCode"?, "output"?, "time"?}`.
pub(super) struct Ran(Call);

impl Ran {
    pub fn command(&self) -> &str {
        self.0.input.get("command").and_then(Value::as_str).unwrap_or_default()
    }

    /// Adds it to a trace; `unordered` if nobody knows whether it ran before or after the last change.
    pub fn tell(mut self, trace: &mut Trace, unordered: bool) {
        if unordered {
            (self.0.exit_code, self.0.failed, self.0.output) = (None, false, None);
        }
        self.0.tell(trace);
    }
}

impl<'de> Deserialize<'de> for Ran {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = <&RawValue>::deserialize(deserializer)?;
        let call = |line: &str| Call {
            tool: "command".to_owned(),
            input: serde_json::json!({ "command": line }),
            exit_code: None,
            failed: false,
            output: None,
            time: None,
        };
        if let Ok(line) = serde_json::from_str::<Cow<'_, str>>(part.get()) {
            return Ok(Self(call(&line)));
        }
        let what = || D::Error::custom(r#"a command is a text, or {"command": "…", "exitCode": 0}"#);
        let told = part.get().starts_with('{').then_some(Keys { tool: Some("command") });
        let mut input = serde_json::Deserializer::from_str(part.get());
        let told = input.deserialize_map(told.ok_or_else(what)?).map_err(|error| match error.to_string() {
            words if words.starts_with(WHOLE) => D::Error::custom(WHOLE),
            _ => what(),
        })?;
        let line = told.input.get("command").and_then(Value::as_str).ok_or_else(what)?;
        Ok(Self(Call { input: serde_json::json!({ "command": line }), ..told }))
    }
}
