//! What a program is run for.

use super::builders::of_builders;
use super::run::CommandKind;
use super::scripts::{kind_of_file, kind_of_name};
use super::wrappers::{base_name, options};
use super::{Run, git, writes};
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
    if only_tells(name, args) {
        return CommandKind::Other;
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let known = of_tests(name, &args)
        .or_else(|| of_builders(name, &args))
        .or_else(|| of_package_managers(name, &args))
        .or_else(|| of_linters(name, &args));
    known.unwrap_or_else(|| of_file(program, &args))
}

/// The tool behind runners: `npx jest`, `uv run pytest`, `python -m pytest`, `bundle exec rspec`.
pub(super) fn tool(mut words: &[String]) -> &[String] {
    while let Some(inner) = behind_runner(words).filter(|inner| !inner.is_empty()) {
        words = inner;
    }
    words
}

fn behind_runner(words: &[String]) -> Option<&[String]> {
    const UV: &[&str] = &[
        "--with",
        "--group",
        "--extra",
        "--package",
        "--python",
        "-p",
        "--project",
        "--directory",
        "--env-file",
        "--index",
        "--with-requirements",
        "--from",
        "--only-group",
        "--no-group",
    ];
    let (program, args) = words.split_first()?;
    let name = base_name(program);
    let first = args.first().map_or("", String::as_str);
    let from = |skip: usize, valued: &[&str]| {
        let args = args.get(skip..)?;
        args.get(options(args, valued)..)
    };
    match name {
        "npx" | "pnpx" | "bunx" => from(0, &["-p", "--package"]),
        "uvx" => from(0, UV),
        "npm" if first == "exec" || first == "x" => from(1, &["-w", "--workspace", "--package"]),
        "bun" if first == "x" => from(1, &[]),
        "pnpm" | "yarn" => {
            let at = options(args, &["--filter", "-F", "-C", "--dir", "--cwd"]);
            let at = if args.get(at).is_some_and(|word| word == "workspace") { at + 2 } else { at };
            let is_runner = args.get(at).is_some_and(|word| word == "exec" || word == "dlx");
            if is_runner { from(at + 1, &["--package", "-p"]) } else { None }
        }
        "uv" if first == "run" => from(1, UV),
        "uv" if first == "tool" && args.get(1).is_some_and(|word| word == "run") => from(2, UV),
        "poetry" | "pipenv" | "pdm" | "rye" | "pipx" | "hatch" if first == "run" => {
            from(1, &["--spec", "-p", "--project"])
        }
        "conda" | "mamba" | "micromamba" if first == "run" => from(1, &["-n", "-p", "--name", "--prefix"]),
        "bundle" if first == "exec" => from(1, &[]),
        "coverage" if first == "run" => {
            from(1, &["--source", "--rcfile", "--include", "--omit", "--data-file", "--context"])
        }
        _ if is_python(name) => {
            let at = options(args, &["-W", "-X"]);
            let flag = args.get(at.checked_sub(1)?).map(String::as_str);
            if flag == Some("-m") { args.get(at..) } else { None }
        }
        _ => None,
    }
}

pub(super) fn is_python(name: &str) -> bool {
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')) || name == "py"
}

/// It prints help, a version or a list, and runs nothing.
fn only_tells(name: &str, args: &[String]) -> bool {
    let own = args.iter().take_while(|arg| *arg != "--");
    let tells = |arg: &String| {
        matches!(
            arg.as_str(),
            "--help"
                | "--version"
                | "--list"
                | "--no-run"
                | "--collect-only"
                | "--co"
                | "--list-tests"
                | "--listTests"
                | "--show-only"
                | "--dry-run"
                | "--listenvs"
                | "--fixtures"
                | "--markers"
                | "--setup-plan"
                | "--setup-only"
                | "--showConfig"
                | "--just-print"
                | "--list-sessions"
                | "--list-groups"
                | "--list-suites"
        )
    };
    let short = |arg: &String| match arg.as_str() {
        "-h" => true,
        "-N" => name == "ctest",
        "-n" => matches!(name, "make" | "gmake" | "ninja" | "just" | "rake" | "task"),
        "-l" => matches!(name, "tox" | "nox" | "just" | "task" | "inv" | "invoke"),
        "-m" => matches!(name, "gradle" | "gradlew"),
        "-t" => name == "dotnet",
        "-V" => matches!(name, "pytest" | "cargo" | "jest"),
        "-c" => name == "go",
        _ => false,
    };
    let of_go = |arg: &String| {
        name == "go"
            && (arg == "-list" || arg.starts_with("-list=") || arg == "-run=^$" || arg == "-run=XXX" || arg == "^$")
    };
    own.clone().any(|arg| tells(arg) || short(arg) || of_go(arg))
        || name == "cargo" && args.iter().any(|arg| arg == "--list")
}

/// Runners of tests that are programs of their own.
fn of_tests(name: &str, args: &[&str]) -> Option<CommandKind> {
    let name = name.split('@').next().filter(|name| !name.is_empty()).unwrap_or(name);
    let first = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or_default();
    let test = match name {
        "pytest" | "py.test" | "unittest" | "nose2" | "nosetests" | "trial" | "behave" | "robot" | "green"
        | "doctest" | "tox" | "nox" | "jest" | "mocha" | "ava" | "tap" | "tape" | "jasmine" | "rspec" | "cucumber"
        | "cucumber-js" | "phpunit" | "pest" | "paratest" | "behat" | "bats" | "shellspec" | "prove" | "busted"
        | "ctest" | "gotestsum" | "ginkgo" | "testcafe" | "wdio" | "c8" | "nyc" | "minitest" | "cargo-nextest"
        | "tsd" | "qunit" | "spec" | "crytic" => true,
        "vitest" => !matches!(first, "list" | "init"),
        "karma" => first == "start",
        "cypress" => first == "run",
        "playwright" => first == "test",
        "codecept" => first == "run",
        "manage.py" | "django-admin" => first == "test",
        "meson" | "bazel" | "bazelisk" | "buck2" | "pants" | "please" | "plz" | "swift" | "dotnet" | "mix"
        | "flutter" | "dart" | "deno" | "bun" | "stack" | "cabal" | "sbt" | "lein" | "gleam" | "zig" | "forge"
        | "rails" | "ng" | "ember" | "ds" | "moon" | "mill" | "scarb" | "aiken" | "anchor" | "wasm-pack"
        | "xcodebuild" | "elm-test" | "fpm" | "hardhat" | "truffle" | "v" | "nimble" | "alr" => {
            return of_subcommand(name, args);
        }
        _ => return None,
    };
    Some(if test { CommandKind::Test } else { CommandKind::Other })
}

/// Programs of a language that do everything by their first word.
fn of_subcommand(name: &str, args: &[&str]) -> Option<CommandKind> {
    let has = |flag: &str| args.contains(&flag);
    let words: Vec<&str> = args.iter().filter(|arg| !arg.starts_with('-')).copied().collect();
    let first = words.first().copied().unwrap_or_default();
    let kind = match (name, first) {
        ("swift", "test") if words.get(1) == Some(&"list") => CommandKind::Other,
        ("deno", "task" | "run") => return words.get(1).map(|script| kind_of_name(script)),
        ("bun", "run" | "build" | "install" | "add" | "i") => return None,
        ("dune", _) => return None,
        ("moon", "run") | ("ds", _) => return words.get(1).map(|script| kind_of_name(script)),
        ("elm-test", _) => CommandKind::Test,
        (_, "test" | "tests" | "testOnly" | "testQuick") => CommandKind::Test,
        (_, "spec" | "eunit" | "ct") => CommandKind::Test,
        ("xcodebuild", _) if words.contains(&"test") || words.contains(&"test-without-building") => CommandKind::Test,
        ("xcodebuild", _) => CommandKind::Build,
        ("zig", "build") if words.contains(&"test") => CommandKind::Test,
        ("lein", "check") => CommandKind::Typecheck,
        ("deno" | "gleam", "check") => CommandKind::Typecheck,
        ("mix", "dialyzer") => CommandKind::Typecheck,
        ("deno" | "ng", "lint") | ("mix", "credo") | ("dart" | "flutter", "analyze") => CommandKind::Lint,
        ("deno", "fmt") if has("--check") => CommandKind::Lint,
        ("mix", "format") if has("--check-formatted") => CommandKind::Lint,
        ("dotnet", "format") if has("--verify-no-changes") => CommandKind::Lint,
        ("gleam", "format") if has("--check") => CommandKind::Lint,
        ("dart", "format") if has("--set-exit-if-changed") && has("--output=none") => CommandKind::Lint,
        (_, "fmt" | "format") => CommandKind::Format,
        (_, "build" | "compile" | "assemble" | "publish" | "bundle" | "package") => CommandKind::Build,
        ("bun", script) => return bun_script(script, &words),
        _ => CommandKind::Other,
    };
    Some(kind)
}

fn bun_script(script: &str, words: &[&str]) -> Option<CommandKind> {
    if script.contains(['/', '.']) {
        return Some(kind_of_file(script));
    }
    of_package_managers("bun", words)
}

/// Scripts of packages: `npm run test:unit`, `yarn build`, `nx test web`.
fn of_package_managers(name: &str, args: &[&str]) -> Option<CommandKind> {
    const VALUED: [&str; 10] =
        ["--prefix", "-w", "--workspace", "-C", "--filter", "-F", "--cwd", "--dir", "--scope", "--working-dir"];
    let is_manager = matches!(name, "npm" | "pnpm" | "yarn" | "bun" | "composer");
    if !is_manager
        && !matches!(name, "nx" | "turbo" | "lerna" | "rush" | "wireit" | "run-s" | "run-p" | "npm-run-all" | "node")
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
    if name == "node" {
        let tests = args.contains(&"--test");
        return if tests { Some(CommandKind::Test) } else { None };
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
    Some(
        of_linters(script, &rest)
            .or_else(|| of_tests(script, &rest))
            .or_else(|| of_builders(script, &rest))
            .unwrap_or(own),
    )
}

/// Linters, type checkers and formatters.
fn of_linters(name: &str, args: &[&str]) -> Option<CommandKind> {
    let has = |flags: &[&str]| args.iter().any(|arg| flags.contains(arg));
    let first = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or_default();
    let formats = |looks: bool| if looks { CommandKind::Lint } else { CommandKind::Format };
    let kind = match name.split('@').next().unwrap_or(name) {
        "eslint" | "oxlint" | "flake8" | "pylint" | "staticcheck" | "shellcheck" | "hadolint" | "yamllint"
        | "markdownlint" | "markdownlint-cli2" | "stylelint" | "ktlint" | "detekt" | "checkstyle" | "phpcs"
        | "phpstan" | "psalm" | "swiftlint" | "clang-tidy" | "pre-commit" | "tflint" | "ansible-lint"
        | "actionlint" | "bandit" | "cppcheck" | "xo" | "standard" | "tslint" | "golangci-lint" | "revive"
        | "credo" | "reek" | "sqlfluff" | "djlint" | "vulture" | "clippy-driver" | "lefthook" | "lint-staged"
        | "knip" | "semgrep" => CommandKind::Lint,
        "rubocop" => formats(!has(&["-a", "-A", "--autocorrect", "--autocorrect-all"])),
        "ruff" if first == "format" => formats(has(&["--check", "--diff"])),
        "ruff" => CommandKind::Lint,
        "biome" if first == "format" => formats(!has(&["--write", "--fix"])),
        "biome" => CommandKind::Lint,
        "mypy" | "pyright" | "basedpyright" | "pyre" | "pytype" | "ty" | "flow" | "svelte-check" | "srb" | "steep"
        | "dmypy" | "attw" => CommandKind::Typecheck,
        "prettier" => formats(!has(&["--write", "-w"])),
        "black" | "isort" | "autopep8" | "yapf" | "rustfmt" | "swiftformat" | "stylua" | "alejandra" | "nixfmt"
        | "taplo" | "dprint" | "leptosfmt" | "pint" | "php-cs-fixer" | "phpcbf" | "ocamlformat" | "fourmolu"
        | "ormolu" | "scalafmt" => {
            formats(has(&["--check", "--diff", "-c", "--check-only", "--test", "--dry-run"]) || first == "check")
        }
        "gofmt" | "goimports" | "gofumpt" | "shfmt" => formats(!has(&["-w"])),
        "clang-format" | "swift-format" => formats(!has(&["-i", "--in-place"])),
        "terraform" | "tofu" => match first {
            "validate" => CommandKind::Lint,
            "fmt" => formats(has(&["-check"])),
            _ => CommandKind::Other,
        },
        _ => return None,
    };
    Some(kind)
}

/// A file that is run: by its name, `./run_tests.sh`, `bash scripts/test.sh`, `python tests/test_all.py`.
fn of_file(program: &str, args: &[&str]) -> CommandKind {
    let name = base_name(program);
    let interprets = matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "node" | "ruby" | "perl" | "php" | "tsx" | "ts-node" | "lua" | "fish"
    ) || is_python(name);
    if interprets {
        // With `-c` or `-e` the words are code.
        let Some(at) = args.iter().position(|arg| !arg.starts_with('-')) else { return CommandKind::Other };
        let code = args[..at]
            .iter()
            .any(|arg| matches!(*arg, "-c" | "-e" | "--eval" | "-p" | "-pe" | "-ne" | "-pi" | "-r" | "-n"));
        if code {
            return CommandKind::Other;
        }
        let file = args[at];
        let tool = base_name(file);
        let found = of_tests(tool, &args[at + 1..]).or_else(|| match (tool, args.get(at + 1)) {
            ("artisan", Some(&"test")) => Some(CommandKind::Test),
            ("setup.py", Some(&"test")) => Some(CommandKind::Test),
            ("setup.py", Some(word)) if word.starts_with("build") || *word == "bdist_wheel" => Some(CommandKind::Build),
            ("setup.py", _) => Some(CommandKind::Other),
            _ => None,
        });
        return found.unwrap_or_else(|| kind_of_file(file));
    }
    if program.contains('/') { kind_of_file(program) } else { CommandKind::Other }
}
