//! How much of a text another one repeats.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many words in a row are one shingle.
const WORDS: usize = 3;

/// The runs of three words of a text, as hashes; of a shorter text the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shingles(BTreeSet<u64>);

impl Shingles {
    /// Those of a text, without its case and punctuation.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let words = plain_words(text);
        let hash = |words: &[String]| {
            // Its keys are fixed, so equal texts are equal in every process.
            let mut hasher = DefaultHasher::new();
            words.hash(&mut hasher);
            hasher.finish()
        };
        match words.len() {
            0 => Self::default(),
            1..=WORDS => Self([hash(&words)].into()),
            _ => Self(words.windows(WORDS).map(hash).collect()),
        }
    }

    /// How much two texts have in common, as a share of both together, 0 to 1.
    ///
    /// ```
    /// # use reflexion_memory::curation::Shingles;
    /// let of = Shingles::of;
    /// assert_eq!(of("Start at zero.").likeness(&of("start at zero")), 1.0);
    /// assert_eq!(of("start at zero").likeness(&of("end at ten")), 0.0);
    /// ```
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f64 {
        let common = self.0.intersection(&other.0).count();
        let all = self.0.len() + other.0.len() - common;
        if all == 0 { 0.0 } else { common as f64 / all as f64 }
    }

    /// How much of this text stands in the other one, 0 to 1.
    #[must_use]
    pub fn share_in(&self, other: &Self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.intersection(&other.0).count() as f64 / self.0.len() as f64 }
    }
}

/// The words of a text, without its case and punctuation.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_inside_of_a_longer_one_is_an_echo_and_not_the_same() {
        let (short, long) = (
            "the sum starts at one and not zero",
            "Note: the sum starts at one and not zero, so the total is off by one for all carts",
        );
        let (short, long) = (Shingles::of(short), Shingles::of(long));
        assert!(short.share_in(&long) > 0.99 && long.share_in(&short) < 0.6 && short.likeness(&long) < 0.6);
        let none = Shingles::of("...");
        assert!(none.share_in(&long).abs() < f64::EPSILON && none.likeness(&none).abs() < f64::EPSILON);
    }
}
