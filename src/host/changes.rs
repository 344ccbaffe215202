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
const DEFAULT_BRANCHES: [&str; 5] = [
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
struct Status {
    head: Option<String>,
    upstream: Option<String>,
    files: BTreeSet<PathBuf>,
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
fn read_status(output: &[u8]) -> Status {
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
