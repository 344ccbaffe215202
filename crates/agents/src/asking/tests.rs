//! Each kind of respondent as it is opened, with everything that stands around it.

use super::*;
use crate::domain::{AgentReport, CheckCommand, Ending, TranscriptItem, Usage, is_internal, policy};
use crate::domain::{SubtaskId, TaskId};
use crate::services::{
    Abilities, AgentRequest, AskError, Attempted, CommandEnd, CommandError, CommandOutput, Completion, Conversation,
    Earlier, MockClock, MockCommandRunner, MockModel, MockModels, MockSubagent, MockSubagents, Mode, ModelError,
    OwnWork, Question, RetryFrom, UsageMeter,
};
use async_trait::async_trait;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const LIMIT: Duration = Duration::from_secs(120);

fn question(prompt: &str) -> Question {
    Question {
        purpose: "reflect",
        prompt: prompt.to_owned(),
        schema: json!({ "type": "object" }),
        data: json!({ "why": prompt }),
        env: BTreeMap::from([("REFLEXION_TASK_ID".to_owned(), "cart".to_owned())]),
        about: Some(Attempted {
            task: TaskId::new("cart").unwrap(),
            subtask: SubtaskId::new("cart").unwrap(),
            attempt: 2,
        }),
        own: None,
    }
}

/// Takes what begins with a brace.
fn object(text: &str) -> Result<(), String> {
    if text.starts_with('{') { Ok(()) } else { Err(format!("no object: {text}")) }
}

fn tokens(n: u64) -> Usage {
    Usage { input: Some(n), ..Usage::default() }
}

fn template() -> policy::Model {
    policy::Model {
        provider: policy::Provider::Anthropic,
        name: String::new(),
        base_url: None,
        key_env: None,
        max_tokens: 400,
        temperature_milli: None,
        structured: policy::Structured::On,
        limits: policy::Limits { timeout: LIMIT, concurrency: None, per_minute: None, retries: 0 },
    }
}

/// Nobody to ask, in the second that `seconds` says.
fn nobody(seconds: &Arc<AtomicU64>) -> ConfiguredRespondentsParams {
    let (mut clock, seconds) = (MockClock::new(), Arc::clone(seconds));
    clock.expect_new_id().return_const("0190".to_owned());
    clock.expect_elapsed().returning(move || Duration::from_secs(seconds.load(Ordering::SeqCst)));
    ConfiguredRespondentsParams {
        runner: Arc::new(MockCommandRunner::new()),
        subagents: Arc::new(MockSubagents::new()),
        models: Arc::new(MockModels::new()),
        clock: Arc::new(clock),
        dir: "/project".into(),
        env_deny: vec!["SECRET_*".to_owned()],
        places: "/dev/null/asked".into(),
    }
}

fn program(runner: MockCommandRunner) -> Arc<dyn Respondent> {
    let params = ConfiguredRespondentsParams { runner: Arc::new(runner), ..nobody(&Arc::default()) };
    let who = Who::Program { argv: vec!["lesson".to_owned(), "--brief".to_owned()] };
    ConfiguredRespondents::new(params).open(who, LIMIT).unwrap()
}

#[tokio::test]
async fn a_program_gets_the_data_and_its_stdout_is_the_answer() {
    let mut runner = MockCommandRunner::new();
    runner.expect_run().times(1).returning(|command| {
        assert_eq!(command.stdin, br#"{"why":"Why?"}"#);
        assert_eq!(command.program, CheckCommand::Argv(vec!["lesson".to_owned(), "--brief".to_owned()]));
        assert_eq!((command.dir.to_str(), command.timeout), (Some("/project"), LIMIT));
        assert_eq!((command.env_deny, command.env), (vec!["SECRET_*".to_owned()], question("Why?").env));
        Ok(CommandOutput::printed(CommandEnd::Exited(0), "{} here", "a warning"))
    });
    let answer = program(runner).answer(&question("Why?"), &object, &UsageMeter::default()).await;
    assert_eq!(answer, Ok("{} here".to_owned()));
}

#[tokio::test]
async fn every_failure_of_a_program_says_what_happened_and_it_is_asked_once() {
    async fn check(result: fn() -> Result<CommandOutput, CommandError>, expected: &str) {
        let mut runner = MockCommandRunner::new();
        runner.expect_run().times(1).returning(move |_| result());
        let error = program(runner).answer(&question("Why?"), &object, &UsageMeter::default()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    check(
        || Ok(CommandOutput::printed(CommandEnd::Exited(2), "{}", "\u{1b}[31mno key\u{1b}[0m\n")),
        "`lesson` exited with status 2; its stderr ends: no key",
    )
    .await;
    check(|| Ok(CommandOutput::printed(CommandEnd::Signaled(9), "", "")), "`lesson` was ended by signal 9").await;
    check(|| Ok(CommandOutput::printed(CommandEnd::TimedOut, "", "")), "no answer within 120 s").await;
    check(|| Err(CommandError::NotFound { program: "lesson".to_owned() }), "program `lesson` was not found on PATH")
        .await;
    check(
        || Ok(CommandOutput::printed(CommandEnd::Exited(0), "sorry", "quota\nused up")),
        "the answer cannot be read: no object: sorry; its stderr ends: quota used up",
    )
    .await;
    check(
        || {
            let mut output = CommandOutput::printed(CommandEnd::Exited(0), "{}", "");
            output.stdout.bytes = 9_000_000;
            Ok(output)
        },
        "the answer cannot be read: the answer has 9000000 bytes; at most 131072 are read",
    )
    .await;
}

fn of_agent(agent: impl Subagent + 'static, seconds: &Arc<AtomicU64>) -> ConfiguredRespondents {
    let (mut agents, agent): (_, Arc<dyn Subagent>) = (MockSubagents::new(), Arc::new(agent));
    agents.expect_get().withf(|name| name == "helper").returning(move |_| Ok(Arc::clone(&agent)));
    ConfiguredRespondents::new(ConfiguredRespondentsParams { subagents: Arc::new(agents), ..nobody(seconds) })
}

fn open_agent(agent: impl Subagent + 'static) -> Result<Arc<dyn Respondent>, SubagentError> {
    let who = Who::Agent { name: "helper".to_owned(), cannot: "judge; name another".to_owned() };
    of_agent(agent, &Arc::default()).open(who, LIMIT)
}

/// An agent of two turns that answers in order, each with its tokens; behind its last answer it never ends.
struct Answers {
    reports: Mutex<VecDeque<AgentReport>>,
    abilities: Abilities,
    seen: Arc<Mutex<Vec<AgentRequest>>>,
}

fn answers(reports: impl IntoIterator<Item = (Ending, &'static str, u64)>) -> Answers {
    let report = |(ending, message, used): (Ending, &str, u64)| AgentReport {
        message: message.to_owned(),
        detail: Some("in words".to_owned()),
        usage: if used > 0 { tokens(used) } else { Usage::default() },
        ..AgentReport::new(ending)
    };
    Answers {
        reports: Mutex::new(reports.into_iter().map(report).collect()),
        abilities: Abilities { read_only: true, ..Abilities::default() },
        seen: Arc::default(),
    }
}

#[async_trait]
impl Subagent for Answers {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        assert_eq!(std::fs::read_to_string(&request.prompt_file).unwrap(), request.prompt);
        for _ in 0..2 {
            request.watch.step(TranscriptItem::Turn { usage: tokens(5) }, None);
        }
        if request.conversation == Conversation::New {
            assert_eq!(std::fs::read_dir(&request.dir).unwrap().count(), 0);
        }
        self.seen.lock().unwrap().push(request);
        let report = self.reports.lock().unwrap().pop_front();
        match report {
            Some(report) => Ok(report),
            None => std::future::pending().await,
        }
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }
}

#[tokio::test]
async fn an_agent_is_asked_read_only_in_an_empty_directory_that_is_gone_afterwards() {
    let agent = answers([(Ending::Finished, "{}", 12)]);
    let seen = Arc::clone(&agent.seen);
    let answer = open_agent(agent).unwrap().answer(&question("Why?"), &object, &UsageMeter::default()).await;
    assert_eq!(answer, Ok("{}".to_owned()));
    let request = seen.lock().unwrap().pop().unwrap();
    assert_eq!((request.mode, request.session.as_str(), request.attempt), (Mode::ReadOnly, "reflect-0190", 2));
    assert_eq!((request.run.as_str(), request.task.as_str()), ("reflect", "cart"));
    assert!(is_internal(&request.prompt) && request.prompt.contains("Why?"), "{}", request.prompt);
    assert!(!request.prompt_file.starts_with(&request.dir));
    assert!(!request.dir.parent().unwrap().exists());
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_used_counts_however_its_run_ends() {
    let check = async |reports: Vec<(Ending, &'static str, u64)>, expected: Result<&str, &str>, used: u64| {
        let spent = UsageMeter::default();
        let answer = open_agent(answers(reports)).unwrap().answer(&question("Why?"), &object, &spent).await;
        let answer = answer.map_err(|error| error.to_string());
        assert_eq!(answer.as_deref().map_err(String::as_str), expected);
        assert_eq!(spent.total(), tokens(used));
    };
    check(vec![(Ending::Finished, "{}", 12)], Ok("{}"), 12).await;
    check(vec![(Ending::Budget, "{}", 12)], Err("the agent run ended: budget: in words"), 12).await;
    check(vec![(Ending::Hang, "", 0)], Err("the agent run ended: hang: in words"), 10).await;
    check(vec![], Err("no answer within 120 s"), 10).await;
    // Once more where it cannot be read, and the second answer stands.
    check(vec![(Ending::Finished, "Well.", 12), (Ending::Finished, "{}", 12)], Ok("{}"), 24).await;
    let no = "the answer cannot be read: no object: Really.";
    check(vec![(Ending::Finished, "Well.", 12), (Ending::Finished, "Really.", 12)], Err(no), 24).await;
}

#[tokio::test]
async fn an_author_is_asked_in_a_copy_of_its_conversation() {
    let conversation = Earlier { agent_session: "c-1".to_owned(), usage: Usage::default() };
    let own = OwnWork { conversation: conversation.clone(), dir: "/workspace".into() };
    let able = Abilities { read_only: true, fork: true, resume: true };
    let agent = Answers { abilities: able, ..answers([(Ending::Finished, "so", 7)]) };
    let seen = Arc::clone(&agent.seen);
    let author = of_agent(agent, &Arc::default()).author("helper", LIMIT).unwrap();
    let asked = Question { own: Some(own), about: None, ..question("Why?") };
    assert_eq!(author.answer(&asked, &|_| Ok(()), &UsageMeter::default()).await, Ok("so".to_owned()));
    let request = seen.lock().unwrap().pop().unwrap();
    assert_eq!((request.conversation, request.dir.to_str()), (Conversation::Fork(conversation), Some("/workspace")));
    assert_eq!((request.mode, request.task.as_str()), (Mode::ReadOnly, "reflect"));

    let check = |abilities, expected: &str| {
        let agent = Answers { abilities, ..answers([]) };
        let because = of_agent(agent, &Arc::default()).author("helper", LIMIT).err().unwrap();
        assert!(because.contains(expected), "{because}");
    };
    check(Abilities { fork: false, ..able }, "`helper` cannot copy its conversation");
    check(Abilities { read_only: false, ..able }, "no read-only mode");
}

#[tokio::test]
async fn an_agent_that_may_write_or_cannot_run_does_not_answer() {
    let error = open_agent(Answers { abilities: Abilities::default(), ..answers([]) }).err().unwrap().to_string();
    let expected = "agent `helper` cannot do this: it has no read-only mode, so it cannot judge; name another";
    assert!(error.starts_with(expected), "{error}");
    let mut missing = MockSubagent::new();
    missing.expect_abilities().return_const(Abilities { read_only: true, ..Abilities::default() });
    missing
        .expect_run()
        .times(1)
        .returning(|_| Err(SubagentError::Missing { agent: "helper".to_owned(), message: "install it".to_owned() }));
    let answer = open_agent(missing).unwrap().answer(&question("Why?"), &object, &UsageMeter::default()).await;
    assert_eq!(answer, Err(AskError::Failed("agent `helper` is missing: install it".to_owned())));
}

/// A model that gives the first answer to the question and the second one to the same with a reason. `(cut off)` at the end of an answer is
/// no word of it.
fn of_model(both: &'static [&'static str; 2]) -> MockModels {
    let mut models = MockModels::new();
    models.expect_open().returning(move |settings| {
        assert_eq!(settings.name, "only");
        let mut model = MockModel::new();
        model.expect_complete().returning(move |request| {
            let again = request.prompt.contains("You were asked this before");
            assert_eq!(request.schema, Some(question("").schema));
            let answer = both[usize::from(again)];
            let (text, truncated) = answer.strip_suffix("(cut off)").map_or((answer, false), |text| (text, true));
            Ok(Completion { truncated, ..Completion::whole(text, tokens(100)) })
        });
        Ok(Arc::new(model))
    });
    models
}

fn open_model(models: MockModels, seconds: &Arc<AtomicU64>) -> Arc<dyn Respondent> {
    let params = ConfiguredRespondentsParams { models: Arc::new(models), ..nobody(seconds) };
    let who = Who::Model { wanted: vec!["only".to_owned()], template: template() };
    ConfiguredRespondents::new(params).open(who, LIMIT).unwrap()
}

#[tokio::test]
async fn a_model_is_asked_once_more_with_the_reason_and_not_a_third_time() {
    let check = async |both: &'static [&'static str; 2], expected: Result<&str, &str>, used: u64| {
        let spent = UsageMeter::default();
        let model = open_model(of_model(both), &Arc::default());
        let answer = model.answer(&question("Why?"), &object, &spent).await.map_err(|error| error.to_string());
        assert_eq!(answer.as_deref().map_err(String::as_str), expected);
        assert_eq!(spent.total(), tokens(used), "answers that were of no use are paid for");
    };
    check(&["{}", "never asked"], Ok("{}"), 100).await;
    check(&["All done!", "{1}"], Ok("{1}"), 200).await;
    check(&["{\"complete\": true}(cut off)", "{2}"], Ok("{2}"), 200).await;
    let cut = "the answer cannot be read: it was cut off at the limit of tokens";
    check(&["Well.", "{}(cut off)"], Err(cut), 200).await;
    check(&["Well.", "Really."], Err("the answer cannot be read: no object: Really."), 200).await;
}

#[tokio::test]
async fn a_model_that_fails_or_cannot_be_opened_is_not_asked_again() {
    let check = async |error: ModelError, expected: AskError| {
        let mut models = MockModels::new();
        models.expect_open().times(1).return_once(move |_| Err(error));
        let answer = open_model(models, &Arc::default());
        assert_eq!(answer.answer(&question("Why?"), &object, &UsageMeter::default()).await, Err(expected));
    };
    check(ModelError::Timeout(Duration::from_secs(9)), AskError::Timeout(Duration::from_secs(9))).await;
    check(ModelError::Auth("no key".to_owned()), AskError::Failed("not logged in: no key".to_owned())).await;
}

#[tokio::test]
async fn an_answer_holds_for_a_minute_for_the_same_question_and_an_error_never() {
    let seconds = Arc::new(AtomicU64::new(100));
    let asked = Arc::new(AtomicU64::new(0));
    let mut models = MockModels::new();
    let count = Arc::clone(&asked);
    models.expect_open().returning(move |_| {
        let mut model = MockModel::new();
        let count = Arc::clone(&count);
        model.expect_complete().returning(move |request| {
            count.fetch_add(1, Ordering::SeqCst);
            if request.prompt == "Down?" {
                return Err(ModelError::Transient("down".to_owned()));
            }
            Ok(Completion::whole("{}", Usage::default()))
        });
        Ok(Arc::new(model))
    });
    let model = open_model(models, &seconds);
    let spent = UsageMeter::default();
    for (second, expected) in [(100, 1), (159, 1), (160, 2), (219, 2)] {
        seconds.store(second, Ordering::SeqCst);
        model.answer(&question("Why?"), &object, &spent).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), expected, "second {second}");
    }
    let other_data = Question { data: json!({ "diff": "+ other" }), ..question("Why?") };
    model.answer(&other_data, &object, &spent).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    for _ in 0..2 {
        assert!(model.answer(&question("Down?"), &object, &spent).await.is_err());
    }
    assert_eq!(asked.load(Ordering::SeqCst), 5);
}

fn fast(models: MockModels, wanted: &[&str], seconds: &Arc<AtomicU64>) -> FastModel {
    FastModel::new(FastModelParams {
        models: Arc::new(models),
        clock: nobody(seconds).clock,
        wanted: wanted.iter().map(|name| (*name).to_owned()).collect(),
        template: template(),
    })
}

#[tokio::test]
async fn the_first_wanted_model_that_is_offered_is_chosen() {
    let check = async |wanted: &[&str], offered: Result<&[&str], ModelError>, expected: Result<&str, &str>| {
        let offered = offered.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let mut models = MockModels::new();
        models.expect_offered().returning(move |_| offered.clone());
        let chosen = fast(models, wanted, &Arc::default()).name().await;
        assert_eq!(chosen.map_err(|error| error.to_string()), expected.map(str::to_owned).map_err(str::to_owned));
    };
    check(&["a", "b"], Ok(&["c", "b", "a-mini"]), Ok("b")).await;
    check(&["a", "b"], Ok(&["b", "a-20251001"]), Ok("a-20251001")).await;
    check(&["a", "b"], Ok(&["a-2025-10-01", "a", "b"]), Ok("a")).await;
    check(&[], Ok(&["claude-sonnet-4-5-20250929"]), Ok("claude-sonnet-4-5-20250929")).await;
    check(&["a", "b"], Ok(&[]), Ok("a")).await;
    check(&["a", "b"], Err(ModelError::Transient("down".to_owned())), Ok("a")).await;
    check(&["a", "b"], Err(ModelError::Auth("no key".to_owned())), Err("not logged in: no key")).await;
    let none = "the provider offers none of a, b; name one that it offers in `verification.judge.models` (x, y)";
    check(&["a", "b"], Ok(&["x", "y"]), Err(none)).await;
    // Whoever is named is asked: which models may judge is the operator's to say.
    check(&["another-one", "tiny"], Ok(&["tiny"]), Ok("tiny")).await;
}

#[tokio::test]
async fn a_choice_holds_for_five_minutes_and_one_name_is_no_choice() {
    let seconds = Arc::new(AtomicU64::new(1));
    let mut models = MockModels::new();
    models.expect_offered().times(2).returning(|_| Ok(vec!["b".to_owned()]));
    let model = fast(models, &["a", "b"], &seconds);
    for second in [1, 299, 300, 301, 600] {
        seconds.store(second, Ordering::SeqCst);
        assert_eq!(model.name().await.unwrap(), "b");
    }
    assert_eq!(fast(MockModels::new(), &["only"], &seconds).name().await.unwrap(), "only");
}
