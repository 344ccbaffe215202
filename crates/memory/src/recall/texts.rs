//! Texts as numbers: every distinct line, test id, code and frame of a memory once, with its terms.

use super::terms::{ByHash, hash, terms_of, words};

/// No such entry.
const NONE: u32 = u32::MAX;

/// Distinct texts, each with the numbers of its words. A text that occurs in ten thousand lessons is split into words once, and a word into its
/// parts once.
///
/// Texts are told apart by sorting their hashes: a table of a million of them would miss the cache at each one.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// The hash of each text, sorted: its place is the number of the text.
    hashes: Vec<u64>,
    word_numbers: ByHash<u32>,
    /// Words that are a term, or have it for a part.
    with_term: ByHash<Vec<u32>>,
    /// The words of all texts, one text behind the other.
    words: Vec<u32>,
    /// Where the words of each text stand.
    spans: Vec<(u32, u32)>,
}

impl Texts {
    /// The texts with these hashes, and the number of each; their words are not known yet.
    pub(super) fn of(hashes: &[u64]) -> (Self, Vec<u32>) {
        let mut sorted: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let mut new = Self { words: Vec::with_capacity(hashes.len() * 4), ..Self::default() };
        let mut numbers = vec![0; hashes.len()];
        for (hash, entry) in sorted {
            if new.hashes.last() != Some(&hash) {
                new.hashes.push(hash);
            }
            numbers[entry as usize] = new.hashes.len() as u32 - 1;
        }
        new.spans = vec![(NONE, NONE); new.hashes.len()];
        (new, numbers)
    }

    /// Reads the words of a text, if that was not done before.
    pub(super) fn read(&mut self, number: u32, text: &str) {
        let Self { word_numbers, with_term, words: all, spans, .. } = self;
        let span = &mut spans[number as usize];
        if span.0 != NONE {
            return;
        }
        span.0 = all.len() as u32;
        words(text, |word| {
            let next = word_numbers.len() as u32;
            let number = *word_numbers.entry(hash(word)).or_insert(next);
            if number == next {
                terms_of(word, |term| {
                    let with = with_term.entry(hash(term)).or_default();
                    // A name may hold the same part twice.
                    if with.last() != Some(&number) {
                        with.push(number);
                    }
                });
            }
            all.push(number);
        });
        span.1 = all.len() as u32;
    }

    /// The number of a text, if it is known.
    pub(super) fn known(&self, text: &str) -> Option<u32> {
        self.hashes.binary_search(&hash(text)).ok().map(|number| number as u32)
    }

    /// The words that are a term, or have it for a part.
    pub(super) fn with_term(&self, term: &str) -> &[u32] {
        self.with_term.get(&hash(term)).map_or(&[], Vec::as_slice)
    }

    /// The words of a text, as often as they occur.
    pub(super) fn words_of(&self, text: u32) -> &[u32] {
        let (start, end) = self.spans[text as usize];
        &self.words[start as usize..end as usize]
    }

    pub(super) fn count(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn count_of_words(&self) -> usize {
        self.word_numbers.len()
    }
}

/// Lists of numbers by a key, newest first, in two flat arrays: each number names the one before it with the same key.
#[derive(Debug, Default)]
pub(super) struct Chains {
    last: ByHash<u32>,
    before: Vec<u32>,
}

impl Chains {
    /// None yet, and room for so many.
    pub(super) fn of(numbers: usize) -> Self {
        let mut new = Self::default();
        new.last.reserve(numbers);
        new.before.reserve(numbers);
        new
    }

    /// Gives the next number, which counts from 0, a key, or none.
    pub(super) fn push(&mut self, key: Option<u64>) {
        let next = self.before.len() as u32;
        self.before.push(key.and_then(|key| self.last.insert(key, next)).unwrap_or(NONE));
    }

    /// The numbers with a key, newest first.
    pub(super) fn with(&self, key: u64) -> impl Iterator<Item = u32> {
        let first = self.last.get(&key).copied();
        std::iter::successors(first, |number| Some(self.before[*number as usize]).filter(|before| *before != NONE))
    }
}

/// Which entries are which line, newest first.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The last entry of each text, and how many there are.
    last: Vec<(u32, u32)>,
    before: Vec<u32>,
}

impl Lines {
    /// None yet, of so many texts.
    pub(super) fn of(texts: usize) -> Self {
        Self { last: vec![(NONE, 0); texts], before: Vec::new() }
    }

    /// The next entry is this text, which is a line or something else.
    pub(super) fn push(&mut self, text: u32, is_line: bool) {
        let (last, count) = &mut self.last[text as usize];
        let next = self.before.len() as u32;
        self.before.push(if is_line { std::mem::replace(last, next) } else { NONE });
        *count += u32::from(is_line);
    }

    /// How many entries are this line.
    pub(super) fn count(&self, text: u32) -> usize {
        self.last.get(text as usize).map_or(0, |(_, count)| *count as usize)
    }

    /// The entries that are this line.
    pub(super) fn with(&self, text: u32) -> impl Iterator<Item = u32> {
        let known = |entry: u32| Some(entry).filter(|entry| *entry != NONE);
        let first = self.last.get(text as usize).and_then(|(last, _)| known(*last));
        std::iter::successors(first, move |entry| known(self.before[*entry as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_number_and_its_words_are_found_by_their_parts() {
        let all = ["parse_date of date", "the date", "parse_date of date"];
        let (mut texts, numbers) = Texts::of(&all.map(hash));
        for (number, text) in numbers.iter().zip(all) {
            texts.read(*number, text);
        }
        assert!(numbers[0] == numbers[2] && numbers[0] != numbers[1] && texts.count() == 2);
        assert_eq!((texts.words_of(numbers[0]), texts.words_of(numbers[1])), ([0, 1, 2].as_slice(), [3, 2].as_slice()));
        assert_eq!((texts.with_term("DATE"), texts.with_term("parse_date")), ([0, 2].as_slice(), [0].as_slice()));
        assert!(texts.with_term("none").is_empty());
        assert_eq!(
            (texts.count_of_words(), texts.known("the date"), texts.known("a date")),
            (4, Some(numbers[1]), None)
        );
    }

    #[test]
    fn lines_are_entries_by_their_text() {
        let mut lines = Lines::of(3);
        for (text, is_line) in [(0, true), (1, false), (2, true), (0, true), (0, false)] {
            lines.push(text, is_line);
        }
        assert_eq!((lines.with(0).collect::<Vec<_>>(), lines.count(0)), (vec![3, 0], 2));
        assert_eq!((lines.with(1).count(), lines.count(1), lines.with(9).count()), (0, 0, 0));
    }

    #[test]
    fn chains_are_read_from_the_newest() {
        let mut chains = Chains::default();
        for key in [Some(7), None, Some(8), Some(7)] {
            chains.push(key);
        }
        assert_eq!(chains.with(7).collect::<Vec<_>>(), [3, 0]);
        assert_eq!(chains.with(8).collect::<Vec<_>>(), [2]);
        assert_eq!(chains.with(9).count(), 0);
    }
}
