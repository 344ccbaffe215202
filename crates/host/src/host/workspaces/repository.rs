//! The repository behind a project: the user's own, if there is one, and the runtime's beside it.

use super::layout::{Layout, blocking, io_error};
use super::refs::Read;
use super::store::Frozen;
use super::{refs, store};
use crate::domain::{RunId, TaskId, Timestamp};
use crate::files::Root;
use crate::host::git::{Call, Git, GitOutput, failed, git_version};
use crate::host::process::git_dir_of;
use crate::host::{git, lock_holder};
use crate::services::WorkspaceError;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whose repository it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The user's.
    Git,
    /// There is none: the runtime's own, under `.reflection/`, has snapshots of the user's files.
    Snapshot,
}

/// Where a project's files and their history are.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    pub(super) kind: Kind,
    /// The top directory of the user's files.
    pub(super) top: PathBuf,
    /// The project's place in it; empty at the top.
    pub(super) prefix: PathBuf,
    /// Objects, shared refs, configuration, hooks.
    pub(super) git_dir: PathBuf,
    /// `HEAD` and index of the user's checkout; equals `git_dir` unless that is a linked worktree.
    pub(super) checkout_dir: PathBuf,
    /// The runtime's own repository.
    store: PathBuf,
    /// What of the user's decides about files, as it was when the repository was found.
    pub(super) frozen: Arc<Frozen>,
    /// Whether nothing is fetched for what a partial clone has left out.
    looks: bool,
    /// `<object>^{<kind>}`, as git has resolved it.
    facts: Arc<Mutex<HashMap<String, String>>>,
}

impl Repository {
    /// Finds the user's repository, or makes the private one, for a run that begins: what decides about files is taken over from the
    /// user's as it is now.
    pub(super) async fn locate(layout: &Layout) -> Result<Self, WorkspaceError> {
        Self::find(layout, For::Run).await
    }

    /// The same for whoever is no run. Where one lives, what it has taken over stays.
    pub(super) async fn locate_beside_runs(layout: &Layout) -> Result<Self, WorkspaceError> {
        Self::find(layout, For::Others).await
    }

    /// The same for whoever only looks, and reaches no other machine.
    pub(super) async fn locate_to_look(layout: &Layout) -> Result<Self, WorkspaceError> {
        Self::find(layout, For::Lookers).await
    }

    async fn find(layout: &Layout, whom: For) -> Result<Self, WorkspaceError> {
        git_version().await?;
        // Several paths in one variable are told apart by colons, such as those above which git looks for no repository.
        if layout.project.to_str().is_none_or(|path| path.contains(['\n', ':'])) {
            return Err(WorkspaceError::Unusable(format!(
                "the path of the project, `{}`, has a line break or a colon, or is not UTF-8, and not every program can be told it: \
                 give the directory another name",
                layout.project.to_string_lossy().escape_debug()
            )));
        }
        layout.files().map_err(io_error("make", layout.state()))?;
        let found = Git::found_from(&layout.project)
            .looking()
            .call([
                "rev-parse",
                "--path-format=absolute",
                "--show-toplevel",
                "--git-common-dir",
                "--git-dir",
                "--show-prefix",
            ])
            .run()
            .await?;
        if found.status != 0 {
            // One that is damaged is not none.
            return if found.stderr.contains("not a git repository") && git_dir_of(&layout.project).is_none() {
                Self::private(layout, whom).await
            } else {
                Err(WorkspaceError::Unusable(format!(
                    "git cannot work in {}: {}",
                    layout.project.display(),
                    found.stderr.trim()
                )))
            };
        }
        let text = String::from_utf8_lossy(&found.stdout);
        let mut lines = text.lines().map(PathBuf::from);
        let mut next = || lines.next().unwrap_or_default();
        let mut repository = Self {
            kind: Kind::Git,
            top: next(),
            git_dir: next(),
            checkout_dir: next(),
            prefix: next(),
            store: layout.store(),
            frozen: Arc::default(),
            looks: whom == For::Lookers,
            facts: Arc::default(),
        };
        if repository.ignores_the_project().await? {
            return Self::private(layout, whom).await;
        }
        let frozen = Arc::new(Frozen::of_user(&repository.git(), &repository.git_dir).await?);
        repository.frozen = Arc::clone(&frozen);
        whom.lay(layout, frozen).await?;
        Ok(repository)
    }

    /// A project in an ignored directory of some repository (dotfiles in the home directory) is none of its business.
    async fn ignores_the_project(&self) -> Result<bool, WorkspaceError> {
        if self.prefix.as_os_str().is_empty() {
            return Ok(false);
        }
        let call = self.git().call(["check-ignore", "-q"]);
        Ok(call.arg(&self.prefix).run().await?.status == 0)
    }

    async fn private(layout: &Layout, whom: For) -> Result<Self, WorkspaceError> {
        let frozen = Arc::new(Frozen::plain());
        whom.lay(layout, Arc::clone(&frozen)).await?;
        let git_dir = layout.store();
        Ok(Self {
            kind: Kind::Snapshot,
            top: layout.project.clone(),
            prefix: PathBuf::new(),
            checkout_dir: git_dir.clone(),
            store: git_dir.clone(),
            git_dir,
            frozen,
            looks: whom == For::Lookers,
            facts: Arc::default(),
        })
    }

    /// Git in the user's repository, on the user's files. Only `apply` writes to these.
    pub(super) fn git(&self) -> Git {
        self.as_it_may(Git::with(&self.checkout_dir, &self.top))
    }

    /// Git in the runtime's own repository: it knows every object of the user's, and those of recorded trees.
    pub(super) fn own(&self) -> Git {
        self.as_it_may(Git::own(&self.store).guarded())
    }

    fn as_it_may(&self, git: Git) -> Git {
        if self.looks { git.looking() } else { git }
    }

    /// `memory/` and `.reflection/` of the project, which no workspace has.
    pub(super) fn hidden(&self) -> [PathBuf; 2] {
        ["memory", ".reflection"].map(|name| self.prefix.join(name))
    }

    /// The object that a name stands for, if it stands for one.
    pub(super) async fn resolve(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        let (start, kind) = name.split_at(name.find("^{").unwrap_or(name.len()));
        let start = match refs::one(&self.git_dir, start) {
            Read::Known(Some(id)) if kind.is_empty() => return Ok(Some(id)),
            Read::Known(Some(id)) => id,
            Read::Known(None) => return Ok(None),
            Read::AskGit => start.to_owned(),
        };
        // What an object is never changes.
        let fact = (is_id(&start) && !kind.is_empty()).then(|| format!("{start}{kind}"));
        if let Some(known) = fact.as_ref().and_then(|fact| self.facts().get(fact).cloned()) {
            return Ok(Some(known));
        }
        // Names of refs are the user's; objects may be ours alone.
        let git = if is_id(&start) { self.own() } else { self.git() };
        let call = git.call(["rev-parse", "-q", "--verify"]).arg(format!("{start}{kind}"));
        let out = call.run().await?;
        let id = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        let found = (out.status == 0 && !id.is_empty()).then_some(id);
        if let (Some(fact), Some(id)) = (fact, &found) {
            self.facts().insert(fact, id.clone());
        }
        Ok(found)
    }

    /// Whether one commit is in the history of another, or the same.
    pub(super) async fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, WorkspaceError> {
        let ask = ["merge-base", "--is-ancestor", old, new];
        Ok(self.own().call(ask).run().await?.status == 0)
    }

    /// Whether a ref, given by its full name, is another name of a ref.
    pub(super) async fn is_symbolic(&self, name: &str) -> Result<bool, WorkspaceError> {
        if let Read::Known(_) = refs::one(&self.git_dir, name) {
            return Ok(false);
        }
        Ok(self.git().call(["symbolic-ref", "-q"]).arg(name).run().await?.status == 0)
    }

    /// Brings a commit of ours, with all that it needs beside what these `known` ones have, into the user's repository. Every
    /// object is checked, and so is that what it names is there; of what the user had before nothing is asked. What is [held](Arrival::Held) has a file that keeps git from
    /// removing it; its path is given.
    pub(super) async fn publish(
        &self,
        commit: &str,
        known: &[&str],
        arrival: Arrival,
    ) -> Result<Option<PathBuf>, WorkspaceError> {
        /// A pack with more objects stays a pack, as `git fetch` does it from 100 on.
        const LOOSE: u32 = 1000;
        if self.kind == Kind::Snapshot {
            return Ok(None);
        }
        let pack = self.own().call(["pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "-q"]);
        let pack = pack.stdin(revisions(commit, known)).ok().await?;
        // `PACK`, the version, and how many objects there are [gitformat-pack(5)].
        let count = pack.get(8..12).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
        if count == 0 {
            return Ok(None);
        }
        let arrival = if count <= LOOSE { arrival } else { Arrival::Held };
        let mut said = self.take_in(pack.clone(), arrival, Some("--strict")).await?;
        if said.status != 0 && self.is_all_old(&objects_in(&said.stderr), known).await? {
            // What git's checks find there is the user's own, in a tree that is new.
            said = self.take_in(pack, arrival, None).await?;
        }
        if said.status != 0 {
            let place = self.git_dir.display();
            let why = said.stderr.trim();
            return Err(if objects_in(why).is_empty() {
                WorkspaceError::Machine(format!("the work cannot be written to {place}: {why}"))
            } else {
                failed(format!("taking the work into {place}"), why)
            });
        }
        let said = String::from_utf8_lossy(&said.stdout);
        let kept = said.lines().find_map(|line| line.strip_prefix("keep\t"));
        Ok(kept.map(|id| self.git_dir.join(format!("objects/pack/pack-{}.keep", id.trim_end()))))
    }

    async fn take_in(
        &self,
        pack: Vec<u8>,
        arrival: Arrival,
        strict: Option<&str>,
    ) -> Result<GitOutput, WorkspaceError> {
        let call = match arrival {
            Arrival::Loose => self.git().call(["unpack-objects", "-q"]),
            Arrival::Held => {
                let keep = format!("--keep={}", self.why_held());
                self.git().call(["index-pack", "--stdin", "--fix-thin"]).arg(keep)
            }
        };
        call.args(strict).stdin(pack).run().await
    }

    /// What the file says that holds a pack, in one line; of another project in the same repository it says something else.
    fn why_held(&self) -> String {
        format!("reflexion: about to be on a branch, by {}", self.store.display().to_string().escape_debug())
    }

    /// Lets go of the packs that a run of this project held when it was killed. The caller has the run lock.
    pub(super) fn let_go(&self) -> std::io::Result<()> {
        let packs = Root::open(&self.git_dir)?.below(Path::new("objects/pack"))?;
        for (name, _) in packs.list(Path::new(""))? {
            let name = Path::new(&name);
            let is_held = || packs.read(name).is_ok_and(|text| text.trim_ascii() == self.why_held().as_bytes());
            if name.extension().is_some_and(|end| end == "keep") && is_held() {
                packs.remove(name)?;
            }
        }
        Ok(())
    }

    /// Tracked files that the user's checkout leaves out (`git sparse-checkout`), of these paths or of all.
    pub(super) async fn left_out_of_checkout(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, WorkspaceError> {
        if self.kind == Kind::Snapshot {
            return Ok(Vec::new());
        }
        let list = ["--literal-pathspecs", "ls-files", "-t", "-z", "--"];
        let listed = self.git().call(list).args(paths).ok().await?;
        // `S` says that git is not to look for it in the checkout; it may be there all the same.
        let skipped = git::paths(&listed).filter_map(|entry| {
            let path = entry.as_os_str().as_bytes().strip_prefix(b"S ")?;
            Some(PathBuf::from(OsStr::from_bytes(path)))
        });
        Ok(skipped.filter(|path| self.top.join(path).symlink_metadata().is_err()).collect())
    }

    /// Whether the user has made the checkout a sparse one.
    pub(super) fn is_sparse(&self) -> bool {
        self.kind == Kind::Git && self.checkout_dir.join("info/sparse-checkout").is_file()
    }

    /// Why no repository takes the new files of a tree, in git's words, if so; `known` is the commit that they started from. The same checks
    /// are made of all that is [published](Self::publish): here they cost an attempt, there the confirmed work.
    pub(super) async fn refusal(&self, tree: &str, known: &str) -> Result<Option<String>, WorkspaceError> {
        if self.kind == Kind::Snapshot {
            return Ok(None);
        }
        // Of files, git looks into those alone that it reads itself, and finds them here by the names in directories.
        let pack = self.own().call(["pack-objects", "--revs", "--filter=blob:none", "--stdout", "-q"]);
        let pack = pack.stdin(revisions(tree, &[known])).ok().await?;
        let said = self.own().call(["unpack-objects", "-q", "--strict"]).stdin(pack).run().await?;
        let mut refused = objects_in(&said.stderr);
        if said.status != 0 && !refused.is_empty() {
            let old = self.files_of(&[known]).await?;
            refused.retain(|object| !old.contains(*object));
        }
        if said.status == 0 || refused.is_empty() {
            return Ok(None);
        }
        let list = ["ls-tree", "-r", "-t", "-z", "--format=%(objectname) %(path)"];
        let listed = self.own().call(list).arg(tree).ok().await?;
        let listed = String::from_utf8_lossy(&listed);
        let entries = listed.split('\0').filter_map(|entry| entry.split_once(' '));
        let names: BTreeSet<&str> = entries.filter(|(id, _)| refused.contains(id)).map(|(_, name)| name).collect();
        let lines = said.stderr.lines().filter_map(|line| line.strip_prefix("error: object ")?.split_once(": "));
        let why: BTreeSet<&str> = lines.filter(|(id, _)| refused.contains(id)).map(|(_, why)| why).collect();
        let (names, why) = (Vec::from_iter(names).join(", "), Vec::from_iter(why).join("; "));
        Ok(Some(format!("git's own checks refuse {names}, and so does every repository that makes them: {why}")))
    }

    /// Whether there are such objects, and all of them are in the files of these commits.
    async fn is_all_old(&self, objects: &[&str], commits: &[&str]) -> Result<bool, WorkspaceError> {
        let old = self.files_of(commits).await?;
        Ok(!objects.is_empty() && objects.iter().all(|object| old.contains(*object)))
    }

    /// The ids of what is in the files of these commits.
    async fn files_of(&self, commits: &[&str]) -> Result<HashSet<String>, WorkspaceError> {
        let mut ids = HashSet::new();
        for commit in commits {
            let files = self.own().call(["ls-tree", "-r", "--format=%(objectname)"]).arg(commit).ok().await?;
            ids.extend(String::from_utf8_lossy(&files).lines().map(str::to_owned));
        }
        Ok(ids)
    }

    /// Removes what was recorded long ago and is on no branch, where there is much of it: nobody else takes objects from here.
    pub(super) async fn forget_old_objects(&self) -> Result<(), WorkspaceError> {
        /// As many objects in one of 256 directories are more than 6,700 in all, where `git gc --auto` begins, too.
        const MANY: usize = 27;
        /// The time in which a run goes on.
        const OLD: &str = "--expire=30.days.ago";
        let some = self.store.join("objects/17");
        if std::fs::read_dir(some).is_ok_and(|objects| objects.count() > MANY) {
            self.own().call(["prune", OLD]).ok().await?;
        }
        Ok(())
    }

    /// Whether all that a commit needs is in the user's repository, beside what these `known` ones need.
    pub(super) async fn is_whole(&self, commit: &str, known: &[&str]) -> Result<bool, WorkspaceError> {
        if self.kind == Kind::Snapshot {
            return Ok(true);
        }
        let list = self.git().call(["rev-list", "--objects", "--quiet", "--stdin"]).env("GIT_NO_LAZY_FETCH", "1");
        Ok(list.stdin(revisions(commit, known)).run().await?.status == 0)
    }

    /// Remembers the tree of a commit that was just made.
    pub(super) fn learn(&self, commit: &str, tree: &str) {
        self.facts().insert(format!("{commit}^{{tree}}"), tree.to_owned());
    }

    fn facts(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All refs below these prefixes, by full name; those that begin with `but_not` are left out.
    pub(super) async fn refs(
        &self,
        prefixes: &[&str],
        but_not: Option<&str>,
    ) -> Result<BTreeMap<String, String>, WorkspaceError> {
        if let Read::Known(refs) = refs::below(&self.git_dir, prefixes, but_not) {
            return Ok(refs);
        }
        let list = self.git().call(["for-each-ref", "--format=%(refname) %(objectname)"]);
        let out = list.args(prefixes).ok().await?;
        Ok(String::from_utf8_lossy(&out)
            .lines()
            .filter_map(|line| line.rsplit_once(' '))
            .filter(|(name, _)| but_not.is_none_or(|left_out| !name.starts_with(left_out)))
            .map(|(name, id)| (name.to_owned(), id.to_owned()))
            .collect())
    }
}

/// Who looks for the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Run,
    Others,
    /// They do not even fetch anything.
    Lookers,
}

impl For {
    /// Brings the runtime's own repository up to date, unless it serves a run.
    async fn lay(self, layout: &Layout, frozen: Arc<Frozen>) -> Result<(), WorkspaceError> {
        let layout = layout.clone();
        blocking(move || {
            // The last of its files.
            let is_there = || layout.store().join("HEAD").exists();
            // One that waits for its window has not begun, and has taken over nothing.
            let lives =
                || lock_holder(layout.state()).is_ok_and(|holder| holder.is_some_and(|by| by.waits_until.is_none()));
            if self != Self::Run && is_there() && lives() { Ok(()) } else { store::lay(&layout, &frozen) }
        })
        .await
    }
}

/// How objects come into the user's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// One by one, as a commit of the user's would write them.
    Loose,
    /// As a pack that no `git prune` and no `git repack` of the user's removes before it is let go.
    Held,
}

/// For `--stdin` of commands that walk through history.
fn revisions(commit: &str, known: &[&str]) -> String {
    known.iter().fold(format!("{commit}\n"), |text, known| format!("{text}^{known}\n"))
}

/// Objects that git's checks complain of: `error: object <id>: gitmodulesUrl: …`.
fn objects_in(said: &str) -> Vec<&str> {
    let ids = said.lines().filter_map(|line| line.strip_prefix("error: object ")?.split(':').next());
    ids.filter(|id| is_id(id)).collect()
}

fn is_id(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The branch that holds a task's confirmed work.
pub(super) fn branch(run: &RunId, task: &TaskId) -> String {
    format!("reflexion/{run}/{task}")
}

/// Keeps the base of a run, whatever becomes of the branch that it was on.
pub(super) fn base_ref(run: &RunId) -> String {
    format!("{BASES}{run}")
}

/// The bases of runs.
pub(super) const BASES: &str = "refs/reflexion/base/";

/// Who commits: the user as git's configuration names them, or `reflexion`.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    name: String,
    email: String,
}

impl Identity {
    pub(super) async fn of_user(repository: &Repository) -> Result<Self, WorkspaceError> {
        let args = ["config", "-z", "--get-regexp", r"^user\.(name|email)$"];
        let out = repository.git().call(args).run().await?.stdout;
        let text = String::from_utf8_lossy(&out).into_owned();
        let mut identity = Self { name: "reflexion".to_owned(), email: "reflexion@localhost".to_owned() };
        // Later files override earlier ones.
        for (key, value) in text.split('\0').filter_map(|entry| entry.split_once('\n')) {
            match key {
                "user.name" if !value.trim().is_empty() => identity.name = value.to_owned(),
                "user.email" if !value.trim().is_empty() => identity.email = value.to_owned(),
                _ => {}
            }
        }
        Ok(identity)
    }

    /// Signs a `commit-tree`.
    pub(super) fn sign(&self, call: Call, at: Timestamp) -> Call {
        let date = format!("@{} +0000", at.as_second());
        call.env("GIT_AUTHOR_NAME", &self.name)
            .env("GIT_AUTHOR_EMAIL", &self.email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", &self.name)
            .env("GIT_COMMITTER_EMAIL", &self.email)
            .env("GIT_COMMITTER_DATE", &date)
    }
}
