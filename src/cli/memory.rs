//! `reflexion memory`.

mod lessons;
mod search;
mod stats;

use super::args::{MemoryArgs, MemoryCommand};
use super::exit::UsageError;
use super::output::{Stdout, errln, out, outln};
use super::{Exit, project};
use crate::curation::{kept_from_prompts, stays_home};
use crate::domain::{Category, DistinctKeys, LessonChange, Origin, Reflection, ReflectionId, Timestamp};
use crate::layer::Svc;
use crate::redaction::Redactor;
use crate::report::plural;
use crate::runtime;
use crate::services::{Clock, Lessons, RecentQuery, Settings, Storage, StorageError};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// So many reflections are shown where several may be meant.
const CANDIDATES: usize = 10;

/// What a memory command works with.
struct Memory {
    storage: Svc<dyn Storage>,
    lessons: Svc<dyn Lessons>,
    clock: Svc<dyn Clock>,
    settings: Svc<dyn Settings>,
}

pub(super) async fn memory(dir: &Path, args: MemoryArgs) -> anyhow::Result<Exit> {
    let (layers, settings) = project::layers(dir, Vec::new())?;
    let app = layers.build::<(Svc<dyn Storage>, Svc<dyn Lessons>, Svc<dyn Clock>)>().await?;
    let memory = Memory { storage: app.0.clone(), lessons: app.1.clone(), clock: app.2.clone(), settings };
    let result = match args.command {
        MemoryCommand::List { task, subtask, limit, json } => {
            memory.list(RecentQuery { task, subtask, limit, own_only: false }, json).await
        }
        MemoryCommand::Show { id, json } => memory.show(&ReflectionId::new(id), json).await,
        MemoryCommand::Promote(of) => memory.change(&of.id, LessonChange::Promoted, of.why, of.json).await,
        MemoryCommand::Retire(of) => memory.change(&of.id, LessonChange::Retired, of.why, of.json).await,
        MemoryCommand::Pin(of) => memory.change(&of.id, LessonChange::Pinned, of.why, of.json).await,
        MemoryCommand::Unpin(of) => memory.change(&of.id, LessonChange::Unpinned, of.why, of.json).await,
        MemoryCommand::Add { json } => memory.add(json).await,
        MemoryCommand::Prune { days, dry_run, json } => memory.prune(days, dry_run, json).await,
        MemoryCommand::Check { adopt, json } => memory.check(adopt, json).await,
        MemoryCommand::Search { file, limit, json } => memory.search(file.as_deref(), limit, json).await,
        MemoryCommand::Stats { json } => stats::stats(&*memory.settings, json),
        MemoryCommand::Rebuild { json } => stats::rebuild(memory.settings.project(), json),
        MemoryCommand::Import { file, json } => memory.import(&file, json).await,
    };
    drop(memory);
    app.shutdown().await?;
    result
}

impl Memory {
    async fn list(&self, query: RecentQuery, json: bool) -> anyhow::Result<Exit> {
        let mut listing = Listing::new(json);
        let unreadable = if query.limit.is_some() {
            listing.show(&self.storage.recent(&query).await?);
            Some(0)
        } else {
            self.each(&query, |page| listing.show(&page)).await?
        };
        if listing.end() == 0 && !json {
            errln!("{}", if query == RecentQuery::default() { "no reflections yet" } else { "no reflections match" });
        }
        if unreadable != Some(0) {
            self.say_unreadable().await?;
        }
        Ok(Exit::Confirmed)
    }

    /// Shows the reflections that match, page by page; while one is shown, the next is read. Says how many lines among them cannot be read,
    /// if that is known.
    async fn each(
        &self,
        query: &RecentQuery,
        mut show: impl FnMut(Vec<Reflection>),
    ) -> Result<Option<usize>, StorageError> {
        let read = |before| {
            let (storage, query) = (self.storage.clone(), query.clone());
            tokio::spawn(async move { storage.page(&query, before).await })
        };
        let (mut unreadable, mut reading) = (Some(0), Some(read(None)));
        while let Some(page) = reading {
            let page = page.await.unwrap_or_else(|error| resume_unwind(error.into_panic()))?;
            reading = page.next.map(|mark| read(Some(mark)));
            unreadable = unreadable.and_then(|before| Some(before + page.unreadable?));
            show(page.reflections);
        }
        Ok(unreadable)
    }

    /// Lines that cannot be read are the user's to look at; they are never removed.
    async fn say_unreadable(&self) -> anyhow::Result<()> {
        let report = self.storage.check().await?;
        if report.unreadable > 0 {
            let file = self.settings.project().memory_file();
            errln!("warning: {} lines of {} cannot be read and are kept:", report.unreadable, file.display());
            for problem in &report.problems {
                errln!("  line {}: {}", problem.line, problem.message);
            }
        }
        Ok(())
    }

    async fn show(&self, id: &ReflectionId, json: bool) -> anyhow::Result<Exit> {
        let reflection = self.find(id).await?;
        let standing = self.standing(&reflection).await?;
        if json {
            let mut value = serde_json::to_value(&reflection)?;
            value["standing"] = standing.as_ref().map_or(Value::Null, lessons::as_json);
            project::print_json(&value)?;
        } else {
            print_whole(&reflection);
            if let Some(standing) = standing {
                outln!("\n{}", lessons::in_words(&standing, &reflection));
            }
        }
        Ok(Exit::Confirmed)
    }

    /// The reflection with this id, or the only one whose id begins so.
    async fn find(&self, id: &ReflectionId) -> anyhow::Result<Reflection> {
        match self.storage.get(id).await {
            Err(error @ StorageError::NotFound { .. }) => self.begins(id, &error).await,
            other => Ok(other?),
        }
    }

    /// The only reflection whose id begins like this.
    async fn begins(&self, beginning: &ReflectionId, error: &StorageError) -> anyhow::Result<Reflection> {
        let beginning = beginning.as_str();
        let is_meant = |reflection: &Reflection| !beginning.is_empty() && reflection.id.as_str().starts_with(beginning);
        let mut found = Vec::new();
        self.each(&RecentQuery::default(), |page| found.extend(page.into_iter().filter(is_meant))).await?;
        match found.len() {
            0 => Err(UsageError(format!("{error}; `reflexion memory list` shows which there are")).into()),
            1 => Ok(found.remove(0)),
            many => {
                found.iter().take(CANDIDATES).for_each(print_candidate);
                let more = many.saturating_sub(CANDIDATES);
                let more = if more > 0 { format!(", {more} more than are shown") } else { String::new() };
                Err(UsageError(format!("`{beginning}` begins {many} ids{more}: give more of the one that you mean"))
                    .into())
            }
        }
    }

    async fn add(&self, json: bool) -> anyhow::Result<Exit> {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|e| UsageError(format!("failed to read stdin: {e}")))?;
        let reflection = self.complete(&text)?;
        self.storage.append(std::slice::from_ref(&reflection)).await?;
        // `memory add` prints the stored one; JSON is also what a pipe wants.
        if json || !std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            project::print_json(&reflection)?;
        } else {
            print_whole(&reflection);
        }
        Ok(Exit::Confirmed)
    }

    /// Fills in what a person need not write.
    fn complete(&self, text: &str) -> anyhow::Result<Reflection> {
        let example = r#"such as {"taskId":"fix-dates","analysis":"…","suggestion":"…"}"#;
        let not_one = |e: serde_json::Error| {
            UsageError(format!("stdin is not a reflection ({e}): give one JSON object, {example}"))
        };
        serde_json::from_str::<DistinctKeys>(text).map_err(not_one)?;
        let Value::Object(mut fields) = serde_json::from_str(text).map_err(not_one)? else {
            return Err(UsageError("stdin is not a reflection: it must be one JSON object".to_owned()).into());
        };
        for required in ["taskId", "analysis", "suggestion"] {
            if fields.get(required).is_none_or(|v| v.as_str().is_none_or(|s| s.trim().is_empty())) {
                return Err(UsageError(format!(
                    "stdin is not a reflection: `{required}` must be a text that is not empty"
                ))
                .into());
            }
        }
        known_category(fields.get("category"))?;
        let task = fields["taskId"].clone();
        let mut fill = |key: &str, value: Value| {
            fields.entry(key).or_insert(value);
        };
        fill("id", format!("ref-{}", self.clock.new_id()).into());
        fill("sessionId", "person".into());
        fill("subtaskId", task);
        fill("attemptNumber", 0.into());
        fill("category", "root_cause".into());
        fill("createdAt", self.clock.now().to_string().into());
        fill("confidence", 1.0.into());
        fill("origin", serde_json::to_value(Origin::Person)?);
        let mut reflection: Reflection = serde_path_to_error::deserialize(Value::Object(fields))
            .map_err(|e| UsageError(format!("stdin is not a reflection: {e}")))?;
        reflection.confidence = reflection.confidence.clamp(0.0, 1.0);
        reflection.v = Reflection::VERSION;
        Ok(reflection)
    }

    async fn prune(&self, days: Option<u32>, dry_run: bool, json: bool) -> anyhow::Result<Exit> {
        let days = days.unwrap_or(self.settings.reflexion().retention_days);
        let older_than =
            self.clock.now().checked_sub(Duration::from_secs(u64::from(days) * 86_400)).unwrap_or(Timestamp::MIN);
        if dry_run {
            let (mut all, mut old) = (0, 0);
            let count = |page: Vec<Reflection>| {
                all += page.len();
                old += page.iter().filter(|reflection| reflection.created_at < older_than).count();
            };
            self.each(&RecentQuery::default(), count).await?;
            if json {
                project::print_json(&json!({ "dryRun": true, "wouldRemove": old, "wouldKeep": all - old }))?;
            } else {
                outln!("{old} of {all} reflections are older than {days} days; nothing was removed");
            }
            return Ok(Exit::Confirmed);
        }
        let report = self.storage.prune(older_than).await?;
        if json {
            project::print_json(
                &json!({ "removed": report.removed, "kept": report.kept, "unreadable": report.unreadable }),
            )?;
        } else {
            outln!("removed {} reflections older than {days} days, kept {}", report.removed, report.kept);
        }
        Ok(Exit::Confirmed)
    }

    async fn check(&self, adopt: bool, json: bool) -> anyhow::Result<Exit> {
        let project = self.settings.project();
        let adopted = if adopt { runtime::adopt_lessons(project)? } else { 0 };
        let report = self.storage.check().await?;
        let attempts = runtime::read_attempts(project)?.unreadable;
        let (all, foreign, unreadable) = (report.reflections, report.foreign, report.unreadable);
        if json {
            project::print_json(
                &json!({ "reflections": all, "foreign": foreign, "unreadable": unreadable, "adopted": adopted,
                    "unreadableAttempts": attempts }),
            )?;
        } else {
            if adopt {
                outln!("adopted {adopted} lines; they may reach prompts from now on");
            }
            let (mut held, mut home) = (0, 0);
            let show = |page: Vec<Reflection>| {
                for one in page {
                    let why = kept_from_prompts(&one);
                    held += usize::from(why.is_some());
                    home += usize::from(why.is_none() && stays_home(&one).is_some());
                    if one.foreign || why.is_some() {
                        print_line(&one);
                    }
                    if let Some(why) = why {
                        outln!("  reaches no prompt: {why}");
                    }
                }
            };
            self.each(&RecentQuery::default(), show).await?;
            outln!(
                "{all} reflections, {foreign} of them foreign, {held} that reach no prompt and {home} that stay with their own task because of what they say, {unreadable} lines that cannot be read"
            );
            if attempts > 0 {
                let file = project.attempts_file();
                let lines = plural(attempts, "line");
                outln!(
                    "{}: {lines} that cannot be read; `reflexion memory rebuild` sets too long ones aside",
                    file.display()
                );
            }
            if foreign > 0 {
                errln!("{}", if runtime::run_began(project)? { FOREIGN } else { NOT_YET });
            }
        }
        self.say_unreadable().await?;
        Ok(if foreign + unreadable + attempts == 0 { Exit::Confirmed } else { Exit::NotConfirmed })
    }

    async fn import(&self, file: &Path, json: bool) -> anyhow::Result<Exit> {
        let imported = runtime::read_import(file).map_err(|e| {
            UsageError(format!(
                "{e}; name a JSON Lines file of reflections, such as another project's memory/reflections.jsonl"
            ))
        })?;
        for problem in &imported.problems {
            errln!("warning: {}:{}: {}", file.display(), problem.line, problem.message);
        }
        let known: std::collections::HashSet<ReflectionId> =
            self.storage.recent(&RecentQuery::default()).await?.into_iter().map(|r| r.id).collect();
        let (old, new): (Vec<_>, Vec<_>) = imported.reflections.into_iter().partition(|r| known.contains(&r.id));
        self.storage.append(&new).await?;
        let (new, old, bad) = (new.len(), old.len(), imported.problems.len());
        if json {
            project::print_json(&json!({ "imported": new, "alreadyThere": old, "unreadable": bad }))?;
        } else {
            outln!("imported {new} reflections; {old} were there already, {bad} lines could not be read");
        }
        Ok(if bad == 0 { Exit::Confirmed } else { Exit::NotConfirmed })
    }
}

/// Readers take an unknown category for `root_cause`; a person who writes one is told.
fn known_category(word: Option<&Value>) -> anyhow::Result<()> {
    let root = Category::RootCause.as_str();
    match word.and_then(Value::as_str) {
        Some(word) if word != root && Category::from_word(word) == Category::RootCause => {
            let names = Category::ALL.map(Category::as_str).join(", ");
            Err(UsageError(format!("stdin is not a reflection: there is no category `{word}`; there are {names}"))
                .into())
        }
        _ => Ok(()),
    }
}

/// What foreign reflections are.
const FOREIGN: &str = "foreign: reflexion did not write them here, or somebody has changed them, so they reach no prompt; `reflexion memory check --adopt` takes them over";
/// The same before the first run, which would take them over.
const NOT_YET: &str = "foreign: reflexion did not write them here. No run of yours has begun anywhere yet: the first one takes over what is in the memory then, so remove before what no prompt may hold";

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
    shown: usize,
}

impl Listing {
    fn new(json: bool) -> Self {
        Self { json, shown: 0 }
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
        // Each was looked at for secrets.
        let _ = Stdout.write_all(text.as_bytes());
    }

    fn one(&self, reflection: &Reflection) -> String {
        if self.json {
            let text = serde_json::to_string_pretty(reflection).unwrap_or_default();
            let text = Redactor::of_process().redact_json(text.as_bytes()).into_owned();
            // In a string there is no line break.
            return String::from_utf8_lossy(&text).replace('\n', "\n    ");
        }
        Redactor::of_process().redact_owned(line(reflection) + "\n")
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

/// More would wait for the terminal.
const MOST_THREADS: usize = 4;
/// As `serde_json` writes it.
const JSON_BEGIN: &str = "{\n  \"reflections\": [\n    ";
const JSON_END: &str = "\n  ]\n}\n";
const JSON_NONE: &str = "{\n  \"reflections\": []\n}\n";

/// On stderr: it answers nothing.
fn print_candidate(reflection: &Reflection) {
    errln!("{}", line(reflection));
}

fn print_line(reflection: &Reflection) {
    outln!("{}", line(reflection));
}

fn line(reflection: &Reflection) -> String {
    let analysis = without_command(&reflection.analysis.split_whitespace().collect::<Vec<_>>().join(" "));
    let analysis: String = analysis.chars().take(100).collect();
    let foreign = if reflection.foreign { "foreign  " } else { "" };
    format!(
        "{}  {}  {} attempt {}  {}  {foreign}{}",
        reflection.id,
        reflection.created_at.strftime("%Y-%m-%d %H:%M"),
        reflection.subtask_id,
        reflection.attempt_number,
        reflection.category.as_str(),
        analysis,
    )
}

fn print_whole(reflection: &Reflection) {
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
