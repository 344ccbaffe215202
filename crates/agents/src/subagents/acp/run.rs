//! One run: the agent's process and the conversation with it, side by side.

use super::super::request::{environment, write_prompt};
use super::agent::AcpAgentParams;
use super::conversation::{Conversation, Told};
use super::report::Over;
use super::wire;
use crate::domain::policy::Permissions;
use crate::domain::{AgentReport, CheckCommand};
use crate::services::{AgentRequest, Command, CommandError, CommandOutput, Mode, SubagentError, Watch};
use crate::streams::acp::{Hears, Listener, ListenerParams};
use crate::streams::program::with_estimate;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long an agent may take to end by itself once its stdin is closed. Some take seconds to tidy up, Zed's codex-acp
/// never ends; both have answered, so neither is a failure.
const LINGER: Duration = Duration::from_secs(3);

/// How much longer than the agent's limit its process may run: the time to cancel the turn and to hear the answer.
const BACKSTOP: Duration = Duration::from_secs(10);

/// Runs the agent once.
pub(super) async fn run(agent: &AcpAgentParams, request: AgentRequest) -> Result<AgentReport, SubagentError> {
    let listener = Arc::new(Listener::new(ListenerParams {
        watch: Arc::clone(&request.watch),
        permissions: match request.mode {
            Mode::Work => agent.options.permissions,
            Mode::ReadOnly => Permissions::Deny,
        },
        max_turns: agent.options.max_turns,
        max_cost_cents: agent.options.max_cost_cents,
    }));
    write_prompt(&agent.name, &request).await?;
    let (told, output) = talk(agent, request, &listener).await;
    let output = output.map_err(|error| not_started(agent, error))?;
    let usage = told.usage(&listener.heard());
    let usage = agent.options.model.as_ref().map_or(usage, |model| with_estimate(usage, model));
    let heard = listener.finish(usage);
    let now = agent.clock.now();
    let over = Over { name: &agent.name, timeout: agent.timeout, now, told: &told, heard: &heard, output: &output };
    over.report(usage)
}

/// Holds the conversation while the process runs; whichever ends first ends the other.
async fn talk(
    agent: &AcpAgentParams,
    request: AgentRequest,
    listener: &Arc<Listener>,
) -> (Told, Result<CommandOutput, CommandError>) {
    let hears: Arc<dyn Hears> = Arc::clone(listener) as Arc<dyn Hears>;
    let (stdin, feed) = mpsc::unbounded_channel();
    let (stdout, line) = wire::connection(Arc::clone(&hears), stdin);
    // Not the request's own token: the turn is cancelled first, and the agent heard.
    let end = CancellationToken::new();
    let watch = Watch { reader: Box::new(stdout), stdin: Some(feed), idle: agent.idle, linger: LINGER };
    let process = agent.runner.run_watched(command(agent, &request, end.clone()), watch);
    let conversation = line.hold(hears, |asked| {
        Conversation {
            agent: asked,
            request,
            model: agent.options.model.clone(),
            system_prompt: agent.options.system_prompt.clone(),
            timeout: agent.timeout,
            clock: Arc::clone(&agent.clock),
            listener: Arc::clone(listener),
        }
        .hold()
    });
    tokio::pin!(process, conversation);
    tokio::select! {
        // What the agent said last may still be on its way; its stdout is closed, so the conversation ends.
        output = &mut process => (conversation.await.unwrap_or_default(), output),
        told = &mut conversation => {
            let told = told.unwrap_or_default();
            if told.result.is_none() {
                end.cancel();
            }
            let output = tokio::select! {
                output = &mut process => output,
                () = agent.clock.sleep(LINGER) => {
                    end.cancel();
                    process.await
                }
            };
            (told, output)
        }
    }
}

fn command(agent: &AcpAgentParams, request: &AgentRequest, end: CancellationToken) -> Command {
    let argv = agent.argv.iter().chain(&agent.options.extra_args).cloned();
    Command {
        program: CheckCommand::Argv(argv.collect()),
        env: environment(request, &agent.env),
        env_deny: agent.env_deny.clone(),
        timeout: agent.timeout.saturating_add(BACKSTOP),
        cancel: end,
        ..Command::new(Vec::<String>::new(), &request.dir)
    }
}

fn not_started(agent: &AcpAgentParams, error: CommandError) -> SubagentError {
    let name = agent.name.clone();
    match error {
        CommandError::NotFound { .. } => {
            let split = agent.argv.first().is_some_and(|program| program.contains(' '));
            let split = if split { "; the program and each argument are words of their own in the list" } else { "" };
            let message = format!("{error}; install it or fix `agents.{name}.argv`{split}");
            SubagentError::Missing { agent: name, message }
        }
        CommandError::Hidden { .. } => SubagentError::Missing { agent: name, message: error.to_string() },
        other => SubagentError::Failed { agent: name, message: other.to_string() },
    }
}
