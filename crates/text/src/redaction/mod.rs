//! Secrets in texts that are stored, shown, sent or put into a prompt.
//!
//! What a check prints, what an agent says and what a tool answers may hold keys and passwords. They are replaced by
//! `[redacted:RULE]` before anybody keeps or sees them: the values of secret-looking environment variables exactly, and
//! what the rules in `config/redaction/` find. Trees, branches and patches are never changed.

mod decoded;
mod environment;
mod json;
mod rules;
mod seen;
mod spelt;
#[cfg(test)]
mod tests;

use environment::Values;
use rules::Rules;
use seen::Seen;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

/// Finds secrets and replaces them.
///
/// ```
/// use reflexion_text::redaction::Redactor;
/// let token = ["gh", "p_", "k3Qv9TzR1mXw7LbYc5HnD2sPfJ8aGuE4tV6o"].concat();
/// let text = format!("fatal: {token} has no access");
/// assert_eq!(Redactor::of_process().redact(&text), "fatal: [redacted:github-pat] has no access");
/// assert_eq!(Redactor::of_process().redact("nothing to hide"), "nothing to hide");
/// ```
pub struct Redactor {
    values: Option<Values>,
    rules: Arc<Rules>,
    /// What stands in one of these is no secret.
    names: Vec<String>,
}

/// What was added to what this process knows by itself.
struct Added {
    variables: BTreeSet<(String, String)>,
    /// Names of variables that hold secrets, whatever they are called.
    secrets: BTreeSet<String>,
    /// The texts of files of rules, by path.
    rules: BTreeMap<PathBuf, String>,
    /// What stands in names is no secret.
    names: BTreeSet<String>,
}

impl Added {
    fn redactor(&self) -> Redactor {
        let rules = if self.rules.is_empty() { Rules::shipped() } else { Arc::new(Rules::with(self.rules.values())) };
        let is_named = |value: &str| self.names.iter().any(|name| name.contains(value));
        let variables = environment::of_process().chain(self.variables.iter().cloned());
        let variables = variables.filter(|(_, value)| !is_named(value));
        let values = Values::of(variables, |name| self.secrets.contains(name), &rules);
        Redactor { values, rules, names: self.names.iter().cloned().collect() }
    }
}

static ADDED: Mutex<Added> = Mutex::new(Added {
    variables: BTreeSet::new(),
    secrets: BTreeSet::new(),
    rules: BTreeMap::new(),
    names: BTreeSet::new(),
});
static PROCESS: LazyLock<RwLock<Arc<Redactor>>> =
    LazyLock::new(|| RwLock::new(Arc::new(Redactor::of(environment::of_process(), Rules::shipped()))));

/// A file of rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}", path = path.display())]
pub struct RulesError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, with the line or the rule.
    pub message: String,
}

impl Redactor {
    /// The one of this process: its own environment, the rules that come with the program, and what was added.
    #[must_use]
    pub fn of_process() -> Arc<Self> {
        Arc::clone(&PROCESS.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on the process looks for more: the values of these variables, if their names look like those of secrets,
    /// and what the rules in a file find, which has the format of gitleaks. Nothing is ever taken away again.
    ///
    /// # Errors
    /// [`RulesError`] if the file cannot be read, is no TOML, or has a rule that cannot be used; then nothing is added.
    pub fn add_to_process<'a>(
        variables: impl IntoIterator<Item = (&'a String, &'a String)>,
        rules: Option<&Path>,
    ) -> Result<(), RulesError> {
        let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        if let Some(path) = rules {
            let wrong = |message| RulesError { path: path.to_owned(), message };
            // Nobody waits for a pipe.
            let data = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
            if !data.is_file() {
                return Err(wrong("it is no file".to_owned()));
            }
            let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
            Rules::check(&text).map_err(wrong)?;
            is_new = added.rules.get(path) != Some(&text);
            added.rules.insert(path.to_owned(), text);
        }
        for (name, value) in variables {
            is_new |= added.variables.insert((name.clone(), value.clone()));
        }
        if is_new {
            *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(added.redactor());
        }
        Ok(())
    }

    /// From now on the process looks for the values of these variables, whatever they are called: somebody said that they hold secrets.
    pub fn keep_secret(names: impl IntoIterator<Item = String>) {
        let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
        let before = added.secrets.len();
        added.secrets.extend(names);
        if added.secrets.len() > before {
            *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(added.redactor());
        }
    }

    /// Whether a variable of this name holds a secret, by the rules that are shipped.
    #[must_use]
    pub fn is_secret_name(name: &str) -> bool {
        Rules::shipped().is_secret_name(name)
    }

    /// Whether what a file of variables sets is a secret: by its name, and by its value where other things are called so too.
    ///
    /// ```
    /// # use reflexion_text::redaction::Redactor;
    /// assert!(Redactor::is_secret_setting("SHOP_API_KEY", "sesame-open-up") && Redactor::is_secret_setting("SORT_KEY", "k3-9f1"));
    /// assert!(!Redactor::is_secret_setting("SORT_KEY", "createdAt"));
    /// ```
    #[must_use]
    pub fn is_secret_setting(name: &str, value: &str) -> bool {
        Rules::shipped().is_secret_setting(name, value)
    }

    /// From now on what stands in these names is no secret: the names are in files, paths and branches for everybody
    /// to see, and records have to be found by them.
    pub fn let_stand<'a>(names: impl IntoIterator<Item = &'a str>) {
        let process = Self::of_process();
        let is_changed = |name: &&str| matches!(process.redact(name), Cow::Owned(_));
        let found: Vec<String> = names.into_iter().filter(is_changed).map(str::to_owned).collect();
        if !found.is_empty() {
            let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
            added.names.extend(found);
            *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(added.redactor());
        }
    }

    fn of(variables: impl IntoIterator<Item = (String, String)>, rules: Arc<Rules>) -> Self {
        Self { values: Values::of(variables, |_| false, &rules), rules, names: Vec::new() }
    }

    /// The text without secrets. What was redacted already stays as it is.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replaced(text, self.found(text))
    }

    /// A text without the values of this process's own variables, and nothing else replaced: what a project says, which is a secret by a rule or
    /// a variable of its own, could hide from its reader what they are asked about.
    #[must_use]
    pub fn redact_own_variables(text: &str) -> Cow<'_, str> {
        static OWN: LazyLock<Redactor> = LazyLock::new(|| Redactor::of(environment::of_process(), Rules::shipped()));
        replaced(text, apart(OWN.values_in(text)))
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
        let mut found = self.found_in(text);
        // Colours may stand in the middle of a secret, and what has no width.
        if let Some(seen) = Seen::of(text) {
            found.extend(self.found_in(seen.text()).into_iter().map(|(range, rule)| (seen.range(&range), rule)));
        }
        apart(found)
    }

    fn values_in(&self, text: &str) -> Vec<(Range<usize>, &'static str)> {
        let values = self.values.iter().flat_map(|values| values.find(text));
        values.map(|range| (range, environment::RULE)).collect()
    }

    fn found_in(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let mut found: Vec<(Range<usize>, &str)> = self.values_in(text);
        found.extend(self.rules.find(text));
        if !self.names.is_empty() {
            found.retain(|(range, _)| !self.names.iter().any(|name| name.contains(&text[range.clone()])));
        }
        found
    }
}

/// In order and apart from each other: of two that begin together the longer one; what begins inside another one makes that longer.
fn apart(mut found: Vec<(Range<usize>, &str)>) -> Vec<(Range<usize>, &str)> {
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

/// A text with `[redacted:RULE]` in these places, which are in order and apart.
fn replaced<'a>(text: &'a str, found: Vec<(Range<usize>, &str)>) -> Cow<'a, str> {
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
