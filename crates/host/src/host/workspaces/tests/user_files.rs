//! The user's checkout is left alone, and a run starts from what is recorded.

use super::project::*;
use crate::domain::{BranchConflict, RunId, policy};
use crate::host::{HostWorkspaces, ProjectLock, SystemClock, try_base};
use crate::services::{
    BeginRun, Branches, CommitRequest, OutsideChanges, RebaseOutcome, ResumedBase, RunLock, WorkspaceError, Workspaces,
};
use rustix::thread::CapabilitySet;
use sha2::Digest;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn index_hash(top: &Path) -> String {
    format!("{:x}", sha2::Sha256::digest(fs::read(top.join(".git/index")).unwrap()))
}

fn state(top: &Path) -> (impl PartialEq + std::fmt::Debug, String, String) {
    (files(top), index_hash(top), git(top, &["for-each-ref", "refs/heads/main", "refs/tags", "refs/stash"]))
}

/// Runs as somebody whom permissions hold back, also where the tests run as root.
fn without_privileges(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = || {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            rustix::thread::set_capabilities(None, sets).unwrap();
            work();
        };
        scope.spawn(run).join().unwrap();
    });
}

#[test]
fn what_the_user_may_not_read_is_no_part_of_a_project_without_git() {
    let project = Project::plain(&[("a", "a"), ("root.log", "of a container")]);
    let shut = project.top.join("root.log");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    without_privileges(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let files = runtime.block_on(async { names(&project.open().await.dir()) });
        assert_eq!(files, ["a"]);
    });
}

#[tokio::test]
async fn what_not_everybody_may_read_stays_so_in_workspaces() {
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    let set = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let project = Project::plain(&[("key", "k\n"), ("own.sh", "true\n"), ("a", "a\n")]);
    set(&project.top.join("key"), 0o600);
    set(&project.top.join("own.sh"), 0o700);
    let workspace = project.open().await;
    let dir = workspace.dir();
    assert_eq!(mode(dir.parent().unwrap().parent().unwrap()), 0o700, "{}", dir.display());
    for _ in 0..2 {
        reset(&workspace).await;
        assert_eq!((mode(&dir.join("key")), mode(&dir.join("own.sh"))), (0o600, 0o700));
        assert_eq!(mode(&dir.join("a")) & 0o044, 0o044);
        write(&dir, "key", "another\n");
        set(&dir.join("key"), 0o644);
        assert_eq!(record(&workspace).await.files, ["key"]);
    }
}

#[tokio::test]
async fn dirty_staged_and_untracked_files_and_the_index_stay_as_they_are() {
    let project = Project::git(&[("a", "a\n"), ("b", "b\n"), ("same", "s\n"), (".gitignore", "*.log\n")]);
    let top = &project.top;
    // The same content with another time: whoever refreshes the index changes it.
    let same = fs::File::options().append(true).open(top.join("same")).unwrap();
    same.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    write(top, "a", "dirty\n");
    write(top, "b", "staged\n");
    git(top, &["add", "b"]);
    write(top, "b", "staged and dirty\n");
    write(top, "notes/todo.txt", "untracked\n");
    write(top, "memory/reflections.jsonl", "{}\n");
    write(top, "debug.log", "ignored\n");
    let before = state(top);

    let workspaces = project.workspaces();
    let base = workspaces.begin(run_id().into()).await.unwrap();
    assert_eq!(base.not_included, ["a", "b", "notes/"]);
    assert_eq!(base.cleaned, Vec::<String>::new());
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    reset(&workspace).await;
    assert_eq!(read(&workspace.dir(), "a"), "a\n");
    workspace.begin_work().await.unwrap();
    write(&workspace.dir(), "a", "agent\n");
    git(&workspace.dir(), &["commit", "-qam", "x"]);
    assert_eq!(workspace.end_work().await.unwrap(), OutsideChanges::default());
    confirm(&workspace, "title").await;
    reset(&workspace).await;
    workspace.close().await.unwrap();
    workspaces.finish().await.unwrap();
    assert_eq!(state(top), before);
    assert_eq!(git(top, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(top, &["status", "--porcelain", "--", ".reflection"]), "");
}

#[tokio::test]
async fn what_a_dead_run_left_is_removed_and_the_users_worktrees_are_not() {
    let project = Project::git(&[("a", "a")]);
    let mine = project.top.parent().unwrap().join("mine");
    git(&project.top, &["worktree", "add", "-q", "-b", "side", mine.to_str().unwrap()]);
    let dir = project.open().await.dir();
    write(&project.top, ".reflection/fetched-x/HEAD", "of a remote that was asked");
    // As if it were on a drive that is not there today.
    fs::rename(&mine, mine.with_extension("away")).unwrap();
    let run = RunId::new("r2").unwrap();
    let base = project.workspaces().begin(run.clone().into()).await.unwrap();
    assert_eq!(base.cleaned, ["a workspace of run r1, now removed"]);
    assert!(!dir.exists() && !project.top.join(".reflection/fetched-x").exists());
    let list = git(&project.top, &["worktree", "list"]);
    assert!(list.contains("mine") && !list.contains(".reflection"), "{list}");
}

#[tokio::test]
async fn projects_that_cannot_be_worked_on_say_what_to_do() {
    let begin = async |project: &Project| match project.workspaces().begin(run_id().into()).await {
        Err(WorkspaceError::Unusable(message)) => message,
        other => panic!("{other:?}"),
    };
    let unborn = Project::plain(&[("a", "a")]);
    git(&unborn.top, &["init", "-q"]);
    assert!(begin(&unborn).await.contains("git commit"));

    let occupied = Project::git(&[("a", "a")]);
    git(&occupied.top, &["branch", "reflexion"]);
    assert!(begin(&occupied).await.contains("git branch -m"));

    let new = Project::git(&[("a", "a")]).below("sub");
    write(&new.top, "sub/b", "b");
    assert!(begin(&new).await.contains("commit it first"));
}

#[tokio::test]
async fn a_project_that_its_repository_ignores_is_copied() {
    let project = Project::git(&[("a", "a"), (".gitignore", "sub/\n")]).below("sub");
    write(&project.top, "sub/b", "b");
    let workspace = project.open().await;
    assert_eq!(names(&workspace.dir()), ["b"]);
    let mut agent = Command::new("git");
    agent.args(["rev-parse", "--git-dir"]).envs(workspace.env());
    let out = agent.current_dir(workspace.dir()).output().unwrap();
    assert!(!out.status.success(), "an agent's git must not find the outer repository");
}

#[tokio::test]
async fn blocking_tasks_are_merged_and_conflicts_are_named() {
    for project in [Project::git(&[("a", "1\n"), ("b", "1\n")]), Project::plain(&[("a", "1\n"), ("b", "1\n")])] {
        let workspaces = project.workspaces();
        workspaces.begin(run_id().into()).await.unwrap();
        for (id, file, text) in [("one", "a", "one\n"), ("two", "b", "two\n"), ("three", "a", "three\n")] {
            let workspace = open(&workspaces, id, &[]).await.unwrap();
            write(&workspace.dir(), file, text);
            confirm(&workspace, id).await;
            workspace.close().await.unwrap();
        }
        let both = open(&workspaces, "both", &["gone", "one", "two"]).await.unwrap();
        assert_eq!(read(&both.dir(), "a") + &read(&both.dir(), "b"), "one\ntwo\n");
        assert!(record(&both).await.no_op);
        write(&both.dir(), "c", "c");
        assert_eq!(confirm(&both, "both").await.files, ["c"]);
        match open(&workspaces, "x", &["one", "three"]).await {
            Err(WorkspaceError::Conflict { what, files }) => {
                assert!(what.contains("three"), "{what}");
                assert_eq!(files, ["a"]);
            }
            other => panic!("{:?}", other.map(|w| w.dir())),
        }
        // A later run, after the user took over one of them.
        let run = RunId::new("r2").unwrap();
        write(&project.top, "a", "one\n");
        if project.top.join(".git").exists() {
            git(&project.top, &["commit", "-qam", "by hand"]);
        }
        let later = project.workspaces();
        later.begin(run.clone().into()).await.unwrap();
        let workspace = later
            .open(crate::services::OpenWorkspace {
                run,
                task: task("y"),
                subject: "y".to_owned(),
                on_top_of: vec![(run_id(), task("one")), (run_id(), task("both"))],
                onto: None,
            })
            .await
            .unwrap();
        assert_eq!(names(&workspace.dir()), ["a", "b", "c"]);
    }
}

#[tokio::test]
async fn workspaces_at_the_same_time_have_caches_of_their_own() {
    let mut project = Project::git(&[("a", "a")]);
    project.policy.env = [("TARGET".to_owned(), "{cache}/target".to_owned())].into();
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let first = open(&workspaces, "one", &[]).await.unwrap();
    let second = open(&workspaces, "two", &[]).await.unwrap();
    let of = |n: usize| project.top.join(format!(".reflection/cache/slot-{n}/target")).display().to_string();
    assert_eq!(first.env()["TARGET"], of(1));
    assert_eq!(second.env()["TARGET"], of(2));
    drop(first);
    let third = open(&workspaces, "three", &[]).await.unwrap();
    assert_eq!(third.env()["TARGET"], of(1));
}

#[tokio::test]
async fn many_workspaces_can_be_made_at_once() {
    let project = Project::git(&[("a", "a")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let opened = (0..8).map(|n| {
        let workspaces = &workspaces;
        async move {
            let workspace = open(workspaces, &format!("t{n}"), &[]).await.unwrap();
            write(&workspace.dir(), "a", &n.to_string());
            assert_eq!(record(&workspace).await.files, ["a"]);
            workspace.close().await.unwrap();
        }
    });
    futures_util::future::join_all(opened).await;
    workspaces.finish().await.unwrap();
    assert_eq!(git(&project.top, &["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn nothing_in_a_workspace_is_a_link_to_the_users_file() {
    let project = Project::git(&[("a", "a")]).carrying(&["data"]);
    write(&project.top, "data/x", "x");
    let workspace = project.open().await;
    for file in ["a", "data/x"] {
        let theirs = project.top.join(file).metadata().unwrap();
        let ours = workspace.dir().join(file).metadata().unwrap();
        assert_ne!(theirs.ino(), ours.ino(), "{file}");
    }
}

#[tokio::test]
async fn a_branch_that_the_user_works_on_is_not_taken_away() {
    let check_run = async |works: fn(&std::path::Path, &str), stays: bool, resumed: bool| {
        let project = Project::git(&[("a", "a\n")]);
        let mut workspaces = project.workspaces();
        let base = workspaces.begin(run_id().into()).await.unwrap().commit;
        let mut workspace = open(&workspaces, "t", &[]).await.unwrap();
        write(&workspace.dir(), "a", "work\n");
        let branch = confirm(&workspace, "t").await.target;
        works(&project.top, &branch);
        if resumed {
            workspaces = resume(&project, base).await;
            workspace = open(&workspaces, "t", &[]).await.unwrap();
        }
        let before = git(&project.top, &["rev-parse", &branch]);
        assert_eq!(workspace.keep(1).await.unwrap(), format!("{branch}@1"));
        assert_eq!(git(&project.top, &["show", &format!("{branch}@1:a")]), "work");
        workspace.close().await.unwrap();
        let said = workspaces.finish().await.unwrap().moved;
        if stays {
            assert_eq!(git(&project.top, &["rev-parse", &branch]), before);
            assert_eq!(said, [branch]);
        } else {
            assert_eq!(git(&project.top, &["branch", "--list", &branch]), "");
            assert_eq!(said, Vec::<String>::new());
        }
        // Of a branch that was given up nothing is known when the run goes on.
        let workspaces = resume(&project, git(&project.top, &["rev-parse", "main"])).await;
        assert_eq!(workspaces.finish().await.unwrap(), Branches::default());
    };
    let check = async |works: fn(&std::path::Path, &str), stays: bool| {
        check_run(works, stays, false).await;
        check_run(works, stays, true).await;
    };
    check(|_, _| {}, false).await;
    // Checked out, and moved.
    check(|top, branch| drop(git(top, &["worktree", "add", "-q", "../mine", branch])), true).await;
    check(|top, branch| drop(git(top, &["branch", "-f", branch, "HEAD"])), true).await;
}

#[tokio::test]
async fn the_end_names_branches_that_do_not_merge_into_what_is_merged() {
    let project = Project::git(&[("a", "a\n"), ("b", "b\n")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    for (task, file) in [("left", "a"), ("other", "c")] {
        let workspace = open(&workspaces, task, &[]).await.unwrap();
        write(&workspace.dir(), file, &format!("{task}\n"));
        confirm(&workspace, task).await;
        workspace.close().await.unwrap();
    }
    merge(&workspaces, "one", "a").await;
    let conflict = BranchConflict { branch: format!("reflexion/{}/left", run_id()), files: vec!["a".to_owned()] };
    assert_eq!(workspaces.finish().await.unwrap().conflicts, [conflict]);
}

#[tokio::test]
async fn a_branch_that_the_user_has_checked_out_does_not_move_below_them() {
    let project = Project::git(&[("a", "a\n"), ("b", "b\n")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let integration = format!("reflexion/{}/integration", run_id());
    let show = |what: &str| git(&project.top, &["show", what]);
    merge(&workspaces, "one", "a").await;
    git(&project.top, &["checkout", "-q", &integration]);
    let before = git(&project.top, &["rev-parse", "HEAD"]);
    merge(&workspaces, "two", "b").await;
    merge(&workspaces, "three", "c").await;
    assert_eq!(git(&project.top, &["rev-parse", "HEAD"]), before);
    assert_eq!(git(&project.top, &["status", "--short"]), "");
    let ahead = format!("{integration}@ahead");
    assert_eq!((show(&format!("{ahead}:b")), show(&format!("{ahead}:c"))), ("two".to_owned(), "three".to_owned()));
    let said = workspaces.finish().await.unwrap();
    assert_eq!(said, Branches { moved: Vec::new(), ahead: vec![ahead.clone()], conflicts: Vec::new() });
    // Once they have left it, it is where it belongs.
    git(&project.top, &["checkout", "-q", "main"]);
    merge(&workspaces, "four", "d").await;
    assert_eq!(show(&format!("{integration}:d")), "four");
    assert_eq!(git(&project.top, &["branch", "--list", &format!("{integration}@*")]), "");
    assert_eq!(workspaces.finish().await.unwrap(), Branches::default());
}

/// A task whose work, its own name in a file, is merged.
async fn merge(workspaces: &HostWorkspaces, task: &str, file: &str) {
    let workspace = open(workspaces, task, &[]).await.unwrap();
    write(&workspace.dir(), file, &format!("{task}\n"));
    confirm(&workspace, task).await;
    let tree = record(&workspace).await.tree;
    let rebased = workspace.rebase(&tree).await.unwrap();
    let (RebaseOutcome::Fits(tree) | RebaseOutcome::There(tree)) = rebased.outcome else { panic!("{rebased:?}") };
    let request = CommitRequest { tree, subject: task.to_owned(), body: String::new() };
    let commit = workspace.merge_commit(&rebased.onto, request).await.unwrap();
    workspace.integrate(&rebased.onto, &commit).await.unwrap();
    workspace.close().await.unwrap();
}

/// The run goes on in another process.
async fn resume(project: &Project, commit: String) -> HostWorkspaces {
    let resumed = ResumedBase { commit, integration: None, pending: None, home: None };
    let workspaces = project.workspaces();
    workspaces.begin(BeginRun { run: run_id(), resumed: Some(resumed) }).await.unwrap();
    workspaces
}

#[tokio::test]
async fn a_run_of_a_project_without_git_does_not_go_on_in_a_repository_that_was_made_meanwhile() {
    let project = Project::plain(&[("a", "a\n")]);
    let commit = project.workspaces().begin(run_id().into()).await.unwrap().commit;
    git(&project.top, &["init", "-q"]);
    git(&project.top, &["add", "-A"]);
    git(&project.top, &["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "first"]);
    let resumed = ResumedBase { commit, integration: None, pending: None, home: None };
    let refused = project.workspaces().begin(BeginRun { run: run_id(), resumed: Some(resumed) }).await.unwrap_err();
    let words = refused.to_string();
    assert!(matches!(refused, WorkspaceError::Unusable(_)) && words.contains("start a new run"), "{words}");
    assert!(words.contains(&format!(".reflection/runs/{}/*.patch", run_id())), "{words}");
}

#[tokio::test]
async fn a_task_that_is_done_again_after_a_pause_has_moved_nothing_of_somebodys() {
    let check = async |moved: bool| {
        let project = Project::git(&[("a", "a\n")]);
        let workspaces = project.workspaces();
        let base = workspaces.begin(run_id().into()).await.unwrap().commit;
        let workspace = open(&workspaces, "t", &[]).await.unwrap();
        write(&workspace.dir(), "a", "work\n");
        let branch = confirm(&workspace, "t").await.target;
        if moved {
            git(&project.top, &["branch", "-f", &branch, "main"]);
        }
        let before = git(&project.top, &["rev-parse", &branch]);
        let workspaces = resume(&project, base).await;
        let workspace = open(&workspaces, "t", &[]).await.unwrap();
        write(&workspace.dir(), "a", "other work\n");
        confirm(&workspace, "t").await;
        assert_eq!(git(&project.top, &["show", &format!("{branch}:a")]), "other work");
        let kept = git(&project.top, &["rev-parse", &format!("{branch}@{}", &before[..12])]);
        assert_eq!(kept, before);
        let said = workspaces.finish().await.unwrap().moved;
        assert_eq!(said, if moved { vec![branch] } else { Vec::new() });
    };
    check(false).await;
    check(true).await;
}

#[tokio::test]
async fn work_that_others_depend_on_is_known_whatever_becomes_of_its_branch() {
    let branch = "refs/heads/reflexion/r1/t";
    let files = async |workspaces: &HostWorkspaces, id: &str| {
        let workspace = open(workspaces, id, &["t"]).await.unwrap();
        let base = workspace.base();
        let said = workspace.reset(&base, &CancellationToken::new()).await.unwrap().said;
        let names = names(&workspace.dir());
        workspace.close().await.unwrap();
        (names, said)
    };
    let both = || (vec!["a".to_owned(), "t.txt".to_owned()], Vec::<String>::new());
    let project = Project::git(&[("a", "a")]);
    let top = &project.top;
    let base = git(top, &["rev-parse", "main"]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    write(&workspace.dir(), "t.txt", "t");
    confirm(&workspace, "t").await;
    let work = git(top, &["rev-parse", branch]);
    git(top, &["update-ref", branch, "main"]);
    assert_eq!(files(&workspaces, "moved").await, both());
    git(top, &["update-ref", "-d", branch]);
    assert_eq!(files(&workspaces, "deleted").await, both());
    workspace.integrate(&base, &work).await.unwrap();
    drop((workspace, workspaces));

    // The run goes on in another process.
    let again = async || resume(&project, base.clone()).await;
    assert_eq!(files(&again().await, "deleted-before").await, both());
    git(top, &["update-ref", branch, "main"]);
    assert_eq!(files(&again().await, "moved-before").await, both());
    git(top, &["update-ref", "-d", branch]);
    // What was noted may be on another machine.
    fs::remove_file(top.join(".reflection/runs/r1/branches")).unwrap();
    git(top, &["merge", "-q", &work]);
    assert_eq!(files(&again().await, "by-the-user").await, both());
    git(top, &["reset", "-q", "--hard", &base]);
    let (names, said) = files(&again().await, "nowhere").await;
    assert_eq!(names, ["a"]);
    assert!(matches!(&said[..], [one] if one.contains("without the confirmed work of t")), "{said:?}");
}

#[tokio::test]
async fn what_a_run_has_taken_over_stays_while_it_lives() {
    let project = Project::git(&[("a", "a")]);
    let policy = policy::Project {
        name: "p".to_owned(),
        settings: "project.json",
        tasks: project.top.join("tasks.jsonl"),
        root: project.top.clone(),
        rooms: project.rooms(),
    };
    let lock = ProjectLock::new(policy.state_dir(), Arc::new(SystemClock::new()));
    let held = lock.acquire(&run_id()).unwrap();
    let workspace = project.open().await;
    reset(&workspace).await;
    fs::write(project.top.join(".git/info/exclude"), "*.new\n").unwrap();
    try_base(&policy).await.unwrap();
    let nothing = project.workspaces().apply(&run_id(), &task("t"), &CancellationToken::new()).await;
    assert!(nothing.is_err());
    write(&workspace.dir(), "x.new", "x");
    assert_eq!(record(&workspace).await.files, ["x.new"]);
    drop(held);
    try_base(&policy).await.unwrap();
    let taken_over = || read(&project.top, ".reflection/repository.git/info/exclude");
    assert_eq!(taken_over(), "*.new\n");

    // One that waits for its window has not begun.
    let waiting = lock.acquire_waiting(&run_id(), "2099-11-22T22:00:00Z".parse().unwrap()).unwrap();
    let exclude = |text: &str| fs::write(project.top.join(".git/info/exclude"), text).unwrap();
    exclude("*.doctor\n");
    try_base(&policy).await.unwrap();
    assert_eq!(taken_over(), "*.doctor\n");
    exclude("*.apply\n");
    let _ = project.workspaces().apply(&run_id(), &task("t"), &CancellationToken::new()).await;
    assert_eq!(taken_over(), "*.apply\n");
    drop(waiting);
    let held = lock.acquire(&run_id()).unwrap();
    exclude("*.later\n");
    try_base(&policy).await.unwrap();
    let _ = project.workspaces().apply(&run_id(), &task("t"), &CancellationToken::new()).await;
    assert_eq!(taken_over(), "*.apply\n");
    drop(held);
}

/// Git would move what such a branch leads to.
#[tokio::test]
async fn a_branch_of_the_run_that_leads_to_one_of_the_users_is_made_one_of_its_own() {
    let project = Project::git(&[("a", "a")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    reset(&workspace).await;
    let top = &project.top;
    let (base, branches) =
        (git(top, &["rev-parse", "main"]), ["integration", "t"].map(|id| format!("refs/heads/reflexion/r1/{id}")));
    let mislead = || branches.iter().for_each(|name| _ = git(top, &["symbolic-ref", name, "refs/heads/main"]));
    mislead();
    write(&workspace.dir(), "t.txt", "t");
    let tree = confirm(&workspace, "t").await;
    assert_eq!(tree.files, ["t.txt"]);
    let merged = git(top, &["rev-parse", &branches[1]]);
    assert_ne!(merged, base);
    workspace.integrate(&base, &merged).await.unwrap();
    mislead();
    let mut said = workspaces.finish().await.unwrap().moved;
    said.sort();
    assert_eq!(said, ["reflexion/r1/integration", "reflexion/r1/t"]);
    assert_eq!(git(top, &["rev-parse", "main"]), base);
    for name in &branches {
        assert_eq!(git(top, &["rev-parse", name]), merged);
        assert!(!top.join(".git").join(name).is_symlink());
        assert_eq!(git(top, &["for-each-ref", "--format=%(symref)", name]), "");
    }
}
