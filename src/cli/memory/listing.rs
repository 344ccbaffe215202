//! `memory list`, and how a lesson is shown in a line.

use super::super::Exit;
use super::super::output::{Stdout, errln, out, outln};
use super::Memory;
use crate::curation::{State, States, kept_from_prompts};
use crate::domain::{LessonChange, Reflection, ReflectionId};
use crate::prompt::{printable, printable_json};
use crate::redaction::Redactor;
use crate::services::{RecentQuery, StorageError};
use std::collections::HashSet;
use std::io::Write;
use std::panic::resume_unwind;
use std::thread;

impl Memory {
    pub(super) async fn list(&self, query: RecentQuery, state: Option<State>, json: bool) -> anyhow::Result<Exit> {
        let mut listing = Listing::new(json, if json { HashSet::new() } else { self.stale().await? });
        let unreadable = match state {
            Some(state) => self.each_in(state, &query, &mut listing).await?,
            None if query.limit.is_some() => {
                listing.show(&self.storage.recent(&query).await?);
                Some(0)
            }
            None => self.each(&query, |page| listing.show(&page)).await?,
        };
        if listing.end() == 0 && !json {
            let all = query == RecentQuery::default() && state.is_none();
            errln!("{}", if all { "no reflections yet" } else { "no reflections match" });
        }
        if unreadable != Some(0) {
            self.say_unreadable().await?;
        }
        Ok(Exit::Confirmed)
    }

    /// The lessons about files that are gone. Nothing is folded where none ever was.
    pub(super) async fn stale(&self) -> Result<HashSet<ReflectionId>, StorageError> {
        let record = self.lessons.read().await?;
        if !record.events.iter().any(|event| matches!(event.change, LessonChange::Stale { .. })) {
            return Ok(HashSet::new());
        }
        let mut all = self.storage.recent(&RecentQuery { own_only: true, ..RecentQuery::default() }).await?;
        all.reverse();
        let states = States::of(&all, &record.events, &[]);
        Ok(states.iter().filter(|(_, standing)| standing.state == State::Stale).map(|(id, _)| id.clone()).collect())
    }

    /// Shows those that match and have come this far; nobody knows that of what others wrote.
    async fn each_in(&self, state: State, query: &RecentQuery, listing: &mut Listing) -> anyhow::Result<Option<usize>> {
        let states = self.states().await?;
        let mut left = query.limit.unwrap_or(usize::MAX);
        let all = RecentQuery { limit: None, own_only: true, ..query.clone() };
        let show = |mut page: Vec<Reflection>| {
            page.retain(|one| states.state(&one.id) == state);
            page.truncate(left);
            left -= page.len();
            listing.show(&page);
        };
        Ok(self.each(&all, show).await?)
    }
}

/// The command of a check stands in brackets behind its name, and is the same in many lines.
fn without_command(words: &str) -> String {
    let cut = || {
        let (before, rest) = words.split_once(" (`")?;
        let (_, after) = rest.split_once("`)")?;
        Some(format!("{before}{after}"))
    };
    cut().unwrap_or_else(|| words.to_owned())
}

/// A list that is written while it is read: lines, or one JSON document.
struct Listing {
    json: bool,
    /// Lessons about files that are gone.
    stale: HashSet<ReflectionId>,
    shown: usize,
}

impl Listing {
    fn new(json: bool, stale: HashSet<ReflectionId>) -> Self {
        Self { json, stale, shown: 0 }
    }

    /// Writes some more, put together on all cores.
    fn show(&mut self, reflections: &[Reflection]) {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let parts = reflections.chunks(reflections.len().div_ceil(threads).max(1));
        let form = |part: &[Reflection]| part.iter().map(|one| self.one(one)).collect::<Vec<String>>();
        let formed = thread::scope(|scope| {
            let forming: Vec<_> = parts.map(|part| scope.spawn(|| form(part))).collect();
            forming.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect::<Vec<_>>()
        });
        let mut text = String::new();
        for one in formed.iter().flatten() {
            if self.json {
                text.push_str(if self.shown == 0 { JSON_BEGIN } else { ",\n    " });
            }
            text.push_str(one);
            self.shown += 1;
        }
        // Each was looked at for secrets, and made printable.
        let _ = Stdout.write_all(text.as_bytes());
    }

    fn one(&self, reflection: &Reflection) -> String {
        if self.json {
            let text = serde_json::to_string_pretty(reflection).unwrap_or_default();
            let text = Redactor::of_process().redact_json(text.as_bytes()).into_owned();
            // In a string there is no line break.
            return printable_json(&String::from_utf8_lossy(&text)).replace('\n', "\n    ");
        }
        let advice = in_short(&reflection.suggestion);
        let advice = if advice.is_empty() { advice } else { format!("    -> {advice}\n") };
        let text = Redactor::of_process().redact_owned(format!("{}\n{advice}", self.line(reflection)));
        printable(&text).into_owned()
    }

    fn line(&self, reflection: &Reflection) -> String {
        marked(reflection, if self.stale.contains(&reflection.id) { "stale  " } else { "" })
    }

    /// Ends the document, and says how many stand in it.
    fn end(self) -> usize {
        match (self.json, self.shown) {
            (false, _) => {}
            (true, 0) => out!("{JSON_NONE}"),
            (true, _) => out!("{JSON_END}"),
        }
        self.shown
    }
}

/// At most this many characters of what went wrong, and of the advice, stand in a line.
const SHORT: usize = 100;
/// More would wait for the terminal.
const MOST_THREADS: usize = 4;
/// As `serde_json` writes it.
const JSON_BEGIN: &str = "{\n  \"reflections\": [\n    ";
const JSON_END: &str = "\n  ]\n}\n";
const JSON_NONE: &str = "{\n  \"reflections\": []\n}\n";

/// On stderr: it answers nothing.
pub(super) fn print_candidate(reflection: &Reflection) {
    errln!("{}", line(reflection));
}

pub(super) fn print_line(reflection: &Reflection) {
    outln!("{}", line(reflection));
}

pub(super) fn line(reflection: &Reflection) -> String {
    marked(reflection, "")
}

fn marked(reflection: &Reflection, mark: &str) -> String {
    let analysis = in_short(&reflection.analysis);
    let foreign = if reflection.foreign { "foreign  " } else { "" };
    format!(
        "{}  {}  {} attempt {}  {}  {foreign}{mark}{}",
        reflection.id,
        reflection.created_at.strftime("%Y-%m-%d %H:%M"),
        reflection.subtask_id,
        reflection.attempt_number,
        reflection.category.as_str(),
        analysis,
    )
}

/// The beginning of a text in one line, without the command of a check.
pub(super) fn in_short(text: &str) -> String {
    let text = without_command(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    text.chars().take(SHORT).collect()
}

pub(super) fn print_whole(reflection: &Reflection) {
    print_line(&Reflection { analysis: String::new(), ..reflection.clone() });
    if let Some(why) = kept_from_prompts(reflection) {
        outln!("reaches no prompt: {why}");
    }
    outln!("\nwhat went wrong:\n  {}", reflection.analysis);
    outln!("\nwhat to do differently:\n  {}", reflection.suggestion);
    for item in &reflection.action_items {
        outln!("  - {item}");
    }
    if let Some(tried) = &reflection.already_tried {
        outln!("\nalready tried:\n  {tried}");
    }
}
