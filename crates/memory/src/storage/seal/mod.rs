//! Records that show who wrote them.
//!
//! Each line of `memory/reflections.jsonl` and `.reflection/tasks.jsonl` that this program writes ends with a digest, made with a
//! key that lies in the user's state directory, outside of every project. A journal's lines are chained: the digest of one is
//! made of the one before it too, so that none can be left out or put in between. A line without its digest was written by
//! somebody else (an editor, a merge, a colleague, an agent): it is *foreign*.
//!
//! What is in the project in which a user's first run of all begins, before there is a key, is adopted once, by what it says; later, and in
//! every other directory, a person adopts. That, and where the records ended, is kept beside the key. In a directory without a run yet, what was
//! written or adopted in another project of the same user counts as well: it may have been moved or copied from there.
//!
//! Who can read the key can forge all of this: without a sandbox that is every program of the user's.

mod believed;
mod noted;

use self::believed::{contents, digest_lines, for_each_line_in, foreign, read_digests};
use self::noted::Noted;
use super::lines::bare;
use super::locked_file::append_locked;
use super::state;
use crate::domain::{AttemptRecord, LessonEvent, RunId, policy};
use crate::files::Place;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

pub(super) use self::believed::{Belief, Chain};

/// What a digest adds to a line, in bytes.
pub(super) const SEAL_BYTES: usize = FIELD.len() + HEX + END.len() - 1;

const FIELD: &[u8] = b",\"digest\":\"";
const END: &[u8] = b"\"}";
/// 128 bits: nobody finds a line with a given digest by trying.
const HEX: usize = 32;
/// As long as what SHA-256 gives: RFC 2104 asks for no more.
const KEY_BYTES: usize = 32;

type Keyed = Hmac<Sha256>;

/// Which kind of line it is: none passes for one of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Reflection,
    Lesson,
    Attempt,
    Mark,
    Entry,
    /// Of a lesson for all projects, in the user's own state directory.
    Everywhere,
}

impl LineKind {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Reflection => b"reflection\0",
            Self::Lesson => b"lesson\0",
            Self::Attempt => b"attempt\0",
            Self::Mark => b"mark\0",
            Self::Entry => b"entry\0",
            Self::Everywhere => b"everywhere\0",
        }
    }
}

/// By where it is: marks, journals and attempts of one project are nothing in another one. Reflections and what became of them are: the memory
/// of a clone is merged into that of another clone, and what happened there did not happen here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProjectNumber(u128);

impl ProjectNumber {
    /// What the digest of a line that follows no other is made of, beside the line.
    fn before(self, kind: LineKind) -> u128 {
        if matches!(kind, LineKind::Reflection | LineKind::Lesson | LineKind::Everywhere) { 0 } else { self.0 }
    }

    /// The same of a run's first entry.
    fn first_of(self, run: &RunId) -> u128 {
        self.0 ^ short(&Sha256::digest(run.as_str()))
    }
}

/// What of the memory a person took over, in lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Of `memory/reflections.jsonl`.
    pub reflections: usize,
    /// Of `memory/lessons.jsonl`: what became of them.
    pub events: usize,
    /// Of `memory/attempts.jsonl`.
    pub attempts: usize,
}

/// The digests of one project's records.
#[derive(Clone)]
pub struct Seals {
    shared: Arc<Shared>,
}

struct Shared {
    key: Place,
    /// Of this project, beside the key.
    dir: Place,
    /// Of all projects of the user.
    records: Place,
    project: ProjectNumber,
    memory: Place,
    lessons: Place,
    attempts: Place,
    marks: Place,
    state_dir: PathBuf,
    kept_key: Mutex<Option<Keyed>>,
    belief: Mutex<Option<(Stamp, Arc<Belief>)>>,
    noted: Mutex<Option<Noted>>,
}

/// By which a changed file is told from what was read of it.
type Stamp = Option<(u64, u64, (i64, i64))>;

impl Seals {
    /// Of the records of a project; nothing is read or created yet.
    #[must_use]
    pub fn of(project: &policy::Project) -> Self {
        let user = project.user_state();
        // By whatever link or spelling somebody comes, it is one project.
        let root = project.root.canonicalize().unwrap_or_else(|_| project.root.clone());
        let root = [b"project\0", root.as_os_str().as_bytes()].concat();
        let number = ProjectNumber(short(&Sha256::digest(root)));
        let state_dir = project.state_dir();
        let shared = Shared {
            key: Place::new(user, "key"),
            dir: Place::new(user, "records").join(format!("{:032x}", number.0)),
            records: Place::new(user, "records"),
            project: number,
            memory: Place::with_names(&project.memory_file(), 2),
            lessons: Place::with_names(&project.lessons_file(), 2),
            attempts: Place::with_names(&project.attempts_file(), 2),
            marks: state::state(&state_dir).join("tasks.jsonl"),
            state_dir,
            kept_key: Mutex::default(),
            belief: Mutex::default(),
            noted: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Adopts what is believed so far, if no run ever began here: all that is there, if the user has no key yet.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn begin(&self) -> io::Result<()> {
        self.adopt_first()?;
        // A memory that cannot be read costs its lessons, never a run.
        if let Err(error) = self.note_what_is_away() {
            tracing::warn!(%error, "what takes lessons away was not noted");
        }
        Ok(())
    }

    /// Notes what takes lessons away by lines that are one's own: of a project that was moved or copied here, nothing is noted yet.
    fn note_what_is_away(&self) -> io::Result<()> {
        // Not what is kept of it: before the first line is written there is no key.
        let belief = self.belief_in(read_digests(self.shared.dir.join("adopted").open_file()?)?)?;
        let noted = self.away()?;
        let mut all = BTreeSet::new();
        let file = match self.shared.lessons.open_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?),
        };
        for_each_line_in(file, |line| {
            // Of what was adopted only that counts which lets no other lesson into a prompt.
            let counts = |event: &LessonEvent| {
                (event.change.is_away() && belief.is_ours(LineKind::Lesson, line))
                    || (event.change.takes_away() && belief.is_own(LineKind::Lesson, line))
            };
            let event = serde_json::from_slice::<LessonEvent>(line).ok();
            all.extend(event.filter(|event| counts(event) && !noted.contains(event)));
        })?;
        self.note_away(&Vec::from_iter(all))
    }

    fn adopt_first(&self) -> io::Result<()> {
        let adopted = self.shared.dir.join("adopted");
        if adopted.look()?.is_some() {
            return Ok(());
        }
        let (before, after) = (self.belief_before()?, self.belief_in(HashSet::new())?);
        let taken =
            |place: &Place, kind| contents(place, kind, |line| before.holds(kind, line) && !after.holds(kind, line));
        // A memory that cannot be read costs its lessons, never a run.
        let mut digests = taken(&self.shared.memory, LineKind::Reflection).unwrap_or_default();
        digests.extend(taken(&self.shared.lessons, LineKind::Lesson).unwrap_or_default());
        digests.extend(taken(&self.shared.attempts, LineKind::Attempt).unwrap_or_default());
        digests.extend(taken(&self.shared.marks, LineKind::Mark)?);
        // Another process may have been faster, and then it is its word that counts.
        adopted.create(&digest_lines(&digests)).map(drop)
    }

    /// Whether a run ever began here, or elsewhere for this user: the first one of all adopts what is there then.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn has_begun(&self) -> io::Result<bool> {
        Ok(self.belief()?.has_begun())
    }

    /// How many lines of the memory nobody believes.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn foreign_lessons(&self) -> io::Result<usize> {
        let belief = self.belief()?;
        Ok(foreign(&self.shared.memory, LineKind::Reflection, &belief)?.len())
    }

    /// How many marks somebody else wrote. Before the first run of all they are believed.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn foreign_marks(&self) -> io::Result<usize> {
        let belief = self.belief()?;
        Ok(contents(&self.shared.marks, LineKind::Mark, |line| !belief.is_own(LineKind::Mark, line))?.len())
    }

    /// Adopts what is in the memory now, and says how many lines of which kind that are.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn adopt_memory(&self) -> io::Result<Adopted> {
        self.begin()?;
        let belief = self.belief()?;
        let reflections = foreign(&self.shared.memory, LineKind::Reflection, &belief)?;
        let events = foreign(&self.shared.lessons, LineKind::Lesson, &belief)?;
        // What is no attempt is no line to take over.
        let is_attempt = |line: &[u8]| serde_json::from_slice::<AttemptRecord>(bare(line)).is_ok();
        let attempts = contents(&self.shared.attempts, LineKind::Attempt, |line| {
            !belief.holds(LineKind::Attempt, line) && is_attempt(line)
        })?;
        let adopted = Adopted { reflections: reflections.len(), events: events.len(), attempts: attempts.len() };
        let all = [reflections, events, attempts].concat();
        if !all.is_empty() {
            append_locked(&self.shared.dir.join("adopted"), None)?.write_all(&digest_lines(&all))?;
        }
        self.note_what_is_away()?;
        Ok(adopted)
    }

    /// A line of the memory or of the marks with its digest.
    pub(super) fn seal(&self, kind: LineKind, line: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        seal(&self.key_to_write()?, kind, self.shared.project.before(kind), line, sealed).map(drop)
    }

    fn is_begun_here(&self, run: &RunId) -> io::Result<bool> {
        let runs = match self.shared.dir.join("runs").read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        Ok(runs.split(|byte| *byte == b'\n').any(|line| line == run.as_str().as_bytes()))
    }

    /// Whether what a run's journal says of attempts counts as what happened here: it was begun here, or nothing ever was.
    pub(super) fn counts(&self, run: &RunId) -> io::Result<bool> {
        Ok(!self.belief()?.has_begun() || self.is_begun_here(run)?)
    }

    /// Whether a run was begun by this program, in this directory: no other one is gone on with.
    #[must_use]
    pub fn has_begun_run(&self, run: &RunId) -> bool {
        self.is_begun_here(run).unwrap_or(false)
    }

    fn key(&self) -> io::Result<Option<Keyed>> {
        let mut kept = lock(&self.shared.kept_key);
        if kept.is_none() {
            *kept = match self.shared.key.read() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                other => Some(self.key_of(&other?)?),
            };
        }
        Ok(kept.clone())
    }

    fn key_to_write(&self) -> io::Result<Keyed> {
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        // Another process may have been faster.
        self.shared.key.create_private(&bytes)?;
        self.key()?.ok_or_else(|| io::Error::other("the key was removed"))
    }

    fn key_of(&self, bytes: &[u8]) -> io::Result<Keyed> {
        let path = self.shared.key.path().display();
        let what = format!("{path} holds no key of {KEY_BYTES} bytes: remove it, and a new one is made");
        let key = Some(bytes).filter(|bytes| bytes.len() == KEY_BYTES);
        key.and_then(|key| Keyed::new_from_slice(key).ok()).ok_or_else(|| io::Error::other(what))
    }
}

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seals").field(&self.shared.dir.path()).finish()
    }
}

fn seal(key: &Keyed, kind: LineKind, last: u128, line: &[u8], sealed: &mut Vec<u8>) -> io::Result<u128> {
    let body = line.strip_suffix(b"}").ok_or_else(|| io::Error::other("a record is no JSON object"))?;
    let digest = keyed(key, kind, last, body);
    sealed.extend_from_slice(body);
    sealed.extend_from_slice(FIELD);
    sealed.extend_from_slice(format!("{digest:032x}").as_bytes());
    sealed.extend_from_slice(END);
    Ok(digest)
}

/// The line without its digest and without its last brace, and the digest.
fn split(line: &[u8]) -> Option<(&[u8], u128)> {
    let rest = line.strip_suffix(END)?;
    let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(HEX)?)?;
    let digest = std::str::from_utf8(digest).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((rest.strip_suffix(FIELD)?, u128::from_str_radix(digest, 16).ok()?))
}

fn keyed(key: &Keyed, kind: LineKind, last: u128, body: &[u8]) -> u128 {
    let mut mac = key.clone();
    mac.update(kind.label());
    mac.update(&last.to_be_bytes());
    mac.update(body);
    short(&mac.finalize().into_bytes())
}

/// What an adopted line is known by: all that it says.
fn content(kind: LineKind, line: &[u8]) -> u128 {
    short(&Sha256::new().chain_update(kind.label()).chain_update(line).finalize())
}

fn short(digest: &[u8]) -> u128 {
    digest.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// A panic elsewhere leaves these values whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(super) fn seals_of(root: &std::path::Path) -> Seals {
    let (tasks, rooms) = (root.join("p/tasks.jsonl"), root.join("state/rooms"));
    Seals::of(&policy::Project { name: "p".to_owned(), root: root.join("p"), settings: "project.json", tasks, rooms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LessonChange, LessonWriter, Origin, Reflection};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// Writes a file of the project of [`seals_of`].
    pub(super) fn write(root: &Path, path: &str, text: &str) {
        let path = root.join("p").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn of(dir: &Path, root: &str) -> Seals {
        let (tasks, rooms) = (dir.join(root).join("tasks.jsonl"), dir.join("state/rooms"));
        Seals::of(&policy::Project {
            name: "p".to_owned(),
            root: dir.join(root),
            settings: "project.json",
            tasks,
            rooms,
        })
    }

    #[test]
    fn a_project_is_the_same_whatever_link_leads_to_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("p")).unwrap();
        std::os::unix::fs::symlink("p", dir.path().join("link")).unwrap();
        let mut mark = Vec::new();
        of(dir.path(), "link").begin().unwrap();
        of(dir.path(), "link/../p").seal(LineKind::Mark, br#"{"id":"a"}"#, &mut mark).unwrap();
        for root in ["p", "link", "link/../p"] {
            assert!(of(dir.path(), root).belief().unwrap().is_ours(LineKind::Mark, &mark), "{root}");
        }
    }

    #[test]
    fn what_took_a_lesson_away_is_noted_where_a_project_came_to() {
        let dir = tempfile::tempdir().unwrap();
        let event = crate::curation::testing::event(1, "a", LessonChange::Retired, LessonWriter::Person);
        let mut line = Vec::new();
        of(dir.path(), "p").seal(LineKind::Lesson, &serde_json::to_vec(&event).unwrap(), &mut line).unwrap();
        write(dir.path(), "memory/lessons.jsonl", &String::from_utf8(line).unwrap());
        fs::rename(dir.path().join("p"), dir.path().join("moved")).unwrap();
        let moved = of(dir.path(), "moved");
        moved.begin().unwrap();
        fs::remove_file(dir.path().join("moved/memory/lessons.jsonl")).unwrap();
        assert_eq!(moved.away().unwrap(), [event].into());
        moved.begin().unwrap();
        assert_eq!(moved.away().unwrap().len(), 1, "once");
    }

    #[test]
    fn only_what_was_sealed_or_adopted_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "memory/reflections.jsonl", "{\"id\":\"old\"}\n\n{\"id\":\"older\"}\r\n");
        let one = seals_of(dir.path());
        let holds = |line: &[u8]| seals_of(dir.path()).belief().unwrap().holds(LineKind::Reflection, line);
        assert!(holds(br#"{"id":"forged"}"#), "before the first run everything is");
        one.begin().unwrap();
        assert!(holds(br#"{"id":"old"}"#) && holds(br#"{"id":"older"}"#));
        assert!(!holds(br#"{"id":"forged"}"#));
        let mut line = Vec::new();
        one.seal(LineKind::Reflection, br#"{"id":"new"}"#, &mut line).unwrap();
        assert_eq!(line.len(), br#"{"id":"new"}"#.len() + SEAL_BYTES);
        assert!(holds(&line) && holds(&[&line[..], b"\r"].concat()));
        let text = String::from_utf8(line.clone()).unwrap();
        assert!(!holds(text.replace("new", "few").as_bytes()));
        assert!(!seals_of(dir.path()).belief().unwrap().holds(LineKind::Mark, &line), "of another kind");
        // Of another project of the same user, a lesson counts, and a mark does not.
        let other = Seals::of(&policy::Project {
            root: dir.path().join("q"),
            settings: "project.json",
            name: "q".to_owned(),
            tasks: dir.path().join("q/tasks.jsonl"),
            rooms: dir.path().join("state/rooms"),
        });
        let (mut lesson, mut mark) = (Vec::new(), Vec::new());
        other.seal(LineKind::Reflection, br#"{"id":"q"}"#, &mut lesson).unwrap();
        other.seal(LineKind::Mark, br#"{"id":"q"}"#, &mut mark).unwrap();
        assert!(holds(&lesson));
        let is_mark = |seals: &Seals| seals.belief().unwrap().holds(LineKind::Mark, &mark);
        other.begin().unwrap();
        assert!(is_mark(&other) && !is_mark(&one));
        let key = dir.path().join("state/key");
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o077, 0, "only the user reads it");

        write(dir.path(), "memory/reflections.jsonl", "{\"id\":\"forged\"}\n");
        assert_eq!(one.adopt_memory().unwrap().reflections, 1);
        // A person whose word was adopted is nobody that is known here.
        let mut adopted = Reflection { origin: Some(Origin::Person), ..crate::curation::testing::reflection("a", "t") };
        one.belief().unwrap().weigh(br#"{"id":"forged"}"#, &mut adopted);
        assert_eq!((adopted.origin, adopted.foreign), (Some(Origin::Import), false));
        assert!(holds(br#"{"id":"forged"}"#) && holds(br#"{"id":"old"}"#));
        assert_eq!(one.adopt_memory().unwrap(), Adopted::default());
        fs::write(&key, "short").unwrap();
        let error = seals_of(dir.path()).belief().map(drop).unwrap_err().to_string();
        assert!(error.contains("state/key holds no key"), "{error}");
    }

    #[test]
    fn a_new_directory_brings_only_what_the_user_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let (lesson, mark) = ("memory/reflections.jsonl", ".reflection/tasks.jsonl");
        let one = seals_of(dir.path());
        one.begin().unwrap();
        let line = |kind, text: &[u8]| {
            let mut line = Vec::new();
            one.seal(kind, text, &mut line).unwrap();
            String::from_utf8(line).unwrap() + "\n"
        };
        let marks = line(LineKind::Mark, b"{\"id\":\"own\"}") + "{\"id\":\"forged\"}\n";
        write(dir.path(), lesson, &(line(LineKind::Reflection, b"{\"id\":\"own\"}") + "{\"id\":\"adopted\"}\n"));
        write(dir.path(), mark, &marks);
        assert_eq!(one.adopt_memory().unwrap().reflections, 1);
        let memory = fs::read_to_string(dir.path().join("p").join(lesson)).unwrap() + "{\"id\":\"forged\"}\n";
        let moved = dir.path().join("moved");
        for (file, text) in [(lesson, &memory), (mark, &marks)] {
            fs::create_dir_all(moved.join(file).parent().unwrap()).unwrap();
            fs::write(moved.join(file), text).unwrap();
        }
        let rooms = dir.path().join("state/rooms");
        let (name, settings, tasks) = ("q".to_owned(), "project.json", moved.join("tasks.jsonl"));
        let project = policy::Project { name, root: moved.clone(), settings, tasks, rooms };
        let count = || (Seals::of(&project).foreign_lessons().unwrap(), Seals::of(&project).foreign_marks().unwrap());
        assert_eq!(count(), (1, 1), "before its first run");
        Seals::of(&project).begin().unwrap();
        assert_eq!(count(), (1, 1), "and after it");
        fs::write(moved.join(mark), marks + &line(LineKind::Mark, b"{\"id\":\"later\"}")).unwrap();
        assert_eq!(count(), (1, 2), "what is written elsewhere later is nothing here");
    }

    #[test]
    fn a_chain_takes_its_lines_in_their_order_and_nothing_between() {
        let dir = tempfile::tempdir().unwrap();
        let (seals, run) = (seals_of(dir.path()), RunId::new("r1").unwrap());
        let journal = state::journal(&dir.path().join("p/.reflection"), &run);
        let chain = seals.chain_on(&run, &journal).unwrap();
        let (mut lines, mut last) = (Vec::new(), chain.last());
        for n in 0..4 {
            let mut line = Vec::new();
            last = chain.seal(last, format!("{{\"n\":{n}}}").as_bytes(), &mut line).unwrap();
            lines.push(line);
        }
        let taken =
            |chain: &mut Chain, order: &[usize]| order.iter().map(|n| chain.takes(&lines[*n])).collect::<Vec<_>>();
        assert_eq!(taken(&mut seals.chain(&run).unwrap(), &[0, 1, 2, 3]), [true; 4]);
        assert_eq!(taken(&mut seals.chain(&run).unwrap(), &[0, 0, 2, 1, 1]), [true, false, false, true, false]);
        assert!(!seals.chain(&RunId::new("r2").unwrap()).unwrap().takes(&lines[0]), "of another run");
        let mut shown = seals.chain_to_show(&run).unwrap();
        assert!(shown.takes(&lines[0]) && !shown.takes(b"{\"n\":9}"));
        assert!(seals.chain_to_show(&RunId::new("older").unwrap()).unwrap().takes(b"{\"n\":9}"));
        write(dir.path(), ".reflection/runs/r1/journal.jsonl", &String::from_utf8(lines[..2].join(&b'\n')).unwrap());
        assert_eq!(
            taken(&mut seals.chain_on(&run, &journal).unwrap(), &[1, 2]),
            [false, true],
            "it goes on where it was"
        );
    }
}
