//! A place in a record, where a rule looks.

use super::doc::{Doc, TEXT_BYTES};
use super::path::Path;
use super::rule::{EditsAt, UsageAt, When};
use crate::domain::{CostSource, Usage};
use crate::prompt::excerpt;

/// A call names so many edited files at most.
const EDITS: usize = 100;

/// A place in a record.
#[derive(Clone, Copy)]
pub(super) struct At<'x, 'a> {
    pub record: &'x Doc<'a>,
    /// What the rule is looking at: the record, or an entry of it.
    pub entry: &'x Doc<'a>,
    /// The call that started the sub-agent.
    pub parent: Option<&'x str>,
}

impl<'x, 'a> At<'x, 'a> {
    pub fn get(&self, path: &Path) -> Option<&'x Doc<'a>> {
        if path.is_of_record() { self.record.at(path) } else { self.entry.at(path) }
    }

    /// The words at a path, capped.
    pub fn text(&self, path: &Path) -> Option<String> {
        Some(excerpt(&self.get(path)?.words()?, TEXT_BYTES).into_owned())
    }

    pub fn first_text(&self, paths: &[Path]) -> Option<String> {
        paths.iter().find_map(|path| self.text(path))
    }

    pub fn holds(&self, when: &When) -> bool {
        when.iter().all(|(path, test)| test.holds(self.get(path)))
    }

    pub fn usage(&self, at: &UsageAt) -> Usage {
        let sum = |paths: &[Path]| {
            let counts = paths.iter().filter_map(|path| self.get(path)?.count());
            counts.fold(None, |sum: Option<u64>, count| Some(sum.unwrap_or(0).saturating_add(count)))
        };
        // A price of nothing for something is a price that the agent does not know.
        let cost = at.cost.as_ref().and_then(|path| self.get(path)?.number()).filter(|cost| *cost > 0.0);
        Usage {
            input: sum(&at.input),
            cached: sum(&at.cached),
            output: sum(&at.output),
            reasoning: sum(&at.reasoning),
            cost_usd: cost,
            cost_source: cost.map(|_| CostSource::Reported),
        }
    }

    pub fn edits(&self, places: &[EditsAt]) -> Vec<String> {
        let files = |place: &EditsAt| -> Vec<String> {
            match place {
                EditsAt::One(path) => self.text(path).into_iter().collect(),
                EditsAt::Each { each, path } => {
                    let entries = self.get(each).into_iter().flat_map(Doc::items);
                    entries.filter_map(|entry| Some(entry.at(path)?.text()?.to_owned())).take(EDITS).collect()
                }
            }
        };
        places.iter().map(files).find(|files| !files.is_empty()).unwrap_or_default()
    }
}
