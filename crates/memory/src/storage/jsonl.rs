//! Reflections in a JSON Lines file.

use super::append_log::{AppendLog, LogError, Sealing};
use super::backward::{Wanted, line_start, newest};
use super::lines::{bare, for_each_line};
use super::pages::{PageEnd, page};
use super::prune::prune;
use super::recent_cache::{Entry, RecentCache, Since, Snapshot};
use super::record::{Decoded, decode, encode};
use super::seal::{Belief, LineKind, Seals};
use crate::domain::{LineProblem, Reflection, ReflectionId, Timestamp, policy};
use crate::files::{Kind, Look, Place};
use crate::services::{Page, PageMark, PruneReport, RecentQuery, Storage, StorageError, StoreReport};
use async_trait::async_trait;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much growth of the file is searched without handing the work to another thread: it was just written, so it is
/// in memory, and searching it takes less time than the hand-over.
const SMALL_GROWTH: u64 = 64 * 1024;

/// How many unreadable lines a report names.
const MAX_PROBLEMS: usize = 20;

/// Keeps reflections in a file like `memory/reflections.jsonl`, one JSON object a line.
///
/// Use it wherever lessons must outlive the process. Several processes may append, read and prune at the same time.
/// A file that does not exist is an empty store; it is created, with its directories, by the first append.
///
/// Limits: a record is at most 1 MiB; longer lines count as unreadable. Searching needs a few hundred KiB of memory
/// plus what is found, whatever the file's size. Queries are remembered (1024 of them, 16 MiB), so that asking again
/// costs a look at the file, which is taken on the calling thread. An id is searched for as it stands in the text, except
/// where writers of JSON escape: a file that spells a plain letter as `\u0061` inside an id hides that record from
/// queries by this id, not from the others.
///
/// ```
/// # use reflexion_core::services::{RecentQuery, Storage};
/// # use reflexion_memory::storage::JsonlStorage;
/// # async fn recent() -> Result<(), reflexion_core::services::StorageError> {
/// let memory = JsonlStorage::open("memory/reflections.jsonl");
/// let lessons = memory.recent(&RecentQuery { subtask: Some("fix-login".into()), limit: Some(3), ..RecentQuery::default() }).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct JsonlStorage {
    log: AppendLog,
    cache: Arc<Mutex<RecentCache>>,
}

impl JsonlStorage {
    /// Names the file; nothing is read or created yet. Neither the file nor its directory may be a link; what is above
    /// them may.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self { log: AppendLog::new(Place::with_names(&path.into(), 2)), cache: Arc::default() }
    }

    /// The memory of a project, whose lines show who wrote them: what somebody else wrote is [foreign](Reflection::foreign).
    #[must_use]
    pub fn of(project: &policy::Project, seals: Seals) -> Self {
        let place = Place::with_names(&project.memory_file(), 2);
        Self { log: AppendLog::sealed(place, Sealing::Each(seals, LineKind::Reflection)), cache: Arc::default() }
    }

    /// What is believed now. What was remembered by another belief is forgotten.
    fn belief(&self) -> io::Result<Arc<Belief>> {
        let belief = match self.log.sealing() {
            Sealing::Each(seals, _) => seals.belief()?,
            Sealing::None | Sealing::Chain(..) => return Ok(Arc::new(Belief::of_all())),
        };
        self.cache().believe(&belief);
        Ok(belief)
    }

    /// How often this value has synced its file; with many writers far less often than once a record.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.log.syncs()
    }

    fn path(&self) -> &Path {
        self.log.path()
    }

    fn cache(&self) -> MutexGuard<'_, RecentCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, action: &'static str, message: &dyn Display) -> StorageError {
        StorageError::Io { action, path: self.path().to_owned(), message: message.to_string() }
    }

    /// Runs `work` where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let this = self.clone();
        match tokio::task::spawn_blocking(move || work(&this)).await {
            Ok(result) => result.map_err(|e| self.error(action, &e)),
            Err(e) => Err(self.error(action, &e)),
        }
    }

    /// What needs no search: nothing, if there is no file; what is remembered of a query, if the file says it holds
    /// still. Small growth is searched at once.
    fn remembered(&self, query: &RecentQuery) -> io::Result<Option<Arc<Vec<Reflection>>>> {
        self.belief()?;
        let Some(look) = self.log.place().look()? else { return Ok(Some(Arc::default())) };
        if look.kind != Kind::File {
            return Ok(None);
        }
        let Some(entry) = self.cache().get(query) else {
            return Ok(None);
        };
        match entry.snapshot.since(&look) {
            Since::Unchanged => Ok(Some(entry.found)),
            Since::Grown if look.len - entry.snapshot.end <= SMALL_GROWTH => self.search(query, Some(entry)).map(Some),
            _ => Ok(None),
        }
    }

    /// Searches the file, or what was added to it since `known`, and remembers the result.
    fn search(&self, query: &RecentQuery, mut known: Option<Entry>) -> io::Result<Arc<Vec<Reflection>>> {
        loop {
            match self.search_once(query, known.take()) {
                // A failed append was cut off while we read: look again.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
                other => return other,
            }
        }
    }

    fn search_once(&self, query: &RecentQuery, known: Option<Entry>) -> io::Result<Arc<Vec<Reflection>>> {
        let Some((file, look)) = self.open_to_read()? else {
            return Ok(Arc::default());
        };
        let known = match known {
            Some(entry) if entry.snapshot.is_front_of(&file, &look)? => Some(entry),
            _ => None,
        };
        let start = known.as_ref().map_or(0, |entry| entry.snapshot.end);
        let end = line_start(&file, start..look.len)?;
        let wanted = self.wanted(query)?;
        let limit = wanted.limit;
        let mut found = newest(&file, start..end, &wanted)?;
        if let Some(known) = known {
            let room = limit - found.len();
            found.extend(known.found.iter().take(room).cloned());
        }
        let found = Arc::new(found);
        let snapshot = Snapshot::new(&file, &look, end)?;
        let entry = Entry { snapshot, found: Arc::clone(&found) };
        self.cache().put(query.clone(), entry);

        // The last line has no end yet: it counts if it is whole, but is never remembered.
        let mut last = newest(&file, end..look.len, &wanted)?;
        if last.is_empty() {
            return Ok(found);
        }
        let room = limit - last.len();
        last.extend(found.iter().take(room).cloned());
        Ok(Arc::new(last))
    }

    fn wanted(&self, query: &RecentQuery) -> io::Result<Wanted> {
        Ok(Wanted {
            id: None,
            task: query.task.clone(),
            subtask: query.subtask.clone(),
            limit: query.limit.unwrap_or(usize::MAX),
            belief: self.belief()?,
            own_only: query.own_only,
        })
    }

    fn read_page(&self, query: &RecentQuery, before: Option<PageMark>) -> io::Result<Page> {
        let wanted = Wanted { limit: usize::MAX, ..self.wanted(query)? };
        let Some((file, look)) = self.open_to_read()? else { return Ok(Page::default()) };
        let end = match before {
            None => PageEnd::of(&look),
            Some(mark) => PageEnd::read(&mark).filter(|end| end.is_in(&look)).ok_or_else(|| {
                io::Error::other("it was replaced by another file while it was read page by page: begin anew")
            })?,
        };
        page(&file, end, &wanted)
    }

    fn find_all(&self, ids: &[ReflectionId]) -> io::Result<HashMap<ReflectionId, Reflection>> {
        let mut found = HashMap::new();
        let (Some((file, _)), belief) = (self.open_to_read()?, self.belief()?) else { return Ok(found) };
        let ids: HashSet<&str> = ids.iter().map(ReflectionId::as_str).collect();
        for_each_line(file, |line| {
            let Some(content) = line.content.map(bare) else { return Ok(()) };
            // Most lines of a large memory are none of these; they are not read further than their id.
            let is_one = serde_json::from_slice::<Named<'_>>(content).is_ok_and(|named| ids.contains(&*named.id));
            if is_one && let Decoded::Record(mut reflection) = decode(Some(content)) {
                belief.weigh(content, &mut reflection);
                found.insert(reflection.id.clone(), *reflection);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The file as it is now; nothing if there is none.
    fn open_to_read(&self) -> io::Result<Option<(File, Look)>> {
        let file = match self.log.place().open_file() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let look = Look::from(&file.metadata()?);
        Ok(Some((file, look)))
    }

    fn find(&self, id: &ReflectionId) -> io::Result<Option<Reflection>> {
        let (id, belief) = (Some(id.as_str().to_owned()), self.belief()?);
        let wanted = Wanted { id, limit: 1, belief, ..Wanted::default() };
        loop {
            let Some((file, look)) = self.open_to_read()? else {
                return Ok(None);
            };
            let end = line_start(&file, 0..look.len);
            let found = end.and_then(|end| {
                let last = newest(&file, end..look.len, &wanted)?;
                Ok(match last.into_iter().next() {
                    Some(last) => Some(last),
                    None => newest(&file, 0..end, &wanted)?.pop(),
                })
            });
            match found {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
                other => return other,
            }
        }
    }

    fn read_all(&self) -> io::Result<StoreReport> {
        let (mut report, belief) = (StoreReport::default(), self.belief()?);
        let Some((file, _)) = self.open_to_read()? else {
            return Ok(report);
        };
        for_each_line(file, |line| {
            match decode(line.content) {
                Decoded::Record(_) => {
                    report.reflections += 1;
                    let is_own = line.content.is_some_and(|line| belief.is_own(LineKind::Reflection, line));
                    report.foreign += usize::from(!is_own);
                }
                Decoded::Blank => {}
                Decoded::Unreadable(message) => {
                    report.unreadable += 1;
                    if report.problems.len() < MAX_PROBLEMS {
                        report.problems.push(LineProblem { line: line.number, message });
                    }
                }
            }
            Ok(())
        })?;
        Ok(report)
    }
}

/// All that is known of most lines.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

impl From<LogError> for StorageError {
    fn from(error: LogError) -> Self {
        Self::Io { action: error.action, path: error.path, message: error.message }
    }
}

#[async_trait]
impl Storage for JsonlStorage {
    async fn append(&self, reflections: &[Reflection]) -> Result<(), StorageError> {
        let lines = encode(reflections).map_err(|message| self.error("append to", &message))?;
        Ok(self.log.append(&lines).await?)
    }

    async fn recent(&self, query: &RecentQuery) -> Result<Vec<Reflection>, StorageError> {
        if query.limit == Some(0) {
            return Ok(Vec::new());
        }
        let remembered = self.remembered(query).map_err(|e| self.error("read", &e))?;
        let found = if let Some(found) = remembered {
            found
        } else {
            let query = query.clone();
            self.blocking("read", move |this| {
                let known = this.cache().get(&query);
                this.search(&query, known)
            })
            .await?
        };
        Ok(Arc::unwrap_or_clone(found))
    }

    async fn page(&self, query: &RecentQuery, before: Option<PageMark>) -> Result<Page, StorageError> {
        let query = query.clone();
        self.blocking("read", move |this| this.read_page(&query, before)).await
    }

    async fn get_many(&self, ids: &[ReflectionId]) -> Result<HashMap<ReflectionId, Reflection>, StorageError> {
        let ids = ids.to_vec();
        self.blocking("read", move |this| this.find_all(&ids)).await
    }

    async fn get(&self, id: &ReflectionId) -> Result<Reflection, StorageError> {
        let wanted = id.clone();
        self.blocking("read", move |this| this.find(&wanted))
            .await?
            .ok_or_else(|| StorageError::NotFound { id: id.clone() })
    }

    async fn prune(&self, older_than: Timestamp, keep: &BTreeSet<ReflectionId>) -> Result<PruneReport, StorageError> {
        let keep = keep.clone();
        self.blocking("prune", move |this| prune(this.log.place(), older_than, &keep)).await
    }

    async fn check(&self) -> Result<StoreReport, StorageError> {
        self.blocking("read", Self::read_all).await
    }
}
