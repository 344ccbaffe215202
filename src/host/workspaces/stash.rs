//! The stash, which all worktrees share.

use super::guard::Judge;
use super::guard::Scope;
use super::repository::Repository;
use crate::services::WorkspaceError;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// The stash's entries before an attempt, oldest first.
#[derive(Debug)]
pub(super) struct Stash {
    entries: Vec<Entry>,
    /// Change time of the index of the user's checkout: a stash or pop there writes it.
    index: Option<(i64, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    id: String,
    message: String,
    line: String,
}

impl Stash {
    pub(super) fn read(repository: &Repository) -> Self {
        let log = fs::read(repository.git_dir.join("logs/refs/stash")).unwrap_or_default();
        let index = repository.checkout_dir.join("index").metadata().ok();
        Self {
            entries: String::from_utf8_lossy(&log).lines().filter_map(Entry::parse).collect(),
            index: index.map(|meta| (meta.ctime(), meta.ctime_nsec())),
        }
    }

    /// Drops what the agent stashed, and stores again what it dropped.
    pub(super) async fn restore(
        &self,
        scope: &Scope,
        judge: &Judge,
        words: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let now = Self::read(&scope.repository);
        if now.entries == self.entries {
            return Ok(());
        }
        let user_was_here = now.index != self.index;
        let git = scope.repository.git();
        // `stash@{0}` is the newest, the last line; dropping from the oldest on leaves the other numbers alone.
        let mut left = now.entries.len();
        for (position, entry) in now.entries.iter().enumerate() {
            if self.entries.iter().any(|old| old.line == entry.line) || !entry.is_the_agents(judge, user_was_here) {
                continue;
            }
            let number = now.entries.len() - 1 - position;
            let selector = format!("refs/stash@{{{number}}}");
            let delete = ["reflog", "delete", "--updateref", "--rewrite"];
            git.call(delete).arg(selector).ok().await?;
            left -= 1;
            words.push(format!("a stash entry was added ({}); dropped", entry.message));
        }
        if left == 0 && !now.entries.is_empty() {
            git.call(["update-ref", "-d", "refs/stash"]).ok().await?;
        }
        if user_was_here {
            return Ok(());
        }
        for lost in &self.entries {
            if now.entries.iter().any(|entry| entry.id == lost.id) {
                continue;
            }
            let store = ["stash", "store", "-q", "-m", &lost.message, &lost.id];
            git.call(store).ok().await?;
            if judge.sole {
                words.push(format!("a stash entry was dropped ({}); put back", lost.message));
            }
        }
        Ok(())
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let (fields, message) = line.split_once('\t')?;
        Some(Self { id: fields.split(' ').nth(1)?.to_owned(), message: message.to_owned(), line: line.to_owned() })
    }

    /// `WIP on <branch>: …` or `On <branch>: …`; a worktree of ours is on no branch unless the agent made one.
    fn is_the_agents(&self, judge: &Judge, user_was_here: bool) -> bool {
        let on = self
            .message
            .strip_prefix("WIP on ")
            .or_else(|| self.message.strip_prefix("On "))
            .and_then(|rest| rest.split_once(": "))
            .map_or("", |(branch, _)| branch);
        let ours = on == "(no branch)" || judge.own.names.contains(on);
        if judge.own.resets { ours || !user_was_here } else { judge.sole && !user_was_here }
    }
}
