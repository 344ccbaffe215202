//! What git and `gh` know of a repository's remote.

use super::git::Git;
use crate::prompt::plain;
use crate::services::{Ci, Command, CommandEnd, CommandError, CommandRunner, PullRequest, Remote, RemoteState};
use async_trait::async_trait;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A question to GitHub takes seconds; one that takes longer hangs on the network.
const LIMIT: Duration = Duration::from_secs(30);
/// So much of an answer is read: a pull request with hundreds of checks.
const KEPT_BYTES: usize = 512 * 1024;

/// Asks git for remotes and branches, and `gh` for pull requests. Nothing is fetched, pushed or changed.
pub struct HostRemote {
    runner: Arc<dyn CommandRunner>,
    /// Where `gh` is looked for; none: on the caller's PATH.
    path: Option<String>,
}

impl HostRemote {
    /// Runs `gh` with this runner.
    #[must_use]
    pub fn new(runner: Arc<dyn CommandRunner>) -> Self {
        Self { runner, path: None }
    }

    async fn gh(&self, dir: &Path, branch: &str) -> Result<String, String> {
        let args = ["gh", "pr", "view", "--json", "url,state,statusCheckRollup", "--", branch];
        let env = [
            ("GH_PROMPT_DISABLED", "1"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("NO_COLOR", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ];
        let path = self.path.iter().map(|path| ("PATH", path.as_str()));
        let command = Command {
            env: env.into_iter().chain(path).map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            env_deny: ["GIT_*", "GH_DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE"].map(str::to_owned).to_vec(),
            timeout: LIMIT,
            keep_bytes: KEPT_BYTES,
            ..Command::new(args, dir)
        };
        let output = self.runner.run(command).await.map_err(|error| match error {
            CommandError::NotFound { .. } => {
                "`gh` was not found on PATH; install the GitHub CLI to have pull requests looked at".to_owned()
            }
            other => other.to_string(),
        })?;
        let said = plain(&output.stderr.text()).trim().to_owned();
        match output.end {
            CommandEnd::Exited(0) => Ok(output.stdout.text()),
            CommandEnd::Exited(1) if said.starts_with("no pull requests found") => Ok(String::new()),
            // https://cli.github.com/manual/gh_help_exit-codes
            CommandEnd::Exited(4) => Err("`gh` is not logged in; run `gh auth login`".to_owned()),
            CommandEnd::TimedOut => Err(format!("`gh pr view` gave no answer within {} s", LIMIT.as_secs())),
            _ => Err(format!("`gh pr view` failed: {}", said.lines().next().unwrap_or("it said nothing"))),
        }
    }
}

#[async_trait]
impl Remote for HostRemote {
    async fn state(&self, dir: &Path) -> RemoteState {
        let git = Git::found_from(dir).looking();
        let line = async |args: &[&str]| git.call(args).line().await.ok().filter(|line| !line.is_empty());
        let remotes: Vec<String> =
            line(&["remote"]).await.map(|all| all.lines().map(str::to_owned).collect()).unwrap_or_default();
        let branch = line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await;
        let upstream = match &branch {
            None => None,
            Some(branch) => line(&["for-each-ref", "--format=%(push:lstrip=3)", &format!("refs/heads/{branch}")]).await,
        };
        let main = remotes.iter().find(|name| *name == "origin").or(remotes.first());
        let default_branch = match main {
            None => None,
            Some(name) => {
                let head = line(&["symbolic-ref", "--quiet", "--short", &format!("refs/remotes/{name}/HEAD")]).await;
                head.and_then(|head| head.strip_prefix(&format!("{name}/")).map(str::to_owned))
            }
        };
        RemoteState { remotes, default_branch, branch, upstream, pull_request: None }
    }

    async fn pull_request(&self, dir: &Path, branch: &str) -> Result<Option<PullRequest>, String> {
        let answer = self.gh(dir, branch).await?;
        if answer.trim().is_empty() {
            return Ok(None);
        }
        let found: View = serde_json::from_str(&answer)
            .map_err(|error| format!("`gh pr view` printed something that cannot be read: {error}"))?;
        if found.state == "CLOSED" {
            return Ok(None);
        }
        Ok(Some(PullRequest { ci: ci(&found.checks), url: found.url }))
    }
}

/// What `gh pr view --json url,state,statusCheckRollup` prints.
#[derive(Deserialize)]
struct View {
    url: String,
    state: String,
    #[serde(rename = "statusCheckRollup", default)]
    checks: Vec<Check>,
}

/// A check run has `status` and `conclusion`, a commit status has `state`.
#[derive(Deserialize)]
struct Check {
    #[serde(default)]
    status: String,
    #[serde(default)]
    conclusion: String,
    #[serde(default)]
    state: String,
}

/// One failure is a failure, whatever is still to come; one that is not over leaves it open.
fn ci(checks: &[Check]) -> Ci {
    let each = checks.iter().map(|check| {
        let word = [&check.conclusion, &check.state, &check.status].into_iter().find(|word| !word.is_empty());
        match word.map_or("", String::as_str) {
            "SUCCESS" | "NEUTRAL" | "SKIPPED" => Ci::Passing,
            "FAILURE" | "ERROR" | "TIMED_OUT" | "CANCELLED" | "ACTION_REQUIRED" | "STARTUP_FAILURE" => Ci::Failing,
            _ => Ci::Pending,
        }
    });
    each.fold(Ci::None, |all, one| match (all, one) {
        (Ci::Failing, _) | (_, Ci::Failing) => Ci::Failing,
        (Ci::Pending, _) | (_, Ci::Pending) => Ci::Pending,
        _ => Ci::Passing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostRunner;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn git(dir: &Path, args: &[&str]) {
        let out = std::process::Command::new("git")
            .args(["-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "init.defaultBranch=trunk"])
            .args(args)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    fn remote() -> HostRemote {
        HostRemote::new(Arc::new(HostRunner::new()))
    }

    /// A repository with a remote `origin` whose default branch is `trunk`, cloned.
    fn cloned(dir: &Path) -> std::path::PathBuf {
        let (bare, seed, clone) = (dir.join("bare.git"), dir.join("seed"), dir.join("clone"));
        fs::create_dir_all(&seed).unwrap();
        git(&seed, &["init", "-q"]);
        git(&seed, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(dir, &["clone", "-q", "--bare", seed.to_str().unwrap(), bare.to_str().unwrap()]);
        git(dir, &["clone", "-q", bare.to_str().unwrap(), clone.to_str().unwrap()]);
        clone
    }

    #[tokio::test]
    async fn a_clone_knows_its_remote_default_branch_and_upstream() {
        let dir = tempfile::tempdir().unwrap();
        let clone = cloned(dir.path());
        let state = remote().state(&clone).await;
        let expected = RemoteState {
            remotes: vec!["origin".to_owned()],
            default_branch: Some("trunk".to_owned()),
            branch: Some("trunk".to_owned()),
            upstream: Some("trunk".to_owned()),
            pull_request: None,
        };
        assert_eq!(state, expected);
    }

    #[tokio::test]
    async fn a_branch_that_was_never_pushed_has_no_upstream_and_a_detached_head_no_branch() {
        let dir = tempfile::tempdir().unwrap();
        let clone = cloned(dir.path());
        git(&clone, &["checkout", "-q", "-b", "feature/main-nav"]);
        let state = remote().state(&clone).await;
        assert_eq!((state.branch.as_deref(), state.upstream), (Some("feature/main-nav"), None));
        git(&clone, &["push", "-q", "-u", "origin", "feature/main-nav"]);
        assert_eq!(remote().state(&clone).await.upstream.as_deref(), Some("feature/main-nav"));
        git(&clone, &["checkout", "-q", "--detach"]);
        let state = remote().state(&clone).await;
        assert_eq!((state.branch, state.upstream), (None, None));
    }

    #[tokio::test]
    async fn no_repository_and_no_remote_are_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(remote().state(dir.path()).await, RemoteState::default());
        git(dir.path(), &["init", "-q"]);
        let state = remote().state(dir.path()).await;
        assert_eq!((state.remotes, state.branch.as_deref()), (vec![], Some("trunk")));
    }

    /// Asks through a program called `gh` that does this.
    async fn ask(script: &str) -> Result<Option<PullRequest>, String> {
        let dir = tempfile::tempdir().unwrap();
        let gh = dir.path().join("gh");
        fs::write(&gh, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        HostRemote { path: Some(path), ..remote() }.pull_request(dir.path(), "feature/x").await
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the port gives it")]
    fn with(ci: Ci) -> Result<Option<PullRequest>, String> {
        Ok(Some(PullRequest { url: "https://github.com/o/r/pull/7".to_owned(), ci }))
    }

    async fn check(rollup: &str, expected: Ci) {
        let json = format!(r#"{{"url":"https://github.com/o/r/pull/7","state":"OPEN","statusCheckRollup":{rollup}}}"#);
        assert_eq!(ask(&format!("cat <<'E'\n{json}\nE")).await, with(expected), "{rollup}");
    }

    #[tokio::test]
    async fn the_worst_check_is_how_ci_stands() {
        check("[]", Ci::None).await;
        check(r#"[{"status":"COMPLETED","conclusion":"SUCCESS"},{"state":"SUCCESS"}]"#, Ci::Passing).await;
        check(r#"[{"status":"COMPLETED","conclusion":"SKIPPED"}]"#, Ci::Passing).await;
        check(r#"[{"status":"IN_PROGRESS","conclusion":""},{"state":"SUCCESS"}]"#, Ci::Pending).await;
        check(r#"[{"status":"QUEUED"},{"state":"FAILURE"}]"#, Ci::Failing).await;
        check(r#"[{"status":"COMPLETED","conclusion":"TIMED_OUT"}]"#, Ci::Failing).await;
        check(r#"[{"state":"EXPECTED"}]"#, Ci::Pending).await;
    }

    #[tokio::test]
    async fn the_branch_is_asked_for_without_prompts() {
        let script = r#"[ "$*" = "pr view --json url,state,statusCheckRollup -- feature/x" ] && [ "$GH_PROMPT_DISABLED" = 1 ] || exit 9
            echo '{"url":"https://github.com/o/r/pull/7","state":"MERGED","statusCheckRollup":[]}'"#;
        assert_eq!(ask(script).await, with(Ci::None));
    }

    #[tokio::test]
    async fn none_and_a_closed_one_are_none() {
        assert_eq!(ask(r#"echo 'no pull requests found for branch "feature/x"' >&2; exit 1"#).await, Ok(None));
        let closed = r#"echo '{"url":"u","state":"CLOSED","statusCheckRollup":[]}'"#;
        assert_eq!(ask(closed).await, Ok(None));
    }

    #[tokio::test]
    async fn whoever_cannot_be_asked_says_why() {
        assert_eq!(ask("exit 4").await, Err("`gh` is not logged in; run `gh auth login`".to_owned()));
        let failed = ask("echo 'error connecting to api.github.com' >&2; exit 1").await;
        assert_eq!(failed, Err("`gh pr view` failed: error connecting to api.github.com".to_owned()));
        assert!(ask("echo hello").await.unwrap_err().contains("cannot be read"));
        let nowhere = HostRemote { path: Some("/nonexistent".to_owned()), ..remote() };
        let error = nowhere.pull_request(Path::new("/"), "x").await.unwrap_err();
        assert!(error.starts_with("`gh` was not found on PATH"), "{error}");
    }
}
