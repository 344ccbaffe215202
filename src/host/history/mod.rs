//! A repository's history: one `git log` whose output is read while it comes, commit by commit.

mod log;
mod patch;

use super::git::Git;
use crate::domain::HistoryExtent;
use crate::services::AnyCommitReader;
use crate::services::History;
use crate::services::HistoryError;
use crate::services::HistoryQuery;
use crate::services::WorkspaceError;
use async_trait::async_trait;
use log::LogReader;

/// Reads histories with `git`. Keeps one commit at a time.
#[derive(Debug, Clone, Copy, Default)]
pub struct GitHistory;

/// How the log is written, whatever the user's configuration says of diffs.
///
/// `--topo-order`: children come before their parents, so that what a merge brought is known when it is met. Renames are
/// followed where nothing else changed: anything more compares every pair of files.
const LOG: [&str; 23] = [
    "-c",
    "log.showRoot=true",
    "-c",
    "diff.suppressBlankEmpty=false",
    "log",
    "--topo-order",
    "--patch",
    "--unified=1",
    "--inter-hunk-context=0",
    "--find-renames=100%",
    "--diff-algorithm=myers",
    "--no-diff-merges",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-show-signature",
    "--no-notes",
    "--no-relative",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--encoding=UTF-8",
    log::FORMAT,
];

#[async_trait]
impl History for GitHistory {
    async fn read(
        &self,
        query: HistoryQuery,
        reader: &mut AnyCommitReader,
    ) -> Result<HistoryExtent, HistoryError> {
        let place = query.repository.display().to_string();
        if !query.repository.is_dir() {
            return Err(HistoryError::Nothing(format!("{place} is no directory")));
        }
        let git = Git::found_from(&query.repository);
        let failed = |error: WorkspaceError| HistoryError::Git(error.to_string());
        let found = git.call(["rev-parse", "--is-shallow-repository"]).run().await.map_err(failed)?;
        if found.status != 0 {
            let said = found.stderr.lines().next().unwrap_or("git says nothing more").trim();
            return Err(HistoryError::Nothing(format!("{place} is in no git repository that can be read: {said}")));
        }
        let head = git.call(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).run().await.map_err(failed)?;
        if head.status != 0 {
            let message = format!("the repository at {place} has no commit yet: there is no history to ask");
            return Err(HistoryError::Nothing(message));
        }
        let shallow = found.stdout.trim_ascii() == b"true";
        let mut commits = 0;
        let mut log = LogReader::new(|mut commit| {
            commits += 1;
            // Where a shallow clone ends stands a commit that seems to have written everything.
            if shallow && commit.parents.is_empty() {
                commit.files.clear();
            }
            reader.commit(commit);
        });
        let since = query.since.map(|since| format!("--since={since}"));
        git.call(LOG).args(since).args(["HEAD", "--"]).stream(|piece| log.read(piece)).await.map_err(failed)?;
        log.end();
        Ok(HistoryExtent { commits, shallow })
    }
}
