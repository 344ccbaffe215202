//! promptfoo's assertions, on the text of a verdict.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

/// One assertion of promptfoo's test-case layout.
///
/// Of its types these are graded: `equals`, `contains`, `icontains`, `contains-any`, `contains-all`, `icontains-any`,
/// `icontains-all`, `starts-with`, `regex`, `is-json`, each also with `not-` before it. Any other (`javascript`,
/// `llm-rubric`, …) is said to be not graded, and never counts as passed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Assertion {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it compares with.
    #[serde(default)]
    pub value: Value,
    /// A program that rewrites the text first; not supported.
    #[serde(default)]
    pub transform: Option<Value>,
}

/// What came of an assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asserted {
    Holds,
    Fails(String),
    NotGraded(String),
}

impl Assertion {
    /// Applies it to a text.
    pub(super) fn on(&self, text: &str) -> Asserted {
        if self.transform.is_some() {
            return Asserted::NotGraded(format!("`{}` with a `transform` is not supported", self.kind));
        }
        let (negated, kind) = match self.kind.strip_prefix("not-") {
            Some(kind) => (true, kind),
            None => (false, self.kind.as_str()),
        };
        match self.holds(kind, text) {
            Err(because) => Asserted::NotGraded(because),
            Ok(holds) if holds != negated => Asserted::Holds,
            Ok(_) => Asserted::Fails(format!("`{}` {} does not hold", self.kind, self.value)),
        }
    }

    fn holds(&self, kind: &str, text: &str) -> Result<bool, String> {
        let lower = text.to_lowercase();
        let has = |word: &String| text.contains(word.as_str());
        let has_in_any_case = |word: &String| lower.contains(&word.to_lowercase());
        Ok(match kind {
            "equals" => match &self.value {
                Value::String(wanted) => text == wanted,
                wanted => serde_json::from_str::<Value>(text).is_ok_and(|is| is == *wanted),
            },
            "contains" => has(&self.word()?),
            "icontains" => has_in_any_case(&self.word()?),
            "starts-with" => text.starts_with(&self.word()?),
            "contains-any" => self.words()?.iter().any(has),
            "contains-all" => self.words()?.iter().all(has),
            "icontains-any" => self.words()?.iter().any(has_in_any_case),
            "icontains-all" => self.words()?.iter().all(has_in_any_case),
            "regex" => Regex::new(&self.word()?).map_err(|e| format!("`regex`: {e}"))?.is_match(text),
            "is-json" if self.value.is_null() => serde_json::from_str::<Value>(text).is_ok(),
            "is-json" => return Err("`is-json` with a schema is not supported".to_owned()),
            _ => return Err(format!("`{}` is not supported", self.kind)),
        })
    }

    fn word(&self) -> Result<String, String> {
        match &self.value {
            Value::String(word) => Ok(word.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(truth) => Ok(truth.to_string()),
            _ => Err(format!("`{}` needs a text as its `value`", self.kind)),
        }
    }

    /// A list, or one text with commas between its parts.
    fn words(&self) -> Result<Vec<String>, String> {
        let one = |value: &Value| Self { value: value.clone(), ..self.clone() }.word();
        match &self.value {
            Value::Array(many) if !many.is_empty() => many.iter().map(one).collect(),
            Value::String(text) => Ok(text.split(',').map(|part| part.trim().to_owned()).collect()),
            _ => Err(format!("`{}` needs a list as its `value`", self.kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn assertions_hold_fail_or_are_not_graded() {
        let text = r#"{"status": "refuted", "feedback": "Run `cargo test` again."}"#;
        let check = |kind: &str, value: Value, expected: Option<bool>| {
            let assertion = Assertion { kind: kind.to_owned(), value, transform: None };
            let got = match assertion.on(text) {
                Asserted::Holds => Some(true),
                Asserted::Fails(_) => Some(false),
                Asserted::NotGraded(_) => None,
            };
            assert_eq!(got, expected, "{assertion:?}");
        };
        check("contains", json!("refuted"), Some(true));
        check("contains", json!("Refuted"), Some(false));
        check("not-contains", json!("proven"), Some(true));
        check("icontains", json!("RUN"), Some(true));
        check("contains-any", json!(["proven", "refuted"]), Some(true));
        check("contains-all", json!(["proven", "refuted"]), Some(false));
        check("icontains-all", json!("STATUS, run"), Some(true));
        check("contains-any", json!([]), None);
        check("starts-with", json!("{"), Some(true));
        check("regex", json!("\"status\": *\"re"), Some(true));
        check("regex", json!("("), None);
        check("is-json", Value::Null, Some(true));
        check("not-is-json", Value::Null, Some(false));
        check("is-json", json!({"type": "object"}), None);
        check("equals", json!({"status": "refuted", "feedback": "Run `cargo test` again."}), Some(true));
        check("equals", json!("refuted"), Some(false));
        check("javascript", json!("output.length > 0"), None);
        check("not-javascript", json!("output.length > 0"), None);
        check("llm-rubric", json!("is polite"), None);
        let transformed = Assertion { kind: "contains".into(), value: json!("x"), transform: Some(json!("output")) };
        assert!(matches!(transformed.on("x"), Asserted::NotGraded(_)));
    }
}
