//! Secrets in the strings of JSON documents.

use super::Redactor;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;

impl Redactor {
    /// JSON Lines without secrets in their strings; a line that is no JSON is taken as text. Whatever else stands in a
    /// line stays as it is spelled.
    ///
    /// ```
    /// use reflexion_text::redaction::Redactor;
    /// let line = b"{\"n\": 1.50, \"said\": \"postgres://me:s3cr3t-pw@db/x\"}\n";
    /// let redacted = Redactor::of_process().redact_lines(line);
    /// assert_eq!(redacted, &b"{\"n\": 1.50, \"said\": \"postgres://me:[redacted:url-password]@db/x\"}\n"[..]);
    /// ```
    #[must_use]
    pub fn redact_lines<'a>(&self, lines: &'a [u8]) -> Cow<'a, [u8]> {
        let redacted: Vec<Cow<'_, [u8]>> =
            lines.split_inclusive(|byte| *byte == b'\n').map(|line| self.redact_json(line)).collect();
        let is_changed = redacted.iter().any(|line| matches!(line, Cow::Owned(_)));
        if is_changed { Cow::Owned(redacted.concat()) } else { Cow::Borrowed(lines) }
    }

    /// The same for one document over any number of lines.
    #[must_use]
    pub fn redact_json<'a>(&self, document: &'a [u8]) -> Cow<'a, [u8]> {
        let Ok(text) = std::str::from_utf8(document) else { return Cow::Borrowed(document) };
        if serde_json::from_str::<IgnoredAny>(text).is_err() {
            return match self.redact(text) {
                Cow::Owned(redacted) => Cow::Owned(redacted.into_bytes()),
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            };
        }
        let (mut redacted, mut copied, mut at) = (String::new(), 0, 0);
        while let Some(string) = next_string(text, at) {
            at = string.end;
            if is_of_a_format(text, &string) {
                continue;
            }
            let Ok(said) = serde_json::from_str::<String>(&text[string.clone()]) else { continue };
            if let Cow::Owned(said) = self.redact(&said) {
                redacted.push_str(&text[copied..string.start]);
                redacted.push_str(&Value::String(said).to_string());
                copied = string.end;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(document);
        }
        redacted.push_str(&text[copied..]);
        Cow::Owned(redacted.into_bytes())
    }

    /// Arguments of a tool without secrets. Unlike in a text, a name stands apart from its value there: `{"password": "…"}`.
    #[must_use]
    pub fn redact_arguments(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_owned(text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_arguments(item)).collect(),
            Value::Object(members) => {
                let redact = |(name, value): (String, Value)| {
                    let value = match value {
                        Value::String(text) => Value::String(self.redact_named(&name, text)),
                        value => self.redact_arguments(value),
                    };
                    (name, value)
                };
                members.into_iter().map(redact).collect()
            }
            value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
        }
    }

    fn redact_named(&self, name: &str, text: String) -> String {
        let begin = format!("{name}=");
        let named = format!("{begin}{text}");
        match self.redact(&named) {
            // A name that holds a secret itself is nothing that anybody has.
            Cow::Owned(redacted) => {
                redacted.strip_prefix(&begin).map_or_else(|| self.redact_owned(text), str::to_owned)
            }
            Cow::Borrowed(_) => text,
        }
    }
}

/// Whether a string is a word of a format, and no text: a member's name, or one of a few values (`false_done`). Where a variable has the same
/// value (`AUTH_STATUS=confirmed`), nobody could read the record otherwise.
fn is_of_a_format(document: &str, string: &std::ops::Range<usize>) -> bool {
    let word = &document[string.start + 1..string.end - 1];
    let is_name = || document[string.end..].trim_start().starts_with(':');
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    !word.is_empty()
        && (word.bytes().all(is_letter)
            || is_name() && word.bytes().all(|byte| is_letter(byte) || byte.is_ascii_uppercase()))
}

/// The next string of a valid document, with its quotes.
fn next_string(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let start = from + text[from..].find('"')?;
    let mut is_escaped = false;
    let length = text[start + 1..].bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    Some(start..start + length + 2)
}
