//! Outcomes: what a run reports, as `run --json` prints it.

use super::{Ending, Proof, ProofHunks, ProofRuns, Risk, RunId, RunKind, RunStop, Status, TaskId, Usage, Verdict};
use serde::{Deserialize, Serialize};

/// What `run --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// The project's name.
    pub project: String,
    /// The tasks that were asked for: those that were judged by the risk of their change, the heaviest first, then those
    /// that were not; otherwise in the order in which they were finished or blocked.
    pub tasks: Vec<TaskReport>,
    /// Sums over the tasks.
    pub totals: RunTotals,
    /// Which command it is of.
    #[serde(default)]
    pub kind: RunKind,
    /// The run was interrupted; what is open stays open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What else ended it before its tasks were done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<RunStop>,
    /// The branch that holds everything merged, if something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration: Option<String>,
}

/// What became of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskReport {
    /// The task.
    pub id: TaskId,
    /// Verdict of the last judged attempt; null if none was judged.
    pub verdict: Option<Verdict>,
    /// How many attempts were judged in this run.
    pub attempts: u32,
    /// The confirming attempt's number, or null.
    pub solved_at: Option<u32>,
    /// Reflections stored.
    pub reflections_written: u32,
    /// Reflections put into prompts, summed over the attempts.
    pub reflections_injected: u32,
    /// Tokens, where the agent reports them.
    pub tokens: Option<u64>,
    /// US dollars, where the agent reports them or the price table knows the model (`usage.costSource` says which).
    pub cost_usd: Option<f64>,
    /// Tokens and money in parts: agents, reflections, judging.
    #[serde(default, skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
    /// The part of `usage` that went into judging: the judge, the committee, self-assessment, nudges.
    #[serde(default, skip_serializing_if = "Usage::is_unknown")]
    pub judging_usage: Usage,
    /// Wall-clock time in milliseconds.
    pub duration_ms: u64,
    /// One per started agent run.
    pub endings: Vec<Ending>,
    /// What a confirmation rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The runs of the checks that the proof rests on, beyond those of the base and of the change; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_runs: Option<ProofRuns>,
    /// Which lines of the confirmed change the checks notice, where that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_hunks: Option<ProofHunks>,
    /// Why the task is not confirmed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What stands in the way, where it is nothing about the work itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// What a person set it to while the run went on, before it was its turn or while it was worked on: that is how it
    /// stands, whatever the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<Status>,
    /// The branch (or patch file) that holds the confirmed work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch that keeps work of it which was confirmed and could not be merged, where nothing else of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The patch file that keeps what an attempt changed and nothing confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<KeptPatch>,
    /// The commit of the run's integration branch that holds it, checked there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// Who has to act before confirmed work goes where it belongs; none if nobody has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    /// How risky the change of the last judged attempt is; null if none was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// What the confirmed work changed, as paths from the repository's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// What an attempt changed, kept as a patch file of the run's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptPatch {
    /// The file's name in that directory.
    pub file: String,
    /// The attempt that made the change. Later ones may have left it as it was.
    pub attempt: u32,
}

impl TaskReport {
    /// What a line about it says last: where its confirmed work is, or why it is not confirmed. Work may be confirmed and not
    /// merged because something broke: then both.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        match (&self.cause, &self.branch) {
            (Some(cause), Some(branch)) if self.verdict != Some(Verdict::Confirmed) => {
                Some(format!("{}; its work is on {branch}", cause.lines().next().unwrap_or_default()))
            }
            (cause, branch) => branch.as_ref().or(cause.as_ref()).cloned(),
        }
    }
}

/// Who has to act before confirmed work goes where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// A person merges it: it changes what steers agents or the runtime, nothing shows that it did what was asked, or it stands on
    /// such work.
    Person,
}

/// Why a task was left open although its work was not refuted for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A limit or a passing fault of the agent's service: running again goes on.
    Limit,
    /// Something around the task is missing or broken: an agent, a login, a workspace.
    Environment,
    /// The run was interrupted.
    Interrupted,
    /// The run's time was up.
    Deadline,
    /// Its budget, or the run's, is used up.
    Budget,
    /// A task that it depends on is not confirmed.
    Dependency,
    /// A task that it depends on is not in the task file, or depends on it in turn: a person has to change that.
    BadDependency,
    /// It expects a fix, and none of its checks is red before: a person has to give it one that is.
    NoCheck,
}

/// Sums over a run's tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunTotals {
    /// Tasks asked for.
    pub tasks: u32,
    /// Of these, confirmed.
    pub confirmed: u32,
    /// Of the confirmed, those where a red check turned green.
    pub turned_green: u32,
    /// Last judged attempt: refuted.
    pub failed: u32,
    /// Last judged attempt: refuted although the agent claimed to be done.
    pub false_done: u32,
    /// Nothing could be checked.
    pub unverifiable: u32,
    /// Never judged: blocked or left open.
    pub not_judged: u32,
    /// Attempts judged.
    pub attempts: u32,
    /// Reflections stored.
    pub reflections_written: u32,
    /// Reflections put into prompts.
    pub reflections_injected: u32,
    /// Reflections that the heuristic wrote because another generator failed.
    pub fallbacks: u32,
    /// Lessons that have ended because of their age.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lessons_expired: u32,
    /// Lessons that are about nothing any more since the run began: none of their files is there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lessons_stale: u32,
    /// Broken workspaces that were repaired, whether that helped or not.
    pub heals: u32,
    /// Tokens, where agents report them.
    pub tokens: Option<u64>,
    /// US dollars, where agents report them or the price table knows the model.
    pub cost_usd: Option<f64>,
    /// Tokens and money in parts: agents, reflections, judging.
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
    /// The part of `usage` that went into judging.
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    pub judging_usage: Usage,
    /// Wall-clock time in milliseconds.
    pub duration_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if wants a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_said_before_the_branch_unless_the_work_is_confirmed() {
        let check = |verdict: Option<&str>, cause: Option<&str>, branch: Option<&str>, expected: Option<&str>| {
            let report = serde_json::json!({
                "id": "t", "verdict": verdict, "attempts": 1, "solvedAt": null, "reflectionsWritten": 0,
                "reflectionsInjected": 0, "tokens": null, "costUsd": null, "durationMs": 1, "endings": [], "cause": cause,
                "branch": branch,
            });
            let report: TaskReport = serde_json::from_value(report).unwrap();
            assert_eq!(report.note().as_deref(), expected);
        };
        let (why, at) = (Some("git merge-tree failed: usage\n   git merge-tree"), Some("reflexion/r/t"));
        check(None, why, at, Some("git merge-tree failed: usage; its work is on reflexion/r/t"));
        check(Some("failed"), why, at, Some("git merge-tree failed: usage; its work is on reflexion/r/t"));
        check(Some("confirmed"), why, at, at);
        check(None, why, None, why);
        check(Some("confirmed"), None, at, at);
        check(None, None, None, None);
    }
}
