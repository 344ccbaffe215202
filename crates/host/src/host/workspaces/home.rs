//! What of the home directory steers tools while a run is at work.

use super::layout::{blocking, io_error};

use crate::domain::{RunId, policy};
use crate::host::home::Beginning;
use crate::host::{HomeChange, HomeFiles, HomePlaces, HomeRuns};
use crate::services::WorkspaceError;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::time::{Instant, SystemTime};

/// The home directory of a run.
pub(super) struct Home {
    run: RunId,
    places: HomePlaces,
    runs: HomeRuns,
    /// How it was when the run began, in whatever process.
    beginning: Beginning,
    /// The same where this process began it.
    whole: Option<HomeFiles>,
    /// What set-up and checks of the base were seen to change: nobody's offence.
    own: Mutex<BTreeSet<PathBuf>>,
    /// As it was when somebody's work ended last.
    seen: Mutex<Option<(Instant, HomeFiles)>>,
    /// Held by everybody at work who may do what an agent wants.
    at_work: Arc<()>,
    /// How often one of them began.
    begun: AtomicU64,
}

/// Whose files are at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The user's own, as the run found them.
    Base,
    /// An agent, or what one wrote.
    Work,
}

/// What is looked at before and after somebody works.
#[derive(Debug)]
pub(super) struct Watch {
    before: HomeFiles,
    whose: Whose,
    /// Whether nobody else was at work when it began, and how often somebody had begun by then.
    alone: bool,
    begun: u64,
    _at_work: Option<Arc<()>>,
}

/// What was changed meanwhile, in words.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// By what anybody may have written.
    pub(super) by_work: Vec<String>,
    /// By set-up and checks of the base alone.
    pub(super) by_base: Vec<String>,
    /// Programs, which package managers replace while somebody works: what is confirmed meanwhile waits for a person, and nobody is refuted for it.
    pub(super) of_programs: Vec<String>,
}

impl Home {
    /// Looks at it, and writes down what is there before anybody works; `lines`: of a run that goes on.
    pub(super) async fn begin(
        project: &policy::Project,
        run: &RunId,
        lines: Option<Vec<String>>,
    ) -> Result<Self, WorkspaceError> {
        let (places, runs, of) = (HomePlaces::of(project), HomeRuns::of(project), run.clone());
        let state = project.user_state().join("home");
        let begin = move || {
            let (whole, beginning) = if let Some(lines) = lines {
                (None, Beginning { lines, ..Beginning::default() })
            } else {
                let at = Some(SystemTime::now());
                let now = HomeFiles::now(&places);
                let lines = now.lines(of.as_str());
                (Some(now), Beginning { lines, at, own: BTreeSet::new() })
            };
            let beginning = runs.begin(&of, &places, beginning).map_err(io_error("write to", &state))?;
            Ok(Self {
                run: of,
                places,
                runs,
                own: Mutex::new(beginning.own.clone()),
                beginning,
                seen: Mutex::new(whole.clone().map(|whole| (Instant::now(), whole))),
                whole,
                at_work: Arc::default(),
                begun: AtomicU64::default(),
            })
        };
        blocking(begin).await
    }

    /// How it was when the run began.
    pub(super) fn lines(&self) -> Vec<String> {
        self.beginning.lines.clone()
    }

    /// What is too much to be looked at, in words.
    pub(super) fn not_looked_at(&self) -> Option<String> {
        self.whole.as_ref().and_then(HomeFiles::not_looked_at)
    }

    /// What is another one than when the run began.
    pub(super) async fn steered(&self) -> Result<Vec<String>, WorkspaceError> {
        let now = self.now().await?;
        Ok(now.words(&self.since_it_began(&now).await))
    }

    /// Before somebody works.
    pub(super) async fn watch(&self, whose: Whose) -> Result<Watch, WorkspaceError> {
        let at_work = match whose {
            Whose::Work => {
                self.begun.fetch_add(1, Ordering::SeqCst);
                Some(Arc::clone(&self.at_work))
            }
            Whose::Base => None,
        };
        let (alone, begun) = (Arc::strong_count(&self.at_work) == 1, self.begun.load(Ordering::SeqCst));
        let known = lock(&self.seen).take().filter(|(at, _)| at.elapsed() < AT_ONCE);
        let before = match known {
            Some((_, home)) => home,
            None => self.now().await?,
        };
        Ok(Watch { before, whose, alone, begun, _at_work: at_work })
    }

    /// After it.
    pub(super) async fn end(&self, watch: Watch) -> Result<Changed, WorkspaceError> {
        let now = self.now().await?;
        let changes = self.without_own(now.changes_since(&watch.before)).await;
        *lock(&self.seen) = Some((Instant::now(), now.clone()));
        // Who works elsewhere at the same time may have done it.
        // And whatever an agent has left may do it later, also when what is committed is checked.
        let nobody_else = watch.alone && watch.begun == 0 && self.begun.load(Ordering::SeqCst) == 0;
        if changes.is_empty() || watch.whose == Whose::Work || !nobody_else {
            let (of_programs, files): (Vec<HomeChange>, Vec<HomeChange>) =
                changes.into_iter().partition(HomeChange::is_of_programs);
            return Ok(Changed {
                by_work: now.words(&files),
                by_base: Vec::new(),
                of_programs: now.words(&of_programs),
            });
        }
        let words = now.words(&changes);
        let own = {
            let mut own = lock(&self.own);
            own.extend(changes.iter().map(|change| change.path().to_owned()));
            own.clone()
        };
        let (runs, run) = (self.runs.clone(), self.run.clone());
        let noted = blocking(move || Ok(runs.note_own(&run, &own))).await?;
        if let Err(error) = noted {
            // Whoever goes on with the run after a kill asks about it then.
            tracing::warn!(%error, "what the base changes in the home directory was not noted");
        }
        Ok(Changed { by_work: Vec::new(), by_base: words, of_programs: Vec::new() })
    }

    /// Writes down what is another one than before the run, for the next one.
    pub(super) async fn finish(&self) -> Result<(), WorkspaceError> {
        let now = self.now().await?;
        let changes = self.since_it_began(&now).await;
        let (runs, run, places) = (self.runs.clone(), self.run.clone(), self.places.clone());
        let noted = blocking(move || Ok(runs.end(&run, &places, &changes))).await?;
        if let Err(error) = noted {
            // What was noted at the beginning is there still, as after a kill.
            tracing::warn!(%error, "what is changed in the home directory was not noted");
        }
        Ok(())
    }

    async fn since_it_began(&self, now: &HomeFiles) -> Vec<HomeChange> {
        let Beginning { lines, at, .. } = &self.beginning;
        let changes = match &self.whole {
            Some(whole) => now.changes_since(whole),
            None => now.changes_since_lines(lines, self.run.as_str(), *at),
        };
        self.without_own(changes).await
    }

    /// Without what set-up and checks change at the base, here and in other projects whose runs are at work.
    async fn without_own(&self, mut changes: Vec<HomeChange>) -> Vec<HomeChange> {
        {
            let own = lock(&self.own);
            changes.retain(|change| !own.contains(change.path()));
        }
        if !changes.is_empty() {
            let (runs, run) = (self.runs.clone(), self.run.clone());
            match blocking(move || Ok(runs.own_of_others(&run))).await {
                Ok(Ok(others)) => changes.retain(|change| !others.contains(change.path())),
                Ok(Err(error)) => tracing::warn!(%error, "what other runs change in the home directory is not known"),
                Err(error) => tracing::warn!(%error, "what other runs change in the home directory is not known"),
            }
        }
        changes
    }

    async fn now(&self) -> Result<HomeFiles, WorkspaceError> {
        let places = self.places.clone();
        blocking(move || Ok(HomeFiles::now(&places))).await
    }
}

impl Changed {
    /// What counts against whoever is at work, in words.
    pub(super) fn offences(&self) -> impl Iterator<Item = String> + '_ {
        let words = |what| format!("{what} while an agent or a check worked; it steers tools for everything you do");
        self.by_work.iter().map(words)
    }

    /// What is nobody's offence, in words.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> + '_ {
        let words = |what| {
            format!("{what} by set-up or a check of what is committed: in this run, that file counts against nobody")
        };
        let perhaps = |what| {
            format!("{what} while an agent or a check worked: by it, by you or by a tool of yours; checks find it")
        };
        self.by_base.iter().map(words).chain(self.of_programs.iter().map(perhaps))
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was looked at so short a time ago is not looked at again: whoever is not to be there may come a moment later as well.
pub(super) const AT_ONCE: Duration = Duration::from_millis(250);
