//! What differs from run to run, and what must not be told.

use crate::services::AgentRequest;
use regex::Regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Stands for the agent's directory.
pub(super) const DIR: &str = "<dir>";

/// A shorter id may as well be a word.
const ID_LENGTH: usize = 8;

/// A shorter value is no secret, and may as well be a word.
const SECRET_LENGTH: usize = 6;

/// Names of variables that hold secrets.
static SECRET: LazyLock<Regex> = LazyLock::new(|| pattern("(?i)key|token|secret|passw|credential"));

/// What differs from run to run, whatever the request; in this order.
static USUAL: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let temp = regex::escape(&std::env::temp_dir().to_string_lossy());
    let temp = temp.trim_end_matches('/');
    let rules = [
        ("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "<id>"),
        (r"\b[0-9a-f]{40}\b", "<id>"),
        // What a fence holds differs by the ids in it.
        (r"-[0-9a-f]{16}\b", "-<id>"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z\b|[+-]\d\d:?\d\d\b)?", "<time>"),
        (&format!("(?:/private)?(?:{temp}|/tmp|/var/tmp|/var/folders/[^/\\s]+/[^/\\s]+/T)/[\\w.+@-]+"), "<tmp>"),
        (r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?)\b", "<duration>"),
    ];
    rules.into_iter().map(|(rule, name)| (pattern(rule), name)).collect()
});

fn pattern(rule: &str) -> Regex {
    Regex::new(rule).expect("a pattern of our own, met by every test")
}

/// A replacement of the user's own.
type Own = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Replaces what differs from run to run.
#[derive(Clone, Default)]
pub(super) struct Normaliser {
    exact: bool,
    own: Vec<Own>,
}

impl Normaliser {
    pub fn add(&mut self, normalise: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.own.push(Arc::new(normalise));
    }

    pub fn exact(&mut self) {
        self.exact = true;
    }

    /// An agent's prompt without what is known to be this run's.
    pub fn prompt(&self, request: &AgentRequest) -> String {
        let mut prompt = Secrets::of(&request.env).hide(&request.prompt);
        if !self.exact {
            // Paths first: they hold ids.
            prompt = Place::of(request).leave(&prompt);
            let id = |id: &str, name| (id.len() >= ID_LENGTH).then(|| (id.to_owned(), name));
            let file = &request.prompt_file;
            let path = file.is_absolute().then(|| (file.display().to_string(), "<prompt-file>"));
            let known = [path, id(request.session.as_str(), "<id>"), id(request.run.as_str(), "<run>")];
            for (value, name) in known.into_iter().flatten() {
                prompt = prompt.replace(&value, name);
            }
        }
        self.again(&prompt)
    }

    /// A text without what differs from run to run wherever it stands; what is replaced already stays.
    pub fn again(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if !self.exact {
            for (rule, name) in USUAL.iter() {
                text = rule.replace_all(&text, *name).into_owned();
            }
        }
        self.own.iter().fold(text, |text, normalise| normalise(&text))
    }
}

/// The agent's directory in texts; there and back.
pub(super) struct Place {
    given: String,
    /// As it was given, and as the system calls it; the longer one first.
    names: Vec<String>,
}

impl Place {
    pub fn of(request: &AgentRequest) -> Self {
        let dir = &request.dir;
        let mut names: Vec<String> = [Some(dir.clone()), dir.canonicalize().ok()]
            .into_iter()
            .flatten()
            // `.` and `/` are in every text.
            .filter(|dir| dir.is_absolute() && dir.parent().is_some())
            .map(|dir| dir.display().to_string())
            .collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        Self { given: dir.display().to_string(), names }
    }

    pub fn leave(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, name| text.replace(name, DIR))
    }

    pub fn enter(&self, text: &str) -> String {
        text.replace(DIR, &self.given)
    }
}

/// Values that are never written.
pub(super) struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// Those of a request's environment and of this process's own.
    pub fn of(env: &BTreeMap<String, String>) -> Self {
        let inherited = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        let all = inherited.chain(env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let mut all: Vec<_> =
            all.filter(|(name, value)| value.len() >= SECRET_LENGTH && SECRET.is_match(name)).collect();
        // A value may be part of another one.
        all.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self(all)
    }

    pub fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(value, &format!("<env:{name}>")))
    }

    /// The same in bytes, which may be no text.
    pub fn hide_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.0.iter().fold(bytes, |bytes, (name, value)| {
            let finder = memchr::memmem::Finder::new(value);
            let mut hidden = Vec::with_capacity(bytes.len());
            let mut rest = bytes.as_slice();
            while let Some(at) = finder.find(rest) {
                hidden.extend_from_slice(&rest[..at]);
                hidden.extend_from_slice(format!("<env:{name}>").as_bytes());
                rest = &rest[at + value.len()..];
            }
            hidden.extend_from_slice(rest);
            hidden
        })
    }
}

/// A record with every text in it changed.
pub(super) fn retold<T: Serialize + DeserializeOwned>(record: &T, change: &impl Fn(&str) -> String) -> T {
    let read = "a record of our own, written and read by the same types";
    let mut value = serde_json::to_value(record).expect(read);
    map_texts(&mut value, change);
    serde_json::from_value(value).expect(read)
}

fn map_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| map_texts(value, change)),
        Value::Object(map) => map.values_mut().for_each(|value| map_texts(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_replaced_and_nothing_else() {
        fn check(text: &str, expected: &str) {
            let normaliser = Normaliser::default();
            let once = normaliser.again(text);
            assert_eq!(once, expected);
            assert_eq!(normaliser.again(&once), expected, "replaced again");
        }
        check("1 passed in 0.12s, 3 ms each", "1 passed in <duration>, <duration> each");
        check("took 2 minutes; 5 items, 3x faster", "took <duration>; 5 items, 3x faster");
        check("at 2026-01-02T03:04:05.678Z", "at <time>");
        check("at 2026-01-02 03:04:05+02:00, v2026-01", "at <time>, v2026-01");
        check("see /tmp/pytest-of-ada/test_x.py:3", "see <tmp>/test_x.py:3");
        check("see /private/var/folders/ab/c1/T/x.1/y", "see <tmp>/y");
        check("not /usr/tmpx/a", "not /usr/tmpx/a");
        check("id 0190b1c2-0000-7000-8000-00000000000a.", "id <id>.");
        check("at 0123456789abcdef0123456789abcdef01234567", "at <id>");
        check(
            "<reflections-0123456789abcdef note>\n</reflections-0123456789abcdef>",
            "<reflections-<id> note>\n</reflections-<id>>",
        );
        check("let seconds = 12 * minutes;", "let seconds = 12 * minutes;");
    }

    #[test]
    fn own_replacements_come_on_top_and_exact_leaves_the_usual_ones_out() {
        let mut normaliser = Normaliser::default();
        normaliser.add(|text| text.replace("build 7", "<build>"));
        assert_eq!(normaliser.again("build 7 in 3 s"), "<build> in <duration>");
        normaliser.exact();
        assert_eq!(normaliser.again("build 7 in 3 s"), "<build> in 3 s");
    }

    #[test]
    fn only_values_under_telling_names_are_secrets() {
        let env = [("API_KEY", "s3cr3t-value"), ("LONGER_TOKEN", "s3cr3t-value-2"), ("MODE", "development")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let secrets = Secrets::of(&env);
        let text = "s3cr3t-value-2 s3cr3t-value development";
        let hidden = "<env:LONGER_TOKEN> <env:API_KEY> development";
        assert_eq!(secrets.hide(text), hidden);
        assert_eq!(secrets.hide_bytes([text.as_bytes(), &[0xff]].concat()), [hidden.as_bytes(), &[0xff]].concat());
    }
}
