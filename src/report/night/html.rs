//! The report as one HTML file: no script, no network, readable on a phone, in light and dark.

use super::block::Figure;
use super::block::Link;
use super::block::{Item, Line, Mark, Page, Piece, Section};
use super::charts;
use super::page::page;
use super::value::{Night, Step, TaskChange};
use super::words::Times;
use crate::domain::TaskId;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::HashMap;

const STYLE: &str = include_str!("report.css");
/// Nothing is loaded and nothing runs, even if something slipped through.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// So many entries of a section stand open; the rest unfolds.
const UNFOLDED: usize = 8;

/// The report as a whole HTML document; every word from outside is escaped.
#[must_use]
pub fn html(night: &Night, times: &Times) -> String {
    let page = page(night, times);
    let pictures = charts::pictures(night, times, &anchors(&page));
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for section in &page.sections {
        parts.push((section.id, &section.title));
        if section.id == "needs" {
            parts.extend(pictures.has_timeline.then_some(("timeline", "Timeline")));
        }
    }
    parts.extend((!night.attempts.is_empty()).then_some(("runs", "Every agent run")));
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (page.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(&page, &parts))
                main {
                    @for section in &page.sections {
                        (part(section))
                        @if section.id == "needs" { (pictures.timeline) }
                        @if section.id == "spend" { (pictures.cost) (pictures.success) }
                    }
                    (pictures.table)
                }
                footer {
                    p { "Made by " code { "reflexion report --html" } " from the run's journal. Nothing was loaded from a network." }
                }
            }
        }
    };
    markup.into_string()
}

fn header(page: &Page, parts: &[(&str, &str)]) -> Markup {
    html! {
        header {
            p.when {
                (page.title)
                @if let Some(when) = &page.when { br; (when) }
            }
            h1 { (page.headline) }
            (figures(&page.figures))
            @for note in &page.notes { p.note { (line(note)) } }
            @if !page.next.is_empty() { (commands(&page.next)) }
            nav aria-label="Parts of the report" {
                @for (id, title) in parts { a href=(format!("#{id}")) { (title) } " " }
            }
        }
    }
}

fn figures(figures: &[Figure]) -> Markup {
    html! {
        @if !figures.is_empty() {
            ul.figures aria-label="In numbers" {
                @for figure in figures {
                    li class=(look(figure.mark).0) { b { (figure.value) } " " span { (figure.what) } }
                }
            }
        }
    }
}

/// The class of the style sheet, the sign, and the sign in words.
fn look(mark: Mark) -> (&'static str, &'static str, &'static str) {
    match mark {
        Mark::Needs => ("needs", "!", "needs you: "),
        Mark::Review => ("review", "?", "to look at: "),
        Mark::Good => ("good", "✓", "done: "),
        Mark::Bad => ("bad", "✗", "failed: "),
        Mark::Open => ("open", "·", "open: "),
        Mark::Lesson | Mark::Plain => ("plain", "", ""),
    }
}

/// Where a task is told, for links to it: once in each section at most.
fn anchor(section: &str, item: &Item) -> Option<String> {
    let told = ["needs", "done", "unchanged", "failed", "open", "closed"].contains(&section);
    let is_task = TaskId::new(item.name.as_str()).is_ok();
    (told && is_task).then(|| format!("task-{section}-{}", item.name))
}

/// The place of each task that stands in the report; the first one, where it has two.
fn anchors(page: &Page) -> HashMap<&str, String> {
    let mut anchors = HashMap::new();
    for section in &page.sections {
        for item in &section.items {
            if let Some(anchor) = anchor(section.id, item) {
                anchors.entry(item.name.as_str()).or_insert(anchor);
            }
        }
    }
    anchors
}

fn part(section: &Section) -> Markup {
    let (first, rest) = section.items.split_at(section.items.len().min(UNFOLDED));
    html! {
        section id=(section.id) aria-labelledby=(format!("{}-title", section.id)) {
            h2 id=(format!("{}-title", section.id)) {
                (section.title)
                @if section.items.len() > 1 { " " span.count { (section.items.len() + section.more) } }
            }
            @for lead in &section.lead { p.lead { (line(lead)) } }
            (list(section.id, first))
            @if !rest.is_empty() {
                details {
                    summary { (rest.len()) " more" }
                    (list(section.id, rest))
                }
            }
            @if section.more > 0 {
                p.lead { "And " (section.more) " more; " code { "reflexion report --json" } " has them all." }
            }
        }
    }
}

fn list(section: &str, items: &[Item]) -> Markup {
    html! {
        @if !items.is_empty() {
            ul.items { @for item in items { (entry(section, item)) } }
        }
    }
}

fn entry(section: &str, item: &Item) -> Markup {
    let (class, mark, said) = look(item.mark);
    html! {
        li class=(class) id=[anchor(section, item)] {
            h3 {
                @if !mark.is_empty() { span.mark aria-hidden="true" { (mark) } span.said { (said) } }
                bdi.name { (item.name) }
                @if !item.title.is_empty() { " " bdi.title { (item.title) } }
            }
            @for words in &item.lines { p { (line(words)) } }
            (chain(&item.chain))
            @if let Some(change) = &item.change { (diff(change)) }
            @if !item.commands.is_empty() { (commands(&item.commands)) }
        }
    }
}

/// The attempts, each with the lesson of it.
fn chain(links: &[Link]) -> Markup {
    html! {
        @if !links.is_empty() {
            ol.chain aria-label="Attempts" {
                @for link in links {
                    @let (class, mark, said) = look(link.mark);
                    li class=(class) {
                        @if !mark.is_empty() { span.mark aria-hidden="true" { (mark) } span.said { (said) } }
                        (line(&link.words))
                        @if let Some(lesson) = &link.lesson { p.lesson { b { "Lesson: " } (line(&lesson.words)) } }
                    }
                }
            }
        }
    }
}

/// A change that unfolds, line by line.
fn diff(change: &TaskChange) -> Markup {
    let Some(text) = &change.diff else { return html! {} };
    // Below the first `@@` of a file a line that begins like the header of one is a line of it.
    let mut in_hunk = false;
    let lines = text.split_inclusive('\n').map(move |line| {
        in_hunk = line.starts_with("@@") || in_hunk && !line.starts_with("diff --git ");
        let class = match line.chars().next() {
            Some('+') if in_hunk => "add",
            Some('-') if in_hunk => "del",
            Some('@') => "at",
            _ if in_hunk => "same",
            _ => "at",
        };
        (class, line)
    });
    html! {
        details.change {
            summary { (change.size) }
            pre tabindex="0" aria-label="The change" { @for (class, line) in lines { span class=(class) { (line) } } }
            @if change.cut { p { "The rest is not shown; " code { (change.command) } " shows all of it." } }
        }
    }
}

fn commands(steps: &[Step]) -> Markup {
    html! {
        ul.commands aria-label="Commands" {
            @for step in steps { li { code title="One click selects it" { (step.command) } " " span { (step.does) } } }
        }
    }
}

fn line(pieces: &Line) -> Markup {
    html! {
        @for piece in pieces {
            @match piece {
                Piece::Text(words) => bdi { (words) },
                Piece::Code(name) => code { (name) },
            }
        }
    }
}
