//! Lines of the memory that nobody can use, and how they are set aside.
//!
//! Nothing is thrown away: what is taken out of a file stands at the end of another one beside it, `….damaged`.

use super::lines::{MAX_LINE, bare, for_each_line};
use super::locked_file::{append_locked, read_locked};
use super::prune::Copy;
use super::record::{Decoded, decode};
use super::seal::{Belief, LineKind, Seals};
use crate::domain::{AttemptRecord, LessonEvent, LineProblem, policy};
use crate::files::Place;
use serde::Deserialize;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What is wrong with the lines of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where such lines stand once they are set aside: behind those that were set aside before.
    pub aside: PathBuf,
    /// The lines, with what is wrong with each.
    pub lines: Vec<LineProblem>,
}

/// A line that is taken out.
struct Bad {
    number: usize,
    start: u64,
    length: u64,
    why: String,
}

/// All that is known of most lines.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    id: std::borrow::Cow<'a, str>,
}

/// What is wrong in the files of the memory: lines that cannot be read, marks of a merge that was not ended and what both of its sides hold, and reflections that somebody
/// has changed beside the line that this program wrote. With `repair` these are set aside. Lines of a newer version, and what others wrote, are no damage.
///
/// Files without damage are not in the answer, and not touched.
///
/// # Errors
/// If a file cannot be read or written; it is as it was then.
pub fn damage(project: &policy::Project, seals: &Seals, repair: bool) -> io::Result<Vec<Damage>> {
    let belief = seals.belief()?;
    let files = [
        (project.memory_file(), LineKind::Reflection),
        (project.lessons_file(), LineKind::Lesson),
        (project.attempts_file(), LineKind::Attempt),
    ];
    let mut found = Vec::new();
    for (path, kind) in files {
        found.extend(of_file(&path, kind, &belief, repair)?);
    }
    Ok(found)
}

fn of_file(path: &Path, kind: LineKind, belief: &Belief, repair: bool) -> io::Result<Option<Damage>> {
    let place = Place::with_names(path, 2);
    // To be taken out while nobody appends; who only looks waits for nobody.
    let opened = if repair { read_locked(&place) } else { place.open_file() };
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let bad = bad_lines(&file, kind, belief)?;
    if bad.is_empty() {
        return Ok(None);
    }
    let aside = path.with_extension("jsonl.damaged");
    if repair {
        set_aside(&file, &bad, &Place::with_names(&aside, 2))?;
        take_out(&place, &file, &bad)?;
    }
    let lines = bad.into_iter().map(|bad| LineProblem { line: bad.number, message: bad.why }).collect();
    Ok(Some(Damage { file: path.to_owned(), aside, lines }))
}

fn bad_lines(file: &File, kind: LineKind, belief: &Belief) -> io::Result<Vec<Bad>> {
    let own = if kind == LineKind::Reflection { own_ids(file, belief)? } else { HashSet::new() };
    let mut merge = Merge::default();
    let mut bad = Vec::new();
    for_each_line(At(file, 0), |line| {
        let content = line.content.map(bare);
        let why = content
            .and_then(|content| merge.why(content))
            .or_else(|| unreadable(kind, line.content))
            .or_else(|| content.and_then(|content| changed(content, &own, belief)));
        if let Some(why) = why {
            bad.push(Bad { number: line.number, start: line.start, length: line.length as u64, why });
        }
        Ok(())
    })?;
    Ok(bad)
}

/// Why a line cannot be read by this version, and will not be by a newer one.
fn unreadable(kind: LineKind, line: Option<&[u8]>) -> Option<String> {
    let Some(content) = line.map(bare) else { return Some(format!("longer than {MAX_LINE} bytes")) };
    if content.is_empty() || is_newer(content) {
        return None;
    }
    let problem = |error: serde_json::Error| super::lines::json_problem(&error);
    match kind {
        LineKind::Reflection => match decode(line) {
            Decoded::Unreadable(why) => Some(why),
            Decoded::Record(_) | Decoded::Blank => None,
        },
        LineKind::Lesson => serde_json::from_slice::<LessonEvent>(content).err().map(problem),
        LineKind::Attempt => serde_json::from_slice::<AttemptRecord>(content).err().map(problem),
        LineKind::Mark | LineKind::Entry | LineKind::Everywhere => None,
    }
}

/// All formats of the memory have version 1.
fn is_newer(content: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    serde_json::from_slice::<Versioned>(content).is_ok_and(|line| line.v > 1)
}

/// A reflection that stands here as this program wrote it too.
fn changed(content: &[u8], own: &HashSet<String>, belief: &Belief) -> Option<String> {
    let named = serde_json::from_slice::<Named<'_>>(content).ok()?;
    let is_copy = own.contains(&*named.id) && !belief.is_own(LineKind::Reflection, content);
    is_copy.then(|| {
        format!("somebody has changed it: its digest is another one, and {} stands here as it was written", named.id)
    })
}

fn own_ids(file: &File, belief: &Belief) -> io::Result<HashSet<String>> {
    let mut ids = HashSet::new();
    for_each_line(At(file, 0), |line| {
        if let Some(content) = line.content.map(bare).filter(|content| belief.is_own(LineKind::Reflection, content)) {
            ids.extend(serde_json::from_slice::<Named<'_>>(content).ok().map(|named| named.id.into_owned()));
        }
        Ok(())
    })?;
    Ok(ids)
}

/// A merge of git's that was not ended: both sides stand between its marks.
#[derive(Default)]
struct Merge {
    /// What the sides have held so far.
    seen: Option<HashSet<Vec<u8>>>,
}

impl Merge {
    /// Why a line is too much because of it.
    fn why(&mut self, content: &[u8]) -> Option<String> {
        let is = |mark: &[u8]| content == mark || content.strip_prefix(mark).is_some_and(|rest| rest.starts_with(b" "));
        if is(b"<<<<<<<") {
            self.seen = Some(HashSet::new());
        } else if is(b">>>>>>>") {
            self.seen = None;
        } else if !is(b"=======") && !is(b"|||||||") {
            let again = self.seen.as_mut().is_some_and(|seen| !content.is_empty() && !seen.insert(content.to_owned()));
            return again.then(|| "both sides of a merge hold it".to_owned());
        }
        Some("a mark of a merge that was not ended".to_owned())
    }
}

fn set_aside(from: &File, bad: &[Bad], aside: &Place) -> io::Result<()> {
    let mut to = append_locked(aside, None)?;
    for line in bad {
        io::copy(&mut io::Read::take(At(from, line.start), line.length), &mut to)?;
        to.write_all(b"\n")?;
    }
    to.sync_all()
}

fn take_out(place: &Place, file: &File, bad: &[Bad]) -> io::Result<()> {
    let len = file.metadata()?.len();
    let mut copy = Copy::of(place, file);
    for line in bad {
        copy.leave_out(line.start, (line.start + line.length + 1).min(len))?;
    }
    copy.finish(len)
}

/// Reads a file from a place on, whoever else has moved its mark.
struct At<'f>(&'f File, u64);

impl io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(buffer, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}
