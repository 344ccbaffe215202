//! Everything about one task.

use super::draw::{Pen, wrapped};
use super::ink::Tone;
use super::screen::Screen;
use crate::report;
use crate::report::night::watch;
use crate::report::night::watch::PassageKind;

impl Screen {
    pub(super) fn draw_opened(&mut self, pen: &mut Pen<'_>) {
        let rows = self.opened_rows(pen.width());
        let page = pen.rows_left();
        let Some(opened) = &mut self.opened else { return };
        opened.page = page.saturating_sub(1).max(1);
        opened.furthest = rows.len().saturating_sub(page);
        let first = opened.scroll.unwrap_or(opened.furthest).min(opened.furthest);
        for (tone, row) in &rows[first..] {
            pen.line(&[(*tone, row)]);
        }
    }

    fn opened_rows(&self, width: usize) -> Vec<(Tone, String)> {
        let Some(place) = self.opened_place() else {
            return vec![(Tone::Words, "the task is not part of the run any more".to_owned())];
        };
        let mut rows = Vec::new();
        for passage in watch::detail(&self.scene.night, place, &self.times) {
            let (tone, indent, first) = match passage.kind {
                PassageKind::Heading => (Tone::Strong, "", ""),
                PassageKind::Words => (Tone::Words, "  ", ""),
                PassageKind::More => (Tone::Quiet, "  ", ""),
                PassageKind::Command => (Tone::Words, "  ", "$ "),
            };
            if passage.kind == PassageKind::Heading && !rows.is_empty() {
                rows.push((Tone::Words, String::new()));
            }
            let wide = width.saturating_sub(indent.len());
            rows.extend(
                wrapped(&format!("{first}{}", passage.text), wide)
                    .into_iter()
                    .map(|row| (tone, format!("{indent}{row}"))),
            );
        }
        let live = self.opened.as_ref().map(|opened| &opened.live);
        let steps = live.map(|live| report::steps(&Vec::from(live.steps.clone()), live.started)).unwrap_or_default();
        if !steps.is_empty() {
            rows.push((Tone::Words, String::new()));
            rows.push((Tone::Strong, "What its newest agent run did".to_owned()));
            rows.extend(steps.into_iter().map(|step| (Tone::Words, step)));
        }
        rows
    }
}
