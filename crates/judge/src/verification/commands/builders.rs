//! What programs that build are run for: cargo, Maven, Gradle, and all that have targets.

use super::run::CommandKind;
use super::scripts::kind_of_name;

/// Programs that build, some of which also test, whose command lines have a grammar of their own.
pub(super) fn of_builders(name: &str, args: &[&str]) -> Option<CommandKind> {
    match name {
        "cargo" | "cross" => Some(cargo(args)),
        "mvn" | "mvnw" | "mvnd" => Some(maven(args)),
        "gradle" | "gradlew" => Some(gradle(args)),
        _ => None,
    }
}

fn cargo(args: &[&str]) -> CommandKind {
    const VALUED: [&str; 4] = ["--manifest-path", "--config", "-C", "--color"];
    let mut words = Vec::new();
    let mut skip = false;
    for arg in args.iter().take_while(|arg| **arg != "--") {
        if !skip && !arg.starts_with(['+', '-']) {
            words.push(*arg);
        }
        skip = VALUED.contains(arg);
    }
    let second = words.get(1).copied().unwrap_or_default();
    match words.first().copied().unwrap_or_default() {
        "test" | "t" | "tarpaulin" => CommandKind::Test,
        "nextest" if matches!(second, "run" | "r") => CommandKind::Test,
        "llvm-cov" if !matches!(second, "report" | "clean" | "show-env" | "run") => CommandKind::Test,
        "miri" | "careful" | "insta" | "hack" | "ndk" | "zigbuild" | "xtask" | "make" | "leptos" | "dist" => {
            match kind_of_name(second) {
                CommandKind::Other if second == "t" => CommandKind::Test,
                CommandKind::Lint if second == "check" => CommandKind::Typecheck,
                kind => kind,
            }
        }
        "build" | "b" | "rustc" | "doc" | "d" => CommandKind::Build,
        "check" | "c" => CommandKind::Typecheck,
        "clippy" | "deny" | "audit" | "machete" => CommandKind::Lint,
        "fmt" if args.contains(&"--check") => CommandKind::Lint,
        "fmt" => CommandKind::Format,
        alias if alias.contains(['-', '_']) => kind_of_name(alias),
        _ => CommandKind::Other,
    }
}

fn maven(args: &[&str]) -> CommandKind {
    let words: Vec<&str> = args.iter().filter(|arg| !arg.starts_with('-')).copied().collect();
    let skips = |arg: &&str| {
        arg.starts_with("-DskipTests") && !arg.ends_with("=false")
            || arg.starts_with("-Dmaven.test.skip") && !arg.ends_with("=false")
    };
    let goal = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let tests = goal(&[
        "test",
        "integration-test",
        "verify",
        "package",
        "install",
        "deploy",
        "surefire:test",
        "failsafe:verify",
    ]);
    if tests && !args.iter().any(skips) {
        CommandKind::Test
    } else if tests || goal(&["compile", "test-compile", "process-classes"]) {
        CommandKind::Build
    } else if words
        .iter()
        .any(|word| word.starts_with("checkstyle:") || word.starts_with("spotbugs:") || *word == "spotless:check")
    {
        CommandKind::Lint
    } else if goal(&["spotless:apply"]) {
        CommandKind::Format
    } else {
        CommandKind::Other
    }
}

/// Tasks of Gradle, with `-x test` left out; `build` and `check` run the tests.
fn gradle(args: &[&str]) -> CommandKind {
    let mut excluded = Vec::new();
    let mut tasks = Vec::new();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        match *arg {
            "-x" | "--exclude-task" => {
                excluded.extend(args.get(at).map(|task| task.rsplit(':').next().unwrap_or(task)));
                at += 1;
            }
            "-p" | "-b" | "-c" | "-I" | "--tests" | "--project-dir" | "--init-script" | "--console" => at += 1,
            flag if flag.starts_with('-') => {}
            task => tasks.push(task.rsplit(':').next().unwrap_or(task)),
        }
    }
    let kinds: Vec<CommandKind> = tasks
        .into_iter()
        .map(|task| match task {
            "build" | "check" if excluded.contains(&"test") => CommandKind::Build,
            "build" | "check" | "buildDependents" | "buildNeeded" => CommandKind::Test,
            "assemble" | "classes" | "jar" | "bootJar" | "testClasses" | "war" => CommandKind::Build,
            task if task.starts_with("compile") || task.starts_with("assemble") => CommandKind::Build,
            "spotlessApply" | "ktlintFormat" => CommandKind::Format,
            "spotlessCheck" | "detekt" | "checkstyleMain" | "ktlintCheck" => CommandKind::Lint,
            task => kind_of_name(task),
        })
        .collect();
    first_of(&kinds)
}

/// A program with targets or tasks; whether it builds where none is named.
pub(super) fn targets(args: &[&str], builds: bool) -> CommandKind {
    const VALUED: [&str; 9] = ["-C", "-f", "-I", "-o", "-W", "--directory", "--file", "-d", "--justfile"];
    let mut names = Vec::new();
    let mut skip = false;
    for arg in args {
        let is_number = arg.bytes().all(|byte| byte.is_ascii_digit());
        if !skip && !arg.starts_with('-') && !arg.contains('=') && !is_number {
            names.push(*arg);
        }
        skip = VALUED.contains(arg);
    }
    if names.is_empty() {
        return if builds { CommandKind::Build } else { CommandKind::Other };
    }
    let kinds: Vec<CommandKind> = names
        .into_iter()
        .map(|target| match target {
            "check" | "distcheck" | "installcheck" | "runtest" | "eunit" | "ct" => CommandKind::Test,
            "all" => CommandKind::Build,
            target => kind_of_name(target.trim_start_matches('+')),
        })
        .collect();
    first_of(&kinds)
}

/// Tests before everything, else the first that is something.
fn first_of(kinds: &[CommandKind]) -> CommandKind {
    if kinds.contains(&CommandKind::Test) {
        return CommandKind::Test;
    }
    kinds.iter().find(|kind| **kind != CommandKind::Other).cloned().unwrap_or(CommandKind::Other)
}
