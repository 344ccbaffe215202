//! Which command lines are the same once more.

use regex::Regex;
use std::sync::LazyLock;

/// What changes from one try to the next without meaning anything, most telling first.
static CHANGING: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let mask = |pattern: &str, name: &'static str| Regex::new(pattern).map(|regex| (regex, name));
    [
        // 2026-11-22T05:24:16Z, 2026-11-22, 05:24:16
        mask(r"\d{4}-\d\d-\d\d([T ]\d\d:?\d\d(:?\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?", "<time>"),
        mask(r"\b\d\d:\d\d:\d\d(\.\d+)?\b", "<time>"),
        mask(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
        // What `mktemp` and its like make up.
        mask(r#"(/var/folders|/private/tmp|/var/tmp|/tmp|\$TMPDIR|\$\{TMPDIR\})(/[^\s'"`;|&()<>]*)?"#, "<tmp>"),
        mask(r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5}\b", "$1:<port>"),
        mask(r"(-p|--port|PORT)([ =])\d{2,5}\b", "$1$2<port>"),
        mask(r"\b(kill|wait|lsof|pkill)((?:\s+-\S+)*)(?:\s+\d+)+", "$1$2 <pid>"),
        mask(r"(--pid|-p)([ =])\d+\b", "$1$2<pid>"),
        mask(r"\b0x[0-9a-fA-F]+\b", "<id>"),
        mask(r"[0-9a-f]*\d[0-9a-f]{6,}|[0-9a-f]{6,}\d[0-9a-f]*", "<id>"),
        mask(r"\d{5,}", "<n>"),
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// A line as the loop detector counts it: white space collapsed, and times, ids, long numbers, temporary paths, process
/// numbers and ports masked. Everything else counts, case too.
///
/// ```
/// # use reflexion_judge::verification::commands::loop_key;
/// assert_eq!(loop_key("echo  test_1771177929615"), loop_key("echo test_1771177931936"));
/// assert_ne!(loop_key("npm test -- a"), loop_key("npm test -- b"));
/// ```
#[must_use]
pub fn loop_key(line: &str) -> String {
    let mut key = line.split_whitespace().collect::<Vec<_>>().join(" ");
    for (pattern, name) in CHANGING.iter() {
        if let std::borrow::Cow::Owned(masked) = pattern.replace_all(&key, *name) {
            key = masked;
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_try_to_try_is_masked() {
        for (first, second) in [
            ("npm  test\n", " npm test"),
            ("echo 2026-11-22T05:24:16Z", "echo 2025-01-02T15:00:00.5+01:00"),
            ("cat /tmp/tmp.aX3/log", "cat /tmp/tmp.bY9/out.txt"),
            ("kill -9 4711", "kill -9 99"),
            ("curl localhost:3000/x", "curl localhost:8123/x"),
            ("serve --port 3000", "serve --port 3001"),
            ("git show 8c2d4d1f", "git show 0a1b2c3d"),
            ("x 0xdeadbeef 123456", "x 0x1234 654321"),
        ] {
            assert_eq!(loop_key(first), loop_key(second));
        }
        for (first, second) in [("npm test -- a", "npm test -- b"), ("sleep 5", "sleep 10"), ("cat a.rs", "cat A.rs")] {
            assert_ne!(loop_key(first), loop_key(second));
        }
    }
}
