//! What recent queries found, as long as the file says it is still so.

use super::seal::Belief;
use crate::domain::Reflection;
use crate::files::Look;
use crate::services::RecentQuery;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Queries remembered: more than the subtasks that one run works on.
const MAX_ENTRIES: usize = 1024;

/// Size of what is remembered in all, in bytes: a quarter of the 64 MiB that a reader may use.
const MAX_BYTES: usize = 16 << 20;

/// How many bytes before the end are compared: they hold the last record's `createdAt`.
const TAIL: u64 = 64;

/// A state of the file, up to the end of its last whole line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Snapshot {
    dev: u64,
    ino: u64,
    modified: (i64, i64),
    /// Where the last whole line ends; what follows may still be in the making and is never remembered.
    pub(super) end: u64,
    tail: Vec<u8>,
}

/// What the file is now, compared with a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// The same.
    Unchanged,
    /// Lines may have been added.
    Grown,
    /// Another file, or a changed one.
    Replaced,
}

impl Snapshot {
    /// Remembers the state of an open file whose state was read before its content.
    pub(super) fn new(file: &File, look: &Look, end: u64) -> io::Result<Self> {
        Ok(Self { dev: look.device, ino: look.inode, modified: look.modified, end, tail: tail(file, end)? })
    }

    /// What its state alone can tell.
    pub(super) fn since(&self, look: &Look) -> Since {
        if (self.dev, self.ino) != (look.device, look.inode) || look.len < self.end {
            Since::Replaced
        } else if look.len > self.end {
            Since::Grown
        } else if self.modified == look.modified {
            Since::Unchanged
        } else {
            Since::Replaced
        }
    }

    /// Whether the file still holds what it held where it ended: a failed append that was cut off and written over, or
    /// an editor that wrote in place, is no growth.
    pub(super) fn is_front_of(&self, file: &File, look: &Look) -> io::Result<bool> {
        Ok(self.since(look) != Since::Replaced && tail(file, self.end)? == self.tail)
    }
}

fn tail(file: &File, end: u64) -> io::Result<Vec<u8>> {
    let start = end.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// What a query found, in which state of the file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) snapshot: Snapshot,
    /// Newest first.
    pub(super) found: Arc<Vec<Reflection>>,
}

impl Entry {
    /// Roughly what it takes in memory.
    fn bytes(&self) -> usize {
        let size = |r: &Reflection| {
            let texts = r.analysis.len()
                + r.suggestion.len()
                + r.action_items.iter().map(String::len).sum::<usize>()
                + r.already_tried.as_ref().map_or(0, String::len);
            size_of::<Reflection>() + texts
        };
        size_of::<Self>() + self.found.iter().map(size).sum::<usize>()
    }
}

/// The least recently used query is forgotten first.
#[derive(Debug, Default)]
pub(super) struct RecentCache {
    /// By which everything in it was found.
    belief: Option<Arc<Belief>>,
    entries: HashMap<RecentQuery, (Entry, u64)>,
    bytes: usize,
    uses: u64,
}

impl RecentCache {
    /// What was remembered of a query.
    /// Forgets everything that was found by another belief.
    pub(super) fn believe(&mut self, belief: &Arc<Belief>) {
        if !self.belief.as_ref().is_some_and(|known| Arc::ptr_eq(known, belief)) {
            *self = Self { belief: Some(Arc::clone(belief)), ..Self::default() };
        }
    }

    pub(super) fn get(&mut self, query: &RecentQuery) -> Option<Entry> {
        self.uses += 1;
        let (entry, used) = self.entries.get_mut(query)?;
        *used = self.uses;
        Some(entry.clone())
    }

    /// Remembers what a query found, unless it is too much.
    pub(super) fn put(&mut self, query: RecentQuery, entry: Entry) {
        self.forget(&query);
        let bytes = entry.bytes();
        if bytes > MAX_BYTES / 16 {
            return;
        }
        while self.entries.len() >= MAX_ENTRIES || self.bytes + bytes > MAX_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(query, _)| query.clone()) else {
                break;
            };
            self.forget(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        self.entries.insert(query, (entry, self.uses));
    }

    fn forget(&mut self, query: &RecentQuery) {
        if let Some((entry, _)) = self.entries.remove(query) {
            self.bytes -= entry.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn query(n: usize) -> RecentQuery {
        RecentQuery { limit: Some(n), ..RecentQuery::default() }
    }

    fn entry(file: &File, text: usize, records: usize) -> Entry {
        let line = format!(
            r#"{{"id":"","sessionId":"","taskId":"","subtaskId":"","attemptNumber":1,"category":"","analysis":"{}","suggestion":"","createdAt":"2026-01-01T00:00:00Z"}}"#,
            "x".repeat(text)
        );
        let reflection: Reflection = serde_json::from_str(&line).unwrap();
        Entry {
            snapshot: Snapshot::new(file, &Look::from(&file.metadata().unwrap()), 0).unwrap(),
            found: Arc::new(vec![reflection; records]),
        }
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let file = tempfile::tempfile().unwrap();
        let mut cache = RecentCache::default();
        for n in 0..MAX_ENTRIES {
            cache.put(query(n), entry(&file, 0, 0));
        }
        assert!(cache.get(&query(0)).is_some());
        cache.put(query(MAX_ENTRIES), entry(&file, 0, 0));
        let there = |n| cache.entries.contains_key(&query(n));
        assert!(there(0) && !there(1) && there(2) && there(MAX_ENTRIES));
    }

    #[test]
    fn memory_is_bounded() {
        let file = tempfile::tempfile().unwrap();
        let mut cache = RecentCache::default();
        for n in 0..100 {
            cache.put(query(n), entry(&file, 300_000, 3));
        }
        let sum: usize = cache.entries.values().map(|(entry, _)| entry.bytes()).sum();
        assert_eq!(cache.bytes, sum);
        assert!((MAX_BYTES - 1_000_000..=MAX_BYTES).contains(&sum), "{sum}");
        cache.put(query(99), entry(&file, 300_000, 30));
        assert!(cache.get(&query(99)).is_none(), "too much for one query");
    }

    #[test]
    fn only_a_file_that_has_grown_has_grown() {
        let since = |change: &mut dyn FnMut(&mut File), expected| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"one\ntwo\n").unwrap();
            let meta = Look::from(&file.metadata().unwrap());
            let before = Snapshot::new(&file, &meta, 8).unwrap();
            assert_eq!(before.since(&meta), Since::Unchanged);
            change(&mut file);
            let meta = Look::from(&file.metadata().unwrap());
            let front = before.is_front_of(&file, &meta).unwrap();
            assert_eq!((before.since(&meta), front), expected);
        };
        since(&mut |f| f.write_all(b"three\n").unwrap(), (Since::Grown, true));
        since(&mut |f| f.set_len(4).unwrap(), (Since::Replaced, false));
        let mut rewrite = |f: &mut File| {
            f.set_len(4).unwrap();
            f.write_all_at(b"2wo\nthree\n", 4).unwrap();
        };
        since(&mut rewrite, (Since::Grown, false));
    }
}
