//! Listing a file from its end, page by page: what is read of it at a time does not grow with it.

use super::backward::{Wanted, lines_before};
use super::record::{Decoded, decode};
use super::seal::LineKind;
use crate::domain::Reflection;
use crate::files::Look;
use crate::services::{Page, PageMark};
use memchr::memrchr;
use std::fs::File;
use std::panic::resume_unwind;
use std::{io, thread};

/// So much of the file is a page: enough that handing it out is no work, and little beside the 64 MiB that a reader may use.
const PAGE: u64 = 2 << 20;

/// More at a time would take memory and help little: reading is as fast as this.
const MOST_THREADS: usize = 4;

/// Where a page ends, in which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageEnd {
    device: u64,
    inode: u64,
    at: u64,
}

impl PageEnd {
    /// The end of the file as it is now.
    pub(super) fn of(look: &Look) -> Self {
        Self { device: look.device, inode: look.inode, at: look.len }
    }

    /// What a mark says, if it is one of these.
    pub(super) fn read(mark: &PageMark) -> Option<Self> {
        let mut numbers = mark.0.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { device: next()?, inode: next()?, at: next()? })
    }

    fn mark(self) -> PageMark {
        PageMark(format!("{} {} {}", self.device, self.inode, self.at))
    }

    /// Whether it is a place in this file: what was appended since stands behind it.
    pub(super) fn is_in(self, look: &Look) -> bool {
        (self.device, self.inode) == (look.device, look.inode) && self.at <= look.len
    }
}

/// The page that ends there.
pub(super) fn page(file: &File, end: PageEnd, wanted: &Wanted) -> io::Result<Page> {
    let mut buffer = Vec::new();
    let (block, start) = lines_before(file, end.at, PAGE, &mut buffer)?;
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let parts = split(block, threads);
    let mut found = Found::default();
    thread::scope(|scope| {
        let others = parts[1..].iter().map(|part| scope.spawn(|| Found::of(part, wanted))).collect::<Vec<_>>();
        found = Found::of(parts[0], wanted);
        for other in others {
            found.add(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    let looked_at_all = wanted.task.is_none() && wanted.subtask.is_none() && wanted.id.is_none();
    Ok(Page {
        reflections: found.reflections,
        unreadable: looked_at_all.then_some(found.unreadable),
        next: (start > 0).then(|| PageEnd { at: start, ..end }.mark()),
    })
}

/// Whole lines in about equal parts, the last lines first; at least one part.
fn split(mut lines: &[u8], parts: usize) -> Vec<&[u8]> {
    let mut split = Vec::with_capacity(parts);
    for left in (2..=parts).rev() {
        let most = lines.len() - lines.len() / left;
        let Some(cut) = memrchr(b'\n', &lines[..most]) else { break };
        split.push(&lines[cut + 1..]);
        lines = &lines[..=cut];
    }
    split.push(lines);
    split
}

/// What stands in some lines, the last first.
#[derive(Default)]
struct Found {
    reflections: Vec<Reflection>,
    unreadable: usize,
}

impl Found {
    fn of(lines: &[u8], wanted: &Wanted) -> Self {
        let mut found = Self::default();
        let finder = wanted.finder();
        let mut rest = Some(lines.strip_suffix(b"\n").unwrap_or(lines));
        while let Some(lines) = rest {
            let start = memrchr(b'\n', lines);
            rest = start.map(|at| &lines[..at]);
            let line = &lines[start.map_or(0, |at| at + 1)..];
            if finder.as_ref().is_none_or(|finder| finder.find(line).is_some()) {
                found.take(line, wanted);
            }
        }
        found
    }

    fn take(&mut self, line: &[u8], wanted: &Wanted) {
        match decode(Some(line)) {
            Decoded::Record(mut reflection) if wanted.matches(&reflection) => {
                wanted.belief.weigh(line, &mut reflection);
                if !wanted.own_only || wanted.belief.holds(LineKind::Reflection, line) {
                    self.reflections.push(*reflection);
                }
            }
            Decoded::Record(_) | Decoded::Blank => {}
            Decoded::Unreadable(_) => self.unreadable += 1,
        }
    }

    fn add(&mut self, older: Self) {
        self.reflections.extend(older.reflections);
        self.unreadable += older.unreadable;
    }
}

#[cfg(test)]
mod tests {
    use super::super::backward::newest;
    use super::super::lines::MAX_LINE;
    use super::*;
    use std::io::Write;

    /// As if it were read at once, whatever the length of lines and pages.
    #[test]
    fn pages_hold_together_what_the_file_holds() {
        let line = |n: usize, filling: usize| {
            format!(
                r#"{{"id":"{n}","sessionId":"","taskId":"t{}","subtaskId":"s","attemptNumber":1,"category":"root_cause","analysis":"{}","suggestion":"","createdAt":"2026-01-01T00:00:00Z"}}"#,
                n % 2,
                "x".repeat(filling)
            )
        };
        let mut file = tempfile::tempfile().unwrap();
        let mut unreadable = 0;
        for n in 0..6_000 {
            let text = match n % 1000 {
                7 => "no record".to_owned(),
                8 => String::new(),
                9 => line(n, MAX_LINE - 300),
                10 => line(n, 3 * MAX_LINE),
                _ => line(n, n % 700),
            };
            unreadable += usize::from(n % 1000 == 7 || n % 1000 == 10);
            writeln!(file, "{text}").unwrap();
        }
        write!(file, "{}", line(6_000, 0)).unwrap();
        let look = Look::from(&file.metadata().unwrap());
        for task in [None, Some("t1".to_owned())] {
            let wanted = Wanted { task: task.clone(), limit: usize::MAX, ..Wanted::default() };
            let (mut all, mut bad, mut pages) = (Vec::new(), Some(0), 0);
            let mut end = Some(PageEnd::of(&look));
            while let Some(at) = end {
                assert_eq!(PageEnd::read(&at.mark()), Some(at));
                let page = page(&file, at, &wanted).unwrap();
                all.extend(page.reflections);
                bad = bad.and_then(|bad| Some(bad + page.unreadable?));
                end = page.next.map(|mark| PageEnd::read(&mark).unwrap());
                pages += 1;
            }
            assert_eq!(all, newest(&file, 0..look.len, &wanted).unwrap());
            assert_eq!(bad, task.is_none().then_some(unreadable));
            assert!(pages > 5, "{pages}");
        }
    }

    #[test]
    fn lines_are_split_between_lines() {
        let check = |lines: &str, parts: usize, expected: &[&str]| {
            let split = split(lines.as_bytes(), parts);
            let split: Vec<&str> = split.iter().map(|part| std::str::from_utf8(part).unwrap()).collect();
            assert_eq!(split, expected, "{lines:?} {parts}");
        };
        check("", 3, &[""]);
        check("a\n", 1, &["a\n"]);
        check("a\nb\nc\nd\n", 2, &["c\nd\n", "a\nb\n"]);
        check("aaaaaaa\nb", 2, &["aaaaaaa\nb"]);
    }
}
