//! What runs left behind, for those who did not make it.

use crate::domain::{
    AttemptRecord, ChangeOf, Life, Past, RunId, RunLog, SessionId, ShownChange, TaskId, TranscriptRecord, Waiting,
};

/// What runs wrote down and how they stand, read from outside: beside a run, and after it.
///
/// *Who calls:* `report`, `status`, `watch`, `analyze`. *Promise:* nothing is created or changed, no lock is held, and whoever
/// works on a run notices nothing.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait Runs: Send + Sync {
    /// The runs there are. The newest is the last: the one that is worked on now, before it those that wrote something last.
    ///
    /// # Errors
    /// [`RunsError`].
    fn list(&self) -> Result<Vec<RunId>, RunsError>;

    /// Reads a run on while it goes on; nothing is read yet.
    fn open(&self, run: &RunId) -> Box<dyn RunReader>;

    /// Whether a process works on the run.
    ///
    /// # Errors
    /// [`RunsError`] if that cannot be known.
    fn life(&self, run: &RunId) -> Result<Life, RunsError>;

    /// The night that waits for its window, if one does.
    fn waiting(&self) -> Option<Waiting>;

    /// The processes that killed runs started and that still run, by their ids.
    fn left_running(&self) -> Vec<u32>;

    /// Where the changes of unconfirmed attempts are kept, in words for a person; none where nothing can be said.
    fn kept(&self, run: &RunId) -> Vec<(TaskId, String)>;

    /// What these changes are, for a person to see; none of one that is not there any more, or that would take too long to find out. A store
    /// without a repository knows none.
    fn changes(&self, of: &[ChangeOf]) -> Vec<Option<ShownChange>> {
        vec![None; of.len()]
    }

    /// Which of these commits and branches are in a branch of the user's since: the one that is checked out, or the main one. What is not there any
    /// more is not known to be. A store without a repository knows of none.
    fn brought_in(&self, of: &[String]) -> Vec<bool> {
        vec![false; of.len()]
    }

    /// How the attempts of all ended runs ended, as they are written down in one place.
    ///
    /// # Errors
    /// [`RunsError`] if what is there cannot be read.
    fn attempts(&self) -> Result<Vec<AttemptRecord>, RunsError>;

    /// Everything that all runs left, for experiments.
    ///
    /// # Errors
    /// [`RunsError`] if what is there cannot be read.
    fn past(&self) -> Result<Past, RunsError>;
}

/// Reads one run on.
pub trait RunReader: Send {
    /// Reads what was written since, and says whether that is anything.
    ///
    /// # Errors
    /// [`RunsError`] if the run cannot be read at all.
    fn read_on(&mut self) -> Result<bool, RunsError>;

    /// What is read until now.
    fn log(&self) -> &RunLog;

    /// Reads the transcript of one of its agent runs on; it need not be there yet, and nothing is read yet.
    fn transcript(&self, session: &SessionId) -> Box<dyn TranscriptReader>;
}

/// Reads one agent run's transcript on.
pub trait TranscriptReader: Send {
    /// Shows some of what was written since to `take`, and says whether there was anything.
    ///
    /// # Errors
    /// [`RunsError`] if it is there and cannot be read.
    fn read_on(&mut self, take: &mut dyn FnMut(TranscriptRecord)) -> Result<bool, RunsError>;
}

/// What runs left behind cannot be read; in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RunsError(pub String);

impl From<std::io::Error> for RunsError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}
