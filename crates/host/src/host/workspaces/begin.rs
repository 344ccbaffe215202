//! The beginning of a run: its base, and what a dead run left behind.

use super::agents_git::AgentsGit;
use super::answers::Answers;
use super::begun::Begun;
use super::carry::chosen;
use super::copies::left_behind;
use super::gitmodules::Gitmodules;
use super::home::Home;
use super::layout::{CACHES, Layout, WORKTREES, blocking, io_error};
use super::links_out::links_out;
use super::recorder::{Modes, Recorder, Recording};
use super::remotes::Remotes;
use super::repository::{BASES, Identity, Kind, Repository, base_ref};
use super::shared::Shared;
use super::submodules::FETCHED;
use super::{asked, copies, integration, partial, sandbox};
use crate::domain::{RunId, policy};
use crate::files::Root;
use crate::host::git;
use crate::host::process::{end_left_behind, git_dir_of};
use crate::services::{BeginRun, RunBase, WorkspaceError};
use crate::toolchain;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;

pub(super) async fn begin(shared: &Shared, request: BeginRun) -> Result<(Begun, RunBase), WorkspaceError> {
    let BeginRun { run, resumed } = request;
    let layout = &shared.layout;
    // Before anything is made there: by what lies beside the rooms, the runtime knows its own repository.
    let root = &shared.params.project.root;
    layout.keep_rooms_out_of(root.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(root))?;
    layout.rooms()?;
    let repository = Repository::locate(layout).await?;
    layout.keep_rooms_out_of(&repository.top)?;
    sandbox::try_with(&*shared.params.runner, layout, &shared.params.environment.sandbox).await?;
    let identity = Identity::of_user(&repository).await?;
    let cleaned = clean_up(layout).await?;
    if repository.kind == Kind::Git
        && let Err(error) = repository.let_go()
    {
        // Nothing but room on the disk depends on it.
        tracing::warn!(%error, "packs that a killed run held stay");
    }
    let commit = match &resumed {
        Some(resumed) => still_there(&repository, &run, &resumed.commit).await?,
        None => base(shared, &repository, &identity, &run).await?,
    };
    pin(layout, &repository, &run, &commit).await?;
    if resumed.is_none() {
        repository.forget_old_objects().await?;
    }
    partial::fetch_missing(&repository, &commit).await?;
    let agents_git = match repository.kind {
        Kind::Git => Some(Arc::new(AgentsGit::read(layout, &repository, Arc::clone(&repository.frozen)).await?)),
        Kind::Snapshot => None,
    };
    let not_included = match repository.kind {
        Kind::Git => uncommitted(&repository).await?,
        Kind::Snapshot => Vec::new(),
    };
    let branches = match &resumed {
        Some(_) => integration::standing(layout, &repository, &run).await?,
        None => BTreeMap::new(),
    };
    let head = match &resumed {
        Some(resumed) => head_elsewhere(&repository, &resumed.commit).await?,
        None => None,
    };
    let mut missing = missing(shared, &repository, &commit).await?;
    missing.extend(chosen(&shared.params.workspace, &repository).await?.said());
    missing.extend(left_behind(layout));
    missing.extend(foreign_memory(&repository, &commit).await?);
    missing.extend(sparse(&repository).await?);
    missing.extend(links_out(&repository, &commit).await?);
    if let Some(head) = &head {
        missing.push(head_moved(&repository, &commit, head).await?);
    }
    let lines = resumed.as_ref().and_then(|resumed| resumed.home.clone());
    let home = Home::begin(&shared.params.project, &run, lines).await?;
    missing.extend(home.not_looked_at());
    let tip = integration::tip(&repository, &run, resumed.as_ref(), &commit).await?;
    let base = RunBase {
        commit: commit.clone(),
        label: match repository.kind {
            Kind::Git => commit.chars().take(12).collect(),
            Kind::Snapshot => format!("snapshot {}", commit.chars().take(12).collect::<String>()),
        },
        not_included,
        missing,
        head,
        cleaned,
        home: home.lines(),
    };
    let tree = repository.resolve(&format!("{commit}^{{tree}}")).await?.unwrap_or_default();
    let remotes = Remotes::read(&repository).await?;
    let gitmodules = Gitmodules::of_tree(&repository.own(), &commit).await?;
    let modes = narrow_modes(&repository, &commit).await?;
    let begun = Begun {
        began: SystemTime::now(),
        remotes,
        gitmodules,
        modes: Arc::new(modes),
        answers: Answers::default(),
        agents_git,
        home,
        tree,
        told: std::sync::Mutex::default(),
        run,
        repository,
        identity,
        commit,
        integration: Mutex::new(tip),
        branches: std::sync::Mutex::new(branches),
        noting: std::sync::Mutex::default(),
        put_aside: std::sync::Mutex::default(),
        behind: std::sync::Mutex::default(),
    };
    Ok((begun, base))
}

/// The directories in which a run makes files: its own, and those of the repository in which its branches are.
pub(super) fn writes_to(layout: &Layout, begun: &Begun) -> Vec<PathBuf> {
    let git_dir = &begun.repository.git_dir;
    let mut places = vec![layout.store(), layout.state().to_owned()];
    places.extend([layout.place_of_rooms().to_owned(), git_dir.clone(), git_dir.join("objects")]);
    let of_branches = integration::integration(&begun.run);
    // Git makes these where they are missing; in a repository with another kind of refs (`reftable`) they are no directories.
    for log in [git_dir.clone(), git_dir.join("logs")] {
        let all = log.join(&of_branches);
        places.extend(all.ancestors().find(|dir| dir.is_dir()).map(Path::to_owned));
    }
    places
}

/// Whether a run could begin in a project, without beginning one: it can write there, and has something to start from. In words,
/// from what.
///
/// # Errors
/// What stands in the way, with what to do.
pub async fn try_base(project: &policy::Project) -> Result<String, WorkspaceError> {
    let layout = Layout::new(project);
    layout.files().map_err(io_error("make", layout.state()))?;
    layout.keep_rooms_out_of(&project.root)?;
    let rooms = layout.rooms()?;
    // It may be there from better times.
    for place in [layout.state(), &project.root, &project.root.join("memory"), rooms.path()] {
        if place.is_dir() {
            tempfile::tempfile_in(place).map_err(io_error("write to", place))?;
        }
    }
    layout.leave_rooms();
    if git_dir_of(&project.root).is_none() {
        return Ok("a snapshot of the files; there is no git repository".to_owned());
    }
    let repository = Repository::locate_to_look(&layout).await?;
    layout.keep_rooms_out_of(&repository.top)?;
    match repository.kind {
        Kind::Snapshot => Ok("a snapshot of the files; no git repository has them".to_owned()),
        Kind::Git => Ok(format!("commit {}", head(&repository).await?.chars().take(12).collect::<String>())),
    }
}

/// The commit that the tasks of a new run start from.
async fn base(
    shared: &Shared,
    repository: &Repository,
    identity: &Identity,
    run: &RunId,
) -> Result<String, WorkspaceError> {
    if repository.kind == Kind::Git {
        return head(repository).await;
    }
    let tree = snapshot(&shared.layout, repository).await?;
    let call = repository.own().call(["commit-tree", &tree, "-m"]);
    let call = call.arg(format!("reflexion: base of run {run}"));
    identity.sign(call, shared.params.clock.now()).line().await
}

/// Keeps the base, whatever becomes of the branch that it is on: workspaces borrow its objects. The bases of the user's runs
/// that are over are let go; those of another project in the same repository are not ours.
async fn pin(layout: &Layout, repository: &Repository, run: &RunId, commit: &str) -> Result<(), WorkspaceError> {
    let own = base_ref(run);
    let mut orders = format!("update {own} {commit}\n");
    if repository.kind == Kind::Git {
        let others = repository.refs(&[BASES.trim_end_matches('/')], Some(&own)).await?;
        let is_ours = |name: &&String| name.strip_prefix(BASES).is_some_and(|run| layout.run(run).is_dir());
        others.keys().filter(is_ours).for_each(|name| orders.push_str(&format!("delete {name}\n")));
    }
    repository.git().call(["update-ref", "--no-deref", "--stdin"]).stdin(orders).ok().await.map(drop)
}

/// Lets the base of a run go that has kept nothing: checks were tried at it, and no run will go on from there.
pub(super) async fn unpin(layout: &Layout, repository: &Repository, run: &RunId) -> Result<(), WorkspaceError> {
    if layout.run(run.as_str()).is_dir() {
        return Ok(());
    }
    repository.git().call(["update-ref", "--no-deref", "-d", &base_ref(run)]).ok().await.map(drop)
}

/// The base of a run that goes on.
async fn still_there(repository: &Repository, run: &RunId, commit: &str) -> Result<String, WorkspaceError> {
    // A run that began before the project had a repository has its objects in ours alone, and branches cannot lead there.
    let known = repository.git().call(["cat-file", "-e", commit]).run().await?.status == 0;
    let found = if known { repository.resolve(&format!("{commit}^{{commit}}")).await? } else { None };
    found.ok_or_else(|| {
        let message = format!(
            "the commit {commit} that the run started from is not in the project's repository: start a new run; \
             what run {run} confirmed is on its branches, or in .reflection/runs/{run}/*.patch where there was no repository"
        );
        WorkspaceError::Unusable(message)
    })
}

/// Where the user is by now, if that is not the commit that a run goes on from.
async fn head_elsewhere(repository: &Repository, base: &str) -> Result<Option<String>, WorkspaceError> {
    if repository.kind == Kind::Snapshot {
        return Ok(None);
    }
    Ok(repository.resolve("HEAD^{commit}").await?.filter(|head| head != base))
}

/// What a run that goes on does not see of the user's work.
async fn head_moved(repository: &Repository, base: &str, head: &str) -> Result<String, WorkspaceError> {
    let range = format!("{base}..{head}");
    let further = repository.git().call(["rev-list", "--count", &range]).line().await?;
    let commits = if further == "1" { "commit" } else { "commits" };
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    let (base, head) = (short(base), short(head));
    Ok(format!(
        "it goes on from {base}; HEAD is at {head} now, {further} {commits} further, and agents see nothing of that: \
         `--new` begins another night from there"
    ))
}

async fn head(repository: &Repository) -> Result<String, WorkspaceError> {
    let Some(commit) = repository.resolve("HEAD^{commit}").await? else {
        return Err(WorkspaceError::Unusable(
            "the repository has no commit yet, and attempts start from one: \
             commit your files first (git add -A && git commit)"
                .to_owned(),
        ));
    };
    if repository.resolve("refs/heads/reflexion").await?.is_some() {
        return Err(WorkspaceError::Unusable(
            "there is a branch `reflexion`, which leaves no room for branches `reflexion/<run>/<task>`: \
             rename it (git branch -m reflexion …)"
                .to_owned(),
        ));
    }
    let prefix = repository.prefix.display();
    if !repository.prefix.as_os_str().is_empty() && repository.resolve(&format!("HEAD:{prefix}")).await?.is_none() {
        return Err(WorkspaceError::Unusable(format!(
            "nothing of the project's directory `{prefix}` is committed yet, and attempts start from the last \
             commit: commit it first"
        )));
    }
    Ok(commit)
}

/// Uncommitted files of the user, without those that no attempt sees anyway.
async fn uncommitted(repository: &Repository) -> Result<Vec<String>, WorkspaceError> {
    let status = ["status", "-z", "--porcelain", "--no-renames", "--untracked-files=normal"];
    let out = repository.git().call(status).ok().await?;
    let hidden = repository.hidden();
    Ok(out
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.get(3..))
        .map(|path| PathBuf::from(OsStr::from_bytes(path)))
        .filter(|path| !hidden.iter().any(|hidden| path.starts_with(hidden)))
        .map(|path| path.to_string_lossy().into_owned())
        .collect())
}

/// What is in the user's checkout and in no worktree, although no `setup` could bring it there.
async fn missing(shared: &Shared, repository: &Repository, commit: &str) -> Result<Vec<String>, WorkspaceError> {
    if repository.kind == Kind::Snapshot || shared.params.workspace.setup.is_some() {
        return Ok(Vec::new());
    }
    let submodules = repository.resolve(&format!("{commit}:.gitmodules")).await?;
    let words = format!(
        "submodules are empty in workspaces: fill them with `\"setup\": \"git submodule update --init\"` in {} if checks need them",
        shared.params.project.settings
    );
    let mut missing: Vec<String> = submodules.map(|_| words).into_iter().collect();
    missing.extend(installed(shared, repository).await?);
    Ok(missing)
}

/// The packages that are installed in the user's checkout alone.
async fn installed(shared: &Shared, repository: &Repository) -> Result<Option<String>, WorkspaceError> {
    let list = repository.git().call(["ls-files", "-z", "--others", "--directory"]);
    let untracked = list.ok().await?;
    let carried = chosen(&shared.params.workspace, repository).await?.roots;
    let is_installed = |path: &PathBuf| {
        let is_carried = carried.iter().any(|root| root.starts_with(path) || path.starts_with(root));
        !is_carried && path.file_name().is_some_and(|name| toolchain::holds_packages(&name.to_string_lossy()))
    };
    let found: Vec<String> = git::paths(&untracked)
        .map(|path| path.components().collect::<PathBuf>())
        .filter(is_installed)
        .map(|path| format!("`{}`", path.display()))
        .take(3)
        .collect();
    Ok((!found.is_empty()).then(|| {
        format!(
            "{} is in your checkout alone, and neither workspaces nor clean rooms have it: if checks need it, let `setup` in \
             {} install it (`npm ci`, `pip install -r …`), or name it in `carry`",
            found.join(", "),
            shared.params.project.settings
        )
    }))
}

/// What of the project's own lies where the memory is, which no workspace has.
async fn foreign_memory(repository: &Repository, commit: &str) -> Result<Option<String>, WorkspaceError> {
    let [memory, _] = repository.hidden();
    let list = repository.own().call(["ls-tree", "-r", "-z", "--name-only", commit, "--"]).arg(&memory);
    let ours = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_below = ["skills", "policy"].iter().any(|dir| path.starts_with(memory.join(dir)));
        is_below || name == "README.md" || name.starts_with('.') || name.ends_with(".jsonl") || name.ends_with(".json")
    };
    let out = list.ok().await?;
    let found: Vec<String> =
        git::paths(&out).filter(|path| !ours(path)).map(|path| path.display().to_string()).take(3).collect();
    Ok((!found.is_empty()).then(|| {
        format!(
            "`memory/` has files of the project ({}), and reflexion keeps its memory there: no workspace has that directory, and what \
             agents write to it is no part of their work. Move them to another name",
            found.join(", ")
        )
    }))
}

/// That workspaces have what the user's own checkout leaves out.
async fn sparse(repository: &Repository) -> Result<Option<String>, WorkspaceError> {
    if !repository.is_sparse() {
        return Ok(None);
    }
    let left_out = repository.left_out_of_checkout(&[]).await?.len();
    Ok((left_out > 0).then(|| {
        format!(
            "your checkout is sparse and leaves out {left_out} tracked files. Workspaces are not: agents and checks have all files of the commit. \
             `reflexion apply` brings no work on files that are left out (`git sparse-checkout add DIR` first); `git merge` does"
        )
    }))
}

/// Records the user's files of a project without git. The index stays, so that the next run reads only what changed.
async fn snapshot(layout: &Layout, repository: &Repository) -> Result<String, WorkspaceError> {
    let open = |path: &Path| Root::open(path).map_err(io_error("open", path));
    let recorder = Recorder::new(&repository.own(), open(&repository.top)?, open(&layout.store())?);
    let recorded = recorder.record(Recording {
        left_out: repository.hidden().into(),
        forced: Vec::new(),
        said: Vec::new(),
        has_submodules: false,
        is_work: false,
        most_bytes: u64::MAX,
        loaded: None,
        base: None,
    });
    Ok(recorded.await?.tree)
}

/// The permissions of the user's files that not everybody may read. Who has a git has files with those that it gives.
async fn narrow_modes(repository: &Repository, commit: &str) -> Result<Modes, WorkspaceError> {
    if repository.kind == Kind::Git {
        return Ok(Modes::new());
    }
    let list = repository.own().call(["ls-tree", "-r", "-z", "--name-only", commit]).ok().await?;
    let top = repository.top.clone();
    blocking(move || {
        let top = Root::open(&top).map_err(io_error("open", &top))?;
        let mode = |path: &PathBuf| top.look(path).ok().flatten().map(|look| look.mode & 0o777);
        let modes = git::paths(&list).filter_map(|path| mode(&path).map(|mode| (path, mode)));
        Ok(modes.filter(|(_, mode)| mode & 0o044 != 0o044).collect())
    })
    .await
}

/// Ends what a killed run left working, and removes every workspace there is: the caller holds the run lock, so nobody works in
/// them. Says what was removed.
async fn clean_up(layout: &Layout) -> Result<Vec<String>, WorkspaceError> {
    let files = layout.files().map_err(io_error("open", layout.state()))?;
    let (rooms, own) = layout.all_rooms()?;
    let (state, asked) = (layout.state().to_owned(), layout.asked_dir.clone());
    let places = [state.join(WORKTREES), rooms.path().join(&own)];
    let (mut rooms_left, mut workspaces_left) = (0, Vec::new());
    for place in &places {
        for run in children(place) {
            let slots = children(&place.join(&run)).into_iter().filter(|slot| !slot.starts_with('.'));
            let (of_run, others): (Vec<String>, Vec<String>) = slots.partition(|slot| slot.starts_with("room"));
            rooms_left += of_run.len();
            workspaces_left.extend((!others.is_empty()).then(|| (run.clone(), others.len())));
        }
    }
    let ended = blocking(move || {
        let ended = end_left_behind(&places, &state);
        remove_soon(&files, Path::new(WORKTREES)).map_err(io_error("remove", &places[0]))?;
        remove_soon(&rooms, &own).map_err(io_error("remove", &places[1]))?;
        for fetched in children(&state).iter().filter(|name| name.starts_with(FETCHED)) {
            remove_soon(&files, Path::new(fetched)).map_err(io_error("remove", &state.join(fetched)))?;
        }
        copies::remove_left(&files).map_err(io_error("remove", &state))?;
        // Those of clean rooms are filled anew from what is kept.
        for room in children(&state.join(CACHES)).iter().filter(|name| name.starts_with("room")) {
            let room = Path::new(CACHES).join(room);
            files.remove(&room).map_err(io_error("remove", &state.join(&room)))?;
        }
        // When nobody works in them any more.
        Ok((ended, asked::remove_left(&asked)))
    });
    let (ended, asked) = ended.await?;
    let removed = |n: usize, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("{one}, now removed")),
        n => Some(format!("{n} {many}, now removed")),
    };
    let workspaces = workspaces_left
        .iter()
        .filter_map(|(run, n)| removed(*n, &format!("a workspace of run {run}"), &format!("workspaces of run {run}")));
    let mut cleaned: Vec<String> = workspaces.collect();
    cleaned.extend(removed(
        rooms_left,
        "a clean room of a run that was killed",
        "clean rooms of runs that were killed",
    ));
    match ended {
        0 => {}
        1 => cleaned.push("a process that still ran, now ended".to_owned()),
        n => cleaned.push(format!("{n} processes that still ran, now ended")),
    }
    cleaned.extend(removed(asked, "a directory in which an agent was asked", "directories in which agents were asked"));
    Ok(cleaned)
}

/// The dead runtime's own calls of git may still write for a moment: they have no mark, and end by themselves.
fn remove_soon(files: &Root, dir: &Path) -> std::io::Result<()> {
    const TRIES: u32 = 40;
    for _ in 1..TRIES {
        if files.remove(dir).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    files.remove(dir)
}

fn children(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
