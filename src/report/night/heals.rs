//! Repairs of workspaces: what a journal says of them, and the report's section.

use super::block::{Item, Mark, SHOWN, Section, text};
use super::replay::Replay;
use super::value::{Heal, Night, SpanKind};
use super::words::{Times, foreign};
use crate::domain::{HealOutcome, JournalEntry, Timestamp};

/// So much of what failed.
const BECAUSE: usize = 300;

impl Replay {
    /// One that was cut off is done again, and told once.
    pub(super) fn heal(&mut self, at: Timestamp, entry: &JournalEntry) {
        if let JournalEntry::HealStarted { task, subtask, symptom, spell, because } = entry {
            let place = self.task(task);
            let same = |heal: &Heal| heal.outcome.is_none() && heal.task == *task && heal.subtask == *subtask;
            self.heals.retain(|heal| !same(heal));
            self.heals.push(Heal {
                task: task.clone(),
                subtask: subtask.clone(),
                symptom: *symptom,
                spell: *spell,
                because: because.clone(),
                started_at: at,
                outcome: None,
            });
            if self.courses[place].phase.is_none() {
                self.open_phase(place, at, SpanKind::Preparing);
            }
        }
        if let JournalEntry::HealEnded { task, subtask, outcome, .. } = entry {
            let open = |heal: &&mut Heal| heal.outcome.is_none() && heal.task == *task && heal.subtask == *subtask;
            if let Some(heal) = self.heals.iter_mut().rev().find(open) {
                heal.outcome = Some(outcome.clone());
            }
        }
    }
}

pub(super) fn section(night: &Night, times: &Times) -> Option<Section> {
    if night.heals.is_empty() {
        return None;
    }
    let items = night.heals.iter().take(SHOWN).map(|heal| item(heal, times)).collect();
    let lead = "Only the workspace is repaired: no verdict follows from it, and no attempt is used up by it.";
    Some(Section {
        id: "heals",
        title: "Repaired workspaces".to_owned(),
        lead: vec![text(lead)],
        items,
        more: night.heals.len().saturating_sub(SHOWN),
    })
}

fn item(heal: &Heal, times: &Times) -> Item {
    let (mark, came) = match &heal.outcome {
        Some(HealOutcome::Healed { did }) if did.is_empty() => (Mark::Good, "then it went well".to_owned()),
        Some(HealOutcome::Healed { did }) => {
            (Mark::Good, format!("then it went well ({})", foreign(&did.join(", "), BECAUSE)))
        }
        Some(HealOutcome::NotHealed { because }) => {
            (Mark::Bad, format!("that did not help: {}", foreign(because, BECAUSE)))
        }
        None => (Mark::Open, "that was cut off; the next run does it again".to_owned()),
    };
    let when = times.clock(heal.started_at);
    Item {
        mark,
        name: heal.subtask.to_string(),
        title: heal.symptom.as_str().to_owned(),
        lines: vec![
            text(format!("{when}: {}", foreign(&heal.because, BECAUSE))),
            text(format!("{}; {came}", heal.spell.as_str())),
        ],
        chain: Vec::new(),
        change: None,
        commands: Vec::new(),
    }
}
