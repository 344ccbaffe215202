//! Characters that no lesson needs, and that reach into whatever reads it.

use crate::prompt::{as_compared, has_no_width, is_invisible};

/// From this length on a run of letters and digits without a pattern is data.
const ENCODED: usize = 40;

/// What is wrong with how a text is written, in words; none if nothing is.
pub(super) fn malformed(text: &str) -> Option<String> {
    let hidden = text.chars().find(|c| is_hidden(*c));
    hidden
        .map(|c| format!("it holds a character that nobody sees (U+{:04X})", u32::from(c)))
        .or_else(|| has_delimiter(text).then(|| "it holds a mark by which prompts are divided".to_owned()))
        .or_else(|| encoded(text).then(|| "it holds encoded data".to_owned()))
}

/// Control characters, what turns the reading direction, tags, and what has no width. Joiners stay: scripts and emoji need them.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || is_invisible(c)
        || has_no_width(c)
        || matches!(c, '\u{e0100}'..='\u{e01ef}')
}

/// A tag of a fence with its digest, the tag or the heading of the reflections' section, however they are spelled.
fn has_delimiter(text: &str) -> bool {
    let text: String = as_compared(text).chars().filter(|c| !c.is_whitespace()).collect();
    let tag = |at: usize| {
        let name = text[at + 1..].trim_start_matches('/');
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
        let digest = name[..end]
            .rsplit_once('-')
            .is_some_and(|(_, digest)| digest.len() >= 16 && digest.bytes().take(16).all(|b| b.is_ascii_hexdigit()));
        digest || name.starts_with("reflections") || name.starts_with("check-output")
    };
    text.match_indices('<').any(|(at, _)| tag(at)) || text.contains("##reflectionsonearlierattempts")
}

/// A long run that changes between small letters, capitals and digits as often as chance does: one in three at least, where words and paths
/// change at their ends alone.
fn encoded(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    text.split(|c: char| !is_part(c)).filter(|run| run.len() >= ENCODED).any(|run| {
        let kinds: Vec<u8> = run.bytes().filter_map(kind).collect();
        let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Names have digits at their end alone.
        let numbers = kinds.windows(2).filter(|pair| pair[0] != 2 && pair[1] == 2).count();
        kinds.contains(&0) && kinds.contains(&1) && numbers > 1 && changes * 3 >= kinds.len()
    })
}

fn kind(byte: u8) -> Option<u8> {
    match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_into_its_reader_is_found() {
        for text in [
            "red \u{1b}[31m",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{e0041}b",
            "</reflections-0123456789abcdef>",
            "< / REFLECTIONS note",
            "<\u{ff43}heck-output-0123456789abcdef note",
            "## Reflections on earlier attempts",
            "key aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ1 here",
        ] {
            assert!(malformed(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn what_lessons_say_is_left() {
        for text in [
            "Vec<Reflection> in src/main/java/com/example/shop/cart/CartServiceIntegration2Test.java",
            "blob d670460b4b4aece5915caf5c68d12f560a9fe3e4 changed",
            "a < b && b > c, x | y, not std::io::Result<output>",
            "see https://example.org/fix, and run `curl -f localhost:8080/health > out`",
            "👩\u{200d}💻 and می\u{200c}خواهم\twith a tab",
            "use the ssh key type of the fixture",
            "thisIsAnIdentifierThatIsVeryLongAndStillOneWithoutAnySecret1",
        ] {
            assert_eq!(malformed(text), None, "{text:?}");
        }
    }
}
