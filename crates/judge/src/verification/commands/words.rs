//! Words: quotes, escapes, substitutions.

use super::syntax::{Parser, Script};

/// So many bytes of a substitution are kept in the word that holds it.
const KEPT_RAW: usize = 1024;

impl Parser<'_> {
    /// One word, unquoted; substitutions stay as written, and their scripts are added to `inner`. Takes at least one byte.
    pub(super) fn word(&mut self, inner: &mut Vec<Script>) -> String {
        let mut word = String::new();
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.at == start && self.text.as_bytes().get(self.at + 1) == Some(&b'(') => {
                    self.at += 1;
                    self.substitution(start, &mut word, inner);
                }
                b'(' if self.at > start && b"?*+@!".contains(&self.text.as_bytes()[self.at - 1]) => {
                    let from = self.at;
                    self.parentheses();
                    word.push_str(&self.text[from..self.at]);
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\r' if self.starts("\r\n") => break,
                b'\\' => self.escape(&mut word),
                b'\'' => {
                    let quoted = &self.rest()[1..];
                    let end = memchr::memchr(b'\'', quoted.as_bytes()).unwrap_or(quoted.len());
                    word.push_str(&quoted[..end]);
                    self.at = (self.at + end + 2).min(self.text.len());
                }
                b'"' => self.double_quoted(&mut word, inner),
                b'$' if self.starts("$'") => self.ansi_quoted(&mut word),
                b'$' if self.starts("$\"") => self.at += 1,
                b'$' => self.dollar(&mut word, inner),
                b'`' => self.backquoted(&mut word, inner),
                _ => self.plain(b" \t\r\n;&|()<>\\'\"$`", &mut word),
            }
        }
        if self.at == start && self.at < self.text.len() {
            self.at = self.text.ceil_char_boundary(self.at + 1);
        }
        word
    }

    /// Bytes up to one that means something; at least one.
    fn plain(&mut self, special: &[u8], word: &mut String) {
        let bytes = &self.rest().as_bytes()[1..];
        let end = 1 + bytes.iter().position(|byte| special.contains(byte)).unwrap_or(bytes.len());
        word.push_str(&self.rest()[..end]);
        self.at += end;
    }

    fn escape(&mut self, word: &mut String) {
        let mut after = self.rest()[1..].chars();
        match after.next() {
            None => self.at += 1,
            Some('\n') => self.at += 2,
            Some(letter) => {
                word.push(letter);
                self.at += 1 + letter.len_utf8();
            }
        }
    }

    fn double_quoted(&mut self, word: &mut String, inner: &mut Vec<Script>) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' if self.text.as_bytes().get(self.at + 1).is_some_and(|b| b"$`\"\\\n".contains(b)) => {
                    self.escape(word);
                }
                b'$' => self.dollar(word, inner),
                b'`' => self.backquoted(word, inner),
                _ => self.plain(b"\"\\$`", word),
            }
        }
    }

    /// `$'…'`
    fn ansi_quoted(&mut self, word: &mut String) {
        self.at += 2;
        let mut letters = self.rest().char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\'' => {
                    self.at += at + 1;
                    return;
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => word.push('\n'),
                    Some((_, 't')) => word.push('\t'),
                    Some((_, other)) => word.push(other),
                    None => {}
                },
                other => word.push(other),
            }
        }
        self.at = self.text.len();
    }

    /// What begins with `$`.
    fn dollar(&mut self, word: &mut String, inner: &mut Vec<Script>) {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.starts("((") && self.is_arithmetic() => {
                self.parentheses();
                word.push_str(&self.text[start..self.at]);
            }
            Some(b'(') => self.substitution(start, word, inner),
            Some(b'{') => {
                self.braces(inner);
                self.raw(start, word);
            }
            _ => word.push('$'),
        }
    }

    /// `( … )` of a substitution that began at `start`.
    fn substitution(&mut self, start: usize, word: &mut String, inner: &mut Vec<Script>) {
        self.at += 1;
        let script = self.deeper(Self::list);
        self.eat(")");
        inner.push(script);
        self.raw(start, word);
    }

    /// What stands from `start` on, as it is written; of a long text the beginning, so that depth does not multiply it.
    fn raw(&self, start: usize, word: &mut String) {
        let raw = &self.text[start..self.at];
        word.push_str(&raw[..raw.floor_char_boundary(KEPT_RAW)]);
    }

    /// `{ … }` of `${ … }`: what it gives is not known, but commands in it are run.
    fn braces(&mut self, inner: &mut Vec<Script>) {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.escape(&mut String::new()),
                b'{' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' => {
                    open -= 1;
                    self.at += 1;
                    if open == 0 {
                        return;
                    }
                }
                b'$' if self.starts("$(") => {
                    let start = self.at;
                    self.at += 1;
                    self.substitution(start, &mut String::new(), inner);
                }
                _ => self.plain(b"\\{}$", &mut String::new()),
            }
        }
    }

    /// `` `…` ``: read as a script of its own, in which a backslash hides a backquote.
    fn backquoted(&mut self, word: &mut String, inner: &mut Vec<Script>) {
        let start = self.at;
        self.at += 1;
        let mut code = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'`' => break,
                b'\\' if self.text.as_bytes().get(self.at + 1).is_some_and(|b| b"`\\$".contains(b)) => {
                    self.escape(&mut code);
                }
                _ => self.plain(b"`\\", &mut code),
            }
        }
        self.eat("`");
        self.raw(start, word);
        inner.push(self.nested(&code));
    }

    /// Skips `( … )`, quotes and all, as far as it goes. Nothing in it is read.
    pub(super) fn parentheses(&mut self) {
        if self.peek() != Some(b'(') {
            return;
        }
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                b'\\' => {
                    self.escape(&mut String::new());
                    continue;
                }
                _ => {}
            }
            self.at = self.text.ceil_char_boundary(self.at + 1);
            if open == 0 {
                return;
            }
        }
    }

    /// `((` that is closed by `))`: arithmetic, not a subshell in a subshell. Looks ahead a line's worth, so that a hostile
    /// text costs no more than it is long.
    pub(super) fn is_arithmetic(&self) -> bool {
        const LOOK_AHEAD: usize = 256;
        let bytes = &self.rest().as_bytes()[..self.rest().len().min(LOOK_AHEAD)];
        let mut open = 0_usize;
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' if open == 2 => return bytes.get(at + 1) == Some(&b')'),
                b')' => open -= 1,
                b'\n' | b'"' | b'\'' => return false,
                _ => {}
            }
        }
        false
    }
}
