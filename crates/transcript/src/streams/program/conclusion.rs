//! Why an agent run ended, from its records, its exit status and signals.

use super::description::{Class, LaunchFailure};
use super::failure::Failure;
use super::fold::{Fold, Word};
use crate::domain::{Ending, ToolStatus};
use crate::services::CommandEnd;

/// What became of an agent run.
#[derive(Debug, PartialEq)]
pub enum Conclusion {
    /// It ended.
    Ended {
        /// Why.
        ending: Ending,
        /// In words, where there are any.
        because: Option<String>,
    },
    /// It never began: the conversation to go on with is gone.
    NoConversation,
    /// It never began: something has to be set up, as the text says.
    NotStarted(String),
}

impl Fold {
    /// Why it ended. `stderr` is looked at only if the program ended before its first record.
    ///
    /// The order: what the runtime did on purpose (cancelled, a limit of ours), a signal, the agent's own word, the last
    /// error record, the exit status. An agent that ends by itself and leaves neither a word nor an error did not
    /// finish, whatever its exit status: it is `agent_error`, because only a record is a claim.
    pub fn conclude(&mut self, end: CommandEnd, stderr: &str) -> Conclusion {
        self.flush();
        if end == CommandEnd::Cancelled {
            return ended(Ending::Cancelled, "interrupted");
        }
        if let Some((class, why)) = &self.stop {
            return ended(class.ending(None), why.clone());
        }
        match end {
            CommandEnd::Signaled(signal) => ended(Ending::Crash, format!("ended by signal {signal}")),
            // It had its last word and did not leave, or was ended while it waited for its model: the records say why.
            _ if self.word.is_some() => self.by_word(exit_of(end)),
            CommandEnd::TimedOut | CommandEnd::Idle | CommandEnd::Stopped if self.waiting => self.by_error(None),
            CommandEnd::TimedOut => ended(Ending::Timeout, "no end within its time limit"),
            CommandEnd::Idle => ended(Ending::Hang, "nothing was heard of it for too long"),
            CommandEnd::Exited(code) => self.by_exit(code, stderr),
            CommandEnd::Stopped | CommandEnd::Cancelled | CommandEnd::TookMemory { .. } => {
                ended(Ending::AgentError, "ended without its last word")
            }
        }
    }

    fn by_word(&self, exit: Option<i32>) -> Conclusion {
        match &self.word {
            Some(Word::Failed(failure) | Word::Fatal(failure)) => self.by_failure(failure, exit),
            // A word and an exit status that contradict each other are no claim to be done.
            _ => match exit {
                None | Some(0) => Conclusion::Ended { ending: Ending::Finished, because: None },
                Some(code) => ended(Ending::AgentError, format!("it says it is done, but its exit status is {code}")),
            },
        }
    }

    fn by_error(&self, exit: Option<i32>) -> Conclusion {
        match &self.error {
            Some(failure) => self.by_failure(failure, exit),
            None => ended(Ending::AgentError, "ended without its last word"),
        }
    }

    fn by_failure(&self, failure: &Failure, exit: Option<i32>) -> Conclusion {
        let class = failure.class(self.params.description, exit, self.retried);
        if class == Class::NoConversation {
            return Conclusion::NoConversation;
        }
        let because = Some(failure.message.clone()).filter(|message| !message.is_empty());
        Conclusion::Ended { ending: class.ending(failure.resets()), because }
    }

    fn by_exit(&self, code: i32, stderr: &str) -> Conclusion {
        let description = self.params.description;
        let launch = description.launch.iter().find(|rule| rule.exit == code && stderr.contains(&rule.stderr));
        if let Some(rule) = launch.filter(|_| self.records == 0) {
            return match rule.means {
                LaunchFailure::NoConversation => Conclusion::NoConversation,
                LaunchFailure::Setup => Conclusion::NotStarted(rule.say.clone()),
            };
        }
        if description.errors.signals.contains(&code) {
            return ended(Ending::Crash, format!("ended by a signal (exit status {code})"));
        }
        if self.error.is_some() {
            return self.by_error(Some(code));
        }
        if let Some(class) = description.errors.exits.get(&code) {
            return ended(class.ending(None), format!("exit status {code}"));
        }
        if code == 0 && (self.asking || self.last_tool == Some(ToolStatus::Denied)) {
            return ended(Ending::Permission, "it stopped because of a permission");
        }
        ended(Ending::AgentError, format!("ended without its last word (exit status {code})"))
    }
}

fn exit_of(end: CommandEnd) -> Option<i32> {
    match end {
        CommandEnd::Exited(code) => Some(code),
        _ => None,
    }
}

fn ended(ending: Ending, because: impl Into<String>) -> Conclusion {
    Conclusion::Ended { ending, because: Some(because.into()) }
}
