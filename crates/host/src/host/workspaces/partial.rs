//! Partial clones: what is missing of a commit that a run starts from.

use super::repository::{Kind, Repository};
use crate::services::WorkspaceError;

/// Fetches the objects of a commit that a partial clone of the user's left out, as git itself would one by one: the repositories of
/// workspaces borrow the user's objects, and ask no remote.
pub(super) async fn fetch_missing(repository: &Repository, commit: &str) -> Result<(), WorkspaceError> {
    if repository.kind == Kind::Snapshot {
        return Ok(());
    }
    let git = repository.git();
    let asked = git.call(["config", "--get-regexp", r"^remote\..*\.promisor$"]).run().await?;
    let text = String::from_utf8_lossy(&asked.stdout);
    let Some(remote) = text.lines().find_map(|line| {
        Some(line.split_whitespace().next()?.strip_prefix("remote.")?.strip_suffix(".promisor")?.to_owned())
    }) else {
        return Ok(());
    };
    for _ in 0..ROUNDS {
        let list = ["rev-list", "--objects", "--missing=print", "--no-object-names", "-1", commit];
        let listed = git.call(list).env("GIT_NO_LAZY_FETCH", "1").ok().await?;
        let listed = String::from_utf8_lossy(&listed);
        let missing: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix('?')).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let fetch = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", &remote, "--no-tags", "--no-write-fetch-head"];
        let more = ["--recurse-submodules=no", "--filter=blob:none", "--stdin"];
        let count = missing.len();
        git.call(fetch).args(more).stdin(missing.join("\n") + "\n").ok().await.map_err(|error| {
            WorkspaceError::Unusable(format!(
                "this is a partial clone, and {count} objects of the commit to start from are not here and cannot be \
                 fetched: {error}"
            ))
        })?;
    }
    Err(WorkspaceError::Unusable(
        "this is a partial clone, and fetching what is missing of the commit to start from comes to no end".to_owned(),
    ))
}

/// Where directories were left out too, each round shows what the next level lacks.
const ROUNDS: usize = 64;
