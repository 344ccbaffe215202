//! Whether a retry got its lessons: what the coin decided before the attempt, and how the attempt ended.

use super::policy::RetryStart;
use super::{
    Ending, FailureType, JournalEntry, ReflectionId, RunId, SessionId, SubtaskId, TaskId, Timestamp, Usage, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;

/// What coins decided about the lessons of an attempt. It is written down before the agent starts, so that no outcome can change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exposure {
    /// The `retry.start` in force: retries are compared with those of the same setting.
    pub start: RetryStart,
    /// About lessons of the task itself; none where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Coin>,
    /// About lessons of other tasks; none where none fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Coin>,
}

/// What one coin decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coin {
    /// How probable it was that the prompt holds the lessons; between 0 and 1.
    pub probability: f64,
    /// What it decided: lessons in the prompt, or held out.
    pub injected: bool,
    /// The lessons that fit the attempt.
    pub candidates: Vec<ReflectionId>,
}

/// A moment of a person's own session in which lessons fit: no run began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The session began.
    SessionStart,
    /// A command failed, or a prompt holds a failure.
    Failure,
}

impl Moment {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::Failure => "failure",
        }
    }
}

/// One ended attempt, as it stands in `memory/attempts.jsonl`. Everything in it is read from its run's journal, but what has a
/// [`moment`](Self::moment).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// The record's version, [`AttemptRecord::VERSION`].
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// From 1, over all runs.
    pub attempt: u32,
    /// The agent run.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// When it ended.
    pub at: Timestamp,
    /// What the evidence says; none where nobody judged it (limits, logins, an interruption).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What kind of failure it is, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureType>,
    /// Why the agent stopped; none where it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// What the failure looks like: equal texts are the same failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// From its start until it was judged, in milliseconds.
    pub duration_ms: u64,
    /// Tokens that it, judging it and its reflection used; none where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The lessons that its prompt held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ReflectionId>,
    /// What coins decided; none where there was nothing to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposure>,
    /// It is no attempt of a run, but a moment of a person's own session: `run` and `task` stand for the session, `attempt` counts its moments. It is
    /// written before the lessons are shown, and once more, with a verdict, when it is known how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<Moment>,
}

impl Exposure {
    /// What is said of an attempt some of whose lessons were held out, after what it did.
    #[must_use]
    pub fn held_out(exposure: Option<&Self>) -> Option<&'static str> {
        let held_out = |coin: &Option<Coin>| coin.as_ref().is_some_and(|coin| !coin.injected);
        let exposure = exposure?;
        if held_out(&exposure.own) {
            Some("its lessons were held out to measure whether they help")
        } else {
            held_out(&exposure.others).then_some("lessons of other tasks were held out to measure whether they help")
        }
    }
}

impl AttemptRecord {
    /// The version that is written.
    pub const VERSION: u32 = 1;

    /// The attempts of a run that have ended, in the order in which they did. One that was cut off has not: it is done again. The same entries
    /// give the same records.
    #[must_use]
    pub fn of_run<'e>(run: &RunId, entries: impl IntoIterator<Item = (Timestamp, &'e JournalEntry)>) -> Vec<Self> {
        let mut begun = HashMap::new();
        let mut records = Vec::new();
        for (at, entry) in entries {
            if let JournalEntry::AttemptStarted { session, .. } = entry {
                begun.insert(session, (at, entry));
            }
            let Some(session) = Self::ended(entry) else { continue };
            // A result that is written twice counts once.
            let Some((since, start)) = begun.remove(session) else { continue };
            records.extend(Self::of(run, (since, start), (at, entry)));
        }
        records
    }

    /// The attempt that an entry is the result of.
    fn ended(entry: &JournalEntry) -> Option<&SessionId> {
        let (JournalEntry::AttemptJudged { session, .. } | JournalEntry::AttemptDropped { session, .. }) = entry else {
            return None;
        };
        Some(session)
    }

    fn of(
        run: &RunId,
        (since, start): (Timestamp, &JournalEntry),
        (at, end): (Timestamp, &JournalEntry),
    ) -> Option<Self> {
        let JournalEntry::AttemptStarted { task, subtask, attempt, session, agent, injected, exposure, .. } = start
        else {
            return None;
        };
        let record = Self {
            v: Self::VERSION,
            run: run.clone(),
            task: task.clone(),
            subtask: subtask.clone(),
            attempt: *attempt,
            session: session.clone(),
            agent: agent.clone(),
            at,
            verdict: None,
            failure: None,
            ending: None,
            signature: None,
            // A clock that was set back makes no time negative.
            duration_ms: Duration::try_from(at.duration_since(since)).map_or(0, milliseconds),
            tokens: None,
            shown: injected.clone(),
            exposure: exposure.clone(),
            moment: None,
        };
        if let JournalEntry::AttemptDropped { ending, usage, judging_usage, .. } = end {
            return Some(Self { ending: ending.clone(), tokens: sum([usage, judging_usage]), ..record });
        }
        let JournalEntry::AttemptJudged {
            ending,
            verdict,
            failure,
            signature,
            usage,
            reflection_usage,
            judging_usage,
            ..
        } = end
        else {
            return None;
        };
        Some(Self {
            verdict: Some(*verdict),
            failure: *failure,
            ending: Some(ending.clone()),
            signature: signature.clone(),
            tokens: sum([usage, reflection_usage, judging_usage]),
            ..record
        })
    }
}

fn sum<const N: usize>(used: [&Usage; N]) -> Option<u64> {
    used.into_iter().filter_map(Usage::tokens).reduce(u64::saturating_add)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn entry(value: Value) -> JournalEntry {
        serde_json::from_value(value).unwrap()
    }

    fn started(session: &str, attempt: u32) -> Value {
        json!({ "type": "attempt_started", "task": "a", "subtask": "a", "attempt": attempt, "session": session,
            "agent": "x", "start": "t", "injected": [] })
    }

    #[test]
    fn a_journal_of_an_older_version_has_no_exposure_and_a_new_one_is_read_back() {
        let JournalEntry::AttemptStarted { exposure: None, .. } = entry(started("s", 2)) else { panic!("an exposure") };
        let mut new = started("s", 2);
        let coin = json!({ "probability": 0.8, "injected": false, "candidates": ["ref-1"] });
        new["exposure"] = json!({ "start": "fresh", "own": coin });
        assert_eq!(serde_json::to_value(entry(new.clone())).unwrap(), new);
    }

    #[test]
    fn every_ended_attempt_is_one_record() {
        let mut retry = started("s2", 2);
        retry["exposure"] =
            json!({ "start": "auto", "others": { "probability": 0.8, "injected": true, "candidates": ["r"] } });
        retry["injected"] = json!(["r"]);
        let judged = json!({ "type": "attempt_judged", "task": "a", "subtask": "a", "attempt": 1, "session": "s1",
            "ending": { "kind": "finished" }, "usage": { "input": 40, "output": 2 }, "tree": "t", "verdict": "false_done",
            "failure": "false_done", "signature": "f1", "reflectionUsage": { "output": 8 } });
        let dropped = json!({ "type": "attempt_dropped", "task": "a", "session": "s2", "ending": { "kind": "auth" } });
        let entries = [started("s1", 1), judged.clone(), judged, started("cut", 2), retry, dropped].map(entry);
        let at = |n: i64| Timestamp::from_second(100 + n).unwrap();
        let run = RunId::new("r1").unwrap();
        let records = AttemptRecord::of_run(&run, (0..).map(at).zip(&entries));
        let told: Vec<_> = records.iter().map(|one| (one.attempt, one.verdict, one.tokens, one.duration_ms)).collect();
        assert_eq!(told, [(1, Some(Verdict::FalseDone), Some(50), 1000), (2, None, None, 1000)]);
        assert_eq!((records[0].signature.as_deref(), &records[1].ending), (Some("f1"), &Some(Ending::Auth)));
        assert!(
            records[1].exposure.as_ref().is_some_and(|exposure| exposure.own.is_none() && exposure.others.is_some())
        );
        assert_eq!(records[1].shown, [ReflectionId::new("r")]);
    }
}
