//! The files of `config/toolchains/`, read once.

use super::pattern::Pattern;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/toolchains/", $name, ".toml")))),*]
    };
}

/// Every file by its name; a test compares this with the directory.
const FILES: [(&str, &str); 13] = files![
    "any",
    "python",
    "javascript",
    "rust",
    "go",
    "jvm",
    "ruby",
    "php",
    "dotnet",
    "elixir",
    "c-family",
    "shell",
    "others",
];

/// One file, see `config/toolchains/README.md`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    code: Vec<String>,
    tests: Vec<String>,
    test_words: Vec<String>,
    test_data: Vec<String>,
    configures_tests: Vec<String>,
    lockfiles: Vec<String>,
    manifests: Vec<String>,
    caches: Vec<String>,
    holds_paths: Vec<String>,
    build_cache: Vec<BuildCache>,
    packages: Vec<String>,
    packages_inside: BTreeMap<String, String>,
    quoted: Vec<Quoted>,
    summary: Vec<SummaryLine>,
    failure: Vec<FailureLine>,
    marks: Marks,
    review: Review,
    inline: Option<Inline>,
    stops_early: Vec<StopsEarly>,
    missing_names: Vec<Pattern>,
    assertions: Vec<Pattern>,
    mutations: Vec<Mutation>,
    not_mutated: Vec<Pattern>,
    effects: Vec<Pattern>,
    denied: Vec<Pattern>,
    gives_up: Vec<Pattern>,
    line_remarks: Vec<String>,
    remark: Vec<Remark>,
    takes_tests: Vec<String>,
    takes_modules: Vec<String>,
    compares: Vec<String>,
    scripts_in: BTreeMap<String, String>,
    glues: bool,
}

/// A remark of several lines, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remark {
    pub(super) begins: String,
    pub(super) ends: String,
    /// Of the line of code before; none: anywhere.
    #[serde(default)]
    pub(super) after: Option<Pattern>,
    /// A line in it that makes it none.
    #[serde(default)]
    pub(super) unless: Option<Pattern>,
}

/// A mistake that is made in a line of code, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mutation {
    pub(super) from: Pattern,
    /// None: one more of the number in it.
    pub(super) to: Option<String>,
    /// Endings of the only files that it is made in; empty: all.
    #[serde(default)]
    pub(super) only: Vec<String>,
    /// What the mistake is called where its words would not be read.
    #[serde(default)]
    pub(super) called: Option<String>,
}

/// A program that stops at a failure unless it is asked not to, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StopsEarly {
    pub(super) command: Pattern,
    pub(super) unless: String,
}

/// How tests stand among the code of a file, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inline {
    pub(super) begins: Pattern,
    pub(super) ends: Pattern,
}

/// A build cache that is known, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildCache {
    pub(super) variables: Vec<String>,
    pub(super) reuse: Reuse,
    #[serde(default)]
    pub(super) unless: Vec<String>,
}

/// What of a build cache may be used for other files than those that it was built of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Everything: the tool finds it by digests of all that it depends on.
    All,
    /// Of a target directory of cargo, what was built of sources that are not in the repository.
    DependenciesOfCargo,
}

/// A line with which a runner says how it went, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SummaryLine {
    pub(super) runner: String,
    pub(super) contains: String,
    pub(super) line: Pattern,
    #[serde(default)]
    pub(super) joins: Joins,
    #[serde(default)]
    pub(super) goes_on: bool,
    #[serde(default)]
    pub(super) once: bool,
    #[serde(default)]
    pub(super) partial: bool,
    #[serde(default)]
    pub(super) when: When,
    #[serde(default)]
    pub(super) no_tests: bool,
}

/// A line about a single failure, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureLine {
    pub(super) runner: String,
    pub(super) contains: String,
    pub(super) line: Pattern,
    /// Otherwise the runner counts it among its failures, but it is no test of its own.
    #[serde(default = "yes")]
    pub(super) is_test: bool,
}

fn yes() -> bool {
    true
}

/// Lines between which a runner repeats what a test printed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quoted {
    pub(super) from: Pattern,
    pub(super) to: Pattern,
}

/// How lines of one runner come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Joins {
    /// The last line holds.
    #[default]
    Last,
    /// Each line is about other tests: cargo's test binaries, Go's packages.
    Add,
    /// Each line is another number about the same tests.
    Parts,
    /// Tests that were skipped, and that a line before counted as passed.
    OfPassed,
    /// The failures of a total that stood on a line before.
    Failures,
    /// Failures of a total that stands on a line behind.
    FailuresFirst,
}

/// Of which runs there is such a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum When {
    #[default]
    Always,
    Red,
}

/// What switches tests off, see `config/toolchains/README.md`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Marks {
    pub(super) off: Vec<String>,
    pub(super) off_calls: Vec<String>,
    pub(super) off_lines: Vec<Pattern>,
    pub(super) only: Vec<String>,
    pub(super) only_lines: Vec<Pattern>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Review {
    #[serde(default)]
    pub(super) words: Vec<String>,
    #[serde(default)]
    pub(super) patterns: Vec<Pattern>,
    /// What keeps a linter from looking.
    #[serde(default)]
    pub(super) silences: Vec<String>,
    /// Of new tests, what decides how the others end.
    #[serde(default)]
    pub(super) in_tests: Vec<String>,
    #[serde(default)]
    pub(super) inline_tests: Vec<String>,
    /// Files that a program finds in place of the test runner's own.
    #[serde(default)]
    stand_ins: Vec<String>,
}

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
    pub(super) missing_names: Vec<Pattern>,
    pub(super) assertions: Vec<Pattern>,
    pub(super) mutations: Vec<Mutation>,
    pub(super) not_mutated: Vec<Pattern>,
    pub(super) effects: Vec<Pattern>,
    pub(super) denied: Vec<Pattern>,
    pub(super) gives_up: Vec<Pattern>,
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

pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(Table::read);
    &TABLE
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

    fn read() -> Self {
        let mut table = Self::default();
        let (mut tests, mut test_data, mut configures_tests) = (Vec::new(), Vec::new(), Vec::new());
        let (mut stand_ins, mut holds_paths) = (Vec::new(), Vec::new());
        // The files are part of the program, and a test reads every one.
        for file in FILES.iter().filter_map(|(_, text)| toml::from_str::<File>(text).ok()) {
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
            table.missing_names.extend(file.missing_names);
            table.assertions.extend(file.assertions);
            table.mutations.extend(file.mutations);
            table.not_mutated.extend(file.not_mutated);
            table.effects.extend(file.effects);
            table.denied.extend(file.denied);
            table.gives_up.extend(file.gives_up);
            table.takes_tests.extend(file.takes_tests);
            table.takes_modules.extend(file.takes_modules);
            table.compares.extend(file.compares);
            table.scripts_in.extend(file.scripts_in);
            table.glue.extend(file.code.iter().filter(|_| file.glues).cloned());
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

    fn place() -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/toolchains")
    }

    #[test]
    fn every_file_is_listed_and_can_be_read() {
        let mut names: Vec<String> = std::fs::read_dir(place())
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
            .collect();
        names.sort();
        let mut listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        listed.sort_unstable();
        assert_eq!(names, listed);
        for (name, text) in FILES {
            let file: File = toml::from_str(text).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
            let globs = [
                &file.tests,
                &file.test_data,
                &file.configures_tests,
                &file.lockfiles,
                &file.manifests,
                &file.holds_paths,
            ];
            for glob in globs.into_iter().flatten() {
                GlobBuilder::new(&glob.replace("{code}", "{a,b}")).build().unwrap();
            }
            for line in &file.summary {
                let pattern = line.line.regex().unwrap_or_else(|| panic!("{name}.toml: {:?}", line.line));
                for group in pattern.capture_names().flatten() {
                    let known = ["passed", "failed", "errors", "skipped", "counts", "none", "green", "red", "cut"];
                    assert!(known.contains(&group) || group.starts_with("total"), "{name}.toml: {group}");
                }
            }
            for failure in &file.failure {
                let pattern = failure.line.regex().unwrap_or_else(|| panic!("{name}.toml: {:?}", failure.line));
                assert!(pattern.capture_names().flatten().all(|group| group == "name"), "{name}.toml: {failure:?}");
            }
            let inline = file.inline.iter().flat_map(|inline| [&inline.begins, &inline.ends]);
            let review = file.review.patterns.iter().chain(&file.marks.off_lines).chain(&file.marks.only_lines);
            let mutation = file.mutations.iter().map(|mutation| &mutation.from);
            let mutants = mutation
                .chain(&file.not_mutated)
                .chain(&file.effects)
                .chain(&file.denied)
                .chain(&file.gives_up)
                .chain(&file.assertions);
            let remarks = file.remark.iter().flat_map(|remark| remark.after.iter().chain(&remark.unless));
            for pattern in review.chain(&file.missing_names).chain(inline).chain(mutants).chain(remarks) {
                assert!(pattern.regex().is_some(), "{name}.toml: {pattern:?}");
            }
            assert!(file.stops_early.iter().all(|stops| stops.command.regex().is_some()), "{name}.toml");
            for quoted in &file.quoted {
                assert!(quoted.from.regex().is_some() && quoted.to.regex().is_some(), "{name}.toml: {quoted:?}");
            }
        }
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
