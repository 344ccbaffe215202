//! What of the user's repository an attempt must leave alone, and putting it back.
//!
//! A worktree shares refs, configuration and hooks with the user's checkout and with the other tasks' worktrees, so a
//! difference is not always the agent's. Evidence is in the `HEAD` reflogs: git writes every commit, checkout and reset
//! into the log of the worktree it happened in. What another worktree's log shows is never touched. What this
//! worktree's log shows is the agent's. What no log shows (a ref made without a checkout, a deletion, an edited file) is
//! the agent's if no other attempt was under way meanwhile, and is otherwise only put back where something of the
//! user's would be lost. So a tag or branch that the user makes meanwhile without checking it out, or a key of the
//! configuration, is taken for the agent's; the words say what it was, so that it can be made again.
//!
//! What was seen is also on disk ([`super::saved`]): if this process is killed, the next run puts back what the agent did. By
//! then much may have happened, so what no log shows is blamed on the agent only if it is older than the last sign of life
//! of the runtime. What is younger is told and left, unless something would be lost.

use super::heads::Heads;
use super::heads::heads;
use super::heads::switched;
use super::layout::io_error;
use super::layout::write_whole;
use super::locks::left_since;
use super::locks::locked_ref;
use super::locks::locks;
use super::pushes::Remotes;
use super::pushes::Tips;
use super::pushes::pushed;
use super::removal::remove;
use super::repository::Repository;
use super::saved::Crash;
use super::saved::Saved;
use super::stash::Stash;
use super::trace::Logs;
use super::trace::Trace;
use super::watch::Undone;
use super::watch::Watch;
use crate::domain::RunId;
use crate::host::git;
use crate::services::Tampering;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

/// Refs that are compared. Not `remotes` (a fetch is harmless), not what belongs to a worktree (bisect, rewritten).
const REFS: [&str; 4] = ["refs/heads", "refs/tags", "refs/notes", "refs/replace"];

/// An attempt under way, and the state before it.
#[derive(Debug)]
pub(super) struct Guarded {
    seen: Seen,
    watch: Watch,
    /// The same on disk, for the case that this process is killed.
    saved: Saved,
    /// It was: the attempt is that of a dead runtime.
    crash: Option<Crash>,
}

/// The state before an attempt.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) refs: BTreeMap<String, String>,
    pub(super) files: BTreeMap<PathBuf, Content>,
    pub(super) stash: Stash,
    pub(super) fetched: Option<Fetched>,
    pub(super) logs: Logs,
    pub(super) heads: Heads,
    pub(super) locks: BTreeSet<PathBuf>,
    pub(super) remote: Tips,
}

/// A file's bytes and mode.
pub(super) type Content = (Vec<u8>, u32);

/// Whose repository, and which worktree in it is the agent's.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) repository: Repository,
    /// The agent's worktree's own git directory.
    pub(super) admin: PathBuf,
    /// The run; it makes branches itself: `refs/heads/reflexion/<run>/`.
    pub(super) run: RunId,
    pub(super) remotes: Remotes,
}

impl Seen {
    async fn now(scope: &Scope) -> Result<Self, WorkspaceError> {
        Ok(Self {
            refs: refs(scope).await?,
            files: files(&scope.repository.git_dir)?,
            stash: Stash::read(scope),
            fetched: fetched(scope),
            logs: Logs::now(&scope.repository.git_dir),
            heads: heads(&scope.repository.git_dir),
            locks: locks(&scope.repository.git_dir),
            remote: scope.remotes.tips(&scope.repository).await?,
        })
    }

    /// What we saw at the beginning may have been another agent's doing, put back since: that is no change.
    pub(super) fn take_as_undone(&mut self, undone: Undone) {
        // Whatever it was when we looked: an agent may have changed it more than once.
        fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, to: Option<V>) {
            match to {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        match undone {
            Undone::Ref { name, to } => replace(&mut self.refs, name, to),
            Undone::File { name, to } => replace(&mut self.files, name, to),
            Undone::Dropped { entry } => self.stash.forget(&entry),
            Undone::Stored { entry } => self.stash.expect(entry),
        }
    }
}

impl Guarded {
    /// Remembers the state, in memory and in the file `place`.
    pub(super) async fn take(scope: &Scope, place: &Path) -> Result<Self, WorkspaceError> {
        let watch = Watch::start(&scope.repository.git_dir);
        let seen = Seen::now(scope).await?;
        let saved = Saved::write(place, scope, &seen).await?;
        saved.beat_while(&watch);
        Ok(Self { seen, watch, saved, crash: None })
    }

    /// Takes over the guard of a runtime that was killed.
    pub(super) fn revive(seen: Seen, saved: Saved, crash: Crash) -> Self {
        let watch = Watch::start(&saved.git_dir);
        Self { seen, watch, saved, crash: Some(crash) }
    }

    /// Tells attempts of the same time what is put back; on disk too, for the case that we are killed before they end.
    fn tell_others(&self, undone: Undone) {
        self.saved.tell_others(&undone);
        self.watch.tell_others(undone);
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        self.saved.path()
    }

    /// Takes away the locks of a git that was ended with the agent: on refs that were made or moved meanwhile. One on another
    /// ref may be the user's. The run's own branches have no agents at them, and are the healer's.
    async fn remove_locks(&self, scope: &Scope, said: &mut Tampering) -> Result<(), WorkspaceError> {
        let git_dir = &scope.repository.git_dir;
        let left = left_since(git_dir, &self.seen.locks).await;
        if left.is_empty() {
            return Ok(());
        }
        let now = refs(scope).await?;
        let own = format!("refs/heads/reflexion/{}/", scope.run);
        for lock in left {
            let name = locked_ref(git_dir, &lock);
            if name.starts_with(&own) {
                continue;
            }
            let before = self.seen.refs.get(&name);
            if before.is_some() && before == now.get(&name) {
                let lock = lock.display();
                said.left.push(format!("{name} is locked: remove {lock} if no git of yours is at work there"));
                continue;
            }
            tracing::warn!(lock = %lock.display(), "a git that was ended had left a lock behind, which is removed");
            remove(&lock)?;
        }
        Ok(())
    }

    /// Puts back what the agent changed, and says what it was.
    pub(super) async fn restore(mut self, scope: &Scope) -> Result<Tampering, WorkspaceError> {
        let lock = git::worktree_lock(&scope.repository.git_dir);
        let _one_at_a_time = lock.lock().await;
        let mut said = Tampering::default();
        self.remove_locks(scope, &mut said).await?;
        for undone in self.watch.undone_by_others() {
            self.seen.take_as_undone(undone);
        }
        let (own, others) = self.seen.logs.since(&scope.admin);
        let sole = self.watch.sole() && self.crash.as_ref().is_none_or(|crash| crash.sole);
        let judge = Judge { own, others, sole, crash: self.crash.clone() };
        self.restore_files(scope, &judge, &mut said)?;
        self.restore_refs(scope, &judge, &mut said).await?;
        for undone in self.seen.stash.restore(scope, &judge, &mut said).await? {
            self.tell_others(undone);
        }
        switched(&self.seen.heads, &judge, &mut said);
        pushed(scope, &judge, (&self.seen.remote, &scope.remotes.tips(&scope.repository).await?), &mut said);
        self.saved.remove()?;
        Ok(said)
    }

    async fn restore_refs(&self, scope: &Scope, judge: &Judge, said: &mut Tampering) -> Result<(), WorkspaceError> {
        let now = refs(scope).await?;
        let names: BTreeSet<&String> = self.seen.refs.keys().chain(now.keys()).collect();
        let user_fetched = fetched(scope) != self.seen.fetched;
        let mut checked_out = None;
        for name in names {
            let (before, after) = (self.seen.refs.get(name), now.get(name));
            // A fetch in the user's checkout (editors do it by themselves) brings tags.
            let came_with_fetch = user_fetched && before.is_none() && name.starts_with("refs/tags/");
            if before == after || came_with_fetch {
                continue;
            }
            let elsewhere = checked_out.get_or_insert_with(|| checked_out_elsewhere(scope));
            let blame = match judge.of_ref(name, after, elsewhere) {
                Whose::NotOurs => continue,
                // Whoever rescues a dead agent's work in the morning leaves the same trace.
                Whose::Agent => judge.watched(after.and_then(|_| changed_at(&scope.git_path(name)))),
                Whose::Unknown => judge.sole && judge.watched(after.and_then(|_| changed_at(&scope.git_path(name)))),
            };
            // Without proof only what would be lost is put back.
            if !blame && after.is_some() {
                if judge.crash.is_some() {
                    said.left.push(format!("{}; {LEFT}", describe(name, before, after)));
                }
                continue;
            }
            put_back(scope, name, before, after).await?;
            self.tell_others(Undone::Ref { name: name.clone(), to: before.cloned() });
            if blame || judge.crash.is_some() {
                let did = if before.is_some() { "put back" } else { "removed" };
                said.by_agent.push(format!("{}; {did}", describe(name, before, after)));
            }
        }
        for name in judge.own.names.iter().map(|short| format!("refs/heads/{short}")) {
            // An agent's own branch, which it has deleted itself: whoever saw it meanwhile must not bring it back.
            if !self.seen.refs.contains_key(&name) && !now.contains_key(&name) {
                self.tell_others(Undone::Ref { name, to: None });
            }
        }
        Ok(())
    }

    fn restore_files(&self, scope: &Scope, judge: &Judge, said: &mut Tampering) -> Result<(), WorkspaceError> {
        let git_dir = &scope.repository.git_dir;
        let now = files(git_dir)?;
        let names: BTreeSet<&PathBuf> = self.seen.files.keys().chain(now.keys()).collect();
        for name in names {
            let (before, after) = (self.seen.files.get(name), now.get(name));
            if before == after {
                continue;
            }
            let text = |file: Option<&Content>| file.map_or(&[][..], |f| &f.0).to_vec();
            if name == Path::new("config")
                && judge.own.names.is_empty()
                && without_branches(&text(before)) == without_branches(&text(after))
            {
                // Upstreams of branches: what a `push -u` in the user's checkout writes.
                continue;
            }
            let path = git_dir.join(name);
            if after.is_some() && !judge.watched(changed_at(&path)) {
                let kept = self.saved.keep(name, before)?;
                let kept = kept.map(|kept| format!(", and as it was it is kept at {}", kept.display()));
                let kept = kept.unwrap_or_default();
                said.left.push(format!("`.git/{}` was changed; {LEFT}{kept}", name.display()));
                continue;
            }
            let did = if let Some((bytes, mode)) = before {
                write_whole(&path, bytes)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).map_err(io_error("restore", &path))?;
                "changed; put back"
            } else {
                remove(&path)?;
                "added; removed"
            };
            self.tell_others(Undone::File { name: name.clone(), to: before.cloned() });
            if judge.sole || judge.crash.is_some() {
                said.by_agent.push(format!("`.git/{}` was {did}", name.display()));
            }
        }
        Ok(())
    }
}

/// What the logs say, and whether anyone else could have done what they do not say.
pub(super) struct Judge {
    pub(super) own: Trace,
    pub(super) others: Trace,
    /// No other attempt of the process was guarded at any time since this one began.
    pub(super) sole: bool,
    /// The process was killed, and much may have happened since.
    pub(super) crash: Option<Crash>,
}

/// Said of what an agent may have done before it was ended, or anybody after that.
const LEFT: &str = "left as it is, because nobody watched any more when it was done";

enum Whose {
    NotOurs,
    Agent,
    Unknown,
}

impl Judge {
    /// Whether something happened while the agent's runtime lived, so that the agent is the likely one.
    pub(super) fn watched(&self, at: Option<SystemTime>) -> bool {
        self.crash.as_ref().is_none_or(|crash| at.is_some_and(|at| at <= crash.last_sign))
    }

    fn of_ref(&self, name: &str, after: Option<&String>, elsewhere: &BTreeSet<String>) -> Whose {
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let shows = |trace: &Trace| after.is_some_and(|tip| trace.tips.contains(tip) || trace.names.contains(short));
        if shows(&self.others) {
            Whose::NotOurs
        } else if shows(&self.own) {
            Whose::Agent
        } else if elsewhere.contains(name) && after.is_some() {
            Whose::NotOurs
        } else {
            Whose::Unknown
        }
    }
}

impl Scope {
    /// Where a ref is, if it is a file.
    fn git_path(&self, name: &str) -> PathBuf {
        self.repository.git_dir.join(name)
    }
}

/// When a file was last written or put into its place.
pub(super) fn changed_at(path: &Path) -> Option<SystemTime> {
    let meta = path.metadata().ok()?;
    let since = std::time::Duration::new(meta.ctime().try_into().ok()?, meta.ctime_nsec().try_into().ok()?);
    Some(SystemTime::UNIX_EPOCH + since)
}

async fn refs(scope: &Scope) -> Result<BTreeMap<String, String>, WorkspaceError> {
    let own_branches = format!("refs/heads/reflexion/{}/", scope.run);
    scope.repository.refs(&REFS, Some(&own_branches)).await
}

/// Change time of the user's checkout's `FETCH_HEAD`; a fetch in a worktree writes that worktree's own.
pub(super) type Fetched = (i64, i64);

fn fetched(scope: &Scope) -> Option<Fetched> {
    let meta = scope.repository.checkout_dir.join("FETCH_HEAD").metadata().ok()?;
    Some((meta.ctime(), meta.ctime_nsec()))
}

/// The branches that worktrees other than the agent's have checked out.
fn checked_out_elsewhere(scope: &Scope) -> BTreeSet<String> {
    super::trace::git_dirs(&scope.repository.git_dir)
        .into_iter()
        .filter(|dir| *dir != scope.admin)
        .filter_map(|dir| fs::read_to_string(dir.join("HEAD")).ok())
        .filter_map(|head| Some(head.strip_prefix("ref: ")?.trim().to_owned()))
        .collect()
}

/// Configuration, hooks, and what decides which files git sees.
fn files(git_dir: &Path) -> Result<BTreeMap<PathBuf, Content>, WorkspaceError> {
    let mut files = BTreeMap::new();
    let roots = ["config", "hooks", "info/exclude", "info/attributes", "info/grafts"];
    for found in roots.iter().flat_map(|root| walkdir::WalkDir::new(git_dir.join(root))).flatten() {
        // A link (to hooks kept elsewhere) is compared by what it leads to.
        let Some(meta) = found.path().metadata().ok().filter(fs::Metadata::is_file) else {
            continue;
        };
        let bytes = fs::read(found.path()).map_err(io_error("read", found.path()))?;
        if let Ok(name) = found.path().strip_prefix(git_dir) {
            files.insert(name.to_owned(), (bytes, meta.permissions().mode() & 0o7777));
        }
    }
    Ok(files)
}

/// A configuration without its `[branch "…"]` sections.
fn without_branches(config: &[u8]) -> Vec<String> {
    let mut in_branch = false;
    String::from_utf8_lossy(config)
        .lines()
        .filter(|line| {
            if line.trim_start().starts_with('[') {
                in_branch = line.trim_start().starts_with("[branch ");
            }
            !in_branch
        })
        .map(str::to_owned)
        .collect()
}

async fn put_back(
    scope: &Scope,
    name: &str,
    before: Option<&String>,
    after: Option<&String>,
) -> Result<(), WorkspaceError> {
    let git = scope.repository.git();
    let why = ["-m", "reflexion: put back what an agent changed"];
    let call = git.call(["update-ref", "--no-deref"]).args(why);
    let nothing = "0".repeat(before.or(after).map_or(40, String::len));
    let expected = after.unwrap_or(&nothing);
    let call = match before {
        Some(id) => call.args([name, id.as_str(), expected]),
        None => call.args(["-d", name, expected]),
    };
    call.ok().await?;
    Ok(())
}

fn describe(name: &str, before: Option<&String>, after: Option<&String>) -> String {
    let what = match name.splitn(3, '/').collect::<Vec<_>>()[..] {
        ["refs", "heads", short] => format!("branch `{short}`"),
        ["refs", "tags", short] => format!("tag `{short}`"),
        _ => format!("ref `{name}`"),
    };
    let short = |id: &String| id.chars().take(12).collect::<String>();
    match (before, after) {
        (Some(a), Some(b)) => {
            format!("{what} was moved from {} to {}", short(a), short(b))
        }
        (None, Some(b)) => format!("{what} was made at {}", short(b)),
        (Some(a), None) => format!("{what} at {} was deleted", short(a)),
        (None, None) => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_upstreams_of_branches_are_overlooked() {
        let check = |a: &str, b: &str, same| {
            let equal = without_branches(a.as_bytes()) == without_branches(b.as_bytes());
            assert_eq!(equal, same, "{a} {b}");
        };
        check("[core]\n\ta = 1\n", "[core]\n\ta = 1\n[branch \"x\"]\n\tremote = o\n", true);
        check("[core]\n\ta = 1\n", "[core]\n\ta = 2\n", false);
        check("[branch \"x\"]\n\tm = 1\n[core]\n", "[branch \"x\"]\n\tm = 2\n[core]\n", true);
        check("[core]\n", "[core]\n[alias]\n\tx = !sh\n", false);
    }
}
