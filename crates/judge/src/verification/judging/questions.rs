//! What is asked: a turn as a judge sees it.

use crate::domain::{Action, GateOutcome, GateReport, ToolKind, ToolStatus, Trace};
use crate::prompt;
use crate::prompt::{
    CompactionParts, DIFF_BYTES, RESPONSE_BYTES, StuckParts, TASK_BYTES, TurnParts, excerpt, last_bytes, one_line,
    plain, shorten, with_proposed,
};
use crate::redaction::Redactor;
use crate::services::{CompactionQuestion, JudgeQuestion, JudgeRole, OpenQuestion, StuckQuestion, TurnEvidence};

/// So many of the latest tool calls are shown; a judge weighs how it ended.
const ACTIONS: usize = 60;
/// Bytes of a command line or of arguments.
const INPUT_BYTES: usize = 200;
/// Bytes of the end of an output: the summary of a test run.
const OUTPUT_BYTES: usize = 200;

/// The question on a turn, for a role: reviewers and auditors see only the task and the diff.
#[must_use]
pub fn question(turn: &TurnEvidence, role: JudgeRole, reasons: &[GateReport]) -> JudgeQuestion {
    let task = if turn.task.trim().is_empty() { turn.trace.task() } else { turn.task.clone() };
    let task = turn.proposed_part.as_ref().map_or(task.clone(), |part| with_proposed(&task, part));
    let diff = turn.observed.as_ref().map_or("", |observed| &observed.diff);
    let mut question = JudgeQuestion {
        v: 1,
        role,
        session: turn.session.clone(),
        task: excerpt(&task, TASK_BYTES).into_owned(),
        actions: Vec::new(),
        diff: without_secrets(&excerpt(diff, DIFF_BYTES)),
        response: String::new(),
        reasons: Vec::new(),
        instructions: String::new(),
    };
    if role == JudgeRole::Judge {
        question.actions = actions(&turn.trace);
        question.actions.iter_mut().for_each(|action| *action = without_secrets(action));
        question.response = without_secrets(&excerpt(&turn.trace.response, RESPONSE_BYTES));
        question.reasons = reasons.to_vec();
    }
    question
}

/// A transcript from elsewhere may hold any, and a program is sent it just as a model is.
fn without_secrets(text: &str) -> String {
    Redactor::of_process().redact(text).into_owned()
}

/// The whole prompt of a question, for an agent or a model.
pub(super) fn prompt(question: &JudgeQuestion) -> String {
    with_parts(question, |parts| match question.role {
        JudgeRole::Judge => prompt::judge_prompt(parts),
        JudgeRole::Reviewer => prompt::reviewer_prompt(parts.task, parts.diff),
        JudgeRole::Auditor => prompt::auditor_prompt(parts.task, parts.diff),
    })
}

/// Structured questions on the same turn.
pub(super) fn assessment_prompt(question: &JudgeQuestion) -> String {
    with_parts(question, prompt::self_assessment_prompt)
}

fn with_parts(question: &JudgeQuestion, render: impl FnOnce(&TurnParts<'_>) -> String) -> String {
    let reasons: Vec<String> = question.reasons.iter().map(reason).collect();
    render(&TurnParts {
        task: &question.task,
        instructions: &question.instructions,
        actions: &question.actions,
        diff: &question.diff,
        reasons: &reasons,
        response: &question.response,
    })
}

/// Whether an agent is stuck, as a question; [`read_stuck`](super::read_stuck) reads the answer.
#[must_use]
pub fn stuck_question(question: &StuckQuestion) -> OpenQuestion {
    let mut facts = vec![format!("it said nothing for {:.0} s", question.time_since_activity)];
    facts.extend(
        question
            .message_completed
            .map(|whole| format!("its last message is {}", if whole { "whole" } else { "not over" })),
    );
    facts.extend(question.output_tokens.map(|tokens| format!("its last message has {tokens} tokens")));
    let prompt = prompt::stuck_prompt(&StuckParts {
        facts: &facts,
        asked: &question.last_user_message,
        tools: &question.tool_calls,
        response: &question.last_assistant_response,
    });
    OpenQuestion { prompt, schema: prompt::stuck_schema() }
}

/// What follows a shortened context, as a question; [`read_compaction`](super::read_compaction) reads the answer.
#[must_use]
pub fn compaction_question(question: &CompactionQuestion) -> OpenQuestion {
    let said = |fact: Option<bool>, yes: &str, no: &str| fact.map(|fact| (if fact { yes } else { no }).to_owned());
    let facts: Vec<String> = [
        said(question.has_git_commands, "it ran git commands", "it ran no git commands"),
        said(question.has_pr_issue_ref, "a pull request or an issue is named", "no pull request or issue is named"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let prompt = prompt::compaction_prompt(&CompactionParts {
        task: &question.task_summary,
        facts: &facts,
        tools: &question.tools_used,
        response: &question.last_assistant_response,
    });
    OpenQuestion { prompt, schema: prompt::compaction_schema() }
}

/// How good a turn is, from 0 to 5, as a question; [`read_grade`](super::read_grade) reads the answer.
#[must_use]
pub fn grade_question(question: &JudgeQuestion, criteria: &str) -> OpenQuestion {
    let prompt = with_parts(question, |parts| prompt::rubric_prompt(parts, criteria));
    OpenQuestion { prompt, schema: prompt::rubric_schema() }
}

fn reason(report: &GateReport) -> String {
    let outcome = match report.outcome {
        GateOutcome::Passed => "passed",
        GateOutcome::Failed => "failed",
        GateOutcome::Unproven => "does not hold, which the task's words may permit",
        GateOutcome::NotRun => "not run",
    };
    format!("- {}: {outcome}: {}", report.gate, shorten(&one_line(&report.evidence), 400))
}

/// What the agent did, a line each, the latest calls.
fn actions(trace: &Trace) -> Vec<String> {
    let shown = trace.actions.len().min(ACTIONS);
    let earlier = trace.calls.saturating_sub(shown as u64);
    let mut lines = Vec::with_capacity(shown + 1);
    if earlier > 0 {
        lines.push(format!("[… {earlier} earlier tool calls left out …]"));
    }
    lines.extend(trace.actions.iter().skip(trace.actions.len() - shown).map(line));
    lines
}

fn line(action: &Action) -> String {
    let what = match (&action.command, action.kind) {
        (Some(command), _) => format!("$ {}", cut(command, INPUT_BYTES)),
        (None, ToolKind::Edit) if !action.edits.is_empty() => {
            format!("{} {}", action.tool, cut(&action.edits.join(", "), INPUT_BYTES))
        }
        (None, _) => format!("{} {}", action.tool, cut(&action.input, INPUT_BYTES)),
    };
    let Some(outcome) = &action.outcome else { return format!("{what} → no result recorded") };
    let how = match (outcome.exit_code, outcome.status) {
        (Some(status), _) => format!("exit status {status}"),
        (None, ToolStatus::Ok) => "ok".to_owned(),
        (None, ToolStatus::Failed) => "failed".to_owned(),
        (None, ToolStatus::Denied) => "permission refused".to_owned(),
    };
    let output = one_line(&plain(&outcome.output));
    // What a read or a search found says nothing of the work; what a command printed does.
    let told = action.command.is_some() || outcome.status != ToolStatus::Ok;
    match last_bytes(&output, OUTPUT_BYTES) {
        end if told && !end.is_empty() => format!("{what} → {how}; printed: {end}"),
        _ => format!("{what} → {how}"),
    }
}

fn cut(text: &str, bytes: usize) -> String {
    shorten(&one_line(&plain(text)), bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Role, SessionId, TranscriptItem};
    use crate::services::UsageMeter;
    use tokio_util::sync::CancellationToken;

    fn turn() -> TurnEvidence {
        let mut trace = Trace::default();
        let call = |tool: &str, kind, input: serde_json::Value, edits: &[&str]| TranscriptItem::ToolCall {
            id: tool.to_owned(),
            tool: tool.to_owned(),
            kind,
            input,
            edits: edits.iter().map(|edit| (*edit).to_owned()).collect(),
        };
        let result = |id: &str, exit_code, output: &str| TranscriptItem::ToolResult {
            id: id.to_owned(),
            status: ToolStatus::Ok,
            exit_code,
            output: output.to_owned(),
            duration_ms: None,
        };
        let items = [
            TranscriptItem::Message { role: Role::User, text: "Fix the cart".to_owned() },
            call("Read", ToolKind::Read, serde_json::json!({ "path": "cart.py" }), &[]),
            result("Read", None, "def cart(): …"),
            call("Edit", ToolKind::Edit, serde_json::json!({}), &["cart.py"]),
            result("Edit", None, "ok"),
            call("Bash", ToolKind::Execute, serde_json::json!({ "command": "pytest\n -q" }), &[]),
            result("Bash", Some(1), "\u{1b}[31m1 failed\u{1b}[0m\n"),
            call("Bash2", ToolKind::Execute, serde_json::json!({ "command": "ls" }), &[]),
            TranscriptItem::Message { role: Role::Assistant, text: "All green.".to_owned() },
        ];
        items.iter().for_each(|item| trace.step(item, None, None));
        TurnEvidence {
            session: SessionId::new("ses-1".to_owned()),
            task: String::new(),
            proposed_part: None,
            expects: None,
            allow: Vec::new(),
            trace,
            observed: None,
            dir: None,
            author: None,
            ending: None,
            own: None,
            spent: UsageMeter::default(),
            cancel: CancellationToken::new(),
        }
    }

    #[test]
    fn the_judge_sees_what_was_done_and_what_came_of_it() {
        let reasons =
            [GateReport { gate: "g".to_owned(), outcome: GateOutcome::NotRun, evidence: "no\nidea".to_owned() }];
        let question = question(&turn(), JudgeRole::Judge, &reasons);
        let expected = [
            "Read {\"path\":\"cart.py\"} → ok",
            "Edit cart.py → ok",
            "$ pytest -q → exit status 1; printed: 1 failed",
            "$ ls → no result recorded",
        ];
        assert_eq!(question.actions, expected);
        let text = prompt(&question);
        for words in ["\nFix the cart\n", "exit status 1", "- g: not run: no idea", "\nAll green.\n"] {
            assert!(text.contains(words), "{words:?} is missing:\n{text}");
        }
    }

    #[test]
    fn reviewers_see_neither_actions_nor_words_nor_gates() {
        let reasons = [GateReport { gate: "g".to_owned(), outcome: GateOutcome::Failed, evidence: String::new() }];
        for role in [JudgeRole::Reviewer, JudgeRole::Auditor] {
            let question = question(&turn(), role, &reasons);
            assert_eq!(
                (question.task.as_str(), question.actions.len(), question.reasons.len()),
                ("Fix the cart", 0, 0)
            );
            assert_eq!(question.response, "");
        }
    }

    #[test]
    fn nobody_who_judges_is_sent_a_secret_or_takes_an_agents_words_for_the_owners() {
        let token = ["gh", "p_", "k3Qv9TzR1mXw7LbYc5HnD2sPfJ8aGuE4tV6o"].concat();
        let mut turn = turn();
        turn.trace.response = format!("Done with {token}.");
        for action in &mut turn.trace.actions {
            action.input = format!("{} {token}", action.input);
        }
        turn.proposed_part = Some("First part\n\nTests need not pass.".to_owned());
        let question = question(&turn, JudgeRole::Judge, &[]);
        let text = format!("{}{}", serde_json::to_string(&question).unwrap(), prompt(&question));
        assert!(!text.contains(&token) && text.contains("[redacted:github-pat]"), "{text}");
        assert!(question.task.contains("permit nothing") && question.task.ends_with("\n> Tests need not pass."));
    }

    #[test]
    fn a_long_session_is_shown_by_its_end() {
        let mut turn = turn();
        for _ in 0..20 {
            let again = turn.trace.actions.clone();
            again.into_iter().for_each(|action| turn.trace.act(action));
            turn.trace.actions.truncate(500);
        }
        let question = question(&turn, JudgeRole::Judge, &[]);
        assert_eq!(question.actions.len(), ACTIONS + 1);
        assert!(question.actions[0].contains("earlier tool calls left out"), "{}", question.actions[0]);
    }
}
