//! A coding agent's command-line program, driven by a description.

use super::super::request::{environment, write_prompt};
use super::arguments::ArgumentsFor;
use crate::domain::policy::AgentOptions;
use crate::domain::{AgentReport, CheckCommand, Ending};
use crate::prompt::last_bytes;
use crate::services::{
    Abilities, AgentRequest, Clock, Command, CommandError, CommandOutput, CommandRunner, Conversation, Flow,
    OutputReader, RetryFrom, Subagent, SubagentError, Watch,
};
use crate::streams::program::{Conclusion, Description, Fold, FoldParams, Lines, describe};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How much of stderr's end explains an error, in bytes.
const DETAIL_BYTES: usize = 2048;

/// A program that said its last word ends within a second when it is well; one that cleans up after its tools needs
/// more; one that never ends must not cost the night.
const LINGER: Duration = Duration::from_secs(5);

/// A coding agent's command-line program, driven by a description of `config/agents/`.
///
/// It gets the prompt on stdin, whatever its size, the variables that every agent gets (`REFLEXION_…`), and never a
/// question: what it would ask for is allowed or refused from the start. Its stream is read while it works; each step
/// goes to the request's watch. Why it ended follows from its records, its exit status and signals alone.
pub struct CliAgent {
    params: CliAgentParams,
    description: &'static Description,
}

/// What a [`CliAgent`] is made of.
pub struct CliAgentParams {
    /// How messages call it.
    pub name: String,
    /// The name of its description.
    pub adapter: String,
    /// Program and arguments; empty: the description's own program.
    pub argv: Vec<String>,
    /// How it is run.
    pub options: AgentOptions,
    /// Wall-clock limit of one agent run.
    pub timeout: Duration,
    /// An agent that prints nothing for so long hangs.
    pub idle: Option<Duration>,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
    /// Globs of inherited variables that it does not get.
    pub env_deny: Vec<String>,
    /// Runs it.
    pub runner: Arc<dyn CommandRunner>,
    /// Turns waits into reset times.
    pub clock: Arc<dyn Clock>,
}

impl CliAgent {
    /// The agent of a description.
    ///
    /// # Errors
    /// [`SubagentError::Unsupported`] if there is no such description.
    pub fn new(params: CliAgentParams) -> Result<Self, SubagentError> {
        let description = describe(&params.adapter).ok_or_else(|| SubagentError::Unsupported {
            agent: params.name.clone(),
            message: format!("there is no description of a program `{}`", params.adapter),
        })?;
        Ok(Self { params, description })
    }

    fn command(&self, request: &AgentRequest) -> Result<Command, SubagentError> {
        let params = &self.params;
        let run = ArgumentsFor {
            arguments: &self.description.arguments,
            options: &params.options,
            mode: request.mode,
            conversation: &request.conversation,
        };
        let arguments = run.line().map_err(|message| SubagentError::Unsupported {
            agent: params.name.clone(),
            message: message.to_owned(),
        })?;
        let program = match params.argv.as_slice() {
            [] => vec![self.description.program.clone()],
            argv => argv.to_vec(),
        };
        Ok(Command {
            program: CheckCommand::Argv(program.into_iter().chain(arguments).collect()),
            env: self.environment(request),
            env_deny: params.env_deny.clone(),
            stdin: run.stdin(&request.prompt),
            timeout: params.timeout,
            cancel: request.cancel.clone(),
            ..Command::new(Vec::<String>::new(), &request.dir)
        })
    }

    fn environment(&self, request: &AgentRequest) -> BTreeMap<String, String> {
        let mut env = self.description.env.clone();
        env.extend(environment(request, &self.params.env));
        env
    }

    fn fold(&self, request: &AgentRequest) -> Fold {
        let options = &self.params.options;
        Fold::new(FoldParams {
            description: self.description,
            watch: Arc::clone(&request.watch),
            clock: Arc::clone(&self.params.clock),
            model: options.model.clone(),
            max_turns: options.max_turns,
            max_cost_usd: options.max_cost_cents.map(|cents| f64::from(cents) / 100.0),
            earlier: match &request.conversation {
                Conversation::New => crate::domain::Usage::default(),
                Conversation::Resume(earlier) | Conversation::Fork(earlier) => earlier.usage,
            },
        })
    }

    fn report(
        &self,
        request: &AgentRequest,
        fold: &mut Fold,
        output: &CommandOutput,
    ) -> Result<AgentReport, SubagentError> {
        let stderr = output.stderr.text();
        let stderr = crate::prompt::plain(&stderr);
        let agent = self.params.name.clone();
        let (ending, because) = match (fold.conclude(output.end, &stderr), &request.conversation) {
            (Conclusion::Ended { ending, because }, _) => (ending, because),
            (Conclusion::NotStarted(message), _) => return Err(SubagentError::Failed { agent, message }),
            (Conclusion::NoConversation, Conversation::Resume(earlier) | Conversation::Fork(earlier)) => {
                let conversation = earlier.agent_session.clone();
                return Err(SubagentError::NoSuchConversation { agent, conversation });
            }
            (Conclusion::NoConversation, Conversation::New) => (Ending::AgentError, None),
        };
        let detail = (ending != Ending::Finished).then(|| {
            let because = because.unwrap_or_else(|| "it gave no reason".to_owned());
            let stderr = last_bytes(stderr.trim(), DETAIL_BYTES);
            let advice = match ending {
                Ending::Auth => format!("; {}", self.description.login.advice),
                _ => String::new(),
            };
            format!("agent `{agent}`: {because}{advice}\n{stderr}").trim_end().to_owned()
        });
        let closing = fold.closing.take().filter(|text| !text.trim().is_empty());
        Ok(AgentReport {
            ending,
            message: closing.unwrap_or_else(|| std::mem::take(&mut fold.message)),
            detail,
            usage: fold.used(),
            agent_session: fold.conversation.take(),
            denied: u32::try_from(fold.denied.len()).unwrap_or(u32::MAX),
            unknown: std::mem::take(&mut fold.unknown),
        })
    }

    fn not_run(&self, error: CommandError) -> SubagentError {
        let agent = self.params.name.clone();
        match error {
            CommandError::NotFound { .. } => {
                let install = &self.description.install;
                let message = format!("{error}; install it (`{install}`) or name it in `agents.{agent}.argv`");
                SubagentError::Missing { agent, message }
            }
            CommandError::Hidden { .. } => SubagentError::Missing { agent, message: error.to_string() },
            error => SubagentError::Failed { agent, message: error.to_string() },
        }
    }
}

#[async_trait]
impl Subagent for CliAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let command = self.command(&request)?;
        write_prompt(&self.params.name, &request).await?;
        let stream = Arc::new(Mutex::new(Stream { lines: Lines::default(), fold: self.fold(&request) }));
        let watch = Watch {
            reader: Box::new(Reader(Arc::clone(&stream))),
            stdin: None,
            idle: self.params.idle,
            linger: LINGER,
        };
        let output = self.params.runner.run_watched(command, watch).await.map_err(|error| self.not_run(error))?;
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        let Stream { lines, fold } = &mut *stream;
        lines.finish(|line| {
            fold.line(line);
        });
        self.report(&request, fold, &output)
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }

    fn abilities(&self) -> Abilities {
        let arguments = &self.description.arguments;
        Abilities {
            resume: arguments.resume.is_some(),
            fork: arguments.fork.is_some(),
            read_only: arguments.read_only.is_some(),
        }
    }
}

/// The program's stdout; shared, because the runner keeps the reader.
struct Stream {
    lines: Lines,
    fold: Fold,
}

struct Reader(Arc<Mutex<Stream>>);

impl OutputReader for Reader {
    fn read(&mut self, piece: &[u8]) -> Flow {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Stream { lines, fold } = &mut *stream;
        let mut flow = Flow::Continue;
        lines.feed(piece, |line| flow = fold.line(line));
        flow
    }
}
