//! The report for a terminal.

use super::block::Figure;
use super::block::{Item, Line, Mark, Piece};
use super::page::page;
use super::value::Night;
use super::words::Times;
use std::fmt::Write as _;

/// The report as plain text: no colours, no control characters but line ends.
#[must_use]
pub fn text(night: &Night, times: &Times) -> String {
    let page = page(night, times);
    let mut out = format!("{}\n", page.title);
    if let Some(when) = &page.when {
        let _ = writeln!(out, "{when}");
    }
    let _ = writeln!(out, "\n{}", page.headline);
    if !page.figures.is_empty() {
        let figures: Vec<String> = page.figures.iter().map(Figure::words).collect();
        let _ = writeln!(out, "{}", figures.join(" · "));
    }
    for note in &page.notes {
        let _ = writeln!(out, "! {}", line(note));
    }
    for step in &page.next {
        let _ = writeln!(out, "  $ {}  # {}", step.command, step.does);
    }
    for section in &page.sections {
        let _ = writeln!(out, "\n{}", section.title.to_uppercase());
        for lead in &section.lead {
            let _ = writeln!(out, "{}", line(lead));
        }
        section.items.iter().for_each(|item| push(&mut out, item));
        if section.more > 0 {
            let _ = writeln!(out, "  and {} more; `reflexion report --json` has them all", section.more);
        }
    }
    out
}

fn push(out: &mut String, item: &Item) {
    let mark = sign(item.mark);
    let title = if item.title.is_empty() { String::new() } else { format!("  {}", item.title) };
    let _ = writeln!(out, "  {mark} {}{title}", item.name);
    for words in &item.lines {
        let _ = writeln!(out, "      {}", line(words));
    }
    for link in &item.chain {
        let _ = writeln!(out, "      {} {}", sign(link.mark), line(&link.words));
        if let Some(lesson) = &link.lesson {
            let _ = writeln!(out, "        lesson: {}", line(&lesson.words));
        }
    }
    for step in &item.commands {
        let _ = writeln!(out, "      $ {}  # {}", step.command, step.does);
    }
}

fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Needs => "!",
        Mark::Review => "?",
        Mark::Good => "✓",
        Mark::Bad => "✗",
        Mark::Open => "·",
        Mark::Lesson | Mark::Plain => "-",
    }
}

fn line(pieces: &Line) -> String {
    let words = pieces.iter().map(|piece| match piece {
        Piece::Text(words) => words.clone(),
        Piece::Code(name) => format!("`{name}`"),
    });
    words.collect()
}
