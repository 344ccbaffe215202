//! Secrets in texts that are stored, shown, sent or put into a prompt.
//!
//! What a check prints, what an agent says and what a tool answers may hold keys and passwords. They are replaced by
//! `[redacted:RULE]` before anybody keeps or sees them: the values of secret-looking environment variables exactly, and
//! what the rules in `config/redaction/` find. Trees, branches and patches are never changed.

mod environment;
mod json;
mod rules;
#[cfg(test)]
mod tests;

use aho_corasick::AhoCorasick;
use rules::Rules;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Finds secrets and replaces them.
///
/// ```
/// use reflexion::redaction::Redactor;
/// let token = ["gh", "p_", "R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m"].concat();
/// let text = format!("fatal: {token} has no access");
/// assert_eq!(Redactor::of_process().redact(&text), "fatal: [redacted:github-pat] has no access");
/// assert_eq!(Redactor::of_process().redact("nothing to hide"), "nothing to hide");
/// ```
pub struct Redactor {
    /// The values of variables, longest first.
    values: Option<AhoCorasick>,
    rules: &'static Rules,
}

static PROCESS: LazyLock<Redactor> = LazyLock::new(|| Redactor::of(std::env::vars_os()));

impl Redactor {
    /// The one of this program: its own environment and the rules that come with it.
    #[must_use]
    pub fn of_process() -> &'static Self {
        &PROCESS
    }

    fn of(variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>) -> Self {
        let rules = Rules::shipped();
        Self { values: environment::matcher(variables, rules), rules }
    }

    /// The text without secrets. What was redacted already stays as it is.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.found(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut at = 0;
        for (range, rule) in found {
            redacted.push_str(&text[at..range.start]);
            redacted.push_str("[redacted:");
            redacted.push_str(rule);
            redacted.push(']');
            at = range.end;
        }
        redacted.push_str(&text[at..]);
        Cow::Owned(redacted)
    }

    /// The same for a text of one's own, which is copied only if it holds something.
    #[must_use]
    pub fn redact_owned(&self, text: String) -> String {
        match self.redact(&text) {
            Cow::Owned(redacted) => redacted,
            Cow::Borrowed(_) => text,
        }
    }

    /// Where secrets stand and which rule says so, in order and apart from each other.
    fn found(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let values = self.values.iter().flat_map(|values| values.find_iter(text));
        let mut found: Vec<_> = values.map(|value| (value.range(), environment::RULE)).collect();
        found.extend(self.rules.find(text));
        // Of two that begin together the longer one; what begins inside another one makes that longer.
        found.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
        let mut apart: Vec<(Range<usize>, &str)> = Vec::with_capacity(found.len());
        for (range, rule) in found {
            match apart.last_mut() {
                Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push((range, rule)),
            }
        }
        apart
    }
}
