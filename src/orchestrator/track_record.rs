//! What earlier runs of a project found out about its agents, so that one that mostly failed at such tasks comes later.
//!
//! It is read from the journals of the newest runs, once per run, and only where the settings ask for it.

use super::ports::Services;
use super::resume::failure_key;
use super::router::kind;
use crate::domain::policy::{Agents, RouteHistory};
use crate::domain::{About, EventKind, JournalEntry, RunId, SessionId, Task, TaskId, Verdict};
use crate::services::{Journal, JournalError};
use std::collections::{BTreeMap, HashMap};

/// The journals of so many runs are read: what was longer ago was another version of the agent and of the project.
const RUNS: usize = 20;

/// With fewer judged attempts nothing is said about an agent.
const FEWEST: u32 = 5;

/// The normal quantile of a one-sided 90 %: one wrong guess in ten costs little, because nobody is left out.
const Z: f64 = 1.281_55;

/// How agents did in earlier runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrackRecord {
    /// By what kind of task it is, and agent.
    by_kind: BTreeMap<(String, String), Judged>,
    /// How each agent's newest attempts at a task failed.
    by_task: BTreeMap<(TaskId, String), Streak>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Judged {
    refuted: u32,
    all: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Streak {
    failure: String,
    count: u32,
}

impl TrackRecord {
    /// What counts for the agents of this run, where the settings ask for it. A journal that cannot be read costs the order of
    /// chains, never the run.
    pub(super) async fn of_agents(services: &Services, tasks: &[Task], this: &RunId) -> Self {
        let agents = services.settings.agents();
        if agents.history == RouteHistory::Off {
            return Self::default();
        }
        Self::read(&*services.journal, Some(this), agents, tasks).await.unwrap_or_else(|error| {
            let message = format!("how agents did in earlier runs is not known: {error}");
            services.publish(About::run(this), EventKind::Warning { message });
            Self::default()
        })
    }

    /// Reads what the newest runs wrote down, `this` one aside.
    ///
    /// # Errors
    /// [`JournalError`] if a journal cannot be read.
    pub async fn read(
        journal: &dyn Journal,
        this: Option<&RunId>,
        agents: &Agents,
        tasks: &[Task],
    ) -> Result<Self, JournalError> {
        let mut reader = Reader::new(agents, tasks);
        let runs: Vec<RunId> = journal.runs().await?.into_iter().filter(|run| Some(run) != this).take(RUNS).collect();
        for run in runs.iter().rev() {
            for (_, entry) in journal.read(run).await? {
                reader.take(&entry);
            }
        }
        Ok(reader.record)
    }

    /// What speaks against giving a task to an agent first, in words.
    ///
    /// An agent that failed at the task itself in the same way `alike` times in a row, or one whose attempts at such tasks
    /// were refuted so often that chance is a bad explanation: the lower end of Wilson's interval of the refuted share is
    /// over one half (E. B. Wilson, *Probable Inference*, 1927). With 5 judged attempts that takes 4 refuted ones, with
    /// 10 it takes 8.
    #[must_use]
    pub fn against(&self, agent: &str, task: &Task, agents: &Agents) -> Option<String> {
        let alike = agents.escalation.after.max(1);
        let streak = self.by_task.get(&(task.id.clone(), agent.to_owned())).filter(|streak| streak.count >= alike);
        if let Some(Streak { count, .. }) = streak {
            return Some(format!("its last {count} attempts at this task failed in the same way"));
        }
        let kind = kind(agents, task);
        let Judged { refuted, all } = *self.by_kind.get(&(kind.clone(), agent.to_owned()))?;
        (all >= FEWEST && lower_bound(refuted, all) > 0.5)
            .then(|| format!("{refuted} of its {all} attempts at tasks with {kind} were refuted"))
    }
}

/// The lower end of Wilson's interval of a share.
fn lower_bound(count: u32, all: u32) -> f64 {
    let (n, share) = (f64::from(all), f64::from(count) / f64::from(all));
    let z2 = Z * Z / n;
    let half = Z * ((share * (1.0 - share) + z2 / 4.0) / n).sqrt();
    (share + z2 / 2.0 - half) / (1.0 + z2)
}

/// Journals, read one after the other, the oldest first.
struct Reader {
    /// What kind each task is; nothing can be said of those that are not in the list any more.
    kinds: HashMap<TaskId, String>,
    agents: HashMap<SessionId, String>,
    record: TrackRecord,
}

impl Reader {
    fn new(agents: &Agents, tasks: &[Task]) -> Self {
        let kinds = tasks.iter().map(|task| (task.id.clone(), kind(agents, task))).collect();
        Self { kinds, agents: HashMap::new(), record: TrackRecord::default() }
    }

    fn take(&mut self, entry: &JournalEntry) {
        if let JournalEntry::AttemptStarted { session, agent, .. } = entry {
            self.agents.insert(session.clone(), agent.clone());
        }
        if let JournalEntry::AttemptJudged { task, subtask, session, verdict, because, failure, signature, .. } = entry
        {
            // A line that is written twice counts once.
            let Some(agent) = self.agents.remove(session) else { return };
            let failure = format!("{subtask} {}", failure_key(*failure, signature.as_deref(), because));
            self.judged(task, agent, *verdict, failure);
        }
    }

    fn judged(&mut self, task: &TaskId, agent: String, verdict: Verdict, failure: String) {
        let refuted = match verdict {
            Verdict::Confirmed => false,
            Verdict::Failed | Verdict::FalseDone => true,
            // It says nothing about the agent.
            Verdict::Unverifiable => return,
        };
        if let Some(kind) = self.kinds.get(task) {
            let judged = self.record.by_kind.entry((kind.clone(), agent.clone())).or_default();
            judged.all += 1;
            judged.refuted += u32::from(refuted);
        }
        let at_task = (task.clone(), agent);
        match self.record.by_task.get_mut(&at_task) {
            _ if !refuted => {
                self.record.by_task.remove(&at_task);
            }
            Some(streak) if streak.failure == failure => streak.count += 1,
            _ => {
                self.record.by_task.insert(at_task, Streak { failure, count: 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::Escalation;
    use crate::services::MockJournal;
    use serde_json::json;

    fn task(id: &str, label: &str) -> Task {
        serde_json::from_value(json!({ "id": id, "title": id, "labels": ["size:S", label] })).unwrap()
    }

    fn agents() -> Agents {
        Agents { escalation: Escalation { to: Vec::new(), after: 2 }, ..Agents::default() }
    }

    /// An attempt of `one` at a task: `c` confirmed, `u` unverifiable, other letters are failures, equal ones alike.
    fn attempt(task: &str, n: usize, what: char) -> Vec<JournalEntry> {
        let (at, session) = (json!({ "task": task, "subtask": task, "attempt": 1 }), format!("s-{task}-{n}"));
        let verdict = match what {
            'c' => "confirmed",
            'u' => "unverifiable",
            _ => "failed",
        };
        let mut started = at.clone();
        started["type"] = json!("attempt_started");
        started["session"] = json!(session);
        started["agent"] = json!("one");
        started["start"] = json!("t");
        started["injected"] = json!([]);
        let mut judged = at;
        judged["type"] = json!("attempt_judged");
        judged["session"] = json!(session);
        judged["ending"] = json!({ "kind": "finished" });
        judged["tree"] = json!("t");
        judged["verdict"] = json!(verdict);
        judged["signature"] = json!(what.to_string());
        [started, judged].into_iter().map(|entry| serde_json::from_value(entry).unwrap()).collect()
    }

    fn record(attempts: &[(&str, &str)], tasks: &[Task]) -> TrackRecord {
        let mut reader = Reader::new(&agents(), tasks);
        let mut n = 0;
        for (task, letters) in attempts {
            for what in letters.chars() {
                n += 1;
                let entries = attempt(task, n, what);
                // Whatever is written twice counts once.
                entries.iter().chain(&entries[1..]).for_each(|entry| reader.take(entry));
            }
        }
        reader.record
    }

    #[test]
    fn who_mostly_failed_at_such_tasks_is_doubted_and_nobody_for_bad_luck() {
        let (done, next) = (task("done", "docs"), task("next", "docs"));
        let check = |letters: &str, expected: Option<&str>| {
            let record = record(&[("done", letters)], &[done.clone(), next.clone()]);
            assert_eq!(record.against("one", &next, &agents()).as_deref(), expected, "{letters}");
            assert_eq!(record.against("two", &next, &agents()), None);
            assert_eq!(record.against("one", &task("other", "ui"), &agents()), None);
        };
        check("", None);
        check("abab", None);
        check("abcab", Some("4 of its 5 attempts at tasks with the label `docs` were refuted"));
        check("abcac", None);
        check("uuuab", None);
        check("abcabc", None);
        check("abcabcabab", Some("8 of its 10 attempts at tasks with the label `docs` were refuted"));
        check("abcabcabcb", None);
    }

    #[test]
    fn who_failed_at_the_task_itself_in_the_same_way_is_doubted() {
        let here = task("here", "docs");
        let check = |letters: &str, expected: Option<&str>| {
            let record = record(&[("here", letters)], &[]);
            assert_eq!(record.against("one", &here, &agents()).as_deref(), expected, "{letters}");
        };
        check("a", None);
        check("ab", None);
        check("baa", Some("its last 2 attempts at this task failed in the same way"));
        check("aau", Some("its last 2 attempts at this task failed in the same way"));
        check("aab", None);
        check("aac", None);
    }

    #[tokio::test]
    async fn the_newest_runs_are_read_the_oldest_of_them_first_and_this_one_not() {
        let id = |n: usize| RunId::new(format!("run-{n:02}")).unwrap();
        let mut journal = MockJournal::new();
        journal.expect_runs().returning(move || Ok((0..30).rev().map(id).collect()));
        journal.expect_read().times(RUNS).returning(|run| {
            let n: usize = run.as_str()[4..].parse().unwrap();
            assert!((9..29).contains(&n), "{run}");
            let entries = attempt("here", n, if n == 9 { 'c' } else { 'a' });
            Ok(entries.into_iter().map(|entry| (crate::domain::Timestamp::UNIX_EPOCH, entry)).collect())
        });
        let record = TrackRecord::read(&journal, Some(&id(29)), &agents(), &[]).await.unwrap();
        let words = record.against("one", &task("here", "docs"), &agents());
        assert_eq!(words.as_deref(), Some("its last 19 attempts at this task failed in the same way"));
    }
}
