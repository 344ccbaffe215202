//! The agent behind the port: one question, one answer, files.

use super::apply;
use super::apply::Protected;
use super::context;
use super::context::Context;
use crate::domain::AgentReport;
use crate::domain::Ending;
use crate::domain::Role;
use crate::domain::ToolKind;
use crate::domain::ToolStatus;
use crate::domain::TranscriptItem;
use crate::domain::policy::Model;
use crate::prompt::AnsweredFile;
use crate::prompt::CompletionPrompt;
use crate::prompt::Wholeness;
use crate::prompt::excerpt;
use crate::prompt::last_bytes;
use crate::prompt::read_answer;
use crate::services::AgentRequest;
use crate::services::Clock;
use crate::services::Completion;
use crate::services::Mode;
use crate::services::ModelRequest;
use crate::services::Models;
use crate::services::RetryFrom;
use crate::services::Subagent;
use crate::services::SubagentError;
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

/// So much of the question and of the answer goes into the transcript.
const TRANSCRIPT_BYTES: usize = 16 * 1024;
/// So much of the answer's end is the closing message.
const MESSAGE_BYTES: usize = 2_000;

/// A language model without tools: it is asked once, and the whole files it answers with are applied, all or none.
///
/// Use it for small tasks on local models, and as the baseline that agents with tools are compared with: it is the
/// set-up of the Reflexion paper's programming runs (Shinn et al. 2023, §4.3). It sees the files that the task, the checks or
/// the failing output name (24 KiB of each, 64 KiB in all), or the small files there are. An answer without any file is
/// an empty change, not an error; one that writes outside of the project, behind a link or into something protected is
/// `agent_error` and nothing of it is applied.
pub struct CompletionAgent {
    params: CompletionAgentParams,
}

/// What a [`CompletionAgent`] is made of.
pub struct CompletionAgentParams {
    /// How messages call it.
    pub name: String,
    /// Which model, and how it is asked.
    pub model: Model,
    /// Opens it.
    pub models: Arc<dyn Models>,
    /// Turns waits into reset times.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Subagent for CompletionAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        if request.mode == Mode::ReadOnly {
            return Err(SubagentError::Unsupported {
                agent: self.params.name.clone(),
                message: "it only writes files; give its model to a generator of type `llm`".to_owned(),
            });
        }
        let protected = Arc::new(Protected::new(&request.protect).map_err(|error| self.failed(&error))?);
        let seen = self.look(&request, Arc::clone(&protected)).await?;
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
            Err(report) => return Ok(*report),
        };
        step(
            &request,
            TranscriptItem::Message {
                role: Role::Assistant,
                text: excerpt(&completion.text, TRANSCRIPT_BYTES).into_owned(),
            },
        );
        step(&request, TranscriptItem::Turn { usage: completion.usage });
        self.apply(&request, completion, seen.asked, protected).await
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }
}

impl CompletionAgent {
    /// An agent of one model.
    #[must_use]
    pub fn new(params: CompletionAgentParams) -> Self {
        Self { params }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> SubagentError {
        SubagentError::Failed { agent: self.params.name.clone(), message: error.to_string() }
    }

    async fn look(&self, request: &AgentRequest, protected: Arc<Protected>) -> Result<Context, SubagentError> {
        let (dir, prompt) = (request.dir.clone(), request.prompt.clone());
        tokio::task::spawn_blocking(move || context::choose(&dir, &prompt, &protected))
            .await
            .map_err(|error| self.failed(&error))
    }

    /// Asks the model; the report of a call that gave no answer.
    async fn ask(&self, request: &AgentRequest, prompt: String) -> Result<Completion, Box<AgentReport>> {
        let question = ModelRequest { system: Some(CompletionPrompt::SYSTEM.to_owned()), prompt, schema: None };
        let answer = async { self.params.models.open(&self.params.model)?.complete(question).await };
        let answer = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(Box::new(AgentReport::new(Ending::Cancelled))),
            answer = answer => answer,
        };
        answer.map_err(|error| {
            step(request, TranscriptItem::Error { status: None, message: error.to_string() });
            Box::new(AgentReport {
                detail: Some(error.to_string()),
                ..AgentReport::new(error.ending(self.params.clock.now()))
            })
        })
    }

    /// Applies the answer's files, or says why none of them is.
    async fn apply(
        &self,
        request: &AgentRequest,
        completion: Completion,
        asked: Option<String>,
        protected: Arc<Protected>,
    ) -> Result<AgentReport, SubagentError> {
        let mut report = AgentReport {
            message: last_bytes(completion.text.trim(), MESSAGE_BYTES).to_owned(),
            usage: completion.usage,
            ..AgentReport::new(Ending::Finished)
        };
        let files = match files_of(&completion, asked) {
            Ok(files) => files,
            Err(detail) => return Ok(refused(report, detail)),
        };
        let dir: PathBuf = request.dir.clone();
        let written = tokio::task::spawn_blocking(move || {
            let planned = match apply::plan(&dir, &files, &protected) {
                Ok(planned) => planned,
                Err(error) => return Ok(Err(error.to_string())),
            };
            apply::write(&planned)?;
            Ok::<_, std::io::Error>(Ok(planned.into_iter().map(|file| file.path).collect::<Vec<_>>()))
        })
        .await
        .map_err(|error| self.failed(&error))?
        .map_err(|error| self.failed(&error))?;
        match written {
            Ok(paths) => {
                for (at, path) in paths.iter().enumerate() {
                    wrote(request, at, path);
                }
                report.message = summary(&paths, &report.message);
                Ok(report)
            }
            Err(detail) => Ok(refused(report, detail)),
        }
    }
}

/// The files of an answer; a single block without a path is the one file that was asked for.
fn files_of(completion: &Completion, asked: Option<String>) -> Result<Vec<AnsweredFile>, String> {
    let wholeness = if completion.truncated { Wholeness::CutOff } else { Wholeness::Whole };
    let mut answer = read_answer(&completion.text, wholeness).map_err(|error| error.to_string())?;
    if !answer.files.is_empty() {
        return Ok(answer.files);
    }
    match (answer.unnamed.len(), asked) {
        (0, _) => Ok(Vec::new()),
        (1, Some(path)) => Ok(vec![AnsweredFile { path, text: answer.unnamed.remove(0) }]),
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
