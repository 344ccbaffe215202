//! What the tools of each language are like, as data: which files are tests, which decide how tests run, what is
//! installed from what, and what test runners say at the end.
//!
//! The data are `config/toolchains/*.toml`, part of the program, and whatever was [added](add). Nothing here does I/O.
//!
//! ```
//! use reflexion_toolchain::toolchain;
//!
//! assert!(toolchain::is_test("src/test_prices.py"));
//! assert!(toolchain::configures_tests("web/package.json"));
//! let said = toolchain::summary("Ran 5 tests in 0.001s\n\nFAILED (failures=1)").expect("a runner's words");
//! assert_eq!((said.runner, said.green), ("unittest", false));
//! ```

mod brought;
mod counts;
mod earlier;
mod file;
mod hunk;
mod inline;
mod junit;
mod mutant;
mod opens;
mod pattern;
mod programs;
mod projects;
mod remark;
mod summary;
mod table;

pub use brought::{Brings, Brought, gained};
pub use counts::Counts;
pub use earlier::is_earlier_form;
pub use file::{FileError, Manager, Project, Reuse, Wrapper};
pub use hunk::{CodeChange, Hunk};
pub use inline::{Apart, has_inline_tests, inline_tests, says_a_name_is_missing};
pub use junit::{TestOutcome, TestResult, junit};
pub use mutant::{
    Mutant, effect, gives_up, imports_more, lends_itself, mutants, says_an_assertion_failed, says_it_was_denied,
    takes_values, with_line,
};
pub use opens::{is_assertion, is_test_attribute, may_hold_tests, opens_test, tests_in};
pub use programs::{Purpose, interprets, only_prints, package_runner, purpose, wrapper};
pub use projects::{manager_of, managers, projects};
pub use remark::{begins_example, remarks};
pub use summary::{TestSummary, failed_test, quoted_summaries, summaries, summary};
pub use table::add;

use file::{BuildCache, Marks, Review};
use table::table;

/// Whether a path is a test's source file, by its name and the directories it lies in.
#[must_use]
pub fn is_test(path: &str) -> bool {
    table().tests.is_match(path)
}

/// Words of a path that say that a file belongs to tests, in the singular: `fixture`, `mock`.
#[must_use]
pub fn test_words() -> &'static [String] {
    &table().test_words
}

/// Whether a path is a file that tests read and compare with: fixtures, snapshots, expected output.
#[must_use]
pub fn is_test_data(path: &str) -> bool {
    table().test_data.is_match(path)
}

/// Whether a path is a file that decides which tests run, or how: `conftest.py`, `package.json`, `Makefile`.
#[must_use]
pub fn configures_tests(path: &str) -> bool {
    table().configures_tests.is_match(path)
}

/// Whether a path is a source file's, by its ending.
#[must_use]
pub fn is_code(path: &str) -> bool {
    table::ending(path).is_some_and(|ending| table().code.contains(&ending))
}

/// Whether a file is in a language in which programs are called one after the other: it may be the program, or what asks it.
#[must_use]
pub fn is_of_a_shell(path: &str) -> bool {
    table::ending(path).is_some_and(|ending| table().glue.contains(&ending))
}

/// Globs of names of files that say exactly what is installed: `Cargo.lock`, `requirements*.txt`.
#[must_use]
pub fn lockfiles() -> &'static [String] {
    &table().lockfiles
}

/// Globs of names of files that say what a project needs: `Cargo.toml`, `package.json`.
#[must_use]
pub fn manifests() -> &'static [String] {
    &table().manifests
}

/// Whether a file says exactly what is installed.
#[must_use]
pub fn is_lockfile(path: &str) -> bool {
    table().locks.is_match(path)
}

/// Whether what is installed depends on a file: a lockfile or a manifest.
#[must_use]
pub fn says_what_is_installed(path: &str) -> bool {
    table().installs.is_match(path)
}

/// What tools keep below the home directory to have it again, relative to it: what package managers have fetched and builds have made. None of it
/// steers a tool.
#[must_use]
pub fn home_caches() -> &'static [String] {
    &table().home_caches
}

/// Of these, or below them, what holds no settings, keys or data beside what was fetched or made.
#[must_use]
pub fn home_fetched() -> &'static [String] {
    &table().home_fetched
}

/// Whether tools write a directory of this name and nobody needs it: `__pycache__`, but not `target`, whose programs are
/// run.
#[must_use]
pub fn is_cache(name: &str) -> bool {
    table().caches.contains(name)
}

/// The names of such directories.
pub fn caches() -> impl Iterator<Item = &'static str> {
    table().caches.iter().map(String::as_str)
}

/// Whether a tool keeps in a file of this name where sources are, by their whole path: `*.pth`, `CMakeCache.txt`.
#[must_use]
pub fn holds_paths(path: &str) -> bool {
    table().holds_paths.is_match(path)
}

/// Names of files that say how dependencies are built: where one is anywhere in the repository, nothing of a build cache may be used
/// for other files.
pub fn says_how_dependencies_are_built() -> impl Iterator<Item = &'static str> {
    table().build_caches.iter().flat_map(|cache| &cache.unless).map(String::as_str)
}

/// What of the build cache that this variable of the environment names may be used for other files than those that it was built
/// of; none: nothing, or it is no build cache that is known.
#[must_use]
pub fn reuse(variable: &str) -> Option<Reuse> {
    let is_named = |cache: &&BuildCache| cache.variables.iter().any(|known| known == variable);
    table().build_caches.iter().find(is_named).map(|cache| cache.reuse)
}

/// Whether tools install packages into a directory of this name: `node_modules`.
#[must_use]
pub fn holds_packages(name: &str) -> bool {
    table().packages.contains(name)
}

/// Variables of the environment, with their values, by which tools install packages into the project: otherwise they do it below the
/// home directory, by the project's path.
pub fn packages_inside() -> impl Iterator<Item = (&'static str, &'static str)> {
    table().packages_inside.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The option by which this command runs all tests, where it stops at a failure without it: what else fails is then not known.
///
/// ```
/// # use reflexion_toolchain::toolchain::runs_all_with;
/// assert_eq!(runs_all_with("cargo nextest run"), Some("--no-fail-fast"));
/// assert_eq!(runs_all_with("cargo test --no-fail-fast"), None);
/// ```
#[must_use]
pub fn runs_all_with(command: &str) -> Option<&'static str> {
    let stops = table().stops_early.iter().find(|stops| stops.command.is_match(command))?;
    let is_asked = command.split_whitespace().any(|word| word == stops.unless);
    (!is_asked).then_some(stops.unless.as_str())
}

/// The arguments that a command line hands to a program that runs what it is given, or compares with it: a test may stand there,
/// whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given<'l> {
    /// The arguments.
    pub words: Vec<&'l str>,
    /// Whether they may be modules (`a.b`).
    pub modules: bool,
    /// Whether a directory stands for all that is in it: what is compared is data, while the directory of a test runner may hold code and tests.
    pub directories: bool,
}

/// What one command of a command line hands to a test runner or to a comparison.
///
/// ```
/// # use reflexion_toolchain::toolchain::given;
/// assert_eq!(given("npx mocha trials/a.js").expect("it is a runner").words, ["trials/a.js"]);
/// assert_eq!(given("node --test a.js").expect("it is a runner").words, ["a.js"]);
/// assert!(given("sort a.txt | diff - golden").expect("it compares").directories);
/// assert!(given("git diff --no-index golden out").is_some());
/// assert_eq!(given("git diff golden"), None);
/// ```
#[must_use]
pub fn given(command: &str) -> Option<Given<'_>> {
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ','))
        .filter(|word| !word.is_empty())
        .collect();
    let name = |word: &'_ str| word.rsplit('/').next().unwrap_or(word).to_owned();
    // What git compares is its own, unless it is asked for two files.
    let is_gits = |at: usize| words[..at].contains(&"git") && !words.contains(&"--no-index");
    let is_program = |at: usize, program: &str| name(words[at]) == program && !is_gits(at);
    // `node --test`: behind the option.
    let behind = |entry: &str| {
        let (program, option) =
            entry.split_once(' ').map_or((entry, None), |(program, option)| (program, Some(option)));
        let at = (0..words.len()).find(|at| is_program(*at, program))?;
        match option {
            None => Some(at + 1),
            Some(option) => Some(at + 2 + words[at + 1..].iter().position(|word| *word == option)?),
        }
    };
    let of = |entries: &[String]| entries.iter().find_map(|entry| behind(entry));
    let table = table();
    let (modules, directories) = (of(&table.takes_modules), of(&table.compares));
    let at = modules.or(directories).or_else(|| of(&table.takes_tests))?;
    Some(Given { words: words[at..].to_vec(), modules: modules.is_some(), directories: directories.is_some() })
}

/// The file in which this program finds what it runs: `package.json` of `npm`.
#[must_use]
pub fn scripts_in(program: &str) -> Option<&'static str> {
    table().scripts_in.get(program).map(String::as_str)
}

/// Whether a file is found in place of the test runner's own: `unittest.py` beside the code.
#[must_use]
pub fn stands_in(path: &str) -> bool {
    table().stand_ins.is_match(path)
}

/// What a line of a file of product code uses that reaches into the test runner, if it does: `os._exit`, `import unittest`. It may have a
/// good reason; somebody should see it.
#[must_use]
pub fn reaches_into_tests<'l>(path: &str, line: &'l str) -> Option<&'l str> {
    let word = |review: &Review| {
        let word = found(&review.words, line);
        word.or_else(|| review.patterns.iter().find_map(|pattern| pattern.found_in(line)))
    };
    table().reviews_of(path).find_map(word)
}

/// What a line of a test uses that decides how the other tests end, if it does: `func TestMain(`.
#[must_use]
pub fn reaches_into_others<'l>(path: &str, line: &'l str) -> Option<&'l str> {
    table().reviews_of(path).find_map(|review| found(&review.in_tests, line))
}

/// With what a line of code keeps a linter or a type checker from looking at it, if it does: `# noqa`.
#[must_use]
pub fn silences_a_linter<'l>(path: &str, line: &'l str) -> Option<&'l str> {
    table().reviews_of(path).find_map(|review| found(&review.silences, line))
}

/// How a line of a source keeps tests from being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The test that it belongs to is not run: `#[ignore]`, `t.Skip()`.
    Off,
    /// The same, and the line names that test: `it.skip("adds"`.
    OffCall,
    /// No other test is run: `it.only("adds"`.
    Only,
}

/// How a line of this file keeps tests from being run, if it does; a mark stands where a statement or a decorator begins, not somewhere
/// in a text.
#[must_use]
pub fn mark(path: &str, line: &str) -> Option<Mark> {
    let line = line.trim();
    let begins = |words: &[String]| words.iter().any(|word| line.starts_with(word));
    let of = |marks: &Marks| {
        let matches = |patterns: &[pattern::Pattern]| patterns.iter().any(|pattern| pattern.is_match(line));
        if begins(&marks.only) || matches(&marks.only_lines) {
            Some(Mark::Only)
        } else if begins(&marks.off_calls) {
            Some(Mark::OffCall)
        } else {
            (begins(&marks.off) || matches(&marks.off_lines)).then_some(Mark::Off)
        }
    };
    table().marks_of(path).find_map(of)
}

/// Whether a text that is put into this file has a word in it that keeps a test from being run.
pub fn marks_of(path: &str) -> impl Iterator<Item = &'static str> {
    table().marks_of(path).flat_map(|marks| marks.off.iter().chain(&marks.off_calls)).map(String::as_str)
}

fn found<'l>(words: &[String], line: &'l str) -> Option<&'l str> {
    words.iter().find_map(|word| line.find(word).map(|at| &line[at..at + word.len()]))
}

/// Whether a line of a file of code belongs to a test in it: declares one, or asserts.
#[must_use]
pub fn is_inline_test(path: &str, line: &str) -> bool {
    table().reviews_of(path).flat_map(|review| &review.inline_tests).any(|word| line.contains(word))
}
