//! The whole loop on the shipped doubles: attempt, check, reflect, remember, retry.

use reflexion::domain::policy::LimitWait;
use reflexion::domain::{
    AgentReport, Draft, Ending, EventKind, FailureContext, JournalEntry, RunReport, Status, Stop, Subtask, Task,
    ToolKind, TranscriptItem, Usage, Verdict,
};
use reflexion::layer::{Layers, Svc};
use reflexion::services::{
    Clock, Conversation, Earlier, EventSink, Generator, GeneratorError, Journal, Orchestrator, RecentQuery,
    ReflectionService, RunRequest, Settings, Storage, SubagentError, Subagents, Tasks, Transcripts, UsageMeter,
    Verifier, Workspaces,
};
use reflexion::storage::{InMemoryStorage, MemoryJournal, MemoryTranscripts};
use reflexion::testing::{MemoryTasks, MemoryWorkspaces, ScriptedSubagent, ScriptedVerifier, fixed_settings};
use reflexion::{runtime, testing};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// A project whose check wants `answer.txt` to hold `right`.
struct Project {
    workspaces: MemoryWorkspaces,
    agent: ScriptedSubagent,
    tasks: Arc<MemoryTasks>,
    storage: InMemoryStorage,
    events: Arc<testing::CollectedEvents>,
    settings: reflexion::domain::policy::Values,
}

impl Project {
    fn new(agent: impl FnOnce(ScriptedSubagent, &MemoryWorkspaces) -> ScriptedSubagent) -> Self {
        Self::with_tasks(vec![checked("a")], agent)
    }

    fn with_tasks(
        tasks: Vec<Task>,
        agent: impl FnOnce(ScriptedSubagent, &MemoryWorkspaces) -> ScriptedSubagent,
    ) -> Self {
        let workspaces = MemoryWorkspaces::new([("answer.txt", "nothing")]);
        Self {
            agent: agent(ScriptedSubagent::new(), &workspaces),
            workspaces,
            tasks: Arc::new(MemoryTasks::new(tasks)),
            storage: InMemoryStorage::default(),
            events: Arc::default(),
            settings: fixed_settings(),
        }
    }

    fn layers(&self) -> Layers {
        let files = self.workspaces.clone();
        let verifier = ScriptedVerifier::new(move |_, dir| match files.read(dir, Path::new("answer.txt")).as_deref() {
            Some("right") => Ok(()),
            other => Err(format!("answer is {other:?}")),
        });
        runtime::test::test()
            .with(Svc::<dyn Settings>::new(self.settings.clone()))
            .with(Svc::<dyn Workspaces>::new(self.workspaces.clone()))
            .with(Svc::<dyn Subagents>::new(self.agent.clone()))
            .with(Svc::<dyn Tasks>::from(self.tasks.clone() as Arc<dyn Tasks>))
            .with(Svc::<dyn Storage>::new(self.storage.clone()))
            .with(Svc::<dyn Verifier>::new(verifier))
            .with(Svc::<dyn EventSink>::from(self.events.clone() as Arc<dyn EventSink>))
    }

    async fn run(&self) -> RunReport {
        self.run_until(CancellationToken::new()).await
    }

    async fn run_until(&self, cancel: CancellationToken) -> RunReport {
        let app = self.layers().build::<Svc<dyn Orchestrator>>().await.unwrap();
        let run = reflexion::domain::RunId::new("run-1").unwrap();
        let report = app.run(RunRequest { cancel, ..RunRequest::everything(run) }).await.unwrap();
        app.shutdown().await.unwrap();
        assert_eq!(self.workspaces.open_count(), 0, "every workspace is closed");
        report
    }
}

fn checked(id: &str) -> Task {
    let checks = vec![serde_json::from_str(r#"{"name":"test","run":"test-it"}"#).unwrap()];
    Task { checks, ..testing::task(id) }
}

#[tokio::test]
async fn a_refuted_claim_becomes_a_reflection_that_the_next_prompt_holds() {
    let project = Project::new(|agent, ws| agent.writes(ws, "answer.txt", "wrong").writes(ws, "answer.txt", "right"));
    let report = project.run().await;

    let task = &report.tasks[0];
    assert_eq!((task.verdict, task.solved_at, task.attempts), (Some(Verdict::Confirmed), Some(2), 2));
    assert_eq!((task.reflections_written, task.reflections_injected), (2, 1));
    let stored = project.storage.recent(&RecentQuery::default()).await.unwrap();
    let [contrast, guess] = stored.as_slice() else { panic!("{stored:?}") };
    assert_eq!(contrast.replaces.as_ref(), Some(&guess.id));
    let prompts: Vec<String> = project.agent.requests().into_iter().map(|r| r.prompt).collect();
    assert!(prompts[0].contains("Check `test` was red before any attempt"), "{}", prompts[0]);
    assert!(!prompts[0].contains("Reflections on earlier attempts"));
    assert!(prompts[1].contains(&guess.analysis), "{}", prompts[1]);
    assert!(prompts[1].contains("Already tried: answer.txt:1 `nothing` to `wrong`."), "{}", prompts[1]);
    assert_eq!(project.workspaces.commits()[0].1.subject, "a");
    let last = project.tasks.marks().pop().unwrap();
    assert_eq!(last.status, Status::Closed);
}

#[tokio::test]
async fn without_reflexion_nothing_is_written_or_injected_and_all_else_is_equal() {
    let script = |agent: ScriptedSubagent, ws: &MemoryWorkspaces| {
        agent.writes(ws, "answer.txt", "wrong").writes(ws, "answer.txt", "right")
    };
    let with = Project::new(script);
    let mut without = Project::new(script);
    without.settings.reflexion.enabled = false;
    let (_, report) = (with.run().await, without.run().await);

    assert_eq!((report.tasks[0].reflections_written, report.tasks[0].reflections_injected), (0, 0));
    let prompts = |p: &Project| p.agent.requests().into_iter().map(|r| r.prompt).collect::<Vec<_>>();
    let (with, without) = (prompts(&with), prompts(&without));
    assert_eq!(with[0], without[0]);
    let before_the_reflections = with[1].split("\n## Reflections").next().unwrap();
    assert_eq!(before_the_reflections.trim_end(), without[1].trim_end());
}

#[tokio::test]
async fn every_failed_attempt_is_reflected_upon_the_last_one_too() {
    let project = Project::new(|agent, ws| {
        let wrong = |agent: ScriptedSubagent, text: &str| agent.writes(ws, "answer.txt", text);
        wrong(wrong(wrong(agent, "x"), "y"), "z")
    });
    let report = project.run().await;
    let task = &report.tasks[0];
    assert_eq!((task.verdict, task.attempts, task.reflections_written), (Some(Verdict::FalseDone), 3, 3));
    assert_eq!(project.workspaces.commits(), []);
    assert_eq!(project.tasks.marks().pop().unwrap().status, Status::Blocked);
}

#[tokio::test]
async fn a_limit_that_is_not_waited_for_uses_no_attempt_and_writes_nothing() {
    let mut project = Project::new(|agent, _| agent.ends(Ending::RateLimited { resets_at: None }, ""));
    project.settings.run.limit_wait = LimitWait::Off;
    let report = project.run().await;
    assert_eq!((report.tasks[0].verdict, report.tasks[0].attempts), (None, 0));
    assert_eq!(report.tasks[0].endings.len(), 1);
    assert_eq!(project.tasks.marks(), [], "a run that judged nothing found out nothing");
    assert!(project.storage.recent(&RecentQuery::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_uses_no_attempt_and_says_what_to_do() {
    let project = Project::new(|agent, _| {
        agent.acts(|_| Err(SubagentError::Missing { agent: "x".to_owned(), message: "install it".to_owned() }))
    });
    let report = project.run().await;
    let task = &report.tasks[0];
    assert_eq!((task.verdict, task.attempts, task.stop), (None, 0, Some(Stop::Environment)));
    assert!(task.cause.as_ref().unwrap().contains("install it"));
    assert_eq!(project.tasks.marks(), []);
}

#[tokio::test]
async fn an_interruption_leaves_the_task_open_and_keeps_what_was_paid_for() {
    let cancel = CancellationToken::new();
    let project = Project::new(|agent, ws| {
        let (ws, cancel) = (ws.clone(), cancel.clone());
        agent.acts(move |request| {
            ws.write(&request.dir, Path::new("answer.txt"), "half");
            cancel.cancel();
            Ok(AgentReport::new(Ending::Cancelled))
        })
    });
    let report = project.run_until(cancel).await;
    let task = &report.tasks[0];
    assert!(report.interrupted);
    assert_eq!((task.verdict, task.attempts, task.stop), (None, 0, Some(Stop::Interrupted)));
    assert!(
        project
            .events
            .all()
            .iter()
            .any(|e| matches!(&e.kind, EventKind::Warning { message } if message.contains("kept in")))
    );
}

#[tokio::test]
async fn a_part_that_is_done_does_not_confirm_a_task_that_is_not() {
    let part = |id: &str| Subtask {
        id: reflexion::domain::SubtaskId::new(id).unwrap(),
        title: id.to_owned(),
        description: String::new(),
        checks: checked("x").checks,
    };
    let task = Task { subtasks: vec![part("one"), part("two")], ..testing::task("a") };
    let project =
        Project::with_tasks(vec![task], |agent, ws| agent.writes(ws, "answer.txt", "right").ends(Ending::Auth, ""));
    let report = project.run().await;
    assert_eq!((report.tasks[0].verdict, report.totals.confirmed), (None, 0));
    assert_eq!(report.tasks[0].branch, None);
}

#[tokio::test]
async fn a_rate_limit_is_slept_through_on_the_given_clock() {
    let project = Project::new(|agent, ws| {
        agent.ends(Ending::RateLimited { resets_at: None }, "").ends(Ending::Transient, "").writes(
            ws,
            "answer.txt",
            "right",
        )
    });
    let report = project.run().await;
    assert_eq!((report.tasks[0].solved_at, report.tasks[0].attempts), (Some(1), 1));
    assert_eq!(report.tasks[0].endings.len(), 3);
    let waits = |event: &&reflexion::domain::Event| matches!(event.entry(), Some(JournalEntry::WaitStarted { .. }));
    let waits = project.events.all().iter().filter(waits).count();
    assert_eq!(waits, 2);
}

#[tokio::test]
async fn a_crash_that_leaves_a_right_change_is_confirmed_by_its_checks() {
    let project = Project::new(|agent, ws| {
        let ws = ws.clone();
        agent.acts(move |request| {
            ws.write(&request.dir, Path::new("answer.txt"), "right");
            Ok(AgentReport::new(Ending::Crash))
        })
    });
    assert_eq!(project.run().await.tasks[0].verdict, Some(Verdict::Confirmed));
}

#[tokio::test]
async fn a_protected_file_refutes_green_checks() {
    let mut project = Project::new(|agent, ws| agent.writes(ws, "answer.txt", "right"));
    project.settings.run.protect = vec!["answer.*".to_owned()];
    project.settings.run.max_attempts = 1;
    let report = project.run().await;
    assert_eq!(report.tasks[0].verdict, Some(Verdict::FalseDone));
    assert!(report.tasks[0].cause.as_ref().unwrap().contains("protected files: answer.txt"));
}

#[tokio::test]
async fn subtasks_build_on_each_other_and_the_tasks_checks_decide_at_the_end() {
    let part = |id: &str| Subtask {
        id: reflexion::domain::SubtaskId::new(id).unwrap(),
        title: id.to_owned(),
        description: String::new(),
        checks: Vec::new(),
    };
    let task = Task { subtasks: vec![part("one"), part("two")], ..checked("a") };
    let project = Project::with_tasks(vec![task], |agent, ws| {
        let files = ws.clone();
        agent.writes(ws, "helper.txt", "x").writes(ws, "answer.txt", "wrong").acts(move |request| {
            assert_eq!(files.read(&request.dir, Path::new("helper.txt")).as_deref(), Some("x"), "starts from part one");
            files.write(&request.dir, Path::new("answer.txt"), "right");
            Ok(AgentReport::new(Ending::Finished))
        })
    });
    let report = project.run().await;
    assert_eq!((report.tasks[0].verdict, report.tasks[0].attempts), (Some(Verdict::Confirmed), 3));
    let stored = project.storage.recent(&RecentQuery::default()).await.unwrap();
    assert_eq!(stored[0].subtask_id, "two", "a failure of the task's checks is the last subtask's");
}

#[tokio::test]
async fn the_test_layers_of_the_ancestor_have_their_counterparts() {
    let subtask = reflexion::domain::SubtaskId::new("a").unwrap();
    let kept_by = |layers: Layers| {
        let subtask = subtask.clone();
        async move {
            let app = layers.build::<Svc<dyn ReflectionService>>().await.unwrap();
            let reflection = serde_json::from_str(
                r#"{"id":"r","sessionId":"s","taskId":"a","subtaskId":"a","attemptNumber":1,"category":"root_cause",
                    "analysis":"x","suggestion":"y","createdAt":"2026-01-01T00:00:00Z"}"#,
            );
            app.save(&reflection.unwrap()).await.unwrap();
            let kept = app.get_recent(&subtask, 3).await.unwrap().len();
            app.shutdown().await.unwrap();
            kept
        }
    };
    assert_eq!(kept_by(runtime::test::reflection_service_test()).await, 0);
    assert_eq!(kept_by(runtime::test::reflection_service_test_with_storage()).await, 1);
}

/// Pays for every answer and gives none.
#[derive(Clone, Default)]
struct Dear(Arc<AtomicU64>);

#[async_trait::async_trait]
impl Generator for Dear {
    async fn generate(&self, _: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        spent.add(Usage { input: Some(90), output: Some(10), cost_usd: Some(0.5), ..Usage::default() });
        Err(GeneratorError::Parse("no object".to_owned()))
    }
}

#[tokio::test]
async fn what_generators_use_is_part_of_the_tasks_and_the_runs_usage() {
    let project = Project::new(|agent, _| agent.ends(Ending::Finished, "").ends(Ending::Finished, ""));
    let (dear, journal) = (Dear::default(), Arc::new(MemoryJournal::default()));
    let layers = project.layers().with(Svc::<dyn Generator>::new(dear.clone()));
    let app = layers.with(Svc::<dyn Journal>::from(journal.clone() as Arc<dyn Journal>));
    let app = app.build::<Svc<dyn Orchestrator>>().await.unwrap();
    let request = RunRequest::everything(reflexion::domain::RunId::new("run-1").unwrap());
    let report = app.run(RunRequest { max_attempts: Some(2), ..request }).await.unwrap();
    app.shutdown().await.unwrap();
    let asked = dear.0.load(Ordering::Relaxed);
    assert!(asked > 0, "no reflection was asked for");
    assert_eq!(u64::from(report.tasks[0].reflections_written), asked, "the heuristic answers in its place");
    assert_eq!((report.tasks[0].tokens, report.totals.tokens), (Some(100 * asked), Some(100 * asked)));
    assert_eq!(report.totals.cost_usd, Some(0.5 * asked as f64));
    let entries = journal.entries();
    let paid = |entry: &&JournalEntry| {
        matches!(entry, JournalEntry::AttemptJudged { reflection_usage, usage, .. }
            if reflection_usage.tokens() == Some(100) && usage.is_unknown())
    };
    assert_eq!(entries.iter().filter(paid).count() as u64, asked, "{entries:?}");
}

/// Never answers.
struct Silent;

#[async_trait::async_trait]
impl Generator for Silent {
    async fn generate(&self, _: &FailureContext, _: &UsageMeter) -> Result<Draft, GeneratorError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_generator_that_is_swapped_in_has_the_time_limit_and_the_heuristic_behind_it() {
    let check = async |generator: Svc<dyn Generator>, why: &str| {
        let layers = runtime::test::reflection_service_test().with(generator);
        let app = layers.build::<Svc<dyn ReflectionService>>().await.unwrap();
        let task = reflexion::domain::TaskId::new("a").unwrap();
        let failure = FailureContext::new(task, 1, reflexion::domain::Timestamp::UNIX_EPOCH);
        let reflection = app.generate(&failure).await.unwrap();
        let origin = serde_json::to_value(reflection.origin).unwrap();
        assert_eq!((origin["by"].as_str(), origin["because"].as_str()), (Some("heuristic"), Some(why)));
        app.shutdown().await.unwrap();
    };
    check(Svc::<dyn Generator>::new(Silent), "the generator timed out after 30 s").await;
    let why = "the generator failed: its answer cannot be read: no object";
    check(Svc::<dyn Generator>::new(Dear::default()), why).await;
}

/// An agent that keeps its conversations: cut short by a limit, it goes on where it stopped.
#[tokio::test]
async fn after_a_limit_the_same_attempt_goes_on_in_the_agents_own_conversation() {
    let limited = |ending: Ending| AgentReport {
        agent_session: Some("conversation-1".to_owned()),
        usage: reflexion::domain::Usage { input: Some(10), output: Some(1), ..Default::default() },
        ..AgentReport::new(ending)
    };
    let project = Project::new(|agent, ws| {
        let ws = ws.clone();
        agent
            .resumes()
            .acts(move |request| {
                ws.write(&request.dir, Path::new("half.txt"), "half");
                Ok(limited(Ending::RateLimited { resets_at: None }))
            })
            .acts(move |request| {
                assert!(request.prompt.starts_with("Your work on this task was cut short (rate_limited)"));
                Err(SubagentError::NoSuchConversation { agent: "a".to_owned(), conversation: "1".to_owned() })
            })
            .acts(move |_| Ok(limited(Ending::Transient)))
            .acts(|_| Ok(AgentReport::new(Ending::Finished)))
            .ends(Ending::Finished, "")
            .ends(Ending::Finished, "")
    });
    let report = project.run().await;
    let seen: Vec<Conversation> = project.agent.requests().into_iter().map(|r| r.conversation).collect();
    let resume = Conversation::Resume(Earlier {
        agent_session: "conversation-1".to_owned(),
        usage: reflexion::domain::Usage { input: Some(10), output: Some(1), ..Default::default() },
    });
    // Limit, go on (the conversation is gone, so the attempt begins anew), passing fault, go on; then new attempts.
    let expected = [Conversation::New, resume.clone(), Conversation::New, resume, Conversation::New, Conversation::New];
    assert_eq!(seen, expected);
    assert_eq!((report.tasks[0].attempts, report.tasks[0].tokens), (3, Some(22)));
    assert_eq!(report.tasks[0].endings.len(), 5, "{:?}", report.tasks[0].endings);
}

#[tokio::test]
async fn a_limit_keeps_the_files_of_an_agent_that_can_go_on_and_resets_those_of_one_that_cannot() {
    async fn check(resumes: bool, expected: Option<&str>) {
        let found: Arc<std::sync::Mutex<Option<String>>> = Arc::default();
        let noted = Arc::clone(&found);
        let project = Project::new(|agent, ws| {
            let (before, after) = (ws.clone(), ws.clone());
            let agent = if resumes { agent.resumes() } else { agent };
            agent
                .acts(move |request| {
                    before.write(&request.dir, Path::new("half.txt"), "half");
                    let agent_session = Some("c".to_owned());
                    Ok(AgentReport { agent_session, ..AgentReport::new(Ending::RateLimited { resets_at: None }) })
                })
                .acts(move |request| {
                    *noted.lock().unwrap() = after.read(&request.dir, Path::new("half.txt"));
                    after.write(&request.dir, Path::new("answer.txt"), "right");
                    Ok(AgentReport::new(Ending::Finished))
                })
        });
        assert_eq!(project.run().await.tasks[0].verdict, Some(Verdict::Confirmed));
        assert_eq!(found.lock().unwrap().as_deref(), expected);
    }
    check(true, Some("half")).await;
    check(false, None).await;
}

#[tokio::test]
async fn what_an_agent_does_is_in_its_transcript_and_told_to_watchers() {
    let project = Project::new(|agent, ws| {
        let ws = ws.clone();
        agent.acts(move |request| {
            request.watch.step(
                TranscriptItem::ToolCall {
                    id: "1".to_owned(),
                    tool: "Write".to_owned(),
                    kind: ToolKind::Edit,
                    input: serde_json::json!({"path": "answer.txt"}),
                    edits: vec![request.dir.join("answer.txt").display().to_string()],
                },
                None,
            );
            ws.write(&request.dir, Path::new("answer.txt"), "right");
            Ok(AgentReport::new(Ending::Finished))
        })
    });
    let clock: Arc<dyn Clock> = Arc::new(testing::TestClock::new());
    let transcripts = MemoryTranscripts::new(clock);
    let layers = project.layers().with(Svc::<dyn Transcripts>::new(transcripts.clone()));
    let app = layers.build::<Svc<dyn Orchestrator>>().await.unwrap();
    app.run(RunRequest::everything(reflexion::domain::RunId::new("run-1").unwrap())).await.unwrap();
    app.shutdown().await.unwrap();

    let heads = transcripts.list(None).unwrap();
    assert_eq!((heads.len(), heads[0].task.as_str(), heads[0].attempt), (1, "a", 1));
    let records = transcripts.read(&heads[0].session).unwrap().records;
    let kinds: Vec<&str> = records
        .iter()
        .map(|r| match r.item {
            TranscriptItem::Head(_) => "head",
            TranscriptItem::ToolCall { .. } => "call",
            TranscriptItem::End { .. } => "end",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["head", "call", "end"]);
    let told = project.events.all().into_iter().any(|event| match event.kind {
        EventKind::AgentActed { what, .. } => what == "Write: answer.txt",
        _ => false,
    });
    assert!(told);
}

#[tokio::test]
async fn a_label_decides_which_agents_a_task_is_given_to() {
    let task = Task { labels: vec!["docs".to_owned()], ..checked("a") };
    let mut project = Project::with_tasks(vec![task], |agent, ws| agent.writes(ws, "answer.txt", "right"));
    project.settings.agents.by_label = vec![("docs".to_owned(), vec!["writer".to_owned()])];
    project.run().await;
    let by = project.events.all().into_iter().find_map(|event| match event.kind {
        EventKind::Recorded(JournalEntry::AttemptStarted { agent, .. }) => Some(agent),
        _ => None,
    });
    assert_eq!(by.as_deref(), Some("writer"));
}
