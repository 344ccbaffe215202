//! A unified diff, as far as the gates read it.

/// What a diff does to one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileDiff<'d> {
    /// The path before, or after where the file is new.
    pub(super) path: &'d str,
    /// The file is gone and did not move.
    pub(super) deleted: bool,
    /// The file is new and did not move.
    pub(super) added: bool,
    /// What git calls its content before and after, in short.
    pub(super) blobs: Option<(&'d str, &'d str)>,
    /// It was or is not empty.
    pub(super) has_text: bool,
    /// Its lines, hunk after hunk.
    pub(super) hunks: Vec<Vec<Line<'d>>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'d> {
    Same(&'d str),
    Removed(&'d str),
    Added(&'d str),
}

impl<'d> FileDiff<'d> {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'d>> + '_ {
        self.hunks.iter().flatten().copied()
    }

    pub(super) fn added_lines(&self) -> impl Iterator<Item = &'d str> + '_ {
        self.lines().filter_map(|line| match line {
            Line::Added(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn removed_lines(&self) -> impl Iterator<Item = &'d str> + '_ {
        self.lines().filter_map(|line| match line {
            Line::Removed(text) => Some(text),
            _ => None,
        })
    }
}

/// Reads a diff; what is no diff gives no files.
pub(super) fn read(diff: &str) -> Vec<FileDiff<'_>> {
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    // Lines of the current hunk that are still to come, on both sides.
    let (mut old_left, mut new_left) = (0u64, 0u64);
    for line in diff.lines() {
        if old_left > 0 || new_left > 0 {
            let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) else { continue };
            let (kind, text) = line.split_at_checked(1).unwrap_or((" ", ""));
            match kind {
                "+" => hunk.push(Line::Added(text)),
                "-" => hunk.push(Line::Removed(text)),
                "\\" => continue,
                _ => hunk.push(Line::Same(text)),
            }
            old_left = old_left.saturating_sub(u64::from(kind != "+"));
            new_left = new_left.saturating_sub(u64::from(kind != "-"));
            continue;
        }
        if let Some(rest) = line.strip_prefix("diff --git ") {
            let path = rest.split_once(" b/").map_or(rest, |(a, _)| a.strip_prefix("a/").unwrap_or(a));
            files.push(FileDiff { path, ..FileDiff::default() });
        } else if let Some(path) = line.strip_prefix("--- ") {
            let path = path.split('\t').next().unwrap_or(path);
            // Git has no such line for a file that is empty; it has one where the lines are not shown.
            if let Some(file) = files.last_mut() {
                file.has_text = true;
            }
            match (path.strip_prefix("a/"), files.last_mut()) {
                (Some(path), Some(file)) if file.hunks.is_empty() => file.path = path,
                (Some(path), _) => files.push(FileDiff { path, ..FileDiff::default() }),
                (None, _) => {}
            }
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.split('\t').next().unwrap_or(path);
            if let (Some(file), Some(path)) = (files.last_mut().filter(|f| f.added), path.strip_prefix("b/")) {
                file.path = path;
            }
        } else if let Some(file) = files.last_mut() {
            if line.starts_with("deleted file mode") {
                file.deleted = true;
            } else if line.starts_with("new file mode") {
                file.added = true;
            } else if let Some(ids) = line.strip_prefix("index ") {
                file.blobs = ids.split(' ').next().and_then(|ids| ids.split_once(".."));
            } else if let Some((old, new)) = hunk_header(line) {
                (old_left, new_left) = (old, new);
                file.hunks.push(Vec::new());
            }
        }
    }
    files
}

/// `@@ -1,5 +1,6 @@`: how many lines of both sides follow.
fn hunk_header(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, n)| n.parse().ok());
    let old = count(words.next()?)?;
    let new = count(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_hunks() {
        let diff = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,2 @@ def f\n a\n-b\n--- c\n+d\n\
                    diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+y\n";
        let files = read(diff);
        let shown: Vec<_> = files.iter().map(|f| (f.path, f.deleted, f.added)).collect();
        assert_eq!(shown, [("x.py", false, false), ("gone.py", true, false), ("new.py", false, true)]);
        let lines: Vec<_> = files[0].lines().collect();
        assert_eq!(lines, [Line::Same("a"), Line::Removed("b"), Line::Removed("-- c"), Line::Added("d")]);
    }

    #[test]
    fn what_is_no_diff_is_nothing() {
        assert_eq!(read("hello\n@@ -1 +1 @@\n+++ b/x\n"), []);
    }
}
