//! Which edit comes next.

use super::briefing::Briefing;
use super::edits::{Edit, edits};
use super::evidence::Evidence;
use super::naturalness::models;
use super::oddity::oddity;
use super::source::Source;
use super::suspicion::Suspicion;
use super::tried::{Name, Tried, name};
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
/// What an edit loses for every tried one on its line: of two equal ones the one elsewhere comes first. A stronger push
/// away from tried lines solved fewer mutants of the development half, not more.
const SAME_LINE: f64 = 0.93;

/// Every edit that is neither tried nor in a protected file, best first; equal ones in the order of files and text.
///
/// Files in another language than the failure speaks are looked at only when nothing is left in those that it does speak
/// of: in a repository of many languages they would cost most of the time and never come first.
pub(super) fn candidates(sources: &[Source], briefing: &Briefing<'_>, tried: &Tried) -> Vec<Candidate> {
    let evidence = Evidence::read(briefing.output);
    let suspicion = Suspicion::new(sources, &evidence, briefing.task);
    let editable = |file: &usize| !sources[*file].is_test && !briefing.checks.contains(&sources[*file].path);
    let (home, foreign): (Vec<usize>, Vec<usize>) =
        (0..sources.len()).filter(editable).partition(|&file| suspicion.is_at_home(file));
    let ranked = [home, foreign].into_iter().map(|files| ranked(sources, &files, &evidence, &suspicion, tried));
    ranked.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

fn ranked(
    sources: &[Source],
    files: &[usize],
    evidence: &Evidence,
    suspicion: &Suspicion,
    tried: &Tried,
) -> Vec<Candidate> {
    let models = models(sources, files);
    let mut tried_lines: HashMap<(usize, u32), i32> = HashMap::new();
    let mut out = Vec::new();
    for &file in files {
        let source = &sources[file];
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
        candidate.score *= SAME_LINE.powi(on_line);
    }
    out.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.file, a.edit.start, &a.edit.new).cmp(&(b.file, b.edit.start, &b.edit.new)))
    });
    out
}

#[cfg(test)]
mod tests {
    use super::super::token::Language;
    use super::*;

    const TESTS: &str = "def test_total():\n    assert total([1]) == 1\n\ndef test_other():\n    other()\n";

    /// The first edits for a failure, as `old -> new`.
    fn first(code: &str, output: &str, count: usize) -> Vec<String> {
        let sources = [("shop.py", code), ("test_shop.py", TESTS)]
            .map(|(path, text)| Source::new(path.into(), text.into(), Language::Python));
        let prompt = format!("# Task: x\n## Last failure\n<check-output-1>\n{output}\n</check-output-1>\n");
        candidates(&sources, &Briefing::read(&prompt), &Tried::default())
            .iter()
            .take(count)
            .map(|c| format!("{} -> {}", &sources[c.file].text[c.edit.start..c.edit.end], c.edit.new))
            .collect()
    }

    fn check(code: &str, output: &str, expected: &str) {
        let first = first(code, output, 4);
        assert!(first.iter().any(|e| e == expected), "{output}: {expected} is not in {first:#?}");
    }

    #[test]
    fn the_failure_decides_what_comes_first() {
        let code = "def total(items):\n    result = 0\n    for item in items:\n        result -= item\n    return result\n\n\
                    def other():\n    count = 0\n    count -= 1\n    return count\n";
        check(code, "E  assert -1 == 1\nFAILED test_shop.py::test_total - x", "-= -> +=");
        let code =
            "def total(items):\n    first = items[1]\n    if first is None:\n        return 0\n    return first\n";
        check(code, "  File \"shop.py\", line 2, in total\nIndexError: list index out of range", "1 -> 0");
    }

    #[test]
    fn a_file_that_a_check_names_is_not_edited() {
        let source = Source::new("ci/check.py".into(), "x = 1\n".into(), Language::Python);
        let edits = |checks| {
            let prompt = format!("# Task: x\n\n## Checks\n- test: `{checks}`\n\n## Last failure\n");
            candidates(std::slice::from_ref(&source), &Briefing::read(&prompt), &Tried::default()).len()
        };
        assert_eq!(edits("python3 ci/check.py"), 0);
        assert!(edits("python3 -m pytest") > 0);
    }

    #[test]
    fn tried_edits_do_not_come_again_and_make_others_on_their_line_wait() {
        let source =
            Source::new("a.py".into(), "def f(a, b):\n    c = a + b\n    return c - a\n".into(), Language::Python);
        let sources = std::slice::from_ref(&source);
        let mut tried = Tried::default();
        let best = |tried: &Tried| candidates(sources, &Briefing::default(), tried).swap_remove(0);
        let one = best(&tried);
        tried.add(one.name);
        let other = best(&tried);
        assert_ne!(one.name, other.name);
        let all = candidates(sources, &Briefing::default(), &Tried::default()).len();
        assert_eq!(candidates(sources, &Briefing::default(), &tried).len(), all - 1);
    }
}
