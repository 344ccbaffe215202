//! Carries notices to whoever wants them, out of the run's way.

use super::Decider;
use crate::domain::{About, Event, EventKind, Notice, RunId, RunReport};
use crate::redaction::Redactor;
use crate::services::{Clock, EventSink, Notifier, Notifiers, NotifyError, Recipient, RunError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// One notice may take so long: a server that answers at all answers within seconds.
pub const LIMIT: Duration = Duration::from_secs(10);
/// Notices that wait for one recipient. The decider lets a handful through in an hour, and each waits for [`LIMIT`] at most.
const QUEUE: usize = 16;

/// Sends one notice within [`LIMIT`], without secrets.
///
/// # Errors
/// [`NotifyError`], [`NotifyError::Timeout`] among them.
pub async fn send(notifier: &dyn Notifier, notice: &Notice) -> Result<(), NotifyError> {
    let redacted = |text: &str| Redactor::of_process().redact(text).into_owned();
    let notice = notice.clone().saying(&redacted(notice.title()), &redacted(notice.text()));
    timeout(LIMIT, notifier.send(&notice)).await.unwrap_or(Err(NotifyError::Timeout(LIMIT)))
}

/// Stands in an event sink's place: passes every event on, and rings for those that somebody should hear of.
pub struct Bell {
    recipients: Vec<Recipient>,
    events: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    project: String,
    /// Of the run that goes on.
    ringing: Mutex<Option<Ringing>>,
}

/// What a bell is made of.
pub struct BellParams {
    /// Who is told.
    pub notifiers: Arc<dyn Notifiers>,
    /// Gets every event.
    pub events: Arc<dyn EventSink>,
    /// When the run's end is told.
    pub clock: Arc<dyn Clock>,
    /// Whose runs they are.
    pub project: String,
}

struct Ringing {
    decider: Decider,
    queues: Vec<(Recipient, mpsc::Sender<Notice>)>,
}

impl Bell {
    /// A bell for any number of runs, one at a time.
    #[must_use]
    pub fn new(params: BellParams) -> Self {
        let BellParams { notifiers, events, clock, project } = params;
        Self { recipients: notifiers.all(), events, clock, project, ringing: Mutex::default() }
    }

    /// Begins to ring for a run. None where nobody is to be told, or another run goes on.
    pub(super) fn open(&self, run: &RunId) -> Option<Couriers<'_>> {
        if self.recipients.is_empty() || self.lock().is_some() {
            return None;
        }
        let mut running = JoinSet::new();
        let mut queues = Vec::new();
        for recipient in &self.recipients {
            let name = recipient.notifier.name();
            if let Err(error) = recipient.notifier.check() {
                self.warn(run, format!("no notice will reach {name}: {error}"));
                continue;
            }
            let (queue, notices) = mpsc::channel(QUEUE);
            running.spawn(courier(
                Arc::clone(&recipient.notifier),
                notices,
                Arc::clone(&self.events),
                self.clock.clone(),
                run.clone(),
            ));
            queues.push((recipient.clone(), queue));
        }
        *self.lock() = Some(Ringing { decider: Decider::new(&self.project, run), queues });
        Some(Couriers { bell: self, run: run.clone(), running })
    }

    fn warn(&self, run: &RunId, message: String) {
        let (at, about) = (self.clock.now(), About::run(run));
        self.events.publish(Event { at, about, kind: EventKind::Warning { message } });
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ringing>> {
        self.ringing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Bell {
    fn publish(&self, event: Event) {
        if let Some(ringing) = self.lock().as_mut()
            && let Some(notice) = ringing.decider.event(&event)
        {
            ringing.ring(&notice);
        }
        self.events.publish(event);
    }
}

impl Ringing {
    fn ring(&self, notice: &Notice) {
        for (recipient, queue) in self.queues.iter().filter(|(recipient, _)| recipient.on.contains(&notice.kind())) {
            // Waiting for room would hold the run up.
            if queue.try_send(notice.clone()).is_err() {
                tracing::warn!("too many notices wait for {}; one was dropped", recipient.notifier.name());
            }
        }
    }
}

/// Those who carry the notices of one run; dropping them ends what they do.
pub(super) struct Couriers<'a> {
    bell: &'a Bell,
    run: RunId,
    running: JoinSet<()>,
}

impl Couriers<'_> {
    /// Tells the run's end, and waits until everything is carried out, but not longer than `bound`.
    pub async fn close(mut self, result: &Result<RunReport, RunError>, bound: Duration) {
        let ringing = self.bell.lock().take();
        if let Some(mut ringing) = ringing
            && let Some(notice) = ringing.decider.over(result, self.bell.clock.now())
        {
            ringing.ring(&notice);
        }
        let all = async { while self.running.join_next().await.is_some() {} };
        if timeout(bound, all).await.is_err() {
            let seconds = bound.as_secs();
            self.bell
                .warn(&self.run, format!("{} notifiers were given up {seconds} s after the run", self.running.len()));
        }
    }
}

impl Drop for Couriers<'_> {
    fn drop(&mut self) {
        self.bell.lock().take();
    }
}

/// Carries the notices of one recipient, one after the other. Its first failure is a warning, the others only log lines.
async fn courier(
    to: Arc<dyn Notifier>,
    mut notices: mpsc::Receiver<Notice>,
    events: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    run: RunId,
) {
    let mut warned = false;
    while let Some(notice) = notices.recv().await {
        let Err(error) = send(&*to, &notice).await else { continue };
        let message = format!("the notice `{}` did not reach {}: {error}", notice.title(), to.name());
        if std::mem::replace(&mut warned, true) {
            tracing::info!("{message}");
        } else {
            events.publish(Event { at: clock.now(), about: About::run(&run), kind: EventKind::Warning { message } });
        }
    }
}
