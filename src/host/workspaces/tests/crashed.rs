//! A runtime that is killed while an agent works: the next one puts back what the agent did.

use super::guarding::project;
use super::guarding::shared;
use super::project::*;
use crate::services::Tampering;
use crate::services::Workspaces;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

/// An attempt that is never brought to its end.
struct Killed {
    project: Project,
    before: Vec<String>,
}

impl Killed {
    /// The agent acts, and so does the user; then the runtime is killed.
    async fn after(act: impl FnOnce(&Path, &Path)) -> Self {
        let project = project();
        let before = shared(&project.top);
        let workspace = project.open().await;
        reset(&workspace).await;
        workspace.guard().await.unwrap();
        act(&workspace.dir(), &project.top);
        let killed = Self { project, before };
        killed.alive_until(SystemTime::now() + Duration::from_secs(1));
        killed
    }

    fn guarded(&self) -> Vec<String> {
        let entries = fs::read_dir(self.project.top.join(".reflection/guarded")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn alive_until(&self, at: SystemTime) {
        for name in self.guarded().iter().filter(|name| name.ends_with(".alive")) {
            let file = File::options().write(true).open(self.project.top.join(".reflection/guarded").join(name));
            file.unwrap().set_modified(at).unwrap();
        }
    }

    /// Begins the next run; what it says.
    async fn begin(&self) -> Vec<String> {
        let next = crate::domain::RunId::new("r2").unwrap();
        let said = self.project.workspaces().begin(next.clone().into()).await.unwrap().put_back;
        let again = self.project.workspaces().begin(next.into()).await.unwrap().put_back;
        assert_eq!(again, Tampering::default(), "it is put back once");
        said.by_agent.into_iter().chain(said.left).collect()
    }
}

fn check_said(said: &[String], words: &[&str]) {
    assert_eq!(said.len(), words.len(), "{said:#?}");
    for word in words {
        assert!(said.iter().any(|said| said.contains(word)), "{word}: {said:#?}");
    }
}

fn everything(dir: &Path, top: &Path) {
    write(dir, "a", "x");
    git(dir, &["checkout", "-q", "-b", "evil"]);
    git(dir, &["commit", "-qam", "x"]);
    git(dir, &["tag", "v2"]);
    git(dir, &["update-ref", "refs/heads/main", "HEAD"]);
    git(dir, &["branch", "-D", "side"]);
    git(dir, &["stash", "clear"]);
    git(dir, &["config", "alias.x", "!sh"]);
    write(top, ".git/hooks/post-commit", "evil");
    fs::remove_file(top.join(".git/hooks/pre-commit")).unwrap();
}

#[tokio::test]
async fn what_the_agent_did_before_the_crash_is_put_back() {
    let killed = Killed::after(everything).await;
    let said = killed.begin().await;
    assert_eq!(shared(&killed.project.top), killed.before, "{said:#?}");
    check_said(
        &said,
        &[
            "branch `evil`",
            "tag `v2`",
            "branch `main` was moved",
            "branch `side`",
            "stash entry was dropped",
            "`.git/config`",
            "post-commit` was added; removed",
            "pre-commit` was changed; put back",
        ],
    );
    assert_eq!(killed.guarded(), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_user_does_after_the_crash_stays() {
    let killed = Killed::after(|_, _| {}).await;
    let top = &killed.project.top;
    killed.alive_until(SystemTime::now() - Duration::from_mins(1));
    write(top, "a", "user");
    git(top, &["commit", "-qam", "user"]);
    git(top, &["checkout", "-q", "-b", "topic"]);
    git(top, &["tag", "v2"]);
    git(top, &["config", "user.name", "Somebody Else"]);
    write(top, ".git/hooks/post-commit", "mine");
    write(top, "a", "more");
    git(top, &["stash", "-q"]);
    let after = shared(top);
    let said = killed.begin().await;
    assert_eq!(shared(top), after, "{said:#?}");
    check_said(&said, &["`.git/config` was changed; left", "post-commit` was changed; left"]);
    let kept = read(top, ".reflection/runs/r1/before/config");
    assert!(kept.contains("U Ser") && !kept.contains("Somebody Else"), "{kept}");
}

#[tokio::test]
async fn where_nobody_knows_who_it_was_only_what_would_be_lost_is_put_back() {
    let killed = Killed::after(|_, _| {}).await;
    let top = &killed.project.top;
    killed.alive_until(SystemTime::now() - Duration::from_mins(1));
    git(top, &["branch", "-D", "side"]);
    git(top, &["update-ref", "refs/tags/v1", &git(top, &["commit-tree", "-m", "x", "HEAD^{tree}"])]);
    fs::remove_file(top.join(".git/hooks/pre-commit")).unwrap();
    let said = killed.begin().await;
    check_said(&said, &["branch `side`", "tag `v1` was moved", "pre-commit` was changed; put back"]);
    assert_eq!(git(top, &["branch", "--list", "side"]), "side");
    assert!(top.join(".git/hooks/pre-commit").exists());
    assert_ne!(git(top, &["rev-parse", "v1"]), git(top, &["rev-parse", "HEAD"]));
}

#[tokio::test]
async fn what_agents_of_the_same_time_did_is_told_apart() {
    let project = project();
    let before = shared(&project.top);
    let workspaces = project.workspaces();
    workspaces.begin(run_id().into()).await.unwrap();
    let bad = open(&workspaces, "bad", &[]).await.unwrap();
    let good = open(&workspaces, "good", &[]).await.unwrap();
    bad.guard().await.unwrap();
    write(&bad.dir(), "a", "x");
    git(&bad.dir(), &["stash", "-q"]);
    git(&bad.dir(), &["checkout", "-q", "-b", "evil"]);
    git(&bad.dir(), &["config", "alias.x", "!sh"]);
    // This one begins while all of that is there.
    good.guard().await.unwrap();
    git(&bad.dir(), &["branch", "-q", "-D", "side"]);
    drop((good, bad, workspaces));
    let killed = Killed { project, before };
    assert_eq!(killed.guarded(), ["bad.alive", "bad.json", "good.alive", "good.json"]);
    killed.alive_until(SystemTime::now() + Duration::from_secs(1));
    let said = killed.begin().await;
    assert_eq!(shared(&killed.project.top), killed.before, "{said:#?}");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_set_aside_and_told() {
    let killed = Killed::after(|dir, _| drop(git(dir, &["tag", "v2"]))).await;
    write(&killed.project.top, ".reflection/guarded/t.json", "{");
    let said = killed.begin().await;
    check_said(&said, &["damaged"]);
    assert_eq!(killed.guarded(), ["t.json.not-restored"]);
}

#[tokio::test]
async fn an_attempt_that_was_broken_off_is_put_back_when_its_workspace_is_closed() {
    let project = project();
    let before = shared(&project.top);
    let workspace = project.open().await;
    workspace.guard().await.unwrap();
    git(&workspace.dir(), &["branch", "-D", "side"]);
    workspace.close().await.unwrap();
    assert_eq!(shared(&project.top), before);
    assert_eq!(fs::read_dir(project.top.join(".reflection/guarded")).unwrap().count(), 0);
}
