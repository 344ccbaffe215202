//! Places in a project's files, by the little that is known of where the project lies.

use super::found::{Frame, in_project, pattern};

/// What stays of a place from one workspace to the next: nobody here knows where the workspace is, so of an absolute
/// path only the file's name counts.
pub(super) fn place(frame: &Frame) -> String {
    let file = frame.file.as_str();
    match file.rsplit_once('/') {
        Some((_, name)) if file.starts_with('/') => name.to_owned(),
        _ => file.to_owned(),
    }
}

/// A frame with its path relative to the directory that all the project's files in the output share.
pub(super) fn relative(frame: &Frame, output: &str) -> Frame {
    pattern!(FILE, r#"(?:^|[\s"'(])(/[^\s"':()]+\.\w+)"#);
    let mut frame = frame.clone();
    if !frame.file.starts_with('/') {
        return frame;
    }
    let mut root = frame.file.rsplit_once('/').map_or("", |(dir, _)| dir);
    for other in FILE.captures_iter(output) {
        let path = other.get(1).map_or("", |path| path.as_str());
        while in_project(path) && !root.is_empty() && !below(path, root) {
            let parent = root.rsplit_once('/').map_or("", |(dir, _)| dir);
            if parent.is_empty() {
                break; // nothing in common with this one: another disk's file, not the project's
            }
            root = parent;
        }
    }
    frame.file = frame.file[root.len()..].trim_start_matches('/').to_owned();
    frame
}

fn below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}
