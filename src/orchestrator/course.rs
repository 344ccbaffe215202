//! An attempt while it goes on, and how it ended.

use super::doubts::Doubts;
use super::nudge::Nudge;
use super::past_failure::OldFailures;
use super::resume::failure_key;
use super::verdict::{Judgement, shown};
use super::watch::Watching;
use crate::domain::{
    AgentReport, Change, ChangeSize, CheckReport, CompletionVerdict, Ending, Exposure, Fit, Guard, Proof, ProofHunks,
    ProofRuns, ReflectionId, Risk, SessionId, TestsTurned, Trace, TreeId, Usage, Verdict,
};
use crate::prompt::{AgentSteps, excerpt, plain_diff};
use crate::services::{Conversation, Diff, Earlier, PromptSection, UsageMeter};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An attempt that the machine asks for.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// The subtask, counted from 0.
    pub part: usize,
    /// From 1, over all runs.
    pub number: u32,
    /// The agent.
    pub agent: String,
    /// The recorded tree to start from.
    pub from: TreeId,
}

/// Where an agent stopped that a limit or a passing fault of its service ended: the same attempt goes on from there.
#[derive(Debug, Clone)]
pub(super) struct ResumePoint {
    pub part: usize,
    pub number: u32,
    pub agent: String,
    /// The files as it left them.
    pub tree: TreeId,
    pub ending: Ending,
    pub earlier: Earlier,
    pub turn: u32,
    /// What the turn was told.
    pub prompt: String,
    pub tampered: Vec<String>,
    pub trace: Trace,
}

impl ResumePoint {
    pub fn is_of(&self, attempt: &Attempt) -> bool {
        self.part == attempt.part && self.number == attempt.number && self.agent == attempt.agent
    }
}

/// What came of it.
pub(super) enum AgentStop {
    /// The agent could not be started.
    NotStarted { because: String },
    /// It stopped for a reason that is not judged.
    Stopped { ending: Ending, detail: Option<String> },
    /// It was judged.
    Judged(Box<Judged>),
}

/// What the turns of an attempt share.
pub(super) struct Course {
    pub attempt: Attempt,
    pub session: SessionId,
    pub watching: Arc<Watching>,
    /// The lessons in its prompt.
    pub shown: Shown,
    /// The turn, from 1.
    pub turn: u32,
    pub max_turns: u32,
    /// What the turn is told.
    pub prompt: String,
    /// What cut the same turn short before.
    pub cut_short: Option<Ending>,
    pub conversation: Conversation,
    /// What the conversation had used before this session.
    pub before: Usage,
    /// What this session used, over all turns.
    pub usage: Usage,
    /// What judging it used, over all turns and nudges.
    pub judging: UsageMeter,
    /// What was changed in the user's repository beside the files, in any turn.
    pub tampered: Vec<String>,
    /// Red checks that say nothing about the work.
    pub doubts: Doubts,
    /// Why the clean room could not be set up with the work of the last turn.
    pub not_set_up: Option<String>,
    /// What is green only where the agent worked, and why, in words.
    pub only_there: Option<String>,
    /// Rules that it changed where nobody reads them, and that the user was told of.
    pub rules: Vec<String>,
    /// The verdict on the turn before, so that progress is noticed.
    pub previous: Option<CompletionVerdict>,
    /// When it began, on the clock that never goes backwards.
    pub began: Duration,
    /// No state of the conversation is evaluated twice while it goes on.
    pub guard: Mutex<Guard>,
    /// A turn that was confirmed, after which the agent was asked for a test.
    pub confirmed: Option<Box<Judged>>,
}

impl Course {
    /// The turn that counts in place of this one: work that was confirmed before a test was asked for is not lost by what the agent did then,
    /// unless that stands against the attempt.
    pub fn instead_of(&mut self, judged: &Judged) -> Option<Box<Judged>> {
        let shows = judged.judgement.verdict == Verdict::Confirmed && judged.judgement.proof == Some(Proof::NewTest);
        let counts = !shows && self.tampered.is_empty();
        // Of the same files what was found out last is known best.
        let is_same = |before: &Judged| {
            judged.judgement.verdict == Verdict::Confirmed && before.change.tree == judged.change.tree
        };
        self.confirmed.take().filter(|before| counts && !is_same(before))
    }

    /// The next turn, in the agent's conversation of this name.
    pub fn next(&mut self, agent_session: String) {
        let usage = self.conversation_usage();
        self.conversation = Conversation::Resume(Earlier { agent_session, usage });
        self.cut_short = None;
        self.turn += 1;
    }

    /// What the agent's conversation used, in this session and before it.
    pub fn conversation_usage(&self) -> Usage {
        let mut usage = self.before;
        usage += self.usage;
        usage
    }
}

/// An agent that stopped by itself, or was stopped, before its checks.
pub(super) struct Stopped {
    pub report: AgentReport,
    pub change: Change,
}

/// How an agent run ended.
pub(super) enum AgentRun {
    /// By itself, or at a limit.
    Stopped(Stopped),
    /// It was stopped to be told something.
    Nudged(Stopped, Nudge),
}

/// A judged attempt, or turn.
#[derive(Clone)]
pub(super) struct Judged {
    pub attempt: Attempt,
    pub session: SessionId,
    pub ending: Ending,
    pub usage: Usage,
    pub message: String,
    pub detail: Option<String>,
    pub change: Change,
    /// Beside the base, as a unified diff, capped.
    pub diff: String,
    /// What the agent did, in order.
    pub did: AgentSteps,
    /// The lessons that stood in its prompt.
    pub injected: Vec<ReflectionId>,
    /// Where it worked and where its checks ran.
    pub dirs: Vec<PathBuf>,
    /// How large it is; none where some of it is not shown.
    pub size: Option<ChangeSize>,
    pub risk: Risk,
    pub checks: Vec<CheckReport>,
    pub judgement: Judgement,
    /// What of its red checks was red at the base, too.
    pub old: OldFailures,
    /// The runs that its proof rests on.
    pub proof_runs: Option<ProofRuns>,
    /// Which lines of the change the checks notice.
    pub proof_hunks: Option<ProofHunks>,
    /// What became of the tests that failed at the base.
    pub tests: Option<TestsTurned>,
    /// The digest of what was kept of its last turn.
    pub record: Option<String>,
    /// Red checks that say nothing about the work.
    pub doubts: Doubts,
    pub reflection: Option<ReflectionId>,
    /// What writing it used.
    pub reflection_usage: Usage,
    /// What whoever was asked about the attempt used.
    pub judging_usage: Usage,
}

impl Judged {
    /// The failing check, or the first red one where the verdict rests on something else (an empty change).
    pub fn shown(&self) -> Option<&CheckReport> {
        shown(&self.checks, &self.judgement).map(|i| &self.checks[i])
    }

    /// Equal texts are the same failure.
    pub fn signature(&self) -> String {
        let fingerprint = self.shown().map(|c| c.signature.fingerprint.as_str());
        failure_key(self.judgement.failure, fingerprint, &self.judgement.because)
    }
}

/// What stands in an attempt's prompt of the lessons that were found.
pub(super) struct Shown {
    /// The section of the prompt.
    pub section: PromptSection,
    /// Why those of other tasks are in it.
    pub others: Vec<Fit>,
    /// What coins decided.
    pub exposure: Option<Box<Exposure>>,
}

/// So much of an attempt's diff is kept for the next prompt and for whoever writes the lesson.
const DIFF_BYTES: usize = 16 * 1024;

/// As much of a change as is kept for the next prompt.
pub(super) fn shown_diff(diff: &Diff) -> String {
    excerpt(&plain_diff(&diff.text), DIFF_BYTES).into_owned()
}
