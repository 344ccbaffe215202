//! `no_direct_push`: what went to the default branch.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::offence::Offence;
use super::timeline::{Step, shown};
use super::went::{Went, went};
use crate::domain::{Allow, ToolStatus};
use crate::services::RemoteState;
use crate::verification::commands::{CommandKind, PushTarget, Run};

const PUSH: &str = "no_direct_push";

/// What one push did, as far as it is known.
enum Pushed {
    /// To these branches; `*` is all of them.
    To(Vec<String>),
    /// Nowhere: it was refused, or there was nothing to push.
    Nowhere,
    /// It may have gone anywhere.
    Unknown,
}

pub(super) fn no_direct_push(view: &View<'_>) -> Finding {
    if view.timeline.is_empty() {
        return Finding::not_run(PUSH, "no tool call is recorded");
    }
    let remote = view.facts.remote;
    let mut checked_out = CheckedOut::Unsaid;
    let (mut elsewhere, mut unknown) = (Vec::new(), Vec::new());
    for step in &view.timeline.steps {
        let line = || shown(step.action.command.as_deref().unwrap_or_default());
        for (i, run) in step.runs.iter().enumerate() {
            if merges(run) {
                match happened(step, i) {
                    Some(true) => return merged(view, &line()),
                    None => unknown.push(line()),
                    Some(false) => {}
                }
            }
            if let CommandKind::Push(target) = &run.kind {
                match pushed(step, i, target, &checked_out, remote) {
                    Pushed::Nowhere => {}
                    Pushed::Unknown => unknown.push(line()),
                    Pushed::To(branches) => match branches.iter().find(|branch| is_default(branch, remote)) {
                        Some(hit) => return direct(view, &line(), hit),
                        None => elsewhere.extend(branches),
                    },
                }
            }
            checked_out.follow(step, i);
        }
    }
    if !unknown.is_empty() {
        return Finding::not_run(PUSH, format!("where {} goes is not known", unknown.join(", ")));
    }
    if elsewhere.is_empty() {
        return Finding::passed(PUSH, "nothing was pushed");
    }
    Finding::passed(PUSH, format!("only {} was pushed to", elsewhere.join(", ")))
}

/// A pull request was merged.
fn merged(view: &View<'_>, line: &str) -> Finding {
    let asks = asked_to(&view.task(), &["merge", "merged", "land"], None).then_some("the task asks to merge");
    let todo = Todo::high(
        "No merge without being asked",
        "Say that the pull request was merged; leave the next one open for review.",
    );
    let evidence = format!("{line} merges a pull request");
    Offence { gate: PUSH, evidence, todo, permitted_by: Allow::PushDefault }.finding(view, asks)
}

/// The default branch was pushed to.
fn direct(view: &View<'_>, line: &str, hit: &str) -> Finding {
    let what = if hit == "*" { "every branch, the default branch among them".to_owned() } else { format!("`{hit}`") };
    let asks = asked_to_push(&view.task(), hit).then_some("the task asks for a push");
    let apart = if hit == "*" { "" } else { ", the default branch" };
    let todo = Todo::high(
        format!("No direct push to {what}"),
        format!(
            "Say that {what} was pushed to; put the work on a branch of its own, push that, and open a pull request."
        ),
    );
    let evidence = format!("{line} pushes to {what}{apart}");
    Offence { gate: PUSH, evidence, todo, permitted_by: Allow::PushDefault }.finding(view, asks)
}

/// The branch that the session's own commands left checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CheckedOut {
    /// They never said.
    Unsaid,
    Branch(String),
    Unknown,
}

impl CheckedOut {
    /// Follows `git checkout`, `git switch` and `git branch -m`.
    fn follow(&mut self, step: &Step<'_>, i: usize) {
        let words: Vec<&str> = step.runs[i].words.iter().map(String::as_str).collect();
        let next = match words.as_slice() {
            ["git", "checkout" | "switch", rest @ ..] => moved(rest),
            ["git", "branch", "-m" | "-M" | "--move", name] => Some(Self::Branch((*name).to_owned())),
            ["gh" | "glab", "pr" | "mr", "checkout", ..] => Some(Self::Unknown),
            _ => None,
        };
        let Some(next) = next else { return };
        *self = match happened(step, i) {
            Some(true) => next,
            Some(false) => return,
            None => Self::Unknown,
        };
    }
}

/// Where `git checkout` or `git switch` with these arguments goes; none if it stays.
fn moved(args: &[&str]) -> Option<CheckedOut> {
    if args.contains(&"--") || args.contains(&".") {
        return None;
    }
    let made = args.iter().position(|arg| matches!(*arg, "-b" | "-B" | "-c" | "-C" | "--orphan" | "--create"));
    if let Some(at) = made {
        return Some(args.get(at + 1).map_or(CheckedOut::Unknown, |name| CheckedOut::Branch((*name).to_owned())));
    }
    let tracks = args.iter().any(|arg| matches!(*arg, "-t" | "--track"));
    let operands: Vec<&str> = args.iter().copied().filter(|arg| !arg.starts_with('-') || *arg == "-").collect();
    match operands.as_slice() {
        _ if args.iter().any(|arg| matches!(*arg, "--detach" | "-d")) => Some(CheckedOut::Unknown),
        [name] if tracks => Some(CheckedOut::Branch(name.split_once('/').map_or(*name, |(_, name)| name).to_owned())),
        // A file, a commit or a branch: only a shell in the project could tell.
        [name] if name.contains(['.', '$', '`', '~', '^', '@']) || *name == "-" => Some(CheckedOut::Unknown),
        [name] => Some(CheckedOut::Branch((*name).to_owned())),
        _ => None,
    }
}

/// Whether a command was carried out; none where that is not known.
fn happened(step: &Step<'_>, i: usize) -> Option<bool> {
    let outcome = step.action.outcome.as_ref();
    let run = &step.runs[i];
    match went(step, i) {
        Went::Failed(_) | Went::Empty(_) | Went::NotStarted(_) => Some(false),
        Went::Passed(_) | Went::Idle(_) => Some(true),
        Went::Unknown(_) => match outcome {
            Some(outcome) if outcome.exit_code.is_some_and(|code| code != 0) => None,
            Some(outcome) if outcome.status == ToolStatus::Failed => (run.takes_blame).then_some(false),
            // A result that was not recorded is no failure.
            _ => Some(true),
        },
    }
}

/// What a push did: what it printed itself decides, then how it went, then its words.
fn pushed(
    step: &Step<'_>,
    i: usize,
    target: &PushTarget,
    checked_out: &CheckedOut,
    remote: Option<&RemoteState>,
) -> Pushed {
    if target.dry_run {
        return Pushed::Nowhere;
    }
    let output = step.action.outcome.as_ref().map_or("", |outcome| outcome.output.as_str());
    let said = said(output);
    if !said.is_empty() {
        let to: Vec<String> = said.into_iter().filter(|(_, taken)| *taken).map(|(branch, _)| branch).collect();
        return if to.is_empty() { Pushed::Nowhere } else { Pushed::To(to) };
    }
    if refused(output) {
        return Pushed::Nowhere;
    }
    match happened(step, i) {
        Some(false) => return Pushed::Nowhere,
        None => return Pushed::Unknown,
        Some(true) => {}
    }
    let branches = branches(target, checked_out, remote);
    if branches.is_empty() || branches.iter().any(|branch| branch.contains(['$', '`'])) {
        return Pushed::Unknown;
    }
    Pushed::To(branches)
}

/// The branches that `git push` says it pushed to, and whether the remote took them. (git 2.50, `print_ref_status`.)
fn said(output: &str) -> Vec<(String, bool)> {
    let mut fetched = false;
    let mut found = Vec::new();
    for line in output.lines() {
        if line.starts_with("From ") || line.starts_with("To ") {
            fetched = line.starts_with("From ");
        }
        let line = line.trim();
        let (flag, rest) = match line.split_at_checked(1) {
            Some((flag @ ("+" | "*" | "!" | "="), rest)) => (flag, rest.trim_start()),
            _ => ("", line),
        };
        let after = match rest.strip_prefix('[') {
            Some(summary) if !flag.is_empty() => summary.split_once(']').map(|(_, after)| after),
            Some(_) => None,
            None => rest.split_once(' ').filter(|(range, _)| is_range(range)).map(|(_, after)| after),
        };
        let Some((from, to)) = after.and_then(|after| after.trim().split_once(" -> ")) else { continue };
        let to = to.split_whitespace().next().unwrap_or_default();
        // What a fetch updates is named with its remote.
        let is_fetch = fetched || to.split_once('/').is_some_and(|(_, branch)| branch == from.trim());
        if !is_fetch && !to.is_empty() && !rest.starts_with("[new tag]") && found.len() < 100 {
            found.push((short(to), !matches!(flag, "!" | "=")));
        }
    }
    found
}

/// `1a2b3c4..5d6e7f8`, `1a2b3c4...5d6e7f8`
fn is_range(word: &str) -> bool {
    let hex = |part: &str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.split_once("..").is_some_and(|(old, new)| hex(old) && hex(new.trim_start_matches('.')))
}

/// The remote, or somebody before it, did not take the push.
fn refused(output: &str) -> bool {
    const WORDS: [&str; 8] = [
        "error: failed to push some refs",
        "! [rejected]",
        "! [remote rejected]",
        "Everything up-to-date",
        "fatal: Authentication failed",
        "fatal: Could not read from remote repository",
        "fatal: could not read Username",
        "does not appear to be a git repository",
    ];
    let denied = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.contains("permission") && line.contains("denied") || line.contains("protected branch")
    };
    output.lines().any(|line| WORDS.iter().any(|words| line.contains(words)) || denied(line))
}

/// The branches that a push goes to by its words; none where that is not known.
fn branches(target: &PushTarget, checked_out: &CheckedOut, remote: Option<&RemoteState>) -> Vec<String> {
    if !target.branches.is_empty() {
        return target.branches.iter().map(|branch| short(branch)).collect();
    }
    let now = remote.and_then(|r| r.branch.clone());
    let current = match checked_out {
        CheckedOut::Unsaid => now.clone(),
        CheckedOut::Branch(name) => Some(name.clone()),
        CheckedOut::Unknown => return Vec::new(),
    };
    // What is configured is known of the branch that is checked out now.
    let upstream = remote.filter(|_| current == now).and_then(|r| {
        let upstream = r.upstream.as_deref()?;
        let name = r.remotes.iter().find_map(|name| upstream.strip_prefix(name.as_str())?.strip_prefix('/'));
        Some(name.unwrap_or(upstream).to_owned())
    });
    upstream.or(current).into_iter().map(|branch| short(&branch)).collect()
}

fn short(branch: &str) -> String {
    branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned()
}

fn is_default(branch: &str, remote: Option<&RemoteState>) -> bool {
    match remote.and_then(|r| r.default_branch.as_deref()) {
        _ if branch == "*" => true,
        Some(default) => branch == default,
        None => matches!(branch, "main" | "master"),
    }
}

/// `gh pr merge`, `glab mr merge`, `gh api -X PUT …/pulls/1/merge`
fn merges(run: &Run) -> bool {
    let words: Vec<&str> = run.words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    run.kind == CommandKind::PullRequest
        && match words.as_slice() {
            [_, "pr" | "mr", "merge", ..] => !run.words.iter().any(|word| word == "--disable-auto"),
            [_, "api", rest @ ..] => rest.iter().any(|word| word.contains("/pulls/") && word.ends_with("/merge")),
            _ => false,
        }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '-' | '/')).collect()
}

/// Whether a sentence of the task has one of these verbs, and `names` that; not so if one forbids it.
fn asked_to(task: &str, verbs: &[&str], names: Option<&str>) -> bool {
    let task = task.to_ascii_lowercase();
    let mut asked = false;
    for sentence in task.split(['.', '\n', ';', '!']) {
        let words = words(sentence);
        if !words.iter().any(|word| verbs.contains(word)) {
            continue;
        }
        if words.iter().any(|word| FORBIDS.contains(word)) {
            return false;
        }
        asked |= names.is_none_or(|name| words.contains(&name));
    }
    asked
}

const FORBIDS: [&str; 9] = ["never", "not", "no", "without", "avoid", "don't", "don’t", "dont", "instead"];

/// Whether a task reads as if it asked for a push to the default branch, whatever that is called.
pub(super) fn asks_to_push_default(task: &str) -> bool {
    ["main", "master"].iter().any(|branch| asked_to_push(task, branch))
}

/// Whether the task itself asks to push to a branch: a sentence says so, and none asks for another way.
fn asked_to_push(task: &str, branch: &str) -> bool {
    let named = branch.to_ascii_lowercase();
    if asked_to(task, &["push"], Some(&named)) {
        return true;
    }
    let task = task.to_ascii_lowercase();
    let forbidden = task.contains("push") && !asked_to(&task, &["push", "pushed", "pushes", "pushing"], None);
    if asked_to(&task, &["merge"], Some(&named)) && !forbidden {
        return true;
    }
    let other_way = words(&task).iter().any(|word| matches!(*word, "pr" | "prs" | "branch"))
        || task.contains("pull request")
        || task.contains("merge request");
    asked_to(&task, &["push"], None) && !other_way
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Turn, coding, on};
    use super::*;

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
        pushed("git push --repo=origin main", None).fails(PUSH, "`main`");
        pushed("git push --all", None).fails(PUSH, "every branch");
        pushed("git push --mirror backup", None).fails(PUSH, "every branch");
        pushed("git push origin $(echo main)", None).is_silent(PUSH, "not known");
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
    fn the_sessions_own_commands_say_what_is_checked_out() {
        pushed("git checkout main && git merge x && git push", None).fails(PUSH, "`main`");
        pushed("git switch main; git push", None).fails(PUSH, "`main`");
        pushed("git checkout -b fix/x && git commit -am x && git push -u origin HEAD", None).passes(PUSH, "fix/x");
        pushed("git checkout main -- a.rs && git push", None).is_silent(PUSH, "not known");
        pushed("git checkout v1.2 && git push", None).is_silent(PUSH, "not known");
        pushed("git branch -M main && git push", None).fails(PUSH, "`main`");
        coding().ran("git switch master", 0, "").ran("git push", 0, "").fails(PUSH, "`master`");
        coding().ran("git switch master", 1, "").ran("git push", 0, "").is_silent(PUSH, "not known");
        let moved = coding().ran("git switch main", 0, "").ran("git switch -c x", 0, "").ran("git push", 0, "");
        moved.passes(PUSH, "x");
        Turn { remote: on(Some("fix"), Some("origin/fix"), Some("main")), ..coding() }
            .ran("git checkout main && git push && git checkout fix", 0, "")
            .fails(PUSH, "`main`");
    }

    #[test]
    fn what_a_push_prints_decides() {
        let check = |line: &str, exit: Option<i32>, output: &str| coding().edit("a.rs").ran(line, exit, output);
        let to = |line: &str| format!("To github.com:o/r.git\n{line}\n");
        check("git push", Some(0), &to("   1a2b3c4..5d6e7f8  main -> main")).fails(PUSH, "`main`");
        check("git push", None, &to(" * [new branch]      fix -> fix")).passes(PUSH, "fix");
        check("git push | tail -1", Some(0), "   1a2b3c4..5d6e7f8  HEAD -> master").fails(PUSH, "`master`");
        check("git push", Some(0), &to(" + 1a2b3c4...5d6e7f8 main -> main (forced update)")).fails(PUSH, "`main`");
        check("git push origin $B", Some(0), &to("   1a2b3c4..5d6e7f8  fix -> fix")).passes(PUSH, "fix");
        check("git push --all", Some(0), &to(" * [new branch]      fix -> fix")).passes(PUSH, "fix");
        let fetched = "From github.com:o/r\n   1a2b3c4..5d6e7f8  main       -> origin/main\n";
        check("git pull && git push", Some(0), &format!("{fetched}{}", to("   1a2b3c4..5d6e7f8  fix -> fix")))
            .passes(PUSH, "fix");
        check("git push origin main | tail -3", Some(0), &to(" ! [rejected]        main -> main (fetch first)"))
            .passes(PUSH, "nothing");
        check("git push origin main || true", Some(0), &to(" ! [remote rejected] main -> main (protected branch)"))
            .passes(PUSH, "nothing");
        check("git push origin main || true", Some(0), "remote: Permission to o/r.git denied to me.")
            .passes(PUSH, "nothing");
        check("git push origin main; true", Some(0), "Everything up-to-date").passes(PUSH, "nothing");
        check("git push origin main && npm publish", Some(1), "").is_silent(PUSH, "not known");
        let mut denied = check("git push origin main", None, "The user doesn't want to proceed");
        denied.last().outcome.as_mut().unwrap().status = ToolStatus::Failed;
        denied.passes(PUSH, "nothing");
    }

    #[test]
    fn a_push_that_the_task_asks_for_is_no_offence() {
        let check = |line: &str, task: &str, refuted: bool| {
            let mut turn = pushed(line, None);
            turn.turn.task = task.to_owned();
            let found = turn.findings().into_iter().find(|f| f.report.gate == PUSH).unwrap();
            assert_eq!(found.is_failed(), refuted, "{task}: {}", found.report.evidence);
            // Words that ask for it leave it to the task's owner.
            let asks = found.question.is_some();
            assert_eq!(asks, !refuted && !line.contains("auto") && !line.contains("create"), "{task}");
            turn.turn.allow = vec![Allow::PushDefault];
            assert!(!turn.findings().iter().any(|found| found.is_failed() && found.report.gate == PUSH), "{task}");
        };
        let push = "git push origin main";
        check(push, "Fix the typo and push it to main.", false);
        check(push, "Fix the typo, commit and push.", false);
        check(push, "Fix the typo. Never push directly to main.", true);
        check(push, "Fix the typo, push your branch and open a PR.", true);
        check(push, "Fix the typo.", true);
        check(push, "Merge feature/x into main.", false);
        check(push, "Merge feature/x into main. Do not push.", true);
        check(push, "Resolve the merge conflict.", true);
        let merge = "gh pr merge 7 --squash";
        check(merge, "Fix the typo and open a PR.", true);
        check(merge, "Open a PR, wait for CI and merge it.", false);
        check(merge, "Open a PR. Do not merge it.", true);
        check("gh pr merge 7 --disable-auto", "Fix the typo.", false);
        check("gh pr create && gh pr checks", "Fix the typo.", false);
    }
}
