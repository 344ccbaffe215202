//! What a session changed.

use super::session::{Start, is_record};
use crate::domain::policy::MEMORY_FILES;
use crate::services::{Fork, TreeStatus, WorkTree, WorkTreeError};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What differs from the base of a session.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// The commit that is counted from.
    pub base: Option<String>,
    /// The branch, or the beginning of the commit's id.
    pub branch: Option<String>,
    /// From the top of the checkout, sorted.
    pub files: Vec<String>,
    /// What the files look like: equal states are the same work.
    pub state: String,
    /// What is not known.
    pub reasons: Vec<String>,
    /// Whether `files` is what was changed.
    pub known: bool,
}

/// What is the runtime's own in a checkout, and so nobody's work, also where it is not ignored.
pub(super) struct Own {
    /// Where records are kept, from the top; none if that is outside.
    pub records: Option<PathBuf>,
}

impl Own {
    fn has(&self, path: &Path) -> bool {
        let record = || path.file_name().and_then(OsStr::to_str).is_some_and(is_record);
        path.starts_with(".reflection")
            || MEMORY_FILES.iter().any(|file| path == Path::new(file))
            || self.records.as_deref().is_some_and(|records| {
                if records.as_os_str().is_empty() {
                    // Records at the very top are not worth hiding everything else for.
                    path.starts_with(".sessions") || (path.components().count() == 1 && record())
                } else {
                    path.starts_with(records)
                }
            })
    }
}

/// Looks at the checkout. `start`: what it was like when the session began.
pub(super) fn change(tree: &dyn WorkTree, start: Option<&Start>, own: &Own) -> Change {
    let status = match tree.status() {
        Ok(status) => status,
        Err(error) => return Change { reasons: vec![format!("git_failed: {error}")], ..Change::default() },
    };
    let mut reasons = Vec::new();
    let mut known = true;
    let (base, committed) = match committed(tree, start, &status, &mut reasons) {
        Ok(found) => found,
        Err(error) => {
            reasons.push(format!("git_failed: {error}"));
            known = false;
            (status.head.clone(), Vec::new())
        }
    };
    let mut paths: BTreeSet<PathBuf> = committed.into_iter().collect();
    paths.extend(touched(tree, start, status.dirty));
    paths.retain(|path| !own.has(path));
    let mut state = Sha256::new();
    state.update(status.head.as_deref().unwrap_or_default());
    for path in &paths {
        state.update(path.as_os_str().as_encoded_bytes());
        state.update([0]);
        state.update(tree.stamp(path).unwrap_or_default());
        state.update([0]);
    }
    let short = |head: String| head.chars().take(12).collect();
    Change {
        base,
        branch: status.branch.clone().or(status.head.map(short)),
        files: paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        state: format!("{:x}", state.finalize()),
        reasons,
        known,
    }
}

/// What is dirty, without what was before and is as it was; and what was dirty before and is not any more: what stood in
/// it is gone.
fn touched(tree: &dyn WorkTree, start: Option<&Start>, dirty: Vec<PathBuf>) -> Vec<PathBuf> {
    let Some(start) = start else { return dirty };
    let now: BTreeSet<String> = dirty.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let gone = start.dirty.keys().filter(|path| !now.contains(*path)).map(PathBuf::from);
    let changed = |path: &PathBuf| {
        let before = start.dirty.get(path.to_string_lossy().as_ref());
        before.is_none_or(|stamp| *stamp != tree.stamp(path))
    };
    dirty.iter().cloned().chain(gone).filter(changed).collect()
}

/// The base, and what was committed since.
fn committed(
    tree: &dyn WorkTree,
    start: Option<&Start>,
    status: &TreeStatus,
    reasons: &mut Vec<String>,
) -> Result<(Option<String>, Vec<PathBuf>), WorkTreeError> {
    let head = status.head.as_deref();
    let mut why = String::new();
    if let Some(start) = start {
        match since(tree, start.head.as_deref(), head) {
            Ok(files) => return Ok((start.head.clone(), files)),
            // The commit may be gone: history was rewritten and collected.
            Err(error) => why = format!("{error}; "),
        }
    }
    let fork = tree.fork(status);
    let from = match &fork {
        Ok(Some(Fork { from, .. })) => format!("where the branch left {from}"),
        _ => "HEAD".to_owned(),
    };
    reasons.push(format!("no_session_start: {why}counted from {from}"));
    let base = fork?.map(|fork| fork.commit).or_else(|| status.head.clone());
    let files = since(tree, base.as_deref(), head)?;
    Ok((base, files))
}

/// Git is asked only where `HEAD` moved.
fn since(tree: &dyn WorkTree, from: Option<&str>, head: Option<&str>) -> Result<Vec<PathBuf>, WorkTreeError> {
    match head {
        Some(head) if from != Some(head) => tree.changed(from, head),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    /// A checkout that counts how often git would be called.
    struct Tree {
        status: TreeStatus,
        /// What was committed since this commit.
        since: BTreeMap<Option<&'static str>, Vec<&'static str>>,
        left_upstream_at: Option<&'static str>,
        calls: Mutex<Cell<u32>>,
    }

    impl Tree {
        fn at(head: &str, dirty: &[&str]) -> Self {
            let dirty = dirty.iter().map(PathBuf::from).collect();
            let head = Some(head.to_owned()).filter(|head| !head.is_empty());
            Self {
                status: TreeStatus { head, branch: Some("main".to_owned()), dirty },
                since: BTreeMap::new(),
                left_upstream_at: None,
                calls: Mutex::default(),
            }
        }

        fn called(&self) {
            let calls = self.calls.lock().unwrap();
            calls.set(calls.get() + 1);
        }
    }

    impl WorkTree for Tree {
        fn top(&self) -> &Path {
            Path::new("/repo")
        }

        fn name(&self) -> String {
            "repo".to_owned()
        }

        fn status(&self) -> Result<TreeStatus, WorkTreeError> {
            self.called();
            Ok(self.status.clone())
        }

        fn changed(&self, from: Option<&str>, _: &str) -> Result<Vec<PathBuf>, WorkTreeError> {
            self.called();
            let gone = || WorkTreeError { command: "diff-tree".to_owned(), message: "bad object".to_owned() };
            self.since.get(&from).map(|files| files.iter().map(PathBuf::from).collect()).ok_or_else(gone)
        }

        fn fork(&self, _: &TreeStatus) -> Result<Option<Fork>, WorkTreeError> {
            self.called();
            let fork = |at: &str| Fork { commit: at.to_owned(), from: "origin/main".to_owned() };
            Ok(self.left_upstream_at.map(fork))
        }

        fn stamp(&self, path: &Path) -> Option<String> {
            Some(format!("now {}", path.display()))
        }
    }

    fn start(head: Option<&str>, dirty: &[(&str, &str)]) -> Start {
        let dirty = dirty.iter().map(|(path, stamp)| ((*path).to_owned(), Some((*stamp).to_owned()))).collect();
        Start { head: head.map(str::to_owned), dirty, at: Timestamp::UNIX_EPOCH }
    }

    fn own(records: Option<&str>) -> Own {
        Own { records: records.map(PathBuf::from) }
    }

    #[test]
    fn what_was_dirty_before_counts_only_if_it_was_touched() {
        let tree = Tree::at("a", &["mine", "touched", "new", ".reflection/x", "out/r.json"]);
        let start = start(Some("a"), &[("mine", "now mine"), ("touched", "before")]);
        let change = change(&tree, Some(&start), &own(Some("out")));
        assert_eq!(change.files, ["new", "touched"]);
        assert_eq!((change.base.as_deref(), change.known), (Some("a"), true));
        assert_eq!(change.reasons, [""; 0]);
        assert_eq!(tree.calls.lock().unwrap().get(), 1, "one call of git where nothing was committed");
    }

    #[test]
    fn what_was_dirty_before_and_is_not_any_more_was_changed() {
        let tree = Tree::at("a", &["new"]);
        // `ignored` is not dirty any more either, and is as it was.
        let start =
            start(Some("a"), &[("reverted", "before"), ("ignored", "now ignored"), (".reflection/x", "before")]);
        assert_eq!(change(&tree, Some(&start), &own(None)).files, ["new", "reverted"]);
    }

    #[test]
    fn records_at_the_top_hide_nothing_else() {
        let tree = Tree::at("a", &["s-1.reflection.json", ".sessions/s.json", "a.rs", "b/t-2.reflection.json"]);
        let files = change(&tree, Some(&start(Some("a"), &[])), &own(Some(""))).files;
        assert_eq!(files, ["a.rs", "b/t-2.reflection.json"]);
    }

    #[test]
    fn what_was_committed_counts_whatever_it_was_before() {
        let mut tree = Tree::at("b", &["dirty"]);
        tree.since.insert(Some("a"), vec!["mine", "dirty"]);
        let seen = change(&tree, Some(&start(Some("a"), &[("mine", "now mine")])), &own(None));
        assert_eq!((seen.files, seen.base.as_deref()), (vec!["dirty".to_owned(), "mine".to_owned()], Some("a")));
        let mut first = Tree::at("b", &[]);
        first.since.insert(None, vec!["all"]);
        assert_eq!(change(&first, Some(&start(None, &[])), &own(None)).files, ["all"]);
    }

    #[test]
    fn a_start_that_is_gone_is_as_none() {
        let mut tree = Tree::at("c", &["d"]);
        tree.left_upstream_at = Some("b");
        tree.since.insert(Some("b"), vec!["e"]);
        let left = "counted from where the branch left origin/main";
        let gone = format!("no_session_start: git diff-tree failed: bad object; {left}");
        for (start, reason) in [(None, format!("no_session_start: {left}")), (Some(start(Some("gone"), &[])), gone)] {
            let seen = change(&tree, start.as_ref(), &own(None));
            assert_eq!((seen.files, seen.base.as_deref()), (vec!["d".to_owned(), "e".to_owned()], Some("b")));
            assert_eq!(seen.reasons, [reason]);
        }
        tree.left_upstream_at = Some("gone");
        let seen = change(&tree, None, &own(None));
        assert!(!seen.known && seen.reasons[1].starts_with("git_failed: git diff-tree failed: bad object"));
        tree.left_upstream_at = None;
        assert_eq!(change(&tree, None, &own(None)).reasons, ["no_session_start: counted from HEAD"]);
    }
}
