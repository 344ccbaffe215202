//! Changes in a few words, and the lines in which two of them differ.

use crate::domain::{ChangedLine, changed_lines};
use crate::prompt::{one_line, plain, shorten};
use std::iter::Peekable;

/// At most this many changes are named.
const CHANGES: usize = 3;
/// Of a line, at most this much is quoted, in bytes.
const LINE_BYTES: usize = 60;

/// `cart.py:3 prices[1:] to prices.`: the first lines that are replaced, added or removed. At least as many lines in the place of others
/// replace them one by one.
pub(super) fn in_short<'d>(lines: impl Iterator<Item = ChangedLine<'d>>) -> Option<String> {
    let quoted =
        |line: &ChangedLine<'_>| format!("`{}`", shorten(&one_line(&plain(line.text)), LINE_BYTES).replace('`', "'"));
    let place = |line: &ChangedLine<'_>| format!("{}:{}", one_line(&plain(line.file)), line.number);
    let (mut said, mut lines) = (Vec::new(), lines.peekable());
    while lines.peek().is_some() {
        let (old, new) = (block(&mut lines, false), block(&mut lines, true));
        // Where fewer stand there now, nobody knows which stands for which.
        let pairs = if old.len() <= new.len() { old.len() } else { 0 };
        let to = |(old, new)| format!("{} {} to {}", place(old), quoted(old), quoted(new));
        said.extend(old.iter().zip(&new).take(pairs).map(to));
        said.extend(old[pairs..].iter().map(|line| format!("{} {} taken out", place(line), quoted(line))));
        said.extend(new[pairs..].iter().map(|line| format!("{} {} added", place(line), quoted(line))));
    }
    let more = said.len().saturating_sub(CHANGES);
    said.truncate(CHANGES);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!said.is_empty()).then(|| format!("{}{more}.", said.join(", ")))
}

/// The next removed, or added, lines that stand below each other, without blank ones.
fn block<'d>(lines: &mut Peekable<impl Iterator<Item = ChangedLine<'d>>>, added: bool) -> Vec<ChangedLine<'d>> {
    let mut last = None::<(&str, usize)>;
    let mut goes_on = |line: &ChangedLine<'d>| {
        let is_next = last.is_none_or(|(file, number)| file == line.file && number + 1 == line.number);
        let goes_on = line.is_added == added && is_next;
        last = if goes_on { Some((line.file, line.number)) } else { last };
        goes_on
    };
    let block = std::iter::from_fn(|| lines.next_if(&mut goes_on));
    block.filter(|line| !line.text.trim().is_empty()).collect()
}

/// Those of a change's lines that the diff of another one has not, wherever they stand in their file.
pub(super) fn beyond<'d>(lines: impl Iterator<Item = ChangedLine<'d>>, other: &'d str) -> Vec<ChangedLine<'d>> {
    let key = |line: &ChangedLine<'d>| (line.file, line.is_added, line.text.trim());
    let mut rest: Vec<_> = changed_lines(other).map(|line| key(&line)).collect();
    let is_new = |line: &ChangedLine<'d>| {
        let found = rest.iter().position(|other| *other == key(line));
        found.map(|at| rest.swap_remove(at)).is_none()
    };
    let mut is_new = is_new;
    lines.filter(|line| !line.text.trim().is_empty() && is_new(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_one_of_two_changes_has_is_found() {
        let failed = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n";
        let passed = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 3\n--- a/b.py\n+++ b/b.py\n@@ -7 +7 @@\n-y = 1\n+y = 0\n";
        let said = |diff, other| in_short(beyond(changed_lines(diff), other).into_iter());
        assert_eq!(said(passed, failed).as_deref(), Some("a.py:1 `x = 3` added, b.py:7 `y = 1` to `y = 0`."));
        assert_eq!(said(failed, passed).as_deref(), Some("a.py:1 `x = 2` added."));
        assert_eq!(said(passed, passed), None);
    }
}
