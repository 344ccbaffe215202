//! What a failure is known by.

use super::mask::mask;
use super::output::error_lines;
use super::terms::{ByHash, hash};
use crate::domain::Signature;
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

/// What a failure is known by, without what changes from run to run: two equal keys are the same failure. One line of JSON holds it, and
/// whatever is missing in it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureKey {
    /// `cargo`, `pytest`, …; `shell` where no tool was recognised.
    pub tool: String,
    /// What kind of failure it is.
    pub kind: Kind,
    /// Error code or exception type of the first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Failing tests by their ids, sorted.
    pub tests: Vec<String>,
    /// Every kind of exception or code that the error lines name, sorted, at most 8.
    pub exceptions: Vec<String>,
    /// Places inside the project without their lines, the innermost first, at most 3: `src/pool.rs`, `calc.py in add`.
    pub frames: Vec<String>,
    /// Lines that say what is wrong, masked, see [`error_lines`].
    pub lines: Vec<String>,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Tests fail.
    Tests,
    /// A compiler, a linter or a program names what is wrong.
    Errors,
    /// The machine or its limits ended the check: time, memory, disk. It says nothing about the work, and is never matched.
    Machine,
    /// Nothing more is known.
    #[default]
    #[serde(other)]
    Unknown,
}

impl FailureKey {
    /// The key of a check's failure: what the signature reads, and the error lines of the output.
    ///
    /// ```
    /// # use reflexion_memory::recall::{FailureKey, Kind};
    /// # use reflexion_core::domain::Signature;
    /// let signature = Signature { tool: "pytest".into(), frame: Some("calc.py:3 in add".into()), ..Signature::default() };
    /// let key = FailureKey::of(&signature, "E   ValueError: no number: 12\n");
    /// assert_eq!((key.kind, key.frames[0].as_str()), (Kind::Errors, "calc.py in add"));
    /// assert_eq!((key.exceptions[0].as_str(), key.lines[0].as_str()), ("ValueError", "E ValueError: no number: <n>"));
    /// ```
    #[must_use]
    pub fn of(signature: &Signature, output: &str) -> Self {
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
        Self {
            tool: signature.tool.clone(),
            kind: kind(signature, &lines),
            code: signature.code.clone(),
            tests,
            exceptions: exceptions(&lines),
            frames,
            lines,
        }
    }

    /// Nothing is known by which it could be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.code.is_none() && self.frames.is_empty() && self.lines.is_empty()
    }

    /// The fingerprints by which two failures are the same one.
    ///
    /// ```
    /// # use reflexion_memory::recall::{CommonTests, FailureKey};
    /// let key = FailureKey { tests: vec!["t::adds".into()], lines: vec!["b".into(), "a".into()], ..FailureKey::default() };
    /// let turned = FailureKey { lines: vec!["a".into(), "b".into()], ..key.clone() };
    /// assert_eq!(key.same(&CommonTests::default()), turned.same(&CommonTests::default()));
    /// assert!(key.same(&CommonTests::default()).f1.unwrap().starts_with("v2:f1:"));
    /// ```
    #[must_use]
    pub fn same(&self, common: &CommonTests) -> Fingerprints {
        let digest = |kind: &str, parts: Option<Vec<&str>>| parts.map(|parts| text(kind, &parts));
        Fingerprints { f1: digest("f1", self.structure(common)), f0: digest("f0", self.sorted_lines()) }
    }

    /// What F1 is made of: tool, kind, code, the innermost frame, the tests that are not common. None where no test and no frame is left, as
    /// a code alone is shared by unlike failures, and where the machine failed.
    pub(super) fn structure(&self, common: &CommonTests) -> Option<Vec<&str>> {
        let mut tests: Vec<&str> = self.telling_tests(common).collect();
        let mut parts = self.head(!tests.is_empty())?.to_vec();
        tests.sort_unstable();
        parts.append(&mut tests);
        Some(parts)
    }

    /// The tests that are not common.
    pub(super) fn telling_tests(&self, common: &CommonTests) -> impl Iterator<Item = &str> {
        self.tests.iter().map(String::as_str).filter(|test| !common.holds(test))
    }

    /// What F1 is made of beside tests, if it is enough: with a test that tells, or, where no test failed, with a code and a frame that names a
    /// function. A file and a code alone are not: of compilers' errors in one file every second pair would be wrong.
    pub(super) fn head(&self, tests_tell: bool) -> Option<[&str; 4]> {
        let frame = self.frames.first().map(String::as_str);
        let enough = tests_tell
            || (self.tests.is_empty() && self.code.is_some() && frame.is_some_and(|frame| frame.contains(" in ")));
        let kind = if self.kind == Kind::Tests { "tests" } else { "errors" };
        let head = [self.tool.as_str(), kind, self.code.as_deref().unwrap_or_default(), frame.unwrap_or_default()];
        (enough && self.kind != Kind::Machine).then_some(head)
    }

    /// Whether the error lines are enough for F0.
    pub(super) fn has_telling_lines(&self) -> bool {
        let enough = self.lines.len() > 1 || (!self.tests.is_empty() && !self.lines.is_empty());
        enough && self.kind != Kind::Machine
    }

    /// What F0 is made of: the error lines, sorted. None where there is one alone and no test failed, because without its number a line like
    /// `a.ts: error TS1005: ';' expected` is that of many errors, and where the machine failed.
    pub(super) fn sorted_lines(&self) -> Option<Vec<&str>> {
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

fn kind(signature: &Signature, lines: &[String]) -> Kind {
    const MACHINE: [&str; 3] = ["no space left on device", "cannot allocate memory", "disk quota exceeded"];
    let of_machine = |line: &String| MACHINE.iter().any(|words| line.to_ascii_lowercase().contains(words));
    if signature.timed_out || signature.out_of_memory || lines.iter().any(of_machine) {
        Kind::Machine
    } else if !signature.tests.is_empty() {
        Kind::Tests
    } else if signature.code.is_some() || signature.frame.is_some() {
        Kind::Errors
    } else {
        Kind::Unknown
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
            kind: Kind::Tests,
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
        let same = |other: FailureKey| key().same(&none).f1 == other.same(&none).f1;
        assert!(same(FailureKey { lines: vec!["x".to_owned()], exceptions: vec!["Y".to_owned()], ..key() }));
        let behind = ["calc.py in add", "main.py"].map(str::to_owned).to_vec();
        assert!(same(FailureKey { frames: behind, ..key() }), "only the innermost frame counts");
        assert!(!same(FailureKey { tool: "unittest".to_owned(), ..key() }));
        assert!(!same(FailureKey { code: None, ..key() }));
        assert!(!same(FailureKey { kind: Kind::Errors, ..key() }));
        assert!(!same(FailureKey { tests: vec!["t.py::adds".to_owned()], ..key() }));
        assert!(!same(FailureKey { frames: vec!["calc.py in sub".to_owned()], ..key() }));
    }

    #[test]
    fn common_tests_do_not_count_and_what_is_left_must_be_something() {
        let runs = ["t.py::runs".to_owned()];
        let common = CommonTests::of(["a", "b", "c"].map(|task| (task, runs.as_slice())));
        let alone = FailureKey { tests: vec!["t.py::adds".to_owned()], ..key() };
        assert_eq!(key().same(&common).f1, alone.same(&common).f1);
        assert_eq!(FailureKey { tests: runs.to_vec(), ..key() }.same(&common).f1, None, "only the common one failed");
        assert_eq!(FailureKey { tests: Vec::new(), frames: Vec::new(), ..key() }.same(&common).f1, None);
        assert_eq!(FailureKey::default().same(&common), Fingerprints { f1: None, f0: None });
        let one_line = FailureKey { tests: Vec::new(), ..key() };
        assert_eq!(one_line.same(&common).f0, None, "one line is too little");
        let in_file = |frame: &str| FailureKey { tests: Vec::new(), frames: vec![frame.to_owned()], ..key() };
        assert!(in_file("calc.py in add").same(&common).f1.is_some());
        assert_eq!(in_file("src/lib.rs").same(&common).f1, None, "a file and a code are too little");
        let machine = FailureKey { kind: Kind::Machine, ..key() };
        assert_eq!(machine.same(&common), Fingerprints { f1: None, f0: None }, "a full disk is no failure of the work");
    }

    #[test]
    fn a_key_is_read_from_what_a_check_printed() {
        let signature = Signature {
            tool: "tsc".to_owned(),
            code: Some("TS2322".to_owned()),
            frame: Some("/home/u/w/src/a.ts:3".to_owned()),
            ..Signature::default()
        };
        let read = |output: &str| FailureKey::of(&signature, output);
        let one = read("src/a.ts(3,5): error TS2322: Type 'x' is no 'y'.\nsrc/b.ts(4,1): error TS2554: Expected 2.\n");
        assert_eq!((one.kind, one.exceptions), (Kind::Errors, vec!["TS2322".to_owned(), "TS2554".to_owned()]));
        assert_eq!(one.frames, ["<path>/a.ts", "src/a.ts", "src/b.ts"]);
        assert_eq!(read("ld: No space left on device, error 1\n").kind, Kind::Machine);
        let timed_out = Signature { timed_out: true, ..Signature::default() };
        assert_eq!(FailureKey::of(&timed_out, "error: x").kind, Kind::Machine);
        assert_eq!(without_line("calc.py:3 in add"), "calc.py in add");
    }

    #[test]
    fn a_key_of_another_version_is_read_as_far_as_it_is_known() {
        let read: FailureKey = serde_json::from_str(r#"{"kind":"weather","tool":"go","later":[1]}"#).unwrap();
        assert_eq!((read.kind, read.tool.as_str()), (Kind::Unknown, "go"));
    }
}
