//! `pull_request` and `ci`: what the remote says, asked by the runtime.

use super::facts::View;
use super::finding::Finding;
use super::finding::Todo;
use crate::services::Ci;
use crate::services::PullRequest;

const PULL_REQUEST: &str = "pull_request";
const CI: &str = "ci";

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
    use crate::services::RemoteState;

    fn on(branch: Option<&str>, upstream: Option<&str>, default: Option<&str>) -> Option<RemoteState> {
        Some(RemoteState {
            remotes: vec!["origin".to_owned()],
            default_branch: default.map(str::to_owned),
            branch: branch.map(str::to_owned),
            upstream: upstream.map(str::to_owned),
            pull_request: None,
        })
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
