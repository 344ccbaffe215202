//! What is known of particular agents, as data: `config/agents/acp.json`.

use crate::domain::{Ending, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

/// The rules that the program was built with.
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    // A test reads the file, so that it cannot be wrong in a built program.
    serde_json::from_str(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/agents/acp.json")))
        .expect("config/agents/acp.json is valid")
});

/// Everything that is known of particular agents. Texts and names are looked for in error records only.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Rules {
    /// What the file is, for its readers.
    #[serde(rename = "about")]
    _about: String,
    /// When the rules were last checked against the agents.
    #[serde(rename = "dated")]
    _dated: String,
    /// Ending by JSON-RPC error code.
    pub codes: BTreeMap<String, Kind>,
    /// Ending by HTTP status.
    pub statuses: BTreeMap<String, Kind>,
    /// Keys under which an error record has an HTTP status.
    pub status_keys: Vec<String>,
    /// Ending by a name that stands alone as a key or a value of an error record.
    pub names: BTreeMap<String, Kind>,
    /// Pointers into an error record, to its own words; what else is in it may be what a user or a tool wrote.
    pub words: Vec<String>,
    /// Ending by a part of an error record's words, in lower case; the first one found decides.
    pub wordings: Vec<(String, Kind)>,
    /// Where an error record says when a limit is over.
    pub reset_times: ResetTimes,
    /// Errors that are told beside the reply.
    pub side_errors: Vec<SideError>,
    /// Pointers into an update, to what is known of a limit.
    pub limits: Vec<String>,
    /// Pointers into a tool call's update, to an exit status.
    pub exit_codes: Vec<String>,
    /// What the output of a failed command begins with, where the exit status stands nowhere else.
    pub exit_code_prefix: String,
    /// Pointer into a tool call's update, to a piece of what the tool prints.
    pub output_pieces: String,
    /// Pointers into a tool call, to the tool's name.
    pub tool_names: Vec<String>,
    /// Pointers into an update, to the call that started the sub-agent whose update it is.
    pub parents: Vec<String>,
    /// Modes in which an agent changes nothing as long as every permission is refused, best first.
    pub read_only_modes: Vec<String>,
    /// Modes in which an agent works, best first; chosen where it starts in a read-only one.
    pub work_modes: Vec<String>,
    /// Programs whose read-only mode was seen to hold, by file name.
    pub read_only_programs: Vec<String>,
    /// Agents whose reply has the usage of the last step only, by the name that they give themselves.
    pub last_step_usage: Vec<String>,
    /// Updates that are no step of the work.
    pub quiet: Vec<String>,
    /// Notifications that are no step of the work.
    pub quiet_methods: Vec<String>,
}

/// An ending without what only the run knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    RateLimited,
    Quota,
    Transient,
    Auth,
    Permission,
    Budget,
    Context,
}

/// Where an error record says when a limit is over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ResetTimes {
    /// Keys of a time: seconds or milliseconds since 1970, or RFC 3339.
    pub at: Vec<String>,
    /// Keys of a wait: seconds, as a number or as `"17s"`; `"250ms"` is understood too.
    pub in_seconds: Vec<String>,
}

/// An error that is told in an update beside the reply.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SideError {
    /// Whose it is, and why it is needed.
    #[serde(rename = "agent")]
    _agent: String,
    /// Pointer to the error record.
    pub error: String,
    /// Its key that says that the agent tries again.
    pub retries: String,
    /// Pointer to the state of the conversation.
    pub state: String,
    /// The state after an error that ended the turn.
    pub failed: String,
}

/// An error record of an agent, wherever it was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// The JSON-RPC code, if it was a JSON-RPC error.
    pub code: Option<i32>,
    /// In the agent's words.
    pub message: String,
    /// Everything else in it.
    pub data: Value,
}

impl Failure {
    /// The message in words, and the JSON that it ends with, if it does (gemini-cli passes on its server's answer so).
    fn parts(&self) -> (&str, Option<Value>) {
        let inner = self.message.find('{').and_then(|at| Some((at, serde_json::from_str(&self.message[at..]).ok()?)));
        inner.map_or((self.message.as_str(), None), |(at, inner)| (&self.message[..at], Some(inner)))
    }

    /// Everything in it that is no words.
    fn facts(&self) -> Vec<Value> {
        std::iter::once(self.data.clone()).chain(self.parts().1).collect()
    }

    /// The HTTP status, where the record has one.
    pub fn status(&self) -> Option<u16> {
        let http = |number: i64| u16::try_from(number).ok().filter(|status| (400..600).contains(status));
        let own = self.code.and_then(|code| http(code.into()));
        own.or_else(|| {
            let facts = self.facts();
            let found =
                facts.iter().flat_map(|fact| entries(fact, 0)).filter(|(key, _)| RULES.status_keys.contains(key));
            found.into_iter().find_map(|(_, value)| value.as_i64().and_then(http))
        })
    }

    /// Why a run ended that this record ended.
    pub fn ending(&self, now: Timestamp, limit: &Value) -> Ending {
        match self.kind() {
            Some(Kind::RateLimited) => Ending::RateLimited { resets_at: self.resets_at(now, limit) },
            Some(Kind::Quota) => Ending::Quota,
            Some(Kind::Transient) => Ending::Transient,
            Some(Kind::Auth) => Ending::Auth,
            Some(Kind::Permission) => Ending::Permission,
            Some(Kind::Budget) => Ending::Budget,
            Some(Kind::Context) => Ending::Context,
            None => Ending::AgentError,
        }
    }

    /// Whether any rule knows it.
    pub fn is_known(&self) -> bool {
        self.kind().is_some()
    }

    /// By code, then by name, then by HTTP status, then by wording. A limit that is worded as an empty account is one:
    /// services answer 429 for both.
    fn kind(&self) -> Option<Kind> {
        let by_code = self.code.and_then(|code| RULES.codes.get(&code.to_string()));
        let by_status = || self.status().and_then(|status| RULES.statuses.get(&status.to_string())).copied();
        let found = by_code.copied().or_else(|| self.by_name()).or_else(by_status);
        match found {
            Some(Kind::RateLimited) => self.by_wording().filter(|kind| *kind == Kind::Quota).or(found),
            None => self.by_wording(),
            found => found,
        }
    }

    fn by_name(&self) -> Option<Kind> {
        let facts = self.facts();
        let named = |(key, value): (String, &Value)| {
            let value = value.as_str().and_then(|value| RULES.names.get(value));
            value.or_else(|| RULES.names.get(&key)).copied()
        };
        facts.iter().flat_map(|fact| entries(fact, 0)).find_map(named)
    }

    fn by_wording(&self) -> Option<Kind> {
        let facts = self.facts();
        let inside = facts.iter().flat_map(|fact| RULES.words.iter().filter_map(|at| fact.pointer(at)?.as_str()));
        let texts: Vec<_> = std::iter::once(self.parts().0).chain(inside).map(str::to_lowercase).collect();
        let is_said = |wording: &String| texts.iter().any(|text| text.contains(wording));
        RULES.wordings.iter().find(|(wording, _)| is_said(wording)).map(|(_, kind)| *kind)
    }

    /// When the limit is over, from the record itself, else from what the agent said of its limit before.
    fn resets_at(&self, now: Timestamp, limit: &Value) -> Option<Timestamp> {
        let mut facts = self.facts();
        facts.push(limit.clone());
        facts.iter().flat_map(|fact| entries(fact, 0)).find_map(|(key, value)| {
            if RULES.reset_times.at.contains(&key) {
                return time(value);
            }
            let wait = RULES.reset_times.in_seconds.contains(&key).then(|| wait(value)).flatten()?;
            now.checked_add(wait).ok()
        })
    }
}

/// Whether a program is known to change nothing in its read-only mode; also behind `npx` and the like.
pub fn has_read_only_mode(argv: &[String]) -> bool {
    let is_known = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        RULES.read_only_programs.iter().any(|known| known == name)
    };
    argv.iter().any(is_known)
}

/// Modes in which an agent changes nothing as long as every permission is refused, best first.
pub fn read_only_modes() -> &'static [String] {
    &RULES.read_only_modes
}

/// Modes in which an agent works, best first.
pub fn work_modes() -> &'static [String] {
    &RULES.work_modes
}

/// Whether the reply of an agent, by the name that it gives itself, has the usage of its last step only.
pub fn tells_last_step_only(agent: &str) -> bool {
    RULES.last_step_usage.iter().any(|known| known == agent)
}

/// Records of agents are shallow; what is deeper is no error record.
const DEPTH: usize = 6;

/// Every key of a value and of what is in it, with what stands there; elements of a list have an empty key.
fn entries(value: &Value, depth: usize) -> Vec<(String, &Value)> {
    let children: Vec<(String, &Value)> = match value {
        _ if depth == DEPTH => Vec::new(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().map(|value| (String::new(), value)).collect(),
        _ => Vec::new(),
    };
    let deeper: Vec<_> = children.iter().flat_map(|(_, value)| entries(value, depth + 1)).collect();
    children.into_iter().chain(deeper).collect()
}

fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        number => match number.as_i64()? {
            number if number >= MILLISECONDS_FROM => Timestamp::from_millisecond(number).ok(),
            number => Timestamp::from_second(number).ok(),
        },
    }
}

/// Seconds are below this until the year 5138, milliseconds above it since 1973.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// A longer wait is a record gone wrong, in seconds: no limit of the known services lasts longer than a month.
const LONGEST_WAIT: f64 = 31.0 * 86_400.0;

fn wait(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => match text.strip_suffix("ms") {
            Some(millis) => millis.trim().parse().ok().map(|millis: f64| millis / 1000.0),
            None => text.trim_end_matches('s').trim().parse().ok(),
        },
        number => number.as_f64(),
    };
    Duration::try_from_secs_f64(seconds.filter(|seconds| *seconds <= LONGEST_WAIT)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ending(record: Value) -> Ending {
        let code = record["code"].as_i64().map(|code| code as i32);
        let message = record["message"].as_str().unwrap_or_default().to_owned();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        Failure { code, message, data: record["data"].clone() }.ending(now, &json!({"resetsAt": 1_770_000_000}))
    }

    fn limited(until: &str) -> Ending {
        Ending::RateLimited { resets_at: Some(until.parse().unwrap()) }
    }

    #[test]
    fn an_error_record_decides_the_ending() {
        let table = [
            (json!({"code": -32000, "message": "Authentication required"}), Ending::Auth),
            (json!({"code": -32603, "message": "Internal error: invalid x-api-key"}), Ending::Auth),
            (json!({"code": -32603, "message": "x", "data": {"errorKind": "billing_error"}}), Ending::Quota),
            (
                json!({"code": -32603, "message": "x", "data": {"codexErrorInfo": "contextWindowExceeded"}}),
                Ending::Context,
            ),
            (json!({"code": -32603, "message": "boom"}), Ending::AgentError),
            (json!({"code": 503, "message": "x"}), Ending::Transient),
            (json!({"code": 429, "message": "You exceeded your current quota"}), Ending::Quota),
            (json!({"code": 429, "message": "x"}), limited("2026-02-02T02:40:00Z")),
            (json!({"code": 429, "message": "x", "data": {"retryAfter": 90}}), limited("2026-01-01T00:01:30Z")),
            (
                json!({"code": 500, "message": r#"{"error":{"code":429,"details":[{"retryDelay":"17.2s"}],"status":"RESOURCE_EXHAUSTED"}}"#}),
                limited("2026-01-01T00:00:17.2Z"),
            ),
            (
                json!({"message": "x", "data": {"codexErrorInfo": "usageLimitExceeded", "resets_at": "2026-03-01T00:00:00Z"}}),
                limited("2026-03-01T00:00:00Z"),
            ),
        ];
        for (record, expected) in table {
            assert_eq!(ending(record.clone()), expected, "{record}");
        }
    }

    #[test]
    fn only_an_errors_own_words_are_searched() {
        let check = |message: &str, data: Value, expected: Ending| {
            assert_eq!(ending(json!({"code": -32603, "message": message, "data": data})), expected, "{message} {data}");
        };
        let quoted = "the user said: unauthorized, usage limit";
        check("boom", json!({"request": {"prompt": quoted}, "content": [{"text": quoted}]}), Ending::AgentError);
        check(&json!({"error": {"request": quoted}}).to_string(), Value::Null, Ending::AgentError);
        check("boom", json!({"message": "Fetch failed"}), Ending::Transient);
        check("boom", json!({"error": {"message": "invalid x-api-key"}}), Ending::Auth);
        check("Internal error", json!({"details": "prompt is too long"}), Ending::Context);
        check(r#"Sorry: {"error":{"message":"Service Unavailable"}}"#, Value::Null, Ending::Transient);
        check(r#"Overloaded {"x":1}"#, Value::Null, Ending::Transient);
    }

    #[test]
    fn waits_and_times_are_read_in_seconds_and_milliseconds() {
        let waits = |value: Value, seconds: Option<f64>| {
            assert_eq!(wait(&value), seconds.map(Duration::from_secs_f64), "{value}");
        };
        waits(json!("250ms"), Some(0.25));
        waits(json!("17s"), Some(17.0));
        waits(json!(2_678_400), Some(2_678_400.0));
        waits(json!(2_678_401), None);
        waits(json!("1e300s"), None);
        waits(json!(-1), None);
        waits(json!("NaN"), None);
        let times = |value: Value| assert_eq!(time(&value), "2026-01-01T00:00:00Z".parse().ok(), "{value}");
        times(json!(1_767_225_600));
        times(json!(1_767_225_600_000_i64));
    }

    #[test]
    fn a_status_is_found_wherever_it_stands() {
        let data = json!({"codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": 429}}});
        assert_eq!(Failure { data, ..Failure::default() }.status(), Some(429));
        assert_eq!(Failure { code: Some(-32603), ..Failure::default() }.status(), None);
    }
}
