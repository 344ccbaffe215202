//! Words of a text as numbers.

/// Folds eight bytes into a hash: the halves of a product of 128 bits, exclusive or (the step of wyhash).
fn fold(hash: u64, bytes: u64) -> u64 {
    let product = u128::from(hash ^ bytes) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of a text without its case: two texts of a million meet with odds of about 1 to 40 million. It is no digest; whoever wants two
/// texts to meet can make them, which costs a wrong similarity and no more.
///
/// Bit 5 of every byte is set: ASCII letters lose their case, most Latin-1 letters too.
pub(super) fn hash(text: &str) -> u64 {
    let mut rest = text.as_bytes();
    let mut hash = 0x2545_f491_4f6c_dd1d ^ text.len() as u64;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        hash = fold(hash, u64::from_le_bytes(*eight) | 0x2020_2020_2020_2020);
        rest = behind;
    }
    // What is left is shorter than eight bytes: its two halves, or its bytes one by one.
    let last = if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)) | 0x2020_2020_2020_2020
    } else {
        rest.iter().fold(0, |word, byte| (word << 8) | u64::from(byte | 0x20))
    };
    fold(hash.rotate_left(32), last ^ 0xd6e8_feb8_6659_fd93)
}

/// A [`Hasher`](std::hash::Hasher) of what is a hash already.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Hashed(u64);

impl std::hash::Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| fold(hash, u64::from(*byte)));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map from hashes, in no order.
pub(super) type ByHash<T> = std::collections::HashMap<u64, T, std::hash::BuildHasherDefault<Hashed>>;

/// Every term of a text: its words ([`words`]) and their parts ([`terms_of`]). Slices of the text; whoever compares them does it by [`hash`],
/// without case.
pub(super) fn terms<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    words(text, |word| terms_of(word, &mut each));
}

/// The words of a text that have two characters and more and are no numbers and no masks (`<path>`).
pub(super) fn words<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(length) = bytes[at..].iter().position(|byte| IS_WORD[usize::from(*byte)]) {
        let start = at + length;
        let length = bytes[start..].iter().position(|byte| !IS_WORD[usize::from(*byte)]);
        at = length.map_or(bytes.len(), |length| start + length);
        let masked = start > 0 && bytes[start - 1] == b'<' && bytes.get(at) == Some(&b'>');
        // Between two bytes of ASCII, or beside one, so never inside of a character.
        let word = &text[start..at];
        if counts(word) && !(masked && MASKS.contains(&word)) {
            each(word);
        }
    }
}

/// Letters, digits, `_` and everything that is not ASCII, by the byte.
const IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 128 || byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// A word and, of a name that is put together (`parse_date`, `parseDate`, `HTTPServer`), its parts.
pub(super) fn terms_of<'t>(word: &'t str, mut each: impl FnMut(&'t str)) {
    each(word);
    parts(word, &mut each);
}

const MASKS: [&str; 6] = ["n", "path", "tmp", "addr", "hex", "id"];

fn counts(word: &str) -> bool {
    word.len() > 1 && word.bytes().any(|byte| !byte.is_ascii_digit() && byte != b'_')
}

/// The parts of a name, if it has several.
fn parts<'t>(word: &'t str, each: &mut impl FnMut(&'t str)) {
    let bytes = word.as_bytes();
    let mut start = 0;
    for at in 1..=bytes.len() {
        let ends = at == bytes.len() || bytes[at] == b'_' || begins_part(bytes, at);
        if !ends {
            continue;
        }
        let part = &word[start..at];
        if part.len() < word.len() && counts(part) {
            each(part);
        }
        start = if bytes.get(at) == Some(&b'_') { at + 1 } else { at };
    }
}

/// Whether a capital letter begins a part: behind a small one or a digit, or before a small one.
fn begins_part(bytes: &[u8], at: usize) -> bool {
    let before = bytes[at - 1];
    bytes[at].is_ascii_uppercase()
        && (before.is_ascii_lowercase()
            || before.is_ascii_digit()
            || (before.is_ascii_uppercase() && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        terms(text, |term| found.push(term));
        found
    }

    #[test]
    fn names_are_words_and_their_parts() {
        assert_eq!(all("test_parse_date"), ["test_parse_date", "test", "parse", "date"]);
        assert_eq!(
            all("HTTPServer.parseDate2Text"),
            ["HTTPServer", "HTTP", "Server", "parseDate2Text", "parse", "Date2", "Text"]
        );
        assert_eq!(all("error[E0308]: <n> of Vec<id> a 12 _"), ["error", "E0308", "of", "Vec"]);
        assert_eq!(all("größer __init__"), ["größer", "__init__", "init"]);
        assert_eq!(all("Vec<String>"), ["Vec", "String"]);
    }

    #[test]
    fn case_does_not_count_and_everything_else_does() {
        assert_eq!(hash("ParseDateFromText"), hash("parsedatefromtext"));
        assert_ne!(hash("parse_date"), hash("parse_dates"));
        assert_ne!(hash("ab"), hash("ba"));
        assert_ne!(hash("12345678"), hash("123456780"));
        assert_ne!(hash(""), hash(" "));
    }

    proptest! {
        #[test]
        fn any_text_has_terms_that_are_parts_of_it(text in "\\PC{0,60}") {
            for term in all(&text) {
                prop_assert!(text.contains(term));
            }
        }
    }
}
