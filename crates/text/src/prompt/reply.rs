//! The reader of a generator's answer.

use super::budget::plain;
use super::json::{beginning, objects};
use crate::domain::{Category, Draft, Origin};
use serde_json::{Map, Value};

/// Characters kept of an answer's analysis and of its suggestion.
const SENTENCE_CHARS: usize = 1_000;
/// Action items kept of an answer.
const ITEMS: usize = 5;
/// Characters kept of each action item.
const ITEM_CHARS: usize = 200;

/// A generator's answer: types checked, caps kept, confidence within 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What kind of lesson it is; an unknown word is `root_cause`.
    pub category: Category,
    /// What went wrong, at most 1,000 characters, never blank.
    pub analysis: String,
    /// What to do differently, at most 1,000 characters, never blank.
    pub suggestion: String,
    /// At most 5 steps of at most 200 characters, none of them blank.
    pub action_items: Vec<String>,
    /// 0 to 1; 0.5 if the answer gave no number.
    pub confidence: f64,
    /// How many steps were left out because they were no text, or blank.
    pub items_dropped: usize,
}

impl Reply {
    /// The answer together with who gave it.
    #[must_use]
    pub fn by(self, origin: Origin) -> Draft {
        Draft {
            category: self.category,
            analysis: self.analysis,
            suggestion: self.suggestion,
            action_items: self.action_items,
            confidence: self.confidence,
            origin,
        }
    }
}

/// Why an answer holds no reflection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is no JSON object with an `analysis` in it.
    #[error("the answer holds no JSON object with an `analysis`; it begins: {beginning:?}")]
    NoObject {
        /// The first words of the answer.
        beginning: String,
    },
    /// The object has a field of the wrong type, or a blank one.
    #[error("`{field}` in the answer is {found} where {wanted} is needed")]
    Field {
        /// The field's name.
        field: &'static str,
        /// What would have been right.
        wanted: &'static str,
        /// What was there.
        found: &'static str,
    },
}

/// Reads a reflection out of what a generator printed: bare JSON, in a code fence, or amid prose.
///
/// Every JSON object of the text, and every object inside one, is looked at; of those that have the right shape the
/// *last* wins, because models repeat the asked-for shape or think aloud before they answer. Bytes that are not UTF-8
/// are replaced. Python's bare `NaN` and `Infinity` are read as no number.
///
/// # Errors
/// [`ParseError`]: no object, or (if no other fits) the last object's first wrong field.
///
/// ```
/// # use reflexion_text::prompt::parse_reply;
/// let reply = parse_reply(r#"Sure! {"analysis": "off by one", "suggestion": "use ..="}"#)?;
/// assert_eq!((reply.analysis.as_str(), reply.confidence), ("off by one", 0.5));
/// # Ok::<(), reflexion_text::prompt::ParseError>(())
/// ```
pub fn parse_reply(reply: impl AsRef<[u8]>) -> Result<Reply, ParseError> {
    let text = String::from_utf8_lossy(reply.as_ref());
    match last_reply(&text) {
        Err(ParseError::NoObject { beginning }) => {
            without_bare_nan(&text).map_or(Err(ParseError::NoObject { beginning }), |text| last_reply(&text))
        }
        other => other,
    }
}

fn last_reply(text: &str) -> Result<Reply, ParseError> {
    let mut best = Err(ParseError::NoObject { beginning: beginning(text) });
    for object in objects(text) {
        visit(&object, &mut |object| {
            let read = read(object);
            if read.is_ok() || best.is_err() {
                best = read;
            }
        });
    }
    best
}

/// Calls `found` with every object that has an `analysis`, inner ones first.
fn visit(object: &Map<String, Value>, found: &mut impl FnMut(&Map<String, Value>)) {
    for value in object.values() {
        visit_value(value, found);
    }
    if object.contains_key("analysis") {
        found(object);
    }
}

fn visit_value(value: &Value, found: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(object) => visit(object, found),
        Value::Array(values) => values.iter().for_each(|value| visit_value(value, found)),
        _ => {}
    }
}

fn read(object: &Map<String, Value>) -> Result<Reply, ParseError> {
    let category = match object.get("category") {
        None | Some(Value::Null) => Category::RootCause,
        Some(Value::String(word)) => Category::from_word(word),
        Some(other) => return Err(wrong("category", "a word", other)),
    };
    // Small models write keys in their own way.
    let action_items = match object.get("actionItems").or_else(|| object.get("action_items")) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().collect(),
        Some(other) => return Err(wrong("actionItems", "a list of texts", other)),
    };
    let given = action_items.len();
    // One that is no text costs itself, and not the lesson.
    let action_items: Vec<String> = action_items.into_iter().filter_map(|item| text_of(item, ITEM_CHARS)).collect();
    Ok(Reply {
        items_dropped: given - action_items.len(),
        category,
        analysis: sentence(object, "analysis")?,
        suggestion: sentence(object, "suggestion")?,
        action_items: action_items.into_iter().take(ITEMS).collect(),
        confidence: certainty(object.get("confidence").map_or(f64::NAN, number)),
    })
}

/// A number, also where it is written as a text.
fn number(value: &Value) -> f64 {
    let written = value.as_str().and_then(|text| text.trim().parse().ok());
    value.as_f64().or(written).unwrap_or(f64::NAN)
}

fn sentence(object: &Map<String, Value>, field: &'static str) -> Result<String, ParseError> {
    let value = object.get(field).unwrap_or(&Value::Null);
    text_of(value, SENTENCE_CHARS).ok_or_else(|| wrong(field, "a text", value))
}

/// A text that is not blank, cleaned and capped.
fn text_of(value: &Value, chars: usize) -> Option<String> {
    let text = plain(value.as_str()?);
    let text = text.trim();
    (!text.is_empty()).then(|| text.chars().take(chars).collect())
}

fn wrong(field: &'static str, wanted: &'static str, found: &Value) -> ParseError {
    let found = match found {
        Value::Null => "missing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.trim().is_empty() => "blank",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ParseError::Field { field, wanted, found }
}

/// A confidence as it may be stored: within 0 and 1, and 0.5 for what is no number.
#[must_use]
pub fn certainty(value: f64) -> f64 {
    if value.is_nan() { 0.5 } else { value.clamp(0.0, 1.0) }
}

/// The text with `: NaN` and `: ±Infinity` as `: null`; none if it holds neither.
fn without_bare_nan(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    let mut rest = text;
    while let Some(colon) = rest.find(':') {
        let after = rest[colon + 1..].trim_start();
        let word = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| after.starts_with(word));
        out.push_str(&rest[..=colon]);
        rest = match word {
            Some(word) => {
                changed = true;
                out.push_str("null");
                &after[word.len()..]
            }
            None => &rest[colon + 1..],
        };
    }
    out.push_str(rest);
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str =
        r#"{"category":"test_gap","analysis":"a","suggestion":"s","actionItems":["i"],"confidence":0.9}"#;

    fn good(analysis: &str) -> Reply {
        Reply {
            category: Category::TestGap,
            analysis: analysis.to_owned(),
            suggestion: "s".to_owned(),
            action_items: vec!["i".to_owned()],
            confidence: 0.9,
            items_dropped: 0,
        }
    }

    #[test]
    fn the_object_is_found_wherever_it_stands() {
        let check = |text: &str| assert_eq!(parse_reply(text), Ok(good("a")), "{text}");
        check(GOOD);
        check(&format!("\u{feff}Here you are:\n```json\n{GOOD}\n```\nHope it helps {{ }} :-{{"));
        check(&format!("fn f() {{ if x {{ \n{{x}} {{\"a\": 1}} {GOOD}"));
        check(&format!(r#"{{"reflections": [{GOOD}]}}"#));
        check(&GOOD.replace(",\"confidence\"", ", \"more\": {\"}\": \"{\"}, \"confidence\""));
        check(&format!("draft: {} final: {GOOD}", GOOD.replace("\"a\"", "\"draft\"")));
        check(&format!("{GOOD} {}", r#"{"analysis": 7}"#));
        check(&GOOD.replace("actionItems", "action_items"));
    }

    #[test]
    fn braces_and_quotes_inside_strings_are_text() {
        let text =
            r#"{"category":"test_gap","analysis":"a } \" { b","suggestion":"s","actionItems":["i"],"confidence":0.9}"#;
        assert_eq!(parse_reply(text), Ok(good("a } \" { b")));
    }

    #[test]
    fn a_step_that_is_no_text_costs_itself_alone() {
        let text = GOOD.replace(r#"["i"]"#, r#"[5, "i", "", null]"#);
        let reply = parse_reply(&text).unwrap();
        assert_eq!((reply.action_items, reply.items_dropped), (vec!["i".to_owned()], 3));
    }

    #[test]
    fn wrong_types_are_errors_that_say_where() {
        let check = |from: &str, to: &str, error: &str| {
            let text = GOOD.replace(from, to);
            assert_eq!(parse_reply(&text).unwrap_err().to_string(), error, "{text}");
        };
        check(r#""a","s"#, r#"{"x":1},"s"#, "`analysis` in the answer is an object where a text is needed");
        check(r#""a","s"#, r#""  ","s"#, "`analysis` in the answer is blank where a text is needed");
        check(r#""suggestion":"s","#, "", "`suggestion` in the answer is missing where a text is needed");
        check(r#"["i"]"#, r#""i""#, "`actionItems` in the answer is a text where a list of texts is needed");
        check("\"test_gap\"", "true", "`category` in the answer is a boolean where a word is needed");
        check(
            GOOD,
            "no idea {really}",
            "the answer holds no JSON object with an `analysis`; it begins: \"no idea {really}\"",
        );
        check(GOOD, "", "the answer holds no JSON object with an `analysis`; it begins: \"\"");
    }

    #[test]
    fn confidence_is_a_number_between_0_and_1() {
        let check = |written: &str, expected: f64| {
            let text = GOOD.replace("0.9", written);
            assert_eq!(parse_reply(&text).map(|reply| reply.confidence), Ok(expected), "{written}");
        };
        check("80", 1.0);
        check("-1", 0.0);
        check("null", 0.5);
        check("\"high\"", 0.5);
        check("\"0.9\"", 0.9);
        check("NaN", 0.5);
        check("-Infinity", 0.5);
        assert_eq!(parse_reply(GOOD.replace(",\"confidence\":0.9", "")).map(|reply| reply.confidence), Ok(0.5));
    }

    #[test]
    fn long_answers_are_capped_and_unknown_categories_mapped() {
        let long = serde_json::json!({
            "category": "approach_error", "analysis": "ä".repeat(3_000), "suggestion": "\u{1b}[31mred\u{1b}[0m",
            "actionItems": vec!["ö".repeat(300); 9], "confidence": 1,
        });
        let reply = parse_reply(long.to_string()).unwrap();
        assert_eq!(reply.category, Category::ApproachFlaw);
        assert_eq!(reply.analysis, "ä".repeat(1_000));
        assert_eq!(reply.suggestion, "red");
        assert_eq!(reply.action_items, vec!["ö".repeat(200); 5]);
        assert_eq!(parse_reply(GOOD.replace("test_gap", "bad mood")).unwrap().category, Category::RootCause);
        assert_eq!(parse_reply(GOOD.replace("\"category\":\"test_gap\",", "")).unwrap().category, Category::RootCause);
    }

    #[test]
    fn many_open_braces_cost_little() {
        // A parser that rescanned to the end from each of these would not come back.
        let deep = r#"{"a":"#.repeat(50_000);
        assert!(parse_reply(&deep).is_err());
        assert!(parse_reply("{".repeat(200_000)).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_reply(&bytes);
        }

        #[test]
        fn no_almost_json_panics_and_caps_hold(text in r#"([{}\[\],:"\\]|"analysis":|"suggestion":|"actionItems":|"x"|"confidence":|NaN|1e999|null| |ä){0,40}"#) {
            if let Ok(reply) = parse_reply(&text) {
                prop_assert!(!reply.analysis.is_empty() && !reply.suggestion.is_empty());
                prop_assert!((0.0..=1.0).contains(&reply.confidence));
            }
        }
    }
}
