//! The prompt of a retry as an agent gets it, on failures shaped as real tools print them: nothing in it is to be struck out.
//!
//! The whole loop runs on doubles; what a check prints is written here, decided by what is in the files.

use reflexion::domain::{CheckReport, CheckScope, CheckSpec, CheckStatus, Expects, Output, Signature, Task};
use reflexion::layer::Svc;
use reflexion::reflection::Signatures;
use reflexion::services::{
    FailureReader, Orchestrator, RunRequest, Settings, Subagents, Tasks, Verifier, VerifyRequest, Workspaces,
};
use reflexion::testing::{MemoryTasks, MemoryWorkspaces, ScriptedSubagent, fixed_settings};
use reflexion::{runtime, testing};
use std::path::Path;
use std::sync::Arc;

/// A project, what its check prints before any attempt and after the first one, and what that one changes.
struct Case {
    run: &'static str,
    title: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Exit status and output; `DIR` in it is where the check ran.
    before: (i32, &'static str),
    after: (i32, &'static str),
    /// Files and their new text.
    change: &'static [(&'static str, &'static str)],
    says: &'static str,
    protect: &'static [&'static str],
}

/// Prints one thing while the files are those of the base, and another when they are not.
struct Printed {
    files: MemoryWorkspaces,
    base: &'static [(&'static str, &'static str)],
    before: (i32, &'static str),
    after: (i32, &'static str),
}

#[async_trait::async_trait]
impl Verifier for Printed {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        let is_base = self
            .base
            .iter()
            .all(|(file, text)| self.files.read(&request.dir, Path::new(file)).as_deref() == Some(text));
        let (status, output) = if is_base { self.before } else { self.after };
        let output = output.replace("DIR", &request.dir.display().to_string());
        let report = |(scope, spec): (CheckScope, CheckSpec)| {
            let timed_out = status < 0;
            let mut report = CheckReport {
                spec,
                scope,
                status: if status == 0 { CheckStatus::Passed } else { CheckStatus::Failed },
                exit_status: (!timed_out).then_some(status),
                signal: None,
                timed_out,
                output: Output::whole(output.clone()),
                duration_ms: 1,
                signature: Signature::default(),
                rewrote: Vec::new(),
                changed_outside: Vec::new(),
            };
            report.signature = Signatures.read(&report);
            report
        };
        request.checks.into_iter().map(report).collect()
    }
}

/// The prompt of the second attempt, without the digests of its fences, and with ids that are always the same.
async fn retry(case: &Case) -> String {
    let files = MemoryWorkspaces::new(case.files.iter().copied());
    let agent = ScriptedSubagent::new();
    let (there, change, says) = (files.clone(), case.change, case.says);
    let first = move |request: &reflexion::services::AgentRequest| {
        for (file, text) in change {
            there.write(&request.dir, Path::new(file), text);
        }
        let report = reflexion::domain::AgentReport::new(reflexion::domain::Ending::Finished);
        Ok(reflexion::domain::AgentReport { message: says.to_owned(), ..report })
    };
    let agent = agent.acts(first).ends(reflexion::domain::Ending::Finished, "Nothing.");
    let mut settings = fixed_settings();
    settings.run.max_attempts = 2;
    settings.run.protect = case.protect.iter().map(|glob| (*glob).to_owned()).collect();
    settings.run.checks = vec![serde_json::from_value(serde_json::json!({"name": "test", "run": case.run})).unwrap()];
    let task = Task { title: case.title.to_owned(), expects: Expects::Fix, checks: Vec::new(), ..testing::task("a") };
    let verifier = Printed { files: files.clone(), base: case.files, before: case.before, after: case.after };
    let tasks: Arc<dyn Tasks> = Arc::new(MemoryTasks::new(vec![task]));
    let app = runtime::test::test()
        .with(Svc::<dyn Settings>::new(settings))
        .with(Svc::<dyn Workspaces>::new(files))
        .with(Svc::<dyn Subagents>::new(agent.clone()))
        .with(Svc::<dyn Tasks>::from(tasks))
        .with(Svc::<dyn Verifier>::new(verifier))
        .build::<Svc<dyn Orchestrator>>()
        .await
        .unwrap();
    app.run(RunRequest::everything(runtime::new_run_id())).await.unwrap();
    app.shutdown().await.unwrap();
    let prompts: Vec<String> = agent.requests().into_iter().map(|request| request.prompt).collect();
    let digests = regex::Regex::new("-[0-9a-f]{16}([ >])").unwrap();
    digests.replace_all(&prompts[1], "$1").into_owned()
}

macro_rules! reads {
    ($($name:ident: $case:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            insta::assert_snapshot!(stringify!($name), retry(&$case).await);
        }
    )*};
}

const CART: &str =
    "def total(prices):\n    result = 0\n    for price in prices[1:]:\n        result += price\n    return result\n";
const CART_TEST: &str = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2, 3]) == 6\n\n\ndef test_none():\n    assert total([]) == 0\n";
const PYTEST: &str = ".F                                                                       [100%]\n=================================== FAILURES ===================================\n__________________________________ test_total __________________________________\n\n    def test_total():\n>       assert total([1, 2, 3]) == 6\nE       assert 5 == 6\nE        +  where 5 = total([1, 2, 3])\n\ntest_cart.py:5: AssertionError\n=========================== short test summary info ============================\nFAILED test_cart.py::test_total - assert 5 == 6\n1 failed, 1 passed in 0.03s\n";
const PYTEST_3: &str = ".F                                                                       [100%]\n=================================== FAILURES ===================================\n__________________________________ test_total __________________________________\n\n    def test_total():\n>       assert total([1, 2, 3]) == 6\nE       assert 3 == 6\nE        +  where 3 = total([1, 2, 3])\n\ntest_cart.py:5: AssertionError\n=========================== short test summary info ============================\nFAILED test_cart.py::test_total - assert 3 == 6\n1 failed, 1 passed in 0.03s\n";
const CART_CASE: Case = Case {
    run: "pytest",
    title: "The first price is not counted",
    files: &[("cart.py", CART), ("test_cart.py", CART_TEST)],
    before: (1, PYTEST),
    after: (1, PYTEST_3),
    change: &[(
        "cart.py",
        "def total(prices):\n    result = 0\n    for price in prices[:-1]:\n        result += price\n    return result\n",
    )],
    says: "I fixed the slice; all tests pass now.",
    protect: &[],
};

const LONGEST: &str = "pub fn longest(words: &[&str]) -> String {\n    let mut longest = \"\";\n    for word in words {\n        if word.len() < longest.len() {\n            longest = word;\n        }\n    }\n    longest.to_owned()\n}\n";
const LIBTEST: &str = "\nrunning 1 test\ntest tests::finds ... FAILED\n\nfailures:\n\n---- tests::finds stdout ----\n\nthread 'tests::finds' panicked at src/lib.rs:17:9:\nassertion `left == right` failed\n  left: \"\"\n right: \"bbb\"\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/0123/library/std/src/panicking.rs:689:5\n   1: words::tests::finds\n             at ./src/lib.rs:17:9\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n\n\nfailures:\n    tests::finds\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`\n";
const E0308: &str = "   Compiling words v0.1.0 (DIR)\nerror[E0308]: mismatched types\n --> src/lib.rs:4:25\n  |\n4 |         if word.len() > longest {\n  |            ----------   ^^^^^^^ expected `usize`, found `&str`\n  |            |\n  |            expected because this is `usize`\n\nFor more information about this error, try `rustc --explain E0308`.\nerror: could not compile `words` (lib) due to 1 previous error\n";
const LONGEST_CASE: Case = Case {
    run: "cargo test",
    title: "The longest word is never found",
    files: &[("src/lib.rs", LONGEST)],
    before: (101, LIBTEST),
    after: (101, E0308),
    change: &[(
        "src/lib.rs",
        "pub fn longest(words: &[&str]) -> String {\n    let mut longest = \"\";\n    for word in words {\n        if word.len() > longest {\n            longest = word;\n        }\n    }\n    longest.to_owned()\n}\n",
    )],
    says: "Fixed the comparison. `cargo test` passes.",
    protect: &[],
};

const DATES: &str =
    "import { pad } from './pad.js';\n\nexport const iso = (date) => `${date.year}-${pad(date.month)}-${date.day}`;\n";
const DATES_TEST: &str = "import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport { iso } from './dates.js';\n\ntest('pads days', () => {\n  assert.equal(iso({ year: 2026, month: 1, day: 2 }), '2026-01-02');\n});\ntest('keeps long ones', () => {\n  assert.equal(iso({ year: 2026, month: 11, day: 12 }), '2026-11-12');\n});\n";
const TAP: &str = "TAP version 13\n# Subtest: pads days\nnot ok 1 - pads days\n  ---\n  duration_ms: 1.2\n  location: 'DIR/dates.test.js:5:1'\n  failureType: 'testCodeFailure'\n  error: |-\n    Expected values to be strictly equal:\n    + actual - expected\n    \n    + '2026-01-2'\n    - '2026-01-02'\n  code: 'ERR_ASSERTION'\n  name: 'AssertionError'\n  expected: '2026-01-02'\n  actual: '2026-01-2'\n  operator: 'strictEqual'\n  ...\n# Subtest: keeps long ones\nok 2 - keeps long ones\n  ---\n  duration_ms: 0.1\n  ...\n1..2\n# tests 2\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 40.1\n";
const TAP_NOT_LOADED: &str = "TAP version 13\n# file://DIR/dates.js:1\n# import { pad, padDay } from './pad.js';\n#               ^^^^^^\n# SyntaxError: The requested module './pad.js' does not provide an export named 'padDay'\n#     at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)\n# Node.js v20.20.2\n# Subtest: DIR/dates.test.js\nnot ok 1 - DIR/dates.test.js\n  ---\n  duration_ms: 357.5\n  location: 'DIR/dates.test.js:1:1'\n  failureType: 'testCodeFailure'\n  exitCode: 1\n  signal: ~\n  error: 'test failed'\n  code: 'ERR_TEST_FAILURE'\n  ...\n1..1\n# tests 1\n# suites 0\n# pass 0\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 388.0\n";
const TAP_SKIPPED: &str = "TAP version 13\n# Subtest: pads days\nok 1 - pads days # SKIP\n  ---\n  duration_ms: 0.1\n  ...\n# Subtest: keeps long ones\nok 2 - keeps long ones\n  ---\n  duration_ms: 0.1\n  ...\n1..2\n# tests 2\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 1\n# todo 0\n# duration_ms 40.1\n";
const DATES_CASE: Case = Case {
    run: "node --test",
    title: "Days have one digit",
    files: &[("dates.js", DATES), ("dates.test.js", DATES_TEST)],
    before: (1, TAP),
    after: (1, TAP_NOT_LOADED),
    change: &[(
        "dates.js",
        "import { pad, padDay } from './pad.js';\n\nexport const iso = (date) => `${date.year}-${pad(date.month)}-${padDay(date.day)}`;\n",
    )],
    says: "All tests pass.",
    protect: &[],
};

const SLOTS: &str = "def first_free(slots):\n    for slot in slots:\n        if not slot.get(\"taken\"):\n            return slot[\"start\"]\n    return slots[0][\"start\"]\n";
const UNITTEST: &str = "F.\n======================================================================\nFAIL: test_all_taken (test_slots.Slots.test_all_taken)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"DIR/test_slots.py\", line 8, in test_all_taken\n    self.assertIsNone(first_free([{\"start\": 9, \"taken\": True}]))\nAssertionError: 9 is not None\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n";
const UNITTEST_ERROR: &str = "E.\n======================================================================\nERROR: test_all_taken (test_slots.Slots.test_all_taken)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"DIR/test_slots.py\", line 8, in test_all_taken\n    self.assertIsNone(first_free([{\"start\": 9, \"taken\": True}]))\n                      ~~~~~~~~~~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  File \"DIR/slots.py\", line 5, in first_free\n    return free[0][\"start\"]\n           ~~~~^^^\nIndexError: list index out of range\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (errors=1)\n";
const UNITTEST_GREEN: &str =
    "..\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n";

const TSC: &str = "src/price.ts(6,3): error TS2322: Type 'number' is not assignable to type 'string'.\n";
const TSC_ELSEWHERE: &str =
    "src/cart.ts(4,36): error TS2339: Property 'toUpperCase' does not exist on type 'number'.\n";

const COUNTDOWN: &str =
    "#!/bin/sh\n# Counts down from $1 to 1.\nn=$1\nwhile [ \"$n\" -gt 1 ]; do echo \"$n\"; n=$((n - 1)); done\n";

reads! {
    an_assertion_of_pytest: CART_CASE;
    an_exception_of_unittest: Case {
        run: "python3 -m unittest",
        title: "No free slot",
        files: &[("slots.py", SLOTS)],
        before: (1, UNITTEST),
        after: (1, UNITTEST_ERROR),
        change: &[("slots.py", "\n\ndef first_free(slots):\n    free = [slot for slot in slots if not slot.get(\"taken\")]\n    return free[0][\"start\"]\n")],
        says: "Done.",
        protect: &[],
    };
    a_compile_error_of_cargo: LONGEST_CASE;
    a_missing_name_of_node: DATES_CASE;
    a_check_of_make_that_does_not_end: Case {
        run: "make check",
        title: "Countdown stops at 2",
        files: &[("countdown.sh", COUNTDOWN)],
        before: (2, "./check.sh\nexpected '3 2 1 ', got '3 2 '\nmake: *** [Makefile:2: check] Error 1\n"),
        after: (-1, "./check.sh\n"),
        change: &[("countdown.sh", "#!/bin/sh\n# Counts down from $1 to 1.\nn=$1\nwhile [ \"$n\" -ge 1 ]; do echo \"$n\"; n=$((n - 0)); done\n")],
        says: "Done.",
        protect: &[],
    };
    a_deleted_test: Case {
        after: (0, ".                                                                        [100%]\n1 passed in 0.01s\n"),
        change: &[
            ("cart.py", "def total(prices):\n    return sum(prices)\n"),
            ("test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total([1, 2, 3]) == 6\n"),
        ],
        says: "Fixed, and cleaned up the tests.",
        ..CART_CASE
    };
    a_protected_file: Case {
        run: "python3 -m unittest",
        title: "No free slot",
        files: &[("slots.py", SLOTS), ("tests/test_slots.py", "import unittest\n")],
        before: (1, UNITTEST),
        after: (0, UNITTEST_GREEN),
        change: &[
            ("slots.py", "def first_free(slots):\n    return None\n"),
            ("tests/test_slots.py", "import unittest\n# checked\n"),
        ],
        says: "Done.",
        protect: &["tests/**"],
    };
    a_skipped_test: Case {
        after: (0, TAP_SKIPPED),
        change: &[
            ("dates.js", "import { pad } from './pad.js';\n\n// One digit is fine.\nexport const iso = (date) => `${date.year}-${pad(date.month)}-${date.day}`;\n"),
            ("dates.test.js", "import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport { iso } from './dates.js';\n\ntest.skip('pads days', () => {\n  assert.equal(iso({ year: 2026, month: 1, day: 2 }), '2026-01-02');\n});\ntest('keeps long ones', () => {\n  assert.equal(iso({ year: 2026, month: 11, day: 12 }), '2026-11-12');\n});\n"),
        ],
        ..DATES_CASE
    };
    nothing_was_changed: Case { change: &[], says: "It is correct already; the tests pass.", ..LONGEST_CASE };
    an_error_of_tsc_in_another_file: Case {
        run: "tsc --noEmit",
        title: "format returns a number",
        files: &[("src/price.ts", "export interface Price {\n  amount: number;\n}\n\nexport function format(price: Price): string {\n  return price.amount;\n}\n")],
        before: (2, TSC),
        after: (2, TSC_ELSEWHERE),
        change: &[("src/price.ts", "export interface Price {\n  amount: number;\n}\n\nexport function format(price: Price): number {\n  return price.amount;\n}\n")],
        says: "Changed the type so that it fits.",
        protect: &[],
    };
}
