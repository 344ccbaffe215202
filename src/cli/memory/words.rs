//! The words of a lesson as a text that a person changes.

use crate::domain::Reflection;

const WRONG: &str = "== What went wrong ==";
const DO: &str = "== What to do differently ==";
const STEPS: &str = "== Steps, each behind a dash ==";

/// What a lesson says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) analysis: String,
    pub(super) suggestion: String,
    pub(super) action_items: Vec<String>,
}

impl Words {
    pub(super) fn of(lesson: &Reflection) -> Self {
        let trimmed = |text: &String| text.trim().to_owned();
        Self {
            analysis: trimmed(&lesson.analysis),
            suggestion: trimmed(&lesson.suggestion),
            action_items: lesson.action_items.iter().map(trimmed).collect(),
        }
    }

    /// As an editor shows it; none where a heading of ours stands in the lesson itself, so that nobody could tell them apart afterwards.
    pub(super) fn to_text(&self, lesson: &Reflection) -> Option<String> {
        let items: Vec<String> =
            self.action_items.iter().map(|item| format!("- {}\n", item.replace('\n', "\n  "))).collect();
        let Self { analysis, suggestion, .. } = self;
        let text = format!(
            "The words of {} (task {}, attempt {}). Change them below, save, and close the editor.\n\
             The three headings stay as they are; these lines up here are not read. An empty file changes nothing.\n\n\
             {WRONG}\n{analysis}\n\n{DO}\n{suggestion}\n\n{STEPS}\n{}",
            lesson.id,
            lesson.task_id,
            lesson.attempt_number,
            items.concat()
        );
        Self::read(&text).is_ok_and(|read| read.as_ref() == Some(self)).then_some(text)
    }

    /// What a person made of it; none if nothing is left.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn read(text: &str) -> Result<Option<Self>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let text = text.replace("\r\n", "\n");
        let mut rest = text.as_str();
        let mut parts = Vec::new();
        for heading in [WRONG, DO, STEPS] {
            let (before, behind) = split_at_line(rest, heading)
                .ok_or_else(|| format!("the line `{heading}` is missing, or not in its place"))?;
            parts.push(before.trim().to_owned());
            rest = behind;
        }
        let [_, analysis, suggestion] = <[String; 3]>::try_from(parts).unwrap_or_default();
        let words = Self { analysis, suggestion, action_items: items(rest) };
        let empty = words.analysis.is_empty() && words.suggestion.is_empty() && words.action_items.is_empty();
        Ok((!empty).then_some(words))
    }
}

/// What stands before and behind the only line that says this.
fn split_at_line<'t>(text: &'t str, line: &str) -> Option<(&'t str, &'t str)> {
    let mut start = 0;
    let mut found = None;
    for one in text.split_inclusive('\n') {
        let end = start + one.len();
        if one.trim_end() == line && found.replace((&text[..start], &text[end..])).is_some() {
            return None;
        }
        start = end;
    }
    found
}

/// The list's items; what stands in front of no dash belongs to the one before.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(item), _) => items.push(item.trim().to_owned()),
            (None, Some(last)) => {
                last.push('\n');
                last.push_str(line.strip_prefix("  ").unwrap_or(line));
            }
            (None, None) => items.push(line.trim().to_owned()),
        }
    }
    items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty() && item != "-").collect()
}
