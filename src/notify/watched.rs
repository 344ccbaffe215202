//! The loop with somebody who tells of it.

use super::{Bell, LIMIT};
use crate::domain::RunReport;
use crate::services::{Orchestrator, RunError, RunRequest};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// Whoever interrupts waits at the terminal.
const LIMIT_INTERRUPTED: Duration = Duration::from_secs(3);

/// A loop whose runs ring a [`Bell`]; the loop's own event sink is that bell.
pub struct Watched<O> {
    inner: O,
    bell: Arc<Bell>,
}

impl<O: Orchestrator> Watched<O> {
    /// Puts them together.
    pub fn new(inner: O, bell: Arc<Bell>) -> Self {
        Self { inner, bell }
    }
}

#[async_trait]
impl<O: Orchestrator> Orchestrator for Watched<O> {
    async fn run(&self, request: RunRequest) -> Result<RunReport, RunError> {
        let cancel = request.cancel.clone();
        let couriers = self.bell.open(&request.run);
        let result = self.inner.run(request).await;
        if let Some(couriers) = couriers {
            let bound = if cancel.is_cancelled() { LIMIT_INTERRUPTED } else { LIMIT };
            couriers.close(&result, bound).await;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{About, Event, EventKind, JournalEntry, Notice, NoticeKind, RunId, Stop, TaskId, Timestamp};
    use crate::notify::BellParams;
    use crate::notify::fixtures::report;
    use crate::services::{EventSink, Notifier, Notifiers, NotifyError, Recipient};
    use crate::testing::{CollectedEvents, TestClock};
    use std::sync::Mutex;
    use tokio::time::Instant;

    /// What a notifier does with a notice.
    #[derive(Clone, Copy, PartialEq)]
    enum Does {
        Take,
        Fail,
        Hang,
        Nothing,
    }

    struct Told {
        does: Does,
        titles: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Notifier for Told {
        fn name(&self) -> String {
            "somebody".to_owned()
        }

        fn check(&self) -> Result<String, NotifyError> {
            if self.does == Does::Nothing { Err(NotifyError::Unset("KEY".to_owned())) } else { Ok(String::new()) }
        }

        async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
            assert!(self.does != Does::Nothing, "asked to send although it cannot");
            self.titles.lock().unwrap().push(notice.title().to_owned());
            match self.does {
                Does::Hang => std::future::pending().await,
                Does::Fail => Err(NotifyError::Failed("no".to_owned())),
                Does::Take | Does::Nothing => Ok(()),
            }
        }
    }

    struct All(Vec<Recipient>);

    impl Notifiers for All {
        fn all(&self) -> Vec<Recipient> {
            self.0.clone()
        }
    }

    /// Two tasks, and a person is needed for each.
    struct Needy(Arc<Bell>);

    #[async_trait]
    impl Orchestrator for Needy {
        async fn run(&self, request: RunRequest) -> Result<RunReport, RunError> {
            for (task, missing) in [("one", "no npm"), ("two", "no cargo")] {
                let mut of_task = report(&[(task, None, Some(Stop::Environment))], 0).tasks.remove(0);
                of_task.cause = Some(missing.to_owned());
                let task = TaskId::new(task).unwrap();
                let about = About::task(&request.run, &task);
                let entry = JournalEntry::TaskEnded {
                    task,
                    verdict: None,
                    proof: None,
                    branch: None,
                    cause: of_task.cause.clone(),
                    status: None,
                    report: Some(Box::new(of_task)),
                };
                self.0.publish(Event { at: Timestamp::UNIX_EPOCH, about, kind: EventKind::Recorded(entry) });
                tokio::task::yield_now().await;
            }
            Ok(RunReport { run: request.run, ..report(&[("one", None, Some(Stop::Environment))], 0) })
        }
    }

    struct Scene {
        told: Vec<Arc<Told>>,
        events: Arc<CollectedEvents>,
        watched: Watched<Needy>,
    }

    fn scene(who: &[(Does, &[NoticeKind])]) -> Scene {
        let told: Vec<_> =
            who.iter().map(|(does, _)| Arc::new(Told { does: *does, titles: Mutex::default() })).collect();
        let recipients = told
            .iter()
            .zip(who)
            .map(|(told, (_, on))| Recipient { notifier: Arc::clone(told) as Arc<dyn Notifier>, on: on.to_vec() });
        let events = Arc::new(CollectedEvents::default());
        let bell = Arc::new(Bell::new(BellParams {
            notifiers: Arc::new(All(recipients.collect())),
            events: events.clone(),
            clock: Arc::new(TestClock::new()),
            project: "p".to_owned(),
        }));
        Scene { told, events, watched: Watched::new(Needy(Arc::clone(&bell)), bell) }
    }

    impl Scene {
        /// Runs it, and gives how long it took on the test's clock, in seconds.
        async fn run(&self, request: RunRequest) -> u64 {
            let started = Instant::now();
            assert!(self.watched.run(request).await.is_ok());
            started.elapsed().as_secs()
        }

        fn titles(&self, who: usize) -> Vec<String> {
            self.told[who].titles.lock().unwrap().clone()
        }

        fn warnings(&self) -> Vec<String> {
            let warning = |event: Event| match event.kind {
                EventKind::Warning { message } => Some(message),
                _ => None,
            };
            self.events.all().into_iter().filter_map(warning).collect()
        }
    }

    fn everything() -> RunRequest {
        RunRequest::everything(RunId::new("r").unwrap())
    }

    const ALL: &[NoticeKind] = &[NoticeKind::NeedsYou, NoticeKind::Finished, NoticeKind::Ended];
    const ONE: &str = "task `one` could not be worked on";
    const TWO: &str = "task `two` could not be worked on";
    const END: &str = "0 of 1 confirmed";

    #[tokio::test(start_paused = true)]
    async fn everybody_gets_what_they_want_in_order_and_run_by_run() {
        let scene = scene(&[(Does::Take, ALL), (Does::Take, &[NoticeKind::Ended])]);
        assert_eq!(scene.run(everything()).await, 0);
        assert_eq!((scene.titles(0), scene.titles(1)), (vec![ONE.into(), TWO.into(), END.into()], vec![END.into()]));
        // The events are still there for the others, and a next run begins anew.
        assert_eq!(scene.events.all().len(), 2);
        scene.run(everything()).await;
        assert_eq!(scene.titles(0).len(), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_fails_is_a_warning_once_and_whoever_cannot_is_not_asked() {
        let scene = scene(&[(Does::Fail, ALL), (Does::Nothing, ALL)]);
        assert_eq!(scene.run(everything()).await, 0);
        assert_eq!(scene.titles(0).len(), 3);
        let warnings = scene.warnings();
        assert_eq!(
            warnings,
            [
                "no notice will reach somebody: the environment variable KEY is not set".to_owned(),
                format!("the notice `{ONE}` did not reach somebody: no"),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_hangs_holds_nobody_up_for_long() {
        let scene = scene(&[(Does::Hang, ALL), (Does::Take, ALL)]);
        assert_eq!(scene.run(everything()).await, LIMIT.as_secs());
        assert_eq!((scene.titles(0)[0].as_str(), scene.titles(1).len()), (ONE, 3));
        assert!(scene.warnings().iter().any(|w| w.contains("given up 10 s after the run")), "{:?}", scene.warnings());
        let interrupted = everything();
        interrupted.cancel.cancel();
        assert_eq!(scene.run(interrupted).await, LIMIT_INTERRUPTED.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_is_given_up_leaves_nothing_behind() {
        let scene = scene(&[(Does::Hang, ALL)]);
        let given_up = tokio::time::timeout(Duration::from_secs(1), scene.watched.run(everything())).await;
        assert!(given_up.is_err());
        // The bell is free for the next run.
        assert_eq!(scene.run(everything()).await, LIMIT.as_secs());
        assert_eq!(scene.titles(0).iter().filter(|title| *title == ONE).count(), 2);
    }

    #[tokio::test]
    async fn nobody_is_nothing() {
        let scene = scene(&[]);
        scene.run(everything()).await;
        assert_eq!((scene.events.all().len(), scene.warnings().len()), (2, 0));
    }
}
