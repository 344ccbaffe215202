//! A person's changes to the task file: under its lock, in a new file that takes the old one's place, every other line
//! byte for byte.

use super::locked_file::{append_locked, read_locked};
use super::overlay::Overlay;
use super::task_file::{TaskFile, TaskLine};
use super::tasks::{FileTasks, io_error};
use crate::domain::{Status, Task, TaskField, TaskId, Timestamp, is_integration, nearest_id, slug};
use crate::files::Place;
use crate::services::TasksError;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::io::Read;
use std::ops::Range;

/// The keys of a line, each value as it is spelled: one that nobody names stays as it is, a number of 30 digits too.
type Keys = IndexMap<String, Box<RawValue>>;

impl FileTasks {
    /// Appends a task, given as the keys of its line; unknown keys are kept. What is missing is filled in: `id`
    /// (the title's [`slug`], with a number where that is taken; `t-` and six hex digits where a title has none), `status`, `createdAt`, `updatedAt`. The file is created if there is none.
    ///
    /// # Errors
    /// [`TasksError::Invalid`], [`TasksError::Exists`], [`TasksError::Io`]; nothing was changed then.
    pub async fn add(&self, keys: Map<String, Value>) -> Result<Task, TasksError> {
        let now = self.clock.now();
        self.blocking(move |this| this.add_now(keys, now)).await
    }

    /// Changes keys of a task's line; `null` removes a key, the others stay. Where the patch has no `status`, the line
    /// gets the effective one, so that an edit does not undo what a run found out.
    ///
    /// # Errors
    /// [`TasksError::NotFound`]; [`TasksError::Invalid`] if the result is no task or the id would change;
    /// [`TasksError::Io`]. Nothing was changed then.
    pub async fn edit(&self, id: &str, patch: Map<String, Value>) -> Result<Task, TasksError> {
        let (id, now) = (id.to_owned(), self.clock.now());
        self.blocking(move |this| this.edit_now(&id, patch, now)).await
    }

    /// Closes, reopens or blocks a task; it beats whatever runs have found out so far, and reopening gives the task
    /// its attempts anew.
    ///
    /// # Errors
    /// [`TasksError::NotFound`], [`TasksError::Io`]; nothing was changed then.
    pub async fn set_status(&self, id: &str, status: Status) -> Result<Task, TasksError> {
        let patch = Map::from_iter([("status".to_owned(), status.as_str().into())]);
        self.edit(id, patch).await
    }

    /// Writes the statuses that the overlay decides into the task file, and says how many lines that changed.
    ///
    /// # Errors
    /// [`TasksError::Io`]; nothing was changed then.
    pub async fn sync(&self) -> Result<usize, TasksError> {
        self.blocking(Self::sync_now).await
    }

    fn add_now(&self, mut keys: Map<String, Value>, now: Timestamp) -> Result<Task, TasksError> {
        let given = keys.get("id").is_some_and(|id| !id.is_null());
        if !given {
            keys.shift_remove("id");
            // Stands in until the others are known: what is no task must not create the file.
            keys.shift_insert(0, "id".to_owned(), "t-0".into());
        }
        let (open, now_text) = (Status::Open.as_str(), now.to_string());
        for (key, value) in [("status", open), ("createdAt", &now_text), ("updatedAt", &now_text)] {
            keys.entry(key).or_insert_with(|| value.into());
        }
        task_of(&spelled(&keys)?)?;
        drop(append_locked(&Place::named(&self.task_file), None).map_err(io_error("create", &self.task_file))?);
        let mut editing = Editing::begin(self)?;
        if !given {
            let id = editing.free_slug(&keys)?.unwrap_or_else(|| editing.free_id(&keys, now));
            keys.insert("id".to_owned(), id.into());
        }
        let keys = spelled(&keys)?;
        let task = task_of(&keys)?;
        if editing.position(task.id.as_str()).is_some() {
            return Err(TasksError::Exists { id: task.id, path: self.task_file.clone() });
        }
        editing.append(&keys)?;
        editing.finish()?;
        Ok(task)
    }

    fn edit_now(&self, id: &str, patch: Map<String, Value>, now: Timestamp) -> Result<Task, TasksError> {
        let mut editing = Editing::begin(self)?;
        let overlay = self.read_overlay()?;
        let Some(position) = editing.position(id) else {
            return Err(editing.not_found(id));
        };
        let line = &editing.file.lines[position];
        let mut keys = editing.keys(line)?;
        if overlay.status(&line.task) != line.task.status {
            keys.insert("status".to_owned(), raw(overlay.status(&line.task).as_str())?);
        }
        for (key, value) in patch {
            if value.is_null() {
                keys.shift_remove(&key);
            } else {
                keys.insert(key, raw(&value)?);
            }
        }
        let updated = newer_than_marks(now, &overlay, &line.task.id);
        keys.insert("updatedAt".to_owned(), raw(&updated)?);
        let task = task_of(&keys)?;
        if task.id != line.task.id {
            return Err(TasksError::Invalid(format!(
                "the id of `{id}` cannot be changed, because branches, marks and lessons name it"
            )));
        }
        let range = line.bytes.clone();
        editing.replace(range, &keys)?;
        editing.finish()?;
        Ok(task)
    }

    fn sync_now(&self) -> Result<usize, TasksError> {
        let mut editing = Editing::begin(self)?;
        let overlay = self.read_overlay()?;
        let mut changed = Vec::new();
        for line in &editing.file.lines {
            let status = overlay.status(&line.task);
            let newest = overlay.newest(&line.task.id);
            let (Some(at), true) = (newest, status != line.task.status) else {
                continue;
            };
            let mut keys = editing.keys(line)?;
            keys.insert("status".to_owned(), raw(status.as_str())?);
            keys.insert("updatedAt".to_owned(), raw(&at)?);
            changed.push((line.bytes.clone(), keys));
        }
        let count = changed.len();
        if count > 0 {
            // From the end, so that what is still to be replaced stays where it is.
            for (range, keys) in changed.into_iter().rev() {
                editing.replace(range, &keys)?;
            }
            editing.finish()?;
        }
        Ok(count)
    }
}

/// A person's word beats the marks there are, also when a clock stands still or runs behind.
fn newer_than_marks(now: Timestamp, overlay: &Overlay, id: &TaskId) -> Timestamp {
    let tick = jiff::SignedDuration::from_nanos(1);
    overlay.newest(id).and_then(|at| at.checked_add(tick).ok()).map_or(now, |at| at.max(now))
}

fn task_of(keys: &Keys) -> Result<Task, TasksError> {
    let line = line_of(keys)?;
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(&line)).map_err(|error| {
        let path = error.path().to_string();
        TasksError::Invalid(wrong(&path, &without_place(&error.into_inner())))
    })
}

/// What is wrong at a path of a task, in words for whoever wrote it, with what belongs there.
fn wrong(path: &str, words: &str) -> String {
    let missing = words.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    if path == "." || path.contains('?') {
        let field = missing.and_then(Task::field);
        return field.map_or_else(|| words.to_owned(), |field| format!("{words}: it must be {}", belongs(field)));
    }
    let found = words.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "));
    let Some(field) = path.split(['.', '[']).next().and_then(Task::field) else { return format!("`{path}`: {words}") };
    match found {
        Some((found, _)) if path == field.name => {
            format!("`{path}` is {}; it must be {}", named(found), belongs(field))
        }
        Some((found, expected)) => {
            let expected = named(expected);
            format!("`{path}` is {}, expected {expected}; `{}` is {}", named(found), field.name, belongs(field))
        }
        None => format!("`{path}`: {words}; `{}` must be {}", field.name, belongs(field)),
    }
}

fn belongs(field: &TaskField) -> String {
    format!("{}, such as {{\"{}\": {}}}", field.takes, field.name, field.example)
}

/// What JSON calls it, in plain words.
fn named(what: &str) -> String {
    let plain =
        [("string ", "the text "), ("integer ", "the number "), ("floating point ", "the number "), ("boolean ", "")];
    match what {
        "sequence" | "a sequence" => "a list".to_owned(),
        "map" | "a map" => "an object".to_owned(),
        "a string" => "a text".to_owned(),
        "u8" | "u32" | "u64" => "a whole number from 0 on".to_owned(),
        _ => plain
            .iter()
            .find_map(|(kind, word)| Some(format!("{word}{}", what.strip_prefix(kind)?)))
            .unwrap_or_else(|| what.to_owned()),
    }
}

fn line_of(keys: &Keys) -> Result<String, TasksError> {
    serde_json::to_string(keys).map_err(invalid)
}

fn raw<T: Serialize + ?Sized>(value: &T) -> Result<Box<RawValue>, TasksError> {
    to_raw_value(value).map_err(invalid)
}

fn spelled(keys: &Map<String, Value>) -> Result<Keys, TasksError> {
    keys.iter().map(|(key, value)| Ok((key.clone(), raw(value)?))).collect()
}

fn invalid(error: serde_json::Error) -> TasksError {
    TasksError::Invalid(without_place(&error))
}

/// Without the place in a line that nobody has written like that.
fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.as_str(), |(words, _)| words).to_owned()
}

/// The task file in one hand while it is changed.
struct Editing<'t> {
    tasks: &'t FileTasks,
    /// Holds the lock; nothing if there is no file.
    locked: Option<File>,
    bytes: Vec<u8>,
    file: TaskFile,
}

impl<'t> Editing<'t> {
    fn begin(tasks: &'t FileTasks) -> Result<Self, TasksError> {
        let read = || -> io::Result<_> {
            let mut bytes = Vec::new();
            let locked = match read_locked(&Place::named(&tasks.task_file)) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => None,
                other => Some(other?),
            };
            if let Some(mut file) = locked.as_ref() {
                file.read_to_end(&mut bytes)?;
            }
            let file = TaskFile::read(bytes.as_slice())?;
            Ok((locked, bytes, file))
        };
        let (locked, bytes, file) = read().map_err(io_error("read", &tasks.task_file))?;
        Ok(Self { tasks, locked, bytes, file })
    }

    fn position(&self, id: &str) -> Option<usize> {
        let mut lines = self.file.lines.iter();
        lines.position(|line| line.task.id.as_str() == id)
    }

    fn not_found(&self, id: &str) -> TasksError {
        let ids = self.file.lines.iter().map(|line| line.task.id.as_str());
        TasksError::NotFound {
            id: id.to_owned(),
            path: self.tasks.task_file.clone(),
            nearest: nearest_id(id, ids).map(str::to_owned),
        }
    }

    /// All keys of a line, also those that a [`Task`] does not know.
    fn keys(&self, line: &TaskLine) -> Result<Keys, TasksError> {
        serde_json::from_slice(&self.bytes[line.bytes.clone()]).map_err(invalid)
    }

    /// The title as an id that no task has or had: one that was removed may have left attempts and lessons behind.
    fn free_slug(&self, keys: &Map<String, Value>) -> Result<Option<String>, TasksError> {
        let Some(slug) = keys.get("title").and_then(Value::as_str).and_then(slug) else { return Ok(None) };
        let overlay = self.tasks.read_overlay()?;
        let is_free = |id: &String| {
            let marked = TaskId::new(id.as_str()).is_ok_and(|id| overlay.newest(&id).is_some());
            self.position(id).is_none() && !marked && !is_integration(id)
        };
        let numbered = (2_u32..).map(|n| format!("{slug}-{n}"));
        Ok(std::iter::once(slug.clone()).chain(numbered).find(is_free))
    }

    fn free_id(&self, keys: &Map<String, Value>, now: Timestamp) -> String {
        let seed = format!("{now} {}", Value::Object(keys.clone()));
        let mut salt = 0_u64;
        loop {
            let hash = Sha256::digest(format!("{salt} {seed}"));
            let id = format!("t-{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2]);
            if self.position(&id).is_none() {
                return id;
            }
            salt += 1;
        }
    }

    fn replace(&mut self, range: Range<usize>, keys: &Keys) -> Result<(), TasksError> {
        self.bytes.splice(range, line_of(keys)?.into_bytes());
        Ok(())
    }

    fn append(&mut self, keys: &Keys) -> Result<(), TasksError> {
        if self.bytes.last().is_some_and(|b| *b != b'\n') {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(format!("{}\n", line_of(keys)?).as_bytes());
        Ok(())
    }

    fn finish(self) -> Result<(), TasksError> {
        let path = &self.tasks.task_file;
        if self.locked.is_none() {
            return Err(io_error("change", path)(io::ErrorKind::NotFound.into()));
        }
        Place::named(path).replace(&self.bytes).map_err(io_error("change", path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskMark;
    use crate::services::{MockClock, Tasks};
    use serde_json::json;
    use std::path::PathBuf;
    use std::sync::Arc;
    use tempfile::TempDir;

    const NOW: &str = "2026-05-05T00:00:00Z";

    struct Project {
        dir: TempDir,
        tasks: FileTasks,
    }

    impl Project {
        /// A project whose clock stands still.
        fn new(task_file: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let mut clock = MockClock::new();
            clock.expect_now().returning(|| NOW.parse().unwrap());
            let path = dir.path().join("sub/tasks.jsonl");
            if !task_file.is_empty() {
                std::fs::create_dir(dir.path().join("sub")).unwrap();
                std::fs::write(&path, task_file).unwrap();
            }
            let overlay = dir.path().join(".reflection/tasks.jsonl");
            let tasks = FileTasks::open(path, overlay, Arc::new(clock));
            Self { dir, tasks }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("sub/tasks.jsonl")
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.path()).unwrap()
        }

        async fn mark(&self, id: &str, status: Status, at: &str) {
            let mark = TaskMark {
                v: 1,
                id: TaskId::new(id).unwrap(),
                status,
                cause: None,
                run: Some(crate::domain::RunId::new("r1").unwrap()),
                subtask: None,
                attempt: Some(1),
                verdict: None,
                seen: None,
                at: at.parse().unwrap(),
            };
            self.tasks.mark(&[mark]).await.unwrap();
        }

        async fn statuses(&self) -> Vec<String> {
            let list = self.tasks.load().await.unwrap();
            let words = list.tasks.iter();
            words.map(|t| format!("{} {}", t.id, t.status.as_str())).collect()
        }
    }

    fn keys(json: Value) -> Map<String, Value> {
        json.as_object().unwrap().clone()
    }

    #[tokio::test]
    async fn an_added_task_is_the_last_line_and_has_an_id() {
        let project = Project::new("");
        let refused = project.tasks.add(keys(json!({"title": ""}))).await;
        assert!(matches!(refused, Err(TasksError::Invalid(_))), "{refused:?}");
        assert!(!project.path().exists());

        let a = project.tasks.add(keys(json!({"title": "A", "mine": 1}))).await.unwrap();
        let b = project.tasks.add(keys(json!({"title": "A", "mine": 1}))).await.unwrap();
        assert_ne!(a.id, b.id);
        assert_eq!((a.id.as_str(), b.id.as_str()), ("a", "a-2"));
        let other = project.tasks.add(keys(json!({"title": "合計を直す", "mine": 1}))).await.unwrap();
        assert_eq!((&other.id.as_str()[..2], other.id.as_str().len()), ("t-", "t-123456".len()));
        let line = |id| {
            format!(r#"{{"id":"{id}","title":"A","mine":1,"status":"open","createdAt":"{NOW}","updatedAt":"{NOW}"}}"#)
        };
        assert!(project.text().starts_with(&format!("{}\n{}\n", line(a.id), line(b.id.clone()))));
        let twice = project.tasks.add(keys(json!({"id": b.id, "title": "B"}))).await;
        assert!(matches!(twice, Err(TasksError::Exists { .. })), "{twice:?}");
    }

    #[tokio::test]
    async fn an_edit_leaves_every_other_byte() {
        let front = "\u{feff}\r\n {\"id\":\"a\",  \"title\":\"A\"}\r\nbroken {\n\n";
        let back = "\r\n\0\n{\"id\":\"c\",\"title\":\"C\"}";
        let mine = "[1.0, 123456789012345678901234567890, 1e400]";
        let b = format!(r#"{{"id":"b", "mine":{mine}, "title":"B","labels":["x"]}}"#);
        let project = Project::new(&[front, &b, back].concat());
        let patch = json!({"title": "B2", "labels": null, "priority": 0});
        let task = project.tasks.edit("b", keys(patch)).await.unwrap();
        assert_eq!((task.title.as_str(), task.priority), ("B2", 0));
        let changed = format!(r#"{{"id":"b","mine":{mine},"title":"B2","priority":0,"updatedAt":"{NOW}"}}"#);
        assert_eq!(project.text(), [front, &changed, back].concat());

        for (patch, words) in [
            (json!({"priority": 7}), "priority 7"),
            (
                json!({"labels": "x"}),
                r#"`labels` is the text "x"; it must be a list of texts, such as {"labels": ["parser""#,
            ),
            (json!({"description": 5}), "`description` is the number `5`; it must be a text, such as"),
            (
                json!({"checks": [{"name": 5, "run": "x"}]}),
                "`checks[0].name` is the number `5`, expected a text; `checks` is a list",
            ),
            (json!({"expects": "fixx"}), "`change`, `fix` or `nothing`, such as {\"expects\": \"fix\"}"),
            (json!({"title": null}), "missing field `title`"),
            (json!({"id": "z"}), "cannot be changed"),
            (json!({"deps": ["c"]}), r#"expected an object such as {"id": "b", "type": "blocks"}"#),
            (json!({"checks": ["true"]}), r#"expected an object such as {"name": "test", "run": "cargo test"}"#),
            (json!({"subtasks": ["x"]}), r#"expected an object such as {"id": "parser", "title": "Mend the parser"}"#),
        ] {
            let error = project.tasks.edit("b", keys(patch)).await.unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        let added = project.tasks.add(keys(json!({"id": "d", "title": "D"}))).await.unwrap();
        assert!(project.text().starts_with(&[front, &changed, back, "\n{\"id\":\"d\""].concat()));
        assert_eq!(added.id.as_str(), "d");
    }

    #[tokio::test]
    async fn an_unknown_id_names_the_nearest() {
        for (id, expected) in [("fix-logn", Some("fix-login")), ("zzz", None)] {
            let project = Project::new("{\"id\":\"fix-login\",\"title\":\"t\"}\n{\"id\":\"b\",\"title\":\"t\"}\n");
            let error = project.tasks.set_status(id, Status::Closed).await.unwrap_err();
            let TasksError::NotFound { nearest, .. } = &error else { panic!("{error:?}") };
            assert_eq!(nearest.as_deref(), expected);
        }
        let nothing = Project::new("");
        let error = nothing.tasks.set_status("a", Status::Closed).await;
        assert!(matches!(error, Err(TasksError::NotFound { .. })), "{error:?}");
        assert_eq!(nothing.tasks.sync().await.unwrap(), 0);
        assert!(!nothing.path().exists());
    }

    #[tokio::test]
    async fn a_person_beats_the_marks_and_an_edit_keeps_what_they_say() {
        let project = Project::new("{\"id\":\"a\",\"title\":\"t\"}\n");
        project.mark("a", Status::Closed, "2027-01-01T00:00:00Z").await;
        assert_eq!(project.statuses().await, ["a closed"]);
        project.tasks.edit("a", keys(json!({"title": "new"}))).await.unwrap();
        assert_eq!(project.statuses().await, ["a closed"]);
        project.tasks.set_status("a", Status::Open).await.unwrap();
        assert_eq!(project.statuses().await, ["a open"], "also from the future");
        let list = project.tasks.load().await.unwrap();
        let count = list.attempts.values().next().unwrap();
        assert_eq!((count.last, count.since_opened), (1, 0));
    }

    #[tokio::test]
    async fn sync_writes_what_the_marks_say_once() {
        let a = r#"{"id":"a","title":"t","mine":true}"#;
        let b = r#"{"id":"b","title":"t"}"#;
        let project = Project::new(&format!("{a}\nbroken\n{b}\n{b}\n"));
        project.mark("a", Status::Closed, NOW).await;
        project.mark("b", Status::InProgress, NOW).await;
        assert_eq!(project.tasks.sync().await.unwrap(), 1);
        let synced = format!(r#"{{"id":"a","title":"t","mine":true,"status":"closed","updatedAt":"{NOW}"}}"#);
        assert_eq!(project.text(), format!("{synced}\nbroken\n{b}\n{b}\n"));
        assert_eq!(project.statuses().await, ["a closed", "b open"]);
        assert_eq!(project.tasks.sync().await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_task_file_that_cannot_be_read_is_an_error_with_its_path() {
        let project = Project::new("");
        assert_eq!(project.tasks.load().await.unwrap().tasks, []);
        std::fs::create_dir_all(project.path()).unwrap();
        let error = project.tasks.load().await.unwrap_err().to_string();
        assert!(
            error.starts_with("failed to read ") && error.contains("is a directory where a file belongs"),
            "{error}"
        );
    }
}
