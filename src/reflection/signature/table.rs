//! What is read from the outputs in `tests/fixtures/failures/`, which real tools printed.

use super::{Signatures, details};
use crate::domain::{CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Output, Signature};
use crate::services::FailureReader;
use proptest::prelude::*;

fn report(output: &str) -> CheckReport {
    CheckReport {
        spec: CheckSpec {
            name: "check".to_owned(),
            run: CheckCommand::Shell("./check.sh".to_owned()),
            timeout_ms: None,
            results: None,
        },
        scope: CheckScope::Task,
        status: CheckStatus::Failed,
        exit_status: Some(1),
        signal: None,
        timed_out: false,
        output: Output::whole(output),
        duration_ms: 1,
        signature: Signature::default(),
        rewrote: Vec::new(),
        changed_outside: Vec::new(),
    }
}

fn read(output: &str) -> Signature {
    Signatures.read(&report(output))
}

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/failures/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `tool | code | tests | frame | message`, empty where nothing is known.
fn check(name: &str, expected: &str) {
    let found = read(&fixture(name));
    let line = [
        found.tool,
        found.code.unwrap_or_default(),
        found.tests.join(", "),
        found.frame.unwrap_or_default(),
        found.message.unwrap_or_default(),
    ];
    assert_eq!(line.join(" | "), expected, "{name}");
}

#[test]
fn rust_tools() {
    check("cargo-clippy", r"cargo | unused_variables |  | src/lib.rs:2 | unused variable: `prices`");
    check("cargo-dep", r"cargo |  |  |  | no matching package named `nothere-crate` found");
    check("cargo-e0308", r"cargo | E0308 |  | src/lib.rs:2 | mismatched types");
    check("cargo-import", r"cargo | E0432 |  | src/lib.rs:1 | unresolved import `nothere`");
    check(
        "cargo-no-manifest",
        r"cargo |  |  |  | could not find `Cargo.toml` in `<path>/wallet` or any parent directory",
    );
    check(
        "cargo-run-panic",
        r"rust | panic |  | src/main.rs:1 | index out of bounds: the len is <n> but the index is <n>",
    );
    check("cargo-syntax", r"cargo |  |  | src/lib.rs:2 | mismatched closing delimiter: `}`");
    check("doctest", r"cargo test | panic | src/lib.rs - (line 1) | src/lib.rs:5 | assertion `left == right` failed");
    check("libtest-abort", r"cargo test | SIGABRT | tests::errs |  | the test process died (signal: <n>, SIGABRT)");
    check(
        "libtest-assert",
        r"cargo test | panic | tests::adds_all_prices, tests::empty_has_no_first | src/lib.rs:13 | assertion `left == right` failed",
    );
    check("libtest-err", r#"cargo test |  | tests::errs |  | "the file is missing""#);
    check("libtest-hang", r"cargo test |  | tests::errs |  | ");
    check(
        "nextest-assert",
        r"cargo nextest | panic | tests::adds_all_prices, tests::empty_has_no_first | src/lib.rs:13 | assertion `left == right` failed",
    );
    check("rustc-e0308", r"rustc | E0308 |  | e0308.rs:2 | mismatched types");
}

#[test]
fn python_tools() {
    check(
        "pytest-assert",
        r"pytest | AssertionError | test_calc.py::TestMore::test_twice[1], test_calc.py::TestMore::test_twice[2], test_calc.py::test_add, test_calc.py::test_ratio | test_calc.py:17 | assert <n> == (<n> * <n>)",
    );
    check(
        "pytest-import",
        r"pytest | ImportError | test_imp.py | test_imp.py:1 | cannot import name 'subtract' from 'calc' (<path>/calc.py)",
    );
    check("pytest-syntax", r"pytest | SyntaxError | test_one.py | lib.py:2 | '(' was never closed");
    check("pytest-none", r"pytest |  |  |  | <n> deselected in <time>");
    check(
        "pytest-short",
        r"pytest | AssertionError | test_calc.py::TestMore::test_twice[1], test_calc.py::TestMore::test_twice[2], test_calc.py::test_add, test_calc.py::test_ratio | test_calc.py:17 in test_twice | assert <n> == (<n> * <n>)",
    );
    check("python-chained", r"python | RuntimeError |  | chain.py:6 in load | the settings at <addr> are no JSON");
    check("python-memory", r"python | MemoryError |  | bad.py:1 | ");
    check("python-module", r"python | ModuleNotFoundError |  | bad.py:1 | No module named 'numpyx'");
    check("python-syntax", r"python | SyntaxError |  | bad.py:1 | invalid syntax");
    check("python-traceback", r"python | ZeroDivisionError |  | calc.py:6 in ratio | division by zero");
    check(
        "unittest",
        r"unittest | AssertionError | test_unit.Calc.test_add, test_unit.Calc.test_ratio | test_unit.py:6 in test_add | -<n> != <n>",
    );
}

#[test]
fn javascript_tools() {
    check(
        "jest",
        r"jest |  | adds prices, users › has a name | jt/cart.test.js:2 | expect(received).toBe(expected) // Object.is equality",
    );
    check(
        "mocha",
        r"mocha | AssertionError | cart adds prices, cart has a name | mt/cart.js:3 | Expected values to be strictly equal",
    );
    check("node-heap", r"node | fatal |  |  | Reached heap limit Allocation failed - JavaScript heap out of memory");
    check("node-module", r"node | MODULE_NOT_FOUND |  | m.js:1 | Cannot find module 'lodashx'");
    check("node-syntax", r"node | SyntaxError |  | m.js:1 | Unexpected token ';'");
    check(
        "node-test-spec",
        r"node:test | AssertionError | adds prices, has a name | nt/cart.test.js:4 | Expected values to be strictly equal",
    );
    check(
        "node-test-tap",
        r"node:test | AssertionError | adds prices, has a name | nt/cart.test.js:4 | Expected values to be strictly equal",
    );
    // The error that was expected to be another one has a stack of its own.
    check(
        "node-throws-tap",
        r"node:test | AssertionError | throws msg, throws re | price.test.js:3 | Expected values to be strictly deep-equal",
    );
    check(
        "node-typeerror",
        r"node | TypeError |  | cart.js:5 in name | Cannot read properties of undefined (reading 'name')",
    );
    check("tsc", r"tsc | TS2322 |  | ts/cart.ts:2 | Type 'number' is not assignable to type 'string'.");
    check("tsc-pretty", r"tsc | TS2322 |  | ts/cart.ts:2 | Type 'number' is not assignable to type 'string'.");
    check(
        "vitest",
        r"vitest | AssertionError | adds prices, users > has a name | vt/cart.test.mjs:3 | expected <n> to be <n> // Object.is equality",
    );
}

#[test]
fn runners_with_a_block_for_each_failing_test() {
    check(
        "rspec",
        r"rspec |  | Cart adds all prices, Cart knows the mean of nothing | spec/cart_spec.rb:5 | expect(Cart.total([<n>, <n>, <n>])).to eq(<n>)",
    );
    check(
        "phpunit",
        r"phpunit |  | CartTest::testAddsAllPrices, CartTest::testMeanOfNothing | tests/CartTest.php:10 | Failed asserting that <n> is identical to <n>.",
    );
    check(
        "maven",
        r"maven | AssertionError | cart.CartTest.addsAllPrices, cart.CartTest.meanOfNothing | CartTest.java:10 | expected:<<n>> but was:<<n>>",
    );
    check(
        "gradle",
        r"gradle | AssertionFailedError | CartTest > addsAllPrices(), CartTest > meanOfNothing() | CartTest.java:10 | expected: <<n>> but was: <<n>>",
    );
    check(
        "dotnet-test",
        r"dotnet test |  | Cart.Tests.CartTest.AddsAllPrices, Cart.Tests.CartTest.MeanOfNothing | CartTest.cs:10 | Assert.Equal() Failure: Values differ",
    );
    check(
        "playwright",
        r"playwright |  | pt/cart.spec.ts › cart › adds all prices, pt/cart.spec.ts › cart › has a name | cart.spec.ts:7 | expect(received).toBe(expected) // Object.is equality",
    );
}

#[test]
fn what_breaks_in_the_code_shows_there_and_not_in_the_runner() {
    let first = |name: &str, from: &str, to: &str| {
        let output = fixture(name);
        assert!(output.contains(from), "{name} holds {from:?}");
        let found = read(&output.replace(from, to));
        (found.code.unwrap_or_default(), found.frame.unwrap_or_default(), found.message.unwrap_or_default())
    };
    let expected = |code: &str, frame: &str, message: &str| (code.to_owned(), frame.to_owned(), message.to_owned());
    assert_eq!(
        first("rspec", "1) Cart adds", "1) Cart totals"),
        expected("ZeroDivisionError", "lib/cart.rb:3", "divided by <n>")
    );
    assert_eq!(
        first("phpunit", "testAddsAll", "testTotals"),
        expected("DivisionByZeroError", "src/Cart.php:5", "Division by zero")
    );
    assert_eq!(
        first("dotnet-test", "AddsAll", "Totals"),
        expected("DivideByZeroException", "Cart.cs:12", "Attempted to divide by zero.")
    );
    assert_eq!(
        first("playwright", "adds all prices ─", "totals ─"),
        expected("TypeError", "cart.spec.ts:12", "Cannot read properties of undefined (reading 'name')")
    );
}

#[test]
fn go_tools() {
    check(
        "go-build",
        r"go build |  |  | broken.go:3 | cannot use <n> (untyped int constant) as string value in return statement",
    );
    check(
        "go-panic",
        r"go test | panic | TestFirst, TestTotal/two_prices | cart.go:11 | runtime error: index out of range [<n>] with length <n>",
    );
    check("go-run-panic", r"go | panic |  | main.go:3 | assignment to entry in nil map");
    check("go-test", r"go test |  | TestTotal/two_prices | cart_test.go:8 | Total() = <n>, want <n>");
    check(
        "go-test-build",
        r"go build |  |  | broken.go:3 | cannot use <n> (untyped int constant) as string value in return statement",
    );
    check(
        "go-vet",
        r"go build |  |  | broken.go:3 | cannot use <n> (untyped int constant) as string value in return statement",
    );
}

#[test]
fn compilers_and_make() {
    check("c-assert", r"shell | assert |  | a.c:2 | Assertion `<n>+<n>==<n>' failed");
    check(
        "mypy",
        "mypy | return-value |  | typed.py:2 | Incompatible return value type (got \"str\", expected \"int\")",
    );
    check("gcc", r"gcc |  |  | total.c:2 | ‘missing’ undeclared (first use in this function)");
    check("gcc-link", r"ld |  |  | main.c | undefined reference to `helper'");
    check("gpp", r"gcc |  |  | v.cc:2 | ‘class std::vector<int>’ has no member named ‘push’");
    check("maven-compile", r"javac |  |  | Cart.java:6 | cannot find symbol");
    check(
        "dotnet-build",
        r"dotnet build | CS0103 |  | Cart.cs:6 | The name 'price' does not exist in the current context",
    );
    check("make-gcc", r"gcc |  |  | total.c:2 | ‘missing’ undeclared (first use in this function)");
    check("make-no-rule", r"make |  |  |  | No rule to make target 'nothere.c', needed by 'all'.");
    check("make-none", r"make |  |  |  | No targets specified and no makefile found.");
    check("make-recipe", r"make |  |  | Makefile:4 | expected <n>, got <n>");
}

#[test]
fn linters() {
    let identical = r"cargo | clippy::if_same_then_else |  | src/lib.rs:2 | this `if` has identical blocks";
    check("cargo-clippy-lint", identical);
    check("eslint", r"eslint | no-unused-vars |  | cart.js:1 | 'unused' is assigned a value but never used");
    check("eslint-syntax", r"eslint |  |  | broken.js:1 | Parsing error: Unexpected token ;");
    check("ruff", r"ruff | F401 |  | cart.py:1 | `os` imported but unused");
    check("ruff-concise", r"ruff | F401 |  | cart.py:1 | `os` imported but unused");
    check("ruff-syntax", r"ruff | invalid-syntax |  | broken.py:1 | unexpected EOF while parsing");
}

#[test]
fn the_shell() {
    check("bash-not-found", r"shell | command not found |  |  | bash: line <n>: frobnicate: command not found");
    check("diff", r"shell |  |  |  | > c");
    check("segv", r"shell | segmentation fault |  |  | Segmentation fault");
    check("sh-no-file", r"shell | no such file or directory |  |  | cat: no/such/file: No such file or directory");
    check("sh-not-found", r"shell | command not found |  |  | sh: <n>: frobnicate: not found");
    check("sh-permission", r"shell | permission denied |  |  | sh: <n>: ./q: Permission denied");
    check("sh-silent", r"shell |  |  |  | ");
    check("sh-syntax", r#"shell | syntax error |  |  | sh: <n>: Syntax error: "then" unexpected"#);
}

#[test]
fn every_captured_output_stands_in_the_tables() {
    let table = concat!(include_str!("table.rs"), include_str!("counted.rs"));
    let dir = format!("{}/tests/fixtures/failures", env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(name) = name.strip_suffix(".txt") {
            assert!(table.contains(&format!("\"{name}\"")), "{name} is not checked");
        }
    }
}

#[test]
fn the_outermost_tool_is_believed() {
    let check = |output: &str, tool: &str| assert_eq!(read(output).tool, tool, "{output}");
    let pytest = fixture("pytest-assert");
    check(&format!("{}\n{pytest}", fixture("tsc")), "pytest");
    check(&pytest.replace("src/x.ts(1,1): error TS2322: not ours", &fixture("libtest-assert")), "pytest");
    check(&pytest.replace("src/x.ts(1,1): error TS2322: not ours", &fixture("python-traceback")), "pytest");
    let libtest = fixture("libtest-assert");
    check(&libtest.replace("adding up,", &fixture("pytest-assert")), "cargo test");
    check(&format!("{libtest}make: *** [Makefile:2: test] Error 101\n"), "cargo test");
    check(&format!("{}npm error Lifecycle script `test` failed\n", fixture("jest")), "jest");
}

#[test]
fn words_alone_are_no_evidence() {
    let check = |output: &str| {
        let found = read(output);
        assert_eq!((found.tool.as_str(), found.code, found.tests), ("shell", None, vec![]), "{output}");
    };
    check("the latest failed: it is important that every type has a test");
    check("error TS2322 and error[E0308] are codes; FAILED (failures=1");
    check("0 tests failed\nAssertionError is a class in Python\nimport error handling\n");
    check("panicked at the disco\npanic: no\nTraceback of a parcel\nexpected `String`\n");
    check("test result: pending\nERROR: everything\n--- FAILED ---");
    check("not okay\nok 1 - fine\nFAIL fast is a motto");
}

#[test]
fn the_same_failure_has_the_same_fingerprint_wherever_and_whenever_it_happens() {
    let same = |name: &str, from: &str, to: &str| {
        let output = fixture(name);
        assert!(output.contains(from), "{name} holds {from:?}");
        let (before, after) = (read(&output), read(&output.replace(from, to)));
        assert_eq!(before.fingerprint, after.fingerprint, "{name}: {from:?} -> {to:?}");
        assert!(before.fingerprint.starts_with("v1:") && before.fingerprint.len() == 19);
    };
    same("libtest-assert", "src/lib.rs:13:9", "src/lib.rs:24:9");
    same("libtest-assert", "(12166)", "(7)");
    same("python-traceback", "/home/me/calc", "/tmp/other/place/calc");
    same("python-traceback", "line 6", "line 16");
    same("python-chained", "0x7f12ab", "0x55dead");
    same("pytest-import", "/home/me/calc", "/var/tmp/w-2");
    same("node-test-tap", "duration_ms: 3.975965", "duration_ms: 5.1");
    same("node-test-tap", "/home/me/cart-js", "/tmp/w-2/cart-js");
    same("go-panic", "0xc000096d00", "0xc0000aaaaa");
    same("jest", "(51 ms)", "(3 ms)");
    same("nextest-assert", "0.274s", "9.001s");
    same("gcc", "total.c:2:16", "total.c:9:1");
}

#[test]
fn another_failure_has_another_fingerprint() {
    let other = |name: &str, from: &str, to: &str| {
        let output = fixture(name);
        assert!(output.contains(from), "{name} holds {from:?}");
        let (before, after) = (read(&output), read(&output.replace(from, to)));
        assert_ne!(before.fingerprint, after.fingerprint, "{name}: {from:?} -> {to:?}");
    };
    other("libtest-assert", "tests::empty_has_no_first", "tests::empty_is_none");
    other("cargo-e0308", "E0308", "E0277");
    other("cargo-e0308", "--> src/lib.rs", "--> src/main.rs");
    other("python-traceback", "ZeroDivisionError", "ValueError");
    other("tsc", "not assignable", "not comparable");
    let mut killed = report("");
    killed.exit_status = Some(139);
    assert_ne!(Signatures.read(&killed).fingerprint, read("").fingerprint);
}

#[test]
fn out_of_time_the_tool_comes_from_the_command_and_the_rest_is_chance() {
    let timed_out = |run: &str, output: &str| {
        let mut check = report(output);
        check.spec.run = CheckCommand::Shell(run.to_owned());
        (check.exit_status, check.signal, check.timed_out) = (None, Some(15), true);
        Signatures.read(&check)
    };
    let hang = timed_out("cd app && RUST_BACKTRACE=1 cargo test", &fixture("libtest-hang"));
    assert_eq!((hang.tool.as_str(), hang.timed_out), ("cargo test", true));
    assert_eq!(hang.fingerprint, timed_out("cargo test", "running 3 tests\n").fingerprint);
    assert_ne!(hang.fingerprint, timed_out("pytest -q", "").fingerprint);
    assert_ne!(hang.fingerprint, read("").fingerprint);
}

#[test]
fn out_of_memory_is_told_by_the_kernel_or_the_program() {
    let check = |output: &str, status: i32, signal: Option<i32>, expected: bool| {
        let mut report = report(output);
        (report.exit_status, report.signal) = (Some(status).filter(|_| signal.is_none()), signal);
        assert_eq!(Signatures.read(&report).out_of_memory, expected, "{output} {status} {signal:?}");
    };
    check(&fixture("python-memory"), 1, None, true);
    check(&fixture("node-heap"), 134, None, true);
    check("Memory cgroup out of memory: Killed process 12 (rustc)", 137, None, true);
    check("[1] oom-kill:constraint=CONSTRAINT_MEMCG", 0, Some(9), true);
    check("fork: Cannot allocate memory", 1, None, true);
    check("Killed", 137, None, false);
    check("", 0, Some(9), false);
    check("out of memory: killed process", 1, None, false);
    check(&fixture("pytest-assert").replace("not ours", "Cannot allocate memory"), 1, None, false);
}

#[test]
fn a_check_that_passed_looks_like_nothing_and_one_that_could_not_run_says_why() {
    let mut check = report("error: all is lost");
    check.status = CheckStatus::Passed;
    assert_eq!(Signatures.read(&check), Signature::default());
    check.status = CheckStatus::NotRun { because: "program `pytest` was not found on PATH".to_owned() };
    check.exit_status = None;
    let found = Signatures.read(&check);
    assert_eq!(found.message.as_deref(), Some("program `pytest` was not found on PATH"));
    assert!(!found.fingerprint.is_empty());
}

#[test]
fn the_command_names_the_tool_only_by_its_program() {
    let check = |run: &str, tool: &str| {
        let mut check = report("");
        check.spec.run = CheckCommand::Shell(run.to_owned());
        assert_eq!(Signatures.read(&check).tool, tool, "{run}");
    };
    check("cargo build --release", "cargo");
    check("cargo build && cargo nextest run", "cargo nextest");
    check("uv run python3 -m pytest -q", "pytest");
    check("/usr/bin/make test", "make");
    check("npx jest", "jest");
    check("./test-pytest.sh cargo", "shell");
    check("echo cargo test", "shell");
    check("", "shell");
}

proptest! {
    // The rules are slow without optimisation; seventy texts of many marks each find what there is to find.
    #![proptest_config(ProptestConfig::with_cases(70))]
    #[test]
    fn any_text_gives_a_signature(output in "(\\PC|\n|\u{1b}\\[31m|not ok 1 - |--- FAIL: |error\\[E0001\\]: | --> a.rs:1:1|Traceback \\(most recent call last\\):\n  File \"a.py\", line 1\n|E   |___ x ___|=== FAILURES ===|1 failed in 1s|  ● |1 failing|  1\\) |✖ failing tests:|test at a:1:1|ü){0,40}") {
        let found = read(&output);
        prop_assert!(found.fingerprint.starts_with("v1:"));
        prop_assert_eq!(found, read(&output));
        let _ = details(&CheckCommand::Argv(vec![]), &output);
    }
}
