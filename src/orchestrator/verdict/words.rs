//! What a verdict rests on, in words.

use crate::domain::{Change, CheckReport, CheckScope, belongs_to_tests, is_numbered_by_place};
use crate::prompt::{one_line, shorten};
use crate::toolchain;

/// At most this many names stand in a sentence.
const NAMED: usize = 3;

/// How it is said that nothing was changed.
pub const NOTHING: &str = "nothing was changed";

/// Says that the agent did nothing. What differs from the base all the same, it found there.
pub(super) fn nothing_changed(change: &Change) -> String {
    if change.files.is_empty() {
        return NOTHING.to_owned();
    }
    let files = change.files.join(", ");
    format!("{NOTHING} in this attempt; what differs from the base is of an earlier one: {files}")
}

/// Which checks are red as they were before. Of `named`, the tests that pass now stand in the sentence already.
pub(super) fn as_before(red: &[&CheckReport], baseline: &[CheckReport], named: Option<&CheckReport>) -> String {
    let failed = named.and_then(|named| named.at_base(baseline)?.signature.counted.as_ref());
    // A check that turned green as a whole has named the tests that failed in it.
    let is_said = |test: &&str| failed.is_some_and(|failed| failed.failing.contains_key(*test));
    let stops = |check: &CheckReport| {
        let stops = |check: &CheckReport| {
            let is_cut = toolchain::summaries(&check.output.text()).last().is_some_and(|said| said.stopped);
            is_cut || check.signature.counted.as_ref().is_some_and(|counted| counted.stopped)
        };
        check.at_base(baseline).is_some_and(stops)
    };
    let is_as_it_was =
        |check: &&&CheckReport| failing(check, baseline).is_none() && !check.prints_less(baseline) && !stops(check);
    let (alike, others): (Vec<&CheckReport>, Vec<&CheckReport>) = red.iter().partition(is_as_it_was);
    let of = |check: &&CheckReport| {
        let name = &check.spec.name;
        let stops = if stops(check) {
            ", and stops at a failure, so that what stands behind it was not run, before and now"
        } else {
            ""
        };
        let Some((now, before)) = failing(check, baseline) else {
            let how =
                if check.prints_less(baseline) { "still red, with less of what it printed" } else { "red as it was" };
            return format!("; check `{name}` is {how} before{stops}");
        };
        let turned: Vec<&str> = check.tests_turned(baseline).into_iter().filter(|test| !is_said(test)).collect();
        let is_named = named.is_some_and(|named| std::ptr::eq(named, *check));
        let turned = if turned.is_empty() || is_named {
            String::new()
        } else {
            format!("; {}", passing(&turned, check, baseline))
        };
        let further = further(check, baseline);
        format!(
            "{turned}; check `{name}` is still red, only by tests that failed before ({now} of {before}){further}{stops}"
        )
    };
    let alike: Vec<&str> = alike.iter().map(|check| check.spec.name.as_str()).collect();
    let alike = match alike.len() {
        0 => String::new(),
        1 => format!("; check {} is red as it was before", listed(&alike)),
        _ => format!("; checks {} are red as they were before", listed(&alike)),
    };
    let words: String = others.iter().map(of).chain([alike]).collect();
    let is_better = |check: &&CheckReport| check.prints_less(baseline) || !further(check, baseline).is_empty();
    let says_nothing = !words.is_empty() && !red.iter().any(is_better);
    if says_nothing { format!("{words}, which says nothing of the work") } else { words }
}

/// Which tests fail further below than at the base, in words behind a sentence.
fn further(check: &CheckReport, baseline: &[CheckReport]) -> String {
    let base = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref());
    let further = check.signature.counted.as_ref().zip(base).map(|(now, base)| now.further(base)).unwrap_or_default();
    let of = |(test, now, before): &(&str, usize, usize)| {
        format!(
            "; {} gets further: it fails at line {now} of its file, and failed at line {before} at the base",
            listed(&[test])
        )
    };
    further.iter().take(NAMED).map(of).collect()
}

/// How many tests fail in it, and how many failed at the base, where both name them.
pub(super) fn failing(check: &CheckReport, baseline: &[CheckReport]) -> Option<(usize, usize)> {
    let count = |check: &CheckReport| Some(check.signature.counted.as_ref()?.failing.len()).filter(|count| *count > 0);
    Some((count(check)?, count(check.at_base(baseline)?)?))
}

/// `check `x` was red and is green now`, or the tests of it that do.
pub(super) fn has_turned(check: &CheckReport, baseline: &[CheckReport]) -> String {
    let name = &check.spec.name;
    match check.tests_turned(baseline).as_slice() {
        [] => {
            let before = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref());
            let failed: Vec<&str> =
                before.iter().flat_map(|before| before.failing.keys().map(String::as_str)).collect();
            let failed = match failed.len() {
                0 => String::new(),
                1 => format!(" (test {} failed before)", listed(&failed)),
                _ => format!(" (tests {} failed before)", listed(&failed)),
            };
            format!("check `{name}` was red and is green now{failed}")
        }
        tests => format!("{} in check `{name}`", passing(tests, check, baseline)),
    }
}

/// `test `a` was red and passes now`.
pub(super) fn passing(tests: &[&str], check: &CheckReport, baseline: &[CheckReport]) -> String {
    let ran = |check: &CheckReport| check.signature.counted.as_ref().and_then(|counted| counted.ran);
    let has_others = check.at_base(baseline).is_some_and(|base| ran(base) != ran(check));
    let is_numbered = has_others && tests.iter().any(|test| is_numbered_by_place(test));
    let at_base = if is_numbered { " (as numbered at the base)" } else { "" };
    match tests.len() {
        1 => format!("test {}{at_base} was red and passes now", listed(tests)),
        _ => format!("tests {}{at_base} were red and pass now", listed(tests)),
    }
}

/// The first few names, each in backquotes, and how many more there are.
pub(in crate::orchestrator) fn listed(tests: &[&str]) -> String {
    let named: Vec<String> =
        tests.iter().take(NAMED).map(|test| format!("`{}`", shorten(&one_line(test), 120))).collect();
    let more = tests.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// Says that a check is red. Whoever knows that it was red before must learn why it counts.
pub(in crate::orchestrator) fn is_red(check: &CheckReport, baseline: &[CheckReport]) -> String {
    format!("check `{}` is red ({}){}", check.spec.name, check.how(), why_it_counts(check, baseline))
}

/// That a red check has nothing but tests for an answer: the code is as it was.
pub(super) fn only_tests(change: &Change) -> String {
    if change.no_op || change.files.is_empty() || !change.files.iter().all(|file| belongs_to_tests(file)) {
        return String::new();
    }
    format!("; nothing but tests was changed: {}", first_files(&change.files))
}

/// The first few of these files, and how many more there are.
pub(in crate::orchestrator) fn first_files(files: &[String]) -> String {
    let named: Vec<String> = files.iter().take(NAMED).map(|file| shorten(&one_line(file), 80).into_owned()).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// What tells a red check from the same one at the base, where that was red, too.
pub(super) fn why_it_counts(check: &CheckReport, baseline: &[CheckReport]) -> String {
    let Some(base) = check.at_base(baseline).filter(|base| !base.passed()) else { return String::new() };
    if let Some(beside) = check.tests_beside(baseline) {
        let words = beside.words();
        let more = check.signature.extent.more_than(&base.signature.extent).filter(|_| words.is_empty());
        let words = more.unwrap_or(words);
        return if words.is_empty() {
            what_is_left(check, base, baseline)
        } else {
            // That it was red there is said of each test.
            let too = if beside.is_only_changed() { "" } else { "it was at the base too, but " };
            format!("; {too}{words}")
        };
    }
    let same = base.signature.fingerprint == check.signature.fingerprint;
    if same && !check.signature.extent.is_within(&base.signature.extent) {
        return "; it was at the base too, but more fails now".to_owned();
    }
    if same || check.scope == CheckScope::Task {
        return String::new();
    }
    "; it was at the base too, but fails in another way now: what it prints does not name its tests one by one, so the whole is compared"
        .to_owned()
}

/// Of a check that asks for all its tests: which of those that failed at the base pass now, and which fail still.
pub(super) fn what_is_left(check: &CheckReport, base: &CheckReport, baseline: &[CheckReport]) -> String {
    let further = further(check, baseline);
    // Those that get further are not as they were.
    let names_one = |test: &&str| further.contains(&listed(&[test]));
    let still: Vec<&str> =
        check.signature.known_of(&base.signature).into_iter().filter(|test| !names_one(test)).collect();
    let fails = match still.as_slice() {
        [] => return further,
        [test] => format!("test {} fails as at the base", listed(&[test])),
        tests => format!("tests {} fail as at the base", listed(tests)),
    };
    match check.tests_turned(baseline).as_slice() {
        [] => format!("{further}; {fails}"),
        turned => {
            format!("{further}; {}, and {fails}: the check asks for all of them", passing(turned, check, baseline))
        }
    }
}

/// What a prompt says of a red check beside that it is red, and what it printed: which of its failures are new.
pub(in crate::orchestrator) fn beside_red(check: &CheckReport, baseline: &[CheckReport], change: &Change) -> String {
    let Some(base) = check.at_base(baseline).filter(|base| !base.passed()) else {
        return only_tests(change).trim_start_matches("; ").to_owned();
    };
    let counts = match check.tests_beside(baseline) {
        Some(beside) if beside.is_no_more() => {
            what_is_left(check, base, baseline).trim_start_matches("; ").replace("at the base", "before any attempt")
        }
        Some(beside) => beside.plain_words(),
        None if base.signature.fingerprint == check.signature.fingerprint => {
            "it fails as before any attempt".to_owned()
        }
        None => "it fails in another way than before any attempt".to_owned(),
    };
    format!("{counts}{}", only_tests(change))
}
