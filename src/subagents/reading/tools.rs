//! What a tool does, from its name, whichever agent it is of.

use crate::domain::ToolKind;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A call names so many edited files at most.
const EDITS: usize = 100;
/// Where a call that edits names its file.
const FILES: [&str; 9] = [
    "file_path",
    "filePath",
    "path",
    "file",
    "filename",
    "notebook_path",
    "absolute_path",
    "target_file",
    "TargetFile",
];
/// Where a call that edits holds a patch.
const PATCHES: [&str; 4] = ["patch", "patchText", "diff", "input"];

static KINDS: LazyLock<HashMap<String, ToolKind>> = LazyLock::new(|| {
    const TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/agents/tools.json"));
    let table: BTreeMap<ToolKindName, Vec<String>> = serde_json::from_str(TEXT)
        .unwrap_or_else(|error| panic!("config/agents/tools.json is part of the program and cannot be read: {error}"));
    let names = |(kind, names): (ToolKindName, Vec<String>)| {
        names.into_iter().map(move |name| (folded(&name), kind.0)).collect::<Vec<_>>()
    };
    table.into_iter().flat_map(names).collect()
});

/// A kind as a key of the table.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct ToolKindName(ToolKind);

impl PartialEq for ToolKindName {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for ToolKindName {}
impl PartialOrd for ToolKindName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ToolKindName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 as u8).cmp(&(other.0 as u8))
    }
}

/// What a tool of this name does. A name that no agent has is a command if its arguments are one.
pub(super) fn kind_of(tool: &str, input: &Value) -> ToolKind {
    let known = KINDS.get(&folded(tool)).copied();
    known.unwrap_or_else(|| {
        let is_command = input.get("command").or_else(|| input.get("cmd")).is_some();
        if is_command { ToolKind::Execute } else { ToolKind::Other }
    })
}

/// Agents write the same names in different ways.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The files that a call of this kind edits, as its arguments name them.
pub(super) fn edits_of(kind: ToolKind, input: &Value) -> Vec<String> {
    if kind != ToolKind::Edit {
        return Vec::new();
    }
    let named = FILES.iter().find_map(|key| input.get(key)?.as_str());
    if let Some(file) = named {
        return vec![file.to_owned()];
    }
    let patch = input.as_str().or_else(|| PATCHES.iter().find_map(|key| input.get(key)?.as_str()));
    patch.map(patched).unwrap_or_default()
}

/// The files of a patch: `*** Update File: …` of the patches that models write, `+++ b/…` of unified diffs.
fn patched(patch: &str) -> Vec<String> {
    const STARTS: [&str; 5] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "+++ b/", "*** Move to: "];
    let file = |line: &str| STARTS.iter().find_map(|start| Some(line.strip_prefix(start)?.trim().to_owned()));
    patch.lines().filter_map(file).take(EDITS).collect()
}
