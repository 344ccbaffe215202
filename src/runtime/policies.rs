//! What stands around everything that leaves the process: agent runs and questions to a model, as tower layers.
//!
//! Outermost first:
//!
//! | | agent run | question to a model |
//! |---|---|---|
//! | concurrency | so many at a time, over all callers | the same |
//! | retry | the loop's: each agent run is an ending of its own in the journal, and its workspace is reset before the next | passing faults, a few times, with a growing wait |
//! | rate | so many a minute, over all callers | the same; each try counts |
//! | deadline | the agent's own limit and a grace | the limit of one try |
//!
//! The deadline stands inside, so that waiting for a turn is no working time, and a turn is always given back: a caller
//! waits at most as long as those before it take. A question takes at most `(retries + 1) × timeout` and the waits
//! between; who has less time than that puts a deadline of its own outside, as the generators do
//! (`reflexion.generationTimeoutMs`).

use super::rate::SharedRateLayer;
use super::retry::PassingFaults;
use super::tower_agent::TowerAgent;
use super::tower_model::TowerModel;
use crate::domain::policy::Limits;
use crate::domain::{AgentReport, Ending, policy};
use crate::services::{AgentService, Model, ModelError, ModelService, Models, Subagent};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::error::Elapsed;
use tower::{BoxError, ServiceBuilder, ServiceExt};

/// How much longer than the agent's own limit the deadline is: time enough for TERM, grace, KILL and the sweep.
pub(super) const GRACE: Duration = Duration::from_secs(30);

/// A list of names needs no model to think.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// An agent within its limits, which all its callers share.
///
/// The agent's own time limit comes first and knows more; the deadline here is the backstop behind it, because an
/// attempt must never hang a night. Dropping the run ends its processes.
pub(super) fn guarded_agent(name: &str, agent: Arc<dyn Subagent>, limits: &Limits) -> Arc<dyn Subagent> {
    let deadline = limits.timeout + GRACE;
    let service = ServiceBuilder::new()
        .option_layer(limits.concurrency.map(ConcurrencyLimitLayer::new))
        .option_layer(limits.per_minute.map(SharedRateLayer::per_minute))
        .map_result(move |result| late_agent(result, deadline))
        .timeout(deadline)
        .service(AgentService(Arc::clone(&agent)));
    Arc::new(TowerAgent::new(name, agent, service))
}

/// A model within its limits, which all its callers share.
pub(super) fn guarded_model(model: Arc<dyn Model>, limits: &Limits) -> Arc<dyn Model> {
    let deadline = limits.timeout;
    let service = ServiceBuilder::new()
        .option_layer(limits.concurrency.map(ConcurrencyLimitLayer::new))
        .retry(PassingFaults::at_most(limits.retries))
        .option_layer(limits.per_minute.map(SharedRateLayer::per_minute))
        .map_err(move |error| late_model(error, deadline))
        .timeout(deadline)
        .service(ModelService(model));
    Arc::new(TowerModel::new(service))
}

/// An agent that was dropped at its deadline ended in a timeout: that is a report, no error.
fn late_agent(result: Result<AgentReport, BoxError>, deadline: Duration) -> Result<AgentReport, BoxError> {
    match result {
        Err(error) if error.is::<Elapsed>() => Ok(AgentReport {
            detail: Some(format!("no end within {} s", deadline.as_secs_f64())),
            ..AgentReport::new(Ending::Timeout)
        }),
        other => other,
    }
}

fn late_model(error: BoxError, deadline: Duration) -> BoxError {
    if error.is::<Elapsed>() { ModelError::Timeout(deadline).into() } else { error }
}

/// Opens models, each within its limits; equal settings are one model, so that its limits are shared.
pub(super) struct GuardedModels {
    bare: Arc<dyn Models>,
    opened: Mutex<Vec<(policy::Model, Arc<dyn Model>)>>,
}

impl GuardedModels {
    pub fn new(bare: impl Models + 'static) -> Self {
        Self { bare: Arc::new(bare), opened: Mutex::default() }
    }
}

#[async_trait]
impl Models for GuardedModels {
    fn open(&self, settings: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = opened.iter().find(|(known, _)| known == settings) {
            return Ok(Arc::clone(model));
        }
        let model = guarded_model(self.bare.open(settings)?, &settings.limits);
        opened.push((settings.clone(), Arc::clone(&model)));
        Ok(model)
    }

    async fn offered(&self, settings: &policy::Model) -> Result<Vec<String>, ModelError> {
        let limit = settings.limits.timeout.min(LIST_LIMIT);
        let ask = tower::service_fn(|()| self.bare.offered(settings));
        let answer = ServiceBuilder::new().timeout(limit).service(ask).oneshot(()).await;
        answer.map_err(|error| match error.downcast::<ModelError>() {
            Ok(error) => *error,
            Err(_) => ModelError::Timeout(limit),
        })
    }
}

#[cfg(test)]
mod tests {
    // One test or more per policy, named after it: without its layer, exactly the tests of that name fail. Time stands
    // still and jumps to the next timer, so every time here is exact.

    use super::*;
    use crate::domain::policy::{Provider, Structured};
    use crate::domain::{RunId, SessionId, SubtaskId, TaskId, Usage};
    use crate::services::{
        AgentRequest, Completion, Conversation, MockModels, Mode, ModelRequest, RetryFrom, SubagentError, Unwatched,
    };
    use async_trait::async_trait;
    use futures_util::future::join_all;
    use std::collections::VecDeque;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    /// Longer than anything here, so that a test that would hang fails.
    const FOR_EVER: Duration = Duration::from_secs(1_000_000);

    /// What happened at the innermost service: when calls began, in seconds, and how many ran at a time.
    #[derive(Default)]
    struct Seen {
        began: Mutex<Vec<u64>>,
        now: Mutex<(usize, usize)>,
    }

    impl Seen {
        async fn work(&self, start: Instant, takes: Duration) {
            self.began.lock().unwrap().push(start.elapsed().as_secs());
            {
                let (now, most) = &mut *self.now.lock().unwrap();
                *now += 1;
                *most = (*most).max(*now);
            }
            tokio::time::sleep(takes).await;
            self.now.lock().unwrap().0 -= 1;
        }

        fn began(&self) -> Vec<u64> {
            self.began.lock().unwrap().clone()
        }

        fn at_a_time(&self) -> usize {
            self.now.lock().unwrap().1
        }
    }

    /// Works for so long, as an agent or as a model; a model gives its answers in order, then `done` for ever.
    struct Works {
        seen: Arc<Seen>,
        start: Instant,
        takes: Duration,
        answers: Mutex<VecDeque<ModelError>>,
    }

    fn works(takes: Duration) -> Works {
        Works { seen: Arc::default(), start: Instant::now(), takes, answers: Mutex::default() }
    }

    fn answers(errors: impl IntoIterator<Item = ModelError>) -> Works {
        Works { answers: Mutex::new(errors.into_iter().collect()), ..works(Duration::ZERO) }
    }

    #[async_trait]
    impl Subagent for Works {
        async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
            self.seen.work(self.start, self.takes).await;
            Ok(AgentReport::new(Ending::Finished))
        }

        fn retry_from(&self) -> RetryFrom {
            RetryFrom::Base
        }
    }

    #[async_trait]
    impl Model for Works {
        async fn complete(&self, _: ModelRequest) -> Result<Completion, ModelError> {
            self.seen.work(self.start, self.takes).await;
            match self.answers.lock().unwrap().pop_front() {
                Some(error) => Err(error),
                None => Ok(Completion::whole("done", Usage::default())),
            }
        }
    }

    fn limits() -> Limits {
        Limits { timeout: Duration::from_secs(60), concurrency: None, per_minute: None, retries: 0 }
    }

    fn model_settings() -> policy::Model {
        policy::Model {
            provider: Provider::OpenAi,
            name: "small".to_owned(),
            base_url: None,
            key_env: None,
            max_tokens: 1,
            temperature_milli: None,
            structured: Structured::Off,
            limits: limits(),
        }
    }

    fn request() -> AgentRequest {
        AgentRequest {
            run: RunId::new("r").unwrap(),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            session: SessionId::new("s"),
            prompt: String::new(),
            prompt_file: "p".into(),
            dir: ".".into(),
            mode: Mode::Work,
            env: std::collections::BTreeMap::new(),
            conversation: Conversation::New,
            protect: Vec::new(),
            watch: Arc::new(Unwatched),
            cancel: CancellationToken::new(),
        }
    }

    async fn in_time<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(FOR_EVER, future).await.expect("it hangs")
    }

    /// So many agent runs that come at once, each of so many seconds; when they began, and how many ran at a time.
    async fn agent_runs(count: usize, takes: u64, limits: &Limits) -> (Vec<u64>, usize) {
        let agent = works(Duration::from_secs(takes));
        let seen = Arc::clone(&agent.seen);
        let agent = guarded_agent("a", Arc::new(agent), limits);
        for report in in_time(join_all((0..count).map(|_| agent.run(request())))).await {
            assert_eq!(report.unwrap().ending, Ending::Finished);
        }
        (seen.began(), seen.at_a_time())
    }

    async fn questions(count: usize, takes: u64, limits: &Limits) -> (Vec<u64>, usize) {
        let model = works(Duration::from_secs(takes));
        let seen = Arc::clone(&model.seen);
        let model = guarded_model(Arc::new(model), limits);
        for answer in in_time(join_all((0..count).map(|_| model.complete(ModelRequest::default())))).await {
            assert_eq!(answer.unwrap().text, "done");
        }
        (seen.began(), seen.at_a_time())
    }

    #[tokio::test(start_paused = true)]
    async fn agent_deadline_ends_a_run_that_never_returns() {
        let agent = guarded_agent("a", Arc::new(works(FOR_EVER * 2)), &limits());
        let start = Instant::now();
        let report = in_time(agent.run(request())).await.unwrap();
        assert_eq!(report.ending, Ending::Timeout);
        assert_eq!(report.detail.unwrap(), "no end within 90 s");
        assert_eq!(start.elapsed().as_secs(), 90);
    }

    #[tokio::test(start_paused = true)]
    async fn agent_concurrency_is_shared_and_waiting_is_no_working_time() {
        // The last one waits for 150 s, longer than its own limit, and ends well all the same.
        let limits = Limits { concurrency: Some(1), ..limits() };
        assert_eq!(agent_runs(4, 50, &limits).await, (vec![0, 50, 100, 150], 1));
    }

    #[tokio::test(start_paused = true)]
    async fn agent_concurrency_ends_a_wait_that_is_cancelled_and_starts_nothing() {
        let agent = works(Duration::from_secs(50));
        let seen = Arc::clone(&agent.seen);
        let agent = guarded_agent("a", Arc::new(agent), &Limits { concurrency: Some(1), ..limits() });
        let start = Instant::now();
        let waiting = request();
        let cancel = waiting.cancel.clone();
        let (_, cancelled, ()) = tokio::join!(
            agent.run(request()),
            async {
                let report = agent.run(waiting).await.unwrap();
                (report.ending, start.elapsed().as_secs())
            },
            async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                cancel.cancel();
            }
        );
        assert_eq!(cancelled, (Ending::Cancelled, 10));
        assert_eq!(seen.began(), [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn agent_rate_is_shared_and_waiting_is_no_working_time() {
        let limits = Limits { per_minute: Some(2), ..limits() };
        assert_eq!(agent_runs(7, 50, &limits).await.0, [0, 0, 60, 60, 120, 120, 180]);
    }

    #[tokio::test(start_paused = true)]
    async fn agent_rate_lets_the_next_in_line_through_when_one_gives_up() {
        let agent = works(Duration::ZERO);
        let seen = Arc::clone(&agent.seen);
        let agent = guarded_agent("a", Arc::new(agent), &Limits { per_minute: Some(1), ..limits() });
        agent.run(request()).await.unwrap();
        let gives_up = tokio::time::timeout(Duration::from_secs(5), agent.run(request()));
        let (gave_up, stays) = in_time(async { tokio::join!(gives_up, agent.run(request())) }).await;
        assert!(gave_up.is_err());
        stays.unwrap();
        assert_eq!(seen.began(), [0, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn model_timeout_ends_a_question_that_is_never_answered() {
        let model = guarded_model(Arc::new(works(FOR_EVER * 2)), &limits());
        let error = in_time(model.complete(ModelRequest::default())).await.unwrap_err();
        assert_eq!(error, ModelError::Timeout(Duration::from_secs(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn model_concurrency_is_shared_and_waiting_is_no_working_time() {
        let limits = Limits { concurrency: Some(2), ..limits() };
        assert_eq!(questions(6, 50, &limits).await, (vec![0, 0, 50, 50, 100, 100], 2));
    }

    #[tokio::test(start_paused = true)]
    async fn model_rate_is_shared() {
        let limits = Limits { per_minute: Some(3), ..limits() };
        assert_eq!(questions(5, 1, &limits).await.0, [0, 0, 0, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn model_rate_counts_each_try() {
        let model = answers((0..2).map(|_| ModelError::Transient("503".to_owned())));
        let seen = Arc::clone(&model.seen);
        let limits = Limits { per_minute: Some(1), retries: 2, ..limits() };
        let _ = in_time(guarded_model(Arc::new(model), &limits).complete(ModelRequest::default())).await;
        assert!(seen.began().windows(2).all(|pair| pair[1] - pair[0] >= 60), "{:?}", seen.began());
    }

    /// What comes of errors in a row with so many retries, when each try began (whole seconds), and how long it took.
    async fn retried(retries: u32, errors: Vec<ModelError>) -> (Result<String, ModelError>, Vec<u64>, Duration) {
        let model = answers(errors);
        let (seen, start) = (Arc::clone(&model.seen), Instant::now());
        let model = guarded_model(Arc::new(model), &Limits { retries, ..limits() });
        let answer = in_time(model.complete(ModelRequest::default())).await.map(|completion| completion.text);
        (answer, seen.began(), start.elapsed())
    }

    fn transient(message: &str) -> ModelError {
        ModelError::Transient(message.to_owned())
    }

    fn limited(retry_after: Option<u64>) -> ModelError {
        ModelError::RateLimited { retry_after: retry_after.map(Duration::from_secs), message: "slow down".to_owned() }
    }

    fn between(took: Duration, least_ms: u64) {
        // A quarter of chance on top.
        let (least, most) = (Duration::from_millis(least_ms), Duration::from_millis(least_ms + least_ms / 4 + 10));
        assert!((least..=most).contains(&took), "{took:?} is not within {least:?} and {most:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn model_retry_asks_again_after_a_passing_fault_with_growing_waits() {
        let (answer, began, took) = retried(6, vec![transient("503"); 6]).await;
        assert_eq!((answer.unwrap().as_str(), began.len()), ("done", 7));
        between(took, 500 + 1000 + 2000 + 4000 + 8000 + 8000);
    }

    #[tokio::test(start_paused = true)]
    async fn model_retry_waits_as_long_as_it_is_asked_to() {
        let (answer, began, took) = retried(2, vec![limited(Some(20))]).await;
        assert_eq!((answer.unwrap().as_str(), began.len()), ("done", 2));
        between(took, 20_000);
    }

    #[tokio::test(start_paused = true)]
    async fn model_retry_keeps_the_first_cause_and_is_bounded() {
        let (answer, began, _) =
            retried(2, vec![transient("503"), transient("504"), limited(None), transient("x")]).await;
        let error = answer.unwrap_err();
        assert_eq!(began.len(), 3);
        // The last error decides what follows.
        let words = "rate limited: slow down (asked 3 times; at first: the model's service failed: 503)";
        assert_eq!(error.to_string(), words);
        assert!(matches!(error, ModelError::RateLimited { .. }));
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_or_takes_too_long_is_not_asked_again() {
        let check = async |error: ModelError| {
            let (answer, began, took) = retried(5, vec![error.clone()]).await;
            assert_eq!((answer, began.len(), took), (Err(error), 1, Duration::ZERO));
        };
        check(ModelError::Auth("bad key".to_owned())).await;
        check(ModelError::Quota("nothing left".to_owned())).await;
        check(ModelError::Context("long".to_owned())).await;
        check(ModelError::Rejected("400".to_owned())).await;
        check(limited(Some(61))).await;
    }

    #[tokio::test(start_paused = true)]
    async fn equal_settings_are_one_model() {
        let mut bare = MockModels::new();
        bare.expect_open().times(2).returning(|_| Ok(Arc::new(works(Duration::ZERO))));
        let models = GuardedModels::new(bare);
        let settings = model_settings();
        let first = models.open(&settings).unwrap();
        assert!(Arc::ptr_eq(&first, &models.open(&settings).unwrap()));
        let other = policy::Model { name: "other".to_owned(), ..settings };
        assert!(!Arc::ptr_eq(&first, &models.open(&other).unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_of_a_list_of_models() {
        struct Silent;

        #[async_trait]
        impl Models for Silent {
            fn open(&self, _: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
                Err(ModelError::Unavailable("not asked for".to_owned()))
            }

            async fn offered(&self, _: &policy::Model) -> Result<Vec<String>, ModelError> {
                std::future::pending().await
            }
        }

        let settings = model_settings();
        assert_eq!(GuardedModels::new(Silent).offered(&settings).await, Err(ModelError::Timeout(LIST_LIMIT)));
    }
}
