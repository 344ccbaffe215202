//! Attempts that were cut short because the runtime died, and which of them are not done again.
//!
//! An attempt without a result is done again, for whoever kills a runtime is hardly ever its agent. One that is cut again and
//! again would be done for ever: after [`MOST`] times in a row it has crashed, and is used up.

use crate::domain::{
    Ending, FailureType, JournalEntry, RunId, SessionId, Status, SubtaskId, TaskId, TaskList, TaskMark, Timestamp,
    TreeId, Usage, Verdict,
};
use std::collections::BTreeMap;

/// So many cuts in a row use an attempt up.
const MOST: u32 = 5;

/// An attempt that was cut short as often as it may be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CutOff {
    task: TaskId,
    subtask: SubtaskId,
    attempt: u32,
    /// The last one of it.
    session: SessionId,
    /// The tree that it started from.
    start: TreeId,
    /// What the turns of that session used, as far as it is known.
    usage: Usage,
}

/// The attempts that were cut short too often, from the journals of runs that no process works on, the oldest first.
///
/// `boot` is the start of the machine that this process runs in. A cut between two starts of the machine does not count, for
/// that was no agent's doing; where either is not known, it does.
pub(super) fn cut_off<'a>(
    journals: impl IntoIterator<Item = &'a [(Timestamp, JournalEntry)]>,
    boot: Option<&str>,
) -> Vec<CutOff> {
    let mut cuts = Cuts::default();
    for entries in journals {
        for (_, entry) in entries {
            cuts.take(entry);
        }
        cuts.dies(boot);
    }
    let rows = cuts.rows.into_values().filter(|row| row.times >= MOST);
    rows.map(|row| row.last).collect()
}

/// What is known while journals are read.
#[derive(Default)]
struct Cuts {
    /// The start of the machine in which the entries that are read now were written.
    boot: Option<String>,
    /// Attempts at work, by session.
    at_work: BTreeMap<SessionId, CutOff>,
    rows: BTreeMap<(TaskId, SubtaskId), Row>,
}

/// The cuts of one attempt.
struct Row {
    times: u32,
    last: CutOff,
}

impl Cuts {
    fn take(&mut self, entry: &JournalEntry) {
        match entry {
            JournalEntry::RunStarted { boot, .. } | JournalEntry::RunResumed { boot, .. } => {
                self.dies(boot.as_deref());
                self.boot.clone_from(boot);
            }
            // It came to its end, or stopped by itself: what it left open was cut by nobody.
            JournalEntry::RunHalted { .. } | JournalEntry::RunEnded { .. } => self.at_work.clear(),
            JournalEntry::AttemptStarted { task, subtask, attempt, session, start, .. } => {
                let (task, subtask, attempt, start) = (task.clone(), subtask.clone(), *attempt, start.clone());
                let usage = Usage::default();
                let begun = CutOff { task, subtask, attempt, session: session.clone(), start, usage };
                self.at_work.insert(session.clone(), begun);
            }
            JournalEntry::TurnJudged { session, usage, .. } | JournalEntry::TurnNudged { session, usage, .. } => {
                if let Some(begun) = self.at_work.get_mut(session) {
                    begun.usage += *usage;
                }
            }
            JournalEntry::AttemptDropped { session, .. } => {
                if let Some(CutOff { task, subtask, .. }) = self.at_work.remove(session) {
                    self.rows.remove(&(task, subtask));
                }
            }
            // Of one that was cut short too often, the process after writes the result.
            JournalEntry::AttemptJudged { task, subtask, session, .. } => {
                self.at_work.remove(session);
                self.rows.remove(&(task.clone(), subtask.clone()));
            }
            // None of them begins an attempt, ends one, or says what it used and is not said again.
            JournalEntry::RepositoryChanged { .. }
            | JournalEntry::Noticed { .. }
            | JournalEntry::TaskStarted { .. }
            | JournalEntry::TaskDecomposed { .. }
            | JournalEntry::AgentStopped { .. }
            | JournalEntry::TurnStarted { .. }
            | JournalEntry::CommitStarted { .. }
            | JournalEntry::WaitStarted { .. }
            | JournalEntry::WaitEnded { .. }
            | JournalEntry::MergeStarted { .. }
            | JournalEntry::MergeReady { .. }
            | JournalEntry::MergeEnded { .. }
            | JournalEntry::HealStarted { .. }
            | JournalEntry::HealEnded { .. }
            | JournalEntry::TaskEnded { .. } => {}
        }
    }

    /// The process that wrote what was read is gone, and was followed by one in this start of the machine.
    fn dies(&mut self, next: Option<&str>) {
        let restarted = self.boot.as_deref().zip(next).is_some_and(|(boot, next)| boot != next);
        for begun in std::mem::take(&mut self.at_work).into_values().filter(|_| !restarted) {
            let row = self.rows.remove(&(begun.task.clone(), begun.subtask.clone()));
            let before = row.filter(|row| row.last.attempt == begun.attempt).map_or(0, |row| row.times);
            let row = Row { times: before + 1, last: begun };
            self.rows.insert((row.last.task.clone(), row.last.subtask.clone()), row);
        }
    }
}

impl CutOff {
    /// The same for a person who sees the run go on.
    pub(super) fn warning(&self) -> String {
        format!("attempt {} of `{}` counts as crashed: {}", self.attempt, self.task, because())
    }

    /// Its result.
    pub(super) fn judged(self) -> JournalEntry {
        JournalEntry::AttemptJudged {
            task: self.task,
            subtask: self.subtask,
            attempt: self.attempt,
            session: self.session,
            ending: Ending::Crash,
            usage: self.usage,
            tree: self.start,
            verdict: Verdict::Failed,
            because: because(),
            proof: None,
            proof_runs: None,
            proof_hunks: None,
            tests: None,
            failure: Some(FailureType::AgentError),
            red: None,
            answer: None,
            person: Vec::new(),
            risk: None,
            flaky: Vec::new(),
            signature: None,
            record: None,
            reflection: None,
            reflection_usage: Usage::default(),
            judging_usage: Usage::default(),
        }
    }

    /// The mark that uses it up; none if its end is known, or a person closed or blocked the task, or it is not there any more.
    pub(super) fn mark(&self, list: &TaskList, run: &RunId, at: Timestamp) -> Option<TaskMark> {
        let known = list.attempts.get(&(self.task.clone(), self.subtask.clone())).map_or(0, |count| count.last);
        let task = list.tasks.iter().find(|task| task.id == self.task)?;
        let is_open = matches!(task.status, Status::Open | Status::InProgress);
        (is_open && known < self.attempt).then(|| TaskMark {
            v: 1,
            id: self.task.clone(),
            status: Status::InProgress,
            cause: None,
            run: Some(run.clone()),
            subtask: Some(self.subtask.clone()),
            attempt: Some(self.attempt),
            verdict: Some(Verdict::Failed),
            seen: None,
            at,
        })
    }
}

fn because() -> String {
    format!("the runtime died {MOST} times in a row while its agent worked, and nothing else is known of it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn attempt(number: u32, session: &str) -> Value {
        json!({
            "type": "attempt_started", "task": "a", "subtask": "main", "attempt": number, "session": session,
            "agent": "x", "start": "t", "injected": [],
        })
    }

    fn begins(kind: &str, boot: Option<&str>) -> Value {
        let mut entry = json!({ "type": kind, "run": "r", "pid": 1, "tasks": ["a"] });
        if let Some(boot) = boot {
            entry["boot"] = json!(boot);
        }
        entry
    }

    fn journal(entries: &[Value]) -> Vec<(Timestamp, JournalEntry)> {
        let entry = |entry: &Value| (Timestamp::UNIX_EPOCH, serde_json::from_value(entry.clone()).unwrap());
        entries.iter().map(entry).collect()
    }

    /// A night that was killed so often, in starts of the machine of these names.
    fn killed(boots: &[Option<&str>]) -> Vec<Value> {
        let mut entries = Vec::new();
        for (i, boot) in boots.iter().enumerate() {
            entries.push(begins(if i == 0 { "run_started" } else { "run_resumed" }, *boot));
            entries.push(attempt(1, &format!("s{i}")));
        }
        entries
    }

    fn sessions(journals: &[Vec<Value>], boot: Option<&str>) -> Vec<String> {
        let journals: Vec<_> = journals.iter().map(|entries| journal(entries)).collect();
        let found = cut_off(journals.iter().map(Vec::as_slice), boot);
        found.iter().map(|cut| cut.session.to_string()).collect()
    }

    #[test]
    fn the_fifth_cut_in_a_row_uses_an_attempt_up() {
        let same = [Some("m"); 5];
        assert_eq!(sessions(&[killed(&same[..4])], Some("m")), Vec::<String>::new());
        assert_eq!(sessions(&[killed(&same)], Some("m")), ["s4"]);
        // One that is at work when the machine goes down is cut by nobody.
        assert_eq!(sessions(&[killed(&same)], Some("n")), Vec::<String>::new());
        let restarted = [Some("l"), Some("m"), Some("m"), Some("m"), Some("m"), Some("m")];
        assert_eq!(sessions(&[killed(&restarted[..5])], Some("m")), Vec::<String>::new());
        assert_eq!(sessions(&[killed(&restarted)], Some("m")), ["s5"]);
        // An earlier version wrote nothing about the machine, and some systems say nothing.
        assert_eq!(sessions(&[killed(&[None; 5])], Some("m")), ["s4"]);
        assert_eq!(sessions(&[killed(&same)], None), ["s4"]);
        // Each `reflexion run` is a run of its own.
        let runs: Vec<_> = (0..5).map(|i| vec![begins("run_started", None), attempt(1, &format!("s{i}"))]).collect();
        assert_eq!(sessions(&runs, None), ["s4"]);
        assert_eq!(sessions(&runs[1..], None), Vec::<String>::new());
    }

    #[test]
    fn what_comes_in_between_begins_the_row_anew() {
        let drop =
            json!({ "type": "attempt_dropped", "task": "a", "session": "s2", "ending": { "kind": "cancelled" } });
        let ended = json!({ "type": "run_ended", "interrupted": true });
        let halted = json!({ "type": "run_halted", "because": "no room" });
        for between in [vec![drop], vec![ended], vec![halted]] {
            let mut entries = killed(&[None; 5]);
            entries.splice(6..6, between.clone());
            assert_eq!(sessions(&[entries], None), Vec::<String>::new(), "{between:?}");
        }
        // Another attempt of the same task.
        let mut entries = killed(&[None; 5]);
        entries[9] = attempt(2, "s4");
        assert_eq!(sessions(&[entries], None), Vec::<String>::new());
        // A run that did something else.
        let mut runs: Vec<_> = vec![killed(&[None; 4])];
        runs.push(vec![begins("run_started", None), json!({ "type": "run_ended", "interrupted": false })]);
        runs.push(vec![begins("run_started", None), attempt(1, "last")]);
        assert_eq!(sessions(&runs, None), ["last"]);
        // What has a result is over.
        let cut = cut_off([journal(&runs[2]), journal(&killed(&[None; 5]))].iter().map(Vec::as_slice), None).remove(0);
        let mut entries = killed(&[None; 5]);
        entries.push(begins("run_resumed", None));
        entries.push(serde_json::to_value(cut.judged()).unwrap());
        assert_eq!(sessions(&[entries], None), Vec::<String>::new());
    }
}
