//! The tests of a failed run, one by one, and how they differ from those at the base.

use super::numbered::masked;
use super::printed::Template;
use super::same_file;
use crate::toolchain;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The tests of a failed run, as its runner, or a file with its results, names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedTests {
    /// How many really ran: not those that were skipped, and not those that are expected to fail. None: the runner does not count
    /// those that pass.
    pub ran: Option<usize>,
    /// Every failing test, by its id.
    pub failing: BTreeMap<String, FailedTest>,
    /// The ids of those that passed; none where the runner does not name them.
    pub passed: Option<BTreeSet<String>>,
    /// The runner stopped behind the first program with a failing test: of the tests in the others nothing is known.
    pub stopped: bool,
    /// The ids of those that fail where the same code has the tests of the base, and do not fail here.
    pub only_with_old_tests: BTreeSet<String>,
}

/// How one test failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedTest {
    /// Its name, as its runner takes it; the id may have more to it.
    pub name: String,
    /// Code, place and message without what changes from run to run, with `\u{1f}` between them.
    pub how: String,
    /// Its words as they were printed, but for lines of files.
    pub values: String,
    /// What was expected and what came instead, or the message, in the runner's words.
    pub detail: Option<String>,
    /// Where inside the project, with its line.
    pub frame: Option<String>,
    /// Where that is in a file of tests: what stands there.
    pub source: Option<TestSource>,
    /// It is one of several cases of a test of which one may be gone and another one have come in its place.
    pub unsure: bool,
}

/// The file of a test as it was run, and where in it the test failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSource {
    /// The file's text.
    pub text: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

impl TestSource {
    /// Whether the test stops above or below the line at which it stopped at `base`, or at the same; none where one of these lines does
    /// not stand in both files. A [line diff](https://docs.rs/similar) says which lines of two files are the same.
    ///
    /// ```
    /// # use reflexion_core::domain::TestSource;
    /// use std::cmp::Ordering;
    ///
    /// let at = |line| TestSource { text: "assert pop() == 'a'\nassert pop() == 'a'".into(), line };
    /// assert_eq!(at(1).beside(&at(2)), Some(Ordering::Less));
    /// assert_eq!(at(2).beside(&at(1)), Some(Ordering::Greater));
    /// ```
    #[must_use]
    pub fn beside(&self, base: &Self) -> Option<Ordering> {
        let (old, new): (Vec<&str>, Vec<&str>) = (base.text.lines().collect(), self.text.lines().collect());
        let same: Vec<(usize, usize)> = capture_diff_slices(Algorithm::Myers, &old, &new)
            .into_iter()
            .filter_map(|op| match op {
                DiffOp::Equal { old_index, new_index, len } => Some((old_index..old_index + len).zip(new_index..)),
                _ => None,
            })
            .flatten()
            .collect();
        let there = same.iter().find(|(old, _)| old + 1 == base.line).map(|(_, new)| new + 1)?;
        let was_there = same.iter().any(|(_, new)| new + 1 == self.line);
        was_there.then(|| self.line.cmp(&there))
    }
}

/// How a test fails that failed at the base, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StillFails {
    /// In the same way.
    Same,
    /// Below the line at which it stopped.
    Further,
    /// Above the line at which it stopped.
    Earlier,
    /// Where an assertion failed, something else is wrong now.
    Broken,
    /// With other words or values.
    Changed,
    /// Or another case of it does.
    Unsure,
}

impl FailedTest {
    fn beside(&self, base: &Self) -> StillFails {
        if self.unsure {
            return StillFails::Unsure;
        }
        if self.has_moved(base) && self.says_what(base) {
            return StillFails::Same;
        }
        let sources = self.source.as_ref().zip(base.source.as_ref()).filter(|_| !self.has_moved(base));
        match sources.and_then(|(now, base)| now.beside(base)) {
            Some(Ordering::Less) => StillFails::Earlier,
            Some(Ordering::Greater) => StillFails::Further,
            _ if self.how == base.how && self.values == base.values => StillFails::Same,
            _ if base.says_an_assertion_failed() && !self.says_an_assertion_failed() => StillFails::Broken,
            _ => StillFails::Changed,
        }
    }

    /// Whether it failed in one file of tests and fails in another one.
    fn has_moved(&self, base: &Self) -> bool {
        let of = |test: &'_ Self| test.frame.as_deref().and_then(|frame| frame.split(':').next()).map(str::to_owned);
        match (of(self), of(base)) {
            (Some(now), Some(before)) => {
                !same_file(&now, &before) && toolchain::is_test(&now) && toolchain::is_test(&before)
            }
            _ => false,
        }
    }

    /// Whether it says the same as at the base, wherever that is.
    fn says_what(&self, base: &Self) -> bool {
        let said = |how: &'_ str| -> Option<(String, String)> {
            let mut parts = how.splitn(3, '\u{1f}');
            Some((parts.next()?.to_owned(), parts.nth(1)?.to_owned()))
        };
        said(&self.how) == said(&base.how) && self.values == base.values
    }

    /// The first line of what it says, for a sentence.
    fn first_words(&self) -> String {
        const CHARS: usize = 80;
        // Behind it stands where its values come from.
        let said = self.values.split("; ").flat_map(str::lines);
        let line = said.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let shown: String = line.chars().take(CHARS).map(|c| if c == '`' { '\'' } else { c }).collect();
        if line.chars().count() > CHARS { format!("{shown}…") } else { shown }
    }

    /// Whether it is as at the base, or gets further than there: it counts for nobody.
    fn is_known(&self, base: &Self) -> bool {
        matches!(self.beside(base), StillFails::Same | StillFails::Further)
    }

    /// Whether an assertion of the test failed, as its runner says it. An exception of another class did not, whatever stands in its text.
    #[must_use]
    pub fn says_an_assertion_failed(&self) -> bool {
        let class = self.how.split('\u{1f}').next().unwrap_or_default();
        let is_class = class != "Error" && (class.ends_with("Error") || class.ends_with("Exception"));
        if is_class && !toolchain::says_an_assertion_failed(class) {
            return false;
        }
        let said = self.how.split('\u{1f}').chain(self.detail.iter().flat_map(|detail| detail.lines()));
        said.into_iter().any(toolchain::says_an_assertion_failed)
    }

    /// Whether it failed only for a name that is missing, as its runner says it.
    #[must_use]
    pub fn says_a_name_is_missing(&self) -> bool {
        let mut parts = self.how.split('\u{1f}');
        let code = parts.next().unwrap_or_default();
        toolchain::says_a_name_is_missing(&format!("{code}: {}", parts.next_back().unwrap_or_default()))
    }
}

/// What differs between the tests of a failed run and those of a failed run at the base, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestsBeside {
    /// Fail, and did not fail there.
    pub new: Vec<String>,
    /// Fail in a program that was not run there, because the run had stopped before it: whether they failed there is not known.
    pub unseen: Vec<String>,
    /// Failed there by an assertion, and fail by something else here.
    pub broken: Vec<String>,
    /// Failed there too, with other words or values: whether that is worse is not known.
    pub changed: Vec<String>,
    /// Where that is one: the first line of what it says now, and of what it said there.
    pub changed_words: Option<[String; 2]>,
    /// Cases that failed there too, or others in their places: their file has lost lines.
    pub unsure: Vec<String>,
    /// Fail on this code with the tests of the base, and not with those that are there now: it is fixed by the tests alone, or no longer run.
    pub only_with_old_tests: Vec<String>,
    /// Failed there too, at a line that they do not reach any more.
    pub earlier: Vec<String>,
    /// Failed there, and neither fail nor pass here: they are not run any more.
    pub gone: Vec<String>,
    /// How many fewer were run than there.
    pub fewer: usize,
    /// Which these may be, where the runner does not name those that pass: they failed there and do not fail here.
    pub perhaps: Vec<String>,
}

/// At most this many tests are named in a sentence.
const NAMED: usize = 5;

impl TestsBeside {
    /// Why this is more than failed at the base, in words; empty if it is not.
    #[must_use]
    pub fn words(&self) -> String {
        self.words_with("")
    }

    /// The same where it is left open.
    #[must_use]
    pub fn words_for_a_person(&self) -> String {
        self.words_with(": whether that is as it should be is for a person to see")
    }

    /// The same for an agent, which knows no base, only what was there before it began.
    #[must_use]
    pub fn plain_words(&self) -> String {
        self.words().replace("at the base", "before any attempt")
    }

    fn words_with(&self, question: &str) -> String {
        let fails = |tests: &[String]| if tests.len() == 1 { "fails" } else { "fail" };
        let its = |tests: &[String]| if tests.len() == 1 { "its" } else { "their" };
        let runs = |tests: &[String]| if tests.len() == 1 { "is" } else { "are" };
        let tests = if self.fewer == 1 { "test" } else { "tests" };
        let perhaps = if self.perhaps.is_empty() {
            String::new()
        } else {
            let ends = if self.perhaps.len() == 1 {
                "is among those that no longer run, or passes"
            } else {
                "are among those that no longer run, or pass"
            };
            format!("; {}, which failed there, {ends}", names_of(&self.perhaps))
        };
        let parts = [
            (!self.new.is_empty())
                .then(|| format!("{} {}, and did not at the base", names_of(&self.new), fails(&self.new))),
            (!self.unseen.is_empty()).then(|| {
                format!(
                    "{} {} in a test program that did not run at the base, where the run had stopped before it, so that it is not known whether \
                     that is new; let the check run all of them (`cargo test --no-fail-fast`)",
                    names_of(&self.unseen),
                    fails(&self.unseen)
                )
            }),
            (!self.broken.is_empty()).then(|| {
                format!(
                    "{} {} in another way than at the base, where an assertion failed",
                    names_of(&self.broken),
                    fails(&self.broken)
                )
            }),
            (!self.changed.is_empty()).then(|| {
                let how = match &self.changed_words {
                    Some([now, before]) => format!("with other values (`{now}`; at the base `{before}`)"),
                    None => "with other words or values than at the base".to_owned(),
                };
                format!("{} still {}, {how}{question}", names_of(&self.changed), fails(&self.changed))
            }),
            (!self.unsure.is_empty()).then(|| {
                format!(
                    "{} {} as at the base, or other cases in {} place: lines of {} file are gone, so that it is not known whether that is \
                     new{question}",
                    names_of(&self.unsure),
                    fails(&self.unsure),
                    its(&self.unsure),
                    its(&self.unsure)
                )
            }),
            (!self.only_with_old_tests.is_empty()).then(|| {
                let others = if self.only_with_old_tests.len() == 1 { "another of its cases" } else { "others of their cases" };
                format!(
                    "with the tests as they were, {}, or {others}, {}, and not with those of the change{question}",
                    names_of(&self.only_with_old_tests),
                    fails(&self.only_with_old_tests)
                )
            }),
            (!self.earlier.is_empty()).then(|| {
                let (it, was) = if self.earlier.len() == 1 { ("it", "its") } else { ("they", "their") };
                format!(
                    "{} {} at an earlier line of {was} test than at the base, which {it} got past there",
                    names_of(&self.earlier),
                    fails(&self.earlier)
                )
            }),
            (!self.gone.is_empty()).then(|| {
                format!("{}, which failed at the base, {} not run any more", names_of(&self.gone), runs(&self.gone))
            }),
            (self.fewer > 0 && self.gone.is_empty()).then(|| format!("{} {tests} fewer ran than at the base{perhaps}", self.fewer)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Whether nothing fails that did not fail at the base, and all is still run.
    #[must_use]
    pub fn is_no_more(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nothing else is wrong than that tests fail which did not fail there, or not so early.
    #[must_use]
    pub fn is_only_new(&self) -> bool {
        !(self.new.is_empty() && self.earlier.is_empty())
            && Self { new: Vec::new(), earlier: Vec::new(), ..self.clone() }.is_no_more()
    }

    /// Whether nothing else is wrong than that tests which failed at the base fail in another way.
    #[must_use]
    pub fn is_only_otherwise(&self) -> bool {
        !(self.broken.is_empty() && self.changed.is_empty())
            && Self { broken: Vec::new(), changed: Vec::new(), changed_words: None, ..self.clone() }.is_no_more()
    }

    /// Whether nothing else is wrong than that tests of the base are not run any more.
    #[must_use]
    pub fn is_only_gone(&self) -> bool {
        (!self.gone.is_empty() || self.fewer > 0)
            && Self { gone: Vec::new(), fewer: 0, perhaps: Vec::new(), ..self.clone() }.is_no_more()
    }

    /// Whether nothing else is wrong than what may be right: tests that nobody has seen at the base, or that fail with other words.
    #[must_use]
    pub fn is_only_unclear(&self) -> bool {
        let rest = Self {
            unseen: Vec::new(),
            changed: Vec::new(),
            changed_words: None,
            unsure: Vec::new(),
            only_with_old_tests: Vec::new(),
            ..self.clone()
        };
        *self != rest && rest.is_no_more()
    }

    /// Whether nothing else is wrong than that tests which failed at the base fail with other words or values.
    #[must_use]
    pub fn is_only_changed(&self) -> bool {
        self.unseen.is_empty()
            && self.unsure.is_empty()
            && self.only_with_old_tests.is_empty()
            && self.is_only_unclear()
    }
}

impl CountedTests {
    /// Whether the program that this test is in was not reached.
    fn has_not_run(&self, test: &str) -> bool {
        let program = |id: &str| id.split_once("::").map(|(program, _)| program.to_owned());
        let mut ran = self.failing.keys().chain(self.passed.iter().flatten());
        self.stopped && self.passed.is_some() && !ran.any(|id| program(id) == program(test))
    }

    /// The ids of the tests that fail here and failed at the base, too, in the same way: they do not count.
    #[must_use]
    pub fn known(&self, base: &Self) -> Vec<&str> {
        let is_known = |(test, failed): &(&String, &FailedTest)| {
            base.failing.get(*test).is_some_and(|before| failed.is_known(before))
        };
        self.failing.iter().filter(is_known).map(|(test, _)| test.as_str()).collect()
    }

    /// Takes the failure of each test at the base for its own, where the base itself fails in two ways, in two runs of the same files.
    pub fn excuse(&mut self, base: &Self, again: &Self) {
        for (test, failed) in &mut self.failing {
            let (Some(first), Some(second)) = (base.failing.get(test), again.failing.get(test)) else { continue };
            let varies = |first: &str, second: &str, now: &str| {
                first != second && (now == second || Template::of(first, second).is_none_or(|both| both.fits(now)))
            };
            if varies(&first.how, &second.how, &failed.how) {
                failed.how.clone_from(&first.how);
            }
            if varies(&first.values, &second.values, &failed.values) {
                failed.values.clone_from(&first.values);
            }
        }
    }

    /// The ids of the tests that failed at the base and get further than there, with the line where they fail here, and where they failed
    /// there.
    #[must_use]
    pub fn further(&self, base: &Self) -> Vec<(&str, usize, usize)> {
        let lines =
            |now: &FailedTest, before: &FailedTest| Some((now.source.as_ref()?.line, before.source.as_ref()?.line));
        let of = |(test, failed): (&'_ String, &FailedTest)| -> Option<(&'_ str, usize, usize)> {
            let (test, _) = self.failing.get_key_value(test)?;
            let before = base.failing.get(test).filter(|before| failed.beside(before) == StillFails::Further)?;
            let (now, before) = lines(failed, before)?;
            Some((test.as_str(), now, before))
        };
        self.failing.iter().filter_map(of).collect()
    }

    /// Whether a test that failed at the base is seen to pass: by its id, or because no fewer tests were run than there and it does not
    /// fail.
    #[must_use]
    pub fn passes(&self, test: &str, base: &Self) -> bool {
        let as_many = || matches!((self.ran, base.ran), (Some(now), Some(before)) if now >= before);
        !self.failing.contains_key(test)
            && !self.only_with_old_tests.contains(test)
            && self.passed.as_ref().map_or_else(as_many, |passed| passed.contains(test))
    }

    /// Takes out of tests that are new here those that failed at the base under another id. Each stands for one.
    fn leave_out_renamed(&self, base: &Self, new: &mut Vec<String>) {
        let mut gone: Vec<&String> = base.failing.keys().filter(|test| self.is_elsewhere(test)).collect();
        new.retain(|test| {
            let found = gone.iter().position(|old| is_renamed((old, &base.failing[*old]), (test, &self.failing[test])));
            found.map(|at| gone.swap_remove(at)).is_none()
        });
    }

    /// Whether a test of the base neither fails nor is seen to pass here.
    fn is_elsewhere(&self, test: &str) -> bool {
        // Where those that pass are not named, it may be one of them.
        !self.failing.contains_key(test) && self.passed.as_ref().is_some_and(|passed| !passed.contains(test))
    }

    /// Whether a test that failed at the base fails here under another id.
    fn has_renamed(&self, test: &str, base: &Self) -> bool {
        let is_new = |(id, _): &(&String, &FailedTest)| !base.failing.contains_key(*id);
        self.failing.iter().filter(is_new).any(|(id, now)| is_renamed((test, &base.failing[test]), (id, now)))
    }

    /// What differs from the base. By id first: a test that failed there under this id may fail again, in the same way.
    #[must_use]
    pub fn beside(&self, base: &Self) -> TestsBeside {
        let mut beside = TestsBeside::default();
        for (test, failed) in &self.failing {
            match base.failing.get(test) {
                None if base.has_not_run(test) => beside.unseen.push(test.clone()),
                None => beside.new.push(test.clone()),
                Some(before) => match failed.beside(before) {
                    StillFails::Same | StillFails::Further => {}
                    StillFails::Earlier => beside.earlier.push(test.clone()),
                    StillFails::Broken => beside.broken.push(test.clone()),
                    StillFails::Changed => beside.changed.push(test.clone()),
                    StillFails::Unsure => beside.unsure.push(test.clone()),
                },
            }
        }
        beside.only_with_old_tests = self.only_with_old_tests.iter().cloned().collect();
        if let [test] = beside.changed.as_slice() {
            let words = [&self.failing[test], &base.failing[test]].map(FailedTest::first_words);
            beside.changed_words =
                Some(words).filter(|[now, before]| now != before && !now.is_empty() && !before.is_empty());
        }
        if matches!((self.ran, base.ran), (Some(now), Some(before)) if now >= before) {
            self.leave_out_renamed(base, &mut beside.new);
        }
        if let Some(passed) = &self.passed {
            let is_gone = |test: &&String| {
                let is_red = self.failing.contains_key(*test) || self.only_with_old_tests.contains(*test);
                !is_red && !passed.contains(*test)
            };
            let fails_elsewhere = |test: &&String| self.has_renamed(test, base);
            beside.gone = base.failing.keys().filter(is_gone).filter(|test| !fails_elsewhere(test)).cloned().collect();
        }
        if let (Some(now), Some(before)) = (self.ran, base.ran) {
            beside.fewer = before.saturating_sub(now);
        }
        if beside.fewer > 0 && self.passed.is_none() {
            beside.perhaps = base.failing.keys().filter(|test| !self.failing.contains_key(*test)).cloned().collect();
        }
        beside
    }
}

/// Whether two tests of different ids that fail with the same words are one that has moved, or got another name where it stood.
pub(super) fn is_renamed((old, before): (&str, &FailedTest), (new, now): (&str, &FailedTest)) -> bool {
    // Code, place and message.
    let parts = |how: &'_ str| -> Vec<String> { how.splitn(3, '\u{1f}').map(str::to_owned).collect() };
    let (before, now) = (parts(&before.how), parts(&now.how));
    let [code, place, words] = before.as_slice() else { return false };
    let [new_code, new_place, new_words] = now.as_slice() else { return false };
    let last = |id: &'_ str| {
        let masked = masked(id).map_or_else(|| id.to_owned(), |(family, _)| family);
        let (test, case) = masked.split_once('[').unwrap_or((&masked, ""));
        [test.rsplit(['/', ':', '>', '.', ' ']).next().unwrap_or_default(), case].join("[")
    };
    let says_something = !code.is_empty() || !words.is_empty();
    says_something
        && (code, words) == (new_code, new_words)
        && (!place.is_empty() && place == new_place || last(old) == last(new))
}

/// `a`, `b` and 4 more.
fn names_of(tests: &[String]) -> String {
    // A test is called as somebody likes; its name ends where ours do.
    let quoted =
        |test: &String| format!("`{}`", test.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'"));
    let named: Vec<String> = tests.iter().take(NAMED).map(quoted).collect();
    match tests.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(failing: &[(&str, &str)], ran: usize) -> CountedTests {
        let failed = |(name, how): &(&str, &str)| {
            let how = how.replace('|', "\u{1f}");
            let test = FailedTest { name: (*name).to_owned(), how, ..FailedTest::default() };
            ((*name).to_owned(), test)
        };
        let passed = Some(["a.py::test_b".to_owned()].into());
        CountedTests {
            ran: Some(ran),
            failing: failing.iter().map(failed).collect(),
            passed,
            ..CountedTests::default()
        }
    }

    #[test]
    fn a_red_test_that_has_moved_or_got_another_name_is_no_new_one() {
        let base = counted(&[("a.py::test_r", "E|a.py|assert 0 == 7")], 3);
        let check = |now: &[(&str, &str)], ran: usize, expected: &[&str]| {
            assert_eq!(counted(now, ran).beside(&base).new, expected, "{now:?}");
        };
        check(&[("tests/a.py::test_r", "E|tests/a.py|assert 0 == 7")], 3, &[]);
        check(&[("a.py::test_red", "E|a.py|assert 0 == 7")], 3, &[]);
        check(&[("b.py::test_other", "E|b.py|assert 0 == 7")], 3, &["b.py::test_other"]);
        check(&[("tests/a.py::test_r", "E|tests/a.py|assert 1 == 7")], 3, &["tests/a.py::test_r"]);
        let moved = |file: &str, values: &str| {
            let mut of = counted(&[("red", &format!("E|{file}|1 == 2"))], 3);
            let test = of.failing.get_mut("red").unwrap();
            (test.frame, test.values) = (Some(format!("{file}:7 in red")), values.to_owned());
            of
        };
        let beside = |file: &str, values: &str| moved(file, values).beside(&moved("test/a.test.js", "1 == 2"));
        assert!(beside("test/b.test.js", "1 == 2").is_no_more());
        assert_eq!(beside("lib.js", "1 == 2").changed, ["red"]);
        let other = beside("test/b.test.js", "3 == 2").words();
        assert_eq!(other, "`red` still fails, with other values (`3 == 2`; at the base `1 == 2`)");
        // Fewer were run, or there are two of it.
        check(&[("tests/a.py::test_r", "E|tests/a.py|assert 0 == 7")], 2, &["tests/a.py::test_r"]);
        let two = [("a.py::test_r", "E|a.py|assert 0 == 7"), ("b.py::test_r", "E|b.py|assert 0 == 7")];
        check(&two, 4, &["b.py::test_r"]);
        // The one passes, and another one fails.
        let passing = CountedTests { passed: Some(["a.py::test_r".to_owned()].into()), ..counted(&[two[1]], 3) };
        assert_eq!(passing.beside(&base).new, ["b.py::test_r"]);
        let unnamed = CountedTests { passed: None, ..counted(&[two[1]], 3) };
        assert_eq!(unnamed.beside(&base).new, ["b.py::test_r"]);
    }
}
