//! The agent behind the port: one question, one answer, files.

use super::apply::ApplyError;
use super::context::Context;
use super::{apply, context};
use crate::domain::{AgentReport, Ending, FileGlobs, Role, ToolKind, ToolStatus, TranscriptItem, policy};
use crate::prompt::{AnsweredFile, CompletionPrompt, Wholeness, excerpt, last_bytes, read_answer};
use crate::services::{
    AgentRequest, Clock, Completion, Conversation, Mode, Model, ModelError, ModelRequest, Models, RetryFrom, Subagent,
    SubagentError,
};
use async_trait::async_trait;
use std::sync::{Arc, OnceLock};

/// So much of the question and of the answer goes into the transcript.
const TRANSCRIPT_BYTES: usize = 16 * 1024;
/// So much of the answer's end is the closing message.
const MESSAGE_BYTES: usize = 2_000;

/// A language model without tools: it is asked once, and the whole files it answers with are applied, all or none.
///
/// Use it for small tasks on local models, and as the baseline that agents with tools are compared with: it is the
/// set-up of the Reflexion paper's programming runs (Shinn et al. 2023, §4.3). It sees the files that the task, the checks
/// or the failing output name (24 KiB of each, 64 KiB in all), and the project's small files where these are only tests.
/// An answer without any file is an empty change, not an error; one that writes outside of the project, behind a link,
/// into something protected or over a file that the model did not see whole is `agent_error`, and nothing of it is applied.
pub struct CompletionAgent {
    params: CompletionAgentParams,
    /// Opened at the first attempt and kept: its limits count over all of them.
    model: OnceLock<Result<Arc<dyn Model>, ModelError>>,
}

/// What a [`CompletionAgent`] is made of.
pub struct CompletionAgentParams {
    /// How messages call it.
    pub name: String,
    /// Which model, and how it is asked.
    pub model: policy::Model,
    /// Opens it.
    pub models: Arc<dyn Models>,
    /// Turns waits into reset times.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Subagent for CompletionAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        if request.mode == Mode::ReadOnly {
            return Err(self.cannot("it only writes files; give its model to a generator of type `llm`"));
        }
        if request.conversation != Conversation::New {
            return Err(self.cannot("it keeps no conversations"));
        }
        let (seen, protected) = self.look(&request).await?;
        let prompt = CompletionPrompt {
            attempt: &request.prompt,
            files: &seen.files,
            others: &seen.others,
            asked: seen.asked.as_deref(),
        }
        .render();
        step(
            &request,
            TranscriptItem::Message { role: Role::User, text: excerpt(&prompt, TRANSCRIPT_BYTES).into_owned() },
        );
        let completion = match self.ask(&request, prompt).await {
            Ok(completion) => completion,
            Err(outcome) => return *outcome,
        };
        step(
            &request,
            TranscriptItem::Message {
                role: Role::Assistant,
                text: excerpt(&completion.text, TRANSCRIPT_BYTES).into_owned(),
            },
        );
        step(&request, TranscriptItem::Turn { usage: completion.usage });
        self.apply(&request, completion, (seen, protected)).await
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }
}

impl CompletionAgent {
    /// An agent of one model.
    #[must_use]
    pub fn new(params: CompletionAgentParams) -> Self {
        Self { params, model: OnceLock::new() }
    }

    fn cannot(&self, message: &str) -> SubagentError {
        SubagentError::Unsupported { agent: self.params.name.clone(), message: message.to_owned() }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> SubagentError {
        SubagentError::Failed { agent: self.params.name.clone(), message: error.to_string() }
    }

    /// What the model is to see, and what it may not change.
    async fn look(&self, request: &AgentRequest) -> Result<(Context, FileGlobs), SubagentError> {
        let protected = FileGlobs::new(&request.protect).map_err(|error| self.failed(&error))?;
        let (dir, prompt) = (request.dir.clone(), request.prompt.clone());
        tokio::task::spawn_blocking(move || (context::choose(&dir, &prompt, &protected), protected))
            .await
            .map_err(|error| self.failed(&error))
    }

    /// Asks the model; else what the run comes to without an answer. A model that cannot be asked at all is the set-up's
    /// fault, so that no attempt is judged by it.
    async fn ask(
        &self,
        request: &AgentRequest,
        prompt: String,
    ) -> Result<Completion, Box<Result<AgentReport, SubagentError>>> {
        let question = ModelRequest { system: Some(CompletionPrompt::SYSTEM.to_owned()), prompt, schema: None };
        let opened = self.model.get_or_init(|| self.params.models.open(&self.params.model));
        let answer = async { opened.clone()?.complete(question).await };
        let answer = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(Box::new(Ok(AgentReport::new(Ending::Cancelled)))),
            answer = answer => answer,
        };
        answer.map_err(|error| {
            step(request, TranscriptItem::Error { status: None, message: error.to_string() });
            Box::new(match error {
                ModelError::Unavailable(message) => Err(self.cannot(&message)),
                error => Ok(AgentReport {
                    detail: Some(error.to_string()),
                    ..AgentReport::new(error.ending(self.params.clock.now()))
                }),
            })
        })
    }

    /// Applies the answer's files, or says why none of them is.
    async fn apply(
        &self,
        request: &AgentRequest,
        completion: Completion,
        (seen, protected): (Context, FileGlobs),
    ) -> Result<AgentReport, SubagentError> {
        let mut report = AgentReport {
            message: last_bytes(completion.text.trim(), MESSAGE_BYTES).to_owned(),
            usage: completion.usage,
            ..AgentReport::new(Ending::Finished)
        };
        let files = match files_of(&completion, seen.asked.as_deref()) {
            Ok(files) => files,
            Err(detail) => return Ok(refused(report, detail)),
        };
        let dir = request.dir.clone();
        let written = tokio::task::spawn_blocking(move || {
            let planned = apply::plan(&dir, &files, &protected)?;
            let refused = planned.iter().filter(|file| file.is_there()).find_map(|file| seen.refuses(&file.path));
            refused.map_or(Ok(()), Err)?;
            apply::write(&planned)?;
            Ok::<_, ApplyError>(planned.into_iter().map(|file| file.path).collect::<Vec<_>>())
        })
        .await
        .map_err(|error| self.failed(&error))?;
        match written {
            Ok(paths) => {
                for (at, path) in paths.iter().enumerate() {
                    wrote(request, at, path);
                }
                report.message = summary(&paths, &report.message);
                Ok(report)
            }
            // What the call used is known and stays, whatever the file system said.
            Err(why) => Ok(refused(report, why.to_string())),
        }
    }
}

/// The files of an answer; a single block without a path is the one file that was asked for.
fn files_of(completion: &Completion, asked: Option<&str>) -> Result<Vec<AnsweredFile>, String> {
    let wholeness = if completion.truncated { Wholeness::CutOff } else { Wholeness::Whole };
    let mut answer = read_answer(&completion.text, wholeness).map_err(|error| error.to_string())?;
    if !answer.files.is_empty() {
        return Ok(answer.files);
    }
    match (answer.unnamed.len(), asked) {
        (0, _) => Ok(Vec::new()),
        (1, Some(path)) => Ok(vec![AnsweredFile { path: path.to_owned(), text: answer.unnamed.remove(0) }]),
        (n, _) => Err(format!("the answer has {n} code blocks and does not say which files they are")),
    }
}

/// What the next attempt and its reflection should know of an answer: what was written, then the model's own words.
fn summary(paths: &[String], message: &str) -> String {
    match paths {
        [] => format!("Answered with no file. {message}"),
        paths => format!("Wrote {}. {message}", paths.join(", ")),
    }
}

fn refused(report: AgentReport, detail: String) -> AgentReport {
    AgentReport { ending: Ending::AgentError, detail: Some(detail), ..report }
}

fn wrote(request: &AgentRequest, at: usize, path: &str) {
    let id = format!("write-{}", at + 1);
    step(
        request,
        TranscriptItem::ToolCall {
            id: id.clone(),
            tool: "write".to_owned(),
            kind: ToolKind::Edit,
            input: serde_json::json!({ "path": path }),
            edits: vec![path.to_owned()],
        },
    );
    step(
        request,
        TranscriptItem::ToolResult {
            id,
            status: ToolStatus::Ok,
            exit_code: None,
            output: String::new(),
            duration_ms: None,
        },
    );
}

fn step(request: &AgentRequest, item: TranscriptItem) {
    request.watch.step(item, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{RunId, SessionId, SubtaskId, TaskId, Usage};
    use crate::services::{Earlier, MockAgentWatch, MockClock, MockModel, MockModels};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::sync::Mutex;
    use std::time::Duration;
    use tokio_util::sync::CancellationToken;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn agent(model: impl Model + 'static) -> CompletionAgent {
        let mut models = MockModels::new();
        let model = Mutex::new(Some(Arc::new(model)));
        models.expect_open().returning(move |_| Ok(model.lock().unwrap().take().unwrap()));
        of_models(models)
    }

    fn of_models(models: MockModels) -> CompletionAgent {
        let mut clock = MockClock::new();
        clock.expect_now().returning(|| NOW.parse().unwrap());
        CompletionAgent::new(CompletionAgentParams {
            name: "small".to_owned(),
            model: policy::Model {
                provider: policy::Provider::OpenAi,
                name: "small".to_owned(),
                base_url: None,
                key_env: None,
                max_tokens: 400,
                temperature_milli: None,
                structured: policy::Structured::On,
                limits: policy::Limits {
                    timeout: Duration::from_secs(30),
                    concurrency: None,
                    per_minute: None,
                    retries: 0,
                },
            },
            models: Arc::new(models),
            clock: Arc::new(clock),
        })
    }

    fn answers(text: &str, truncated: bool) -> CompletionAgent {
        let usage = Usage { input: Some(7), output: Some(3), ..Usage::default() };
        let completion = Completion { truncated, ..Completion::whole(text, usage) };
        let mut model = MockModel::new();
        model.expect_complete().times(1).return_once(move |_| Ok(completion));
        agent(model)
    }

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("calc.py"), "def half(a):\n    return a * 2\n").unwrap();
        fs::write(dir.path().join("test_calc.py"), "assert half(2) == 1\n").unwrap();
        dir
    }

    fn request(dir: &Path) -> AgentRequest {
        AgentRequest {
            run: RunId::new("r").unwrap(),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            session: SessionId::new("s"),
            prompt: "# Task: half\n\nMend calc.py.\n\n## Checks\n\n- t: `python3 test_calc.py`\n".to_owned(),
            prompt_file: "prompt.md".into(),
            dir: dir.to_owned(),
            mode: Mode::Work,
            env: BTreeMap::new(),
            conversation: Conversation::New,
            protect: vec!["test_*".to_owned()],
            watch: Arc::new(crate::services::Unwatched),
            cancel: CancellationToken::new(),
        }
    }

    fn calc(dir: &Path) -> String {
        fs::read_to_string(dir.join("calc.py")).unwrap()
    }

    #[tokio::test]
    async fn the_model_sees_prompt_and_files_and_its_answer_is_applied() {
        let dir = project();
        let mut model = MockModel::new();
        model
            .expect_complete()
            .times(1)
            .withf(|asked| {
                asked.prompt.starts_with("# Task: half\n")
                    && asked.prompt.contains("`calc.py`:\n```\ndef half(a):\n    return a * 2\n```\n")
                    && asked.prompt.contains("`test_calc.py` (must not be changed):\n")
                    && asked.schema.is_none()
            })
            .returning(|_| {
                Ok(Completion {
                    text: "`calc.py`:\n```python\ndef half(a):\n    return a // 2\n```\n".to_owned(),
                    usage: Usage { input: Some(7), ..Usage::default() },
                    truncated: false,
                })
            });
        let steps: Arc<Mutex<Vec<TranscriptItem>>> = Arc::default();
        let mut watch = MockAgentWatch::new();
        let seen = Arc::clone(&steps);
        watch.expect_step().returning(move |item, _| seen.lock().unwrap().push(item));
        let request = AgentRequest { watch: Arc::new(watch), ..request(dir.path()) };
        let report = agent(model).run(request).await.unwrap();
        assert_eq!((report.ending, report.usage.input), (Ending::Finished, Some(7)));
        assert!(report.message.starts_with("Wrote calc.py. "), "{}", report.message);
        assert_eq!(calc(dir.path()), "def half(a):\n    return a // 2\n");
        let steps = steps.lock().unwrap();
        assert!(matches!(&steps[0], TranscriptItem::Message { role: Role::User, .. }));
        assert!(matches!(&steps[2], TranscriptItem::Turn { usage } if usage.input == Some(7)));
        assert!(matches!(&steps[3], TranscriptItem::ToolCall { edits, .. } if edits == &["calc.py"]));
        assert_eq!(steps.len(), 5);
    }

    #[tokio::test]
    async fn an_answer_is_applied_whole_or_not_at_all() {
        async fn check(answer: &str, truncated: bool, expected: Result<&str, &str>) {
            let dir = project();
            let report = answers(answer, truncated).run(request(dir.path())).await.unwrap();
            match expected {
                Ok(text) => {
                    assert_eq!((report.ending, report.detail), (Ending::Finished, None), "{answer}");
                    assert_eq!(calc(dir.path()), text, "{answer}");
                }
                Err(why) => {
                    assert_eq!(report.ending, Ending::AgentError, "{answer}");
                    assert!(report.detail.as_deref().is_some_and(|said| said.contains(why)), "{:?}", report.detail);
                    assert!(calc(dir.path()).contains("a * 2"), "{answer}");
                }
            }
        }
        let unchanged = "def half(a):\n    return a * 2\n";
        check("```python\nx = 1\n```", false, Ok("x = 1\n")).await;
        check("It is fine as it is.", false, Ok(unchanged)).await;
        check("`calc.py`:\n```\nx = 1\n```\nAnd so", true, Ok("x = 1\n")).await;
        check("`calc.py`:\n```\nx = ", true, Err("cut off inside `calc.py`")).await;
        check("```\nx = 1\n```\n```\ny = 1\n```", false, Err("2 code blocks")).await;
        check("`calc.py`:\n```\nx = 1\n```\n`../up.py`:\n```\n```", false, Err("`../up.py`")).await;
        check("`calc.py`:\n```\nx = 1\n```\n`.git/config`:\n```\n```", false, Err("`.git/config`")).await;
        check("`calc.py`:\n```\nx = 1\n```\n`test_calc.py`:\n```\n```", false, Err("`test_calc.py`")).await;
    }

    #[tokio::test]
    async fn a_file_that_was_shown_in_part_is_not_overwritten() {
        let dir = project();
        let long = "x = 1\n".repeat(10_000);
        fs::write(dir.path().join("calc.py"), &long).unwrap();
        let report = answers("`calc.py`:\n```\nx = 2\n```\n", false).run(request(dir.path())).await.unwrap();
        assert_eq!(report.ending, Ending::AgentError);
        assert!(report.detail.is_some_and(|detail| detail.contains("only the beginning")));
        assert_eq!(calc(dir.path()), long);
    }

    #[tokio::test]
    async fn a_file_that_was_not_shown_is_not_overwritten() {
        async fn check(path: &str, bytes: &[u8], answer: &str) {
            let dir = project();
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), bytes).unwrap();
            let report = answers(answer, false).run(request(dir.path())).await.unwrap();
            assert_eq!((report.ending, report.usage.input), (Ending::AgentError, Some(7)), "{path}");
            assert!(report.detail.is_some_and(|detail| detail.contains(&format!("`{path}`"))), "{path}");
            assert_eq!(fs::read(dir.path().join(path)).unwrap(), bytes, "{path}");
            assert!(path == "calc.py" || calc(dir.path()).contains("a * 2"), "{path}: all or nothing");
        }
        let both = |path: &str| format!("`calc.py`:\n```\nx = 2\n```\n`{path}`:\n```\ny = 1\n```\n");
        check("other.py", b"y = 0\n", &both("other.py")).await;
        check("build/gen.py", b"y = 0\n", &both("build/gen.py")).await;
        check(".gitignore", b"target\n", &both("./.gitignore")).await;
        check("calc.py", b"x = '\xff'\n", "```\nx = 2\n```\n").await;
    }

    #[tokio::test]
    async fn a_write_that_fails_keeps_what_the_call_used() {
        let dir = tempfile::tempdir().unwrap();
        // A link to nothing: no directory can be made there, by nobody.
        let gone = dir.path().join("gone");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &gone).unwrap();
        let report = answers("`a.py`:\n```\nx = 2\n```\n", false).run(request(&gone)).await.unwrap();
        assert_eq!((report.ending, report.usage.input), (Ending::AgentError, Some(7)));
        assert!(report.detail.is_some_and(|detail| detail.starts_with("failed to write")));
    }

    #[tokio::test]
    async fn a_model_without_an_answer_is_an_ending() {
        async fn check(error: ModelError, expected: Ending) {
            let dir = project();
            let mut model = MockModel::new();
            let words = error.to_string();
            model.expect_complete().times(1).return_once(move |_| Err(error));
            let report = agent(model).run(request(dir.path())).await.unwrap();
            assert_eq!((report.ending, report.detail), (expected, Some(words)));
        }
        let message = String::new();
        let resets_at = Some("2026-01-01T00:00:07Z".parse().unwrap());
        let retry_after = Some(Duration::from_secs(7));
        check(ModelError::RateLimited { retry_after, message }, Ending::RateLimited { resets_at }).await;
        check(ModelError::Quota("q".to_owned()), Ending::Quota).await;
        check(ModelError::Auth("a".to_owned()), Ending::Auth).await;
        check(ModelError::Transient("t".to_owned()), Ending::Transient).await;
        check(ModelError::Context("c".to_owned()), Ending::Context).await;
        check(ModelError::Timeout(Duration::from_secs(1)), Ending::Timeout).await;
        check(ModelError::Rejected("r".to_owned()), Ending::AgentError).await;

        let mut models = MockModels::new();
        models.expect_open().returning(|_| Err(ModelError::Auth("no key".to_owned())));
        let report = of_models(models).run(request(project().path())).await.unwrap();
        assert_eq!(report.ending, Ending::Auth);
    }

    /// Never answers, and says so once it is asked.
    struct Silent(CancellationToken);

    #[async_trait]
    impl Model for Silent {
        async fn complete(&self, _: ModelRequest) -> Result<Completion, ModelError> {
            self.0.cancel();
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn cancelling_drops_the_call() {
        let dir = project();
        let request = request(dir.path());
        // Asking is what cancels, so that the call is under way by then.
        let silent = Silent(request.cancel.clone());
        let report = agent(silent).run(request).await.unwrap();
        assert_eq!(report.ending, Ending::Cancelled);
    }

    #[tokio::test]
    async fn the_model_is_opened_once_for_all_attempts() {
        let mut models = MockModels::new();
        models.expect_open().times(1).returning(|_| Err(ModelError::Unavailable("not here".to_owned())));
        let small = of_models(models);
        for _ in 0..2 {
            let asked = small.run(request(project().path())).await;
            assert!(
                matches!(&asked, Err(SubagentError::Unsupported { message, .. }) if message == "not here"),
                "{asked:?}"
            );
        }
    }

    #[tokio::test]
    async fn it_answers_no_questions_and_always_starts_from_the_base() {
        let dir = project();
        let small = of_models(MockModels::new());
        let asked = small.run(AgentRequest { mode: Mode::ReadOnly, ..request(dir.path()) }).await;
        assert!(matches!(asked, Err(SubagentError::Unsupported { .. })), "{asked:?}");
        let earlier = Earlier { agent_session: "e".to_owned(), usage: Usage::default() };
        for conversation in [Conversation::Resume(earlier.clone()), Conversation::Fork(earlier)] {
            let asked = small.run(AgentRequest { conversation, ..request(dir.path()) }).await;
            assert!(matches!(asked, Err(SubagentError::Unsupported { .. })), "{asked:?}");
        }
        assert_eq!(small.retry_from(), RetryFrom::Base);
        assert!(!small.abilities().read_only);
    }
}
