//! Where the project lies for a record: a transcript may be judged in another checkout than the one it was made in.

use crate::services::TurnEvidence;
use std::path::{Path, PathBuf};

/// The project's directory, as the record names its files.
///
/// That is the directory which is judged, unless the record knows another: no path in it lies below the directory, and the
/// edited files lie together in a place where working trees are. Then it is what these have in common.
pub(super) fn project(turn: &TurnEvidence) -> Option<PathBuf> {
    let dir = turn.dir.as_deref()?;
    if turn.observed.is_some() {
        return Some(dir.to_owned());
    }
    let edits = || turn.trace.actions.iter().flat_map(|action| &action.edits).map(Path::new);
    let relative = edits().any(Path::is_relative);
    let inside = edits().any(|path| path.starts_with(dir));
    let mut trees = edits().filter(|path| is_of_a_tree(path)).filter_map(Path::parent);
    let Some(first) = trees.next().filter(|_| !relative && !inside) else { return Some(dir.to_owned()) };
    let named = dir.to_str().unwrap_or_default();
    let here = |text: &str| names(text, named);
    if turn.trace.actions.iter().any(|action| here(&action.input) || action.command.as_deref().is_some_and(here)) {
        return Some(dir.to_owned());
    }
    let mut root = first;
    for tree in trees {
        while !tree.starts_with(root) {
            root = root.parent()?;
        }
    }
    let root = above_its_parts(root);
    if root.parent().is_none() { Some(dir.to_owned()) } else { Some(root) }
}

/// Whether a path could be a file of a working tree: not a system's, not temporary, not a person's settings.
fn is_of_a_tree(path: &Path) -> bool {
    const OTHERS: [&str; 12] =
        ["/etc", "/usr", "/opt", "/var", "/bin", "/sbin", "/lib", "/boot", "/dev", "/proc", "/tmp", "/private"];
    let hidden = || path.components().take(4).any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    path.is_absolute() && !OTHERS.iter().any(|place| path.starts_with(place)) && !hidden()
}

/// Whether a text names a path or something below it.
fn names(text: &str, path: &str) -> bool {
    let ends =
        |rest: &str| rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && !matches!(next, '-' | '_'));
    !path.is_empty() && text.match_indices(path).any(|(at, _)| ends(&text[at + path.len()..]))
}

/// `/repo` of `/repo/src/parser`.
fn above_its_parts(root: &Path) -> PathBuf {
    const PARTS: [&str; 18] = [
        "src", "lib", "test", "tests", "spec", "docs", "doc", "packages", "crates", "apps", "libs", "cmd", "internal",
        "pkg", "app", "e2e", "scripts", "Sources",
    ];
    let mut above = PathBuf::new();
    for (at, part) in root.components().enumerate() {
        if at > 1 && part.as_os_str().to_str().is_some_and(|part| PARTS.contains(&part)) {
            break;
        }
        above.push(part);
    }
    above
}

/// A path without what says nothing.
pub(super) fn trimmed(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

/// The same path, one of them perhaps from the root.
pub(super) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (trimmed(a), trimmed(b));
    let ends = |long: &str, short: &str| {
        !short.is_empty() && long.strip_suffix(short).is_some_and(|head| head.is_empty() || head.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

/// Whether a path is, or lies in, what is named.
pub(super) fn covers(named: &str, path: &str) -> bool {
    let named = trimmed(named).trim_end_matches(['*', '/']);
    named.is_empty()
        || named == "."
        || named == ":"
        || same(named, path)
        || trimmed(path).starts_with(&format!("{named}/"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::turn;
    use super::*;

    fn check(edited: &[&str], read: &str, expected: &str) {
        let mut made = edited.iter().fold(turn("x"), |turn, path| turn.edit(path));
        made = made.bash(&format!("cat {read}"));
        made.turn.dir = Some("/home/me/project".into());
        assert_eq!(project(&made.turn).unwrap(), Path::new(expected), "{edited:?}");
    }

    #[test]
    fn a_record_from_another_checkout_names_its_own_place() {
        check(&["/repo/src/a.rs", "/repo/tests/b.rs"], "x", "/repo");
        check(&["/repo/docs/guide/a.md"], "x", "/repo");
        check(&["/workspace/web/packages/a/i.ts"], "x", "/workspace/web");
    }

    #[test]
    fn otherwise_it_is_the_directory_that_is_judged() {
        let here = "/home/me/project";
        check(&["/home/me/project/src/a.rs", "/repo/b.rs"], "x", here);
        check(&["src/a.rs", "/repo/b.rs"], "x", here);
        check(&["/repo/src/a.rs"], "/home/me/project/b.rs", here);
        for path in ["/tmp/x.py", "/etc/nginx/nginx.conf", "/opt/elsewhere/a.py", "/home/me/.bashrc", "~/.bashrc"] {
            check(&[path], "x", here);
        }
        check(&[], "x", here);
    }
}
