//! Where the fault is likely to be: failing tests, what they call, and the places that the output names.
//!
//! Spectrum-based fault localisation without running anything: a static call graph by names says which units a test can
//! reach, and Ochiai's formula (Abreu et al., TAICPART 2007) compares failing with passing tests. A unit that few calls
//! separate from a failing test counts more than a far one.

use super::evidence::Evidence;
use super::source::{Source, UnitKind};
use super::token::Kind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Each further call makes a unit this much less likely to be what the test is about.
const PER_CALL: f64 = 0.7;
/// Calls further away than this do not count.
const MAX_CALLS: usize = 5;
/// What even a unit has that nothing points at: the graph by names is incomplete.
const FLOOR: f64 = 0.01;

/// A unit: its file's number and its own.
pub(super) type Place = (usize, usize);

/// How suspicious units and lines are.
pub(super) struct Suspicion {
    units: HashMap<Place, f64>,
    /// Files in the language of the failing tests and tracebacks; all, if there are none.
    at_home: Vec<bool>,
    /// Factors of lines that the output names, and of their neighbours.
    lines: BTreeMap<(usize, u32), f64>,
}

impl Suspicion {
    pub(super) fn new(sources: &[Source], evidence: &Evidence, task: &str) -> Self {
        let graph = Graph::new(sources);
        let frames: Vec<(usize, u32)> =
            evidence.frames.iter().filter_map(|frame| Some((find(sources, &frame.path)?, frame.line))).collect();
        let failing = failing_tests(sources, evidence, &frames);
        let spoken: Vec<_> = failing
            .iter()
            .map(|place| place.0)
            .chain(frames.iter().map(|frame| frame.0))
            .map(|file| sources[file].language)
            .collect();
        let mut suspicion = Self {
            units: HashMap::new(),
            lines: BTreeMap::new(),
            at_home: sources.iter().map(|s| spoken.is_empty() || spoken.contains(&s.language)).collect(),
        };
        suspicion.spectrum(&graph, sources, &failing);
        suspicion.frames(sources, &frames);
        suspicion.names(sources, evidence, task);
        suspicion
    }

    pub(super) fn of(&self, file: usize, unit: usize, line: u32) -> f64 {
        let unit = FLOOR + self.units.get(&(file, unit)).copied().unwrap_or(0.0);
        unit * self.lines.get(&(file, line)).copied().unwrap_or(1.0)
    }

    /// Whether a file is in a language that the failure speaks of.
    pub(super) fn is_at_home(&self, file: usize) -> bool {
        self.at_home[file]
    }

    fn spectrum(&mut self, graph: &Graph, sources: &[Source], failing: &[Place]) {
        if failing.is_empty() {
            return;
        }
        let mut passing: HashMap<Place, f64> = HashMap::new();
        let mut failed: HashMap<Place, f64> = HashMap::new();
        // Calls stay within a language: tests in others reach nothing that a failing one reaches, and may be thousands.
        let spoken = |source: &Source| failing.iter().any(|place| sources[place.0].language == source.language);
        for (file, source) in sources.iter().enumerate().filter(|(_, source)| spoken(source)) {
            for (number, unit) in source.units.iter().enumerate() {
                let place = (file, number);
                let is_case = unit.is_test && unit.kind == UnitKind::Function && source.tokens.len() > unit.body;
                let sum = if failing.contains(&place) {
                    &mut failed
                } else if is_case
                    && (unit.name.starts_with("test") || source.language != super::token::Language::Python)
                {
                    &mut passing
                } else {
                    continue;
                };
                for (reached, weight) in graph.reach(place) {
                    *sum.entry(reached).or_default() += weight;
                }
            }
        }
        let total = failing.len() as f64;
        for (place, failed) in failed {
            let passed = passing.get(&place).copied().unwrap_or(0.0);
            *self.units.entry(place).or_default() += failed / (total * (failed + passed)).sqrt();
        }
    }

    /// The innermost place of each traceback counts most, its callers less.
    fn frames(&mut self, sources: &[Source], frames: &[(usize, u32)]) {
        let tracebacks = frames
            .iter()
            .enumerate()
            .filter(|(i, frame)| is_innermost(sources, frames, *i) && !is_test_line(sources, **frame))
            .count()
            .max(1) as f64;
        for (number, frame) in frames.iter().enumerate() {
            if is_test_line(sources, *frame) {
                continue;
            }
            let innermost = is_innermost(sources, frames, number);
            let unit = unit_at(&sources[frame.0], frame.1);
            let share = if innermost { 1.0 } else { 0.4 };
            *self.units.entry((frame.0, unit)).or_default() += share / tracebacks;
            for line in frame.1.saturating_sub(3)..=frame.1 {
                let factor = match (line == frame.1, innermost) {
                    (true, true) => 3.0,
                    (true, false) => 2.0,
                    (false, _) => 1.4,
                };
                let known = self.lines.entry((frame.0, line)).or_insert(1.0);
                *known = known.max(factor);
            }
        }
    }

    /// Units whose names the task or the lines about the failure hold.
    fn names(&mut self, sources: &[Source], evidence: &Evidence, task: &str) {
        let in_task: Vec<&str> = task.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for (file, source) in sources.iter().enumerate() {
            for (number, unit) in source.units.iter().enumerate().filter(|(_, u)| !u.is_test && u.name.len() > 1) {
                let mut points = 0.0;
                if in_task.contains(&unit.name.as_str()) {
                    points += 0.5;
                }
                if evidence.words.contains_key(&unit.name) {
                    points += 0.3;
                }
                if points > 0.0 {
                    *self.units.entry((file, number)).or_default() += points;
                }
            }
        }
    }
}

/// The last frame before the traceback goes back into a test, or ends.
fn is_innermost(sources: &[Source], frames: &[(usize, u32)], number: usize) -> bool {
    frames.get(number + 1).is_none_or(|next| is_test_line(sources, *next))
}

/// The source that a printed path means: the same, or the one it ends with.
fn find(sources: &[Source], path: &str) -> Option<usize> {
    let path = path.trim_start_matches("./");
    (0..sources.len())
        .filter(|i| path == sources[*i].path || path.ends_with(&format!("/{}", sources[*i].path)))
        .max_by_key(|i| sources[*i].path.len())
}

/// The innermost unit at a line.
fn unit_at(source: &Source, line: u32) -> usize {
    let token = source.tokens.partition_point(|t| t.line < line);
    source.unit_of.get(token).copied().unwrap_or(0)
}

fn is_test_line(sources: &[Source], (file, line): (usize, u32)) -> bool {
    sources[file].is_test || sources[file].units[unit_at(&sources[file], line)].is_test
}

/// The units of the failing tests: by name, or by the places in tests that the output names.
fn failing_tests(sources: &[Source], evidence: &Evidence, frames: &[(usize, u32)]) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        for (number, unit) in source.units.iter().enumerate() {
            if unit.is_test && unit.kind == UnitKind::Function && evidence.failing.contains(&unit.name) {
                found.push((file, number));
            }
        }
    }
    if found.is_empty() {
        found = frames
            .iter()
            .filter(|frame| is_test_line(sources, **frame))
            .map(|(file, line)| (*file, unit_at(&sources[*file], *line)))
            .collect();
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// Which units name which.
struct Graph {
    edges: HashMap<Place, Vec<(Place, f64)>>,
}

impl Graph {
    fn new(sources: &[Source]) -> Self {
        let mut named: HashMap<&str, Vec<(Place, f64)>> = HashMap::new();
        for (file, source) in sources.iter().enumerate() {
            for (number, unit) in source.units.iter().enumerate().filter(|(_, u)| u.kind != UnitKind::File) {
                named.entry(&unit.name).or_default().push(((file, number), 1.0));
                // Who names a class runs what Python and traits call behind the scenes.
                let hidden = match unit.name.as_str() {
                    "__init__" | "__new__" | "__call__" | "new" | "default" | "from" => 1.0,
                    name if name.starts_with("__")
                        || ["fmt", "eq", "cmp", "partial_cmp", "hash", "next", "from_str", "drop", "index"]
                            .contains(&name) =>
                    {
                        0.5
                    }
                    _ => 0.0,
                };
                if let Some(owner) = unit.owner.as_deref().filter(|_| hidden > 0.0) {
                    named.entry(owner).or_default().push(((file, number), hidden));
                }
            }
        }
        let mut edges: HashMap<Place, Vec<(Place, f64)>> = HashMap::new();
        for (file, source) in sources.iter().enumerate() {
            let mut mentions: BTreeSet<(usize, &str)> = BTreeSet::new();
            for index in 0..source.tokens.len() {
                if source.kind(index) == Some(Kind::Word) && named.contains_key(source.word(index)) {
                    mentions.insert((source.unit_of[index], source.word(index)));
                }
            }
            for (unit, word) in mentions {
                let targets = &named[word];
                // A name that many units have says less of each.
                let share = 1.0 / (targets.len() as f64).sqrt();
                let from = (file, unit);
                let list = edges.entry(from).or_default();
                list.extend(
                    targets
                        .iter()
                        .filter(|(to, _)| *to != from && sources[to.0].language == source.language)
                        .map(|(to, weight)| (*to, weight * share)),
                );
            }
        }
        Self { edges }
    }

    /// Every unit that a test can reach, with a weight that falls with the distance.
    fn reach(&self, from: Place) -> HashMap<Place, f64> {
        let mut reached: HashMap<Place, f64> = HashMap::from([(from, 1.0)]);
        let mut frontier = vec![from];
        for calls in 0..MAX_CALLS {
            let mut next = Vec::new();
            for place in frontier {
                let weight = reached[&place] * if calls == 0 { 1.0 } else { PER_CALL };
                for (to, share) in self.edges.get(&place).into_iter().flatten() {
                    let known = reached.entry(*to).or_default();
                    if weight * share > *known {
                        *known = weight * share;
                        next.push(*to);
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            frontier = next;
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::Language;
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        files
            .iter()
            .map(|(path, text)| Source::new((*path).into(), (*text).into(), Language::of(path).unwrap()))
            .collect()
    }

    /// The functions, most suspicious first.
    fn order(files: &[(&str, &str)], output: &str, task: &str) -> Vec<String> {
        let sources = sources(files);
        let suspicion = Suspicion::new(&sources, &Evidence::read(output), task);
        let mut units: Vec<(f64, String)> = Vec::new();
        for (file, source) in sources.iter().enumerate() {
            for (number, unit) in
                source.units.iter().enumerate().filter(|(_, u)| !u.is_test && u.kind == UnitKind::Function)
            {
                units.push((suspicion.of(file, number, 0), unit.name.clone()));
            }
        }
        units.sort_by(|a, b| b.0.total_cmp(&a.0));
        units.into_iter().map(|(_, name)| name).collect()
    }

    const CODE: &str = "def low():\n    return 1\n\ndef mid():\n    return low()\n\ndef other():\n    return low()\n\ndef unused():\n    return 2\n";
    const TESTS: &str = "def test_mid():\n    assert mid() == 1\n\ndef test_other():\n    assert other() == 1\n";

    #[test]
    fn what_only_failing_tests_reach_comes_first() {
        let files = [("calc.py", CODE), ("test_calc.py", TESTS)];
        assert_eq!(order(&files, "FAILED test_calc.py::test_mid - x\n", ""), ["mid", "low", "other", "unused"]);
        assert_eq!(order(&files, "test_calc.py:5: AssertionError\n", "")[0], "other");
    }

    #[test]
    fn tracebacks_and_the_task_point_at_functions() {
        let files = [("src/calc.py", CODE)];
        assert_eq!(order(&files, "  File \"/tmp/w/src/calc.py\", line 8, in other\nE\n", "")[0], "other");
        assert_eq!(order(&files, "", "make unused() right")[0], "unused");
    }

    #[test]
    fn rust_tests_in_the_same_file_are_followed() {
        let text = "fn low() -> u8 { 1 }\nfn high() -> u8 { 2 }\n#[cfg(test)]\nmod tests {\n#[test]\nfn a() { assert_eq!(high(), 3) }\n#[test]\nfn b() { low(); }\n}\n";
        assert_eq!(order(&[("src/lib.rs", text)], "test tests::a ... FAILED\n", ""), ["high", "low"]);
    }
}
