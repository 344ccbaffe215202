//! What a tool does, from its name, whichever agent it is of.

use crate::domain::ToolKind;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
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
    // It is part of the program, and a test reads it.
    let table: BTreeMap<ToolKind, Vec<String>> =
        serde_json::from_str(TEXT).unwrap_or_else(|error| panic!("config/agents/tools.json cannot be read: {error}"));
    table.into_iter().flat_map(|(kind, names)| names.into_iter().map(move |name| (folded(&name), kind))).collect()
});

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::program::{AGENTS, describe};
    use serde_json::json;

    #[test]
    fn every_agents_tools_are_known() {
        for agent in AGENTS {
            for (tool, kind) in describe(agent).expect("it is described").tools() {
                assert_eq!(kind_of(tool, &Value::Null), *kind, "{agent}: {tool}");
            }
        }
    }

    #[test]
    fn a_tool_is_known_by_its_name_however_it_is_written() {
        let check =
            |tool: &str, input: Value, expected: ToolKind| assert_eq!(kind_of(tool, &input), expected, "{tool}");
        check("run_shell_command", json!({}), ToolKind::Execute);
        check("RunShellCommand", json!({}), ToolKind::Execute);
        check("multi_edit", json!({}), ToolKind::Edit);
        check("my_own_runner", json!({"command": "ls"}), ToolKind::Execute);
        check("my_own_tool", json!({"text": "ls"}), ToolKind::Other);
        // A known tool is what it is, whatever its arguments are called.
        check("str_replace_based_edit_tool", json!({"command": "view", "path": "a"}), ToolKind::Edit);
        check("", json!({}), ToolKind::Other);
    }

    #[test]
    fn edited_files_are_named_by_arguments_and_patches() {
        let check = |input: Value, expected: &[&str]| assert_eq!(edits_of(ToolKind::Edit, &input), expected, "{input}");
        check(json!({"filePath": "a.rs", "content": "x"}), &["a.rs"]);
        check(json!({"target_file": "b"}), &["b"]);
        check(
            json!({"input": "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n*** End Patch"}),
            &["a.rs", "b.rs"],
        );
        check(json!("--- a/src/x.c\n+++ b/src/x.c\n@@ -1 +1 @@"), &["src/x.c"]);
        check(json!({"path": 7}), &[]);
        assert!(edits_of(ToolKind::Read, &json!({"path": "a"})).is_empty());
    }
}
