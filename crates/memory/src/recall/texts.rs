//! Texts as numbers: every distinct line, test id, code and frame of a memory once, with its terms.

use super::terms::{ByHash, hash, terms};
use std::collections::hash_map::Entry;

/// No such entry.
const NONE: u32 = u32::MAX;

/// Distinct texts in the order in which they came, each with the numbers of its terms. A text that occurs in ten thousand lessons is split
/// into words once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: ByHash<u32>,
    term_numbers: ByHash<u32>,
    /// The terms of all texts, one text behind the other.
    terms: Vec<u32>,
    /// Where the terms of each text end.
    ends: Vec<u32>,
}

impl Texts {
    /// The number of a text, which is new if it was not known.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let new = self.ends.len() as u32;
        match self.numbers.entry(hash(text)) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(place) => place.insert(new),
        };
        terms(text, |term| {
            let next = self.term_numbers.len() as u32;
            self.terms.push(*self.term_numbers.entry(hash(term)).or_insert(next));
        });
        self.ends.push(self.terms.len() as u32);
        new
    }

    /// The number of a text, if it is known.
    pub(super) fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(&hash(text)).copied()
    }

    /// The number of a term, if it is known.
    pub(super) fn term(&self, term: &str) -> Option<u32> {
        self.term_numbers.get(&hash(term)).copied()
    }

    /// The terms of a text, as often as they occur.
    pub(super) fn terms_of(&self, text: u32) -> &[u32] {
        let text = text as usize;
        let start = if text == 0 { 0 } else { self.ends[text - 1] as usize };
        &self.terms[start..self.ends[text] as usize]
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn count_of_terms(&self) -> usize {
        self.term_numbers.len()
    }
}

/// Lists of numbers by a key, newest first, in two flat arrays: each number names the one before it with the same key.
#[derive(Debug, Default)]
pub(super) struct Chains {
    last: ByHash<u32>,
    before: Vec<u32>,
}

impl Chains {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_number_and_shares_its_terms() {
        let mut texts = Texts::default();
        let (first, second) = (texts.number("parse the date"), texts.number("the file"));
        assert_eq!((first, second, texts.number("parse the date"), texts.count()), (0, 1, 0, 2));
        assert_eq!(texts.terms_of(0)[1], texts.terms_of(1)[0]);
        assert_eq!((texts.count_of_terms(), texts.term("FILE"), texts.term("none")), (4, Some(3), None));
        assert_eq!((texts.known("the file"), texts.known("a file")), (Some(1), None));
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
