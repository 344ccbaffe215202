//! The clean room, and bringing what was recorded into the user's repository.

use super::super::home::AT_ONCE;
use super::project::*;
use crate::domain::TreeId;
use crate::services::{CommitRequest, Workspace, WorkspaceError, Workspaces};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

async fn at(room: &Arc<dyn Workspace>, tree: &TreeId) {
    room.reset(tree, &CancellationToken::new()).await.unwrap();
}

/// What was looked at just now is not looked at again.
async fn a_moment_later() {
    tokio::time::sleep(AT_ONCE + std::time::Duration::from_millis(50)).await;
}

#[tokio::test]
async fn the_room_holds_the_recorded_tree_and_what_setup_makes_of_it_and_nothing_else() {
    let files = [(".gitignore", "build/\ndeps/\n"), ("a", "a"), ("Cargo.lock", "1"), ("tests/t", "t")];
    let project = Project::git(&files).set_up_by("mkdir -p deps; cp Cargo.lock deps/lock").carrying(&["carried"]);
    write(&project.top, "carried/x", "the user's");
    let workspace = project.open().await;
    reset(&workspace).await;
    let dir = workspace.dir();
    for (name, text) in [("a", "work"), ("build/helper", "h"), ("own/.gitignore", "*"), ("own/hidden", "h")] {
        write(&dir, name, text);
    }
    write(&dir, "deps/lock", "spoilt");
    write(&dir, "carried/x", "spoilt");
    fs::create_dir(dir.join("empty")).unwrap();
    let change = record(&workspace).await;
    assert_eq!(change.files, ["a"]);
    assert_eq!(workspace.leftovers().await.unwrap(), ["build", "empty", "own", "carried/x", "deps/lock"]);
    let room = workspace.room().await.unwrap();
    let expected = [".gitignore", "Cargo.lock", "a", "carried/x", "deps/lock", "tests/t"];
    for _ in 0..2 {
        at(&room, &change.tree).await;
        assert_eq!(names(&room.dir()), expected);
        let content = |name| read(&room.dir(), name);
        assert_eq!(
            (content("a"), content("deps/lock"), content("carried/x")),
            ("work".into(), "1".into(), "the user's".into())
        );
        assert!(!room.dir().join("empty").exists());
        // What a check does there is told, and gone before the next one.
        room.begin_work().await.unwrap();
        for name in ["tests/t", "deps/lock", "planted", "build/x"] {
            write(&room.dir(), name, "by a check");
        }
        fs::create_dir_all(room.dir().join("empty")).unwrap();
        git(&room.dir(), &["update-index", "--assume-unchanged", "a"]);
        assert_eq!(room.rewritten().await.unwrap(), ["deps/lock", "tests/t"]);
        assert!(room.end_work().await.unwrap().for_person.is_empty());
    }
    // Another lockfile: what setup made of the one before is gone first.
    workspace.begin_work().await.unwrap();
    write(&dir, "Cargo.lock", "2");
    let change = record(&workspace).await;
    at(&room, &change.tree).await;
    assert_eq!(read(&room.dir(), "deps/lock"), "2");
}

#[tokio::test]
async fn nothing_of_the_checkout_is_above_a_room_and_none_stays() {
    let project = Project::git(&[("a", "a")]);
    // As a killed run leaves them.
    std::mem::forget(project.open().await.room().await.unwrap());
    let workspaces = project.workspaces();
    let base = workspaces.begin(run_id().into()).await.unwrap();
    assert_eq!(base.cleaned, ["a clean room of a run that was killed, now removed"]);
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    let room = workspace.room().await.unwrap();
    let (dir, mode) = (room.dir(), |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    assert!(!dir.starts_with(&project.top) && dir.starts_with(project.rooms()), "{}", dir.display());
    assert_eq!(mode(&dir.join("../..").canonicalize().unwrap()), 0o700, "what others may not read stays so");
    room.close().await.unwrap();
    workspace.close().await.unwrap();
    workspaces.finish().await.unwrap();
    assert_eq!(fs::read_dir(project.rooms()).unwrap().count(), 0);
    // Build caches that are kept have the path in them.
    let again = project.open().await.room().await.unwrap();
    assert_eq!(again.dir(), dir);
}

#[tokio::test]
async fn what_is_kept_and_was_committed_all_the_same_is_told() {
    let project = Project::git(&[(".gitignore", "made\ncarried\n"), ("a", "a")]).set_up_by("echo 1 > made");
    let project = project.carrying(&["carried"]);
    write(&project.top, "carried", "the user's");
    let workspace = project.open().await;
    reset(&workspace).await;
    git(&workspace.dir(), &["add", "-f", "made", "carried"]);
    write(&workspace.dir(), "a", "b");
    let change = record(&workspace).await;
    assert_eq!((change.files, change.left_out), (vec!["a".to_owned()], vec!["carried".to_owned(), "made".to_owned()]));
}

#[tokio::test]
async fn packages_that_only_the_checkout_has_are_named() {
    let files = [(".gitignore", "node_modules\nvenv\n"), ("web/package.json", "{}")];
    let said = async |project: Project| {
        write(&project.top, "web/node_modules/x/index.js", "1");
        write(&project.top, "venv/pyvenv.cfg", "1");
        project.workspaces().begin(run_id().into()).await.unwrap().missing.join("\n")
    };
    let all = said(Project::git(&files)).await;
    assert!(all.contains("`venv`, `web/node_modules` is in your checkout alone"), "{all}");
    let one = said(Project::git(&files).carrying(&["venv"])).await;
    assert!(one.contains("`web/node_modules` is in") && !one.contains("venv"), "{one}");
    assert_eq!(said(Project::git(&files).set_up_by("npm ci")).await, "");
}

#[tokio::test]
async fn what_is_carried_neither_leads_to_the_checkout_nor_is_younger_than_the_work() {
    let project = Project::git(&[(".gitignore", ".venv\n"), ("a", "a")]).carrying(&[".venv"]);
    let write_path = |to: &Path| write(&project.top, ".venv/lib/p.pth", &format!("{}\n", to.display()));
    write_path(&project.top.join("src"));
    let error = project.workspaces().begin(run_id().into()).await.unwrap_err().to_string();
    assert!(error.contains("p.pth") && error.contains("leads to your checkout"), "{error}");
    // By another name of the checkout, also in what no path of Python's own names.
    let (link, hook) = (project.top.with_file_name("link"), ".venv/lib/_shop_editable_loader.py");
    symlink(&project.top, &link).unwrap();
    write_path(&link.join("src/not/yet"));
    let error = project.workspaces().begin(run_id().into()).await.unwrap_err().to_string();
    assert!(error.contains("p.pth") && error.contains("leads to your checkout"), "{error}");
    let link = project.top.with_file_name("a link");
    symlink(&project.top, &link).unwrap();
    write_path(&link.join("src"));
    let error = project.workspaces().begin(run_id().into()).await.unwrap_err().to_string();
    assert!(error.contains("p.pth") && error.contains("leads to your checkout"), "{error}");
    write_path(&link.join(".venv/lib/other"));
    write(&project.top, hook, &format!("known = {{'shop': '{}/src/shop'}}\n", link.display()));
    let error = project.workspaces().begin(run_id().into()).await.unwrap_err().to_string();
    assert!(error.contains("_shop_editable_loader.py"), "{error}");
    fs::remove_file(project.top.join(hook)).unwrap();
    // What is carried with it, and another project with a longer name.
    write_path(&project.top.join(".venv/lib/other"));
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    write_path(&project.top.with_extension("two"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::open(project.top.join(".venv/lib/p.pth")).unwrap().set_modified(later).unwrap();
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    let at = |name: &str| fs::metadata(workspace.dir().join(name)).unwrap().modified().unwrap();
    assert!(at(".venv/lib/p.pth") < at("a"), "the user built it of other files");
}

#[tokio::test]
async fn for_git_the_work_is_a_commit_in_the_room() {
    let project = Project::git(&[("a", "a")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    reset(&workspace).await;
    write(&workspace.dir(), "a", "work");
    write(&workspace.dir(), "new", "new");
    let change = record(&workspace).await;
    let room = workspace.room().await.unwrap();
    at(&room, &change.tree).await;
    assert_eq!(git(&room.dir(), &["status", "--porcelain"]), "");
    assert_eq!(git(&room.dir(), &["ls-files"]), "a\nnew");
    assert_eq!(git(&room.dir(), &["diff", "--name-only", "HEAD~1"]), "a\nnew");
    let subject = |room: &Arc<dyn Workspace>| git(&room.dir(), &["log", "-1", "--format=%s"]);
    assert_eq!(subject(&room), "the work of t");
    for title in ["fix: one", "fix: two"] {
        let merging = workspaces.merge_room(title).await.unwrap();
        at(&merging, &change.tree).await;
        assert_eq!(subject(&merging), title);
    }
    workspace.begin_work().await.unwrap();
    assert_eq!(git(&workspace.dir(), &["status", "--porcelain"]), "M a\n?? new");
    at(&room, &workspace.base()).await;
    assert_eq!(git(&room.dir(), &["rev-parse", "HEAD"]), git(&project.top, &["rev-parse", "HEAD"]));
}

#[tokio::test]
async fn what_lies_in_the_workspace_has_no_path_while_checks_run_in_the_room() {
    let project = Project::git(&[("a", "a"), (".gitignore", "build/\n")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    let helper = workspace.dir().join("build/helper");
    write(&workspace.dir(), "build/helper", "h");
    write(&workspace.dir(), "a", "work");
    let change = record(&workspace).await;
    for _ in 0..2 {
        let room = workspace.room().await.unwrap();
        at(&room, &change.tree).await;
        assert!(!helper.exists());
        // A check that writes there has not come far.
        write(&workspace.dir(), "planted", "p");
        workspace.begin_work().await.unwrap();
        assert_eq!(names(&workspace.dir()), [".gitignore", "a", "build/helper"]);
    }
    workspace.room().await.unwrap();
    workspace.close().await.unwrap();
    let workspace = project.open().await;
    reset(&workspace).await;
    assert_eq!(names(&workspace.dir()), [".gitignore", "a"]);
}

#[tokio::test]
async fn files_that_setup_links_from_a_store_are_nobody_elses() {
    let store = tempfile::tempdir().unwrap();
    let lib = store.path().join("lib");
    fs::write(&lib, "the user's").unwrap();
    let setup = format!("mkdir -p deps; ln {0} deps/lib 2> /dev/null || cp {0} deps/lib", lib.display());
    let project = Project::git(&[("a", "a"), (".gitignore", "deps/\n")]).set_up_by(&setup);
    let workspace = project.open().await;
    reset(&workspace).await;
    workspace.begin_work().await.unwrap();
    write(&workspace.dir(), "deps/lib", "the agent's");
    write(&workspace.dir(), "a", "work");
    assert_eq!(read(store.path(), "lib"), "the user's");
    let change = record(&workspace).await;
    let room = workspace.room().await.unwrap();
    for act in [(|lib, _| fs::hard_link(lib, lib.with_extension("again")).unwrap()) as fn(&Path, &Path), |_, dir| {
        fs::write(dir.join("deps/lib"), "the user's").unwrap();
    }] {
        at(&room, &change.tree).await;
        room.begin_work().await.unwrap();
        act(&lib, &room.dir());
        assert_eq!(room.rewritten().await.unwrap(), Vec::<String>::new(), "the content is what it was");
        assert!(room.end_work().await.unwrap().for_person.is_empty());
    }
}

#[tokio::test]
async fn a_file_that_was_another_one_meanwhile_was_written_to() {
    let project = Project::git(&[("a", "a"), ("b", "b")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    workspace.begin_work().await.unwrap();
    write(&workspace.dir(), "b", "work");
    let change = record(&workspace).await;
    let room = workspace.room().await.unwrap();
    at(&room, &change.tree).await;
    room.begin_work().await.unwrap();
    let time = fs::metadata(room.dir().join("a")).unwrap().modified().unwrap();
    write(&room.dir(), "a", "empty");
    write(&room.dir(), "a", "a");
    fs::File::options().append(true).open(room.dir().join("a")).unwrap().set_modified(time).unwrap();
    assert_eq!(room.rewritten().await.unwrap(), ["a"]);
    at(&room, &change.tree).await;
    room.begin_work().await.unwrap();
    assert_eq!(read(&room.dir(), "a"), "a");
    assert_eq!(room.rewritten().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_setup_wrote_below_a_carried_path_comes_from_the_user_again() {
    let files = [("prepare.sh", "true\n"), ("a", "a"), (".gitignore", "data/\n")];
    let project = Project::git(&files).set_up_by("sh prepare.sh").carrying(&["data"]);
    write(&project.top, "data/expected", "the user's");
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "prepare.sh", "echo forged > data/expected; mkdir -p data/more; touch data/more/x\n");
    let forged = record(&workspace).await;
    let room = workspace.room().await.unwrap();
    at(&room, &forged.tree).await;
    assert_eq!(read(&room.dir(), "data/expected"), "forged\n");
    at(&room, &room.base()).await;
    assert_eq!(read(&room.dir(), "data/expected"), "the user's");
    assert!(!room.dir().join("data/more").exists());
}

/// The tree of a change of the base.
async fn work(workspace: &Arc<dyn Workspace>, act: impl FnOnce(&Path)) -> TreeId {
    reset(workspace).await;
    act(&workspace.dir());
    record(workspace).await.tree
}

#[tokio::test]
async fn setup_runs_again_where_the_work_differs_in_what_it_read() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let setup = format!("cat data/* > made; echo ran >> {}", log.path().display());
    let project = Project::git(&[("data/one", "1"), ("other/two", "2")]).set_up_by(&setup);
    let workspace = project.open().await;
    let one = work(&workspace, |dir| write(dir, "data/one", "one")).await;
    let same = work(&workspace, |dir| {
        write(dir, "data/one", "one");
        write(dir, "other/two", "two");
    });
    let same = same.await;
    let new = work(&workspace, |dir| write(dir, "data/new", "new")).await;
    let elsewhere = work(&workspace, |dir| {
        write(dir, "other/two", "two");
        write(dir, "other/new", "new");
    });
    let elsewhere = elsewhere.await;
    let room = workspace.room().await.unwrap();
    let runs = || fs::read_to_string(log.path()).unwrap().lines().count();
    at(&room, &room.base()).await;
    let before = runs();
    let mut seen = Vec::new();
    // What was made of the base is gone once it has run on something else, and so it runs there first.
    for tree in [&elsewhere, &one, &one, &same, &new, &room.base()] {
        at(&room, tree).await;
        seen.push((runs() - before, read(&room.dir(), "made")));
    }
    let expected = [(0, "1"), (1, "one"), (1, "one"), (2, "one"), (3, "new1"), (4, "1")];
    assert_eq!(seen, expected.map(|(runs, made)| (runs, made.to_owned())));
}

#[tokio::test]
async fn setup_that_links_a_file_of_the_work_runs_again() {
    let files = [("example", "base"), (".gitignore", "made/\n")];
    let project = Project::git(&files).set_up_by("mkdir -p made; for file in exam*; do ln -f $file made/config; done");
    let workspace = project.open().await;
    reset(&workspace).await;
    let tree = work(&workspace, |dir| write(dir, "example", "work")).await;
    let room = workspace.room().await.unwrap();
    reset(&room).await;
    at(&room, &tree).await;
    assert_eq!(read(&room.dir(), "made/config"), "work");
}

#[tokio::test]
async fn a_submodule_comes_from_where_the_work_says() {
    let fill = "git -c protocol.file.allow=always submodule --quiet update --init";
    let set = |dir: &Path, key: &str, url: &str| drop(git(dir, &["config", "-f", ".gitmodules", key, url]));
    let check = async |act: &dyn Fn(&Path, &Path), goes_well: bool| {
        let project = Project::git(&[("a", "a")]).with_submodule("lib").set_up_by(fill);
        let away = project.submodule().with_extension("away");
        // The user has it from another place than every clone: that holds, too.
        fs::rename(project.submodule(), &away).unwrap();
        git(&project.top, &["config", "submodule.lib.url", away.to_str().unwrap()]);
        let workspace = project.open().await;
        reset(&workspace).await;
        let tree = work(&workspace, |dir| act(dir, &away)).await;
        let room = workspace.room().await.unwrap();
        let put = room.reset(&tree, &CancellationToken::new()).await;
        assert_eq!(put.is_ok(), goes_well, "{put:?}");
        match put {
            Ok(_) => assert_eq!(read(&room.dir(), "lib/f"), "2\n"),
            Err(error) => assert!(matches!(error, WorkspaceError::Setup { .. }), "{error}"),
        }
    };
    check(&|dir, _| write(dir, "a", "b"), true).await;
    check(&|dir, _| set(dir, "submodule.lib.url", "/nowhere"), false).await;
    check(&|dir, _| drop(git(dir, &["config", "-f", ".gitmodules", "--unset", "submodule.lib.url"])), false).await;
    check(&|dir, _| fs::remove_file(dir.join(".gitmodules")).unwrap(), false).await;
    check(&|dir, away| set(dir, "submodule.lib.url", away.to_str().unwrap()), true).await;
    check(&|dir, _| set(dir, "submodule.lib.ignore", "dirty"), true).await;
}

#[tokio::test]
async fn setup_that_fails_with_the_work_alone_is_told() {
    // It only writes to a directory that goes; and `make` has the status for warnings where it fails.
    for setup in ["echo 1 > src/version", "[ -e src/a ] || exit 2"] {
        let project = Project::git(&[(".gitignore", "src/version\n"), ("src/a", "a"), ("b", "b")]).set_up_by(setup);
        let workspace = project.open().await;
        reset(&workspace).await;
        let removed = work(&workspace, |dir| fs::remove_dir_all(dir.join("src")).unwrap()).await;
        let room = workspace.room().await.unwrap();
        let error = room.reset(&removed, &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::Setup { .. }), "{setup}: {error}");
    }
    // Warnings that the base has too are only told.
    let project = Project::git(&[("a", "a")]).set_up_by("cat a; exit 2");
    let workspace = project.open().await;
    reset(&workspace).await;
    let changed = work(&workspace, |dir| write(dir, "a", "b")).await;
    let room = workspace.room().await.unwrap();
    let restored = room.reset(&changed, &CancellationToken::new()).await.unwrap();
    assert!(restored.said.iter().any(|said| said.contains("warnings")), "{:?}", restored.said);
}

#[tokio::test]
async fn work_begins_without_what_was_built_of_other_files() {
    let mut project = Project::git(&[("src/a", "a"), ("src/b", "b")]);
    project.policy.env.insert("OBJECTS".to_owned(), "{cache}/objects".to_owned());
    project.policy.env.insert("GOMODCACHE".to_owned(), "{cache}/go".to_owned());
    let workspace = project.open().await;
    let changed = work(&workspace, |dir| write(dir, "src/new", "work")).await;
    let room = workspace.room().await.unwrap();
    let caches = ["OBJECTS", "GOMODCACHE"].map(|name| Path::new(&room.env()[name]).join("built"));
    for tree in [room.base(), changed.clone(), room.base(), changed] {
        at(&room, &tree).await;
        room.begin_work().await.unwrap();
        assert!(!caches[0].exists());
        for built in &caches {
            fs::create_dir_all(built.parent().unwrap()).unwrap();
            fs::write(built, "of other files").unwrap();
        }
        room.end_work().await.unwrap();
    }
    at(&room, &room.base()).await;
    assert!(caches[1].exists(), "it is the same for all files");
    let configured = work(&workspace, |dir| write(dir, "tools/.cargo/config.toml", "[env]")).await;
    for (tree, is_there) in [(&configured, false), (&room.base(), true)] {
        at(&room, tree).await;
        assert_eq!(caches[1].exists(), is_there);
    }
}

#[tokio::test]
async fn what_is_kept_stays_away_where_the_work_made_a_file_of_its_directory() {
    let files = [("data/t", "t"), (".gitignore", "data/big\ndata/made\n")];
    let project = Project::git(&files).set_up_by("mkdir -p data && touch data/made").carrying(&["data/big"]);
    write(&project.top, "data/big", "big");
    let workspace = project.open().await;
    let tree = work(&workspace, |dir| {
        fs::remove_dir_all(dir.join("data")).unwrap();
        write(dir, "data", "a file now");
    });
    let tree = tree.await;
    let room = workspace.room().await.unwrap();
    at(&room, &room.base()).await;
    let error = room.reset(&tree, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Setup { .. }), "{error}");
    at(&room, &room.base()).await;
    assert_eq!(names(&room.dir()), [".gitignore", "data/big", "data/made", "data/t"]);
}

#[tokio::test]
async fn work_has_a_place_beside_what_setup_made_and_what_has_none_is_said() {
    let project =
        Project::git(&[("a", "a")]).set_up_by("mkdir -p tests/shots deps; touch deps/lib").carrying(&["data"]);
    write(&project.top, "data/x", "x");
    let workspace = project.open().await;
    reset(&workspace).await;
    for name in ["tests/test_a", "deps/own", "data/new"] {
        write(&workspace.dir(), name, "work");
    }
    let change = record(&workspace).await;
    assert_eq!(
        (change.files, change.left_out),
        (vec!["tests/test_a".to_owned()], vec!["data/new".to_owned(), "deps/own".to_owned()])
    );
    let room = workspace.room().await.unwrap();
    at(&room, &change.tree).await;
    assert_eq!(names(&room.dir()), ["a", "data/x", "deps/lib", "tests/test_a"]);
    assert!(room.dir().join("tests/shots").is_dir());
}

#[tokio::test]
async fn repositories_of_the_user_are_not_carried() {
    let project = Project::git(&[("a", "a"), (".gitignore", "vendor/\n")]).carrying(&["vendor"]);
    let lib = project.top.join("vendor/lib");
    fs::create_dir_all(&lib).unwrap();
    git(&lib, &["init", "-q"]);
    write(&lib, "code", "1");
    write(&project.top, "vendor/linked/.git", "gitdir: ../lib/.git\n");
    let workspaces = project.workspaces();
    let base = workspaces.begin(run_id().into()).await.unwrap();
    let said = base.missing.join("\n");
    assert!(said.contains("`vendor/lib/.git` is not carried") && said.contains("`vendor/linked/.git`"), "{said}");
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    reset(&workspace).await;
    assert_eq!(names(&workspace.dir().join("vendor")), ["lib/code"]);
    assert!(!workspace.dir().join("vendor/lib/.git").exists() && !workspace.dir().join("vendor/linked/.git").exists());
}

/// A project whose `setup` and checks write to a build cache.
fn caching(setup: &str) -> Project {
    let mut project = Project::git(&[("Cargo.lock", "1"), ("a", "a")]).set_up_by(setup);
    project.policy.env.insert("CACHE".to_owned(), "{cache}".to_owned());
    project
}

#[tokio::test]
async fn what_setup_installs_into_a_build_cache_is_that_of_the_files() {
    let project =
        caching("mkdir -p \"$CACHE\"; cp Cargo.lock \"$CACHE/lock\"; cp Cargo.lock \"$CACHE/only-$(cat Cargo.lock)\"");
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "Cargo.lock", "2");
    let change = record(&workspace).await;
    let room = workspace.room().await.unwrap();
    let cache = Path::new(&room.env()["CACHE"]).to_owned();
    for (tree, lock) in [(&room.base(), "1"), (&change.tree, "2"), (&change.tree, "2"), (&room.base(), "1")] {
        at(&room, tree).await;
        assert_eq!(read(&cache, "lock"), lock);
        assert_eq!(names(&cache), ["lock", &format!("only-{lock}")], "nothing of what it made before");
        room.begin_work().await.unwrap();
        room.end_work().await.unwrap();
    }
}

#[tokio::test]
async fn what_git_cannot_record_counts_against_the_work() {
    let project = Project::git(&[("a", "a")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), ".gitattributes", "*.txt working-tree-encoding=UTF-16\n");
    write(&workspace.dir(), "b.txt", "odd");
    let error = workspace.record(&workspace.base()).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::NotRecorded(why) if why.contains("git cannot record it")), "{error}");
    reset(&workspace).await;
    assert_eq!(names(&workspace.dir()), ["a"]);
}

#[tokio::test]
async fn a_name_that_some_system_takes_for_gits_is_not_recorded() {
    let project = Project::git(&[("a", "a")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), ".g\u{200c}it", "x");
    let error = workspace.record(&workspace.base()).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::NotRecorded(why) if why.contains("no file of this name")), "{error}");
}

/// Runs as root only; elsewhere nobody can mount.
#[tokio::test]
async fn what_is_mounted_in_a_workspace_is_not_emptied() {
    let project = Project::git(&[("a", "a"), (".gitignore", "build/\n")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    let (outside, place) = (tempfile::tempdir().unwrap(), workspace.dir().join("build"));
    write(outside.path(), "mine", "the user's");
    fs::create_dir(&place).unwrap();
    let mount = |program: &str, args: &[&std::path::Path]| {
        std::process::Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
    };
    if !mount("mount", &["--bind".as_ref(), outside.path(), &place]) {
        eprintln!("SKIPPED: nothing can be mounted here");
        return;
    }
    a_moment_later().await;
    let put_back = workspace.begin_work().await;
    let removed = project.workspaces().begin(crate::domain::RunId::new("r2").unwrap().into()).await.err();
    let stands = outside.path().join("mine").exists();
    assert!(mount("umount", &[&place]));
    assert!(stands);
    let says = |error: String| assert!(error.contains("umount"), "{error}");
    says(put_back.unwrap_err().to_string());
    says(removed.unwrap().to_string());
    reset(&workspace).await;
    assert_eq!(read(outside.path(), "mine"), "the user's");
}

/// Runs as root only; elsewhere nobody can mount.
#[tokio::test]
async fn a_mount_whose_server_has_ended_is_named_too() {
    let project = Project::git(&[("a", "a"), (".gitignore", "build/\n")]);
    let workspace = project.open().await;
    reset(&workspace).await;
    let place = workspace.dir().join("build");
    fs::create_dir(&place).unwrap();
    let sh = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg(script).arg("sh").arg(&place).output().is_ok_and(|output| output.status.success())
    };
    // Whoever holds the device serves the file system, and that is the shell.
    let mount = "exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 dead \"$1\"";
    if !sh(mount) {
        eprintln!("SKIPPED: nothing can be mounted here");
        return;
    }
    let removed = project.workspaces().begin(crate::domain::RunId::new("r2").unwrap().into()).await.err();
    assert!(sh("umount \"$1\""));
    let error = removed.unwrap().to_string();
    assert!(error.contains(&format!("`umount {}`", place.canonicalize().unwrap().display())), "{error}");
}

/// Runs as root only; elsewhere nobody can mount.
#[tokio::test]
async fn room_is_asked_for_on_the_disk_of_clean_rooms_too() {
    let mut project = Project::git(&[("a", "a")]);
    project.policy.min_free_bytes = 8 << 20;
    project.workspaces().room().await.unwrap();
    fs::create_dir(project.rooms()).unwrap();
    let run = |program: &str, args: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(args).arg(project.rooms()).output().is_ok_and(|output| output.status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs"]) {
        eprintln!("SKIPPED: nothing can be mounted here");
        return;
    }
    let full = project.workspaces().room().await;
    assert!(run("umount", &[]));
    let error = full.unwrap_err();
    let says = error.to_string();
    assert!(matches!(error, WorkspaceError::Machine(_)) && says.contains(project.rooms().to_str().unwrap()), "{says}");
}

#[tokio::test]
async fn what_is_changed_while_nobody_works_there_is_told_and_gone() {
    let project = Project::git(&[("a", "a")]);
    let workspace = project.open().await;
    for is_room in [false, true] {
        reset(&workspace).await;
        let place = if is_room { workspace.room().await.unwrap() } else { Arc::clone(&workspace) };
        at(&place, &workspace.base()).await;
        a_moment_later().await;
        write(&place.dir(), "a", "another task's agent");
        place.begin_work().await.unwrap();
        assert_eq!(read(&place.dir(), "a"), "a");
        let left = place.end_work().await.unwrap().for_person;
        assert!(left.len() == 1 && left[0].contains("were changed while nobody worked there"), "{left:?}");
    }
}

#[tokio::test]
async fn no_link_that_was_left_is_followed() {
    let project =
        Project::git(&[("a", "a"), (".gitignore", "deps/\n")]).set_up_by("mkdir -p deps/made; echo d > deps/made/d");
    let project = project.carrying(&["data/models"]);
    write(&project.top, "data/models/m", "m");
    write(&project.top, "data/more", "the user's");
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "deps/made/own", "the user's");
    git(outside.path(), &["init", "-q"]);
    let workspace = project.open().await;
    reset(&workspace).await;
    let (dir, before) = (workspace.dir(), (files(&project.top), files(outside.path())));
    fs::remove_dir_all(dir.join("data")).unwrap();
    symlink(project.top.join("data"), dir.join("data")).unwrap();
    fs::remove_dir_all(dir.join("deps")).unwrap();
    symlink(outside.path().join("deps"), dir.join("deps")).unwrap();
    symlink(outside.path(), dir.join("nested")).unwrap();
    fs::remove_dir_all(dir.join(".git")).unwrap();
    symlink(outside.path().join(".git"), dir.join(".git")).unwrap();
    record(&workspace).await;
    reset(&workspace).await;
    assert_eq!(names(&dir), [".gitignore", "a", "data/models/m", "deps/made/d"]);
    assert_eq!((files(&project.top), files(outside.path())), before);
    assert!(outside.path().join(".git/HEAD").exists());
    assert!(dir.join(".git").symlink_metadata().unwrap().is_dir());
    // The directory that all workspaces of the run are in is another one's.
    let run = dir.parent().unwrap().to_owned();
    fs::rename(&run, outside.path().join("moved")).unwrap();
    symlink(outside.path(), &run).unwrap();
    write(outside.path(), "slot-1/mine", "the user's");
    let refused = workspace.begin_work().await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(read(outside.path(), "slot-1/mine"), "the user's");
}

#[tokio::test]
async fn what_cannot_be_recorded_says_why() {
    let mut project = Project::git(&[("a", "a")]);
    project.policy.max_change_bytes = 1000;
    let workspace = project.open().await;
    let says = async |words: &str| {
        let Err(WorkspaceError::NotRecorded(because)) = workspace.record(&workspace.base()).await else {
            panic!("recorded");
        };
        assert!(because.contains(words), "{because}");
        reset(&workspace).await;
        assert!(record(&workspace).await.no_op);
    };
    workspace.begin_work().await.unwrap();
    fs::File::create(workspace.dir().join("sparse")).unwrap().set_len(40 << 30).unwrap();
    says("`workspace.maxChangeMb`").await;
    workspace.begin_work().await.unwrap();
    fs::create_dir(workspace.dir().join("d")).unwrap();
    let pipe = workspace.dir().join("d/.gitignore");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    says("d/.gitignore").await;
    // A pipe elsewhere is no content.
    workspace.begin_work().await.unwrap();
    fs::remove_file(workspace.dir().join("a")).unwrap();
    let pipe = workspace.dir().join("a");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(record(&workspace).await.files, ["a"]);
}

#[tokio::test]
async fn what_the_user_prunes_meanwhile_is_brought_again() {
    let project = Project::git(&[("a", "a")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let workspace = open(&workspaces, "t", &[]).await.unwrap();
    write(&workspace.dir(), "a", "work");
    let tree = record(&workspace).await.tree;
    // The base is on no branch any more, and nothing names what was recorded.
    git(&project.top, &["commit", "-q", "--amend", "--allow-empty", "-m", "another"]);
    git(&project.top, &["reflog", "expire", "--expire=now", "--all"]);
    git(&project.top, &["gc", "-q", "--prune=now"]);
    reset(&workspace).await;
    let request = CommitRequest { tree, subject: "work".to_owned(), body: String::new() };
    let branch = workspace.commit(request.clone()).await.unwrap().target;
    assert_eq!(git(&project.top, &["show", &format!("{branch}:a")]), "work");
    git(&project.top, &["fsck", "--connectivity-only"]);
    // Once it is there, a ref names it.
    git(&project.top, &["gc", "-q", "--prune=now"]);
    assert_eq!(workspace.commit(request).await.unwrap().target, branch);
    assert_eq!(git(&project.top, &["show", &format!("{branch}:a")]), "work");
}
