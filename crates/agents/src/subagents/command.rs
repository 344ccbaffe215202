//! Any program as an agent: prompt on stdin, exit status 0 says *done*.

use super::request::{environment, write_prompt};
use crate::domain::{AgentReport, CheckCommand, Ending};
use crate::prompt::last_bytes;
use crate::services::{
    Abilities, AgentRequest, Command, CommandEnd, CommandError, CommandOutput, CommandRunner, RetryFrom, Subagent,
    SubagentError,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How much of stdout's end is the closing message, in bytes: a closing paragraph, not the whole log.
const MESSAGE_BYTES: usize = 4096;

/// How much of stderr's end explains an error, in bytes.
const DETAIL_BYTES: usize = 2048;

/// Runs a program in the workspace.
///
/// It gets the prompt on stdin and `REFLEXION_TASK_ID`, `REFLEXION_SUBTASK_ID`, `REFLEXION_ATTEMPT`,
/// `REFLEXION_SESSION_ID` and `REFLEXION_PROMPT_FILE` in its environment. Exit status 0 is `finished`, another one
/// `agent_error`, a signal `crash`, the time limit `timeout`. In [`Mode::ReadOnly`](crate::services::Mode::ReadOnly) the
/// program is the same, with the same rights: only its working directory is a throw-away one.
pub struct CommandAgent {
    name: String,
    argv: Vec<String>,
    timeout: Duration,
    env: BTreeMap<String, String>,
    env_deny: Vec<String>,
    runner: Arc<dyn CommandRunner>,
}

/// What a [`CommandAgent`] is made of.
pub struct CommandAgentParams {
    /// How messages call it.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Wall-clock limit of one agent run.
    pub timeout: Duration,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
    /// Globs of inherited variables that it does not get.
    pub env_deny: Vec<String>,
    /// Runs it.
    pub runner: Arc<dyn CommandRunner>,
}

impl CommandAgent {
    /// An agent of one program.
    #[must_use]
    pub fn new(params: CommandAgentParams) -> Self {
        let CommandAgentParams { name, argv, timeout, env, env_deny, runner } = params;
        Self { name, argv, timeout, env, env_deny, runner }
    }

    fn command(&self, request: &AgentRequest) -> Command {
        Command {
            program: CheckCommand::Argv(self.argv.clone()),
            env: environment(request, &self.env),
            env_deny: self.env_deny.clone(),
            stdin: request.prompt.clone().into_bytes(),
            timeout: self.timeout,
            cancel: request.cancel.clone(),
            ..Command::new(Vec::<String>::new(), &request.dir)
        }
    }

    fn failed(&self, message: impl std::fmt::Display) -> SubagentError {
        SubagentError::Failed { agent: self.name.clone(), message: message.to_string() }
    }

    fn report(&self, output: &CommandOutput) -> AgentReport {
        let (ending, how) = match output.end {
            CommandEnd::Exited(0) => (Ending::Finished, None),
            CommandEnd::Exited(code) => (Ending::AgentError, Some(format!("exit status {code}"))),
            CommandEnd::Signaled(signal) => (Ending::Crash, Some(format!("ended by signal {signal}"))),
            CommandEnd::TimedOut => (Ending::Timeout, Some(format!("no end within {} s", self.timeout.as_secs_f64()))),
            CommandEnd::Cancelled => (Ending::Cancelled, Some("interrupted".to_owned())),
            CommandEnd::Idle | CommandEnd::Stopped | CommandEnd::TookMemory { .. } => {
                (Ending::Hang, Some("ended by the runtime".to_owned()))
            }
        };
        let detail = how.map(|how| {
            let stderr = output.stderr.text();
            format!("agent `{}`: {how}\n{}", self.name, last_bytes(stderr.trim_end(), DETAIL_BYTES))
                .trim_end()
                .to_owned()
        });
        let stdout = output.stdout.text();
        AgentReport {
            message: last_bytes(stdout.trim_end(), MESSAGE_BYTES).to_owned(),
            detail,
            ..AgentReport::new(ending)
        }
    }
}

#[async_trait]
impl Subagent for CommandAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        write_prompt(&self.name, &request).await?;
        match self.runner.run(self.command(&request)).await {
            Ok(output) => Ok(self.report(&output)),
            Err(error @ CommandError::NotFound { .. }) => {
                let one_word = self.argv.first().is_some_and(|program| program.contains(' '));
                let split =
                    if one_word { "; the program and each argument are words of their own in the list" } else { "" };
                let message = format!("{error}; install it or fix `agents.{}.argv`{split}", self.name);
                Err(SubagentError::Missing { agent: self.name.clone(), message })
            }
            Err(error @ CommandError::Hidden { .. }) => {
                Err(SubagentError::Missing { agent: self.name.clone(), message: error.to_string() })
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }

    /// A program cannot be told to change nothing; whoever only asks it runs it where there is nothing to change, and in the
    /// project's sandbox, if it has one.
    fn abilities(&self) -> Abilities {
        Abilities { read_only: true, ..Abilities::default() }
    }
}
