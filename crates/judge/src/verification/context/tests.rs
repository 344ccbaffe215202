use super::{RepositorySignals, Requirements, requirements, task_type};
use crate::domain::policy::{Required, Workflow};
use crate::domain::{Expects, TaskType};
use proptest::prelude::*;
use std::fs;

#[test]
fn kinds_of_work() {
    #[track_caller]
    fn check(expected: TaskType, tasks: &[&str]) {
        for task in tasks {
            assert_eq!(task_type(task), expected, "{task}");
        }
    }
    check(
        TaskType::Coding,
        &[
            "The login page crashes on empty passwords. Fix it.",
            "Can you add a dark mode toggle?",
            "Find the cause of the memory leak and fix it",
            "Set up ESLint and prettier",
            "Write unit tests for the tokenizer",
            "Do not change the public API. Speed up the parser.",
            "feat: add retry to the client",
            "We need to migrate from Jest to Vitest",
            "Fix docs generator crash",
            "Add an endpoint that returns the report as CSV",
            "Change the summary page to show totals",
            "Implement email sending in the notification service",
            "Implement the function described in README.md",
            "Configure CI to run on macOS too",
            "Clean up the unused imports",
            "1. Rename the module\n2. Update its callers",
        ],
    );
    check(
        TaskType::Docs,
        &[
            "Improve the README",
            "Write a migration guide for v2",
            "Add docstrings to utils.py",
            "Fix the typo in docs/intro.md",
            "Document the public functions of the crate",
            "Generate API documentation",
        ],
    );
    check(
        TaskType::Research,
        &[
            "Why does the build take so long?",
            "Explain the architecture of this repository",
            "Review this pull request, no code changes please",
            "Without changing any files, tell me how caching works",
            "Fix is not wanted; do not write code. Investigate the crash.",
            "Look at the codebase\nThis is research only - do not write any code",
        ],
    );
    check(
        TaskType::Ops,
        &[
            "Restart the staging cluster",
            "Install Node 22 on the build server",
            "Organize my inbox",
            "Rotate the production certificates",
        ],
    );
    check(TaskType::Other, &["Hello", "Thanks!", "", "When I click save nothing happens", "```\nfix the bug\n```"]);
}

/// The signals of a directory with these files.
fn read(files: &[(&str, &str)]) -> RepositorySignals {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    RepositorySignals::read(dir.path())
}

#[test]
fn what_projects_are_tested_and_built_with() {
    #[track_caller]
    fn check(files: &[(&str, &str)], tests: &[&str], builds: &[&str]) {
        let found = read(files);
        assert_eq!(
            (found.tests.as_slice(), found.builds.as_slice()),
            (
                tests.iter().map(|&line| line.to_owned()).collect::<Vec<_>>().as_slice(),
                builds.iter().map(|&line| line.to_owned()).collect::<Vec<_>>().as_slice(),
            ),
            "{files:?}"
        );
        assert_eq!(found.found_in.is_empty(), tests.is_empty() && builds.is_empty(), "{found:?}");
    }
    let scripts = r#"{"scripts":{"test":"jest","build":"tsc"}}"#;
    check(&[], &[], &[]);
    check(&[("Cargo.toml", "[package]\nname='a'")], &["cargo test"], &["cargo build"]);
    check(
        &[("Cargo.toml", "[workspace]\nmembers=['a/*']"), ("a/b/Cargo.toml", "[package]\nname='b'")],
        &["cargo test --workspace"],
        &["cargo build --workspace"],
    );
    check(&[("Cargo.toml", "[broken")], &[], &[]);
    check(&[("package.json", scripts)], &["npm test"], &["npm run build"]);
    check(&[("package.json", scripts), ("pnpm-lock.yaml", "")], &["pnpm test"], &["pnpm run build"]);
    check(&[("package.json", scripts), ("bun.lock", "")], &["bun run test"], &["bun run build"]);
    check(&[("package.json", r#"{"packageManager":"yarn@4.1.0","scripts":{"test":"jest"}}"#)], &["yarn test"], &[]);
    check(&[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)], &[], &[]);
    check(&[("package.json", "{ not json"), ("go.mod", "module a")], &["go test ./..."], &["go build ./..."]);
    check(
        &[
            ("package.json", r#"{"workspaces":["packages/*"]}"#),
            ("yarn.lock", ""),
            ("packages/web/package.json", scripts),
        ],
        &["cd packages/web && yarn test"],
        &["cd packages/web && yarn run build"],
    );
    check(
        &[
            ("package.json", "{}"),
            ("pnpm-workspace.yaml", "packages:\n  - 'apps/*' # all\n  - \"!x\"\ncatalog: {}\n"),
            ("apps/a/package.json", scripts),
        ],
        &["cd apps/a && pnpm test"],
        &["cd apps/a && pnpm run build"],
    );
    check(
        &[("nx.json", "{}"), ("libs/a/package.json", scripts)],
        &["cd libs/a && npm test"],
        &["cd libs/a && npm run build"],
    );
    check(
        &[("go.work", "go 1.23\nuse (\n\t./a // one\n)\n"), ("a/go.mod", "module a")],
        &["cd a && go test ./..."],
        &["cd a && go build ./..."],
    );
    check(&[("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest"], &[]);
    check(&[("setup.cfg", "[tool:pytest]")], &["pytest"], &[]);
    check(&[("tox.ini", "[tox]\n[pytest]")], &["pytest", "tox"], &[]);
    check(&[("noxfile.py", "")], &["nox"], &[]);
    check(&[("tests/test_a.py", "")], &["pytest"], &[]);
    check(&[("tests/a.txt", "")], &[], &[]);
    check(&[("Makefile", "X := 1\ntest: all\n\tx\nall:\n")], &["make test"], &["make all"]);
    check(&[("pom.xml", ""), ("mvnw", "")], &["./mvnw test"], &["./mvnw compile"]);
    check(&[("build.gradle.kts", "")], &["gradle test"], &["gradle assemble"]);
    check(&[("CMakeLists.txt", "project(a)\nenable_testing()")], &["ctest --test-dir build"], &["cmake --build build"]);
}

#[cfg(unix)]
#[test]
fn links_out_of_the_project_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("Cargo.toml"), "[package]\nname='a'").unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("Cargo.toml"), dir.path().join("Cargo.toml")).unwrap();
    fs::write(dir.path().join("package.json"), r#"{"workspaces":["pack*","../*","/tmp"]}"#).unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("packages")).unwrap();
    assert_eq!(RepositorySignals::read(dir.path()), RepositorySignals::default());
    assert_eq!(RepositorySignals::read(&dir.path().join("missing")), RepositorySignals::default());
}

/// What is required, in letters: change, tests, build, pull request, ci.
fn letters(found: &Requirements) -> String {
    let all =
        [(&found.change, 'c'), (&found.tests, 't'), (&found.build, 'b'), (&found.pull_request, 'p'), (&found.ci, 'i')];
    all.into_iter()
        .filter(|(reason, _)| reason.as_ref().is_some_and(|reason| !reason.is_empty()))
        .map(|(_, letter)| letter)
        .collect()
}

#[test]
fn what_is_required() {
    let check = |task: &str, expects: Option<Expects>, remote: Option<bool>, expected: &str| {
        let found = requirements(task, task_type(task), expects, remote, Workflow::default());
        assert_eq!(letters(&found), expected, "{task} {found:?}");
    };
    check("Fix the crash", None, None, "c");
    check("Fix the crash and add tests", None, None, "ct");
    check("Fix the crash. Do not run the tests.", None, None, "c");
    check("Explain the parser", None, None, "");
    check("Explain the parser", Some(Expects::Change), None, "c");
    check("Fix the crash", Some(Expects::Nothing), None, "");
    check("Update the README", None, None, "c");
    check("Use the latest version of the community page", None, None, "c");
    check("Fix the crash and open a pull request", None, Some(true), "cp");
    check("Fix the crash and open a PR; CI must be green", None, None, "cpi");
    check("Fix the crash and open a pull request", None, Some(false), "c");
    check("Fix the crash, do not open a PR", None, Some(true), "c");
    check("Fix how pull requests are listed", None, Some(true), "c");
    let declared = Workflow { tests: Required::No, pull_request: Required::Yes, ..Workflow::default() };
    let found = requirements("Fix the crash", TaskType::Coding, None, Some(false), declared);
    assert_eq!(letters(&found), "cp");
    assert_eq!(found.waived, ["tests: the project's settings do not require it"]);
}

#[test]
fn tests_and_builds_are_required_where_the_words_ask() {
    let check = |expected: &str, tasks: &[&str]| {
        for task in tasks {
            let found = requirements(task, TaskType::Coding, None, None, Workflow::default());
            assert_eq!(letters(&found), expected, "{task} {found:?}");
        }
    };
    check(
        "ct",
        &[
            "Fix the bug in the date parser and make sure the tests pass.",
            "Add a retry with tests",
            "Add a retry and write unit tests for it",
            "Implement the cache and tests",
            "Fix it, then run pytest -q",
            "Port the module. The test suite must stay green.",
            "Fix the crash until all tests pass",
            "Fix it and run `go test ./...`",
        ],
    );
    check(
        "cb",
        &[
            "Fix the crash and make sure it still compiles",
            "Fix it and run the build",
            "Fix it; the build must pass",
            "Fix it, then run `npm run build`",
        ],
    );
    check("ctb", &["Fix it and run make -C . -j4 build test", "Fix it; `make build test` must pass"]);
    check(
        "c",
        &[
            "Update the test environment URL",
            "Fix the parser, I will write the tests later",
            "Fix the parser. No need to run the tests.",
            "Fix it, don't run pytest",
            "Fix the build script",
            "Build a web site for the shop",
            "Make the build faster",
            "The tests pass locally, and the login is broken. Fix it.",
            "Delete the build artifacts",
            "Add a test account for the demo",
        ],
    );
    let mut found = requirements("Fix the crash", TaskType::Coding, None, None, Workflow::default());
    let signals = RepositorySignals { tests: vec!["npm test".to_owned()], ..RepositorySignals::default() };
    found.of_changed_code(&signals, TaskType::Coding);
    assert_eq!(letters(&found), "ct");
    let mut waived = requirements("Fix it. Do not run the tests.", TaskType::Coding, None, None, Workflow::default());
    waived.of_changed_code(&signals, TaskType::Coding);
    assert_eq!(letters(&waived), "c");
    assert!(waived.tests_excused.is_some(), "words leave it to a person");
    let asked = "Reformat with prettier";
    for (task, kind) in [(asked, TaskType::Coding), ("Document the parser", TaskType::Docs)] {
        let mut found = requirements(task, kind, None, None, Workflow::default());
        found.of_changed_code(&signals, kind);
        assert!(found.tests.is_none() && found.tests_excused.is_some(), "{task}");
    }
    let no = Workflow { tests: Required::No, ..Workflow::default() };
    let mut declared = requirements(asked, TaskType::Coding, None, None, no);
    declared.of_changed_code(&signals, TaskType::Coding);
    assert_eq!((declared.tests, declared.tests_excused), (None, None));
    for (task, expected) in [
        ("Refactor the settings module.\n\nstop, just tell me what you wanted to do", "c"),
        ("Stop using moment in the date module", "ct"),
        ("Fix the crash. Do not touch anything else.", "ct"),
    ] {
        let mut found = requirements(task, TaskType::Coding, None, None, Workflow::default());
        found.of_changed_code(&signals, TaskType::Coding);
        assert_eq!(letters(&found), expected, "{task}");
    }
}

#[test]
fn what_causes_something_and_what_git_keeps() {
    for (task, kind) in [
        ("Make the lexer accept nested comments.", TaskType::Coding),
        ("Let the parser skip comments", TaskType::Coding),
        ("Make the docs clearer", TaskType::Docs),
        ("Delete the branch feature/old, locally and on the remote.", TaskType::Ops),
        ("Create a tag v2.0", TaskType::Ops),
        ("Create a tag input for the form", TaskType::Coding),
        ("Make the build faster", TaskType::Coding),
    ] {
        assert_eq!(task_type(task), kind, "{task}");
    }
}

#[test]
fn builds_and_style_in_the_words_of_a_task() {
    let of = |task: &str| requirements(task, TaskType::Coding, None, None, Workflow::default());
    for (task, build, broken) in [
        ("Make the project compile with GCC 14.", true, false),
        ("Make the release build faster", false, false),
        ("The project does not build. Fix it", false, true),
        ("Fix the build", false, true),
        ("Build a login page", false, false),
    ] {
        let found = of(task);
        assert_eq!((found.build.is_some(), found.broken_build), (build, broken), "{task}");
    }
    for (task, style) in [
        ("Fix the eslint errors", true),
        ("Fix the type errors in api/", true),
        ("Add the type of an order", false),
        ("Fix the number formatting", false),
    ] {
        assert_eq!(of(task).style, style, "{task}");
    }
}

proptest! {
    #[test]
    fn any_task_is_read(task in "\\PC{0,300}") {
        let kind = task_type(&task);
        let _ = requirements(&task, kind, None, None, Workflow::default());
    }

    #[test]
    fn any_manifest_is_read(text in "\\PC{0,100}") {
        let _ = read(&[("Cargo.toml", &text), ("package.json", &text), ("Makefile", &text), ("go.work", &text), ("pnpm-workspace.yaml", &text), ("pyproject.toml", &text)]);
    }
}
