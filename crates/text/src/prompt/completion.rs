//! What a language model without tools is told: the attempt's prompt, files of the workspace, and how to answer.

use std::fmt::Write as _;

/// The question for a `completion` agent.
///
/// Files stand in code fences longer than any inside them, word for word: a model has to give them back, so nothing in
/// them is neutralised, unlike in [`fence`](fn@super::fence).
#[derive(Debug, Clone, Copy)]
pub struct CompletionPrompt<'a> {
    /// The attempt's own prompt: task, checks, last failure, reflections.
    pub attempt: &'a str,
    /// Files that the model sees, in the order of their importance.
    pub files: &'a [ShownFile],
    /// Paths of further files that there are.
    pub others: &'a [String],
    /// The one file that is to be changed, where that is clear.
    pub asked: Option<&'a str>,
}

/// A file as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFile {
    /// Its path, relative to the project.
    pub path: String,
    /// Its text, possibly only the beginning.
    pub text: String,
    /// Why it may not be changed, if it may not.
    pub fixed: Option<Fixed>,
}

/// Why a file that is shown may not be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// The project protects it.
    Protected,
    /// Only its beginning is shown, and an answer replaces whole files.
    Cut,
}

impl CompletionPrompt<'_> {
    /// What the model is, in a sentence.
    pub const SYSTEM: &'static str =
        "You are a careful programmer. You cannot run anything; you answer with whole files.";

    /// The prompt as text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = self.attempt.trim_end().to_owned();
        if !self.files.is_empty() {
            text.push_str("\n\n## Files\n");
        }
        for file in self.files {
            let note = match file.fixed {
                None => "",
                Some(Fixed::Protected) => " (must not be changed)",
                Some(Fixed::Cut) => " (only its beginning; do not answer with this file)",
            };
            let ticks = ticks_around(&file.text);
            let _ = write!(text, "\n`{}`{note}:\n{ticks}\n{}\n{ticks}\n", file.path, file.text.trim_end_matches('\n'));
        }
        if !self.others.is_empty() {
            let _ = write!(text, "\n## Other files\n\n{}\n", self.others.join("\n"));
        }
        let example = self.asked.unwrap_or("path/to/file");
        let _ = write!(
            text,
            "\n## Your answer\n\nAnswer with every file that you change or add, whole: from its first line to its last, \
             nothing left out. Each is a line with its path, then a code block with its text, like this:\n\n\
             `{example}`:\n```\nthe whole text of the file\n```\n\n\
             Use a longer fence around a text that has ``` in it. Files that you do not answer with stay as they are. Paths \
             are relative to the project. Write no other code blocks.\n"
        );
        text
    }
}

/// A fence that the text cannot close.
fn ticks_around(text: &str) -> String {
    let longest = text
        .lines()
        .map(str::trim_start)
        .map(|line| line.len() - line.trim_start_matches('`').len())
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Wholeness, read_answer};
    use super::*;

    fn shown(path: &str, text: &str, fixed: Option<Fixed>) -> ShownFile {
        ShownFile { path: path.to_owned(), text: text.to_owned(), fixed }
    }

    #[test]
    fn files_stand_word_for_word_in_fences_that_hold_them() {
        let files = [
            shown("a.py", "# A\nx = 1\n", None),
            shown("doc.md", "````\n```\n", Some(Fixed::Cut)),
            shown("test_a.py", "", Some(Fixed::Protected)),
        ];
        let others = ["b.py".to_owned()];
        let prompt =
            CompletionPrompt { attempt: "# Task: t\n", files: &files, others: &others, asked: Some("a.py") }.render();
        assert!(prompt.starts_with("# Task: t\n\n## Files\n\n`a.py`:\n```\n# A\nx = 1\n```\n"), "{prompt}");
        assert!(prompt.contains("do not answer with this file):\n`````\n````\n```\n`````\n"), "{prompt}");
        assert!(prompt.contains("`test_a.py` (must not be changed):\n```\n\n```\n"), "{prompt}");
        assert!(prompt.contains("\n## Other files\n\nb.py\n"), "{prompt}");
    }

    #[test]
    fn the_example_is_an_answer_that_can_be_read() {
        let prompt = CompletionPrompt { attempt: "t", files: &[], others: &[], asked: Some("src/a.py") }.render();
        let answer = read_answer(prompt.split("## Your answer").nth(1).unwrap(), Wholeness::Whole).unwrap();
        assert_eq!(answer.files[0].path, "src/a.py");
        assert_eq!(answer.files[0].text, "the whole text of the file\n");
    }
}
