//! A lexer for Rust and, with the same rules, for what operators and constants of C-like languages need.

use super::token::{Cursor, Kind, Language, Token, is_word};

const SIGNS: [&str; 30] = [
    "<<=", ">>=", "...", "..=", "===", "!==", "**", "->", "=>", "::", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "..", "++", "--", "??",
];

pub(super) fn lex(text: &str, language: Language) -> Vec<Token> {
    let mut c = Cursor::new(text);
    let rust = language == Language::Rust;
    while !c.done() {
        let byte = c.peek(0);
        if byte.is_ascii_whitespace() {
            c.skip(1);
        } else if c.starts_with("//") {
            c.skip_while(|b| b != b'\n');
        } else if c.starts_with("/*") {
            block_comment(&mut c, rust);
        } else if let Some(hashes) = raw_string(&c, rust) {
            c.take_by(Kind::Text, |c| end_of_raw(c, hashes));
        } else if byte == b'"' || byte == b'b' && c.peek(1) == b'"' {
            quoted(&mut c, b'"');
        } else if byte == b'`' && !rust {
            quoted(&mut c, b'`');
        } else if byte == b'\'' {
            apostrophe(&mut c, rust);
        } else if byte.is_ascii_digit() {
            c.number();
        } else if is_word(byte) {
            c.word();
        } else {
            c.sign(&SIGNS);
        }
    }
    c.out
}

fn block_comment(c: &mut Cursor<'_>, nested: bool) {
    let mut depth = 0;
    while !c.done() {
        if c.starts_with("/*") && (nested || depth == 0) {
            depth += 1;
            c.skip(2);
        } else if c.starts_with("*/") {
            depth -= 1;
            c.skip(2);
            if depth == 0 {
                return;
            }
        } else {
            c.skip(1);
        }
    }
}

/// The number of `#` if a raw string begins here.
fn raw_string(c: &Cursor<'_>, rust: bool) -> Option<usize> {
    let prefix = if c.starts_with("br") { 2 } else { 1 };
    if !rust || !(c.starts_with("r") || c.starts_with("br")) {
        return None;
    }
    let hashes = c.bytes[c.at + prefix..].iter().take_while(|b| **b == b'#').count();
    (c.peek(prefix + hashes) == b'"').then_some(hashes)
}

fn end_of_raw(c: &mut Cursor<'_>, hashes: usize) {
    c.skip_while(|b| b != b'"');
    c.skip(1);
    let end = format!("\"{}", "#".repeat(hashes));
    while !c.done() && !c.starts_with(&end) {
        c.skip(1);
    }
    c.skip(end.len());
}

fn quoted(c: &mut Cursor<'_>, quote: u8) {
    c.take_by(Kind::Text, |c| {
        c.skip_while(|b| b != quote);
        c.skip(1);
        while !c.done() {
            match c.peek(0) {
                b'\\' => c.skip(2),
                b if b == quote => return c.skip(1),
                _ => c.skip(1),
            }
        }
    });
}

/// A character literal, or a lifetime in Rust (a word whose quote is not closed).
fn apostrophe(c: &mut Cursor<'_>, rust: bool) {
    if !rust {
        return quoted(c, b'\'');
    }
    // The letter's own length: continuation bytes of UTF-8 are 10xxxxxx.
    let rest = c.bytes.get(c.at + 2..).unwrap_or_default();
    let letter = 1 + rest.iter().take_while(|b| **b & 0xC0 == 0x80).count();
    if c.peek(1) == b'\\' || c.peek(1 + letter) == b'\'' {
        quoted(c, b'\'');
    } else {
        c.take_by(Kind::Word, |c| {
            c.skip(1);
            c.skip_while(is_word);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, language: Language, expected: &[&str]) {
        let seen: Vec<_> = lex(text, language).iter().map(|t| &text[t.start..t.end]).collect();
        assert_eq!(seen, expected, "{text:?}");
    }

    #[test]
    fn rust_is_cut_into_tokens() {
        let check = |text, expected| check(text, Language::Rust, expected);
        check("a<=b // no\n/* x /* y */ */ c", &["a", "<=", "b", "c"]);
        check(r##"r#"a"b"# b"x" "\"" 'a' '\'' '"'"##, &[r##"r#"a"b"#"##, "b\"x\"", r#""\"""#, "'a'", r"'\''", "'\"'"]);
        check("fn f<'a>(x: &'a str)", &["fn", "f", "<", "'a", ">", "(", "x", ":", "&", "'a", "str", ")"]);
        check("0..=n 1..2 1.5f32 x.0", &["0", "..=", "n", "1", "..", "2", "1.5f32", "x", ".", "0"]);
        check("'ä' 'ab", &["'ä'", "'ab"]);
    }

    #[test]
    fn other_languages_keep_their_strings() {
        let check = |text, expected| check(text, Language::Other, expected);
        check("'it' === `a\n${b}`", &["'it'", "===", "`a\n${b}`"]);
        check("/* /* */ i++", &["i", "++"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in "\\PC*|[\"'\\\\\n/*rb#a0. ()]*") {
            for language in [Language::Rust, Language::Other] {
                for token in lex(&text, language) {
                    assert!(text.get(token.start..token.end).is_some_and(|t| !t.is_empty()));
                }
            }
        }
    }
}
