//! What an assessment is worth beside the evidence.

use super::human::split;
use super::{AssessedStatus, Results, SelfAssessment};
use crate::domain::{Action, GateOutcome, GateReport, Severity, ToolKind, ToolStatus, Trace};
use crate::verification::commands::{CommandKind, Run, runs};

/// The name of the gate.
const GATE: &str = "self_assessment";
/// Programs that show things: a run of one of them tests nothing.
const NO_TESTS: [&str; 14] =
    ["ls", "cat", "echo", "pwd", "cd", "head", "tail", "true", "printf", "grep", "rg", "find", "wc", "which"];

/// What an assessment is worth beside the evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessed {
    /// The gate `self_assessment`: failed with every lie named; else not run, because an assessment that is not
    /// contradicted is still only somebody's word.
    pub report: GateReport,
    /// What it says is left, for the agent to do.
    pub missing: Vec<String>,
    /// What it says only a person can do.
    pub human_actions: Vec<String>,
    /// How much is wrong: HIGH for a lie.
    pub severity: Severity,
}

/// Compares an assessment with what was recorded. A claimed command that never ran, a result that its exit status
/// contradicts, a run "after the last change" that came before it, and what a gate refuted are lies: the gate fails, and what
/// would have made them true is missing.
///
/// Where the record is not whole (older calls are only counted, a sub-agent's steps are not recorded, a command line cannot
/// be read) nothing is said to be missing from it. Neither confidence nor the status `complete` does anything for a task.
#[must_use]
pub fn cross_check(assessment: &SelfAssessment, trace: &Trace, reasons: &[GateReport]) -> Assessed {
    let record = Record::of(trace);
    let mut found = Found::default();
    check_tests(assessment, &record, &mut found);
    check_build(assessment, &record, &mut found);
    check_gates(assessment, reasons, &mut found);
    let Found { lies, mut missing } = found;
    if assessment.evidence.pr.as_ref().is_some_and(|pr| pr.created && !is_pull_request(&pr.url)) {
        missing.push("Name the address of the pull request".to_owned());
    }

    let left = assessment.remaining_work.iter().chain(&assessment.next_steps).chain(&assessment.needs_user_action);
    let left = split(left);
    missing.extend(left.agent);
    let mut seen = std::collections::BTreeSet::new();
    missing.retain(|item| seen.insert(item.to_lowercase()));
    let severity = match (lies.is_empty(), missing.is_empty(), assessment.status) {
        (false, ..) => Severity::High,
        (true, true, AssessedStatus::Complete | AssessedStatus::WaitingForUser) => Severity::None,
        (true, false, _) if assessment.status == AssessedStatus::Complete => Severity::Low,
        _ => Severity::Medium,
    };
    let (outcome, evidence) = if lies.is_empty() {
        (GateOutcome::NotRun, told(assessment, missing.len(), left.person.len()))
    } else {
        (GateOutcome::Failed, lies.join("; "))
    };
    let report = GateReport { gate: GATE.to_owned(), outcome, evidence };
    Assessed { report, missing, human_actions: left.person, severity }
}

/// What is wrong with an assessment, and what its agent has to do therefore.
#[derive(Default)]
struct Found {
    lies: Vec<String>,
    missing: Vec<String>,
}

impl Found {
    fn lie(&mut self, lie: String, to_do: impl Into<String>) {
        self.lies.push(lie);
        self.missing.push(to_do.into());
    }
}

/// An assessment that nothing contradicts, in words.
fn told(assessment: &SelfAssessment, left: usize, for_people: usize) -> String {
    let status = match assessment.status {
        AssessedStatus::Complete => "it says that the work is complete",
        AssessedStatus::InProgress => "it says that the work is not over",
        AssessedStatus::Blocked => "it says that the work is blocked",
        AssessedStatus::Stuck => "it says that the work is stuck",
        AssessedStatus::WaitingForUser => "it says that a person must act",
    };
    format!(
        "{status}, with {left} things left to do and {for_people} for a person; the record does not contradict it, which \
         proves nothing"
    )
}

fn check_tests(assessment: &SelfAssessment, record: &Record<'_>, found: &mut Found) {
    let Some(tests) = assessment.evidence.tests.as_ref().filter(|tests| tests.ran) else { return };
    if tests.skipped {
        found.missing.push("Run the tests that were skipped".to_owned());
    }
    let mut last: Option<&Ran<'_>> = None;
    for command in &tests.commands {
        for claimed in relevant(runs(command)) {
            if claimed.words.first().is_some_and(|program| NO_TESTS.contains(&program.as_str())) {
                found.lie(
                    format!("it names `{command}` as a test, which tests nothing"),
                    "Run tests that test the change",
                );
                continue;
            }
            match record.last(|ran| is_same(&claimed, &ran.run)) {
                Some(ran) => last = last.filter(|known| known.at >= ran.at).or(Some(ran)),
                None if record.is_whole && !record.mentions(&claimed) => {
                    found.lie(format!("it says that `{command}` ran, which never ran"), format!("Run `{command}`"));
                }
                None => {}
            }
        }
    }
    let last = last.or_else(|| record.last(|ran| ran.run.kind == CommandKind::Test));
    let Some(last) = last else {
        if found.lies.is_empty() && record.is_whole {
            found.lie("it says that tests ran, and no test command is in the record".to_owned(), "Run the tests");
        }
        return;
    };
    check_result("tests", tests.results, last, found);
    if tests.ran_after_changes
        && let Some(edit) = record.last_edit.filter(|edit| edit.number > last.at)
    {
        let file = edit.edits.first().map_or("a file", String::as_str);
        let lie =
            format!("it says that tests ran after the last change, and `{file}` was changed after `{}`", last.line);
        found.lie(lie, "Run the tests again after the last change");
    }
}

fn check_build(assessment: &SelfAssessment, record: &Record<'_>, found: &mut Found) {
    let Some(build) = assessment.evidence.build.as_ref().filter(|build| build.ran) else { return };
    // A test run compiles what it tests, so that who ran only tests did build, in a way.
    match record.last(|ran| ran.run.kind == CommandKind::Build) {
        Some(last) => check_result("the build", build.results, last, found),
        None if record.is_whole && record.ran.is_empty() => {
            found.lie("it says that a build ran, and no command is in the record".to_owned(), "Build the project");
        }
        None => {}
    }
}

fn check_result(what: &str, claimed: Results, last: &Ran<'_>, found: &mut Found) {
    let status = last.action.outcome.as_ref().and_then(|outcome| outcome.exit_code).filter(|_| last.run.decides_exit);
    if claimed == Results::Pass
        && let Some(status) = status.filter(|status| *status != 0)
    {
        let lie = format!("it says that {what} passed, and `{}` ended with exit status {status}", last.line);
        found.lie(lie, format!("Make `{}` pass", last.line));
    }
}

/// What a gate refuted, and the answer says all the same.
fn check_gates(assessment: &SelfAssessment, reasons: &[GateReport], found: &mut Found) {
    let evidence = &assessment.evidence;
    let tests = evidence.tests.as_ref().filter(|tests| tests.ran);
    let pr = evidence.pr.as_ref().filter(|pr| pr.created);
    let claims = [
        ("tests_passed", tests.is_some_and(|tests| tests.results == Results::Pass), "tests passed"),
        (
            "tests_ran_after_last_change",
            tests.is_some_and(|tests| tests.ran_after_changes),
            "tests ran after the last change",
        ),
        ("build", evidence.build.as_ref().is_some_and(|b| b.ran && b.results == Results::Pass), "the build passed"),
        ("pull_request", pr.is_some(), "a pull request was created"),
        ("ci", pr.is_some_and(|pr| pr.ci_status == Results::Pass), "CI passed"),
    ];
    for (gate, is_claimed, claim) in claims {
        let refuted = reasons.iter().find(|report| report.gate == gate && report.outcome == GateOutcome::Failed);
        if let Some(report) = refuted.filter(|_| is_claimed) {
            // The gate itself says what to do about it.
            found.lies.push(format!("it says that {claim}, and {}", report.evidence));
        }
    }
}

/// An address as GitHub, GitLab, Gitea and Bitbucket have them for a pull request.
fn is_pull_request(url: &str) -> bool {
    let path = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    ["/pull/", "/pulls/", "/merge_requests/", "/pull-requests/"].iter().any(|part| {
        let number = path.split_once(part).map_or("", |(_, rest)| rest);
        number.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// A command that ran.
struct Ran<'a> {
    run: Run,
    line: &'a str,
    at: u64,
    action: &'a Action,
}

/// What was recorded.
struct Record<'a> {
    ran: Vec<Ran<'a>>,
    trace: &'a Trace,
    last_edit: Option<&'a Action>,
    /// Nothing is missing from it.
    is_whole: bool,
}

impl<'a> Record<'a> {
    fn of(trace: &'a Trace) -> Self {
        let ran = trace.actions.iter().filter(|action| !is_refused(action)).filter_map(|action| {
            let line = action.command.as_deref()?;
            Some(runs(line).into_iter().map(move |run| Ran { run, line, at: action.number, action }))
        });
        let done = |action: &&Action| {
            let worked = action.outcome.as_ref().is_some_and(|outcome| outcome.status == ToolStatus::Ok);
            !action.edits.is_empty() && action.kind == ToolKind::Edit && worked
        };
        let silent = |action: &Action| {
            action.kind == ToolKind::Agent
                && !trace.actions.iter().any(|inner| inner.parent.as_deref() == Some(action.id.as_str()))
        };
        Self {
            ran: ran.flatten().collect(),
            trace,
            last_edit: trace.actions.iter().rev().find(done),
            is_whole: trace.calls == trace.actions.len() as u64
                && !trace.actions.iter().any(|a| silent(a) || is_riddle(a)),
        }
    }

    fn last(&self, is_it: impl Fn(&Ran<'_>) -> bool) -> Option<&Ran<'a>> {
        self.ran.iter().rev().find(|ran| is_it(ran))
    }

    /// Some tool of a kind that nobody knows was given the program's name: it may have run it.
    fn mentions(&self, claimed: &Run) -> bool {
        let Some(program) = claimed.words.first() else { return true };
        let unknown = |action: &&Action| action.command.is_none() && matches!(action.kind, ToolKind::Other);
        self.trace.actions.iter().filter(unknown).any(|action| action.input.contains(program.as_str()))
    }
}

/// A command line in which nobody can find a command.
fn is_riddle(action: &Action) -> bool {
    action.command.as_deref().is_some_and(|line| !line.trim().is_empty() && runs(line).is_empty())
}

fn is_refused(action: &Action) -> bool {
    action.outcome.as_ref().is_some_and(|outcome| outcome.status == ToolStatus::Denied)
}

/// Of a claimed line what it is about: its tests and builds, else its first command that does something.
fn relevant(runs: Vec<Run>) -> Vec<Run> {
    let (about, other): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.kind != CommandKind::Other);
    if !about.is_empty() {
        return about;
    }
    let steps =
        |run: &Run| run.words.first().is_some_and(|program| matches!(program.as_str(), "cd" | "export" | "set"));
    other.into_iter().find(|run| !steps(run)).into_iter().collect()
}

/// Whether what ran is what is claimed: the same program for the same purpose, or all of the claimed words in order.
fn is_same(claimed: &Run, ran: &Run) -> bool {
    let (claimed_words, ran_words) = (plain_words(claimed), plain_words(ran));
    if claimed_words.first() != ran_words.first() {
        return false;
    }
    if claimed.kind == ran.kind && claimed.kind != CommandKind::Other {
        return true;
    }
    let mut rest = ran_words.iter();
    claimed_words.iter().all(|word| rest.any(|other| other == word))
}

/// The words, with one spelling for the same thing: no path before the program, `npm run test` as `npm test`,
/// `python3 -m pytest` as `pytest`.
fn plain_words(run: &Run) -> Vec<&str> {
    let mut words: Vec<&str> = run.words.iter().map(String::as_str).collect();
    if let Some(first) = words.first_mut() {
        *first = first.rsplit('/').next().unwrap_or(first);
    }
    match words.as_slice() {
        ["npm" | "pnpm" | "yarn" | "bun", "run", ..] => drop(words.remove(1)),
        [python, "-m", _, ..] if python.starts_with("python") => drop(words.drain(..2)),
        _ => {}
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::read_assessment;
    use super::*;
    use crate::domain::Outcome;

    /// A record of steps: `edit FILE`, or a command with its exit status.
    fn trace(steps: &[(&str, i32)]) -> Trace {
        let mut trace = Trace::default();
        for (step, exit) in steps {
            let edit = step.strip_prefix("edit ");
            let action = Action {
                id: trace.calls.to_string(),
                number: trace.calls,
                tool: if edit.is_some() { "Edit" } else { "Bash" }.to_owned(),
                kind: if edit.is_some() { ToolKind::Edit } else { ToolKind::Execute },
                command: edit.is_none().then(|| (*step).to_owned()),
                edits: edit.iter().map(|file| (*file).to_owned()).collect(),
                input: String::new(),
                outcome: Some(Outcome { status: ToolStatus::Ok, exit_code: Some(*exit), output: String::new() }),
                parent: None,
                at: None,
            };
            trace.act(action);
        }
        trace
    }

    fn assessed(tests: &str, trace: &Trace) -> Assessed {
        let text = format!(r#"{{"status":"complete","confidence":1,"evidence":{{"tests":{tests}}}}}"#);
        cross_check(&read_assessment(&text).unwrap(), trace, &[])
    }

    fn check(tests: &str, steps: &[(&str, i32)], lie: Option<&str>) {
        let said = assessed(tests, &trace(steps));
        match lie {
            None => assert_eq!((said.report.outcome, said.severity), (GateOutcome::NotRun, Severity::None), "{said:?}"),
            Some(lie) => {
                assert_eq!((said.report.outcome, said.severity), (GateOutcome::Failed, Severity::High), "{said:?}");
                assert!(said.report.evidence.contains(lie), "{said:?}");
                assert!(!said.missing.is_empty(), "a lie leaves something to do: {said:?}");
            }
        }
    }

    const PASSED: &str = r#"{"ran":true,"results":"pass","ran_after_changes":true,"commands":["npm test"]}"#;

    #[test]
    fn what_the_record_shows_is_no_lie() {
        check(PASSED, &[("edit a.js", 0), ("npm test", 0)], None);
        check(PASSED, &[("edit a.js", 0), ("cd app && npm test -- --ci", 0)], None);
        check(PASSED, &[("edit a.js", 0), ("npm run test", 1), ("npm run test", 0)], None);
        check(r#"{"ran":false}"#, &[], None);
        check(r#"{"ran":true,"results":"fail","commands":["pytest"]}"#, &[("python3 -m pytest -q", 1)], None);
        check(r#"{"ran":true,"results":"pass","commands":["./check.sh"]}"#, &[("./check.sh --all", 0)], None);
        check(PASSED, &[("npm test | tail -5", 1)], None);
    }

    #[test]
    fn what_never_ran_is_a_lie() {
        check(PASSED, &[], Some("`npm test` ran, which never ran"));
        check(PASSED, &[("edit a.js", 0), ("ls", 0)], Some("`npm test` ran, which never ran"));
        let two = r#"{"ran":true,"commands":["pytest","npm test"]}"#;
        check(two, &[("npm test", 0)], Some("`pytest` ran, which never ran"));
        check(r#"{"ran":true,"commands":["ls"]}"#, &[("ls", 0)], Some("`ls` as a test, which tests nothing"));
        check(r#"{"ran":true,"results":"pass"}"#, &[("ls", 0)], Some("no test command is in the record"));
    }

    #[test]
    fn a_result_that_the_exit_status_contradicts_is_a_lie() {
        check(
            PASSED,
            &[("npm test", 0), ("npm test", 1)],
            Some("tests passed, and `npm test` ended with exit status 1"),
        );
    }

    #[test]
    fn a_run_before_the_last_change_did_not_come_after_it() {
        check(PASSED, &[("npm test", 0), ("edit a.js", 0)], Some("`a.js` was changed after `npm test`"));
    }

    #[test]
    fn where_the_record_is_not_whole_nothing_is_missing_from_it() {
        let mut dropped = trace(&[("ls", 0)]);
        dropped.calls += 1;
        assert_eq!(assessed(PASSED, &dropped).report.outcome, GateOutcome::NotRun);
        let mut delegated = trace(&[("ls", 0)]);
        delegated.actions[0].kind = ToolKind::Agent;
        delegated.actions[0].command = None;
        assert_eq!(assessed(PASSED, &delegated).report.outcome, GateOutcome::NotRun);
    }

    #[test]
    fn what_is_left_goes_to_whoever_can_do_it() {
        let text = r#"{"status":"waiting_for_user","remaining_work":["Run npm test"],"next_steps":["run npm test"],
            "needs_user_action":["Provide the API keys","Commit the changes"]}"#;
        let said = cross_check(&read_assessment(text).unwrap(), &Trace::default(), &[]);
        assert_eq!(said.missing, ["Run npm test", "Commit the changes"]);
        assert_eq!(said.human_actions, ["Provide the API keys"]);
        assert_eq!((said.report.outcome, said.severity), (GateOutcome::NotRun, Severity::Medium));
    }

    #[test]
    fn a_pull_request_has_an_address_and_a_gate_knows_better() {
        let text = r#"{"status":"complete","evidence":{"pr":{"created":true,"url":"x","ci_status":"pass"}}}"#;
        let read = read_assessment(text).unwrap();
        let said = cross_check(&read, &Trace::default(), &[]);
        assert_eq!(said.missing, ["Name the address of the pull request"]);
        let gate = GateReport {
            gate: "pull_request".to_owned(),
            outcome: GateOutcome::Failed,
            evidence: "the branch has none".to_owned(),
        };
        let said = cross_check(&read, &Trace::default(), &[gate]);
        assert!(said.report.evidence.contains("created, and the branch has none"), "{said:?}");
        assert!(is_pull_request("https://github.com/o/r/pull/12"));
        assert!(is_pull_request("https://gitlab.com/o/r/-/merge_requests/3#note"));
        assert!(!is_pull_request("https://github.com/o/r/pulls"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_said_completes(claim in r#"(cd x|npm test|ls|pytest|&&|;|\(|"|'|`| ){0,8}"#, exit in 0..2) {
            let text = serde_json::json!({
                "status": "complete", "confidence": 1,
                "evidence": { "tests": { "ran": true, "results": "pass", "ran_after_changes": true, "commands": [claim] } },
            });
            let said = cross_check(&read_assessment(&text.to_string()).unwrap(), &trace(&[("npm test", exit)]), &[]);
            proptest::prop_assert!(said.report.outcome != GateOutcome::Passed);
        }
    }
}
