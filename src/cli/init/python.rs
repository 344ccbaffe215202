//! Python: pytest if it is configured, declared or used, otherwise unittest; uv, poetry or a `.venv` of its own.

use super::found::{Found, quoted};
use super::package::Package;
use super::python_deps::{Declared, Pytest};

/// Files that make a directory a Python project.
const MANIFESTS: [&str; 6] = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py"];
/// Where people keep virtual environments, with the Python in them.
const VENVS: [(&str, &str); 2] = [(".venv", ".venv/bin/python"), ("venv", "venv/bin/python")];
/// How deep test files are looked for.
const DEPTH: usize = 4;

/// What a Python project asks for.
pub(super) fn find(package: &Package) -> Option<Found> {
    let tests = package.files_below(DEPTH, is_test);
    let declared = match Declared::read(package) {
        Ok(declared) => declared,
        Err(message) => {
            let mut found = Found::new("python");
            found.because(format!("pyproject.toml cannot be read, so there is no check: {message}"));
            return Some(found);
        }
    };
    let near = tests.iter().any(|path| !path.contains('/') || path.starts_with("tests/") || path.starts_with("test/"));
    if !near && declared.files.is_empty() && !MANIFESTS.iter().any(|name| package.has(name)) {
        return None;
    }
    let mut found = Found::new("python");
    let project = Project { package, tests, declared };
    let runner = project.runner(&mut found);
    let python = project.environment(runner.as_ref(), &mut found);
    if let Some(runner) = runner {
        found.check(runner.name, format!("{python} {}", runner.arguments));
        found.env.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
        found.because(
            "PYTHONDONTWRITEBYTECODE: no __pycache__ counts as a change, and no bytecode of an earlier attempt is run.",
        );
    }
    Some(found)
}

/// A file that pytest collects and unittest may.
fn is_test(name: &str) -> bool {
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

/// What runs the tests.
struct Runner {
    name: &'static str,
    /// After `python`.
    arguments: String,
}

/// What is known of a project.
struct Project<'a> {
    package: &'a Package,
    /// Its test files.
    tests: Vec<String>,
    declared: Declared,
}

impl Project<'_> {
    fn runner(&self, found: &mut Found) -> Option<Runner> {
        let pytest = || Some(Runner { name: "pytest", arguments: "-m pytest".to_owned() });
        if let Some(file) = self.configured() {
            found.because(format!("pytest is configured in {file}."));
            return pytest();
        }
        if self.tests.is_empty() {
            found.because("There are no test files (test_*.py, *_test.py), so there is no check.");
            return None;
        }
        if self.declared.pytest != Pytest::Nowhere {
            found.because("pytest is a declared dependency.");
            return pytest();
        }
        let sources: Vec<String> = self.tests.iter().filter_map(|path| self.package.text(path)).collect();
        if !sources.iter().any(|text| text.contains("unittest"))
            || sources.iter().any(|text| text.contains("import pytest"))
        {
            found.because("The test files are written for pytest: unittest would not find them.");
            return pytest();
        }
        found.because("The test files use unittest, and nothing asks for pytest.");
        Some(Runner { name: "unittest", arguments: self.unittest() })
    }

    /// Unittest looks from the working directory down through packages only, so a `tests/` that is none must be named.
    fn unittest(&self) -> String {
        let outside = ["tests", "test"].into_iter().find(|dir| {
            self.tests.iter().any(|path| path.starts_with(&format!("{dir}/")))
                && !self.package.has(&format!("{dir}/__init__.py"))
        });
        outside.map_or_else(|| "-m unittest".to_owned(), |dir| format!("-m unittest discover -s {dir}"))
    }

    /// The file that configures pytest.
    fn configured(&self) -> Option<&'static str> {
        let section =
            |file: &str, head: &str| self.package.text(file).is_some_and(|text| text.lines().any(|l| l.trim() == head));
        if self.package.has("pytest.ini") {
            Some("pytest.ini")
        } else if self.declared.pytest_configured {
            Some("pyproject.toml")
        } else if section("setup.cfg", "[tool:pytest]") {
            Some("setup.cfg")
        } else if section("tox.ini", "[pytest]") {
            Some("tox.ini")
        } else {
            ["conftest.py", "tests/conftest.py"].into_iter().find(|file| self.package.has(file))
        }
    }

    /// Fills in how the environment is made, and says how Python is called in it.
    fn environment(&self, runner: Option<&Runner>, found: &mut Found) -> &'static str {
        let needs_pytest = runner.is_some_and(|runner| runner.name == "pytest")
            && matches!(self.declared.pytest, Pytest::Nowhere | Pytest::Poetry);
        if self.package.has("uv.lock") {
            self.uv(found);
            return if needs_pytest { "uv run --with pytest python" } else { "uv run python" };
        }
        if self.package.has("poetry.lock") {
            self.poetry(found);
            return "poetry run python";
        }
        let mut wanted = self.declared.to_install(self.package);
        if !wanted.is_empty() {
            wanted.extend(needs_pytest.then(|| "pytest".to_owned()));
            venv(&wanted, found);
            return ".venv/bin/python";
        }
        for (dir, python) in VENVS {
            if self.package.has(&format!("{dir}/pyvenv.cfg")) {
                found.carry.push(dir.to_owned());
                found.because(format!(
                    "carry: nothing declares what {dir} holds, so it is copied; programs in {dir}/bin name their old \
                     place, so checks call {python}."
                ));
                return python;
            }
        }
        found.because("Nothing declares a dependency, so checks use the python3 on your PATH and there is no setup.");
        "python3"
    }

    fn poetry(&self, found: &mut Found) {
        let extras = if matches!(self.declared.pytest, Pytest::Extra(_)) { " --all-extras" } else { "" };
        found.setup.push(format!("poetry install{extras}"));
        // Otherwise every workspace would leave an environment in poetry's cache.
        found.env.insert("POETRY_VIRTUALENVS_IN_PROJECT".to_owned(), "true".to_owned());
        found.because("setup: poetry.lock says exactly what to install; the environment is a .venv in the workspace.");
    }

    fn uv(&self, found: &mut Found) {
        let extra = match &self.declared.pytest {
            Pytest::Extra(name) => format!(" --extra {}", quoted(name)),
            // uv installs the group `dev` anyway.
            Pytest::Group(name) if name != "dev" => format!(" --group {}", quoted(name)),
            _ => String::new(),
        };
        found.setup.push(format!("uv sync --frozen{extra}"));
        found.because("setup: uv.lock says exactly what to install, into a .venv in the workspace.");
    }
}

/// An environment of its own in every workspace.
fn venv(wanted: &[String], found: &mut Found) {
    let words: Vec<String> = wanted.iter().map(|word| quoted(word)).collect();
    let install = format!(".venv/bin/python -m pip install -q {}", words.join(" "));
    found.setup.push(format!("python3 -m venv .venv && {install}"));
    found.because(
        "setup: a .venv in each workspace with what the project declares, so that attempts cannot disturb each \
         other or your own environment. Without a lockfile, versions may differ from day to day.",
    );
}
