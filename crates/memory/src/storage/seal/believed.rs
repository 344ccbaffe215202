//! Which lines are believed, and how far a chain of them goes.

use super::{Keyed, LineKind, ProjectNumber, Seals, bare, content, keyed, lock, seal, split};
use crate::domain::{Origin, Reflection, RunId};
use crate::files::Place;
use crate::storage::lines::for_each_line;
use crate::storage::locked_file::append_locked;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::{Read, Write};
use std::sync::Arc;

impl Seals {
    /// What of the memory and of the marks is believed now: everything, as long as the user has no key.
    pub(in crate::storage) fn belief(&self) -> io::Result<Arc<Belief>> {
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

    pub(super) fn belief_in(&self, adopted: HashSet<u128>) -> io::Result<Belief> {
        let (key, project) = (self.key()?, self.shared.project);
        Ok(Belief { begun: true, key, project, adopted, ..Belief::default() })
    }

    /// Before the first run here.
    pub(super) fn belief_before(&self) -> io::Result<Belief> {
        let mut belief = self.belief_in(HashSet::new())?;
        belief.begun = belief.key.is_some();
        for (name, _) in self.shared.records.list()? {
            let Some(number) = name.to_str().and_then(|name| u128::from_str_radix(name, 16).ok()) else { continue };
            belief.elsewhere.push(ProjectNumber(number));
            match self.shared.records.join(&name).join("adopted").open_file() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => belief.adopted_elsewhere.extend(read_digests(other?)?),
            }
        }
        Ok(belief)
    }

    /// Goes on with a run's journal, whose lines that are there are read once.
    pub(in crate::storage) fn chain_on(&self, run: &RunId, journal: &Place) -> io::Result<Chain> {
        let mut chain = Chain { key: Some(self.key_to_write()?), last: self.shared.project.first_of(run), all: false };
        let file = match journal.open_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?),
        };
        if file.as_ref().map(File::metadata).transpose()?.is_none_or(|meta| meta.len() == 0) {
            append_locked(&self.shared.dir.join("runs"), None)?.write_all(format!("{run}\n").as_bytes())?;
        }
        for_each_line_in(file, |line| {
            chain.takes(line);
        })?;
        Ok(chain)
    }

    /// Reads a run's journal to decide by it: only what this program wrote is believed.
    pub(in crate::storage) fn chain(&self, run: &RunId) -> io::Result<Chain> {
        Ok(Chain { key: self.key()?, last: self.shared.project.first_of(run), all: false })
    }

    /// Reads a run's journal to show it: one that was not begun by this version, or not here, is shown as it is.
    pub(in crate::storage) fn chain_to_show(&self, run: &RunId) -> io::Result<Chain> {
        Ok(Chain { all: !self.is_begun_here(run)?, ..self.chain(run)? })
    }
}

/// Which lines are believed.
#[derive(Debug, Default)]
pub(in crate::storage) struct Belief {
    /// Nobody signs these lines: all of them are one's own.
    all: bool,
    /// Before that, everything is believed.
    begun: bool,
    key: Option<Keyed>,
    project: ProjectNumber,
    adopted: HashSet<u128>,
    /// Other projects of the user, whose marks count here too.
    elsewhere: Vec<ProjectNumber>,
    /// What was adopted there: it counts here too, but for attempts.
    adopted_elsewhere: HashSet<u128>,
}

impl Belief {
    /// Whether there is a key: before that, everything is believed.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Of lines that nobody signs.
    pub(in crate::storage) fn of_all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Whether this program wrote the line, or somebody adopted it.
    pub(in crate::storage) fn holds(&self, kind: LineKind, line: &[u8]) -> bool {
        !self.begun || self.is_own(kind, line)
    }

    /// Whether it is one's own, also before the first run, when all that is there is believed: what others wrote is shown as such.
    pub(in crate::storage) fn is_own(&self, kind: LineKind, line: &[u8]) -> bool {
        let adopted = |all: &HashSet<u128>| !all.is_empty() && all.contains(&content(kind, bare(line)));
        self.is_ours(kind, line)
            || adopted(&self.adopted)
            || (kind != LineKind::Attempt && adopted(&self.adopted_elsewhere))
    }

    /// Says of a lesson who has written it, as far as that is known here: one that nobody here has written or adopted is another's, and a person
    /// whose word stands in an adopted line is nobody that is known here.
    pub(in crate::storage) fn weigh(&self, line: &[u8], lesson: &mut Reflection) {
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
    pub(in crate::storage) fn is_ours(&self, kind: LineKind, line: &[u8]) -> bool {
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
pub(in crate::storage) struct Chain {
    key: Option<Keyed>,
    last: u128,
    /// Every line is believed.
    all: bool,
}

impl Chain {
    /// Of a journal whose writer has no key.
    pub(in crate::storage) fn of_all() -> Self {
        Self { key: None, last: 0, all: true }
    }

    /// Whether the line is the next one of the chain. The order in which lines are shown is that of the file.
    pub(in crate::storage) fn takes(&mut self, line: &[u8]) -> bool {
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
    pub(in crate::storage) fn seal(&self, last: u128, line: &[u8], sealed: &mut Vec<u8>) -> io::Result<u128> {
        let key = self.key.as_ref().ok_or_else(|| io::Error::other("there is no key"))?;
        seal(key, LineKind::Entry, last, line, sealed)
    }

    /// Where it ends.
    pub(in crate::storage) fn last(&self) -> u128 {
        self.last
    }

    /// It ends there now.
    pub(in crate::storage) fn goes_on_at(&mut self, last: u128) {
        self.last = last;
    }
}

/// The lines of a file that nobody believes, as they are known when they are adopted; none if there is no file.
pub(super) fn foreign(place: &Place, kind: LineKind, belief: &Belief) -> io::Result<Vec<u128>> {
    contents(place, kind, |line| !belief.holds(kind, line))
}

/// The lines of a file of which something holds, in the same way.
pub(super) fn contents(place: &Place, kind: LineKind, holds: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u128>> {
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

pub(super) fn for_each_line_in(file: Option<File>, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let Some(file) = file else { return Ok(()) };
    for_each_line(file, |line| {
        line.content.into_iter().for_each(&mut visit);
        Ok(())
    })
}

pub(super) fn digest_lines(digests: &[u128]) -> Vec<u8> {
    digests.iter().flat_map(|digest| format!("{digest:032x}\n").into_bytes()).collect()
}

pub(super) fn read_digests(mut file: File) -> io::Result<HashSet<u128>> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text.lines().filter_map(|line| u128::from_str_radix(line, 16).ok()).collect())
}

/// Of a project below `root`, whose user has their state there as well.
fn without_directory(error: io::Error) -> io::Result<Belief> {
    if error.kind() == io::ErrorKind::NotADirectory { Ok(Belief::default()) } else { Err(error) }
}
