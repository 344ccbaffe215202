//! How much fails beside the failure that the fingerprint knows.
//!
//! A test runner counts. Compilers and linters print a line for each error; those are told by their shape, and everything
//! that changes from run to run is masked in them. Of a program that nobody here knows, the lines that look like the one that
//! the fingerprint rests on are taken.

use super::compilers::UNDEFINED;
use super::found::Found;
use super::found::pattern;
use super::mask::mask;
use super::shell;
use crate::domain::CheckReport;
use crate::domain::Extent;
use crate::prompt::plain;
use crate::toolchain;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// A longer line is data.
const LINE_BYTES: usize = 400;

// `src/a.ts(1,2): `, `a.c:1:2: `, `[ERROR] /x/A.java:[1,2] `, `e: file:///x/A.kt:1:2 `, and what is said of that place.
pattern!(
    PLACE,
    r"^\s*((?:\[?[A-Za-z]+\]?:? )?(?:in )?)(?:file://)?[^\s:(]*\w\.[A-Za-z]\w*(?::\[?\d+|\(\d+)(?:[:,]\d+)?[\])]?(?::| -|\s)(.*)$"
);
pattern!(MILD, r"(?i)^\W*(?:warning|warn|note|info|hint|help|debug|trace)\b");
pattern!(GRAVE, r"(?i)^\W*(?:\w+ )?error\b");
// `E0602: `, `F401 `: linters say so of whatever makes them fail.
pattern!(CODE, r"^\s*[A-Z]{1,5}\d{2,5}\b");
// `ld.lld: error: undefined symbol: x`.
pattern!(LINKER, r"^(?:\S*/)?(?:[\w-]*-)?(?:ld(?:[.-]\w+)?|lld|ld64\.lld|mold): (?:fatal )?error: ");
// eslint's rows below the name of a file.
pattern!(ROW, r"^\s+\d+:\d+\s+error\s");
pattern!(RUST, r"^error(?:\[E\d{4}\])?: ");
pattern!(ARROW, r"^\s*--> (\S.*?):\d+:\d+$");
pattern!(EXCEPTION, r"^(?:\w+\.)*\w*(?:Error|Exception|Failure)(?:: |$)");
pattern!(
    COUNT,
    r"(?i)\b(?:1 (?:\w+ )?(?:error|failure|problem|offense|issue|violation)|(\d+) (?:\w+ )?(?:errors|failures|problems|offenses|issues|violations))\b"
);

// `2 mismatches`, `1 lint error`.
pattern!(
    NOUN,
    r"(?i)(?:^|[^\w.:/-])(\d+) (?:[a-z]+ ){0,2}(?:errors?|failures?|mismatch(?:es)?|problems?|offen[cs]es?|issues?|violations?|conflicts?|defects?|regressions?|bugs?|differences?)\b"
);
// `2 of 3 tests failed`, `3 failed`, but neither `port 3 failed` nor `after 3 ms failed`.
pattern!(
    VERB,
    r"(?i)(?:^|[^\w\s.:/-]|[,;:|(] ?|\b(?:found|with|has|have|had|are|were|and|total|got|contains) )\s*(\d+)(?: ?(?:/|of|out of) ?\d+)? (?:(?:tests?|cases?|checks?|files?|specs?|scenarios?|examples?|assertions?|steps?|suites?|items?|modules?|packages?|lines?|is|are|was|were|has|have) ){0,2}(?:failed|failing|fails?|broken|incorrect|wrong|invalid|bad|missing|unexpected)\b"
);
// `Failed: 2`, `failures=1`, `FAILED (2)`; a number that goes on or has a unit is another thing.
pattern!(
    LISTED,
    r"(?i)\b(?:errors?|fail(?:ed|s|ures?|ing)?|mismatch(?:es)?|problems?|offen[cs]es?|issues?|violations?|broken|not ok)\s*[:=(]\s*(\d+)\s*(?:[,;|)\]/]|of\b|$)"
);
pattern!(WARNINGS, r"(?i)(?:^|[^\w.:/-])(\d+) (?:[a-z]+ ){0,2}warnings?\b");

/// How much fails, as far as the output tells.
pub(super) fn extent(check: &CheckReport, found: &Found, output: &str) -> Extent {
    // What was printed until somebody ended it is chance.
    if check.timed_out || check.signal.is_some() {
        return Extent { cut: true, ..Extent::default() };
    }
    let mut tests: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let own = toolchain::summaries(output).into_iter().map(|said| (said.runner.to_owned(), said));
    let quoted =
        toolchain::quoted_summaries(output).into_iter().map(|said| (format!("{} in a test", said.runner), said));
    for (runner, said) in own.chain(quoted) {
        // Red without a number is one failure.
        let failed = said.counts.map_or(0, |counts| counts.failed).max(u64::from(!said.green));
        tests.entry(runner).or_default().push(failed);
    }
    let text = plain(output);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| line.len() <= LINE_BYTES).collect();
    let mut named = named(&lines);
    let (mut errors, mut errors_alone) = (None, false);
    // What tests print may look like anything; their runner has counted them.
    let mut counts = BTreeMap::new();
    if tests.values().flatten().all(|failed| *failed == 0) {
        errors = named.is_empty().then(|| counted(&lines)).flatten();
        errors_alone = found.tests.is_empty() && is_named(found, &lines);
        counts = beside_words_of_failing(&lines);
        alike(found, &lines, &mut named);
    }
    named.extend(failed_tests(&lines));
    Extent { tests, lines: named, errors_alone, errors, counts, cut: check.output.omitted() > 0 }
}

/// The tests that their runners name as failed; runners list them twice.
fn failed_tests(lines: &[&str]) -> BTreeMap<String, usize> {
    let tests = lines.iter().filter_map(|line| toolchain::failed_test(line));
    tests.map(|(runner, test)| (format!("{runner}: {test}"), 1)).collect()
}

/// Whether the failure itself is an error that a compiler names with its place.
fn is_named(found: &Found, lines: &[&str]) -> bool {
    let Some(message) = found.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) else {
        return false;
    };
    let next = |at: usize| lines.get(at + 1).copied().unwrap_or_default();
    let is_error = |at: usize, line: &str| is_located_error(line) || (RUST.is_match(line) && ARROW.is_match(next(at)));
    // Compilers say it behind a colon.
    let behind = format!(": {message}");
    let says = |line: &str| line.trim() == message || line.contains(&behind);
    lines.iter().enumerate().any(|(at, line)| says(line) && is_error(at, line))
}

/// The errors that compilers name with their place.
fn named(lines: &[&str]) -> BTreeMap<String, usize> {
    let mut named = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).copied().unwrap_or_default();
        if RUST.is_match(line) && ARROW.is_match(next) {
            // Two targets of a package print the same error.
            if seen.insert((*line, next)) {
                *named.entry(mask(&format!("{line}{next}"))).or_default() += 1;
            }
        } else if is_located_error(line) {
            if seen.insert((*line, "")) {
                *named.entry(mask(line.trim())).or_default() += 1;
            }
        } else if ROW.is_match(line) {
            *named.entry(mask(line.trim())).or_default() += 1;
        }
    }
    named
}

fn is_located_error(line: &str) -> bool {
    let is_error = |place: regex::Captures<'_>| {
        GRAVE.is_match(&place[2]) || GRAVE.is_match(&place[1]) || &place[1] == "e: " || CODE.is_match(&place[2])
    };
    PLACE.captures(line).is_some_and(is_error) || UNDEFINED.is_match(line) || LINKER.is_match(line)
}

/// How many errors programs say that they have found.
fn counted(lines: &[&str]) -> Option<u64> {
    let number = |found: regex::Captures<'_>| found.get(1).map_or(Some(1), |n| n.as_str().parse::<u32>().ok());
    let counts: Vec<u64> =
        lines.iter().flat_map(|line| COUNT.captures_iter(line)).filter_map(number).map(u64::from).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// The numbers that stand beside a word of failing, by their line without numbers and without what a plural changes. Warnings count where
/// nothing else is counted: then they are what is wrong.
fn beside_words_of_failing(lines: &[&str]) -> BTreeMap<String, Vec<u64>> {
    let read = |patterns: &[&regex::Regex]| {
        let mut counts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for line in lines {
            let found = patterns.iter().flat_map(|pattern| pattern.captures_iter(line));
            let numbers: Vec<u64> = found.filter_map(|found| found[1].parse::<u32>().ok()).map(u64::from).collect();
            if !numbers.is_empty() {
                counts.entry(in_any_number(line)).or_default().extend(numbers);
            }
        }
        counts
    };
    let counts = read(&[&NOUN, &VERB, &LISTED]);
    if counts.is_empty() { read(&[&WARNINGS]) } else { counts }
}

/// A line that is the same for one as for many: `1 file was bad`, `2 files were bad`.
fn in_any_number(line: &str) -> String {
    let masked = mask(line.trim());
    let words =
        masked.split_whitespace().filter(|word| !matches!(*word, "is" | "are" | "was" | "were" | "has" | "have"));
    words
        .map(|word| word.trim_end_matches("(s)").trim_end_matches('s').trim_end_matches('e'))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Takes in the lines that look like the one in which the failure itself is said.
fn alike(found: &Found, lines: &[&str], named: &mut BTreeMap<String, usize>) {
    let Some(message) = found.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) else { return };
    let with_code = found.code.as_ref().map(|code| format!("{code}: {message}"));
    let says = |line: &&&str| {
        let line = line.trim();
        line == message || Some(line) == with_code.as_deref() || (is_place(line) && line.ends_with(message))
    };
    let Some(own) = lines.iter().rev().find(says) else { return };
    let looks = Looks::of(own);
    for line in lines.iter().filter(|line| !line.trim().is_empty() && !is_located_error(line)) {
        if looks.like(&Looks::of(line)) {
            *named.entry(mask(line.trim())).or_default() += 1;
        }
    }
}

fn is_place(line: &str) -> bool {
    PLACE.captures(line).is_some_and(|place| !MILD.is_match(&place[1]) && !MILD.is_match(&place[2]))
}

/// What a line looks like.
struct Looks<'t> {
    /// It says something of a place in a file.
    place: bool,
    /// It calls itself an error.
    error: bool,
    /// What it begins with, if that is a mark and no word: `[warn]`, `✖`, `FAIL`.
    mark: Option<&'t str>,
    /// Its words without names.
    shape: String,
}

impl<'t> Looks<'t> {
    fn of(line: &'t str) -> Self {
        let line = line.trim();
        let error = shell::is_error(line) || EXCEPTION.is_match(line);
        let first = line.split_whitespace().next().unwrap_or_default();
        let is_mark = first.starts_with(|c: char| !c.is_alphanumeric()) || !first.contains(|c: char| c.is_lowercase());
        let is_kept = is_mark && !first.contains(|c: char| c.is_ascii_digit() || c == '/' || c == '.');
        Self { place: is_place(line), error, mark: is_kept.then_some(first), shape: shape(line) }
    }

    fn like(&self, other: &Self) -> bool {
        (self.place && other.place)
            || (self.error && other.error)
            || (self.mark.is_some() && self.mark == other.mark)
            || self.shape == other.shape
    }
}

/// A line with its names masked too: paths, and what stands in quotes.
fn shape(line: &str) -> String {
    pattern!(NAME, r#"`[^`]*`|'[^']*'|"[^"]*"|[^\s:,;()]*[/.]\w[^\s:,;()]*"#);
    NAME.replace_all(&mask(line), "<name>").into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::reader::Signatures;
    use crate::domain::CheckCommand;
    use crate::domain::CheckScope;
    use crate::domain::CheckSpec;
    use crate::domain::CheckStatus;
    use crate::domain::Output;
    use crate::domain::Signature;
    use crate::services::FailureReader;

    fn read(printed: &str) -> Signature {
        Signatures.read(&crate::domain::CheckReport {
            spec: CheckSpec { name: "p".into(), run: CheckCommand::Shell("./check".into()), timeout_ms: None },
            scope: CheckScope::Project,
            status: CheckStatus::Failed,
            exit_status: Some(1),
            signal: None,
            timed_out: false,
            output: Output::whole(printed),
            duration_ms: 1,
            signature: Signature::default(),
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
        })
    }

    /// The same fingerprint, and whether that is all that fails.
    fn check(base: &str, now: &str, known: bool) {
        let (before, after) = (read(base), read(now));
        assert_eq!(before.fingerprint, after.fingerprint, "{base}\n--\n{now}");
        assert_eq!(after.is_no_more_than(&before), known, "{base}\n--\n{now}\n{:?}\n{:?}", before.extent, after.extent);
    }

    /// Whatever the fingerprints are.
    fn check_extent(base: &str, now: &str, known: bool) {
        let (before, after) = (read(base).extent, read(now).extent);
        assert_eq!(after.is_within(&before), known, "{base}\n--\n{now}\n{before:?}\n{after:?}");
    }

    #[test]
    fn a_further_error_in_another_file_is_more() {
        let tsc = "src/a.ts(1,14): error TS2322: Type 'number' is not assignable to type 'string'.\n";
        check(tsc, &format!("{tsc}{}", tsc.replace("a.ts", "c.ts")), false);
        check(tsc, &format!("{tsc}{}", tsc.replace("(1,14)", "(7,3)")), false);
        check(tsc, &tsc.replace("(1,14)", "(7,3)"), true);
        check(&format!("{tsc}{}", tsc.replace("a.ts", "c.ts")), tsc, true);
        let mypy =
            |more: &str, n: &str| format!("a.py:1: error: Name \"x\" is not defined  [name-defined]\n{more}{n}\n");
        let other = "b.py:4: error: Name \"y\" is not defined  [name-defined]\n";
        check(&mypy("", "Found 1 error in 1 file"), &mypy(other, "Found 2 errors in 2 files"), false);
        check(&mypy(other, "Found 2 errors in 2 files"), &mypy("", "Found 1 error in 1 file"), true);
        check(&mypy("", ""), &mypy("b.py:4: note: by the way\nb.py:4: warning: hm\n", ""), true);
        let rust = |file: &str| format!("error[E0308]: mismatched types\n --> src/{file}.rs:3:5\n  |\n\n");
        let end = "error: could not compile `x` (lib) due to 1 previous error\n";
        check(&(rust("a") + end), &(rust("a") + &rust("b") + end), false);
        check(&(rust("a") + end), &(rust("a") + &rust("a") + end + end), true);
        let go = "./a.go:3:2: undefined: x\n";
        check(go, &format!("{go}./b.go:3:2: undefined: y\n"), false);
        let java = "[ERROR] /w/1/src/A.java:[3,5] cannot find symbol\n";
        let failed = "[ERROR] Failed to execute goal compile\n";
        check(&format!("{java}{failed}"), &format!("{}{failed}", java.replace("/w/1/", "/w/2/")), true);
        check(&format!("{java}{failed}"), &format!("{java}{}{failed}", java.replace("A.java", "B.java")), false);
    }

    #[test]
    fn what_a_program_counts_and_what_looks_like_the_failure_is_more_too() {
        let found = |n: u32| format!("checking\nFound {n} errors.\n");
        check(&found(2), &found(3), false);
        check(&found(3), &found(2), true);
        let lint = |rows: &str, n: u32| format!("/w/1/a.js\n{rows}\n✖ {n} problems ({n} errors, 0 warnings)\n");
        let row = "  1:5  error  'a' is not defined  no-undef\n";
        let rows = |n: usize| row.repeat(n);
        check(&lint(&rows(2), 2), &lint(&rows(3), 3), false);
        check(&lint(&rows(2), 2), &lint(&rows(2), 2).replace("/w/1/", "/w/22/"), true);
        check("b.py:1:1: F401 unused\n", "a.py:1:1: F401 unused\nb.py:1:1: F401 unused\n", false);
        check("AssertionError: bad\n", "AssertionError: worse\nAssertionError: bad\n", false);
        check("no header in b.h\n", "no header in a.h\nno header in b.h\n", false);
        check("[warn] b.js\n[warn] style in 1 files\n", "[warn] a.js\n[warn] b.js\n[warn] style in 2 files\n", false);
    }

    #[test]
    fn numbers_beside_words_of_failing_count_in_whatever_words() {
        for line in [
            "# of 3 tests failed",
            "# failed",
            "Failed: #",
            "FAILED (#)",
            "#/9 checks failed",
            "run: failed=#, passed=2",
            "found # mismatches",
            "2 passed, # were wrong",
            "# snapshots obsolete, # differences",
            "# lint warnings",
        ] {
            let said = |n: &str| format!("checking\n{}\n", line.replace('#', n));
            check(&said("2"), &said("3"), false);
            check(&said("3"), &said("2"), true);
        }
        // One and many.
        let count = |words: &str| format!("a.c is bad\n{words}\n");
        check_extent(&count("1 mismatch was found"), &count("2 mismatches were found"), false);
        // What else has a number.
        for line in [
            "port # failed",
            "failed: # ms",
            "step # failed",
            "worker # has failed",
            "error: # is in use",
            "# passed",
            "#.5 s",
        ] {
            let said = |n: &str| format!("checking\n{}\nno\n", line.replace('#', n));
            check(&said("2"), &said("3"), true);
        }
        // Beside errors, a warning is none.
        let both = |errors: u32, warnings: u32| format!("bad\n{warnings} warnings emitted\n{errors} errors\n");
        check(&both(2, 1), &both(2, 2), true);
    }

    #[test]
    fn a_check_of_several_runs_counts_each() {
        let unit = |failed: u32| {
            let end = if failed == 0 { "OK".to_owned() } else { format!("FAILED (failures={failed})") };
            format!("Ran 5 tests in 0.1s\n\n{end}\n")
        };
        let node = |failed: u32| format!("# tests 3\n# pass {}\n# fail {failed}\n", 3 - failed);
        let lint = "other.py:9: error: Incompatible return value type  [return-value]\n";
        // Green tests, and a linter that was red.
        check_extent(&(unit(0) + lint), &(unit(0) + lint), true);
        check_extent(&(unit(0) + lint), &(unit(1) + lint), false);
        check_extent(&(unit(1) + lint), &(unit(0) + lint), true);
        check_extent(lint, &(unit(1) + lint), false);
        check_extent(lint, &(unit(0) + lint), true);
        // Two runners, and two runs of one.
        check_extent(&(unit(0) + &node(1)), &(unit(1) + &node(1)), false);
        check_extent(&(node(0) + &unit(1)), &(node(2) + &unit(1)), false);
        check_extent(&(unit(0) + &unit(1)), &(unit(1) + &unit(1)), false);
        check_extent(&(node(1) + &node(1)), &(node(1) + &node(0)), true);
        // Tests that cannot be built any more.
        let cargo = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        check_extent(
            &(cargo.to_owned() + lint),
            &format!("error: could not compile `x` (lib) due to 1 previous error\n{lint}"),
            false,
        );
    }

    #[test]
    fn a_runner_has_counted_what_fails() {
        let unittest = |failures: u32, ran: u32, printed: &str| {
            let one = "======\nFAIL: test_a (t.T.test_a)\n------\nTraceback (most recent call last):\n  File \"/w/t.py\", line 5, in test_a\n    \
                       x\nAssertionError: no\n\n";
            format!(
                "{printed}{}Ran {ran} tests in 0.00{ran}s\n\nFAILED (failures={failures})\n",
                one.repeat(failures as usize)
            )
        };
        check(&unittest(1, 1, ""), &unittest(4, 1, ""), false);
        check(&unittest(4, 1, ""), &unittest(1, 1, ""), true);
        check(&unittest(1, 1, ""), &unittest(1, 9, "error: it is a test of errors\nFound 7 errors\n"), true);
    }

    #[test]
    fn what_changes_from_run_to_run_is_not_more() {
        let noise = |port: u32, dir: &str, passed: u32| {
            format!(
                "12:00:{passed} listening on 127.0.0.1:{port}\n{passed} passed in {passed}.2s\nusing /tmp/{dir}/x\n\
                 error: cannot open /tmp/{dir} at port {port} after {passed} ms\nfailed in {passed}.1 s\n"
            )
        };
        check(&noise(8080, "tmpa1", 12), &noise(54321, "tmpzz", 48), true);
        let located = |dir: &str, line: u32| format!("{dir}/a.c:{line}:2: error: 'x' undeclared\n");
        check(&located("/w/room-0", 1), &located("/w/room-1", 20), true);
    }

    #[test]
    fn linters_codes_and_what_the_linker_misses_are_errors() {
        let pylint = |more: &str| {
            format!(
                "************* Module a\na.py:6:11: E0602: Undefined variable 'x' (undefined-variable)\n{more}\n-----\nYour code has been rated at 5.00/10\n"
            )
        };
        check(&pylint(""), &pylint("b.py:6:11: E0602: Undefined variable 'yy' (undefined-variable)\n"), false);
        check(&pylint(""), &pylint("").replace(":6:11", ":9:1"), true);
        let link = |more: &str| {
            format!(
                "/usr/bin/ld: /tmp/cc1.o: in function `main':\na.c:(.text+0x5): undefined reference to `x'\n{more}collect2: error: ld returned 1 exit status\n"
            )
        };
        check(
            &link(""),
            &link("/usr/bin/ld: /tmp/cc2.o: in function `b':\nb.c:(.text+0x9): undefined reference to `y'\n"),
            false,
        );
        check(&link(""), &link("").replace("0x5", "0x77").replace("cc1", "ccX"), true);
    }

    #[test]
    fn a_test_that_runners_name_is_more_whatever_their_numbers() {
        let ctest = |tests: [&str; 2]| {
            format!(
                "33% tests passed, 2 tests failed out of 3\n\nThe following tests FAILED:\n\t  1 - {} (Failed)\n\t  2 - {} (Failed)\nErrors while running CTest\n",
                tests[0], tests[1]
            )
        };
        check(&ctest(["aa", "bb"]), &ctest(["aa", "cc"]), false);
        check(&ctest(["aa", "bb"]), &ctest(["bb", "aa"]), true);
        // What a failing test shows counts too.
        let shown = |failed: u32| {
            format!(
                "1/1 Test #1: aa ...***Failed 0.1 sec\n[  FAILED  ] {failed} tests, listed below:\n0% tests passed, 1 tests failed out of 1\n"
            )
        };
        check_extent(&shown(2), &shown(3), false);
        check_extent(&shown(3), &shown(2), true);
    }

    #[test]
    fn of_errors_with_places_any_may_come_first() {
        let known = |base: &str, now: &str| read(now).is_no_more_than(&read(base));
        let (a, b) = ("a.c:1:20: error: 'x' undeclared\n", "b.c:1:20: error: 'y' undeclared\n");
        let both = [a, b].concat();
        assert!(known(&both, &[b, a].concat()) && known(&both, b) && known(&both, a));
        assert!(!known(a, b) && !known(b, &both));
        let rust = |file: &str, what: &str| format!("error[E0308]: {what}\n --> src/{file}.rs:3:5\n  |\n\n");
        assert!(known(&(rust("a", "one") + &rust("b", "two")), &rust("b", "two")));
        // Tests, another tool, and what has no place are no such errors.
        let unit = "Ran 5 tests in 0.1s\n\nFAILED (failures=1)\n";
        assert!(!known(&(unit.to_owned() + &both), &(unit.to_owned() + b)));
        assert!(!known(&both, "src/a.ts(1,14): error TS2322: no\n"));
        assert!(!known(&both, "make: *** No rule to make target 'x'.  Stop.\n"));
        let mut cut = read(&both);
        cut.extent.cut = true;
        assert!(!read(b).is_no_more_than(&cut));
    }

    #[test]
    fn where_the_base_was_cut_nothing_is_missed_in_it() {
        let (one, two) = ("b.py:1:1: F401 unused\n", "a.py:1:1: F401 unused\nb.py:1:1: F401 unused\n");
        let mut base = read(one);
        base.extent.cut = true;
        assert!(read(two).is_no_more_than(&base));
    }
}
