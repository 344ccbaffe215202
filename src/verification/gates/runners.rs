//! What the runners of the less common languages say at the end.

use super::summary::Counts;
use super::summary::Mark;
use super::summary::Sum;
use super::summary::counts;
use super::summary::of_total;

/// What one line says, of: forge, flutter and dart, `lein test`, meson, testthat, busted, zig, cabal, pest.
pub(super) fn more(line: &str) -> Option<Mark> {
    [forge, flutter, lein, meson, testthat, busted, zig, cabal, pest].iter().find_map(|read| read(line))
}

/// `Suite result: FAILED. 8 passed; 1 failed; 0 skipped`
fn forge(line: &str) -> Option<Mark> {
    let (word, rest) = line.strip_prefix("Suite result: ")?.split_once(". ")?;
    Some(Mark::new("forge test", Sum::Add, Some(word == "ok"), Some(counts(rest)?)))
}

/// `00:02 +11 -1: Some tests failed.`, `00:02 +12 ~1: All tests passed!`
fn flutter(line: &str) -> Option<Mark> {
    let green = line.ends_with(": All tests passed!");
    if !green && !line.ends_with(": Some tests failed.") {
        return None;
    }
    let number =
        |sign: char| line.split(' ').find_map(|word| word.strip_prefix(sign)?.trim_end_matches(':').parse().ok());
    let counts = Counts { passed: number('+')?, failed: number('-').unwrap_or(0), skipped: number('~').unwrap_or(0) };
    Some(Mark::new("flutter test", Sum::Last, Some(green), Some(counts)))
}

/// `Ran 12 tests containing 20 assertions.`, and below it `1 failures, 0 errors.`
fn lein(line: &str) -> Option<Mark> {
    if let Some((total, _)) = line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" tests containing ")) {
        let mark = Mark::new("clojure.test", Sum::Last, None, Some(of_total(total.parse().ok()?, "")));
        return Some(mark.goes_on());
    }
    let (failures, errors) = line.strip_suffix(" errors.")?.split_once(" failures, ")?;
    let failed: u64 = failures.parse::<u64>().ok()?.checked_add(errors.parse().ok()?)?;
    let counts = Counts { failed, ..Counts::default() };
    Some(Mark::new("clojure.test", Sum::Failures, Some(failed == 0), Some(counts)))
}

/// `Ok:   12` and `Fail:   1`, one below the other.
fn meson(line: &str) -> Option<Mark> {
    let (word, number) = line.split_once(':')?;
    let number: u64 = number.strip_prefix("    ")?.trim().parse().ok()?;
    let counts = match word {
        "Ok" | "Expected Fail" => Counts { passed: number, ..Counts::default() },
        "Fail" | "Unexpected Pass" | "Timeout" => Counts { failed: number, ..Counts::default() },
        "Skipped" => Counts { skipped: number, ..Counts::default() },
        _ => return None,
    };
    let mark = Mark::new("meson test", Sum::Parts, None, Some(counts));
    Some(if word == "Fail" { mark } else { mark.goes_on() })
}

/// `[ FAIL 1 | WARN 0 | SKIP 1 | PASS 12 ]`
fn testthat(line: &str) -> Option<Mark> {
    let inner = line.strip_prefix("[ FAIL ")?.strip_suffix(" ]")?;
    let inner = format!("FAIL {inner}");
    let number = |word: &str| {
        let part = inner.split(" | ").find_map(|part| part.strip_prefix(word))?;
        part.trim().parse().ok()
    };
    let counts = Counts { passed: number("PASS")?, failed: number("FAIL")?, skipped: number("SKIP")? };
    Some(Mark::new("testthat", Sum::Last, None, Some(counts)))
}

/// `11 successes / 1 failure / 0 errors / 0 pending : 0.01 seconds`
fn busted(line: &str) -> Option<Mark> {
    let counted = line.split(" : ").next().filter(|head| head.contains(" success") && head.contains(" / "))?;
    Some(Mark::new("busted", Sum::Last, None, Some(counts(&counted.replace(" / ", ", "))?)))
}

/// `Build Summary: 1/3 steps succeeded; 1 failed; 11/12 tests passed; 1 failed`
fn zig(line: &str) -> Option<Mark> {
    let (head, rest) = line.strip_prefix("Build Summary: ")?.split_once(" tests passed")?;
    let (passed, total) = head.rsplit([' ', ';']).next()?.split_once('/')?;
    let (passed, total): (u64, u64) = (passed.parse().ok()?, total.parse().ok()?);
    let skipped = counts(rest).map_or(0, |counts| counts.skipped);
    let counts = Counts { passed, failed: total.saturating_sub(passed + skipped), skipped };
    Some(Mark::new("zig build test", Sum::Last, None, Some(counts)))
}

/// `0 of 1 test suites (0 of 1 test cases) passed.`
fn cabal(line: &str) -> Option<Mark> {
    let (_, cases) = line.strip_suffix(" test cases) passed.")?.split_once(" test suites (")?;
    let (passed, total) = cases.split_once(" of ")?;
    let (passed, total): (u64, u64) = (passed.parse().ok()?, total.parse().ok()?);
    let counts = Counts { passed, failed: total.saturating_sub(passed), skipped: 0 };
    Some(Mark::new("cabal test", Sum::Add, None, Some(counts)))
}

/// `Tests:    1 failed, 12 passed (20 assertions)`
fn pest(line: &str) -> Option<Mark> {
    let rest = line.strip_prefix("Tests:")?.strip_suffix(" assertions)")?;
    Some(Mark::new("pest", Sum::Last, None, Some(counts(rest.split(" (").next()?)?)))
}

#[cfg(test)]
mod tests {
    use super::super::summary::summary;

    fn check(output: &str, expected: &str) {
        let found = summary(output).unwrap();
        let counts = found.counts.unwrap_or_default();
        let shown = format!(
            "{} {} {}/{}/{}",
            found.tool,
            if found.green { "green" } else { "red" },
            counts.passed,
            counts.failed,
            counts.skipped
        );
        assert_eq!(shown, expected, "{output}");
    }

    #[test]
    fn the_less_common_runners() {
        check("Suite result: FAILED. 8 passed; 1 failed; 0 skipped; finished in 1.2ms", "forge test red 8/1/0");
        check("Suite result: ok. 9 passed; 0 failed; 1 skipped", "forge test green 9/0/1");
        check("00:01 +3: a\n00:02 +11 -1: Some tests failed.", "flutter test red 11/1/0");
        check("00:02 +12 ~1: All tests passed!", "flutter test green 12/0/1");
        check("Ran 12 tests containing 20 assertions.\n1 failures, 0 errors.", "clojure.test red 11/1/0");
        check("Ok:                 11\nExpected Fail:      0\nFail:               1", "meson test red 11/1/0");
        check("[ FAIL 1 | WARN 0 | SKIP 1 | PASS 12 ]", "testthat red 12/1/1");
        check("11 successes / 1 failure / 0 errors / 0 pending : 0.01 seconds", "busted red 11/1/0");
        check(
            "Build Summary: 1/3 steps succeeded; 1 failed; 11/12 tests passed; 1 failed",
            "zig build test red 11/1/0",
        );
        check("Build Summary: 3/3 steps succeeded; 12/12 tests passed", "zig build test green 12/0/0");
        check("0 of 1 test suites (0 of 1 test cases) passed.", "cabal test red 0/1/0");
        check("  Tests:    1 failed, 12 passed (20 assertions)", "pest red 12/1/0");
    }

    #[test]
    fn words_are_no_summary() {
        for prose in ["Fail: 1", "Ok: 3 things", "the tests passed!", "0 errors.", "12 successes"] {
            assert_eq!(summary(prose), None, "{prose}");
        }
    }
}
