//! What holds for services that a program brings itself: [`guarded`].

use super::policies::{GRACE, guarded_agent};
use super::redacted::{RedactedAgent, redact_output};
use crate::domain::policy::Limits;
use crate::domain::{AgentReport, CheckReport, CheckScope, CheckSpec, Draft, Ending, FailureContext};
use crate::layer::{Layers, Svc, panic_text};
use crate::services::{
    Abilities, AgentRequest, Generator, GeneratorError, RetryFrom, Settings, Subagent, SubagentError, Subagents,
    UsageMeter, Verifier, VerifyRequest,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

/// How long an agent may work for whom the settings have no limit: as long as a configured one that names none.
const AGENT_LIMIT: Duration = Duration::from_hours(1);

/// Puts guards around the [`Generator`], the [`Subagents`] and the [`Verifier`] that are given to the list later. [`live`](super::live)
/// has them; use it for a list of your own.
///
/// A given service runs as a task of its own, so that it costs what it does and not the run:
///
/// | | panics | hangs | ignores cancellation |
/// |---|---|---|---|
/// | [`Generator`] | the error `generation_failed`; the heuristic writes the lesson | dropped after `reflexion.generationTimeoutMs`, then the same | dropped at once |
/// | [`Subagents`] | the attempt ends as `crash` and is judged by what it changed | the attempt ends as `timeout` 30 s after the agent's limit, an hour unless the settings have one for its name | dropped after 30 s, as `cancelled` |
/// | [`Verifier`] | its checks did `not_run`, which is never a pass | the same, 30 s after the limits of the checks together | the same, after 30 s |
///
/// A check that ran at the base and does not run any more refutes the attempt. What a given agent says and a given verifier prints is
/// shown and stored without secrets, like what others do. Decorators of [`Layers::wrap`] stand outside of the guards.
///
/// What is dropped ends at its next `.await`; a thread that is blocked is left behind, and a runtime of several threads goes on without it.
#[must_use]
pub fn guarded(layers: Layers) -> Layers {
    layers
        .guard::<dyn Generator, dyn Settings>(|given, _| Svc::new(GivenGenerator(given.into_arc())))
        .guard::<dyn Subagents, dyn Settings>(|given, settings| Svc::new(GivenAgents::new(given.into_arc(), settings)))
        .guard::<dyn Verifier, dyn Settings>(|given, _| Svc::new(GivenVerifier(given.into_arc())))
}

/// Does the work as a task of its own, and says what became of one that panicked. Dropped with the future that waits for it.
async fn alone<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T, String> {
    let task = AbortOnDropHandle::new(tokio::spawn(work.in_current_span()));
    task.await.map_err(|error| match error.try_into_panic() {
        Ok(payload) => format!("it panicked: {}", panic_text(&*payload)),
        Err(error) => error.to_string(),
    })
}

/// Returns some time after the cancellation, for whoever has not ended by then.
async fn ignored(cancel: CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

struct GivenGenerator(Arc<dyn Generator>);

#[async_trait]
impl Generator for GivenGenerator {
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let (generator, failure, spent) = (Arc::clone(&self.0), failure.clone(), spent.clone());
        let answer = alone(async move { generator.generate(&failure, &spent).await }).await;
        answer.unwrap_or_else(|because| Err(GeneratorError::GenerationFailed(because)))
    }
}

/// Given agents, each behind its limits once it was asked for.
struct GivenAgents {
    given: Arc<dyn Subagents>,
    settings: Svc<dyn Settings>,
    made: Mutex<BTreeMap<String, Arc<dyn Subagent>>>,
}

impl GivenAgents {
    fn new(given: Arc<dyn Subagents>, settings: Svc<dyn Settings>) -> Self {
        Self { given, settings, made: Mutex::default() }
    }
}

impl Subagents for GivenAgents {
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = made.get(name) {
            return Ok(Arc::clone(agent));
        }
        let given = catch_unwind(AssertUnwindSafe(|| self.given.get(name)));
        let agent = given.unwrap_or_else(|payload| Err(failed(name, panic_text(&*payload))))?;
        let configured = self.settings.agents().named.get(name);
        let agent = given_agent(name, agent, &configured.map_or_else(agent_limits, |agent| agent.limits.clone()))?;
        made.insert(name.to_owned(), Arc::clone(&agent));
        Ok(agent)
    }
}

fn failed(agent: &str, panic: String) -> SubagentError {
    SubagentError::Failed { agent: agent.to_owned(), message: format!("it panicked: {panic}") }
}

/// The limits of an agent that a program brings, where nothing else is said.
pub(super) fn agent_limits() -> Limits {
    Limits { timeout: AGENT_LIMIT, concurrency: None, per_minute: None, retries: 0 }
}

/// An agent that a program brings, behind everything that stands around a configured one, and a task of its own.
pub(super) fn given_agent(
    name: &str,
    agent: Arc<dyn Subagent>,
    limits: &Limits,
) -> Result<Arc<dyn Subagent>, SubagentError> {
    let ways = catch_unwind(AssertUnwindSafe(|| (agent.retry_from(), agent.abilities())));
    let (retry_from, abilities) = ways.map_err(|payload| failed(name, panic_text(&*payload)))?;
    let alone = GivenAgent { inside: agent, retry_from, abilities };
    Ok(guarded_agent(name, Arc::new(RedactedAgent(Arc::new(alone))), limits))
}

struct GivenAgent {
    inside: Arc<dyn Subagent>,
    retry_from: RetryFrom,
    abilities: Abilities,
}

#[async_trait]
impl Subagent for GivenAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let (agent, cancel) = (Arc::clone(&self.inside), request.cancel.clone());
        let ended = |ending, detail| Ok(AgentReport { detail: Some(detail), ..AgentReport::new(ending) });
        tokio::select! {
            biased;
            report = alone(async move { agent.run(request).await }) => {
                report.unwrap_or_else(|because| ended(Ending::Crash, because))
            }
            () = ignored(cancel) => {
                ended(Ending::Cancelled, format!("it did not stop within {} s of being cancelled", GRACE.as_secs()))
            }
        }
    }

    fn retry_from(&self) -> RetryFrom {
        self.retry_from
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }
}

struct GivenVerifier(Arc<dyn Verifier>);

#[async_trait]
impl Verifier for GivenVerifier {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        let (verifier, checks, cancel) = (Arc::clone(&self.0), request.checks.clone(), request.cancel.clone());
        let limit = checks.iter().map(|(_, spec)| spec.timeout()).sum::<Duration>() + GRACE;
        let reports = tokio::select! {
            biased;
            reports = alone(async move { verifier.verify(request).await }) => reports,
            () = ignored(cancel) => Err("the run was interrupted".to_owned()),
            () = tokio::time::sleep(limit) => Err(format!("it gave no answer within {} s", limit.as_secs())),
        };
        let because = reports.as_ref().err().map_or("it gave no report of it".to_owned(), Clone::clone);
        let mut reports = reports.unwrap_or_default();
        checks.into_iter().map(|check| own_report(&mut reports, check, &because)).collect()
    }
}

/// The report of this check, so that each has one and no other is counted.
fn own_report(reports: &mut Vec<CheckReport>, (scope, spec): (CheckScope, CheckSpec), because: &str) -> CheckReport {
    let Some(at) = reports.iter().position(|report| report.scope == scope && report.spec == spec) else {
        return CheckReport::not_run(scope, spec, format!("the verifier did not check it: {because}"));
    };
    let report = reports.remove(at);
    CheckReport { output: redact_output(report.output), ..report }
}

#[cfg(test)]
mod tests {
    //! Each given service in each way of going wrong: the run ends, with the words of the table above.

    use super::super::{new_run_id, test};
    use super::*;
    use crate::domain::{JournalEntry, Origin, RunReport, Task, Verdict};
    use crate::reflection::Heuristic;
    use crate::services::{
        Journal, Orchestrator, RecentQuery, RunRequest, Storage, Tasks, Verifier, VerifyRequest, Workspaces,
    };
    use crate::storage::{InMemoryStorage, MemoryJournal};
    use crate::testing::{MemoryTasks, MemoryWorkspaces, ScriptedSubagent, ScriptedVerifier, task};
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::time::Instant;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Way {
        Panics,
        /// Also where it is cancelled.
        Hangs,
    }

    impl Way {
        async fn go<T>(self) -> T {
            match self {
                Self::Panics => panic!("no luck"),
                Self::Hangs => std::future::pending().await,
            }
        }
    }

    /// Goes wrong in its calls of these numbers, counted from 1; otherwise the one inside answers.
    struct Wrong<S> {
        way: Way,
        at: fn(u32) -> bool,
        calls: AtomicU32,
        inside: S,
    }

    impl<S> Wrong<S> {
        fn new(way: Way, at: fn(u32) -> bool, inside: S) -> Self {
            Self { way, at, calls: AtomicU32::new(0), inside }
        }

        async fn maybe(&self) {
            if (self.at)(self.calls.fetch_add(1, Ordering::Relaxed) + 1) {
                self.way.go::<()>().await;
            }
        }
    }

    struct Agents(Arc<Wrong<Arc<dyn Subagent>>>);

    impl Subagents for Agents {
        fn get(&self, _: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
            Ok(self.0.clone())
        }
    }

    #[async_trait]
    impl Subagent for Wrong<Arc<dyn Subagent>> {
        async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
            self.maybe().await;
            self.inside.run(request).await
        }

        fn retry_from(&self) -> RetryFrom {
            RetryFrom::Change
        }
    }

    #[async_trait]
    impl Generator for Wrong<Heuristic> {
        async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
            self.maybe().await;
            self.inside.generate(failure, spent).await
        }
    }

    #[async_trait]
    impl<V: Verifier> Verifier for Wrong<V> {
        async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
            self.maybe().await;
            self.inside.verify(request).await
        }
    }

    /// What a run left.
    struct Left {
        report: RunReport,
        journal: String,
        /// Why the heuristic wrote the lessons.
        because: Vec<String>,
        took: u64,
    }

    /// One task, whose agent is wrong at first and then right, with a service that goes wrong; cancelled after so many seconds.
    async fn run(change: impl FnOnce(Layers, &MemoryWorkspaces) -> Layers, cancelled_after: Option<u64>) -> Left {
        let files = MemoryWorkspaces::new([("answer.txt", "")]);
        let checks = vec![serde_json::from_str(r#"{"name":"answer","run":"./check","timeoutMs":60000}"#).unwrap()];
        let tasks = MemoryTasks::new(vec![Task { checks, ..task("answer") }]);
        let (journal, storage) = (Arc::new(MemoryJournal::default()), Arc::new(InMemoryStorage::default()));
        let layers = guarded(test::test())
            .with(Svc::<dyn Workspaces>::new(files.clone()))
            .with(Svc::<dyn Tasks>::new(tasks))
            .with(Svc::<dyn Verifier>::new(verifier(&files)))
            .with(Svc::<dyn Subagents>::new(script(&files, &["wrong", "right"])))
            .with(journal.clone() as Arc<dyn Journal>)
            .with(storage.clone() as Arc<dyn Storage>);
        let app = change(layers, &files).build::<Svc<dyn Orchestrator>>().await.unwrap();
        let request = RunRequest::everything(new_run_id());
        let (cancel, start) = (request.cancel.clone(), Instant::now());
        let stops = async move {
            if let Some(seconds) = cancelled_after {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                cancel.cancel();
            }
        };
        let run = request.run.clone();
        let (report, ()) = tokio::join!(app.run(request), stops);
        app.shutdown().await.unwrap();
        let entries: Vec<JournalEntry> =
            journal.read(&run).await.unwrap().into_iter().map(|(_, entry)| entry).collect();
        let lessons = storage.recent(&RecentQuery::default()).await.unwrap();
        let because = lessons.into_iter().filter_map(|lesson| match lesson.origin {
            Some(Origin::Heuristic { because }) => Some(because),
            _ => None,
        });
        Left {
            report: report.unwrap(),
            journal: serde_json::to_string(&entries).unwrap(),
            because: because.collect(),
            took: start.elapsed().as_secs(),
        }
    }

    fn verifier(files: &MemoryWorkspaces) -> impl Verifier + 'static {
        let files = files.clone();
        ScriptedVerifier::new(move |_, dir| match files.read(dir, Path::new("answer.txt")).as_deref() {
            Some("right") => Ok(()),
            other => Err(format!("the answer is {other:?}")),
        })
    }

    fn script(files: &MemoryWorkspaces, answers: &[&str]) -> ScriptedSubagent {
        answers.iter().fold(ScriptedSubagent::new(), |agent, answer| agent.writes(files, "answer.txt", answer))
    }

    fn check_solved(left: &Left, at: u32, endings: &[&str]) {
        let task = &left.report.tasks[0];
        assert_eq!((task.verdict, task.solved_at), (Some(Verdict::Confirmed), Some(at)), "{task:?}");
        assert_eq!(task.endings.iter().map(Ending::as_str).collect::<Vec<_>>(), endings);
    }

    /// At its first run.
    async fn agent(way: Way, cancelled_after: Option<u64>) -> Left {
        let change = |layers: Layers, files: &MemoryWorkspaces| {
            let inside = script(files, &["right"]).get("any").unwrap();
            layers.with(Svc::<dyn Subagents>::new(Agents(Arc::new(Wrong::new(way, |call| call == 1, inside)))))
        };
        run(change, cancelled_after).await
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_panics_costs_its_attempt() {
        let left = agent(Way::Panics, None).await;
        check_solved(&left, 2, &["crash", "finished"]);
        assert!(left.journal.contains("it panicked: no luck"), "{}", left.journal);
        assert_eq!(left.report.tasks[0].reflections_written, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_hangs_costs_its_attempt_and_its_time() {
        let left = agent(Way::Hangs, None).await;
        check_solved(&left, 2, &["timeout", "finished"]);
        assert!(left.journal.contains("no end within 3630 s"), "{}", left.journal);
        assert_eq!(left.took, 3630);
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_ignores_cancellation_is_left_behind() {
        let left = agent(Way::Hangs, Some(10)).await;
        assert!(left.report.interrupted);
        assert_eq!(left.took, 40);
        assert!(left.journal.contains("it did not stop within 30 s of being cancelled"), "{}", left.journal);
    }

    async fn generator(way: Way, cancelled_after: Option<u64>) -> Left {
        let change =
            |layers: Layers, _: &_| layers.with(Svc::<dyn Generator>::new(Wrong::new(way, |_| true, Heuristic)));
        run(change, cancelled_after).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_generator_that_goes_wrong_costs_its_lesson() {
        let left = generator(Way::Panics, None).await;
        check_solved(&left, 2, &["finished", "finished"]);
        // Of the failure, and of what made the difference.
        assert_eq!(left.because, ["the generator failed: it panicked: no luck"; 2]);
        // Counted as those of the program's own generators are.
        assert_eq!(left.report.totals.fallbacks, 2);
        let left = generator(Way::Hangs, None).await;
        check_solved(&left, 2, &["finished", "finished"]);
        assert_eq!((left.because[0].as_str(), left.took), ("the generator timed out after 30 s", 60));
        // An interrupted run waits for no lesson.
        let left = generator(Way::Hangs, Some(10)).await;
        assert!(left.report.interrupted && left.took == 10, "{}", left.took);
    }

    /// Not at the base, whose check is the first call.
    async fn checks(way: Way, cancelled_after: Option<u64>) -> Left {
        let change = |layers: Layers, files: &MemoryWorkspaces| {
            let wrong = Wrong::new(way, |call| call == 2, verifier(files));
            let agents = script(files, &["right", "right"]);
            layers.with(Svc::<dyn Verifier>::new(wrong)).with(Svc::<dyn Subagents>::new(agents))
        };
        run(change, cancelled_after).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_verifier_that_goes_wrong_costs_the_attempt_and_confirms_nothing() {
        let left = checks(Way::Panics, None).await;
        check_solved(&left, 2, &["finished", "finished"]);
        let words = "not run, because the verifier did not check it: it panicked: no luck";
        assert!(left.journal.contains(words), "{}", left.journal);
        let left = checks(Way::Hangs, None).await;
        check_solved(&left, 2, &["finished", "finished"]);
        assert!(left.journal.contains("it gave no answer within 90 s"), "{}", left.journal);
        assert_eq!(left.took, 90);
        let left = checks(Way::Hangs, Some(10)).await;
        assert!(left.report.interrupted && left.took == 40, "{}", left.took);
    }

    #[tokio::test(start_paused = true)]
    async fn a_verifier_that_always_panics_ends_the_run_before_an_agent_is_paid() {
        let change = |layers: Layers, files: &MemoryWorkspaces| {
            let wrong = Wrong::new(Way::Panics, |_| true, verifier(files));
            layers.with(Svc::<dyn Verifier>::new(wrong)).with(Svc::<dyn Subagents>::new(ScriptedSubagent::new()))
        };
        let files = MemoryWorkspaces::default();
        let checks = vec![serde_json::from_str(r#"{"name":"answer","run":"./check"}"#).unwrap()];
        let tasks = MemoryTasks::new(vec![Task { checks, ..task("answer") }]);
        let layers = guarded(test::test()).with(Svc::<dyn Tasks>::new(tasks));
        let app = change(layers, &files).build::<Svc<dyn Orchestrator>>().await.unwrap();
        let ended = format!("{:?}", app.run(RunRequest::everything(new_run_id())).await);
        assert!(ended.contains("check `answer` cannot start: the verifier did not check it: it panicked"), "{ended}");
    }

    #[tokio::test]
    async fn a_verifier_that_leaves_out_a_check_does_not_pass_it() {
        struct Nothing;
        #[async_trait]
        impl Verifier for Nothing {
            async fn verify(&self, _: VerifyRequest) -> Vec<CheckReport> {
                Vec::new()
            }
        }
        let spec: CheckSpec = serde_json::from_str(r#"{"name":"answer","run":"./check"}"#).unwrap();
        let request = VerifyRequest {
            checks: vec![(CheckScope::Task, spec)],
            dir: ".".into(),
            places: Vec::new(),
            env: BTreeMap::new(),
            walled: false,
            cancel: CancellationToken::new(),
        };
        let reports = GivenVerifier(Arc::new(Nothing)).verify(request).await;
        assert_eq!(reports[0].how(), "not run, because the verifier did not check it: it gave no report of it");
    }

    /// A thread that is blocked cannot be stopped, but nobody waits for it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_generator_that_blocks_its_thread_is_given_up() {
        struct Blocks(Mutex<std::sync::mpsc::Receiver<()>>);
        #[async_trait]
        impl Generator for Blocks {
            async fn generate(&self, _: &FailureContext, _: &UsageMeter) -> Result<Draft, GeneratorError> {
                let _ = self.0.lock().unwrap().recv();
                Err(GeneratorError::GenerationFailed("too late".to_owned()))
            }
        }
        let (go, wait) = std::sync::mpsc::channel();
        let given = GivenGenerator(Arc::new(Blocks(Mutex::new(wait))));
        let limited = crate::reflection::Limited { inner: Arc::new(given), limit: Duration::from_millis(50) };
        let error = limited.generate(&crate::reflection::test_failure(), &UsageMeter::default()).await.unwrap_err();
        assert!(matches!(error, GeneratorError::Timeout(_)), "{error}");
        drop(go);
    }
}
