//! Why a run ended, from the conversation first and the process second.

use super::conversation::{Stop, Told, Trouble};
use crate::domain::{AgentReport, CostSource, Ending, Timestamp, Usage};
use crate::prompt::{last_bytes, plain};
use crate::services::{CommandEnd, CommandOutput, SubagentError};
use crate::streams::acp::{Heard, tells_last_step_only, tokens};
use serde_json::Value;
use std::time::Duration;

/// How much of the end of the closing message is reported, in bytes: a closing paragraph.
const MESSAGE_BYTES: usize = 4096;

/// How much of stderr's end explains an error, in bytes.
const DETAIL_BYTES: usize = 2048;

/// Everything that is known when a run is over.
pub(super) struct Over<'a> {
    pub name: &'a str,
    pub timeout: Duration,
    pub now: Timestamp,
    pub told: &'a Told,
    pub heard: &'a Heard,
    pub output: &'a CommandOutput,
}

impl Told {
    /// What the run used. An agent whose reply has the last step's tokens only says nothing about several.
    pub(super) fn usage(&self, heard: &Heard) -> Usage {
        let reply = self.result.as_ref().and_then(|result| result.as_ref().ok());
        let last_step_only = tells_last_step_only(&self.agent) && heard.turns > 1;
        let tokens = reply.filter(|_| !last_step_only).map(tokens).unwrap_or_default();
        // Some agents count an earlier run's cost again when they go on with its session, some begin at zero.
        let cost = heard.cost.map(|cost| if cost >= heard.cost_before { cost - heard.cost_before } else { cost });
        // A price of nothing for something is a price that the agent does not know.
        let cost = cost.filter(|cost| *cost > 0.0);
        Usage { cost_usd: cost, cost_source: cost.map(|_| CostSource::Reported), ..tokens }
    }
}

impl Over<'_> {
    /// The report, or why the agent could not do what was asked.
    pub fn report(&self, usage: Usage) -> Result<AgentReport, SubagentError> {
        let agent = self.name.to_owned();
        let (ending, how) = match &self.told.result {
            Some(Err(Trouble::Unsupported(message))) => {
                return Err(SubagentError::Unsupported { agent, message: message.clone() });
            }
            Some(Err(Trouble::NoSuchConversation(conversation))) => {
                return Err(SubagentError::NoSuchConversation { agent, conversation: conversation.clone() });
            }
            Some(Ok(reply)) => self.answered(reply),
            Some(Err(trouble)) if self.told.stop.is_none() => self.trouble(trouble),
            Some(Err(_)) | None => self.stopped(),
        };
        Ok(AgentReport {
            ending,
            message: last_bytes(self.heard.message.trim(), MESSAGE_BYTES).to_owned(),
            detail: how.map(|how| format!("agent `{}`: {how}", self.name)),
            usage,
            agent_session: self.told.session.clone(),
            denied: self.heard.denied,
            unknown: self.heard.unknown.clone(),
        })
    }

    /// By the reply's reason to stop. What an agent that was asked to stop says in the same moment stands, but an
    /// interrupted run is interrupted.
    fn answered(&self, reply: &Value) -> (Ending, Option<String>) {
        let reason = reply["stopReason"].as_str().unwrap_or_default();
        let because = |how: &str| Some(how.to_owned());
        let refused = || (Ending::Permission, because("it stopped because a permission was refused"));
        match reason {
            _ if self.told.stop == Some(Stop::Cancelled) => self.stopped(),
            "cancelled" if self.told.stop.is_some() => self.stopped(),
            "end_turn" if self.heard.failed => self.failed_beside(),
            // opencode ends its turn so when a permission is refused; the others let their model go on.
            "end_turn" if self.heard.refused_last => refused(),
            "end_turn" => (Ending::Finished, None),
            // The limit of what the model can take or write, not one that the user set.
            "max_tokens" => (Ending::Context, because("the model's limit of tokens was reached")),
            "max_turn_requests" => (Ending::Budget, because("its own limit of turns was reached")),
            "refusal" => (Ending::AgentError, because("the model refused to go on")),
            "cancelled" if self.heard.denied > 0 => refused(),
            "cancelled" => (Ending::AgentError, because("it stopped by itself and calls it cancelled")),
            other => (Ending::AgentError, Some(format!("it stopped for a reason that is not known: `{other}`"))),
        }
    }

    /// The reply says that all is well, but the session says that the turn failed.
    fn failed_beside(&self) -> (Ending, Option<String>) {
        match &self.heard.error {
            Some(error) => (error.ending(self.now, &self.heard.limit), Some(error.message.clone())),
            None => (Ending::AgentError, Some("it says that its turn failed, and not why".to_owned())),
        }
    }

    fn trouble(&self, trouble: &Trouble) -> (Ending, Option<String>) {
        match trouble {
            Trouble::Refused { asked, failure } => {
                let ending = failure.ending(self.now, &self.heard.limit);
                let hint = if ending == Ending::Auth { "; log in with the agent's own program first" } else { "" };
                (ending, Some(format!("`{asked}` was answered with the error: {}{hint}", failure.message)))
            }
            Trouble::Version(theirs) => {
                let how = format!(
                    "it speaks version {theirs} of the Agent Client Protocol, this program version 1; take a version of \
                     the agent that speaks it too"
                );
                (Ending::AgentError, Some(how))
            }
            Trouble::Ended { asked } => self.ended(asked),
            // The others are no endings; `report` has returned them.
            Trouble::Unsupported(message) | Trouble::NoSuchConversation(message) => {
                (Ending::AgentError, Some(message.clone()))
            }
        }
    }

    /// The program is gone before its answer.
    fn ended(&self, asked: &str) -> (Ending, Option<String>) {
        if let Some(limit) = self.heard.too_long {
            return (Ending::AgentError, Some(format!("it printed a line of more than {} MiB", limit / (1024 * 1024))));
        }
        let (ending, how) = match self.output.end {
            CommandEnd::Exited(code) => (Ending::AgentError, format!("it exited with status {code}")),
            CommandEnd::Signaled(signal) => (Ending::Crash, format!("it was ended by signal {signal}")),
            CommandEnd::TimedOut => return self.late(),
            CommandEnd::Cancelled => return (Ending::Cancelled, Some("interrupted".to_owned())),
            CommandEnd::Idle => (Ending::Hang, "it said nothing for too long, and was ended".to_owned()),
            CommandEnd::Stopped | CommandEnd::TookMemory { .. } => {
                (Ending::AgentError, "it closed its output".to_owned())
            }
        };
        let stderr = self.output.stderr.text();
        let stderr = plain(&stderr);
        let how = format!("{how} before it answered `{asked}`\n{}", last_bytes(stderr.trim_end(), DETAIL_BYTES));
        (ending, Some(how.trim_end().to_owned()))
    }

    fn stopped(&self) -> (Ending, Option<String>) {
        match self.told.stop {
            Some(Stop::Timeout) => self.late(),
            Some(Stop::Limit) => {
                let exceeded = self.heard.exceeded.as_deref().unwrap_or("a limit was exceeded");
                (Ending::Budget, Some(format!("{exceeded}; it was told to stop")))
            }
            Some(Stop::Cancelled) => (Ending::Cancelled, Some("interrupted".to_owned())),
            None => self.ended("initialize"),
        }
    }

    fn late(&self) -> (Ending, Option<String>) {
        (Ending::Timeout, Some(format!("no end within {} s", self.timeout.as_secs_f64())))
    }
}
