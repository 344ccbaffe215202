//! What a text says behind the spellings of JSON, URLs, HTML and programming languages, and without colours.
//!
//! A rule looks for whole words. In `\u001b[31mTOKEN`, `%2FTOKEN` or `\nTOKEN` a letter that belongs to a spelling stands before the word:
//! so each spelling of one character becomes that character, and a colour becomes a blank.

use std::borrow::Cow;
use std::ops::Range;

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

/// What becomes of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colours {
    /// A blank: its letter would stand before a word.
    Blank,
    /// Nothing: it may stand in the middle of a word.
    Gone,
}

/// A text as it reads, and where each byte of it came from.
#[derive(Debug)]
pub(super) struct Decoded<'a> {
    bytes: Cow<'a, [u8]>,
    /// From which byte on which byte of the text stands there; between two of these both go on alike.
    steps: Vec<(usize, usize)>,
    /// The same for what it was made of, if that was decoded before.
    before: Vec<Vec<(usize, usize)>>,
    /// It has percent-encoded characters that were not decoded.
    pub(super) has_more: bool,
}

/// What is copied of a text, and where that came from.
#[derive(Default)]
struct Copied {
    bytes: Vec<u8>,
    steps: Vec<(usize, usize)>,
    /// So far.
    until: usize,
}

impl Copied {
    /// Puts something else in the place of a part of the text, as long as that is.
    fn replace(&mut self, text: &[u8], at: usize, length: usize, by: &[u8]) {
        self.bytes.extend_from_slice(&text[self.until..at]);
        if !by.is_empty() {
            self.steps.push((self.bytes.len(), at));
            self.bytes.extend_from_slice(by);
        }
        self.until = at + length;
        self.steps.push((self.bytes.len(), self.until));
    }

    fn finished(mut self, text: &[u8]) -> (Vec<u8>, Vec<(usize, usize)>) {
        self.bytes.extend_from_slice(&text[self.until..]);
        (self.bytes, self.steps)
    }
}

impl<'a> Decoded<'a> {
    /// Each spelling of a character as that character; what begins a colour, as [`ESCAPE`].
    pub(super) fn of(text: &'a [u8], percent: Percent) -> Self {
        let (mut copied, mut has_more, mut at) = (Copied::default(), false, 0);
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
            copied.replace(text, at, length, &[byte]);
            at += length;
        }
        if copied.steps.is_empty() {
            return Self { bytes: Cow::Borrowed(text), steps: Vec::new(), before: Vec::new(), has_more };
        }
        let (bytes, steps) = copied.finished(text);
        Self { bytes: Cow::Owned(bytes), steps, before: Vec::new(), has_more }
    }

    /// The same without colours. None: there are none.
    pub(super) fn without_colours(&self, become_: Colours) -> Option<Decoded<'static>> {
        let text = &*self.bytes;
        let (mut copied, mut at) = (Copied::default(), 0);
        while let Some(next) = memchr::memchr2(ESCAPE, CSI[0], &text[at..]) {
            at += next;
            let length = match &text[at..] {
                [ESCAPE, rest @ ..] => 1 + colour(rest).unwrap_or(0),
                rest if rest.starts_with(&CSI) => CSI.len() + parameters(&rest[CSI.len()..]).unwrap_or(0),
                _ => 0,
            };
            let by: &[u8] = if become_ == Colours::Blank { b" " } else { b"" };
            if length > 0 {
                copied.replace(text, at, length, by);
            }
            at += length.max(1);
        }
        if copied.steps.is_empty() {
            return None;
        }
        let (bytes, steps) = copied.finished(text);
        let before = std::iter::once(self.steps.clone()).chain(self.before.clone()).collect();
        Some(Decoded { bytes: Cow::Owned(bytes), steps, before, has_more: self.has_more })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text a byte came from; of a spelling, its beginning.
    pub(super) fn origin(&self, at: usize) -> usize {
        let from = |at: usize, steps: &Vec<(usize, usize)>| {
            let before = steps.partition_point(|(decoded, _)| *decoded <= at);
            before.checked_sub(1).map_or(at, |step| steps[step].1 + (at - steps[step].0))
        };
        std::iter::once(&self.steps).chain(&self.before).fold(at, from)
    }
}

/// Shows each byte of a text and where it stands, each spelling of a character as that character; colours are left out.
pub(super) fn read_once(text: &[u8], mut show: impl FnMut(u8, Range<usize>)) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let found = if BEGINS[usize::from(*byte)] { spelling(rest) } else { None };
        let (length, shown) = match found {
            Some((length, byte)) => (length, Some(byte)),
            None if *byte == ESCAPE => match colour(&rest[1..]) {
                Some(length) => (1 + length, None),
                None => (1, Some(*byte)),
            },
            None => (1, Some(*byte)),
        };
        if let Some(byte) = shown {
            show(byte, at..at + length);
        }
        at += length;
    }
}

/// What begins a colour.
const ESCAPE: u8 = 0x1b;
/// The same as one character, with the bracket behind it: U+009B.
const CSI: [u8; 2] = [0xc2, 0x9b];

/// The bytes that a spelling begins with.
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
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
        [b'\\', ..] => escaped(text)?,
        [b'%', ..] => percent(text)?,
        [b'&', ..] => entity(text)?,
        [b'^', b'[', rest @ ..] => colour(rest).map(|_| (2, u32::from(ESCAPE)))?,
        _ => return None,
    };
    Some((length, shown(code)))
}

fn shown(code: u32) -> u8 {
    let is_shown = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | &ESCAPE | b' '..=b'~');
    u8::try_from(code).ok().filter(is_shown).unwrap_or(b' ')
}

/// How long `[31m` is.
fn colour(text: &[u8]) -> Option<usize> {
    parameters(text.strip_prefix(b"[")?).map(|length| length + 1)
}

/// How long `31m` is.
fn parameters(rest: &[u8]) -> Option<usize> {
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?');
    let parameters = rest.iter().take(MOST_PARAMETERS).take_while(|byte| is_parameter(byte)).count();
    rest.get(parameters).filter(|byte| byte.is_ascii_alphabetic()).map(|_| parameters + 1)
}

/// `\n`, `\"`, `\/`, `\_`, `\u001b`, `\u{1b}`, `\U0000001b`, `\x1b`, `\033`, `\33`, also with more backslashes, as in JSON in JSON.
fn escaped(text: &[u8]) -> Option<(usize, u32)> {
    let backslashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let rest = &text[backslashes..];
    let (length, code) = match rest {
        [b'n', ..] => (1, 0x0a),
        [b'r', ..] => (1, 0x0d),
        [b't', ..] => (1, 0x09),
        [b'a' | b'b' | b'v' | b'f', ..] => (1, u32::from(b' ')),
        [mark, ..] if mark.is_ascii_punctuation() => (1, u32::from(*mark)),
        [b'u', b'{', rest @ ..] => {
            let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let code = number(&rest[..digits], 16).filter(|_| rest.get(digits) == Some(&b'}'));
            code.map_or((0, 0), |code| (digits + 3, code))
        }
        [b'U', digits @ ..] => number(digits.get(..8).unwrap_or_default(), 16).map_or((0, 0), |code| (9, code)),
        [b'u', digits @ ..] => number(digits.get(..4).unwrap_or_default(), 16).map_or((0, 0), |code| (5, code)),
        [b'x', digits @ ..] => number(digits.get(..2).unwrap_or_default(), 16).map_or((0, 0), |code| (3, code)),
        [b'e', behind @ ..] | [b'0', b'2', b'7', behind @ ..] if colour(behind).is_some() => {
            (rest.len() - behind.len(), u32::from(ESCAPE))
        }
        [b'0'..=b'7', ..] => octal(rest),
        _ => (0, 0),
    };
    match length {
        0 => (backslashes > 1).then_some((backslashes, u32::from(b' '))),
        length => Some((backslashes + length, code)),
    }
}

/// `0`, `7`, `33`, `033`, `303`.
fn octal(text: &[u8]) -> (usize, u32) {
    let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    number(&text[..digits], 8).map_or((0, 0), |code| (digits, code))
}

/// `%2F`, and `%252F`, where it was encoded again; `%u002F`.
fn percent(text: &[u8]) -> Option<(usize, u32)> {
    if text[1..].starts_with(b"u") {
        return number(text.get(2..6)?, 16).map(|code| (6, code));
    }
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
    let is_digit = |byte: &&u8| if radix == 16 { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let digits = name[before..].iter().take(7).take_while(is_digit).count();
    let code = number(&name[before..before + digits], radix)?;
    let end = usize::from(name.get(before + digits) == Some(&b';'));
    Some((before + digits + end, code))
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
            let decoded = decoded.without_colours(Colours::Blank).unwrap_or(decoded);
            assert_eq!(String::from_utf8_lossy(decoded.bytes()), wanted, "{text}");
            for (at, byte) in decoded.bytes().iter().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase()) {
                assert_eq!(text.as_bytes()[decoded.origin(at)], *byte, "{text}");
            }
            assert_eq!(decoded.origin(decoded.bytes().len()), text.len(), "{text}");
        };
        check("plain TEXT & more 100% ^ \\o/", "plain TEXT & more 100% ^ \\o/");
        check("\x1b[1;31mA\x1b[0m", " A ");
        for escape in [
            r"\u001b",
            r"\\u001B",
            r"\x1b",
            r"\u{1b}",
            r"\033",
            r"\e",
            "^[",
            "%1B",
            "&#x1b;",
            "&#27;",
            "&#27",
            r"\33",
            r"\027",
            r"\U0000001b",
        ] {
            check(&format!("a{escape}[31mTOKEN{escape}[0mB"), "a TOKEN B");
        }
        check(r"\nA\tB\r\\nC\\\\nD", "\nA\tB\r\nC\nD");
        check(r#"\"A\"\/\'B"#, r#""A"/'B"#);
        check("a%3DB%2FC%253AD%3a", "a=B/C:D:");
        check("&quot;A&amp;B&amp;quot;C&#x3D;D&#61;E&lt;F", "\"A&B\"C=D=E<F");
        check(r"\x00A\u0000B\303\244C\0D", " A B  C D");
        check(r"\u00e4A%C3%A4B", " A  B");
        check(r"A\_B\bC\7D%u003DE&#61F", "A_B C D=E=F");
        check("a%1B%5B31mTOKEN\u{9b}0mB", "a TOKEN B");
        // What is cut, and what is none.
        check(r"\u00", r"\u00");
        check("%2", "%2");
        check(r"C:\Users\else\9", r"C:\Users\else\9");
    }

    #[test]
    fn a_colour_in_the_middle_of_a_word_is_gone() {
        for escape in [r"\u001b", r"\x1b", "\x1b", "^[", "%1B"] {
            let text = format!("TOK{escape}[0mEN");
            let decoded = Decoded::of(text.as_bytes(), Percent::All);
            let gone = decoded.without_colours(Colours::Gone).unwrap();
            assert_eq!(gone.bytes(), b"TOKEN", "{text}");
            assert_eq!((gone.origin(0), gone.origin(3), gone.origin(5)), (0, text.len() - 2, text.len()), "{text}");
        }
        assert!(Decoded::of(b"none", Percent::All).without_colours(Colours::Gone).is_none());
    }

    #[test]
    fn what_may_be_of_a_password_in_a_url_stays_at_first() {
        let decoded = Decoded::of(b"a%3Db%2Fc", Percent::Between);
        assert_eq!((decoded.bytes(), decoded.has_more), (&b"a=b%2Fc"[..], true));
        assert!(!Decoded::of(b"a%3Db", Percent::Between).has_more);
    }
}
