//! Output of programs and diffs as somebody would copy them into a message: without what only machines need.

use super::budget::plain;
use std::borrow::Cow;
use std::path::Path;

/// Frames of a stack whose code is the runtime's or the language's own, by what stands in their line. Nobody looks for a fault there.
const OWN_OF_LANGUAGES: [&str; 3] = ["at /rustc/", "(node:internal/", "at node:internal/"];

/// What a program printed, with the paths below each of these directories relative to it, without escapes of terminals, and without
/// the frames of a stack that are the language's own.
///
/// ```
/// # use reflexion_text::prompt::readable_output;
/// let printed = "Error: boom\n    at f (file:///tmp/room-1/src/a.js:2:3)\n    at run (node:internal/modules:5:1)\n";
/// let text = readable_output(printed, &["/tmp/room-1".as_ref()]);
/// assert_eq!(text, "Error: boom\n    at f (src/a.js:2:3)\n");
/// ```
#[must_use]
pub fn readable_output<'t>(text: &'t str, dirs: &[&Path]) -> Cow<'t, str> {
    let text = dirs.iter().fold(plain(text), |text, dir| match relative(&text, dir) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    });
    if !OWN_OF_LANGUAGES.iter().any(|mark| text.contains(mark)) {
        return text;
    }
    Cow::Owned(without_own_frames(&text))
}

/// The text with paths below a directory as from there; the directory itself is `.`.
#[must_use]
pub fn relative<'t>(text: &'t str, dir: &Path) -> Cow<'t, str> {
    let Some(dir) = dir.to_str().map(|dir| dir.trim_end_matches('/')).filter(|dir| dir.matches('/').count() > 1) else {
        // Of `/` and `/tmp` everything is below.
        return Cow::Borrowed(text);
    };
    let (mut out, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(dir) {
        let (before, behind) = (&text[..at], &text[at + dir.len()..]);
        let in_a_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if at < from || before.ends_with(in_a_name) || behind.starts_with(in_a_name) && !behind.starts_with(['.', '-'])
        {
            continue;
        }
        // A URL of a file keeps nothing of what made it one.
        let start = if before.ends_with("file://") { at - "file://".len() } else { at };
        if start < from {
            continue;
        }
        out.push_str(&text[from..start]);
        from = at + dir.len();
        if behind
            .strip_prefix('/')
            .is_some_and(|file| file.starts_with(|c: char| c.is_alphanumeric() || "._-@".contains(c)))
        {
            from += 1;
        } else {
            out.push('.');
        }
    }
    if from == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[from..]) }
}

/// Rust names a frame on one line and its place on the next one.
fn without_own_frames(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_own = |at: usize| lines.get(at).is_some_and(|line| OWN_OF_LANGUAGES.iter().any(|mark| line.contains(mark)));
    let is_numbered = |line: &str| {
        let line = line.trim_start();
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && line[digits..].starts_with(": ")
    };
    let kept = lines.iter().enumerate().filter(|(at, line)| !(is_own(*at) || is_numbered(line) && is_own(at + 1)));
    let mut out = String::with_capacity(text.len());
    for (_, line) in kept {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// A unified diff without the lines that only `git apply` reads: hashes of files, and the first line of a file whose names follow.
///
/// ```
/// # use reflexion_text::prompt::readable_diff;
/// let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
/// assert_eq!(readable_diff(diff), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
/// assert_eq!(readable_diff("diff --git a/x b/y\nsimilarity index 100%\n"), "diff --git a/x b/y\nsimilarity index 100%\n");
/// ```
#[must_use]
pub fn readable_diff(diff: &str) -> String {
    let lines: Vec<&str> = diff.lines().collect();
    let is_hash = |line: &str| line.strip_prefix("index ").is_some_and(|hashes| hashes.contains(".."));
    // A line of a hunk begins with a blank, a plus or a minus, so that none of it is taken for a header.
    let names_follow = |at: usize| {
        let header =
            lines[at + 1..].iter().take_while(|line| !line.starts_with("diff --git ") && !line.starts_with("@@"));
        header.into_iter().any(|line| line.starts_with("--- "))
    };
    let kept = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| !(is_hash(line) || line.starts_with("diff --git ") && names_follow(*at)));
    let mut out = String::with_capacity(diff.len());
    for (_, line) in kept {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_project() {
        let check = |text: &str, expected: &str| assert_eq!(relative(text, "/tmp/w/room-1/".as_ref()), expected);
        check("/tmp/w/room-1/src/a.rs:1:2: no", "src/a.rs:1:2: no");
        check("Compiling x (/tmp/w/room-1)", "Compiling x (.)");
        check("in /tmp/w/room-1: 3; /tmp/w/room-1.", "in .: 3; ..");
        check("# file:///tmp/w/room-1/a.js:1", "# a.js:1");
        check("/tmp/w/room-12/a and /x/tmp/w/room-1/a", "/tmp/w/room-12/a and /x/tmp/w/room-1/a");
        check("'/tmp/w/room-1/.env' and /tmp/w/room-1/ there", "'.env' and ./ there");
        assert_eq!(relative("/tmp/a", "/tmp".as_ref()), "/tmp/a");
        assert_eq!(relative("/tmp/a", "".as_ref()), "/tmp/a");
    }

    #[test]
    fn a_stack_keeps_what_is_of_the_project() {
        let printed = "\u{1b}[31mpanicked\u{1b}[0m at src/lib.rs:18:9:\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/59807/library/std/src/panicking.rs:689:5\n   4: slots::tests::finds\n             at ./src/lib.rs:18:9\n  10: core::ops::function::FnOnce::call_once\n             at /rustc/59807/library/core/src/ops/function.rs:250:5\nnote: x\n";
        let kept = "panicked at src/lib.rs:18:9:\nstack backtrace:\n   4: slots::tests::finds\n             at ./src/lib.rs:18:9\nnote: x\n";
        assert_eq!(readable_output(printed, &[]), kept);
    }
}
