//! `change_exists`: something changed where a change was asked for. `protected_paths`: nothing that may not change.

use super::facts::View;
use super::finding::Finding;
use super::finding::Todo;
use super::kept_tests::is_code;
use super::timeline::Timeline;
use super::timeline::happened;
use super::timeline::in_project;
use super::timeline::only_reads;
use crate::domain::ToolKind;
use crate::services::TurnEvidence;
use crate::verification::commands::CommandKind;
use crate::verification::commands::Edits;
use crate::verification::commands::Run;

const EXISTS: &str = "change_exists";
const PROTECTED: &str = "protected_paths";

pub(super) fn change_exists(view: &View<'_>) -> Finding {
    let Some(why) = &view.facts.required.change else {
        return Finding::not_run(EXISTS, "no change is asked for");
    };
    let missing = |evidence: String| {
        let action = "Make the change that the task asks for; describing it is not enough.";
        Finding::failed(
            EXISTS,
            format!("{evidence}; a change is required: {why}"),
            Todo::high("The change itself", action),
        )
    };
    if let Some(observed) = &view.facts.turn.observed {
        let files = &observed.change.files;
        return if observed.change.no_op || files.is_empty() {
            missing("no file differs from the start".to_owned())
        } else {
            let names: Vec<&str> = files.iter().take(5).map(String::as_str).collect();
            Finding::passed(EXISTS, format!("{} files differ: {}", files.len(), names.join(", ")))
        };
    }
    let timeline = &view.timeline;
    if let Some(change) = timeline.changes.iter().rev().find(|c| c.sure) {
        return Finding::passed(EXISTS, format!("{} was changed", change.what));
    }
    if timeline.is_empty() {
        return Finding::not_run(EXISTS, "no tool call is recorded");
    }
    if let Some(what) = may_have_changed(view) {
        return Finding::not_run(EXISTS, format!("whether {what} changed anything is not known"));
    }
    if view.facts.turn.expects.is_none() && !asks_for_change_first(&view.task()) {
        return Finding::not_run(EXISTS, "nothing was changed, and the task does not say that something must be");
    }
    missing(format!("none of the {} recorded tool calls changes a file", timeline.steps.len()))
}

/// Whether the first thing that a task asks for changes files: "Run the tests and fix any failures" is done without a
/// change where nothing fails, "Fix the failing test" is not.
fn asks_for_change_first(task: &str) -> bool {
    const CHANGE: [&str; 30] = [
        "fix",
        "add",
        "implement",
        "create",
        "write",
        "refactor",
        "rename",
        "migrate",
        "update",
        "remove",
        "delete",
        "replace",
        "change",
        "rewrite",
        "port",
        "convert",
        "extend",
        "introduce",
        "extract",
        "optimize",
        "optimise",
        "improve",
        "upgrade",
        "document",
        "simplify",
        "return",
        "support",
        "reject",
        "make",
        "correct",
    ];
    const OTHER: [&str; 34] = [
        "run",
        "execute",
        "verify",
        "check",
        "ensure",
        "confirm",
        "review",
        "show",
        "list",
        "explain",
        "find",
        "investigate",
        "analyze",
        "analyse",
        "compare",
        "research",
        "read",
        "look",
        "test",
        "deploy",
        "publish",
        "release",
        "push",
        "merge",
        "send",
        "reply",
        "fetch",
        "connect",
        "complete",
        "finish",
        "configure",
        "install",
        "open",
        "download",
    ];
    let task = task.to_ascii_lowercase();
    let mut words = task.split(|c: char| !c.is_ascii_alphabetic());
    words.find(|word| CHANGE.contains(word) || OTHER.contains(word)).is_some_and(|word| CHANGE.contains(&word))
}

/// A recorded call that is more than reading.
fn may_have_changed(view: &View<'_>) -> Option<String> {
    if let Some(change) = view.timeline.changes.last() {
        return Some(change.what.clone());
    }
    view.timeline.steps.iter().find_map(|step| {
        let tool = format!("the tool `{}`", step.action.tool);
        match step.action.kind {
            ToolKind::Other | ToolKind::Agent => Some(tool),
            ToolKind::Execute if step.dark => Some(tool),
            ToolKind::Execute => {
                let idle = |kind: &CommandKind| !matches!(kind, CommandKind::Other | CommandKind::Format);
                let run = step.runs.iter().find(|run| !only_reads(run) && !idle(&run.kind))?;
                Some(format!("`{}`", run.words.join(" ")))
            }
            _ => None,
        }
    })
}

/// Whether a turn changed code of the project, as far as was recorded. What is only removed is gone, not changed.
pub(in crate::verification) fn changes_code(turn: &TurnEvidence) -> bool {
    if let Some(observed) = &turn.observed {
        return observed.change.files.iter().any(|path| is_code(path));
    }
    let dir = turn.dir.as_deref();
    Timeline::new(turn).steps.iter().any(|step| {
        let removes = |run: &Run| match run.words.first().map(String::as_str) {
            Some("git") => run.words.get(1).is_some_and(|word| matches!(word.as_str(), "rm" | "checkout" | "restore")),
            Some(program) => matches!(program, "rm" | "unlink" | "trash" | "shred"),
            None => false,
        };
        let written =
            step.runs.iter().filter(|run| run.edits == Edits::Yes && !removes(run)).flat_map(|run| &run.files);
        let edited = step.action.edits.iter().filter(|_| happened(step.action));
        edited.chain(written).any(|path| is_code(path) && in_project(path, dir))
    })
}

pub(super) fn protected_paths(view: &View<'_>) -> Finding {
    match &view.facts.turn.observed {
        None => Finding::not_run(PROTECTED, "the change was not recorded by the runtime"),
        Some(observed) if observed.protected.is_empty() => Finding::passed(PROTECTED, "no protected file was changed"),
        Some(observed) => {
            let files = observed.protected.join(", ");
            Finding::failed(
                PROTECTED,
                format!("protected files were changed: {files}"),
                Todo::high(
                    format!("Protected files as they were: {files}"),
                    format!("Undo your changes to {files}; they may not be changed."),
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::coding;
    use super::super::fixture::turn;
    use super::*;

    #[test]
    fn a_change_is_there_where_one_was_asked_for() {
        coding().edit("a.rs").passes(EXISTS, "a.rs");
        coding().ran("sed -i s/a/b/ a.rs", 0, "").passes(EXISTS, "sed -i");
        coding().observed(&["a.rs"], "").passes(EXISTS, "a.rs");
        coding().observed(&[], "").edit("a.rs").fails(EXISTS, "no file differs");
        coding().ran("cargo test", 0, "").ran("cat a.rs | head", 0, "").fails(EXISTS, "none of the 2 recorded");
        let mut open = coding().ran("cargo test", 0, "");
        open.turn.task = "Run the tests and fix any failures".to_owned();
        open.is_silent(EXISTS, "does not say that something must be");
        turn("Why?").ran("cat a.rs", 0, "").is_silent(EXISTS, "no change is asked for");
    }

    #[test]
    fn what_cannot_be_seen_may_have_changed_something() {
        coding().is_silent(EXISTS, "no tool call is recorded");
        coding().ran("python3 migrate.py", 0, "").is_silent(EXISTS, "python3 migrate.py");
        coding().call(ToolKind::Other, "github_push_files", &[], "{}").is_silent(EXISTS, "github_push_files");
        coding().call(ToolKind::Agent, "Task", &[], "{}").is_silent(EXISTS, "Task");
    }

    #[test]
    fn protected_files_stay_as_they_are() {
        turn("x").is_silent(PROTECTED, "not recorded");
        let mut touched = coding().observed(&["tests/a.rs"], "");
        touched.passes(PROTECTED, "no protected file");
        touched.turn.observed.as_mut().unwrap().protected = vec!["tests/a.rs".to_owned()];
        touched.fails(PROTECTED, "tests/a.rs");
    }
}
