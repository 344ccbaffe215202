//! What is carried, in files of a change.
//!
//! A carried path is no part of a change by its name. An agent that copies a `.env` to another one would have the keys in it committed, and
//! merged by a night, although git ignores them: such work is a person's to look at.

use super::recorder::Recorder;
use crate::files::Root;
use crate::services::WorkspaceError;
use memchr::memmem;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Larger files that are carried are neither settings nor keys, and are not looked for.
const MOST_BYTES: u64 = 1 << 20;

/// Larger files of a change are not looked into.
const MOST_CHANGED: u64 = 64 << 20;

/// A line of so many bytes is in no other file by chance.
const LINE_BYTES: usize = 16;

/// Less stands in many files by chance.
const FEWEST_BYTES: u64 = 8;

/// At most so many bytes of contents are held at a time, and one content in any case.
const AT_A_TIME: u64 = MOST_CHANGED;

/// The user's files that are carried.
pub(super) struct Carried {
    /// Where they are.
    pub(super) source: Root,
    /// From the top, with their sizes, and whether one was named by itself and not only a directory around it.
    pub(super) files: Vec<(PathBuf, u64, bool)>,
}

/// A file of a change, and the id of its content.
struct Changed {
    path: String,
    now: String,
}

impl Carried {
    /// Those files of the change from one tree to another that hold what is carried, as `file (carried file)`: all of a file that was named by itself,
    /// also among other words; of a directory, a file that is the very same. What the first tree has itself is nobody's secret.
    pub(super) async fn found_in(
        mut self,
        recorder: &Recorder,
        (from, to): (&str, &str),
    ) -> Result<Vec<String>, WorkspaceError> {
        self.files.retain(|(_, size, _)| (FEWEST_BYTES..=MOST_BYTES).contains(size));
        if self.files.is_empty() || from == to {
            return Ok(Vec::new());
        }
        let changed = changed(recorder, from, to).await?;
        let sizes = sizes(recorder, &changed).await?;
        let wanted: BTreeSet<u64> = sizes.values().copied().collect();
        let contents = self.contents(&wanted);
        let equal: BTreeSet<u64> = contents.iter().map(|(_, content, _)| content.len() as u64).collect();
        let any = contents.iter().any(|(.., by_itself)| *by_itself);
        let is_looked_at = |size: &u64| (FEWEST_BYTES..=MOST_CHANGED).contains(size) && (any || equal.contains(size));
        let ids: Vec<&String> = sizes.iter().filter(|(_, size)| is_looked_at(size)).map(|(id, _)| id).collect();
        let mut holds: BTreeMap<String, usize> = BTreeMap::new();
        for some in in_chunks(&ids, &sizes) {
            let text = some.iter().fold(String::new(), |text, id| text + id + "\n");
            let out = recorder.git.call(["cat-file", "--batch"]).stdin(text).ok().await?;
            for (id, content) in blobs(&out) {
                let is_in = |(_, carried, by_itself): &(_, Vec<u8>, bool)| {
                    content == carried || (*by_itself && says_all_of(content, carried))
                };
                if let Some(at) = contents.iter().position(is_in) {
                    holds.insert(id, at);
                }
            }
        }
        let mut secret = BTreeMap::new();
        for at in holds.values() {
            if !secret.contains_key(at) {
                secret.insert(*at, !is_in_tree(recorder, from, &contents[*at].1).await?);
            }
        }
        let told = changed.iter().filter_map(|Changed { path, now }| {
            let at = holds.get(now).filter(|at| secret[at])?;
            Some(format!("{path} ({})", contents[*at].0.display()))
        });
        Ok(told.collect())
    }

    /// What is in those that are to be looked for: named by itself, or as large as one that was changed.
    fn contents(&self, sizes: &BTreeSet<u64>) -> Vec<(PathBuf, Vec<u8>, bool)> {
        let wanted = self.files.iter().filter(|(_, size, by_itself)| *by_itself || sizes.contains(size));
        // One that cannot be read now cannot be carried either.
        let read = wanted.filter_map(|(path, _, by_itself)| {
            let content = self.source.read(path).ok()?;
            Some((path.clone(), content, *by_itself))
        });
        read.filter(|(_, content, _)| content.trim_ascii().len() as u64 >= FEWEST_BYTES).collect()
    }
}

/// The contents in parts that are held together.
fn in_chunks<'i>(ids: &[&'i String], sizes: &BTreeMap<String, u64>) -> Vec<Vec<&'i String>> {
    let (mut chunks, mut held): (Vec<Vec<&String>>, u64) = (Vec::new(), AT_A_TIME);
    for id in ids {
        let size = sizes.get(*id).copied().unwrap_or_default();
        held += size;
        match chunks.last_mut() {
            Some(chunk) if held <= AT_A_TIME => chunk.push(id),
            _ => {
                chunks.push(vec![id]);
                held = size;
            }
        }
    }
    chunks
}

/// Whether all that a carried file says stands in another one, also with other line ends or further in: its long lines, or the whole of it.
fn says_all_of(content: &[u8], carried: &[u8]) -> bool {
    let lines = carried.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut long = lines.filter(|line| line.len() >= LINE_BYTES).peekable();
    let has = |part: &[u8]| memmem::find(content, part).is_some();
    has(carried.trim_ascii()) || long.peek().is_some() && long.all(has)
}

/// The files that are there in the second tree and not the same in the first one.
async fn changed(recorder: &Recorder, from: &str, to: &str) -> Result<Vec<Changed>, WorkspaceError> {
    let diff = ["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AMT", from, to];
    let raw = recorder.git.call(diff).ok().await?;
    // `:mode mode id id status NUL path NUL`, again and again.
    let mut parts = raw.split(|byte| *byte == 0);
    let mut changed = Vec::new();
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let about = String::from_utf8_lossy(about).into_owned();
        if let [_, mode, _, now, ..] = about.split(' ').collect::<Vec<_>>()[..]
            // Where a link leads to is what it holds.
            && (mode.starts_with("100") || mode.starts_with("120"))
        {
            let path = OsStr::from_bytes(path).to_string_lossy().into_owned();
            changed.push(Changed { path, now: now.to_owned() });
        }
    }
    Ok(changed)
}

/// How large the contents are, by their ids.
async fn sizes(recorder: &Recorder, changed: &[Changed]) -> Result<BTreeMap<String, u64>, WorkspaceError> {
    let ids = changed.iter().fold(String::new(), |ids, changed| ids + &changed.now + "\n");
    let ask = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    let out = recorder.git.call(ask).stdin(ids).ok().await?;
    let size = |line: &str| {
        let (id, size) = line.split_once(' ')?;
        Some((id.to_owned(), size.parse().ok()?))
    };
    Ok(String::from_utf8_lossy(&out).lines().filter_map(size).collect())
}

/// `id SP blob SP size LF content LF`, again and again.
pub(super) fn blobs(mut out: &[u8]) -> Vec<(String, &[u8])> {
    let mut found = Vec::new();
    while let Some(end) = memchr::memchr(b'\n', out) {
        let head = String::from_utf8_lossy(&out[..end]).into_owned();
        let mut words = head.split(' ');
        let (Some(id), Some(size)) = (words.next(), words.nth(1).and_then(|size| size.parse::<usize>().ok())) else {
            break;
        };
        let Some(content) = out.get(end + 1..end + 1 + size) else { break };
        found.push((id.to_owned(), content));
        out = out.get(end + 2 + size..).unwrap_or_default();
    }
    found
}

/// Whether a file of the tree has just this content.
async fn is_in_tree(recorder: &Recorder, tree: &str, content: &[u8]) -> Result<bool, WorkspaceError> {
    let id = recorder.git.call(["hash-object", "--stdin"]).stdin(content).line().await?;
    let all = recorder.git.call(["ls-tree", "-r", "--format=%(objectname)"]).arg(tree).ok().await?;
    Ok(String::from_utf8_lossy(&all).lines().any(|one| one == id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carried_file_is_known_with_other_line_ends_and_further_in() {
        let carried = b"TOKEN=abcdefghijklmnop\nX=1\nPASSWORD=correct-horse-battery\n";
        let says = |content: &[u8]| says_all_of(content, carried);
        assert!(says(b"TOKEN=abcdefghijklmnop\r\nX=1\r\nPASSWORD=correct-horse-battery\r\n"));
        assert!(says(b"words\n  TOKEN=abcdefghijklmnop\n  PASSWORD=correct-horse-battery\n"));
        assert!(!says(b"TOKEN=abcdefghijklmnop\n") && !says(b"TOKEN=\nX=1\nPASSWORD=\n"));
        // Of short lines alone only the whole says something.
        assert!(!says_all_of(b"A=1\nZ=2\n", b"A=1\nB=2\n") && says_all_of(b"x\nA=1\nB=2\ny", b"A=1\nB=2\n"));
    }
}
