//! The lessons that the heuristic draws from captured outputs, endings and earlier attempts.

use super::Heuristic;
use crate::domain::{
    Category, CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Did, Draft, Ending, FailedCheck,
    FailureContext, FailureType, Output, Reflection, Refutation, Signature, Step,
};
use crate::reflection::{Signatures, test_failure};
use crate::services::FailureReader;
use proptest::prelude::*;

/// An attempt that claimed to be done, whose check printed this.
fn failure(output: &str, run: &str, status: i32) -> FailureContext {
    let spec = CheckSpec {
        name: "test".to_owned(),
        run: CheckCommand::Shell(run.to_owned()),
        timeout_ms: None,
        results: None,
    };
    let check = FailedCheck {
        name: "test".to_owned(),
        run: spec.run.clone(),
        exit_status: Some(status),
        signal: None,
        timed_out: false,
    };
    let output = Output::whole(output);
    let signature = Signatures.read(&CheckReport {
        spec,
        scope: CheckScope::Task,
        status: CheckStatus::Failed,
        exit_status: Some(status),
        signal: None,
        timed_out: false,
        output: output.clone(),
        duration_ms: 1,
        signature: Signature::default(),
        rewrote: Vec::new(),
        changed_outside: Vec::new(),
    });
    FailureContext { check: Some(check), signature, output, ..test_failure() }
}

fn fixture(name: &str, run: &str, status: i32) -> FailureContext {
    let path = format!("{}/tests/fixtures/failures/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let output = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    failure(&output, run, status)
}

fn draft(failure: &FailureContext) -> Draft {
    Heuristic.draft(failure, "a test".to_owned())
}

/// The draft as one text, for looking words up.
fn text(draft: &Draft) -> String {
    format!("{}\n=> {}\n- {}", draft.analysis, draft.suggestion, draft.action_items.join("\n- "))
}

/// A reflection on an earlier attempt with this fingerprint.
fn earlier(attempt: u32, fingerprint: &str) -> Reflection {
    let failure = test_failure();
    Reflection {
        id: crate::domain::ReflectionId::new(format!("ref-{attempt}")),
        session_id: failure.session_id,
        task_id: failure.task_id.to_string(),
        subtask_id: failure.subtask_id.to_string(),
        attempt_number: attempt,
        category: Category::RootCause,
        analysis: "a".to_owned(),
        suggestion: "s".to_owned(),
        action_items: Vec::new(),
        confidence: 0.5,
        created_at: failure.created_at,
        v: 1,
        origin: None,
        already_tried: None,
        signature: Some(fingerprint.to_owned()),
        failure: None,
        replaces: None,
        files: Vec::new(),
        foreign: false,
    }
}

#[test]
fn a_failing_test_reads_like_this() {
    let failure =
        FailureContext { files_changed: vec!["src/lib.rs".to_owned()], ..fixture("libtest-assert", "cargo test", 101) };
    assert_eq!(
        text(&draft(&failure)),
        "The code does not do what `tests::adds_all_prices` and 1 more expect: assertion `left == right` failed; \
         left: 5; right: 6 (at src/lib.rs:13).
=> Follow the values of `tests::adds_all_prices` through the code to the first one that is not what is expected, and change the code there, \
         not the test.
- It worked when `tests::adds_all_prices` and 1 more pass"
    );
}

#[test]
fn a_command_is_named_only_if_it_was_seen_to_run() {
    let ran =
        |what: &str, exit_status: Option<i32>| Step { did: Did::Run, what: what.to_owned(), exit_status, times: 1 };
    let said =
        |steps: Vec<Step>| text(&draft(&FailureContext { steps, ..fixture("libtest-assert", "cargo test", 101) }));
    let alone = said(vec![ran("cargo test adds_all_prices", Some(101)), ran("cargo fmt", Some(0))]);
    assert!(alone.contains("- `cargo test adds_all_prices` runs it alone\n"), "{alone}");
    for steps in [vec![ran("cargo test adds_all_prices", None)], vec![ran("cargo test", Some(101))], Vec::new()] {
        let said = said(steps);
        assert!(!said.contains("cargo"), "{said}");
    }
}

#[test]
fn a_place_that_the_agent_never_looked_at_is_told() {
    let step = |did: Did, what: &str| Step { did, what: what.to_owned(), exit_status: None, times: 1 };
    let said = |steps: Vec<Step>| text(&draft(&FailureContext { steps, ..fixture("cargo-e0308", "cargo test", 101) }));
    let never = "The agent never looked at src/lib.rs, where it shows, and did not change it.";
    assert!(said(vec![step(Did::Read, "cart.py")]).contains(never));
    for steps in
        [vec![step(Did::Read, "src/lib.rs")], vec![step(Did::Run, "cat src/lib.rs"), step(Did::Read, "x")], Vec::new()]
    {
        let said = said(steps);
        assert!(said.contains("The agent did not change src/lib.rs, where it shows."), "{said}");
    }
}

#[test]
fn a_check_that_never_ends_is_laid_to_what_goes_round() {
    let mut failure = failure("x\n", "make check", 0);
    failure.diff = "--- a/count.sh\n+++ b/count.sh\n@@ -3,2 +3,2 @@\n-while [ $n -gt 1 ]; do :; done\n+n=$1\n+while [ $n -ge 1 ]; do :; done\n".to_owned();
    failure.check.as_mut().unwrap().timed_out = true;
    let said = text(&draft(&failure));
    assert!(said.contains("most likely at count.sh:4 (`while [ $n -ge 1 ]; do :; done`)."), "{said}");
    assert!(said.contains("- It worked when the check ends by itself"), "{said}");
}

#[test]
fn a_file_that_could_not_be_loaded_says_why() {
    let printed = "TAP version 13\n# file:///home/ada/dates/dates.js:1\n# import { pad, padDay } from './pad.js';\n#               ^^^^^^\n\
        # SyntaxError: The requested module './pad.js' does not provide an export named 'padDay'\n# Node.js v20.20.2\n\
        # Subtest: /home/ada/dates/dates.test.js\nnot ok 1 - /home/ada/dates/dates.test.js\n  ---\n  duration_ms: 357.5\n  \
        location: '/home/ada/dates/dates.test.js:1:1'\n  failureType: 'testCodeFailure'\n  exitCode: 1\n  signal: ~\n  error: 'test failed'\n  \
        code: 'ERR_TEST_FAILURE'\n  ...\n1..1\n# tests 1\n# pass 0\n# fail 1\n";
    let said = text(&draft(&failure(printed, "node --test", 1)));
    assert!(said.contains("does not exist under that name: SyntaxError: The requested module"), "{said}");
    assert!(said.contains("(at /home/ada/dates/dates.js:1)") && !said.contains("test failed"), "{said}");
}

/// Refuted by this rule, at this line of the change.
fn refuted(rule: &str, place: &str, line: &str, because: &str) -> FailureContext {
    let refuted_by =
        Some(Refutation { rule: rule.to_owned(), place: Some(place.to_owned()), line: Some(line.to_owned()) });
    FailureContext {
        check: None,
        ran: vec!["test".to_owned()],
        todo: vec!["Leave tests/a.py as they are".to_owned()],
        refuted_by,
        output: Output::whole(because),
        signature: Signature::default(),
        ..test_failure()
    }
}

#[test]
fn a_rule_that_refutes_has_a_lesson_of_its_own() {
    let check = |failure: &FailureContext, lesson: &str| assert_eq!(text(&draft(failure)), lesson);
    check(
        &refuted("protected_paths", "tests/a.py:9", "# checked", "it changed protected files: tests/a.py"),
        "A protected file was changed, at tests/a.py:9: that refutes any work, whatever its checks say.
=> Leave tests/a.py as it is, and do the task by other files.
- It worked when no protected file is among those that were changed",
    );
    check(
        &refuted("test_count", "test_a.py:12", "def test_b():", "check `test` ran 4 tests at the base and 3 now"),
        "A test was taken out or switched off, at test_a.py:12 (`def test_b():`): a test that does not run counts as missing, not as passed.
=> Keep the tests in test_a.py as they were, and change the code that they test.
- It worked when as many tests run as before, and pass",
    );
    let mut moved = refuted("outside", "x", "", "branch `main` was moved");
    moved.refuted_by.as_mut().unwrap().place = None;
    check(
        &moved,
        "Something beside the files was changed, which is no part of any work: branch `main` was moved.
=> Change files of the workspace and nothing else; commits, branches, tags, hooks and settings are left as they are. No check had anything \
         against the files.
- It worked when nothing but files of the workspace is other than before",
    );
}

#[test]
fn a_refutation_that_no_check_shows_has_a_lesson_of_its_own() {
    let failure = FailureContext {
        check: None,
        ran: vec!["syntax".to_owned(), "test".to_owned()],
        todo: vec!["Leave py/test_text.py as it is".to_owned(), "Change py/text.py".to_owned()],
        output: Output::whole("it changed protected files: py/test_text.py"),
        signature: Signature::default(),
        ..test_failure()
    };
    let said = text(&draft(&failure));
    assert!(said.contains("something else refutes it: it changed protected files: py/test_text.py."), "{said}");
    assert!(said.contains("=> Leave py/test_text.py as it is.\n- Change py/text.py"), "{said}");
    assert!(!said.contains("``") && !said.contains("exit status"), "{said}");
    let unknown = FailureContext { ran: Vec::new(), todo: Vec::new(), ..failure };
    let said = text(&draft(&unknown));
    assert!(!said.contains("``"), "{said}");
}

#[test]
fn the_lesson_of_a_check_that_was_red_before_is_about_what_is_new() {
    let base = fixture("each-cargo-test-no-fail-fast", "cargo test", 101);
    let text_of = base
        .output
        .text()
        .replace("test tests::three ... ok\ntest tests::one", "test tests::three ... FAILED\ntest tests::one");
    let printed = text_of
        .replacen(
            "---- tests::fails stdout",
            "---- tests::three stdout ----\nError: \"broken\"\n\n---- tests::fails stdout",
            1,
        )
        .replace("1 passed; 3 failed; 1 ignored", "0 passed; 4 failed; 1 ignored");
    let mut now = failure(&printed, "cargo test", 101);
    now.signature = now.signature.beyond(&base.signature).unwrap();
    let said = text(&draft(&now));
    assert!(said.contains("`tests::three` expects: \"broken\""), "{said}");
    assert!(!said.contains("tests::one") && !said.contains("tests::two"), "{said}");
}

#[test]
fn a_lesson_asks_for_nobody_elses_bugs() {
    let known_failures = vec!["tests::other".to_owned()];
    let said = text(&draft(&FailureContext { known_failures, ..fixture("libtest-assert", "cargo test", 101) }));
    let words = "of the tests that failed before any attempt, only what the task is about must pass, too";
    assert!(said.contains(words), "{said}");
}

#[test]
fn every_kind_of_failure_has_its_own_lesson() {
    let check = |name: &str, run: &str, status: i32, (category, confidence): (Category, f64), words: &[&str]| {
        let draft = draft(&fixture(name, run, status));
        let text = text(&draft);
        assert_eq!((draft.category, draft.confidence), (category, confidence), "{name}: {text}");
        for words in words {
            assert!(text.contains(words), "{name} does not say {words:?}:\n{text}");
        }
        assert!(!draft.action_items.is_empty());
    };
    use Category::*;
    check(
        "cargo-e0308",
        "cargo test",
        101,
        (Verification, 0.75),
        &[
            "E0308: mismatched types; expected `String`, found `u32` (at src/lib.rs:2)",
            "The agent did not change src/lib.rs, where it shows",
            "is used in src/lib.rs: change that along with it",
        ],
    );
    check(
        "cargo-import",
        "cargo build",
        101,
        (MissingContext, 0.75),
        &["unresolved import `nothere`", "do not invent packages"],
    );
    check(
        "cargo-syntax",
        "cargo build",
        101,
        (Verification, 0.6),
        &["cannot be parsed", "nothing is said of src/lib.rs:2"],
    );
    check(
        "pytest-assert",
        "pytest",
        1,
        (RootCause, 0.75),
        &["more expect: ", "assert 0 == (2 * 1)", "(at test_calc.py:17)"],
    );
    check("pytest-import", "pytest", 2, (MissingContext, 0.75), &["cannot import name 'subtract'"]);
    check("pytest-none", "pytest -k nothing", 5, (ToolMisuse, 0.45), &["No test was found"]);
    check(
        "unittest",
        "python3 -m unittest",
        1,
        (RootCause, 0.75),
        &["AssertionError: -1 != 5", "test_add` and 1 more pass"],
    );
    check("jest", "npx jest", 1, (RootCause, 0.75), &["Expected: 2; Received: 3"]);
    check("vitest", "npm test", 1, (RootCause, 0.75), &["expected 3 to be 2"]);
    check("go-test", "go test ./...", 1, (RootCause, 0.75), &["Total() = 4, want 3", "`TestTotal/two_prices` passes"]);
    check(
        "go-panic",
        "go test ./...",
        1,
        (TestGap, 0.75),
        &["index out of range [0] with length 0", "breaks the code at cart.go:11"],
    );
    check(
        "pytest-syntax",
        "pytest",
        2,
        (Verification, 0.75),
        &["cannot be parsed, so nothing was tested: SyntaxError: '(' was never closed (at lib.py:2)"],
    );
    check(
        "cargo-clippy-lint",
        "cargo clippy",
        101,
        (Verification, 0.75),
        &[
            "clippy reports: clippy::if_same_then_else: this `if` has identical blocks (at src/lib.rs:2)",
            "the rule stays on",
        ],
    );
    check("mypy", "mypy .", 1, (Verification, 0.75), &["mypy reports: return-value: Incompatible", "(at typed.py:2)"]);
    check(
        "eslint",
        "npx eslint .",
        1,
        (Verification, 0.75),
        &["eslint reports: no-unused-vars: 'unused'", "(at cart.js:1)"],
    );
    check(
        "ruff",
        "ruff check",
        1,
        (Verification, 0.75),
        &["ruff reports: F401: `os` imported but unused (at cart.py:1)"],
    );
    check("maven", "mvn test", 1, (RootCause, 0.75), &["expected:<7> but was:<6> (at CartTest.java:10)"]);
    check("rspec", "rspec", 1, (RootCause, 0.75), &["expected: 7; got: 6 (at spec/cart_spec.rb:5)"]);
    check("dotnet-test", "dotnet test", 1, (RootCause, 0.75), &["Expected: 7; Actual: 6 (at CartTest.cs:10)"]);
    check("tsc", "npx tsc", 2, (Verification, 0.75), &["TS2322: Type 'number' is not assignable"]);
    check("gcc", "make", 2, (Verification, 0.6), &["‘missing’ undeclared", "(at total.c:2)"]);
    check("make-recipe", "make check", 2, (RootCause, 0.45), &["expected 3, got 4"]);
    check(
        "sh-not-found",
        "frobnicate --all",
        127,
        (ToolMisuse, 0.6),
        &["frobnicate: not found", "needs a program that is not there"],
    );
    check("sh-permission", "./q", 126, (ToolMisuse, 0.6), &["Permission denied", "execute permission"]);
    check(
        "sh-silent",
        "test a = b",
        1,
        (Verification, 0.3),
        &["The check ended with status 1 and printed nothing that says why", "Read the check itself"],
    );
    check("segv", "./s", 139, (RootCause, 0.6), &["The code breaks"]);
    check("diff", "diff a b", 1, (RootCause, 0.45), &["< b; ---; > c"]);
    check("node-heap", "node m.js", 134, (ApproachFlaw, 0.6), &["more memory than there is", "bound it"]);
    check(
        "node-typeerror",
        "node m.js",
        1,
        (TestGap, 0.75),
        &["TypeError: Cannot read properties of undefined", "cart.js:5 in name"],
    );
}

#[test]
fn how_the_agent_ended_decides_before_the_check() {
    let check = |ending: Ending, kind: FailureType, category: Category, words: &str| {
        let failure = FailureContext { ending, failure_type: kind, ..fixture("pytest-assert", "pytest", 1) };
        let draft = draft(&failure);
        assert_eq!(draft.category, category, "{}", text(&draft));
        assert!(text(&draft).contains(words), "{words:?}: {}", text(&draft));
        assert!(text(&draft).contains("assert 0 == (2 * 1)"), "the evidence is quoted all the same");
    };
    check(Ending::Timeout, FailureType::Timeout, Category::ApproachFlaw, "stopped by its time limit");
    check(Ending::Hang, FailureType::Timeout, Category::ApproachFlaw, "printed nothing for too long");
    check(Ending::Budget, FailureType::CheckFailed, Category::ApproachFlaw, "used up its budget");
    check(Ending::Context, FailureType::CheckFailed, Category::ApproachFlaw, "context window overflowed");
    check(Ending::Permission, FailureType::CheckFailed, Category::ToolMisuse, "not allowed to do something");
    check(Ending::Crash, FailureType::AgentError, Category::RootCause, "ended by a signal");
}

#[test]
fn without_a_check_the_agents_own_end_is_the_lesson() {
    let check = |kind: FailureType, ending: Ending, said: &str, category: Category, words: &str| {
        let failure = FailureContext {
            check: None,
            output: Output::whole(said),
            signature: Signature::default(),
            failure_type: kind,
            ending,
            files_changed: Vec::new(),
            ..test_failure()
        };
        let draft = draft(&failure);
        assert_eq!((draft.category, text(&draft).contains(words)), (category, true), "{}", text(&draft));
    };
    check(
        FailureType::EmptyChange,
        Ending::Finished,
        "",
        Category::Verification,
        "Nothing was changed.\n=> Write a change to disk.",
    );
    check(FailureType::EmptyChange, Ending::Timeout, "", Category::ApproachFlaw, "stopped by its time limit");
    check(
        FailureType::MergeConflict,
        Ending::Finished,
        "CONFLICT (content): Merge conflict in a.py",
        Category::ApproachFlaw,
        "does not fit on what was merged since: CONFLICT (content): Merge conflict in a.py.",
    );
    check(
        FailureType::AgentError,
        Ending::AgentError,
        "boom\nerror: the model refused\n",
        Category::ToolMisuse,
        "error: the model refused",
    );
    check(FailureType::Timeout, Ending::Timeout, "", Category::ApproachFlaw, "Do less at a time");
}

#[test]
fn a_check_out_of_time_is_told_from_an_agent_out_of_time() {
    let mut failure = failure("running 3 tests\n", "cargo test", 0);
    failure.failure_type = FailureType::Timeout;
    let check = failure.check.as_mut().unwrap();
    (check.exit_status, check.timed_out) = (None, true);
    failure.signature.timed_out = true;
    let draft = draft(&failure);
    assert!(draft.analysis.starts_with("What the check runs does not come to an end"), "{}", text(&draft));
    assert!(draft.suggestion.contains("For every loop and wait"), "{}", text(&draft));
    assert_eq!(draft.category, Category::ApproachFlaw);
}

#[test]
fn earlier_attempts_with_the_same_signature_call_for_another_approach() {
    let check = |attempt: u32, before: &[(u32, &str)], category: Category, words: &str| {
        let mut failure = failure("expected 3, got 4\n", "./verify.sh", 3);
        failure.signature.fingerprint = "v1:same".to_owned();
        failure.attempt_number = attempt;
        failure.previous_reflections = before.iter().map(|(attempt, signature)| earlier(*attempt, signature)).collect();
        let draft = draft(&failure);
        assert_eq!(draft.category, category, "{}", text(&draft));
        assert!(draft.analysis.ends_with(words), "{words:?}: {}", text(&draft));
        let repeated = category == Category::ApproachFlaw;
        assert_eq!(draft.suggestion.starts_with("The same change alone would fail in the same way again"), repeated);
        assert_eq!(draft.action_items[0].starts_with("State another cause"), repeated);
    };
    use Category::{ApproachFlaw, RootCause};
    check(1, &[], RootCause, "expected 3, got 4.");
    check(2, &[(1, "v1:same")], ApproachFlaw, "Attempt 2 failed in the same way as attempt 1: change the approach.");
    check(
        3,
        &[(2, "v1:same"), (1, "v1:same")],
        ApproachFlaw,
        "Attempt 3 failed in the same way as attempts 1 and 2: change the approach.",
    );
    check(
        3,
        &[(2, "v1:other"), (1, "v1:same")],
        ApproachFlaw,
        "Attempt 3 is back at the failure of attempt 1: what was changed in between undid its own repair.",
    );
    check(
        2,
        &[(1, "v1:other")],
        RootCause,
        "Attempt 1 failed differently, so its failure is behind us; this one is another.",
    );
    check(2, &[(2, "v1:same")], RootCause, "expected 3, got 4.");
    // What nobody changed has put nothing behind it.
    let mut idle = failure("expected 3, got 4\n", "./verify.sh", 3);
    idle.signature.fingerprint = "v1:same".to_owned();
    idle.previous_reflections = vec![earlier(1, "v1:other")];
    (idle.attempt_number, idle.failure_type) = (2, FailureType::EmptyChange);
    assert!(!draft(&idle).analysis.contains("behind us"), "{}", text(&draft(&idle)));
}

#[test]
fn it_says_why_it_was_asked() {
    let draft = Heuristic.draft(&test_failure(), "no generator is configured".to_owned());
    let origin = serde_json::to_value(&draft.origin).unwrap();
    assert_eq!(origin, serde_json::json!({"by": "heuristic", "because": "no generator is configured"}));
}

proptest! {
    // The rules are slow without optimisation; seventy texts of many marks each find what there is to find.
    #![proptest_config(ProptestConfig::with_cases(70))]
    #[test]
    fn any_failure_gets_a_lesson_within_the_caps(
        output in "(\\PC|\n|error: |FAILED |E   |ü){0,200}",
        run in "\\PC{0,30}",
        status in any::<i32>(),
        files in proptest::collection::vec("\\PC{0,30}", 0..6),
        code in proptest::option::of("\\PC{0,12}"),
    ) {
        let mut failure = failure(&output, &run, status);
        failure.files_changed = files;
        failure.signature.tests = vec!["ü".repeat(900); 3];
        if code.is_some() {
            failure.signature.code = code;
        }
        let draft = draft(&failure);
        prop_assert!((1..=1_000).contains(&draft.analysis.chars().count()));
        prop_assert!((1..=1_000).contains(&draft.suggestion.chars().count()));
        prop_assert!((1..=4).contains(&draft.action_items.len()));
        prop_assert!(draft.action_items.iter().all(|item| item.chars().count() <= 200 && !item.contains('\n')));
        prop_assert!((0.0..=1.0).contains(&draft.confidence));
    }
}
