//! What an agent should do after its context was shortened.

use super::super::commands::{CommandKind, runs};
use super::stuck::said;
use crate::domain::{CompactionAction, CompactionVerdict};
use crate::services::CompactionQuestion;
use regex::Regex;
use std::sync::LazyLock;

/// The most of a judge's words that an agent is told.
const NUDGE_BYTES: usize = 1_000;

/// What the tools and texts show about work on a pull request or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GitWork {
    /// A pull request or an issue is named, or worked on with the forge's own program.
    named: bool,
    /// Something was published: a push, or a call of the forge's program that changes something there.
    published: bool,
    /// The pull request was merged or closed: nothing is to be said there any more.
    over: bool,
}

/// Whether the agent works on a pull request or an issue: one is named, or the forge's program was called.
#[must_use]
pub fn has_git_work(question: &CompactionQuestion) -> bool {
    GitWork::of(question).named
}

/// What the facts say; none where they are silent.
pub(super) fn by_facts(question: &CompactionQuestion) -> Option<CompactionVerdict> {
    if is_silent(question) {
        return Some(CompactionVerdict {
            nudge_message: String::new(),
            ..verdict(CompactionAction::ContinueTask, false, 0.0)
        });
    }
    let nothing_left = !said(&question.task_summary) && !said(&question.last_assistant_response);
    nothing_left.then(|| verdict(CompactionAction::NeedsClarification, false, 0.9))
}

/// Whoever asks says nothing at all, so nothing is known; an agent that is not told otherwise goes on.
fn is_silent(question: &CompactionQuestion) -> bool {
    let texts = [&question.task_summary, &question.last_assistant_response, &question.tools_used];
    texts.iter().all(|text| text.trim().is_empty())
        && question.has_git_commands.is_none()
        && question.has_pr_issue_ref.is_none()
}

/// What follows when nobody can be asked: a published piece of work should be reported; anything else is not known, and
/// an agent that is not told otherwise goes on.
pub(super) fn without_judge(question: &CompactionQuestion) -> CompactionVerdict {
    let work = GitWork::of(question);
    if work.named && work.published && !work.over {
        return verdict(CompactionAction::NeedsGithubUpdate, true, 0.6);
    }
    CompactionVerdict { nudge_message: String::new(), ..verdict(CompactionAction::ContinueTask, work.named, 0.0) }
}

/// What a judge's answer comes to: facts say whether there is a pull request or an issue, and nobody is sent to one
/// that does not exist.
pub(super) fn by_judge(question: &CompactionQuestion, answer: CompactionVerdict) -> CompactionVerdict {
    let named = has_git_work(question);
    let action = match answer.action {
        CompactionAction::NeedsGithubUpdate if !named => CompactionAction::ContinueTask,
        action => action,
    };
    let mut verdict = verdict(action, named, crate::prompt::certainty(answer.confidence));
    let words = answer.nudge_message.trim();
    // What is said about posting outside stays ours: it is a proposal, whatever a judge makes of it.
    let own = matches!(action, CompactionAction::TaskComplete | CompactionAction::NeedsGithubUpdate);
    if !own && action == answer.action && !words.is_empty() {
        verdict.nudge_message = crate::prompt::shorten(words, NUDGE_BYTES).into_owned();
    }
    verdict
}

fn verdict(action: CompactionAction, has_active_git_work: bool, confidence: f64) -> CompactionVerdict {
    let nudge = match action {
        CompactionAction::NeedsGithubUpdate => {
            "Your context was shortened. You work on a pull request or an issue: if your instructions allow you to \
             post there, say in a few lines what is done and what is left; otherwise put that into your next answer. \
             Then go on."
        }
        CompactionAction::ContinueTask => {
            "Your context was shortened. Look at the task and at the files as they are now, and go on with what is \
             left."
        }
        CompactionAction::NeedsClarification => {
            "Your context was shortened, and what is left of it does not say what to do. Say in one or two sentences \
             what you need to know, and do nothing that cannot be undone before you know it."
        }
        CompactionAction::TaskComplete => "",
    };
    CompactionVerdict { action, has_active_git_work, confidence, nudge_message: nudge.to_owned() }
}

impl GitWork {
    fn of(question: &CompactionQuestion) -> Self {
        let mut work = Self { named: false, published: false, over: false };
        for line in question.tools_used.split([',', '\n', ';']) {
            work.add_tool(line.trim());
        }
        let texts = [&question.task_summary, &question.last_assistant_response];
        work.named |= question.has_pr_issue_ref.unwrap_or_else(|| texts.iter().any(|text| names_work(text)));
        work
    }

    fn add_tool(&mut self, line: &str) {
        for run in runs(line) {
            match &run.kind {
                CommandKind::Push(target) if !target.dry_run => self.published = true,
                CommandKind::PullRequest => (self.named, self.published) = (true, true),
                _ => {}
            }
            let words: Vec<&str> = run.words.iter().map(String::as_str).take(3).collect();
            if let ["gh" | "hub" | "glab", "pr" | "mr" | "issue", verb] = words.as_slice() {
                self.named = true;
                self.published |= !matches!(*verb, "view" | "list" | "status" | "checks" | "diff" | "checkout");
                self.over |= matches!(*verb, "merge" | "close");
            }
        }
        // The forge's own tools: `github_create_pull_request`, `mcp__github__add_issue_comment`.
        let tool = line.to_ascii_lowercase();
        if tool.contains("github") && (tool.contains("pull_request") || tool.contains("issue")) {
            self.named = true;
            self.published |= ["create", "update", "add", "comment"].iter().any(|verb| tool.contains(verb));
            self.over |= tool.contains("merge");
        }
    }
}

/// Whether a text names a pull request or an issue.
fn names_work(text: &str) -> bool {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(pr|pull request|mr|merge request|issue|bug|ticket|feature|fixes|closes|resolves)s?\s*[#!]\s?\d+",
            r"|\b(pull request|merge request|issue|pr)\s+\d+\b",
            r"|\b(pull|merge) requests?\b|\bprs?\b",
            r"|https?://[^\s/]+/\S+/(pull|issues|merge_requests)/\d+",
        ))
        .expect("the expression is fixed and compiles")
    });
    NAMED.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(task: &str, response: &str, tools: &str) -> CompactionQuestion {
        CompactionQuestion {
            task_summary: task.to_owned(),
            last_assistant_response: response.to_owned(),
            tools_used: tools.to_owned(),
            has_git_commands: None,
            has_pr_issue_ref: None,
        }
    }

    fn answer(action: CompactionAction) -> CompactionVerdict {
        CompactionVerdict {
            action,
            has_active_git_work: true,
            confidence: 0.9,
            nudge_message: "Say it there.".to_owned(),
        }
    }

    #[test]
    fn a_pull_request_or_an_issue_is_seen_in_words_and_tools() {
        let check = |task: &str, tools: &str, expected: bool| {
            assert_eq!(has_git_work(&question(task, "", tools)), expected, "{task} {tools}");
        };
        check("Fix the bug reported in issue #42", "edit", true);
        check("Look at https://github.com/o/r/issues/7", "", true);
        check("Rework merge request !9", "", true);
        check("Address the review of PR 12", "", true);
        check("Add a toggle", "edit, mcp__github__create_pull_request", true);
        check("Use #333 for the border and section 2 of the print style", "write, edit", false);
        check("Process the prompt, improve the printer", "bash, git commit", false);
        let denied = CompactionQuestion { has_pr_issue_ref: Some(false), ..question("issue #42", "", "edit") };
        assert!(!has_git_work(&denied), "whoever asks knows better than words");
    }

    #[test]
    fn nothing_left_needs_a_word_and_silent_facts_say_nothing() {
        assert_eq!(
            by_facts(&question("(no task found)", " ", "bash")).map(|v| v.action),
            Some(CompactionAction::NeedsClarification)
        );
        assert_eq!(by_facts(&question("Add a favicon", "", "")), None);
        let unknown = by_facts(&question("", "", "")).unwrap();
        assert_eq!((unknown.action, unknown.nudge_message.as_str()), (CompactionAction::ContinueTask, ""));
        assert!(unknown.confidence.abs() < f64::EPSILON);
        let silent = without_judge(&question("Add a favicon", "The favicon is there!", "write, edit"));
        assert_eq!((silent.action, silent.nudge_message.as_str()), (CompactionAction::ContinueTask, ""));
        assert!(silent.confidence.abs() < f64::EPSILON);
    }

    #[test]
    fn posting_outside_is_proposed_and_only_where_there_is_something() {
        let nowhere = by_judge(&question("Add a toggle", "", "edit"), answer(CompactionAction::NeedsGithubUpdate));
        assert_eq!((nowhere.action, nowhere.has_active_git_work), (CompactionAction::ContinueTask, false));
        let there = by_judge(&question("Fix issue #4", "", "edit"), answer(CompactionAction::NeedsGithubUpdate));
        assert!(
            there.nudge_message.contains("if your instructions allow you to post there"),
            "{}",
            there.nudge_message
        );
        let goes_on = by_judge(&question("Fix issue #4", "", "edit"), answer(CompactionAction::ContinueTask));
        assert_eq!(goes_on.nudge_message, "Say it there.");
        let done = by_judge(&question("Fix issue #4", "", "edit"), answer(CompactionAction::TaskComplete));
        assert_eq!(done.nudge_message, "");
    }
}
