//! What a session changed.

use super::session::Start;
use crate::services::TreeStatus;
use crate::services::WorkTree;
use crate::services::WorkTreeError;
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeSet;
use std::path::PathBuf;

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

/// Looks at the checkout. `start`: what it was like when the session began. `own`: paths that are nobody's work.
pub(super) fn change(tree: &dyn WorkTree, start: Option<&Start>, own: &[PathBuf]) -> Change {
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
    let touched = |path: &&PathBuf| {
        let before = start.and_then(|start| start.dirty.get(path.to_string_lossy().as_ref()));
        before.is_none_or(|stamp| *stamp != tree.stamp(path))
    };
    let dirty = status.dirty.iter().filter(touched);
    let paths: BTreeSet<&PathBuf> =
        committed.iter().chain(dirty).filter(|path| !own.iter().any(|own| path.starts_with(own))).collect();
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

/// The base, and what was committed since.
fn committed(
    tree: &dyn WorkTree,
    start: Option<&Start>,
    status: &TreeStatus,
    reasons: &mut Vec<String>,
) -> Result<(Option<String>, Vec<PathBuf>), WorkTreeError> {
    let head = status.head.as_deref();
    if let Some(start) = start {
        match since(tree, start.head.as_deref(), head) {
            Ok(files) => return Ok((start.head.clone(), files)),
            // The commit may be gone: history was rewritten and collected.
            Err(error) => reasons.push(format!("no_session_start: {error}")),
        }
    } else {
        reasons.push("no_session_start".to_owned());
    }
    let base = tree.merge_base(status)?.or_else(|| status.head.clone());
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
    use std::path::Path;
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
                status: TreeStatus { head, branch: Some("main".to_owned()), upstream: None, dirty },
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

        fn merge_base(&self, _: &TreeStatus) -> Result<Option<String>, WorkTreeError> {
            self.called();
            Ok(self.left_upstream_at.map(str::to_owned))
        }

        fn stamp(&self, path: &Path) -> Option<String> {
            Some(format!("now {}", path.display()))
        }
    }

    fn start(head: Option<&str>, dirty: &[(&str, &str)]) -> Start {
        let dirty = dirty.iter().map(|(path, stamp)| ((*path).to_owned(), Some((*stamp).to_owned()))).collect();
        Start { head: head.map(str::to_owned), dirty, at: Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn what_was_dirty_before_counts_only_if_it_was_touched() {
        let tree = Tree::at("a", &["mine", "touched", "new", ".reflection/x", "out/r.json"]);
        let start = start(Some("a"), &[("mine", "now mine"), ("touched", "before")]);
        let change = change(&tree, Some(&start), &[".reflection".into(), "out".into()]);
        assert_eq!(change.files, ["new", "touched"]);
        assert_eq!((change.base.as_deref(), change.known), (Some("a"), true));
        assert_eq!(change.reasons, [""; 0]);
        assert_eq!(tree.calls.lock().unwrap().get(), 1, "one call of git where nothing was committed");
    }

    #[test]
    fn what_was_committed_counts_whatever_it_was_before() {
        let mut tree = Tree::at("b", &["dirty"]);
        tree.since.insert(Some("a"), vec!["mine", "dirty"]);
        let seen = change(&tree, Some(&start(Some("a"), &[("mine", "now mine")])), &[]);
        assert_eq!((seen.files, seen.base.as_deref()), (vec!["dirty".to_owned(), "mine".to_owned()], Some("a")));
        let mut first = Tree::at("b", &[]);
        first.since.insert(None, vec!["all"]);
        assert_eq!(change(&first, Some(&start(None, &[])), &[]).files, ["all"]);
    }

    #[test]
    fn a_start_that_is_gone_is_as_none() {
        let mut tree = Tree::at("c", &["d"]);
        tree.left_upstream_at = Some("b");
        tree.since.insert(Some("b"), vec!["e"]);
        for (start, reason) in [(None, "no_session_start"), (Some(start(Some("gone"), &[])), "no_session_start: git")] {
            let seen = change(&tree, start.as_ref(), &[]);
            assert_eq!((seen.files, seen.base.as_deref()), (vec!["d".to_owned(), "e".to_owned()], Some("b")));
            assert!(seen.reasons.len() == 1 && seen.reasons[0].starts_with(reason), "{:?}", seen.reasons);
        }
        tree.left_upstream_at = Some("gone");
        let seen = change(&tree, None, &[]);
        assert!(!seen.known && seen.reasons[1].starts_with("git_failed: git diff-tree failed: bad object"));
    }
}
