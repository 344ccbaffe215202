//! The lessons that the heuristic draws from captured outputs, endings and earlier attempts.

use super::Heuristic;
use crate::domain::{
    Category, CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Draft, Ending, FailedCheck,
    FailureContext, FailureType, Output, Reflection, Signature,
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
        foreign: false,
    }
}

#[test]
fn a_failing_test_reads_like_this() {
    let failure =
        FailureContext { files_changed: vec!["src/lib.rs".to_owned()], ..fixture("libtest-assert", "cargo test", 101) };
    assert_eq!(
        text(&draft(&failure)),
        "Check `test` (`cargo test`) failed with exit status 101: `tests::adds_all_prices`, `tests::empty_has_no_first` \
         fail (one of them at src/lib.rs:13): assertion `left == right` failed; left: 5; right: 6. The agent stopped as if it was \
         done, although this check is red. The attempt changed `src/lib.rs`.
=> Work through `tests::adds_all_prices` by hand at src/lib.rs:13: find the first step where the code departs from what \
         is expected, and repair the code, not the test.
- Explain this: assertion `left == right` failed; left: 5; right: 6
- Run only the failing test: `cargo test tests::adds_all_prices`
- Run `cargo test` and see it pass before saying that the work is done"
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
    assert!(said.contains("this refutes the attempt: it changed protected files: py/test_text.py."), "{said}");
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
    assert!(said.contains("`tests::three` fails: \"broken\""), "{said}");
    assert!(!said.contains("tests::one") && !said.contains("tests::two"), "{said}");
}

#[test]
fn a_lesson_asks_for_nobody_elses_bugs() {
    let known_failures = vec!["tests::other".to_owned()];
    let said = text(&draft(&FailureContext { known_failures, ..fixture("libtest-assert", "cargo test", 101) }));
    assert!(said.contains("nothing fails in it but what failed before (`tests::other`)"), "{said}");
    assert!(!said.contains("see it pass"), "{said}");
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
            "at src/lib.rs:2: E0308: mismatched types; expected `String`, found `u32`",
            "`rustc --explain E0308`",
            "but not src/lib.rs, where it fails",
        ],
    );
    check(
        "cargo-import",
        "cargo build",
        101,
        (MissingContext, 0.75),
        &["unresolved import `nothere`", "do not invent packages"],
    );
    check("cargo-syntax", "cargo build", 101, (Verification, 0.6), &["cannot be parsed", "Open src/lib.rs:2"]);
    check(
        "pytest-assert",
        "pytest",
        1,
        (RootCause, 0.75),
        &[
            "and 1 more fail (one of them at test_calc.py:17)",
            "assert 0 == (2 * 1)",
            "`pytest 'test_calc.py::TestMore::test_twice[1]'`",
        ],
    );
    check("pytest-import", "pytest", 2, (MissingContext, 0.75), &["cannot import name 'subtract'"]);
    check("pytest-none", "pytest -k nothing", 5, (ToolMisuse, 0.45), &["No test was found"]);
    check(
        "unittest",
        "python3 -m unittest",
        1,
        (RootCause, 0.75),
        &["AssertionError: -1 != 5", "`python3 -m unittest -k test_unit.Calc.test_add`"],
    );
    check("jest", "npx jest", 1, (RootCause, 0.75), &["Expected: 2; Received: 3", "npx jest -t 'adds prices'"]);
    check("vitest", "npm test", 1, (RootCause, 0.75), &["expected 3 to be 2", "npx vitest run -t 'adds prices'"]);
    check(
        "go-test",
        "go test ./...",
        1,
        (RootCause, 0.75),
        &["Total() = 4, want 3", "go test -run 'TestTotal/two_prices' ./..."],
    );
    check(
        "go-panic",
        "go test ./...",
        1,
        (TestGap, 0.75),
        &["index out of range [0] with length 0", "Handle that value at cart.go:11"],
    );
    check("tsc", "npx tsc", 2, (Verification, 0.75), &["TS2322: Type 'number' is not assignable", "`tsc --noEmit`"]);
    check("gcc", "make", 2, (Verification, 0.6), &["at total.c:2: ‘missing’ undeclared"]);
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
        &["printed nothing that says why", "Read what `test a = b` does"],
    );
    check("segv", "./s", 139, (RootCause, 0.6), &["exit status 139 (signal 11, SIGSEGV, a segmentation fault)"]);
    check("diff", "diff a b", 1, (RootCause, 0.45), &["< b; ---; > c"]);
    check("node-heap", "node m.js", 134, (ApproachFlaw, 0.6), &["ran out of memory", "bound it"]);
    check(
        "node-typeerror",
        "node m.js",
        1,
        (TestGap, 0.75),
        &["at cart.js:5 in name: TypeError: Cannot read properties of undefined"],
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
        "The attempt changed nothing. The agent stopped as if it was done.",
    );
    check(FailureType::EmptyChange, Ending::Timeout, "", Category::ApproachFlaw, "stopped by its time limit");
    check(
        FailureType::MergeConflict,
        Ending::Finished,
        "CONFLICT (content): Merge conflict in a.py",
        Category::ApproachFlaw,
        "could not be merged: CONFLICT (content): Merge conflict in a.py.",
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
    assert!(draft.analysis.starts_with("Check `test` (`cargo test`) ran out of time"), "{}", text(&draft));
    assert!(draft.suggestion.contains("a loop that does not end"), "{}", text(&draft));
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
    check(1, &[], RootCause, "The attempt changed `cart.py`.");
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
    check(2, &[(2, "v1:same")], RootCause, "The attempt changed `cart.py`.");
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
