//! What the report of a run is about, through the ports: nothing here knows where runs and lessons are kept.

use super::watch::RunWatch;
use crate::domain::{
    AttemptRecord, ChangeOf, Life, Past, Reflection, ReflectionId, RunId, SessionId, TaskList, policy,
};
use crate::layer::{BuildError, Layers, Svc};
use crate::report::night::Night;
use crate::services::{Clock, RecentQuery, RunReader, Runs, RunsError, Settings, Storage, StorageError, Tasks};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use crate::domain::Waiting;

/// What a project's runs left and what it remembers, for those who look at it: `report`, `status`, `watch`, `analyze`.
///
/// ```no_run
/// # use reflexion::layer::BoxError;
/// # use reflexion::runtime;
/// # async fn example() -> Result<(), BoxError> {
/// let layers = runtime::live().with(runtime::project("path/to/project")?);
/// let records = runtime::Records::of(&layers).await?;
/// if let Some(newest) = records.runs()?.last() {
///     let (night, _) = records.night(newest).await?;
///     println!("{}", night.headline);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Records {
    project: policy::Project,
    pub(super) runs: Arc<dyn Runs>,
    storage: Arc<dyn Storage>,
    tasks: Arc<dyn Tasks>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Records {
    /// Those that the layers give; nothing else of them is built.
    ///
    /// # Errors
    /// [`BuildError`].
    pub async fn of(layers: &Layers) -> Result<Self, BuildError> {
        type Looked = (Svc<dyn Settings>, Svc<dyn Runs>, Svc<dyn Storage>, Svc<dyn Tasks>);
        let app = layers.build::<Looked>().await?;
        let clock = layers.build::<Svc<dyn Clock>>().await?;
        Ok(Self {
            project: app.0.project().clone(),
            runs: app.1.clone().into_arc(),
            storage: app.2.clone().into_arc(),
            tasks: app.3.clone().into_arc(),
            clock: clock.clone().into_arc(),
        })
    }

    /// How these agent runs ended, as far as the journals that are left say so; the newest runs are read first, and none when all are found.
    ///
    /// # Errors
    /// [`RunsError`] if a run cannot be read at all.
    pub fn attempts_of(&self, sessions: &HashSet<SessionId>) -> Result<Vec<AttemptRecord>, RunsError> {
        let mut found: Vec<AttemptRecord> = self.runs.attempts()?;
        found.retain(|attempt| sessions.contains(&attempt.session));
        let mut missing: HashSet<SessionId> =
            sessions.iter().filter(|one| found.iter().all(|attempt| attempt.session != **one)).cloned().collect();
        for run in self.runs.list()?.into_iter().rev() {
            if missing.is_empty() {
                break;
            }
            let mut reader = self.runs.open(&run);
            while reader.read_on()? {}
            let entries = reader.log().entries.iter().map(|logged| (logged.at, &logged.entry));
            found.extend(AttemptRecord::of_run(&run, entries).into_iter().filter(|one| missing.remove(&one.session)));
        }
        Ok(found)
    }

    /// Where the project is.
    #[must_use]
    pub fn project(&self) -> &policy::Project {
        &self.project
    }

    /// The runs there are; the newest is the last.
    ///
    /// # Errors
    /// [`RunsError`].
    pub fn runs(&self) -> Result<Vec<RunId>, RunsError> {
        self.runs.list()
    }

    /// The night that waits for its window, if one does.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        self.runs.waiting()
    }

    /// Everything that all runs left.
    ///
    /// # Errors
    /// [`RunsError`].
    pub fn past(&self) -> Result<Past, RunsError> {
        self.runs.past()
    }

    /// Every lesson, the newest first.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn reflections(&self) -> Result<Vec<Reflection>, StorageError> {
        self.storage.recent(&RecentQuery::default()).await
    }

    /// Reads one run on while it goes on.
    #[must_use]
    pub fn watch(&self, run: RunId) -> RunWatch {
        RunWatch::new(self.clone(), run)
    }

    /// What a run did, with the words of its lessons.
    ///
    /// # Errors
    /// If its journal cannot be read at all. A memory or a lock that cannot be read is said in the second value and costs
    /// the words of the lessons, or the knowledge whether a process works on the run.
    pub async fn night(&self, run: &RunId) -> Result<(Night, Vec<String>), RunsError> {
        let mut warnings = Vec::new();
        // First whether it lives: a run that ends in between is told as one that goes on, not as a dead one.
        let before = self.life(run, &mut warnings);
        let mut reader = self.runs.open(run);
        reader.read_on()?;
        let mut seen = Seen::default();
        let night = self.told(&*reader, before, &mut seen, &mut warnings).await;
        let (places, names): (Vec<Option<usize>>, Vec<String>) = night.mergeable().into_iter().unzip();
        let is_in = self.runs.brought_in(&names);
        let night =
            night.with_brought_in(places.into_iter().zip(is_in).filter_map(|(place, is_in)| is_in.then_some(place)));
        let night = night.with_effect(|| {
            self.runs.attempts().unwrap_or_else(|error| {
                warnings.push(format!("how attempts of all runs ended cannot be read: {error}"));
                Vec::new()
            })
        });
        Ok((night, warnings))
    }

    /// The same night with what its work that is kept changes, as far as the repository has it: for a page of it.
    #[must_use]
    pub fn with_changes(&self, night: Night) -> Night {
        let (places, of): (Vec<usize>, Vec<ChangeOf>) = night.kept_changes().into_iter().unzip();
        let changes = self.runs.changes(&of);
        night.with_changes(places.into_iter().zip(changes))
    }

    /// What a run's journal says, with titles and the words of lessons.
    pub(super) async fn told(
        &self,
        reader: &dyn RunReader,
        life: Life,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Night {
        let log = reader.log();
        let is_dead = matches!(life, Life::Gone | Life::Superseded);
        let left = if is_dead { self.runs.left_running() } else { Vec::new() };
        let night =
            Night::of(log, life).with_left_running(left).with_tasks(seen.tasks.of(&*self.tasks, warnings).await);
        let night = night.seen_at(self.clock.now()).with_kept(self.runs.kept(&log.run));
        let lessons = seen.lessons.of(&*self.storage, &night, warnings).await;
        night.with_lessons(lessons)
    }

    pub(super) fn life(&self, run: &RunId, warnings: &mut Vec<String>) -> Life {
        self.runs.life(run).unwrap_or_else(|error| {
            warnings.push(format!("whether a process works on the run cannot be told: {error}"));
            Life::Gone
        })
    }
}

/// What was read beside a journal, so that it is not read again.
#[derive(Default)]
pub(super) struct Seen {
    tasks: TasksNow,
    lessons: Lessons,
}

/// The tasks as they stand now; they are read again only when their file was changed.
#[derive(Default)]
struct TasksNow {
    list: TaskList,
    edits: Option<u64>,
}

impl TasksNow {
    async fn of(&mut self, tasks: &dyn Tasks, warnings: &mut Vec<String>) -> &TaskList {
        let edits = tasks.edits();
        if self.edits.replace(edits) != Some(edits) {
            self.list = tasks.load().await.unwrap_or_else(|error| {
                warnings.push(format!("{error}; tasks that were never started are told without their titles"));
                TaskList::default()
            });
        }
        &self.list
    }
}

/// The words of lessons; the memory is read again only for those that it was not asked for before.
#[derive(Default)]
struct Lessons {
    known: HashMap<ReflectionId, Reflection>,
    asked: HashSet<ReflectionId>,
}

impl Lessons {
    async fn of(
        &mut self,
        storage: &dyn Storage,
        night: &Night,
        warnings: &mut Vec<String>,
    ) -> HashMap<ReflectionId, Reflection> {
        let new: Vec<ReflectionId> = night.lesson_ids().filter(|id| !self.asked.contains(*id)).cloned().collect();
        if !new.is_empty() {
            match storage.get_many(&new).await {
                Ok(found) => self.known.extend(found),
                Err(error) => warnings.push(format!("{error}; the lessons are told without their words")),
            }
            self.asked.extend(new);
        }
        self.known.clone()
    }
}

/// The run that is meant: the newest if none is named; the beginning of its id is enough where it is unique.
///
/// # Errors
/// In words: which runs there are.
pub fn choose_run<'r>(runs: &'r [RunId], which: Option<&str>) -> Result<&'r RunId, String> {
    let Some(newest) = runs.last() else {
        return Err("there is no run yet; `reflexion run` makes one".to_owned());
    };
    let Some(which) = which else { return Ok(newest) };
    if let Some(exact) = runs.iter().find(|run| run.as_str() == which) {
        return Ok(exact);
    }
    let begin: Vec<&RunId> = runs.iter().filter(|run| run.as_str().starts_with(which)).collect();
    match begin.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no run `{which}`; there are {}", listed(runs.iter()))),
        several => Err(format!("`{which}` may be {}; say more of it", listed(several.iter().copied()))),
    }
}

/// The newest, newest first.
fn listed<'r>(runs: impl DoubleEndedIterator<Item = &'r RunId> + ExactSizeIterator) -> String {
    const NAMED: usize = 5;
    let more = runs.len().saturating_sub(NAMED);
    let named: Vec<&str> = runs.rev().take(NAMED).map(RunId::as_str).collect();
    let more = if more > 0 { format!(" and {more} older ones") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_or_the_one_whose_beginning_is_unique() {
        let runs: Vec<RunId> =
            ["20260101-0000-aaaa", "20260102-0000-aaaa", "20260102-0000-bbbb"].map(|id| RunId::new(id).unwrap()).into();
        let check = |which: Option<&str>, expected: Result<&str, &str>| match (choose_run(&runs, which), expected) {
            (Ok(run), Ok(id)) => assert_eq!(run.as_str(), id),
            (Err(message), Err(part)) => assert!(message.contains(part), "{which:?}: {message}"),
            (got, _) => panic!("{which:?}: {got:?}"),
        };
        check(None, Ok("20260102-0000-bbbb"));
        check(Some("20260101"), Ok("20260101-0000-aaaa"));
        check(Some("20260102-0000-aaaa"), Ok("20260102-0000-aaaa"));
        check(Some("20260102"), Err("may be 20260102-0000-bbbb, 20260102-0000-aaaa; say more"));
        check(Some("2027"), Err("there is no run `2027`; there are 20260102-0000-bbbb"));
        assert!(choose_run(&[], None).unwrap_err().contains("no run yet"));
    }
}
