//! What a run's journal says of its tasks, so that a run that was killed goes on where it was.
//!
//! The machine is fed again with what was judged and merged; what it asks for after the last of these is done for real.
//! An attempt whose result is not written down is done again under the same number.

use super::ended::Ended;
use super::healer::Heals;
use super::machine::Input;
use super::newest::NewestAttempts;
use super::queue::Queue;
use super::verdict::Judgement;
use crate::domain::{
    Again, AttemptCount, ChangeSize, Ending, FailureType, JournalEntry, MergeOutcome, Proof, ProofHunks, ProofRuns,
    Risk, RunId, RunPlan, SessionId, Status, SubtaskId, Task, TaskId, TaskList, TaskMark, TaskReport, Timestamp,
    TreeId, TurnsUsage, Usage, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A run, as far as its journal tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastRun {
    /// Which run it is.
    pub run: Option<RunId>,
    /// How it was asked for.
    pub plan: RunPlan,
    /// The tasks asked for, in the order of work.
    pub tasks: Vec<TaskId>,
    /// The newest commit that is known to be on its integration branch.
    pub integration: Option<String>,
    /// The commit that the branch was about to be moved to, if that has no result.
    pub pending: Option<String>,
    /// What was done of each task that was begun.
    pub begun: BTreeMap<TaskId, PastTask>,
    /// Repairs of its workspaces.
    pub heals: Heals,
    /// The attempts that its tasks began last.
    pub newest: NewestAttempts,
    /// How it stands.
    pub standing: RunStanding,
    /// How long processes worked on it.
    pub worked: Duration,
    /// When the last of them was last known to live, where it was killed and that is later than its last entry.
    pub seen: Option<Timestamp>,
    /// The time of its last entry.
    last: Option<Timestamp>,
}

/// How a run stands, as far as its journal tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunStanding {
    /// It goes on, or was killed: its journal has no end.
    #[default]
    Open,
    /// A person or its deadline stopped it, and something may be left.
    Stopped,
    /// It came to its own end.
    Done,
}

/// What was done of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastTask {
    /// The attempts of each part before the run.
    pub counts: Vec<AttemptCount>,
    /// The parts, as far as the journal names them.
    pub parts: Vec<SubtaskId>,
    /// What the machine is fed again with.
    pub inputs: Vec<Input>,
    /// The commit that the task stands on instead of the run's base, because its work did not merge.
    pub onto: Option<String>,
    /// The commit that its work is being put on, if that has no result.
    pub merging: Option<String>,
    /// The commit of the integration branch that holds it.
    pub merged: Option<String>,
    /// The branch with its work, where only a person merges that.
    pub left_to_person: Option<String>,
    /// The attempt that was judged last.
    pub last: Option<LastJudged>,
    /// Sessions whose attempt has no result: what they left behind must not be counted twice.
    pub open_sessions: Vec<SessionId>,
    /// Attempts, by part and number, that failed for want of something that was brought back since.
    pub explained: BTreeSet<(SubtaskId, u32)>,
    /// Attempts that were begun.
    pub attempts_begun: u32,
    /// How long it was worked on.
    pub worked: Duration,
    /// When it was first taken up, since it was last opened.
    taken_up: Option<Timestamp>,
    /// When it was last heard of, since it was taken up.
    heard: Option<Timestamp>,
    /// What the turns of attempts without a result used.
    turns: BTreeMap<SessionId, TurnsUsage>,
    /// What its report had come to.
    pub tally: Tally,
    /// How it ended in this run, if it did for good.
    pub ended: Option<PastEnd>,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PastEnd {
    /// Where it stood from then on.
    pub status: Status,
    /// What was reported.
    pub report: Box<TaskReport>,
    /// When.
    pub at: Timestamp,
}

/// The attempt that was judged last.
#[derive(Debug, Clone, PartialEq)]
pub struct LastJudged {
    /// Its number.
    pub attempt: u32,
    /// Its session.
    pub session: SessionId,
    /// Why its agent stopped.
    pub ending: Ending,
    /// The subtask, by id, as the journal names it.
    pub subtask: SubtaskId,
    /// The verdict, as it was written down.
    pub verdict: Verdict,
    /// What a confirmation rests on.
    pub proof: Option<Proof>,
    /// How large its change is, where this process has seen it.
    pub size: Option<ChangeSize>,
    /// The runs that it rests on.
    pub proof_runs: Option<ProofRuns>,
    /// Which lines of its change the checks notice.
    pub proof_hunks: Option<ProofHunks>,
    /// The checks that passed, by name; not known after a crash.
    pub passed: Vec<String>,
    /// How risky its change is.
    pub risk: Option<Risk>,
    /// The digest of what was kept of the turn that decided.
    pub record: Option<String>,
    /// When it was judged.
    pub at: Timestamp,
}

/// Sums of a task's report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Attempts judged.
    pub attempts: u32,
    /// Reflections stored.
    pub reflections_written: u32,
    /// Reflections put into the prompts of judged attempts.
    pub reflections_injected: u32,
    /// One per agent run with a result.
    pub endings: Vec<Ending>,
    /// Everything used.
    pub usage: Usage,
    /// The part of it that went into judging.
    pub judging_usage: Usage,
}

/// Reads a journal again.
#[must_use]
pub fn replay(entries: &[(Timestamp, JournalEntry)]) -> PastRun {
    let mut past = PastRun::default();
    let mut injected: BTreeMap<SessionId, u32> = BTreeMap::new();
    let mut before = None;
    for (at, entry) in entries {
        let begins = matches!(entry, JournalEntry::RunStarted { .. } | JournalEntry::RunResumed { .. });
        past.worked += before.filter(|_| !begins).map_or(Duration::ZERO, |before| between(before, *at));
        past.last = before.replace(*at);
        match entry {
            JournalEntry::RunStarted { run, tasks, plan, .. } => {
                let (run, plan, tasks) = (Some(run.clone()), plan.clone(), tasks.clone());
                past = PastRun { run, plan, tasks, ..PastRun::default() };
            }
            JournalEntry::RunResumed { until, seen, plan, .. } => {
                past.lived_until(*seen);
                past.standing = RunStanding::Open;
                match plan {
                    Some(plan) => past.plan = RunPlan::clone(plan),
                    None => past.plan.until = until.or(past.plan.until),
                }
            }
            JournalEntry::RunEnded { interrupted: false, stopped: None, .. } => past.standing = RunStanding::Done,
            JournalEntry::RunEnded { .. } => past.standing = RunStanding::Stopped,
            JournalEntry::AttemptStarted { session, injected: ids, .. } => {
                injected.insert(session.clone(), u32::try_from(ids.len()).unwrap_or(u32::MAX));
            }
            JournalEntry::MergeReady { commit, .. } => past.pending = Some(commit.clone()),
            JournalEntry::MergeEnded { outcome: MergeOutcome::Merged { commit, .. }, .. } => {
                (past.integration, past.pending) = (Some(commit.clone()), None);
            }
            // Halted, it goes on as if it was killed.
            JournalEntry::RunHalted { .. } => {}
            // Of a task: what was done of it says it below.
            JournalEntry::TaskStarted { .. }
            | JournalEntry::TaskDecomposed { .. }
            | JournalEntry::AgentStopped { .. }
            | JournalEntry::TurnStarted { .. }
            | JournalEntry::TurnJudged { .. }
            | JournalEntry::TurnNudged { .. }
            | JournalEntry::AttemptDropped { .. }
            | JournalEntry::AttemptJudged { .. }
            | JournalEntry::CommitStarted { .. }
            | JournalEntry::WaitStarted { .. }
            | JournalEntry::WaitEnded { .. }
            | JournalEntry::MergeStarted { .. }
            | JournalEntry::MergeEnded { .. }
            | JournalEntry::HealStarted { .. }
            | JournalEntry::HealEnded { .. }
            | JournalEntry::TaskEnded { .. } => {}
            // Told when it happened; nothing that is done depends on it.
            JournalEntry::RepositoryChanged { .. } | JournalEntry::Noticed { .. } => {}
        }
        past.heals.take(entry);
        past.newest.take(entry);
        if let Some(task) = entry.task() {
            past.begun.entry(task.clone()).or_default().take(*at, entry, &injected);
        }
    }
    past.last = before;
    for task in past.begun.values_mut() {
        for used in std::mem::take(&mut task.turns).into_values() {
            task.tally.usage += used.sum();
        }
    }
    past
}

/// A clock that was set back makes no time negative.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

impl PastRun {
    /// Its process lived until then at least: an agent that says nothing works all the same. One that ended by itself did nothing more.
    pub(super) fn lived_until(&mut self, seen: Option<Timestamp>) {
        let was_killed = self.standing == RunStanding::Open;
        self.seen = seen.filter(|seen| was_killed && self.last.is_some_and(|last| last < *seen));
        if let Some((last, seen)) = self.last.zip(self.seen) {
            self.worked += between(last, seen);
        }
    }

    /// The tasks that it was asked for and has not ended with, where the list does not have them because the task file is away, empty or
    /// half written: then nothing tells that a person has taken them out.
    pub(super) fn lost(&self, list: &TaskList) -> Vec<&TaskId> {
        if !list.tasks.is_empty() && list.problems.is_empty() {
            return Vec::new();
        }
        let has_ended = |id: &TaskId| self.begun.get(id).is_some_and(|task| task.ended.is_some());
        self.tasks.iter().filter(|id| !has_ended(id) && !list.tasks.iter().any(|task| task.id == **id)).collect()
    }

    /// The tasks to go on with, in the order of the list: those that have not ended, and those that a person opened again.
    /// What a person closed, blocked or removed meanwhile is left alone. The list has the missing marks by now.
    pub(super) fn left(&self, list: &TaskList) -> Vec<Task> {
        let asked = |task: &&Task| {
            let open = matches!(task.status, Status::Open | Status::InProgress);
            let ended = self.begun.get(&task.id).is_some_and(|begun| begun.ended.is_some());
            // Work that was asked for again is closed until its first attempt.
            let again = self.plan.again == Again::Yes && !ended && self.tasks.contains(&task.id);
            again || (open && (self.plan.everything || self.tasks.contains(&task.id)))
        };
        list.tasks.iter().filter(asked).cloned().collect()
    }

    /// What the journal has and the tasks have not: at most the last attempt, and the last end, of each task. They are of the
    /// time at which they were found out, and of a task as it was when it was taken up, so that whatever a person said
    /// since then stands.
    pub(super) fn missing_marks(&self, list: &TaskList, run: &RunId) -> Vec<TaskMark> {
        let mark = |task: &TaskId, status: Status, at: Timestamp, seen: Option<Timestamp>| TaskMark {
            v: 1,
            id: task.clone(),
            status,
            cause: None,
            run: Some(run.clone()),
            subtask: None,
            attempt: None,
            verdict: None,
            seen,
            at,
        };
        let mut marks = Vec::new();
        for (id, begun) in &self.begun {
            let Some(task) = list.tasks.iter().find(|task| task.id == *id) else { continue };
            if let Some(last) = &begun.last {
                let known = list.attempts.get(&(id.clone(), last.subtask.clone())).map_or(0, |count| count.last);
                if known < last.attempt {
                    let (subtask, attempt) = (Some(last.subtask.clone()), Some(last.attempt));
                    let mark = mark(id, Status::InProgress, last.at, begun.taken_up);
                    marks.push(TaskMark { subtask, attempt, verdict: Some(last.verdict), ..mark });
                }
            }
            if let Some(ended) = &begun.ended
                && ended.status != task.status
            {
                let mark = mark(id, ended.status, ended.at, begun.taken_up);
                marks.push(TaskMark { cause: ended.report.cause.clone(), ..mark });
            }
        }
        marks
    }

    /// The reports of the tasks that ended before, without those that are worked on again.
    pub(super) fn take_ended(&mut self, queue: &Queue) -> Vec<Ended> {
        let again = queue.ids();
        let over = |id: &TaskId, begun: &PastTask| !again.contains(id) && begun.ended.is_some();
        let mut ended: BTreeMap<TaskId, PastTask> = self.begun.extract_if(.., |id, begun| over(id, begun)).collect();
        let mut in_order: Vec<PastTask> = self.tasks.iter().filter_map(|id| ended.remove(id)).collect();
        // Those that were added while the run went on.
        in_order.extend(ended.into_values());
        let ended = in_order.into_iter().filter_map(|task| task.ended);
        ended.map(|ended| Ended::new(*ended.report, ended.status)).collect()
    }

    /// What the run has used up, and how many attempts it began.
    pub(super) fn spent(&self) -> (Usage, u32) {
        self.begun.values().fold((Usage::default(), 0), |(mut usage, runs), begun| {
            usage += begun.tally.usage;
            (usage, runs + begun.attempts_begun)
        })
    }

    /// The tasks whose work only a person merges.
    pub(super) fn left_to_person(&self) -> BTreeSet<TaskId> {
        let left = self.begun.iter().filter(|(_, begun)| begun.left_to_person.is_some());
        left.map(|(id, _)| id.clone()).collect()
    }

    /// Which run's branch holds the confirmed work of which task.
    pub(super) fn confirmed_by(&self, list: &TaskList, run: &RunId) -> BTreeMap<TaskId, RunId> {
        let mut confirmed = list.closed_by.clone();
        for (id, begun) in &self.begun {
            if begun.ended.as_ref().is_some_and(|ended| ended.status == Status::Closed) {
                confirmed.insert(id.clone(), run.clone());
            }
        }
        confirmed
    }
}

impl PastTask {
    fn take(&mut self, at: Timestamp, entry: &JournalEntry, injected: &BTreeMap<SessionId, u32>) {
        let taken_up = matches!(entry, JournalEntry::TaskStarted { .. });
        self.worked += self.heard.filter(|_| !taken_up).map_or(Duration::ZERO, |heard| between(heard, at));
        self.heard = Some(at);
        match entry {
            JournalEntry::TaskStarted { counts, parts, .. } => {
                // A task that had ended was opened again by a person; one that was left open goes on, with the counts of
                // its first time.
                if self.ended.is_some() {
                    *self = Self { heard: self.heard, ..Self::default() };
                }
                self.taken_up.get_or_insert(at);
                if self.counts.is_empty() || !self.is_of(parts) {
                    self.counts.clone_from(counts);
                    self.parts.clone_from(parts);
                    // What was done of other parts is nothing that these go on with.
                    self.inputs.clear();
                    self.onto = None;
                }
            }
            JournalEntry::TaskDecomposed { proposal, counts, usage, .. } => {
                self.tally.usage += *usage;
                if !proposal.parts.is_empty() {
                    self.counts.clone_from(counts);
                    self.parts = proposal.parts.iter().map(|part| part.id.clone()).collect();
                }
            }
            JournalEntry::AttemptStarted { session, .. } => {
                self.attempts_begun += 1;
                self.open_sessions.push(session.clone());
            }
            JournalEntry::TurnJudged { session, usage, .. } | JournalEntry::TurnNudged { session, usage, .. } => {
                self.turns.entry(session.clone()).or_default().judged(*usage);
            }
            JournalEntry::AgentStopped { session, usage, .. } => {
                self.turns.entry(session.clone()).or_default().stopped(*usage);
            }
            JournalEntry::AttemptDropped { session, ending, usage, judging_usage, .. } => {
                self.turns.remove(session);
                self.open_sessions.retain(|open| open != session);
                self.tally.endings.extend(ending.clone());
                self.tally.usage += *usage;
                self.tally.usage += *judging_usage;
                self.tally.judging_usage += *judging_usage;
            }
            JournalEntry::AttemptJudged { .. } => self.judged(at, entry, injected),
            JournalEntry::MergeStarted { onto, .. } => self.merging = Some(onto.clone()),
            JournalEntry::MergeEnded { outcome, reflection, .. } => {
                self.tally.reflections_written += u32::from(reflection.is_some());
                let merging = self.merging.take();
                self.inputs.push(match outcome {
                    MergeOutcome::Merged { commit, .. } => {
                        self.merged = Some(commit.clone());
                        Input::Merged
                    }
                    MergeOutcome::LeftToPerson { branch, .. } => {
                        self.left_to_person = Some(branch.clone());
                        Input::LeftToPerson
                    }
                    MergeOutcome::Conflict { .. } | MergeOutcome::Red { .. } => {
                        self.onto = merging;
                        Input::NotMerged { outcome: outcome.clone() }
                    }
                });
            }
            JournalEntry::TaskEnded { status: Some(status), report: Some(report), .. } if *status != Status::Open => {
                self.ended = Some(PastEnd { status: *status, report: report.clone(), at });
            }
            // Left open, it goes on.
            JournalEntry::TaskEnded { .. } => {}
            // Intents: what has no result is done again, and asks the world what came of it.
            JournalEntry::TurnStarted { .. }
            | JournalEntry::CommitStarted { .. }
            | JournalEntry::WaitStarted { .. }
            | JournalEntry::WaitEnded { .. }
            | JournalEntry::MergeReady { .. } => {}
            // Repairs are counted for the whole run.
            JournalEntry::HealStarted { .. } => {}
            JournalEntry::HealEnded { subtask, explains, .. } => {
                self.explained.extend(explains.map(|attempt| (subtask.clone(), attempt)));
            }
            // Told when it happened; nothing that is done depends on it.
            JournalEntry::RepositoryChanged { .. } | JournalEntry::Noticed { .. } => {}
            // Of the run as a whole: they come to no task.
            JournalEntry::RunStarted { .. }
            | JournalEntry::RunResumed { .. }
            | JournalEntry::RunHalted { .. }
            | JournalEntry::RunEnded { .. } => {}
        }
    }

    /// Whether what was done was done of these parts. A journal of an earlier version names none; so many are the same.
    pub(super) fn is_of(&self, parts: &[SubtaskId]) -> bool {
        self.counts.len() == parts.len() && (self.parts.is_empty() || self.parts == parts)
    }

    fn judged(&mut self, at: Timestamp, entry: &JournalEntry, injected: &BTreeMap<SessionId, u32>) {
        let JournalEntry::AttemptJudged {
            subtask,
            attempt,
            session,
            ending,
            usage,
            tree,
            verdict,
            because,
            proof,
            proof_runs,
            proof_hunks,
            failure,
            person,
            risk,
            signature,
            record,
            reflection,
            reflection_usage,
            judging_usage,
            ..
        } = entry
        else {
            return;
        };
        self.open_sessions.retain(|open| open != session);
        self.turns.remove(session);
        self.last = Some(LastJudged {
            attempt: *attempt,
            session: session.clone(),
            ending: ending.clone(),
            subtask: subtask.clone(),
            verdict: *verdict,
            proof: *proof,
            size: None,
            proof_runs: *proof_runs,
            proof_hunks: proof_hunks.clone(),
            passed: Vec::new(),
            risk: risk.clone(),
            record: record.clone(),
            at,
        });
        let tally = &mut self.tally;
        tally.attempts += 1;
        tally.reflections_written += u32::from(reflection.is_some());
        tally.reflections_injected += injected.get(session).copied().unwrap_or_default();
        tally.endings.push(ending.clone());
        tally.judging_usage += *judging_usage;
        for used in [usage, reflection_usage, judging_usage] {
            tally.usage += *used;
        }
        let (verdict, proof, failure, because) = (*verdict, *proof, *failure, because.clone());
        let key = failure_key(failure, signature.as_deref(), &because);
        let judgement = Judgement {
            verdict,
            proof,
            because,
            failure,
            failing: None,
            person: person.clone(),
            only_if: None,
            todo: Vec::new(),
            rule: None,
        };
        self.inputs.push(Input::Judged { judgement, tree: tree.clone(), signature: key });
    }
}

/// What the machine is fed again with; a task that was rebased stands on this tree by now.
pub(super) fn replayed(inputs: Vec<Input>, base: &TreeId) -> impl Iterator<Item = Input> {
    let count = inputs.len();
    inputs.into_iter().enumerate().flat_map(move |(i, input)| {
        // After the last one the rebase is an effect that is performed for real.
        let rebased = matches!(input, Input::NotMerged { .. }) && i + 1 < count;
        std::iter::once(input).chain(rebased.then(|| Input::Rebased { base: base.clone() }))
    })
}

/// Equal texts are the same failure. Work that fails with the same signature does, whether that is what was changed or that nothing was.
pub(super) fn failure_key(failure: Option<FailureType>, signature: Option<&str>, because: &str) -> String {
    match (failure, signature) {
        (Some(failure), Some(signature)) if failure.is_of_work() => signature.to_owned(),
        _ => format!("{failure:?} {}", signature.unwrap_or(because)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn journal<const N: usize>(entries: [(i64, serde_json::Value); N]) -> PastRun {
        let entry = |(second, json)| (Timestamp::from_second(second).unwrap(), serde_json::from_value(json).unwrap());
        replay(&entries.map(entry))
    }

    #[test]
    fn work_that_fails_alike_does_so_where_nothing_was_changed_too() {
        let key = |failure| failure_key(Some(failure), Some("v1:x"), "red");
        assert_eq!(key(FailureType::EmptyChange), key(FailureType::FalseDone));
        assert_ne!(key(FailureType::AgentError), key(FailureType::FalseDone));
        assert_ne!(failure_key(None, None, "a"), failure_key(None, None, "b"));
    }

    #[test]
    fn time_and_turns_of_dead_processes_count_on() {
        let task = json!({ "type": "task_started", "task": "a" });
        let turn = json!({
            "type": "turn_judged", "task": "a", "session": "s", "turn": 1, "ending": { "kind": "finished" },
            "usage": { "costUsd": 0.5 }, "tree": "t", "verdict": "failed", "status": "refuted",
        });
        let past = journal([
            (0, json!({ "type": "run_started", "run": "r", "pid": 1, "tasks": ["a"] })),
            (1, task.clone()),
            (40, turn),
            (100, json!({ "type": "run_resumed", "run": "r", "pid": 2, "tasks": ["a"] })),
            (105, task),
        ]);
        assert_eq!(past.spent().0.cost_usd, Some(0.5), "a turn whose attempt has no result was paid for");
        assert_eq!(past.worked, Duration::from_secs(45), "nobody worked from 40 to 100");
        assert_eq!(past.begun[&TaskId::new("a").unwrap()].worked, Duration::from_secs(39));
    }
}
