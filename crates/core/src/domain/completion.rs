//! Completion verdicts: whether an agent's turn ended with the task done, and what follows if not.

use super::Allow;
use serde::{Deserialize, Serialize};

/// What is known about a claim, in three values, never as an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// By checks that the runtime ran itself after the last change, and by nothing else.
    Proven,
    /// On facts: an exit status, a diff, a record of what was not run.
    Refuted,
    /// Neither.
    Unproven,
}

/// What a gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Its condition holds, on facts.
    Passed,
    /// Its condition does not hold, on facts.
    Failed,
    /// Its condition does not hold, and the task's words seem to permit that: only a person can say whether they do.
    Unproven,
    /// It could not be decided, or does not apply; its evidence says why.
    NotRun,
}

/// One gate's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// Which gate, e.g. `tests_ran_after_last_change`.
    pub gate: String,
    /// What it says.
    pub outcome: GateOutcome,
    /// The facts it rests on, or why it did not run, in words.
    pub evidence: String,
}

/// Gates whose names are no words, and what they are about.
const GATES: [(&str, &str); 13] = [
    ("runtime_checks", "the checks"),
    ("change_exists", "the change"),
    ("protected_paths", "protected files"),
    ("tests_ran_after_last_change", "tests after the last change"),
    ("tests_passed", "the last test run"),
    ("test_count", "how many tests run"),
    ("tests_kept", "the tests that were there"),
    ("claimed_commands_ran", "commands that the answer names"),
    ("no_direct_push", "pushes"),
    ("hooks_kept", "git hooks"),
    ("pull_request", "the pull request"),
    ("answer_present", "the answer"),
    ("repeated_failure", "the same failure again"),
];

impl GateReport {
    /// What the gate is about, for people.
    #[must_use]
    pub fn about(&self) -> &str {
        GATES.iter().find(|(gate, _)| *gate == self.gate).map_or(self.gate.as_str(), |(_, about)| about)
    }
}

/// The same text with the names of gates, where they stand before what they found, in words for people.
///
/// ```
/// # use reflexion_core::domain::gates_in_words;
/// assert_eq!(gates_in_words("tests_kept: `a.py` was deleted"), "the tests that were there: `a.py` was deleted");
/// ```
#[must_use]
pub fn gates_in_words(text: &str) -> String {
    GATES.iter().fold(text.to_owned(), |text, (gate, about)| {
        if text.contains(gate) { text.replace(&format!("{gate}: "), &format!("{about}: ")) } else { text }
    })
}

/// How much is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Nothing.
    #[default]
    None,
    /// Cosmetic.
    Low,
    /// Partial.
    Medium,
    /// Required work is missing or broken.
    High,
    /// Security, data loss, a broken main branch: never complete.
    Blocker,
}

/// What somebody who looked at an unproven turn thinks of it: a judge, a reviewer, an auditor.
///
/// ```
/// # use reflexion_core::domain::{Opinion, Severity};
/// let opinion = Opinion { complete: true, severity: Severity::Blocker, ..Opinion::default() };
/// assert!(!opinion.completes(), "a blocker is never complete");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Opinion {
    /// The task is done.
    pub complete: bool,
    /// How much is wrong.
    pub severity: Severity,
    /// What to tell the agent.
    pub feedback: String,
    /// What is missing.
    pub missing: Vec<String>,
    /// What to do next.
    pub next_actions: Vec<String>,
    /// A person must act first.
    pub requires_human_action: bool,
}

impl Opinion {
    /// Whether it completes the task: a blocker, something missing or a person's part never does.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.complete && self.severity < Severity::Blocker && self.missing.is_empty() && !self.requires_human_action
    }
}

/// The verdict on a turn. This is the document that `reflexion judge` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionVerdict {
    /// What is known.
    pub status: Standing,
    /// Whether the task counts as done: proven, or unproven and completed by a judge without a gate against it.
    pub complete: bool,
    /// How much is wrong.
    pub severity: Severity,
    /// What to tell the agent; empty if there is nothing to tell.
    pub feedback: String,
    /// What is missing, for the agent to do.
    pub missing: Vec<String>,
    /// What to do next, for the agent.
    pub next_actions: Vec<String>,
    /// Nothing goes on before a person acts.
    pub requires_human_action: bool,
    /// Exactly what the person must do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub human_actions: Vec<String>,
    /// What an attempt did that counts against it unless the task's owner permits it, where the task's words read as if they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Allow>,
    /// Every gate's answer, then what the judge and the committee said.
    pub reasons: Vec<GateReport>,
}

impl CompletionVerdict {
    /// A verdict of this standing and nothing else: complete if it is proven, and nobody has anything to say.
    #[must_use]
    pub fn bare(status: Standing) -> Self {
        Self {
            status,
            complete: status == Standing::Proven,
            severity: Severity::None,
            feedback: String::new(),
            missing: Vec::new(),
            next_actions: Vec::new(),
            requires_human_action: false,
            human_actions: Vec::new(),
            asks: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// Whether it leaves something for the agent to do.
    #[must_use]
    pub fn has_left_something(&self) -> bool {
        !self.missing.is_empty() || !self.next_actions.is_empty()
    }
}

/// What kind of work a task asks for; from the task's own words, never from the agent's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskType {
    /// Code is to be changed.
    Coding,
    /// Documents are to be written.
    Docs,
    /// Something is to be found out.
    Research,
    /// Something is to be operated: deployed, configured, organised.
    Ops,
    /// None of these.
    Other,
}

/// Whether an agent that says nothing is stuck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StuckVerdict {
    /// It is.
    pub stuck: bool,
    /// In one word.
    pub reason: StuckReason,
    /// 0 to 1; 0 where nothing was decided.
    pub confidence: f64,
    /// Whether a nudge would help.
    pub should_nudge: bool,
    /// What to say to it then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nudge_message: String,
}

/// Why an agent says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckReason {
    /// It stopped in the middle.
    GenuinelyStuck,
    /// It asked somebody.
    WaitingForUser,
    /// A tool runs, or the model writes.
    Working,
    /// It is done.
    Complete,
    /// The facts are silent, and nobody was asked.
    Undetermined,
}

/// What an agent should do after its context was shortened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionVerdict {
    /// In one word.
    pub action: CompactionAction,
    /// It works on a pull request or an issue.
    pub has_active_git_work: bool,
    /// 0 to 1; 0 where nothing was decided.
    pub confidence: f64,
    /// What to say to it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nudge_message: String,
}

/// What follows a shortened context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionAction {
    /// Its pull request or issue should say where the work stands.
    NeedsGithubUpdate,
    /// Go on.
    ContinueTask,
    /// Somebody must answer first.
    NeedsClarification,
    /// Nothing is left to do.
    TaskComplete,
}
