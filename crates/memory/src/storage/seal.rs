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

use super::lines::{bare, for_each_line};
use super::state;
use crate::domain::{Origin, Reflection, RunId, policy};
use crate::files::Place;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

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
}

impl LineKind {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Reflection => b"reflection\0",
            Self::Lesson => b"lesson\0",
            Self::Attempt => b"attempt\0",
            Self::Mark => b"mark\0",
            Self::Entry => b"entry\0",
        }
    }
}

/// By where it is: marks and journals of one project are nothing in another one. Reflections and what became of them are: the memory of a
/// clone is merged into that of another clone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProjectNumber(u128);

impl ProjectNumber {
    /// What the digest of a line that follows no other is made of, beside the line.
    fn before(self, kind: LineKind) -> u128 {
        if matches!(kind, LineKind::Reflection | LineKind::Lesson | LineKind::Attempt) { 0 } else { self.0 }
    }

    /// The same of a run's first entry.
    fn first_of(self, run: &RunId) -> u128 {
        self.0 ^ short(&Sha256::digest(run.as_str()))
    }
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
        let root = [b"project\0", project.root.as_os_str().as_bytes()].concat();
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

    /// What of the memory and of the marks is believed now: everything, as long as the user has no key.
    pub(super) fn belief(&self) -> io::Result<Arc<Belief>> {
        let adopted = self.shared.dir.join("adopted");
        let look = match adopted.look() {
            // No state directory of the user's: nothing ever began here.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
            other => other?,
        };
        let stamp = look.as_ref().map(|look| (look.len, look.inode, look.modified));
        let mut kept = lock(&self.shared.belief);
        if let Some((known, belief)) = &*kept
            && *known == stamp
        {
            return Ok(Arc::clone(belief));
        }
        let belief = match look {
            // Nothing can be one's own where there is no such directory.
            None => self.belief_before().or_else(without_directory)?,
            Some(_) => self.belief_in(read_digests(adopted.open_file()?)?)?,
        };
        let belief = Arc::new(belief);
        *kept = Some((stamp, Arc::clone(&belief)));
        Ok(belief)
    }

    fn belief_in(&self, adopted: HashSet<u128>) -> io::Result<Belief> {
        let (key, project) = (self.key()?, self.shared.project);
        Ok(Belief { all: false, begun: true, key, project, elsewhere: Vec::new(), adopted })
    }

    /// Before the first run here.
    fn belief_before(&self) -> io::Result<Belief> {
        let mut belief = self.belief_in(HashSet::new())?;
        belief.begun = belief.key.is_some();
        for (name, _) in self.shared.records.list()? {
            let Some(number) = name.to_str().and_then(|name| u128::from_str_radix(name, 16).ok()) else { continue };
            belief.elsewhere.push(ProjectNumber(number));
            match self.shared.records.join(&name).join("adopted").open_file() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => belief.adopted.extend(read_digests(other?)?),
            }
        }
        Ok(belief)
    }

    /// Adopts what is believed so far, if no run ever began here: all that is there, if the user has no key yet.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn begin(&self) -> io::Result<()> {
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
        Ok(self.belief()?.begun)
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

    /// Adopts what is in the memory now, and says how many lines that are.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn adopt_lessons(&self) -> io::Result<usize> {
        self.begin()?;
        let belief = self.belief()?;
        let found = foreign(&self.shared.memory, LineKind::Reflection, &belief)?;
        // What became of them comes with them.
        let mut all = found.clone();
        all.extend(foreign(&self.shared.lessons, LineKind::Lesson, &belief)?);
        if !all.is_empty() {
            self.shared.dir.join("adopted").append_to()?.write_all(&digest_lines(&all))?;
        }
        Ok(found.len())
    }

    /// A line of the memory or of the marks with its digest.
    pub(super) fn seal(&self, kind: LineKind, line: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        seal(&self.key_to_write()?, kind, self.shared.project.before(kind), line, sealed).map(drop)
    }

    /// Goes on with a run's journal, whose lines that are there are read once.
    pub(super) fn chain_on(&self, run: &RunId, journal: &Place) -> io::Result<Chain> {
        let mut chain = Chain { key: Some(self.key_to_write()?), last: self.shared.project.first_of(run), all: false };
        let file = match journal.open_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?),
        };
        if file.as_ref().map(File::metadata).transpose()?.is_none_or(|meta| meta.len() == 0) {
            self.shared.dir.join("runs").append_to()?.write_all(format!("{run}\n").as_bytes())?;
        }
        for_each_line_in(file, |line| {
            chain.takes(line);
        })?;
        Ok(chain)
    }

    /// Reads a run's journal to decide by it: only what this program wrote is believed.
    pub(super) fn chain(&self, run: &RunId) -> io::Result<Chain> {
        Ok(Chain { key: self.key()?, last: self.shared.project.first_of(run), all: false })
    }

    /// Reads a run's journal to show it: one that was not begun by this version, or not here, is shown as it is.
    pub(super) fn chain_to_show(&self, run: &RunId) -> io::Result<Chain> {
        Ok(Chain { all: !self.is_begun_here(run)?, ..self.chain(run)? })
    }

    fn is_begun_here(&self, run: &RunId) -> io::Result<bool> {
        let runs = match self.shared.dir.join("runs").read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        Ok(runs.split(|byte| *byte == b'\n').any(|line| line == run.as_str().as_bytes()))
    }

    /// Whether a run was begun by this program, in this directory: no other one is gone on with.
    #[must_use]
    pub fn has_begun_run(&self, run: &RunId) -> bool {
        self.is_begun_here(run).unwrap_or(false)
    }

    /// Notes beside the key how far the records of a run reach, and says what others than this program changed in them since
    /// the last time. After a pause only what is the runtime's own is compared: people edit and merge the memory.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub(super) fn note(&self, run: &RunId) -> io::Result<Vec<String>> {
        let mut kept = lock(&self.shared.noted);
        let file = self.shared.dir.join("noted.json");
        let goes_on = kept.is_some();
        let before = match kept.take() {
            Some(before) => before,
            None => file.read().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default(),
        };
        let belief = self.belief()?;
        let journal = state::journal(&self.shared.state_dir, run);
        let [memory, lessons, attempts] = state::MEMORY;
        let records = [
            (memory.to_owned(), &self.shared.memory, LineKind::Reflection),
            (lessons.to_owned(), &self.shared.lessons, LineKind::Lesson),
            (".reflection/tasks.jsonl".to_owned(), &self.shared.marks, LineKind::Mark),
            (format!(".reflection/runs/{run}/journal.jsonl"), &journal, LineKind::Entry),
        ];
        let (mut now, mut changed) = (Noted::default(), Vec::new());
        for (name, place, kind) in records {
            let mut judge = match kind {
                LineKind::Entry => Judge::Chain(Box::new(self.chain(run)?)),
                LineKind::Reflection | LineKind::Lesson | LineKind::Attempt | LineKind::Mark => {
                    Judge::Each(kind, Arc::clone(&belief))
                }
            };
            let seen = match look_at(place, before.0.get(&name), &mut judge) {
                // It costs its lessons, never a run.
                Err(error) if matches!(kind, LineKind::Reflection | LineKind::Lesson) => {
                    changed.extend(now.unreadable(name, &error, &before));
                    continue;
                }
                other => other?,
            };
            if goes_on || !matches!(kind, LineKind::Reflection | LineKind::Lesson) {
                changed.extend(seen.in_words(&name));
            }
            now.0.insert(name, seen.end);
        }
        // Its lines change their places, so that of this file nothing else is noted.
        if let Some(error) = self.shared.attempts.open_file().err().filter(|e| e.kind() != io::ErrorKind::NotFound) {
            changed.extend(now.unreadable(attempts.to_owned(), &error, &before));
        }
        if now != before {
            file.replace_soon(&serde_json::to_vec(&now)?)?;
        }
        *kept = Some(now);
        Ok(changed)
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

/// Which lines are believed.
#[derive(Debug, Default)]
pub(super) struct Belief {
    /// Nobody signs these lines: all of them are one's own.
    all: bool,
    /// Before that, everything is believed.
    begun: bool,
    key: Option<Keyed>,
    project: ProjectNumber,
    /// Other projects of the user, whose marks count here too.
    elsewhere: Vec<ProjectNumber>,
    adopted: HashSet<u128>,
}

impl Belief {
    /// Of lines that nobody signs.
    pub(super) fn of_all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Whether this program wrote the line, or somebody adopted it.
    pub(super) fn holds(&self, kind: LineKind, line: &[u8]) -> bool {
        !self.begun || self.is_own(kind, line)
    }

    /// Whether it is one's own, also before the first run, when all that is there is believed: what others wrote is shown as such.
    pub(super) fn is_own(&self, kind: LineKind, line: &[u8]) -> bool {
        self.is_ours(kind, line) || (!self.adopted.is_empty() && self.adopted.contains(&content(kind, bare(line))))
    }

    /// Says of a lesson who has written it, as far as that is known here: one that nobody here has written or adopted is another's, and a person
    /// whose word stands in an adopted line is nobody that is known here.
    pub(super) fn weigh(&self, line: &[u8], lesson: &mut Reflection) {
        lesson.foreign = !self.is_own(LineKind::Reflection, line);
        if self.is_ours(LineKind::Reflection, line) {
            return;
        }
        // Nor does it stand in the place of a lesson that somebody here knows.
        lesson.replaces = None;
        if lesson.origin == Some(Origin::Person) {
            lesson.origin = Some(Origin::Import);
        }
    }

    /// Whether this program wrote the line, for this user.
    pub(super) fn is_ours(&self, kind: LineKind, line: &[u8]) -> bool {
        if self.all {
            return true;
        }
        let line = bare(line);
        let is_keyed = |key: &Keyed| {
            let is_of = |project: &ProjectNumber| {
                split(line).is_some_and(|(body, digest)| keyed(key, kind, project.before(kind), body) == digest)
            };
            is_of(&self.project) || (kind == LineKind::Mark && self.elsewhere.iter().any(is_of))
        };
        self.key.as_ref().is_some_and(is_keyed)
    }
}

/// How far the chain of a journal goes.
#[derive(Debug)]
pub(super) struct Chain {
    key: Option<Keyed>,
    last: u128,
    /// Every line is believed.
    all: bool,
}

impl Chain {
    /// Of a journal whose writer has no key.
    pub(super) fn of_all() -> Self {
        Self { key: None, last: 0, all: true }
    }

    /// Whether the line is the next one of the chain. The order in which lines are shown is that of the file.
    pub(super) fn takes(&mut self, line: &[u8]) -> bool {
        if self.all {
            return true;
        }
        let Some((body, digest)) = split(bare(line)) else { return false };
        let is_next = self.key.as_ref().is_some_and(|key| keyed(key, LineKind::Entry, self.last, body) == digest);
        if is_next {
            self.last = digest;
        }
        is_next
    }

    /// The line as the next one of the chain, and where the chain ends with it.
    pub(super) fn seal(&self, last: u128, line: &[u8], sealed: &mut Vec<u8>) -> io::Result<u128> {
        let key = self.key.as_ref().ok_or_else(|| io::Error::other("there is no key"))?;
        seal(key, LineKind::Entry, last, line, sealed)
    }

    /// Where it ends.
    pub(super) fn last(&self) -> u128 {
        self.last
    }

    /// It ends there now.
    pub(super) fn goes_on_at(&mut self, last: u128) {
        self.last = last;
    }
}

/// Where the records ended, by their names.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Noted(BTreeMap<String, Ends>);

impl Noted {
    /// Notes a file of the memory that cannot be read; what is to be said of it, once.
    fn unreadable(&mut self, name: String, error: &io::Error, before: &Self) -> Option<String> {
        let end = Ends { digest: UNREADABLE.to_owned(), ..Ends::default() };
        let is_new = before.0.get(&name) != Some(&end);
        let what = if name == state::MEMORY[0] { "no lessons" } else { "no lessons of other tasks" };
        let said = is_new.then(|| format!("{name} cannot be read, and {what} are shown: {error}"));
        self.0.insert(name, end);
        said
    }
}

/// In the place of a digest.
const UNREADABLE: &str = "unreadable";

/// The end of the last whole line, and a digest of all before it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Ends {
    len: u64,
    digest: String,
    /// How long the line is that somebody began there and did not end.
    #[serde(default, skip_serializing_if = "is_zero")]
    begun: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What a file has become since it was noted.
struct Seen {
    /// It does not begin any more with what it was.
    is_other: bool,
    /// Lines behind that which nobody believes.
    foreign: usize,
    end: Ends,
}

impl Seen {
    fn in_words(&self, name: &str) -> Vec<String> {
        let other = self.is_other.then(|| format!("{name}: lines that were there have been changed or removed"));
        let foreign = match self.foreign {
            0 => None,
            1 => Some(format!("{name}: a line that reflexion did not write was added, and is not believed")),
            more => Some(format!("{name}: {more} lines that reflexion did not write were added, and are not believed")),
        };
        other.into_iter().chain(foreign).collect()
    }
}

enum Judge {
    Each(LineKind, Arc<Belief>),
    Chain(Box<Chain>),
}

impl Judge {
    fn takes(&mut self, line: &[u8]) -> bool {
        bare(line).is_empty()
            || match self {
                Self::Each(kind, belief) => belief.holds(*kind, line),
                Self::Chain(chain) => chain.takes(line),
            }
    }
}

fn look_at(place: &Place, before: Option<&Ends>, judge: &mut Judge) -> io::Result<Seen> {
    let file = match place.open_file() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other?),
    };
    let known = before.map_or(0, |before| before.len);
    let (mut hash, mut end, mut foreign, mut begun) = (Sha256::new(), 0, 0, 0);
    let mut is_other = before.is_some_and(|before| before.len > 0);
    if let Some(file) = file {
        for_each_line(file, |line| {
            if !line.ended {
                begun = line.length;
                return Ok(());
            }
            let content = line.content.unwrap_or_default();
            let is_believed = judge.takes(content);
            hash.update(content);
            hash.update(b"\n");
            end = line.start + content.len() as u64 + 1;
            // Who writes behind half a line ends it first.
            let is_known = line.start < known
                || before.is_some_and(|before| line.start == known && before.begun > 0 && before.begun == line.length);
            foreign += usize::from(!is_believed && !is_known);
            if before.is_some_and(|before| before.len == end) {
                is_other = before.is_some_and(|before| before.digest != hex(&hash));
            }
            Ok(())
        })?;
    }
    Ok(Seen { is_other, foreign, end: Ends { len: end, digest: hex(&hash), begun } })
}

fn hex(hash: &Sha256) -> String {
    format!("{:x}", hash.clone().finalize())
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
/// The lines of a file that nobody believes, as they are known when they are adopted; none if there is no file.
fn foreign(place: &Place, kind: LineKind, belief: &Belief) -> io::Result<Vec<u128>> {
    contents(place, kind, |line| !belief.holds(kind, line))
}

/// The lines of a file of which something holds, in the same way.
fn contents(place: &Place, kind: LineKind, holds: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u128>> {
    let mut found = Vec::new();
    let file = match place.open_file() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other?),
    };
    for_each_line_in(file, |line| {
        if !bare(line).is_empty() && holds(line) {
            found.push(content(kind, bare(line)));
        }
    })?;
    Ok(found)
}

fn for_each_line_in(file: Option<File>, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let Some(file) = file else { return Ok(()) };
    for_each_line(file, |line| {
        line.content.into_iter().for_each(&mut visit);
        Ok(())
    })
}

fn digest_lines(digests: &[u128]) -> Vec<u8> {
    digests.iter().flat_map(|digest| format!("{digest:032x}\n").into_bytes()).collect()
}

fn read_digests(mut file: File) -> io::Result<HashSet<u128>> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text.lines().filter_map(|line| u128::from_str_radix(line, 16).ok()).collect())
}

/// A panic elsewhere leaves these values whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of a project below `root`, whose user has their state there as well.
fn without_directory(error: io::Error) -> io::Result<Belief> {
    if error.kind() == io::ErrorKind::NotADirectory { Ok(Belief::default()) } else { Err(error) }
}

#[cfg(test)]
pub(super) fn seals_of(root: &std::path::Path) -> Seals {
    let (tasks, rooms) = (root.join("p/tasks.jsonl"), root.join("state/rooms"));
    Seals::of(&policy::Project { name: "p".to_owned(), root: root.join("p"), settings: "project.json", tasks, rooms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join("p").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
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
        assert_eq!(one.adopt_lessons().unwrap(), 1);
        // A person whose word was adopted is nobody that is known here.
        let mut adopted = Reflection { origin: Some(Origin::Person), ..crate::curation::testing::reflection("a", "t") };
        one.belief().unwrap().weigh(br#"{"id":"forged"}"#, &mut adopted);
        assert_eq!((adopted.origin, adopted.foreign), (Some(Origin::Import), false));
        assert!(holds(br#"{"id":"forged"}"#) && holds(br#"{"id":"old"}"#));
        assert_eq!(one.adopt_lessons().unwrap(), 0);
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
        assert_eq!(one.adopt_lessons().unwrap(), 1);
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

    #[test]
    fn what_others_change_in_the_records_is_said_once() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunId::new("r1").unwrap();
        let seals = seals_of(dir.path());
        let sealed = |id: &str| {
            let mut line = Vec::new();
            seals.seal(LineKind::Reflection, format!("{{\"id\":\"{id}\"}}").as_bytes(), &mut line).unwrap();
            String::from_utf8(line).unwrap() + "\n"
        };
        let memory = "memory/reflections.jsonl";
        write(dir.path(), memory, &sealed("a"));
        seals.begin().unwrap();
        assert!(seals.note(&run).unwrap().is_empty());
        write(dir.path(), memory, &(sealed("a") + &sealed("b")));
        assert!(seals.note(&run).unwrap().is_empty(), "the runtime itself wrote it");
        write(dir.path(), memory, &(sealed("a") + &sealed("b") + "{\"id\":\"x\"}\n{\"torn"));
        let said = seals.note(&run).unwrap();
        assert!(said.len() == 1 && said[0].contains("a line that reflexion did not write"), "{said:?}");
        assert!(seals.note(&run).unwrap().is_empty());
        write(dir.path(), memory, &(sealed("a") + &sealed("b") + "{\"id\":\"x\"}\n{\"torn\n" + &sealed("c")));
        assert!(seals.note(&run).unwrap().is_empty(), "the half line was there, and the runtime wrote behind it");
        write(dir.path(), memory, &sealed("a"));
        let said = seals.note(&run).unwrap();
        assert!(said.len() == 1 && said[0].contains("changed or removed"), "{said:?}");
        for file in ["lessons.jsonl", "attempts.jsonl"] {
            fs::create_dir(dir.path().join("p/memory").join(file)).unwrap();
            let said = seals.note(&run).unwrap();
            let what = "cannot be read, and no lessons of other tasks are shown";
            assert!(said.len() == 1 && said[0].starts_with(&format!("memory/{file} {what}")), "{said:?}");
            assert!(seals.note(&run).unwrap().is_empty(), "once");
            fs::remove_dir(dir.path().join("p/memory").join(file)).unwrap();
            assert!(seals.note(&run).unwrap().is_empty());
        }
        // Another process, after a pause: people may merge their memory, nobody else writes the marks.
        write(dir.path(), memory, "{\"id\":\"y\"}\n");
        write(dir.path(), ".reflection/tasks.jsonl", "{\"id\":\"t\"}\n");
        let said = seals_of(dir.path()).note(&run).unwrap();
        assert!(said.len() == 1 && said[0].contains("tasks.jsonl: a line that reflexion did not write"), "{said:?}");
    }
}
