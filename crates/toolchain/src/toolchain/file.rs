//! What stands in one file of `config/toolchains/`, or of a project's own.

use super::pattern::Pattern;
use globset::GlobBuilder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// One file, see `config/toolchains/README.md`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) code: Vec<String>,
    pub(super) tests: Vec<String>,
    pub(super) test_words: Vec<String>,
    pub(super) test_data: Vec<String>,
    pub(super) configures_tests: Vec<String>,
    pub(super) lockfiles: Vec<String>,
    pub(super) manifests: Vec<String>,
    pub(super) caches: Vec<String>,
    pub(super) holds_paths: Vec<String>,
    pub(super) build_cache: Vec<BuildCache>,
    pub(super) packages: Vec<String>,
    pub(super) packages_inside: BTreeMap<String, String>,
    pub(super) quoted: Vec<Quoted>,
    pub(super) summary: Vec<SummaryLine>,
    pub(super) failure: Vec<FailureLine>,
    pub(super) marks: Marks,
    pub(super) review: Review,
    pub(super) inline: Option<Inline>,
    pub(super) stops_early: Vec<StopsEarly>,
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
    pub(super) line_remarks: Vec<String>,
    pub(super) remark: Vec<Remark>,
    pub(super) takes_tests: Vec<String>,
    pub(super) takes_modules: Vec<String>,
    pub(super) compares: Vec<String>,
    pub(super) scripts_in: BTreeMap<String, String>,
    pub(super) glues: bool,
    pub(super) project: Vec<Project>,
    pub(super) manager: Vec<Manager>,
    pub(super) programs: Programs,
    pub(super) wrapper: Vec<Wrapper>,
    pub(super) runner: Vec<Wrapper>,
    pub(super) home_caches: Vec<String>,
    pub(super) home_fetched: Vec<String>,
}

/// How a project of this tool chain is known, tested and built, see `config/toolchains/README.md`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// Globs of names: a directory with one of these is such a project.
    pub files: Vec<String>,
    /// The check's name.
    pub name: String,
    /// The command line that tests it.
    pub test: String,
    /// The one that builds it, if that is a step of its own.
    #[serde(default)]
    pub build: Option<String>,
    /// What makes a new copy of it ready.
    #[serde(default)]
    pub setup: Option<String>,
    /// A program in the project that is called in the place of the first word of `test` and `build`: `mvnw`.
    #[serde(default)]
    pub own_program: Option<String>,
    /// Whether it tests the projects of its kind below it as well.
    #[serde(default)]
    pub covers_below: bool,
    /// Why this is the check, in a sentence for whoever reads `project.json`.
    pub why: String,
}

/// A program that installs packages and runs scripts of `package.json`, see `config/toolchains/README.md`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manager {
    /// The program.
    pub name: String,
    /// The beginning of its versions that this is about; none: all of them.
    #[serde(default)]
    pub version: Option<String>,
    /// Names of its lockfiles.
    pub lockfiles: Vec<String>,
    /// A file beside the lockfile that only this one has.
    #[serde(default)]
    pub beside: Option<String>,
    /// A word that stands only in this one's lockfile.
    #[serde(default)]
    pub says: Option<String>,
    /// Installs exactly what the lockfile says.
    pub install: String,
    /// Installs without writing a lockfile that nobody asked for.
    pub install_unlocked: String,
    /// Runs the script `test`; none: as every other one.
    #[serde(default)]
    pub test: Option<String>,
}

/// What programs are run for, see `config/toolchains/README.md`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Programs {
    pub(super) test: Vec<String>,
    pub(super) build: Vec<String>,
    pub(super) lint: Vec<String>,
    pub(super) typecheck: Vec<String>,
    pub(super) format: Vec<String>,
    pub(super) other: Vec<String>,
    pub(super) by_first_word: Vec<String>,
    pub(super) by_target: Vec<String>,
    pub(super) by_target_or_build: Vec<String>,
    pub(super) scripts: Vec<String>,
    pub(super) only_prints: Vec<String>,
    pub(super) interprets: Vec<String>,
}

/// A program that runs the command in its arguments, see `config/toolchains/README.md`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrapper {
    /// The program, with the words that say that a command follows: `env`, `docker exec`.
    pub(super) commands: Vec<String>,
    /// Options whose value is the next word.
    #[serde(default)]
    pub valued: Vec<String>,
    /// How many words stand before the command.
    #[serde(default)]
    pub operands: usize,
}

/// What is wrong with a file about tool chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The line, from 1 on.
    pub line: usize,
    /// The key: `summary[0].line`; empty where the file is no TOML.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, message } = self;
        let of = if key.is_empty() { String::new() } else { format!("`{key}`: ") };
        write!(f, "line {line}: {of}{message}")
    }
}

impl std::error::Error for FileError {}

/// What a line of a `[[summary]]` may give names to.
const GROUPS: [&str; 9] = ["passed", "failed", "errors", "skipped", "counts", "none", "green", "red", "cut"];

impl File {
    /// Reads a file and looks at every glob and pattern in it.
    pub(super) fn checked(text: &str) -> Result<Self, FileError> {
        let file = Self::parse(text)?;
        let line_of = |value: &str| {
            let escaped = value.replace('\\', r"\\");
            text.lines().position(|line| line.contains(value) || line.contains(&escaped)).map_or(1, |at| at + 1)
        };
        let wrong =
            |key: &str, value: &str, message: String| FileError { line: line_of(value), key: key.to_owned(), message };
        for (key, globs) in file.globs() {
            for glob in globs {
                let built = GlobBuilder::new(&glob.replace("{code}", "{a,b}")).build();
                built.map_err(|error| wrong(key, glob, format!("{:?} is no glob: {}", glob, error.kind())))?;
            }
        }
        for (key, pattern) in file.patterns() {
            let text = pattern.text();
            let regex = regex::Regex::new(text);
            regex.map_err(|error| wrong(key, text, format!("{text:?} is no regular expression: {error}")))?;
        }
        for (key, pattern, is_known) in file.grouped() {
            let groups = pattern.regex().into_iter().flat_map(regex::Regex::capture_names).flatten();
            if let Some(group) = groups.into_iter().find(|group| !is_known(group)) {
                return Err(wrong(key, pattern.text(), format!("the group `{group}` means nothing here")));
            }
        }
        Ok(file)
    }

    fn parse(text: &str) -> Result<Self, FileError> {
        let at = |error: &toml::de::Error, key: String| FileError {
            line: error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count()) + 1,
            key,
            message: error.message().lines().next().unwrap_or_default().to_owned(),
        };
        let document = toml::Deserializer::parse(text).map_err(|error| at(&error, String::new()))?;
        serde_path_to_error::deserialize(document).map_err(|error| {
            let key = error.path().to_string();
            at(error.inner(), if key == "." { String::new() } else { key })
        })
    }

    fn globs(&self) -> [(&'static str, &Vec<String>); 7] {
        [
            ("tests", &self.tests),
            ("test_data", &self.test_data),
            ("configures_tests", &self.configures_tests),
            ("lockfiles", &self.lockfiles),
            ("manifests", &self.manifests),
            ("holds_paths", &self.holds_paths),
            ("review.stand_ins", &self.review.stand_ins),
        ]
    }

    fn patterns(&self) -> impl Iterator<Item = (&'static str, &Pattern)> {
        fn of<'p>(key: &'static str, patterns: &'p [Pattern]) -> impl Iterator<Item = (&'static str, &'p Pattern)> {
            patterns.iter().map(move |pattern| (key, pattern))
        }
        let lists = [
            of("review.patterns", &self.review.patterns),
            of("marks.off_lines", &self.marks.off_lines),
            of("marks.only_lines", &self.marks.only_lines),
            of("missing_names", &self.missing_names),
            of("assertions", &self.assertions),
            of("not_mutated", &self.not_mutated),
            of("effects", &self.effects),
            of("denied", &self.denied),
            of("gives_up", &self.gives_up),
            of("takes_values", &self.takes_values),
            of("opens_block", &self.opens_block),
            of("exports", &self.exports),
            of("options", &self.options),
            of("imports", &self.imports),
        ];
        let inline =
            self.inline.iter().flat_map(|inline| [("inline.begins", &inline.begins), ("inline.ends", &inline.ends)]);
        let remarks = self.remark.iter().flat_map(|remark| {
            remark
                .after
                .iter()
                .map(|after| ("remark.after", after))
                .chain(remark.unless.iter().map(|unless| ("remark.unless", unless)))
        });
        let quoted = self.quoted.iter().flat_map(|quoted| [("quoted.from", &quoted.from), ("quoted.to", &quoted.to)]);
        let stops = self.stops_early.iter().map(|stops| ("stops_early.command", &stops.command));
        let mutations = self.mutations.iter().map(|mutation| ("mutations.from", &mutation.from));
        let lines = self.grouped().map(|(key, pattern, _)| (key, pattern));
        lists
            .into_iter()
            .flatten()
            .chain(inline)
            .chain(remarks)
            .chain(quoted)
            .chain(stops)
            .chain(mutations)
            .chain(lines)
    }

    /// Patterns whose groups have names, with what these may be.
    fn grouped(&self) -> impl Iterator<Item = (&'static str, &Pattern, fn(&str) -> bool)> {
        fn of_summary(group: &str) -> bool {
            GROUPS.contains(&group) || group.starts_with("total")
        }
        fn of_failure(group: &str) -> bool {
            group == "name"
        }
        let summary = self.summary.iter().map(|line| ("summary.line", &line.line, of_summary as fn(&str) -> bool));
        let opens = self.opens_tests.iter().map(|line| ("opens_tests", line, of_failure as fn(&str) -> bool));
        summary
            .chain(opens)
            .chain(self.failure.iter().map(|line| ("failure.line", &line.line, of_failure as fn(&str) -> bool)))
    }
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
    /// In a function that was there before, it is the surest one.
    #[serde(default)]
    pub(super) in_old: bool,
    /// Only where the second group's word stands in the third group again.
    #[serde(default)]
    pub(super) repeats: bool,
    /// Of those with the same word, the first that fits is made.
    #[serde(default)]
    pub(super) one_of: Option<String>,
    /// Not in a function that is new: whatever looks at its result would notice.
    #[serde(default)]
    pub(super) only_old: bool,
    /// The line is a condition, and what stands behind it is not done.
    #[serde(default)]
    pub(super) is_branch: bool,
}

/// What makes another value of the same kind, see `config/toolchains/README.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OtherValue {
    pub(super) only: Vec<String>,
    pub(super) is: String,
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
    pub(super) stand_ins: Vec<String>,
}
