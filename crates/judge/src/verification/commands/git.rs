//! What `git` and the forges' programs do: pushes, pull requests, CI.

use super::run::{CommandKind, PushTarget};
use super::wrappers::options;
use std::collections::HashMap;

/// Options before git's command that take a value.
const GLOBAL: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
/// Options of `git push` that take a value.
const OF_PUSH: [&str; 5] = ["-o", "--push-option", "--repo", "--receive-pack", "--exec"];

/// Git's command and its arguments.
pub(super) fn command(args: &[String]) -> Option<(&str, &[String])> {
    let (command, rest) = args.get(options(args, &GLOBAL)..)?.split_first()?;
    Some((command, rest))
}

/// What a call of git is for.
pub(super) fn kind(args: &[String], vars: &HashMap<String, String>) -> CommandKind {
    match command(args) {
        Some(("push", rest)) if !asks_for_help(rest) => CommandKind::Push(push(rest, vars)),
        Some(("subtree", rest)) if rest.first().is_some_and(|word| word == "push") => {
            CommandKind::Push(push(&rest[1..], vars))
        }
        _ => CommandKind::Other,
    }
}

/// What a call of `gh` or `glab` is for.
pub(super) fn forge(args: &[String]) -> CommandKind {
    let command = args.get(options(args, &["-R", "--repo", "--hostname"])..).unwrap_or_default();
    let words: Vec<&str> = command.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let has = |flag: &str| args.iter().any(|arg| arg.split('=').next() == Some(flag));
    if asks_for_help(args) {
        return CommandKind::Other;
    }
    match (words.first().copied(), words.get(1).copied()) {
        (Some("pr"), Some("checks")) => CommandKind::Ci,
        (Some("pr"), Some("view" | "status")) if args.iter().any(|arg| arg.contains("statusCheckRollup")) => {
            CommandKind::Ci
        }
        (Some("run"), Some("watch" | "view" | "list")) => CommandKind::Ci,
        (Some("ci" | "pipeline"), Some("status" | "view" | "list" | "get" | "trace")) => CommandKind::Ci,
        (Some("pr"), Some("create")) if has("--dry-run") => CommandKind::Other,
        (
            Some("pr" | "mr"),
            Some(
                "create" | "new" | "edit" | "update" | "merge" | "ready" | "close" | "reopen" | "comment" | "note"
                | "review" | "approve" | "lock" | "unlock" | "update-branch" | "rebase",
            ),
        ) => CommandKind::PullRequest,
        (Some("api"), Some(path)) => api(path, args),
        _ => CommandKind::Other,
    }
}

/// `gh api repos/o/r/pulls -f title=…`
fn api(path: &str, args: &[String]) -> CommandKind {
    let path = path.split('?').next().unwrap_or(path).trim_end_matches('/');
    let gives = args.iter().any(|arg| matches!(arg.as_str(), "-f" | "-F" | "--field" | "--raw-field" | "--input"));
    let method = args.iter().position(|arg| arg == "-X" || arg == "--method").and_then(|at| args.get(at + 1));
    let changes = method.map_or(gives, |method| !method.eq_ignore_ascii_case("get"));
    let parts: Vec<&str> = path.split('/').collect();
    if parts.contains(&"pulls") && changes {
        CommandKind::PullRequest
    } else if parts.iter().any(|part| matches!(*part, "check-runs" | "check-suites" | "status" | "statuses" | "runs")) {
        CommandKind::Ci
    } else {
        CommandKind::Other
    }
}

fn asks_for_help(args: &[String]) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--help" || arg == "-h")
}

/// The arguments of `git push`; its manual, git 2.50.
fn push(args: &[String], vars: &HashMap<String, String>) -> PushTarget {
    let mut target = PushTarget::default();
    let (mut operands, mut all, mut tags, mut options_end) = (Vec::new(), false, false, false);
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        let name = arg.split('=').next().unwrap_or(arg);
        if options_end || !arg.starts_with('-') || arg == "-" {
            operands.push(arg.as_str());
        } else if arg == "--" {
            options_end = true;
        } else if let Some(short) = arg.strip_prefix('-').filter(|short| !short.starts_with('-')) {
            target.forced |= short.contains('f');
            target.dry_run |= short.contains('n');
            at += usize::from(short.ends_with('o'));
        } else {
            match name {
                "--force" | "--force-with-lease" => target.forced = true,
                "--dry-run" => target.dry_run = true,
                "--all" | "--branches" => all = true,
                "--mirror" => (all, target.forced) = (true, true),
                "--tags" => tags = true,
                "--prefix" => at += usize::from(!arg.contains('=')),
                _ => {}
            }
            if name == "--repo" {
                target.remote =
                    arg.split_once('=').map(|(_, value)| value.to_owned()).or_else(|| args.get(at).cloned());
            }
            at += usize::from(OF_PUSH.contains(&arg.as_str()));
        }
    }
    // Beside `--repo=origin` a word is meant for a branch, unless it looks like a place.
    let is_branch = target.remote.is_some()
        && operands.len() == 1
        && !operands.iter().any(|word| word.contains([':', '@']) || word.starts_with(['.', '/']) || *word == "origin");
    let mut operands = operands.into_iter();
    if !is_branch && let Some(remote) = operands.next() {
        target.remote = Some(remote.to_owned());
    }
    let mut is_tag = false;
    for refspec in operands {
        if std::mem::take(&mut is_tag) {
            target.branches.push(format!("refs/tags/{refspec}"));
        } else if refspec == "tag" {
            is_tag = true;
        } else {
            let refspec = resolved(refspec, vars);
            let plain = refspec.strip_prefix('+').unwrap_or(&refspec);
            target.forced |= plain.len() < refspec.len();
            target.branches.push(destination(plain).to_owned());
        }
    }
    if all {
        target.branches = vec!["*".to_owned()];
    } else if target.branches.is_empty() && tags {
        target.branches = vec!["refs/tags/*".to_owned()];
    } else if target.branches.iter().all(|branch| branch == "HEAD") {
        target.branches.clear();
    }
    target
}

/// The branch on the remote that a refspec names.
fn destination(refspec: &str) -> &str {
    // A substitution may hold colons of its own.
    const CURRENT: [&str; 3] = ["branch --show-current", "rev-parse --abbrev-ref HEAD", "symbolic-ref --short HEAD"];
    if refspec == ":" {
        return "*";
    }
    let to = match refspec.rsplit_once(':') {
        Some((_, to)) if !to.is_empty() && !to.contains(['}', ')', '`']) => to,
        _ => refspec,
    };
    let to = to.strip_prefix("refs/heads/").unwrap_or(to);
    let is_current = to.starts_with(['$', '`']) && CURRENT.iter().any(|asked| to.contains(asked));
    if to == "@" || is_current { "HEAD" } else { to }
}

/// A refspec with the values that the line itself gave to variables.
fn resolved(refspec: &str, vars: &HashMap<String, String>) -> String {
    let Some((before, after)) = refspec.split_once('$') else { return refspec.to_owned() };
    let (name, rest) = if let Some(braced) = after.strip_prefix('{') {
        braced.split_once('}').unwrap_or_default()
    } else {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        after.split_at(end)
    };
    match vars.get(name) {
        Some(value) => format!("{before}{value}{rest}"),
        None => refspec.to_owned(),
    }
}
