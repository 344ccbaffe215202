//! What programs print, agents say and models are asked, without secrets.
//!
//! These stand at the sources, so that nothing behind them - signatures, reflections, prompts, feedback - holds any;
//! what is stored and shown is looked at again where it is written.

use crate::domain::{AgentReport, Output, TranscriptItem};
use crate::redaction::Redactor;
use crate::services::{
    Abilities, AgentRequest, AgentWatch, Command, CommandError, CommandOutput, CommandRunner, Completion, Model,
    ModelError, ModelRequest, RetryFrom, Subagent, SubagentError, Watch,
};
use async_trait::async_trait;
use std::sync::Arc;

/// What its programs leave behind holds no secrets. Who watches stdout while it comes gets it as it is.
pub(super) struct RedactedRunner(pub Arc<dyn CommandRunner>);

#[async_trait]
impl CommandRunner for RedactedRunner {
    async fn run(&self, command: Command) -> Result<CommandOutput, CommandError> {
        Ok(redacted(self.0.run(command).await?))
    }

    async fn run_watched(&self, command: Command, watch: Watch) -> Result<CommandOutput, CommandError> {
        Ok(redacted(self.0.run_watched(command, watch).await?))
    }
}

fn redacted(output: CommandOutput) -> CommandOutput {
    let [stdout, stderr, combined] = [output.stdout, output.stderr, output.combined].map(redact_output);
    CommandOutput { stdout, stderr, combined, ..output }
}

/// The same output without secrets.
pub(super) fn redact_output(output: Output) -> Output {
    let omitted = output.omitted();
    let [head, tail] = [output.head, output.tail].map(|text| Redactor::of_process().redact_owned(text));
    // As many bytes are left out as before.
    Output { bytes: omitted + (head.len() + tail.len()) as u64, head, tail }
}

/// What the agent says and does is told without secrets.
pub(super) struct RedactedAgent(pub Arc<dyn Subagent>);

#[async_trait]
impl Subagent for RedactedAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let watch = Arc::new(RedactedWatch(Arc::clone(&request.watch)));
        let report = self.0.run(AgentRequest { watch, ..request }).await?;
        let redact = |text| Redactor::of_process().redact_owned(text);
        Ok(AgentReport { message: redact(report.message), detail: report.detail.map(redact), ..report })
    }

    fn retry_from(&self) -> RetryFrom {
        self.0.retry_from()
    }

    fn abilities(&self) -> Abilities {
        self.0.abilities()
    }
}

/// The arguments of tools are looked at by their names; the rest by the sink, which sees every string.
struct RedactedWatch(Arc<dyn AgentWatch>);

impl AgentWatch for RedactedWatch {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        let item = match item {
            TranscriptItem::ToolCall { id, tool, kind, input, edits } => TranscriptItem::ToolCall {
                id,
                tool,
                kind,
                input: Redactor::of_process().redact_arguments(input),
                edits,
            },
            TranscriptItem::ToolResult { id, status, exit_code, output, duration_ms } => TranscriptItem::ToolResult {
                id,
                status,
                exit_code,
                output: Redactor::of_process().redact_owned(output),
                duration_ms,
            },
            TranscriptItem::Message { role, text } => {
                TranscriptItem::Message { role, text: Redactor::of_process().redact_owned(text) }
            }
            other => other,
        };
        self.0.step(item, parent);
    }
}

/// Is asked without secrets.
pub(super) struct RedactedModel(pub Arc<dyn Model>);

#[async_trait]
impl Model for RedactedModel {
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError> {
        let prompt = Redactor::of_process().redact_owned(request.prompt);
        self.0.complete(ModelRequest { prompt, ..request }).await
    }
}
