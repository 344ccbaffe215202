//! The stash, which all worktrees share.

use super::guard::Judge;
use super::guard::Scope;
use super::watch::Undone;
use crate::services::Tampering;
use crate::services::WorkspaceError;
use serde::Deserialize;
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

/// The stash's entries before an attempt, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stash {
    entries: Vec<Entry>,
    /// Change time of the index of the user's checkout: a stash or pop there writes it.
    index: Option<Stamp>,
    /// Of `ORIG_HEAD` of the agent's worktree: the reset that is a part of stashing writes it.
    orig_head: Option<Stamp>,
}

/// Change time and inode.
type Stamp = (i64, i64, u64);

/// A stashed commit and what it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    id: String,
    message: String,
    /// When it was stashed, in seconds since 1970.
    #[serde(default)]
    at: u64,
}

/// Who may have touched the stash.
struct Evidence {
    user: bool,
    agent: bool,
}

impl Stash {
    pub(super) fn read(scope: &Scope) -> Self {
        let log = fs::read(scope.repository.git_dir.join("logs/refs/stash")).unwrap_or_default();
        let stamp = |path: PathBuf| {
            let meta = path.metadata().ok()?;
            Some((meta.ctime(), meta.ctime_nsec(), meta.ino()))
        };
        Self {
            entries: String::from_utf8_lossy(&log).lines().filter_map(Entry::parse).collect(),
            index: stamp(scope.repository.checkout_dir.join("index")),
            orig_head: stamp(scope.admin.join("ORIG_HEAD")),
        }
    }

    /// Drops what the agent stashed, and stores again what it dropped.
    pub(super) async fn restore(
        &self,
        scope: &Scope,
        judge: &Judge,
        said: &mut Tampering,
    ) -> Result<Vec<Undone>, WorkspaceError> {
        let mut undone = Vec::new();
        let now = Self::read(scope);
        if now.entries.iter().map(|entry| &entry.id).eq(self.entries.iter().map(|entry| &entry.id)) {
            return Ok(undone);
        }
        let evidence = Evidence { user: now.index != self.index, agent: now.orig_head != self.orig_head };
        let git = scope.repository.git();
        // `stash@{0}` is the newest, the last line; dropping from the oldest on leaves the other numbers alone.
        let mut left = now.entries.len();
        for (position, entry) in now.entries.iter().enumerate() {
            if self.entries.iter().any(|old| old.id == entry.id) || !entry.is_the_agents(judge, &evidence) {
                continue;
            }
            let number = now.entries.len() - 1 - position;
            let selector = format!("refs/stash@{{{number}}}");
            let delete = ["reflog", "delete", "--updateref", "--rewrite"];
            git.call(delete).arg(selector).ok().await?;
            left -= 1;
            undone.push(Undone::Dropped { entry: entry.clone() });
            let Entry { id, message, .. } = entry;
            let back = format!("`git stash store {id}` brings it back");
            said.by_agent.push(format!("a stash entry was added ({message}); dropped, {back}"));
        }
        if left == 0 && !now.entries.is_empty() {
            git.call(["update-ref", "-d", "refs/stash"]).ok().await?;
        }
        for lost in &self.entries {
            if now.entries.iter().any(|entry| entry.id == lost.id) {
                continue;
            }
            if evidence.user {
                if judge.crash.is_some() {
                    let Entry { id, message, .. } = lost;
                    said.left.push(format!("a stash entry is gone ({message}); `git stash store {id}` brings it back"));
                }
                continue;
            }
            let store = ["stash", "store", "-q", "-m", &lost.message, &lost.id];
            git.call(store).ok().await?;
            undone.push(Undone::Stored { entry: lost.clone() });
            if judge.sole || judge.crash.is_some() {
                said.by_agent.push(format!("a stash entry was dropped ({}); put back", lost.message));
            }
        }
        Ok(undone)
    }

    /// Another attempt dropped its own agent's entry.
    pub(super) fn forget(&mut self, entry: &Entry) {
        self.entries.retain(|known| known.id != entry.id);
    }

    /// Another attempt stored an entry again that its own agent had dropped.
    pub(super) fn expect(&mut self, entry: Entry) {
        self.forget(&entry);
        self.entries.push(entry);
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let (fields, message) = line.split_once('\t')?;
        let at = fields.rsplit(' ').nth(1).and_then(|at| at.parse().ok()).unwrap_or_default();
        Some(Self { id: fields.split(' ').nth(1)?.to_owned(), message: message.to_owned(), at })
    }

    /// `WIP on <branch>: …` or `On <branch>: …`; a worktree of ours is on no branch unless the agent made one.
    fn is_the_agents(&self, judge: &Judge, evidence: &Evidence) -> bool {
        if !judge.watched(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(self.at))) {
            return false;
        }
        let on = self
            .message
            .strip_prefix("WIP on ")
            .or_else(|| self.message.strip_prefix("On "))
            .and_then(|rest| rest.split_once(": "))
            .map_or("", |(branch, _)| branch);
        let ours = on == "(no branch)" || judge.own.names.contains(on);
        (evidence.agent && ours) || (judge.sole && !evidence.user)
    }
}
