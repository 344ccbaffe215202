//! What a text says behind the spellings of JSON, URLs, HTML and programming languages, and without colours.
//!
//! A rule looks for whole words. In `\u001b[31mTOKEN`, `%2FTOKEN` or `\nTOKEN` a letter that belongs to a spelling stands before the word:
//! so each spelling of one character becomes that character, and a colour becomes a blank.

use std::borrow::Cow;

/// No parameters of a colour are longer.
const MOST_PARAMETERS: usize = 32;

/// Characters of HTML that have a name; others stand by their number.
const NAMED: [(&[u8], u8); 10] = [
    (b"quot;", b'"'),
    (b"amp;", b'&'),
    (b"apos;", b'\''),
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"nbsp;", b' '),
    (b"sol;", b'/'),
    (b"colon;", b':'),
    (b"commat;", b'@'),
    (b"equals;", b'='),
];

/// Which percent-encoded characters are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Percent {
    /// Blanks and marks between names and values: in a password that stands in a URL, others are a part of it.
    Between,
    /// All.
    All,
}

/// A text as it reads, and where each byte of it came from.
#[derive(Debug)]
pub(super) struct Decoded<'a> {
    bytes: Cow<'a, [u8]>,
    /// From which byte on which byte of the text stands there; between two of these both go on alike.
    steps: Vec<(usize, usize)>,
    /// It has percent-encoded characters that were not decoded.
    pub(super) has_more: bool,
}

impl<'a> Decoded<'a> {
    pub(super) fn of(text: &'a [u8], percent: Percent) -> Self {
        let (mut bytes, mut steps, mut has_more) = (Vec::new(), Vec::new(), false);
        let (mut copied, mut at) = (0, 0);
        while let Some(next) = text[at..].iter().position(|byte| BEGINS[usize::from(*byte)]) {
            at += next;
            let Some((length, byte)) = spelling(&text[at..]) else {
                at += 1;
                continue;
            };
            if text[at] == b'%' && percent == Percent::Between && !is_between(byte) {
                has_more = true;
                at += 1;
                continue;
            }
            bytes.extend_from_slice(&text[copied..at]);
            steps.push((bytes.len(), at));
            bytes.push(byte);
            at += length;
            copied = at;
            steps.push((bytes.len(), at));
        }
        if steps.is_empty() {
            return Self { bytes: Cow::Borrowed(text), steps, has_more };
        }
        bytes.extend_from_slice(&text[copied..]);
        Self { bytes: Cow::Owned(bytes), steps, has_more }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text a byte came from; of a spelling, its beginning.
    pub(super) fn origin(&self, at: usize) -> usize {
        let before = self.steps.partition_point(|(decoded, _)| *decoded <= at);
        before.checked_sub(1).map_or(at, |step| self.steps[step].1 + (at - self.steps[step].0))
    }
}

/// The bytes that a spelling begins with.
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    begins[0x1b] = true;
    begins[b'\\' as usize] = true;
    begins[b'%' as usize] = true;
    begins[b'&' as usize] = true;
    begins[b'^' as usize] = true;
    begins
};

fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'"' | b'&' | b':' | b'=' | b'\n' | b'\r')
}

/// How long the spelling is that a text begins with, and what it stands for. What is no ASCII, and what has no width, is a blank.
fn spelling(text: &[u8]) -> Option<(usize, u8)> {
    let (length, code) = match text {
        [0x1b, ..] => (1, 0x1b),
        [b'\\', ..] => escaped(text)?,
        [b'%', ..] => percent(text)?,
        [b'&', ..] => entity(text)?,
        [b'^', b'[', ..] => (2, 0x1b),
        _ => return None,
    };
    if code != 0x1b {
        return Some((length, shown(code)));
    }
    // The letter of a colour would stand before a word.
    match colour(&text[length..]) {
        Some(colour) => Some((length + colour, b' ')),
        None => (length > 1 && text[0] != b'^').then_some((length, b' ')),
    }
}

fn shown(code: u32) -> u8 {
    let is_shown = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    u8::try_from(code).ok().filter(is_shown).unwrap_or(b' ')
}

/// How long `[31m` is.
fn colour(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"[")?;
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?');
    let parameters = rest.iter().take(MOST_PARAMETERS).take_while(|byte| is_parameter(byte)).count();
    rest.get(parameters).filter(|byte| byte.is_ascii_alphabetic()).map(|_| parameters + 2)
}

/// `\n`, `\"`, `\/`, `\u001b`, `\u{1b}`, `\x1b`, `\033`, also with more backslashes, as in JSON in JSON.
fn escaped(text: &[u8]) -> Option<(usize, u32)> {
    let backslashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let rest = &text[backslashes..];
    let (length, code) = match rest {
        [b'n', ..] => (1, 0x0a),
        [b'r', ..] => (1, 0x0d),
        [b't', ..] => (1, 0x09),
        [quote @ (b'"' | b'\'' | b'/'), ..] => (1, u32::from(*quote)),
        [b'u', b'{', rest @ ..] => {
            let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let code = number(&rest[..digits], 16).filter(|_| rest.get(digits) == Some(&b'}'));
            code.map_or((0, 0), |code| (digits + 3, code))
        }
        [b'u', digits @ ..] => number(digits.get(..4).unwrap_or_default(), 16).map_or((0, 0), |code| (5, code)),
        [b'x', digits @ ..] => number(digits.get(..2).unwrap_or_default(), 16).map_or((0, 0), |code| (3, code)),
        [b'e', behind @ ..] if colour(behind).is_some() => (1, 0x1b),
        [b'0'..=b'3', ..] => octal(rest),
        _ => (0, 0),
    };
    match length {
        0 => (backslashes > 1).then_some((backslashes, u32::from(b' '))),
        length => Some((backslashes + length, code)),
    }
}

/// `0`, `033`, `303`: without a leading zero there are three digits.
fn octal(text: &[u8]) -> (usize, u32) {
    let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let is_one = text[0] == b'0' || digits == 3;
    number(&text[..digits], 8).filter(|_| is_one).map_or((0, 0), |code| (digits, code))
}

/// `%2F`, and `%252F`, where it was encoded again.
fn percent(text: &[u8]) -> Option<(usize, u32)> {
    let mut at = 1;
    while text[at..].starts_with(b"25") && text.get(at + 2..at + 4).is_some_and(|next| number(next, 16).is_some()) {
        at += 2;
    }
    Some((at + 2, number(text.get(at..at + 2)?, 16)?))
}

/// `&quot;`, `&#x3D;`, `&#61;`, and `&amp;quot;`, where it was encoded again.
fn entity(text: &[u8]) -> Option<(usize, u32)> {
    let mut at = 1;
    while let Some(again) = text[at..].strip_prefix(b"amp;").filter(|again| entity_name(again).is_some()) {
        at = text.len() - again.len();
    }
    let (length, code) = entity_name(&text[at..])?;
    Some((at + length, code))
}

fn entity_name(name: &[u8]) -> Option<(usize, u32)> {
    if let Some((named, byte)) = NAMED.iter().find(|(named, _)| name.starts_with(named)) {
        return Some((named.len(), u32::from(*byte)));
    }
    let (before, radix) = match name {
        [b'#', b'x' | b'X', ..] => (2, 16),
        [b'#', ..] => (1, 10),
        _ => return None,
    };
    let digits = name[before..].iter().take(7).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let code = number(&name[before..before + digits], radix)?;
    (name.get(before + digits) == Some(&b';')).then_some((before + digits + 1, code))
}

/// A number of digits alone.
fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let add = |sum: Option<u32>, digit: &u8| Some(sum? * radix + char::from(*digit).to_digit(radix)?);
    digits.iter().fold((!digits.is_empty()).then_some(0), add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_is_one_character_and_its_place_is_known() {
        let check = |text: &str, wanted: &str| {
            let decoded = Decoded::of(text.as_bytes(), Percent::All);
            assert_eq!(String::from_utf8_lossy(decoded.bytes()), wanted, "{text}");
            for (at, byte) in decoded.bytes().iter().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase()) {
                assert_eq!(text.as_bytes()[decoded.origin(at)], *byte, "{text}");
            }
            assert_eq!(decoded.origin(decoded.bytes().len()), text.len(), "{text}");
        };
        check("plain TEXT & more 100% ^ \\o/", "plain TEXT & more 100% ^ \\o/");
        check("\x1b[1;31mA\x1b[0m", " A ");
        for escape in [r"\u001b", r"\\u001B", r"\x1b", r"\u{1b}", r"\033", r"\e", "^[", "%1B", "&#x1b;", "&#27;"] {
            check(&format!("a{escape}[31mTOKEN{escape}[0mB"), "a TOKEN B");
        }
        check(r"\nA\tB\r\\nC\\\\nD", "\nA\tB\r\nC\nD");
        check(r#"\"A\"\/\'B"#, r#""A"/'B"#);
        check("a%3DB%2FC%253AD%3a", "a=B/C:D:");
        check("&quot;A&amp;B&amp;quot;C&#x3D;D&#61;E&lt;F", "\"A&B\"C=D=E<F");
        check(r"\x00A\u0000B\303\244C\0D", " A B  C D");
        check(r"\u00e4A%C3%A4B", " A  B");
        // What is cut, and what is none.
        check(r"\u00", r"\u00");
        check("%2", "%2");
        check("&#x3", "&#x3");
        check(r"C:\Users\else\9", r"C:\Users\else\9");
    }

    #[test]
    fn what_may_be_of_a_password_in_a_url_stays_at_first() {
        let decoded = Decoded::of(b"a%3Db%2Fc", Percent::Between);
        assert_eq!((decoded.bytes(), decoded.has_more), (&b"a=b%2Fc"[..], true));
        assert!(!Decoded::of(b"a%3Db", Percent::Between).has_more);
    }
}
