//! Reading the sources, merging them, and remembering who set what.

use super::effective::{Effective, Inputs, Origin, Override};
use super::environment::{TRUST_VARIABLE, from_environment};
use super::error::{ConfigError, nearest};
use super::model::models_in_place;
use super::place::{seen_from_here, settings_file};
use super::wire::{Objects, ProjectFile};
use crate::domain::{COMMON_SETTINGS, DistinctKeys, SHARED_SETTINGS};
use crate::files::read_named;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The built-in settings, for what works without a project: nothing is read.
///
/// # Errors
/// [`ConfigError::Read`] if the directory has no absolute path.
pub fn defaults(dir: &Path) -> Result<Effective, ConfigError> {
    without_file(&Inputs { dir: dir.to_owned(), ..Inputs::default() })
}

/// The built-in settings under the environment and flags, for what works without a project: no file is read.
///
/// # Errors
/// [`ConfigError`] with the variable or flag.
pub fn without_file(inputs: &Inputs) -> Result<Effective, ConfigError> {
    let dir = absolute(&inputs.dir)?;
    let mut merged = Merged::default();
    merged.add(&to_value(&ProjectFile::default()), &Origin::Default);
    overridden(merged, inputs, dir, COMMON_SETTINGS)
}

fn absolute(dir: &Path) -> Result<PathBuf, ConfigError> {
    std::path::absolute(dir).map_err(|e| ConfigError::Read { path: dir.to_owned(), message: e.to_string() })
}

/// Reads and merges everything.
///
/// # Errors
/// [`ConfigError`], with file, line and column or the variable or flag.
pub fn load(inputs: &Inputs) -> Result<Effective, ConfigError> {
    let dir = absolute(&inputs.dir)?;
    let Some(name) = settings_file(&dir)? else {
        return Err(ConfigError::Missing { dir });
    };
    let Some(project) = read_file(&dir, name)? else {
        return Err(ConfigError::Missing { dir });
    };
    let mut merged = Merged::default();
    merged.add(&to_value(&ProjectFile::default()), &Origin::Default);
    if let Some(shared) = read_file(&dir, SHARED_SETTINGS)? {
        merged.add(&shared, &Origin::File(SHARED_SETTINGS.to_owned()));
    }
    merged.add(&project, &Origin::File(name.to_owned()));
    overridden(merged, inputs, dir, name)
}

/// What the files say, under the environment and the flags.
fn overridden(mut merged: Merged, inputs: &Inputs, dir: PathBuf, name: &'static str) -> Result<Effective, ConfigError> {
    let (env, mut warnings) = from_environment(inputs.env.iter().cloned());
    for one in env.iter().chain(&inputs.flags) {
        merged.add_override(one)?;
    }
    let file = serde_json::from_value(merged.root);
    let file: ProjectFile = file.map_err(|e| value_error(&seen_from_here(&dir.join(name)), &e))?;
    warnings.extend(models_in_place(&file));
    let is_trusted = inputs.env.iter().any(|(name, value)| name == TRUST_VARIABLE && value == "1");
    Ok(Effective { dir, name, file, values: merged.origins, warnings, is_trusted })
}

fn to_value(file: &ProjectFile) -> Value {
    serde_json::to_value(file).unwrap_or(Value::Null)
}

/// Values by precedence, and who set each.
struct Merged {
    root: Value,
    origins: BTreeMap<String, (Value, Origin)>,
}

impl Default for Merged {
    fn default() -> Self {
        Self { root: Value::Object(Map::new()), origins: BTreeMap::new() }
    }
}

impl Merged {
    fn add(&mut self, value: &Value, origin: &Origin) {
        merge(&mut self.root, value);
        self.note("", value, origin);
    }

    /// Remembers who set each leaf; objects are merged, everything else is replaced: of a word that an object takes the place
    /// of nothing is remembered, nor the other way round.
    fn note(&mut self, path: &str, value: &Value, origin: &Origin) {
        let inside = format!("{path}.");
        match value {
            Value::Object(map) if !whole(path) && (!map.is_empty() || self.has(&inside)) => {
                self.origins.remove(path);
                for (key, inner) in map.iter().filter(|(key, _)| !matches!(key.as_str(), "//" | "$schema")) {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    self.note(&path, inner, origin);
                }
            }
            leaf => {
                self.origins.retain(|key, _| !key.starts_with(&inside));
                self.origins.insert(path.to_owned(), (leaf.clone(), origin.clone()));
            }
        }
    }

    /// Whether there is a value below.
    fn has(&self, inside: &str) -> bool {
        self.origins.keys().any(|key| key.starts_with(inside))
    }

    fn add_override(&mut self, one: &Override) -> Result<(), ConfigError> {
        let value = one.key.rsplit('.').fold(one.value.clone(), |inner, key| {
            let mut map = Map::new();
            map.insert(key.to_owned(), inner);
            Value::Object(map)
        });
        let mut tried = self.root.clone();
        merge(&mut tried, &value);
        serde_json::from_value::<ProjectFile>(tried).map_err(|e| ConfigError::Value {
            origin: one.origin.to_string(),
            message: format!("`{}`: {}", one.key, explain(&e.to_string())),
        })?;
        self.add(&value, &one.origin);
        Ok(())
    }
}

/// The generator is one choice, and so is an agent or a model: a `type` from one file must not meet an `argv` from another, nor a key another host.
fn whole(path: &str) -> bool {
    path == "reflexion.generator"
        || path.starts_with("models.")
        || path.strip_prefix("agents.").is_some_and(|name| name != "default")
}

fn merge(into: &mut Value, from: &Value) {
    merge_at("", into, from);
}

fn merge_at(path: &str, into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) if !whole(path) => {
            for (key, value) in from {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                merge_at(&path, into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Reads one file and checks every key and type in it, so that an error has a position.
fn read_file(dir: &Path, name: &str) -> Result<Option<Value>, ConfigError> {
    let path = dir.join(name);
    let text = match read_named(&path) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => {
            return Err(ConfigError::Read { path, message: e.to_string() });
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let seen = seen_from_here(&path);
    parse::<DistinctKeys>(&seen, text)?;
    parse::<ProjectFile>(&seen, text)?;
    parse::<Objects>(&seen, text)?;
    parse(&seen, text).map(Some)
}

/// Reads the whole text of a file as one value.
fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ConfigError> {
    let de = &mut serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut *de).map_err(|e| file_error(file, &e))?;
    match de.end() {
        Ok(()) => Ok(value),
        Err(e) => Err(ConfigError::File {
            file: file.to_owned(),
            line: e.line(),
            column: e.column().max(1),
            message: without_position(&e.to_string()),
        }),
    }
}

fn file_error(file: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> ConfigError {
    let inner = error.inner();
    let path = error.path().to_string();
    let message = explain(&without_position(&inner.to_string()));
    let message = if path == "." || path.contains('?') { message } else { format!("`{path}`: {message}") };
    ConfigError::File { file: file.to_owned(), line: inner.line(), column: inner.column().max(1), message }
}

fn value_error(origin: &str, error: &serde_json::Error) -> ConfigError {
    ConfigError::Value { origin: origin.to_owned(), message: explain(&error.to_string()) }
}

fn without_position(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(before, _)| before).to_owned()
}

/// Names what to write where serde names a type of this program.
fn expected_in_words(message: &str) -> String {
    const WORDS: [(&str, &str); 10] = [
        ("expected struct GeneratorFile", r#"expected an object such as {"type": "heuristic"}"#),
        (
            "expected struct AgentFile",
            r#"expected an object such as {"type": "command", "argv": ["program", "argument"]}"#,
        ),
        ("invalid type: null", "null is no value (leave the key out for what is built in)"),
        ("expected a sequence", r#"expected a list such as ["a", "b"]"#),
        ("expected u32", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected usize", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("EOF while parsing a value", "the file is empty or ends too early; it must hold one JSON object, {} at least"),
    ];
    let message = WORDS.iter().fold(message.to_owned(), |message, (from, to)| message.replace(from, to));
    // Any other object of the settings: its name here says nothing to whoever writes it.
    match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected an object, such as {{}}"),
        None => message,
    }
}

/// Turns serde's ``unknown field `x`, expected one of `a`, `b` `` into words with the nearest key.
fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let what = match message {
        m if m.starts_with("unknown field") => "key",
        m if m.starts_with("unknown variant") => "value",
        _ => return expected_in_words(message),
    };
    let Some(word) = quoted.next() else {
        return message.to_owned();
    };
    let known: Vec<&str> = quoted.collect();
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("unknown {what} `{word}`; did you mean `{meant}`?"),
        None => format!("unknown {what} `{word}`; there are {}", known.join(", ")),
    }
}
