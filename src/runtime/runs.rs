//! The runs of a project, from their files and their lock.

use crate::domain::{
    AttemptRecord, ChangeOf, Life, Past, RunId, RunKind, RunLog, SessionId, ShownChange, TaskId, TranscriptRecord,
    Waiting, policy,
};
use crate::host::{LockHolder, brought_in, left_running, lock_holder, shown_changes};
use crate::layer::Svc;
use crate::services::{RunReader, Runs, RunsError, Settings, TranscriptReader};
use crate::storage::{
    AttemptsFile, RunTail, Seals, TranscriptTail, kept_patches, kind_of_run, last_sign, read_past, recorded_runs,
};
use std::convert::Infallible;
use std::path::PathBuf;

/// Reads what is below `.reflection/`; nothing is created.
pub(super) struct ProjectRuns(policy::Project);

pub(super) async fn runs(settings: Svc<dyn Settings>) -> Result<Svc<dyn Runs>, Infallible> {
    Ok(Svc::new(ProjectRuns(settings.project().clone())))
}

impl Runs for ProjectRuns {
    fn list(&self) -> Result<Vec<RunId>, RunsError> {
        let state = self.0.state_dir();
        let at_work = lock_holder(&state).ok().flatten().filter(|holder| holder.waits_until.is_none());
        let at_work = at_work.map(|holder| holder.run);
        let mut runs = recorded_runs(&state)?;
        // Their ids say when they began, and a night may go on after a run that began later.
        runs.sort_by_cached_key(|run| (at_work.as_deref() == Some(run.as_str()), last_sign(&state, run), run.clone()));
        Ok(runs)
    }

    fn open(&self, run: &RunId) -> Box<dyn RunReader> {
        let journal = RunTail::new(&self.0.state_dir(), run, Seals::of(&self.0));
        Box::new(FileReader { journal, run_dir: self.0.run_dir(run) })
    }

    fn life(&self, run: &RunId) -> Result<Life, RunsError> {
        let works = |holder: &LockHolder| holder.run == run.as_str() && holder.waits_until.is_none();
        Ok(match lock_holder(&self.0.state_dir())? {
            Some(holder) if works(&holder) && holder.is_stopped() => Life::Stopped { pid: holder.pid },
            Some(holder) if works(&holder) => Life::Alive,
            // One whose journal was not begun here cannot be gone on with either: the project was moved, or copied.
            _ if self.is_superseded(run) || !Seals::of(&self.0).has_begun_run(run) => Life::Superseded,
            _ => Life::Gone,
        })
    }

    /// A lock that cannot be read says nothing.
    fn waiting(&self) -> Option<Waiting> {
        let LockHolder { pid, waits_until, .. } = lock_holder(&self.0.state_dir()).ok()??;
        waits_until.map(|until| Waiting { pid, until })
    }

    fn left_running(&self) -> Vec<u32> {
        left_running(&self.0)
    }

    /// Named from the project's directory.
    fn kept(&self, run: &RunId) -> Vec<(TaskId, String)> {
        let run_dir = self.0.run_dir(run);
        let shown = run_dir.strip_prefix(&self.0.root).unwrap_or(&run_dir);
        let patches = kept_patches(&run_dir).unwrap_or_default().into_iter();
        patches.map(|(task, name)| (task, shown.join(name).display().to_string())).collect()
    }

    fn changes(&self, of: &[ChangeOf]) -> Vec<Option<ShownChange>> {
        shown_changes(&self.0.root, of)
    }

    fn brought_in(&self, of: &[String]) -> Vec<bool> {
        brought_in(&self.0.root, of)
    }

    fn attempts(&self) -> Result<Vec<AttemptRecord>, RunsError> {
        Ok(AttemptsFile::of(&self.0, Seals::of(&self.0)).read()?.attempts)
    }

    fn past(&self) -> Result<Past, RunsError> {
        Ok(read_past(&self.0.state_dir(), &Seals::of(&self.0))?)
    }
}

impl ProjectRuns {
    /// Whether there is a newer one that is gone on with in its place: of nights the newest, whatever `reflexion run` did since.
    fn is_superseded(&self, run: &RunId) -> bool {
        let state = self.0.state_dir();
        let is_night = kind_of_run(&state, run) == Some(RunKind::Overnight);
        let runs = recorded_runs(&state).unwrap_or_default();
        let mut newer = runs.iter().rev().take_while(|other| *other != run);
        newer.any(|other| !is_night || kind_of_run(&state, other) == Some(RunKind::Overnight))
    }
}

struct FileReader {
    journal: RunTail,
    run_dir: PathBuf,
}

impl RunReader for FileReader {
    fn read_on(&mut self) -> Result<bool, RunsError> {
        Ok(self.journal.read_on()?)
    }

    fn log(&self) -> &RunLog {
        self.journal.log()
    }

    fn transcript(&self, session: &SessionId) -> Box<dyn TranscriptReader> {
        Box::new(FileSteps(TranscriptTail::new(&self.run_dir, session)))
    }
}

struct FileSteps(TranscriptTail);

impl TranscriptReader for FileSteps {
    fn read_on(&mut self, take: &mut dyn FnMut(TranscriptRecord)) -> Result<bool, RunsError> {
        Ok(self.0.read_on(take)?)
    }
}
