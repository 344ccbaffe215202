//! What the page is made of: sections of items, of lines with code in them.

use super::value::{Step, TaskChange};
use super::words::{foreign, joined};
use crate::domain::ReflectionId;

/// So many entries of a section are shown; all are in the JSON.
pub(super) const SHOWN: usize = 200;

pub(super) const CAUSE: usize = 800;

pub(super) const LESSON: usize = 500;

/// A report, ready to be printed.
pub(super) struct Page {
    pub title: String,
    pub headline: String,
    pub when: Option<String>,
    pub figures: Vec<Figure>,
    pub notes: Vec<Line>,
    pub next: Vec<Step>,
    pub sections: Vec<Section>,
}

/// A part with its heading.
pub(super) struct Section {
    pub id: &'static str,
    pub title: String,
    pub lead: Vec<Line>,
    pub items: Vec<Item>,
    /// Entries that are not shown.
    pub more: usize,
}

/// An entry of a section.
pub(super) struct Item {
    pub mark: Mark,
    /// A task's id, or what else it is about.
    pub name: String,
    pub title: String,
    pub lines: Vec<Line>,
    /// Its attempts, one by one.
    pub chain: Vec<Link>,
    /// What its work changes.
    pub change: Option<TaskChange>,
    pub commands: Vec<Step>,
}

/// What an entry says at a glance; never by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Needs,
    Review,
    Good,
    Bad,
    Open,
    Lesson,
    Plain,
}

/// Words, with what is meant literally set apart.
pub(super) type Line = Vec<Piece>;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Words.
    Text(String),
    /// A name or a command.
    Code(String),
}

pub(super) fn text(words: impl Into<String>) -> Line {
    vec![Piece::Text(words.into())]
}

/// Words in which names stand between backticks.
pub(super) fn ticked(words: &str) -> Line {
    let mut pieces = Vec::new();
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('`')
        && let Some((name, after)) = after.split_once('`')
        && !name.is_empty()
    {
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Code(name.to_owned()));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces
}

pub(super) fn with_code(before: &str, code: &str, after: &str) -> Line {
    let code = Piece::Code(foreign(code, 200));
    vec![Piece::Text(before.to_owned()), code, Piece::Text(after.to_owned())]
}

pub(super) fn named(ids: &[&str]) -> String {
    if ids.len() <= 8 {
        return joined(ids);
    }
    format!("{} and {} more", ids[..8].join(", "), ids.len() - 8)
}

pub(super) fn section<T>(id: &'static str, title: impl Into<String>, all: &[T], item: impl Fn(&T) -> Item) -> Section {
    let items: Vec<Item> = all.iter().take(SHOWN).map(item).collect();
    let more = all.len() - items.len();
    Section { id, title: title.into(), lead: Vec::new(), items, more }
}

pub(super) fn bare_section(id: &'static str, title: &str) -> Section {
    Section { id, title: title.to_owned(), lead: Vec::new(), items: Vec::new(), more: 0 }
}

/// So much of a title, of a cause, and of a lesson.
pub(super) const TITLE: usize = 160;

/// An attempt, or what came of merging it, and the lesson of it.
pub(super) struct Link {
    pub mark: Mark,
    pub words: Line,
    pub lesson: Option<Learned>,
}

/// A number and what it counts.
pub(super) struct Figure {
    pub mark: Mark,
    pub value: String,
    pub what: String,
    /// The value says by itself what it counts: `12 min`.
    pub alone: bool,
}

/// A lesson where the attempt stands that it was learned from.
pub(super) struct Learned {
    pub words: Line,
    /// The lesson whose words stand here in full; none where they stand with an earlier one.
    pub in_full: Option<ReflectionId>,
}
