//! What a commit or a branch changes, for a person to see.

use super::work_tree::HostWorkTree;
use crate::domain::{ChangeOf, ChangeSize, ShownChange};
use std::path::Path;
use std::time::Duration;

/// All changes of a report together take no longer to be found out; those that are left are not shown.
const WAIT: Duration = Duration::from_secs(10);
/// A change of more files or lines has no diff: nobody reads it on a page.
const FILES: usize = 100;
const LINES: usize = 2000;
/// A file that is larger counts as no text.
const BIG_FILE: &str = "core.bigFileThreshold=256k";

/// How a difference is read, whatever the settings of the repository say. A name from a journal must not be taken for an option: `--output=` writes.
const DIFF: [&str; 12] = [
    "-c",
    BIG_FILE,
    "diff-tree",
    "-r",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The changes, as far as the repository that `dir` lies in has them. Nothing is written, and no other machine is reached.
#[must_use]
pub fn shown_changes(dir: &Path, of: &[ChangeOf]) -> Vec<Option<ShownChange>> {
    let tree = HostWorkTree::around(dir).map(|tree| tree.within(WAIT));
    of.iter().map(|change| shown(tree.as_ref()?, change)).collect()
}

fn shown(tree: &HostWorkTree, change: &ChangeOf) -> Option<ShownChange> {
    let ChangeOf(commit) = change;
    let (from, to) = (tree.resolve(&format!("{commit}^1"))?, tree.resolve(commit)?);
    let git = |how: &str| tree.git(&[&DIFF[..], &[how, "--end-of-options", &from, &to]].concat()).ok();
    let size = size(&String::from_utf8_lossy(&git("--numstat")?));
    let is_small = size.files <= FILES && size.added + size.removed <= LINES;
    let diff = if is_small { Some(String::from_utf8_lossy(&git("-p")?).into_owned()) } else { None };
    Some(ShownChange { from, to, size, diff })
}

/// Which of these commits and branches are in a branch of the user's: the one that is checked out, or the main one. Nothing is written.
#[must_use]
pub fn brought_in(dir: &Path, of: &[String]) -> Vec<bool> {
    let Some(tree) = HostWorkTree::around(dir).map(|tree| tree.within(WAIT)) else { return vec![false; of.len()] };
    let head = tree.line(&["symbolic-ref", "--quiet", "HEAD"]);
    // Who looks at a task's branch has not merged it.
    let is_own = head.is_some_and(|head| head.starts_with("refs/heads/reflexion/"));
    let names = ["HEAD", "refs/heads/main", "refs/heads/master"].into_iter().skip(usize::from(is_own));
    let mut tips: Vec<String> = names.filter_map(|name| tree.resolve(name)).collect();
    tips.dedup();
    let is_in =
        |commit: &String| tips.iter().any(|tip| tree.git(&["merge-base", "--is-ancestor", commit, tip]).is_ok());
    of.iter().map(|name| tree.resolve(name).is_some_and(|commit| is_in(&commit))).collect()
}

/// Lines are `added TAB removed TAB name`; `-` where a file is no text.
fn size(listing: &str) -> ChangeSize {
    let mut size = ChangeSize { added: 0, removed: 0, files: 0 };
    for line in listing.lines() {
        let mut numbers = line.split('\t').map(|number| number.parse().unwrap_or(0));
        size.added += numbers.next().unwrap_or(0);
        size.removed += numbers.next().unwrap_or(0);
        size.files += 1;
    }
    size
}
