//! `pull_request` and `ci`: what the remote says, asked by the runtime.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::went::Went;
use crate::services::{Ci, PullRequest};
use crate::verification::commands::{CommandKind, Run};

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
        Err(because) => match last_is_red(view, opens, &["already exists"]) {
            Some(line) => Finding::failed(
                PULL_REQUEST,
                format!("{line} failed; a pull request is required: {why}"),
                Todo::medium("A pull request", format!("Look at why {line} failed, and open the pull request.")),
            ),
            None => Finding::not_run(PULL_REQUEST, because),
        },
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
        Err(because) => {
            let checks = |run: &Run| run.kind == CommandKind::Ci;
            return match last_is_red(view, checks, &["no checks", "pending", "in_progress", "queued"]) {
                Some(line) => Finding::failed(
                    CI,
                    format!("{line} says that a check failed; green CI is required: {why}"),
                    Todo::high("Green CI", format!("Look at what {line} shows, fix the cause, and push again.")),
                ),
                None => Finding::not_run(CI, because),
            };
        }
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

/// `gh pr create`, `glab mr create`
fn opens(run: &Run) -> bool {
    let words: Vec<&str> = run.words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).take(3).collect();
    run.kind == CommandKind::PullRequest && matches!(words.as_slice(), [_, "pr" | "mr", "create" | "new"])
}

/// The last recorded command of a kind, if it is red for the thing's own sake, and nothing after it went to the forge. Who
/// is not logged in, or does not reach it, knows nothing.
fn last_is_red(view: &View<'_>, is: impl Fn(&Run) -> bool, open: &[&str]) -> Option<String> {
    const OPEN: [&str; 14] = [
        "no pull request",
        "no open pull request",
        "not logged in",
        "auth",
        "token",
        "permission",
        "forbidden",
        "could not resolve",
        "connect",
        "timeout",
        "timed out",
        "rate limit",
        "http 5",
        "unknown flag",
    ];
    let last = view.timeline.ran(|step, i| is(&step.runs[i])).last()?;
    let Went::Failed(_) = last.went else { return None };
    let step = view.timeline.steps.iter().find(|step| step.action.number == last.at.0)?;
    let outcome = step.action.outcome.as_ref()?;
    let output = outcome.output.to_ascii_lowercase();
    let is_open = outcome.exit_code != Some(1) || OPEN.iter().chain(open).any(|words| output.contains(words));
    let forge = |run: &Run| matches!(run.kind, CommandKind::Push(_) | CommandKind::PullRequest | CommandKind::Ci);
    let tool = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["github", "gitlab", "pull_request", "merge_request"].iter().any(|word| name.contains(word))
    };
    let after = view.timeline.steps.iter().filter(|step| step.action.number > last.at.0);
    let moved_on = after.into_iter().any(|step| step.dark || step.runs.iter().any(forge) || tool(&step.action.tool));
    (!is_open && !moved_on).then(|| last.shown())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Turn, coding, on};
    use super::*;

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

    #[test]
    fn a_recorded_call_of_the_forges_program_that_is_red_last_is_a_fact() {
        let create = |exit, output: &str| reviewed(None).ran("gh pr create --fill", exit, output);
        create(1, "GraphQL: Head sha can't be blank").fails(PULL_REQUEST, "`gh pr create --fill` failed");
        create(1, "a pull request for branch x already exists").is_silent(PULL_REQUEST, "nobody asked");
        create(4, "run gh auth login").is_silent(PULL_REQUEST, "nobody asked");
        create(127, "gh: not found").is_silent(PULL_REQUEST, "nobody asked");
        create(0, "https://x/pull/1").is_silent(PULL_REQUEST, "nobody asked");
        create(1, "x").ran("gh pr create --web", 0, "").is_silent(PULL_REQUEST, "nobody asked");
        create(1, "x").ran("git push -u origin x", 0, "").is_silent(PULL_REQUEST, "nobody asked");
        let checks = |exit, output: &str| reviewed(None).ran("gh pr checks", exit, output);
        checks(1, "build\tfail\t1m2s\thttps://x").fails(CI, "`gh pr checks` says that a check failed");
        checks(8, "build\tpending").is_silent(CI, "nobody asked");
        checks(1, "no checks reported on the 'x' branch").is_silent(CI, "nobody asked");
        checks(1, "build\tfail").ran("gh pr checks", 0, "build\tpass").is_silent(CI, "nobody asked");
        coding().ran("gh pr checks", 1, "build\tfail").is_silent(CI, "not required");
        let there = Some(Ok(Some(PullRequest { url: "https://x/pull/1".to_owned(), ci: Ci::Passing })));
        reviewed(there).ran("gh pr checks", 1, "build\tfail").passes(CI, "passed");
    }
}
