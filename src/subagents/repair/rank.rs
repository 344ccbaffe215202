//! Which edit comes next.

use super::briefing::Briefing;
use super::edits::Edit;
use super::edits::edits;
use super::evidence::Evidence;
use super::naturalness::models;
use super::oddity::oddity;
use super::source::Source;
use super::suspicion::Suspicion;
use super::tried::Name;
use super::tried::Tried;
use super::tried::name;
use std::collections::HashMap;

/// An edit with its place in the list of sources and its name.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) file: usize,
    pub(super) edit: Edit,
    pub(super) name: Name,
    pub(super) score: f64,
}

/// How much the place counts against the kind of edit.
const PLACE: f64 = 1.2;
/// How much naturalness counts.
const NATURAL: f64 = 0.35;
/// A unit with many possible edits is likelier to hold the fault, but each of them is less likely to be the right one.
const SIZE: f64 = 0.5;
/// What an edit loses for every tried one on its line, and in its unit: early attempts should differ.
const SAME_LINE: f64 = 0.6;
const SAME_UNIT: f64 = 0.9;

/// Every edit that is neither tried nor in a protected file, best first; equal ones in the order of files and text.
pub(super) fn candidates(sources: &[Source], briefing: &Briefing<'_>, tried: &Tried) -> Vec<Candidate> {
    let evidence = Evidence::read(briefing.output);
    let suspicion = Suspicion::new(sources, &evidence, briefing.task);
    let models = models(sources);
    let mut tried_lines: HashMap<(usize, u32), i32> = HashMap::new();
    let mut tried_units: HashMap<(usize, usize), i32> = HashMap::new();
    let mut out = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        if source.is_test || briefing.checks.contains(&source.path) {
            continue;
        }
        let edits = edits(source);
        let mut sizes: HashMap<usize, f64> = HashMap::new();
        for edit in &edits {
            *sizes.entry(edit.unit).or_default() += edit.rule.weight();
        }
        for edit in edits {
            let name = name(source, &edit);
            let line = source.tokens[edit.token].line;
            if tried.contains(name) {
                *tried_lines.entry((file, line)).or_default() += 1;
                *tried_units.entry((file, edit.unit)).or_default() += 1;
                continue;
            }
            let hints: f64 = evidence.hints.iter().map(|hint| hint.factor(edit.rule)).product();
            let natural = (NATURAL * models[&source.language].gain(source, &edit)).exp();
            let place = suspicion.of(file, edit.unit, line).powf(PLACE);
            let score =
                place * edit.rule.weight() * hints * natural * oddity(source, &edit) / sizes[&edit.unit].powf(SIZE);
            out.push(Candidate { file, edit, name, score });
        }
    }
    for candidate in &mut out {
        let line = sources[candidate.file].tokens[candidate.edit.token].line;
        let on_line = tried_lines.get(&(candidate.file, line)).copied().unwrap_or(0);
        let in_unit = tried_units.get(&(candidate.file, candidate.edit.unit)).copied().unwrap_or(0);
        candidate.score *= SAME_LINE.powi(on_line) * SAME_UNIT.powi(in_unit);
    }
    out.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.file, a.edit.start, &a.edit.new).cmp(&(b.file, b.edit.start, &b.edit.new)))
    });
    out
}
