//! Lessons as words in sentences.

/// What stands around a word and is none of it.
const OPENS: &[char] = &['`', '"', '\'', '(', '[', '{', '*', '“', '‘', '‚', '„'];
const CLOSES: &[char] = &['`', '"', '\'', ')', ']', '}', '*', '”', '’'];
const ENDS: &[char] = &['.', '!', '?', ';', ':', '…'];

/// A word of a text.
#[derive(Debug, Clone)]
pub(super) struct Word<'a> {
    /// Without what stands around it.
    pub text: &'a str,
    /// The same in lower case.
    pub lower: String,
    /// It stands between backticks.
    pub code: bool,
    /// A comma stands behind it.
    pub comma: bool,
}

impl Word<'_> {
    /// A word of prose: no code, no name, no number.
    pub fn is_prose(&self) -> bool {
        let name = self.text.chars().skip(1).any(|c| c.is_ascii_uppercase());
        !self.code && !name && self.text.len() > 1 && self.text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'\'')
    }
}

/// The sentences of a text. A line, a colon, a dash and brackets end one, too.
pub(super) fn sentences(text: &str) -> Vec<Vec<Word<'_>>> {
    let mut all = vec![Vec::new()];
    for line in text.lines() {
        let mut code = false;
        for raw in line.split_whitespace() {
            let ticks = raw.matches('`').count();
            let in_code = code || ticks > 0;
            code ^= ticks % 2 == 1;
            let body = raw.trim_start_matches(OPENS);
            if raw.starts_with('(') && !code {
                all.push(Vec::new());
            }
            let closed = raw.trim_end_matches(CLOSES);
            let word = body.trim_end_matches(|c| CLOSES.contains(&c) || ENDS.contains(&c) || c == ',');
            if let Some(sentence) = all.last_mut()
                && word.contains(|c: char| c.is_alphanumeric() || c == '|' || c == '&')
            {
                sentence.push(Word {
                    text: word,
                    lower: word.to_lowercase(),
                    code: in_code,
                    comma: closed.ends_with(','),
                });
            }
            let brackets = raw.matches(')').count() > raw.matches('(').count();
            let is_dash = ["-", "--", "–", "—"].contains(&raw);
            if (!code && brackets) || is_dash || closed.ends_with(ENDS) {
                all.push(Vec::new());
            }
        }
        all.push(Vec::new());
    }
    all.retain(|sentence| !sentence.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_alone_and_sentences_end_where_a_reader_stops() {
        let read = |text| {
            let plain = |sentence: Vec<Word<'_>>| sentence.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
            sentences(text).into_iter().map(plain).collect::<Vec<_>>()
        };
        assert_eq!(
            read("Read `a.b()` first: it (the pool) is \"empty\"."),
            ["Read a.b( first", "it", "the pool", "is empty"]
        );
        assert_eq!(read("a_b — remove\n- and `x = y`, then"), ["a_b", "remove", "and x y then"]);
        let words = sentences("Keep `let x`, and Go2 don't").remove(0);
        assert_eq!(
            words.iter().map(|w| (w.code, w.comma)).collect::<Vec<_>>()[1..4],
            [(true, false), (true, true), (false, false)]
        );
        assert_eq!(words.iter().filter(|word| word.is_prose()).count(), 3);
    }
}
