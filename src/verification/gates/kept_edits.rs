//! The edits and removals among the recorded tool calls, for turns whose change the runtime did not record.

use super::facts::View;
use super::kept_tests::is_test_file;
use crate::domain::Action;
use crate::domain::ToolStatus;
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

/// The text before and after, of the edit tools that say both.
fn replaced(action: &Action) -> Option<(String, String)> {
    const KEYS: [(&str, &str); 4] =
        [("old_string", "new_string"), ("oldString", "newString"), ("oldText", "newText"), ("old_str", "new_str")];
    let input: serde_json::Value = serde_json::from_str(&action.input).ok()?;
    let text = |key: &str| input.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    KEYS.iter().find_map(|(old, new)| Some((text(old)?, text(new)?)))
}

/// Test files that a recorded command deleted, and that the agent had not made itself.
pub(super) fn removed_files(view: &View<'_>) -> Vec<String> {
    let mut own: BTreeSet<&str> = BTreeSet::new();
    let mut removed = Vec::new();
    for step in &view.timeline.steps {
        own.extend(step.action.edits.iter().filter(|_| replaced(step.action).is_none()).map(String::as_str));
        if step.action.outcome.as_ref().is_some_and(|o| o.exit_code.is_some_and(|code| code != 0)) {
            continue;
        }
        for run in &step.runs {
            let words: Vec<&str> = run.words.iter().map(String::as_str).collect();
            let paths = match words.as_slice() {
                ["rm", paths @ ..] | ["git", "rm", paths @ ..] if !paths.contains(&"--cached") => paths,
                _ => continue,
            };
            let lost = paths.iter().filter(|path| is_test_file(path) && !own.iter().any(|o| o.ends_with(**path)));
            removed.extend(lost.map(|path| (*path).to_owned()));
        }
    }
    removed
}
