//! The verdict on an attempt: what the runtime's own evidence says, in three values, never as an average.

use super::proof;
use super::results::{loses_tests, no_success, rearranges};
use crate::domain::{
    Allow, Change, CheckReport, CheckScope, CheckSpec, Ending, Expects, FailureType, Proof, Verdict, belongs_to_tests,
};
use crate::prompt::{one_line, shorten};
use crate::toolchain;

/// What is known of an attempt when its checks have run.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The checks after the agent stopped, in order.
    pub checks: &'a [CheckReport],
    /// The same checks at the base.
    pub baseline: &'a [CheckReport],
    /// What the attempt changed.
    pub change: &'a Change,
    /// Whether the task's end is judged, or a part before it.
    pub part: Part,
    /// What kind of change confirms the task.
    pub expects: Expects,
    /// Whether the task is about what is red: a fault, or a fix that is expected. Of any other a test of the project that turns green may be
    /// somebody else's.
    pub is_about_red: bool,
    /// Checks of earlier parts alone: what turned green in them is none of this part's doing.
    pub earlier: &'a [CheckSpec],
    /// What the task permits.
    pub allow: &'a [Allow],
    /// Why the agent stopped.
    pub ending: &'a Ending,
    /// Files that it may not change and did.
    pub protected: &'a [String],
    /// What it changed in the user's repository beside the files.
    pub tampered: &'a [String],
    /// Checks that fail at the base too by now, where they passed before: their failure is nobody's.
    pub doubted: &'a [(CheckScope, CheckSpec)],
    /// Why `setup` does not go through with the work, where it does at the base; no check ran then.
    pub not_set_up: Option<&'a str>,
    /// What is green only where the agent worked, and why.
    pub only_there: Option<&'a str>,
    /// What a green check has changed of what decides what it tests.
    pub rewrote: Option<&'a str>,
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A part before the last: without checks of its own it must at least change something.
    Earlier,
    /// The last or only part: the task's own end.
    Last,
}

/// What the evidence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What a confirmation rests on.
    pub proof: Option<Proof>,
    /// Why, in words.
    pub because: String,
    /// What kind of failure it is, if it is one.
    pub failure: Option<FailureType>,
    /// The check that shows the failure, as an index into [`Evidence::checks`].
    pub failing: Option<usize>,
    /// What a person must do before anything can go on.
    pub person: Vec<String>,
    /// What the agent is to do, where something else than a red check refutes the attempt.
    pub todo: Vec<String>,
    /// It is confirmed only if the task's owner permits this; else it is refuted.
    pub only_if: Option<OnlyIf>,
}

/// What the agent is to do where tests were not run, or not to their end.
pub(super) const RUN_ALL: &str =
    "Bring back the tests of the base as they were, let all of them run to their end, and change the code instead";

/// What a confirmation hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnlyIf {
    /// What would have to be permitted.
    pub permits: Allow,
    /// Why it is refuted otherwise.
    pub otherwise: String,
}

/// Judges an attempt.
///
/// Checks green and a change as expected confirm it, whatever the agent says or exits with. A project's check that was
/// red at base with the same signature says nothing either way. Nothing checkable is `unverifiable`. A check whose test summary
/// does not fit its exit status, or counts fewer tests than at the base, refutes it.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> Judgement {
    if !evidence.tampered.is_empty() {
        let todo =
            "Change files of the workspace and nothing else: branches, tags, hooks and settings stay as they are";
        return refuted(evidence, None, evidence.tampered.join("; ")).with_todo(todo);
    }
    if !evidence.protected.is_empty() {
        let files = evidence.protected.join(", ");
        let todo = format!("Leave {files} as they are at the base, and do the task by other files");
        return refuted(evidence, None, format!("it changed protected files: {files}")).with_todo(todo);
    }
    if !evidence.change.leads_out.is_empty() {
        let links = evidence.change.leads_out.join(", ");
        return refuted(
            evidence,
            None,
            format!("it links to what is not in the repository, so that nobody else has it: {links}"),
        )
        .with_todo("Put the files themselves into the repository instead of links");
    }
    if let Some(because) = evidence.not_set_up {
        let todo = "Run the project's set-up with the change, and see it go through";
        return refuted(evidence, None, format!("with this work, {because}")).with_todo(todo);
    }
    let (checks, baseline) = (evidence.checks, evidence.baseline);
    let known_red = |i: &usize| checks[*i].is_known_red(checks, baseline, evidence.expects, evidence.allow);
    let counted: Vec<usize> = (0..checks.len()).filter(|i| !known_red(i)).collect();
    let empty = evidence.change.no_op || evidence.change.files.is_empty();
    if evidence.part == Part::Earlier && evidence.change.no_op {
        return refuted(evidence, None, nothing_changed(evidence.change));
    }
    // A check that ran at the base and cannot be started any more was broken by the attempt.
    let ran =
        |i: &usize| !checks[*i].is_not_run() || checks[*i].at_base(baseline).is_some_and(|base| !base.is_not_run());
    let by_test = (0..checks.len()).filter(known_red).find(|&i| !checks[i].tests_turned(baseline).is_empty());
    // Where each of its tests is compared, a check that is known to be red says as much as a green one.
    let is_compared = (0..checks.len()).filter(known_red).any(|i| checks[i].tests_beside(baseline).is_some());
    if !is_compared && !counted.iter().any(ran) {
        return unverifiable(evidence);
    }
    let unseen = |i: usize| checks[i].fails_unseen(checks, baseline, evidence.expects);
    let red = |doubted: bool| {
        let is_red = |i: &usize| !checks[*i].passed() && doubtful(evidence, *i) == doubted && unseen(*i).is_none();
        counted.iter().copied().find(is_red)
    };
    if let Some(red) = red(false) {
        if let Some(because) = evidence.only_there {
            return only_there(evidence, red, because);
        }
        let because = format!("{}{}", is_red(&checks[red], baseline), only_tests(evidence.change));
        return refuted(evidence, Some(red), because);
    }
    if let Some(red) = red(true) {
        return doubted(evidence, red);
    }
    if let Some(because) = evidence.rewrote {
        let todo = "Keep what runs from writing to tests and to what decides how they run";
        return refuted(evidence, None, because.to_owned()).with_todo(todo);
    }
    if empty && evidence.expects != Expects::Nothing {
        return refuted(evidence, None, nothing_changed(evidence.change));
    }
    if let Some(because) = checks.iter().find_map(|check| no_success(check, check.at_base(baseline)?)) {
        return refuted(evidence, None, because).with_todo(RUN_ALL);
    }
    if let Some((red, why)) = counted.iter().find_map(|&i| Some((i, unseen(i)?))) {
        let because = format!("check `{}` is red ({}); {why}", checks[red].spec.name, checks[red].how());
        return Judgement { because, ..unverifiable(evidence) };
    }
    let turned: Vec<usize> =
        counted.iter().copied().filter(|&i| checks[i].turned_green(baseline)).chain(by_test).collect();
    // What its own checks do not show, those of others do not show for them.
    let has_own = checks.iter().any(|check| check.scope == CheckScope::Task && !evidence.earlier.contains(&check.spec));
    let is_of_earlier = |i: &usize| checks[*i].scope == CheckScope::Task && evidence.earlier.contains(&checks[*i].spec);
    let is_about = |i: &usize| {
        let is_own = checks[*i].scope == CheckScope::Task || waited_for_a_name(&checks[*i], baseline);
        !is_of_earlier(i) && (is_own || evidence.is_about_red && !has_own)
    };
    let red: Vec<&CheckReport> = (0..checks.len()).filter(known_red).map(|i| &checks[i]).collect();
    let judgement = match (turned.iter().copied().find(is_about), evidence.expects) {
        (None, Expects::Fix) => {
            let because = format!(
                "a fix was asked for, and no check that was red turned green{}",
                as_before(&red, baseline, None)
            );
            let todo = "Add a test that shows the fault, see it fail, and then fix the code";
            refuted(evidence, None, because).with_todo(todo)
        }
        (Some(i), _) => {
            let red = as_before(&red, baseline, Some(&checks[i]));
            confirmed(Proof::TurnedGreen, format!("{}{red}", has_turned(&checks[i], baseline)))
        }
        (None, _) => {
            let because = match (red.is_empty(), counted.is_empty()) {
                (true, _) => "every check was green before and is green still".to_owned(),
                (false, true) => "no test fails that did not fail before".to_owned(),
                (false, false) => "every check that counts was green before and is green still".to_owned(),
            };
            let because = match turned.first() {
                Some(&i) if is_of_earlier(&i) => {
                    format!("{}, which is the check of an earlier part", has_turned(&checks[i], baseline))
                }
                Some(&i) => {
                    let how = if has_own || evidence.is_about_red {
                        "a check of its own that is red until then shows it"
                    } else {
                        "if it was, give the task `\"expects\": \"fix\"`"
                    };
                    let turned = has_turned(&checks[i], baseline);
                    format!("{turned}; whether that was asked for is not known: {how}")
                }
                None => because,
            };
            let red = as_before(&red, baseline, turned.first().map(|i| &checks[*i]));
            confirmed(Proof::StayedGreen, format!("{because}{red}"))
        }
    };
    if judgement.verdict != Verdict::Confirmed {
        return judgement;
    }
    // A check that is known to be red is asked too: the same failure among fewer tests is no old failure.
    let loses = |check: &CheckReport| loses_tests(check, check.at_base(baseline)?, rearranges(check, evidence.change));
    let only_if = checks.iter().filter_map(loses).find(|lost| !evidence.allow.contains(&lost.permits));
    Judgement { only_if, ..judgement }
}

/// The check that shows a failure: the one that the verdict rests on, or the task's first red one where it rests on something else (an
/// empty change). As an index.
#[must_use]
pub fn shown(checks: &[CheckReport], judgement: &Judgement) -> Option<usize> {
    let of_task = || checks.iter().position(|check| check.scope == CheckScope::Task && !check.passed());
    judgement.failing.or_else(of_task)
}

/// How it is said that nothing was changed.
pub const NOTHING: &str = "nothing was changed";

/// Says that the agent did nothing. What differs from the base all the same, it found there.
fn nothing_changed(change: &Change) -> String {
    if change.files.is_empty() {
        return NOTHING.to_owned();
    }
    let files = change.files.join(", ");
    format!("{NOTHING} in this attempt; what differs from the base is of an earlier one: {files}")
}

impl Judgement {
    /// A verdict and why, and nothing else.
    pub(super) fn new(verdict: Verdict, because: String) -> Self {
        let (proof, failure, failing, only_if) = (None, None, None, None);
        Self { verdict, proof, because, failure, failing, person: Vec::new(), todo: Vec::new(), only_if }
    }

    /// The same, with what the agent is to do about it.
    fn with_todo(self, todo: impl Into<String>) -> Self {
        Self { todo: vec![todo.into()], ..self }
    }
}

/// Which checks are red as they were before. Of `named`, the tests that pass now stand in the sentence already.
fn as_before(red: &[&CheckReport], baseline: &[CheckReport], named: Option<&CheckReport>) -> String {
    let of = |check: &&CheckReport| {
        let name = &check.spec.name;
        let stops = |check: &CheckReport| {
            let is_cut = toolchain::summaries(&check.output.text()).last().is_some_and(|said| !said.whole);
            is_cut || check.signature.counted.as_ref().is_some_and(|counted| counted.stopped)
        };
        let stops = if check.at_base(baseline).is_some_and(stops) {
            ", and stops at a failure, so that what stands behind it was not run, before and now"
        } else {
            ""
        };
        let Some((now, before)) = failing(check, baseline) else {
            return format!("; check `{name}` is red as it was before{stops}");
        };
        let turned = check.tests_turned(baseline);
        let is_named = named.is_some_and(|named| std::ptr::eq(named, *check));
        let turned = if turned.is_empty() || is_named { String::new() } else { format!("; {}", passing(&turned)) };
        format!("{turned}; check `{name}` is still red, only by tests that failed before ({now} of {before}){stops}")
    };
    let words: String = red.iter().map(of).collect();
    if words.is_empty() { words } else { format!("{words}, which says nothing of the work") }
}

/// How many tests fail in it, and how many failed at the base, where both name them.
fn failing(check: &CheckReport, baseline: &[CheckReport]) -> Option<(usize, usize)> {
    let count = |check: &CheckReport| Some(check.signature.counted.as_ref()?.failing.len()).filter(|count| *count > 0);
    Some((count(check)?, count(check.at_base(baseline)?)?))
}

/// Whether what turned green failed before only for a name that was missing: such tests wait for what is new.
fn waited_for_a_name(check: &CheckReport, baseline: &[CheckReport]) -> bool {
    let Some(before) = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref()) else { return false };
    let passes = |test: &String| check.passed() || check.tests_turned(baseline).contains(&test.as_str());
    let mut turned = before.failing.iter().filter(|(test, _)| passes(test)).peekable();
    turned.peek().is_some() && turned.all(|(_, failed)| proof::is_about_a_name(&failed.how))
}

/// `check `x` was red and is green now`, or the tests of it that do.
fn has_turned(check: &CheckReport, baseline: &[CheckReport]) -> String {
    let name = &check.spec.name;
    match check.tests_turned(baseline).as_slice() {
        [] => {
            let before = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref());
            let failed: Vec<&str> =
                before.iter().flat_map(|before| before.failing.keys().map(String::as_str)).collect();
            let failed = match failed.len() {
                0 => String::new(),
                1 => format!(" (test {} failed before)", listed(&failed)),
                _ => format!(" (tests {} failed before)", listed(&failed)),
            };
            format!("check `{name}` was red and is green now{failed}")
        }
        tests => format!("{} in check `{name}`", passing(tests)),
    }
}

/// `test `a` was red and passes now`.
fn passing(tests: &[&str]) -> String {
    match tests.len() {
        1 => format!("test {} was red and passes now", listed(tests)),
        _ => format!("tests {} were red and pass now", listed(tests)),
    }
}

/// The first few names, each in backquotes, and how many more there are.
pub(super) fn listed(tests: &[&str]) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> =
        tests.iter().take(NAMED).map(|test| format!("`{}`", shorten(&one_line(test), 120))).collect();
    let more = tests.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// The first check of a task's end that is red and counts, whatever was changed.
#[must_use]
pub fn red(checks: &[CheckReport], baseline: &[CheckReport], expects: Expects, allow: &[Allow]) -> Option<usize> {
    checks.iter().position(|check| !check.passed() && !check.is_known_red(checks, baseline, expects, allow))
}

/// Says that a check is red. Whoever knows that it was red before must learn why it counts.
fn is_red(check: &CheckReport, baseline: &[CheckReport]) -> String {
    format!("check `{}` is red ({}){}", check.spec.name, check.how(), why_it_counts(check, baseline))
}

/// That a red check has nothing but tests for an answer: the code is as it was.
fn only_tests(change: &Change) -> String {
    if change.no_op || change.files.is_empty() || !change.files.iter().all(|file| belongs_to_tests(file)) {
        return String::new();
    }
    format!("; nothing but tests was changed: {}", first_files(&change.files))
}

/// The first few of these files, and how many more there are.
pub(super) fn first_files(files: &[String]) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> = files.iter().take(NAMED).map(|file| shorten(&one_line(file), 80).into_owned()).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// What tells a red check from the same one at the base, where that was red, too.
fn why_it_counts(check: &CheckReport, baseline: &[CheckReport]) -> String {
    let Some(base) = check.at_base(baseline).filter(|base| !base.passed()) else { return String::new() };
    if let Some(beside) = check.tests_beside(baseline) {
        let words = beside.words();
        return if words.is_empty() {
            what_is_left(check, base, baseline)
        } else {
            format!("; it was at the base too, but {words}")
        };
    }
    let same = base.signature.fingerprint == check.signature.fingerprint;
    if same && !check.signature.extent.is_within(&base.signature.extent) {
        return "; it was at the base too, but more fails now".to_owned();
    }
    if same || check.scope == CheckScope::Task {
        return String::new();
    }
    "; it was at the base too, but fails in another way now: what it prints does not name its tests one by one, so the whole is compared"
        .to_owned()
}

/// Of a check that asks for all its tests: which of those that failed at the base pass now, and which fail still.
fn what_is_left(check: &CheckReport, base: &CheckReport, baseline: &[CheckReport]) -> String {
    let still = check.signature.known_of(&base.signature);
    let fails = match still.as_slice() {
        [] => return String::new(),
        [test] => format!("test {} fails as at the base", listed(&[test])),
        tests => format!("tests {} fail as at the base", listed(tests)),
    };
    match check.tests_turned(baseline).as_slice() {
        [] => format!("; {fails}"),
        turned => format!("; {}, and {fails}: the check asks for all of them", passing(turned)),
    }
}

fn confirmed(proof: Proof, because: String) -> Judgement {
    Judgement { proof: Some(proof), ..Judgement::new(Verdict::Confirmed, because) }
}

fn unverifiable(evidence: &Evidence<'_>) -> Judgement {
    let because = match evidence.checks.iter().find(|check| check.is_not_run()) {
        Some(check) => format!("check `{}` was {}", check.spec.name, check.how()),
        None if evidence.checks.is_empty() && evidence.part == Part::Earlier => {
            "this part has no check of its own (`subtasks[].checks`); those of the task and of the project run at the end of the last one"
                .to_owned()
        }
        None if evidence.checks.is_empty() => {
            "there is no check; give the task one (`checks`), or the project".to_owned()
        }
        None => "the only checks were red before and are red for the same reason".to_owned(),
    };
    Judgement::new(Verdict::Unverifiable, because)
}

fn refuted(evidence: &Evidence<'_>, failing: Option<usize>, because: String) -> Judgement {
    let claims = evidence.ending.claims_done();
    let timed_out = failing.is_some_and(|i| evidence.checks[i].timed_out);
    let failure = match evidence.ending {
        Ending::Timeout | Ending::Hang => FailureType::Timeout,
        Ending::Crash | Ending::AgentError | Ending::Context | Ending::Budget | Ending::Permission => {
            FailureType::AgentError
        }
        _ if evidence.change.no_op => FailureType::EmptyChange,
        _ if timed_out => FailureType::Timeout,
        Ending::Finished => FailureType::FalseDone,
        _ => FailureType::CheckFailed,
    };
    let verdict = if claims { Verdict::FalseDone } else { Verdict::Failed };
    Judgement { failure: Some(failure), failing, ..Judgement::new(verdict, because) }
}

/// The agent has seen it pass, so that it is no lie; but nobody who gets the change will.
fn only_there(evidence: &Evidence<'_>, red: usize, because: &str) -> Judgement {
    let judgement = refuted(evidence, Some(red), because.to_owned());
    Judgement { verdict: Verdict::Failed, failure: Some(FailureType::OnlyInWorkspace), ..judgement }
}

/// It is not done, as far as can be told; but that is not known to be the agent's fault, and so it is no lie.
fn doubted(evidence: &Evidence<'_>, red: usize) -> Judgement {
    let check = &evidence.checks[red];
    let because = format!(
        "check `{}` is red ({}), and by now also at the base, where it was green: it is flaky, or something around the \
         files is gone",
        check.spec.name,
        check.how()
    );
    let judgement = refuted(evidence, Some(red), because);
    let failure = judgement.failure.map(|failure| match failure {
        FailureType::FalseDone => FailureType::CheckFailed,
        failure => failure,
    });
    Judgement { verdict: Verdict::Failed, failure, ..judgement }
}

fn doubtful(evidence: &Evidence<'_>, i: usize) -> bool {
    let check = &evidence.checks[i];
    evidence.doubted.iter().any(|(scope, spec)| *scope == check.scope && *spec == check.spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckCommand, CheckStatus, CountedTests, FailedTest, Output, Signature, TreeId};

    const GREEN: Option<&str> = None;

    /// A report: `None` passed, `Some(fingerprint)` failed like that, `Some("not run")` could not start.
    fn report(scope: CheckScope, name: &str, red: Option<&str>) -> CheckReport {
        CheckReport {
            spec: CheckSpec {
                name: name.to_owned(),
                run: CheckCommand::Shell("x".to_owned()),
                timeout_ms: None,
                results: None,
            },
            scope,
            status: match red {
                None => CheckStatus::Passed,
                Some("not run") => CheckStatus::NotRun { because: "no such program".to_owned() },
                Some(_) => CheckStatus::Failed,
            },
            exit_status: red.map_or(Some(0), |_| Some(1)),
            signal: None,
            timed_out: false,
            output: Output::default(),
            duration_ms: 1,
            signature: Signature { fingerprint: red.unwrap_or_default().to_owned(), ..Signature::default() },
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
        }
    }

    struct Case<'a> {
        task: Option<(Option<&'a str>, Option<&'a str>)>,
        project: Option<(Option<&'a str>, Option<&'a str>)>,
        files: &'a [&'a str],
        part: Part,
        expects: Expects,
        ending: Ending,
        /// Checks that fail at the base by now.
        doubted: &'a [usize],
    }

    const CASE: Case<'static> = Case {
        task: Some((Some("a"), GREEN)),
        project: None,
        files: &["x"],
        part: Part::Last,
        expects: Expects::Change,
        ending: Ending::Finished,
        doubted: &[],
    };

    fn check(case: &Case<'_>, verdict: Verdict, failure: Option<FailureType>) -> Judgement {
        let list = |after: bool| {
            let pick = |(base, now): (Option<&'static str>, Option<&'static str>)| {
                if after { now } else { base }
            };
            let leak = |p: Option<(Option<&str>, Option<&str>)>| {
                p.map(|(b, n)| (b.map(|s| &*s.to_owned().leak()), n.map(|s| &*s.to_owned().leak())))
            };
            let project = leak(case.project).map(|p| report(CheckScope::Project, "build", pick(p)));
            let task = leak(case.task).map(|t| report(CheckScope::Task, "test", pick(t)));
            project.into_iter().chain(task).collect::<Vec<_>>()
        };
        let change = Change {
            tree: TreeId("t".to_owned()),
            files: case.files.iter().map(|&f| f.to_owned()).collect(),
            existed: Vec::new(),
            leads_out: Vec::new(),
            carried: Vec::new(),
            behind_links: Vec::new(),
            left_out: Vec::new(),
            remarks: Vec::new(),
            diff_hash: String::new(),
            no_op: case.files.is_empty(),
        };
        let (checks, baseline) = (list(true), list(false));
        let judgement = judge(&Evidence {
            checks: &checks,
            baseline: &baseline,
            change: &change,
            part: case.part,
            expects: case.expects,
            is_about_red: true,
            earlier: &[],
            allow: &[],
            ending: &case.ending,
            protected: &[],
            tampered: &[],
            not_set_up: None,
            only_there: None,
            rewrote: None,
            doubted: &case.doubted.iter().map(|i| (checks[*i].scope, checks[*i].spec.clone())).collect::<Vec<_>>(),
        });
        assert_eq!((judgement.verdict, judgement.failure), (verdict, failure), "{}", judgement.because);
        judgement
    }

    #[test]
    fn green_checks_on_a_change_confirm_whatever_the_agent_says() {
        assert_eq!(check(&CASE, Verdict::Confirmed, None).proof, Some(Proof::TurnedGreen));
        check(&Case { ending: Ending::Crash, ..CASE }, Verdict::Confirmed, None);
        let stayed = check(&Case { task: Some((GREEN, GREEN)), ..CASE }, Verdict::Confirmed, None);
        assert_eq!(stayed.proof, Some(Proof::StayedGreen));
    }

    #[test]
    fn a_red_check_refutes_and_a_claim_makes_it_false() {
        let red = Case { task: Some((Some("a"), Some("b"))), ..CASE };
        let because = check(&red, Verdict::FalseDone, Some(FailureType::FalseDone)).because;
        assert!(!because.contains("nothing but tests"), "{because}");
        let tests = Case { task: Some((Some("a"), Some("b"))), files: &["tests/test_x.py"], ..CASE };
        let because = check(&tests, Verdict::FalseDone, Some(FailureType::FalseDone)).because;
        assert!(because.ends_with("nothing but tests was changed: tests/test_x.py"), "{because}");
        check(&Case { ending: Ending::AgentError, ..red }, Verdict::Failed, Some(FailureType::AgentError));
        let red = Case { task: Some((Some("a"), Some("b"))), ..CASE };
        check(&Case { ending: Ending::Timeout, ..red }, Verdict::Failed, Some(FailureType::Timeout));
    }

    #[test]
    fn an_empty_change_is_confirmed_only_if_the_task_says_so() {
        let empty = |expects| Case { task: Some((GREEN, GREEN)), files: &[], expects, ..CASE };
        check(&empty(Expects::Change), Verdict::FalseDone, Some(FailureType::EmptyChange));
        check(&empty(Expects::Nothing), Verdict::Confirmed, None);
    }

    #[test]
    fn a_fix_must_turn_a_red_check_green() {
        check(&Case { expects: Expects::Fix, ..CASE }, Verdict::Confirmed, None);
        let stayed = Case { expects: Expects::Fix, task: Some((GREEN, GREEN)), ..CASE };
        check(&stayed, Verdict::FalseDone, Some(FailureType::FalseDone));
        let project_only = Case { expects: Expects::Fix, task: None, project: Some((Some("a"), Some("a"))), ..CASE };
        check(&project_only, Verdict::FalseDone, Some(FailureType::FalseDone));
    }

    #[test]
    fn a_known_red_project_check_counts_only_when_it_fails_differently() {
        check(&Case { project: Some((Some("p"), Some("p"))), ..CASE }, Verdict::Confirmed, None);
        check(
            &Case { project: Some((Some("p"), Some("q"))), ..CASE },
            Verdict::FalseDone,
            Some(FailureType::FalseDone),
        );
        check(&Case { project: Some((GREEN, Some("q"))), ..CASE }, Verdict::FalseDone, Some(FailureType::FalseDone));
        let alone = Case { project: Some((Some("p"), Some("p"))), task: None, ..CASE };
        check(&alone, Verdict::Unverifiable, None);
        let beside = Case { project: Some((Some("p"), Some("p"))), task: Some((GREEN, GREEN)), ..CASE };
        let said = check(&beside, Verdict::Confirmed, None);
        assert!(
            said.because.starts_with("every check that counts was green before and is green still; check `"),
            "{}",
            said.because
        );
        assert!(said.because.contains("is red as it was before"), "{}", said.because);
    }

    #[test]
    fn a_check_that_is_still_red_says_by_how_many_of_its_tests() {
        let pytest = |failing: &[&str], passed: &[&str]| {
            let list = |tests: &[&str]| tests.iter().map(|test| (*test).to_owned()).collect::<Vec<String>>();
            let failed = list(failing).into_iter().map(|test| (test, FailedTest::default())).collect();
            let mut check = report(CheckScope::Project, "pytest", Some("x"));
            check.signature.fingerprint = format!("{failing:?}");
            check.signature.counted = Some(CountedTests {
                ran: Some(3),
                failing: failed,
                passed: Some(list(passed).into_iter().collect()),
                ..CountedTests::default()
            });
            check
        };
        let (base, now) = (pytest(&["a", "b", "c"], &[]), pytest(&["b", "c"], &["a"]));
        let said = as_before(&[&now], std::slice::from_ref(&base), None);
        let expected = "; test `a` was red and passes now; check `pytest` is still red, only by tests that failed before (2 of 3), \
                        which says nothing of the work";
        assert_eq!(said, expected);
        let said = as_before(&[&now], std::slice::from_ref(&base), Some(&now));
        assert!(said.contains("(2 of 3), which"), "{said}");
    }

    #[test]
    fn fewer_of_the_tests_that_were_red_are_no_other_failure() {
        let tests = |ran: usize, failing: &[(&str, &str)]| {
            let one = |how: &str| FailedTest { how: how.to_owned(), ..FailedTest::default() };
            let failing = failing.iter().map(|(test, how)| ((*test).to_owned(), one(how))).collect();
            let mut check = report(CheckScope::Project, "build", Some("x"));
            check.signature.fingerprint = format!("{failing:?}");
            check.signature.counted = Some(CountedTests { ran: Some(ran), failing, ..CountedTests::default() });
            check
        };
        let known = |base: &CheckReport, now: &CheckReport| {
            let (checks, baseline) = (std::slice::from_ref(now), std::slice::from_ref(base));
            red(checks, baseline, Expects::Change, &[]).is_none()
        };
        let base = tests(5, &[("a", "1 != 2"), ("b", "no")]);
        assert!(known(&base, &tests(5, &[("b", "no")])), "one is mended");
        assert!(known(&base, &tests(6, &[("b", "no")])), "and one is new and green");
        assert!(!known(&base, &tests(4, &[("b", "no")])), "one does not run any more");
        assert!(!known(&base, &tests(5, &[("b", "yes")])), "it fails otherwise");
        assert!(!known(&base, &tests(5, &[("c", "no")])), "another one fails");
        let mut crashed = tests(5, &[("b", "no")]);
        crashed.exit_status = Some(2);
        crashed.signature.exit_status = Some(2);
        assert!(!known(&base, &crashed));
        let mut unknown = tests(5, &[("b", "no")]);
        unknown.signature.counted = None;
        assert!(!known(&base, &unknown), "nobody vouches for the names");
    }

    #[test]
    fn a_check_of_its_own_that_is_red_in_part_says_what_is_left() {
        let of = |failing: &[&str]| {
            let one = || FailedTest { how: "1 != 2".to_owned(), ..FailedTest::default() };
            let failing = failing.iter().map(|test| ((*test).to_owned(), one())).collect();
            let passed = Some(["a", "b"].iter().map(|test| (*test).to_owned()).collect());
            let mut check = report(CheckScope::Task, "own", Some("x"));
            check.signature.counted = Some(CountedTests { ran: Some(2), failing, passed, ..CountedTests::default() });
            check
        };
        let why = |now: &CheckReport| why_it_counts(now, &[of(&["a", "b"])]);
        assert_eq!(
            why(&of(&["b"])),
            "; test `a` was red and passes now, and test `b` fails as at the base: the check asks for all of them"
        );
        assert_eq!(why(&of(&["a", "b"])), "; tests `a`, `b` fail as at the base");
    }

    #[test]
    fn what_was_changed_before_the_attempt_is_not_its_own() {
        let files = |files: &[&str]| Change { files: files.iter().map(|&f| f.to_owned()).collect(), ..no_change() };
        assert_eq!(nothing_changed(&files(&[])), "nothing was changed");
        let found = nothing_changed(&files(&["index.js"]));
        assert_eq!(
            found,
            "nothing was changed in this attempt; what differs from the base is of an earlier one: index.js"
        );
    }

    fn no_change() -> Change {
        Change {
            tree: TreeId("t".to_owned()),
            files: Vec::new(),
            existed: Vec::new(),
            leads_out: Vec::new(),
            carried: Vec::new(),
            behind_links: Vec::new(),
            left_out: Vec::new(),
            remarks: Vec::new(),
            diff_hash: String::new(),
            no_op: true,
        }
    }

    #[test]
    fn nothing_checkable_is_never_a_pass() {
        check(&Case { task: None, ..CASE }, Verdict::Unverifiable, None);
        check(&Case { task: Some((Some("not run"), Some("not run"))), ..CASE }, Verdict::Unverifiable, None);
        let one_ran = Case { project: Some((GREEN, GREEN)), task: Some((Some("a"), Some("not run"))), ..CASE };
        check(&one_ran, Verdict::FalseDone, Some(FailureType::FalseDone));
    }

    #[test]
    fn a_check_that_the_attempt_broke_is_red() {
        let broken = Case { task: Some((Some("a"), Some("not run"))), ..CASE };
        check(&broken, Verdict::FalseDone, Some(FailureType::FalseDone));
    }

    #[test]
    fn a_check_that_fails_at_the_base_too_by_now_makes_no_liar() {
        let flips = || Case { task: Some((GREEN, Some("a"))), doubted: &[0], ..CASE };
        check(&flips(), Verdict::Failed, Some(FailureType::CheckFailed));
        check(&Case { ending: Ending::Timeout, ..flips() }, Verdict::Failed, Some(FailureType::Timeout));
        // What else is red is blamed on the work.
        let both = Case { project: Some((GREEN, Some("p"))), doubted: &[0], ..flips() };
        check(&both, Verdict::FalseDone, Some(FailureType::FalseDone));
    }

    #[test]
    fn a_part_without_checks_must_change_something() {
        let part = Case { task: None, part: Part::Earlier, ..CASE };
        check(&part, Verdict::Unverifiable, None);
        check(&Case { files: &[], ..part }, Verdict::FalseDone, Some(FailureType::EmptyChange));
    }

    #[test]
    fn a_fix_with_a_check_of_its_own_is_not_held_up_by_an_old_failure() {
        let old = Case { expects: Expects::Fix, project: Some((Some("p"), Some("p"))), ..CASE };
        check(&old, Verdict::Confirmed, None);
    }

    #[test]
    fn a_fix_turns_one_red_check_green_and_leaves_the_others_as_they_were() {
        let named = |name: &'static str, red| report(CheckScope::Project, name, red);
        let baseline = [named("test", Some("a")), named("lint", Some("l"))];
        let first_red = |test, lint| red(&[named("test", test), named("lint", lint)], &baseline, Expects::Fix, &[]);
        assert_eq!(first_red(GREEN, Some("l")), None);
        assert_eq!(first_red(Some("a"), GREEN), None, "whichever it is");
        assert_eq!(first_red(GREEN, Some("other")), Some(1));
        assert_eq!(first_red(Some("a"), Some("l")), Some(0), "nothing is mended");
    }

    #[test]
    fn an_agent_that_failed_is_not_called_idle() {
        let idle = Case { files: &[], task: Some((Some("a"), Some("a"))), ..CASE };
        check(&Case { ending: Ending::Crash, ..idle }, Verdict::Failed, Some(FailureType::AgentError));
        let idle = Case { files: &[], task: Some((Some("a"), Some("a"))), ..CASE };
        check(&Case { ending: Ending::Timeout, ..idle }, Verdict::Failed, Some(FailureType::Timeout));
    }
}
