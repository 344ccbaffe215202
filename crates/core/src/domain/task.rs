//! Tasks: what the user wants done, and what runs found out about it.

use super::{Allow, CheckSpec, Expects, FileGlobs, RunId, SubtaskId, TaskId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};

/// One line of the task file.
///
/// Unknown keys are ignored, so that task files written by other tools can be read; only `id` and `title` are required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unique in the file.
    pub id: TaskId,
    /// One line; it becomes the commit's subject word for word.
    #[serde(deserialize_with = "one_line")]
    pub title: String,
    /// What is to be done, for the agent.
    #[serde(default)]
    pub description: String,
    /// Where the task stands, as far as the file knows.
    #[serde(default)]
    pub status: Status,
    /// 0 (first) to 4 (last).
    #[serde(default = "default_priority", deserialize_with = "priority")]
    pub priority: u8,
    /// `bug`, `feature`, …; free text, shown and not interpreted.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Free labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Tasks that this one has to do with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deps: Vec<Dependency>,
    /// When the task counts as done, in words, for the agent.
    #[serde(default, deserialize_with = "text_or_lines", skip_serializing_if = "String::is_empty")]
    pub acceptance_criteria: String,
    /// The task's own checks, run after the project's; no two of one name.
    #[serde(default, deserialize_with = "named_apart", skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckSpec>,
    /// How many attempts since the task was last opened; the project's number otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The agent for this task; the project's default otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Parts to be worked on in order; none means that the task is its own only part.
    #[serde(default, deserialize_with = "distinct", skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    /// How large its owner says that it is; any other word or number, as other tools write them, says nothing.
    #[serde(default, deserialize_with = "size", skip_serializing_if = "Option::is_none")]
    pub size: Option<TaskSize>,
    /// What kind of change confirms the task.
    #[serde(default)]
    pub expects: Expects,
    /// What an attempt may do that counts against it otherwise. Words of the task never permit any of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allow>,
    /// Globs of files that no attempt at this task may change, beside the project's.
    #[serde(default, deserialize_with = "globs", skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
    /// When the task was written; decides the order among equal priorities.
    #[serde(default)]
    pub created_at: Timestamp,
    /// When a person last changed the line; a newer status in the runtime's overlay wins.
    #[serde(default)]
    pub updated_at: Timestamp,
}

/// The last part of the name of the branch that a night's work is merged into; no task can be called so in a night, because
/// its own branch would be that one.
pub const INTEGRATION: &str = "integration";

/// Whether a task's id is [`INTEGRATION`], in upper or lower case: on some file systems both name the same branch.
///
/// ```
/// # use reflexion_core::domain::is_integration;
/// assert!(is_integration("Integration") && !is_integration("integration-tests"));
/// ```
#[must_use]
pub fn is_integration(id: &str) -> bool {
    id.eq_ignore_ascii_case(INTEGRATION)
}

/// The branch on which all is that a run merged. `ahead`: branches that hold what is not on those that the user has checked out.
///
/// ```
/// # use reflexion_core::domain::{RunId, integration_branch};
/// let run = RunId::new("20261126-060000-1a2b")?;
/// let own = "reflexion/20261126-060000-1a2b/integration";
/// assert_eq!(integration_branch(&run, &[]), own);
/// assert_eq!(integration_branch(&run, &[format!("{own}@ahead")]), format!("{own}@ahead"));
/// # Ok::<(), reflexion_core::domain::IdError>(())
/// ```
#[must_use]
pub fn integration_branch(run: &RunId, ahead: &[String]) -> String {
    let own = format!("reflexion/{run}/{INTEGRATION}");
    let of_own = |name: &&String| name.strip_prefix(&own).is_some_and(|rest| rest.starts_with('@'));
    ahead.iter().find(of_own).cloned().unwrap_or(own)
}

impl Task {
    /// The keys of a line that mean something.
    pub const FIELDS: [&str; 19] = [
        "id",
        "title",
        "description",
        "status",
        "priority",
        "type",
        "labels",
        "deps",
        "acceptanceCriteria",
        "checks",
        "maxAttempts",
        "agent",
        "subtasks",
        "size",
        "expects",
        "allow",
        "protect",
        "createdAt",
        "updatedAt",
    ];

    /// Whether it is called a fault that is to be fixed. A type that is not known says nothing.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.is_called(&["bug", "defect", "fault", "regression", "fix", "bugfix", "hotfix", "incident"])
    }

    /// Whether it is called something new.
    #[must_use]
    pub fn is_feature(&self) -> bool {
        self.is_called(&["feature", "feat", "enhancement", "story", "epic"])
    }

    /// Whether it is called something new, or another form of what is there: it is not about what is red.
    #[must_use]
    pub fn is_new_work(&self) -> bool {
        self.expects != Expects::Fix && (self.is_feature() || self.is_called(&["refactoring", "refactor"]))
    }

    fn is_called(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.kind.eq_ignore_ascii_case(kind))
    }

    /// The parts to work on: the written subtasks, or the task itself as its only one.
    #[must_use]
    pub fn parts(&self) -> Vec<Subtask> {
        if self.subtasks.is_empty() {
            vec![Subtask {
                id: SubtaskId::from(&self.id),
                title: self.title.clone(),
                description: self.description.clone(),
                checks: Vec::new(),
            }]
        } else {
            self.subtasks.clone()
        }
    }

    /// The tasks that must be closed before this one may start; a parent also waits for its children.
    pub fn blockers(&self) -> impl Iterator<Item = &TaskId> {
        self.deps.iter().filter(|d| d.kind == "blocks").map(|d| &d.id)
    }

    /// The tasks that this one is a part of. It does not wait for them; they wait for it.
    pub fn parents(&self) -> impl Iterator<Item = &TaskId> {
        self.deps.iter().filter(|d| d.kind == "parent-child" && d.id != self.id).map(|d| &d.id)
    }

    /// Whether each check has a name of its own among those that it is run with: the project's, the task's, and those of one part. Verdicts,
    /// reports and lessons tell checks apart by their names.
    ///
    /// # Errors
    /// Words that name the second check of a name, whose the first one is, and what to do.
    pub fn checks_told_apart(&self, project: &[CheckSpec]) -> Result<(), String> {
        let twice = |checks: &[CheckSpec], others: &[CheckSpec]| {
            let found = checks.iter().find(|check| others.iter().any(|other| other.name == check.name));
            found.map(|check| check.name.clone())
        };
        let error = |place: &str, name: &str, whose: &str| {
            Err(format!(
                "{place} has a check named `{name}`, and so {whose}: give this one another name, because verdicts tell checks apart by their names"
            ))
        };
        if let Some(name) = twice(&self.checks, project) {
            return error("it", &name, "has the project");
        }
        for part in &self.subtasks {
            let place = format!("its part `{}`", part.id);
            if let Some(name) = twice(&part.checks, project) {
                return error(&place, &name, "has the project");
            }
            if let Some(name) = twice(&part.checks, &self.checks) {
                return error(&place, &name, "has the task");
            }
        }
        Ok(())
    }

    /// What orders the work: a lower number comes first, then the older one; otherwise tasks stay as they stand in the file.
    #[must_use]
    pub fn rank(&self) -> (u8, Timestamp) {
        (self.priority, self.created_at)
    }
}

/// One unit handed to one subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(expecting = r#"an object such as {"id": "parser", "title": "Mend the parser"}"#)]
pub struct Subtask {
    /// Unique in its task.
    pub id: SubtaskId,
    /// One line.
    #[serde(default)]
    pub title: String,
    /// What is to be done.
    #[serde(default)]
    pub description: String,
    /// The subtask's own checks; without any it must only change something, and the task's checks decide at the end.
    #[serde(default, deserialize_with = "named_apart", skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckSpec>,
}

/// A task that this one has to do with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = r#"an object such as {"id": "b", "type": "blocks"}"#)]
pub struct Dependency {
    /// The other task.
    pub id: TaskId,
    /// `blocks`: the other must be closed first. `parent-child`: the other is this one's parent, and waits for it. Any other
    /// word only informs.
    #[serde(rename = "type", default = "blocks")]
    pub kind: String,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// To be done.
    #[default]
    Open,
    /// A run has claimed it; without a living run it counts as open.
    InProgress,
    /// Set aside with a cause; a person has to look.
    Blocked,
    /// Done.
    Closed,
}

impl Status {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Blocked => "blocked",
            Self::Closed => "closed",
        }
    }
}

/// How large a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSize {
    /// A change in one place.
    Small,
    /// Several places, or much to read.
    Medium,
    /// A project of its own.
    Large,
}

impl TaskSize {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// What a word for a size means: `small`, `medium`, `large`, and sizes of shirts (`S`, `xl`).
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "xs" | "s" | "small" => Some(Self::Small),
            "m" | "medium" => Some(Self::Medium),
            "l" | "large" | "xl" | "xxl" => Some(Self::Large),
            _ => None,
        }
    }
}

/// A fact that runs add to a task, without touching the user's task file.
///
/// Marks are appended to `.reflection/tasks.jsonl`; the newest of a task and the line's own `updatedAt` decide its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskMark {
    /// Format version, 1.
    pub v: u32,
    /// The task.
    pub id: TaskId,
    /// Its new status.
    pub status: Status,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The run that found it out; none where a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The subtask whose attempt ended, when this mark counts one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<SubtaskId>,
    /// The number of the attempt that ended, when this mark counts one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The verdict of the attempt that ended; only refuted attempts use up `maxAttempts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The `updatedAt` of the task's line as the run had read it when it took the task up. Where a person has set the line
    /// to something else than open since, that stands, whatever the run finds out afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Timestamp>,
    /// When.
    pub at: Timestamp,
}

impl TaskMark {
    /// Whether this mark counts a refuted attempt.
    #[must_use]
    pub fn uses_an_attempt(&self) -> bool {
        self.attempt.is_some() && !matches!(self.verdict, Some(Verdict::Confirmed | Verdict::Unverifiable))
    }
}

/// What the task file and the overlay say together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskList {
    /// Every readable task with its effective status, in the file's order.
    pub tasks: Vec<Task>,
    /// The newest cause per task that has one (`blocked` tasks above all).
    pub causes: std::collections::BTreeMap<TaskId, String>,
    /// The attempts judged so far, in order, per subtask: `(number, counted since the task was last opened)`.
    pub attempts: std::collections::BTreeMap<(TaskId, SubtaskId), AttemptCount>,
    /// The run whose branch holds a task's newest confirmed work, also if it was opened again since.
    pub closed_by: std::collections::BTreeMap<TaskId, RunId>,
    /// Tasks that are not to be begun, and why: nobody trusts what they would run. Empty where nobody asks for trust.
    pub refused: std::collections::BTreeMap<TaskId, String>,
    /// Lines that could not be read; they stay in the file byte for byte.
    pub problems: Vec<LineProblem>,
}

impl TaskList {
    /// The tasks that are a part of this one.
    pub fn children<'a>(&'a self, of: &'a TaskId) -> impl Iterator<Item = &'a TaskId> {
        self.tasks.iter().filter(move |task| task.parents().any(|parent| parent == of)).map(|task| &task.id)
    }

    /// The task with this id.
    ///
    /// # Errors
    /// Words that name the id and the most similar one there is.
    pub fn find(&self, id: &str) -> Result<&Task, String> {
        self.tasks.iter().find(|t| t.id.as_str() == id).ok_or_else(|| {
            let nearest = nearest_id(id, self.tasks.iter().map(|t| t.id.as_str()));
            let meant = nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            format!("there is no task `{id}` in the task file{meant}")
        })
    }

    /// The tasks to work on: those named (each once), or every open one.
    ///
    /// # Errors
    /// Words that say which named task does not exist or is not open, and how to open it.
    pub fn select(&self, ids: &[TaskId], again: Again) -> Result<Vec<Task>, String> {
        let wanted = |task: &&Task| again == Again::Yes || matches!(task.status, Status::Open | Status::InProgress);
        if ids.is_empty() {
            return Ok(self.tasks.iter().filter(wanted).cloned().collect());
        }
        let once: std::collections::BTreeSet<&TaskId> = ids.iter().collect();
        once.into_iter()
            .map(|id| {
                let task = self.find(id.as_str())?;
                if wanted(&task) {
                    return Ok(task.clone());
                }
                let why = self.causes.get(id).map(|c| format!(" ({c})")).unwrap_or_default();
                let status = task.status.as_str();
                let how = format!("reopen it with `reflexion task reopen {id}`, or run it again with `--again`");
                Err(format!("task `{id}` is {status}{why}; {how}"))
            })
            .collect()
    }
}

/// Whether closed and blocked tasks are done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// Only open ones.
    #[default]
    No,
    /// As if they had just been opened.
    Yes,
}

/// The most similar of `known`, if it may have been meant: one slip, and one more for every four characters.
#[must_use]
pub fn nearest_id<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|known| (strsim::damerau_levenshtein(known, id), known));
    distances.filter(|(distance, known)| *distance <= 1 + known.len() / 4).min().map(|(_, known)| known)
}

/// How many attempts a subtask has had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptCount {
    /// The highest attempt number so far, over all runs.
    pub last: u32,
    /// How many since the task was last opened; `maxAttempts` bounds these.
    pub since_opened: u32,
}

/// A line of a JSON Lines file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineProblem {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

fn default_priority() -> u8 {
    2
}

fn blocks() -> String {
    "blocks".to_owned()
}

fn priority<'de, D: serde::Deserializer<'de>>(de: D) -> Result<u8, D::Error> {
    match u8::deserialize(de)? {
        n @ 0..=4 => Ok(n),
        n => Err(serde::de::Error::custom(format!("priority {n} is not 0, 1, 2, 3 or 4"))),
    }
}

fn globs<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Vec<String>, D::Error> {
    let globs = Vec::<String>::deserialize(de)?;
    FileGlobs::new(&globs).map_err(serde::de::Error::custom)?;
    Ok(globs)
}

fn one_line<'de, D: serde::Deserializer<'de>>(de: D) -> Result<String, D::Error> {
    let title = String::deserialize(de)?;
    if title.trim().is_empty() {
        return Err(serde::de::Error::custom("the title is empty"));
    }
    if title.contains(['\n', '\r', '\0']) {
        return Err(serde::de::Error::custom("the title has more than one line"));
    }
    Ok(title)
}

/// Attempts and reflections are found by their subtask's id, so two of one task must not share it.
fn distinct<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Vec<Subtask>, D::Error> {
    let parts = Vec::<Subtask>::deserialize(de)?;
    match parts.iter().enumerate().find(|(i, part)| parts[..*i].iter().any(|p| p.id == part.id)) {
        Some((_, part)) => Err(serde::de::Error::custom(format!("two subtasks have the id `{}`", part.id))),
        None => Ok(parts),
    }
}

/// Checks of one list. Of two with one name the second is refused where it stands.
///
/// # Errors
///
/// If this is no list of checks, or two of them have one name.
pub fn named_apart<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Vec<CheckSpec>, D::Error> {
    struct Apart;
    impl<'de> serde::de::Visitor<'de> for Apart {
        type Value = Vec<CheckSpec>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<CheckSpec>, A::Error> {
            let mut checks: Vec<CheckSpec> = Vec::new();
            while let Some(check) = seq.next_element::<CheckSpec>()? {
                if checks.iter().any(|before| before.name == check.name) {
                    return Err(serde::de::Error::custom(format!(
                        "there are two checks named `{}`; give the second one another name, because verdicts tell checks apart by their names",
                        check.name
                    )));
                }
                checks.push(check);
            }
            Ok(checks)
        }
    }
    de.deserialize_seq(Apart)
}

/// Other tools write estimates of their own under this name; those say nothing here.
fn size<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Option<TaskSize>, D::Error> {
    let value = serde_json::Value::deserialize(de)?;
    Ok(value.as_str().and_then(TaskSize::from_word))
}

/// Acceptance criteria are written as one text or as a list of lines; a list becomes `- ` items.
fn text_or_lines<'de, D: serde::Deserializer<'de>>(de: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Wire {
        Nothing(()),
        Text(String),
        Lines(Vec<String>),
    }
    Ok(match Wire::deserialize(de)? {
        Wire::Nothing(()) => String::new(),
        Wire::Text(text) => text,
        Wire::Lines(lines) => lines.iter().map(|l| format!("- {l}")).collect::<Vec<_>>().join("\n"),
    })
}
#[cfg(test)]
mod tests {
    use super::*;

    fn task(json: &str) -> Result<Task, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn id_and_title_are_enough() {
        let task = task(r#"{"id":"a","title":"Do it","commits":["unknown keys are fine"]}"#).unwrap();
        assert_eq!((task.status, task.priority, task.expects), (Status::Open, 2, Expects::Change));
        assert_eq!(task.parts()[0].id.as_str(), "a");
    }

    #[test]
    fn the_fields_are_those_that_are_written() {
        let all = task(concat!(
            r#"{"id":"a","title":"t","type":"bug","labels":["l"],"deps":[{"id":"b","type":"blocks"}],"agent":"x","size":"small","#,
            r#""allow":["no_tests"],"protect":["tests"],"acceptanceCriteria":"c","checks":[{"name":"n","run":"r"}],"maxAttempts":1,"subtasks":[{"id":"s","title":"s"}]}"#
        ));
        let written = serde_json::to_value(all.unwrap()).unwrap();
        let mut written: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
        let mut fields = Task::FIELDS.to_vec();
        written.sort_unstable();
        fields.sort_unstable();
        assert_eq!(written, fields);
    }

    #[test]
    fn criteria_are_text_or_a_list() {
        let read = |c: &str| {
            task(&format!(r#"{{"id":"a","title":"t","acceptanceCriteria":{c}}}"#)).unwrap().acceptance_criteria
        };
        assert_eq!(read(r#""works""#), "works");
        assert_eq!(read(r#"["fast","right"]"#), "- fast\n- right");
        assert_eq!(read("null"), "");
    }

    #[test]
    fn a_size_is_a_word_and_other_tools_estimates_are_none() {
        let read = |size: &str| task(&format!(r#"{{"id":"a","title":"t","size":{size}}}"#)).unwrap().size;
        assert_eq!([read(r#""L""#), read(r#""small""#)], [Some(TaskSize::Large), Some(TaskSize::Small)]);
        assert_eq!([read("5"), read("null"), read(r#""huge""#)], [None; 3]);
    }

    #[test]
    fn checks_that_run_together_have_names_of_their_own() {
        let check = |json: &str, words: Option<&str>| {
            let project: Vec<CheckSpec> = serde_json::from_str(r#"[{"name":"test","run":"true"}]"#).unwrap();
            let told = task(&format!(r#"{{"id":"a","title":"t",{json}}}"#)).unwrap().checks_told_apart(&project);
            match words {
                None => assert_eq!(told, Ok(()), "{json}"),
                Some(words) => assert!(told.as_ref().unwrap_err().contains(words), "{told:?}"),
            }
        };
        let of = |name: &str| format!(r#"[{{"name":"{name}","run":"x"}}]"#);
        check(&format!(r#""checks":{}"#, of("own")), None);
        check(&format!(r#""checks":{}"#, of("test")), Some("it has a check named `test`, and so has the project"));
        let part = |id: &str, name: &str| format!(r#"{{"id":"{id}","checks":{}}}"#, of(name));
        check(&format!(r#""subtasks":[{},{}]"#, part("s", "own"), part("p", "own")), None);
        check(&format!(r#""subtasks":[{}]"#, part("s", "test")), Some("its part `s` has a check named `test`"));
        check(&format!(r#""checks":{},"subtasks":[{}]"#, of("own"), part("s", "own")), Some("and so has the task"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for bad in [
            r#"{"id":"a"}"#,
            r#"{"id":"a","title":" "}"#,
            r#"{"id":"a","title":"x\ny"}"#,
            r#"{"id":"a","title":"t","priority":9}"#,
            r#"{"id":"a","title":"t","checks":[{"name":"n","run":"x"},{"name":"n","run":"y"}]}"#,
            r#"{"id":"a","title":"t","subtasks":[{"id":"s","checks":[{"name":"n","run":"x"},{"name":"n","run":"y"}]}]}"#,
        ] {
            assert!(task(bad).is_err(), "{bad}");
        }
    }
}
