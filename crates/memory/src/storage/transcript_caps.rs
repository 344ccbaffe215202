//! What of one step is kept: enough to understand it, never a whole log file.

use crate::domain::TranscriptItem;
use crate::prompt::excerpt;
use serde_json::Value;

/// At most so many bytes of one text are kept, half of its beginning and half of its end: what a reader still reads.
const TEXT_BYTES: usize = 32 << 10;
/// At most so many bytes of a tool's input are kept whole; above, each text in it is cut to [`INPUT_TEXT_BYTES`].
const INPUT_BYTES: usize = 64 << 10;
/// A text inside a tool's input that is too large as a whole: a file that is written is in the recorded change anyway.
const INPUT_TEXT_BYTES: usize = 4 << 10;

/// The step with its texts cut to what a transcript keeps; a cut says how many bytes are missing.
pub(super) fn capped(mut item: TranscriptItem) -> TranscriptItem {
    match &mut item {
        TranscriptItem::Message { text, .. }
        | TranscriptItem::Reasoning { text }
        | TranscriptItem::ToolResult { output: text, .. }
        | TranscriptItem::Compaction { note: text }
        | TranscriptItem::Retry { message: text, .. }
        | TranscriptItem::Error { message: text, .. }
        | TranscriptItem::Unknown { line: text, .. } => cut(text, TEXT_BYTES),
        TranscriptItem::ToolCall { input, .. } => cap_input(input),
        TranscriptItem::Head(_)
        | TranscriptItem::Session { .. }
        | TranscriptItem::Turn { .. }
        | TranscriptItem::End { .. } => {}
    }
    item
}

fn cut(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        *text = excerpt(text, bytes).into_owned();
    }
}

fn cap_input(input: &mut Value) {
    if size(input) <= INPUT_BYTES {
        return;
    }
    cut_texts(input);
    // Many small texts: what is left is kept as the beginning and end of its JSON.
    if size(input) > INPUT_BYTES {
        *input = Value::String(excerpt(&input.to_string(), TEXT_BYTES).into_owned());
    }
}

/// About as many bytes as the value has as JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|v| size(v) + 1).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(key, v)| key.len() + size(v) + 4).sum::<usize>() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) => cut(text, INPUT_TEXT_BYTES),
        Value::Array(values) => values.iter_mut().for_each(cut_texts),
        Value::Object(map) => map.values_mut().for_each(cut_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Role, ToolKind};
    use serde_json::json;

    fn call(input: Value) -> TranscriptItem {
        let (id, tool) = ("1".to_owned(), "Write".to_owned());
        TranscriptItem::ToolCall { id, tool, kind: ToolKind::Edit, input, edits: Vec::new() }
    }

    fn input_of(item: TranscriptItem) -> Value {
        match item {
            TranscriptItem::ToolCall { input, .. } => input,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn short_steps_stay_as_they_are() {
        let message = TranscriptItem::Message { role: Role::User, text: "x".repeat(TEXT_BYTES) };
        assert_eq!(capped(message.clone()), message);
        let call = call(json!({"content": "x".repeat(INPUT_BYTES - 100)}));
        assert_eq!(capped(call.clone()), call);
    }

    #[test]
    fn a_long_text_keeps_its_ends_and_says_what_is_missing() {
        let text = format!("begin{}end", "é".repeat(TEXT_BYTES));
        let TranscriptItem::Reasoning { text: kept } = capped(TranscriptItem::Reasoning { text }) else { panic!() };
        assert!(kept.starts_with("begin") && kept.ends_with("end") && kept.contains("bytes left out"));
        assert!(kept.len() < TEXT_BYTES + 100);
    }

    #[test]
    fn a_large_input_keeps_its_shape_where_that_helps() {
        let big = "x".repeat(200_000);
        let kept = input_of(capped(call(json!({"path": "a.txt", "edits": [{"new": big}]}))));
        assert_eq!(kept["path"], "a.txt");
        assert!(kept["edits"][0]["new"].as_str().unwrap().len() < INPUT_TEXT_BYTES + 100);
        let many: Vec<String> = (0..20_000).map(|i| format!("item {i}")).collect();
        let kept = input_of(capped(call(json!({ "todos": many }))));
        assert!(kept.as_str().unwrap().len() < TEXT_BYTES + 100);
    }
}
