//! What a call without a recording is told.

use super::normalise::Normaliser;
use super::tape::Entry;
use similar::TextDiff;

/// So many equal lines are shown around a difference.
const AROUND: usize = 2;

/// The message for a call that has no recording: how it differs from the nearest one, and what to do.
pub(super) fn message(tape: &str, call: &str, text: &str, entries: &[Entry], normaliser: &Normaliser) -> String {
    let texts = || entries.iter().filter_map(|entry| Some((entry, entry.record.text(normaliser)?)));
    let used: Vec<String> =
        texts().filter(|(_, known)| known == text).map(|(e, _)| format!("line {}", e.line)).collect();
    let again = "If the new request is right, record it again with `Cassette::record`.";
    if !used.is_empty() {
        let (lines, count) = (used.join(", "), used.len());
        return format!(
            "{tape} has {count} recording(s) of {call}, played already ({lines}); each is played once. {again}"
        );
    }
    let likeness = |known: &str| TextDiff::from_lines(known, text).ratio();
    let Some((nearest, known)) = texts().max_by(|(_, a), (_, b)| likeness(a).total_cmp(&likeness(b))) else {
        return format!("{tape} has no recording of {call}, and none of any other call. {again}");
    };
    let played = if nearest.used { ", played already" } else { "" };
    let diff = TextDiff::from_lines(known.as_str(), text);
    let recorded = format!("recorded in line {}{played}", nearest.line);
    let diff = diff.unified_diff().context_radius(AROUND).header(&recorded, "asked for now").to_string();
    format!("{tape} has no recording of {call}. The difference to the nearest one:\n{diff}{again}")
}
