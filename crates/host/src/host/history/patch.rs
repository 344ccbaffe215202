//! Reads the patch of one commit, line by line.

use crate::domain::{FileChange, line_fingerprint};

/// So many fingerprints are kept of a commit: more is a vendored or generated tree, whose lines say nothing.
const KEPT_LINES: usize = 200_000;

/// The patch read so far.
#[derive(Debug, Default)]
pub(super) struct Patch {
    files: Vec<FileChange>,
    kept: usize,
    hunk: Hunk,
}

/// How much of a hunk is still to come, and what stood in it.
#[derive(Debug, Default)]
struct Hunk {
    old: u32,
    new: u32,
    removes: bool,
    beside: Vec<u64>,
}

impl Patch {
    /// What was changed.
    pub(super) fn files(self) -> Vec<FileChange> {
        self.files
    }

    /// Takes a line without its end. Inside of a hunk the counts of its head say what is a line of the file, so that a
    /// removed line which looks like a head is none.
    pub(super) fn line(&mut self, line: &[u8]) {
        if self.hunk.old > 0 || self.hunk.new > 0 {
            self.hunk_line(line);
        } else if let Some(rest) = line.strip_prefix(b"diff --git ") {
            self.files.push(FileChange { path: same_path(rest).unwrap_or_default(), ..FileChange::default() });
        } else if line.starts_with(b"@@ -") {
            let (old, new) = counts(line).unwrap_or_default();
            self.hunk = Hunk { old, new, ..Hunk::default() };
        } else if let Some(file) = self.files.last_mut() {
            let named = line.strip_prefix(b"rename to ").or_else(|| {
                let side = line.strip_prefix(b"+++ b/").or_else(|| line.strip_prefix(b"--- a/"));
                // git ends a name that has blanks in it with a tab.
                side.map(|name| name.strip_suffix(b"\t").unwrap_or(name))
            });
            if let Some(name) = named {
                file.path = String::from_utf8_lossy(name).into_owned();
            } else if let Some(quoted) = line.strip_prefix(b"+++ \"b/").or_else(|| line.strip_prefix(b"--- \"a/")) {
                file.path = String::from_utf8_lossy(quoted.strip_suffix(b"\"").unwrap_or(quoted)).into_owned();
            }
        }
    }

    fn hunk_line(&mut self, line: &[u8]) {
        let hunk = &mut self.hunk;
        let (sign, text) = line.split_first().map_or((b' ', line), |(sign, text)| (*sign, text));
        let Some(file) = self.files.last_mut() else { return };
        let fingerprint = line_fingerprint(text).filter(|_| self.kept < KEPT_LINES);
        self.kept += usize::from(fingerprint.is_some());
        match sign {
            b'+' => {
                hunk.new = hunk.new.saturating_sub(1);
                file.lines += 1;
                file.added.extend(fingerprint);
            }
            b'-' => {
                hunk.old = hunk.old.saturating_sub(1);
                hunk.removes = true;
                file.lines += 1;
                file.touched.extend(fingerprint);
            }
            // `\ No newline at end of file`
            b'\\' => {}
            _ => {
                (hunk.old, hunk.new) = (hunk.old.saturating_sub(1), hunk.new.saturating_sub(1));
                hunk.beside.extend(fingerprint);
            }
        }
        if hunk.old == 0 && hunk.new == 0 && !hunk.removes {
            file.touched.append(&mut hunk.beside);
        }
    }
}

/// The counts of `@@ -1,2 +3,4 @@`; a missing one is 1.
fn counts(line: &[u8]) -> Option<(u32, u32)> {
    let mut ranges = std::str::from_utf8(line.get(4..)?.split(|byte| *byte == b'@').next()?).ok()?.split(" +");
    let mut count = || {
        let range = ranges.next()?.trim();
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count()?, count()?))
}

/// The path of `a/path b/path`, where nothing else names it: binary and empty files, changed modes.
fn same_path(rest: &[u8]) -> Option<String> {
    let (old, new) = rest.split_at_checked(rest.len() / 2)?;
    let (old, new) = (old.strip_prefix(b"a/")?, new.strip_prefix(b" b/")?);
    (old == new).then(|| String::from_utf8_lossy(new).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<FileChange> {
        let mut patch = Patch::default();
        text.lines().for_each(|line| patch.line(line.as_bytes()));
        patch.files()
    }

    fn prints(lines: &[&str]) -> Vec<u64> {
        lines.iter().filter_map(|line| line_fingerprint(line.as_bytes())).collect()
    }

    #[test]
    fn lines_are_counted_by_the_hunk_and_not_by_their_looks() {
        let files = read(
            "diff --git a/a b b/a b\nindex 1..2 100644\n--- a/a b\t\n+++ b/a b\t\n@@ -1,3 +1,3 @@ fn x\n keep\n--- a/old\n+++ b/new\n last\n\
             @@ -9 +9,2 @@\n before\n+inserted\n\\ No newline at end of file",
        );
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].path.as_str(), files[0].lines), ("a b", 3));
        assert_eq!(files[0].added, prints(&["++ b/new", "inserted"]));
        // What was removed, and what stands beside a bare insertion.
        assert_eq!(files[0].touched, prints(&["-- a/old", "before"]));
    }

    #[test]
    fn files_without_lines_are_named_all_the_same() {
        let check = |patch: &str, path: &str| {
            let files = read(patch);
            assert_eq!(files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), [path], "{patch}");
        };
        check(
            "diff --git a/x y.png b/x y.png\nindex 1..2 100644\nBinary files a/x y.png and b/x y.png differ",
            "x y.png",
        );
        check("diff --git a/run b/run\nold mode 100644\nnew mode 100755", "run");
        check("diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new", "new");
        check(
            "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x",
            "gone",
        );
        check("diff --git \"a/t\\tb\" \"b/t\\tb\"\n--- \"a/t\\tb\"\n+++ \"b/t\\tb\"\n@@ -1 +1 @@\n-x\n+y", "t\\tb");
    }
}
