//! Which run goes on.

use crate::domain::{RunId, RunKind};
use crate::orchestrator::resume;
use crate::orchestrator::resume::{PastRun, RunStanding};
use crate::services::{Clock, Journal, JournalError};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::Window;

/// The window is looked at this often: a sleep does not go on while the machine is suspended.
const LOOK: Duration = Duration::from_secs(30);

/// The nights of a project.
pub struct Night {
    /// What runs wrote down.
    pub journal: Arc<dyn Journal>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// A night that did not come to its own end.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfinished {
    /// Its run.
    pub run: RunId,
    /// What its journal tells.
    pub past: PastRun,
}

impl Unfinished {
    /// Whether it was killed: nobody stopped it, and its journal has no end.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        self.past.standing == RunStanding::Open
    }
}

impl Night {
    /// The newest night, if it was killed or stopped before it was done. Runs of `reflexion run` do not count.
    ///
    /// # Errors
    /// [`JournalError`] if journals cannot be read.
    pub async fn unfinished(&self) -> Result<Option<Unfinished>, JournalError> {
        for run in self.journal.runs().await? {
            let past = resume::replay(&self.journal.read(&run).await?);
            if past.plan.kind != RunKind::Overnight {
                continue;
            }
            let unfinished = past.standing != RunStanding::Done;
            return Ok(unfinished.then_some(Unfinished { run, past }));
        }
        Ok(None)
    }

    /// Waits until the window is open; false if that was interrupted.
    pub async fn wait_for(&self, window: &Window, cancel: &CancellationToken) -> bool {
        loop {
            let opens = window.opens(self.clock.now(), &self.clock.zone());
            let left = Duration::try_from(opens.duration_since(self.clock.now())).unwrap_or(Duration::ZERO);
            if left.is_zero() {
                return true;
            }
            tokio::select! {
                () = self.clock.sleep(left.min(LOOK)) => {}
                () = cancel.cancelled() => return false,
            }
        }
    }
}
