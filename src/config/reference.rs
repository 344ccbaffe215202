//! The reference and the schema of `project.json`, generated from its shapes.

use super::environment::env_name;
use super::wire::ProjectFile;
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
    let schema = schemars::schema_for!(ProjectFile);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// The reference of `project.json`, as shipped in `docs/configuration.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = "# `project.json`\n\n\
        Generated from `src/config/wire.rs`; a test compares the two (`UPDATE_DOCS=1 cargo test docs` writes it anew).\n\n\
        Precedence, lowest first: built-in defaults, `config/reflexion.json`, `project.json`, environment variables, flags. \
        `reflexion config show` prints every effective value and where it came from. Unknown keys are an error.\n"
        .to_owned();
    for key in keys() {
        let default = if key.default.is_null() { String::new() } else { format!(", default `{}`", key.default) };
        let _ = write!(
            text,
            "\n## `{}`\n\n{}{default}; environment `{}`.\n\n{}\n",
            key.path,
            key.kind,
            env_name(&key.path),
            key.doc
        );
    }
    text.push_str(&agents(&schemars::schema_for!(ProjectFile).to_value()));
    text
}

fn agents(schema: &Value) -> String {
    let mut text = "\n# An agent: `agents.<name>`\n".to_owned();
    let mut keys = Vec::new();
    collect(schema, &schema["$defs"]["AgentFile"], "agents.<name>", &Value::Null, &mut keys);
    for key in keys {
        let _ = write!(text, "\n## `{}`\n\n{}.\n\n{}\n", key.path, key.kind, key.doc);
    }
    text
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
        // Markdown paragraphs do not care for the source's line breaks.
        let doc = doc.replace("\n\n", "\u{1}").replace('\n', " ").replace('\u{1}', "\n\n");
        keys.push(Key { path, kind: kind(root, target), default: default.clone(), doc });
    }
}

fn resolve<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node["$ref"].as_str().or_else(|| node["anyOf"][0]["$ref"].as_str());
    match reference.and_then(|r| r.strip_prefix("#/$defs/")) {
        Some(name) => &root["$defs"][name],
        None => node,
    }
}

fn kind(root: &Value, node: &Value) -> String {
    let choices: Vec<&str> =
        node["oneOf"].as_array().into_iter().flatten().filter_map(|c| c["const"].as_str()).collect();
    if !choices.is_empty() {
        return choices.iter().map(|c| format!("`\"{c}\"`")).collect::<Vec<_>>().join(" or ");
    }
    if let Some(any) = node["anyOf"].as_array() {
        return any.iter().map(|n| kind(root, resolve(root, n))).collect::<Vec<_>>().join(" or ");
    }
    match (&node["type"], &node["items"]) {
        (Value::String(t), items) if t == "array" => {
            format!("list of {}", kind(root, resolve(root, items)))
        }
        (Value::String(t), _) => t.clone(),
        (Value::Array(types), _) => types.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "value".to_owned(),
    }
}
