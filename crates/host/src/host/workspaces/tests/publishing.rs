//! How confirmed work comes into the user's repository.

use super::super::layout::Layout;
use super::super::repository::{Arrival, Repository};
use super::project::*;
use crate::services::{CommitRequest, Workspace, WorkspaceError, Workspaces};
use std::fs;
use std::sync::Arc;

async fn commit(workspace: &Arc<dyn Workspace>) -> Result<String, WorkspaceError> {
    let request = CommitRequest { tree: record(workspace).await.tree, subject: "a".to_owned(), body: String::new() };
    workspace.commit(request).await.map(|committed| committed.target)
}

#[tokio::test]
async fn what_git_would_not_take_counts_where_it_is_new() {
    let long = format!("# {}\n", "x".repeat(3000));
    let project = Project::git(&[("a", "a"), (".gitattributes", &long)]);
    let workspace = project.open().await;
    write(&workspace.dir(), "a", "right");
    let made = commit(&workspace).await.unwrap();
    assert_eq!(git(&project.top, &["show", &format!("{made}:a")]), "right");

    write(&workspace.dir(), "b/.gitattributes", &format!("{long}# new\n"));
    let refused = workspace.record(&workspace.base()).await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::NotRecorded(_)), "the night goes on: {refused:?}");
    assert!(refused.to_string().contains("refuse b/.gitattributes, and"), "{refused}");
}

#[tokio::test]
async fn a_repository_that_cannot_be_written_to_stops_the_run() {
    let project = Project::git(&[("a", "a")]);
    let workspace = project.open().await;
    write(&workspace.dir(), "a", "right");
    let objects = project.top.join(".git/objects");
    // Not even who may write to everything writes below a file.
    fs::rename(objects.join("pack"), project.top.join(".git/pack-before")).unwrap();
    let names = (0..=255).map(|byte| format!("{byte:02x}")).chain(["pack".to_owned()]);
    for path in names.map(|name| objects.join(name)).filter(|path| !path.exists()) {
        fs::write(path, "").unwrap();
    }
    let error = commit(&workspace).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Machine(_)), "{error:?}");
    assert!(
        error.to_string().contains(&format!("cannot be written to {}", project.top.join(".git").display())),
        "{error}"
    );
}

#[tokio::test]
async fn a_pack_that_a_killed_run_held_is_let_go() {
    let project = Project::git(&[("a", "a")]);
    let layout = Layout::new(&project.place());
    let repository = Repository::locate(&layout).await.unwrap();
    let base = git(&project.top, &["rev-parse", "HEAD"]);
    let tree = git(&project.top, &["rev-parse", "HEAD^{tree}"]);
    let commit = git(&project.top, &["commit-tree", &tree, "-p", &base, "-m", "new"]);
    let held = repository.publish(&commit, &[&base], Arrival::Held).await.unwrap().unwrap();
    let mine = held.with_file_name("mine.keep");
    fs::write(&mine, "a pack of the user's").unwrap();
    let commit = git(&project.top, &["commit-tree", &tree, "-p", &base, "-m", "of another project"]);
    let mut other = project.place();
    other.root = project.top.join("other");
    fs::create_dir(&other.root).unwrap();
    let layout = Layout::new(&other);
    let elsewhere = Repository::locate(&layout).await.unwrap();
    let others = elsewhere.publish(&commit, &[&base], Arrival::Held).await.unwrap().unwrap();
    assert!(held.exists() && others.exists());
    project.workspaces().begin(run_id().into()).await.unwrap();
    assert_eq!([&held, &mine, &others].map(|keep| keep.exists()), [false, true, true]);
}

#[tokio::test]
async fn a_run_that_cannot_write_where_its_branches_are_is_told_so() {
    let project = Project::git(&[("a", "a")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    workspaces.room().await.unwrap();
    let away = project.top.join("away");
    fs::rename(project.top.join(".git"), &away).unwrap();
    let error = workspaces.room().await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Machine(_)) && error.to_string().contains(".git"), "{error}");
    fs::rename(away, project.top.join(".git")).unwrap();
    workspaces.room().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tasks_put_on_branches_at_the_same_time_is_noted_of_each() {
    let project = Project::git(&[("a", "a")]);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let mut all = tokio::task::JoinSet::new();
    for number in 0..12 {
        let workspace = open(&workspaces, &format!("t{number}"), &[]).await.unwrap();
        write(&workspace.dir(), "a", &number.to_string());
        all.spawn(async move { commit(&workspace).await.unwrap() });
    }
    all.join_all().await;
    let notes = fs::read_to_string(project.top.join(format!(".reflection/runs/{}/branches", run_id()))).unwrap();
    for number in 0..12 {
        let name = format!("refs/heads/reflexion/{}/t{number} ", run_id());
        assert!(notes.lines().any(|line| line.starts_with(&name)), "{notes}");
    }
}

/// What a clone or an archive has in its place may hold other files under the names of the user's.
#[tokio::test]
async fn a_repository_that_the_runtime_did_not_make_is_not_used() {
    let project = Project::git(&[("a", "the user's\n")]);
    let store = project.top.join(".reflection/repository.git");
    let forge = || {
        // Another content, by the name of this one.
        let object = |id: &str| store.join("objects").join(&id[..2]).join(&id[2..]);
        write(&project.top, "forged", "forged\n");
        fs::create_dir_all(&store).unwrap();
        git(&store, &["init", "-q", "--bare", "."]);
        let forged = git(&store, &["hash-object", "-w", project.top.join("forged").to_str().unwrap()]);
        let real = object(&git(&project.top, &["rev-parse", "HEAD:a"]));
        fs::create_dir_all(real.parent().unwrap()).unwrap();
        fs::copy(object(&forged), real).unwrap();
        fs::remove_file(project.top.join("forged")).unwrap();
        write(
            &store,
            "config",
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[filter \"x\"]\n\tsmudge = false\n",
        );
        write(&store, "reflexion-id", &"0".repeat(64));
    };
    forge();
    let workspace = project.open().await;
    reset(&workspace).await;
    assert_eq!(read(&workspace.dir(), "a"), "the user's\n");
    workspace.close().await.unwrap();
    // Its own stays, with what it has recorded.
    write(&store, "marker", "");
    project.workspaces().begin(crate::domain::RunId::new("r2").unwrap().into()).await.unwrap();
    assert!(store.join("marker").exists());
}
