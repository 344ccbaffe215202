//! Repairs of workspaces that are really broken.

use super::project::*;
use crate::domain::Spell;
use crate::services::{CommitRequest, Restored, Workspace, WorkspaceError};
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

async fn try_reset(workspace: &Arc<dyn Workspace>) -> Result<Restored, WorkspaceError> {
    workspace.reset(&workspace.base(), &CancellationToken::new()).await
}

/// Fails as long as there is what it left behind itself, or what an agent left.
const SETUP: &str = "[ ! -e half ] && [ -e fetched ] || { touch half; echo 'no fetched yet'; exit 1; }; \
                     mkdir -p deps; echo d > deps/d";

#[tokio::test]
async fn a_setup_that_failed_runs_again_with_nothing_left_but_what_is_carried_in_now() {
    let project = Project::git(&[("a", "a"), (".gitignore", "deps/\nfetched\nhalf\n")]);
    let project = project.set_up_by(SETUP).carrying(&["fetched"]);
    let workspace = project.open().await;
    let error = try_reset(&workspace).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Setup { .. }), "{error}");
    // The user brings what was missing.
    write(&project.top, "fetched", "f");
    assert!(try_reset(&workspace).await.is_err(), "no reset carries anything in");
    let before = files(&project.top);
    assert!(workspace.mend(Spell::SetUpAgain).await.unwrap().is_empty());
    assert_eq!(try_reset(&workspace).await.unwrap(), Restored::default());
    assert_eq!(names(&workspace.dir()), [".gitignore", "a", "deps/d", "fetched"]);
    assert!(record(&workspace).await.no_op);
    assert_eq!(files(&project.top), before);
    // What setup left this time is kept as ever.
    fs::remove_dir_all(workspace.dir().join("deps")).unwrap();
    reset(&workspace).await;
    assert_eq!(read(&workspace.dir(), "deps/d"), "d\n");
}

#[tokio::test]
async fn what_setup_left_and_an_agent_spoilt_for_good_is_made_by_setup_again() {
    let project = Project::git(&[("a", "a"), (".gitignore", "deps/\n")]).set_up_by("mkdir -p deps; echo d > deps/d");
    let workspace = project.open().await;
    reset(&workspace).await;
    workspace.begin_work().await.unwrap();
    // Copies of what setup made are kept there.
    fs::remove_file(project.top.join(".reflection/worktrees/r1/.private/slot-1/store/deps/d")).unwrap();
    write(&workspace.dir(), "deps/d", "spoilt");
    assert!(matches!(try_reset(&workspace).await, Err(WorkspaceError::Io { .. })));
    workspace.mend(Spell::MakeAnew).await.unwrap();
    reset(&workspace).await;
    assert_eq!(read(&workspace.dir(), "deps/d"), "d\n");
}

#[tokio::test]
async fn setup_may_end_with_warnings() {
    let project = Project::git(&[("a", "a")]).set_up_by("echo one; echo 'no cache: slow' >&2; exit 2");
    let workspace = project.open().await;
    let said = try_reset(&workspace).await.unwrap().said;
    assert_eq!(
        said,
        ["setup `echo one; echo 'no cache: slow' >&2; exit 2` ended with warnings (exit status 2): no cache: slow"]
    );
    assert!(try_reset(&workspace).await.unwrap().said.is_empty(), "it has run");
}

/// Everything in the user's own git directory that is no object, no log, and nothing of the worktree or the run.
fn own_state(top: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(top.join(".git"))
        .into_iter()
        .map(Result::unwrap)
        .filter(|e| e.file_type().is_file())
        .map(|e| (e.path().strip_prefix(top).unwrap().display().to_string(), fs::read(e.path()).unwrap()))
        .filter(|(name, _)| {
            !["objects", "worktrees", "refs/heads/reflexion", "logs"]
                .iter()
                .any(|of| name.contains(&format!(".git/{of}")))
        })
        .collect()
}

#[tokio::test]
async fn files_that_cannot_be_put_back_are_made_anew_and_nothing_else_is_touched() {
    let project = Project::git(&[("a", "a"), ("dir/b", "b"), (".gitignore", "kept\n")]).carrying(&["kept"]);
    write(&project.top, "kept", "k");
    write(&project.top, "untracked", "the user's");
    let workspace = project.open().await;
    let private = project.top.join(".reflection/worktrees/r1/.private/slot-1");
    for lock in ["index.lock", "packed-refs.lock", "refs/heads/main.lock"] {
        write(&project.top.join(".git"), lock, "somebody's");
    }
    let before = (files(&project.top), own_state(&project.top));
    let damages: [fn(&Path, &Path); 3] = [
        |_, private| fs::write(private.join("index"), "garbage").unwrap(),
        |_, private| {
            fs::remove_file(private.join("index")).unwrap();
            fs::create_dir_all(private.join("index/in/the/way")).unwrap();
        },
        |dir, private| {
            fs::remove_dir_all(dir).unwrap();
            fs::remove_dir_all(private).unwrap();
            fs::write(private, "a file").unwrap();
        },
    ];
    for (i, damage) in damages.iter().enumerate() {
        workspace.begin_work().await.unwrap();
        write(&workspace.dir(), "a", "changed");
        damage(&workspace.dir(), &private);
        // An index that somebody wrote to is thrown away by every reset, and so is a directory that is another one.
        reset(&workspace).await;
        assert_eq!(names(&workspace.dir()), [".gitignore", "a", "dir/b", "kept"], "{i}");
        assert_eq!(git(&workspace.dir(), &["status", "--porcelain"]), "");
        write(&workspace.dir(), "a", "worked on");
        assert_eq!(record(&workspace).await.files, ["a"]);
        assert_eq!((files(&project.top), own_state(&project.top)), before, "{i}");
    }
}

#[tokio::test]
async fn what_an_agent_left_half_done_is_undone_and_said() {
    let project = Project::git(&[("a", "a\n")]);
    let workspace = project.open().await;
    workspace.begin_work().await.unwrap();
    let dir = workspace.dir();
    let head = git(&dir, &["rev-parse", "HEAD"]);
    write(&dir, "a", "one\n");
    git(&dir, &["commit", "-qam", "one"]);
    let one = git(&dir, &["rev-parse", "HEAD"]);
    git(&dir, &["checkout", "-q", "--detach", &head]);
    write(&dir, "a", "two\n");
    git(&dir, &["commit", "-qam", "two"]);
    let rebase = std::process::Command::new("git")
        .args(["-c", "user.name=U", "-c", "user.email=u@example.org", "rebase", &one])
        .current_dir(&dir)
        .output();
    assert!(!rebase.unwrap().status.success());
    let admin = git(&dir, &["rev-parse", "--absolute-git-dir"]);
    write(admin.as_ref(), "index.lock", "");
    let said = try_reset(&workspace).await.unwrap().said;
    assert_eq!(
        said,
        [
            "a change of the index was left half done in the workspace, and is undone",
            "a rebase was left half done in the workspace, and is undone",
        ]
    );
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]), head);
    assert!(try_reset(&workspace).await.unwrap().said.is_empty());
}

/// A lock as git makes it, that old.
fn lock(path: &Path, age: Duration) -> File {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
    file
}

#[tokio::test]
async fn a_lock_of_the_runs_own_that_nobody_holds_is_removed_and_no_other() {
    const HOUR: Duration = Duration::from_secs(3600);
    let project = Project::git(&[("a", "a")]);
    let workspace = project.open().await;
    write(&workspace.dir(), "a", "right");
    let request = CommitRequest { tree: record(&workspace).await.tree, subject: "a".to_owned(), body: String::new() };
    let heads = project.top.join(".git/refs/heads");
    let foreign =
        ["main.lock", "reflexion/r1/other.lock", "reflexion/r2/t.lock", "t.lock"].map(|name| heads.join(name));
    for path in &foreign {
        lock(path, HOUR);
    }
    let own = heads.join("reflexion/r1/t.lock");

    let held = lock(&own, HOUR);
    assert!(workspace.commit(request.clone()).await.is_err());
    assert!(workspace.stale_locks().await.unwrap().is_empty(), "a process has it open");
    drop(held);
    lock(&own, Duration::ZERO).set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
    assert!(workspace.stale_locks().await.unwrap().is_empty(), "whoever made it may be at it");
    assert!(workspace.mend(Spell::Unlock).await.unwrap().is_empty());
    assert!(own.exists());

    lock(&own, HOUR);
    // A process that another test starts has all files open until it becomes its program.
    for _ in 0..100 {
        if !workspace.stale_locks().await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(workspace.stale_locks().await.unwrap(), std::slice::from_ref(&own));
    assert_eq!(workspace.mend(Spell::Unlock).await.unwrap(), [format!("removed {}", own.display())]);
    assert_eq!(workspace.commit(request).await.unwrap().files, ["a"]);
    assert!(foreign.iter().all(|path| path.exists()));
}

#[tokio::test]
async fn what_somebody_wrote_into_our_index_neither_hides_work_nor_loses_it() {
    let project = Project::git(&[("a", "a"), ("b", "b")]);
    let workspace = project.open().await;
    let index = project.top.join(".reflection/worktrees/r1/.private/slot-1/index");
    let hide = |file: &str| {
        let hidden = std::process::Command::new("git")
            .args(["update-index", "--assume-unchanged", file])
            .env("GIT_INDEX_FILE", &index)
            .current_dir(workspace.dir())
            .status();
        assert!(hidden.unwrap().success());
    };
    workspace.begin_work().await.unwrap();
    write(&workspace.dir(), "a", "worked on");
    hide("a");
    assert_eq!(record(&workspace).await.files, ["a"]);
    write(&workspace.dir(), "b", "too");
    fs::write(&index, "garbage").unwrap();
    assert_eq!(record(&workspace).await.files, ["a", "b"]);
}
