//! Which failures are like this one.

use super::key::{CommonTests, FailureKey, Kind};
use super::lesson::Lesson;
use super::terms::{ByHash, hash, terms};
use super::texts::{Chains, Texts};
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
/// So many entries of posting lists are read to find candidates, rarest word first; about a millisecond.
const POSTINGS: usize = 150_000;
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
    postings: Vec<Vec<(u32, u16)>>,
    mean_length: f64,
    /// Entries that are lines, by the number of their text; others have no key.
    lines: Chains,
    line_counts: Vec<u32>,
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

/// A word of the failure that is looked for.
struct Wanted<'q> {
    word: &'q str,
    /// In the index, if it is there.
    number: Option<u32>,
    often: u16,
    rarity: f64,
}

impl<'a> Index<'a> {
    /// Reads the lessons, about 2 µs for each.
    #[must_use]
    pub fn of(lessons: &'a [Lesson]) -> Self {
        let failed = lessons.iter().map(|lesson| (lesson.reflection.task_id.as_str(), lesson.failure.tests.as_slice()));
        let mut index = Self {
            lessons,
            common: CommonTests::of(failed),
            texts: Texts::default(),
            entries: Vec::with_capacity(lessons.len() * 8),
            docs: Vec::with_capacity(lessons.len()),
            postings: Vec::new(),
            mean_length: 1.0,
            lines: Chains::default(),
            line_counts: Vec::new(),
            structures: Chains::default(),
            whole: Chains::default(),
            tasks: Chains::default(),
        };
        // How often each term occurs in the lesson that is being read.
        let mut often: Vec<u16> = Vec::new();
        for lesson in lessons {
            index.push(lesson, &mut often);
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

    fn push(&mut self, lesson: &Lesson, often: &mut Vec<u16>) {
        let failure = &lesson.failure;
        let start = self.entries.len();
        if failure.kind != Kind::Machine {
            for (text, weight) in weighted(failure) {
                let number = self.texts.number(text);
                let is_line = weight == LINE;
                self.entries.push((number, weight));
                self.lines.push(is_line.then_some(u64::from(number)));
                self.line_counts.resize(self.texts.count(), 0);
                self.line_counts[number as usize] += u32::from(is_line);
            }
        }
        self.structures.push(failure.structure(&self.common).map(|parts| of_all(&parts)));
        self.whole.push(failure.sorted_lines().map(|lines| of_all(&lines)));
        self.tasks.push(Some(hash(&lesson.reflection.task_id)));

        often.resize(self.texts.count_of_terms(), 0);
        self.postings.resize(self.texts.count_of_terms(), Vec::new());
        let doc = self.docs.len() as u32;
        let mut length = 0;
        // Twice over the texts: the first counts, the second takes what was counted away.
        for (text, weight) in &self.entries[start..] {
            for term in self.texts.terms_of(*text) {
                let count = &mut often[*term as usize];
                *count = count.saturating_add(*weight);
            }
        }
        for (text, _) in &self.entries[start..] {
            for term in self.texts.terms_of(*text) {
                let count = std::mem::take(&mut often[*term as usize]);
                if count > 0 {
                    length += u32::from(count);
                    self.postings[*term as usize].push((doc, count));
                }
            }
        }
        self.docs.push(Doc { end: self.entries.len() as u32, length });
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
        if failure.kind == Kind::Machine || failure.is_empty() {
            return Vec::new();
        }
        let wanted = self.wanted(failure);
        let mut candidates: BTreeMap<u32, Option<Same>> = BTreeMap::new();
        for doc in self.by_words(&wanted, &may).into_iter().chain(self.by_lines(failure, &may)) {
            candidates.entry(doc).or_insert(None);
        }
        for (doc, same) in self.the_same(failure, &may) {
            candidates.insert(doc, Some(same));
        }
        let mut found: Vec<Match> =
            candidates.into_iter().map(|(doc, same)| self.compared(doc, same, failure, &wanted)).collect();
        found.sort_by(|a, b| b.score().total_cmp(&a.score()).then(b.lesson.cmp(&a.lesson)));
        found
    }

    /// How much of what a lesson's failure is known by (tests, code, frames) a text names, 0 to 1 by rarity, and by which words; for a text
    /// that is no failure, as that of a task.
    pub(super) fn named_in(&self, text: &str, may: impl Fn(usize) -> bool) -> Vec<(usize, f64, Vec<String>)> {
        let query = FailureKey { lines: vec![text.to_owned()], ..FailureKey::default() };
        let wanted = self.wanted(&query);
        let words: ByHash<&str> =
            wanted.iter().filter_map(|wanted| Some((u64::from(wanted.number?), wanted.word))).collect();
        let share = |doc: u32| {
            let names: BTreeSet<u32> = self
                .entries_of(doc)
                .iter()
                .filter(|(_, weight)| *weight > LINE)
                .flat_map(|(text, _)| self.texts.terms_of(*text))
                .copied()
                .collect();
            let all: f64 = names.iter().map(|term| self.rarity(*term)).sum();
            let common: Vec<u32> = names.into_iter().filter(|term| words.contains_key(&u64::from(*term))).collect();
            let share = common.iter().map(|term| self.rarity(*term)).sum::<f64>() / all.max(f64::MIN_POSITIVE);
            (doc as usize, share, common.iter().map(|term| words[&u64::from(*term)].to_owned()).collect())
        };
        self.by_words(&wanted, &may).into_iter().map(share).collect()
    }

    fn entries_of(&self, doc: u32) -> &[(u32, u16)] {
        let doc = doc as usize;
        let start = if doc == 0 { 0 } else { self.docs[doc - 1].end as usize };
        &self.entries[start..self.docs[doc].end as usize]
    }

    /// The words of a failure, the rarest first, and in the order of the text where they are as rare.
    fn wanted<'q>(&self, failure: &'q FailureKey) -> Vec<Wanted<'q>> {
        let mut wanted: Vec<Wanted<'q>> = Vec::new();
        let mut places: ByHash<usize> = ByHash::default();
        for (text, weight) in weighted(failure) {
            terms(text, |word| {
                let place = *places.entry(hash(word)).or_insert(wanted.len());
                if let Some(known) = wanted.get_mut(place) {
                    known.often = known.often.saturating_add(weight);
                } else {
                    let number = self.texts.term(word);
                    let rarity = number.map_or_else(|| self.rarity_of(0), |number| self.rarity(number));
                    wanted.push(Wanted { word, number, often: weight, rarity });
                }
            });
        }
        wanted.sort_by(|a, b| b.rarity.total_cmp(&a.rarity));
        wanted.truncate(QUERY_TERMS);
        wanted
    }

    fn rarity(&self, term: u32) -> f64 {
        self.rarity_of(self.postings[term as usize].len())
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

    /// Lessons that share the rarest words, as far as the posting lists are read.
    fn by_words(&self, wanted: &[Wanted<'_>], may: &impl Fn(usize) -> bool) -> Vec<u32> {
        let mut scores = vec![0f32; self.docs.len()];
        let mut touched = Vec::new();
        let mut left = POSTINGS;
        for term in wanted {
            let Some(number) = term.number else { continue };
            let list = &self.postings[number as usize];
            // The newest of a list that is too long for what is left.
            let list = &list[list.len().saturating_sub(left)..];
            left -= list.len();
            for (doc, often) in list {
                let score = &mut scores[*doc as usize];
                if *score == 0.0 {
                    touched.push(*doc);
                }
                *score += (term.rarity * self.weight(*often, self.docs[*doc as usize].length)) as f32;
            }
        }
        touched.retain(|doc| may(*doc as usize));
        let better = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(b.cmp(a));
        if touched.len() > CANDIDATES {
            touched.select_nth_unstable_by(CANDIDATES, better);
            touched.truncate(CANDIDATES);
        }
        touched
    }

    /// Lessons that share the rarest lines, newest first.
    fn by_lines(&self, failure: &FailureKey, may: &impl Fn(usize) -> bool) -> Vec<u32> {
        let mut known: Vec<u32> = failure.lines.iter().filter_map(|line| self.texts.known(line)).collect();
        known.sort_by_key(|text| self.line_counts[*text as usize]);
        let entries = known.into_iter().flat_map(|text| self.lines.with(u64::from(text)).take(CANDIDATES));
        let docs = entries.map(|entry| self.docs.partition_point(|doc| doc.end <= entry) as u32);
        docs.filter(|doc| may(*doc as usize)).take(CANDIDATES).collect()
    }

    /// Lessons with the same fingerprint, the newest of each, what was hashed compared word for word.
    fn the_same(&self, failure: &FailureKey, may: &impl Fn(usize) -> bool) -> BTreeMap<u32, Same> {
        let mut found = BTreeMap::new();
        let may = |doc: &u32| may(*doc as usize);
        if let Some(lines) = failure.sorted_lines() {
            let equal = |doc: &u32| self.lessons[*doc as usize].failure.sorted_lines().as_ref() == Some(&lines);
            let docs = self.whole.with(of_all(&lines)).filter(may).filter(equal).take(CANDIDATES);
            found.extend(docs.map(|doc| (doc, Same::Lines)));
        }
        if let Some(parts) = failure.structure(&self.common) {
            let equal =
                |doc: &u32| self.lessons[*doc as usize].failure.structure(&self.common).as_ref() == Some(&parts);
            let docs = self.structures.with(of_all(&parts)).filter(may).filter(equal).take(CANDIDATES);
            found.extend(docs.map(|doc| (doc, Same::Structure)));
        }
        found
    }

    /// A candidate beside the failure, exactly.
    fn compared(&self, doc: u32, same: Option<Same>, failure: &FailureKey, wanted: &[Wanted<'_>]) -> Match {
        let mut often: BTreeMap<u32, u16> = BTreeMap::new();
        for (text, weight) in self.entries_of(doc) {
            for term in self.texts.terms_of(*text) {
                let count = often.entry(*term).or_default();
                *count = count.saturating_add(*weight);
            }
        }
        let (length, own_length) = (self.docs[doc as usize].length, wanted.iter().map(|w| u32::from(w.often)).sum());
        let (mut score, mut best) = (0.0, 0.0);
        let mut shared: Vec<(f64, &str)> = Vec::new();
        for term in wanted {
            best += term.rarity * self.weight(term.often, own_length);
            if let Some(often) = term.number.and_then(|number| often.get(&number)) {
                let adds = term.rarity * self.weight(*often, length);
                score += adds;
                shared.push((adds, term.word));
            }
        }
        shared.sort_by(|a, b| b.0.total_cmp(&a.0));
        Match {
            lesson: doc as usize,
            same,
            lines: self.common_lines(doc, failure),
            words: if best > 0.0 { (score / best).min(1.0) } else { 0.0 },
            shared: shared.into_iter().take(4).map(|(_, word)| word.to_owned()).collect(),
        }
    }

    /// The weighted Jaccard index of the two sets of lines.
    fn common_lines(&self, doc: u32, failure: &FailureKey) -> f64 {
        let theirs: BTreeSet<u32> =
            self.entries_of(doc).iter().filter(|(_, weight)| *weight == LINE).map(|(text, _)| *text).collect();
        let rarity = |text: u32| self.rarity_of(self.line_counts[text as usize] as usize);
        let (mut both, mut either) = (0.0, theirs.iter().map(|text| rarity(*text)).sum::<f64>());
        for line in &failure.lines {
            match self.texts.known(line) {
                Some(text) if theirs.contains(&text) => both += rarity(text),
                Some(text) => either += rarity(text),
                None => either += self.rarity_of(0),
            }
        }
        if either > 0.0 { (both / either).min(1.0) } else { 0.0 }
    }
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

/// The hash of a list of texts.
fn of_all(texts: &[&str]) -> u64 {
    texts
        .iter()
        .fold(texts.len() as u64, |all, text| (all.rotate_left(23) ^ hash(text)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
