//! `change_exists`: something changed where a change was asked for. `protected_paths`: nothing that may not change.

use super::change_asked::{asks_for_change_first, asks_to_undo, finds_it_done};
use super::facts::View;
use super::finding::{Finding, Todo};
use super::kept_edits::{only_comments, replaced};
use super::paths::in_project;
use super::timeline::{At, Changed, Step, Timeline, complains, happened, is_elsewhere, only_reads, shown, stages};
use crate::domain::ToolKind;
use crate::prompt::{quote_name, quote_names};
use crate::services::TurnEvidence;
use crate::toolchain::is_code;
use crate::verification::commands::{CommandKind, Edits, Run};
use std::path::Path;

const EXISTS: &str = "change_exists";
const PROTECTED: &str = "protected_paths";

pub(super) fn change_exists(view: &View<'_>) -> Finding {
    let Some(why) = &view.facts.required.change else {
        let is_known = !view.task().trim().is_empty();
        return Finding::not_run(
            EXISTS,
            if is_known { "no change is asked for" } else { "what was asked is not known" },
        );
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
            missing("no file differs from what the attempt began with".to_owned())
        } else {
            let names: Vec<&str> = files.iter().take(5).map(String::as_str).collect();
            Finding::passed(EXISTS, format!("{} files differ: {}", files.len(), quote_names(names)))
        };
    }
    let timeline = &view.timeline;
    let undone = undone(&view.timeline);
    let since = undone.as_ref().map(|undo| undo.at);
    let later = |change: &&Changed| since.is_none_or(|at| change.at > at);
    if let Some(change) = timeline.changes.iter().rev().filter(later).find(|c| c.sure && !c.undone) {
        let named = match change.files.as_slice() {
            [] => format!("{} has changed files", change.what),
            [file] => format!("{} was changed", quote_name(file)),
            files => format!("{} were changed", quote_names(files.iter().take(5).map(String::as_str))),
        };
        return Finding::passed(EXISTS, named);
    }
    if timeline.is_empty() {
        return Finding::not_run(EXISTS, "no tool call is recorded");
    }
    if let Some(path) = named_file(view) {
        return Finding::passed(EXISTS, format!("{}, which the task names, was written", quote_name(&path)));
    }
    let taken_back = timeline.changes.iter().rev().find(|change| change.undone && change.sure);
    let by_file =
        || Some(Undone { at: taken_back?.at, what: taken_back?.what.clone(), wholly: nothing_else(timeline) });
    if let Some(undo) = undone.or_else(by_file) {
        let task = view.task();
        let wanted = view.facts.turn.expects.is_none() && asks_for_change_first(&task) && !asks_to_undo(&task);
        return if undo.wholly && wanted {
            missing(format!("the changes were undone by {}", undo.what))
        } else {
            Finding::not_run(EXISTS, format!("whether {} left any change is not known", undo.what))
        };
    }
    if let Some(what) = may_have_changed(view) {
        return Finding::not_run(EXISTS, format!("whether {what} changed anything is not known"));
    }
    if view.facts.turn.expects.is_none() && !asks_for_change_first(&view.task()) {
        return Finding::not_run(EXISTS, "nothing was changed, and the task does not say that something must be");
    }
    if let Some(path) = outside(view) {
        return Finding::not_run(EXISTS, format!("{} was changed, which is no file of the project", quote_name(path)));
    }
    if finds_it_done(&view.facts.turn.trace.response) {
        return Finding::not_run(EXISTS, "nothing was changed; the answer says that it was there already");
    }
    missing(format!("none of the {} recorded tool calls changes a file", timeline.steps.len()))
}

/// What took all changes back: `git checkout -- .`, `git restore .`, `git reset --hard`, `git stash` without `pop`.
struct Undone {
    at: At,
    what: String,
    /// Only edits of files that were there before are known to precede it, and nothing was committed.
    wholly: bool,
}

fn undone(timeline: &Timeline<'_>) -> Option<Undone> {
    let mut undone: Option<Undone> = None;
    let mut wholly = true;
    let mut staged = false;
    for step in &timeline.steps {
        let new_file = !step.action.edits.is_empty() && replaced(step.action).is_none();
        wholly &= !new_file && !step.dark && !matches!(step.action.kind, ToolKind::Agent | ToolKind::Other);
        let well = step.action.outcome.as_ref().is_none_or(|o| o.exit_code.is_none_or(|code| code == 0));
        for (i, run) in step.runs.iter().enumerate().filter(|_| well) {
            let words: Vec<&str> = run.words.iter().map(String::as_str).collect();
            let ["git", rest @ ..] = words.as_slice() else {
                wholly &= !run.writes;
                continue;
            };
            staged |= stages(run);
            match rest {
                ["stash", "pop" | "apply" | "branch", ..] => undone = None,
                ["commit" | "merge" | "pull" | "cherry-pick" | "am" | "apply" | "rebase" | "mv" | "rm", ..] => {
                    wholly = false;
                }
                ["checkout" | "restore", args @ ..]
                    if args.contains(&".") && !args.contains(&"--staged") || matches!(args, ["-f" | "--force"]) =>
                {
                    // What was staged stays: the files come back from the index.
                    let wholly = wholly && !staged;
                    undone = Some(Undone { at: At(step.action.number, i), what: shown(&run.words.join(" ")), wholly });
                }
                ["reset", "--hard"]
                | ["reset", "--hard", "HEAD"]
                | ["stash"]
                | ["stash", "push" | "save" | "-u" | "--include-untracked" | "-a", ..] => {
                    let whole =
                        !rest.iter().any(|word| matches!(*word, "--" | "-p" | "--patch" | "-k" | "--keep-index"));
                    if whole {
                        undone =
                            Some(Undone { at: At(step.action.number, i), what: shown(&run.words.join(" ")), wholly });
                    }
                }
                _ => {}
            }
        }
    }
    undone
}

/// Everything that may have changed files was taken back.
fn nothing_else(timeline: &Timeline<'_>) -> bool {
    timeline.changes.iter().all(|change| change.undone)
        && !timeline.steps.iter().any(|step| step.dark || matches!(step.action.kind, ToolKind::Agent | ToolKind::Other))
}

/// Changes there were, and all are known to be taken back: no test can tell.
fn is_as_before(timeline: &Timeline<'_>) -> bool {
    let by_file = !timeline.changes.is_empty() && nothing_else(timeline);
    let at_once = undone(timeline).is_some_and(|undo| undo.wholly && timeline.changes.iter().all(|c| c.at <= undo.at));
    by_file || at_once || edits_cancel_out(timeline)
}

/// Every change is an edit that a later edit of the same file turns round: a print that was added and removed again.
fn edits_cancel_out(timeline: &Timeline<'_>) -> bool {
    let mut open: Vec<(&str, String, String)> = Vec::new();
    for step in &timeline.steps {
        if step.dark || matches!(step.action.kind, ToolKind::Agent | ToolKind::Other) {
            return false;
        }
        if !timeline.changes.iter().any(|change| change.at.0 == step.action.number) {
            continue;
        }
        let [path] = step.action.edits.as_slice() else { return false };
        let Some((old, new)) = replaced(step.action) else { return false };
        match open.iter().rposition(|(file, from, to)| *file == path.as_str() && *from == new && *to == old) {
            Some(at) => drop(open.remove(at)),
            None => open.push((path, old, new)),
        }
    }
    !timeline.changes.is_empty() && open.is_empty()
}

/// A file somewhere else that was edited, and lasts.
fn outside<'v>(view: &'v View<'_>) -> Option<&'v str> {
    const PASSING: [&str; 3] = ["/tmp/", "/var/tmp/", "/dev/"];
    let steps = view.timeline.steps.iter().filter(|step| happened(step.action) && !complains(step.action));
    let edits = steps.flat_map(|step| step.action.edits.iter().chain(step.runs.iter().flat_map(|run| &run.files)));
    let mut elsewhere = edits.filter(|path| !in_project(path, view.timeline.dir()));
    elsewhere.find(|path| !PASSING.iter().any(|place| path.starts_with(place))).map(String::as_str)
}

/// A file that was written at the very path which the task names, wherever it lies.
fn named_file(view: &View<'_>) -> Option<String> {
    let task = view.task();
    let mut paths = task
        .split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | ','))
        .map(|word| word.trim_end_matches(['.', ':', ';', '!', '?']))
        .filter(|word| {
            word.len() > 2 && (word.starts_with(['/', '~', '$']) || word.starts_with("../")) && !word.ends_with('/')
        });
    paths.find(|path| view.timeline.steps.iter().any(|step| writes_at(step, path))).map(str::to_owned)
}

fn writes_at(step: &Step<'_>, path: &str) -> bool {
    let below_home = path.strip_prefix("~/").or_else(|| path.strip_prefix("$HOME/"));
    let is = |file: &str| {
        file == path || below_home.is_some_and(|tail| file.strip_suffix(tail).is_some_and(|head| head.ends_with('/')))
    };
    if step.action.edits.iter().any(|file| is(file)) {
        return happened(step.action) && !complains(step.action);
    }
    let ended_well = step.action.outcome.as_ref().is_some_and(|o| o.exit_code == Some(0));
    let line = step.action.command.as_deref().unwrap_or_default();
    let mut words = line.split_whitespace().peekable();
    let mut into = false;
    let redirected = words.any(|word| {
        let target = word.trim_start_matches('>').trim_matches(['"', '\'', ';']);
        let hit = (into || word.starts_with('>')) && is(target);
        into = matches!(word, ">" | ">>" | "tee" | "-a" | "touch" | "-i");
        hit
    });
    ended_well
        && (redirected || step.runs.iter().any(|run| run.edits == Edits::Yes && run.files.iter().any(|file| is(file))))
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
                if let Some(run) = step.runs.iter().find(|run| changes_git(run)) {
                    return Some(format!("`{}`", run.words.join(" ")));
                }
                let idle = |kind: &CommandKind| !matches!(kind, CommandKind::Other | CommandKind::Format);
                let run = step.runs.iter().find(|run| !only_reads(run) && !idle(&run.kind))?;
                Some(format!("`{}`", run.words.join(" ")))
            }
            _ => None,
        }
    })
}

/// Whether a command changes what git keeps beside files: branches that go or get another name, tags, settings.
fn changes_git(run: &Run) -> bool {
    let words: Vec<&str> = run.words.iter().map(String::as_str).collect();
    let ["git", command, args @ ..] = words.as_slice() else { return false };
    let has = |flags: &[&str]| args.iter().any(|arg| flags.contains(arg));
    match *command {
        "branch" => has(&["-d", "-D", "-m", "-M", "--delete", "--move", "-u", "--set-upstream-to"]),
        "tag" => args.iter().any(|arg| !arg.starts_with('-')) && !has(&["-l", "--list", "-n"]),
        "push" => has(&["--delete", "-d", "--tags"]) || args.iter().any(|arg| arg.starts_with(':')),
        "config" | "worktree" | "remote" | "notes" => {
            args.len() > 1 && !has(&["--get", "-l", "--list", "get-url", "-v"])
        }
        _ => false,
    }
}

/// Whether a turn changed code of the project, as far as was recorded. What is only removed is gone, not changed.
pub(in crate::verification) fn changes_code(turn: &TurnEvidence) -> bool {
    if let Some(observed) = &turn.observed {
        return observed.change.files.iter().any(|path| is_code(path));
    }
    let timeline = Timeline::new(turn);
    if is_as_before(&timeline) {
        return false;
    }
    let dir = timeline.dir();
    timeline.steps.iter().any(|step| {
        let removes = |run: &Run| match run.words.first().map(String::as_str) {
            Some("git") => run.words.get(1).is_some_and(|word| matches!(word.as_str(), "rm" | "checkout" | "restore")),
            Some(program) => matches!(program, "rm" | "unlink" | "trash" | "shred"),
            None => false,
        };
        let here =
            step.runs.iter().zip(&step.places).filter(|(_, place)| !is_elsewhere(place, dir)).map(|(run, _)| run);
        let written = here.filter(|run| run.edits == Edits::Yes && !removes(run)).flat_map(|run| &run.files);
        let told = happened(step.action) && !complains(step.action) && !only_comments(step.action);
        let edited = step.action.edits.iter().filter(|_| told);
        edited.chain(written).any(|path| is_code(path) && !is_aside(path, dir) && in_project(path, dir))
    })
}

/// Code beside the program, which its tests hardly reach: settings of tools, scripts, examples.
fn is_aside(path: &str, dir: Option<&Path>) -> bool {
    const PLACES: [&str; 11] =
        ["scripts", "script", "tools", "hack", "examples", "example", "bench", "benches", "benchmarks", "docs", "fuzz"];
    let inner = dir.and_then(|dir| Path::new(path).strip_prefix(dir).ok()?.to_str()).unwrap_or(path);
    let (places, name) = inner.trim_start_matches("./").rsplit_once('/').unwrap_or(("", inner));
    let settings = name.contains(".config.") || name.starts_with('.') || matches!(name, "gulpfile.js" | "noxfile.py");
    settings || places.split('/').next().is_some_and(|place| PLACES.contains(&place))
}

pub(super) fn protected_paths(view: &View<'_>) -> Finding {
    match &view.facts.turn.observed {
        None => Finding::not_run(PROTECTED, "the change was not recorded by the runtime"),
        Some(observed) if observed.protected.is_empty() => Finding::passed(PROTECTED, "no protected file was changed"),
        Some(observed) => {
            let files = quote_names(&observed.protected);
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
    use super::super::fixture::{Turn, coding, turn};
    use super::*;

    #[test]
    fn a_change_is_there_where_one_was_asked_for() {
        coding().edit("a.rs").passes(EXISTS, "a.rs");
        coding().ran("sed -i s/a/b/ a.rs", 0, "").passes(EXISTS, "`a.rs` was changed");
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
    fn tasks_that_leave_it_open_require_no_change() {
        for task in [
            "Check the parser for leaks and fix it if so",
            "Update the lock file only if needed",
            "Make sure that the parser handles empty input",
            "How would you refactor the parser?",
            "Add a cache? Just propose a design.",
            "Implement nothing yet: don't implement, tell me how you would add a cache",
            "Review my change to add the cache",
            "If the parser is broken, fix it",
        ] {
            let mut open = coding().ran("cargo test", 0, "").answer("It is fine.");
            open.turn.task = task.to_owned();
            let found = open.findings().into_iter().find(|f| f.report.gate == EXISTS).unwrap();
            assert!(!found.is_failed(), "{task}");
        }
        for task in [
            "Fix the bug in the date parser and make sure the tests pass.",
            "Can you add a cache?",
            "Please rename the module",
        ] {
            let mut asked = coding().ran("cargo test", 0, "").answer("I have already fixed it.");
            asked.turn.task = task.to_owned();
            asked.fails(EXISTS, "none of the");
            asked.answer("The parser already handles it; no changes are needed.").is_silent(EXISTS, "already");
        }
    }

    #[test]
    fn a_file_at_the_path_that_the_task_names_is_the_change() {
        let asked = |task: &str| {
            let mut turn = coding();
            turn.turn.task = task.to_owned();
            turn.turn.dir = Some("/project".into());
            turn
        };
        asked("Add an alias to ~/.bashrc").edit("/home/me/.bashrc").passes(EXISTS, "~/.bashrc");
        asked("Write the report to /tmp/report.json")
            .ran("echo {} > /tmp/report.json", 0, "")
            .passes(EXISTS, "/tmp/report.json");
        asked("Write the report to /tmp/report.json").edit("/tmp/other.json").fails(EXISTS, "none of the");
    }

    #[test]
    fn what_was_undone_is_no_change() {
        let old = r#"{"old_string":"a","new_string":"b"}"#;
        let edited = || coding().call(ToolKind::Edit, "edit", &["a.rs"], old);
        for undo in ["git checkout -- .", "git restore .", "git stash", "git reset --hard"] {
            edited().ran(undo, 0, "").fails(EXISTS, "undone");
            edited().ran(undo, 0, "").edit("b.rs").passes(EXISTS, "b.rs");
            edited().ran("git commit -am x", 0, "").ran(undo, 0, "").is_silent(EXISTS, "not known");
        }
        edited().ran("git stash", 0, "").ran("git stash pop", 0, "").passes(EXISTS, "");
        edited().ran("git restore src/b.rs", 0, "").passes(EXISTS, "");
    }

    #[test]
    fn an_edit_whose_output_is_an_error_is_not_known_to_have_happened() {
        for output in [
            "Error: old_string not found in a.rs",
            "No such file or directory: a.rs",
            "String to replace not found in file.",
        ] {
            let mut edited = coding().edit("a.rs");
            edited.last().outcome = Some(crate::domain::Outcome {
                status: crate::domain::ToolStatus::Ok,
                exit_code: None,
                output: output.to_owned(),
            });
            edited.is_silent(EXISTS, "not known");
        }
    }

    #[test]
    fn protected_files_stay_as_they_are() {
        turn("x").is_silent(PROTECTED, "not recorded");
        let mut touched = coding().observed(&["tests/a.rs"], "");
        touched.passes(PROTECTED, "no protected file");
        touched.turn.observed.as_mut().unwrap().protected = vec!["tests/a.rs".to_owned()];
        touched.fails(PROTECTED, "tests/a.rs");
    }

    #[test]
    fn a_file_that_was_taken_back_is_not_changed() {
        let fix = || turn("Fix the crash in parse.go").edit("parse.go");
        let required = |mut turn: Turn| {
            turn.required.change = Some("x".to_owned());
            turn
        };
        required(fix().ran("git checkout -- parse.go", 0, "")).fails(EXISTS, "undone by");
        required(fix().ran("git restore parse.go", 0, "")).fails(EXISTS, "undone by");
        required(fix().ran("git restore parse.go", 0, "").edit("parse.go")).passes(EXISTS, "parse.go");
        for add in ["git add parse.go", "git stage .", "git add -A"] {
            let staged = || required(fix().ran(add, 0, ""));
            staged().ran("git checkout -- parse.go", 0, "").passes(EXISTS, "parse.go");
            staged().ran("git checkout HEAD -- parse.go", 0, "").fails(EXISTS, "undone by");
            staged().ran("git checkout -- .", 0, "").is_silent(EXISTS, "is not known");
        }
        required(fix().ran("git add other.go", 0, "").ran("git restore parse.go", 0, "")).fails(EXISTS, "undone by");
        required(fix().ran("git commit -am x", 0, "").ran("git checkout parse.go", 0, "")).passes(EXISTS, "parse.go");
        required(fix().ran("sed -i s/a/b/ parse.go; go test; git checkout parse.go", 0, "")).passes(EXISTS, "parse.go");
        required(fix().ran("git checkout main -- parse.go", 0, "")).passes(EXISTS, "");
        let mut tried = required(fix().ran("git checkout parse.go", 0, ""));
        tried.turn.task = "Change the limit to see whether it helps, then undo it".to_owned();
        tried.is_silent(EXISTS, "is not known");
    }

    #[test]
    fn what_git_keeps_beside_files_may_be_the_change() {
        for line in ["git branch -D old", "git push origin --delete old", "git tag v1"] {
            let mut made = turn("Delete it").ran(line, 0, "");
            made.required.change = Some("x".to_owned());
            made.is_silent(EXISTS, "changed anything is not known");
        }
    }

    #[test]
    fn what_is_taken_back_is_no_change_of_code() {
        let replaces = |session: super::super::fixture::Turn, old: &str, new: &str| {
            let input = serde_json::json!({ "filePath": "a.py", "oldString": old, "newString": new }).to_string();
            session.call(ToolKind::Edit, "edit", &["a.py"], &input)
        };
        let check = |session: &super::super::fixture::Turn, expected: bool| {
            assert_eq!(changes_code(&session.turn), expected);
        };
        let printed = || replaces(super::super::fixture::turn("Profile the import"), "x", "print(1)\nx");
        check(&printed(), true);
        check(&replaces(printed(), "print(1)\nx", "x"), false);
        check(&replaces(printed(), "x", "y"), true);
        check(&printed().ran("git checkout .", 0, ""), false);
        check(&printed().ran("git commit -am x", 0, "").ran("git checkout .", 0, ""), true);
        check(&replaces(printed().ran("git checkout .", 0, ""), "x", "y"), true);
    }
}
