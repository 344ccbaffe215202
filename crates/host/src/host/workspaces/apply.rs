//! Bringing confirmed work into the user's files.
//!
//! The work is merged with the user's files as they are - committed, staged, edited, untracked - in the object store
//! alone. Only if that has no conflict, the difference is applied, first as a check, then to copies of the files that it changes
//! ([`copies`](super::copies)), which take the places of these at last. So either all of it arrives, as unstaged changes, or nothing
//! is another. Until they do, it can be interrupted; from then on it comes to its end.

use super::copies::{Bench, Copies};
use super::layout::{Layout, blocking, io_error};
use super::merge::Merge;
use super::placed::{AllPlaced, Placed};
use super::recorder::{Difference, Recorder, Recording, Submodule};
use super::repository::{Kind, Repository, branch};
use crate::domain::{RunId, TaskId};
use crate::files::Root;
use crate::host::git::{Call, Git, listing};
use crate::services::{Applied, WorkspaceError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

pub(super) async fn apply(
    layout: &Layout,
    run: &RunId,
    task: &TaskId,
    cancel: &CancellationToken,
) -> Result<Applied, WorkspaceError> {
    let bench = Bench::take(layout)?;
    let planned = Box::pin(unless(cancel, plan(layout, &bench, run, task))).await?;
    let Planned { applied, repository, change } = planned;
    if let Some(change) = change {
        all_or_nothing(&repository, bench, change, cancel).await?;
    }
    Ok(applied)
}

/// What comes of it, unless it is interrupted: then the git that works on it is ended.
async fn unless<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, WorkspaceError>>,
) -> Result<T, WorkspaceError> {
    cancel.run_until_cancelled(work).await.unwrap_or(Err(WorkspaceError::Interrupted))
}

/// What is to be done to the user's files, of which none was touched yet.
struct Planned {
    applied: Applied,
    repository: Repository,
    /// None where they are so already.
    change: Option<Change>,
}

/// A patch that fits, and the files that it changes.
struct Change {
    patch: Vec<u8>,
    files: Vec<PathBuf>,
    /// Whether the repository that is asked for settings is the user's.
    in_repository: bool,
}

impl Change {
    /// The call that applies the patch to these files; none are those of the user.
    fn call(&self, repository: &Repository, files: Option<&Root>, options: &[&str]) -> Call {
        let dir = files.map_or(repository.top.as_path(), Root::path);
        let git = match (self.in_repository, files) {
            (true, None) => repository.git(),
            (true, Some(files)) => repository.git().on(files),
            (false, _) => Git::found_from(dir),
        };
        let call = git.call(["apply", "--whitespace=nowarn"]).args(options).stdin(self.patch.clone());
        // Outside a repository `git apply` takes paths from where it runs; inside one it would skip those above.
        if self.in_repository { call } else { call.env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap_or(dir)) }
    }

    async fn check(&self, repository: &Repository, what: String) -> Result<(), WorkspaceError> {
        let check = self.call(repository, None, &["--check"]).run().await?;
        if check.status == 0 { Ok(()) } else { Err(refused(what, &check.stderr)) }
    }
}

async fn plan(layout: &Layout, bench: &Bench, run: &RunId, task: &TaskId) -> Result<Planned, WorkspaceError> {
    let repository = Repository::locate_beside_runs(layout).await?;
    let name = branch(run, task);
    let name_of_patch = Layout::patch(run, task);
    let patch = layout.state().join(&name_of_patch);
    let tip = repository.resolve(&format!("refs/heads/{name}^{{commit}}")).await?;
    let Some(tip) = tip else {
        let state = layout.files().map_err(io_error("open", layout.state()))?;
        if state.look(&name_of_patch).map_err(io_error("read", &patch))?.is_some() {
            let bytes = state.read(&name_of_patch).map_err(io_error("read", &patch))?;
            return plan_of_file(repository, (&patch, bytes)).await;
        }
        return Err(WorkspaceError::Unusable(format!(
            "there is no confirmed work of task {task} in run {run}: neither the branch {name} nor {}",
            patch.display()
        )));
    };
    let what = format!("the confirmed work of task {task}");
    let placed = AllPlaced::read(layout, run)?;
    let placed = placed.last(&format!("refs/heads/{name}"));
    let origin = origin(&repository, Of { task, name: &name, placed }, &tip).await?;
    let work = Work { tip: tip.clone(), origin, what: what.clone() };
    let (change, difference) = work.on_top_of_the_users(bench, &repository).await?;
    let mut remarks = Vec::new();
    if let Some(Placed { commit, base }) = placed
        && !repository.is_ancestor(commit, &tip).await?
    {
        if change.is_none() {
            // Where that is rewritten work that the user has, they have the confirmed one, too.
            let confirmed = Work { tip: commit.clone(), origin: base.clone(), what };
            let has_it = matches!(confirmed.on_top_of_the_users(bench, &repository).await, Ok((None, _)));
            if !has_it {
                return Err(moved_away(&name, commit));
            }
        } else {
            remarks.push(format!(
                "the branch {name} does not hold {} any more, which was confirmed: it was rewritten since, and this is what it holds now",
                short(commit)
            ));
        }
    }
    let from = match repository.kind {
        Kind::Git => name,
        Kind::Snapshot => patch.display().to_string(),
    };
    // One that was moved is at a commit that the user has.
    let elsewhere = difference.submodules.iter().filter(|submodule| !difference.were.contains(&submodule.commit));
    remarks.extend(elsewhere.map(stays));
    Ok(Planned { applied: Applied { from, files: difference.files, remarks }, repository, change })
}

fn moved_away(name: &str, commit: &str) -> WorkspaceError {
    WorkspaceError::Unusable(format!(
        "the branch {name} was moved and does not hold {} any more, the confirmed work: move it back with `git branch -f {name} {commit}`, and \
         apply it then",
        short(commit)
    ))
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// What is in the user's submodules is not touched.
fn stays(submodule: &Submodule) -> String {
    let (path, commit) = (submodule.path.display(), &submodule.commit);
    format!(
        "the submodule `{path}` stays at its commit in your checkout; for the one of the work: git -C {path} checkout {commit}"
    )
}

/// What the difference is taken from that arrives: what the task started from, as the run has noted it, whatever somebody has made of the
/// branch. Where somebody has brought the branch up to date with what the user has gone on to, that is what both have in common: the user's own
/// changes are not done, or undone, once more.
async fn origin(repository: &Repository, of: Of<'_>, tip: &str) -> Result<String, WorkspaceError> {
    let Of { task, name, placed } = of;
    let by_git =
        format!("bring it with git (`git cherry-pick`, `git merge --squash {name}`, `git checkout {name} -- FILE`)");
    let Some(Placed { commit, base }) = placed else {
        return Err(WorkspaceError::Unusable(format!(
            "what task {task} started from is not known, because `.reflection/` has no note of the branch {name}: {by_git}"
        )));
    };
    if !repository.is_ancestor(base, tip).await? {
        let short = short(base);
        return Err(WorkspaceError::Unusable(format!(
            "the branch {name} was rewritten and does not stand on {short} any more, from which task {task} started, so that nobody can \
             tell what of it is its work: {by_git}"
        )));
    }
    let Some(head) = repository.resolve("HEAD^{commit}").await? else { return Ok(base.clone()) };
    let common = repository.own().call(["merge-base", &head, tip]).run().await?;
    let common = String::from_utf8_lossy(&common.stdout).trim().to_owned();
    let is_brought_up_to_date = !common.is_empty()
        && repository.is_ancestor(base, &common).await?
        && !repository.is_ancestor(commit, &head).await?;
    Ok(if is_brought_up_to_date { common } else { base.clone() })
}

/// Whose work, the branch that it is on, and what the run has noted of that.
struct Of<'a> {
    task: &'a TaskId,
    name: &'a str,
    placed: Option<&'a Placed>,
}

struct Work {
    tip: String,
    origin: String,
    what: String,
}

impl Work {
    /// The change, with what it does; none where the user has it all.
    async fn on_top_of_the_users(
        self,
        bench: &Bench,
        repository: &Repository,
    ) -> Result<(Option<Change>, Difference), WorkspaceError> {
        let (own, private) = (repository.own(), bench.scratch()?);
        let top = Root::open(&repository.top).map_err(io_error("open", &repository.top))?;
        take_index(&repository.checkout_dir, &private);
        // Permissions that the user's git does not look at are no change of theirs.
        let git =
            if repository.frozen.ignores_modes() { own.clone().setting("core.fileMode=false") } else { own.clone() };
        let recorder = Recorder::new(&git, top, private);
        let user = recorder.record(Recording {
            left_out: repository.hidden().into(),
            forced: Vec::new(),
            said: Vec::new(),
            has_submodules: repository.kind == Kind::Git,
            is_work: false,
            most_bytes: u64::MAX,
            loaded: None,
            base: None,
        });
        let user = user.await?.tree;
        let ours = commit(&own, &user).await?;
        let merge = Merge { origin: Some(self.origin), ours: &ours, theirs: &self.tip };
        let merged = merge.tree(&own, &self.what).await?;
        let difference = recorder.difference(&user, &merged).await?;
        if difference.files.is_empty() {
            return Ok((None, difference));
        }
        let left_out = repository.left_out_of_checkout(&difference.paths).await?;
        if !left_out.is_empty() {
            let left_out = left_out.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(WorkspaceError::Unusable(format!(
                "{} changes files that your sparse checkout leaves out: {left_out}. Nothing was changed: have them checked out (`git \
                 sparse-checkout add DIR`) and apply it then, or merge the branch with git, which needs no files for that",
                self.what
            )));
        }
        nothing_is_hidden(&own, &repository.top, &user, &difference.paths).await?;
        let patch = patch(&own, &user, &merged).await?;
        let change = Change { patch, files: difference.paths.clone(), in_repository: true };
        change.check(repository, self.what).await?;
        Ok((Some(change), difference))
    }
}

/// That what git keeps of these files of the user's is all of them. A `clean` filter may leave something out - the output of a
/// notebook, a password - that is nowhere else, and would be lost where the file is written anew from what git has.
async fn nothing_is_hidden(own: &Git, top: &Path, user: &str, paths: &[PathBuf]) -> Result<(), WorkspaceError> {
    let files = Root::open(top).map_err(io_error("open", top))?;
    let git = own.on(&files);
    let asked = git.call(["check-attr", "-z", "--stdin", "filter"]).stdin(listing(paths)).ok().await?;
    // `path NUL attribute NUL value NUL`, again and again.
    let parts: Vec<&[u8]> = asked.split(|byte| *byte == 0).collect();
    for part in parts.chunks_exact(3).filter(|part| !matches!(part[2], b"unspecified" | b"unset")) {
        let path = Path::new(OsStr::from_bytes(part[0]));
        // A new file of the work's, or a link.
        let Ok(of_user) = files.read(path) else { continue };
        let object = [user.as_bytes(), b":", part[0]].concat();
        let written = git.call(["cat-file", "--filters"]).arg(OsStr::from_bytes(&object)).run().await?;
        if written.status != 0 || !is_but_for_line_ends(&of_user, &written.stdout) {
            return Err(WorkspaceError::Unusable(format!(
                "a filter of git's leaves out a part of what is in {}, which would be lost: copy what you need of it, `git restore` it, \
                 and apply then",
                path.display()
            )));
        }
    }
    Ok(())
}

fn is_but_for_line_ends(one: &[u8], other: &[u8]) -> bool {
    let bytes = |text: &[u8]| text.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<_>>();
    bytes(one) == bytes(other)
}

/// Changes copies of the files; then these arrive.
async fn all_or_nothing(
    repository: &Repository,
    bench: Bench,
    mut change: Change,
    cancel: &CancellationToken,
) -> Result<(), WorkspaceError> {
    let (top, files) = (repository.top.clone(), std::mem::take(&mut change.files));
    let until = cancel.clone();
    let copies = blocking(move || Copies::take(bench, &top, files, &until)).await?;
    let changed = unless(cancel, change.call(repository, Some(copies.after()), &[]).ok()).await;
    // Copies that do not arrive are removed with their value.
    blocking(move || changed.and_then(|_| copies.arrive())).await
}

/// Copies the user's index, whose stat data save reading every file; without one every file is read. With its modification time:
/// git looks into files that are not older than their index, because a change within the same second may not show in their stat
/// data [git, `racy-git.txt`], and a younger copy would hide it. One that is split needs its other part, which is named only
/// beside it.
fn take_index(checkout_dir: &Path, private: &Root) {
    let Ok(from) = Root::open(checkout_dir) else { return };
    let names = from.list(Path::new("")).unwrap_or_default();
    let is_split = names.iter().any(|(name, _)| name.as_bytes().starts_with(b"sharedindex."));
    let index = Path::new("index");
    if !is_split && private.copy(index, &from, index).is_err() {
        let _ = private.remove(index);
    }
}

/// `merge-tree` wants commits; nobody ever sees this one.
async fn commit(git: &Git, tree: &str) -> Result<String, WorkspaceError> {
    let call = git.call(["commit-tree", tree, "-m", "the user's files"]);
    let who = |call: Call, name: &str| {
        call.env(&format!("GIT_{name}_NAME"), "reflexion").env(&format!("GIT_{name}_EMAIL"), "reflexion@localhost")
    };
    who(who(call, "AUTHOR"), "COMMITTER").line().await
}

/// The difference of two trees as a patch that `git apply` takes.
pub(super) async fn patch(git: &Git, from: &str, to: &str) -> Result<Vec<u8>, WorkspaceError> {
    git.call(["diff-tree", "--binary", "--full-index"].iter().chain(&READABLE).chain(&[from, to])).ok().await
}

/// The difference of two trees as it is read. All of it as text: what attributes call binary may be a test all the same.
pub(super) async fn diff(git: &Git, from: &str, to: &str) -> Result<Vec<u8>, WorkspaceError> {
    git.call(["diff-tree", "--text"].iter().chain(&READABLE).chain(&[from, to])).ok().await
}

const READABLE: [&str; 9] = [
    "-r",
    "-p",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The repository that made the patch is gone; the patch alone is enough if the files have not changed since.
async fn plan_of_file(repository: Repository, (path, patch): (&Path, Vec<u8>)) -> Result<Planned, WorkspaceError> {
    let mut change = Change { patch, files: Vec::new(), in_repository: repository.kind == Kind::Git };
    change.check(&repository, format!("the patch {}", path.display())).await?;
    let list = change.call(&repository, None, &["--numstat", "-z"]).ok().await?;
    let lines = list.split(|byte| *byte == 0);
    let names = lines.filter_map(|line| line.splitn(3, |byte| *byte == b'\t').nth(2));
    change.files = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    let files = change.files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let applied = Applied { from: path.display().to_string(), files, remarks: Vec::new() };
    Ok(Planned { applied, repository, change: Some(change) })
}

/// What git names in its errors: `patch failed: <file>:<line>`, `<file>: <why>`, and `affected file '<file>' is beyond …`.
fn refused(what: String, stderr: &str) -> WorkspaceError {
    let mut files: Vec<String> =
        stderr.lines().filter_map(|line| line.strip_prefix("error: ")).filter_map(named).map(str::to_owned).collect();
    files.dedup();
    if files.is_empty() {
        // In git's words, rather than in none.
        files.push(stderr.trim().lines().collect::<Vec<_>>().join("; "));
    }
    WorkspaceError::Conflict { what, files }
}

fn named(error: &str) -> Option<&str> {
    if let Some(place) = error.strip_prefix("patch failed: ") {
        return Some(place.rsplit_once(':')?.0);
    }
    match error.strip_prefix("affected file '") {
        Some(rest) => Some(rest.rsplit_once('\'')?.0),
        None => Some(error.split_once(": ")?.0),
    }
}
