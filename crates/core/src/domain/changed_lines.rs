//! The lines of a unified diff with their places.

/// A line that a diff adds or removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedLine<'d> {
    /// The file, as the diff names it.
    pub file: &'d str,
    /// Its number: of an added line in the new file, of a removed one in the old file.
    pub number: usize,
    /// It is new; else it is gone.
    pub is_added: bool,
    /// The line itself, without the sign.
    pub text: &'d str,
}

/// What a unified diff adds and removes, in order. Where its middle was left out, numbers begin again at the next hunk.
///
/// ```
/// # use reflexion_core::domain::changed_lines;
/// let diff = "--- a/cart.py\n+++ b/cart.py\n@@ -3,2 +3,2 @@ def total():\n     result = 0\n-    for price in prices[1:]:\n+    for price in prices:\n";
/// let places: Vec<_> = changed_lines(diff).map(|line| (line.file, line.number, line.is_added)).collect();
/// assert_eq!(places, [("cart.py", 4, false), ("cart.py", 4, true)]);
/// ```
pub fn changed_lines(diff: &str) -> impl Iterator<Item = ChangedLine<'_>> {
    let (mut file, mut old_name) = ("", "");
    // Lines that the hunk still has, and the numbers of the next ones.
    let (mut left, mut next) = ((0usize, 0usize), (0usize, 0usize));
    diff.lines().filter_map(move |line| {
        let in_hunk = left.0 > 0 || left.1 > 0;
        let take_old = || (left.0.saturating_sub(1), next.0 + 1);
        let take_new = || (left.1.saturating_sub(1), next.1 + 1);
        match line.as_bytes().first() {
            Some(b'-') if in_hunk && left.0 > 0 => {
                let number = next.0;
                (left.0, next.0) = take_old();
                return Some(ChangedLine { file, number, is_added: false, text: &line[1..] });
            }
            Some(b'+') if in_hunk && left.1 > 0 => {
                let number = next.1;
                (left.1, next.1) = take_new();
                return Some(ChangedLine { file, number, is_added: true, text: &line[1..] });
            }
            Some(b' ') | None if in_hunk => ((left.0, next.0), (left.1, next.1)) = (take_old(), take_new()),
            _ => {
                if let Some(name) = line.strip_prefix("--- ") {
                    old_name = name.strip_prefix("a/").unwrap_or(name);
                } else if let Some(name) = line.strip_prefix("+++ ") {
                    // A file that is gone has its old name.
                    file = if name == "/dev/null" { old_name } else { name.strip_prefix("b/").unwrap_or(name) };
                } else if let Some((old, new)) = hunk(line) {
                    (left, next) = ((old.1, new.1), (old.0, new.0));
                } else if !line.starts_with('\\') {
                    // Its rest was left out.
                    left = (0, 0);
                }
            }
        }
        None
    })
}

/// Start and length of both sides of `@@ -3,2 +3,2 @@`.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |side: &str| match side.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((side.parse().ok()?, 1)),
    };
    Some((side(old)?, side(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_look_like_headers_and_cuts_do_not_confuse_it() {
        let diff = "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new comment\n select 1\n\\ No newline at end of file\n\
            --- a/gone.py\n+++ /dev/null\n@@ -7 +0,0 @@\n-x\n[… 9 bytes left out …]\n+y\n@@ -30,1 +29,2 @@\n z\n+new\n";
        let found: Vec<_> =
            changed_lines(diff).map(|line| (line.file, line.number, line.is_added, line.text)).collect();
        assert_eq!(
            found,
            [
                ("q.sql", 1, false, "-- old comment"),
                ("q.sql", 1, true, "++ new comment"),
                ("gone.py", 7, false, "x"),
                ("gone.py", 30, true, "new"),
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(@@ -1,2 \\+1,3 @@|--- a/|\\+\\+\\+ b/|\n|[-+ ]x|@@ -9+|ä){0,40}") {
            let _ = changed_lines(&text).count();
        }
    }
}
