//! A repository's history: one `git log` whose output is read while it comes, commit by commit.

mod log;
mod patch;

use super::git::Git;
use super::work_tree::{MISSING, PARTIAL, is_for_want_of_objects};
use crate::domain::HistoryExtent;
use crate::services::{AnyCommitReader, History, HistoryError, HistoryQuery, WorkspaceError};
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
    async fn read(&self, query: HistoryQuery, reader: &mut AnyCommitReader) -> Result<HistoryExtent, HistoryError> {
        let place = query.repository.display().to_string();
        if !query.repository.is_dir() {
            return Err(HistoryError::Nothing(format!("{place} is no directory")));
        }
        let git = Git::found_from(&query.repository).looking();
        let failed = |error: WorkspaceError| HistoryError::Git(error.to_string());
        let found = git.call(["rev-parse", "--is-shallow-repository"]).run().await.map_err(failed)?;
        if found.status != 0 {
            let said = found.stderr.lines().next().unwrap_or("git says nothing more").trim();
            return Err(HistoryError::Nothing(format!("{place} is in no git repository that can be read: {said}")));
        }
        let head = git.call(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).run().await.map_err(failed)?;
        if head.status != 0 && is_partial(&git).await && !is_unborn(&git).await {
            return Err(HistoryError::Git(MISSING.to_owned()));
        }
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
        // Git reads a date after 2099 as something else; seconds are seconds.
        let since = query.since.map(|since| format!("--since=@{} +0000", since.as_second().max(0)));
        let read = git.call(LOG).args(since).args(["HEAD", "--"]).stream(|piece| log.read(piece)).await;
        if let Err(error) = read {
            let lacks = is_for_want_of_objects(&error.to_string()) && is_partial(&git).await;
            return Err(if lacks { HistoryError::Git(MISSING.to_owned()) } else { failed(error) });
        }
        log.end();
        Ok(HistoryExtent { commits, shallow })
    }
}

/// Whether a clone may have left objects out.
async fn is_partial(git: &Git) -> bool {
    git.call(PARTIAL).run().await.is_ok_and(|found| found.status == 0)
}

/// Whether the branch that is checked out is not there yet.
async fn is_unborn(git: &Git) -> bool {
    let named = git.call(["rev-parse", "--verify", "--quiet", "HEAD"]).run().await;
    named.is_ok_and(|named| named.status != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Commit;
    use crate::services::CommitReader;
    use std::path::Path;
    use std::process::Command;

    #[derive(Default)]
    struct Kept(Vec<Commit>);

    impl CommitReader for Kept {
        fn commit(&mut self, commit: Commit) {
            self.0.push(commit);
        }
    }

    fn git(dir: &Path, args: &[&str]) {
        let identity = ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "init.defaultBranch=main"];
        let run = Command::new("git").args(identity).args(args).current_dir(dir).output().unwrap();
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
    }

    async fn read(dir: &Path) -> Result<(HistoryExtent, Vec<Commit>), HistoryError> {
        let mut kept = Kept::default();
        let query = HistoryQuery { repository: dir.to_owned(), since: None };
        GitHistory.read(query, &mut kept).await.map(|extent| (extent, kept.0))
    }

    fn commit(dir: &Path, file: &str, text: &str, message: &str) {
        std::fs::write(dir.join(file), text).unwrap();
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-qm", message]);
    }

    #[tokio::test]
    async fn a_history_is_read_whatever_the_user_has_configured() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        git(dir, &["init", "-q"]);
        for (key, value) in [
            ("diff.noprefix", "true"),
            ("diff.mnemonicPrefix", "true"),
            ("diff.external", "false"),
            ("diff.renames", "false"),
            ("diff.context", "9"),
            ("color.ui", "always"),
            ("log.showRoot", "false"),
            ("log.showSignature", "true"),
            ("log.diffMerges", "on"),
            ("core.quotePath", "true"),
        ] {
            git(dir, &["config", key, value]);
        }
        commit(dir, "a b.txt", "one\ntwo\n", "start");
        commit(dir, "\u{fc}.txt", "\u{1}three\n", "more\n\nwith a body\ndiff --git a/x b/x");
        git(dir, &["checkout", "-q", "-b", "side", "HEAD~1"]);
        commit(dir, "a b.txt", "one\n2\n", "fix: two");
        git(dir, &["checkout", "-q", "main"]);
        git(dir, &["merge", "-q", "--no-ff", "-m", "Merge side", "side"]);
        let (extent, commits) = read(dir).await.unwrap();
        assert_eq!(extent, HistoryExtent { commits: 4, shallow: false });
        assert_eq!(
            (commits[0].subject.as_str(), commits[0].parents.len(), commits[0].files.len()),
            ("Merge side", 2, 0)
        );
        let of = |subject: &str| commits.iter().find(|commit| commit.subject == subject).unwrap();
        assert_eq!(of("more").body, "with a body\ndiff --git a/x b/x");
        let file = |subject: &str| (of(subject).files[0].path.as_str(), of(subject).files[0].lines);
        assert_eq!(
            (file("start"), file("more"), file("fix: two")),
            (("a b.txt", 2), ("\u{fc}.txt", 1), ("a b.txt", 2))
        );
        // The fix takes away what the first commit wrote.
        assert!(of("start").files[0].added.contains(&of("fix: two").files[0].touched[0]));
        assert!(of("start").parents.is_empty() && of("fix: two").parents == [of("start").id.clone()]);
    }

    #[tokio::test]
    async fn where_there_is_nothing_to_read_it_says_so() {
        let root = tempfile::tempdir().unwrap();
        let check = async |dir: &Path, words: &str| match read(dir).await {
            Err(HistoryError::Nothing(message)) => assert!(message.contains(words), "{message}"),
            other => panic!("{other:?}"),
        };
        check(root.path(), "in no git repository").await;
        check(&root.path().join("none"), "is no directory").await;
        git(root.path(), &["init", "-q", "full"]);
        let full = root.path().join("full");
        check(&full, "no commit yet").await;
        commit(&full, "a", "one\n", "start");
        commit(&full, "a", "two\n", "next");
        let from = format!("file://{}", full.display());
        git(root.path(), &["clone", "-q", "--depth=1", &from, "shallow"]);
        let (extent, commits) = read(&root.path().join("shallow")).await.unwrap();
        assert_eq!(extent, HistoryExtent { commits: 1, shallow: true });
        // It did not write everything that is there.
        assert!(commits[0].files.is_empty());
    }
}
