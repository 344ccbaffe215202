//! What differs in a work tree from where the work began, as git sees it.

use super::work_tree::HostWorkTree;
use crate::services::{ChangedFiles, Changes, ChangesError, Since, TreeStatus, WorkTree, WorkTreeError};
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Asks git as the hooks do: one `status` for what is not committed, and one `diff-tree` for what is, if anything is.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostChanges;

#[async_trait]
impl Changes for HostChanges {
    async fn changed_files(&self, dir: &Path, since: &Since) -> Result<ChangedFiles, ChangesError> {
        let (dir, since) = (dir.to_owned(), since.clone());
        let found = tokio::task::spawn_blocking(move || changed(&dir, &since));
        found.await.map_err(|lost| ChangesError::Git(lost.to_string()))?
    }
}

fn changed(dir: &Path, since: &Since) -> Result<ChangedFiles, ChangesError> {
    let nowhere = || ChangesError::NoWorkTree { dir: dir.to_owned() };
    let tree = HostWorkTree::around(dir).ok_or_else(nowhere)?.patient();
    let status = match tree.status() {
        Err(error) if error.message.contains("not a git repository") => return Err(nowhere()),
        status => status.map_err(git)?,
    };
    let base = base(&tree, &status, since)?;
    let mut files: BTreeSet<PathBuf> = status.dirty.into_iter().collect();
    if let (Some(base), Some(head)) = (&base.commit, &status.head)
        && base != head
    {
        files.extend(tree.changed(Some(base), head).map_err(git)?);
    }
    let files = files.into_iter().filter(|path| !path.starts_with(".reflection")).collect();
    Ok(ChangedFiles { files, base: base.commit, head: status.head, against: base.against, related: base.related })
}

/// What the work is compared with.
struct Base {
    commit: Option<String>,
    against: Option<String>,
    related: bool,
}

fn base(tree: &HostWorkTree, status: &TreeStatus, since: &Since) -> Result<Base, ChangesError> {
    let named = |name: &str| {
        let commit = tree.resolve(name).ok_or_else(|| ChangesError::NoCommit { revision: name.to_owned() })?;
        Ok(Base { commit: Some(commit), against: Some(name.to_owned()), related: true })
    };
    match since {
        Since::Commit(name) => named(name),
        Since::MergeBase(name) => {
            let given = named(name)?;
            let Some((head, commit)) = status.head.as_deref().zip(given.commit.as_deref()) else { return Ok(given) };
            Ok(match tree.merge_base(commit, head) {
                Some(fork) => Base { commit: Some(fork), ..given },
                None => Base { related: false, ..given },
            })
        }
        Since::Branch => Ok(match tree.fork(status).map_err(git)? {
            Some(fork) => Base { commit: Some(fork.commit), against: Some(fork.from), related: true },
            None => Base { commit: status.head.clone(), against: None, related: true },
        }),
    }
}

fn git(error: WorkTreeError) -> ChangesError {
    ChangesError::Git(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        let settings =
            ["user.name=U", "user.email=u@example.org", "init.defaultBranch=trunk", "protocol.file.allow=always"];
        let settings = settings.iter().flat_map(|setting| ["-c", *setting]);
        let output = command.args(settings).args(args).current_dir(dir).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write(dir: &Path, name: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }

    fn commit(dir: &Path, name: &str) {
        write(dir, name);
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-q", "-m", name]);
    }

    async fn changed(dir: &Path, since: Since) -> ChangedFiles {
        HostChanges.changed_files(dir, &since).await.unwrap()
    }

    async fn names(dir: &Path, since: Since) -> Vec<String> {
        changed(dir, since).await.names().collect()
    }

    /// A clone of a repository with one commit, on a branch of its own.
    fn clone() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let origin = dir.path().join("origin");
        fs::create_dir(&origin).unwrap();
        git(&origin, &["init", "-q"]);
        commit(&origin, "first");
        git(dir.path(), &["clone", "-q", "origin", "clone"]);
        let clone = dir.path().join("clone");
        git(&clone, &["checkout", "-q", "-b", "feature", "--no-track"]);
        (dir, clone)
    }

    #[tokio::test]
    async fn committed_staged_unstaged_and_untracked_files_are_listed_alike() {
        let (_dir, clone) = clone();
        commit(&clone, "committed");
        write(&clone, "staged");
        git(&clone, &["add", "staged"]);
        fs::write(clone.join("first"), "unstaged").unwrap();
        write(&clone, "new dir/un\ntracked");
        write(&clone, "ignored");
        fs::write(clone.join(".git/info/exclude"), "ignored\n").unwrap();
        let found = changed(&clone, Since::Branch).await;
        let all = ["committed", "first", "new dir/un\ntracked", "staged"];
        assert_eq!(found.names().collect::<Vec<_>>(), all);
        assert_eq!((found.against.as_deref(), found.head.is_some()), (Some("origin/trunk"), true));
        assert_eq!(found.base.unwrap(), git(&clone, &["rev-parse", "HEAD~1"]));
        assert_eq!(names(&clone.join("new dir"), Since::Branch).await, all);
        assert_eq!(names(&clone, Since::Commit("HEAD".to_owned())).await, all[1..]);
    }

    #[tokio::test]
    async fn a_branch_that_was_pushed_is_no_change_less() {
        let (_dir, clone) = clone();
        commit(&clone, "pushed");
        git(&clone, &["push", "-q", "-u", "origin", "feature"]);
        commit(&clone, "later");
        let found = changed(&clone, Since::Branch).await;
        assert_eq!(
            (found.names().collect::<Vec<_>>(), found.against.as_deref()),
            (vec!["later".into(), "pushed".into()], Some("origin/trunk"))
        );
        assert_eq!(names(&clone, Since::MergeBase("origin/feature".to_owned())).await, ["later"]);
        // What happened there meanwhile is nobody's change here.
        git(&clone, &["checkout", "-q", "-b", "other", "origin/trunk"]);
        commit(&clone, "elsewhere");
        git(&clone, &["checkout", "-q", "feature"]);
        assert_eq!(names(&clone, Since::MergeBase("other".to_owned())).await, ["later", "pushed"]);
        assert_eq!(names(&clone, Since::Commit("other".to_owned())).await, ["elsewhere", "later", "pushed"]);
        // An upstream that is another branch is what it left.
        git(&clone, &["branch", "-q", "--set-upstream-to", "other"]);
        assert_eq!(changed(&clone, Since::Branch).await.against.as_deref(), Some("other"));
        // The default branch is compared with its own copy.
        git(&clone, &["checkout", "-q", "trunk"]);
        commit(&clone, "mine");
        assert_eq!(names(&clone, Since::Branch).await, ["mine"]);
    }

    #[tokio::test]
    async fn a_revision_of_another_history_is_compared_with_as_it_is() {
        let (_dir, clone) = clone();
        commit(&clone, "mine");
        git(&clone, &["checkout", "-q", "--orphan", "pages"]);
        commit(&clone, "page");
        git(&clone, &["checkout", "-q", "feature"]);
        let found = changed(&clone, Since::MergeBase("pages".to_owned())).await;
        assert!(!found.related);
        assert_eq!(found.names().collect::<Vec<_>>(), ["page"]);
        assert!(changed(&clone, Since::MergeBase("origin/trunk".to_owned())).await.related);
    }

    #[tokio::test]
    async fn what_a_partial_clone_left_out_is_told_and_not_fetched() {
        let (dir, _clone) = clone();
        let origin = dir.path().join("origin");
        git(&origin, &["config", "uploadpack.allowFilter", "true"]);
        git(&origin, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        for name in ["a/b", "a/c"] {
            commit(&origin, name);
        }
        let url = format!("file://{}", origin.display());
        git(dir.path(), &["clone", "-q", "--filter=tree:0", &url, "partial"]);
        let found = HostChanges.changed_files(&dir.path().join("partial"), &Since::Commit("HEAD~1".to_owned())).await;
        assert!(matches!(&found, Err(ChangesError::Git(said)) if said.contains("fetches nothing")), "{found:?}");
    }

    #[tokio::test]
    async fn nobody_waits_for_a_pipe() {
        let (_dir, clone) = clone();
        let pipe = clone.join(".gitignore");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let found = HostChanges.changed_files(&clone, &Since::Branch).await;
        assert!(matches!(&found, Err(ChangesError::Git(said)) if said.contains("a pipe")), "{found:?}");
    }

    #[tokio::test]
    async fn the_runtimes_own_files_are_no_change() {
        let (_dir, clone) = clone();
        write(&clone, "a");
        commit(&clone, ".reflection/x");
        fs::write(clone.join(".reflection/x"), "changed").unwrap();
        assert_eq!(names(&clone, Since::Branch).await, ["a"]);
    }

    #[tokio::test]
    async fn both_names_of_a_renamed_file_count() {
        let (_dir, clone) = clone();
        git(&clone, &["config", "diff.renames", "copies"]);
        git(&clone, &["config", "status.renames", "copies"]);
        git(&clone, &["config", "status.relativePaths", "true"]);
        git(&clone, &["config", "diff.relative", "true"]);
        git(&clone, &["mv", "first", "second"]);
        assert_eq!(names(&clone, Since::Branch).await, ["first", "second"]);
        git(&clone, &["commit", "-q", "-m", "x"]);
        assert_eq!(names(&clone, Since::Branch).await, ["first", "second"]);
        fs::create_dir(clone.join("below")).unwrap();
        assert_eq!(names(&clone.join("below"), Since::Branch).await, ["first", "second"]);
    }

    #[tokio::test]
    async fn any_state_of_head_works() {
        let (dir, clone) = clone();
        git(&clone, &["checkout", "-q", "--detach"]);
        commit(&clone, "a");
        assert_eq!(names(&clone, Since::Branch).await, ["a"]);
        // No commit yet.
        let unborn = dir.path().join("unborn");
        fs::create_dir(&unborn).unwrap();
        git(&unborn, &["init", "-q", "-b", "topic"]);
        write(&unborn, "b");
        write(&unborn, "c");
        git(&unborn, &["add", "b"]);
        let found = changed(&unborn, Since::Branch).await;
        assert_eq!(
            (found.names().collect::<Vec<_>>(), found.base, found.head),
            (vec!["b".into(), "c".into()], None, None)
        );
        // A history that does not reach back to the fork.
        git(&clone, &["push", "-q", "origin", "HEAD:refs/heads/deep"]);
        let origin = format!("file://{}", dir.path().join("origin").display());
        git(dir.path(), &["clone", "-q", "--depth=1", "--branch=deep", &origin, "shallow"]);
        let shallow = dir.path().join("shallow");
        write(&shallow, "d");
        assert_eq!(names(&shallow, Since::Branch).await, ["d"]);
        // Neither upstream nor a usual name: only what is not committed.
        git(&unborn, &["add", "-A"]);
        git(&unborn, &["commit", "-q", "-m", "x"]);
        write(&unborn, "d");
        let found = changed(&unborn, Since::Branch).await;
        assert_eq!((found.names().collect::<Vec<_>>(), found.against), (vec!["d".into()], None));
    }

    #[tokio::test]
    async fn conflicts_submodules_and_odd_names_are_files_too() {
        let (dir, clone) = clone();
        fs::write(clone.join(OsStr::from_bytes(b"\xff.bin")), [0, 1]).unwrap();
        let origin = dir.path().join("origin");
        git(&clone, &["submodule", "--quiet", "add", origin.to_str().unwrap(), "lib/sub"]);
        let found = changed(&clone, Since::Branch).await;
        assert!(found.files.contains(&PathBuf::from(OsStr::from_bytes(b"\xff.bin"))));
        assert_eq!(found.names().collect::<Vec<_>>(), [".gitmodules", "lib/sub/", "\u{fffd}.bin"]);
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-q", "-m", "x"]);
        git(&clone, &["config", "diff.ignoreSubmodules", "all"]);
        write(&clone, "lib/sub/new");
        assert_eq!(names(&clone, Since::Commit("HEAD".to_owned())).await, ["lib/sub/"]);
        // A pointer that moved, and a repository that only lies there.
        commit(&clone.join("lib/sub"), "new");
        git(&clone, &["config", "diff.ignoreSubmodules", "none"]);
        git(&clone, &["commit", "-q", "-a", "-m", "moved"]);
        git(&clone, &["config", "diff.ignoreSubmodules", "all"]);
        git(&clone, &["init", "-q", "in"]);
        commit(&clone.join("in"), "inner");
        let moved = names(&clone, Since::Commit("HEAD~1".to_owned())).await;
        assert_eq!(moved, ["in/", "lib/sub/"]);
        fs::remove_dir_all(clone.join("in")).unwrap();
        git(&clone, &["checkout", "-q", "-b", "one", "origin/trunk"]);
        fs::write(clone.join("first"), "one").unwrap();
        git(&clone, &["commit", "-q", "-a", "-m", "one"]);
        git(&clone, &["checkout", "-q", "-b", "two", "origin/trunk"]);
        fs::write(clone.join("first"), "two").unwrap();
        git(&clone, &["commit", "-q", "-a", "-m", "two"]);
        let merge = Command::new("git").args(["merge", "one"]).current_dir(&clone).output().unwrap();
        assert!(!merge.status.success());
        assert!(names(&clone, Since::Commit("HEAD".to_owned())).await.contains(&"first".to_owned()));
    }

    #[tokio::test]
    async fn what_cannot_be_listed_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        let no_tree = ChangesError::NoWorkTree { dir: at.to_owned() };
        assert_eq!(HostChanges.changed_files(at, &Since::Branch).await, Err(no_tree));
        git(at, &["init", "-q", "--bare", "bare"]);
        let bare = HostChanges.changed_files(&at.join("bare"), &Since::Branch).await;
        assert!(matches!(bare, Err(ChangesError::NoWorkTree { .. })), "{bare:?}");
        let (_dir, clone) = clone();
        for revision in ["nowhere", "", "--all", "HEAD^{tree}", "first"] {
            for since in [Since::MergeBase(revision.to_owned()), Since::Commit(revision.to_owned())] {
                let found = HostChanges.changed_files(&clone, &since).await;
                assert_eq!(found, Err(ChangesError::NoCommit { revision: revision.to_owned() }));
            }
        }
    }
}
