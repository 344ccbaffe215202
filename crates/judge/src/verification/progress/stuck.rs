//! Is an agent that says nothing stuck? What its records show decides; words may only say that it waits for somebody.

use super::super::context::task_type;
use super::loops::{asks_for_change, looping_names};
use crate::domain::{StuckReason, StuckVerdict};
use crate::services::StuckQuestion;

/// Nobody is stuck who did something less than half a minute ago, and nobody is asked about it.
pub(super) const QUIET_SECONDS: f64 = 30.0;
/// A message that stopped in the middle is given up after a minute; one that never began, after more than that.
const GIVEN_UP_SECONDS: f64 = 60.0;
/// A list of so many tool calls may be the end of a longer one.
const SHOWN_CALLS: usize = 20;
/// A judge that is less sure than this nudges nobody.
const SURE_ENOUGH: f64 = 0.5;
/// The most of a judge's words that an agent is told.
const NUDGE_BYTES: usize = 1_000;

/// What an agent is told that stopped in the middle.
const GO_ON: &str =
    "You stopped in the middle of the task. Go on with the next step, or say exactly what keeps you from it.";
/// What an agent is told that answered nothing.
const SAY_SOMETHING: &str = "Your last message is empty. Work on the task, or say exactly what keeps you from it.";
/// What an agent is told that looked around and stopped.
const BEGIN: &str =
    "You have looked around and stopped without changing anything, but the task asks for a change. Make it now.";

/// What the facts say; none where they are silent.
pub(super) fn by_facts(question: &StuckQuestion) -> Option<StuckVerdict> {
    let age = question.time_since_activity;
    let calls = Call::read(&question.tool_calls);
    if let Some(open) = calls.iter().find(|call| call.is_open()) {
        let reason = if open.asks_person() { StuckReason::WaitingForUser } else { StuckReason::Working };
        return Some(fine(reason, 1.0));
    }
    if age.is_nan() || age < QUIET_SECONDS {
        return Some(match question.message_completed {
            Some(false) => fine(StuckReason::Working, 0.9),
            _ => undetermined(),
        });
    }
    match question.message_completed {
        Some(false) => unfinished(question, age),
        Some(true) => finished(question, &calls, age),
        None => None,
    }
}

/// A message that is not whole, with nothing running.
fn unfinished(question: &StuckQuestion, age: f64) -> Option<StuckVerdict> {
    let said = said(&question.last_assistant_response);
    let began = match question.output_tokens {
        Some(tokens) => Some(tokens > 0 || said),
        None => said.then_some(true),
    };
    match began? {
        true if age >= GIVEN_UP_SECONDS => Some(stuck(0.8, GO_ON)),
        false if age > GIVEN_UP_SECONDS => Some(stuck(0.9, GO_ON)),
        _ => None,
    }
}

/// A message that is whole, with nothing running.
fn finished(question: &StuckQuestion, calls: &[Call<'_>], age: f64) -> Option<StuckVerdict> {
    let asked = said(&question.last_user_message);
    let answered = said(&question.last_assistant_response);
    if age > GIVEN_UP_SECONDS && asked && !answered && question.output_tokens == Some(0) && calls.is_empty() {
        return Some(stuck(0.8, SAY_SOMETHING));
    }
    // A question needs an answer, and of a long list only the end may be shown.
    let is_whole = calls.len() < SHOWN_CALLS && !question.last_assistant_response.trim_end().ends_with('?');
    let wants_change = asks_for_change(task_type(&question.last_user_message));
    let looked_only = looping_names(calls.iter().map(|call| call.name));
    (age >= GIVEN_UP_SECONDS && is_whole && wants_change && looked_only).then(|| stuck(0.7, BEGIN))
}

/// What is left to say where facts are silent and nobody can be asked: that the agent's last words are a question to
/// the person. Words may keep a nudge back, they never cause one.
pub(super) fn without_judge(question: &StuckQuestion) -> StuckVerdict {
    if question.message_completed == Some(true) && asks_person(&question.last_assistant_response) {
        return fine(StuckReason::WaitingForUser, 0.5);
    }
    undetermined()
}

/// What a judge's answer comes to: its parts made consistent, and no nudge from somebody who is not sure.
pub(super) fn by_judge(answer: StuckVerdict) -> StuckVerdict {
    let confidence = crate::prompt::certainty(answer.confidence);
    if answer.reason != StuckReason::GenuinelyStuck || !answer.stuck {
        // Two fields that contradict each other say nothing.
        let consistent = !answer.stuck && answer.reason != StuckReason::GenuinelyStuck;
        return if consistent { fine(answer.reason, confidence) } else { undetermined() };
    }
    let said = answer.nudge_message.trim();
    let words = if said.is_empty() { GO_ON.into() } else { crate::prompt::shorten(said, NUDGE_BYTES) };
    let nudges = answer.should_nudge && confidence >= SURE_ENOUGH;
    StuckVerdict {
        stuck: true,
        reason: StuckReason::GenuinelyStuck,
        confidence,
        should_nudge: nudges,
        nudge_message: if nudges { words.into_owned() } else { String::new() },
    }
}

/// Nobody knows.
pub(super) fn undetermined() -> StuckVerdict {
    fine(StuckReason::Undetermined, 0.0)
}

fn fine(reason: StuckReason, confidence: f64) -> StuckVerdict {
    StuckVerdict { stuck: false, reason, confidence, should_nudge: false, nudge_message: String::new() }
}

fn stuck(confidence: f64, nudge: &str) -> StuckVerdict {
    StuckVerdict {
        stuck: true,
        reason: StuckReason::GenuinelyStuck,
        confidence,
        should_nudge: true,
        nudge_message: nudge.to_owned(),
    }
}

/// Whether a text says anything; `(none)`, `(empty)` and the like stand for nothing.
pub(super) fn said(text: &str) -> bool {
    let text = text.trim();
    let stands_for_nothing = text.starts_with('(') && text.ends_with(')') && text.matches('(').count() == 1;
    !text.is_empty() && !stands_for_nothing
}

/// Whether an answer ends with a question to the person that must be answered before anything goes on.
fn asks_person(answer: &str) -> bool {
    const ASKS: [&str; 9] = [
        "which ",
        "should i ",
        "shall i ",
        "do you want ",
        "would you prefer ",
        "would you rather ",
        "are you sure ",
        "may i ",
        "what would you like ",
    ];
    const WANTS: [&str; 7] = ["provide ", "confirm", "clarify", "tell me", "share ", "specify", "let me know"];
    // Offers of more, and asking whether to do what was asked for anyway.
    const OFFERS: [&str; 13] = [
        "anything else",
        "also",
        "as well",
        "further",
        "more detail",
        "walk you through",
        "explain",
        "proceed",
        "continue",
        "go ahead",
        "start",
        "begin",
        "next",
    ];
    let Some(line) = answer.lines().map(str::trim).rfind(|line| !line.is_empty()) else { return false };
    if !line.ends_with('?') {
        return false;
    }
    let sentence = line[..line.len() - 1].rsplit(['.', '!', '?', ':']).next().unwrap_or(line).trim().to_lowercase();
    let begins = |phrase: &str| sentence.starts_with(phrase) || sentence.contains(&format!(", {phrase}"));
    let wants = ["can you ", "could you "].into_iter().any(begins) && WANTS.iter().any(|verb| sentence.contains(verb));
    let asks = wants || ASKS.into_iter().any(begins);
    asks && !OFFERS.iter().any(|phrase| sentence.contains(phrase))
}

/// One line of the tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call<'a> {
    name: &'a str,
    /// The word after the name, e.g. `running`; empty if there is none.
    state: &'a str,
}

impl<'a> Call<'a> {
    /// Reads `name: state …` and `name (what)` lines, or several of them between commas.
    fn read(text: &'a str) -> Vec<Self> {
        let mut calls = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| said(line)) {
            let line = line.trim_start_matches(['-', '*', '•']).trim_start();
            calls.push(Self::one(line));
            // A comma in an error message begins no call, so what follows must have a state that is known.
            let more = line.split([',', ';']).skip(1).map(|part| Self::one(part.trim()));
            calls.extend(more.filter(|call| call.is_open() || call.is_over()));
        }
        calls
    }

    fn one(text: &'a str) -> Self {
        let (name, rest) = text.split_once(": ").or_else(|| text.split_once(':')).unwrap_or((text, ""));
        let state = rest.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        Self { name: name.split(" (").next().unwrap_or(name).trim(), state }
    }

    /// It runs, or waits to run.
    fn is_open(&self) -> bool {
        ["running", "pending", "in_progress", "started", "executing", "queued"]
            .iter()
            .any(|state| self.state.eq_ignore_ascii_case(state))
    }

    fn is_over(&self) -> bool {
        ["completed", "complete", "done", "ok", "error", "failed", "denied", "cancelled"]
            .iter()
            .any(|state| self.state.eq_ignore_ascii_case(state))
    }

    /// A tool that asks a person and waits for the answer.
    fn asks_person(&self) -> bool {
        let name = self.name.to_ascii_lowercase().replace(['_', '-', ' '], "");
        matches!(name.as_str(), "askuserquestion" | "askuser" | "question" | "requestuserinput" | "askfollowupquestion")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(age: f64, completed: Option<bool>, tokens: Option<u64>) -> StuckQuestion {
        StuckQuestion {
            time_since_activity: age,
            message_completed: completed,
            output_tokens: tokens,
            last_user_message: "Fix the parser".to_owned(),
            last_assistant_response: String::new(),
            tool_calls: String::new(),
        }
    }

    fn check(question: &StuckQuestion, expected: Option<(StuckReason, bool)>) {
        let verdict = by_facts(question);
        assert_eq!(verdict.as_ref().map(|v| (v.reason, v.should_nudge)), expected, "{question:?}");
        assert!(verdict.is_none_or(|v| v.stuck == v.should_nudge && v.should_nudge != v.nudge_message.is_empty()));
    }

    #[test]
    fn nobody_is_nudged_within_half_a_minute_or_while_a_tool_runs() {
        check(&question(29.9, Some(false), Some(0)), Some((StuckReason::Working, false)));
        check(&question(29.9, Some(true), Some(0)), Some((StuckReason::Undetermined, false)));
        check(&question(f64::NAN, Some(true), None), Some((StuckReason::Undetermined, false)));
        let running =
            |calls: &str| StuckQuestion { tool_calls: calls.to_owned(), ..question(9e9, Some(false), Some(0)) };
        check(&running("bash: running"), Some((StuckReason::Working, false)));
        check(&running("read: completed\nbash (cargo test): PENDING"), Some((StuckReason::Working, false)));
        check(&running("read: completed, bash: running"), Some((StuckReason::Working, false)));
        check(&running("AskUserQuestion: running"), Some((StuckReason::WaitingForUser, false)));
        check(&running("bash: error - connection pending, try: running it again"), Some((StuckReason::Working, false)));
        check(&running("bash: error - still pending"), Some((StuckReason::GenuinelyStuck, true)));
    }

    #[test]
    fn a_message_that_stopped_in_the_middle_is_given_up_after_a_minute() {
        check(&question(60.0, Some(false), Some(0)), None);
        check(&question(61.0, Some(false), Some(0)), Some((StuckReason::GenuinelyStuck, true)));
        check(&question(60.0, Some(false), Some(15)), Some((StuckReason::GenuinelyStuck, true)));
        check(&question(59.0, Some(false), Some(15)), None);
        check(&question(600.0, Some(false), None), None);
        check(&question(600.0, None, Some(0)), None);
    }

    #[test]
    fn an_empty_answer_to_a_question_is_no_answer() {
        let empty = StuckQuestion {
            last_assistant_response: "(no text generated)".to_owned(),
            ..question(90.0, Some(true), Some(0))
        };
        check(&empty, Some((StuckReason::GenuinelyStuck, true)));
        check(&StuckQuestion { last_user_message: "(empty)".to_owned(), ..empty.clone() }, None);
        check(&StuckQuestion { tool_calls: "edit: completed".to_owned(), ..empty.clone() }, None);
        check(&StuckQuestion { output_tokens: None, ..empty }, None);
    }

    #[test]
    fn words_alone_nudge_nobody() {
        for words in [
            "Starting with step 1...",
            "Let me start implementing now:",
            "I'll do it next.",
            "Done.",
            "It failed again.",
        ] {
            let said =
                StuckQuestion { last_assistant_response: words.to_owned(), ..question(9e9, Some(true), Some(20)) };
            check(&said, None);
        }
    }

    #[test]
    fn a_question_at_the_end_waits_for_the_person() {
        let check = |answer: &str, expected: bool| assert_eq!(asks_person(answer), expected, "{answer}");
        check("15 files.\n\nThis cannot be undone. Are you sure you want me to delete all of these files?", true);
        check("Both work. Which database should I use?", true);
        check("Before I go on, should I keep the old API?", true);
        check("Done. Is there anything else?", false);
        check("Added. Should I also update the docs?", false);
        check("Why did it fail? Because the lock was held.", false);
        check("The function answers: which one is it?", true);
        check("What could go wrong?", false);
        check("Could you please clarify what should happen to old sessions?", true);
        check("Could you run it yourself?", false);
        check("The plan is ready. Should I proceed with the implementation?", false);
        check("All 12 tests pass. Do you want me to explain the change?", false);
    }

    #[test]
    fn a_judge_that_contradicts_itself_or_is_not_sure_nudges_nobody() {
        let answer = StuckVerdict { nudge_message: "Go on.".to_owned(), ..stuck(0.9, "") };
        assert_eq!(by_judge(answer.clone()).nudge_message, "Go on.");
        assert!(!by_judge(StuckVerdict { confidence: 0.05, ..answer.clone() }).should_nudge);
        assert_eq!(by_judge(StuckVerdict { stuck: false, ..answer.clone() }), undetermined());
        assert_eq!(by_judge(StuckVerdict { reason: StuckReason::Complete, ..answer.clone() }), undetermined());
        assert_eq!(by_judge(StuckVerdict { nudge_message: " ".to_owned(), ..answer }).nudge_message, GO_ON);
    }
}
