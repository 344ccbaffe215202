//! Masks over what changes from run to run.

use super::found::pattern;
use regex::Captures;
use std::borrow::Cow;

pattern!(ID, r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b");
pattern!(
    TIME,
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
);
// `0x7f13cca419d0`, what is left of one where the middle of a text was left out (`...x7fde69de2dd0`, `…2dd0`), and Java's `Shop@1b6d3586`.
pattern!(ADDRESS, r"\b0x[0-9a-fA-F]+\b|(?:\.{3}|…)0?x?[0-9a-fA-F]*\d[0-9a-fA-F]*\b|\b@[0-9a-f]{4,16}\b");
pattern!(DURATION, r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|minutes?|h)\b");
pattern!(PATH, r#"(^|[^\w./~-])((?:/[^\s/:'"`(),;<>\[\]{}]+){2,})"#);
pattern!(HEX, r"\b[0-9a-f]{12,}\b");
pattern!(NUMBER, r"\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b");

/// A message with ids, times, addresses, directories and numbers masked; what names something stays.
///
/// The kinds of masks and their order are those of Sentry's message parameterisation.
pub(super) fn mask(message: &str) -> String {
    mask_with(message, true)
}

fn mask_with(message: &str, numbers: bool) -> String {
    let mut text = Cow::Borrowed(message);
    for (pattern, mask) in [(&*ID, "<id>"), (&*TIME, "<time>"), (&*ADDRESS, "<addr>")] {
        text = replace(text, |text| pattern.replace_all(text, mask));
    }
    text = replace(text, |text| {
        PATH.replace_all(text, |path: &Captures<'_>| format!("{}{}", &path[1], directory(&path[2])))
    });
    for (pattern, mask) in [(&*DURATION, "<time>"), (&*HEX, "<hex>")] {
        text = replace(text, |text| pattern.replace_all(text, mask));
    }
    if numbers {
        text = replace(text, |text| NUMBER.replace_all(text, "<n>"));
    }
    text.into_owned()
}

pattern!(
    LINE,
    r#"(\w\.\w+["'`]?,? (?:at |on |in )?(?i:line|lines)) \d+(?:[-:]\d+)*|(\w\.\w+)(?::\d+)+|(\w\.\w+)\(\d+[,:] ?\d+\)"#
);

/// A message without the lines and columns of files, which move; all else stays.
pub(super) fn mask_lines(message: &str) -> String {
    LINE.replace_all(message, "${1}${2}${3}:<line>").into_owned()
}

/// The same without where objects lie in memory, as Python shows them: `<function mean at 0x7fde69de2dd0>`.
pub(super) fn mask_objects(message: &str) -> String {
    pattern!(PLACE, r"\bat 0x[0-9a-fA-F]+>");
    PLACE.replace_all(&mask_lines(message), "at <addr>>").into_owned()
}

/// The same without short times, which something took, and times of a day.
pub(super) fn mask_times(message: &str) -> String {
    pattern!(TOOK, r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?)\b");
    let text = replace(Cow::Borrowed(message), |text| TIME.replace_all(text, "<time>"));
    replace(text, |text| TOOK.replace_all(text, "<time>")).into_owned()
}

/// What changes from run to run by the look of it is masked, and lines of files; other numbers stay: values and names of tests differ by them.
pub(super) fn mask_but_numbers(message: &str) -> String {
    mask_with(&mask_lines(message), false)
}

fn replace<'t>(text: Cow<'t, str>, with: impl for<'a> Fn(&'a str) -> Cow<'a, str>) -> Cow<'t, str> {
    match with(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

/// An absolute path keeps its last part; directly below a temporary directory that part is made up too.
fn directory(path: &str) -> String {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    if ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm"].contains(&parent) {
        "<tmp>".to_owned()
    } else {
        format!("<path>/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_masked_and_what_names_stays() {
        let check = |text: &str, expected: &str| assert_eq!(mask(text), expected);
        check("expected `String`, found `u32`", "expected `String`, found `u32`");
        check("assert -1 == 5.25", "assert -<n> == <n>");
        check("object at 0x7f13cca419d0", "object at <addr>");
        check("assert <toolz.tests....x7fde69de2dd0> == 1", "assert <toolz.tests.<addr>> == <n>");
        check("assert <a.b.Long...9de2dd0>", "assert <a.b.Long<addr>>");
        check("<a.b.Long...ct at 0x7fde69de2dd0>", "<a.b.Long...ct at <addr>>");
        check("expected: a.Shop@1b6d3586, x@example.org", "expected: a.Shop<addr>, x@example.org");
        check("wait...added", "wait...added");
        check("done in 12.5s, 3 ms", "done in <time>, <time>");
        check("at 2026-01-02T03:04:05.678Z or 03:04:05", "at <time> or <time>");
        check("run 0199c2aa-0000-7000-8000-00000000abcd failed", "run <id> failed");
        check("no file /tmp/tmpa8x2 and /tmp/.w1/proj/src/a.py", "no file <tmp> and <path>/a.py");
        check("blob d670460b4b4aece5915caf5c68d12f560a9fe3e4", "blob <hex>");
        check("either/or in src/lib.rs, utf8 and sha256", "either/or in src/lib.rs, utf8 and sha256");
        check("größer als 1_000", "größer als <n>");
    }

    #[test]
    fn numbers_that_are_no_lines_stay_where_they_are_values() {
        let check = |text: &str, expected: &str| assert_eq!(mask_but_numbers(text), expected);
        check("case 7 failed in 0.2s at t/a.t line 12", "case 7 failed in <time> at t/a.t line:<line>");
        check(
            "got 'line 3', a.py(3, 4) and File \"a.py\", line 9",
            "got 'line 3', a.py:<line> and File \"a.py\", line:<line>",
        );
        check("src/a.py:12:3: expected 3.50, got 3.5", "src/a.py:<line>: expected 3.50, got 3.5");
    }
}
