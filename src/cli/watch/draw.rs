//! The screen as cells: the head, the parts below it, the keys at the bottom.

use super::ink::{Ink, Tone};
use super::rooms::{Wish, rooms};
use super::screen::{List, Screen};
use crate::report::night::watch::Cell;
use crate::report::night::{SpanKind, watch};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// From so many rows for the parts on, a worker has a row for its task's title too.
const HIGH: usize = 26;

const HELP: [&str; 17] = [
    "Up Down j k    choose",
    "PgUp PgDn      ten rows at a time",
    "g G            the first, the last",
    "Tab            the next list",
    "Enter          everything about a task",
    "Esc            back, or leave",
    "q              leave; the run goes on",
    "",
    "✓ merged or confirmed   ✗ failed",
    "! blocked               · open",
    "▸ at work               - closed since",
    "",
    "Timeline, a row for each worker:",
    "░ preparing    █ agent works",
    "▒ checking     ▓ merging",
    "· waiting for a service",
    "",
];

/// Rows that are written one after the other.
pub(super) struct Pen<'b> {
    pub buffer: &'b mut Buffer,
    pub area: Rect,
    pub ink: Ink,
    row: u16,
}

impl<'b> Pen<'b> {
    pub(super) fn new(buffer: &'b mut Buffer, area: Rect, ink: Ink) -> Self {
        let area = area.intersection(*buffer.area());
        Self { buffer, area, ink, row: 0 }
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    pub(super) fn rows_left(&self) -> usize {
        usize::from(self.area.height.saturating_sub(self.row))
    }

    /// A row; what does not fit ends in `…`. Nothing once the area is full.
    pub(super) fn line(&mut self, pieces: &[(Tone, &str)]) {
        self.styled(pieces, Tone::Words);
    }

    /// A row that may be the chosen one.
    fn row(&mut self, chosen: bool, pieces: &[(Tone, &str)]) {
        self.styled(pieces, if chosen { Tone::Chosen } else { Tone::Words });
    }

    fn styled(&mut self, pieces: &[(Tone, &str)], whole: Tone) {
        if self.rows_left() == 0 || self.area.width == 0 {
            return;
        }
        let (x, y) = (self.area.x, self.area.y + self.row);
        let spans = pieces.iter().map(|(tone, text)| Span::styled(*text, self.ink.style(*tone)));
        let line = Line::from(spans.collect::<Vec<_>>());
        let width = line.width();
        self.buffer.set_line(x, y, &line, self.area.width);
        if width > self.width() {
            self.buffer.set_string(x + self.area.width - 1, y, "…", self.ink.style(Tone::Quiet));
        }
        if whole == Tone::Chosen {
            self.buffer.set_style(Rect { x, y, width: self.area.width, height: 1 }, self.ink.style(whole));
        }
        self.row += 1;
    }

    /// A part's title, with a rule to the end of the row.
    fn title(&mut self, title: &str, count: usize, chosen: bool) {
        let count = if count > 0 { format!(" {count} ") } else { " ".to_owned() };
        let name = format!(" {title}");
        let used = Span::raw(&name).width() + count.len();
        let rule = "─".repeat(self.width().saturating_sub(used));
        let tone = if chosen { Tone::Chosen } else { Tone::Strong };
        self.line(&[(tone, &name), (tone, " "), (Tone::Quiet, &count[1..]), (Tone::Quiet, &rule)]);
    }
}

/// The text in rows that are not wider, broken between words where that is possible.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let wide = Span::raw(word).width();
        if used > 0 && used + 1 + wide > width {
            rows.push(String::new());
            used = 0;
        } else if used > 0 {
            rows.last_mut().into_iter().for_each(|row| row.push(' '));
            used += 1;
        }
        for letter in word.chars() {
            let letter_wide = Span::raw(letter.to_string()).width();
            if used + letter_wide > width.max(1) && used > 0 {
                rows.push(String::new());
                used = 0;
            }
            rows.last_mut().into_iter().for_each(|row| row.push(letter));
            used += letter_wide;
        }
    }
    rows
}

impl Screen {
    /// Draws everything; any size will do, down to nothing at all.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.draw_into(frame.buffer_mut(), area);
    }

    fn draw_into(&mut self, buffer: &mut Buffer, area: Rect) {
        let foot = u16::from(area.height >= 6);
        let above = Rect { height: area.height - foot, ..area };
        let mut pen = Pen::new(buffer, above, self.ink);
        if self.help {
            pen.line(&[(Tone::Strong, "Keys and signs")]);
            HELP.iter().for_each(|line| pen.line(&[(Tone::Words, line)]));
        } else if self.opened.is_some() {
            self.draw_opened(&mut pen);
        } else {
            self.draw_head(&mut pen);
            let rows = pen.rows_left();
            self.draw_parts(&mut pen, rows);
        }
        if foot > 0 {
            let below = Rect { y: area.y + area.height - 1, height: 1, ..area };
            let keys = match (self.help, self.opened.is_some()) {
                (true, _) => "any key: back   q: leave",
                (false, true) => "Esc: back   j k PgUp PgDn g G: scroll   q: leave",
                (false, false) => "q: leave   ?: help   Tab: next list   Enter: all about it",
            };
            Pen::new(buffer, below, self.ink).line(&[(Tone::Quiet, keys)]);
        }
    }

    fn draw_head(&self, pen: &mut Pen<'_>) {
        let night = &self.scene.night;
        // On a very low screen one row of it is all there is room for.
        let room = (pen.rows_left() / 3).max(1);
        let mut rows: Vec<Vec<(Tone, String)>> = Vec::new();
        let name = format!("run {}: ", night.run);
        let words = watch::standing(night, &self.times);
        for (i, row) in wrapped(&format!("{name}{words}"), pen.width()).into_iter().enumerate() {
            let (strong, rest) = if i == 0 { row.split_at(name.len().min(row.len())) } else { ("", row.as_str()) };
            rows.push(vec![(Tone::Strong, strong.to_owned()), (Tone::Words, rest.to_owned())]);
        }
        rows.extend(self.tallies(pen.width()));
        rows.push(vec![(Tone::Words, watch::spent(night))]);
        rows.extend(
            self.scene
                .notes
                .iter()
                .take(1)
                .map(|note| vec![(Tone::Needs, "note: ".to_owned()), (Tone::Words, watch::line(note))]),
        );
        for row in rows.into_iter().take(room) {
            pen.line(&row.iter().map(|(tone, text)| (*tone, text.as_str())).collect::<Vec<_>>());
        }
    }

    /// How many tasks stand where, in as many rows as it takes.
    fn tallies(&self, width: usize) -> Vec<Vec<(Tone, String)>> {
        let night = &self.scene.night;
        let mut rows = vec![vec![(Tone::Words, format!("{} tasks:", night.counts.tasks))]];
        let mut used = rows[0][0].1.len();
        for (state, n) in watch::tallies(night) {
            let (sign, word) = watch::mark(state);
            let (sign, words) = (format!("  {sign} "), format!("{n} {word}"));
            let wide = Span::raw(&sign).width() + words.len();
            if used + wide > width {
                rows.push(Vec::new());
                used = 0;
            }
            used += wide;
            rows.last_mut()
                .into_iter()
                .for_each(|row| row.extend([(Tone::of(state), sign.clone()), (Tone::Words, words.clone())]));
        }
        rows
    }

    fn draw_parts(&self, pen: &mut Pen<'_>, rows: usize) {
        let night = &self.scene.night;
        let (needs, workers) = (night.things(), self.scene.workers.len());
        let per_worker = if rows >= HIGH { 2 } else { 1 };
        let lanes = if night.spans.is_empty() { 0 } else { night.workers.len() };
        let wish = |list: List, least: usize, fair: usize, most: usize, rank: u8| {
            // The list that the keys go to comes first, and has what is left.
            let chosen = self.list == list;
            Wish { least, fair: if chosen { fair.max(6) } else { fair }, most, rank: if chosen { 9 } else { rank } }
        };
        let got = rooms(
            rows,
            &[
                wish(List::Needs, 1, 2, needs, 6),
                wish(List::Workers, per_worker, per_worker * 4, workers * per_worker, 7),
                wish(List::Tasks, 3, 6, night.tasks.len(), 5),
                Wish { least: lanes.min(2), fair: 4, most: lanes, rank: 1 },
                wish(List::Newest, 2, 4, self.scene.recent.len(), 3),
            ],
        );
        let [needs, workers, tasks, lanes, newest] = got[..] else { return };
        self.draw_needs(pen, needs);
        self.draw_workers(pen, workers, per_worker);
        self.draw_tasks(pen, tasks);
        self.draw_timeline(pen, lanes);
        self.draw_newest(pen, newest);
    }

    /// The places of a list that are shown in so many rows: the chosen one is among them.
    fn shown(&self, list: List, rows: usize) -> std::ops::Range<usize> {
        let (length, chosen) = (self.length(list), self.chosen(list));
        let first = chosen.saturating_sub(rows / 2).min(length.saturating_sub(rows));
        first..(first + rows).min(length)
    }

    fn is_chosen(&self, list: List, place: usize) -> bool {
        self.list == list && self.chosen(list) == place
    }

    fn draw_needs(&self, pen: &mut Pen<'_>, rows: usize) {
        let Some(rows) = rows.checked_sub(1) else { return };
        let night = &self.scene.night;
        pen.title("Needs you", night.needs.len(), self.list == List::Needs);
        for place in self.shown(List::Needs, rows) {
            let words = watch::need(night, &night.needs[place]);
            pen.row(self.is_chosen(List::Needs, place), &[(Tone::Needs, "! "), (Tone::Words, &words)]);
        }
    }

    fn draw_workers(&self, pen: &mut Pen<'_>, rows: usize, per_worker: usize) {
        let Some(rows) = rows.checked_sub(1) else { return };
        pen.title("At work", self.scene.workers.len(), self.list == List::Workers);
        for place in self.shown(List::Workers, rows / per_worker) {
            let at = &self.scene.workers[place];
            let chosen = self.is_chosen(List::Workers, place);
            let (number, id) = (format!("{} ", at.worker + 1), format!("{} ", at.task));
            let words = watch::at_work(at, &self.times);
            let head = [(Tone::Quiet, number.as_str()), (Tone::Busy, "▸ "), (Tone::Strong, &id)];
            if per_worker == 1 {
                pen.row(chosen, &[&head[..], &[(Tone::Words, " "), (Tone::Words, words.as_str())]].concat());
            } else {
                pen.row(chosen, &[&head[..], &[(Tone::Words, at.title.as_str())]].concat());
                pen.row(chosen, &[(Tone::Words, "    "), (Tone::Words, &words)]);
            }
        }
    }

    fn draw_tasks(&self, pen: &mut Pen<'_>, rows: usize) {
        let Some(rows) = rows.checked_sub(1) else { return };
        let tasks = &self.scene.night.tasks;
        pen.title("Tasks", tasks.len(), self.list == List::Tasks);
        let places = self.shown(List::Tasks, rows);
        let most = (pen.width() / 4).max(8);
        let wide = tasks[places.clone()].iter().map(|task| task.id.as_str().len()).max().unwrap_or(0).min(most);
        for place in places {
            let task = &tasks[place];
            let (sign, word) = watch::mark(task.state);
            let (sign, word) = (format!("{sign} "), format!("{word:<10}"));
            let id = format!("{:<wide$.wide$}  ", task.id.as_str());
            let title = watch::line(&task.title);
            let pieces = [
                (Tone::of(task.state), sign.as_str()),
                (Tone::Words, &word),
                (Tone::Strong, &id),
                (Tone::Words, &title),
            ];
            pen.row(self.is_chosen(List::Tasks, place), &pieces);
        }
    }

    fn draw_timeline(&self, pen: &mut Pen<'_>, rows: usize) {
        let Some(rows) = rows.checked_sub(1) else { return };
        let columns = pen.width().saturating_sub(3);
        let Some(timeline) = watch::timeline(&self.scene.night, columns, self.times.now) else { return };
        let clock = |at: crate::domain::Timestamp| at.to_zoned(self.times.zone.clone()).strftime("%H:%M").to_string();
        pen.title(&format!("Timeline {} to {}", clock(timeline.from), clock(timeline.to)), 0, false);
        for (worker, cells) in timeline.rows.iter().enumerate().take(rows) {
            let number = format!("{:>2} ", worker + 1);
            let glyphs: Vec<(Tone, &str)> = cells.iter().map(|cell| self.glyph(*cell)).collect();
            pen.line(&[&[(Tone::Quiet, number.as_str())], &glyphs[..]].concat());
        }
    }

    fn glyph(&self, cell: Option<Cell>) -> (Tone, &'static str) {
        let Some(cell) = cell else { return (Tone::Words, " ") };
        let state = self.scene.night.tasks.get(cell.task).map(|task| Tone::of(task.state));
        match cell.kind {
            SpanKind::Preparing => (Tone::Quiet, "░"),
            // How the task ended, in the rows of its agents.
            SpanKind::Agent => (state.unwrap_or(Tone::Words), "█"),
            SpanKind::Checking => (Tone::Words, "▒"),
            SpanKind::Waiting => (Tone::Quiet, "·"),
            SpanKind::Merging => (Tone::Words, "▓"),
        }
    }

    fn draw_newest(&self, pen: &mut Pen<'_>, rows: usize) {
        let Some(rows) = rows.checked_sub(1) else { return };
        pen.title("Newest", 0, self.list == List::Newest);
        for place in self.shown(List::Newest, rows) {
            let line = watch::said(&self.scene.recent[place], &self.times);
            pen.row(self.is_chosen(List::Newest, place), &[(Tone::Words, &line)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_broken_and_no_row_is_too_wide() {
        let check = |text: &str, width: usize, expected: &[&str]| {
            let rows = wrapped(text, width);
            assert_eq!(rows, expected);
        };
        check("", 10, &[""]);
        check("one two three", 7, &["one two", "three"]);
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("a bcdefgh", 3, &["a", "bcd", "efg", "h"]);
        check("日本語 x", 4, &["日本", "語 x"]);
        // A letter that is wider than a row stands alone.
        check("日本", 1, &["日", "本"]);
        check("ab", 0, &["a", "b"]);
    }
}
