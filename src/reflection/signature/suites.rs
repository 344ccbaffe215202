//! Runners that print a block for each failing test: a heading, words, and places. A row of the table says how each of them does.

use super::found::{Found, Frame, in_project, joined, last_match, pattern};
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// How a runner's output is built.
struct Suite {
    tool: &'static str,
    /// A line that only this runner prints, behind the failures.
    mark: Regex,
    /// The line above a failure, with the `test` and perhaps what it is a test `of`.
    heading: Regex,
    /// What stands between these two in a test's id.
    joint: &'static str,
    /// The first line behind a failure that has no other behind it.
    end: Regex,
    /// Lines of a block that say nothing of the failure, without what is around them.
    noise: Regex,
    /// A place: `file`, `line`, and the `class` where only that tells whose it is.
    place: Regex,
}

static SUITES: LazyLock<Vec<Suite>> = LazyLock::new(|| {
    let row = |tool, joint, [mark, heading, end, noise, place]: [&str; 5]| {
        let [mark, heading, end, noise, place] =
            [mark, heading, end, noise, place].map(|text| Regex::new(text).expect("a constant pattern"));
        Suite { tool, mark, heading, joint, end, noise, place }
    };
    const JAVA: &str =
        r"^\s*at (?:\S+/)?(?P<class>(?:[\w$]+\.)*[\w$]+)\.[\w$<>]+\((?P<file>[\w$]+\.\w+):(?P<line>\d+)\)$";
    vec![
        row(
            "rspec",
            "",
            [
                r"^\d+ examples?, \d+ failures?",
                r"^(?:  \d+\) |An error occurred while loading )(?P<test>.+?)\.?$",
                r"^Finished in ",
                r"^\(compared using .*\)$",
                r"^\s*# (?P<file>\S+?):(?P<line>\d+):in ",
            ],
        ),
        row(
            "phpunit",
            "",
            [
                r"^Tests: \d+, Assertions: \d+",
                r"^\d+\) (?P<test>\S+::.+)$",
                r"^(?:--|FAILURES!|ERRORS!)$",
                r"^$",
                r"^(?P<file>\S+\.\w+):(?P<line>\d+)$",
            ],
        ),
        row(
            "maven",
            ".",
            [
                r"^\[ERROR\] (?:Tests run: \d+, Failures: \d+, Errors: \d+|Failed to execute goal )",
                r"^(?:\[ERROR\] +)?(?:(?P<test>[^\s(]+)\((?P<of>\S+)\)|(?P<whole>\S.*?)) +(?:-- )?Time elapsed: .* <<< (?:FAILURE|ERROR)!$",
                r"^\[\w+\]",
                r"^$",
                JAVA,
            ],
        ),
        row(
            "gradle",
            " > ",
            [
                r"^(?:\d+ tests? completed, \d+ failed|FAILURE: Build failed with an exception\.)",
                r"^(?P<of>[\w.$]+) > (?P<test>.+) FAILED$",
                r"^\S",
                r"^$",
                r"^\s*(?:at (?:\S+/)?(?P<class>(?:[\w$]+\.)*[\w$]+)\.[\w$<>]+\(|\S+ at )(?P<file>[\w$]+\.\w+):(?P<line>\d+)\)?$",
            ],
        ),
        row(
            "dotnet test",
            "",
            [
                r"^(?:Failed!\s+- Failed:|Test Run Failed\.)",
                r"^\s*Failed (?P<test>\S.*?) \[.*\d+.*\]$",
                r"^(?:\s*(?:Passed|Skipped) |\[xUnit|Passed!|Failed!|Test Run Failed|Total tests)",
                r"^(?:Error Message|Stack Trace|Standard Output Messages):$",
                r"^\s*at .* in (?P<file>.+):line (?P<line>\d+)$",
            ],
        ),
        row(
            "playwright",
            " › ",
            [
                r"^  \d+ failed$",
                r"^  \d+\) (?:\[.+?\] › )?(?P<of>\S+?):\d+:\d+ › (?P<test>.+?)(?: ─+)?$",
                r"^  \d+ (?:failed|flaky|passed|skipped|interrupted|did not run)",
                r"^(?:>?\s*\d*\s*\||Error Context:|Retry #)",
                r"^\s*at (?:.*\()?(?P<file>\S+?):(?P<line>\d+):\d+\)?$",
            ],
        ),
    ]
});

/// The runner that has the last word.
pub(super) fn suite(lines: &[&str]) -> Option<Found> {
    SUITES.iter().filter_map(|suite| suite.read(lines)).max_by_key(|found| found.last_mark)
}

impl Suite {
    fn read(&self, lines: &[&str]) -> Option<Found> {
        let last_mark = last_match(lines, &self.mark)?;
        let heading = |line: &&str| self.heading.captures(line).map(|heading| self.id(&heading));
        let mut tests: Vec<String> = lines.iter().filter_map(heading).collect();
        tests.sort();
        tests.dedup();
        let first = tests.first()?.clone();
        let told = &lines[lines.iter().position(|line| heading(line).as_ref() == Some(&first))? + 1..];
        let ends = |line: &&str| self.end.is_match(line) || self.heading.is_match(line);
        let told = &told[..told.iter().position(ends).unwrap_or(told.len())];
        Some(Found { tool: self.tool, frame: self.frame(told, &first), tests, last_mark, ..self.words(told) })
    }

    fn id(&self, heading: &Captures<'_>) -> String {
        let test = heading.name("test").or_else(|| heading.name("whole")).map_or("", |test| test.as_str());
        match heading.name("of") {
            Some(of) => format!("{}{}{test}", of.as_str(), self.joint),
            None => test.to_owned(),
        }
    }

    fn words(&self, told: &[&str]) -> Found {
        // An exception, as Ruby, PHP, Java, C# and JavaScript write it; without words behind it they stand on the next line.
        pattern!(
            EXCEPTION,
            r"^(?:[\w$]+(?:\.|\\|::))*([A-Z]\w*(?:Error|Exception|Failure|Failed))(?:\s?:\s*(.*)| at \S+)?$"
        );
        let is_word = |line: &&str| !line.is_empty() && !self.noise.is_match(line);
        let is_place = |line: &str| self.place.is_match(line) && !EXCEPTION.is_match(line.trim());
        let lines = told.iter().filter(|line| !is_place(line)).map(|line| line.trim());
        let lines = lines.map(|line| line.trim_start_matches("Failure/").trim_start_matches("Error: "));
        let words: Vec<&str> = lines.filter(is_word).take(4).collect();
        let exception = words.iter().enumerate().find_map(|(at, word)| Some((at, EXCEPTION.captures(word)?)));
        let (code, message) = match &exception {
            Some((at, exception)) => {
                let said = exception.get(2).map(|said| said.as_str()).filter(|said| !said.is_empty());
                (Some(exception[1].to_owned()), said.or_else(|| words.get(at + 1).copied()))
            }
            None => (None, words.first().copied()),
        };
        let detail = joined(words.iter().take(3).copied());
        Found { code, message: message.map(str::to_owned), detail, ..Found::default() }
    }

    /// The innermost place in the project. Where only classes are named, what is in the test's own packages.
    fn frame(&self, told: &[&str], test: &str) -> Option<Frame> {
        let places = told.iter().filter_map(|line| self.place.captures(line));
        let places: Vec<_> = places.filter(|place| in_project(&place["file"])).collect();
        let class = |place: &Captures<'_>| place.name("class").map(|class| class.as_str().to_owned());
        let names: Vec<&str> = test.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let is_test = |class: &String| names.contains(&class.rsplit('.').next().unwrap_or_default());
        let own = places.iter().filter_map(class).find(is_test);
        let is_own = |place: &&Captures<'_>| match (&own, class(place)) {
            (Some(own), Some(class)) => packages(own) == packages(&class),
            _ => true,
        };
        let place = places.iter().find(is_own)?;
        Some(Frame::new(&place["file"], Some(&place["line"])))
    }
}

/// The first two packages of a class: what is below them is one project's.
fn packages(class: &str) -> Vec<&str> {
    let mut names: Vec<&str> = class.split('.').collect();
    names.pop();
    names.truncate(2);
    names
}
