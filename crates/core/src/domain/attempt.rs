//! Attempts: how an agent's work ended and what it changed.

use super::Timestamp;
use serde::{Deserialize, Serialize};

/// Why an agent run ended, from structured records, exit codes and signals only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ending {
    /// The agent stopped by itself and says it is done.
    Finished,
    /// A rate limit; the attempt is not used up.
    RateLimited {
        /// When the limit resets, if the record says so.
        #[serde(rename = "resetsAt", default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<Timestamp>,
    },
    /// The account's quota is used up.
    Quota,
    /// A passing fault of the model's service.
    Transient,
    /// Not logged in, or the key was refused.
    Auth,
    /// No output for too long.
    Hang,
    /// The wall-clock limit of the agent run.
    Timeout,
    /// The agent stopped or waited because of a permission.
    Permission,
    /// A budget or turn limit.
    Budget,
    /// The agent's process was ended by a signal.
    Crash,
    /// The context window overflowed.
    Context,
    /// The agent reports an error, or exited with another status than 0.
    AgentError,
    /// The runtime stopped the turn to say something to the agent; the next turn says it.
    Nudged,
    /// The run was interrupted.
    Cancelled,
}

/// What follows from an ending, as CONTRACTS' table has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingEffect {
    /// The attempt counts: it is checked, judged, and reflected upon when refuted.
    Judge,
    /// Wait for the reset, then the same attempt again.
    AwaitReset,
    /// Back off, then the same attempt again.
    BackOff,
    /// The same attempt with the next agent of the chain.
    NextAgent,
    /// Stop.
    Stop,
}

impl Ending {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::RateLimited { .. } => "rate_limited",
            Self::Quota => "quota",
            Self::Transient => "transient",
            Self::Auth => "auth",
            Self::Hang => "hang",
            Self::Timeout => "timeout",
            Self::Permission => "permission",
            Self::Budget => "budget",
            Self::Crash => "crash",
            Self::Context => "context",
            Self::AgentError => "agent_error",
            Self::Nudged => "nudged",
            Self::Cancelled => "cancelled",
        }
    }

    /// What follows from it.
    #[must_use]
    pub fn effect(&self) -> EndingEffect {
        match self {
            Self::RateLimited { .. } => EndingEffect::AwaitReset,
            Self::Transient => EndingEffect::BackOff,
            Self::Auth | Self::Quota => EndingEffect::NextAgent,
            Self::Cancelled => EndingEffect::Stop,
            Self::Finished
            | Self::Hang
            | Self::Timeout
            | Self::Permission
            | Self::Budget
            | Self::Crash
            | Self::Context
            | Self::Nudged
            | Self::AgentError => EndingEffect::Judge,
        }
    }

    /// What kept the agent from its end, in words behind "the agent"; none where it ended by itself, or the runtime had it stop.
    #[must_use]
    pub fn cut_off(&self) -> Option<&'static str> {
        match self {
            Self::Hang => Some("was stopped, because it printed nothing for too long"),
            Self::Timeout => Some("was stopped by its time limit"),
            Self::Permission => Some("stopped for want of a permission"),
            Self::Budget => Some("used up its budget or its turns"),
            Self::Crash => Some("was ended by a signal"),
            Self::Context => Some("filled its context window"),
            Self::AgentError => Some("ended with an error"),
            Self::Finished
            | Self::RateLimited { .. }
            | Self::Quota
            | Self::Transient
            | Self::Auth
            | Self::Nudged
            | Self::Cancelled => None,
        }
    }

    /// Whether the agent claims to be done: the only ending that is a claim.
    #[must_use]
    pub fn claims_done(&self) -> bool {
        *self == Self::Finished
    }
}

/// What is known of an agent run when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReport {
    /// Why it ended.
    pub ending: Ending,
    /// The agent's closing message (for a command: the end of its stdout), capped.
    pub message: String,
    /// What went wrong, in words, if something did.
    pub detail: Option<String>,
    /// Tokens and money, where the agent reports them.
    pub usage: Usage,
    /// The agent's own id of the conversation, to resume it with.
    pub agent_session: Option<String>,
    /// Tool calls that were refused a permission; a run that completed all the same is `finished`.
    pub denied: u32,
    /// Records that the adapter does not know, by name, with how many there were; none of them is fatal.
    pub unknown: std::collections::BTreeMap<String, u64>,
}

impl AgentReport {
    /// A report of an ending, with nothing else known.
    #[must_use]
    pub fn new(ending: Ending) -> Self {
        Self {
            ending,
            message: String::new(),
            detail: None,
            usage: Usage::default(),
            agent_session: None,
            denied: 0,
            unknown: std::collections::BTreeMap::new(),
        }
    }
}

/// Tokens and money; absent where the agent reports none.
///
/// One convention for every agent: `input` is everything the model read, so what came from its cache is within it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read by the model, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Of these, read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens written by the model, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of these, reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Where the dollars come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_source: Option<CostSource>,
}

/// Where a cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The agent reports it.
    Reported,
    /// Computed from the dated price table in `config/`, at least in part.
    Estimated,
}

impl Usage {
    /// All tokens, in and out; none if the agent reports neither.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        sum(self.input, self.output)
    }

    /// Nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// This without what an earlier run of the same conversation used; never below zero.
    #[must_use]
    pub fn without(self, earlier: Self) -> Self {
        let less = |a: Option<u64>, b: Option<u64>| a.map(|a| a.saturating_sub(b.unwrap_or(0)));
        Self {
            input: less(self.input, earlier.input),
            cached: less(self.cached, earlier.cached),
            output: less(self.output, earlier.output),
            reasoning: less(self.reasoning, earlier.reasoning),
            cost_usd: self.cost_usd.map(|a| (a - earlier.cost_usd.unwrap_or(0.0)).max(0.0)),
            cost_source: self.cost_source,
        }
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    }
}

/// What an agent run that has no result yet has used, turn by turn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TurnsUsage {
    /// Of the turns that were judged.
    judged: Usage,
    /// Of the one that has stopped and is not judged yet.
    stopped: Usage,
}

impl TurnsUsage {
    /// A turn has stopped.
    pub fn stopped(&mut self, usage: Usage) {
        self.stopped = usage;
    }

    /// A turn is judged; what it used when it stopped is in this.
    pub fn judged(&mut self, usage: Usage) {
        self.judged += usage;
        self.stopped = Usage::default();
    }

    /// All of it.
    #[must_use]
    pub fn sum(self) -> Usage {
        let mut sum = self.judged;
        sum += self.stopped;
        sum
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        self.input = sum(self.input, other.input);
        self.cached = sum(self.cached, other.cached);
        self.output = sum(self.output, other.output);
        self.reasoning = sum(self.reasoning, other.reasoning);
        // A sum that is estimated in part is an estimate.
        self.cost_source = self.cost_source.max(other.cost_source);
    }
}

/// A recorded state of the files: a git tree, or whatever the workspace uses in its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub String);

/// Everything that differs between two recorded trees; recorded when the agent stops, before any check runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The files as the agent left them.
    pub tree: TreeId,
    /// What differs from the task's base, as paths from the repository's root.
    pub files: Vec<String>,
    /// Those of them that are there at the base; the others are new.
    pub existed: Vec<String>,
    /// Links that were made or changed and lead out of the repository, as `link -> target`: nobody else has what is there.
    pub leads_out: Vec<String>,
    /// Links of the base that belong to tests and lead to a file that was changed.
    pub behind_links: Vec<String>,
    /// New or committed files that are no part of it, because they lie below what is carried or what `setup` made.
    pub left_out: Vec<String>,
    /// Files that hold what is carried and no part of it by its name, as `file (what is carried)`.
    pub carried: Vec<String>,
    /// What else a person should hear of it, in words.
    pub remarks: Vec<String>,
    /// Hash of that difference; equal hashes mean the same change.
    pub diff_hash: String,
    /// The tree equals the attempt's own start tree: the agent did nothing.
    pub no_op: bool,
}
