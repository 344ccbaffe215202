//! Recording and resetting.

use super::project::{git, *};
use crate::domain::{Change, SubtaskId, TreeId};
use crate::services::{CommitRequest, Workspace, WorkspaceError};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const FILES: [(&str, &str); 5] = [
    (".gitignore", "*.log\nout/\n"),
    ("a.txt", "a\n"),
    ("dir/b.txt", "b\n"),
    ("dir/c.txt", "c\n"),
    ("kept.log", "tracked although ignored\n"),
];

/// What an agent does becomes these changed files; a reset undoes it; another reset brings it back.
async fn check(act: impl FnOnce(&Path), expected: &[&str]) {
    check_in(Project::git(&FILES), act, expected).await;
}

async fn check_in(project: Project, act: impl FnOnce(&Path), expected: &[&str]) {
    let workspace = project.open().await;
    reset(&workspace).await;
    let before = files(&workspace.dir());
    act(&workspace.dir());
    let change = record(&workspace).await;
    assert_eq!(change.files, expected);
    assert_eq!(change.no_op, expected.is_empty());
    assert_eq!(change.tree == workspace.base(), expected.is_empty());
    reset(&workspace).await;
    assert_eq!(files(&workspace.dir()), before, "after a reset to the base");
    assert!(record(&workspace).await.no_op);
    let cancel = CancellationToken::new();
    workspace.reset(&change.tree, &cancel).await.unwrap();
    let again = workspace.record(&change.tree).await.unwrap();
    assert!(again.no_op);
    assert_eq!((again.files, again.diff_hash), (change.files, change.diff_hash));
    workspace.close().await.unwrap();
}

#[tokio::test]
async fn nothing_is_a_no_op() {
    check(|_| {}, &[]).await;
    check(|dir| write(dir, "x.log", "ignored"), &[]).await;
    check(|dir| write(dir, "memory/x", "never"), &[]).await;
    // What tools keep for themselves, also where no `.gitignore` names it: Python would run it in the place of a source.
    check(|dir| write(dir, "dir/__pycache__/m.cpython-311.pyc", "compiled"), &[]).await;
    check(|dir| symlink("../dir", dir.join("dir/__pycache__")).unwrap(), &[]).await;
    let nested = |dir: &Path| {
        git(dir, &["init", "-q", "lib"]);
        write(dir, "lib/m.py", "x");
        write(dir, "lib/__pycache__/m.cpython-311.pyc", "compiled");
    };
    check(nested, &["lib/m.py"]).await;
    check_in(
        Project::git(&[("__pycache__/m.pyc", "x")]),
        |dir| write(dir, "__pycache__/m.pyc", "y"),
        &["__pycache__/m.pyc"],
    )
    .await;
    check(|dir| fs::create_dir(dir.join("empty")).unwrap(), &[]).await;
}

#[tokio::test]
async fn edits_additions_and_deletions_are_the_change() {
    let act = |dir: &Path| {
        write(dir, "a.txt", "x\n");
        write(dir, "new/ä \"file\"\n", "n\n");
        write(dir, "kept.log", "edited\n");
        fs::remove_file(dir.join("dir/b.txt")).unwrap();
        fs::set_permissions(dir.join("dir/c.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let expected = ["a.txt", "dir/b.txt", "dir/c.txt", "kept.log", "new/ä \"file\"\n"];
    check(act, &expected).await;
}

#[tokio::test]
async fn a_diff_shows_text_whatever_attributes_say() {
    let project = Project::git(&[("a.txt", "before\n"), (".gitattributes", "*.lock -diff\n"), ("x.lock", "1\n")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "a.txt", "after\n");
    write(&workspace.dir(), "x.lock", "2\n");
    write(&workspace.dir(), ".gitattributes", "* -diff\n");
    let tree = record(&workspace).await.tree;
    let diff = workspace.diff(&tree).await.unwrap().text;
    assert!(diff.contains("-before\n+after\n"), "{diff}");
    assert!(diff.contains("-1\n+2\n"), "nor what the project's say: {diff}");
}

#[tokio::test]
async fn a_test_behind_a_link_is_known() {
    let project = Project::git(&[
        ("shared/cases.py", "a\n"),
        ("shared/more/b.py", "b\n"),
        ("lib/c.py", "c\n"),
        ("tests/d.py", "d\n"),
    ]);
    let link = |target: &str, path: &str| std::os::unix::fs::symlink(target, project.top.join(path)).unwrap();
    link("../shared/cases.py", "tests/linked.py");
    link("./../shared/more", "tests/more");
    link("../lib/c.py", "shared/c.py");
    git(&project.top, &["add", "-A"]);
    git(&project.top, &["commit", "-q", "-m", "links"]);
    let workspace = project.open().await;
    let behind = |path: &'static str| {
        let workspace = &workspace;
        async move {
            reset(workspace).await;
            write(&workspace.dir(), path, "changed\n");
            record(workspace).await.behind_links
        }
    };
    assert_eq!(behind("shared/cases.py").await, ["tests/linked.py"]);
    assert_eq!(behind("shared/more/b.py").await, ["tests/more"]);
    assert_eq!(behind("lib/c.py").await, Vec::<String>::new());
}

#[tokio::test]
async fn files_directories_and_links_may_change_places() {
    check(
        |dir| {
            fs::remove_file(dir.join("a.txt")).unwrap();
            write(dir, "a.txt/inside", "x");
        },
        &["a.txt", "a.txt/inside"],
    )
    .await;
    check(
        |dir| {
            fs::remove_file(dir.join("a.txt")).unwrap();
            fs::create_dir(dir.join("a.txt")).unwrap();
        },
        &["a.txt"],
    )
    .await;
    check(
        |dir| {
            fs::remove_dir_all(dir.join("dir")).unwrap();
            write(dir, "dir", "now a file");
        },
        &["dir", "dir/b.txt", "dir/c.txt"],
    )
    .await;
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "b.txt", "the user's own");
    check(
        |dir| {
            fs::remove_dir_all(dir.join("dir")).unwrap();
            symlink(outside.path(), dir.join("dir")).unwrap();
        },
        &["dir", "dir/b.txt", "dir/c.txt"],
    )
    .await;
    assert_eq!(read(outside.path(), "b.txt"), "the user's own");
}

#[tokio::test]
async fn own_commits_and_staged_files_count_and_the_agents_index_may_lie() {
    let act = |dir: &Path| {
        write(dir, "a.txt", "committed\n");
        write(dir, "forced.log", "added by force\n");
        git(dir, &["checkout", "-q", "-b", "mine"]);
        git(dir, &["add", "-f", "forced.log", "a.txt"]);
        git(dir, &["commit", "-q", "-m", "work"]);
        write(dir, "staged", "s");
        git(dir, &["add", "staged"]);
        write(dir, "dir/b.txt", "hidden\n");
        git(dir, &["update-index", "--assume-unchanged", "dir/b.txt"]);
    };
    check(act, &["a.txt", "dir/b.txt", "forced.log", "staged"]).await;
}

#[tokio::test]
async fn half_done_merges_are_gone_after_a_reset() {
    let project = Project::git(&FILES);
    let workspace = project.open().await;
    workspace.begin_work().await.unwrap();
    let dir = workspace.dir();
    let head = git(&dir, &["rev-parse", "HEAD"]);
    write(&dir, "a.txt", "one\n");
    git(&dir, &["commit", "-qam", "one"]);
    let one = git(&dir, &["rev-parse", "HEAD"]);
    git(&dir, &["checkout", "-q", "--detach", &head]);
    write(&dir, "a.txt", "two\n");
    git(&dir, &["commit", "-qam", "two"]);
    let merge = std::process::Command::new("git").args(["merge", &one]).current_dir(&dir).output();
    assert!(!merge.unwrap().status.success());
    reset(&workspace).await;
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    assert_eq!(git(&dir, &["branch", "--show-current"]), "");
    assert!(!git(&dir, &["status"]).contains("merg"));
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn locks_that_a_killed_git_left_do_not_matter() {
    for project in [Project::git(&FILES), Project::plain(&FILES)] {
        let workspace = project.open().await;
        write(&project.top, ".reflection/worktrees/r1/.private/slot-1/index.lock", "");
        write(&project.top, ".reflection/repository.git/index.lock", "");
        write(&workspace.dir(), "a.txt", "x");
        assert_eq!(record(&workspace).await.files, ["a.txt"]);
        write(&project.top, ".reflection/worktrees/r1/.private/slot-1/index.lock", "");
        reset(&workspace).await;
        assert!(record(&workspace).await.no_op);
        project.open().await;
    }
}

#[tokio::test]
async fn nested_repositories_are_recorded_as_files() {
    let act = |dir: &Path| {
        for (name, commit) in [("empty", false), ("full", true)] {
            write(dir, &format!("{name}/f"), "f");
            write(dir, &format!("{name}/x.log"), "ignored");
            git(&dir.join(name), &["init", "-q"]);
            if commit {
                git(&dir.join(name), &["add", "f"]);
                git(&dir.join(name), &["commit", "-qm", "n"]);
            }
        }
    };
    check(act, &["empty/f", "full/f"]).await;
}

#[tokio::test]
async fn an_agent_may_destroy_its_worktree() {
    let act = |dir: &Path| {
        fs::remove_dir_all(dir.join(".git")).unwrap();
        git(dir, &["init", "-q"]);
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-qm", "fresh start"]);
        write(dir, "a.txt", "x");
    };
    check(act, &["a.txt"]).await;

    let project = Project::git(&FILES);
    let workspace = project.open().await;
    let dir = workspace.dir();
    fs::remove_dir_all(&dir).unwrap();
    assert!(matches!(workspace.record(&workspace.base()).await, Err(WorkspaceError::NotRecorded(_))));
    reset(&workspace).await;
    assert_eq!(names(&dir).len(), FILES.len());
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    workspace.begin_work().await.unwrap();
    fs::remove_dir_all(&dir).unwrap();
    symlink(&project.top, &dir).unwrap();
    reset(&workspace).await;
    assert!(dir.symlink_metadata().unwrap().is_dir());
    assert_eq!(names(&project.top).len(), FILES.len());
}

#[tokio::test]
async fn read_only_things_are_removed() {
    let act = |dir: &Path| {
        write(dir, "ro/deep/file", "x");
        write(dir, "out/deep/file", "ignored");
        for name in ["ro/deep/file", "ro/deep", "ro", "out/deep", "dir/b.txt", "dir"] {
            let mode = fs::Permissions::from_mode(0o555);
            fs::set_permissions(dir.join(name), mode).unwrap();
        }
    };
    check(act, &["dir/b.txt", "ro/deep/file"]).await;
}

#[tokio::test]
async fn memory_that_is_tracked_is_never_inside_and_stays_in_the_trees() {
    let mut all = FILES.to_vec();
    all.extend([("memory/README.md", "m\n"), ("memory/x.jsonl", "{}\n")]);
    let project = Project::git(&all);
    let workspace = project.open().await;
    let dir = workspace.dir();
    reset(&workspace).await;
    assert!(!dir.join("memory").exists());
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    write(&dir, "memory/x.jsonl", "forged\n");
    write(&dir, "memory/new", "forged\n");
    write(&dir, "a.txt", "x\n");
    let change = record(&workspace).await;
    assert_eq!(change.files, ["a.txt"]);
    let list = git(&project.top.join(".reflection/repository.git"), &["ls-tree", "-r", "--name-only", &change.tree.0]);
    assert_eq!(list.lines().count(), all.len());
    workspace.reset(&change.tree, &CancellationToken::new()).await.unwrap();
    assert!(!dir.join("memory").exists());
    assert_eq!(git(&dir, &["status", "--porcelain"]), "M a.txt");
}

#[tokio::test]
async fn a_project_below_the_top_of_its_repository() {
    let project = Project::git(&[
        ("root.txt", "r"),
        ("sub/dir/p.txt", "p"),
        ("sub/dir/memory/m", "m"),
        ("memory/top", "not the project's"),
    ])
    .below("sub/dir");
    let workspace = project.open().await;
    assert!(workspace.dir().ends_with("slot-1/sub/dir"));
    assert_eq!(names(&workspace.dir()), ["p.txt"]);
    write(&workspace.dir(), "p.txt", "x");
    write(&workspace.dir(), "../../memory/top", "y");
    assert_eq!(record(&workspace).await.files, ["memory/top", "sub/dir/p.txt"]);
    assert_eq!(git(&project.top, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_project_without_git_works_the_same() {
    let project = || Project::plain(&FILES);
    let act = |dir: &Path| {
        assert!(!dir.join(".git").exists());
        write(dir, "a.txt", "x\r\n");
        write(dir, "b.log", "ignored");
        fs::remove_file(dir.join("dir/b.txt")).unwrap();
    };
    check_in(project(), act, &["a.txt", "dir/b.txt"]).await;

    let project = project();
    let workspace = project.open().await;
    write(&workspace.dir(), "a.txt", "x\r\n");
    write(&workspace.dir(), "bin", "\0\u{1}");
    let committed = confirm(&workspace, "t").await;
    assert_eq!(committed.files, ["a.txt", "bin"]);
    let patch = fs::read_to_string(&committed.target).unwrap();
    assert!(committed.target.ends_with(".reflection/runs/r1/t.patch"), "{committed:?}");
    assert!(patch.contains("GIT binary patch"), "{patch}");
    assert!(!project.top.join(".git").exists());
}

#[tokio::test]
async fn the_commit_holds_the_tree_and_the_title_is_only_text() {
    let project = Project::git(&FILES);
    let workspace = project.open().await;
    write(&workspace.dir(), "a.txt", "x\n");
    let title = "Add `date` and $(touch pwned) \"quoted\" # not a comment";
    let first = confirm(&workspace, title).await;
    assert_eq!(first.target, "reflexion/r1/t");
    assert_eq!(first.files, ["a.txt"]);
    let show = |what: &str| git(&project.top, &["log", "-1", what, "reflexion/r1/t"]);
    assert_eq!(show("--format=%B"), format!("{title}\n\nrun: r1\ntask: t"));
    assert_eq!(show("--format=%an <%ae>|%cn <%ce>"), "U Ser <u@example.org>|U Ser <u@example.org>");
    let id = show("--format=%H");
    confirm(&workspace, title).await;
    assert_eq!(show("--format=%H"), id, "repeating it changes nothing");
    write(&workspace.dir(), "a.txt", "y\n");
    confirm(&workspace, title).await;
    assert_eq!(git(&project.top, &["rev-list", "--count", "main..reflexion/r1/t"]), "1");
    assert_eq!(git(&project.top, &["show", "reflexion/r1/t:a.txt"]), "y");
}

#[tokio::test]
async fn work_that_was_not_confirmed_is_a_patch() {
    let project = Project::git(&FILES);
    let workspace = project.open().await;
    write(&workspace.dir(), "a.txt", "x\n");
    let tree = record(&workspace).await.tree;
    let save = async |workspace: &Arc<dyn Workspace>, tree: &TreeId, part: &str| {
        let part = SubtaskId::new(part).unwrap();
        workspace.save_patch(tree, &part).await.unwrap()
    };
    let path = save(&workspace, &tree, "t").await;
    assert!(path.ends_with(".reflection/runs/r1/t.unconfirmed.patch"));
    assert!(save(&workspace, &tree, "part").await.ends_with("t+part.unconfirmed.patch"));
    git(&project.top, &["apply", path.to_str().unwrap()]);
    assert_eq!(read(&project.top, "a.txt"), "x\n");
}

const FILL: [&str; 6] = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];

fn with_submodule() -> Project {
    Project::git(&[("a.txt", "a\n"), (".gitignore", "*.log\n")]).with_submodule("lib")
}

fn vendored(dir: &Path) {
    fs::remove_dir_all(dir.join("lib")).unwrap();
    write(dir, "lib/f", "vendored\n");
    write(dir, "lib/x.log", "ignored");
}

#[tokio::test]
async fn files_in_the_place_of_a_submodule_are_recorded() {
    check_in(with_submodule(), vendored, &["lib", "lib/f"]).await;
    check_in(with_submodule(), |dir| write(dir, "lib/x.log", "ignored"), &[]).await;
    check_in(with_submodule(), |dir| fs::remove_dir(dir.join("lib")).unwrap(), &["lib"]).await;
    let fill = format!("git {}", FILL.join(" "));
    let in_place = |dir: &Path| fs::remove_file(dir.join("lib/.git")).unwrap();
    check_in(with_submodule().set_up_by(&fill), in_place, &["lib", "lib/f"]).await;
    check_in(with_submodule().set_up_by(&fill), vendored, &["lib", "lib/f"]).await;
    // What `setup` itself puts there without a repository is no work.
    check_in(with_submodule().set_up_by("echo 1 > lib/f"), |_| {}, &[]).await;
}

#[tokio::test]
async fn a_check_finds_the_files_that_took_the_place_of_a_filled_submodule() {
    let project = with_submodule().set_up_by(&format!("git {}", FILL.join(" ")));
    let workspace = project.open().await;
    reset(&workspace).await;
    assert_eq!(
        git(&workspace.dir(), &["-C", "lib", "log", "-1", "--format=%s"]),
        "of the submodule",
        "git works in it"
    );
    let room = workspace.room().await.unwrap();
    reset(&room).await;
    assert_eq!(read(&room.dir(), "lib/f"), "2\n");
    reset(&workspace).await;
    vendored(&workspace.dir());
    let change = record(&workspace).await;
    room.reset(&change.tree, &CancellationToken::new()).await.unwrap();
    assert_eq!(names(&room.dir().join("lib")), ["f"]);
    assert_eq!(read(&room.dir(), "lib/f"), "vendored\n");
    reset(&room).await;
    assert_eq!(read(&room.dir(), "lib/f"), "2\n");
}

/// What is told of commits, and not of files in them.
fn of_commits(remarks: Vec<String>) -> Vec<String> {
    remarks.into_iter().filter(|said| said.contains("nobody could find out")).collect()
}

/// The submodules of the recorded tree, by path, and the change.
async fn submodules_of(project: Project, act: impl FnOnce(&Path)) -> (Vec<String>, Change) {
    let workspace = project.open().await;
    reset(&workspace).await;
    act(&workspace.dir());
    let change = record(&workspace).await;
    let listed = git(&project.top.join(".reflection/repository.git"), &["ls-tree", "-r", &change.tree.0]);
    let submodules = listed.lines().filter(|line| line.starts_with("160000"));
    let submodules = submodules.map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect();
    workspace.close().await.unwrap();
    (submodules, change)
}

#[tokio::test]
async fn a_submodule_that_was_moved_or_added_is_recorded_as_one() {
    let fill = format!("git {}", FILL.join(" "));
    let moved = |dir: &Path| drop(git(dir, &["mv", "lib", "vendor"]));
    for project in [with_submodule(), with_submodule().set_up_by(&fill)] {
        let (submodules, change) = submodules_of(project, moved).await;
        assert_eq!(submodules, ["vendor"]);
        assert_eq!(change.files, [".gitmodules", "lib", "vendor"]);
        assert_eq!((change.leads_out, change.remarks), (Vec::new(), Vec::<String>::new()), "it is the same commit");
    }
    check_in(with_submodule(), moved, &[".gitmodules", "lib", "vendor"]).await;
    check_in(with_submodule().set_up_by(&fill), moved, &[".gitmodules", "lib", "vendor"]).await;

    let add = |url: &Path, dir: &Path| {
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url.to_str().unwrap(), "second"];
        git(dir, &add);
        git(dir, &["commit", "-q", "-m", "added"]);
    };
    let project = with_submodule();
    let same = project.submodule();
    let (submodules, change) = submodules_of(project, |dir| add(&same, dir)).await;
    assert_eq!(submodules, ["lib", "second"]);
    assert_eq!(change.remarks, Vec::<String>::new(), "the user has the repository that it comes from");
    // In the place of files, and from where the user has nothing.
    let other = with_submodule();
    let project = Project::git(&[("second/f", "vendored\n"), ("a.txt", "a\n")]);
    let replace = |dir: &Path| {
        git(dir, &["rm", "-q", "-r", "second"]);
        add(&other.submodule(), dir);
    };
    let (submodules, change) = submodules_of(project, replace).await;
    assert_eq!(
        (&submodules[..], &change.files[..]),
        (&["second".to_owned()][..], &[".gitmodules", "second", "second/f"].map(str::to_owned)[..])
    );
    assert!(matches!(&of_commits(change.remarks)[..], [one] if one.contains("`second`")));
    // A clone in the place of files is no word about them, and where there is no git there are no submodules.
    for project in [Project::git(&[("lib/f", "mine\n")]), Project::plain(&[("lib/f", "mine\n")])] {
        let renewed = |dir: &Path| {
            git(dir, &["clone", "-q", other.submodule().to_str().unwrap(), "new"]);
            fs::rename(dir.join("new/.git"), dir.join("lib/.git")).unwrap();
            fs::remove_dir_all(dir.join("new")).unwrap();
            write(dir, "lib/f", "renewed\n");
            write(dir, ".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = x\n");
        };
        let (submodules, change) = submodules_of(project, renewed).await;
        assert_eq!((&submodules[..], &change.files[..]), (&[][..], &[".gitmodules", "lib/f"].map(str::to_owned)[..]));
    }
    // What is none: a repository that the agent has made itself, and a name without a repository.
    let none = |dir: &Path| {
        git(dir, &["init", "-q", "inner"]);
        write(dir, "inner/f", "1\n");
        git(&dir.join("inner"), &["add", "f"]);
        git(&dir.join("inner"), &["commit", "-q", "-m", "inner"]);
        write(dir, "files/f", "1\n");
        write(
            dir,
            ".gitmodules",
            "[submodule \"own\"]\n\tpath = inner\n\turl = ./inner\n[submodule \"files\"]\n\tpath = files\n\turl = x\n[submodule \"x\"]\n\tpath = ../x\n[submodule \"no\"]\n\tpath =\n",
        );
    };
    let (submodules, change) = submodules_of(Project::git(&[("a.txt", "a\n")]), none).await;
    assert_eq!(submodules, Vec::<String>::new());
    assert_eq!(change.files, [".gitmodules", "files/f", "inner/f"]);
}

/// What is said of a submodule that an agent has filled and worked on: what refutes, and what is only told.
async fn said_of(project: &Project, act: impl FnOnce(&Path)) -> (Vec<String>, Vec<String>) {
    let workspace = project.open().await;
    reset(&workspace).await;
    git(&workspace.dir(), &FILL);
    act(&workspace.dir().join("lib"));
    let change = record(&workspace).await;
    let said = (change.leads_out, change.remarks);
    workspace.close().await.unwrap();
    said
}

#[tokio::test]
async fn a_commit_of_a_submodule_that_nobody_else_has_refutes() {
    let commit = |lib: &Path| {
        write(lib, "f", "the fix\n");
        git(lib, &["commit", "-q", "-a", "-m", "the fix"]);
    };
    let (leads_out, remarks) = said_of(&with_submodule(), commit).await;
    assert!(matches!(&leads_out[..], [one] if one.starts_with("lib -> commit ")), "{leads_out:?}");
    assert_eq!(remarks.len(), 1, "{remarks:?}");

    let unseen = |lib: &Path| {
        commit(lib);
        git(lib.parent().unwrap(), &["config", "-f", ".gitmodules", "submodule.lib.ignore", "all"]);
    };
    assert_eq!(said_of(&with_submodule(), unseen).await.0.len(), 1, "what `git status` shows is another question");

    let pushed = |lib: &Path| {
        commit(lib);
        git(lib, &["push", "-q", "origin", "HEAD:refs/heads/fix"]);
    };
    assert_eq!(said_of(&with_submodule(), pushed).await.0, Vec::<String>::new(), "its remote has it");
    let older = |lib: &Path| drop(git(lib, &["checkout", "-q", "HEAD~1"]));
    assert_eq!(said_of(&with_submodule(), older).await, (Vec::new(), Vec::new()), "the user has it");

    let offline = with_submodule();
    let (leads_out, remarks) = said_of(&offline, |lib| {
        commit(lib);
        fs::rename(offline.submodule(), offline.submodule().with_extension("away")).unwrap();
    })
    .await;
    assert_eq!(leads_out, Vec::<String>::new());
    assert!(remarks[0].contains("nobody could find out whether it can be had"), "{remarks:?}");
}

#[tokio::test]
async fn no_other_repository_speaks_for_a_submodule() {
    let names = |dir: &Path, entries: &[(&str, &str, &Path)]| {
        let text = |(name, path, url): &(&str, &str, &Path)| {
            format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = {}\n", url.display())
        };
        write(dir, ".gitmodules", &entries.iter().map(text).collect::<String>());
    };
    let other = with_submodule();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    let project = with_submodule();
    let (lib, b) = (project.submodule(), other.submodule());
    // Two that are made in the same second are otherwise the same.
    git(&lib, &["commit", "-q", "--allow-empty", "-m", "of the first alone"]);
    git(&b, &["commit", "-q", "--allow-empty", "-m", "of the other alone"]);
    git(&project.top, &[&add[..], &[b.to_str().unwrap(), "b"]].concat());
    git(&project.top, &["commit", "-q", "-m", "another one"]);
    let put_at_others = |dir: &Path| {
        fs::remove_dir_all(dir.join("lib")).unwrap();
        git(dir, &["clone", "-q", b.to_str().unwrap(), "lib"]);
    };
    let says = async |act: &dyn Fn(&Path)| {
        let workspace = project.open().await;
        reset(&workspace).await;
        act(&workspace.dir());
        let change = record(&workspace).await;
        workspace.close().await.unwrap();
        (change.leads_out.len(), of_commits(change.remarks).len())
    };
    assert_eq!(says(&put_at_others).await, (1, 0), "its remote does not have it");
    let forged = |dir: &Path| {
        put_at_others(dir);
        names(dir, &[("b", "lib", &lib), ("b2", "b", &b)]);
    };
    assert_eq!(says(&forged).await, (1, 0), "its name is not where it comes from");
    let swapped = |dir: &Path| {
        put_at_others(dir);
        git(dir, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "b"]);
        fs::remove_dir_all(dir.join("b")).unwrap();
        git(dir, &["clone", "-q", lib.to_str().unwrap(), "b"]);
    };
    assert_eq!(says(&swapped).await, (2, 0), "the commit of another one is known of that one alone");
    let from_elsewhere = |dir: &Path| {
        put_at_others(dir);
        names(dir, &[("lib", "lib", Path::new("/a/fork")), ("b", "b", &b)]);
    };
    assert_eq!(says(&from_elsewhere).await, (0, 1), "nobody may be asked");
    let dead = |dir: &Path| names(dir, &[("lib", "lib", Path::new("/nowhere")), ("b", "b", &b)]);
    assert_eq!(says(&dead).await, (0, 1), "also where only that has changed");
    let renamed = |dir: &Path| names(dir, &[("other name", "lib", &lib), ("b", "b", &b)]);
    assert_eq!(says(&renamed).await, (0, 0));
}

/// A remote that takes calls and never answers, and how often it was called.
fn silent_remote() -> (String, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/x", listener.local_addr().unwrap());
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for call in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            open.push(call);
        }
    });
    (url, calls)
}

#[tokio::test]
async fn a_remote_that_does_not_answer_is_asked_once_and_not_when_the_run_is_stopped() {
    let commit = |dir: &Path| {
        git(dir, &FILL);
        git(&dir.join("lib"), &["commit", "-q", "--allow-empty", "-m", "the fix"]);
    };
    let project = with_submodule();
    let workspace = project.open().await;
    reset(&workspace).await;
    commit(&workspace.dir());
    let (url, calls) = silent_remote();
    git(&project.top, &["config", "submodule.lib.url", &url]);
    let first = record(&workspace).await;
    assert!(matches!(&of_commits(first.remarks.clone())[..], [one] if one.contains("no answer in ")));
    write(&workspace.dir(), "a.txt", "more\n");
    assert_eq!(record(&workspace).await.remarks, first.remarks);
    git(&workspace.dir().join("lib"), &["commit", "-q", "--allow-empty", "-m", "another"]);
    let another = of_commits(record(&workspace).await.remarks);
    assert!(matches!(&another[..], [one] if one.contains("no answer in ")), "{another:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 1, "not asked for another commit either");
    workspace.close().await.unwrap();

    let project = with_submodule();
    let workspace = project.open().await;
    let stop = CancellationToken::new();
    workspace.reset(&workspace.base(), &stop).await.unwrap();
    commit(&workspace.dir());
    git(&project.top, &["config", "submodule.lib.url", &url]);
    let base = workspace.base();
    let (recorded, ()) = tokio::join!(workspace.record(&base), async {
        while calls.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
    });
    let remarks = of_commits(recorded.unwrap().remarks);
    assert!(matches!(&remarks[..], [one] if one.contains("the run was stopped")), "{remarks:?}");
    let left = fs::read_dir(project.top.join(".reflection")).unwrap();
    let left = left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("fetched-"));
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn edits_in_a_submodule_are_told() {
    let edit = |lib: &Path| {
        write(lib, "f", "edited\n");
        write(lib, "new", "n\n");
        write(lib, "x.log", "not ignored there\n");
    };
    let fill = format!("git {} && echo built > lib/built", FILL.join(" "));
    for project in [with_submodule(), with_submodule().set_up_by(&fill)] {
        let (leads_out, remarks) = said_of(&project, edit).await;
        assert_eq!(leads_out, Vec::<String>::new());
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("`lib`") && remarks[0].contains("lib/f, lib/new"), "{remarks:?}");
        assert_eq!(said_of(&project, |_| {}).await, (Vec::new(), Vec::new()));
    }
}

/// What git refuses wherever a commit arrives costs whoever wrote it, before anything is confirmed.
#[tokio::test]
async fn what_gits_own_checks_refuse_is_not_recorded() {
    let long = format!("{} text\n", "a".repeat(3000));
    let module = |url: &str| format!("[submodule \"x\"]\n\tpath = x\n\turl = {url}\n");
    let refused = async |name: &str, text: &str, why: &str| {
        let project = Project::git(&FILES);
        let workspace = project.open().await;
        reset(&workspace).await;
        write(&workspace.dir(), name, text);
        let error = workspace.record(&workspace.base()).await.unwrap_err();
        let WorkspaceError::NotRecorded(said) = &error else { panic!("{error}") };
        assert!(said.contains(name) && said.contains(why), "{said}");
        // The next one begins as if that had never been.
        reset(&workspace).await;
        assert_eq!(names(&workspace.dir()).len(), FILES.len());
        write(&workspace.dir(), "fine", "fine\n");
        assert_eq!(record(&workspace).await.files, ["fine"]);
    };
    refused(".gitattributes", &long, "gitattributesLineLength").await;
    refused("deep/below/.gitattributes", &long, "gitattributesLineLength").await;
    refused(".gitmodules", &module("-u./p"), "gitmodulesUrl").await;
    // What the user's own repository has is nobody's doing.
    let project = Project::git(&[("a", "a\n"), (".gitattributes", &long)]);
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "a", "b\n");
    assert_eq!(record(&workspace).await.files, ["a"]);
    confirm(&workspace, "t").await;
}

#[tokio::test]
async fn what_is_carried_is_found_under_another_name() {
    const ENV: &str = "DB_PASSWORD=correct horse battery\nDB_USER=me\n";
    let base =
        [("a", "a\n"), (".gitignore", ".env\n.env.public\nkeys/\n"), ("example", "DB_PASSWORD=as everybody knows\n")];
    let project = Project::git(&base).carrying(&[".env", ".env.public", "keys"]);
    write(&project.top, ".env", ENV);
    write(&project.top, ".env.public", "DB_PASSWORD=as everybody knows\n");
    write(&project.top, "keys/one.pem", "a key, word for word\n");
    write(&project.top, "keys/empty", "");
    let workspace = project.open().await;
    let check = async |act: &dyn Fn(&Path), expected: &[&str]| {
        reset(&workspace).await;
        act(&workspace.dir());
        let change = record(&workspace).await;
        assert_eq!(change.carried, expected, "{:?}", change.files);
        let request = CommitRequest { tree: change.tree, subject: "t".to_owned(), body: "run: r1\ntask: t".to_owned() };
        assert_eq!(workspace.commit(request).await.unwrap().carried, expected);
    };
    let copy =
        |from: &'static str, to: &'static str| move |dir: &Path| _ = fs::copy(dir.join(from), dir.join(to)).unwrap();
    check(&copy(".env", "settings.txt"), &["settings.txt (.env)"]).await;
    check(&|dir| write(dir, "a", &format!("before\n{ENV}after\n")), &["a (.env)"]).await;
    check(&copy("keys/one.pem", "cert"), &["cert (keys/one.pem)"]).await;
    check(&copy("keys/empty", "empty"), &[]).await;
    check(&copy(".env.public", "public"), &[]).await;
    check(&|dir| write(dir, "a", "nothing of it, DB_PASSWORD=\n"), &[]).await;
}
