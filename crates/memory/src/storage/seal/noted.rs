//! What is noted beside the key, outside of every project: where the records of a run ended, and what was taken out of prompts.

use super::believed::{Belief, Chain};
use super::{LineKind, Seals, bare, lock};
use crate::domain::{LessonEvent, RunId};
use crate::files::Place;
use crate::redaction::Redactor;
use crate::storage::lines::for_each_line;
use crate::storage::locked_file::append_locked;
use crate::storage::state;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write;
use std::sync::Arc;

/// Beside the key: lines of the memory that took a lesson out of prompts.
const AWAY: &str = "away.jsonl";

impl Seals {
    /// Notes beside the key how far the records of a run reach, and says what others than this program changed in them since
    /// the last time. After a pause only what is the runtime's own is compared: people edit and merge the memory.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub(in crate::storage) fn note(&self, run: &RunId) -> io::Result<Vec<String>> {
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
                LineKind::Reflection | LineKind::Lesson | LineKind::Attempt | LineKind::Mark | LineKind::Everywhere => {
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

    /// What took lessons of this project out of prompts, as far as that is noted: none if nothing ever was.
    pub(in crate::storage) fn away(&self) -> io::Result<BTreeSet<LessonEvent>> {
        let read = match self.shared.dir.join(AWAY).read() {
            // No state directory of the user's: nothing ever began here.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Vec::new(),
            other => other?,
        };
        Ok(read.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Notes more of it: who takes the line out of the memory brings no lesson back.
    pub(in crate::storage) fn note_away(&self, events: &[LessonEvent]) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for event in events {
            serde_json::to_writer(&mut lines, event)?;
            lines.push(b'\n');
        }
        append_locked(&self.shared.dir.join(AWAY), None)?.write_all(&Redactor::of_process().redact_lines(&lines))
    }
}

/// Where the records ended, by their names.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Noted(BTreeMap<String, Ends>);

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

#[cfg(test)]
mod tests {
    use super::super::seals_of;
    use super::super::tests::write;
    use super::*;
    use std::fs;

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
