//! The keys of a question about an agent that is still there.

use crate::config::nearest;
use crate::domain::DistinctKeys;
use crate::report::quoted;
use serde_json::{Map, Value};

/// A key, and what it takes.
pub(super) type Key = (&'static str, Takes);

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Text,
    Truth,
    Seconds,
    Count,
}

/// Of `--kind stuck`.
pub(super) const STUCK: &[Key] = &[
    ("time_since_activity", Takes::Seconds),
    ("message_completed", Takes::Truth),
    ("output_tokens", Takes::Count),
    ("last_user_message", Takes::Text),
    ("last_assistant_response", Takes::Text),
    ("tool_calls", Takes::Text),
];

/// Of `--kind compaction`.
pub(super) const COMPACTION: &[Key] = &[
    ("task_summary", Takes::Text),
    ("last_assistant_response", Takes::Text),
    ("tools_used", Takes::Text),
    ("has_git_commands", Takes::Truth),
    ("has_pr_issue_ref", Takes::Truth),
];

/// The keys of a question that are known, and a warning for each other one. `null` is as good as no key.
///
/// # Errors
/// In words: what is no object, has keys of which none is known, or has a value that does not belong there.
pub(super) fn known(text: &[u8], keys: &[Key]) -> Result<(Map<String, Value>, Vec<String>), String> {
    /// So many keys are named.
    const NAMED: usize = 10;
    let value: Value = serde_json::from_slice(text).map_err(|error| format!("it is no JSON: {error}"))?;
    serde_json::from_slice::<DistinctKeys>(text).map_err(|error| error.to_string())?;
    let Value::Object(given) = value else {
        return Err("a question is one JSON object, {} at least".to_owned());
    };
    let any = !given.is_empty();
    let (mut known, mut unknown) = (Map::new(), Vec::new());
    let mut found = false;
    for (key, value) in given {
        match keys.iter().find(|(name, _)| *name == key) {
            Some((name, takes)) => {
                found = true;
                if !value.is_null() {
                    known.insert(key, takes.checked(name, value)?);
                }
            }
            None if unknown.len() < NAMED => {
                let meant = nearest(&key, keys.iter().map(|(name, _)| *name));
                let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                unknown.push(format!("`{}` is no key of this question{meant}", quoted(&key, 80)));
            }
            None => {}
        }
    }
    if any && !found {
        let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
        return Err(format!("{}; its keys are {}", unknown.join("; "), names.join(", ")));
    }
    Ok((known, unknown))
}

impl Takes {
    fn checked(self, key: &str, value: Value) -> Result<Value, String> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::Truth => value.is_boolean(),
            Self::Seconds => value.as_f64().is_some_and(|seconds| seconds >= 0.0),
            Self::Count => value.is_u64(),
        };
        let what = match self {
            Self::Text => "a text",
            Self::Truth => "true or false",
            Self::Seconds => "a number of seconds, 0 or more",
            Self::Count => "a whole number, 0 or more",
        };
        if fits { Ok(value) } else { Err(format!("`{key}` is {what}, not `{}`", quoted(&value.to_string(), 60))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_checked_and_unknown_ones_named() {
        let check =
            |text: &str, keys: &[Key], expected: Result<(usize, &[&str]), &str>| match known(text.as_bytes(), keys) {
                Ok((known, warnings)) => {
                    assert_eq!(
                        Ok((known.len(), warnings.iter().map(String::as_str).collect::<Vec<_>>().as_slice())),
                        expected
                    );
                }
                Err(error) => assert_eq!(Err(error.as_str()), expected.map(|_| ()), "{text}"),
            };
        check("{}", STUCK, Ok((0, &[])));
        check(r#"{"tool_calls": null}"#, STUCK, Ok((0, &[])));
        check(r#"{"time_since_activity": 90, "tool_calls": "bash: running"}"#, STUCK, Ok((2, &[])));
        check(
            r#"{"output_tokens": 0, "toolcalls": ""}"#,
            STUCK,
            Ok((1, &["`toolcalls` is no key of this question; did you mean `tool_calls`?"])),
        );
        check("[]", STUCK, Err("a question is one JSON object, {} at least"));
        check(
            r#"{"a": 1}"#,
            COMPACTION,
            Err(
                "`a` is no key of this question; its keys are task_summary, last_assistant_response, tools_used, has_git_commands, has_pr_issue_ref",
            ),
        );
        let seconds = "`time_since_activity` is a number of seconds, 0 or more, not `-1`";
        check(r#"{"time_since_activity": -1}"#, STUCK, Err(seconds));
        check(r#"{"output_tokens": 1.5}"#, STUCK, Err("`output_tokens` is a whole number, 0 or more, not `1.5`"));
        check(r#"{"message_completed": "yes"}"#, STUCK, Err("`message_completed` is true or false, not `\"yes\"`"));
        check(r#"{"task_summary": 7}"#, COMPACTION, Err("`task_summary` is a text, not `7`"));
    }

    #[test]
    fn the_keys_are_those_of_the_questions() {
        let of = |value: Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let names = |keys: &[Key]| keys.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>();
        let stuck = serde_json::to_value(crate::services::StuckQuestion::default()).unwrap();
        assert_eq!(of(stuck), names(STUCK));
        let compaction = serde_json::to_value(crate::services::CompactionQuestion::default()).unwrap();
        assert_eq!(of(compaction), names(COMPACTION));
    }
}
