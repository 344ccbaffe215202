//! Bringing confirmed work into the user's files.
//!
//! The work is merged with the user's files as they are - committed, staged, edited, untracked - in the object store
//! alone. Only if that has no conflict, the difference is applied, first as a check, then to copies of the files that it changes
//! ([`copies`](super::copies)), which take the places of these at last. So either all of it arrives, as unstaged changes, or nothing
//! is another.

use super::copies::Copies;
use super::copies::left_behind;
use super::layout::Layout;
use super::layout::blocking;
use super::layout::io_error;
use super::open::Merge;
use super::recorder::Recorder;
use super::recorder::Recording;
use super::repository::Kind;
use super::repository::Repository;
use super::repository::branch;
use crate::domain::RunId;
use crate::domain::TaskId;
use crate::files::Root;
use crate::host::git::Git;
use crate::services::Applied;
use crate::services::WorkspaceError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

pub(super) async fn apply(layout: &Layout, run: &RunId, task: &TaskId) -> Result<Applied, WorkspaceError> {
    if let Some(left) = left_behind(layout) {
        return Err(WorkspaceError::Unusable(left));
    }
    let repository = Repository::locate(layout).await?;
    let name = branch(run, task);
    let name_of_patch = Layout::patch(run, task);
    let patch = layout.state().join(&name_of_patch);
    let tip = repository.resolve(&format!("refs/heads/{name}^{{commit}}")).await?;
    let origin = repository.resolve(&format!("refs/heads/{name}~1")).await?;
    let (Some(tip), Some(origin)) = (tip, origin) else {
        let state = layout.files().map_err(io_error("open", layout.state()))?;
        if state.look(&name_of_patch).map_err(io_error("read", &patch))?.is_some() {
            let bytes = state.read(&name_of_patch).map_err(io_error("read", &patch))?;
            return apply_file(layout, &repository, (&patch, bytes)).await;
        }
        return Err(WorkspaceError::Unusable(format!(
            "there is no confirmed work of task {task} in run {run}: neither the branch {name} nor {}",
            patch.display()
        )));
    };
    let what = format!("the confirmed work of task {task}");
    let work = Work { tip, origin, what };
    let files = work.bring_into(layout, &repository).await?;
    Ok(Applied {
        from: match repository.kind {
            Kind::Git => name,
            Kind::Snapshot => patch.display().to_string(),
        },
        files,
    })
}

struct Work {
    tip: String,
    origin: String,
    what: String,
}

impl Work {
    async fn bring_into(self, layout: &Layout, repository: &Repository) -> Result<Vec<String>, WorkspaceError> {
        let scratch =
            tempfile::tempdir().map_err(|error| io_error("make a directory in", &std::env::temp_dir())(error))?;
        let open = |path: &Path| Root::open(path).map_err(io_error("open", path));
        let (own, private) = (repository.own(), open(scratch.path())?);
        let recorder = Recorder::new(&own, open(&repository.top)?, private);
        // A copy of the user's index: its stat data save reading every file. Without one every file is read.
        // One that is split needs its other part, which is named only beside it.
        let is_split = std::fs::read_dir(&repository.checkout_dir).into_iter().flatten().flatten();
        let is_split = is_split.map(|entry| entry.file_name()).any(|name| name.as_bytes().starts_with(b"sharedindex."));
        if is_split || copy_index(&repository.checkout_dir.join("index"), &recorder.index()).is_err() {
            let _ = std::fs::remove_file(recorder.index());
        }
        let user = recorder.record(Recording {
            left_out: repository.hidden().into(),
            forced: Vec::new(),
            is_work: false,
            most_bytes: u64::MAX,
            loaded: None,
        });
        let user = user.await?.tree;
        let git = repository.git();
        let ours = commit(&own, &user).await?;
        let merge = Merge { origin: Some(self.origin), ours: &ours, theirs: &self.tip };
        let merged = merge.tree(&own, &self.what).await?;
        let difference = recorder.difference(&user, &merged).await?;
        if difference.files.is_empty() {
            return Ok(Vec::new());
        }
        let patch = patch(&own, &user, &merged).await?;
        let call = |git: &Git, options: &[&str]| {
            let call = git.call(["apply", "--whitespace=nowarn"]).args(options);
            call.stdin(patch.clone())
        };
        let check = call(&git, &["--check"]).run().await?;
        if check.status != 0 {
            return Err(refused(self.what, &check.stderr));
        }
        all_or_nothing(layout, repository, difference.paths, |files| call(&git.on(files), &[])).await?;
        Ok(difference.files)
    }
}

/// Runs a call that changes these files, on copies of them; then these arrive.
async fn all_or_nothing(
    layout: &Layout,
    repository: &Repository,
    files: Vec<PathBuf>,
    change: impl Fn(&Root) -> crate::host::git::Call,
) -> Result<(), WorkspaceError> {
    let (place, top) = (layout.clone(), repository.top.clone());
    let copies = blocking(move || Copies::take(&place, &top, files)).await?;
    let changed = change(copies.after()).ok().await;
    blocking(move || match changed {
        Ok(_) => copies.arrive(),
        Err(error) => copies.give_up().and(Err(error)),
    })
    .await
}

/// Copies an index with its modification time: git looks into files that are not older than their index, because a
/// change within the same second may not show in their stat data [git, `racy-git.txt`]. A younger copy would hide it.
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    let written = from.metadata()?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(written)
}

/// `merge-tree` wants commits; nobody ever sees this one.
async fn commit(git: &Git, tree: &str) -> Result<String, WorkspaceError> {
    let call = git.call(["commit-tree", tree, "-m", "the user's files"]);
    let who = |call: crate::host::git::Call, name: &str| {
        call.env(&format!("GIT_{name}_NAME"), "reflexion").env(&format!("GIT_{name}_EMAIL"), "reflexion@localhost")
    };
    who(who(call, "AUTHOR"), "COMMITTER").line().await
}

/// The difference of two trees as a patch that `git apply` takes.
pub(super) async fn patch(git: &Git, from: &str, to: &str) -> Result<Vec<u8>, WorkspaceError> {
    git.call(["diff-tree", "--binary", "--full-index"].iter().chain(&READABLE).chain(&[from, to])).ok().await
}

/// The difference of two trees as it is read. Whether a file is text is said by the attributes of the first tree: with
/// `* -diff` in the second one's `.gitattributes` an agent could hide what it did. (Git before 2.41 does not know the variable.)
pub(super) async fn diff(git: &Git, from: &str, to: &str) -> Result<Vec<u8>, WorkspaceError> {
    git.call(["diff-tree"].iter().chain(&READABLE).chain(&[from, to])).env("GIT_ATTR_SOURCE", from).ok().await
}

const READABLE: [&str; 8] =
    ["-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"];

/// The repository that made the patch is gone; the patch alone is enough if the files have not changed since.
async fn apply_file(
    layout: &Layout,
    repository: &Repository,
    (patch, bytes): (&Path, Vec<u8>),
) -> Result<Applied, WorkspaceError> {
    // Outside a repository `git apply` takes paths from where it runs; inside one it would skip those above.
    let call = |files: Option<&Root>, options: &[&str]| {
        let dir = files.map_or(repository.top.as_path(), Root::path);
        let git = match (repository.kind, files) {
            (Kind::Git, None) => repository.git(),
            (Kind::Git, Some(files)) => repository.git().on(files),
            (Kind::Snapshot, _) => Git::found_from(dir),
        };
        let call = git.call(["apply", "--whitespace=nowarn"]).args(options);
        call.stdin(bytes.clone()).env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap_or(dir))
    };
    let check = call(None, &["--check"]).run().await?;
    if check.status != 0 {
        return Err(refused(format!("the patch {}", patch.display()), &check.stderr));
    }
    let list = call(None, &["--numstat", "-z"]).ok().await?;
    let lines = list.split(|byte| *byte == 0);
    let names = lines.filter_map(|line| line.splitn(3, |byte| *byte == b'\t').nth(2));
    let paths: Vec<PathBuf> = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    all_or_nothing(layout, repository, paths.clone(), |files| call(Some(files), &[])).await?;
    let files = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Ok(Applied { from: patch.display().to_string(), files })
}

/// `error: patch failed: <file>:<line>` and `error: <file>: <why>` name the files.
fn refused(what: String, stderr: &str) -> WorkspaceError {
    let mut files: Vec<String> = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("error: "))
        .filter_map(|line| {
            let line = line.strip_prefix("patch failed: ").unwrap_or(line);
            Some(line.split_once(':')?.0.to_owned())
        })
        .collect();
    files.dedup();
    WorkspaceError::Conflict { what, files }
}
