//! What to do differently, per class of failure and tool.

use super::class::Class;
use super::words::{Facts, list};
use crate::domain::{Category, FailureType};
use crate::prompt::one_line;

/// What to do differently, and the first steps.
pub(super) struct Advice {
    /// What kind of lesson it is.
    pub category: Category,
    /// One or two sentences.
    pub suggestion: String,
    /// Steps, the most specific first.
    pub items: Vec<String>,
}

/// Advice for a failure; everything in it is taken from the failure's own evidence.
pub(super) fn advice(facts: &Facts<'_>) -> Advice {
    let place = facts.failure.signature.frame.as_deref();
    let at = place.map_or(String::new(), |place| format!(" at {place}"));
    let (suggestion, items) = match facts.class {
        Class::Refuted => refuted(facts),
        Class::EmptyChange
        | Class::OnlyInWorkspace
        | Class::MergeConflict
        | Class::AgentLimit
        | Class::Permission
        | Class::AgentFailed => of_the_agent(facts),
        Class::CheckTimeout | Class::OutOfMemory => limit(facts, &at),
        Class::MissingProgram | Class::MissingModule => missing(facts, &at),
        Class::Syntax => syntax(facts, &at),
        Class::Compile => compile(facts, &at),
        Class::Assertion => assertion(facts, &at),
        Class::EdgeCase | Class::Crash => crash(facts, &at),
        Class::NoTests | Class::Said | Class::Silent => unknown(facts),
    };
    finished(facts, suggestion, items)
}

/// Whoever refuted it has said what is to be done.
fn refuted(facts: &Facts<'_>) -> (String, Vec<String>) {
    let todo: Vec<String> = facts.failure.todo.iter().map(|todo| one_line(todo)).collect();
    match todo.split_first() {
        Some((first, rest)) => (format!("{}.", first.trim_end_matches('.')), rest.to_vec()),
        None => ("Take back what refutes the attempt, and do the task without it.".to_owned(), Vec::new()),
    }
}

fn limit(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    if facts.class == Class::OutOfMemory {
        return (
            "Find what grows without a limit and bound it, or work on the data in parts; a larger \
             limit hides the fault."
                .to_owned(),
            vec![
                format!("Look for a collection that only grows{at}"),
                "Process the input piece by piece instead of at once".to_owned(),
            ],
        );
    }
    let check = facts.command();
    (
        "Look for a loop that does not end, a wait for input or a server, or work that grows too \
         fast, in what this attempt changed."
            .to_owned(),
        vec![
            format!("Run `{check}` yourself with a short time limit and see where it stops"),
            "Check the end condition of every loop and wait that was changed".to_owned(),
        ],
    )
}

fn missing(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    if facts.class == Class::MissingProgram {
        return (
            "The check needs a program that is not there or may not be run. Use what the project \
             has, and see how its other checks are started."
                .to_owned(),
            vec![
                said(facts, "Make sure that the program exists and is executable"),
                "If the attempt added or renamed a script, give it its name and its execute \
                 permission"
                    .to_owned(),
            ],
        );
    }
    (
        format!(
            "Something that is used{at} does not exist under that name. Look up the real name or \
             path, or create and export it, before anything else."
        ),
        vec![
            said(facts, "Search the project for the missing name"),
            "See what is declared as a dependency; do not invent packages".to_owned(),
        ],
    )
}

fn syntax(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    let file = at.strip_prefix(" at ").unwrap_or("the named file");
    (
        format!(
            "The code{at} cannot be parsed, so nothing else was tested. Repair the syntax first \
             and parse the file before going on."
        ),
        vec![format!("Open {file} and complete the statement"), said(facts, "Read the parser's message")],
    )
}

fn crash(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    if facts.class == Class::EdgeCase {
        return (
            format!(
                "Handle the value that breaks the code{at}: empty, missing, zero or out of range. \
                 Decide from the task what the result must be there; do not only silence the error."
            ),
            vec![said(facts, "See which value breaks it"), format!("Handle that value{at}"), rerun(facts)],
        );
    }
    (
        format!(
            "Find out why the program breaks{at} before changing anything else, and repair the \
             cause rather than catching the error."
        ),
        vec![said(facts, "Read the error"), rerun(facts)],
    )
}

fn unknown(facts: &Facts<'_>) -> (String, Vec<String>) {
    let check = facts.command();
    if check.is_empty() {
        let items = vec![said(facts, "Run the project's checks and read what they print")];
        return ("No check shows the failure: find one that does before changing anything else.".to_owned(), items);
    }
    match facts.class {
        Class::NoTests => (
            "No test was found, which counts as a failure. Put tests where the runner looks for \
             them, and keep their names."
                .to_owned(),
            vec![
                "Name test files and functions as the runner expects them (`test_*.py`, \
                 `def test_…`)"
                    .to_owned(),
                format!("Run `{check}` and see how many tests it collects"),
            ],
        ),
        Class::Silent => (
            "The check says nothing but its exit status: read the check itself to learn what it \
             demands, then the task again."
                .to_owned(),
            vec![
                format!("Read what `{check}` does, step by step"),
                "Run its steps one by one and see which of them fails".to_owned(),
            ],
        ),
        _ => (
            "Start from what the check printed, and make exactly that true.".to_owned(),
            vec![said(facts, "Read the output"), format!("Read what `{check}` compares, then run it again")],
        ),
    }
}

/// What every lesson ends with where a check was red, and no step twice.
fn finished(facts: &Facts<'_>, suggestion: String, mut items: Vec<String>) -> Advice {
    if facts.failure.check.is_some() && facts.class != Class::CheckTimeout {
        items.push(match facts.failure.known_failures.as_slice() {
            [] => format!("Run `{}` and see it pass before saying that the work is done", facts.command()),
            known => format!(
                "Run `{}` and see that nothing fails in it but what failed before ({}), without what the task is about",
                facts.command(),
                list(known)
            ),
        });
    }
    items.retain(|item| !item.is_empty());
    items.dedup();
    items.truncate(4);
    Advice { category: category(facts), suggestion, items }
}

fn category(facts: &Facts<'_>) -> Category {
    let claimed = facts.failure.failure_type == FailureType::FalseDone || facts.failure.ending.claims_done();
    match facts.class {
        Class::Refuted | Class::AgentLimit | Class::CheckTimeout | Class::OutOfMemory | Class::MergeConflict => {
            Category::ApproachFlaw
        }
        Class::Permission | Class::AgentFailed | Class::MissingProgram | Class::NoTests => Category::ToolMisuse,
        Class::MissingModule | Class::OnlyInWorkspace => Category::MissingContext,
        Class::EdgeCase => Category::TestGap,
        // A single run of the check would have shown it.
        Class::Syntax | Class::Compile | Class::Silent | Class::EmptyChange if claimed => Category::Verification,
        Class::EmptyChange => Category::ApproachFlaw,
        Class::Syntax | Class::Compile | Class::Assertion | Class::Crash | Class::Said | Class::Silent => {
            Category::RootCause
        }
    }
}

fn of_the_agent(facts: &Facts<'_>) -> (String, Vec<String>) {
    let (suggestion, items): (&str, &[&str]) = match facts.class {
        Class::EmptyChange if !facts.failure.files_left.is_empty() => (
            "Change files: this attempt has changed none, and what an earlier one left is not enough. Look at what differs from the base \
             with `git diff`, take back what the task does not ask for, and write the rest of the change to disk.",
            &[
                "See with `git diff` what an earlier attempt left in the files",
                "See with `git status` that your own change is there before stopping",
            ],
        ),
        Class::EmptyChange => (
            "Change files: this attempt has changed none. If the task seems to \
             be done already, prove it by its criteria and say so; otherwise write the change to disk.",
            &[
                "Find the file that the task is about and edit it",
                "See with `git status` that the change is there before stopping",
            ],
        ),
        Class::OnlyInWorkspace => (
            "The check passes in the workspace and fails on a clean copy of the change: it needs files that are not part \
             of the change, because .gitignore leaves them out, or they were installed or built by hand. Put what it needs \
             into tracked files.",
            &[
                "List what is left out with `git status --ignored`",
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
            "Do less at a time: take the smallest change that the check can see, make it first, and \
             leave exploring and long commands for later.",
            &[
                "Make the central edit first, then refine it",
                "Give every long-running command a time limit, and start no servers or watchers in the foreground",
            ],
        ),
        Class::Permission => (
            "Reach the goal without what was refused: work inside the workspace, with the tools \
             that are allowed.",
            &["Use another allowed tool for the refused step", "Change files only inside the workspace"],
        ),
        _ => (
            "The agent itself failed, so this says little about the task. Take smaller steps and \
             write results to disk early.",
            &["Begin with the smallest useful edit", "Avoid the command that was running when the agent failed"],
        ),
    };
    let said = match facts.class {
        Class::AgentFailed | Class::MergeConflict => said(facts, ""),
        _ => String::new(),
    };
    let items = items.iter().map(|item| (*item).to_owned()).chain([said]).collect();
    (suggestion.to_owned(), items)
}

fn compile(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    let signature = &facts.failure.signature;
    let look_up = match (signature.tool.as_str(), signature.code.as_deref()) {
        ("cargo" | "rustc", Some(code)) if code.starts_with('E') => {
            format!("Read `rustc --explain {code}`")
        }
        _ => String::new(),
    };
    let often = match signature.tool.as_str() {
        "cargo" => "Run `cargo check --all-targets` after every change, not at the end",
        "tsc" => "Run `tsc --noEmit` after every change, not at the end",
        "go build" => "Run `go vet ./...` after every change, not at the end",
        "mypy" => "Run `mypy` after every change, not at the end",
        _ => "Compile after every change, not at the end",
    };
    (
        format!(
            "Repair what the first error says{at} before anything else: nothing behind it was looked at, and the errors behind the first one often follow from it."
        ),
        vec![said(facts, "Read the first error"), look_up, often.to_owned()],
    )
}

fn assertion(facts: &Facts<'_>, at: &str) -> (String, Vec<String>) {
    let test = facts.failure.signature.tests.first();
    let what = test.map_or_else(|| "the failing comparison".to_owned(), |test| format!("`{}`", one_line(test)));
    (
        format!(
            "Work through {what} by hand{at}: find the first step where the code departs from what is expected, and repair the code, not the test."
        ),
        vec![said(facts, "Compare what was expected with what came"), rerun(facts)],
    )
}

/// Quotes the failure's own words, or names a step that finds them.
fn said(facts: &Facts<'_>, otherwise: &str) -> String {
    match &facts.detail {
        Some(detail) => format!("Explain this: {detail}"),
        None => otherwise.to_owned(),
    }
}

/// How to run only the first failing test; empty where there is none or the tool has no short way.
fn rerun(facts: &Facts<'_>) -> String {
    let signature = &facts.failure.signature;
    let Some(test) = signature.tests.first().map(|test| one_line(test)) else {
        return String::new();
    };
    let own = Own::of(facts);
    let command = match signature.tool.as_str() {
        "cargo test" => format!("cargo test {test}"),
        "cargo nextest" => format!("cargo nextest run {test}"),
        "pytest" => format!("{} '{test}'", own.up_to("pytest").unwrap_or_else(|| "pytest".to_owned())),
        // Which Python, from where and with which path: only the check's own command knows.
        "unittest" => match own.whole("-m unittest").filter(|_| is_plain(&test)) {
            Some(whole) => format!("{whole} -k {test}"),
            None => return String::new(),
        },
        "go test" => format!("go test -run '{test}' ./..."),
        "jest" => format!("npx jest -t '{}'", test.replace(" › ", " ")),
        "vitest" => format!("npx vitest run -t '{}'", test.replace(" > ", " ")),
        "mocha" => format!("npx mocha -g '{test}'"),
        "node:test" => format!("node --test --test-name-pattern='{test}'"),
        _ => return String::new(),
    };
    format!("Run only the failing test: `{}{command}`", own.enters)
}

/// Nothing in it means anything to a shell.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "._".contains(c))
}

/// The check's own command, as far as it can be read without a shell: the directories that it enters first, and its last command.
struct Own {
    enters: String,
    last: String,
}

impl Own {
    fn of(facts: &Facts<'_>) -> Self {
        let run = facts.failure.check.as_ref().map_or(String::new(), |check| one_line(&check.run.to_string()));
        let mut commands: Vec<&str> = run.split("&&").map(str::trim).collect();
        let last = commands.pop().unwrap_or_default().to_owned();
        let entered =
            commands.into_iter().take_while(|command| command.starts_with("cd ") && !command.contains(OF_SHELLS));
        let enters = entered.fold(String::new(), |enters, command| enters + command + " && ");
        Self { enters, last }
    }

    /// The last command, if it is what is looked for and nothing follows it.
    fn whole(&self, what: &str) -> Option<&str> {
        (self.last.contains(what) && !self.last.contains(OF_SHELLS)).then_some(&self.last)
    }

    /// The last command up to a program's name in it.
    fn up_to(&self, program: &str) -> Option<String> {
        let words: Vec<&str> = self.whole(program)?.split_whitespace().collect();
        let at = words.iter().position(|word| word.rsplit('/').next() == Some(program))?;
        Some(words[..=at].join(" "))
    }
}

/// What a shell may take for more than words.
const OF_SHELLS: [char; 8] = ['|', ';', '&', '<', '>', '$', '`', '('];
