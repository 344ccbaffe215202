//! Tokens: what the edits are made of, for any language.

use super::{lex_braces, lex_python};

/// What kind of words a file is written in, from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Language {
    Python,
    Rust,
    /// Anything else with C-like operators: only operators and constants are edited there.
    Other,
}

/// Names of other languages' files whose operators and constants look alike.
const OTHER: [&str; 19] = [
    "js", "mjs", "cjs", "jsx", "ts", "tsx", "go", "java", "kt", "swift", "c", "h", "cc", "cpp", "hpp", "cs", "php",
    "scala", "dart",
];

impl Language {
    /// The language of a path, or nothing if the agent does not read such files.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "py" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            other if OTHER.contains(&other) => Some(Self::Other),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identifiers and keywords.
    Word,
    Number,
    /// String and character literals, whole.
    Text,
    /// Operators and punctuation.
    Sign,
    /// The end of a logical line of Python.
    Newline,
}

/// A piece of a file: bytes `start..end`, on a line counted from 1. Comments and blanks are no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: u32,
}

/// Cuts a text into tokens; never fails, whatever the bytes are.
pub(super) fn tokens(text: &str, language: Language) -> Vec<Token> {
    match language {
        Language::Python => lex_python::lex(text),
        Language::Rust | Language::Other => lex_braces::lex(text, language),
    }
}

/// A cursor over bytes that counts lines, shared by the lexers.
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) out: Vec<Token>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, line: 1, out: Vec::new() }
    }

    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn starts_with(&self, what: &str) -> bool {
        self.bytes[self.at..].starts_with(what.as_bytes())
    }

    /// Goes on by `count` bytes, counting the lines passed.
    pub(super) fn skip(&mut self, count: usize) {
        let end = (self.at + count).min(self.bytes.len());
        let passed = self.bytes[self.at..end].iter().filter(|b| **b == b'\n');
        self.line += u32::try_from(passed.count()).unwrap_or(u32::MAX);
        self.at = end;
    }

    pub(super) fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while !self.done() && keep(self.peek(0)) {
            self.skip(1);
        }
    }

    /// Takes `count` bytes as one token.
    pub(super) fn take(&mut self, kind: Kind, count: usize) {
        let (start, line) = (self.at, self.line);
        self.skip(count.max(1));
        self.out.push(Token { kind, start, end: self.at, line });
    }

    /// Takes what `advance` moves over as one token.
    pub(super) fn take_by(&mut self, kind: Kind, advance: impl FnOnce(&mut Self)) {
        let (start, line) = (self.at, self.line);
        advance(self);
        self.out.push(Token { kind, start, end: self.at, line });
    }

    pub(super) fn word(&mut self) {
        self.take_by(Kind::Word, |c| c.skip_while(is_word));
    }

    /// A number as the languages here write them: digits, letters, `_`, a fraction, a signed exponent.
    pub(super) fn number(&mut self) {
        self.take_by(Kind::Number, |c| {
            let radix = c.starts_with("0x") || c.starts_with("0X");
            loop {
                c.skip_while(is_word);
                let exponent = !radix && c.at > 0 && matches!(c.bytes[c.at - 1], b'e' | b'E');
                if c.peek(0) == b'.' && c.peek(1).is_ascii_digit()
                    || exponent && matches!(c.peek(0), b'+' | b'-') && c.peek(1).is_ascii_digit()
                {
                    c.skip(1);
                } else {
                    return;
                }
            }
        });
    }

    /// The longest of the signs that fits here, or one character.
    pub(super) fn sign(&mut self, signs: &[&str]) {
        let longest = signs.iter().filter(|s| self.starts_with(s)).map(|s| s.len()).max().unwrap_or(1);
        self.take(Kind::Sign, longest);
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
