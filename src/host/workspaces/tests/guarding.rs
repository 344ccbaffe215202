//! What an agent does to the user's repository, and what the user does meanwhile.

use super::project::*;
use crate::services::Tampering;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two commits, a tag, a side branch, a stash, a hook.
pub(super) fn project() -> Project {
    let project = Project::git(&[("a", "a\n")]);
    let top = &project.top;
    git(top, &["branch", "side"]);
    git(top, &["tag", "v1"]);
    write(top, "a", "stashed\n");
    git(top, &["stash", "-q"]);
    write(top, ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    project
}

/// What is shared: refs, stash, configuration, hooks.
pub(super) fn shared(top: &Path) -> Vec<String> {
    let mut all = vec![
        git(top, &["for-each-ref"]),
        git(top, &["stash", "list", "--format=%H %gs"]),
        git(top, &["symbolic-ref", "HEAD"]),
    ];
    for name in ["config", "hooks/pre-commit", "info/exclude"] {
        all.push(read(top, &format!(".git/{name}")));
    }
    all.push(format!("{:?}", top.join(".git/hooks/post-commit").exists()));
    all
}

/// The agent acts in the workspace: everything is put back and each of the words is said.
async fn check_agent(act: impl FnOnce(&Path, &Path), words: &[&str]) {
    let project = project();
    let before = shared(&project.top);
    let workspace = project.open().await;
    reset(&workspace).await;
    workspace.guard().await.unwrap();
    act(&workspace.dir(), &project.top);
    let said = workspace.restore_guarded().await.unwrap().by_agent;
    assert_eq!(shared(&project.top), before, "{said:?}");
    assert_eq!(said.len(), words.len(), "{said:?}");
    for (said, word) in said.iter().zip(words) {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(workspace.restore_guarded().await.unwrap(), Tampering::default());
    reset(&workspace).await;
    assert!(record(&workspace).await.no_op);
}

#[tokio::test]
async fn branches_and_tags_are_put_back() {
    check_agent(
        |dir, _| {
            git(dir, &["branch", "evil"]);
        },
        &["branch `evil`"],
    )
    .await;
    check_agent(
        |dir, _| {
            git(dir, &["tag", "v2"]);
        },
        &["tag `v2`"],
    )
    .await;
    check_agent(
        |dir, _| {
            git(dir, &["tag", "-d", "v1"]);
        },
        &["tag `v1`"],
    )
    .await;
    check_agent(
        |dir, _| {
            git(dir, &["branch", "-D", "side"]);
        },
        &["branch `side`"],
    )
    .await;
    let commit = |dir: &Path, _: &Path| {
        write(dir, "a", "x");
        git(dir, &["checkout", "-q", "side"]);
        git(dir, &["commit", "-qam", "x"]);
    };
    check_agent(commit, &["branch `side` was moved"]).await;
    let onto_main = |dir: &Path, _: &Path| {
        write(dir, "a", "x");
        git(dir, &["commit", "-qam", "x"]);
        git(dir, &["update-ref", "refs/heads/main", "HEAD"]);
    };
    check_agent(onto_main, &["branch `main` was moved"]).await;
}

#[tokio::test]
async fn configuration_and_hooks_are_put_back() {
    check_agent(
        |dir, _| {
            git(dir, &["config", "alias.x", "!sh"]);
        },
        &["config"],
    )
    .await;
    let hooks = |_: &Path, top: &Path| {
        write(top, ".git/hooks/post-commit", "evil");
        fs::remove_file(top.join(".git/hooks/pre-commit")).unwrap();
        write(top, ".git/info/exclude", "*\n");
    };
    check_agent(hooks, &["post-commit", "pre-commit", "info/exclude"]).await;
}

#[tokio::test]
async fn the_stash_is_put_back() {
    let push = |dir: &Path, _: &Path| {
        write(dir, "a", "x");
        git(dir, &["stash", "-q"]);
    };
    check_agent(push, &["stash entry was added"]).await;
    check_agent(
        |dir, _| {
            git(dir, &["stash", "drop", "-q"]);
        },
        &["stash entry was dropped"],
    )
    .await;
    let and_pop = |dir: &Path, top: &Path| {
        push(dir, top);
        git(dir, &["stash", "pop", "-q"]);
    };
    check_agent(and_pop, &[]).await;
}

#[tokio::test]
async fn own_commits_and_detached_work_are_nobodys_business() {
    let act = |dir: &Path, _: &Path| {
        write(dir, "a", "x");
        git(dir, &["commit", "-qam", "x"]);
        git(dir, &["reset", "-q", "--hard", "HEAD~1"]);
    };
    check_agent(act, &[]).await;
}

/// The user acts in the checkout while an agent works: nothing of it is undone, nobody is blamed.
async fn check_user(act: impl FnOnce(&Path)) {
    let project = project();
    let workspace = project.open().await;
    reset(&workspace).await;
    workspace.guard().await.unwrap();
    write(&workspace.dir(), "a", "agent");
    git(&workspace.dir(), &["commit", "-qam", "agent"]);
    act(&project.top);
    let after = shared(&project.top);
    let said = workspace.restore_guarded().await.unwrap().by_agent;
    assert_eq!(said, Vec::<String>::new());
    assert_eq!(shared(&project.top), after);
}

#[tokio::test]
async fn what_the_user_does_meanwhile_stays() {
    check_user(|top| {
        write(top, "a", "user");
        git(top, &["commit", "-qam", "user"]);
    })
    .await;
    check_user(|top| {
        git(top, &["checkout", "-q", "-b", "topic"]);
    })
    .await;
    check_user(|top| {
        git(top, &["checkout", "-q", "side"]);
        write(top, "a", "user");
        git(top, &["commit", "-qam", "user"]);
        git(top, &["checkout", "-q", "main"]);
        git(top, &["merge", "-q", "side"]);
    })
    .await;
    check_user(|top| {
        write(top, "a", "user");
        git(top, &["stash", "-q"]);
    })
    .await;
    check_user(|top| {
        git(top, &["stash", "pop", "-q"]);
    })
    .await;
    check_user(|top| {
        let other = Project::git(&[("b", "b\n")]);
        git(&other.top, &["tag", "upstream"]);
        git(top, &["fetch", "-q", "--tags", other.top.to_str().unwrap()]);
    })
    .await;
    check_user(|top| {
        git(top, &["config", "branch.main.remote", "origin"]);
    })
    .await;
}

#[tokio::test]
async fn tasks_at_the_same_time_are_not_blamed_for_each_other() {
    let project = project();
    let before = shared(&project.top);
    let workspaces = project.workspaces();
    crate::services::Workspaces::begin(&workspaces, run_id().into()).await.unwrap();
    let good = open(&workspaces, "good", &[]).await.unwrap();
    let bad = open(&workspaces, "bad", &[]).await.unwrap();
    good.guard().await.unwrap();
    bad.guard().await.unwrap();
    git(&bad.dir(), &["checkout", "-q", "-b", "evil"]);
    write(&bad.dir(), "a", "x");
    git(&bad.dir(), &["commit", "-qam", "x"]);
    write(&good.dir(), "a", "y");
    git(&good.dir(), &["commit", "-qam", "y"]);
    confirm(&good, "good").await;
    assert_eq!(good.restore_guarded().await.unwrap(), Tampering::default());
    let said = bad.restore_guarded().await.unwrap().by_agent;
    assert_eq!(said.len(), 1, "{said:?}");
    git(&project.top, &["branch", "-q", "-D", "reflexion/r1/good"]);
    assert_eq!(shared(&project.top), before);
}

#[tokio::test]
async fn what_one_attempt_put_back_is_not_brought_back_by_another() {
    let project = project();
    let before = shared(&project.top);
    let workspaces = project.workspaces();
    crate::services::Workspaces::begin(&workspaces, run_id().into()).await.unwrap();
    let bad = open(&workspaces, "bad", &[]).await.unwrap();
    let good = open(&workspaces, "good", &[]).await.unwrap();
    bad.guard().await.unwrap();
    write(&bad.dir(), "a", "x");
    git(&bad.dir(), &["stash", "-q"]);
    git(&bad.dir(), &["checkout", "-q", "-b", "evil"]);
    git(&bad.dir(), &["config", "alias.x", "!sh"]);
    // This one begins while all of that is there.
    good.guard().await.unwrap();
    bad.restore_guarded().await.unwrap();
    assert_eq!(shared(&project.top), before);
    assert_eq!(good.restore_guarded().await.unwrap(), Tampering::default());
    assert_eq!(shared(&project.top), before);
}

#[tokio::test]
async fn a_branch_that_an_agent_made_and_deleted_stays_away() {
    let project = project();
    let before = shared(&project.top);
    let workspaces = project.workspaces();
    crate::services::Workspaces::begin(&workspaces, run_id().into()).await.unwrap();
    let bad = open(&workspaces, "bad", &[]).await.unwrap();
    let good = open(&workspaces, "good", &[]).await.unwrap();
    bad.guard().await.unwrap();
    git(&bad.dir(), &["checkout", "-q", "-b", "mine"]);
    // This one takes it for the user's.
    good.guard().await.unwrap();
    git(&bad.dir(), &["checkout", "-q", "--detach"]);
    git(&bad.dir(), &["branch", "-q", "-D", "mine"]);
    assert_eq!(bad.restore_guarded().await.unwrap(), Tampering::default());
    assert_eq!(good.restore_guarded().await.unwrap(), Tampering::default());
    assert_eq!(shared(&project.top), before);
}

#[tokio::test]
async fn no_hook_of_the_user_runs_for_us() {
    let project = project();
    let trace = project.top.join("hook-ran");
    for hook in ["pre-commit", "post-checkout", "reference-transaction", "post-commit"] {
        let name = format!(".git/hooks/{hook}");
        write(&project.top, &name, &format!("#!/bin/sh\ntouch '{}'\n", trace.display()));
        let file = project.top.join(&name);
        assert!(Command::new("chmod").arg("+x").arg(file).status().unwrap().success());
    }
    let workspace = project.open().await;
    reset(&workspace).await;
    write(&workspace.dir(), "a", "x");
    confirm(&workspace, "t").await;
    workspace.close().await.unwrap();
    assert!(!trace.exists());
}

#[tokio::test]
async fn a_user_who_switches_branches_is_told_and_nobody_is_blamed() {
    let project = project();
    let workspace = project.open().await;
    let look = async || {
        workspace.guard().await.unwrap();
        git(&project.top, &["switch", "-q", "side"]);
        let said = workspace.restore_guarded().await.unwrap();
        git(&project.top, &["switch", "-q", "main"]);
        said
    };
    let said = look().await;
    assert_eq!((said.by_agent, said.left.len()), (Vec::new(), 1));
    for words in ["from branch `main` to branch `side`", "git switch main", project.top.to_str().unwrap()] {
        assert!(said.left[0].contains(words), "{}", said.left[0]);
    }
    assert_eq!(look().await, Tampering::default(), "once is enough");
}

#[tokio::test]
async fn a_lock_that_a_killed_git_left_is_no_obstacle() {
    let project = project();
    let before = shared(&project.top);
    let workspace = project.open().await;
    write(&project.top, ".git/refs/heads/users.lock", "");
    workspace.guard().await.unwrap();
    git(
        &workspace.dir(),
        &["branch", "-f", "side", &git(&workspace.dir(), &["commit-tree", "-m", "x", "HEAD^{tree}"])],
    );
    write(&project.top, ".git/refs/heads/side.lock", "");
    assert_eq!(workspace.restore_guarded().await.unwrap().by_agent.len(), 1);
    assert_eq!(shared(&project.top), before);
    assert!(!project.top.join(".git/refs/heads/side.lock").exists());
    assert!(project.top.join(".git/refs/heads/users.lock").exists(), "it was there before");
}

/// A push of an agent that has the environment of agents; whether it went through.
fn pushes(workspace: &std::sync::Arc<dyn crate::services::Workspace>, args: &[&str]) -> bool {
    let mut push = Command::new("git");
    push.arg("push").args(args).current_dir(workspace.dir()).envs(workspace.env());
    let out = push.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() || said.contains("reflexion-does-not-push"), "{args:?}: {said}");
    out.status.success()
}

/// A project with two remotes in directories, one with a push URL of its own.
fn with_remotes() -> (Project, tempfile::TempDir) {
    let (project, remotes) = (project(), tempfile::tempdir().unwrap());
    for name in ["origin", "other", "nobodys"] {
        git(remotes.path(), &["init", "-q", "--bare", name]);
    }
    let url = |name: &str| remotes.path().join(name).display().to_string();
    git(&project.top, &["remote", "add", "origin", &url("origin")]);
    git(&project.top, &["remote", "add", "other", "https://example.org/x.git"]);
    git(&project.top, &["config", "remote.other.pushurl", &url("other")]);
    git(&project.top, &["push", "-q", "origin", "main"]);
    (project, remotes)
}

#[tokio::test]
async fn agents_cannot_push_by_plain_git() {
    let (project, remotes) = with_remotes();
    let workspace = project.open().await;
    let origin = remotes.path().join("origin").display().to_string();
    for args in [
        vec!["origin", "HEAD:refs/heads/x"],
        vec!["--force", "other", "HEAD:refs/heads/x"],
        vec!["--delete", "origin", "main"],
        vec![origin.as_str(), "HEAD:refs/heads/x"],
        vec![&format!("file://{origin}"), "HEAD:refs/heads/x"],
        vec!["https://example.org/y.git", "HEAD:refs/heads/x"],
        vec!["git@example.org:y.git", "HEAD:refs/heads/x"],
    ] {
        assert!(!pushes(&workspace, &args), "{args:?}");
    }
    // A project's own tests may push into what they have made.
    assert!(pushes(&workspace, &[remotes.path().join("nobodys").to_str().unwrap(), "HEAD:refs/heads/x"]));
    let fetch =
        Command::new("git").args(["fetch", "-q", "origin"]).current_dir(workspace.dir()).envs(workspace.env()).status();
    assert!(fetch.unwrap().success(), "fetching goes on");

    let mut project = project;
    project.pushes = crate::domain::policy::Pushes::Allowed;
    workspace.close().await.unwrap();
    assert!(pushes(&project.open().await, &["origin", "HEAD:refs/heads/x"]));
}

#[tokio::test]
async fn a_push_that_happened_all_the_same_is_told() {
    let (project, _remotes) = with_remotes();
    let workspace = project.open().await;
    workspace.guard().await.unwrap();
    write(&workspace.dir(), "a", "x");
    git(&workspace.dir(), &["commit", "-qam", "x"]);
    // Without the environment of agents.
    git(&workspace.dir(), &["push", "-q", "origin", "HEAD:refs/heads/stolen"]);
    let said = workspace.restore_guarded().await.unwrap();
    let told = |words: &str, all: &[String]| assert!(all.iter().any(|said| said.contains(words)), "{words}: {all:#?}");
    told("`refs/heads/stolen` of the remote `origin` was made", &said.by_agent);
    told("`refs/heads/stolen` of the remote `origin` was made", &said.left);
    told("`refs/remotes/origin/stolen` was made", &said.left);

    workspace.guard().await.unwrap();
    git(&workspace.dir(), &["push", "-q", "--delete", "origin", "main"]);
    let said = workspace.restore_guarded().await.unwrap();
    assert_eq!(said.by_agent, Vec::<String>::new(), "nobody knows who it was");
    told("`refs/heads/main` of the remote `origin` was deleted", &said.left);
}

#[tokio::test]
async fn what_the_user_pushes_after_committing_meanwhile_is_their_own() {
    let (project, _remotes) = with_remotes();
    let workspace = project.open().await;
    workspace.guard().await.unwrap();
    write(&project.top, "a", "user");
    git(&project.top, &["commit", "-qam", "user"]);
    git(&project.top, &["push", "-q", "origin", "main"]);
    git(&project.top, &["fetch", "-q", "origin"]);
    assert_eq!(workspace.restore_guarded().await.unwrap(), Tampering::default());
}
