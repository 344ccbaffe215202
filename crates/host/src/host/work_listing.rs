//! Reading what git lists about a checkout.
//!
//! A repository of its own - a submodule, or one that only lies there - is listed with a `/` behind its name, as git does
//! with those that it does not track: it is one entry whatever happens in it.

use crate::services::TreeStatus;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The mode of a commit of another repository in a tree (gitglossary(7), "gitlink").
const GITLINK: &[u8] = b"160000";

/// Reads `git status --porcelain=v2 --branch -z` (git-status(1), "Porcelain Format Version 2").
pub(super) fn status(output: &[u8]) -> TreeStatus {
    let mut status = TreeStatus::default();
    let mut dirty = BTreeSet::new();
    for entry in output.split(|byte| *byte == 0) {
        // How many fields stand before the path.
        let fields = match entry.first() {
            Some(b'1') => 8,
            Some(b'u') => 10,
            Some(b'?') => 1,
            Some(b'#') => {
                let text = String::from_utf8_lossy(entry);
                match text.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) {
                    Some(("branch.oid", oid)) if oid != "(initial)" => status.head = Some(oid.to_owned()),
                    Some(("branch.head", name)) if name != "(detached)" => status.branch = Some(name.to_owned()),
                    _ => {}
                }
                continue;
            }
            _ => continue,
        };
        let fields: Vec<&[u8]> = entry.splitn(fields + 1, |byte| *byte == b' ').collect();
        if let [before @ .., path] = fields.as_slice()
            && !before.is_empty()
        {
            dirty.insert(named(path, before.contains(&GITLINK)));
        }
    }
    status.dirty = dirty.into_iter().collect();
    status
}

/// Reads `git diff-tree -r -z --raw` and `git ls-tree -r -z`: modes, a path behind them, in the same entry or the next.
pub(super) fn entries(output: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        let (modes, path) = if let Some(modes) = part.strip_prefix(b":") {
            (modes, parts.next())
        } else {
            let mut halves = part.splitn(2, |byte| *byte == b'\t');
            (halves.next().unwrap_or_default(), halves.next())
        };
        let is_repository = modes.split(|byte| *byte == b' ').take(2).any(|mode| mode == GITLINK);
        found.extend(path.map(|path| named(path, is_repository)));
    }
    found
}

fn named(path: &[u8], is_repository: bool) -> PathBuf {
    let mut name = OsString::from(OsStr::from_bytes(path));
    if is_repository {
        name.push("/");
    }
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_status_says_what_is_dirty() {
        let said = status(
            b"# branch.oid 0a\0# branch.head f\0# branch.upstream origin/f\0\
              1 .M N... 100644 100644 100644 a b b c.rs\0\
              1 M. SC.. 160000 160000 160000 a b sub\0\
              1 T. N... 100644 160000 160000 a b was a file\0\
              u UU N... 100644 100644 100644 100644 a b c in conflict\0\
              ? new file\0? nested/\0! ignored\0",
        );
        assert_eq!((said.head.as_deref(), said.branch.as_deref()), (Some("0a"), Some("f")));
        assert_eq!(names(&said.dirty), ["b c.rs", "in conflict", "nested/", "new file", "sub/", "was a file/"]);
        let unborn = status(b"# branch.oid (initial)\0# branch.head (detached)\0");
        assert_eq!(unborn, TreeStatus::default());
    }

    #[test]
    fn trees_and_their_differences_list_repositories_as_such() {
        let diff = b":100644 100644 a b M\0a\tb.rs\0:160000 160000 a b M\0sub\0:000000 160000 0 b A\0new\0";
        assert_eq!(names(&entries(diff)), ["a\tb.rs", "sub/", "new/"]);
        let tree = b"100644 blob aa\tc d.rs\x00160000 commit bb\tsub\0";
        assert_eq!(names(&entries(tree)), ["c d.rs", "sub/"]);
        assert_eq!(names(&entries(b"")), [""; 0]);
    }
}
