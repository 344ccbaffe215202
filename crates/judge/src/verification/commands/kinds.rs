//! What a program is run for.

use super::builders::{of_builders, targets};
use super::run::CommandKind;
use super::scripts::{kind_of_file, kind_of_name};
use super::wrappers::{base_name, options};
use super::{Run, git, writes};
use crate::toolchain::{Purpose, interprets, only_prints, package_runner, purpose};
use std::collections::HashMap;

impl Run {
    /// A command without wrappers; `input` is the text of its heredoc, `vars` what the line gave to variables.
    pub(super) fn of(words: &[String], input: Option<&str>, vars: &HashMap<String, String>) -> Self {
        let kind = kind(words, vars);
        let mut run = Self {
            words: words.to_vec(),
            kind,
            writes: false,
            edits: super::Edits::No,
            env: Vec::new(),
            files: Vec::new(),
            decides_exit: false,
            takes_blame: false,
        };
        writes::note(&mut run, tool(words), input);
        run
    }
}

fn kind(words: &[String], vars: &HashMap<String, String>) -> CommandKind {
    let words = tool(words);
    let Some((program, args)) = words.split_first() else { return CommandKind::Other };
    let name = base_name(program);
    match name {
        "git" => return git::kind(args, vars),
        "gh" | "glab" => return git::forge(args),
        _ => {}
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if only_prints(name, &args) {
        return CommandKind::Other;
    }
    let known = of_builders(name, &args).or_else(|| of_package_managers(name, &args)).or_else(|| of_table(name, &args));
    known.unwrap_or_else(|| of_file(program, &args))
}

/// What the tables of tool chains say that a program is run for.
fn of_table(name: &str, args: &[&str]) -> Option<CommandKind> {
    let kind = match purpose(name, args)? {
        Purpose::Test => CommandKind::Test,
        Purpose::Build => CommandKind::Build,
        Purpose::Lint => CommandKind::Lint,
        Purpose::Typecheck => CommandKind::Typecheck,
        Purpose::Format => CommandKind::Format,
        Purpose::Other => CommandKind::Other,
        Purpose::Script(script) => kind_of_name(script),
        Purpose::Targets { builds } => targets(args, builds),
    };
    Some(kind)
}

/// The tool behind runners: `npx jest`, `uv run pytest`, `python -m pytest`, `bundle exec rspec`.
pub(super) fn tool(mut words: &[String]) -> &[String] {
    while let Some(inner) = behind_runner(words).filter(|inner| !inner.is_empty()) {
        words = inner;
    }
    words
}

fn behind_runner(words: &[String]) -> Option<&[String]> {
    let (program, args) = words.split_first()?;
    let name = base_name(program);
    match name {
        "pnpm" | "yarn" => {
            let at = options(args, &["--filter", "-F", "-C", "--dir", "--cwd"]);
            let at = if args.get(at).is_some_and(|word| word == "workspace") { at + 2 } else { at };
            let is_runner = args.get(at).is_some_and(|word| word == "exec" || word == "dlx");
            if is_runner { behind(&args[at + 1..], &["--package", "-p"]) } else { None }
        }
        _ if is_python(name) => {
            let at = options(args, &["-W", "-X"]);
            let flag = args.get(at.checked_sub(1)?).map(String::as_str);
            if flag == Some("-m") { args.get(at..) } else { None }
        }
        _ => {
            let named: Vec<&str> = std::iter::once(name).chain(args.iter().take(2).map(String::as_str)).collect();
            let (runner, count) = package_runner(&named)?;
            behind(words.get(count..)?, &runner.valued)
        }
    }
}

/// What stands behind the options of a runner.
fn behind<'w>(args: &'w [String], valued: &[impl AsRef<str>]) -> Option<&'w [String]> {
    args.get(options(args, valued)..)
}

pub(super) fn is_python(name: &str) -> bool {
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')) || name == "py"
}

/// Scripts of packages: `npm run test:unit`, `yarn build`, `nx test web`.
fn of_package_managers(name: &str, args: &[&str]) -> Option<CommandKind> {
    const VALUED: [&str; 10] =
        ["--prefix", "-w", "--workspace", "-C", "--filter", "-F", "--cwd", "--dir", "--scope", "--working-dir"];
    let is_manager = matches!(name, "npm" | "pnpm" | "yarn" | "bun" | "composer");
    if !is_manager && !matches!(name, "nx" | "turbo" | "lerna" | "rush" | "wireit" | "run-s" | "run-p" | "npm-run-all")
    {
        return None;
    }
    let mut words = Vec::new();
    let mut skip = false;
    for arg in args.iter().take_while(|arg| **arg != "--") {
        if !skip && !arg.starts_with('-') {
            words.push(*arg);
        }
        skip = VALUED.contains(arg);
    }
    match words.first() {
        // Its own test runner, and a file that it runs.
        Some(&"test") if name == "bun" => return Some(CommandKind::Test),
        Some(file) if name == "bun" && file.contains(['/', '.']) => return Some(kind_of_file(file)),
        _ => {}
    }
    let mut words = words.as_slice();
    loop {
        words = match words {
            ["workspace", _, rest @ ..] if name == "yarn" => rest,
            ["workspaces", "foreach" | "run", rest @ ..] if name == "yarn" => rest,
            ["recursive" | "multi", rest @ ..] if name == "pnpm" => rest,
            ["run" | "run-script" | "rum" | "urn" | "run-many" | "affected", rest @ ..] => rest,
            _ => break,
        };
    }
    let target = args.iter().find_map(|arg| arg.strip_prefix("--target=").or_else(|| arg.strip_prefix("--targets=")));
    let Some(script) = words.first().copied().or(target) else { return Some(CommandKind::Other) };
    if is_manager && matches!(script, "t" | "tst" | "it" | "install-test") && matches!(name, "npm" | "pnpm") {
        return Some(CommandKind::Test);
    }
    // `nx web:test`, `nx run web:test:ci`
    let script = if name == "nx" { script.split_once(':').map_or(script, |(_, target)| target) } else { script };
    if is_manager
        && matches!(script, "install" | "i" | "add" | "ci" | "remove" | "exec" | "create" | "init" | "why" | "info")
    {
        return Some(CommandKind::Other);
    }
    let own = kind_of_name(script);
    if own != CommandKind::Other || !matches!(name, "yarn" | "pnpm" | "bun") {
        return Some(own);
    }
    // `yarn jest`: a program of the package's own.
    let rest: Vec<&str> = args.iter().skip_while(|arg| **arg != script).skip(1).copied().collect();
    Some(of_builders(script, &rest).or_else(|| of_table(script, &rest)).unwrap_or(own))
}

/// A file that is run: by its name, `./run_tests.sh`, `bash scripts/test.sh`, `python tests/test_all.py`.
fn of_file(program: &str, args: &[&str]) -> CommandKind {
    let name = base_name(program);
    if interprets(name) || is_python(name) {
        // With `-c` or `-e` the words are code.
        let Some(at) = args.iter().position(|arg| !arg.starts_with('-')) else { return CommandKind::Other };
        let code = args[..at]
            .iter()
            .any(|arg| matches!(*arg, "-c" | "-e" | "--eval" | "-p" | "-pe" | "-ne" | "-pi" | "-r" | "-n"));
        if code {
            return CommandKind::Other;
        }
        let file = args[at];
        return of_table(base_name(file), &args[at + 1..]).unwrap_or_else(|| kind_of_file(file));
    }
    if program.contains('/') { kind_of_file(program) } else { CommandKind::Other }
}
