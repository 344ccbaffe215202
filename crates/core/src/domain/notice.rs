//! Notices: the few things that a person should hear of while nobody watches a run.

use super::{RunId, TaskId, Timestamp};
use serde::Serialize;

/// A headline fits on a phone's lock screen.
const TITLE_CHARS: usize = 100;
/// The rest is in the report and the journal.
const TEXT_CHARS: usize = 500;

/// Something that a person should hear of; as JSON it is what commands and webhooks are given.
///
/// Its texts come from tasks, agents and programs. They are one line each, short, and without characters that drive a
/// terminal or reorder what is read, whoever made the notice.
///
/// ```
/// # use reflexion_core::domain::{Notice, NoticeKind, Timestamp};
/// let notice = Notice::new(NoticeKind::NeedsYou, "dates", Timestamp::UNIX_EPOCH).saying("task `a`\r\nX: y", "\u{1b}[2J\u{202e}log in");
/// assert_eq!((notice.title(), notice.text()), ("task `a` X: y", "[2Jlog in"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// Format version, 1.
    v: u32,
    kind: NoticeKind,
    project: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    title: String,
    text: String,
    at: Timestamp,
}

impl Notice {
    /// A notice without words yet.
    #[must_use]
    pub fn new(kind: NoticeKind, project: &str, at: Timestamp) -> Self {
        let project = one_line(project, TITLE_CHARS);
        Self { v: 1, kind, project, run: None, task: None, title: String::new(), text: String::new(), at }
    }

    /// The same about a run.
    #[must_use]
    pub fn of_run(self, run: &RunId) -> Self {
        Self { run: Some(run.clone()), ..self }
    }

    /// The same about a task.
    #[must_use]
    pub fn about(self, task: &TaskId) -> Self {
        Self { task: Some(task.clone()), ..self }
    }

    /// The same with a headline and the rest.
    #[must_use]
    pub fn saying(self, title: &str, text: &str) -> Self {
        Self { title: one_line(title, TITLE_CHARS), text: one_line(text, TEXT_CHARS), ..self }
    }

    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> NoticeKind {
        self.kind
    }

    /// The project's name.
    #[must_use]
    pub fn project(&self) -> &str {
        &self.project
    }

    /// The run, unless it is a test.
    #[must_use]
    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// The task, if it is about one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    /// The headline: one line of at most 100 characters.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The rest: one line of at most 500 characters.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// Something does not go on before a person acts.
    NeedsYou,
    /// A budget leaves nothing to work with.
    Budget,
    /// The run is over, and all of it is confirmed.
    Finished,
    /// The run is over, and not all of it is confirmed.
    Ended,
    /// Somebody tries whether notices arrive.
    Test,
}

impl NoticeKind {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs_you",
            Self::Budget => "budget",
            Self::Finished => "finished",
            Self::Ended => "ended",
            Self::Test => "test",
        }
    }
}

/// Words with single spaces between them; nothing that a terminal obeys or that turns the reading direction.
fn one_line(text: &str, chars: usize) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain: String = text.chars().filter(|c| c.is_whitespace() || !(c.is_control() || turns(*c))).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        // The mark counts too.
        Some(_) => line.chars().take(chars - 1).chain(['…']).collect(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_short_harmless_line() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text, 10), expected, "{text:?}");
        check("", "");
        check(" a\r\n\tb\u{85}c ", "a b c");
        check("a\u{0}\u{7}\u{1b}[1mb\u{9b}", "a[1mb");
        check("\u{202e}abc\u{2069}", "abc");
        check("1234567890", "1234567890");
        check("12345678901", "123456789…");
        check("ääääääääääää", "äääääääää…");
    }

    #[test]
    fn a_notice_is_json_for_programs() {
        let task = TaskId::new("a").unwrap();
        let run = RunId::new("r1").unwrap();
        let notice =
            Notice::new(NoticeKind::Ended, "p", Timestamp::UNIX_EPOCH).of_run(&run).about(&task).saying("t", "x");
        assert_eq!(
            serde_json::to_string(&notice).unwrap(),
            r#"{"v":1,"kind":"ended","project":"p","run":"r1","task":"a","title":"t","text":"x","at":"1970-01-01T00:00:00Z"}"#
        );
    }
}
