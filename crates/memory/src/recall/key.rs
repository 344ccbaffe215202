//! What a failure is known by.

use super::mask::mask;
use super::output::error_lines;
use super::terms::{ByHash, hash};
use crate::domain::{FailureKey, FailureKind, Signature};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Names the rules by which a fingerprint is made; whoever changes what goes into one raises it.
const VERSION: &str = "v2";

/// So many bytes of each hash are kept: among a million failures two different ones meet with odds of 1 to 30 million.
const BYTES: usize = 8;

/// A program has few kinds of exceptions in one failure.
const EXCEPTIONS: usize = 8;
/// Frames further away from the failure than the third say less about it than its lines do.
const FRAMES: usize = 3;

/// The key of a check's failure: what the signature reads, and the error lines of the output.
///
/// ```
/// # use reflexion_core::domain::{FailureKind, Signature};
/// # use reflexion_memory::recall::failure_key;
/// let signature = Signature { tool: "pytest".into(), frame: Some("calc.py:3 in add".into()), ..Signature::default() };
/// let key = failure_key(&signature, "E   ValueError: no number: 12\n");
/// assert_eq!((key.kind, key.frames[0].as_str()), (FailureKind::Errors, "calc.py in add"));
/// assert_eq!((key.exceptions[0].as_str(), key.lines[0].as_str()), ("ValueError", "E ValueError: no number: <n>"));
/// ```
#[must_use]
pub fn failure_key(signature: &Signature, output: &str) -> FailureKey {
    let lines = error_lines(output);
    let mut frames: Vec<String> = Vec::new();
    for frame in
        signature.frame.iter().map(|frame| without_line(frame)).chain(lines.iter().filter_map(|line| place(line)))
    {
        if frames.len() < FRAMES && !frames.contains(&frame) {
            frames.push(frame);
        }
    }
    let mut tests = signature.tests.clone();
    tests.sort();
    tests.dedup();
    FailureKey {
        tool: signature.tool.clone(),
        kind: kind(signature, &lines),
        code: signature.code.clone(),
        tests,
        exceptions: exceptions(&lines),
        frames,
        lines,
    }
}

/// The fingerprints by which two failures are the same one.
///
/// ```
/// # use reflexion_core::domain::FailureKey;
/// # use reflexion_memory::recall::{CommonTests, fingerprints};
/// let key = FailureKey { tests: vec!["t::adds".into()], lines: vec!["b".into(), "a".into()], ..FailureKey::default() };
/// let turned = FailureKey { lines: vec!["a".into(), "b".into()], ..key.clone() };
/// let of = |key: &FailureKey| fingerprints(key, &CommonTests::default());
/// assert_eq!(of(&key), of(&turned));
/// assert!(of(&key).f1.unwrap().starts_with("v2:f1:"));
/// ```
#[must_use]
pub fn fingerprints(failure: &FailureKey, common: &CommonTests) -> Fingerprints {
    let digest = |kind: &str, parts: Option<Vec<&str>>| parts.map(|parts| text(kind, &parts));
    Fingerprints { f1: digest("f1", failure.structure(common)), f0: digest("f0", failure.sorted_lines()) }
}

/// Which parts of a key make its fingerprints.
pub(super) trait Fingerprinted {
    /// What F1 is made of: tool, kind, code, the innermost frame, the tests that are not common. None where no test and no frame is left, as
    /// a code alone is shared by unlike failures, and where the machine failed.
    fn structure(&self, common: &CommonTests) -> Option<Vec<&str>>;

    /// The tests that are not common.
    fn telling_tests(&self, common: &CommonTests) -> impl Iterator<Item = &str>;

    /// What F1 is made of beside tests, if it is enough: with a test that tells, or, where no test failed, with a code and a frame that names a
    /// function. A file and a code alone are not: of compilers' errors in one file every second pair would be wrong.
    fn head(&self, tests_tell: bool) -> Option<[&str; 4]>;

    /// Whether the error lines are enough for F0.
    fn has_telling_lines(&self) -> bool;

    /// What F0 is made of: the error lines, sorted. None where there is one alone and no test failed, because without its number a line like
    /// `a.ts: error TS1005: ';' expected` is that of many errors, and where the machine failed.
    fn sorted_lines(&self) -> Option<Vec<&str>>;
}

impl Fingerprinted for FailureKey {
    fn structure(&self, common: &CommonTests) -> Option<Vec<&str>> {
        let mut tests: Vec<&str> = self.telling_tests(common).collect();
        let mut parts = self.head(!tests.is_empty())?.to_vec();
        tests.sort_unstable();
        parts.append(&mut tests);
        Some(parts)
    }

    fn telling_tests(&self, common: &CommonTests) -> impl Iterator<Item = &str> {
        self.tests.iter().map(String::as_str).filter(|test| !common.holds(test))
    }

    fn head(&self, tests_tell: bool) -> Option<[&str; 4]> {
        let frame = self.frames.first().map(String::as_str);
        let enough = tests_tell
            || (self.tests.is_empty() && self.code.is_some() && frame.is_some_and(|frame| frame.contains(" in ")));
        let kind = if self.kind == FailureKind::Tests { "tests" } else { "errors" };
        let head = [self.tool.as_str(), kind, self.code.as_deref().unwrap_or_default(), frame.unwrap_or_default()];
        (enough && self.kind != FailureKind::Machine).then_some(head)
    }

    fn has_telling_lines(&self) -> bool {
        let enough = self.lines.len() > 1 || (!self.tests.is_empty() && !self.lines.is_empty());
        enough && self.kind != FailureKind::Machine
    }

    fn sorted_lines(&self) -> Option<Vec<&str>> {
        let mut lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        lines.sort_unstable();
        lines.dedup();
        self.has_telling_lines().then_some(lines)
    }
}

/// The fingerprints of a failure, as versioned text; two failures with one in common are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    /// Of tool, kind, code, tests that are not common, and the innermost frame in the project: `v2:f1:…`. None where that is too little.
    pub f1: Option<String>,
    /// Of the sorted masked error lines: `v2:f0:…`. None where that is too little.
    pub f0: Option<String>,
}

/// Tests that fail in so many tasks that they tell nothing: a wrapper that fails with whatever it runs, a test of everything. Without them the
/// sets of failing tests of 977 real logs met wrongly in 66 of 100 cases, and with this rule in 1 of 1,000.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommonTests(BTreeSet<String>);

impl CommonTests {
    /// The tests that fail in three tasks and more, of `(task, tests)`.
    ///
    /// ```
    /// # use reflexion_memory::recall::CommonTests;
    /// let failed = ["run".to_owned()];
    /// let of = |tasks: &[&str]| CommonTests::of(tasks.iter().map(|task| (*task, failed.as_slice())));
    /// assert!(of(&["a", "b", "c"]).holds("run") && !of(&["a", "b", "b"]).holds("run"));
    /// ```
    #[must_use]
    pub fn of<'a>(failures: impl IntoIterator<Item = (&'a str, &'a [String])>) -> Self {
        // By hashes, as there may be a hundred thousand: of each test the first two tasks.
        let mut tasks: ByHash<(u64, Option<u64>)> = ByHash::default();
        let mut common = BTreeSet::new();
        for (task, tests) in failures {
            let task = hash(task);
            for test in tests {
                let (first, second) = tasks.entry(hash(test)).or_insert((task, None));
                if *first == task || *second == Some(task) {
                    continue;
                }
                if second.replace(task).is_some() && !common.contains(test) {
                    common.insert(test.clone());
                }
            }
        }
        Self(common)
    }

    /// Whether a test is one of them.
    #[must_use]
    pub fn holds(&self, test: &str) -> bool {
        self.0.contains(test)
    }
}

fn text(kind: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        // Cannot occur in a line of text, so no two lists of parts run together alike.
        hash.update([0x1f]);
    }
    let mut text = format!("{VERSION}:{kind}:");
    for byte in &hash.finalize()[..BYTES] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn kind(signature: &Signature, lines: &[String]) -> FailureKind {
    const MACHINE: [&str; 3] = ["no space left on device", "cannot allocate memory", "disk quota exceeded"];
    let of_machine = |line: &String| MACHINE.iter().any(|words| line.to_ascii_lowercase().contains(words));
    if signature.timed_out || signature.out_of_memory || lines.iter().any(of_machine) {
        FailureKind::Machine
    } else if !signature.tests.is_empty() {
        FailureKind::Tests
    } else if signature.code.is_some() || signature.frame.is_some() {
        FailureKind::Errors
    } else {
        FailureKind::Unknown
    }
}

/// `calc.py:3 in add` as `calc.py in add`, absolute directories masked.
fn without_line(frame: &str) -> String {
    let (place, function) = frame.split_once(" in ").map_or((frame, None), |(place, function)| (place, Some(function)));
    let place = place.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let place = mask(place);
    function.map_or_else(|| place.clone(), |function| format!("{place} in {function}"))
}

/// The file that a masked line names with a line number, if it is no tool's own.
fn place(line: &str) -> Option<String> {
    let end = [":<n>", "(<n>,"].into_iter().filter_map(|mark| line.find(mark)).min()?;
    let start = line[..end].rfind(|c: char| c.is_whitespace() || "'\"`(".contains(c)).map_or(0, |at| at + 1);
    let file = line.get(start..end)?;
    let (_, extension) = file.rsplit_once('.')?;
    let is_file = (1..=5).contains(&extension.len()) && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_file && !file.contains("://") && !file.contains("node_modules") && !file.contains("node:"))
        .then(|| file.to_owned())
}

/// Words that name a kind of failure: `ValueError`, `java.io.IOException`, `TS2322`, `ERR_ASSERTION`.
fn exceptions(lines: &[String]) -> Vec<String> {
    let is_name = |word: &&str| {
        let kind = ["Error", "Exception", "Failure", "Panic"].iter().any(|end| word.ends_with(end));
        let code = word.len() > 3
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && word.starts_with(|c: char| c.is_ascii_uppercase());
        kind && word.starts_with(|c: char| c.is_ascii_uppercase()) || code || word.starts_with("ERR_")
    };
    let words =
        lines.iter().flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).filter(is_name);
    let mut found: Vec<String> = words.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
    found.truncate(EXCEPTIONS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> FailureKey {
        FailureKey {
            tool: "pytest".to_owned(),
            kind: FailureKind::Tests,
            code: Some("AssertionError".to_owned()),
            tests: vec!["t.py::adds".to_owned(), "t.py::runs".to_owned()],
            frames: vec!["calc.py in add".to_owned()],
            lines: vec!["assert <n> == <n>".to_owned()],
            ..FailureKey::default()
        }
    }

    #[test]
    fn each_part_of_the_structure_tells_failures_apart_and_nothing_else_does() {
        let none = CommonTests::default();
        let same = |other: FailureKey| fingerprints(&key(), &none).f1 == fingerprints(&other, &none).f1;
        assert!(same(FailureKey { lines: vec!["x".to_owned()], exceptions: vec!["Y".to_owned()], ..key() }));
        let behind = ["calc.py in add", "main.py"].map(str::to_owned).to_vec();
        assert!(same(FailureKey { frames: behind, ..key() }), "only the innermost frame counts");
        assert!(!same(FailureKey { tool: "unittest".to_owned(), ..key() }));
        assert!(!same(FailureKey { code: None, ..key() }));
        assert!(!same(FailureKey { kind: FailureKind::Errors, ..key() }));
        assert!(!same(FailureKey { tests: vec!["t.py::adds".to_owned()], ..key() }));
        assert!(!same(FailureKey { frames: vec!["calc.py in sub".to_owned()], ..key() }));
    }

    #[test]
    fn common_tests_do_not_count_and_what_is_left_must_be_something() {
        let runs = ["t.py::runs".to_owned()];
        let common = CommonTests::of(["a", "b", "c"].map(|task| (task, runs.as_slice())));
        let alone = FailureKey { tests: vec!["t.py::adds".to_owned()], ..key() };
        assert_eq!(fingerprints(&key(), &common).f1, fingerprints(&alone, &common).f1);
        assert_eq!(
            fingerprints(&FailureKey { tests: runs.to_vec(), ..key() }, &common).f1,
            None,
            "only the common one failed"
        );
        assert_eq!(fingerprints(&FailureKey { tests: Vec::new(), frames: Vec::new(), ..key() }, &common).f1, None);
        assert_eq!(fingerprints(&FailureKey::default(), &common), Fingerprints { f1: None, f0: None });
        let one_line = FailureKey { tests: Vec::new(), ..key() };
        assert_eq!(fingerprints(&one_line, &common).f0, None, "one line is too little");
        let in_file = |frame: &str| FailureKey { tests: Vec::new(), frames: vec![frame.to_owned()], ..key() };
        assert!(fingerprints(&in_file("calc.py in add"), &common).f1.is_some());
        assert_eq!(fingerprints(&in_file("src/lib.rs"), &common).f1, None, "a file and a code are too little");
        let machine = FailureKey { kind: FailureKind::Machine, ..key() };
        assert_eq!(
            fingerprints(&machine, &common),
            Fingerprints { f1: None, f0: None },
            "a full disk is no failure of the work"
        );
    }

    #[test]
    fn a_key_is_read_from_what_a_check_printed() {
        let signature = Signature {
            tool: "tsc".to_owned(),
            code: Some("TS2322".to_owned()),
            frame: Some("/home/u/w/src/a.ts:3".to_owned()),
            ..Signature::default()
        };
        let read = |output: &str| failure_key(&signature, output);
        let one = read("src/a.ts(3,5): error TS2322: Type 'x' is no 'y'.\nsrc/b.ts(4,1): error TS2554: Expected 2.\n");
        assert_eq!((one.kind, one.exceptions), (FailureKind::Errors, vec!["TS2322".to_owned(), "TS2554".to_owned()]));
        assert_eq!(one.frames, ["<path>/a.ts", "src/a.ts", "src/b.ts"]);
        assert_eq!(read("ld: No space left on device, error 1\n").kind, FailureKind::Machine);
        let timed_out = Signature { timed_out: true, ..Signature::default() };
        assert_eq!(failure_key(&timed_out, "error: x").kind, FailureKind::Machine);
        assert_eq!(without_line("calc.py:3 in add"), "calc.py in add");
    }
}
