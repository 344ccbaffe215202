//! What changes files: edit tools of any agent, and command lines that write.

use super::super::commands::{Edits, runs};
use crate::domain::{Action, ToolKind, ToolStatus};

/// Whether a tool call is meant to change something, whatever came of it.
pub(super) fn writes(action: &Action) -> bool {
    action.kind == ToolKind::Edit
        || !action.edits.is_empty()
        || (action.kind == ToolKind::Other && is_edit_tool(&action.tool))
        || action.command.as_deref().is_some_and(|line| runs(line).iter().any(|run| run.writes))
}

/// Whether it may have changed the contents of a file: nobody says that it was denied, or that an edit failed.
pub(super) fn edited(action: &Action) -> bool {
    let status = action.outcome.as_ref().map(|outcome| outcome.status);
    match &action.command {
        // A line may fail after the part of it that writes.
        Some(line) => status != Some(ToolStatus::Denied) && runs(line).iter().any(|run| run.edits != Edits::No),
        None => !matches!(status, Some(ToolStatus::Denied | ToolStatus::Failed)) && writes(action),
    }
}

/// Edit tools by the names that agents and their servers give them, for calls whose kind nobody knows.
pub(super) fn is_edit_tool(tool: &str) -> bool {
    const TOOLS: [&str; 24] = [
        "edit",
        "multiedit",
        "notebookedit",
        "write",
        "writefile",
        "writetofile",
        "createfile",
        "createdirectory",
        "editfile",
        "deletefile",
        "movefile",
        "renamefile",
        "insertcode",
        "insertcontent",
        "applypatch",
        "applydiff",
        "patch",
        "replace",
        "replaceinfile",
        "replacefilecontent",
        "strreplaceeditor",
        "strreplacebasededittool",
        "searchandreplace",
        "pushfiles",
    ];
    // A server's tools carry its name in front: `mcp__files__edit_file`, `github_create_or_update_file`.
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-', ' '], "");
    let last = plain(tool.rsplit("__").next().unwrap_or(tool).rsplit(['.', '/', ':']).next().unwrap_or(tool));
    TOOLS.contains(&last.as_str())
        || (last.starts_with("github")
            && ["orupdatefile", "pushfiles", "deletefile"].iter().any(|end| last.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_tools_are_known_by_name() {
        let check = |tool: &str, expected: bool| assert_eq!(is_edit_tool(tool), expected, "{tool}");
        for tool in ["edit", "MultiEdit", "str_replace_based_edit_tool", "create_file", "apply_patch", "write_to_file"]
        {
            check(tool, true);
        }
        check("mcp__filesystem__write_file", true);
        check("github_create_or_update_file", true);
        check("functions.apply_patch", true);
        for tool in ["read", "grep", "todowrite", "webfetch", "github_issue_read", "edited_files_list"] {
            check(tool, false);
        }
    }
}
