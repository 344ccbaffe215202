//! `no_direct_push`, `pull_request` and `ci`: what went to the remote, and what the remote says, asked by the runtime.

use super::facts::View;
use super::finding::Finding;
use super::finding::Todo;
use super::went::Went;
use crate::services::Ci;
use crate::services::PullRequest;
use crate::services::RemoteState;
use crate::verification::commands::CommandKind;
use crate::verification::commands::PushTarget;

const PUSH: &str = "no_direct_push";
const PULL_REQUEST: &str = "pull_request";
const CI: &str = "ci";

pub(super) fn no_direct_push(view: &View<'_>) -> Finding {
    if view.timeline.is_empty() {
        return Finding::not_run(PUSH, "no tool call is recorded");
    }
    let is_push =
        |step: &super::timeline::Step<'_>, i: usize| matches!(&step.runs[i].kind, CommandKind::Push(to) if !to.dry_run);
    let (mut elsewhere, mut unknown) = (Vec::new(), Vec::new());
    for push in view.timeline.ran(is_push) {
        let CommandKind::Push(target) = &push.run.kind else { continue };
        if matches!(push.went, Went::Failed(_) | Went::NotStarted(_)) {
            continue;
        }
        let branches = branches(target, view.facts.remote);
        if branches.is_empty() {
            unknown.push(push.shown());
        }
        let Some(hit) = branches.iter().find(|branch| is_default(branch, view.facts.remote)) else {
            elsewhere.extend(branches);
            continue;
        };
        if asked_to_push(&view.task(), hit) {
            return Finding::not_run(PUSH, format!("{} pushes to `{hit}`, which the task asks for", push.shown()));
        }
        return Finding::failed(
            PUSH,
            format!("{} pushes to `{hit}`, the default branch", push.shown()),
            Todo::high(
                format!("No direct push to `{hit}`"),
                format!(
                    "Say that `{hit}` was pushed to; put the work on a branch of its own, push that, and open a pull request."
                ),
            ),
        );
    }
    if !unknown.is_empty() {
        return Finding::not_run(PUSH, format!("where {} goes is not known", unknown.join(", ")));
    }
    if elsewhere.is_empty() {
        return Finding::passed(PUSH, "nothing was pushed");
    }
    Finding::passed(PUSH, format!("only {} was pushed to", elsewhere.join(", ")))
}

/// The branches that a push goes to; none where that is not known.
fn branches(target: &PushTarget, remote: Option<&RemoteState>) -> Vec<String> {
    if !target.branches.is_empty() {
        return target.branches.iter().map(|branch| short(branch)).collect();
    }
    let upstream = remote.and_then(|r| {
        let upstream = r.upstream.as_deref()?;
        let name = r.remotes.iter().find_map(|name| upstream.strip_prefix(name.as_str())?.strip_prefix('/'));
        Some(name.unwrap_or(upstream).to_owned())
    });
    let branch = remote.and_then(|r| r.branch.clone());
    upstream.or(branch).into_iter().map(|branch| short(&branch)).collect()
}

fn short(branch: &str) -> String {
    branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned()
}

fn is_default(branch: &str, remote: Option<&RemoteState>) -> bool {
    match remote.and_then(|r| r.default_branch.as_deref()) {
        Some(default) => branch == default,
        None => matches!(branch, "main" | "master"),
    }
}

/// Whether the task itself asks to push to a branch: a sentence says so, and none asks for another way.
fn asked_to_push(task: &str, branch: &str) -> bool {
    let task = task.to_ascii_lowercase();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-' && c != '/').map(str::to_owned).collect()
    };
    let pushes = task.split(['.', '\n', ';', '!']).filter(|sentence| words(sentence).iter().any(|w| w == "push"));
    let (mut asked, mut named) = (false, false);
    for sentence in pushes {
        let words = words(sentence);
        if words
            .iter()
            .any(|w| matches!(w.as_str(), "never" | "not" | "no" | "without" | "avoid" | "don't" | "instead"))
        {
            return false;
        }
        asked = true;
        named |= words.iter().any(|w| *w == branch.to_ascii_lowercase());
    }
    let all = words(&task);
    let other_way = all.iter().any(|w| matches!(w.as_str(), "pr" | "prs" | "branch"))
        || task.contains("pull request")
        || task.contains("merge request");
    named || (asked && !other_way)
}

/// The pull request, or why nothing is known of it.
fn asked<'a>(view: &View<'a>) -> Result<Option<&'a PullRequest>, String> {
    match view.facts.remote.and_then(|r| r.pull_request.as_ref()) {
        None => Err("nobody asked for the pull request".to_owned()),
        Some(Err(because)) => Err(because.clone()),
        Some(Ok(found)) => Ok(found.as_ref()),
    }
}

pub(super) fn pull_request(view: &View<'_>) -> Finding {
    let Some(why) = &view.facts.required.pull_request else {
        return Finding::not_run(PULL_REQUEST, view.not_required("pull request"));
    };
    match asked(view) {
        Err(because) => Finding::not_run(PULL_REQUEST, because),
        Ok(Some(found)) => Finding::passed(PULL_REQUEST, &found.url),
        Ok(None) => Finding::failed(
            PULL_REQUEST,
            format!("the branch has no open pull request; one is required: {why}"),
            Todo::medium("A pull request", "Push your branch and open a pull request with `gh pr create`."),
        ),
    }
}

pub(super) fn ci(view: &View<'_>) -> Finding {
    let Some(why) = &view.facts.required.ci else {
        return Finding::not_run(CI, view.not_required("CI"));
    };
    let found = match asked(view) {
        Err(because) => return Finding::not_run(CI, because),
        Ok(None) => return Finding::not_run(CI, "there is no pull request that CI could run on"),
        Ok(Some(found)) => found,
    };
    match found.ci {
        Ci::Passing => Finding::passed(CI, format!("every check of {} passed", found.url)),
        Ci::Pending => Finding::not_run(CI, format!("the checks of {} are not over", found.url)),
        Ci::None => Finding::not_run(CI, format!("{} has no checks", found.url)),
        Ci::Failing => Finding::failed(
            CI,
            format!("a check of {} failed; green CI is required: {why}", found.url),
            Todo::high("Green CI", "Look at the failed check with `gh pr checks`, fix the cause, and push again."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Turn;
    use super::super::fixture::coding;
    use super::*;

    fn on(branch: Option<&str>, upstream: Option<&str>, default: Option<&str>) -> Option<RemoteState> {
        Some(RemoteState {
            remotes: vec!["origin".to_owned()],
            default_branch: default.map(str::to_owned),
            branch: branch.map(str::to_owned),
            upstream: upstream.map(str::to_owned),
            pull_request: None,
        })
    }

    fn pushed(line: &str, remote: Option<RemoteState>) -> Turn {
        Turn { remote, ..coding().edit("a.rs").ran(line, 0, "") }
    }

    #[test]
    fn the_branch_that_is_pushed_to_is_what_counts() {
        pushed("git push origin main", None).fails(PUSH, "`main`, the default branch");
        pushed("git push origin HEAD:master", None).fails(PUSH, "`master`");
        pushed("git push -u origin feature/main-nav && gh pr create --base main", None)
            .passes(PUSH, "feature/main-nav");
        pushed("git push origin main", on(None, None, Some("trunk"))).passes(PUSH, "main");
        pushed("git push origin trunk", on(None, None, Some("trunk"))).fails(PUSH, "`trunk`");
        pushed("git push --dry-run origin main", None).passes(PUSH, "nothing was pushed");
        pushed("echo git push origin main", None).passes(PUSH, "nothing was pushed");
        coding().is_silent(PUSH, "no tool call");
        coding().ran("git push origin main", 1, "rejected").passes(PUSH, "nothing was pushed");
    }

    #[test]
    fn a_bare_push_goes_where_git_is_told_to_push() {
        pushed("git push", None).is_silent(PUSH, "where `git push` goes is not known");
        pushed("git push", on(Some("main"), Some("main"), Some("main"))).fails(PUSH, "`main`");
        pushed("git push", on(Some("main"), Some("origin/main"), Some("main"))).fails(PUSH, "`main`");
        pushed("git push", on(Some("fix"), None, Some("main"))).passes(PUSH, "fix");
    }

    #[test]
    fn a_push_that_the_task_asks_for_is_no_offence() {
        let check = |task: &str, refuted: bool| {
            let mut turn = pushed("git push origin main", None);
            turn.turn.task = task.to_owned();
            let found = turn.findings().into_iter().find(|f| f.report.gate == PUSH).unwrap();
            assert_eq!(found.is_failed(), refuted, "{task}: {}", found.report.evidence);
        };
        check("Fix the typo and push it to main.", false);
        check("Fix the typo, commit and push.", false);
        check("Fix the typo. Never push directly to main.", true);
        check("Fix the typo, push your branch and open a PR.", true);
        check("Fix the typo.", true);
    }

    fn reviewed(pull_request: Option<Result<Option<PullRequest>, String>>) -> Turn {
        let mut turn = Turn { remote: on(Some("x"), None, None), ..coding() };
        turn.required.pull_request = Some("the task asks for it".to_owned());
        turn.required.ci = Some("the project asks for it".to_owned());
        turn.remote.as_mut().unwrap().pull_request = pull_request;
        turn
    }

    #[test]
    fn what_the_remote_says_and_nothing_else() {
        let with = |ci| reviewed(Some(Ok(Some(PullRequest { url: "https://x/pull/1".to_owned(), ci }))));
        with(Ci::Passing).passes(PULL_REQUEST, "https://x/pull/1");
        with(Ci::Passing).passes(CI, "passed");
        with(Ci::Failing).fails(CI, "failed");
        with(Ci::Pending).is_silent(CI, "not over");
        with(Ci::None).is_silent(CI, "no checks");
        reviewed(Some(Ok(None))).fails(PULL_REQUEST, "no open pull request");
        reviewed(Some(Err("`gh` is not logged in".to_owned()))).is_silent(PULL_REQUEST, "not logged in");
        reviewed(None).is_silent(CI, "nobody asked");
        coding().is_silent(PULL_REQUEST, "not required");
    }
}
