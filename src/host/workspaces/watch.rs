//! Attempts under way at the same time, and what they tell each other.

use super::guard::Content;
use super::stash::Entry;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// An attempt under way in a repository, from its beginning until this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    git_dir: PathBuf,
    id: u64,
}

/// Something that an attempt put back: the others may have taken it for the user's.
#[derive(Debug, Clone)]
pub(super) enum Undone {
    /// A ref.
    Ref { name: String, from: Option<String>, to: Option<String> },
    /// A branch that an agent had made itself and is gone.
    Gone { name: String },
    /// A file of the git directory.
    File { name: PathBuf, from: Option<Content>, to: Option<Content> },
    /// A stash entry that an agent had made.
    Dropped { entry: Entry },
    /// A stash entry that an agent had dropped.
    Stored { entry: Entry },
}

/// Of one attempt.
#[derive(Debug, Default)]
struct Seen {
    /// Another one was under way at some time of its life.
    shared: bool,
    undone: Vec<Undone>,
}

type Board = HashMap<PathBuf, HashMap<u64, Seen>>;

/// The attempts of this process; there is only one process, because it holds the project's run lock.
fn board() -> MutexGuard<'static, Board> {
    static BOARD: LazyLock<Mutex<Board>> = LazyLock::new(Mutex::default);
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub(super) fn start(git_dir: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut board = board();
        let here = board.entry(git_dir.to_owned()).or_default();
        here.insert(id, Seen::default());
        if here.len() > 1 {
            here.values_mut().for_each(|seen| seen.shared = true);
        }
        Self { git_dir: git_dir.to_owned(), id }
    }

    /// No other attempt was under way since this one began.
    pub(super) fn sole(&self) -> bool {
        is_sole(&self.git_dir, self.id)
    }

    /// Asks the same later, as long as the attempt is under way.
    pub(super) fn sole_later(&self) -> impl Fn() -> bool + Send + use<> {
        let (git_dir, id) = (self.git_dir.clone(), self.id);
        move || is_sole(&git_dir, id)
    }

    pub(super) fn tell_others(&self, undone: Undone) {
        let mut board = board();
        for (id, seen) in board.entry(self.git_dir.clone()).or_default() {
            if *id != self.id {
                seen.undone.push(undone.clone());
            }
        }
    }

    pub(super) fn undone_by_others(&self) -> Vec<Undone> {
        let mut board = board();
        let seen = board.get_mut(&self.git_dir).and_then(|here| here.get_mut(&self.id));
        seen.map(|seen| std::mem::take(&mut seen.undone)).unwrap_or_default()
    }
}

fn is_sole(git_dir: &Path, id: u64) -> bool {
    board().get(git_dir).and_then(|here| here.get(&id)).is_some_and(|seen| !seen.shared)
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(here) = board().get_mut(&self.git_dir) {
            here.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_overlap_know_it_even_when_one_is_over() {
        let dir = Path::new("/somewhere/unique/for/this/test");
        let first = Watch::start(dir);
        assert!(first.sole());
        let second = Watch::start(dir);
        second.tell_others(Undone::Ref { name: "r".to_owned(), from: None, to: None });
        drop(second);
        assert!(!first.sole());
        assert_eq!((first.undone_by_others().len(), first.undone_by_others().len()), (1, 0));
        drop(first);
        assert!(Watch::start(dir).sole());
    }
}
