//! What of the user's repository an attempt must leave alone, and putting it back.
//!
//! A worktree shares refs, configuration and hooks with the user's checkout and with the other tasks' worktrees, so a
//! difference is not always the agent's. Evidence is in the `HEAD` reflogs: git writes every commit, checkout and reset
//! into the log of the worktree it happened in. What another worktree's log shows is never touched. What this
//! worktree's log shows is the agent's. What no log shows (a ref made without a checkout, a deletion, an edited file) is
//! the agent's if no other attempt was under way meanwhile, and is otherwise only put back where something of the
//! user's would be lost. So a tag or branch that the user makes meanwhile without checking it out, or a key of the
//! configuration, is taken for the agent's; the words say what it was, so that it can be made again.

use super::layout::io_error;
use super::layout::write_whole;
use super::removal::remove;
use super::repository::Repository;
use super::stash::Stash;
use super::trace::Logs;
use super::trace::Trace;
use super::watch::Undone;
use super::watch::Watch;
use crate::host::git;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Refs that are compared. Not `remotes` (a fetch is harmless), not what belongs to a worktree (bisect, rewritten).
const REFS: [&str; 4] = ["refs/heads", "refs/tags", "refs/notes", "refs/replace"];

/// The state before an attempt.
#[derive(Debug)]
pub(super) struct Guarded {
    refs: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, Content>,
    stash: Stash,
    fetched: Option<Fetched>,
    logs: Logs,
    watch: Watch,
}

/// A file's bytes and mode.
pub(super) type Content = (Vec<u8>, u32);

/// Whose repository, and which worktree in it is the agent's.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) repository: Repository,
    /// The agent's worktree's own git directory.
    pub(super) admin: PathBuf,
    /// Branches that the run itself makes: `refs/heads/reflexion/<run>/`.
    pub(super) own_branches: String,
}

impl Guarded {
    pub(super) async fn take(scope: &Scope) -> Result<Self, WorkspaceError> {
        let watch = Watch::start(&scope.repository.git_dir);
        Ok(Self {
            refs: refs(scope).await?,
            files: files(&scope.repository.git_dir)?,
            stash: Stash::read(scope),
            fetched: fetched(scope),
            logs: Logs::now(&scope.repository.git_dir),
            watch,
        })
    }

    /// Puts back what the agent changed, and says what it was.
    pub(super) async fn restore(mut self, scope: &Scope) -> Result<Vec<String>, WorkspaceError> {
        let lock = git::worktree_lock(&scope.repository.git_dir);
        let _one_at_a_time = lock.lock().await;
        for undone in self.watch.undone_by_others() {
            self.take_as_undone(undone);
        }
        let (own, others) = self.logs.since(&scope.admin);
        let judge = Judge { own, others, sole: self.watch.sole() };
        let mut words = Vec::new();
        self.restore_files(scope, &judge, &mut words)?;
        self.restore_refs(scope, &judge, &mut words).await?;
        for undone in self.stash.restore(scope, &judge, &mut words).await? {
            self.watch.tell_others(undone);
        }
        Ok(words)
    }

    /// What we saw at the beginning may have been another agent's doing, put back since: that is no change.
    fn take_as_undone(&mut self, undone: Undone) {
        fn replace<K: Ord, V: PartialEq>(map: &mut BTreeMap<K, V>, key: K, from: Option<V>, to: Option<V>) {
            if map.get(&key) != from.as_ref() {
                return;
            }
            match to {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        match undone {
            Undone::Ref { name, from, to } => replace(&mut self.refs, name, from, to),
            Undone::File { name, from, to } => replace(&mut self.files, name, from, to),
            Undone::Dropped { entry } => self.stash.forget(&entry),
            Undone::Stored { entry } => self.stash.expect(entry),
        }
    }

    async fn restore_refs(&self, scope: &Scope, judge: &Judge, words: &mut Vec<String>) -> Result<(), WorkspaceError> {
        let now = refs(scope).await?;
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        let user_fetched = fetched(scope) != self.fetched;
        let mut checked_out = None;
        for name in names {
            let (before, after) = (self.refs.get(name), now.get(name));
            // A fetch in the user's checkout (editors do it by themselves) brings tags.
            let came_with_fetch = user_fetched && before.is_none() && name.starts_with("refs/tags/");
            if before == after || came_with_fetch {
                continue;
            }
            let elsewhere = checked_out.get_or_insert_with(|| checked_out_elsewhere(scope));
            let blame = match judge.of_ref(name, after, elsewhere) {
                Whose::NotOurs => continue,
                Whose::Agent => true,
                Whose::Unknown => judge.sole,
            };
            // Without proof only what would be lost is put back.
            if !blame && after.is_some() {
                continue;
            }
            put_back(scope, name, before, after).await?;
            let (from, to) = (after.cloned(), before.cloned());
            self.watch.tell_others(Undone::Ref { name: name.clone(), from, to });
            if blame {
                words.push(describe(name, before, after));
            }
        }
        Ok(())
    }

    fn restore_files(&self, scope: &Scope, judge: &Judge, words: &mut Vec<String>) -> Result<(), WorkspaceError> {
        let git_dir = &scope.repository.git_dir;
        let now = files(git_dir)?;
        let names: BTreeSet<&PathBuf> = self.files.keys().chain(now.keys()).collect();
        for name in names {
            let (before, after) = (self.files.get(name), now.get(name));
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
            let did = if let Some((bytes, mode)) = before {
                write_whole(&path, bytes)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).map_err(io_error("restore", &path))?;
                "changed; put back"
            } else {
                remove(&path)?;
                "added; removed"
            };
            let (from, to) = (after.cloned(), before.cloned());
            self.watch.tell_others(Undone::File { name: name.clone(), from, to });
            if judge.sole {
                words.push(format!("`.git/{}` was {did}", name.display()));
            }
        }
        Ok(())
    }
}

/// What the logs say, and whether anyone else could have done what they do not say.
pub(super) struct Judge {
    pub(super) own: Trace,
    pub(super) others: Trace,
    /// No other attempt of this process was guarded at any time since this one began.
    pub(super) sole: bool,
}

enum Whose {
    NotOurs,
    Agent,
    Unknown,
}

impl Judge {
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

async fn refs(scope: &Scope) -> Result<BTreeMap<String, String>, WorkspaceError> {
    scope.repository.refs(&REFS, Some(&scope.own_branches)).await
}

/// Change time of the user's checkout's `FETCH_HEAD`; a fetch in a worktree writes that worktree's own.
type Fetched = (i64, i64);

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
            format!("{what} was moved from {} to {}; put back", short(a), short(b))
        }
        (None, Some(b)) => format!("{what} was made at {}; removed", short(b)),
        (Some(a), None) => format!("{what} at {} was deleted; put back", short(a)),
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
