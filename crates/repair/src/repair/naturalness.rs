//! How natural an edit makes the code look, measured against the project's own code.
//!
//! Code repeats itself, and buggy lines are less predictable than their repairs (Hindle et al., ICSE 2012; Ray et al., "On the
//! naturalness of buggy code", ICSE 2016). An interpolated model of three tokens is counted over the workspace's files of one
//! language; the place in question does not count for itself.

use super::edits::Edit;
use super::source::Source;
use super::token::{Kind, Language, tokens};
use std::collections::HashMap;

/// Counts of one, two and three tokens in a row.
#[derive(Debug, Default)]
pub(super) struct Model {
    words: HashMap<String, u32>,
    counts: HashMap<[u32; 3], f64>,
    total: f64,
}

/// Stands before a shorter row of tokens in `counts`.
const NONE: u32 = u32::MAX;
/// A token that the project does not have elsewhere.
const UNKNOWN: u32 = u32::MAX - 1;
/// Weights of three, two and one token; the rest is spread evenly. Usual values; other ones change little.
const WEIGHTS: [f64; 3] = [0.4, 0.35, 0.2];
/// How far a single place may go up or down, in natural logarithms.
const LIMIT: f64 = 6.0;

impl Model {
    pub(super) fn of<'a>(sources: impl Iterator<Item = &'a Source>) -> Self {
        let mut model = Self::default();
        for source in sources {
            let ids: Vec<u32> = (0..source.tokens.len())
                .map(|i| {
                    let next = u32::try_from(model.words.len()).unwrap_or(UNKNOWN);
                    *model.words.entry(class(source.kind(i), source.word(i)).to_owned()).or_insert(next)
                })
                .collect();
            for at in 0..ids.len() {
                for row in rows(&ids, at) {
                    *model.counts.entry(row).or_default() += 1.0;
                }
            }
            model.total += ids.len() as f64;
        }
        model
    }

    /// By how much likelier the text is after the edit than before, as a natural logarithm between -6 and 6.
    pub(super) fn gain(&self, source: &Source, edit: &Edit) -> f64 {
        let from = edit.token;
        let to =
            (from..source.tokens.len()).find(|i| source.tokens[*i].start >= edit.end).unwrap_or(source.tokens.len());
        let known = |kind, word: &str| self.words.get(class(kind, word)).copied().unwrap_or(UNKNOWN);
        let at = |i: usize| known(source.kind(i), source.word(i));
        let before: Vec<u32> = (from.saturating_sub(2)..from).map(at).collect();
        let after: Vec<u32> = (to..(to + 2).min(source.tokens.len())).map(at).collect();
        let old: Vec<u32> = (from..to).map(at).collect();
        let new: Vec<u32> =
            tokens(&edit.new, source.language).iter().map(|t| known(Some(t.kind), &edit.new[t.start..t.end])).collect();
        let row = |middle: &[u32]| [&before, middle, &after].concat();
        let (old, new) = (row(&old), row(&new));
        let mut own: HashMap<[u32; 3], f64> = HashMap::new();
        for place in before.len()..old.len() {
            for row in rows(&old, place) {
                *own.entry(row).or_default() += 1.0;
            }
        }
        // The mean, so that an edit that adds a token does not lose by the length alone.
        let mean = |row: &[u32]| {
            let places = before.len()..row.len();
            let count = places.len().max(1) as f64;
            places.map(|place| self.chance(row, place, &own).ln()).sum::<f64>() / count
        };
        ((mean(&new) - mean(&old)) * old.len().saturating_sub(before.len()).max(1) as f64).clamp(-LIMIT, LIMIT)
    }

    fn chance(&self, row: &[u32], place: usize, own: &HashMap<[u32; 3], f64>) -> f64 {
        let count = |key: [u32; 3]| (self.counts.get(&key).unwrap_or(&0.0) - own.get(&key).unwrap_or(&0.0)).max(0.0);
        let back = |n: usize| place.checked_sub(n).map_or(NONE, |i| row[i]);
        let (token, one, two) = (row[place], back(1), back(2));
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let three = share(count([two, one, token]), count([NONE, two, one]));
        let pair = share(count([NONE, one, token]), count([NONE, NONE, one]));
        let single = share(count([NONE, NONE, token]), self.total);
        let rest = (1.0 - WEIGHTS.iter().sum::<f64>()) / (self.words.len() as f64 + 1.0);
        WEIGHTS[0] * three.min(1.0) + WEIGHTS[1] * pair.min(1.0) + WEIGHTS[2] * single + rest
    }
}

/// The rows of three, two and one tokens that end here.
fn rows(ids: &[u32], at: usize) -> [[u32; 3]; 3] {
    let back = |n: usize| at.checked_sub(n).map_or(NONE - 2, |i| ids[i]);
    [[back(2), back(1), ids[at]], [NONE, back(1), ids[at]], [NONE, NONE, ids[at]]]
}

/// Strings count as one kind of token.
fn class(kind: Option<Kind>, word: &str) -> &str {
    match kind {
        Some(Kind::Text) if word.len() > 2 => "\"…\"",
        _ => word,
    }
}

/// One model for each language that the files are written in, of all that the project has in it.
pub(super) fn models(sources: &[Source], files: &[usize]) -> HashMap<Language, Model> {
    let mut models = HashMap::new();
    for &file in files {
        let language = sources[file].language;
        models.entry(language).or_insert_with(|| Model::of(sources.iter().filter(|s| s.language == language)));
    }
    models
}

#[cfg(test)]
mod tests {
    use super::super::edits::edits;
    use super::*;

    #[test]
    fn what_the_project_does_elsewhere_is_more_natural() {
        let usual = "def f(a):\n    if a is not None:\n        count += 1\n";
        let odd = "def g(a):\n    if a is None:\n        count -= 1\n";
        let text = format!("{}{odd}", usual.repeat(4));
        let source = Source::new("a.py".into(), text, Language::Python);
        let model = Model::of(std::iter::once(&source));
        let gain = |line: u32, new: &str| {
            let edits = edits(&source);
            let edit = edits.iter().find(|e| source.tokens[e.token].line == line && e.new == new).unwrap();
            model.gain(&source, edit)
        };
        assert!(gain(14, "is not") > 0.5, "{}", gain(14, "is not"));
        assert!(gain(15, "+=") > 0.5, "{}", gain(15, "+="));
        assert!(gain(2, "is") < 0.0, "{}", gain(2, "is"));
        assert!(gain(3, "-=") < 0.0, "{}", gain(3, "-="));
    }
}
