//! The edits and removals among the recorded tool calls, for turns whose change the runtime did not record.

use crate::domain::{Action, ToolStatus};
use crate::services::TurnEvidence;
use std::collections::BTreeSet;

/// The edits among the tool calls as a diff, for turns whose change the runtime did not record.
pub(super) fn recorded_edits(turn: &TurnEvidence) -> String {
    let mut diff = String::new();
    let mut written: BTreeSet<&str> = BTreeSet::new();
    for action in &turn.trace.actions {
        let failed =
            action.outcome.as_ref().is_some_and(|o| matches!(o.status, ToolStatus::Failed | ToolStatus::Denied));
        let Some(path) = action.edits.first().filter(|_| !failed) else { continue };
        let several = several(action).map(|edits| vec![(path, edits)]);
        let by_file =
            several.or_else(|| action.edits.iter().map(|path| Some((path, patched(action, path)?))).collect());
        if let Some(by_file) = by_file {
            for (path, edits) in by_file.iter().filter(|(path, _)| !written.contains(path.as_str())) {
                for (old, new) in edits {
                    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
                    diff.push_str(&format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"));
                    diff.push_str(&hunk(&old, &new));
                }
            }
            continue;
        }
        match replaced(action) {
            Some((old, new)) if !written.contains(path.as_str()) => {
                let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
                diff.push_str(&format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"));
                diff.push_str(&hunk(&old, &new));
            }
            Some(_) => {}
            // A file that the agent wrote whole: what it changes there later is its own.
            None => {
                written.insert(path);
            }
        }
    }
    diff
}

/// Both texts as one hunk: what they share at both ends is context.
fn hunk(old: &[&str], new: &[&str]) -> String {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut hunk = format!("@@ -1,{} +1,{} @@\n", old.len(), new.len());
    let mut push = |sign: char, lines: &[&str]| lines.iter().for_each(|line| hunk.push_str(&format!("{sign}{line}\n")));
    push(' ', &old[..head]);
    push('-', &old[head..old.len() - tail]);
    push('+', &new[head..new.len() - tail]);
    push(' ', &old[old.len() - tail..]);
    hunk
}

/// Whether an edit is known to add, change or take away comments and empty lines only: no test can tell.
pub(super) fn only_comments(action: &Action) -> bool {
    let Some(edits) = several(action).or_else(|| Some(vec![replaced(action)?])) else { return false };
    let hashes = !action.edits.is_empty() && action.edits.iter().all(|path| has_hash_comments(path));
    let comment = |line: &&str| {
        let line = line.trim();
        // What tools read; in Go an example's output too.
        let tool = [
            "//go:",
            "//export ",
            "//line ",
            "//extern ",
            "// Output:",
            "// Unordered output:",
            "//nolint",
            "// @",
            "// +",
            "//@",
            "//+",
            "//#",
            "///",
            "//!",
            "# type:",
            "# noqa",
            "# pragma",
            "# -*-",
            "# pylint",
        ];
        let opens = line.starts_with("//")
            || hashes && line.starts_with("# ")
            || line.starts_with("/*") && line.ends_with("*/");
        line.is_empty() || opens && !tool.iter().any(|mark| line.starts_with(mark))
    };
    !edits.is_empty()
        && edits.iter().all(|(old, new)| {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
            let ends = old[head..].iter().rev().zip(new[head..].iter().rev());
            let tail = ends.take_while(|(a, b)| a == b).count();
            let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
            old != new && old.iter().chain(new).all(comment)
        })
}

/// Whether `#` opens a comment in a file of this name: in C `# if 0` is none.
fn has_hash_comments(path: &str) -> bool {
    const ENDINGS: [&str; 18] = [
        "py", "pyi", "sh", "bash", "zsh", "rb", "yaml", "yml", "toml", "pl", "pm", "r", "jl", "ex", "exs", "mk", "tf",
        "cmake",
    ];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ENDINGS.contains(&ending) || matches!(name.as_str(), "makefile" | "dockerfile" | "gemfile" | "rakefile")
}

/// The texts before and after, of tools that make several edits in one call.
fn several(action: &Action) -> Option<Vec<(String, String)>> {
    let input: serde_json::Value = serde_json::from_str(&action.input).ok()?;
    let edits = input.get("edits")?.as_array()?;
    Some(edits.iter().filter_map(texts).collect())
}

/// The texts before and after, of a patch of one file.
fn patched(action: &Action, path: &str) -> Option<Vec<(String, String)>> {
    let input: serde_json::Value = serde_json::from_str(&action.input).unwrap_or_default();
    let texts = || input.as_object().into_iter().flat_map(|map| map.values()).filter_map(serde_json::Value::as_str);
    let patch = texts().chain(input.as_str()).find(|text| text.contains("*** Update File: "))?;
    let mut edits: Vec<(String, String)> = Vec::new();
    let mut here = false;
    for line in patch.lines() {
        if line.starts_with("*** ") {
            here = line.strip_prefix("*** Update File: ").is_some_and(|file| path.ends_with(file.trim()));
            continue;
        }
        if here && (line.starts_with("@@") || edits.is_empty()) {
            edits.push(Default::default());
        }
        let Some((old, new)) = edits.last_mut().filter(|_| here && !line.starts_with("@@")) else { continue };
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        if sign != "+" {
            old.push_str(&format!("{text}\n"));
        }
        if sign != "-" {
            new.push_str(&format!("{text}\n"));
        }
    }
    Some(edits)
}

/// The text before and after, of the edit tools that say both.
pub(super) fn replaced(action: &Action) -> Option<(String, String)> {
    texts(&serde_json::from_str(&action.input).ok()?)
}

fn texts(input: &serde_json::Value) -> Option<(String, String)> {
    const KEYS: [(&str, &str); 4] =
        [("old_string", "new_string"), ("oldString", "newString"), ("oldText", "newText"), ("old_str", "new_str")];
    let text = |key: &str| input.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    KEYS.iter().find_map(|(old, new)| Some((text(old)?, text(new)?)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::coding;
    use super::*;
    use crate::domain::ToolKind;

    #[test]
    fn comments_are_comments_of_the_files_language() {
        let check = |path: &str, new: &str, expected: bool| {
            let input =
                serde_json::json!({ "file_path": path, "old_string": "x\n", "new_string": format!("{new}\nx\n") });
            let made = coding().call(ToolKind::Edit, "Edit", &[path], &input.to_string()).last().clone();
            assert_eq!(only_comments(&made), expected, "{path}: {new}");
        };
        check("a.py", "# why", true);
        check("Makefile", "# why", true);
        check("src/a.rs", "// why", true);
        check("a.go", "// why", true);
        check("a.c", "/* why */", true);
        check("a.c", "# if 0", false);
        check("a.h", "# define N 2", false);
        check("a.md", "# why", false);
        check("a_test.go", "// Output: 3", false);
        check("a_test.go", "// Unordered output: 3", false);
        check("a.go", "//export Add", false);
        check("a.go", "//line a.y:3", false);
        check("a.go", "//go:build linux", false);
        check("a.py", "# type: ignore", false);
    }
}
