//! JSON objects amid prose: models answer in code fences, think aloud first, and add a sentence at the end.

use super::budget::{one_line, plain, shorten};
use serde_json::{Map, Value};

/// After so many beginnings of an object that end nowhere the rest of a text is not read: each may cost a pass to its
/// end, and no honest answer has as many.
const MISSES: usize = 1_000;
/// So many objects with a comma too many are mended in one text.
const MENDED: usize = 20;

/// The outermost JSON objects of a text, in order: bare, in code fences, or amid prose.
///
/// A comma before a closing bracket is overlooked, because no reading of it could mean something else; any other text
/// that is not JSON is no object.
///
/// ```
/// # use reflexion_text::prompt::objects;
/// let mut found = objects("I use {braces}. ```json\n{\"a\": [1,],}\n``` {\"b\": 2}");
/// assert_eq!(found.next().unwrap()["a"][0], 1);
/// assert_eq!(found.next().unwrap()["b"], 2);
/// assert!(found.next().is_none());
/// ```
pub fn objects(text: &str) -> impl Iterator<Item = Map<String, Value>> {
    Objects { text, at: 0, misses: 0, mended: 0 }
}

struct Objects<'a> {
    text: &'a str,
    at: usize,
    misses: usize,
    mended: usize,
}

impl Iterator for Objects<'_> {
    type Item = Map<String, Value>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(brace) = self.text[self.at..].find('{') {
            self.at += brace;
            let rest = &self.text[self.at..];
            if !rest[1..].trim_start().starts_with(['"', '}']) {
                self.at += 1; // prose or code
                continue;
            }
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
            match values.next() {
                Some(Ok(object)) => {
                    self.at += values.byte_offset();
                    return Some(object);
                }
                Some(Err(error)) if self.mended < MENDED && error.to_string().starts_with("trailing comma") => {
                    self.mended += 1;
                    let (mended, length) = without_trailing_commas(rest);
                    if let Ok(object) = serde_json::from_str(&mended) {
                        self.at += length;
                        return Some(object);
                    }
                }
                _ => {}
            }
            self.at += 1;
            self.misses += 1;
            if self.misses == MISSES {
                self.at = self.text.len();
            }
        }
        None
    }
}

/// The object that `text` begins with, without commas before closing brackets, and how long it is in `text`.
fn without_trailing_commas(text: &str) -> (String, usize) {
    let mut out = String::new();
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut comma = None; // where in `out` a comma stands that only white space has followed
    for (at, c) in text.char_indices() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if matches!(c, '}' | ']') {
            if let Some(comma) = comma.take() {
                out.remove(comma);
            }
            depth = depth.saturating_sub(1);
        } else if c == ',' {
            comma = Some(out.len());
        } else if !c.is_whitespace() {
            comma = None;
            in_string = c == '"';
            depth += usize::from(matches!(c, '{' | '['));
        }
        out.push(c);
        if depth == 0 {
            return (out, at + c.len_utf8());
        }
    }
    (out, text.len())
}

/// The first words of an answer, for an error.
#[must_use]
pub fn beginning(text: &str) -> String {
    shorten(&one_line(&plain(text)), 80).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = objects(text).map(|object| Value::Object(object).to_string()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn objects_are_found_amid_anything() {
        check(r#"{"a":1}"#, &[r#"{"a":1}"#]);
        check("if x { y } ```json\n{\"a\": {\"b\": 2}}\n``` {} and {\"c\":3", &[r#"{"a":{"b":2}}"#, "{}"]);
        check(r#"{"a":"} { \" ,}"}"#, &[r#"{"a":"} { \" ,}"}"#]);
        check("[] null 7 {x: 1} {'a': 1}", &[]);
    }

    #[test]
    fn a_comma_too_many_is_overlooked_and_nothing_else() {
        check(r#"{"a":[1,2, ],"b":", ]", }. {"c":1,}"#, &[r#"{"a":[1,2],"b":", ]"}"#, r#"{"c":1}"#]);
        check(r#"{"a":1,,}"#, &[]);
        check(r#"{"a":,}"#, &[]);
        check(r#"{"a":[,]}"#, &[]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r#"([{}\[\],:"\\]|"a":|"ä"|1| |\n){0,60}"#) {
            for object in objects(&text) {
                // Whatever is found can be written and found again.
                let written = Value::Object(object.clone()).to_string();
                prop_assert_eq!(objects(&written).next(), Some(object));
            }
        }
    }
}
