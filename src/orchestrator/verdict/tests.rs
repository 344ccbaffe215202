use super::words::why_it_counts;
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
        asks: "",
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
    check(&Case { project: Some((Some("p"), Some("q"))), ..CASE }, Verdict::FalseDone, Some(FailureType::FalseDone));
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
        CheckResults::new(checks, baseline, Expects::Change, &[]).red().next().is_none()
    };
    let base = tests(5, &[("a", "1 != 2"), ("b", "no")]);
    assert!(known(&base, &tests(5, &[("b", "no")])), "one is fixed");
    assert!(known(&base, &tests(6, &[("b", "no")])), "and one is new and green");
    assert!(!known(&base, &tests(4, &[("b", "no")])), "one does not run any more");
    let otherwise = tests(5, &[("b", "yes")]);
    let results =
        CheckResults::new(std::slice::from_ref(&otherwise), std::slice::from_ref(&base), Expects::Change, &[]);
    assert_eq!((results.known_red().count(), results.red().count()), (0, 0), "it fails otherwise: that refutes nobody");
    assert!(results.red_unseen().unwrap().1.contains("`b` still fails, with other"));
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
    assert_eq!(found, "nothing was changed in this attempt; what differs from the base is of an earlier one: index.js");
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
    let first_red = |test, lint| {
        CheckResults::new(&[named("test", test), named("lint", lint)], &baseline, Expects::Fix, &[]).red().next()
    };
    assert_eq!(first_red(GREEN, Some("l")), None);
    assert_eq!(first_red(Some("a"), GREEN), None, "whichever it is");
    assert_eq!(first_red(GREEN, Some("other")), Some(1));
    assert_eq!(first_red(Some("a"), Some("l")), Some(0), "nothing is fixed");
}

#[test]
fn an_agent_that_failed_is_not_called_idle() {
    let idle = Case { files: &[], task: Some((Some("a"), Some("a"))), ..CASE };
    check(&Case { ending: Ending::Crash, ..idle }, Verdict::Failed, Some(FailureType::AgentError));
    let idle = Case { files: &[], task: Some((Some("a"), Some("a"))), ..CASE };
    check(&Case { ending: Ending::Timeout, ..idle }, Verdict::Failed, Some(FailureType::Timeout));
}
