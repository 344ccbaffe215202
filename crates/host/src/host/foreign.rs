//! What lies in a checkout beside its files and acts when somebody works there: programs in git's own configuration of it, and what
//! runs left in `.reflection/`. A clone has neither; an archive, a copied directory or a shared one brings both along.

use super::process::project_key;
use super::work_tree::HostWorkTree;
use super::workspaces::make_state_dir;
use crate::domain::policy::Project;
use crate::domain::{TrustItem, TrustKind};
use crate::services::WorkTree;
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

/// Keys that name a program which git, or an agent that calls git, starts in a run; `*` stands for what is in between. Not among
/// them is what no call of the runtime's and no workspace takes over, such as `core.hooksPath` and `core.fsmonitor`.
const PROGRAMS: [&str; 32] = [
    "browser.*.cmd",
    "core.alternaterefscommand",
    "core.askpass",
    "core.gitproxy",
    "core.sshcommand",
    "credential.helper",
    "credential.*.helper",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*.cmd",
    "difftool.*.path",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.smudge",
    "gpg.program",
    "gpg.*.defaultkeycommand",
    "gpg.*.program",
    "interactive.difffilter",
    "man.*.cmd",
    "merge.*.driver",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "pager.*",
    "protocol.allow",
    "protocol.*.allow",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sequence.editor",
    "trailer.*.cmd",
    "trailer.*.command",
];

/// What git's configuration of this very checkout, and of its submodules, lets programs do.
///
/// # Errors
/// If git cannot read it.
pub fn git_programs(dir: &Path) -> io::Result<Vec<TrustItem>> {
    let Some(tree) = HostWorkTree::around(dir) else { return Ok(Vec::new()) };
    programs(&tree.patient(), "")
}

fn programs(tree: &HostWorkTree, place: &str) -> io::Result<Vec<TrustItem>> {
    let listing = tree.git(&["config", "--null", "--show-scope", "--list", "--includes"]).map_err(io::Error::other)?;
    let mut items = Vec::new();
    // A scope, and a key with its value, one behind the other.
    let mut parts = listing.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        let (key, value) = setting.split_once('\n').unwrap_or((&setting, "true"));
        let is_own = matches!(&*scope, "local" | "worktree");
        if is_own && PROGRAMS.iter().any(|pattern| is_like(key, pattern)) {
            items.push(TrustItem::new(format!("{place}.git/config {key}"), TrustKind::Git, value));
        }
    }
    for (path, inner) in tree.inner() {
        items.extend(programs(&inner, &format!("{place}{}/", path.display()))?);
    }
    Ok(items)
}

/// What is in between may hold dots itself, and is nothing for `credential.helper` alone.
fn is_like(key: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => key.len() > start.len() + end.len() && key.starts_with(start) && key.ends_with(end),
        None => key == pattern,
    }
}

/// What is in `.reflection/` that a run would go on with: what earlier runs left there, which an archive may have brought as well,
/// and what the repository itself puts there.
///
/// # Errors
/// If it cannot be looked at.
pub fn left_by_runs(project: &Project) -> io::Result<Vec<TrustItem>> {
    let state = project.state_dir();
    let mut items = Vec::new();
    if state.join("runs").symlink_metadata().is_ok() {
        items.push(of_runs(&state)?);
    }
    let tree = HostWorkTree::around(&project.root).map(HostWorkTree::patient);
    if let Some(tree) = tree
        && let Ok(below) = project.root.canonicalize().unwrap_or_else(|_| project.root.clone()).strip_prefix(tree.top())
    {
        let path = below.join(".reflection");
        let listed = tree.git(&[Path::new("ls-files"), "--stage".as_ref(), "-z".as_ref(), "--".as_ref(), &path]);
        let listed = listed.map_err(io::Error::other)?;
        if !listed.is_empty() {
            let digest = format!("{:x}", Sha256::digest(&listed));
            let text = format!("files that the repository itself has there ({})", &digest[..12]);
            items.push(TrustItem::new(".reflection, in git", TrustKind::Runs, text));
        }
    }
    Ok(items)
}

/// Makes `.reflection/` for the runs of somebody who trusts the project, unless runs are there already: what they leave there is
/// theirs.
///
/// # Errors
/// If it cannot be made.
pub fn make_place_of_runs(project: &Project) -> io::Result<Option<TrustItem>> {
    let state = project.state_dir();
    if state.join("runs").symlink_metadata().is_ok() {
        return Ok(None);
    }
    make_state_dir(&state)?;
    of_runs(&state).map(Some)
}

/// The very directory: another one in its place is another thing.
fn of_runs(state: &Path) -> io::Result<TrustItem> {
    let key = project_key(state).ok_or(io::ErrorKind::NotFound)?;
    Ok(TrustItem::new(".reflection", TrustKind::Runs, format!("runs whose journals are there already ({key})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_other_settings() {
        let is_program = |key: &str| PROGRAMS.iter().any(|pattern| is_like(key, pattern));
        for key in
            ["filter.a.b.clean", "credential.helper", "credential.https://x.y.helper", "pager.log", "core.sshcommand"]
        {
            assert!(is_program(key), "{key}");
        }
        for key in [
            "filter.clean",
            "filter.lfs.required",
            "core.hookspath",
            "credential.username",
            "remote.origin.url",
            "pager.",
        ] {
            assert!(!is_program(key), "{key}");
        }
    }
}
