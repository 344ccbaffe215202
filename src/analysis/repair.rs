//! Which commits repair an earlier one, as far as their messages say.

use super::words::words;
use crate::domain::Commit;
use serde::Serialize;

/// What kind of repair a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairKind {
    /// It takes a commit back.
    Revert,
    /// It calls itself a hotfix.
    Hotfix,
    /// It calls itself a fix.
    Fix,
}

impl RepairKind {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revert => "revert",
            Self::Hotfix => "hotfix",
            Self::Fix => "fix",
        }
    }
}

/// A commit that says it repairs something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: RepairKind,
    pub(super) culprit: Culprit,
}

/// How what is repaired is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Culprit {
    /// The message names one of these commits by at least seven digits.
    Ids(Vec<String>),
    /// The message quotes its subject.
    Subject(String),
    /// It is whatever last wrote the lines that the repair touches.
    Lines,
}

/// Conventional types whose commits add or improve: `feat: add a fix command` repairs nothing.
const NO_REPAIR: [&str; 4] = ["feat", "feature", "refactor", "perf"];
const FIX: [&str; 8] = ["fix", "fixes", "fixed", "fixing", "bugfix", "bugfixes", "fixup", "regression"];
/// After one of these, `fixed` says of what kind something is.
const FIXED_THINGS: [&str; 7] = ["length", "point", "position", "price", "rate", "size", "width"];
const HOTFIX: [&str; 3] = ["hotfix", "hotfixes", "hotfixed"];

/// What the commit says it repairs, if it does.
pub(super) fn claim(commit: &Commit) -> Option<Claim> {
    let subject = commit.subject.trim();
    let lower = subject.to_lowercase();
    // Brought back is not taken back.
    if lower.starts_with("revert \"revert") || lower.starts_with("reapply") || lower.starts_with("reland") {
        return None;
    }
    if let Some(culprit) = reverted(subject, &lower, &commit.body) {
        return Some(Claim { kind: RepairKind::Revert, culprit });
    }
    let ids: Vec<String> = commit.body.lines().filter_map(|line| id_after(line.trim(), "fixes:")).collect();
    let said = words(subject);
    let kind = match () {
        () if lower.contains("hot-fix") || said.iter().any(|word| HOTFIX.contains(&word.as_str())) => {
            RepairKind::Hotfix
        }
        () if !ids.is_empty() || says_fix(&said) => RepairKind::Fix,
        () => return None,
    };
    if ids.is_empty() && conventional(&lower).is_some_and(|(kind, _)| NO_REPAIR.contains(&kind)) {
        return None;
    }
    let original = lower.starts_with("fixup! ").then(|| subject["fixup! ".len()..].trim().to_owned());
    let culprit = match original {
        _ if !ids.is_empty() => Culprit::Ids(ids),
        Some(original) => Culprit::Subject(original),
        None => Culprit::Lines,
    };
    Some(Claim { kind, culprit })
}

/// Type and scope of a conventional subject (`fix(parser)!: …`), given in lower case.
pub(super) fn conventional(lower: &str) -> Option<(&str, Option<&str>)> {
    let (head, _) = lower.split_once(": ")?;
    let head = head.strip_suffix('!').unwrap_or(head);
    let (kind, scope) = match head.split_once('(') {
        Some((kind, scope)) => (kind, Some(scope.strip_suffix(')')?)),
        None => (head, None),
    };
    (!kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase())).then_some((kind, scope))
}

fn reverted(subject: &str, lower: &str, body: &str) -> Option<Culprit> {
    let ids: Vec<String> = body.lines().filter_map(|line| id_after(line.trim(), "this reverts commit ")).collect();
    if !ids.is_empty() {
        return Some(Culprit::Ids(ids));
    }
    let quoted = lower.starts_with("revert \"").then(|| subject["revert \"".len()..].trim_end().trim_end_matches('"'));
    if let Some(quoted) = quoted {
        return Some(Culprit::Subject(quoted.to_owned()));
    }
    conventional(lower).filter(|(kind, _)| *kind == "revert")?;
    let (_, title) = subject.split_once(": ")?;
    Some(Culprit::Subject(title.trim().to_owned()))
}

/// The commit id after `start` (any case); a number is none.
fn id_after(line: &str, start: &str) -> Option<String> {
    let head = line.get(..start.len())?;
    let rest = line[start.len()..].trim_start();
    let id: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    let fits = head.eq_ignore_ascii_case(start) && (7..=64).contains(&id.len());
    let is_number = id.len() < 16 && id.chars().all(|c| c.is_ascii_digit());
    (fits && !is_number).then(|| id.to_lowercase())
}

fn says_fix(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let of_a_kind = || words.get(at + 1).is_some_and(|next| FIXED_THINGS.contains(&next.trim_end_matches('d')));
        FIX.contains(&word.as_str()) && !(word == "fixed" && of_a_kind())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subject: &str, body: &str, expected: Option<(RepairKind, Culprit)>) {
        let commit = Commit { subject: subject.to_owned(), body: body.to_owned(), ..Commit::default() };
        let expected = expected.map(|(kind, culprit)| Claim { kind, culprit });
        assert_eq!(claim(&commit), expected, "{subject} / {body}");
    }

    #[test]
    fn reverts_name_what_they_take_back() {
        let reverted = |culprit| Some((RepairKind::Revert, culprit));
        let ids = |ids: &[&str]| Culprit::Ids(ids.iter().map(|id| (*id).to_owned()).collect());
        let subject = |text: &str| Culprit::Subject(text.to_owned());
        check("Revert \"Add x\"", "This reverts commit ABCDEF0123.\n", reverted(ids(&["abcdef0123"])));
        check("Back out the cache", "This reverts commit 1234567a, it hangs.", reverted(ids(&["1234567a"])));
        check("Revert \"Add \"x\" to y\"", "", reverted(subject("Add \"x\" to y")));
        check("revert: feat: add x", "", reverted(subject("feat: add x")));
        check("revert(core): add x", "", reverted(subject("add x")));
        check("Revert \"Revert \"Add x\"\"", "This reverts commit abcdef0123.", None);
        check("Reapply \"Add x\"", "This reverts commit abcdef0123.", None);
        check("Add `revert` to the menu", "", None);
    }

    #[test]
    fn fixes_are_told_by_whole_words() {
        let fix = Some((RepairKind::Fix, Culprit::Lines));
        for subject in [
            "fix: crash on start",
            "fix(parser)!: crash",
            "Fix crash",
            "Parser: fixes a hang",
            "test: fix the flaky one",
            "chore: fix lint",
            "BUGFIX",
            "Fixed",
            "Regression in the parser",
            "fixed-size buffers: fix overflow",
        ] {
            check(subject, "", fix.clone());
        }
        for subject in
            ["Add prefix", "suffixes", "feat: add a fix command", "Fixed-size buffers", "fixed point maths", "fixture"]
        {
            check(subject, "", None);
        }
        check("hotfix: login", "", Some((RepairKind::Hotfix, Culprit::Lines)));
        check("Hot-fix the login", "", Some((RepairKind::Hotfix, Culprit::Lines)));
    }

    #[test]
    fn trailers_name_the_culprit() {
        let ids = |id: &str| Some((RepairKind::Fix, Culprit::Ids(vec![id.to_owned()])));
        check("net: take the lock", "Why.\n\nFixes: 0a1b2c3d4e5f (\"net: drop the lock\")", ids("0a1b2c3d4e5f"));
        check("feat: x", "Fixes: deadbeef", ids("deadbeef"));
        check("net: take the lock", "Fixes: #12345678", None);
        check("net: take the lock", "Fixes: 12345678", None);
        check("fixup! Add x", "", Some((RepairKind::Fix, Culprit::Subject("Add x".to_owned()))));
    }
}
