//! How large a task is, from what is known before work on it begins.

use super::router::files_and_words;
use crate::domain::policy::Decompose;
use crate::domain::{Task, TaskSize, decompose};

/// What makes a task medium and large, at least: parts or items of its list, words, and files that it names. Chosen so
/// that a bug report with one place in it is small, and what would be several pull requests is large.
const PARTS: [usize; 2] = [3, 8];
const WORDS: [usize; 2] = [150, 600];
const FILES: [usize; 2] = [3, 9];

/// How large a task is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sized {
    /// How large.
    pub size: TaskSize,
    /// Why, in words.
    pub because: String,
}

/// The size that a task's owner gave it (`size`, or a label such as `size:L`), else the largest that its parts, its words
/// or the files it names speak for. The same task has always the same size.
///
/// ```
/// # use reflexion::domain::{Task, TaskSize};
/// # use reflexion::orchestrator::size::size;
/// let task: Task = serde_json::from_str(r#"{"id":"t","title":"Fix src/date.rs","labels":["size/XL"]}"#)?;
/// assert_eq!(size(&task).size, TaskSize::Large);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn size(task: &Task) -> Sized {
    if let Some(size) = task.size {
        return Sized { size, because: "its `size` says so".to_owned() };
    }
    if let Some((label, size)) = task.labels.iter().find_map(|label| Some((label, of_label(label)?))) {
        return Sized { size, because: format!("its label `{label}` says so") };
    }
    let text = text(task);
    let lower = text.to_lowercase();
    let measured = [
        (parts(task), PARTS, "part"),
        (text.split_whitespace().count(), WORDS, "word"),
        (files_and_words(&lower).0.len(), FILES, "file"),
    ];
    let size = measured.iter().map(|(count, limits, _)| of_count(*count, *limits)).max().unwrap_or(TaskSize::Small);
    let words = measured.map(|(count, _, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
    Sized { size, because: words.join(", ") }
}

/// The size that a label names: `size:L`, `size/small`, `size-xl`.
pub(super) fn of_label(label: &str) -> Option<TaskSize> {
    let (key, word) = label.split_once([':', '/', '-', '='])?;
    key.trim().eq_ignore_ascii_case("size").then(|| TaskSize::from_word(word)).flatten()
}

/// Everything that is said about the task.
pub(super) fn text(task: &Task) -> String {
    let parts = task.subtasks.iter().flat_map(|part| [part.title.as_str(), part.description.as_str()]);
    let own = [task.title.as_str(), task.description.as_str(), task.acceptance_criteria.as_str()];
    own.into_iter().chain(parts).collect::<Vec<_>>().join("\n")
}

/// Its subtasks, or the items of the list in its description, whether or not it is split by them.
fn parts(task: &Task) -> usize {
    let written = task.subtasks.len();
    let listed = decompose(task, Decompose::Structure).map_or_else(|too_many| too_many.items, |items| items.len());
    written.max(listed).max(1)
}

fn of_count(count: usize, [medium, large]: [usize; 2]) -> TaskSize {
    match count {
        _ if count >= large => TaskSize::Large,
        _ if count >= medium => TaskSize::Medium,
        _ => TaskSize::Small,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(fields: &Value, expected: TaskSize, because: &str) {
        let mut task = json!({"id": "t", "title": "T"});
        for (key, value) in fields.as_object().unwrap() {
            task[key] = value.clone();
        }
        let sized = size(&serde_json::from_value(task).unwrap());
        assert_eq!((sized.size, sized.because.as_str()), (expected, because), "{fields}");
    }

    #[test]
    fn parts_words_and_files_speak_for_a_size_and_the_largest_counts() {
        use TaskSize::{Large, Medium, Small};
        check(&json!({}), Small, "1 part, 1 word, 0 files");
        check(&json!({"title": "Fix the year in src/date.rs"}), Small, "1 part, 5 words, 1 file");
        let list = |n: usize| "- [ ] one\n".repeat(n);
        check(&json!({"description": list(2)}), Small, "2 parts, 9 words, 0 files");
        check(&json!({"description": list(3)}), Medium, "3 parts, 13 words, 0 files");
        check(&json!({"description": list(40)}), Large, "40 parts, 161 words, 0 files");
        let parts: Vec<Value> = (0..8).map(|i| json!({"id": format!("p{i}"), "title": "x"})).collect();
        check(&json!({"subtasks": parts}), Large, "8 parts, 9 words, 0 files");
        let words = |n: usize| "word ".repeat(n - 1);
        check(&json!({"description": words(149)}), Small, "1 part, 149 words, 0 files");
        check(&json!({"acceptanceCriteria": words(150)}), Medium, "1 part, 150 words, 0 files");
        check(&json!({"description": words(600)}), Large, "1 part, 600 words, 0 files");
        check(&json!({"description": "a.rs b.rs c.rs a.rs"}), Medium, "1 part, 5 words, 3 files");
    }

    #[test]
    fn what_the_owner_says_comes_first() {
        let long = "word ".repeat(999);
        check(&json!({"description": long, "size": "S"}), TaskSize::Small, "its `size` says so");
        check(&json!({"size": "large", "labels": ["size:s"]}), TaskSize::Large, "its `size` says so");
        check(&json!({"labels": ["docs", "Size/XL"]}), TaskSize::Large, "its label `Size/XL` says so");
        check(&json!({"labels": ["size:M"], "size": 3}), TaskSize::Medium, "its label `size:M` says so");
        check(&json!({"labels": ["size:huge", "resize:L", "large"]}), TaskSize::Small, "1 part, 1 word, 0 files");
    }
}
