//! The reference and the schema of `project.json`, generated from its shapes.

use super::environment::env_name;
use super::wire::ProjectFile;
use crate::domain::Capture;
use serde_json::Value;
use std::fmt::Write as _;

/// One key of `project.json`.
pub(super) struct Key {
    /// Its path, e.g. `reflexion.enabled`.
    pub path: String,
    kind: String,
    default: Value,
    doc: String,
}

/// The JSON Schema of `project.json`, as shipped in `config/project.schema.json`.
#[must_use]
pub fn schema() -> String {
    shipped(schemars::schema_for!(ProjectFile).to_value())
}

/// The JSON Schema of `reflection.v1`, as shipped in `config/reflection.v1.schema.json`.
#[must_use]
pub fn capture_schema() -> String {
    shipped(schemars::schema_for!(Capture).to_value())
}

fn shipped(mut schema: Value) -> String {
    clean(&mut schema);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Editors show descriptions as they are: no line breaks of the source, no code that is for Rust programmers.
fn clean(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "description" => *text = prose(text),
                    other => clean(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(clean),
        _ => {}
    }
}

/// A doc comment as paragraphs of one line each, without its examples.
fn prose(doc: &str) -> String {
    let words: String = doc.split("```").step_by(2).collect();
    let paragraphs = words.split("\n\n").map(|p| p.replace('\n', " ")).filter(|p| !p.trim().is_empty());
    paragraphs.map(|p| p.trim().to_owned()).collect::<Vec<_>>().join("\n\n")
}

const HEAD: &str = r#"# Configuration: `project.json`

Generated from the types of `src/config/`; a test compares the two (`UPDATE_DOCS=1 cargo test --test it docs` writes it anew).
The same as a JSON Schema for editors: [`config/project.schema.json`](../config/project.schema.json).

Every key is optional, `{}` is a valid file. A key that does not exist, or a value of the wrong type, is an error that says
where it is and which key was probably meant.

```json
{
  "name": "dates",
  "checks": [{ "name": "test", "run": "cargo test", "timeoutMs": 600000 }],
  "maxAttempts": 4,
  "agents": {
    "default": ["mine", "repair"],
    "mine": { "type": "command", "argv": ["my-agent", "--quiet"], "timeoutMs": 1800000 }
  },
  "reflexion": { "maxReflectionsPerRetry": 3, "generator": { "type": "agent", "agent": "mine" } },
  "workspace": { "env": { "CARGO_TARGET_DIR": "{cache}/target" } },
  "protect": ["tests/**"]
}
```

The file is called `project.json`, or `reflexion.json`, which wins. A `project.json` is another tool's (Nx) if it has `$schema`, `targets` or
`projectType` and no key of ours beside `name`: then `reflexion.json` is the file, and `reflexion init` writes that. Settings in both are an
error. Commands look for it in the directory that they are given, then upwards to the top of its checkout, and enter no directory of another owner.

Where a key is set more than once, the last of these wins: built-in default, `config/reflexion.json` (the same keys),
`project.json` or `reflexion.json`, environment variable, flag. `reflexion config show` prints every effective value and where it came from.

The environment variable of a key is `REFLEXION_`, then the key in capitals with `_` between words and `__` for a dot; its
value is JSON, or else text: `REFLEXION_MAX_ATTEMPTS=5`, `REFLEXION_REFLEXION__ENABLED=false`. Other variables of that
prefix are no keys: `REFLEXION_LOG` (logging to stderr, e.g. `debug`), `REFLEXION_LIMIT_WAIT=off` (the same as
`limits.wait: false`), `REFLEXION_HOLDOUT=0` (the same as `reflexion.holdout: false`), and what agents, generators and checks are given ([formats](formats.md#command-agent)). One that means nothing is a
warning.
"#;

/// The reference of `project.json`, as shipped in `docs/configuration.md`.
#[must_use]
pub fn reference() -> String {
    let schema = schemars::schema_for!(ProjectFile).to_value();
    let keys = keys();
    let mut text = HEAD.to_owned();
    push_overview(&mut text, &keys);
    text.push_str("\n## Keys\n");
    for key in &keys {
        push_key(&mut text, key, &format!("environment `{}`", env_name(&key.path)));
    }
    for (title, path, shape) in [
        ("A check", "checks[]", "CheckSpec"),
        ("A generator", "reflexion.generator", "GeneratorFile"),
        ("An agent", "agents.<name>", "AgentFile"),
        ("A model", "models.<name>", "ModelFile"),
        ("Who is asked for parts", "decompose", "DecomposerFile"),
        ("A recipient of notices", "notify[]", "NotifyFile"),
    ] {
        push_shape(&mut text, &schema, title, path, shape);
    }
    text
}

fn push_overview(text: &mut String, keys: &[Key]) {
    text.push_str("\n| key | type | default |\n|---|---|---|\n");
    for Key { path, kind, default, .. } in keys {
        let default = if default.is_null() { String::new() } else { format!("`{default}`") };
        let _ = writeln!(text, "| [`{path}`](#{}) | {kind} | {default} |", path.replace('.', "").to_lowercase());
    }
}

fn push_key(text: &mut String, key: &Key, more: &str) {
    let default = if key.default.is_null() { String::new() } else { format!(", default `{}`", key.default) };
    let more = if more.is_empty() { String::new() } else { format!("; {more}") };
    let _ = write!(text, "\n### `{}`\n\n{}{default}{more}.\n\n{}\n", key.path, capital(&key.kind), key.doc);
}

/// The keys of an object that stands in a list or under a name of the user's.
fn push_shape(text: &mut String, schema: &Value, title: &str, path: &str, shape: &str) {
    let definition = &schema["$defs"][shape];
    let mut keys = Vec::new();
    collect(schema, definition, path, &Value::Null, &mut keys);
    let _ = write!(text, "\n## {title}: `{path}`\n");
    let required: Vec<&str> =
        definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for mut key in keys {
        let name = key.path.rsplit('.').next().unwrap_or_default();
        let more = if required.contains(&name) { "required" } else { "" };
        key.default = definition["properties"][name]["default"].clone();
        push_key(text, &key, more);
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Every key that can be set, in the order of the file.
pub(super) fn keys() -> Vec<Key> {
    let schema = schemars::schema_for!(ProjectFile).to_value();
    let defaults = serde_json::to_value(ProjectFile::default()).unwrap_or_default();
    let mut keys = Vec::new();
    collect(&schema, &schema, "", &defaults, &mut keys);
    keys
}

fn collect(root: &Value, node: &Value, path: &str, defaults: &Value, keys: &mut Vec<Key>) {
    let Some(properties) = node["properties"].as_object() else {
        return;
    };
    for (name, property) in properties {
        if matches!(name.as_str(), "//" | "$schema") {
            continue; // for people and editors; nothing can be set with them
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let target = resolve(root, property);
        let default = &defaults[name];
        if target["properties"].is_object() && path != "agents" && path != "reflexion.generator" {
            collect(root, target, &path, default, keys);
            continue;
        }
        let doc = property["description"].as_str().or(target["description"].as_str()).unwrap_or_default();
        keys.push(Key { path, kind: kind(root, target), default: default.clone(), doc: prose(doc) });
    }
}

fn resolve<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node["$ref"].as_str().or_else(|| node["anyOf"][0]["$ref"].as_str());
    match reference.and_then(|r| r.strip_prefix("#/$defs/")) {
        Some(name) => &root["$defs"][name],
        None => node,
    }
}

/// A type in words: `string`, `list of strings`, `"auto" or "fresh"`.
fn kind(root: &Value, node: &Value) -> String {
    let either = |kinds: Vec<String>| kinds.into_iter().filter(|k| k != "null").collect::<Vec<_>>().join(" or ");
    let choices: Vec<&str> =
        node["oneOf"].as_array().into_iter().flatten().filter_map(|c| c["const"].as_str()).collect();
    if !choices.is_empty() {
        return either(choices.iter().map(|c| format!("`\"{c}\"`")).collect());
    }
    if let Some(any) = node["anyOf"].as_array() {
        return either(any.iter().map(|n| kind(root, resolve(root, n))).collect());
    }
    match (&node["type"], &node["items"]) {
        (Value::String(t), items) if t == "array" => format!("list of {}s", kind(root, resolve(root, items))),
        (Value::String(t), _) => t.clone(),
        (Value::Array(types), _) => either(types.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        _ => "value".to_owned(),
    }
}
