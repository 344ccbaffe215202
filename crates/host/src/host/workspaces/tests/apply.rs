//! Bringing confirmed work into the user's files.

use super::project::*;
use crate::services::{Applied, WorkspaceError, Workspaces};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tokio_util::sync::CancellationToken;

const BASE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

async fn confirmed(project: &Project) -> String {
    let workspace = project.open().await;
    write(&workspace.dir(), "a", &BASE.replace('1', "one"));
    write(&workspace.dir(), "new/file", "new\n");
    fs::remove_file(workspace.dir().join("gone")).unwrap();
    let target = confirm(&workspace, "t").await.target;
    workspace.close().await.unwrap();
    target
}

async fn apply(project: &Project) -> Result<Applied, WorkspaceError> {
    project.workspaces().apply(&run_id(), &task("t"), &CancellationToken::new()).await
}

fn projects() -> [Project; 2] {
    let files = [("a", BASE), ("gone", "g\n"), ("b", "b\n")];
    [Project::git(&files), Project::plain(&files)]
}

#[tokio::test]
async fn it_arrives_beside_the_users_own_edits_and_unstaged() {
    for project in projects() {
        let target = confirmed(&project).await;
        let top = &project.top;
        write(top, "a", &BASE.replace('9', "nine"));
        write(top, "b", "edited\n");
        write(top, "mine", "untracked\n");
        let is_git = top.join(".git").exists();
        if is_git {
            git(top, &["add", "b"]);
        }
        let applied = apply(&project).await.unwrap();
        assert_eq!(applied.from, target);
        assert_eq!(applied.files, ["a", "gone", "new/file"]);
        assert_eq!(read(top, "a"), BASE.replace('1', "one").replace('9', "nine"));
        assert_eq!(names(top), ["a", "b", "mine", "new/file"]);
        if is_git {
            assert_eq!(git(top, &["diff", "--cached", "--name-only"]), "b");
        }
        assert_eq!(apply(&project).await.unwrap().files, Vec::<String>::new(), "twice is once");
    }
}

async fn check_conflict(spoil: impl Fn(&Path), expected: &[&str]) {
    for project in projects() {
        confirmed(&project).await;
        spoil(&project.top);
        let before = files(&project.top);
        match apply(&project).await {
            Err(WorkspaceError::Conflict { files, .. }) => assert_eq!(files, expected),
            other => panic!("{other:?}"),
        }
        assert_eq!(files(&project.top), before, "nothing was changed");
    }
}

#[tokio::test]
async fn what_does_not_fit_changes_nothing() {
    check_conflict(|top| write(top, "a", &BASE.replace('1', "eins")), &["a"]).await;
    check_conflict(|top| write(top, "new/file", "the user's\n"), &["new/file"]).await;
    check_conflict(|top| write(top, "gone", "edited\n"), &["gone"]).await;
    let ignored = |top: &Path| {
        write(top, ".gitignore", "new/\n");
        write(top, "new/file", "the user's, ignored\n");
    };
    check_conflict(ignored, &["new/file"]).await;
}

#[tokio::test]
async fn the_patch_alone_is_enough() {
    let [_, project] = projects();
    confirmed(&project).await;
    fs::remove_dir_all(project.top.join(".reflection/repository.git")).unwrap();
    let applied = apply(&project).await.unwrap();
    assert_eq!(applied.files, ["a", "gone", "new/file"]);
    assert_eq!(names(&project.top), ["a", "b", "new/file"]);
}

#[tokio::test]
async fn no_work_is_an_error() {
    for project in projects() {
        assert!(matches!(apply(&project).await, Err(WorkspaceError::Unusable(_))));
    }
}

#[tokio::test]
async fn a_change_that_stops_in_the_middle_leaves_every_file_as_it_was() {
    let files = [("pkg/a", "a\n"), ("z.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), (".gitignore", "*.pyc\n")];
    let project = Project::git(&files);
    let workspace = project.open().await;
    fs::remove_dir_all(workspace.dir().join("pkg")).unwrap();
    write(&workspace.dir(), "pkg", "a file now\n");
    write(&workspace.dir(), "z.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    confirm(&workspace, "t").await;
    // What git does not look at is in the way, and the user has gone on elsewhere.
    write(&project.top, "pkg/x.pyc", "ignored");
    write(&project.top, "z.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\nmine\n");
    let before = super::project::files(&project.top);
    let applied = project.workspaces().apply(&run_id(), &task("t"), &CancellationToken::new()).await;
    assert!(applied.is_err(), "{applied:?}");
    assert_eq!(super::project::files(&project.top), before);
    assert!(!project.top.join(".reflection/applying").exists());
    fs::remove_file(project.top.join("pkg/x.pyc")).unwrap();
    project.workspaces().apply(&run_id(), &task("t"), &CancellationToken::new()).await.unwrap();
    assert_eq!(read(&project.top, "z.txt"), "one\n2\n3\n4\n5\n6\n7\n8\n9\nmine\n");
}

/// Git removes every file of the work before it writes the first one, and cannot write `z` where a directory is.
#[tokio::test]
async fn what_cannot_be_applied_is_put_back_whatever_files_are_called() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"\xe9t\xe9");
    let project = Project::git(&[("a", "a\n"), (".gitignore", "out/\n")]);
    fs::write(project.top.join(odd), "o\n").unwrap();
    git(&project.top, &["add", "-A"]);
    git(&project.top, &["commit", "-q", "-m", "odd"]);
    let workspace = project.open().await;
    fs::write(workspace.dir().join(odd), "work\n").unwrap();
    write(&workspace.dir(), "a", "work\n");
    write(&workspace.dir(), "out", "work\n");
    confirm(&workspace, "t").await;
    workspace.close().await.unwrap();
    write(&project.top, "out/mine", "the user's");
    let before = files(&project.top);
    assert!(apply(&project).await.is_err());
    assert_eq!(files(&project.top), before);
    assert!(!project.top.join(".reflection/applying").exists());
}

#[tokio::test]
async fn permissions_stay_and_a_change_that_was_cut_short_is_said_first() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::git(&[("a", BASE), ("gone", "g\n")]);
    confirmed(&project).await;
    fs::set_permissions(project.top.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let left = project.top.join(".reflection/applying");
    fs::create_dir(&left).unwrap();
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("cut short") && error.contains(&left.display().to_string()), "{error}");
    fs::remove_dir(&left).unwrap();
    apply(&project).await.unwrap();
    assert_eq!(fs::metadata(project.top.join("a")).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A filter during whose second call - the first only looks at what it makes of a file - the user saves this file.
fn filter_that_saves(project: &Project, outside: &Path, file: &str) {
    let (called, saved) = (outside.join("called"), project.top.join(file));
    let script = format!("cat; [ -e {called:?} ] && echo saved > {saved:?}; : > {called:?}");
    write(outside, "filter", &script);
    git(&project.top, &["config", "filter.slow.smudge", &format!("sh '{}'", outside.join("filter").display())]);
}

#[tokio::test]
async fn what_the_user_saves_while_a_filter_takes_its_time_stays() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n"), (".gitattributes", "a filter=slow\n")]);
    confirmed(&project).await;
    let top = &project.top;
    write(top, "b", "mine\n");
    let saves = tempfile::tempdir().unwrap();
    filter_that_saves(&project, saves.path(), "a");
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("a: it was changed while the work was prepared"), "{error}");
    assert_eq!(read(top, "a"), "saved\n");
    assert_eq!(names(top), [".gitattributes", "a", "b", "gone"], "all of it or nothing");
    assert!(!top.join(".reflection/applying").exists());

    git(top, &["config", "filter.slow.smudge", "tr e E"]);
    write(top, "a", BASE);
    apply(&project).await.unwrap();
    assert_eq!(read(top, "a"), BASE.replace('1', "onE"), "written as the attributes say");
}

/// What a notebook's output or a password is: in the user's file only, because git never gets to see it.
#[tokio::test]
async fn what_a_filter_leaves_out_of_a_file_is_not_lost() {
    for is_edited in [true, false] {
        let attributes = "*.nb filter=strip\n";
        let project = Project::git(&[("a", "a\n"), ("b.nb", "1\n2\n3\n"), (".gitattributes", attributes)]);
        let top = &project.top;
        git(top, &["config", "filter.strip.clean", "sed /output/d"]);
        git(top, &["config", "filter.strip.smudge", "cat"]);
        worked(&project, |dir| {
            if is_edited {
                write(dir, "b.nb", "1\n2\nthree\n");
            } else {
                fs::remove_file(dir.join("b.nb")).unwrap();
            }
        })
        .await;
        write(top, "b.nb", "1\noutput: 41\n2\n3\n");
        git(top, &["add", "b.nb"]);
        assert_eq!(git(top, &["status", "--porcelain"]), "", "git sees no change");
        let before = files(top);
        let error = apply(&project).await.unwrap_err().to_string();
        assert!(error.contains("leaves out a part of what is in b.nb"), "{error}");
        assert_eq!(files(top), before);

        // What git has is all of it.
        write(top, "b.nb", "1\n2\n3\n");
        assert_eq!(apply(&project).await.unwrap().files, ["b.nb"]);
    }
}

#[tokio::test]
async fn files_that_go_while_it_looks_are_left_out() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n"), (".gitattributes", "*.t filter=clear\n")]);
    confirmed(&project).await;
    let top = &project.top;
    // Whichever of them is looked at first, the others are gone then.
    git(top, &["config", "filter.clear.clean", "rm -f *.t; cat"]);
    ["1.t", "2.t", "3.t"].iter().for_each(|name| write(top, name, "comes and goes\n"));
    assert_eq!(apply(&project).await.unwrap().files, ["a", "gone", "new/file"]);
}

#[tokio::test]
async fn another_process_that_applies_something_is_said() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n")]);
    confirmed(&project).await;
    let lock = fs::File::create(project.top.join(".reflection/applying.lock")).unwrap();
    lock.lock().unwrap();
    // What it is just moving was not cut short.
    fs::create_dir(project.top.join(".reflection/applying")).unwrap();
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("another `reflexion apply` is at work"), "{error}");
    fs::remove_dir(project.top.join(".reflection/applying")).unwrap();
    drop(lock);
    apply(&project).await.unwrap();
}

#[tokio::test]
async fn who_interrupts_while_it_is_prepared_has_changed_nothing() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n"), (".gitattributes", "a filter=slow\n")]);
    confirmed(&project).await;
    let top = &project.top;
    let outside = tempfile::tempdir().unwrap();
    let began = outside.path().join("began");
    git(top, &["config", "filter.slow.smudge", &format!("touch '{}'; sleep 100", began.display())]);
    let before = files(top);
    let cancel = CancellationToken::new();
    let workspaces = project.workspaces();
    let interrupting = async {
        while !began.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert!(top.join(".reflection/applying.prepared").exists());
        cancel.cancel();
    };
    let (run, task) = (run_id(), task("t"));
    let (applied, ()) = tokio::join!(workspaces.apply(&run, &task, &cancel), interrupting);
    assert!(matches!(applied, Err(WorkspaceError::Interrupted)), "{applied:?}");
    assert_eq!(files(top), before);
    assert!(!top.join(".reflection/applying.prepared").exists(), "the copies are gone");
    git(top, &["config", "filter.slow.smudge", "cat"]);
    apply(&project).await.unwrap();
}

#[tokio::test]
async fn what_a_killed_one_prepared_goes_and_so_does_what_did_not_fit() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n")]);
    confirmed(&project).await;
    let prepared = project.top.join(".reflection/applying.prepared");
    fs::create_dir_all(prepared.join("after/b")).unwrap();
    write(&project.top, "a", "mine\n");
    assert!(apply(&project).await.is_err());
    assert!(!prepared.exists());
}

#[tokio::test]
async fn files_behind_a_link_that_git_ignores_are_named() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n"), (".gitignore", "/new\n")]);
    let workspace = project.open().await;
    write(&workspace.dir(), ".gitignore", "");
    write(&workspace.dir(), "new/it's here: a file", "new\n");
    confirm(&workspace, "t").await;
    workspace.close().await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), project.top.join("new")).unwrap();
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("does not fit: new/it's here: a file"), "{error}");
    assert_eq!(names(outside.path()), Vec::<String>::new());
}

/// What the agent does of these files, in a project that has them.
async fn worked(project: &Project, act: impl FnOnce(&Path)) {
    let workspace = project.open().await;
    reset(&workspace).await;
    act(&workspace.dir());
    confirm(&workspace, "t").await;
    workspace.close().await.unwrap();
}

fn changed_places(dir: &Path) {
    fs::remove_file(dir.join("config")).unwrap();
    write(dir, "config/sub/main", "1\n");
    fs::remove_file(dir.join("link")).unwrap();
    write(dir, "link/a", "1\n");
    fs::remove_dir_all(dir.join("dir")).unwrap();
    write(dir, "dir", "now a file\n");
}

const PLACES: [(&str, &str); 4] =
    [("config", "1\n"), ("dir/a", "a\n"), ("z", "z\n"), (".gitattributes", "z filter=slow\n")];

fn of_places() -> Project {
    let project = Project::git(&PLACES);
    std::os::unix::fs::symlink("dir", project.top.join("link")).unwrap();
    git(&project.top, &["add", "-A"]);
    git(&project.top, &["commit", "-q", "-m", "a link"]);
    project
}

#[tokio::test]
async fn files_directories_and_links_change_places() {
    let project = of_places();
    worked(&project, changed_places).await;
    apply(&project).await.unwrap();
    assert_eq!(names(&project.top), [".gitattributes", "config/sub/main", "dir", "link/a", "z"]);
}

#[tokio::test]
async fn what_changed_places_is_put_back_when_something_later_cannot_be_applied() {
    let project = of_places();
    worked(&project, |dir| {
        changed_places(dir);
        write(dir, "z", "work\n");
    })
    .await;
    let (top, outside) = (&project.top, tempfile::tempdir().unwrap());
    filter_that_saves(&project, outside.path(), "z");
    let mut before = files(top);
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("nothing was changed: z: "), "{error}");
    before.insert("z".to_owned(), "saved\n".to_owned());
    assert_eq!(files(top), before);
    assert!(!top.join(".reflection/applying").exists());
}

/// An editor's "save all": one file that has arrived already, one that has not, and one that the work has removed.
#[tokio::test]
async fn what_the_user_saves_while_files_arrive_stays_whatever_becomes_of_the_work() {
    let names: Vec<String> = (0..1500).map(|i| format!("d/{i:04}")).collect();
    let old: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1\n")).chain([("a/gone", "1\n")]).collect();
    let project = Project::git(&old);
    worked(&project, |dir| {
        names.iter().for_each(|name| write(dir, name, "work\n"));
        fs::remove_file(dir.join("a/gone")).unwrap();
    })
    .await;
    let top = project.top.clone();
    let saving = std::thread::spawn(move || {
        let arrived = || fs::read(top.join("d/0003")).is_ok_and(|text| text == b"work\n");
        let began = std::time::Instant::now();
        while !arrived() && began.elapsed() < std::time::Duration::from_secs(60) {}
        for file in ["d/0001", "d/1499", "a/gone"] {
            fs::create_dir_all(top.join("a")).unwrap();
            fs::write(top.join(file), "saved\n").unwrap();
        }
    });
    let applied = apply(&project).await;
    saving.join().unwrap();
    for file in ["d/0001", "d/1499", "a/gone"] {
        assert_eq!(read(&project.top, file), "saved\n", "{file}: {applied:?}");
    }
    if let Err(error) = applied {
        let (error, left) = (error.to_string(), project.top.join(".reflection/applying/before"));
        assert!(error.contains("d/0001 (it was saved meanwhile") && error.contains("applying"), "{error}");
        assert_eq!(fs::read(left.join("d/0001")).unwrap(), b"1\n");
        assert_eq!(read(&project.top, "d/0002"), "1\n", "the rest is put back");
    }
}

#[tokio::test]
async fn empty_directories_are_not_in_the_way_and_ignored_files_are_named() {
    let project = Project::git(&[("a", "a\n"), (".gitignore", "*.log\n")]);
    worked(&project, |dir| {
        write(dir, "a", "work\n");
        write(dir, "new", "work\n");
    })
    .await;
    write(&project.top, "new/sub/mine.log", "ignored");
    let before = files(&project.top);
    match apply(&project).await {
        Err(WorkspaceError::Conflict { what, files }) => {
            assert!(what.contains("a file where you have a directory"), "{what}");
            assert_eq!(files, ["new/sub/mine.log"]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(files(&project.top), before);
    fs::remove_file(project.top.join("new/sub/mine.log")).unwrap();
    apply(&project).await.unwrap();
    assert_eq!(read(&project.top, "new"), "work\n");
}

#[tokio::test]
async fn a_submodule_is_moved_or_removed_beside_other_files() {
    for removed in [false, true] {
        let project = Project::git(&[("a", "a\n")]).with_submodule("lib");
        let older = git(&project.top.join("lib"), &["rev-parse", "HEAD~1"]);
        worked(&project, |dir| {
            write(dir, "new", "work\n");
            if removed {
                fs::remove_dir(dir.join("lib")).unwrap();
            } else {
                git(dir, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
                git(&dir.join("lib"), &["checkout", "-q", &older]);
            }
        })
        .await;
        let applied = apply(&project).await.unwrap();
        assert_eq!(applied.files, ["lib", "new"]);
        let remark = format!("git -C lib checkout {older}");
        assert_eq!(applied.remarks.iter().any(|said| said.contains(&remark)), !removed, "{:?}", applied.remarks);
        assert_eq!(read(&project.top, "lib/f"), "2\n", "the user's submodule stays as it is");
        assert_eq!(read(&project.top, "new"), "work\n");
    }
}

#[tokio::test]
async fn permissions_are_the_works_and_not_those_that_the_users_git_does_not_look_at() {
    let mode = |path: &str, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let project = Project::git(&[("tool.sh", "true\n"), ("gone", "1\n"), ("all", "1\n")]);
    git(&project.top, &["config", "core.fileMode", "false"]);
    for file in ["gone", "all"] {
        mode(project.top.join(file).to_str().unwrap(), 0o777);
    }
    worked(&project, |dir| {
        mode(dir.join("tool.sh").to_str().unwrap(), 0o755);
        assert!(git(dir, &["status", "--short"]).contains("M tool.sh"), "an agent sees what is recorded");
        fs::remove_file(dir.join("gone")).unwrap();
    })
    .await;
    assert!(git(&project.top, &["ls-tree", "reflexion/r1/t", "tool.sh"]).starts_with("100755"));
    let applied = apply(&project).await.unwrap();
    assert_eq!(applied.files, ["gone", "tool.sh"]);
    let is_program = fs::metadata(project.top.join("tool.sh")).unwrap().permissions().mode() & 0o100 != 0;
    assert!(is_program && !project.top.join("gone").exists());
}

#[tokio::test]
async fn all_of_a_branch_arrives_whatever_somebody_put_on_top() {
    let check = async |spoil: &dyn Fn(&Path), expected: &[&str]| {
        let project = Project::git(&[("a", "a\n")]);
        worked(&project, |dir| write(dir, "new", "work\n")).await;
        let own = project.top.parent().unwrap().join("own");
        git(&project.top, &["worktree", "add", "-q", own.to_str().unwrap(), "reflexion/r1/t"]);
        spoil(&own);
        let applied = apply(&project).await.unwrap();
        assert_eq!(applied.files, expected);
        assert_eq!(read(&project.top, "new"), "work\n");
    };
    let touch = |own: &Path| {
        write(own, "touch", "mine\n");
        git(own, &["add", "-A"]);
        git(own, &["commit", "-q", "-m", "a finishing touch"]);
    };
    let of_main = |own: &Path| {
        let main = own.parent().unwrap().join("user's project");
        git(&main, &["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    };
    check(&touch, &["new", "touch"]).await;
    check(
        &|own| {
            of_main(own);
            git(own, &["merge", "-q", "-m", "main into it", "main"]);
            touch(own);
        },
        &["new", "touch"],
    )
    .await;
    check(
        &|own| {
            of_main(own);
            touch(own);
            git(own, &["rebase", "-q", "main"]);
        },
        &["new", "touch"],
    )
    .await;
    // With the message of the runtime's commit, or with another one.
    let in_two = |own: &Path, first: [&str; 2]| {
        write(own, "touch", "mine\n");
        git(own, &["reset", "-q", "HEAD~"]);
        for (file, message) in [("new", first), ("touch", ["-C", "ORIG_HEAD"])] {
            git(own, &["add", file]);
            git(own, &[&["commit", "-q"], &message[..]].concat());
        }
    };
    check(&|own| in_two(own, ["-C", "ORIG_HEAD"]), &["new", "touch"]).await;
    check(&|own| in_two(own, ["-m", "the first part"]), &["new", "touch"]).await;
    // A night has merged it.
    let merged = |own: &Path| {
        git(own, &["branch", "reflexion/r1/integration"]);
        write(own, "touch", "mine\n");
        git(own, &["add", "-A"]);
        git(own, &["commit", "-q", "-C", "HEAD"]);
    };
    check(&merged, &["new", "touch"]).await;
    let squash = |own: &Path| {
        touch(own);
        git(own, &["reset", "-q", "--soft", "main"]);
        git(own, &["commit", "-q", "-m", "in my own words"]);
    };
    check(&squash, &["new", "touch"]).await;
}

#[tokio::test]
async fn a_branch_with_a_history_of_its_own_is_said() {
    let project = Project::git(&[("a", "a\n")]);
    worked(&project, |dir| write(dir, "new", "work\n")).await;
    let other = git(&project.top, &["commit-tree", "reflexion/r1/t^{tree}", "-m", "alone"]);
    git(&project.top, &["branch", "-f", "reflexion/r1/t", &other]);
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("the branch reflexion/r1/t was rewritten"), "{error}");
    fs::remove_file(project.top.join(".reflection/runs/r1/branches")).unwrap();
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("has no note of the branch reflexion/r1/t"), "{error}");
}

#[tokio::test]
async fn what_the_user_has_gone_on_to_is_neither_in_the_way_nor_done_again() {
    let project = Project::git(&[("a", BASE), ("b", "b\n")]);
    worked(&project, |dir| write(dir, "a", &BASE.replace('1', "one"))).await;
    let (top, branch) = (&project.top, "reflexion/r1/t");
    let commit = |files: &[(&str, &str)]| {
        files.iter().for_each(|(name, text)| write(top, name, text));
        git(top, &["commit", "-q", "-a", "-m", "the user's"]);
    };
    commit(&[("a", &BASE.replace('1', "eins")), ("b", "other\n")]);
    assert!(apply(&project).await.is_err(), "both have changed a line");
    let own = top.parent().unwrap().join("own");
    git(top, &["worktree", "add", "-q", own.to_str().unwrap(), branch]);
    git(&own, &["rebase", "-q", "-X", "theirs", "main"]);
    commit(&[("b", "b\n")]);
    assert_eq!(apply(&project).await.unwrap().files, ["a"], "b stays as the user has it now");
    assert_eq!(read(top, "a"), BASE.replace('1', "one"));

    // What was merged and taken back is brought once more.
    git(top, &["checkout", "-q", "."]);
    let project = Project::git(&[("a", BASE)]);
    worked(&project, |dir| write(dir, "a", &BASE.replace('1', "one"))).await;
    git(&project.top, &["merge", "-q", branch]);
    assert_eq!(apply(&project).await.unwrap().files, Vec::<String>::new());
    git(&project.top, &["revert", "--no-edit", "HEAD"]);
    assert_eq!(apply(&project).await.unwrap().files, ["a"]);
}

#[tokio::test]
async fn a_name_that_changes_by_its_case_alone_is_another_name() {
    let project = Project::git(&[("readme.md", "1\n")]);
    // As in a clone that comes from a system which does not tell them apart.
    git(&project.top, &["config", "core.ignoreCase", "true"]);
    worked(&project, |dir| {
        fs::rename(dir.join("readme.md"), dir.join("README.md")).unwrap();
        write(dir, "README.md", "work\n");
    })
    .await;
    assert_eq!(git(&project.top, &["show", "reflexion/r1/t:README.md"]), "work");
    let applied = apply(&project).await.unwrap();
    assert_eq!(applied.files, ["README.md", "readme.md"]);
    assert_eq!(read(&project.top, "README.md"), "work\n");
    assert!(!project.top.join("readme.md").exists());
}

#[tokio::test]
async fn a_branch_that_was_moved_and_holds_the_work_no_more_is_said() {
    for meanwhile in [false, true] {
        let project = Project::git(&[("a", "a\n")]);
        worked(&project, |dir| write(dir, "new", "work\n")).await;
        let (top, branch) = (&project.top, "reflexion/r1/t");
        let work = git(top, &["rev-parse", branch]);
        if meanwhile {
            git(top, &["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
        }
        git(top, &["branch", "-f", branch, "main"]);
        let error = apply(&project).await.unwrap_err().to_string();
        assert!(error.contains("does not hold") && error.contains(&work), "{error}");
        assert_eq!(names(top), ["a"]);
        // Whoever has it lacks nothing, wherever the branch is.
        git(top, &["cherry-pick", "-n", &work]);
        assert_eq!(apply(&project).await.unwrap().files, Vec::<String>::new());
        git(top, &["reset", "-q", "--hard"]);
        git(top, &["branch", "-f", branch, &work]);
        assert_eq!(apply(&project).await.unwrap().files, ["new"]);
    }
}

#[tokio::test]
async fn a_branch_with_other_work_than_the_confirmed_is_said() {
    let project = Project::git(&[("a", "a\n")]);
    worked(&project, |dir| write(dir, "new", "work\n")).await;
    let own = project.top.parent().unwrap().join("own");
    git(&project.top, &["worktree", "add", "-q", own.to_str().unwrap(), "reflexion/r1/t"]);
    write(&own, "new", "other\n");
    git(&own, &["commit", "-q", "-a", "--amend", "-m", "amended"]);
    let applied = apply(&project).await.unwrap();
    assert_eq!(applied.files, ["new"]);
    assert!(matches!(&applied.remarks[..], [one] if one.contains("which was confirmed")), "{:?}", applied.remarks);
}

/// Whoever is killed while the copies go has nothing to look at, and the next run takes what is left.
#[tokio::test]
async fn copies_that_are_needed_no_more_go_with_the_next_run() {
    let project = Project::git(&[("a", BASE), ("gone", "g\n")]);
    confirmed(&project).await;
    let left = project.top.join(".reflection/applying.prepared");
    fs::create_dir_all(left.join("before/a")).unwrap();
    let lock = fs::File::create(project.top.join(".reflection/applying.lock")).unwrap();
    lock.lock().unwrap();
    project.workspaces().begin(crate::domain::RunId::new("r2").unwrap().into()).await.unwrap();
    assert!(left.exists(), "another one is at work");
    drop(lock);
    project.workspaces().begin(crate::domain::RunId::new("r3").unwrap().into()).await.unwrap();
    assert!(!left.exists());
}

#[tokio::test]
async fn what_a_sparse_checkout_leaves_out_is_said() {
    let project = Project::git(&[("in/a", "a\n"), ("out/b", "b\n"), ("c", "c\n")]);
    let (top, branch) = (&project.top, "reflexion/r1/t");
    git(top, &["sparse-checkout", "set", "in"]);
    assert_eq!(names(top), ["c", "in/a"]);
    let base = project.workspaces().begin(run_id().into()).await.unwrap();
    assert!(
        base.missing.iter().any(|what| what.contains("is sparse and leaves out 1 tracked file")),
        "{:?}",
        base.missing
    );
    worked(&project, |dir| {
        assert_eq!(names(dir), ["c", "in/a", "out/b"], "checks need all of them");
        ["in/a", "out/b", "out/new"].iter().for_each(|name| write(dir, name, "work\n"));
    })
    .await;
    let error = apply(&project).await.unwrap_err().to_string();
    assert!(error.contains("sparse checkout leaves out: out/b. Nothing was changed"), "{error}");
    assert_eq!(names(top), ["c", "in/a"]);
    git(top, &["sparse-checkout", "add", "out"]);
    assert_eq!(apply(&project).await.unwrap().files, ["in/a", "out/b", "out/new"]);
    // Work on what is there arrives, and nothing that is left out counts as removed.
    git(top, &["reset", "-q", "--hard"]);
    git(top, &["clean", "-fdq"]);
    git(top, &["sparse-checkout", "set", "in"]);
    git(top, &["branch", "-D", branch]);
    worked(&project, |dir| write(dir, "in/a", "other\n")).await;
    assert_eq!(apply(&project).await.unwrap().files, ["in/a"]);
    assert_eq!(names(top), ["c", "in/a"]);
}

#[tokio::test]
async fn a_name_that_some_system_takes_for_git_is_said() {
    let project = Project::git(&[("a", "a\n")]);
    let top = &project.top;
    git(top, &["config", "core.protectNTFS", "false"]);
    write(top, "git~1", "x\n");
    git(top, &["add", "-A"]);
    git(top, &["commit", "-q", "-m", "odd"]);
    let workspaces = project.workspaces();
    let begun = workspaces.begin(run_id().into()).await;
    let opened = match begun {
        Ok(_) => open(&workspaces, "t", &[]).await.err(),
        Err(error) => Some(error),
    };
    let error = opened.expect("no workspace can have it").to_string();
    assert!(error.contains("'git~1'") && error.contains("Rename it"), "{error}");
}
