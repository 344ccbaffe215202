//! The report as Markdown.

use super::block::{Item, Line, Mark, Piece};
use super::page::page;
use super::value::{Night, Step};
use super::words::Times;
use std::fmt::Write as _;

/// The report as GitHub-flavoured Markdown; no word of a task, an agent or a log is taken for markup.
#[must_use]
pub fn markdown(night: &Night, times: &Times) -> String {
    let page = page(night, times);
    let mut out = format!("# {}\n\n", escaped(&page.title));
    if let Some(when) = &page.when {
        let _ = writeln!(out, "{}\n", escaped(when));
    }
    let _ = writeln!(out, "**{}**", escaped(&page.headline));
    if !page.figures.is_empty() {
        let figures: Vec<String> = page.figures.iter().map(|figure| escaped(&figure.words())).collect();
        let _ = writeln!(out, "\n{}", figures.join(" · "));
    }
    for note in &page.notes {
        let _ = writeln!(out, "\n> {}", line(note));
    }
    if !page.next.is_empty() {
        out.push('\n');
    }
    for step in &page.next {
        let _ = writeln!(out, "- {}", command(step));
    }
    for section in &page.sections {
        let _ = writeln!(out, "\n## {}", escaped(&section.title));
        for lead in &section.lead {
            let _ = writeln!(out, "\n{}", line(lead));
        }
        if !section.items.is_empty() {
            out.push('\n');
        }
        section.items.iter().for_each(|item| push(&mut out, item));
        if section.more > 0 {
            let _ = writeln!(out, "\nAnd {} more; `reflexion report --json` has them all.", section.more);
        }
    }
    out
}

fn push(out: &mut String, item: &Item) {
    let mark = sign(item.mark);
    let title = if item.title.is_empty() { String::new() } else { format!(" — {}", escaped(&item.title)) };
    let _ = writeln!(out, "- {mark}**{}**{title}", escaped(&item.name));
    for words in &item.lines {
        let _ = writeln!(out, "  - {}", line(words));
    }
    for link in &item.chain {
        let _ = writeln!(out, "  - {}{}", sign(link.mark), line(&link.words));
        if let Some(lesson) = &link.lesson {
            let _ = writeln!(out, "    - lesson: {}", line(&lesson.words));
        }
    }
    for step in &item.commands {
        let _ = writeln!(out, "  - {}", command(step));
    }
}

fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Needs => "❗ ",
        Mark::Review => "👀 ",
        Mark::Good => "✅ ",
        Mark::Bad => "❌ ",
        Mark::Open | Mark::Lesson | Mark::Plain => "",
    }
}

fn command(step: &Step) -> String {
    format!("{}: {}", escaped(step.does), code(&step.command))
}

fn line(pieces: &Line) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(words) => escaped(words),
            Piece::Code(name) => code(name),
        })
        .collect()
}

/// Words in which nothing is markup: every character that could begin some is escaped, also those of bare links.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + 8);
    for (at, c) in words.char_indices() {
        // A dot or a colon begins something only in `www.…` and `http://…`; what only begins a line is never at one.
        let link = (c == ':' && words[at + 1..].starts_with('/')) || (c == '.' && ends_in_www(&out));
        if link || r"\`*_{}[]<>#|~!&@$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn ends_in_www(out: &str) -> bool {
    out.len() >= 3 && out.is_char_boundary(out.len() - 3) && out[out.len() - 3..].eq_ignore_ascii_case("www")
}

/// A name or command as code; the fence is longer than any run of backticks in it.
fn code(name: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in name.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let pad = if name.starts_with('`') || name.ends_with('`') || name.is_empty() { " " } else { "" };
    format!("{fence}{pad}{name}{pad}{fence}")
}
