//! Which failures are like this one.

use super::key::{CommonTests, Fingerprinted as _};
use super::lesson::Lesson;
use super::terms::{ByHash, hash, terms, terms_of, words};
use super::texts::{Chains, Lines, Texts};
use crate::domain::{FailureKey, FailureKind};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// How fast another occurrence of a word counts less, and how far long texts are held back: the values of Robertson and Zaragoza, *The
/// Probabilistic Relevance Framework: BM25 and Beyond* (2009), §3.5.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// How often a word counts by where it stands (BM25F, §3.6 there, with one length for all fields).
const TEST: u16 = 3;
const CODE: u16 = 3;
const FRAME: u16 = 2;
const LINE: u16 = 1;
/// Of a failure's words so many of the rarest are looked for.
const QUERY_TERMS: usize = 64;
/// A word of more lessons finds none: it counts when candidates are compared, and has no posting list.
const LONGEST_LIST: usize = 4_096;
/// So many entries of posting lists are read to find candidates, rarest word first; about a third of a millisecond.
const POSTINGS: usize = 40_000;
/// So many candidates of each kind are compared exactly.
const CANDIDATES: usize = 64;

/// From this share of common error lines, weighed by how rare they are, failures are similar: of 977 real logs 91 in 100 such pairs were of the
/// same task.
pub const SIMILAR_LINES: f64 = 0.5;
/// From this share of the words' own score; 90 in 100.
pub const SIMILAR_WORDS: f64 = 0.8;

/// What can be found among lessons: in memory, rebuilt from them, and the same for the same lessons in the same order.
///
/// A lesson that stands later in the slice is the newer one.
#[derive(Debug)]
pub struct Index<'a> {
    pub(super) lessons: &'a [Lesson],
    common: CommonTests,
    texts: Texts,
    /// The texts of each lesson with their weights, one lesson behind the other; its lines stand last.
    entries: Vec<(u32, u16)>,
    /// Where the entries of each lesson end, and how many words they weigh.
    docs: Vec<Doc>,
    /// Which lessons hold a word; empty where these are too many. How often is read where candidates are compared.
    postings: Vec<Vec<u32>>,
    /// How many lessons hold a word.
    counts: Vec<u32>,
    mean_length: f64,
    /// Entries that are lines, by the number of their text.
    lines: Lines,
    structures: Chains,
    whole: Chains,
    tasks: Chains,
}

#[derive(Debug, Clone, Copy)]
struct Doc {
    end: u32,
    length: u32,
}

/// How like a lesson's failure is.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Which lesson, from 0.
    pub lesson: usize,
    /// It is the same failure, and by what.
    pub same: Option<Same>,
    /// The share of error lines that both have, weighed by how rare each is, 0 to 1.
    pub lines: f64,
    /// The score of BM25, as a share of what the failure scores against itself, 0 to 1.
    pub words: f64,
    /// The words that count most among those that both have, at most four.
    pub shared: Vec<String>,
}

/// What two failures have in common that makes them one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// Tool, kind, code, failing tests and the innermost frame (F1).
    Structure,
    /// Every error line (F0).
    Lines,
}

impl Match {
    /// Whether it is the same failure or a similar one.
    #[must_use]
    pub fn is_similar(&self) -> bool {
        self.same.is_some() || self.lines >= SIMILAR_LINES || self.words >= SIMILAR_WORDS
    }

    /// By what candidates are put in order: 2 and more is the same failure, below it the mean of both shares.
    #[must_use]
    pub fn score(&self) -> f64 {
        f64::from(u8::from(self.same.is_some())) * 2.0 + f64::midpoint(self.lines, self.words)
    }
}

/// A term of the failure that is looked for.
struct Wanted<'q> {
    term: &'q str,
    often: u16,
    rarity: f64,
}

/// The terms of a failure, the rarest first.
struct WantedTerms<'q> {
    terms: Vec<Wanted<'q>>,
    /// The places of the terms that each word of the index is or has, one word behind the other,
    places: Vec<u8>,
    /// and where those of each word stand; most have none.
    of_word: Vec<(u16, u8)>,
    /// How many words the failure has, by their weights.
    length: u32,
}

impl WantedTerms<'_> {
    /// The places of the terms that a word is or has.
    fn of(&self, word: u32) -> &[u8] {
        let (start, count) = self.of_word[word as usize];
        &self.places[usize::from(start)..usize::from(start) + usize::from(count)]
    }
}

impl<'a> Index<'a> {
    /// Reads the lessons, about 5 µs for each.
    #[must_use]
    pub fn of(lessons: &'a [Lesson]) -> Self {
        let failed = || lessons.iter().map(|l| (l.reflection.task_id.as_str(), l.failure.tests.as_slice()));
        // Two things that need nothing of each other; where there is no second thread, one behind the other.
        let (hashes, common) = std::thread::scope(|scope| {
            let other = std::thread::Builder::new().spawn_scoped(scope, || CommonTests::of(failed())).ok();
            let texts = lessons.iter().flat_map(|lesson| texts_of(&lesson.failure));
            let hashes: Vec<u64> = texts.map(|(text, _)| hash(text)).collect();
            let common = other.and_then(|other| other.join().ok());
            (hashes, common.unwrap_or_else(|| CommonTests::of(failed())))
        });
        let (texts, numbers) = Texts::of(&hashes);
        let mut index = Self {
            lessons,
            common,
            entries: Vec::with_capacity(hashes.len()),
            docs: Vec::with_capacity(lessons.len()),
            postings: Vec::new(),
            counts: Vec::new(),
            mean_length: 1.0,
            lines: Lines::of(texts.count()),
            structures: Chains::of(lessons.len()),
            whole: Chains::of(lessons.len()),
            tasks: Chains::of(lessons.len()),
            texts,
        };
        // The last lesson that each word was seen in.
        let mut seen = Vec::new();
        let mut known = hashes.into_iter().zip(numbers);
        for lesson in lessons {
            index.push(lesson, &mut known, &mut seen);
        }
        let words: u64 = index.docs.iter().map(|doc| u64::from(doc.length)).sum();
        index.mean_length = (words as f64 / lessons.len().max(1) as f64).max(1.0);
        index
    }

    /// The tests that tell nothing, because they fail in many tasks.
    #[must_use]
    pub fn common_tests(&self) -> &CommonTests {
        &self.common
    }

    /// Takes in a lesson; `known` has the hash and the number of each of its texts, and `seen` the last lesson that each word was seen in.
    fn push(&mut self, lesson: &Lesson, known: &mut impl Iterator<Item = (u64, u32)>, seen: &mut Vec<u32>) {
        let failure = &lesson.failure;
        let start = self.entries.len();
        let (mut tests, mut lines, mut tell) = (0u64, 0u64, false);
        for ((text, weight), (hash, number)) in texts_of(failure).zip(known) {
            self.texts.read(number, text);
            self.entries.push((number, weight));
            self.lines.push(number, weight == LINE);
            if weight == LINE {
                lines = lines.wrapping_add(joined(2, hash));
            } else if self.entries.len() - start <= failure.tests.len() && !self.common.holds(text) {
                tests = tests.wrapping_add(joined(1, hash));
                tell = true;
            }
        }
        let structure = failure.head(tell).map(|head| of_structure(head, tests));
        self.structures.push(structure);
        self.whole.push(failure.has_telling_lines().then_some(lines));
        self.tasks.push(Some(hash(&lesson.reflection.task_id)));

        let words = self.texts.count_of_words();
        seen.resize(words, u32::MAX);
        self.counts.resize(words, 0);
        self.postings.resize(words, Vec::new());
        let doc = self.docs.len() as u32;
        let mut length = 0;
        for (text, weight) in &self.entries[start..] {
            let words = self.texts.words_of(*text);
            length += u32::from(*weight) * words.len() as u32;
            for word in words.iter().map(|word| *word as usize) {
                if std::mem::replace(&mut seen[word], doc) == doc {
                    continue;
                }
                self.counts[word] += 1;
                match (self.counts[word] as usize).cmp(&(LONGEST_LIST + 1)) {
                    Ordering::Less => self.postings[word].push(doc),
                    Ordering::Equal => self.postings[word] = Vec::new(),
                    Ordering::Greater => {}
                }
            }
        }
        self.docs.push(Doc { end: self.entries.len() as u32, length });
    }

    /// The hash of what F1 is made of, whatever the order of the tests.
    fn structure_of(&self, failure: &FailureKey) -> Option<u64> {
        let tests: Vec<u64> = failure.telling_tests(&self.common).map(hash).collect();
        let all = tests.iter().fold(0u64, |all, test| all.wrapping_add(joined(1, *test)));
        failure.head(!tests.is_empty()).map(|head| of_structure(head, all))
    }

    /// The hash of what F0 is made of, whatever the order of the lines.
    fn lines_of(failure: &FailureKey) -> Option<u64> {
        let lines = failure.lines.iter().fold(0u64, |all, line| all.wrapping_add(joined(2, hash(line))));
        failure.has_telling_lines().then_some(lines)
    }

    /// Lessons of a task, newest first.
    pub(super) fn of_task(&self, task: &str) -> impl Iterator<Item = usize> {
        self.tasks
            .with(hash(task))
            .map(|doc| doc as usize)
            .filter(move |doc| self.lessons[*doc].reflection.task_id == task)
    }

    /// The lessons whose failures are most like this one, the best first, among those that may be asked for: at most some two hundred. A
    /// failure of the machine is like none.
    ///
    /// Candidates are those with the same fingerprint, the same rare lines and the same rare words; these are compared exactly. Of equal ones the
    /// newer comes first.
    #[must_use]
    pub fn like(&self, failure: &FailureKey, may: impl Fn(usize) -> bool) -> Vec<Match> {
        if failure.kind == FailureKind::Machine || failure.is_empty() {
            return Vec::new();
        }
        let wanted = self.wanted(failure);
        let lines: Vec<Option<u32>> = failure.lines.iter().map(|line| self.texts.known(line)).collect();
        let mut candidates: BTreeMap<u32, Option<Same>> = BTreeMap::new();
        for doc in self.by_words(&wanted, &may).into_iter().chain(self.by_lines(&lines, &may)) {
            candidates.entry(doc).or_insert(None);
        }
        for (doc, same) in self.the_same(failure, &may) {
            candidates.insert(doc, Some(same));
        }
        let mut found: Vec<Match> =
            candidates.into_iter().map(|(doc, same)| self.compared(doc, same, &lines, &wanted)).collect();
        found.sort_by(|a, b| b.score().total_cmp(&a.score()).then(b.lesson.cmp(&a.lesson)));
        found
    }

    /// How much of what a lesson's failure is known by (tests, code, frames) a text names, 0 to 1 by rarity, and by which words; for a text
    /// that is no failure, as that of a task.
    pub(super) fn named_in(&self, text: &str, may: impl Fn(usize) -> bool) -> Vec<(usize, f64, Vec<String>)> {
        let query = FailureKey { lines: vec![text.to_owned()], ..FailureKey::default() };
        let wanted = self.wanted(&query);
        let mut said = BTreeSet::new();
        terms(text, |term| {
            said.insert(hash(term));
        });
        let share = |doc: u32| {
            let failure = &self.lessons[doc as usize].failure;
            let (mut all, mut common) = (0.0, 0.0);
            let mut names: Vec<&str> = Vec::new();
            let mut seen = BTreeSet::new();
            for (name, _) in weighted(failure).filter(|(_, weight)| *weight > LINE) {
                terms(name, |term| {
                    if !seen.insert(hash(term)) {
                        return;
                    }
                    let rarity = self.rarity(term);
                    all += rarity;
                    if said.contains(&hash(term)) {
                        common += rarity;
                        names.push(term);
                    }
                });
            }
            let share = if all > 0.0 { common / all } else { 0.0 };
            (doc as usize, share, names.into_iter().map(str::to_owned).collect())
        };
        self.by_words(&wanted, &may).into_iter().map(share).collect()
    }

    fn entries_of(&self, doc: u32) -> &[(u32, u16)] {
        let doc = doc as usize;
        let start = if doc == 0 { 0 } else { self.docs[doc - 1].end as usize };
        &self.entries[start..self.docs[doc].end as usize]
    }

    /// The terms of a failure, the rarest first, and in the order of the text where they are as rare.
    fn wanted<'q>(&self, failure: &'q FailureKey) -> WantedTerms<'q> {
        let mut wanted: Vec<Wanted<'q>> = Vec::new();
        let mut places: ByHash<usize> = ByHash::default();
        let mut length = 0;
        for (text, weight) in weighted(failure) {
            words(text, |word| {
                length += u32::from(weight);
                terms_of(word, |term| {
                    let place = *places.entry(hash(term)).or_insert(wanted.len());
                    if let Some(known) = wanted.get_mut(place) {
                        known.often = known.often.saturating_add(weight);
                    } else {
                        wanted.push(Wanted { term, often: weight, rarity: self.rarity(term) });
                    }
                });
            });
        }
        wanted.sort_by(|a, b| b.rarity.total_cmp(&a.rarity));
        wanted.truncate(QUERY_TERMS);
        let of_term = |(place, wanted): (u8, &Wanted<'q>)| {
            self.texts.with_term(wanted.term).iter().map(move |word| (*word, place)).collect::<Vec<_>>()
        };
        let mut pairs: Vec<(u32, u8)> = (0u8..).zip(&wanted).flat_map(of_term).take(usize::from(u16::MAX)).collect();
        pairs.sort_unstable();
        let mut of_word = vec![(0u16, 0u8); self.texts.count_of_words()];
        for (at, (word, _)) in (0u16..).zip(&pairs) {
            let (start, count) = &mut of_word[*word as usize];
            *start = if *count == 0 { at } else { *start };
            *count += 1;
        }
        WantedTerms { terms: wanted, places: pairs.into_iter().map(|(_, place)| place).collect(), of_word, length }
    }

    /// How rare a term is: by the lessons of all words that have it, so that one with two such words is counted twice.
    fn rarity(&self, term: &str) -> f64 {
        let docs: usize = self.texts.with_term(term).iter().map(|word| self.counts[*word as usize] as usize).sum();
        self.rarity_of(docs.min(self.docs.len()))
    }

    /// The inverse document frequency of BM25, with the one in it that keeps it positive.
    fn rarity_of(&self, docs: usize) -> f64 {
        let (all, docs) = (self.docs.len() as f64, docs as f64);
        (1.0 + (all - docs + 0.5) / (docs + 0.5)).ln()
    }

    /// What a word adds that occurs so often in a text of such a length.
    fn weight(&self, often: u16, length: u32) -> f64 {
        let often = f64::from(often);
        often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * f64::from(length) / self.mean_length))
    }

    /// Lessons that share the rarest terms, as far as the posting lists are read.
    fn by_words(&self, wanted: &WantedTerms<'_>, may: &impl Fn(usize) -> bool) -> Vec<u32> {
        let mut scores = vec![0f32; self.docs.len()];
        let mut touched = Vec::new();
        let mut left = POSTINGS;
        let words = |term: &Wanted<'_>| self.texts.with_term(term.term).to_vec();
        for (term, word) in wanted.terms.iter().flat_map(|term| words(term).into_iter().map(move |word| (term, word))) {
            let list = &self.postings[word as usize];
            // Of a list that is too long for what is left, the newest.
            let list = &list[list.len().saturating_sub(left)..];
            left -= list.len();
            for doc in list {
                let score = &mut scores[*doc as usize];
                if *score == 0.0 {
                    touched.push(*doc);
                }
                *score += term.rarity as f32;
            }
        }
        let better = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(b.cmp(a));
        best_of(touched, better, |doc| may(*doc as usize))
    }

    /// Lessons that share the rarest lines, newest first.
    fn by_lines(&self, lines: &[Option<u32>], may: &impl Fn(usize) -> bool) -> Vec<u32> {
        let mut known: Vec<u32> = lines.iter().flatten().copied().collect();
        known.sort_by_key(|text| self.lines.count(*text));
        let entries = known.into_iter().flat_map(|text| self.lines.with(text).take(CANDIDATES));
        let docs = entries.map(|entry| self.docs.partition_point(|doc| doc.end <= entry) as u32);
        docs.filter(|doc| may(*doc as usize)).take(CANDIDATES).collect()
    }

    /// Lessons with the same fingerprint, the newest of each, what was hashed compared word for word.
    fn the_same(&self, failure: &FailureKey, may: &impl Fn(usize) -> bool) -> BTreeMap<u32, Same> {
        let mut found = BTreeMap::new();
        let may = |doc: &u32| may(*doc as usize);
        if let (Some(lines), Some(key)) = (failure.sorted_lines(), Self::lines_of(failure)) {
            let equal = |doc: &u32| self.lessons[*doc as usize].failure.sorted_lines().as_ref() == Some(&lines);
            let docs = self.whole.with(key).filter(may).filter(equal).take(CANDIDATES);
            found.extend(docs.map(|doc| (doc, Same::Lines)));
        }
        if let (Some(parts), Some(key)) = (failure.structure(&self.common), self.structure_of(failure)) {
            let equal =
                |doc: &u32| self.lessons[*doc as usize].failure.structure(&self.common).as_ref() == Some(&parts);
            let docs = self.structures.with(key).filter(may).filter(equal).take(CANDIDATES);
            found.extend(docs.map(|doc| (doc, Same::Structure)));
        }
        found
    }

    /// A candidate beside the failure, exactly.
    fn compared(&self, doc: u32, same: Option<Same>, lines: &[Option<u32>], wanted: &WantedTerms<'_>) -> Match {
        let mut often = [0u16; QUERY_TERMS];
        for (text, weight) in self.entries_of(doc) {
            for place in self.texts.words_of(*text).iter().flat_map(|word| wanted.of(*word)) {
                let often = &mut often[usize::from(*place)];
                *often = often.saturating_add(*weight);
            }
        }
        let length = self.docs[doc as usize].length;
        let (mut score, mut best) = (0.0, 0.0);
        let mut shared: Vec<(f64, &str)> = Vec::new();
        for (term, often) in wanted.terms.iter().zip(often) {
            best += term.rarity * self.weight(term.often, wanted.length);
            if often > 0 {
                let adds = term.rarity * self.weight(often, length);
                score += adds;
                shared.push((adds, term.term));
            }
        }
        shared.sort_by(|a, b| b.0.total_cmp(&a.0));
        Match {
            lesson: doc as usize,
            same,
            lines: self.common_lines(doc, lines),
            words: if best > 0.0 { (score / best).min(1.0) } else { 0.0 },
            shared: shared.into_iter().take(4).map(|(_, word)| word.to_owned()).collect(),
        }
    }

    /// The weighted Jaccard index of the two sets of lines.
    fn common_lines(&self, doc: u32, lines: &[Option<u32>]) -> f64 {
        let theirs: BTreeSet<u32> =
            self.entries_of(doc).iter().filter(|(_, weight)| *weight == LINE).map(|(text, _)| *text).collect();
        let rarity = |text: u32| self.rarity_of(self.lines.count(text));
        let (mut both, mut either) = (0.0, theirs.iter().map(|text| rarity(*text)).sum::<f64>());
        for line in lines {
            match line {
                Some(text) if theirs.contains(text) => both += rarity(*text),
                Some(text) => either += rarity(*text),
                None => either += self.rarity_of(0),
            }
        }
        if either > 0.0 { (both / either).min(1.0) } else { 0.0 }
    }
}

/// The best candidates that are allowed, the best first. Who may be asked is looked up for as few as possible: it costs more than the score.
fn best_of(mut all: Vec<u32>, better: impl Fn(&u32, &u32) -> Ordering, may: impl Fn(&u32) -> bool) -> Vec<u32> {
    let mut best = Vec::new();
    let mut rest = all.as_mut_slice();
    let mut some = 4 * CANDIDATES;
    while best.len() < CANDIDATES && !rest.is_empty() {
        if some < rest.len() {
            rest.select_nth_unstable_by(some, &better);
        }
        let (first, behind) = rest.split_at_mut(some.min(rest.len()));
        first.sort_unstable_by(&better);
        best.extend(first.iter().copied().filter(&may).take(CANDIDATES - best.len()));
        (rest, some) = (behind, some * 4);
    }
    best
}

/// What a failure is found by, with the weight of each; its lines stand last.
fn weighted(failure: &FailureKey) -> impl Iterator<Item = (&str, u16)> {
    fn with(texts: &[String], weight: u16) -> impl Iterator<Item = (&str, u16)> {
        texts.iter().map(move |text| (text.as_str(), weight))
    }
    with(&failure.tests, TEST)
        .chain(failure.code.iter().map(|code| (code.as_str(), CODE)))
        .chain(with(&failure.frames, FRAME))
        .chain(with(&failure.lines, LINE))
}

/// What is found by, of a failure that is matched at all.
fn texts_of(failure: &FailureKey) -> impl Iterator<Item = (&str, u16)> {
    weighted(failure).take(if failure.kind == FailureKind::Machine { 0 } else { usize::MAX })
}

fn of_structure(head: [&str; 4], tests: u64) -> u64 {
    head.iter().fold(0, |all: u64, part| joined(all, hash(part))).wrapping_add(tests)
}

/// A hash that depends on where another one stands.
fn joined(all: u64, hash: u64) -> u64 {
    (all.rotate_left(23) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
