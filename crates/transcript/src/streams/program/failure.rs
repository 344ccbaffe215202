//! What went wrong, and what it means.

use super::description::{Class, Description};
use crate::domain::{Ending, Timestamp};

/// An error record.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// HTTP status.
    pub status: Option<u16>,
    /// The agent's own names of it, the most telling first.
    pub kinds: Vec<String>,
    /// In the agent's words.
    pub message: String,
    /// When the limit resets, in a field of the record.
    pub resets_at: Option<Timestamp>,
    /// When the limit resets, in the agent's words: to the minute, and only where no record has it in a field.
    pub resets_in_words: Option<Timestamp>,
}

impl Failure {
    /// What it means: by its kind, else its words, else its HTTP status, else the program's exit status; what nothing
    /// knows is passing if the agent tried it again, and the agent's own error otherwise.
    ///
    /// Words come before the status because a 429 or a 400 can also say that an account has nothing left.
    pub fn class(&self, description: &Description, exit: Option<i32>, retried: bool) -> Class {
        let errors = &description.errors;
        if let Some(class) = self.kinds.iter().find_map(|kind| errors.kinds.get(kind)) {
            return *class;
        }
        let words = errors.words.iter().find(|words| words.say.regex().is_match(&self.message));
        words
            .map(|words| words.means)
            .or_else(|| by_status(self.status?))
            .or_else(|| errors.exits.get(&exit?).copied())
            .unwrap_or(if retried { Class::Transient } else { Class::AgentError })
    }

    /// When the limit resets.
    pub fn resets(&self) -> Option<Timestamp> {
        self.resets_at.or(self.resets_in_words)
    }

    /// With what an earlier record announced: it knows when a limit resets, and the last word often does not.
    pub fn after(mut self, earlier: Option<Self>) -> Self {
        if let Some(announced) = earlier.filter(|earlier| earlier.resets().is_some()) {
            self.resets_at = self.resets_at.or(announced.resets_at);
            self.resets_in_words = self.resets_in_words.or(announced.resets_in_words);
            self.kinds.extend(announced.kinds);
        }
        self
    }
}

/// What an HTTP status of a model's service means (RFC 9110; 529 is Anthropic's "overloaded").
fn by_status(status: u16) -> Option<Class> {
    match status {
        401 | 403 => Some(Class::Auth),
        402 => Some(Class::Quota),
        413 => Some(Class::Context),
        429 => Some(Class::RateLimited),
        408 | 425 | 500..=599 => Some(Class::Transient),
        _ => None,
    }
}

impl Class {
    /// The ending; a conversation that is gone is the agent's error where nobody asked for one.
    pub fn ending(self, resets_at: Option<Timestamp>) -> Ending {
        match self {
            Self::RateLimited => Ending::RateLimited { resets_at },
            Self::Quota => Ending::Quota,
            Self::Transient => Ending::Transient,
            Self::Auth => Ending::Auth,
            Self::Permission => Ending::Permission,
            Self::Budget => Ending::Budget,
            Self::Context => Ending::Context,
            Self::AgentError | Self::NoConversation => Ending::AgentError,
        }
    }
}
