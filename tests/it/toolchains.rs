//! A tool chain is a file: what `init`, `risk` and `judge` know of it stands in `config/toolchains/`, or in a file of the project's own.

use assert_cmd::Command;
use reflexion::toolchain;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The exit code, stdout and stderr.
fn ran(dir: &Path, args: &[&str], trusts: bool, stdin: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("reflexion").unwrap();
    command.current_dir(dir).args(args).env("REFLEXION_TRUST", if trusts { "1" } else { "" }).write_stdin(stdin);
    command.env("HOME", dir);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What `init` proposes.
fn proposed(files: &[(&str, &str)]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    let (_, stdout, stderr) = ran(dir.path(), &["init", "--dry-run", "--json"], true, "");
    serde_json::from_str::<Value>(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))["project"].take()
}

/// What the verdict on an agent that edited a file and then ran this command says of the last run of tests, its status, and whether
/// the task is complete.
fn judged(dir: &Path, trusts: bool, command: &str, exit: i32, output: &str) -> (String, String, bool) {
    let transcript = json!({
        "task": "Fix the sum",
        "tools": [
            {"tool": "edit", "filePath": "src/sum.hx"},
            {"tool": "bash", "command": command, "exitCode": exit, "output": output},
        ],
        "response": "Done.",
    });
    let (_, stdout, stderr) = ran(dir, &["judge", "--json"], trusts, &transcript.to_string());
    let verdict: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let gate = verdict["reasons"].as_array().unwrap().iter().find(|reason| reason["gate"] == "tests_passed").unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&gate["outcome"]), text(&verdict["status"]), verdict["complete"].as_bool().unwrap())
}

const OWN: &str = "code = ['hx']\n[programs]\ntest = ['utest run']\n[[summary]]\nrunner = 'utest'\ncontains = ' fine'\n\
                   line = '^(?P<passed>\\d+) fine(?:, (?P<failed>\\d+) broken)?$'\n";

fn with_own(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("project.json", r#"{"toolchains": ["tools/hx.toml"]}"#), ("tools/hx.toml", text)]);
    dir
}

#[test]
fn what_is_in_no_table_is_unproven() {
    let dir = tempfile::tempdir().unwrap();
    let unproven = ("not_run".to_owned(), "unproven".to_owned(), false);
    for output in ["4 fine", "all 4 tests were fine", "OK", ""] {
        assert_eq!(judged(dir.path(), true, "utest run", 0, output), unproven, "{output}");
    }
    // The same of a program that is known.
    assert_eq!(judged(dir.path(), true, "pytest", 0, "4 passed in 0.1s").0, "passed");
}

#[test]
fn a_file_of_the_projects_own_counts_once_it_is_trusted() {
    let dir = with_own(OWN);
    let gate = |trusts: bool, exit: i32, output: &str| judged(dir.path(), trusts, "utest run", exit, output).0;
    assert_eq!(gate(false, 0, "4 fine"), "not_run");
    assert_eq!(gate(true, 0, "4 fine"), "passed");
    assert_eq!(gate(true, 0, "3 fine, 1 broken"), "failed");
    let shown = || ran(dir.path(), &["trust", "--show"], false, "").1;
    let before = shown();
    assert!(before.contains("+ toolchains") && before.contains("knows tools by tools/hx.toml ("), "{before}");
    write(dir.path(), &[("tools/hx.toml", &OWN.replace("broken", "fine"))]);
    assert_ne!(shown(), before, "what counts is what is in it");
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_line_and_key() {
    let check = |text: &str, expected: &str| {
        let dir = with_own(text);
        for command in [&["run"][..], &["judge", "--json"]] {
            let (exit, _, stderr) = ran(dir.path(), command, true, r#"{"task": "a", "response": "b"}"#);
            assert!(exit > 1, "{command:?}: {stderr}");
            assert!(stderr.contains("tools/hx.toml") && stderr.contains(expected), "{command:?}: {stderr}");
        }
    };
    check("code = ['hx']\n[programs]\ntests = ['a']\n", "line 3: `programs.tests`: unknown field `tests`");
    check("# a\nlockfiles = ['a[']\n", "line 2: `lockfiles`: \"a[\" is no glob");
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("project.json", r#"{"toolchains": ["nowhere.toml"]}"#)]);
    let (exit, _, stderr) = ran(dir.path(), &["run"], true, "");
    assert!(exit > 1 && stderr.contains("nowhere.toml") && stderr.contains("`toolchains` names this file"), "{stderr}");
}

#[test]
fn projects_of_the_tables_get_their_check() {
    let check = |files: &[(&str, &str)], run: &str, setup: Option<&str>| {
        let project = proposed(files);
        assert_eq!(project["checks"][0]["run"], run, "{project}");
        assert_eq!(project["setup"].as_str(), setup, "{project}");
    };
    check(&[("go.mod", "module a\n")], "go test ./...", None);
    check(&[("pom.xml", ""), ("mvnw", "")], "./mvnw test", None);
    check(&[("settings.gradle.kts", "")], "gradle test", None);
    check(&[("Shop.sln", "")], "dotnet test", None);
    check(&[("mix.exs", "")], "mix test", Some("mix deps.get"));
    check(&[("api/phpunit.xml", "")], "cd api && vendor/bin/phpunit", Some("(cd api && composer install)"));
}

/// The runner, passed, failed and skipped tests, and whether it is green; nothing where no runner is recognised.
type Summed = (&'static str, Option<(u64, u64, u64)>, bool);

fn summary(output: &str) -> Option<Summed> {
    let counts = |counts: toolchain::Counts| (counts.passed, counts.failed, counts.skipped);
    toolchain::summary(output).map(|said| (said.runner, said.counts.map(counts), said.green))
}

fn is_known(manifest: &str, lockfile: &str, test: &str, code: &str) {
    assert!(toolchain::is_lockfile(lockfile) && toolchain::says_what_is_installed(manifest));
    assert!(toolchain::configures_tests(manifest));
    assert!(toolchain::is_test(test) && toolchain::is_code(test));
    assert!(toolchain::is_code(code) && !toolchain::is_test(code));
}

/// What gleeunit prints is written as its source puts it together (`src/gleeunit/internal/reporting.gleam`, 1.6 and 1.9), colours and all.
#[test]
fn gleam_is_a_file() {
    let project = proposed(&[("gleam.toml", "name = \"shop\"\n"), ("manifest.toml", "")]);
    assert_eq!(project["checks"], json!([{ "name": "gleam test", "run": "gleam test" }]));
    assert_eq!(project["setup"], "gleam deps download");
    is_known("gleam.toml", "manifest.toml", "test/shop_test.gleam", "src/shop.gleam");
    assert_eq!(toolchain::opens_test("pub fn adds_test() {", false), Some("adds_test"));
    let purpose = |args: &[&'static str]| toolchain::purpose("gleam", args);
    assert_eq!(purpose(&["test", "--target", "javascript"]), Some(toolchain::Purpose::Test));
    assert_eq!(purpose(&["format", "--check"]), Some(toolchain::Purpose::Lint));

    let green = |words: &str| {
        format!("   Compiled in 0.42s\n    Running shop_test.main\n....\n\u{1b}[32m\n{words}\u{1b}[39m\n")
    };
    assert_eq!(summary(&green("4 passed, no failures")), Some(("gleeunit", Some((4, 0, 0)), true)));
    assert_eq!(summary(&green("4 tests, no failures")), Some(("gleeunit", Some((4, 0, 0)), true)));
    assert_eq!(summary(&green("No tests found!")), Some(("gleeunit", Some((0, 0, 0)), true)));
    let failure = "\u{1b}[1m\u{1b}[31massert\u{1b}[39m\u{1b}[22m \u{1b}[90mtest/shop_test.gleam:9\u{1b}[39m\n\
                   \u{1b}[36m test\u{1b}[39m: shop_test.adds_test\n\u{1b}[36m code\u{1b}[39m: assert shop.add(1, 2) == 4\n\
                   \u{1b}[36m left\u{1b}[39m: 3\n\u{1b}[36mright\u{1b}[39m: literal\n\u{1b}[36m info\u{1b}[39m: Assertion failed.\n";
    let red = format!("...\n{failure}\n\u{1b}[31m\n3 passed, 1 failures\u{1b}[39m\n");
    assert_eq!(summary(&red), Some(("gleeunit", Some((3, 1, 0)), false)));
    let plain = |line: &str| {
        line.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect::<String>()
    };
    let named: Vec<_> = red
        .lines()
        .filter(|line| line.contains("test\u{1b}"))
        .filter_map(|line| toolchain::failed_test(&plain(line)))
        .collect();
    assert_eq!(named, [("gleeunit", "shop_test.adds_test".to_owned())]);
    assert_eq!(summary(&green("3 passed, 0 failures, 1 skipped")).map(|said| said.1), Some(Some((3, 0, 1))));
}

/// What `zig build test --summary all` prints is written as its source puts it together (`lib/compiler/build_runner.zig` and
/// `lib/std/Build/Step/Run.zig`, 0.13 and 0.15).
#[test]
fn zig_is_a_file() {
    let project = proposed(&[("build.zig", ""), ("build.zig.zon", ".{}")]);
    assert_eq!(project["checks"], json!([{ "name": "zig build test", "run": "zig build test --summary all" }]));
    is_known("build.zig", "build.zig.zon", "test/shop_test.zig", "src/shop.zig");
    assert!(toolchain::is_cache(".zig-cache") && !toolchain::is_cache("zig-out"));
    assert_eq!(toolchain::mark("src/shop.zig", "return error.SkipZigTest;"), Some(toolchain::Mark::Off));
    let text = "pub fn one() u8 {\n    return 1;\n}\n\ntest \"one\" {\n    try std.testing.expectEqual(1, one());\n}\n";
    assert_eq!(toolchain::inline_tests("src/shop.zig", text).unwrap().code, "pub fn one() u8 {\n    return 1;\n}\n\n");
    let purpose = |args: &[&'static str]| toolchain::purpose("zig", args);
    assert_eq!(purpose(&["build", "test", "--summary", "all"]), Some(toolchain::Purpose::Test));
    assert_eq!(purpose(&["build", "-Doptimize=ReleaseFast"]), Some(toolchain::Purpose::Build));
    assert_eq!(purpose(&["version"]), None);

    let check = |line: &str, counts: Option<(u64, u64, u64)>, green: bool| {
        let output = format!("{line}\ntest\n+- run test\n   +- compile test Debug native\n");
        assert_eq!(summary(&output), Some(("zig build test", counts, green)), "{line}");
    };
    check("Build Summary: 3/3 steps succeeded; 12/12 tests passed", Some((12, 0, 0)), true);
    for line in
        ["; 1 failed; 10/12 tests passed; 1 skipped; 1 failed", " (1 failed); 10/12 tests passed (1 skipped, 1 failed)"]
    {
        check(&format!("Build Summary: 1/3 steps succeeded{line}"), Some((10, 1, 1)), false);
    }
    // Some of it was not even compiled: the tests that were pass.
    for line in ["; 1 skipped; 1 failed; 5/5 tests passed", " (1 skipped, 1 failed); 5/5 tests passed"] {
        check(&format!("Build Summary: 2/5 steps succeeded{line}"), Some((5, 0, 0)), false);
    }
    check("Build Summary: 0/3 steps succeeded; 1 skipped; 1 failed", None, false);
    check("Build Summary: 0/3 steps succeeded (1 skipped, 1 failed)", None, false);
    let error = "error: 'shop.test.adds' failed:\nexpected 4, found 3\nlib/std/testing.zig:110:17: 0x104 in expectEqualInner (test)\n";
    let named: Vec<_> = error.lines().filter_map(toolchain::failed_test).collect();
    assert_eq!(named, [("zig build test", "shop.test.adds".to_owned())]);
    assert_eq!(
        summary("1/2 shop.test.one...OK\n1 passed; 1 skipped; 0 failed.\n").map(|said| said.1),
        Some(Some((1, 0, 1)))
    );
}
