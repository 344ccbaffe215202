//! A diff as it is read: file by file, so that no large one hides another.

use crate::services::Diff;
use crate::toolchain;
use memchr::memmem::find;

/// So much of the change of one file is shown; more of one that is code or decides how tests run, and is looked at for that.
const FILE_BYTES: usize = 128 * 1024;
const CODE_BYTES: usize = 1024 * 1024;
/// So much in all.
const ALL_BYTES: usize = 8 * 1024 * 1024;

/// Git's diff, without what is too large or no text. Of such a file what happened to it is still there.
pub(super) fn readable(diff: &[u8]) -> Diff {
    let mut shown = Diff::default();
    let files: Vec<File<'_>> = split(diff).into_iter().map(File::of).collect();
    // What is looked at comes first, whatever its name.
    let code: usize = files.iter().filter(|file| file.is_looked_at() && file.fits()).map(|file| file.lines.len()).sum();
    let (mut left, mut left_for_code) = (ALL_BYTES.saturating_sub(code), ALL_BYTES);
    for file in files {
        let left = if file.is_looked_at() { &mut left_for_code } else { &mut left };
        shown.text += &String::from_utf8_lossy(file.head);
        if file.fits() && file.lines.len() <= *left {
            *left -= file.lines.len();
            // Text in UTF-16 is text, too.
            shown.text += &String::from_utf8_lossy(file.lines).replace('\0', "");
        } else if !file.lines.is_empty() {
            shown.text += &format!("({} bytes of this change are not shown)\n", file.lines.len());
            if file.is_looked_at() {
                shown.left_out.push(file.path);
            }
        }
    }
    shown
}

/// The part of a diff that is about one file.
struct File<'d> {
    path: String,
    head: &'d [u8],
    lines: &'d [u8],
}

impl<'d> File<'d> {
    fn of(part: &'d [u8]) -> Self {
        let end = find(part, b"\n@@ ").map_or(part.len(), |at| at + 1);
        let (head, lines) = part.split_at(end);
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let names = String::from_utf8_lossy(first.strip_prefix(BEGIN).unwrap_or(first)).into_owned();
        // `a/name b/name`, both of them in quotes where it is a strange one.
        let one = names.get(..names.len() / 2).unwrap_or(&names).trim_matches('"');
        Self { path: one.strip_prefix("a/").unwrap_or(one).to_owned(), head, lines }
    }

    fn is_looked_at(&self) -> bool {
        let path = &self.path;
        toolchain::is_code(path) || toolchain::is_test(path) || toolchain::configures_tests(path)
    }

    fn fits(&self) -> bool {
        if self.is_looked_at() {
            self.lines.len() <= CODE_BYTES
        } else {
            self.lines.len() <= FILE_BYTES && !self.lines.contains(&0)
        }
    }
}

const BEGIN: &[u8] = b"diff --git ";

/// No line of a file's content begins like that: a sign stands before each.
fn split(diff: &[u8]) -> Vec<&[u8]> {
    let mut files = Vec::new();
    let mut rest = diff;
    while !rest.is_empty() {
        let end = find(rest, b"\ndiff --git ").map_or(rest.len(), |at| at + 1);
        let (file, next) = rest.split_at(end);
        files.push(file);
        rest = next;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: &str) -> String {
        format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n{lines}\n")
    }

    fn check(files: &[(&str, String)], shown: &[&str], left_out: &[&str]) {
        let all: String = files.iter().map(|(path, lines)| file(path, lines)).collect();
        let read = readable(all.as_bytes());
        assert_eq!(read.left_out, left_out);
        for (path, lines) in files {
            assert!(read.text.contains(&format!("+++ b/{path}\n")), "{path}");
            assert_eq!(read.text.contains(&file(path, lines)), shown.contains(path), "{path}");
        }
    }

    #[test]
    fn a_large_file_hides_no_other() {
        let (one, much) = ("-a\n+b".to_owned(), "+0123456789\n".repeat(200_000));
        check(&[("a.txt", much.clone()), ("b.py", one.clone())], &["b.py"], &[]);
        check(&[("a.py", much.clone()), ("b.py", one.clone()), ("c.md", one.clone())], &["b.py", "c.md"], &["a.py"]);
        let code = "+0123456789\n".repeat(80_000);
        check(&[("a.py", code), ("b.lock", "+0\n".repeat(60_000))], &["a.py"], &[]);
        check(&[("a.png", "+\0".to_owned()), ("b.py", one.clone())], &["b.py"], &[]);
        check(&[("a b/c d.py", one)], &["a b/c d.py"], &[]);
    }

    #[test]
    fn much_that_nobody_looks_at_leaves_room_for_what_is() {
        let data: Vec<String> = (0..100).map(|n| format!("d{n:03}.txt")).collect();
        let mut files: Vec<(&str, String)> = data.iter().map(|name| (name.as_str(), "+0\n".repeat(40_000))).collect();
        files.push(("z.py", "+x".to_owned()));
        let all: String = files.iter().map(|(path, lines)| file(path, lines)).collect();
        let read = readable(all.as_bytes());
        assert!(read.text.ends_with("+x\n") && read.left_out.is_empty() && read.text.len() < ALL_BYTES + 64 * 1024);
    }

    #[test]
    fn text_in_two_bytes_is_read() {
        let wide: String = "+os._exit(0)".chars().flat_map(|c| [c, '\0']).collect();
        assert!(readable(file("a.py", &wide).as_bytes()).text.contains("+os._exit(0)"));
    }
}
