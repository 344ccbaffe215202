//! Reading observations: how sure somebody was, and whether they were right.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write as _;

/// A confidence and whether the work was right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Labelled {
    /// 0 to 1.
    pub confidence: f64,
    /// The work was right.
    pub correct: bool,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An observation.
    Observed(Labelled),
    /// A record whose `confidence` or `correct` is null: nobody said, or nobody knows.
    Unsaid,
    /// Nothing but blanks.
    Blank,
}

/// Reads a line of the form `{"confidence": 0.9, "correct": true}`; further keys are ignored, 1 and 0 are true and false.
///
/// # Errors
/// What is wrong, in words.
pub fn read_labelled(line: &[u8]) -> Result<Line, String> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(Line::Blank);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let words = error.to_string();
        format!("not JSON: {}", words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words))
    })?;
    let Value::Object(record) = value else {
        return Err("not an object with `confidence` and `correct`".to_owned());
    };
    let [confidence, correct] = ["confidence", "correct"].map(|key| record.get(key));
    let missing: Vec<&str> = [("confidence", confidence), ("correct", correct)]
        .into_iter()
        .filter_map(|(key, value)| value.is_none().then_some(key))
        .collect();
    if !missing.is_empty() {
        return Err(format!("it has no `{}`", missing.join("` and no `")));
    }
    let confidence = match confidence {
        Some(Value::Null) | None => None,
        Some(given) => Some(
            given
                .as_f64()
                .filter(|number| (0.0..=1.0).contains(number))
                .ok_or_else(|| wrong("confidence", "a number from 0 to 1", given))?,
        ),
    };
    let correct = match correct {
        Some(Value::Null) | None => None,
        Some(given) => Some(match (given.as_bool(), given.as_u64()) {
            (Some(truth), _) => truth,
            (None, Some(0)) => false,
            (None, Some(1)) => true,
            _ => return Err(wrong("correct", "true or false", given)),
        }),
    };
    Ok(match (confidence, correct) {
        (Some(confidence), Some(correct)) => Line::Observed(Labelled { confidence, correct }),
        _ => Line::Unsaid,
    })
}

fn wrong(key: &str, takes: &str, given: &Value) -> String {
    /// So much of a wrong value is shown.
    const SHOWN: usize = 40;
    let text = given.to_string();
    let mut message = format!("`{key}` is {takes}, not `");
    message.extend(text.chars().take(SHOWN));
    let _ = write!(message, "{}`", if text.chars().count() > SHOWN { "…" } else { "" });
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_or_named() {
        let check = |line: &str, expected: Result<Line, &str>| match read_labelled(line.as_bytes()) {
            Ok(read) => assert_eq!(Ok(read), expected, "{line}"),
            Err(message) => assert_eq!(Err(message.as_str()), expected, "{line}"),
        };
        let observed = |confidence, correct| Ok(Line::Observed(Labelled { confidence, correct }));
        check(r#"{"confidence": 0.9, "correct": true, "task": "a"}"#, observed(0.9, true));
        check("\u{feff}{\"confidence\":1,\"correct\":0}\r", observed(1.0, false));
        check("  ", Ok(Line::Blank));
        check(r#"{"confidence": null, "correct": true}"#, Ok(Line::Unsaid));
        check(r#"{"confidence": 0.1, "correct": null}"#, Ok(Line::Unsaid));
        check("{", Err("not JSON: EOF while parsing an object"));
        check("[0.9, true]", Err("not an object with `confidence` and `correct`"));
        check(r#"{"confidence": 0.9}"#, Err("it has no `correct`"));
        check("{}", Err("it has no `confidence` and no `correct`"));
        check(r#"{"confidence": 1.01, "correct": true}"#, Err("`confidence` is a number from 0 to 1, not `1.01`"));
        check(r#"{"confidence": "0.9", "correct": true}"#, Err("`confidence` is a number from 0 to 1, not `\"0.9\"`"));
        check(r#"{"confidence": 0.9, "correct": "yes"}"#, Err("`correct` is true or false, not `\"yes\"`"));
    }
}
