//! Fields of an answer, with their types checked: nothing is true because it is there.

use crate::prompt::plain;
use crate::services::JudgeError;
use serde_json::{Map, Value};

/// Bytes kept of a sentence: feedback, a summary.
const SENTENCE_CHARS: usize = 2_000;
/// Items kept of a list.
const ITEMS: usize = 30;
/// Characters kept of an item.
const ITEM_CHARS: usize = 400;

/// An object of an answer.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub &'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The first of these names that has a value.
    pub fn value(self, names: &[&str]) -> Option<&'a Value> {
        names.iter().find_map(|name| self.0.get(*name).filter(|value| !value.is_null()))
    }

    /// True or false; as a text it is what it says. Anything else is refused.
    pub fn flag(self, names: &[&str]) -> Result<Option<bool>, JudgeError> {
        self.value(names).map(|value| flag(value).ok_or_else(|| wrong(names[0], "true or false", value))).transpose()
    }

    /// One of a few words, whatever its case; spaces and hyphens are underscores.
    pub fn word<T: Copy>(self, names: &[&str], words: &[(&str, T)]) -> Result<Option<T>, JudgeError> {
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join("|");
        let Some(value) = self.value(names) else { return Ok(None) };
        let said = value.as_str().ok_or_else(|| wrong(names[0], &known(), value))?;
        let said = said.trim().to_ascii_lowercase().replace([' ', '-'], "_");
        match words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&said)) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(wrong(names[0], &known(), value)),
        }
    }

    /// A text, cleaned and capped; empty if it is not there.
    pub fn text(self, names: &[&str]) -> Result<String, JudgeError> {
        match self.value(names) {
            None => Ok(String::new()),
            Some(value) => capped(value, SENTENCE_CHARS).ok_or_else(|| wrong(names[0], "a text", value)),
        }
    }

    /// A list of texts. A single text is a list of one, and words for nothing ("none", "n/a") are no item.
    pub fn list(self, names: &[&str]) -> Result<Vec<String>, JudgeError> {
        let values = match self.value(names) {
            None => return Ok(Vec::new()),
            Some(Value::Array(values)) => values.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        let mut items = Vec::new();
        for value in values.iter().take(ITEMS).filter(|value| !value.is_null()) {
            let item = capped(value, ITEM_CHARS).ok_or_else(|| wrong(names[0], "a list of texts", value))?;
            if !is_nothing(&item) {
                items.push(item);
            }
        }
        Ok(items)
    }

    /// A number from 0 to 1; what lies outside is cut.
    pub fn share(self, name: &str) -> Result<Option<f64>, JudgeError> {
        match self.value(&[name]) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) => Ok(Some(number.clamp(0.0, 1.0))),
                None => Err(wrong(name, "a number", value)),
            },
        }
    }
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn capped(value: &Value, chars: usize) -> Option<String> {
    let text = plain(value.as_str()?);
    Some(text.trim().chars().take(chars).collect())
}

/// Words for an empty list, in place of one.
pub(super) fn is_nothing(item: &str) -> bool {
    let word = item.trim().trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    matches!(word.as_str(), "" | "none" | "n/a" | "na" | "nothing" | "null" | "nil" | "no" | "not applicable" | "empty")
}

pub(super) fn unreadable(why: impl Into<String>) -> JudgeError {
    JudgeError::Unreadable(why.into())
}

fn wrong(name: &str, wanted: &str, found: &Value) -> JudgeError {
    let found: String = found.to_string().chars().take(60).collect();
    unreadable(format!("`{name}` is {found} where {wanted} is needed"))
}
