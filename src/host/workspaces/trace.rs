//! Reading `HEAD` reflogs: which worktree did what.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// How long the log of every worktree was at some moment.
#[derive(Debug)]
pub(super) struct Logs {
    pub(super) git_dir: PathBuf,
    pub(super) lengths: BTreeMap<PathBuf, usize>,
}

/// What a log has shown since then.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Commits that `HEAD` moved to.
    pub(super) tips: BTreeSet<String>,
    /// Branches that were checked out.
    pub(super) names: BTreeSet<String>,
}

impl Logs {
    pub(super) fn now(git_dir: &Path) -> Self {
        let lengths = git_dirs(git_dir).into_iter().map(|dir| (dir.clone(), log(&dir).len())).collect();
        Self { git_dir: git_dir.to_owned(), lengths }
    }

    /// What has happened since: in the worktree `own`, and in all others.
    pub(super) fn since(&self, own: &Path) -> (Trace, Trace) {
        let (mut mine, mut others) = (Trace::default(), Trace::default());
        for dir in git_dirs(&self.git_dir) {
            let text = log(&dir);
            let from = self.lengths.get(&dir).copied().unwrap_or(0);
            // A log that became shorter was expired; all that is left of it counts.
            let new = text.get(from..).unwrap_or(&text);
            let trace = if dir == own { &mut mine } else { &mut others };
            new.lines().for_each(|line| trace.add(line));
        }
        (mine, others)
    }
}

impl Trace {
    /// `old new name <email> seconds zone TAB message` [git's `refs/files-backend.c`].
    fn add(&mut self, line: &str) {
        let (fields, message) = line.split_once('\t').unwrap_or((line, ""));
        let mut ids = fields.split(' ');
        let (Some(old), Some(new)) = (ids.next(), ids.next()) else {
            return;
        };
        if let Some(moved) = message.strip_prefix("checkout: moving from ") {
            let to = moved.rsplit_once(" to ").map_or("", |(_, to)| to);
            self.names.insert(to.to_owned());
        } else if old != new && old.bytes().any(|byte| byte != b'0') {
            // A new worktree's first entry comes from nothing and proves nothing.
            self.tips.insert(new.to_owned());
        }
    }
}

/// The git directories of all worktrees, the main one first.
pub(super) fn git_dirs(git_dir: &Path) -> Vec<PathBuf> {
    let linked = fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten().map(|entry| entry.path());
    std::iter::once(git_dir.to_owned()).chain(linked).collect()
}

fn log(dir: &Path) -> String {
    let bytes = fs::read(dir.join("logs/HEAD")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkouts_name_branches_and_commits_are_tips() {
        let mut trace = Trace::default();
        for line in [
            "00 aa A B <a@b> 1 +0000\tcheckout: moving from main to fix it to x",
            "00 bb A <a@b> 1 +0000\t",
            "aa cc A <a@b> 1 +0000\tcommit: checkout: moving",
            "cc cc A <a@b> 1 +0000\treset: moving to HEAD",
        ] {
            trace.add(line);
        }
        assert_eq!(trace.names, ["x".to_owned()].into());
        assert_eq!(trace.tips, ["cc".to_owned()].into());
    }
}
