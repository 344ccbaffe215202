//! What a failing check's output gives away: places, failing tests, names, and how far off the result was.

use super::rule::Rule;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What was found in an output.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// Places in the order of the output, with paths as printed.
    pub(super) frames: Vec<Frame>,
    /// Names of failing tests, without module, class and parameters.
    pub(super) failing: BTreeSet<String>,
    /// Words of the lines that say what is wrong, and how often.
    pub(super) words: BTreeMap<String, u32>,
    /// How much likelier kinds of edits are.
    pub(super) hints: BTreeSet<Hint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) path: String,
    pub(super) line: u32,
}

/// What the failure looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hint {
    /// Expected and actual differ by one.
    ByOne,
    /// Expected is the negative of actual.
    Negative,
    /// True where False was expected, or the other way round.
    Truth,
    /// A `None` where something was expected.
    Nothing,
    /// An index or key that is not there.
    OutOfRange,
    /// A name that is not defined.
    Undefined,
    /// Two kinds of values that do not go together.
    Types,
}

impl Hint {
    /// How much likelier a kind of edit is under this hint.
    pub(super) fn factor(self, rule: Rule) -> f64 {
        let fits = match self {
            Self::ByOne => matches!(rule, Rule::Constant | Rule::Boundary | Rule::Index | Rule::Update),
            Self::Negative => matches!(rule, Rule::Arithmetic | Rule::Sign | Rule::Swap | Rule::Update),
            Self::Truth => matches!(
                rule,
                Rule::Equality
                    | Rule::Boundary
                    | Rule::Direction
                    | Rule::Logic
                    | Rule::NotRemoved
                    | Rule::NotAdded
                    | Rule::Boolean
            ),
            Self::Nothing => {
                matches!(rule, Rule::Return | Rule::Empty | Rule::Reuse | Rule::Equality | Rule::NotRemoved)
            }
            Self::OutOfRange => matches!(rule, Rule::Constant | Rule::Index | Rule::Boundary | Rule::Sign),
            Self::Undefined => matches!(rule, Rule::Name),
            Self::Types => matches!(rule, Rule::Arithmetic | Rule::Name | Rule::Swap | Rule::Equality | Rule::Empty),
        };
        match (fits, self) {
            (true, Self::Undefined) => 8.0,
            (true, Self::ByOne) => 3.0,
            (true, Self::Truth | Self::Types) => 1.5,
            (true, _) => 2.0,
            (false, _) => 1.0,
        }
    }
}

/// A regular expression that is a constant of this file.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is a constant that the tests compile"));
    };
}
pattern!(PYTHON_FRAME, r#"File "([^"]+)", line (\d+)"#);
pattern!(
    PLACE,
    r"([\w./\\@+-]*[\w-]\.(?:py|rs|js|mjs|cjs|jsx|ts|tsx|go|java|kt|swift|c|h|cc|cpp|hpp|cs|php|scala|dart)):(\d+)"
);
pattern!(
    FAILING,
    r"(?x) ^FAILED\s+\S*?(?:::|\s)([\w:.]+?)(?:\[.*)?(?:\s-\s.*)?$   # pytest's summary
    | ^_{2,}\s(?:\S+\.)?(\w+)(?:\[.*)?\s_{2,}$                         # pytest's sections
    | ^(?:FAIL|ERROR):\s(\w+)\s\(                                      # unittest
    | ^test\s(\S+)\s\.\.\.\sFAILED                                     # cargo test
    | ^----\s(\S+)\sstdout\s----                                       # cargo test's sections
    | ^\s*---\sFAIL:\s(\w+)                                            # go test"
);
pattern!(COMPARED, r"(-?\d+(?:\.\d+)?)\s*(?:==|!=)\s*(-?\d+(?:\.\d+)?)(?:$|[^\w.])");
pattern!(LEFT_RIGHT, r"left: `?(-?\d+(?:\.\d+)?)`?,?\s+right: `?(-?\d+(?:\.\d+)?)`?");
pattern!(
    TRUTH,
    r"assert (?:not )?(?:True|False)\b|(?:True|False) (?:==|!=|is) (?:True|False)|(?:True|False) is not (?:true|false)|DID NOT RAISE|not raised|left: (?:true|false)|assertion failed: "
);
pattern!(
    ONE_MORE,
    r"contains (?:1 additional element|one more item)|First differing element \d+:\s+(-?\d+)\s+(-?\d+)\s"
);
pattern!(WORD, r"[A-Za-z_][A-Za-z0-9_]+");

impl Evidence {
    pub(super) fn read(output: &str) -> Self {
        let mut evidence = Self::default();
        for line in output.lines() {
            evidence.frames_of(line);
            if let Some(found) = FAILING.captures(line.trim_end()) {
                let name = found.iter().skip(1).flatten().next().map_or("", |m| m.as_str());
                let name = name.rsplit([':', '.']).next().unwrap_or(name);
                evidence.failing.insert(name.to_owned());
            }
            if says_what_is_wrong(line) {
                for word in WORD.find_iter(line) {
                    *evidence.words.entry(word.as_str().to_owned()).or_default() += 1;
                }
            }
        }
        evidence.hints_of(output);
        evidence
    }

    fn frames_of(&mut self, line: &str) {
        let places = PYTHON_FRAME.captures_iter(line).chain(PLACE.captures_iter(line));
        for found in places {
            if let Ok(number) = found[2].parse() {
                self.frames.push(Frame { path: found[1].replace('\\', "/"), line: number });
            }
        }
    }

    fn hints_of(&mut self, output: &str) {
        for found in COMPARED.captures_iter(output).chain(LEFT_RIGHT.captures_iter(output)) {
            let (Ok(one), Ok(other)) = (found[1].parse::<f64>(), found[2].parse::<f64>()) else {
                continue;
            };
            if ((one - other).abs() - 1.0).abs() < 1e-9 {
                self.hints.insert(Hint::ByOne);
            }
            if one != 0.0 && (one + other).abs() < 1e-9 {
                self.hints.insert(Hint::Negative);
            }
        }
        for found in ONE_MORE.captures_iter(output) {
            let number = |i| found.get(i).and_then(|m| m.as_str().parse::<i64>().ok());
            let difference = number(1).zip(number(2)).map_or(1, |(a, b)| a.abs_diff(b));
            if difference == 1 {
                self.hints.insert(Hint::ByOne);
            }
        }
        let says = |words: &[&str]| words.iter().any(|w| output.contains(w));
        if TRUTH.is_match(output) {
            self.hints.insert(Hint::Truth);
        }
        if says(&["'NoneType'", "None ==", "None !=", "is None", "assert None"]) {
            self.hints.insert(Hint::Nothing);
        }
        if says(&["IndexError", "KeyError", "out of range", "out of bounds", "StopIteration", "subtract with overflow"])
        {
            self.hints.insert(Hint::OutOfRange);
        }
        if says(&["NameError", "UnboundLocalError", "cannot find value", "is not defined"]) {
            self.hints.insert(Hint::Undefined);
        }
        if says(&["TypeError", "mismatched types"]) {
            self.hints.insert(Hint::Types);
        }
    }
}

fn says_what_is_wrong(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("E  ")
        || line.starts_with("> ")
        || line.starts_with("assert")
        || line.starts_with("self.assert")
        || line.contains("Error")
        || line.contains("panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_is_read() {
        let read = Evidence::read(
            "____________ TestA.test_add[1-2] ____________\n\n>       assert add(1, 2) == 4\nE       assert 3 == 4\nE        +  where 3 = add(1, 2)\n\n\
             tests/test_a.py:5: AssertionError\nFAILED tests/test_a.py::TestA::test_other[x - y] - assert\n",
        );
        assert_eq!(read.failing.iter().collect::<Vec<_>>(), ["test_add", "test_other"]);
        assert_eq!(read.frames, [Frame { path: "tests/test_a.py".into(), line: 5 }]);
        assert_eq!(read.words["add"], 2);
        assert!(read.hints.contains(&Hint::ByOne));
    }

    #[test]
    fn unittest_is_read() {
        let read = Evidence::read(
            "FAIL: test_half (tests.test_a.TestA.test_half)\nTraceback (most recent call last):\n  File \"/x/tests/test_a.py\", line 9, in test_half\n\
             AssertionError: -3 != 3\n",
        );
        assert_eq!(read.failing.iter().collect::<Vec<_>>(), ["test_half"]);
        assert_eq!(read.frames, [Frame { path: "/x/tests/test_a.py".into(), line: 9 }]);
        assert!(read.hints.contains(&Hint::Negative) && !read.hints.contains(&Hint::ByOne));
    }

    #[test]
    fn cargo_test_is_read() {
        let read = Evidence::read(
            "test tests::works ... FAILED\n---- tests::other stdout ----\nthread 'tests::works' panicked at src/lib.rs:12:9:\nassertion `left == right` failed\n  left: 3\n right: 4\n",
        );
        assert_eq!(read.failing.iter().collect::<Vec<_>>(), ["other", "works"]);
        assert_eq!(read.frames, [Frame { path: "src/lib.rs".into(), line: 12 }]);
        assert_eq!(read.hints.iter().collect::<Vec<_>>(), [&Hint::ByOne]);
    }

    #[test]
    fn kinds_of_failures_are_told_apart() {
        let check = |output: &str, hint| {
            assert_eq!(Evidence::read(output).hints.into_iter().collect::<Vec<_>>(), [hint], "{output}");
        };
        check("IndexError: list index", Hint::OutOfRange);
        check("AttributeError: 'NoneType' object has no attribute", Hint::Nothing);
        check("AssertionError: False is not true", Hint::Truth);
        check("First list contains 1 additional elements.", Hint::ByOne);
        check("First differing element 2:\n7\n8\n", Hint::ByOne);
        check("NameError: name 'x'", Hint::Undefined);
    }
}
