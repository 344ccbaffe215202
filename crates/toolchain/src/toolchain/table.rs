//! The files of `config/toolchains/`, and those that a project adds, as one table.

use super::file::{
    BuildCache, FailureLine, File, FileError, Inline, Manager, Marks, Mutation, OtherValue, Project, Quoted, Remark,
    Review, StopsEarly, SummaryLine, Wrapper,
};
use super::pattern::Pattern;
use super::programs::Known;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, PoisonError, RwLock};

/// Every file that comes with the program, by its name.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// All files as one.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) code: BTreeSet<String>,
    pub(super) tests: GlobSet,
    pub(super) test_words: Vec<String>,
    pub(super) test_data: GlobSet,
    pub(super) configures_tests: GlobSet,
    pub(super) lockfiles: Vec<String>,
    pub(super) manifests: Vec<String>,
    pub(super) caches: BTreeSet<String>,
    pub(super) quoted: Vec<Quoted>,
    pub(super) lines: Vec<SummaryLine>,
    pub(super) failures: Vec<FailureLine>,
    /// What is known of the sources of each language, with the endings of its files.
    sources: Vec<Source>,
    pub(super) opens_tests: Vec<Pattern>,
    pub(super) missing_names: Vec<Pattern>,
    pub(super) assertions: Vec<Pattern>,
    pub(super) mutations: Vec<Mutation>,
    pub(super) other_values: Vec<OtherValue>,
    pub(super) not_mutated: Vec<Pattern>,
    pub(super) effects: Vec<Pattern>,
    pub(super) denied: Vec<Pattern>,
    pub(super) gives_up: Vec<Pattern>,
    pub(super) takes_values: Vec<Pattern>,
    pub(super) opens_block: Vec<Pattern>,
    pub(super) exports: Vec<Pattern>,
    pub(super) options: Vec<Pattern>,
    pub(super) imports: Vec<Pattern>,
    pub(super) stand_ins: GlobSet,
    pub(super) holds_paths: GlobSet,
    pub(super) build_caches: Vec<BuildCache>,
    pub(super) packages: BTreeSet<String>,
    pub(super) packages_inside: BTreeMap<String, String>,
    pub(super) stops_early: Vec<StopsEarly>,
    pub(super) takes_tests: Vec<String>,
    pub(super) takes_modules: Vec<String>,
    pub(super) compares: Vec<String>,
    pub(super) scripts_in: BTreeMap<String, String>,
    pub(super) glue: BTreeSet<String>,
    pub(super) programs: Known,
    pub(super) projects: Vec<Project>,
    pub(super) managers: Vec<Manager>,
    pub(super) wrappers: Vec<Wrapper>,
    pub(super) runners: Vec<Wrapper>,
    pub(super) home_caches: Vec<String>,
    pub(super) home_fetched: Vec<String>,
    /// Lockfiles and manifests.
    pub(super) installs: GlobSet,
    pub(super) locks: GlobSet,
}

/// What is known of the sources of one language.
#[derive(Debug)]
struct Source {
    endings: BTreeSet<String>,
    marks: Marks,
    review: Review,
    inline: Option<Inline>,
    line_remarks: Vec<String>,
    remarks: Vec<Remark>,
}

/// The table that holds now, and the texts of the files that were added to those of the program.
struct Current {
    table: &'static Table,
    added: Vec<String>,
}

static CURRENT: LazyLock<RwLock<Current>> = LazyLock::new(|| {
    // They are part of the program, and a test reads every one.
    let files = FILES.iter().filter_map(|(_, text)| toml::from_str(text).ok());
    RwLock::new(Current { table: Box::leak(Box::new(Table::of(files))), added: Vec::new() })
});

pub(super) fn table() -> &'static Table {
    CURRENT.read().unwrap_or_else(PoisonError::into_inner).table
}

/// Adds the text of a file in the format of `config/toolchains/README.md` to what this process knows of tool chains, from here on. A text
/// that is known already changes nothing.
///
/// # Errors
/// [`FileError`] if it cannot be used; nothing is added then.
///
/// ```
/// # use reflexion_toolchain::toolchain;
/// assert!(!toolchain::is_code("src/shop.hx"));
/// toolchain::add("code = ['hx']").expect("it is a file about a tool chain");
/// assert!(toolchain::is_code("src/shop.hx"));
///
/// let error = toolchain::add("code = ['a']\ntest = ['b']").expect_err("`tests` was meant");
/// assert!(error.to_string().starts_with("line 2: `test`: unknown field `test`"), "{error}");
/// ```
pub fn add(text: &str) -> Result<(), FileError> {
    let file = File::checked(text)?;
    if let Some(place) = file.home_caches.iter().chain(&file.home_fetched).next() {
        let at = text.lines().position(|line| line.contains(place.as_str())).map_or(1, |at| at + 1);
        let message =
            format!("`{place}` is given by `sandbox.write` in project.json, and by no file about tool chains");
        return Err(FileError { line: at, key: "home_caches".to_owned(), message });
    }
    let mut current = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    if current.added.iter().any(|added| added == text) {
        return Ok(());
    }
    current.added.push(text.to_owned());
    let texts = FILES.iter().map(|(_, text)| *text).chain(current.added.iter().map(String::as_str));
    let table = Table::of(texts.filter_map(|text| toml::from_str(text).ok()));
    // What was read from the table before is used as long as the program runs.
    current.table = Box::leak(Box::new(table));
    Ok(())
}

impl Table {
    /// What is told of the code of a file's language.
    pub(super) fn reviews_of(&self, path: &str) -> impl Iterator<Item = &Review> {
        self.sources_of(path).map(|source| &source.review)
    }

    /// What switches tests off in a file of this language.
    pub(super) fn marks_of(&self, path: &str) -> impl Iterator<Item = &Marks> {
        self.sources_of(path).map(|source| &source.marks)
    }

    /// How tests stand among the code of a file of this language.
    pub(super) fn inline_of(&self, path: &str) -> impl Iterator<Item = &Inline> {
        self.sources_of(path).filter_map(|source| source.inline.as_ref())
    }

    /// Whether a remark may begin with this in a line of a file of this language; in one that says nothing of it, with anything.
    pub(super) fn begins_remark(&self, path: &str, mark: &str) -> bool {
        let known: Vec<&Source> = self.sources_of(path).filter(|source| !source.line_remarks.is_empty()).collect();
        known.is_empty() || known.iter().any(|source| source.line_remarks.iter().any(|known| known == mark))
    }

    /// How remarks of several lines stand in a file of this language.
    pub(super) fn remarks_of(&self, path: &str) -> impl Iterator<Item = &Remark> {
        self.sources_of(path).flat_map(|source| &source.remarks)
    }

    fn sources_of(&self, path: &str) -> impl Iterator<Item = &Source> {
        let ending = ending(path);
        self.sources.iter().filter(move |source| ending.as_ref().is_some_and(|ending| source.endings.contains(ending)))
    }

    /// Files as one; what stands in an earlier one is asked first.
    fn of(files: impl Iterator<Item = File>) -> Self {
        let mut table = Self::default();
        let (mut tests, mut test_data, mut configures_tests) = (Vec::new(), Vec::new(), Vec::new());
        let (mut stand_ins, mut holds_paths) = (Vec::new(), Vec::new());
        for file in files {
            table.code.extend(file.code.iter().cloned());
            tests.extend(file.tests);
            table.test_words.extend(file.test_words);
            test_data.extend(file.test_data);
            configures_tests.extend(file.configures_tests);
            table.lockfiles.extend(file.lockfiles);
            table.manifests.extend(file.manifests);
            table.caches.extend(file.caches);
            holds_paths.extend(file.holds_paths);
            table.build_caches.extend(file.build_cache);
            table.packages.extend(file.packages);
            table.packages_inside.extend(file.packages_inside);
            table.stops_early.extend(file.stops_early);
            table.quoted.extend(file.quoted);
            table.lines.extend(file.summary);
            table.failures.extend(file.failure);
            stand_ins.extend(file.review.stand_ins.iter().cloned());
            table.opens_tests.extend(file.opens_tests);
            table.missing_names.extend(file.missing_names);
            table.assertions.extend(file.assertions);
            table.mutations.extend(file.mutations);
            table.other_values.extend(file.other_values);
            table.not_mutated.extend(file.not_mutated);
            table.effects.extend(file.effects);
            table.denied.extend(file.denied);
            table.gives_up.extend(file.gives_up);
            table.takes_values.extend(file.takes_values);
            table.opens_block.extend(file.opens_block);
            table.exports.extend(file.exports);
            table.options.extend(file.options);
            table.imports.extend(file.imports);
            table.takes_tests.extend(file.takes_tests);
            table.takes_modules.extend(file.takes_modules);
            table.compares.extend(file.compares);
            table.scripts_in.extend(file.scripts_in);
            table.glue.extend(file.code.iter().filter(|_| file.glues).cloned());
            table.programs.extend(file.programs);
            table.projects.extend(file.project);
            table.managers.extend(file.manager);
            table.wrappers.extend(file.wrapper);
            table.runners.extend(file.runner);
            table.home_caches.extend(file.home_caches);
            table.home_fetched.extend(file.home_fetched);
            table.sources.push(Source {
                endings: file.code.into_iter().collect(),
                marks: file.marks,
                review: file.review,
                inline: file.inline,
                line_remarks: file.line_remarks,
                remarks: file.remark,
            });
        }
        let code = table.code.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        table.tests = globs_of_names(tests.iter().map(|glob| glob.replace("{code}", &format!("{{{code}}}"))));
        table.test_data = globs(test_data.into_iter());
        table.configures_tests = globs(configures_tests.into_iter());
        table.stand_ins = globs(stand_ins.into_iter());
        table.holds_paths = globs(holds_paths.into_iter());
        table.locks = globs(table.lockfiles.iter().cloned());
        table.installs = globs(table.lockfiles.iter().chain(&table.manifests).cloned());
        table
    }
}

/// What stands behind the last dot.
pub(super) fn ending(path: &str) -> Option<String> {
    path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

/// Each glob at any depth, whatever the case.
fn globs(globs: impl Iterator<Item = String>) -> GlobSet {
    set_of(globs, |_| true)
}

/// The same, but a capital letter means just that: `?*Test.java` is no `Latest.java`.
fn globs_of_names(globs: impl Iterator<Item = String>) -> GlobSet {
    set_of(globs, |glob| !glob.contains(|c: char| c.is_ascii_uppercase()))
}

fn set_of(globs: impl Iterator<Item = String>, any_case: fn(&str) -> bool) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let any_case = any_case(&glob);
        let glob = GlobBuilder::new(&format!("**/{glob}")).case_insensitive(any_case).literal_separator(true).build();
        if let Ok(glob) = glob {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read() {
        assert!(FILES.len() > 10);
        for (name, text) in FILES {
            File::checked(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn an_error_names_the_line_and_the_key() {
        let check = |text: &str, expected: &str| {
            let error = add(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("code = [", "line 1: ");
        check("# a\ncode = 3", "line 2: `code`: invalid type: integer `3`");
        check("\n[programs]\ntset = ['a']", "line 3: `programs.tset`: unknown field `tset`");
        check(
            "code = ['a']\n[[summary]]\nrunner = 'a'\ncontains = 'b'\nlines = 'c'",
            "line 5: `summary[0].lines`: unknown field `lines`",
        );
        check(
            "[[summary]]\nrunner = 'a'\ncontains = 'b'\nline = '(c'",
            "line 4: `summary.line`: \"(c\" is no regular expression",
        );
        check(
            "[[summary]]\nrunner = 'a'\ncontains = 'b'\nline = '(?P<won>c)'",
            "line 4: `summary.line`: the group `won` means nothing here",
        );
        check("code = ['a']\ntests = ['a[']", "line 2: `tests`: \"a[\" is no glob");
        check("home_caches = ['.ssh']", "line 1: `home_caches`: `.ssh` is given by `sandbox.write`");
    }

    #[test]
    fn what_stops_at_a_failure_is_known_by_its_words() {
        let check = |command: &str, expected: bool| {
            assert_eq!(super::super::runs_all_with(command).is_some(), expected, "{command}");
        };
        for command in ["cargo test", "cargo +nightly --locked t -q one", "cargo nextest run --workspace"] {
            check(command, true);
            check(&format!("{command} --no-fail-fast"), false);
        }
        for command in ["cargo build", "cargo nextest list", "cargo testing", "go test ./...", "echo cargo test"] {
            check(command, false);
        }
    }

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "tests/it/main.rs",
            "tests/test_a.py",
            "test_a.py",
            "src/a_test.go",
            "src/a.test.ts",
            "src/a.spec.d.ts",
            "src/__tests__/a.js",
            "src/test/java/AppTest.java",
            "app/PricesTests.cs",
            "spec/models/user_spec.rb",
            "cypress/e2e/login.cy.ts",
            "src/tests.rs",
            "t/run.bats",
            "TESTS/A.PY",
            "MyApp.Tests/Foo.cs",
            "ShopTest.cpp",
            "shop_unittest.cc",
            "src/it/java/a/FooIT.java",
            "TestShop.java",
            "t/01-basic.t",
            "features/x.feature",
            "test-shop.js",
            "integration_tests/a.py",
            "tests-e2e/a.py",
            "testsuite.at",
            "Shop.Tests.ps1",
        ] {
            assert!(super::super::is_test(path), "{path}");
        }
        for path in [
            "src/latest.rs",
            "src/contest.py",
            "tests/README.md",
            "src/testing.rs",
            "docs/tests.md",
            "src/attest.go",
            "Test.java.txt",
            "src/Latest.java",
            "src/Contest.cs",
            "Testimonial.java",
            "AUDIT.java",
            "src/Latest/a.cs",
        ] {
            assert!(!super::super::is_test(path), "{path}");
        }
        assert!(super::super::is_test_data("tests/fixtures/prices.json"));
        assert!(super::super::is_test_data("src/__snapshots__/a.snap"));
        assert!(!super::super::is_test_data("data/prices.json"));
    }

    #[test]
    fn what_decides_how_tests_run_is_known_by_its_name() {
        for path in
            ["conftest.py", "a/b/conftest.py", "package.json", "jest.config.ts", ".cargo/config.toml", "Makefile"]
        {
            assert!(super::super::configures_tests(path), "{path}");
        }
        for path in ["src/config.toml", "a/package.json.md", "README.md", "src/lib.rs"] {
            assert!(!super::super::configures_tests(path), "{path}");
        }
        assert!(super::super::is_cache("__pycache__") && !super::super::is_cache("target"));
        assert!(super::super::lockfiles().iter().any(|name| name == "Cargo.lock"));
        assert!(super::super::manifests().iter().any(|name| name == "Cargo.toml"));
        assert!(super::super::is_code("a/b.RS") && !super::super::is_code("a/b.md"));
        let reaches = super::super::reaches_into_tests;
        for (path, line, word) in [
            ("a.py", "    os._exit(0)", "os._exit"),
            ("a.py", "sys.exit(0)", "sys.exit(0)"),
            ("a.py", "    raise SystemExit", "raise SystemExit"),
            ("a.py", "    raise SystemExit(0)", "SystemExit(0)"),
            ("a.py", "from sys import argv, exit", "from sys import argv, exit"),
            ("a.js", "const a=require(\"node:assert\")", "\"node:assert\""),
            ("a.js", "import a from 'assert/strict'", "'assert/strict'"),
            ("a.ts", "const {exit} = process", "{exit} = process"),
            ("a.ts", "const p = process;", "p = process;"),
            ("a.ts", "process['exit'](0)", "process["),
            ("a.rs", "std::process::exit(0)", "process::exit"),
        ] {
            assert_eq!(reaches(path, line), Some(word), "{line}");
        }
        for (path, line) in [
            ("a.py", "return total"),
            ("a.py", "    sys.exit(main())"),
            ("a.py", "    raise SystemExit(main())"),
            ("a.py", "    sys.exit(1)"),
            ("a.py", "except SystemExit as stop:"),
            ("a.js", "const {env} = process"),
            ("a.js", "const next = process(item)"),
            ("a.js", "assert(x)"),
            ("a.c", "os._exit"),
            ("a.md", "sys.exit(0)"),
        ] {
            assert_eq!(reaches(path, line), None, "{line}");
        }
        let others = super::super::reaches_into_others;
        for (path, line, word) in [
            ("test_a.py", "    del request.session.items[3:]", Some("session.items")),
            ("test_a.py", "sys.modules[\"shop\"] = fake", Some("sys.modules[")),
            ("test_a.py", "unittest.TestCase.assertEqual = lambda *a: None", Some("TestCase.assert")),
            ("test_a.py", "pytest_plugins = [\"plug\"]", Some("pytest_plugins")),
            ("test_a.py", "    self.assertEqual(total(a), 3)", None),
            ("a.test.js", "this.currentTest.fn = () => {}", Some("currentTest.fn")),
            ("a.test.js", "log(this.currentTest.title)", None),
            ("a_test.go", "\tos.Args = append(os.Args, \"-test.run=B\")", Some("os.Args =")),
            ("a_test.go", "\tlog(os.Args[0])", None),
            ("a_test.rb", "module Minitest::Assertions", Some("module Minitest")),
            ("a_test.rb", "class ATest < Minitest::Test", None),
        ] {
            assert_eq!(others(path, line), word, "{line}");
        }
        assert!(super::super::configures_tests("x.egg-info/entry_points.txt"));
        assert_eq!(reaches("a.rs", "macro_rules! assert_eq {"), Some("macro_rules! assert"));
        let inline = super::super::is_inline_test;
        assert!(inline("src/a.rs", "mod tests {"));
        assert!(inline("src/a.rs", "        assert_eq!(a, 1);") && inline("src/a.rs", "    #[test]"));
        assert!(!inline("src/a.rs", "let a = 1;") && !inline("src/a.c", "assert_eq!(a, 1);"));
    }
}
