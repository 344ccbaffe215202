//! `reflexion memory`.

mod check;
mod edit;
mod editor;
mod everywhere;
mod evidence;
mod exchange;
mod explain;
mod lessons;
mod listing;
mod review;
mod search;
mod stats;
mod words;

use self::listing::{print_candidate, print_whole};
use super::args::{MemoryArgs, MemoryCommand};
use super::exit::UsageError;
use super::output::{errln, outln};
use super::{Exit, project};
use crate::domain::{Category, DistinctKeys, LessonChange, Origin, Reflection, ReflectionId, Timestamp};
use crate::layer::Svc;
use crate::report::plural;
use crate::runtime;
use crate::services::{
    Clock, Lessons, PruneQuery, PruneReport, Pruned, RecentQuery, Settings, Storage, StorageError, Tasks,
};
use serde_json::{Value, json};
use std::io::Read;
use std::panic::resume_unwind;
use std::path::Path;
use std::time::Duration;

/// At most this many reflections are shown where several may be meant.
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
        MemoryCommand::List { everywhere: true, json, .. } => memory.list_everywhere(json).await,
        MemoryCommand::List { task, subtask, state, limit, json, .. } => {
            memory.list(RecentQuery { task, subtask, limit, own_only: false }, state, json).await
        }
        MemoryCommand::Show { id, json } => memory.show(&ReflectionId::new(id), json).await,
        MemoryCommand::Promote { of, everywhere: true } => memory.promote_everywhere(of).await,
        MemoryCommand::Promote { of, .. } => memory.change(&of.id, LessonChange::Promoted, of.why, of.json).await,
        MemoryCommand::Retire(of) => memory.retire(of).await,
        MemoryCommand::Pin(of) => memory.change(&of.id, LessonChange::Pinned, of.why, of.json).await,
        MemoryCommand::Unpin(of) => memory.change(&of.id, LessonChange::Unpinned, of.why, of.json).await,
        MemoryCommand::Edit(of) => memory.edit(of).await,
        MemoryCommand::Add { json } => memory.add(json).await,
        MemoryCommand::Prune { days, dry_run, json } => memory.prune(days, dry_run, json).await,
        MemoryCommand::Check { adopt, repair, json } => memory.check((adopt, repair), json).await,
        MemoryCommand::Search { file, limit, explain: true, task, json } => {
            let tasks = layers.build::<Svc<dyn Tasks>>().await?;
            memory.explain(file.as_deref(), (&**tasks, task), limit, json).await
        }
        MemoryCommand::Search { file, limit, json, .. } => memory.search(file.as_deref(), limit, json).await,
        MemoryCommand::Review { task, json } => {
            let records = runtime::Records::of(&layers).await?;
            memory.review(&records, task.as_deref(), json).await
        }
        MemoryCommand::Stats { json } => stats::stats(&*memory.settings, json),
        MemoryCommand::Rebuild { json } => stats::rebuild(memory.settings.project(), json),
        MemoryCommand::Import { file, format, task, json } => memory.import(&file, (format, task), json).await,
        MemoryCommand::Export { format, state, all, out } => memory.export(format, (state, all), out.as_deref()).await,
    };
    drop(memory);
    app.shutdown().await?;
    result
}

impl Memory {
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
        let query = PruneQuery { older_than: Some(older_than), dry_run };
        let stores = (self.storage.clone().into_arc(), self.lessons.clone().into_arc());
        let pruned = runtime::prune_lessons(stores, self.settings.reflexion(), &query).await?;
        let PruneReport { removed, kept, unreadable } = pruned.report;
        let Pruned { pinned, promoted, useful, .. } = pruned;
        if json {
            let old = json!({ "pinned": pinned, "promoted": promoted, "useful": useful });
            project::print_json(&if dry_run {
                json!({ "dryRun": true, "wouldRemove": removed, "wouldKeep": kept, "oldKept": old })
            } else {
                json!({ "removed": removed, "kept": kept, "unreadable": unreadable, "oldKept": old })
            })?;
        } else {
            let would = if dry_run { "would have removed" } else { "removed" };
            outln!(
                "{would} {} older than {days} days, kept {kept}{}",
                plural(removed, "reflection"),
                old_ones_kept(&pruned)
            );
        }
        Ok(Exit::Confirmed)
    }
}

/// What a prune keeps though it is old.
fn old_ones_kept(pruned: &Pruned) -> String {
    let Pruned { pinned, promoted, useful, .. } = *pruned;
    let parts = [(pinned, "pinned"), (promoted, "that other tasks may see"), (useful, "measured to help")];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    match pinned + promoted + useful {
        0 => String::new(),
        old => format!("; {old} of these are older: {}", parts.join(", ")),
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
