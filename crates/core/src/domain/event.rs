//! Events: what a watcher of a run may want to show.

use super::{CheckStatus, JournalEntry, Origin, RunId, SessionId, SubtaskId, TaskId, Timestamp, Verdict};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Something happened in a run: an entry of its journal, or something that only those who watch it now want to know.
///
/// As JSON it is one object: `v` (1), `at`, the ids of [`About`] as far as there are any, and what [`EventKind`] holds, with its `type`.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it was told; an entry of the journal has its own time, a moment before.
    pub at: Timestamp,
    /// Which run, task and attempt it is about.
    pub about: About,
    /// What.
    pub kind: EventKind,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The run.
    pub run: RunId,
    /// The task it belongs to; none for the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The part of the task that is worked on: that of its newest attempt, or of what has no attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<SubtaskId>,
    /// The number of the task's newest attempt, from 1, over all runs; none before its first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The agent run of that attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl About {
    /// The run as a whole.
    #[must_use]
    pub fn run(run: &RunId) -> Self {
        Self { run: run.clone(), task: None, subtask: None, attempt: None, session: None }
    }

    /// A task without an attempt.
    #[must_use]
    pub fn task(run: &RunId, task: &TaskId) -> Self {
        Self { task: Some(task.clone()), ..Self::run(run) }
    }
}

/// What can happen: what the journal has, and the closed list of what nobody writes down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", tag = "type")]
#[expect(clippy::large_enum_variant, reason = "one is made at a time, and gone once it is shown")]
pub enum EventKind {
    /// Something the user should know; the run goes on.
    Warning {
        /// In words.
        message: String,
    },
    /// A rule, or what earlier runs found out, says which agents a task is given to.
    Routed {
        /// The fallback chain.
        agents: Vec<String>,
        /// Why these, in words.
        because: String,
    },
    /// What the task is doing now, e.g. `setup`, `baseline`, `agent`, `check test`, `reflecting`.
    Doing {
        /// In words.
        what: String,
    },
    /// The agent does something.
    AgentActed {
        /// In a few words, e.g. `Bash: cargo test`.
        what: String,
        /// Answers of its model so far.
        turns: u32,
        /// Tokens so far, where the agent says so while it works.
        tokens: Option<u64>,
    },
    /// A check was run.
    Checked {
        /// Its name.
        name: String,
        /// What came of it.
        status: CheckStatus,
        /// It fails as at the base, which says nothing of the work.
        #[serde(default, rename = "asAtBase", skip_serializing_if = "std::ops::Not::not")]
        as_at_base: bool,
    },
    /// Nothing goes on before a person acts.
    PersonNeeded {
        /// Exactly what the person must do.
        actions: Vec<String>,
    },
    /// The attempt's verdict is known. [`JournalEntry::AttemptJudged`] follows when its reflection is written, which may take a while.
    Judged {
        /// What the evidence says.
        verdict: Verdict,
        /// Why, in words.
        because: String,
    },
    /// A reflection was stored.
    Reflected {
        /// Who wrote it.
        origin: Origin,
        /// What went wrong, in short.
        analysis: String,
    },
    /// The agent changed refs, configuration or hooks of the user's repository; they were put back.
    Tampered {
        /// What.
        what: Vec<String>,
    },
    /// A budget leaves nothing for another agent run.
    BudgetReached {
        /// Which, and how, in words.
        because: String,
    },
    /// A person closed, blocked or removed a task before it was begun: the run leaves it alone.
    LeftAlone {
        /// What they did, in words.
        because: String,
    },
    /// An entry of the run's journal, which has it already.
    #[serde(untagged)]
    Recorded(JournalEntry),
}

impl Event {
    /// The entry of the journal, where it is one.
    #[must_use]
    pub fn entry(&self) -> Option<&JournalEntry> {
        if let EventKind::Recorded(entry) = &self.kind { Some(entry) } else { None }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = |value: serde_json::Result<Value>| match value {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(other) => Err(S::Error::custom(format!("an event is an object, and this is none: {other}"))),
            Err(error) => Err(S::Error::custom(error)),
        };
        let mut line = Map::new();
        line.insert("v".to_owned(), 1.into());
        line.insert("at".to_owned(), self.at.to_string().into());
        line.extend(object(serde_json::to_value(&self.about))?);
        for (key, value) in object(serde_json::to_value(&self.kind))? {
            // An entry names its task and attempt itself, as `about` does.
            line.entry(key).or_insert(value);
        }
        line.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Envelope {
            at: Timestamp,
            #[serde(flatten)]
            about: About,
        }
        let line = Value::deserialize(deserializer)?;
        let Envelope { at, about } = Envelope::deserialize(&line).map_err(D::Error::custom)?;
        let kind = EventKind::deserialize(&line).map_err(D::Error::custom)?;
        Ok(Self { at, about, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_one_object_with_every_id_once_and_is_read_back() {
        let check = |about: Value, kind: Value, expected: &str| {
            let (about, kind) = (serde_json::from_value(about).unwrap(), serde_json::from_value(kind).unwrap());
            let event = Event { at: "2026-05-05T00:00:00Z".parse().unwrap(), about, kind };
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(line, expected);
            assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
        };
        let about = json!({ "run": "r", "task": "a", "subtask": "p", "attempt": 2, "session": "s" });
        check(
            about.clone(),
            json!({ "type": "turn_started", "task": "a", "session": "s", "turn": 2, "reason": "feedback" }),
            r#"{"v":1,"at":"2026-05-05T00:00:00Z","run":"r","task":"a","subtask":"p","attempt":2,"session":"s","type":"turn_started","turn":2,"reason":"feedback"}"#,
        );
        check(
            about,
            json!({ "type": "agent_acted", "what": "Bash: make", "turns": 3, "tokens": null }),
            r#"{"v":1,"at":"2026-05-05T00:00:00Z","run":"r","task":"a","subtask":"p","attempt":2,"session":"s","type":"agent_acted","what":"Bash: make","turns":3,"tokens":null}"#,
        );
        check(
            json!({ "run": "r" }),
            json!({ "type": "run_ended", "interrupted": false }),
            r#"{"v":1,"at":"2026-05-05T00:00:00Z","run":"r","type":"run_ended","interrupted":false}"#,
        );
    }
}
