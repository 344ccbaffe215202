//! What changes from run to run, masked: one pass over the bytes of a line, without patterns.

/// A line with generated ids, addresses, absolute directories and numbers masked, and its white space collapsed. Names, error codes
/// (`E0308`) and operators stay.
///
/// What is masked, and in which order it is looked for, follows Sentry's message parameterisation; what a mask stands for is guessed by shape
/// alone, so `<n>` is any word that begins with a digit.
pub(super) fn mask(line: &str) -> String {
    let bytes = line.as_bytes();
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while at < bytes.len() {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let next = if bytes[at] == b'/' && !before.is_some_and(joins_a_path) {
            directory(line, at, &mut out)
        } else if is_word(bytes[at]) && !before.is_some_and(is_word) {
            Some(word(line, at, &mut out))
        } else {
            None
        };
        at = next.unwrap_or_else(|| one_character(line, at, &mut out));
    }
    out.truncate(out.trim_end().len());
    out
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Behind these a `/` goes on with a path or a word, and begins none.
fn joins_a_path(byte: u8) -> bool {
    is_word(byte) || b"./~-<>".contains(&byte)
}

/// Copies one character, of white space only the first.
fn one_character(line: &str, at: usize, out: &mut String) -> usize {
    let Some(c) = line[at..].chars().next() else { return line.len() };
    if !c.is_whitespace() {
        out.push(c);
    } else if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
    at + c.len_utf8()
}

/// An absolute path of two parts or more keeps its last one; directly below a temporary directory that is made up as well.
fn directory(line: &str, at: usize, out: &mut String) -> Option<usize> {
    let ends = |c: char| c.is_whitespace() || "'\"`(),:;<>[]{}|".contains(c);
    let end = line[at..].find(ends).map_or(line.len(), |length| at + length);
    let (parent, name) =
        line[at..end].rsplit_once('/').filter(|(parent, name)| parent.len() > 1 && !name.is_empty())?;
    if ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm"].contains(&parent) {
        out.push_str("<tmp>");
    } else {
        // The name may be made up in part: it is read like any word.
        out.push_str("<path>/");
        return Some(end - name.len());
    }
    Some(end)
}

/// A whole word, where it is one that changes; a word that stays is copied.
fn word(line: &str, at: usize, out: &mut String) -> usize {
    let bytes = line.as_bytes();
    let end = bytes[at..].iter().position(|byte| !is_word(*byte)).map_or(bytes.len(), |length| at + length);
    let text = &line[at..end];
    if let Some(end) = unique_id(bytes, at) {
        out.push_str("<id>");
        return end;
    }
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if text.starts_with("0x") || (out.ends_with('@') && is_hex && has_digit) {
        out.push_str("<addr>");
    } else if is_hex && has_digit && text.len() >= 12 && !text.bytes().all(|byte| byte.is_ascii_digit()) {
        out.push_str("<hex>");
    } else if text.starts_with(|c: char| c.is_ascii_digit()) {
        out.push_str("<n>");
        return fraction(bytes, end);
    } else {
        out.push_str(text);
    }
    end
}

/// Behind the fraction of a number, if it has one.
fn fraction(bytes: &[u8], end: usize) -> usize {
    if bytes.get(end) != Some(&b'.') || !bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        return end;
    }
    bytes[end + 1..].iter().position(|byte| !is_word(*byte)).map_or(bytes.len(), |length| end + 1 + length)
}

/// The end of a UUID that begins here.
fn unique_id(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if group > 0 {
            (bytes.get(end) == Some(&b'-')).then_some(())?;
            end += 1;
        }
        bytes.get(end..end + length)?.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        end += length;
    }
    (!bytes.get(end).is_some_and(|byte| is_word(*byte))).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_changes_is_masked_and_what_names_stays() {
        let check = |text: &str, expected: &str| assert_eq!(mask(text), expected);
        check("error[E0308]: expected `String`,  found `u32`", "error[E0308]: expected `String`, found `u32`");
        check("assert -1 == 5.25", "assert -<n> == <n>");
        check("object at 0x7f13cca419d0", "object at <addr>");
        check("expected: a.Shop@1b6d3586, x@example.org", "expected: a.Shop@<addr>, x@example.org");
        check("done in 12.5s, 3 ms", "done in <n>, <n> ms");
        check("run 0199c2aa-0000-7000-8000-00000000abcd failed", "run <id> failed");
        check("no file /tmp/tmpa8x2 and /tmp/.w1/proj/src/a.py:3:5", "no file <tmp> and <path>/a.py:<n>:<n>");
        check("in /w/1/job-17 of /#/0", "in <path>/job-<n> of <path>/<n>");
        check("either/or in src/lib.rs, utf8 and sha256", "either/or in src/lib.rs, utf8 and sha256");
        check("blob d670460b4b4aece5915caf5c68d12f560a9fe3e4", "blob <hex>");
        check("größer als 1_000", "größer als <n>");
        check("a / b and //x", "a / b and //x");
    }

    proptest! {
        #[test]
        fn a_masked_line_masked_again_is_the_same(line in "\\PC{0,80}") {
            let once = mask(&line);
            prop_assert_eq!(mask(&once), once.clone());
        }
    }
}
