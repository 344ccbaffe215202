//! What to do differently, per class of failure.

use super::class::Class;
use super::words::{Facts, first};
use crate::domain::{Category, FailureType};
use crate::prompt::one_line;

/// What to do differently, and the first steps.
pub(super) struct Advice {
    /// What kind of lesson it is.
    pub category: Category,
    /// One or two sentences: what to do first.
    pub suggestion: String,
    /// Steps, the most specific first; the last says how to know that it worked.
    pub items: Vec<String>,
}

/// Advice for a failure; everything in it is taken from the failure's own evidence, and no command is named that was not seen to run.
pub(super) fn advice(facts: &Facts<'_>) -> Advice {
    let at = facts.place().map_or(String::new(), |place| format!(" at {place}"));
    let (suggestion, mut items) = match facts.class {
        Class::Refuted => refuted(facts),
        Class::EmptyChange
        | Class::OnlyInWorkspace
        | Class::MergeConflict
        | Class::AgentLimit
        | Class::Permission
        | Class::AgentFailed => of_the_agent(facts, &at),
        Class::CheckTimeout | Class::OutOfMemory => limit(facts, &at),
        Class::MissingProgram | Class::MissingModule => missing(facts, &at),
        Class::Syntax | Class::Compile | Class::Finding => compile(facts, &at),
        Class::Assertion => assertion(facts),
        Class::EdgeCase | Class::Crash => crash(facts, &at),
        Class::NoTests | Class::Said | Class::Silent => unknown(facts),
    };
    items.extend(worked(facts));
    items.retain(|item| !item.is_empty());
    items.truncate(4);
    Advice { category: category(facts), suggestion, items }
}

/// How to know that it worked, where a check shows that. The prompt says which checks decide; this says what of them to look at.
pub(super) fn worked(facts: &Facts<'_>) -> Option<String> {
    let failure = facts.failure;
    failure.check.as_ref()?;
    let tests = &failure.signature.tests;
    let beside = if failure.known_failures.iter().all(|known| tests.contains(known)) {
        ""
    } else {
        "; of the tests that failed before any attempt, only what the task is about must pass, too"
    };
    let when = match (facts.class, tests.len()) {
        (Class::CheckTimeout, _) => "the check ends by itself".to_owned(),
        (Class::Compile | Class::Syntax, _) => match facts.place() {
            Some(place) => format!("nothing is said of {place} any more, and the tests run"),
            None => "the code compiles, and the tests run".to_owned(),
        },
        (Class::Finding, _) => match facts.place() {
            Some(place) => format!("nothing is reported at {place} any more, and nothing new elsewhere"),
            None => "nothing is reported any more".to_owned(),
        },
        (Class::NoTests, _) => "the runner says how many tests it found".to_owned(),
        (_, 0) => match &facts.detail {
            Some(_) => "this message is gone, and the check ends with status 0".to_owned(),
            None => "the check ends with status 0".to_owned(),
        },
        (_, 1) => format!("{} passes", first(tests)),
        _ => format!("{} pass", first(tests)),
    };
    Some(format!("It worked when {when}{beside}"))
}

/// A rule says what it wants; whoever refuted it otherwise has said what is to be done.
fn refuted(facts: &Facts<'_>) -> (String, Vec<String>) {
    // Checks have run with what a rule is against in the files; only what is outside of them says nothing of the rest.
    let rest = if facts.failure.ran.is_empty() { "" } else { " No check had anything against the files." };
    let by = facts.failure.refuted_by.as_ref();
    let place =
        by.and_then(|by| by.place.as_deref()).map(|place| place.rsplit_once(':').map_or(place, |(file, _)| file));
    match (by.map(|by| by.rule.as_str()), place) {
        (Some("protected_paths"), Some(file)) => (
            format!("Leave {file} as it is, and do the task by other files."),
            vec!["It worked when no protected file is among those that were changed".to_owned()],
        ),
        (Some("test_count" | "tests_kept"), place) => {
            let file = place.map_or_else(|| "the tests".to_owned(), |file| format!("the tests in {file}"));
            let todo = format!("Keep {file} as they were, and change the code that they test.");
            (todo, vec!["It worked when as many tests run as before, and pass".to_owned()])
        }
        (Some("outside"), _) => (
            format!(
                "Change files of the workspace and nothing else; commits, branches, tags, hooks and settings are left as they are.{rest}"
            ),
            vec!["It worked when nothing but files of the workspace is other than before".to_owned()],
        ),
        _ => said_by_others(facts),
    }
}

fn said_by_others(facts: &Facts<'_>) -> (String, Vec<String>) {
    let todo: Vec<String> = facts.failure.todo.iter().map(|todo| one_line(todo)).collect();
    match todo.split_first() {
        Some((first, rest)) => (format!("{}.", first.trim_end_matches('.')), rest.to_vec()),
        None => ("Take back what refutes the attempt, and do the task without it.".to_owned(), Vec::new()),
    }
}

fn limit(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    if facts.class == Class::OutOfMemory {
        return (
            "Find what grows without a limit and bound it, or work on the data in parts; a larger limit hides the fault."
                .to_owned(),
            vec![format!("Look for a collection that only grows{at}")],
        );
    }
    (
        "For every loop and wait that was changed, say what makes it end, and whether each round comes nearer to that."
            .to_owned(),
        vec!["Give whatever is started by hand a short time limit".to_owned()],
    )
}

fn missing(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    if facts.class == Class::MissingProgram {
        return (
            "Use what the project has; see how its other checks are started.".to_owned(),
            vec!["If a script was added or renamed, give it its name and its execute permission".to_owned()],
        );
    }
    (
        format!("Look up the real name or path of what is used{at} before anything else, or create and export it."),
        vec!["See what is declared as a dependency; do not invent packages".to_owned()],
    )
}

/// Where the place was not touched, something that it relies on was.
fn compile(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    // Rules of style look at each file by itself.
    let is_by_itself = facts.class == Class::Finding && facts.failure.signature.tool != "mypy";
    let suggestion = match facts.is_elsewhere().filter(|_| !is_by_itself) {
        Some(file) => format!(
            "What was changed is used in {file}: change that along with it, or keep what it relies on (names, types, arguments)."
        ),
        None if facts.class == Class::Finding => {
            format!("Change the code{at} so that the rule holds; the rule stays on, and nothing is exempt from it.")
        }
        None => format!(
            "Fix this error{at} before looking at any other: those behind the first one often follow from it, and none of the tests has run."
        ),
    };
    (suggestion, Vec::new())
}

fn assertion(facts: &Facts<'_>) -> (String, Vec<String>) {
    let test = facts.failure.signature.tests.first();
    let what =
        test.map_or_else(|| "what the check compares".to_owned(), |test| format!("the values of `{}`", one_line(test)));
    (
        format!(
            "Follow {what} through the code to the first one that is not what is expected, and change the code there, not the test."
        ),
        seen(facts),
    )
}

fn crash(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    let suggestion = if facts.class == Class::EdgeCase {
        format!(
            "Handle the value that breaks the code{at} (empty, missing, zero or out of range): decide from the task what the result must be there; do not only silence the error."
        )
    } else {
        format!(
            "Find out why the program breaks{at} before changing anything else, and fix the cause rather than catching the error."
        )
    };
    (suggestion, seen(facts))
}

fn seen(facts: &Facts<'_>) -> Vec<String> {
    facts.seen_to_run().map(|command| format!("`{}` runs it alone", one_line(command))).into_iter().collect()
}

fn unknown(facts: &Facts<'_>) -> (String, Vec<String>) {
    let (suggestion, items): (&str, &[&str]) = match facts.class {
        _ if facts.failure.check.is_none() => {
            ("No check shows the failure: find one that does before changing anything else.", &[])
        }
        Class::NoTests => (
            "Put tests where the runner looks for them, and keep their names.",
            &["Name test files and functions as the runner expects them (`test_*.py`, `def test_…`)"],
        ),
        Class::Silent => (
            "Read the check itself to learn what it demands, then the task again.",
            &["Run its steps one by one and see which of them fails"],
        ),
        _ => ("Read what the check compares, and make exactly what it printed true.", &[]),
    };
    (suggestion.to_owned(), items.iter().map(|item| (*item).to_owned()).collect())
}

pub(super) fn category(facts: &Facts<'_>) -> Category {
    let claimed = facts.failure.failure_type == FailureType::FalseDone || facts.failure.ending.claims_done();
    match facts.class {
        Class::Refuted | Class::AgentLimit | Class::CheckTimeout | Class::OutOfMemory | Class::MergeConflict => {
            Category::ApproachFlaw
        }
        Class::Permission | Class::AgentFailed | Class::MissingProgram | Class::NoTests => Category::ToolMisuse,
        Class::MissingModule | Class::OnlyInWorkspace => Category::MissingContext,
        Class::EdgeCase => Category::TestGap,
        // A single run of the check would have shown it.
        Class::Syntax | Class::Compile | Class::Finding | Class::Silent | Class::EmptyChange if claimed => {
            Category::Verification
        }
        Class::EmptyChange => Category::ApproachFlaw,
        Class::Syntax
        | Class::Compile
        | Class::Finding
        | Class::Assertion
        | Class::Crash
        | Class::Said
        | Class::Silent => Category::RootCause,
    }
}

fn of_the_agent(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    let red = facts.failure.check.is_some();
    let (suggestion, items): (&str, &[&str]) = match facts.class {
        Class::EmptyChange if !facts.failure.files_left.is_empty() => (
            "What an earlier attempt left is not enough: take back of it what the task does not ask for, and write the rest of the change to \
             disk.",
            &["Before stopping, see that files differ from those that were there at the start"],
        ),
        Class::EmptyChange if red => {
            let suggestion = format!(
                "The check is red without a change. Begin with an edit of the code behind what fails{at}, and write it to disk; if that cannot be done, say what is in the way."
            );
            return (suggestion, Vec::new());
        }
        Class::EmptyChange => (
            "Write a change to disk. If the task seems to be done already, prove it by its criteria and say so.",
            &["Find the file that the task is about and edit it"],
        ),
        Class::OnlyInWorkspace => (
            "Put what the check needs into tracked files: what .gitignore leaves out, or was installed or built by hand, is not part of the \
             change.",
            &[
                "Move the helper or fixture out of the ignored directory, or change .gitignore",
                "Change dependencies in the manifest and the lockfile, not in the installed copy",
            ],
        ),
        Class::MergeConflict => (
            "What was merged since is in the files now: make the same change on top of it.",
            &[
                "Read the files that are in conflict as they are now, and keep what was merged in them",
                "Change no lines that the task does not need",
            ],
        ),
        Class::AgentLimit => (
            "Do less at a time: take the smallest change that the check can see, make it first, and leave exploring and long commands for \
             later.",
            &["Give every long-running command a time limit, and start no servers or watchers in the foreground"],
        ),
        Class::Permission => (
            "Reach the goal without what was refused: work inside the workspace, with the tools that are allowed.",
            &["Use another allowed tool for the refused step"],
        ),
        _ => (
            "The agent itself failed, so this says little about the task: take smaller steps and write results to disk early.",
            &["Begin with the smallest useful edit"],
        ),
    };
    (suggestion.to_owned(), items.iter().map(|item| (*item).to_owned()).collect())
}
