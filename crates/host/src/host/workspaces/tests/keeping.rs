//! Carried paths and what `setup` leaves.

use super::project::*;
use crate::services::{Workspace, WorkspaceError, Workspaces};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn carrying() -> Project {
    let project = Project::git(&[("a", "a"), (".gitignore", "node_modules/\nvenv/\n")]);
    let top = &project.top;
    write(top, "node_modules/lib/index.js", "lib");
    write(top, "node_modules/.bin/tool", "tool");
    write(top, "venv/cfg", "cfg");
    write(top, ".env", "SECRET=1");
    write(top, "other.txt", "not carried");
    symlink("../lib", top.join("node_modules/.bin/inside")).unwrap();
    symlink(top.join("venv/cfg"), top.join("node_modules/absolute")).unwrap();
    symlink("/etc/hostname", top.join("venv/outside-file")).unwrap();
    symlink("/etc", top.join("venv/outside-dir")).unwrap();
    project.carrying(&["node_modules", "venv", ".env"])
}

#[tokio::test]
async fn carried_paths_are_copied_restored_and_no_change() {
    let project = carrying();
    let workspace = project.open().await;
    let dir = workspace.dir();
    let before = files(&dir);
    assert_eq!(before["node_modules/.bin/inside"], "-> ../lib");
    assert_eq!(before["node_modules/absolute"], "-> ../venv/cfg");
    assert_eq!(before["venv/outside-file"], read("/etc".as_ref(), "hostname"));
    assert!(!before.contains_key("other.txt"));
    assert!(!before.keys().any(|name| name.starts_with("venv/outside-dir")));
    assert!(record(&workspace).await.no_op);

    write(&dir, "node_modules/lib/index.js", "LIB");
    write(&dir, "node_modules/extra/x", "x");
    fs::remove_file(dir.join("node_modules/.bin/tool")).unwrap();
    fs::remove_file(dir.join("node_modules/absolute")).unwrap();
    fs::remove_dir_all(dir.join("venv")).unwrap();
    write(&dir, ".env", "SECRET=2");
    write(&dir, ".gitignore", "");
    assert_eq!(record(&workspace).await.files, [".gitignore"]);
    reset(&workspace).await;
    assert_eq!(files(&dir), before);
    assert_eq!(read(&project.top, ".env"), "SECRET=1");
    reset(&workspace).await;
    assert!(record(&workspace).await.no_op);
}

#[tokio::test]
async fn too_much_is_refused() {
    let mut project = carrying();
    project.policy.carry_limit_bytes = 8;
    let workspaces = project.workspaces();
    match workspaces.begin(run_id().into()).await {
        Err(WorkspaceError::Unusable(message)) => assert!(message.contains("carry glob"), "{message}"),
        other => panic!("{other:?}"),
    }
}

const SETUP: &str = "echo ran >> \"$LOG\"; mkdir -p deps gen; cp Cargo.lock deps/lock; echo g > gen/file; \
                     echo changed > tracked; mkdir -p memory; echo x > memory/x";

fn with_setup(line: &str) -> (Project, std::path::PathBuf) {
    let mut project = Project::git(&[("Cargo.lock", "1"), ("tracked", "t"), (".gitignore", "deps/\n")]).set_up_by(line);
    let log = project.top.join(".git/setup-log");
    project.policy.env = [("LOG".to_owned(), log.display().to_string())].into();
    (project, log)
}

fn runs(log: &std::path::Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn setup_runs_once_and_again_when_a_lockfile_changed() {
    let (project, log) = with_setup(SETUP);
    let workspace = project.open().await;
    let dir = workspace.dir();
    assert_eq!(runs(&log), 0, "opening does not run it");
    reset(&workspace).await;
    assert_eq!(runs(&log), 1);
    let after = files(&dir);
    assert_eq!(after["tracked"], "t", "what setup does to tracked files is no work");
    assert_eq!((after["deps/lock"].as_str(), after["gen/file"].as_str()), ("1", "g\n"));
    assert!(!after.contains_key("memory/x"));
    assert!(record(&workspace).await.no_op);

    write(&dir, "deps/lock", "X");
    write(&dir, "deps/more", "m");
    write(&dir, "junk", "j");
    fs::remove_dir_all(dir.join("gen")).unwrap();
    reset(&workspace).await;
    assert_eq!(files(&dir), after);
    assert_eq!(runs(&log), 1);

    write(&dir, "Cargo.lock", "2");
    write(&dir, "junk", "j");
    let change = record(&workspace).await;
    assert_eq!(change.files, ["Cargo.lock", "junk"]);
    workspace.reset(&change.tree, &CancellationToken::new()).await.unwrap();
    assert_eq!((runs(&log), read(&dir, "deps/lock").as_str()), (2, "2"));
    reset(&workspace).await;
    assert_eq!((runs(&log), read(&dir, "deps/lock").as_str()), (3, "1"));
}

async fn setup_error(workspace: &Arc<dyn Workspace>, cancel: &CancellationToken) -> (String, String) {
    match workspace.reset(&workspace.base(), cancel).await {
        Err(WorkspaceError::Setup { how, output, .. }) => (how, output),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_setup_that_fails_says_what_it_printed_and_runs_again() {
    let (project, log) = with_setup("echo ran >> \"$LOG\"; touch half; echo out; echo err >&2; exit 7");
    let workspace = project.open().await;
    let never = CancellationToken::new();
    for n in 1..3 {
        let (how, output) = setup_error(&workspace, &never).await;
        assert_eq!((how.as_str(), output.as_str()), ("exit status 7", "out\nerr\n"));
        assert_eq!(runs(&log), n);
    }
    never.cancel();
    assert_eq!(setup_error(&workspace, &never).await.0, "cancelled");
    assert!(!workspace.dir().join("half").exists(), "removed by the reset before");
}

#[tokio::test]
async fn carried_directories_are_as_open_to_others_as_the_users() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::git(&[("a", "a"), (".gitignore", "secrets/\nshared/\nonly/\n")]);
    let top = &project.top;
    write(top, "secrets/in/key", "the key");
    write(top, "shared/file", "for all");
    write(top, "only/some/key", "the key");
    let set = |name: &str, mode| fs::set_permissions(top.join(name), fs::Permissions::from_mode(mode)).unwrap();
    let all = [("secrets/in", 0o500), ("secrets", 0o700), ("shared", 0o755), ("only/some", 0o711), ("only", 0o750)];
    all.iter().for_each(|(name, mode)| set(name, *mode));
    let project = project.carrying(&["secrets", "shared", "only/*"]);
    let workspace = project.open().await;
    let check = |dir: &std::path::Path| {
        for (name, mode) in all {
            let found = fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode | 0o700, "{name}");
        }
    };
    check(&workspace.dir());
    for name in ["secrets", "only"] {
        fs::remove_dir_all(workspace.dir().join(name)).unwrap();
    }
    reset(&workspace).await;
    check(&workspace.dir());
    let room = workspace.room().await.unwrap();
    reset(&room).await;
    check(&room.dir());
    fs::set_permissions(project.top.join("secrets/in"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn directories_that_are_kept_are_as_old_as_before_each_check() {
    let setup = "mkdir -p made/below; cp Cargo.lock made/below/lock";
    let ignored = "carried/\nmade/\n";
    let project = Project::git(&[("a", "a"), ("Cargo.lock", "1"), (".gitignore", ignored)]).set_up_by(setup);
    write(&project.top, "carried/below/file", "1");
    let project = project.carrying(&["carried"]);
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "a", "work");
    let same_setup = record(&workspace).await.tree;
    write(&workspace.dir(), "Cargo.lock", "2");
    let other_setup = record(&workspace).await.tree;
    let room = workspace.room().await.unwrap();
    reset(&room).await;
    let dir = room.dir();
    let time = |name: &str| fs::metadata(dir.join(name)).unwrap().modified().unwrap();
    let times = || ["carried", "carried/below", "made", "made/below"].map(time);
    let (before, first) = (times(), time("a"));
    for spoils in [true, false, true] {
        room.begin_work().await.unwrap();
        write(&dir, "carried/below/new", "a check's");
        write(&dir, "made/new", "a check's");
        if spoils {
            fs::remove_dir_all(dir.join("carried/below")).unwrap();
            write(&dir, "made/below/lock", "a check's");
        }
        room.reset(&same_setup, &CancellationToken::new()).await.unwrap();
        assert_eq!(times(), before);
        assert!(time("a") > time("carried"));
    }
    // What has its first content again is as old as it was.
    reset(&room).await;
    assert_eq!((time("a"), times()), (first, before));
    room.begin_work().await.unwrap();
    write(&dir, "a", "a");
    reset(&room).await;
    assert_eq!(time("a"), first, "written anew with the same content");
    // Carried once more, because setup runs on the work.
    room.reset(&other_setup, &CancellationToken::new()).await.unwrap();
    assert_eq!((read(&dir, "made/below/lock"), times()[..2].to_vec()), ("2".to_owned(), before[..2].to_vec()));
}

#[tokio::test]
async fn a_sparse_file_stays_one_and_room_for_the_copies_is_asked_for() {
    let setup = "mkdir -p deps && truncate -s 64M deps/map && printf end >> deps/map && printf x | dd of=deps/map bs=1 seek=33554432 conv=notrunc";
    let mut project = Project::git(&[("a", "a"), (".gitignore", "deps/\n")]).set_up_by(setup);
    let workspace = project.open().await;
    reset(&workspace).await;
    fs::remove_file(workspace.dir().join("deps/map")).unwrap();
    record(&workspace).await;
    reset(&workspace).await;
    let places = [project.top.join(".reflection"), project.rooms()];
    let mut maps = places.iter().flat_map(|place| found(place, "map")).collect::<Vec<_>>();
    maps.sort();
    assert!(maps.len() >= 2, "{maps:?}");
    for map in maps {
        let (data, bytes) = (fs::metadata(&map).unwrap(), fs::read(&map).unwrap());
        assert_eq!((bytes.len(), bytes[33_554_432], &bytes[bytes.len() - 3..]), ((64 << 20) + 3, b'x', &b"end"[..]));
        assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 4);
        assert!(data.blocks() * 512 < 1 << 20, "{} takes {} blocks", map.display(), data.blocks());
    }
    workspace.close().await.unwrap();
    project.policy.min_free_bytes = u64::MAX;
    let workspace = project.open().await;
    let error = workspace.reset(&workspace.base(), &CancellationToken::new()).await.unwrap_err();
    assert!(
        matches!(error, WorkspaceError::Machine(_)) && error.to_string().contains("what `setup` made has"),
        "{error}"
    );
}

/// The files of this name, wherever they are below.
fn found(place: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() && !path.is_symlink() { found(&path, name) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.file_name().is_some_and(|is| is == name)).collect()
}
