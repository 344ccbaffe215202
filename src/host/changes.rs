//! What differs in a work tree from where the work began, as git sees it.

use super::git::Git;
use super::git::GitOutput;
use super::git::paths;
use crate::services::ChangedFiles;
use crate::services::Changes;
use crate::services::ChangesError;
use crate::services::Since;
use crate::services::WorkspaceError;
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

/// Where a branch is likely to have begun if it has no upstream, the likeliest first.
pub(super) const DEFAULT_BRANCHES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// Asks git: one `status` for what is not committed, and one `diff-tree` for what is, if anything is.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostChanges;

#[async_trait]
impl Changes for HostChanges {
    async fn changed_files(&self, dir: &Path, since: &Since) -> Result<ChangedFiles, ChangesError> {
        let git = Git::found_from(dir);
        let status = status(&git, dir).await?;
        let base = base(&git, &status, since).await?;
        let mut files = status.files;
        if let (Some(base), Some(head)) = (&base.commit, &status.head)
            && base != head
        {
            let diff = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none", base, head];
            files.extend(paths(&ok(&git, &diff).await?));
        }
        let files = files.into_iter().collect();
        Ok(ChangedFiles { files, base: base.commit, head: status.head, against: base.against })
    }
}

/// What one `git status` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) head: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) files: BTreeSet<PathBuf>,
}

async fn status(git: &Git, dir: &Path) -> Result<Status, ChangesError> {
    let args = [
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=none",
    ];
    let output = run(git, &args).await?;
    if output.status == 0 {
        return Ok(read_status(&output.stdout));
    }
    let nowhere = ["not a git repository", "must be run in a work tree"];
    if nowhere.iter().any(|words| output.stderr.contains(words)) {
        return Err(ChangesError::NoWorkTree { dir: dir.to_owned() });
    }
    Err(failed(&args, &output))
}

/// Reads `git status --porcelain=v2 --branch -z` (git-status(1), "Porcelain Format Version 2").
pub(super) fn read_status(output: &[u8]) -> Status {
    let mut status = Status::default();
    for entry in output.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(entry);
        // How many fields stand before the path.
        let fields = match entry.first() {
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(b'?') => 1,
            Some(b'#') => {
                match text.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) {
                    Some(("branch.oid", oid)) if oid != "(initial)" => status.head = Some(oid.to_owned()),
                    Some(("branch.head", name)) if name != "(detached)" => status.branch = Some(name.to_owned()),
                    Some(("branch.upstream", name)) => status.upstream = Some(name.to_owned()),
                    _ => {}
                }
                continue;
            }
            _ => continue,
        };
        if let Some(path) = entry.splitn(fields + 1, |byte| *byte == b' ').nth(fields) {
            status.files.insert(PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    status
}

/// What the work is compared with.
struct Base {
    commit: Option<String>,
    against: String,
}

async fn base(git: &Git, status: &Status, since: &Since) -> Result<Base, ChangesError> {
    let head = status.head.as_ref();
    let at_head = || Base { commit: status.head.clone(), against: "HEAD".to_owned() };
    match since {
        Since::Commit(name) => {
            let commit = resolve(git, name).await?.ok_or_else(|| ChangesError::NoCommit { revision: name.clone() })?;
            Ok(Base { commit: Some(commit), against: name.clone() })
        }
        Since::MergeBase(name) => {
            let given = resolve(git, name).await?.ok_or_else(|| ChangesError::NoCommit { revision: name.clone() })?;
            let fork = match head {
                Some(head) => merge_base(git, &given, head).await?,
                None => None,
            };
            Ok(Base { commit: Some(fork.unwrap_or(given)), against: name.clone() })
        }
        Since::Branch => {
            let Some(head) = head else { return Ok(at_head()) };
            let candidates = status.upstream.iter().cloned().chain(default_branches(git).await?);
            for name in candidates {
                if let Some(fork) = merge_base(git, &name, head).await? {
                    let against = name.trim_start_matches("refs/heads/").trim_start_matches("refs/remotes/").to_owned();
                    return Ok(Base { commit: Some(fork), against });
                }
            }
            Ok(at_head())
        }
    }
}

/// The default branches that are there, the likeliest first.
async fn default_branches(git: &Git) -> Result<Vec<String>, ChangesError> {
    let listed = ok(git, &[&["for-each-ref", "--format=%(refname)"][..], &DEFAULT_BRANCHES].concat()).await?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let there = |name: &&&str| listed.lines().any(|line| line == **name);
    Ok(DEFAULT_BRANCHES.iter().filter(there).map(|&name| name.to_owned()).collect())
}

/// The commit that a name stands for, if it stands for one.
async fn resolve(git: &Git, name: &str) -> Result<Option<String>, ChangesError> {
    let commit = format!("{name}^{{commit}}");
    let output = run(git, &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit]).await?;
    let id = String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().trim().to_owned();
    Ok((output.status == 0 && !id.is_empty()).then_some(id))
}

/// Where two commits parted; none where they have nothing in common, or a shallow history does not reach back so far.
async fn merge_base(git: &Git, one: &str, other: &str) -> Result<Option<String>, ChangesError> {
    let output = run(git, &["merge-base", one, other]).await?;
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((output.status == 0 && !id.is_empty()).then_some(id))
}

async fn run(git: &Git, args: &[&str]) -> Result<GitOutput, ChangesError> {
    git.call(args).run().await.map_err(|error| ChangesError::Git(error.to_string()))
}

async fn ok(git: &Git, args: &[&str]) -> Result<Vec<u8>, ChangesError> {
    let output = run(git, args).await?;
    if output.status == 0 { Ok(output.stdout) } else { Err(failed(args, &output)) }
}

fn failed(args: &[&str], output: &GitOutput) -> ChangesError {
    let command = args.first().copied().unwrap_or_default().to_owned();
    let message = output.stderr.trim().to_owned();
    ChangesError::Git(WorkspaceError::Git { command, message }.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
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
        assert_eq!((found.against.as_str(), found.head.is_some()), ("origin/HEAD", true));
        assert_eq!(found.base.unwrap(), git(&clone, &["rev-parse", "HEAD~1"]));
        assert_eq!(names(&clone.join("new dir"), Since::Branch).await, all);
        assert_eq!(names(&clone, Since::Commit("HEAD".to_owned())).await, all[1..]);
    }

    #[tokio::test]
    async fn the_upstream_comes_before_the_default_branch() {
        let (_dir, clone) = clone();
        commit(&clone, "pushed");
        git(&clone, &["push", "-q", "-u", "origin", "feature"]);
        commit(&clone, "later");
        assert_eq!(names(&clone, Since::Branch).await, ["later"]);
        assert_eq!(names(&clone, Since::MergeBase("origin/trunk".to_owned())).await, ["later", "pushed"]);
        // What happened there meanwhile is nobody's change here.
        git(&clone, &["checkout", "-q", "-b", "other", "origin/trunk"]);
        commit(&clone, "elsewhere");
        git(&clone, &["checkout", "-q", "feature"]);
        assert_eq!(names(&clone, Since::MergeBase("other".to_owned())).await, ["later", "pushed"]);
        assert_eq!(names(&clone, Since::Commit("other".to_owned())).await, ["elsewhere", "later", "pushed"]);
        // An upstream that is gone.
        git(&clone, &["update-ref", "-d", "refs/remotes/origin/feature"]);
        assert_eq!(names(&clone, Since::Branch).await, ["later", "pushed"]);
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
        git(&unborn, &["init", "-q"]);
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
        assert_eq!((found.names().collect::<Vec<_>>(), found.against.as_str()), (vec!["d".into()], "HEAD"));
    }

    #[tokio::test]
    async fn conflicts_submodules_and_odd_names_are_files_too() {
        let (dir, clone) = clone();
        fs::write(clone.join(OsStr::from_bytes(b"\xff.bin")), [0, 1]).unwrap();
        let origin = dir.path().join("origin");
        git(&clone, &["submodule", "--quiet", "add", origin.to_str().unwrap(), "lib/sub"]);
        let found = changed(&clone, Since::Branch).await;
        assert!(found.files.contains(&PathBuf::from(OsStr::from_bytes(b"\xff.bin"))));
        assert_eq!(found.names().collect::<Vec<_>>(), [".gitmodules", "lib/sub", "\u{fffd}.bin"]);
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-q", "-m", "x"]);
        git(&clone, &["config", "diff.ignoreSubmodules", "all"]);
        write(&clone, "lib/sub/new");
        assert_eq!(names(&clone, Since::Commit("HEAD".to_owned())).await, ["lib/sub"]);
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
