//! What is told apart from a call's own result: a command that went on in the background, and exit statuses in words.

use super::at::At;
use super::fold::Fold;
use super::path::Path;
use super::rule::{BackgroundAt, ExitLine, LaterAt};
use crate::domain::{ToolStatus, TranscriptItem};
use serde_json::Value;

/// So many calls in the background are remembered.
const BACKGROUND: usize = 1000;
/// An agent program writes no more lines than this around what a command printed.
const AROUND: usize = 8;

impl Fold {
    /// Remembers which task a call became.
    pub(super) fn background(&mut self, background: &BackgroundAt, at: At<'_, '_>) {
        let (Some(call), Some(task)) = (at.text(&background.call), at.text(&background.task)) else { return };
        if self.background.len() >= BACKGROUND {
            self.background.pop_front();
        }
        self.background.push_back((task, call));
    }

    /// Tells the result of a call that went on, where its exit status is known now.
    pub(super) fn later(&mut self, later: &LaterAt, at: At<'_, '_>) {
        let said = |path: &Path| {
            let said = at.get(path)?;
            match said.text() {
                Some(text) if later.said_with.as_ref().is_none_or(|with| text.contains(with)) => exit_said(text),
                Some(_) => None,
                None => said.number().map(|code| code as i32),
            }
        };
        let Some(code) = later.exit_code.iter().find_map(said) else { return };
        let named = |path: &Path| {
            let text = at.text(path)?;
            match &later.call_tag {
                Some(tag) => tagged(&text, tag).map(str::to_owned),
                None => Some(text),
            }
        };
        let task = || at.first_text(&later.task);
        let known = || task().and_then(|task| self.background.iter().rev().find(|(name, _)| *name == task));
        let call = later.call.as_ref().and_then(named).or_else(|| known().map(|(_, call)| call.clone()));
        let Some(id) = call else { return };
        let item = TranscriptItem::ToolResult {
            id,
            status: if code == 0 { ToolStatus::Ok } else { ToolStatus::Failed },
            exit_code: Some(code),
            output: at.first_text(&later.output).unwrap_or_default(),
            duration_ms: None,
        };
        self.step(item, at.parent);
    }
}

impl ExitLine {
    /// The exit status that the line says, if it is there.
    pub fn in_words(&self, output: &str) -> Option<i32> {
        let code = |line: &str, words: &str| line.strip_prefix(words)?.trim().parse().ok();
        match self {
            Self::Head(words) => {
                let mut head = output.lines().take(AROUND).take_while(|line| *line != "Output:");
                // Without the line that ends the head, all of it may be what the command printed.
                let ends = output.lines().take(AROUND).any(|line| line == "Output:");
                head.find_map(|line| code(line, words)).filter(|_| ends)
            }
            Self::Tail(words) => exit_in_tail(output, words),
        }
    }
}

/// The exit status after these words in one of the last lines of an output.
pub(crate) fn exit_in_tail(output: &str, words: &str) -> Option<i32> {
    output.lines().rev().take(AROUND).find_map(|line| line.strip_prefix(words)?.trim().parse().ok())
}

/// The last exit status of a text that says one; what follows it are no words.
fn exit_said(text: &str) -> Option<i32> {
    const WORDS: &str = "exit code ";
    let after = &text[text.rfind(WORDS)? + WORDS.len()..];
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let is_last = !after[end..].contains('"');
    after[..end].parse().ok().filter(|_| is_last)
}

/// What stands in the first element of this name.
fn tagged<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

/// JSON in a text. A long one was shortened in its middle, with line ends that JSON's own texts cannot have; what still
/// cannot be read stays a text.
pub(super) fn said_json(text: &str) -> Value {
    let read = || serde_json::from_str(&text.replace(['\n', '\r'], " "));
    serde_json::from_str(text).or_else(|_| read()).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_status_in_words_is_the_programs_own() {
        let check = |text: &str, expected: Option<i32>| assert_eq!(exit_said(text), expected, "{text}");
        check("Background command \"test\" completed (exit code 0)", Some(0));
        check("Background command \"test\" failed with exit code 3", Some(3));
        check("<summary>Background command \"exit code 0\" failed with exit code 3</summary>\n</task>", Some(3));
        check("Background command \"exit code 0\" was stopped", None);
        check("Background command \"test\" failed with exit code many", None);
        check("exit code 99999999999", None);
        check("", None);
    }

    #[test]
    fn a_line_around_an_output_says_the_exit_status() {
        let check = |line: ExitLine, output: &str, expected: Option<i32>| {
            assert_eq!(line.in_words(output), expected, "{output}");
        };
        let head = || ExitLine::Head("Process exited with code ".to_owned());
        check(head(), "Chunk ID: 1\nProcess exited with code 2\nOutput:\nProcess exited with code 0", Some(2));
        check(head(), "Process running with session ID 7\nOutput:\nProcess exited with code 0", None);
        check(head(), "Process exited with code 0\nand so on", None);
        let tail = || ExitLine::Tail("Exit Code: ".to_owned());
        check(tail(), "Output: Exit Code: 0\nExit Code: 3\nProcess Group PGID: 9\n</untrusted_context>", Some(3));
        check(tail(), "Output: fine", None);
    }

    #[test]
    fn json_in_a_text_is_read_and_what_is_none_stays_a_text() {
        let check = |text: &str, expected: Value| assert_eq!(said_json(text), expected);
        check("{\"cmd\": \"ls\"}", serde_json::json!({"cmd": "ls"}));
        check("{\"cmd\": \"a\n[… 9 bytes left out …]\nb\"}", serde_json::json!({"cmd": "a [… 9 bytes left out …] b"}));
        check("ls", Value::from("ls"));
    }
}
