//! How much fails beside the failure that the fingerprint knows.
//!
//! A test runner counts. Compilers and linters print a line for each error; those are told by their shape, and everything
//! that changes from run to run is masked in them. Of a program that nobody here knows, the lines that look like the one that
//! the fingerprint rests on are taken.

use super::compilers::{silent_recipe, target};
use super::found::{Found, pattern};
use super::mask::{mask, mask_but_numbers, mask_lines, mask_times};
use super::{located, shell};
use crate::domain::{CheckReport, Extent, PrintedLine, Says};
use crate::prompt::plain;
use crate::toolchain;
use std::collections::BTreeMap;

/// A longer line is data, and names no failure of its own.
const LINE_BYTES: usize = 400;

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
// What they are in: `2 errors in 3 files`.
pattern!(
    IN_FILES,
    r"(?i)\d+ (?:[a-z]+ ){0,2}(?:errors?|failures?|problems?|offen[cs]es?|issues?|violations?|warnings?) in (\d+) [a-z]"
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
    let mut has_counted = false;
    for (runner, said) in own.chain(quoted) {
        has_counted |= said.counts.is_some_and(|counts| counts.failed > 0);
        // Red without a number is one failure.
        let failed = said.counts.map_or(0, |counts| counts.failed).max(u64::from(!said.green));
        tests.entry(runner).or_default().push(failed);
    }
    let text = plain(output);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| line.len() <= LINE_BYTES).collect();
    if let Some([counted]) = tests.get_mut(TAP).map(Vec::as_mut_slice) {
        *counted = counted.saturating_sub(suites(&lines));
    }
    let mut named = named(&lines);
    let (mut errors, mut errors_alone) = (None, false);
    // What tests print may look like anything; their runner has counted them.
    let mut counts = BTreeMap::new();
    let are_named_alone = tests.is_empty() && !found.tests.is_empty();
    if tests.values().flatten().all(|failed| *failed == 0) && !are_named_alone {
        errors = named.is_empty().then(|| counted(&lines)).flatten();
        errors_alone = found.tests.is_empty() && is_named(found, &lines);
        counts = beside_words_of_failing(&lines);
        alike(found, &lines, &mut named);
        named.extend(exact_places(&lines));
    }
    let failed = failed_tests(&lines);
    let names_tests = !failed.is_empty() && failed.len() as u64 == tests.values().flatten().sum::<u64>();
    let names_errors = !has_counted && found.tests.is_empty() && !self::named(&lines).is_empty();
    let names_all = names_tests || names_errors;
    named.extend(failed);
    let (printed, cut) = (Some(printed(&text)), check.output.omitted() > 0);
    Extent { tests, lines: named, errors_alone, errors, counts, printed, varies: None, names_all, cut }
}

/// What TAP counts by its lines, whoever prints it.
const TAP: &str = "TAP";

/// How many lines of TAP say that a suite failed because tests in it did: those are counted already.
fn suites(lines: &[&str]) -> u64 {
    lines.iter().filter(|line| line.trim() == "failureType: 'subtestsFailed'").count() as u64
}

/// What is printed, line by line.
fn printed(text: &str) -> Vec<PrintedLine> {
    pattern!(MARK, r"[✗✘✖×❌]");
    let says_something = |line: &&str| line.contains(char::is_alphanumeric) || MARK.is_match(line);
    text.lines().map(str::trim_end).filter(says_something).map(line).collect()
}

fn line(line: &str) -> PrintedLine {
    pattern!(DIFFERENCE, r"^\s*[-+<>]");
    pattern!(
        PASSES,
        r"(?i)^\W*(?:ok|pass(?:ed|es|ing)?|succe(?:ss|eded)|done)\b|^\s*[✓✔√]|\b\d+ (?:\w+ )?(?:ok|pass(?:ed|es|ing))\b|[\s.:-](?:ok|pass(?:ed|es)?|[✓✔√])$"
    );
    pattern!(
        FAILS,
        r"(?i)\b(?:not ok|fail\w*|error\w*|wrong|broken|bad|mismatch\w*|expected|got|missing|differ\w*|unexpected|invalid|incorrect|cannot|panic\w*)\b|[✗✘✖×❌]"
    );
    let text = mask_lines(line);
    let timeless = mask_times(&text);
    let Numbers { shape, wrong, right } = Numbers::of(&timeless);
    let says = match (FAILS.is_match(line), PASSES.is_match(line)) {
        (true, _) => Says::Fails,
        // In what two files differ by, any word may stand.
        (false, true) if !DIFFERENCE.is_match(line) => Says::Passes,
        _ => Says::Neither,
    };
    let (calm, masked) = (mask_but_numbers(line.trim()), mask(line.trim()));
    PrintedLine { text, timeless, calm, masked, shape, wrong, right, says }
}

/// The numbers of a line that count what fails, and what passes or was run.
struct Numbers {
    /// The line without them, and without what a plural changes.
    shape: String,
    wrong: Vec<u64>,
    right: Vec<u64>,
}

impl Numbers {
    fn of(line: &str) -> Self {
        // `Passed 2  Failed 1`, in columns.
        pattern!(WRONG_COLUMN, r"(?i)\b(?:failed|failures|errors)[\t ]+(\d+)(?:\s|$)");
        pattern!(
            RIGHT,
            r"(?i)(?:^|[^\w.:/-])(\d+) (?:[a-z]+ )?(?:ok|pass(?:ed|es|ing)?|succeeded|tests?|assertions?|examples?|specs?|suites?|cases?|checks?)\b"
        );
        pattern!(
            RIGHT_LISTED,
            r"(?i)\b(?:ok|pass(?:ed|es|ing)?|succeeded|success|total|tests|ran|score|correct|right)\s*[:=(]?\s*(\d+)(?: ?(?:/|of|out of) ?(\d+))?(?:[\s,;|)\]]|$)"
        );
        pattern!(SHARE, r"(?:^|[^\w./:-])(\d+) ?/ ?(\d+)(?:[\s,;|)\]]|$)");
        let mut spans: BTreeMap<usize, (usize, bool, u64)> = BTreeMap::new();
        let mut take = |found: &regex::Captures<'_>, is_wrong: bool| {
            for number in found.iter().skip(1).flatten() {
                if let Ok(value) = number.as_str().parse() {
                    spans.entry(number.start()).or_insert((number.end(), is_wrong, value));
                }
            }
        };
        for pattern in [&*NOUN, &*VERB, &*LISTED, &*IN_FILES, &*WARNINGS, &*WRONG_COLUMN] {
            pattern.captures_iter(line).for_each(|found| take(&found, true));
        }
        for pattern in [&*RIGHT, &*RIGHT_LISTED] {
            pattern.captures_iter(line).for_each(|found| take(&found, false));
        }
        // All of them.
        SHARE.captures_iter(line).filter(|found| found[1] == found[2]).for_each(|found| take(&found, false));
        let (mut shape, mut from) = (String::new(), 0);
        for (start, (end, is_wrong, _)) in &spans {
            shape.push_str(line.get(from..*start).unwrap_or_default());
            shape.push_str(if *is_wrong { "<wrong>" } else { "<right>" });
            from = *end;
        }
        shape.push_str(&line[from..]);
        let of = |wrong: bool| {
            spans.values().filter(|(_, is_wrong, _)| *is_wrong == wrong).map(|(_, _, value)| *value).collect()
        };
        let shape = if spans.is_empty() { line.to_owned() } else { in_any_number(&shape) };
        Self { shape, wrong: of(true), right: of(false) }
    }
}

/// The tests that their runners name as failed; runners list them twice.
fn failed_tests(lines: &[&str]) -> BTreeMap<String, usize> {
    let tests = lines.iter().filter_map(|line| toolchain::failed_test(line));
    tests.map(|(runner, test)| (format!("{runner}: {test}"), 1)).collect()
}

/// Whether the failure itself is an error that a compiler names with its place, or a target of make's that says no more.
fn is_named(found: &Found, lines: &[&str]) -> bool {
    let Some(message) = found.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) else {
        return false;
    };
    // Compilers say it behind a colon, and linters beside the name of a rule.
    let behind = format!(": {message}");
    let of_rule = |line: &str| found.code.as_deref().is_some_and(|code| line.contains(code) && line.contains(message));
    let says = |line: &str| line.trim() == message || line.contains(&behind) || of_rule(line);
    let is_silent = |line: &&str| silent_recipe(line).as_deref() == Some(message);
    located::errors(lines).iter().any(|error| says(lines[error.at])) || lines.iter().any(is_silent)
}

/// The errors that compilers name with their place, and the targets that make could not make.
fn named(lines: &[&str]) -> BTreeMap<String, usize> {
    let errors = located::errors(lines).into_iter().map(|error| error.error);
    let targets = lines.iter().filter_map(|line| target(line)).map(|target| format!("make: {target}"));
    let mut named = BTreeMap::new();
    for error in errors.chain(targets) {
        *named.entry(error).or_default() += 1;
    }
    named
}

/// The lines that say something of an exact place, whatever the words: nobody knows all linters.
fn exact_places(lines: &[&str]) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for line in lines.iter().filter(|line| located::is_exact_place(line) && !located::is_error(line)) {
        *places.entry(format!("at {}", mask(line.trim()))).or_default() += 1;
    }
    places
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
                counts.entry(in_any_number(&mask(line.trim()))).or_default().extend(numbers);
            }
        }
        counts
    };
    let counts = read(&[&NOUN, &VERB, &LISTED]);
    if counts.is_empty() { read(&[&WARNINGS]) } else { counts }
}

/// A line that is the same for one as for many: `1 file was bad`, `2 files were bad`.
fn in_any_number(line: &str) -> String {
    let words = line.split_whitespace().filter(|word| !matches!(*word, "is" | "are" | "was" | "were" | "has" | "have"));
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
        line == message || Some(line) == with_code.as_deref() || (located::is_place(line) && line.ends_with(message))
    };
    let Some(own) = lines.iter().rev().find(says) else { return };
    let looks = Looks::of(own);
    for line in lines.iter().filter(|line| !line.trim().is_empty() && !located::is_error(line)) {
        if looks.like(&Looks::of(line)) {
            *named.entry(mask(line.trim())).or_default() += 1;
        }
    }
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
        Self { place: located::is_place(line), error, mark: is_kept.then_some(first), shape: shape(line) }
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
    use super::super::compilers::target;
    use super::super::reader::Signatures;
    use crate::domain::{CheckCommand, CheckScope, CheckSpec, CheckStatus, Output, Signature};
    use crate::services::FailureReader;

    fn read(printed: &str) -> Signature {
        Signatures.read(&crate::domain::CheckReport {
            spec: CheckSpec {
                name: "p".into(),
                run: CheckCommand::Shell("./check".into()),
                timeout_ms: None,
                results: None,
            },
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
        let less = |base: &str, now: &str| read(now).prints_less_than(&read(base));
        assert!(less(&mypy(other, "Found 2 errors in 2 files"), &mypy("", "Found 1 error in 1 file")));
        assert!(!less(&mypy(other, "Found 2 errors in 2 files"), &mypy(other, "Found 2 errors in 2 files")));
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
            "4 snapshots obsolete, # differences",
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
        let said = |line: &str, n: &str| format!("checking\n{}\nno\n", line.replace('#', n));
        for line in ["# passed", "ok (#/#)", "Total\t#\tSkipped\t0\tFailed\t1", "score: #/9"] {
            check(&said(line, "2"), &said(line, "3"), true);
            check(&said(line, "3"), &said(line, "2"), false);
        }
        // A port, how long it took, or the number of a test.
        let lines = ["port # failed", "step # failed", "error: # is in use", "failed: # ms", "#.5 s", "# files differ"];
        for line in lines {
            let (base, now) = (read(&said(line, "2")), read(&said(line, "3")));
            let why = format!("this line is new: `{}`", line.replace('#', "3"));
            assert_eq!(now.unknown_beside(&base), Some(why));
        }
        // Beside errors, a warning is none of them, and may be what is wrong.
        let both = |errors: u32, warnings: u32| format!("bad\n{warnings} warnings emitted\n{errors} errors\n");
        check_extent(&both(2, 1), &both(2, 2), true);
        check(&both(2, 1), &both(2, 2), false);
    }

    /// Whether it is known that no more fails; none where nobody knows.
    fn known(base: &str, now: &str) -> Option<bool> {
        let (base, now) = (read(base), read(now));
        let is_unknown = now.unknown_beside(&base).is_some();
        (!is_unknown).then(|| now.is_no_more_than(&base))
    }

    #[test]
    fn a_check_that_names_no_tests_is_compared_by_its_lines_as_printed() {
        let said = |lines: &[&str]| lines.join("\n") + "\n";
        let base = said(&["FAIL adds", "FAIL subtracts", "ok multiplies", "score: 1/3"]);
        // Whichever of two is fixed: less fails, and the number says so.
        assert_eq!(known(&base, &said(&["FAIL adds", "ok multiplies", "score: 2/3"])), Some(true));
        assert_eq!(known(&base, &said(&["FAIL subtracts", "ok multiplies", "score: 2/3"])), Some(true));
        assert_eq!(known(&base, &said(&["FAIL adds", "FAIL multiplies", "score: 1/3"])), Some(false));
        // What passed is not run any more.
        assert_eq!(known(&base, &said(&["FAIL adds", "FAIL subtracts", "score: 1/3"])), None);
        assert_eq!(known(&base, ""), None);
        // A number whose meaning nobody knows.
        let points = |n: u32| said(&["FAIL adds", "FAIL subtracts", &format!("{n} points")]);
        assert_eq!(known(&points(1), &points(2)), None);
        assert_eq!(known(&points(1), &said(&["FAIL adds", "2 points"])), None);
        // Another section counts.
        assert_eq!(known("add: 2 mismatches\nsub: 1 mismatch\n", "add: 2 mismatches\nmul: 1 mismatch\n"), Some(false));
        assert_eq!(known("2 files differ from it\n", "6 files differ from it\n"), None);
        // In what two files differ by, no word is a verdict.
        let golden = |line: &str| said(&["--- golden", "+++ now", "-sum 3", "+sum 4", line]);
        assert_ne!(known(&golden("-done: 6 lines"), &golden("+done: 7 lines")), Some(true));
        // Long data behind what failed.
        let long = format!("FAIL multiplies: 7 for 6 {}", "x".repeat(super::LINE_BYTES));
        assert_ne!(known("FAIL adds\n", &said(&["FAIL adds", &long])), Some(true));
        // Nothing but an exit status.
        assert_eq!(known("", ""), None);
        assert_eq!(read("").unknown_beside(&read("")).as_deref(), Some("it prints nothing"));
        // Numbers alone say neither what they count nor of which tests.
        let numbers = ["3\n", "3/5\n", "1 2\n7\n", "100%\n", "-- 3 --\n", "\u{2717} 3\n"];
        for (base, now) in numbers.iter().flat_map(|base| numbers.iter().map(move |now| (base, now))) {
            assert_ne!(known(base, now), Some(true), "{base:?} {now:?}");
        }
        assert_eq!(read("3\n").unknown_beside(&read("3\n")).as_deref(), Some("it prints nothing but numbers"));
        assert!(!read("3\n").is_no_more_by_look(&read("4\n")));
        let mut varying = read("12\n");
        varying.extent.excuse(&read("12\n").extent, &read("13\n").extent);
        assert_eq!(varying.unknown_beside(&read("12\n")).as_deref(), Some("it prints nothing but numbers"));
        // A script may end with the number of what fails, and say it nowhere else.
        let ended = |text: &str, status: i32| {
            let mut signature = read(text);
            signature.exit_status = Some(status);
            signature
        };
        let (said, before) = ("some cases failed\n", ended("some cases failed\n", 1));
        assert!(ended(said, 1).is_no_more_than(&before));
        assert!(!ended(said, 3).is_no_more_than(&before) && !ended(said, 3).prints_less_than(&before));
        let unknown = ended(said, 3).unknown_beside(&before);
        assert_eq!(unknown.as_deref(), Some("its exit status is 3, and was 1"));
        // Directories and digests are values, too.
        assert_eq!(known("FAIL home: /srv/home/ada\n", "FAIL home: /etc/shadow/ada\n"), None);
        assert_eq!(known("FAIL sum: 0cc175b9c0f1b6a831c3\n", "FAIL sum: 7d793037a0760186574b\n"), None);
        // A new test that passes, and lines of files, which move.
        assert_eq!(known(&base, &base.replace("score: 1/3", "ok divides\nscore: 2/4")), Some(true));
        assert_eq!(known("FAIL a.py:3: adds\n", "FAIL a.py:7: adds\n"), Some(true));
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
    fn a_suite_fails_by_its_tests_and_is_no_failure_of_its_own() {
        let suite = |kind: &str| {
            format!(
                "TAP version 13\n# Subtest: all\n    # Subtest: red\n    not ok 1 - red\n      ---\n      failureType: 'testCodeFailure'\n      \
                 ...\n    1..1\nnot ok 1 - all\n  ---\n  type: 'suite'\n  failureType: '{kind}'\n  ...\n1..1\n# tests 1\n# pass 0\n# fail 1\n"
            )
        };
        let alone = "TAP version 13\n# Subtest: red\nnot ok 1 - red\n  ---\n  failureType: 'testCodeFailure'\n  ...\n1..1\n# tests 1\n# pass 0\n\
                     # fail 1\n";
        check_extent(alone, &suite("subtestsFailed"), true);
        check_extent(alone, &suite("hookFailed"), false);
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
        let (base, mut now) = (read(&noise(8080, "tmpa1", 12)), read(&noise(54321, "tmpzz", 48)));
        assert_eq!(base.fingerprint, now.fingerprint);
        // It may be the number of a test, until the base itself prints another one.
        let why = now.unknown_beside(&base).unwrap();
        assert!(why.ends_with("new: `error: cannot open /tmp/tmpzz at port 54321 after 48 ms`"), "{why}");
        assert!(!now.is_no_more_than(&base) && now.may_vary(&base));
        now.extent.excuse(&base.extent, &read(&noise(8081, "tmpb2", 13)).extent);
        assert!(now.is_no_more_than(&base) && now.unknown_beside(&base).is_none());
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
    fn a_script_that_prove_names_is_more_and_so_is_a_larger_number() {
        let prove = |scripts: &[(&str, u32)]| {
            let one = |(name, failed): &(&str, u32)| {
                format!(
                    "t/{name}.t (Wstat: 256 (exited {failed}) Tests: 2 Failed: {failed})\n  Failed test:  1\n  Non-zero exit status: 1\n"
                )
            };
            let report: String = scripts.iter().map(one).collect();
            format!(
                "t/a.t .. ok\n\nTest Summary Report\n-------------------\n{report}Files=4, Tests=8,  0 wallclock secs ( 0.02 usr)\nResult: FAIL\n"
            )
        };
        let base = prove(&[("b", 1), ("c", 1)]);
        check_extent(&base, &prove(&[("b", 1), ("c", 1), ("d", 1)]), false);
        check_extent(&base, &prove(&[("b", 1), ("d", 1)]), false);
        check_extent(&base, &prove(&[("b", 1), ("c", 2)]), false);
        check_extent(&base, &prove(&[("c", 1), ("b", 1)]), true);
        check_extent(&base, &prove(&[("c", 1)]), true);
    }

    #[test]
    fn a_further_target_of_make_is_more() {
        let make = |targets: &[&str]| {
            let one = |target: &&str| format!("make: *** [Makefile:{}: {target}] Error 1\n", target.len() + 3);
            targets.iter().map(one).collect::<String>() + "make: Target 'check' not remade because of errors.\n"
        };
        let known = |base: &[&str], now: &[&str]| read(&make(now)).is_no_more_than(&read(&make(base)));
        assert!(!known(&["a"], &["a", "b"]) && !known(&["a", "b"], &["a", "c"]) && !known(&["t-1"], &["t-2"]));
        assert!(known(&["a", "b"], &["b", "a"]) && known(&["a", "b"], &["b"]) && known(&["a", "b"], &["a"]));
        check(&make(&["a"]), &make(&["a"]).replace(":4:", ":40:"), true);
        check(&make(&["/w/1/a.o"]), &make(&["/w/1/a.o"]).replace("/w/1/", "/w/2/"), true);
        assert_eq!(target("make: [Makefile:9: b] Error 1 (ignored)"), None);
        let absent = "make: *** No rule to make target 'x.c', needed by 'b'.\n";
        check(&make(&["a"]), &make(&["a"]).replace("make: Target", &format!("{absent}make: Target")), false);
        // Tests that fail beside it.
        let unit = "Ran 5 tests in 0.1s\n\nFAILED (failures=1)\n";
        check_extent(&(unit.to_owned() + &make(&["a"])), &(unit.to_owned() + &make(&["a", "b"])), false);
    }

    #[test]
    fn place_and_words_may_stand_on_different_lines() {
        // What ruff prints, errors by file, line and words.
        let ruff = |errors: &[(&str, u32, &str)]| {
            let one = |(file, line, words): &(&str, u32, &str)| {
                format!(
                    "{words}\n --> {file}:{line}:8\n  |\n{line} | import os\n  |        ^^\nhelp: Remove unused import: `os`\n  |\n\n"
                )
            };
            let all: String = errors.iter().map(one).collect();
            format!("{all}Found {} errors.\n[*] 1 fixable with the `--fix` option.\n", errors.len())
        };
        let (os, re) = ("F401 [*] `os` imported but unused", "F401 [*] `re` imported but unused");
        let base = ruff(&[("a.py", 1, os), ("a.py", 2, re)]);
        check(&base, &ruff(&[("a.py", 1, os), ("b.py", 1, "F821 Undefined name `undefined`")]), false);
        check(&base, &ruff(&[("a.py", 1, os), ("b.py", 2, re)]), false);
        check(&base, &ruff(&[("a.py", 1, os), ("c.py", 1, "invalid-syntax: unexpected EOF while parsing")]), false);
        // In another order another one is the first, and nothing more fails.
        assert!(read(&ruff(&[("a.py", 7, re), ("a.py", 9, os)])).is_no_more_than(&read(&base)));
        check(&base, &ruff(&[("a.py", 7, os)]), true);
        check(&base, &base.replace("Found", "warning: old\n --> b.py:1:1\n\nFound"), true);
        let (miette, rule) = ("  × no\n   ╭─[a.js:1:1]\n 1 │ x\n   ╰────\n", "  × no\n   ╭─[b.js:1:1]\n");
        check_extent(miette, &format!("{miette}{rule}"), false);
        let biome = |errors: &[(&str, &str)]| {
            let one = |(place, words): &(&str, &str)| format!("./{place} lint/style/useConst ━━━━\n\n  {words}\n\n");
            errors.iter().map(one).collect::<String>() + "Found some errors.\n"
        };
        let base = biome(&[("a.js:1:1", "× Unexpected debugger."), ("a.js:5:1", "× This let.")]);
        check(&base, &biome(&[("a.js:1:1", "× Unexpected debugger."), ("b.js:5:1", "× This let.")]), false);
        check(&base, &biome(&[("a.js:1:1", "× Unexpected debugger."), ("a.js:9:2", "× That let.")]), false);
        check(&base, &biome(&[("a.js:7:1", "× This let."), ("a.js:9:1", "× Unexpected debugger.")]), true);
        check(&base, &biome(&[("a.js:7:1", "× This let."), ("c.js:9:1", "! Mind this.")]), true);
    }

    #[test]
    fn rows_belong_to_the_file_above_them() {
        let in_files = |files: &[(&str, &[&str])]| {
            let one = |(file, rows): &(&str, &[&str])| format!("{file}\n  {}\n\n", rows.join("\n  "));
            files.iter().map(one).collect::<String>() + "problems\n"
        };
        let (empty, word) = ("1:1  ✖  Unexpected empty block  block-no-empty", "2:1  ✖  Unknown word  CssSyntaxError");
        let base = in_files(&[("a.css", &[empty, word])]);
        check(&base, &in_files(&[("a.css", &[empty]), ("b.css", &[word])]), false);
        check(&base, &in_files(&[("a.css", &[&word.replace("2:1", "7:3"), empty])]), true);
        check(&base, &in_files(&[("a.css", &[word])]), true);
        check(&base, &in_files(&[("a.css", &[word]), ("b.css", &["3:1  ⚠  Hm  hm", "4:1  warning  Hm"])]), true);
        let grouped = in_files(&[("a.py:", &["1:8 F401 [*] `os` imported but unused"])]);
        check(&grouped, &(in_files(&[("b.py:", &["1:7 F821 Undefined name `x`"])]) + &grouped), false);
        let phpstan = |files: &[(&str, &str)]| {
            let rule = " ------ ---------\n";
            let one = |(file, words): &(&str, &str)| {
                format!("{rule}  Line   {file}\n{rule}  3      {words}\n         🪪 variable.undefined\n{rule}\n")
            };
            files.iter().map(one).collect::<String>() + " [ERROR] Found some errors\n"
        };
        let (x, y) = ("Undefined variable: $x", "Undefined variable: $y");
        check(&phpstan(&[("a.php", x), ("a.php", y)]), &phpstan(&[("a.php", x), ("b.php", y)]), false);
        check(&phpstan(&[("a.php", x), ("b.php", y)]), &phpstan(&[("b.php", y), ("a.php", x)]), true);
        check(&phpstan(&[("a.php", x), ("b.php", y)]), &phpstan(&[("b.php", y)]), true);
        // No rows of errors.
        let listing = |n: u32| format!("a.py\n  12  lines\n  {n}:30 started\n\nall is lost\n");
        check_extent(&listing(12), &listing(13), true);
        check_extent("a.py  1\n  12  lines\nall is lost\n", "a.py  1\n  12  lines\n  13  words\nall is lost\n", true);
    }

    #[test]
    fn an_exact_place_is_an_error_in_whatever_words() {
        let lint = |words: &[&str]| format!("{}\nnot good\n", words.join("\n"));
        let (one, two) = ("a.go:3:2: undefined: x (typecheck)", "a.go:9:2: S: y (check)");
        check_extent(&lint(&[one, two]), &lint(&[one, "b.go:3:2: undefined: z (typecheck)"]), false);
        check_extent(&lint(&[one, two]), &lint(&[two, one]), true);
        check_extent(&lint(&[one, two]), &lint(&[one, "b.go:3:2: warning: z"]), true);
        let unit = "Ran 5 tests in 0.1s\n\nFAILED (failures=1)\n";
        check_extent(unit, &(lint(&[one]) + unit), true);
    }

    #[test]
    fn where_the_base_was_cut_nothing_is_missed_in_it() {
        let (one, two) = ("b.py:1:1: F401 unused\n", "a.py:1:1: F401 unused\nb.py:1:1: F401 unused\n");
        let mut base = read(one);
        base.extent.cut = true;
        assert!(read(two).is_no_more_than(&base));
    }
}
