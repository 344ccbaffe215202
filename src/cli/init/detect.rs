//! Which toolchains are where.

use super::found::Found;
use super::package::Package;
use super::{cargo, known, make, node, python};
use crate::toolchain::projects;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Files with secrets and settings that are usually untracked and that programs read when they start.
const SETTINGS: [&str; 3] = [".env", ".env.local", ".env.test"];

/// Looks for one toolchain in one directory.
type Finder<'a> = dyn Fn(&Package) -> Option<Found> + 'a;

/// Looks for toolchains in the directory; each one that gives no check there is looked for one level below too. Make is
/// asked only when nothing else gave a check.
///
/// # Errors
/// The directory cannot be listed.
pub(super) fn detect(dir: &Path) -> io::Result<Vec<Found>> {
    let root = Package::new(dir);
    let below = root.below()?;
    let manager = node::manager_of(&root);
    let node = |package: &Package| node::find(package, manager);
    let finders: [&Finder<'_>; 3] = [&cargo::find, &node, &python::find];
    let mut all = Vec::new();
    for find in finders {
        all.extend(everywhere(find, &root, &below));
    }
    for project in projects() {
        all.extend(everywhere(&|package| known::find(package, project), &root, &below));
    }
    if all.iter().all(|found| found.checks.is_empty()) {
        all.extend(make::find(&root));
    }
    carry_settings(&root, &mut all);
    Ok(all)
}

/// One toolchain at the root, or in the packages below if the root gives no check for it.
fn everywhere(find: &Finder<'_>, root: &Package, below: &[(String, Package)]) -> Vec<Found> {
    let mut all: Vec<Found> = find(root).into_iter().collect();
    let inner = below.iter().filter_map(|(place, package)| Some((place, find(package)?)));
    let inner: Vec<_> = inner.filter(|(_, found)| !found.checks.is_empty()).collect();
    match all.first_mut() {
        Some(found) if !found.checks.is_empty() => {
            if !inner.is_empty() {
                let places: Vec<&str> = inner.iter().map(|(place, _)| place.as_str()).collect();
                found.because(format!(
                    "The checks here are taken to cover the packages below ({}); add checks if it does not.",
                    places.join(", ")
                ));
            }
        }
        _ => all.extend(inner.into_iter().map(|(place, found)| found.moved_to(place))),
    }
    all
}

/// Carries `.env` and the like from every place where something was found.
fn carry_settings(root: &Package, all: &mut [Found]) {
    let mut done = BTreeSet::new();
    for found in all.iter_mut().filter(|found| !found.checks.is_empty() || !found.setup.is_empty()) {
        let prefix = if found.place == "." { String::new() } else { format!("{}/", found.place) };
        for name in SETTINGS {
            let path = format!("{prefix}{name}");
            if root.has(&path) && done.insert(path.clone()) {
                found.because(format!(
                    "carry: {path} is copied into workspaces, so agents can read it; take it out if it holds secrets \
                     that checks can do without."
                ));
                found.carry.push(globset::escape(&path));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::proposal::proposal;
    use super::*;
    use crate::config;

    /// Makes a directory with these files (a path that ends in `/` is a directory), and compares what was found there,
    /// one line each. Whatever was found, its `project.json` must load.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = detect(dir.path()).unwrap();
        let mut lines = Vec::new();
        for found in &found {
            lines.extend(found.checks.iter().map(|check| format!("{}: {}", check.name, check.run)));
            lines.extend(found.setup.iter().map(|line| format!("setup: {line}")));
            lines.extend(found.carry.iter().map(|glob| format!("carry: {glob}")));
            assert!(!found.why.is_empty(), "{} says nothing", found.toolchain);
            assert!(!found.why.concat().contains("(tests)"), "tests are no package: {:?}", found.why);
        }
        assert_eq!(lines, expected, "{files:#?}\n{found:#?}");

        let text = proposal("name", &found, None).to_string();
        std::fs::write(dir.path().join("project.json"), &text).unwrap();
        let inputs = config::Inputs { dir: dir.path().to_owned(), ..config::Inputs::default() };
        let effective = config::load(&inputs).unwrap();
        assert_eq!(effective.warnings, Vec::<String>::new(), "{text}");
        let settings = effective.settings().unwrap();
        assert_eq!(settings.run.checks.len(), found.iter().map(|f| f.checks.len()).sum::<usize>());
    }

    const CRATE: (&str, &str) = ("Cargo.toml", "[package]\nname = \"a\"\n");
    const LOCK: (&str, &str) = ("Cargo.lock", "");

    #[test]
    fn nothing_known_gives_nothing() {
        check(&[], &[]);
        check(&[("README.md", "x"), ("src/x.c", "")], &[]);
        check(&[("fixtures/Cargo.toml", CRATE.1), ("node_modules/a/package.json", "{}")], &[]);
        check(&[("Makefile", "all:\n\tcc x.c\n")], &[]);
    }

    #[test]
    fn cargo_is_a_crate_a_workspace_or_below() {
        check(&[CRATE, LOCK], &["cargo test: cargo test --no-fail-fast"]);
        check(
            &[("Cargo.toml", "[workspace]\n"), ("crates/a/Cargo.toml", ""), LOCK],
            &["cargo test: cargo test --workspace --no-fail-fast"],
        );
        check(
            &[("crates/my crate/Cargo.toml", "[package]"), ("crates/my crate/.env", "")],
            &[
                "crates/my crate: cargo test: cd 'crates/my crate' && cargo test --no-fail-fast",
                "setup: (cd 'crates/my crate' && cargo generate-lockfile)",
                "carry: crates/my crate/.env",
            ],
        );
        check(&[CRATE], &["cargo test: cargo test --no-fail-fast", "setup: cargo generate-lockfile"]);
        check(&[CRATE, (".gitignore", "/target\n/Cargo.lock\n")], &["cargo test: cargo test --no-fail-fast"]);
        check(&[("Cargo.toml", "[package\n")], &[]);
    }

    #[test]
    fn the_lockfile_decides_which_program_runs_scripts() {
        let manifest = r#"{"scripts":{"test":"node --test","lint":"eslint ."},"devDependencies":{"eslint":"9"}}"#;
        let with = |lockfile: &str, expected: &[&str]| {
            check(&[("package.json", manifest), (lockfile, "")], expected);
        };
        let npm = ["npm test: npm test", "npm lint: npm run lint", "setup: npm ci"];
        with("package-lock.json", &npm);
        with("npm-shrinkwrap.json", &npm);
        with(
            "pnpm-lock.yaml",
            &["pnpm test: pnpm test", "pnpm lint: pnpm run lint", "setup: pnpm install --frozen-lockfile"],
        );
        with(
            "yarn.lock",
            &["yarn test: yarn test", "yarn lint: yarn run lint", "setup: yarn install --frozen-lockfile"],
        );
        for bun in ["bun.lock", "bun.lockb"] {
            with(bun, &["bun test: bun run test", "bun lint: bun run lint", "setup: bun install --frozen-lockfile"]);
        }
        with("other.lock", &[npm[0], npm[1], "setup: npm install --no-package-lock"]);
        with("node_modules/.package-lock.json", &[npm[0], npm[1], "carry: node_modules"]);
        check(
            &[("package.json", manifest), ("yarn.lock", "__metadata:\n  version: 8\n")],
            &["yarn test: yarn test", "yarn lint: yarn run lint", "setup: yarn install --immutable"],
        );
        check(
            &[("package.json", r#"{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}"#)],
            &["pnpm test: pnpm test"],
        );
    }

    #[test]
    fn only_scripts_that_judge_are_checks() {
        let script = |scripts: &str, expected: &[&str]| {
            check(&[("package.json", &format!(r#"{{"scripts":{scripts}}}"#))], expected);
        };
        script(r#"{"test":"echo \"Error: no test specified\" && exit 1"}"#, &[]);
        script(r#"{"start":"node .","dev":"vite"}"#, &[]);
        script(
            r#"{"typecheck":"tsc","test":"x","build":"y"}"#,
            &["npm build: npm run build", "npm test: npm test", "npm typecheck: npm run typecheck"],
        );
        script(r#"{"test":"jest --watch","lint":"eslint --fix ."}"#, &[]);
        script(r#"{"test":"react-scripts test"}"#, &["npm test: CI=true npm test"]);
        check(&[("package.json", "{")], &[]);
    }

    #[test]
    fn packages_below_are_entered_if_the_root_has_no_check() {
        let inner = r#"{"scripts":{"test":"x"},"dependencies":{"y":"1"}}"#;
        check(
            &[
                ("package.json", r#"{"workspaces":["packages/*"]}"#),
                ("pnpm-lock.yaml", ""),
                ("packages/a/package.json", inner),
            ],
            &["setup: pnpm install --frozen-lockfile", "packages/a: pnpm test: cd packages/a && pnpm test"],
        );
        check(
            &[("web/package.json", inner), ("web/yarn.lock", ""), ("api/go.mod", ""), ("web/.env", "")],
            &[
                "web: yarn test: cd web && yarn test",
                "setup: (cd web && yarn install --frozen-lockfile)",
                "carry: web/.env",
                "api: go test: cd api && go test ./...",
            ],
        );
        check(
            &[("package.json", r#"{"scripts":{"test":"x"}}"#), ("packages/a/package.json", inner)],
            &["npm test: npm test"],
        );
    }

    #[test]
    fn python_tests_run_with_what_they_are_written_for() {
        let test = "def test_a(): assert True\n";
        let case = "import unittest\n";
        check(&[("pytest.ini", "")], &["pytest: python3 -m pytest"]);
        check(&[("setup.cfg", "[tool:pytest]\n")], &["pytest: python3 -m pytest"]);
        check(&[("tox.ini", "[tox]\n")], &[]);
        check(&[("tox.ini", "[pytest]\n")], &["pytest: python3 -m pytest"]);
        check(&[("pyproject.toml", "[tool.pytest.ini_options]\n")], &["pytest: python3 -m pytest"]);
        check(&[("pyproject.toml", "[tool.ruff]\n")], &[]);
        check(&[("pyproject.toml", "[tool\n")], &[]);
        check(&[("tests/test_a.py", test)], &["pytest: python3 -m pytest"]);
        check(&[("tests/test_a.py", case)], &["unittest: python3 -m unittest discover -s tests"]);
        check(&[("tests/test_a.py", case), ("tests/__init__.py", "")], &["unittest: python3 -m unittest"]);
        check(&[("test_a.py", case)], &["unittest: python3 -m unittest"]);
        check(&[("test_a.py", "import pytest, unittest\n")], &["pytest: python3 -m pytest"]);
        check(&[("tests/run.sh", "")], &[]);
    }

    #[test]
    fn python_installs_what_is_declared_into_an_environment_of_its_own() {
        let test = ("tests/test_a.py", "def test_a(): pass\n");
        let run = "pytest: .venv/bin/python -m pytest";
        let with = |files: &[(&str, &str)], install: &str| {
            let files = [files, &[test]].concat();
            let setup = format!("setup: python3 -m venv .venv && .venv/bin/python -m pip install -q {install}");
            check(&files, &[run, &setup]);
        };
        with(&[("requirements.txt", "requests\n")], "-r requirements.txt pytest");
        with(
            &[("requirements.txt", "a"), ("requirements-dev.txt", "pytest-cov>=5\n")],
            "-r requirements-dev.txt -r requirements.txt",
        );
        with(&[("pyproject.toml", "[project]\ndependencies=['requests>2', 'pytest']\n")], "'requests>2' pytest");
        with(
            &[("pyproject.toml", "[build-system]\n[project.optional-dependencies]\ndev=['pytest']\ndocs=['sphinx']\n")],
            "-e '.[dev]'",
        );
        with(
            &[("pyproject.toml", "[dependency-groups]\nt=['pytest>=8']\ndev=['ruff', {include-group='t'}]\n")],
            "ruff 'pytest>=8'",
        );
        with(&[("pyproject.toml", "[build-system]\n"), ("src/a/__init__.py", "")], "-e . pytest");
        check(
            &[("pyproject.toml", "[build-system]\n[tool.pytest.ini_options]\npythonpath='src'\n"), ("src/a.py", "")],
            &["pytest: python3 -m pytest"],
        );
        with(&[("requirements.txt", "pytest")], "-r requirements.txt");
        with(&[("setup.py", "setup(install_requires=['requests'])")], "-e . pytest");
        let poetry =
            "[build-system]\n[tool.poetry.dependencies]\nsix='1'\n[tool.poetry.group.dev.dependencies]\npytest='8'\n";
        with(&[("pyproject.toml", poetry)], "-e . pytest");
    }

    #[test]
    fn python_lockfiles_and_environments_are_used() {
        let dev = ("pyproject.toml", "[project]\n[dependency-groups]\ndev=['pytest']\n");
        check(
            &[dev, ("uv.lock", ""), ("test_a.py", "")],
            &["pytest: uv run python -m pytest", "setup: uv sync --frozen"],
        );
        let extra = ("pyproject.toml", "[project.optional-dependencies]\nt=['pytest']\n");
        check(
            &[extra, ("uv.lock", ""), ("test_a.py", "")],
            &["pytest: uv run python -m pytest", "setup: uv sync --frozen --extra t"],
        );
        check(
            &[("pyproject.toml", "[tool.pytest]\n"), ("uv.lock", "")],
            &["pytest: uv run --with pytest python -m pytest", "setup: uv sync --frozen"],
        );
        let poetry = ("pyproject.toml", "[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n");
        check(
            &[poetry, ("poetry.lock", ""), ("test_a.py", "")],
            &["pytest: poetry run python -m pytest", "setup: poetry install"],
        );
        check(&[("test_a.py", ""), (".venv/pyvenv.cfg", "")], &["pytest: .venv/bin/python -m pytest", "carry: .venv"]);
    }

    #[test]
    fn make_is_asked_last_and_settings_are_carried() {
        let makefile = ("Makefile", "test:\n\tcargo test\n");
        check(&[makefile, (".env", "A=1")], &["make test: make test", "carry: .env"]);
        check(
            &[makefile, CRATE, LOCK, (".env.test", "")],
            &["cargo test: cargo test --no-fail-fast", "carry: .env.test"],
        );
        check(&[makefile, ("package.json", "{}")], &["make test: make test"]);
        check(
            &[CRATE, LOCK, ("go.mod", "module a")],
            &["cargo test: cargo test --no-fail-fast", "go test: go test ./..."],
        );
    }
}
