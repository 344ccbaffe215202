//! Files that git records otherwise than they are committed.

use super::super::home::AT_ONCE;
use super::project::{git, *};
use crate::services::Workspace;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const CRLF: &str = "x\r\ny\r\n";

/// A repository that was never recorded anew when it got its attributes.
fn project() -> Project {
    let files =
        [("a.txt", "no\n"), ("crlf.txt", CRLF), ("raw.txt", CRLF), ("f.up", "raw\n"), ("id.txt", "$Id: old $\n")];
    let project = Project::git(&files);
    git(&project.top, &["config", "filter.up.clean", "tr a-z A-Z"]);
    git(&project.top, &["config", "filter.up.smudge", "tr A-Z a-z"]);
    write(&project.top, ".gitattributes", "crlf.txt text\n*.up filter=up\nid.txt ident\n");
    git(&project.top, &["add", ".gitattributes"]);
    git(&project.top, &["commit", "-q", "-m", "attributes"]);
    project
}

/// Writes each file once more, with the bytes that it has: git's memory of its times says nothing of it then.
fn touch_all(dir: &Path) {
    for name in ["crlf.txt", "raw.txt", "f.up", "id.txt"] {
        let bytes = fs::read(dir.join(name)).unwrap();
        fs::write(dir.join(name), bytes).unwrap();
    }
}

async fn changed(workspace: &Arc<dyn Workspace>, act: impl FnOnce(&Path)) -> Vec<String> {
    reset(workspace).await;
    touch_all(&workspace.dir());
    act(&workspace.dir());
    record(workspace).await.files
}

#[tokio::test]
async fn what_nobody_has_touched_is_no_change_whatever_git_would_record() {
    let project = project();
    let workspace = project.open().await;
    assert_eq!(changed(&workspace, |_| {}).await, Vec::<String>::new());
    assert_eq!(changed(&workspace, |dir| write(dir, "a.txt", "right\n")).await, ["a.txt"]);
    // An attribute of the work's own is no touch of the files that it is about.
    let attributed = |dir: &Path| write(dir, ".gitattributes", "*.txt text\n*.up filter=up\n");
    assert_eq!(changed(&workspace, attributed).await, [".gitattributes"]);
}

#[tokio::test]
async fn what_somebody_has_touched_is_a_change() {
    let project = project();
    let workspace = project.open().await;
    for (name, text) in [
        ("crlf.txt", "x\r\nz\r\n"),
        ("crlf.txt", "x\ny\n"),
        ("f.up", "other\n"),
        ("f.up", "RAW\n"),
        ("id.txt", "$Id: old $\n"),
        ("raw.txt", "x\n"),
    ] {
        let files = changed(&workspace, |dir| write(dir, name, text)).await;
        assert_eq!(files, [name], "{text:?}");
    }
    let program = |dir: &Path| fs::set_permissions(dir.join("crlf.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(changed(&workspace, program).await, ["crlf.txt"]);
    assert_eq!(changed(&workspace, |dir| fs::remove_file(dir.join("crlf.txt")).unwrap()).await, ["crlf.txt"]);
}

#[tokio::test]
async fn who_puts_a_file_back_has_not_changed_it() {
    let project = project();
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "crlf.txt", "x\r\nz\r\n");
    write(&workspace.dir(), "a.txt", "right\n");
    let first = record(&workspace).await;
    assert_eq!(first.files, ["a.txt", "crlf.txt"]);
    workspace.reset(&first.tree, &CancellationToken::new()).await.unwrap();
    touch_all(&workspace.dir());
    assert!(workspace.record(&first.tree).await.unwrap().no_op);
    write(&workspace.dir(), "crlf.txt", CRLF);
    assert_eq!(workspace.record(&first.tree).await.unwrap().files, ["a.txt"]);
    // What it is recorded as is what checks get.
    let room = workspace.room().await.unwrap();
    let tree = workspace.record(&first.tree).await.unwrap().tree;
    room.reset(&tree, &CancellationToken::new()).await.unwrap();
    assert_eq!(read(&room.dir(), "crlf.txt"), CRLF);
    room.begin_work().await.unwrap();
    touch_all(&room.dir());
    write(&room.dir(), "f.up", "by a check\n");
    tokio::time::sleep(AT_ONCE + std::time::Duration::from_millis(50)).await;
    assert!(room.rewritten().await.unwrap().contains(&"f.up".to_owned()));
}

#[tokio::test]
async fn setup_is_not_said_to_change_what_it_has_not() {
    let project = project()
        .set_up_by("mkdir -p deps; for file in crlf.txt f.up id.txt; do cp $file deps/x; cat deps/x > $file; done");
    let workspace = project.open().await;
    let restored = workspace.reset(&workspace.base(), &CancellationToken::new()).await.unwrap();
    assert_eq!(restored.said, Vec::<String>::new());
}
