//! Tool calls and commands of the plain form.

use super::plain::text_of;
use super::plain::value_of;
use super::tools::edits_of;
use super::tools::kind_of;
use crate::domain::Timestamp;
use crate::domain::ToolKind;
use crate::domain::ToolStatus;
use crate::domain::Trace;
use crate::domain::TranscriptItem;
use serde::Deserialize;
use serde::de::Deserializer;
use serde::de::Error as _;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::Map;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Arguments beside the known keys are kept up to so many.
const ARGUMENTS: usize = 100;

/// `{"tool", "input", "exitCode"?, "output"?, "time"?}`; other keys are arguments too.
pub(super) struct Call {
    tool: String,
    input: Value,
    exit_code: Option<i32>,
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
        if self.exit_code.is_none() && self.output.is_none() {
            return;
        }
        let failed = self.exit_code.is_some_and(|code| code != 0);
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
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Call;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a tool call such as {"tool": "bash", "command": "make test", "exitCode": 0}"#)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Call, A::Error> {
        let (mut tool, mut input, mut beside) = (None, None, Map::new());
        let (mut exit_code, mut output, mut time) = (None, None, None);
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "tool" => tool = Some(text(map.next_value()?, "tool").map_err(A::Error::custom)?),
                "input" => input = Some(value_of(map.next_value()?)),
                "exitCode" => exit_code = whole_number(map.next_value()?).map_err(A::Error::custom)?,
                "output" => output = map.next_value::<Option<&RawValue>>()?.map(text_of),
                "time" => time = moment(map.next_value()?),
                key if beside.len() < ARGUMENTS => {
                    let key = key.to_owned();
                    beside.insert(key, value_of(map.next_value()?));
                }
                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        let tool = tool.ok_or_else(|| A::Error::custom("it has no `tool`, the name of the tool that was called"))?;
        Ok(Call { tool, input: merged(input, beside), exit_code, output, time })
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
            (self.0.exit_code, self.0.output) = (None, None);
        }
        self.0.tell(trace);
    }
}

impl<'de> Deserialize<'de> for Ran {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Told<'a> {
            #[serde(borrow)]
            command: Cow<'a, str>,
            #[serde(borrow, default, rename = "exitCode")]
            exit_code: Option<&'a RawValue>,
            #[serde(borrow, default)]
            output: Option<&'a RawValue>,
            #[serde(borrow, default)]
            time: Option<&'a RawValue>,
        }
        let part = <&RawValue>::deserialize(deserializer)?;
        let call = |line: &str| Call {
            tool: "command".to_owned(),
            input: serde_json::json!({ "command": line }),
            exit_code: None,
            output: None,
            time: None,
        };
        if let Ok(line) = serde_json::from_str::<Cow<'_, str>>(part.get()) {
            return Ok(Self(call(&line)));
        }
        let told: Told<'_> = serde_json::from_str(part.get())
            .map_err(|_| D::Error::custom(r#"a command is a text, or {"command": "…", "exitCode": 0}"#))?;
        Ok(Self(Call {
            exit_code: told.exit_code.map_or(Ok(None), whole_number).map_err(D::Error::custom)?,
            output: told.output.map(text_of),
            time: told.time.and_then(moment),
            ..call(&told.command)
        }))
    }
}
