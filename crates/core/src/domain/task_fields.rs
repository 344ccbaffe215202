//! What belongs into each field of a task, for people who write one.

use super::Task;

/// What a field of a task takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskField {
    /// The key.
    pub name: &'static str,
    /// What stands there, after "it must be".
    pub takes: &'static str,
    /// A value, as JSON.
    pub example: &'static str,
}

const fn field(name: &'static str, takes: &'static str, example: &'static str) -> TaskField {
    TaskField { name, takes, example }
}

/// In the order in which they are written.
const ALL: [TaskField; 19] = [
    field("id", "a word of letters, digits, `.`, `_` and `-`", r#""fix-dates""#),
    field("title", "one line of text", r#""Dates of February are read""#),
    field("description", "a text", r#""parse(\"29 Feb\") fails.""#),
    field("status", "`open`, `in_progress`, `blocked` or `closed`", r#""open""#),
    field("priority", "a number from 0 (first) to 4 (last)", "1"),
    field("type", "a word", r#""bug""#),
    field("labels", "a list of texts", r#"["parser", "good first issue"]"#),
    field("deps", "a list of other tasks", r#"[{"id": "other-task", "type": "blocks"}]"#),
    field("acceptanceCriteria", "a text, or a list of texts", r#"["29 Feb is read", "30 Feb is refused"]"#),
    field("checks", "a list of checks", r#"[{"name": "test", "run": "cargo test dates"}]"#),
    field("maxAttempts", "a number from 1 on", "5"),
    field("agent", "the name of an agent", r#""claude""#),
    field(
        "subtasks",
        "a list of parts",
        r#"[{"id": "parser", "title": "Read it"}, {"id": "printer", "title": "Show it"}]"#,
    ),
    field("size", "`small`, `medium` or `large`", r#""small""#),
    field("expects", "`change`, `fix` or `nothing`", r#""fix""#),
    field("allow", "a list of what is permitted", r#"["remove_tests", "skip_tests"]"#),
    field("protect", "a list of globs", r#"["tests/**", "*.lock"]"#),
    field("createdAt", "a time", r#""2026-11-27T06:00:00Z""#),
    field("updatedAt", "a time", r#""2026-11-27T06:00:00Z""#),
];

impl Task {
    /// What a field of a line takes; none for a key that means nothing.
    ///
    /// ```
    /// # use reflexion_core::domain::Task;
    /// assert_eq!(Task::field("labels").map(|field| field.takes), Some("a list of texts"));
    /// ```
    #[must_use]
    pub fn field(name: &str) -> Option<&'static TaskField> {
        ALL.iter().find(|field| field.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_an_example_that_is_right() {
        assert_eq!(ALL.map(|field| field.name), Task::FIELDS);
        for TaskField { name, example, .. } in ALL {
            let value: serde_json::Value = serde_json::from_str(example).unwrap();
            let mut task = serde_json::json!({ "id": "a", "title": "A" });
            task[name] = value;
            serde_json::from_value::<Task>(task).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
