//! Byte budgets that never split a character, and text without what only a terminal understands.

use std::borrow::Cow;
use std::fmt::Write;

/// The longest beginning of `text` with at most `bytes` bytes that ends between two characters.
///
/// ```
/// # use reflexion_text::prompt::first_bytes;
/// assert_eq!(first_bytes("naïve", 3), "na");
/// ```
#[must_use]
pub fn first_bytes(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The longest end of `text` with at most `bytes` bytes that begins between two characters.
///
/// ```
/// # use reflexion_text::prompt::last_bytes;
/// assert_eq!(last_bytes("naïve", 3), "ve");
/// ```
#[must_use]
pub fn last_bytes(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// `text` if it fits into `bytes`, otherwise its beginning and `…` within `bytes`; nothing if not even `…` fits.
#[must_use]
pub fn shorten(text: &str, bytes: usize) -> Cow<'_, str> {
    const MORE: &str = "…";
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    match bytes.checked_sub(MORE.len()) {
        Some(room) => Cow::Owned(format!("{}{MORE}", first_bytes(text, room).trim_end())),
        None => Cow::Borrowed(""),
    }
}

/// `text` if it fits into `bytes`, otherwise its beginning and its end with a line between them that says how many
/// bytes were left out.
///
/// The two halves together take at most `bytes`; the marker line comes on top. Programs say what is wrong either at
/// once (compilers) or at the very end (test runners), hence equal halves.
///
/// ```
/// # use reflexion_text::prompt::excerpt;
/// assert_eq!(excerpt("0123456789", 4), "01\n[… 6 bytes left out …]\n89");
/// ```
#[must_use]
pub fn excerpt(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let head = first_bytes(text, bytes / 2);
    let tail = last_bytes(text, bytes - bytes / 2);
    let omitted = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[… {omitted} bytes left out …]\n{tail}"))
}

/// `text` with every run of white space as a single space, and none at its ends.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The end of what a program wrote to stderr, in one line, to be put behind an error; empty if it wrote nothing.
///
/// ```
/// # use reflexion_text::prompt::stderr_end;
/// assert_eq!(stderr_end("\u{1b}[31mno key\u{1b}[0m\n"), "; its stderr ends: no key");
/// assert_eq!(stderr_end(" \n"), "");
/// ```
#[must_use]
pub fn stderr_end(stderr: &str) -> String {
    /// A sentence or two: the last thing that a program says is why it failed.
    const BYTES: usize = 300;
    match last_bytes(&one_line(&plain(stderr)), BYTES) {
        "" => String::new(),
        end => format!("; its stderr ends: {end}"),
    }
}

/// `text` without ANSI escapes, control characters (line feed and tab stay; a carriage return and Unicode's separators of
/// lines and paragraphs end a line, other separators become a space) and characters that turn the reading direction or tag text invisibly.
///
/// ```
/// # use reflexion_text::prompt::plain;
/// assert_eq!(plain("\u{1b}[31;1mFAIL\u{1b}[0m a\r\nb"), "FAIL a\nb");
/// assert_eq!(plain("a\u{8}X"), "aX"); // struck over: both letters stay
/// ```
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(drives_a_terminal) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            '\u{1b}' => after_escape(&rest[1..]),
            '\u{9b}' => after_parameters(&rest[c.len_utf8()..]),
            '\r' => {
                out.push('\n');
                rest[1..].strip_prefix('\n').unwrap_or(&rest[1..])
            }
            _ if ends_a_line(c) => {
                out.push('\n');
                &rest[c.len_utf8()..]
            }
            _ => {
                if c.is_control() && (c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)) && c != '\n' && c != '\t'
                {
                    out.push(' ');
                } else if !drives_a_terminal(c) {
                    out.push(c);
                }
                &rest[c.len_utf8()..]
            }
        };
    }
    Cow::Owned(out)
}

/// What follows an escape sequence whose `ESC` was just taken (ECMA-48, section 5).
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_parameters(chars.as_str()),
        // Operating system commands and other strings end at BEL or `ESC \`; one that never ends takes no more than
        // its line, so that a program cannot swallow the rest of the output.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let body = chars.as_str();
            match body.find(['\u{7}', '\u{1b}', '\n']) {
                Some(end) if body.as_bytes()[end] == 0x07 => &body[end + 1..],
                Some(end) => body[end..].strip_prefix("\u{1b}\\").unwrap_or(&body[end..]),
                None => "",
            }
        }
        Some(' '..='/') => {
            let rest = chars.as_str().trim_start_matches(|c| matches!(c, ' '..='/'));
            rest.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(rest)
        }
        Some('0'..='~') => chars.as_str(),
        _ => text,
    }
}

/// What follows the parameters and the final character of a control sequence.
fn after_parameters(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| matches!(c, ' '..='?'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// A diff as [`plain`] text in which each line is one of the diff: a carriage return inside of a line is shown as `␍`, for it would begin a line
/// without a sign before it, which may look like the header of another file.
///
/// ```
/// # use reflexion_text::prompt::plain_diff;
/// assert_eq!(plain_diff("+a\r--- a/b.py\n+c\r\n"), "+a␍--- a/b.py\n+c\n");
/// ```
#[must_use]
pub fn plain_diff(diff: &str) -> String {
    let inside = |line: &str| {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.strip_suffix('\r').unwrap_or(line);
        let shown: String = line.chars().map(|c| if c == '\r' || ends_a_line(c) { '␍' } else { c }).collect();
        plain(&shown).into_owned() + end
    };
    diff.split_inclusive('\n').map(inside).collect()
}

fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Characters that turn the reading direction, and tags: they show a person other words than a model. Zero-width
/// characters stay, because scripts, emoji and text copied from the web have them; fences see through them.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// Characters without a width that no script needs: two texts that differ in them alone look the same. Joiners are none of them.
#[must_use]
pub fn has_no_width(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
    )
}

/// Unicode's separators of lines and paragraphs: no line feeds, but a line ends there where they are shown, and for many programs that read lines.
fn ends_a_line(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a terminal obeys a character, or shows something else because of it. Line feeds and tabs are harmless.
fn drives_a_terminal(c: char) -> bool {
    is_control(c) || is_invisible(c) || ends_a_line(c)
}

/// `text` with `\u{fffd}` in the place of each character that a terminal obeys (control characters other than line feed and tab, so escape
/// sequences too), that turns the reading direction, or that ends a line and is no line feed: nothing stored may drive a person's terminal, or show them other words than stand there.
///
/// ```
/// # use reflexion_text::prompt::printable;
/// assert_eq!(printable("red \u{1b}[31m\n\u{2028}"), "red \u{fffd}[31m\n\u{fffd}");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(drives_a_terminal) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if drives_a_terminal(c) { '\u{fffd}' } else { c }).collect())
}

/// As [`printable`] for JSON documents or lines of JSON: what is not printable is escaped (`\u009b`), so that the values stay the same.
///
/// ```
/// # use reflexion_text::prompt::printable_json;
/// assert_eq!(printable_json("[\"\u{9b}31m\"]\n"), "[\"\\u009b31m\"]\n");
/// ```
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.contains(drives_a_terminal) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if drives_a_terminal(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A string takes whatever is written to it.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printable_json_is_json_with_the_same_values() {
        let check = |text: &str| {
            let json = serde_json::to_string_pretty(&[text, "x"]).unwrap();
            let shown = printable_json(&json);
            assert!(
                !shown.contains(|c: char| (c.is_control() && c != '\n') || is_invisible(c) || ends_a_line(c)),
                "{shown:?}"
            );
            assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [text, "x"]);
        };
        check("\u{1b}[8m\u{9b}31m\u{7f}\u{202e}\u{2066}\u{e0041}\r\0\u{2028}\u{2029}");
        check("plain \\u009b \"quoted\"\n\té 🦀");
    }

    #[test]
    fn escapes_and_control_characters_go_and_words_stay() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected, "{text:?}");
        check("as it is\n\tindented", "as it is\n\tindented");
        check("\u{1b}[38;5;208morange\u{1b}[m", "orange");
        check("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}!", "link!");
        check("\u{1b}]0;never ends\nnext", "\nnext");
        check("\u{1b}(B\u{1b}7kept\u{1b}", "kept");
        check("\u{9b}1mbold", "bold");
        check("10%\r20%\r\nend\u{0}\u{7f}", "10%\n20%\nend");
        check("in\u{200b}vis\u{202e}ible\u{e0041}", "in\u{200b}visible");
        check("form\u{c}feed, unit\u{1f}separator", "form feed, unit separator");
        check("one\u{2028}two\u{2029}three", "one\ntwo\nthree");
        check("👩\u{200d}🔧", "👩\u{200d}🔧");
    }

    #[test]
    fn budgets_keep_characters_whole() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("much longer", 8), "much…");
        assert_eq!(shorten("äöü", 4), "…");
        assert_eq!(shorten("äöü", 2), "");
        assert_eq!(one_line("  a \n\t b\u{a0}c "), "a b c");
        assert_eq!(excerpt("fits", 4), "fits");
        assert_eq!(excerpt("ääää", 4), "ä\n[… 4 bytes left out …]\nä");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_cap_is_exceeded(text in "\\PC*|[\\x1b\\[\\]äé0-9;m\\n\u{200b}👩]*", cap in 0usize..40) {
            prop_assert!(first_bytes(&text, cap).len() <= cap);
            prop_assert!(last_bytes(&text, cap).len() <= cap);
            prop_assert!(shorten(&text, cap).len() <= cap);
            let clean = plain(&text);
            prop_assert_eq!(plain(&clean), clean.as_ref(), "cleaning twice changes nothing");
            prop_assert!(!clean.contains('\u{1b}'), "an escape is left");
            prop_assert!(excerpt(&text, cap).len() <= cap + 50);
        }
    }
}
