//! Conversations that nobody judges: the runtime's own, and those that only plan.

use super::writes::edited;
use crate::domain::{Action, Trace};

/// Why a conversation is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotJudged {
    /// The runtime itself leads it, to judge or to reflect.
    #[error("the conversation is one of the runtime's own: nobody judges the judge")]
    Internal,
    /// The agent is only to plan.
    #[error("the agent is in plan mode: it was told to change nothing yet")]
    Planning,
}

/// Why a conversation is not judged; none if it is.
///
/// A plan mode counts only while it lasts, and only while the agent keeps to it: one that changed a file is judged, so
/// no agent gets away by calling its work a plan. Files that hold the plan itself are no change.
#[must_use]
pub fn not_judged(trace: &Trace) -> Option<NotJudged> {
    if trace.is_internal() {
        return Some(NotJudged::Internal);
    }
    let planning = trace.planning?;
    let worked =
        trace.actions.iter().any(|action| action.number >= planning.since && edited(action) && !writes_plan(action));
    (!worked).then_some(NotJudged::Planning)
}

/// Agents keep their plans in Markdown files of a directory `plans`.
fn writes_plan(action: &Action) -> bool {
    let is_plan = |file: &String| {
        let mut parts = file.rsplit(['/', '\\']);
        parts.next().is_some_and(|name| name.ends_with(".md")) && parts.next() == Some("plans")
    };
    !action.edits.is_empty() && action.edits.iter().all(is_plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Role, ToolKind, ToolStatus, TranscriptItem, internal};
    use serde_json::json;

    fn said(role: Role, text: &str) -> TranscriptItem {
        TranscriptItem::Message { role, text: text.to_owned() }
    }

    fn called(id: &str, tool: &str, kind: ToolKind, file: &str) -> [TranscriptItem; 2] {
        let edits = if kind == ToolKind::Edit { vec![file.to_owned()] } else { Vec::new() };
        [
            TranscriptItem::ToolCall { id: id.to_owned(), tool: tool.to_owned(), kind, input: json!({}), edits },
            TranscriptItem::ToolResult {
                id: id.to_owned(),
                status: ToolStatus::Ok,
                exit_code: None,
                output: String::new(),
                duration_ms: None,
            },
        ]
    }

    fn check(items: &[TranscriptItem], expected: Option<NotJudged>) {
        let mut trace = Trace::default();
        items.iter().for_each(|item| trace.step(item, None, None));
        assert_eq!(not_judged(&trace), expected, "{items:?}");
    }

    #[test]
    fn only_the_runtimes_own_mark_makes_a_conversation_internal() {
        check(&[said(Role::User, &internal("Is the task done?"))], Some(NotJudged::Internal));
        check(&[said(Role::User, "You are a judge. Evaluate the task.")], None);
        check(&[said(Role::User, "Fix it."), said(Role::User, &internal("quoted"))], None);
        check(&[said(Role::User, "Fix it."), said(Role::Assistant, &internal("done"))], None);
    }

    #[test]
    fn a_plan_mode_lasts_until_it_is_left() {
        let plan = said(Role::System, "Plan mode is active.");
        check(&[plan.clone(), said(Role::User, "Look at it.")], Some(NotJudged::Planning));
        check(&[plan.clone(), said(Role::User, "a"), said(Role::User, "b")], Some(NotJudged::Planning));
        check(&[plan.clone(), said(Role::System, "You are no longer in read-only mode.")], None);
        let left = called("1", "ExitPlanMode", ToolKind::Plan, "");
        check(&[vec![plan], left.to_vec()].concat(), None);
        let reminded = said(Role::User, "Plan it\n<system-reminder>\nPlan mode is active.\n</system-reminder>");
        check(std::slice::from_ref(&reminded), Some(NotJudged::Planning));
        check(&[reminded, said(Role::User, "Looks good, go.")], None);
    }

    #[test]
    fn an_agent_that_changes_files_is_judged_whatever_its_mode() {
        let plan = said(Role::System, "Plan mode is active.");
        let edit = |file: &str| [vec![plan.clone()], called("1", "Edit", ToolKind::Edit, file).to_vec()].concat();
        check(&edit("src/lib.rs"), None);
        check(&edit("/home/u/.claude/plans/brave-fox.md"), Some(NotJudged::Planning));
        let before = [called("1", "Edit", ToolKind::Edit, "src/lib.rs").to_vec(), vec![plan.clone()]].concat();
        check(&before, Some(NotJudged::Planning));
    }
}
