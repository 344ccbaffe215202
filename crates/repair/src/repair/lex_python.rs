//! A lexer for Python: tokens and the ends of logical lines.

use super::token::{Cursor, Kind, Token, is_word};

const SIGNS: [&str; 24] = [
    "**=", "//=", ">>=", "<<=", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", "@=", ":=", "...",
];

pub(super) fn lex(text: &str) -> Vec<Token> {
    let mut c = Cursor::new(text);
    if c.starts_with("\u{feff}") {
        c.skip(3);
    }
    let mut depth = 0u32;
    while !c.done() {
        let byte = c.peek(0);
        match byte {
            b'\n' if depth == 0 && c.out.last().is_some_and(|t| t.kind != Kind::Newline) => {
                c.take(Kind::Newline, 1);
            }
            b'#' => c.skip_while(|b| b != b'\n'),
            b'\\' => {
                // A line continuation; a stray backslash is skipped alone.
                c.skip(1);
                c.skip_while(|b| b == b'\r');
                c.skip(usize::from(c.peek(0) == b'\n'));
            }
            _ if byte.is_ascii_whitespace() || byte == 0x0c => c.skip(1),
            _ if string_prefix(&c).is_some() => string(&mut c),
            _ if byte.is_ascii_digit() || byte == b'.' && c.peek(1).is_ascii_digit() => c.number(),
            _ if is_word(byte) => c.word(),
            _ => {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                c.sign(&SIGNS);
            }
        }
    }
    c.out
}

/// How many letters stand before the quote, if a string begins here.
fn string_prefix(c: &Cursor<'_>) -> Option<usize> {
    let letters =
        (0..3).take_while(|n| matches!(c.peek(*n).to_ascii_lowercase(), b'r' | b'b' | b'f' | b'u' | b't')).count();
    (letters < 3 && matches!(c.peek(letters), b'"' | b'\'')).then_some(letters)
}

fn string(c: &mut Cursor<'_>) {
    let prefix = string_prefix(c).unwrap_or(0);
    c.take_by(Kind::Text, |c| {
        c.skip(prefix);
        let quote = c.peek(0);
        let triple = c.peek(1) == quote && c.peek(2) == quote;
        c.skip(if triple { 3 } else { 1 });
        while !c.done() {
            let byte = c.peek(0);
            if byte == b'\\' {
                c.skip(2);
            } else if byte == quote && (!triple || c.peek(1) == quote && c.peek(2) == quote) {
                c.skip(if triple { 3 } else { 1 });
                return;
            } else if byte == b'\n' && !triple {
                return;
            } else {
                c.skip(1);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let seen: Vec<_> =
            lex(text).iter().map(|t| if t.kind == Kind::Newline { "⏎" } else { &text[t.start..t.end] }).collect();
        assert_eq!(seen, expected, "{text:?}");
    }

    #[test]
    fn code_is_cut_into_words_signs_and_logical_lines() {
        check("x **= 2 # no\n\n\ny//=1\n", &["x", "**=", "2", "⏎", "y", "//=", "1", "⏎"]);
        check("f(a,\n  b)\n", &["f", "(", "a", ",", "b", ")", "⏎"]);
        check("a + \\\n b\n", &["a", "+", "b", "⏎"]);
        check("1.5e-3 0x1e+2 1_000 .5 x.y", &["1.5e-3", "0x1e", "+", "2", "1_000", ".5", "x", ".", "y"]);
        check("x[1:-1]", &["x", "[", "1", ":", "-", "1", "]"]);
    }

    #[test]
    fn strings_are_one_token() {
        check(r#"rb'a\'b' f"{x!r}" ''"#, &[r"rb'a\'b'", r#"f"{x!r}""#, "''"]);
        check("'''a\n'b''' c", &["'''a\n'b'''", "c"]);
        check("'open\nx", &["'open", "⏎", "x"]);
        check("rubber", &["rubber"]);
    }

    #[test]
    fn lines_are_counted_inside_strings_and_brackets() {
        let lines: Vec<_> = lex("'''\n'''\n(\na)").iter().map(|t| t.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 4]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in "\\PC*|[\"'\\\\\n#a0. ()]*") {
            for token in lex(&text) {
                assert!(text.get(token.start..token.end).is_some_and(|t| !t.is_empty()));
            }
        }
    }
}
