//! What test runners say at the end of their output.
//!
//! Read line by line, without regular expressions: judging a transcript may take ten milliseconds, and compiling the
//! expressions alone would. Where an output holds several runners' words, the last one is believed: it is the outermost.

use crate::prompt::plain;

/// What a test runner says at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Which runner, e.g. `pytest`.
    pub tool: &'static str,
    /// It calls the run a success.
    pub green: bool,
    /// How many tests, where it counts them.
    pub counts: Option<Counts>,
}

/// How many tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// That passed.
    pub passed: u64,
    /// That failed, or could not be set up.
    pub failed: u64,
    /// That were skipped, ignored or are still to be written.
    pub skipped: u64,
}

impl Counts {
    /// The tests that were run.
    #[must_use]
    pub fn ran(self) -> u64 {
        self.passed + self.failed
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// What the last test runner in an output says; none if no runner is recognised.
///
/// ```
/// # use reflexion::verification::gates::summary;
/// let found = summary("running 3 tests\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
/// assert_eq!(found.map(|s| (s.tool, s.green)), Some(("cargo test", false)));
/// assert_eq!(summary("all tests pass, I promise"), None);
/// ```
#[must_use]
pub fn summary(output: &str) -> Option<Summary> {
    let output = plain(output);
    let mut found: Vec<Mark> = Vec::new();
    for line in output.lines().filter(|line| line.len() <= LINE_BYTES) {
        let Some(mark) = mark(line.trim()) else { continue };
        match found.last_mut().filter(|last| last.tool == mark.tool) {
            Some(last) => last.merge(mark),
            None => found.push(mark),
        }
    }
    found.into_iter().rev().find(|mark| mark.closes).map(Mark::into_summary)
}

/// No runner's summary has longer lines.
const LINE_BYTES: usize = 400;

/// What one line says.
#[derive(Debug, Clone, Copy)]
struct Mark {
    tool: &'static str,
    /// None: the line only counts.
    green: Option<bool>,
    counts: Counts,
    /// The line counts tests.
    counted: bool,
    /// How lines of one tool come together.
    sum: Sum,
    /// With this line the runner has said how it went.
    closes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sum {
    /// Each line is about other tests: cargo's test binaries, Go's packages.
    Add,
    /// Each line is another number about the same tests.
    Parts,
    /// The last line holds.
    Last,
}

impl Mark {
    fn new(tool: &'static str, sum: Sum, green: Option<bool>, counts: Option<Counts>) -> Self {
        let counted = counts.is_some();
        Self { tool, green, counts: counts.unwrap_or_default(), counted, sum, closes: true }
    }

    fn merge(&mut self, next: Self) {
        self.green = match (self.green, next.green) {
            (Some(a), Some(b)) if next.sum != Sum::Last => Some(a && b),
            (a, b) => b.or(a),
        };
        if next.counted {
            let (a, b) = (self.counts, next.counts);
            self.counts = match next.sum {
                Sum::Last => b,
                Sum::Add => {
                    Counts { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
                }
                Sum::Parts => Counts {
                    passed: a.passed.max(b.passed),
                    failed: a.failed.max(b.failed),
                    skipped: a.skipped.max(b.skipped),
                },
            };
        }
        self.counted |= next.counted;
        self.closes |= next.closes;
        self.sum = next.sum;
    }

    fn into_summary(self) -> Summary {
        let green = self.green.unwrap_or(true) && self.counts.failed == 0;
        Summary { tool: self.tool, green, counts: self.counted.then_some(self.counts) }
    }
}

fn mark(line: &str) -> Option<Mark> {
    const READERS: [fn(&str) -> Option<Mark>; 6] = [rust, python, javascript, go, jvm_and_dotnet, others];
    if !line.bytes().any(|b| b.is_ascii_digit() || b == b'\t' || b == b':') && !matches!(line, "OK" | "FAILED" | "FAIL") {
        return None;
    }
    READERS.iter().find_map(|read| read(line))
}

/// Numbers by their words: `3 failed, 10 passed`, `1 skipped in 0.12s`, `Failures: 1`.
fn numbers(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split([',', ';', '|', '.', '·']).filter_map(|part| {
        let mut words = part.split([' ', ':', '=', '\t']).filter(|w| !w.is_empty());
        let (first, second) = (words.next()?, words.next()?);
        match (first.parse(), second.trim_end_matches(')').parse()) {
            (Ok(number), _) => Some((number, second)),
            (_, Ok(number)) => Some((number, first)),
            _ => None,
        }
    })
}

/// Counts from numbers and their words; none if no word is one of a test runner.
fn counts(text: &str) -> Option<Counts> {
    let (mut counts, mut known) = (Counts::default(), false);
    for (number, word) in numbers(text) {
        let word = word.to_ascii_lowercase();
        let place = match word.trim_matches(|c: char| !c.is_alphabetic()) {
            "passed" | "passing" | "pass" | "xpassed" | "success" | "successes" => &mut counts.passed,
            "failed" | "failing" | "fail" | "failure" | "failures" | "error" | "errors" | "broken" | "crashed" => {
                &mut counts.failed
            }
            "skipped" | "ignored" | "pending" | "xfailed" | "todo" | "skip" | "skips" | "incomplete" | "cancelled"
            | "disabled" => &mut counts.skipped,
            _ => continue,
        };
        known = true;
        *place += number;
    }
    known.then_some(counts)
}

/// Counts of runners that name the total and what did not pass.
fn of_total(total: u64, rest: &str) -> Counts {
    let other = counts(rest).unwrap_or_default();
    let passed = total.saturating_sub(other.failed + other.skipped);
    Counts { passed, ..other }
}

fn rust(line: &str) -> Option<Mark> {
    if let Some(rest) = line.strip_prefix("test result: ") {
        let (word, rest) = rest.split_once(". ").or_else(|| rest.split_once('.'))?;
        let green = match word {
            "ok" => true,
            "FAILED" => false,
            _ => return None,
        };
        return Some(Mark::new("cargo test", Sum::Add, Some(green), Some(counts(rest)?)));
    }
    if line.starts_with("error: could not compile") || line.starts_with("error: test failed, to rerun") {
        return Some(Mark::new("cargo test", Sum::Add, Some(false), None));
    }
    if line.starts_with("Summary [") {
        let (_, rest) = line.split_once(']')?;
        let (_, rest) = rest.split_once(" run: ").filter(|(head, _)| head.contains("test"))?;
        return Some(Mark::new("cargo nextest", Sum::Last, None, Some(counts(rest)?)));
    }
    None
}

fn python(line: &str) -> Option<Mark> {
    let inner = line.trim_matches('=').trim();
    if let Some((what, took)) = inner.rsplit_once(" in ") {
        let timed = took.split(' ').next().is_some_and(|t| t.ends_with('s') && t.starts_with(|c: char| c.is_ascii_digit()));
        if timed && what == "no tests ran" {
            return Some(Mark::new("pytest", Sum::Last, None, Some(Counts::default())));
        }
        let all_known = |text: &str| {
            let known = ["failed", "passed", "skipped", "error", "errors", "xfailed", "xpassed", "deselected", "warning", "warnings", "subtests"];
            numbers(text).count() == text.split(',').count() && numbers(text).all(|(_, word)| known.contains(&word))
        };
        if timed && all_known(what) {
            return Some(Mark::new("pytest", Sum::Last, None, Some(counts(what).unwrap_or_default())));
        }
        let ran = what.strip_prefix("Ran ").and_then(|w| w.strip_suffix(" tests").or(w.strip_suffix(" test")));
        if let Some(total) = ran.and_then(|n| n.parse().ok()).filter(|_| timed) {
            let counts = Counts { passed: total, ..Counts::default() };
            return Some(Mark { closes: false, ..Mark::new("unittest", Sum::Last, None, Some(counts)) });
        }
    }
    unittest_end(line)
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=2)`.
fn unittest_end(line: &str) -> Option<Mark> {
    let (word, rest) = line.split_once(" (").map_or((line, ""), |(w, r)| (w, r.trim_end_matches(')')));
    let green = match word {
        "OK" => true,
        "FAILED" if rest.contains('=') => false,
        _ => return None,
    };
    if !rest.is_empty() && !rest.contains('=') {
        return None;
    }
    let failed = counts(rest).map_or(0, |c| c.failed);
    // The total stands on the line before; what failed is taken from it when both are merged.
    Some(Mark { counted: false, ..Mark::new("unittest", Sum::Parts, Some(green), Some(Counts { failed, ..Counts::default() })) })
}

fn javascript(line: &str) -> Option<Mark> {
    if let Some(rest) = line.strip_prefix("Tests:").filter(|rest| rest.contains(" total")) {
        return Some(Mark::new("jest", Sum::Last, None, Some(counts(rest)?)));
    }
    if let Some(rest) = line.strip_prefix("Tests ").filter(|rest| rest.ends_with(')') && rest.contains('(')) {
        return Some(Mark::new("vitest", Sum::Last, None, Some(counts(rest)?)));
    }
    for (start, sum) in [("# ", Sum::Parts), ("ℹ ", Sum::Parts)] {
        let Some((word, number)) = line.strip_prefix(start).and_then(|rest| rest.split_once(' ')) else { continue };
        let number: u64 = number.parse().ok()?;
        let counts = match word {
            "tests" => Counts::default(),
            "pass" => Counts { passed: number, ..Counts::default() },
            "fail" | "cancelled" => Counts { failed: number, ..Counts::default() },
            "skipped" | "todo" => Counts { skipped: number, ..Counts::default() },
            _ => return None,
        };
        return Some(Mark { closes: word == "fail", ..Mark::new("node:test", sum, None, Some(counts)) });
    }
    if let Some(rest) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) {
        return Some(Mark::new("deno test", Sum::Last, Some(line.starts_with("ok")), Some(counts(rest)?)));
    }
    let (number, rest) = line.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let timed = after.is_empty() || (after.starts_with('(') && after.ends_with(')'));
    let (tool, counts) = match word {
        "passing" => ("mocha", Counts { passed: number, ..Counts::default() }),
        "failing" => ("mocha", Counts { failed: number, ..Counts::default() }),
        "pending" => ("mocha", Counts { skipped: number, ..Counts::default() }),
        "pass" => ("bun test", Counts { passed: number, ..Counts::default() }),
        "fail" => ("bun test", Counts { failed: number, ..Counts::default() }),
        "passed" => ("playwright", Counts { passed: number, ..Counts::default() }),
        "failed" => ("playwright", Counts { failed: number, ..Counts::default() }),
        "skipped" | "flaky" => ("playwright", Counts { skipped: number, ..Counts::default() }),
        _ => return None,
    };
    // `3 failed, 2 passed` is somebody else's.
    let closes = matches!(word, "passing" | "failing" | "pass" | "fail") || (word == "passed" && !after.is_empty());
    timed.then(|| Mark { closes, ..Mark::new(tool, Sum::Parts, None, Some(counts)) })
}

fn go(line: &str) -> Option<Mark> {
    let one = |passed, failed, skipped| Some(Counts { passed, failed, skipped });
    // A subtest's line is indented, and trimmed here: it counts like any other.
    for (start, counts) in [("--- PASS: ", one(1, 0, 0)), ("--- FAIL: ", one(0, 1, 0)), ("--- SKIP: ", one(0, 0, 1))] {
        if line.starts_with(start) {
            return Some(Mark { closes: false, ..Mark::new("go test", Sum::Add, None, counts) });
        }
    }
    if line == "FAIL" || line.starts_with("FAIL\t") {
        return Some(Mark::new("go test", Sum::Add, Some(false), None));
    }
    let rest = line.strip_prefix("ok")?.trim_start_matches(' ').strip_prefix('\t')?;
    let (_, took) = rest.split_once('\t')?;
    let timed = took.starts_with("(cached)") || took.starts_with(|c: char| c.is_ascii_digit());
    timed.then(|| Mark::new("go test", Sum::Add, Some(true), None))
}

fn jvm_and_dotnet(line: &str) -> Option<Mark> {
    let line = ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|p| line.strip_prefix(p)).unwrap_or(line).trim();
    if let Some(rest) = line.strip_prefix("Tests run: ") {
        // Lines of single classes come before; the last line is the whole.
        let (total, rest) = rest.split_once(',')?;
        return Some(Mark::new("maven", Sum::Last, None, Some(of_total(total.trim().parse().ok()?, rest))));
    }
    if let Some((total, rest)) = line.split_once(" tests completed, ") {
        return Some(Mark::new("gradle", Sum::Add, None, Some(of_total(total.parse().ok()?, rest))));
    }
    let rest = line.strip_prefix("Passed!").or_else(|| line.strip_prefix("Failed!"))?;
    let rest = rest.trim_start_matches([' ', '-']);
    rest.starts_with("Failed:").then(|| {
        Mark::new("dotnet test", Sum::Add, Some(line.starts_with("Passed")), Some(counts(rest).unwrap_or_default()))
    })
}

fn others(line: &str) -> Option<Mark> {
    if let Some((head, rest)) = line.split_once(" tests passed, ") {
        let (failed, total) = rest.split_once(" tests failed out of ").or_else(|| rest.split_once(" test failed out of "))?;
        let (failed, total): (u64, u64) = (failed.parse().ok()?, total.trim_end_matches('.').parse().ok()?);
        let counts = Counts { passed: total.saturating_sub(failed), failed, skipped: 0 };
        return head.ends_with('%').then(|| Mark::new("ctest", Sum::Last, Some(failed == 0), Some(counts)));
    }
    if let Some(rest) = line.strip_prefix("OK (").filter(|rest| rest.contains("assertion")) {
        let total = rest.split(' ').next()?.parse().ok()?;
        return Some(Mark::new("phpunit", Sum::Last, Some(true), Some(of_total(total, ""))));
    }
    if let Some((total, rest)) = line.strip_prefix("Tests: ").and_then(|rest| rest.split_once(", Assertions: ")) {
        return Some(Mark::new("phpunit", Sum::Last, None, Some(of_total(total.parse().ok()?, rest))));
    }
    if let Some((total, rest)) = line.strip_prefix("Executed ").and_then(|rest| rest.split_once(" test")) {
        let rest = rest.trim_start_matches('s').strip_prefix(", with ")?;
        return Some(Mark::new("swift test", Sum::Last, None, Some(of_total(total.parse().ok()?, rest.split(" (").next()?))));
    }
    let (total, rest) = line.split_once(' ')?;
    let total: u64 = total.parse().ok()?;
    let (what, rest) = rest.split_once(", ")?;
    let tool = match what {
        "example" | "examples" => "rspec",
        "runs" | "run" if rest.contains("assertions, ") => "minitest",
        "tests" | "test" if rest.contains("failure") => "exunit",
        _ => return None,
    };
    Some(Mark::new(tool, Sum::Last, None, Some(of_total(total, rest))))
}
