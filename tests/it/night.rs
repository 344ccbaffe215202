//! Nights on the shipped doubles and a clock that jumps: deadlines, waits, and what does not merge.

use async_trait::async_trait;
use reflexion::domain::policy::{Budget, Budgets};
use reflexion::domain::{
    AgentReport, CheckReport, Ending, EventKind, JournalEntry, LessonsOver, MergeOutcome, RunId, RunKind, RunReport,
    RunStop, Status, Stop, Task, TranscriptItem, Usage, Verdict,
};
use reflexion::layer::Svc;
use reflexion::services::{
    AgentRequest, Clock, EventSink, Journal, Orchestrator, RetryFrom, RunError, RunRequest, Settings, Start, Subagent,
    SubagentError, Subagents, Tasks, Verifier, VerifyRequest, Workspaces,
};
use reflexion::storage::MemoryJournal;
use reflexion::testing::{MemoryTasks, MemoryWorkspaces, ScriptedVerifier, VirtualClock, fixed_settings};
use reflexion::{runtime, testing};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// An agent that takes some time on the clock of the test, and writes `right` into the file of its task.
#[derive(Clone)]
struct Slow {
    takes: Duration,
    files: MemoryWorkspaces,
    /// The service's limit: so many runs from one reset to the next, every hour.
    per_hour: Option<usize>,
    /// Before this time the service refuses, and does not say until when.
    refuses_until: Option<Duration>,
    clock: Arc<VirtualClock>,
    runs: Arc<Mutex<Vec<Duration>>>,
    /// The file it writes, if not the task's own.
    file: Option<&'static str>,
    /// It says once a minute that its model has answered, which costs a dollar.
    chatty: bool,
    /// The run in which it fills up the disk instead of doing its work.
    fills: Option<usize>,
}

impl Slow {
    fn new(files: &MemoryWorkspaces, clock: &Arc<VirtualClock>, takes: Duration) -> Self {
        let (files, clock) = (files.clone(), Arc::clone(clock));
        Self {
            takes,
            files,
            per_hour: None,
            refuses_until: None,
            clock,
            runs: Arc::default(),
            file: None,
            chatty: false,
            fills: None,
        }
    }

    /// When the limit resets, if it is reached.
    fn limited(&self) -> Option<Ending> {
        let mut runs = self.runs.lock().unwrap();
        let (now, hour) = (self.clock.elapsed(), MINUTE * 60);
        if self.refuses_until.is_some_and(|until| now < until) {
            return Some(Ending::RateLimited { resets_at: None });
        }
        let this_hour = now.as_secs() / hour.as_secs();
        let used = runs.iter().filter(|at| at.as_secs() / hour.as_secs() == this_hour).count();
        if self.per_hour.is_some_and(|limit| used >= limit) {
            let left = hour.as_secs() - now.as_secs() % hour.as_secs();
            return Some(Ending::RateLimited { resets_at: Some(self.clock.now() + Duration::from_secs(left)) });
        }
        runs.push(now);
        None
    }
}

#[async_trait]
impl Subagent for Slow {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        if let Some(limit) = self.limited() {
            return Ok(AgentReport::new(limit));
        }
        let number = self.runs.lock().unwrap().len();
        let mut usage = Usage::default();
        for _ in 0..self.takes.as_secs() / 60 {
            tokio::select! {
                () = self.clock.sleep(MINUTE) => {}
                () = request.cancel.cancelled() => {
                    return Ok(AgentReport { usage, ..AgentReport::new(Ending::Cancelled) });
                }
            }
            if self.chatty {
                let turn = Usage { cost_usd: Some(1.0), input: Some(1000), ..Usage::default() };
                usage += turn;
                request.watch.step(TranscriptItem::Turn { usage: turn }, None);
            }
        }
        if self.fills == Some(number) {
            self.files.fill_up(Some("the disk is full"));
            return Ok(AgentReport::new(Ending::Finished));
        }
        let own = format!("{}.txt", request.task);
        self.files.write(&request.dir, Path::new(self.file.unwrap_or(&own)), &format!("right for {}", request.task));
        Ok(AgentReport { usage, ..AgentReport::new(Ending::Finished) })
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }
}

impl Subagents for Slow {
    fn get(&self, _: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        Ok(Arc::new(self.clone()))
    }
}

struct Night {
    files: MemoryWorkspaces,
    clock: Arc<VirtualClock>,
    journal: MemoryJournal,
    events: Arc<testing::CollectedEvents>,
    tasks: Arc<MemoryTasks>,
    jobs: usize,
    budgets: Budgets,
}

impl Night {
    fn new(tasks: usize) -> Self {
        let checks = vec![serde_json::from_str(r#"{"name":"test","run":"test-it"}"#).unwrap()];
        let task = |i: usize| Task { checks: Vec::clone(&checks), ..testing::task(&format!("t{i:03}")) };
        Self {
            files: MemoryWorkspaces::new([("README", "nothing")]),
            clock: Arc::new(VirtualClock::new()),
            journal: MemoryJournal::default(),
            events: Arc::default(),
            tasks: Arc::new(MemoryTasks::new((0..tasks).map(task).collect())),
            jobs: 4,
            budgets: Budgets::default(),
        }
    }

    async fn run(&self, agent: Slow, verifier: impl Verifier + 'static, until: Option<Duration>) -> RunReport {
        let until = until.map(|until| self.clock.now() + until);
        let run = RunId::new("night").unwrap();
        let request = RunRequest { kind: RunKind::Overnight, until, ..RunRequest::everything(run) };
        self.start(agent, verifier, request).await
    }

    async fn start(&self, agent: Slow, verifier: impl Verifier + 'static, request: RunRequest) -> RunReport {
        self.try_to(agent, verifier, request).await.unwrap()
    }

    async fn try_to(
        &self,
        agent: Slow,
        verifier: impl Verifier + 'static,
        request: RunRequest,
    ) -> Result<RunReport, RunError> {
        let mut settings = fixed_settings();
        settings.run.jobs = self.jobs;
        settings.run.budgets = self.budgets;
        let layers = runtime::test::test()
            .with(Svc::<dyn Settings>::new(settings))
            .with(Svc::<dyn Clock>::from(self.clock.clone() as Arc<dyn Clock>))
            .with(Svc::<dyn Workspaces>::new(self.files.clone()))
            .with(Svc::<dyn Subagents>::new(agent))
            .with(Svc::<dyn Tasks>::from(self.tasks.clone() as Arc<dyn Tasks>))
            .with(Svc::<dyn Journal>::new(self.journal.clone()))
            .with(Svc::<dyn Verifier>::new(verifier))
            .with(Svc::<dyn EventSink>::from(self.events.clone() as Arc<dyn EventSink>));
        let app = layers.build::<Svc<dyn Orchestrator>>().await.unwrap();
        let report = app.run(request).await;
        app.shutdown().await.unwrap();
        assert_eq!(self.files.open_count(), 0, "every workspace is closed");
        report
    }

    fn outcomes(&self) -> Vec<MergeOutcome> {
        let outcome = |entry| match entry {
            JournalEntry::MergeEnded { outcome, .. } => Some(outcome),
            _ => None,
        };
        self.journal.entries().into_iter().filter_map(outcome).collect()
    }
}

/// Green where a task's own file is right; the base has none.
fn own_file(files: &MemoryWorkspaces) -> impl Verifier + use<> {
    let files = files.clone();
    ScriptedVerifier::new(move |_, dir| {
        let task = dir.file_name().unwrap().to_string_lossy();
        // What is merged was right by itself.
        let merged = task == "integration";
        let found = merged || files.read(dir, Path::new(&format!("{task}.txt"))).is_some();
        found.then_some(()).ok_or_else(|| "there is no answer".to_owned())
    })
}

#[tokio::test(start_paused = true)]
async fn twenty_four_hours_with_limits_pass_at_once() {
    let night = Night::new(100);
    let agent = Slow { per_hour: Some(5), ..Slow::new(&night.files, &night.clock, MINUTE * 10) };
    let report = night.run(agent.clone(), own_file(&night.files), None).await;
    assert_eq!((report.totals.confirmed, report.totals.attempts), (100, 100), "a limit uses no attempt");
    assert_eq!(night.files.integration().unwrap().len(), 101, "everything is merged");
    let hours = night.clock.elapsed().as_secs() / 3600;
    assert_eq!(hours, 19, "100 tasks, 5 an hour");
    let waits = night.journal.entries().iter().filter(|e| matches!(e, JournalEntry::WaitStarted { .. })).count();
    // The fourth worker meets the limit, the others hear of it; after the reset one asks first.
    assert!(waits <= 20 * 8, "nobody asks again and again: {waits} waits");
    let refused =
        night.journal.entries().into_iter().filter(|e| matches!(e, JournalEntry::AttemptDropped { .. })).count();
    assert!(refused <= 20 * 2, "once it is known nobody else runs into it: {refused} refused");
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_agents_are_stopped_and_what_is_open_stays_open() {
    let night = Night::new(6);
    let agent = Slow::new(&night.files, &night.clock, MINUTE * 45);
    let report = night.run(agent, own_file(&night.files), Some(MINUTE * 60)).await;
    assert_eq!(night.clock.elapsed(), MINUTE * 60);
    assert_eq!((report.stopped, report.interrupted), (Some(RunStop::Deadline), false));
    let stops: Vec<Option<Stop>> = report.tasks.iter().map(|task| task.stop).collect();
    assert_eq!(stops, [None, None, None, None, Some(Stop::Deadline), Some(Stop::Deadline)], "{report:?}");
    assert_eq!(report.tasks[5].cause.as_deref(), Some("the run's time was up"));
    assert_eq!(report.totals.attempts, 4, "an attempt that was stopped is none");
    let last = night.journal.entries().pop();
    assert_eq!(
        last,
        Some(JournalEntry::RunEnded {
            interrupted: false,
            stopped: Some(RunStop::Deadline),
            ahead: Vec::new(),
            conflicts: Vec::new(),
            lessons: LessonsOver::default(),
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_ends_after_the_deadline_is_not_slept_through() {
    let night = Night::new(1);
    let agent = Slow { per_hour: Some(0), ..Slow::new(&night.files, &night.clock, MINUTE) };
    let report = night.run(agent, own_file(&night.files), Some(MINUTE * 30)).await;
    assert_eq!(night.clock.elapsed(), MINUTE * 30);
    assert_eq!((report.tasks[0].stop, report.tasks[0].verdict), (Some(Stop::Deadline), None));
}

#[tokio::test(start_paused = true)]
async fn work_that_conflicts_is_a_failed_attempt_and_is_done_again() {
    let night = Night::new(2);
    let agent = Slow { file: Some("shared.txt"), ..Slow::new(&night.files, &night.clock, MINUTE) };
    let files = night.files.clone();
    let verifier = ScriptedVerifier::new(move |_, dir| {
        files.read(dir, Path::new("shared.txt")).map(drop).ok_or_else(|| "there is no answer".to_owned())
    });
    let report = night.run(agent, verifier, None).await;
    let attempts: Vec<u32> = report.tasks.iter().map(|task| task.attempts).collect();
    assert_eq!((report.totals.confirmed, attempts), (2, vec![1, 2]), "{report:?}");
    let outcomes = night.outcomes();
    let conflict = MergeOutcome::Conflict { files: vec!["shared.txt".to_owned()], kept: "memory/t001@1".to_owned() };
    assert_eq!(outcomes[1], conflict, "{outcomes:?}");
    assert_eq!(outcomes.len(), 3);
    assert_eq!(report.totals.reflections_written, 1);
}

/// Checks that go by how often they ran on merged files.
struct AfterMerge {
    alone: Box<dyn Verifier>,
    files: MemoryWorkspaces,
    red_times: Mutex<u32>,
}

impl AfterMerge {
    fn is_red(&self) -> bool {
        let mut red = self.red_times.lock().unwrap();
        let is_red = *red > 0;
        *red = red.saturating_sub(1);
        is_red
    }
}

#[async_trait]
impl Verifier for AfterMerge {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        let merged =
            ["t000.txt", "t001.txt"].iter().all(|file| self.files.read(&request.dir, Path::new(file)).is_some());
        if merged && self.is_red() {
            return ScriptedVerifier::new(|_, _| Err("it does not work together".to_owned())).verify(request).await;
        }
        self.alone.verify(request).await
    }
}

async fn merged_with_red_checks(red_times: u32) -> (Night, RunReport) {
    let night = Night::new(2);
    let agent = Slow::new(&night.files, &night.clock, MINUTE);
    let red_times = Mutex::new(red_times);
    let verifier = AfterMerge { alone: Box::new(own_file(&night.files)), files: night.files.clone(), red_times };
    let report = night.run(agent, verifier, None).await;
    (night, report)
}

#[tokio::test(start_paused = true)]
async fn work_that_is_red_on_top_of_other_work_is_not_merged() {
    let (night, report) = merged_with_red_checks(2).await;
    let outcomes = night.outcomes();
    let MergeOutcome::Red { because, kept } = &outcomes[1] else { panic!("{outcomes:?}") };
    assert!(because.starts_with("check `test` is red"), "{because}");
    assert_eq!(kept, "memory/t001@1");
    let second = report.tasks.iter().find(|task| task.id.as_str() == "t001").unwrap();
    assert_eq!((second.verdict, second.attempts, second.solved_at), (Some(Verdict::Confirmed), 2, Some(2)));
    assert!(night.events.all().iter().any(|event| {
        event.entry().is_some_and(
            |entry| matches!(entry, JournalEntry::MergeEnded { outcome, .. } if outcome.failed().is_some()),
        )
    }));
}

#[tokio::test(start_paused = true)]
async fn a_check_that_passes_the_second_time_on_the_same_files_is_called_flaky() {
    let (night, report) = merged_with_red_checks(1).await;
    assert_eq!((report.totals.confirmed, report.totals.attempts), (2, 2));
    let flaky: Vec<String> = night
        .outcomes()
        .into_iter()
        .flat_map(|outcome| match outcome {
            MergeOutcome::Merged { flaky, .. } => flaky,
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(flaky, ["test"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_costs_too_much_is_stopped_at_work_and_checked() {
    let mut night = Night::new(1);
    night.budgets.attempt = Budget { micro_usd: Some(3_000_000), ..Budget::default() };
    let agent = Slow { chatty: true, ..Slow::new(&night.files, &night.clock, MINUTE * 60) };
    let report = night.run(agent, own_file(&night.files), None).await;
    assert_eq!(night.clock.elapsed(), MINUTE * 9, "three attempts of three dollars");
    let task = &report.tasks[0];
    assert_eq!(task.endings, vec![Ending::Budget; 3]);
    assert_eq!((task.attempts, task.verdict, task.cost_usd), (3, Some(Verdict::Failed), Some(9.0)));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_stopped_although_it_says_nothing() {
    let mut night = Night::new(1);
    night.budgets.attempt = Budget { wall: Some(MINUTE * 7), ..Budget::default() };
    let agent = Slow::new(&night.files, &night.clock, MINUTE * 60);
    let report = night.run(agent, own_file(&night.files), None).await;
    assert_eq!((night.clock.elapsed(), report.tasks[0].attempts), (MINUTE * 21, 3));
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_budget_is_used_up_stays_open_and_the_others_go_on() {
    let mut night = Night::new(2);
    night.jobs = 1;
    night.budgets.task = Budget { attempts: Some(1), ..Budget::default() };
    let agent = Slow { file: Some("t001.txt"), ..Slow::new(&night.files, &night.clock, MINUTE) };
    let report = night.run(agent, own_file(&night.files), None).await;
    let stops: Vec<_> = report.tasks.iter().map(|task| (task.id.as_str(), task.verdict, task.stop)).collect();
    let used_up = ("t000", Some(Verdict::FalseDone), Some(Stop::Budget));
    assert_eq!(stops, [used_up, ("t001", Some(Verdict::Confirmed), None)]);
    assert_eq!(report.stopped, None);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_budget_is_used_up_is_raised_and_resumed() {
    let mut night = Night::new(6);
    night.jobs = 2;
    night.budgets.run = Budget { micro_usd: Some(25_000_000), ..Budget::default() };
    let agent = Slow { chatty: true, ..Slow::new(&night.files, &night.clock, MINUTE * 10) };
    let report = night.run(agent.clone(), own_file(&night.files), None).await;
    assert_eq!((report.stopped, report.totals.confirmed), (Some(RunStop::Budget), 2));
    assert_eq!(night.clock.elapsed(), MINUTE * 13, "two at a time; the twenty-fifth dollar is the last");
    let said = |night: &Night| {
        let reached = |event: &&reflexion::domain::Event| matches!(event.kind, EventKind::BudgetReached { .. });
        night.events.all().iter().filter(reached).count()
    };
    assert_eq!(said(&night), 1);

    let resume = || RunRequest { start: Start::Resume, ..RunRequest::everything(RunId::new("night").unwrap()) };
    let before = night.clock.elapsed();
    let again = night.start(agent.clone(), own_file(&night.files), resume()).await;
    assert_eq!((again.stopped, night.clock.elapsed()), (Some(RunStop::Budget), before), "what was spent stays spent");
    night.budgets.run = Budget { micro_usd: Some(100_000_000), ..Budget::default() };
    let raised = night.start(agent, own_file(&night.files), resume()).await;
    assert_eq!((raised.stopped, raised.totals.tasks, raised.totals.confirmed), (None, 6, 6));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_cannot_hold_an_agent_is_told_once() {
    let warnings = async |chatty: bool, tokens: Option<u64>| {
        let mut night = Night::new(3);
        night.budgets.run = Budget { micro_usd: Some(25_000_000), ..Budget::default() };
        night.budgets.task = Budget { tokens, ..Budget::default() };
        let agent = Slow { chatty, ..Slow::new(&night.files, &night.clock, MINUTE) };
        let report = night.run(agent, own_file(&night.files), None).await;
        assert_eq!(report.totals.confirmed, 3);
        let told = |event: reflexion::domain::Event| match event.kind {
            EventKind::Warning { message } => Some(message),
            _ => None,
        };
        night.events.all().into_iter().filter_map(told).collect::<Vec<String>>()
    };
    assert_eq!(warnings(true, Some(1_000_000)).await, Vec::<String>::new());
    let [told] = &warnings(false, None).await[..] else { panic!("one warning") };
    assert!(told.contains("does not say what it costs") && told.contains("the budget of dollars"), "{told}");
    let [told] = &warnings(false, Some(1_000_000)).await[..] else { panic!("one warning") };
    assert!(told.contains("the budget of tokens and dollars"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_task_file_edited_by_hand_while_the_night_goes_on_is_respected() {
    let mut night = Night::new(3);
    night.jobs = 1;
    let agent = Slow::new(&night.files, &night.clock, MINUTE * 10);
    let tasks = Arc::clone(&night.tasks);
    let person = async {
        night.clock.sleep(MINUTE * 5).await;
        tasks.edit(|tasks| {
            let added = Task { checks: tasks[0].checks.clone(), ..testing::task("added") };
            tasks[1].status = Status::Closed;
            tasks.push(added);
        });
    };
    let (report, ()) = tokio::join!(night.run(agent, own_file(&night.files), None), person);
    let ended: Vec<_> =
        report.tasks.iter().map(|task| (task.id.as_str(), task.verdict, task.cause.as_deref())).collect();
    let confirmed = Some(Verdict::Confirmed);
    let by_hand = ("t001", None, Some("it was set to closed by hand"));
    assert_eq!(ended.len(), 4);
    assert!(ended.contains(&by_hand), "{ended:?}");
    for id in ["t000", "t002", "added"] {
        assert!(ended.contains(&(id, confirmed, None)), "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_night_that_is_drained_ends_after_the_attempts_at_work() {
    let night = Night::new(5);
    let agent = Slow::new(&night.files, &night.clock, MINUTE * 10);
    let request = RunRequest { kind: RunKind::Overnight, ..RunRequest::everything(RunId::new("night").unwrap()) };
    let drain = request.drain.clone();
    let person = async {
        night.clock.sleep(MINUTE * 5).await;
        drain.cancel();
    };
    let (report, ()) = tokio::join!(night.start(agent, own_file(&night.files), request), person);
    assert_eq!(night.clock.elapsed(), MINUTE * 10);
    assert_eq!((report.stopped, report.interrupted, report.totals.confirmed), (Some(RunStop::Drained), false, 4));
    assert_eq!(report.tasks[4].cause.as_deref(), Some("the run was asked to stop before it was started"));
}

#[tokio::test(start_paused = true)]
async fn on_a_full_disk_the_night_stops_and_goes_on_when_there_is_room() {
    let night = Night { jobs: 2, ..Night::new(6) };
    let agent = Slow { fills: Some(3), ..Slow::new(&night.files, &night.clock, MINUTE) };
    let run = RunId::new("night").unwrap();
    let request = RunRequest { kind: RunKind::Overnight, ..RunRequest::everything(run) };
    let Err(RunError::Environment(because)) =
        night.try_to(agent.clone(), own_file(&night.files), request.clone()).await
    else {
        panic!("the night did not stop");
    };
    assert!(because.starts_with("the disk is full\n"), "{because}");
    assert!(because.contains("`reflexion overnight` goes on"), "{because}");
    let runs = agent.runs.lock().unwrap().len();
    assert!(runs <= 4, "nothing new is begun on a full disk: {runs} agent runs");
    let entries = night.journal.entries();
    assert_eq!(entries.last(), Some(&JournalEntry::RunHalted { because: "the disk is full".to_owned() }));
    let judged = entries.iter().filter_map(|entry| match entry {
        JournalEntry::AttemptJudged { verdict, .. } => Some(*verdict),
        _ => None,
    });
    assert!(judged.clone().all(|verdict| verdict == Verdict::Confirmed), "what fails on a full disk is not judged");
    assert!(judged.count() < 6);

    night.files.fill_up(None);
    let report = night.start(agent, own_file(&night.files), RunRequest { start: Start::Resume, ..request }).await;
    assert_eq!((report.totals.confirmed, report.totals.failed, report.totals.attempts), (6, 0, 6), "{report:?}");
    assert!(report.tasks.iter().all(|task| task.solved_at == Some(1)), "no attempt was used up: {report:?}");
    assert_eq!(night.files.integration().unwrap().len(), 7, "everything is merged once");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_says_until_when_is_asked_ever_less_often_by_one_for_all() {
    let night = Night::new(8);
    let agent = Slow { refuses_until: Some(MINUTE * 60), ..Slow::new(&night.files, &night.clock, MINUTE) };
    let report = night.run(agent.clone(), own_file(&night.files), None).await;
    assert_eq!(report.totals.confirmed, 8);
    let dropped = |entry: &&JournalEntry| matches!(entry, JournalEntry::AttemptDropped { .. });
    let refused = night.journal.entries().iter().filter(dropped).count();
    // Four at once, then one after 1, 2, 4, 8, 15, 15 and 15 minutes.
    assert!((5..=11).contains(&refused), "{refused} refused");
}
