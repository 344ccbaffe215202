//! One worktree for one task after another.

use super::project::*;
use crate::host::HostWorkspaces;
use crate::services::{Workspace, Workspaces};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const FILES: [(&str, &str); 7] = [
    (".gitignore", "*.log\nout/\n"),
    ("a.txt", "a\n"),
    ("dir/b.txt", "b\n"),
    ("dir/deep/c.txt", "c\n"),
    ("kept.log", "tracked although ignored\n"),
    ("run.sh", "#!/bin/sh\n"),
    ("memory/m", "never inside\n"),
];

/// Everything that can be seen of a worktree: files, modes of files and directories, its own git directory, what its git says.
fn look(workspace: &Arc<dyn Workspace>) -> Vec<String> {
    let dir = workspace.dir();
    let admin = git(&dir, &["rev-parse", "--absolute-git-dir"]);
    let mut seen = Vec::new();
    for (top, name) in [(dir.as_path(), "files"), (Path::new(&admin), "admin")] {
        for found in walkdir::WalkDir::new(top).min_depth(1).sort_by_file_name().into_iter().map(Result::unwrap) {
            let path = found.path().strip_prefix(top).unwrap();
            if path == Path::new("index") || (name == "files" && path.starts_with(".git")) {
                continue;
            }
            let meta = found.path().symlink_metadata().unwrap();
            // How git's own files are protected is not what a task sees.
            let mode = if name == "files" { meta.permissions().mode() } else { 0 };
            let content = if meta.is_file() { fs::read(found.path()).unwrap() } else { Vec::new() };
            seen.push(format!("{name}/{} {mode:o} {:?}", path.display(), String::from_utf8_lossy(&content)));
        }
    }
    seen.push(format!("{:o}", dir.metadata().unwrap().permissions().mode()));
    for args in [&["status", "--porcelain", "--ignored"][..], &["ls-files", "-v", "-s"], &["reflog"], &["config", "-l"]]
    {
        seen.push(git(&dir, args));
    }
    // Two worktrees have two names, and their logs begin at other times.
    let (own, name) = (dir.display().to_string(), admin.rsplit('/').next().unwrap().to_owned());
    let stable = |line: String| line.replace(&own, "DIR").replace(&format!("worktrees/{name}"), "ADMIN");
    let time = regex::Regex::new(r"> \d+ \+0000").unwrap();
    seen.into_iter().map(stable).map(|line| time.replace_all(&line, "> TIME").into_owned()).collect()
}

async fn begun(project: &Project) -> HostWorkspaces {
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    workspaces
}

/// What the next task finds after `act` in the slot of the task before is what it finds in a worktree of its own; the slot is
/// used again, or it is not.
async fn check(act: impl FnOnce(&Path), reuses: bool) {
    let project = Project::git(&FILES);
    let workspaces = begun(&project).await;
    let first = open(&workspaces, "first", &[]).await.unwrap();
    reset(&first).await;
    act(&first.dir());
    let _ = first.record(&first.base()).await;
    first.close().await.unwrap();
    let second = open(&workspaces, "second", &[]).await.unwrap();
    reset(&second).await;
    assert_eq!(second.dir() == first.dir(), reuses);
    let fresh = open(&workspaces, "fresh", &[]).await.unwrap();
    assert_ne!(fresh.dir(), second.dir());
    reset(&fresh).await;
    assert_eq!(look(&second), look(&fresh));
    assert!(record(&second).await.no_op);
    for open in [second, fresh] {
        open.close().await.unwrap();
    }
    workspaces.finish().await.unwrap();
    assert_eq!(git(&project.top, &["worktree", "list"]).lines().count(), 1);
    assert!(!first.dir().exists());
}

#[tokio::test]
async fn a_slot_is_used_again() {
    check(|_| {}, true).await;
}

#[tokio::test]
async fn no_file_of_the_task_before_is_there() {
    check(|dir| fs::remove_dir_all(dir).unwrap(), true).await;
    let act = |dir: &Path| {
        write(dir, "a.txt", "x\n");
        fs::remove_file(dir.join("dir/b.txt")).unwrap();
        for name in ["new", "x.log", "out/deep/file", "dir/deep/x.log", "memory/m", ".reflection/x", "empty/f"] {
            write(dir, name, "left\n");
        }
        fs::remove_file(dir.join("empty/f")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.join("link")).unwrap();
    };
    check(act, true).await;
    let act = |dir: &Path| {
        fs::remove_dir_all(dir.join("dir")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.join("dir")).unwrap();
        fs::remove_file(dir.join("a.txt")).unwrap();
        write(dir, "a.txt/inside", "a directory now");
    };
    check(act, true).await;
}

#[tokio::test]
async fn modes_links_and_times_are_as_new() {
    let act = |dir: &Path| {
        let mode = |name: &str, mode| fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
        for (name, bits) in [("a.txt", 0o666), ("run.sh", 0o755), ("dir/deep", 0o700), ("dir", 0o777), ("", 0o2755)] {
            mode(name, bits);
        }
        let time = |path: &Path| path.metadata().unwrap().modified().unwrap();
        // As long as before, at the same time as before.
        let (path, before) = (dir.join("dir/b.txt"), time(&dir.join("dir/b.txt")));
        fs::write(&path, "X\n").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    };
    check(act, true).await;
}

#[tokio::test]
async fn a_file_that_is_linked_from_elsewhere_is_another_one_now() {
    let project = Project::git(&FILES);
    let workspaces = begun(&project).await;
    let outside = tempfile::tempdir().unwrap();
    let first = open(&workspaces, "first", &[]).await.unwrap();
    reset(&first).await;
    let dir = first.dir();
    write(&dir, "new.txt", "new\n");
    fs::hard_link(dir.join("a.txt"), outside.path().join("a")).unwrap();
    fs::hard_link(dir.join("new.txt"), outside.path().join("new")).unwrap();
    confirm(&first, "first").await;
    first.close().await.unwrap();
    // It stands on what the first one did: its very file is right, and not to be trusted.
    let second = open(&workspaces, "second", &["first"]).await.unwrap();
    reset(&second).await;
    assert_eq!(second.dir(), dir);
    for name in ["a", "new"] {
        fs::write(outside.path().join(name), "from outside\n").unwrap();
    }
    assert_eq!((read(&dir, "a.txt"), read(&dir, "new.txt")), ("a\n".to_owned(), "new\n".to_owned()));
    assert!(record(&second).await.no_op);
}

#[tokio::test]
async fn what_the_agents_git_was_told_is_forgotten() {
    let act = |dir: &Path| {
        let admin = git(dir, &["rev-parse", "--absolute-git-dir"]);
        git(dir, &["update-index", "--assume-unchanged", "a.txt"]);
        git(dir, &["update-index", "--skip-worktree", "dir/b.txt"]);
        git(dir, &["checkout", "-q", "--detach"]);
        git(dir, &["commit", "-q", "--allow-empty", "-m", "own"]);
        git(dir, &["update-ref", "refs/worktree/mine", "HEAD"]);
        git(dir, &["update-ref", "refs/bisect/bad", "HEAD"]);
        let own = Path::new(&admin);
        write(own, "info/sparse-checkout", "/dir\n");
        write(own, "config.worktree", "[core]\n\tsparseCheckout = true\n");
        write(own, "hooks/pre-commit", "#!/bin/sh\n");
        write(own, "index.lock", "");
        write(own, "locked", "by me");
    };
    check(act, true).await;
    let act = |dir: &Path| {
        fs::remove_dir_all(dir.join(".git")).unwrap();
        fs::write(dir.join(".git"), "gitdir: /nowhere\n").unwrap();
    };
    check(act, true).await;
}

#[tokio::test]
async fn a_repository_inside_is_gone() {
    // Git does not even list it: it lies among tracked files.
    let act = |dir: &Path| {
        git(&dir.join("dir"), &["init", "-q"]);
        write(dir, "dir/.git/hooks/post-checkout", "#!/bin/sh\n");
        write(dir, "dir/deep/.git", "gitdir: /nowhere\n");
    };
    check(act, true).await;
    check(
        |dir| {
            write(dir, "nested/f", "f");
            git(&dir.join("nested"), &["init", "-q"]);
        },
        true,
    )
    .await;
}

#[tokio::test]
async fn what_cannot_be_proven_is_made_anew() {
    check(
        |dir| {
            let run = dir.parent().unwrap();
            let index = run.join(".private").join(dir.file_name().unwrap()).join("index");
            let mut lie = Command::new("git");
            lie.args(["update-index", "--assume-unchanged", "a.txt"]).current_dir(dir).env("GIT_INDEX_FILE", index);
            assert!(lie.status().unwrap().success());
        },
        true,
    )
    .await;
    check(|dir| write(dir, ".gitattributes", "*.txt text eol=crlf\n"), false).await;
    check(|dir| _ = mark(&dir.join("dir")), mark(tempfile::tempdir().unwrap().path()).is_err()).await;
}

/// Gives a directory an extended attribute, where the file system has them.
fn mark(dir: &Path) -> rustix::io::Result<()> {
    rustix::fs::setxattr(dir, "user.left", b"x", rustix::fs::XattrFlags::empty())
}

#[tokio::test]
async fn whoever_stands_in_a_slot_keeps_the_next_task_out_of_it() {
    let project = Project::git(&FILES);
    let workspaces = begun(&project).await;
    let first = open(&workspaces, "first", &[]).await.unwrap();
    reset(&first).await;
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo; read x"]).current_dir(first.dir()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.take().unwrap()), &mut line).unwrap();
    first.close().await.unwrap();
    let second = open(&workspaces, "second", &[]).await.unwrap();
    assert_ne!(second.dir(), first.dir());
    assert!(!first.dir().exists());
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[tokio::test]
async fn what_an_agent_makes_beside_its_workspace_goes_with_its_task() {
    let project = Project::git(&FILES);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let workspace = super::project::open(&workspaces, "a", &[]).await.unwrap();
    // Also by a name that a workspace might have, and by one that tools do not show.
    let names = ["feature", "slot-1-fix", "slot-1.2", "slot-9", ".feature", "room-1"];
    for name in names {
        git(&workspace.dir(), &["worktree", "add", "-q", "--detach", &format!("../{name}")]);
    }
    workspace.close().await.unwrap();
    let next = super::project::open(&workspaces, "b", &[]).await.unwrap();
    for name in names {
        assert!(!workspace.dir().with_file_name(name).exists(), "{name}");
    }
    assert!(next.dir() == workspace.dir() && next.dir().join("a.txt").exists());
    git(&next.dir(), &["worktree", "add", "-q", "../feature"]);
    next.close().await.unwrap();
    workspaces.finish().await.unwrap();
    assert_eq!(fs::read_dir(project.top.join(".reflection/worktrees")).unwrap().count(), 0);
}

#[tokio::test]
async fn git_works_beside_submodules_that_setup_filled() {
    let library = Project::git(&[("l", "l")]);
    let url = library.top.display().to_string();
    let fill = "git -c protocol.file.allow=always submodule --quiet update --init";
    let project = Project::git(&[("a", "a")]).set_up_by(fill);
    git(&project.top, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "deep/sub"]);
    git(&project.top, &["commit", "-qm", "a submodule"]);
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "a", "b");
    assert_eq!(git(&workspace.dir(), &["status", "--porcelain"]), "M a");
    assert_eq!(git(&workspace.dir().join("deep/sub"), &["status", "--porcelain"]), "");
    let change = record(&workspace).await;
    assert_eq!(change.files, ["a"]);
    let room = workspace.room().await.unwrap();
    room.reset(&change.tree, &CancellationToken::new()).await.unwrap();
    assert_eq!(git(&room.dir(), &["status", "--porcelain"]), "");
    assert_eq!(read(&room.dir(), "deep/sub/l"), "l");
}

#[tokio::test]
async fn a_submodule_that_an_agent_filled_is_empty_for_the_next_task() {
    let (module, project) = (Project::git(&[("m", "m")]), Project::git(&FILES));
    let url = module.top.display().to_string();
    git(&project.top, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "sub"]);
    git(&project.top, &["commit", "-qm", "a submodule"]);
    let workspaces = begun(&project).await;
    let mut before = None;
    for (id, fills, same) in [("one", false, false), ("two", true, true), ("three", false, true)] {
        let workspace = open(&workspaces, id, &[]).await.unwrap();
        reset(&workspace).await;
        assert_eq!(before == Some(workspace.dir()), same, "{id}");
        assert_eq!(fs::read_dir(workspace.dir().join("sub")).unwrap().count(), 0, "{id}");
        if fills {
            git(&workspace.dir(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
        }
        before = Some(workspace.dir());
        workspace.close().await.unwrap();
    }
}

const SETUP: &str = "echo ran >> \"$LOG\"; mkdir -p deps/bin; cp Cargo.lock deps/lock; echo t > deps/bin/tool";

/// `setup` has run so often after a second task opened the slot in which `act` happened.
async fn check_setup(act: impl FnOnce(&Path), expected: usize) {
    let files = [("Cargo.lock", "1"), ("code", "t"), (".gitignore", "deps/\n")];
    let mut project = Project::git(&files).set_up_by(SETUP);
    let log = project.top.join(".git/setup-log");
    project.policy.env = [("LOG".to_owned(), log.display().to_string())].into();
    let workspaces = begun(&project).await;
    let first = open(&workspaces, "first", &[]).await.unwrap();
    reset(&first).await;
    let before = super::project::files(&first.dir());
    act(&first.dir());
    let change = record(&first).await;
    first.reset(&change.tree, &tokio_util::sync::CancellationToken::new()).await.unwrap();
    first.close().await.unwrap();
    let second = open(&workspaces, "second", &[]).await.unwrap();
    reset(&second).await;
    assert_eq!(second.dir(), first.dir());
    assert_eq!(super::project::files(&second.dir()), before);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), expected);
    assert!(record(&second).await.no_op);
}

#[tokio::test]
async fn setup_runs_again_only_if_what_it_made_cannot_be_trusted() {
    check_setup(|_| {}, 1).await;
    check_setup(|dir| write(dir, "code", "work"), 1).await;
    check_setup(|dir| write(dir, "deps/new/x", "new ones are removed"), 1).await;
    // The reset between two attempts of the same task brings it back from a copy; another task does not rely on that.
    check_setup(|dir| write(dir, "deps/bin/tool", "mine"), 2).await;
    check_setup(|dir| fs::remove_file(dir.join("deps/lock")).unwrap(), 2).await;
    // It has run on what the agent had written, and runs from nothing for the next task.
    check_setup(|dir| write(dir, "Cargo.lock", "2"), 3).await;
}

#[tokio::test]
async fn carried_paths_are_carried_again_if_the_user_or_an_agent_changed_them() {
    let project = Project::git(&[("a", "a"), (".gitignore", "venv/\n")]).carrying(&["venv"]);
    write(&project.top, "venv/lib/x", "1");
    let workspaces = begun(&project).await;
    let user = |text: &str| write(&project.top, "venv/lib/x", text);
    let mut tasks = 0;
    let mut next = async |expected: &str| {
        tasks += 1;
        let workspace = open(&workspaces, &format!("t{tasks}"), &[]).await.unwrap();
        reset(&workspace).await;
        assert!(workspace.dir().ends_with("slot-1"));
        assert_eq!(read(&workspace.dir(), "venv/lib/x"), expected);
        assert!(record(&workspace).await.no_op);
        workspace.close().await.unwrap();
        workspace.dir()
    };
    let dir = next("1").await;
    user("2");
    next("2").await;
    write(&dir, "venv/lib/x", "agent's");
    next("2").await;
    fs::create_dir(project.top.join("venv/more")).unwrap();
    write(&project.top, "venv/more/y", "y");
    next("2").await;
    assert_eq!(read(&dir, "venv/more/y"), "y");
}

#[tokio::test]
async fn a_copy_without_git_is_used_again_too() {
    let project = Project::plain(&FILES);
    let workspaces = begun(&project).await;
    let first = open(&workspaces, "first", &[]).await.unwrap();
    reset(&first).await;
    write(&first.dir(), "out/x", "left");
    first.close().await.unwrap();
    let second = open(&workspaces, "second", &[]).await.unwrap();
    reset(&second).await;
    assert_eq!(second.dir(), first.dir());
    assert_eq!(names(&second.dir()), [".gitignore", "a.txt", "dir/b.txt", "dir/deep/c.txt", "run.sh"]);
    assert!(!second.dir().join("out").exists());
}
