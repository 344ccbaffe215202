//! Plan mode: an agent that is only to plan, for as long as that lasts.

use serde::{Deserialize, Serialize};

/// An agent that only plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planning {
    /// Since so many tool calls.
    pub since: u64,
    /// How long.
    pub until: PlansUntil,
}

/// How long a plan mode lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlansUntil {
    /// The next thing asked: it was announced together with what was asked last, and would be again.
    NextAsked,
    /// The program says that it is over.
    Left,
}

/// How a reminder from an agent's program begins in what is otherwise a person's message, and how it ends.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");

/// What an agent's program says about its plan mode, in a system or developer message or in a reminder: that it is on,
/// that it was left, or nothing. The last word counts.
#[must_use]
pub fn announced_by_program(text: &str) -> Option<bool> {
    if !speaks_of_modes(text) {
        return None;
    }
    let text = text.trim_start().to_lowercase();
    let heading = text.lines().next().map(|line| line.trim_start_matches(['#', ' ']));
    let mut said = heading.filter(|title| title.starts_with("plan mode - ") || *title == "plan mode").map(|_| true);
    for sentence in sentences(&text) {
        said = sentence_of_program(sentence).or(said);
    }
    said
}

/// What comes with a message to the agent: a program's reminder in it counts before a person's own words.
pub(super) fn announced_with_message(text: &str) -> Option<bool> {
    if !speaks_of_modes(text) {
        return None;
    }
    let (mut person, mut program) = (String::new(), None);
    let mut rest = text;
    while let Some(at) = start_of_reminder(rest) {
        person.push_str(&rest[..at]);
        let block = &rest[at + REMINDER.0.len()..];
        let end = block.find(REMINDER.1).unwrap_or(block.len());
        program = announced_by_program(&block[..end]).or(program);
        rest = block.get(end + REMINDER.1.len()..).unwrap_or("");
        person.push('\n');
    }
    person.push_str(rest);
    program.or_else(|| asked_by_person(&person))
}

/// Most messages do not, and need no closer look.
fn speaks_of_modes(text: &str) -> bool {
    let has = |word: &str| text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    has("plan") || has("read-only")
}

/// Only at the beginning of a line: in the middle of one, somebody quotes it.
fn start_of_reminder(text: &str) -> Option<usize> {
    text.match_indices(REMINDER.0)
        .map(|(at, _)| at)
        .find(|at| text[..*at].chars().rev().take_while(|c| *c != '\n').all(char::is_whitespace))
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', '!', ';', '\n']).map(str::trim).filter(|sentence| !sentence.is_empty())
}

fn sentence_of_program(sentence: &str) -> Option<bool> {
    const MODES: [&str; 4] = ["plan mode", "planning mode", "read-only mode", "read-only phase"];
    // Instructions about the mode are in every agent's system prompt; they announce nothing.
    const CONDITIONS: [&str; 12] = [
        "if ",
        "when ",
        "whenever ",
        "while ",
        "unless ",
        "until ",
        "once ",
        "before ",
        "after ",
        "can ",
        "may ",
        "should ",
    ];
    if ["changed from plan ", "switched from plan "].iter().any(|phrase| sentence.contains(phrase)) {
        return Some(false);
    }
    let (at, mode) = MODES.iter().filter_map(|mode| sentence.find(mode).map(|at| (at, mode))).min()?;
    let (before, after) = (&sentence[..at], &sentence[at + mode.len()..]);
    if has_word(before, &CONDITIONS) {
        return None;
    }
    let before: Vec<&str> = words(before).collect();
    // What is said of the mode stands right behind it; `plan mode is on`, `plan mode still active`.
    let after: Vec<&str> = words(after).take(4).collect();
    let has = |of: &[&str], any: &[&str]| of.iter().any(|word| any.contains(word));
    let last = &before[before.len().saturating_sub(3)..];
    let over = ["off", "over", "ended", "disabled", "inactive", "exited", "finished", "longer", "not", "isn't"];
    let left = ["exited", "left", "leaving", "exiting", "longer", "not", "never", "aren't", "of", "ended"];
    if has(&after, &over) || has(last, &left) {
        return Some(false);
    }
    let is_in =
        before.last() == Some(&"in") && has(last, &["are", "you're", "is", "now", "still", "currently", "remain"]);
    Some(true).filter(|_| is_in || has(last, &["entered", "entering"]) || has(&after, &["active", "on", "enabled"]))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty())
}

fn has_word(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.starts_with(word) || text.contains(&format!(" {word}")))
}

/// A person who tells the agent to change its mode. A person who speaks of plans, or of a feature of that name, does
/// not.
fn asked_by_person(text: &str) -> Option<bool> {
    const ENTER: [&str; 11] = [
        "switch to ",
        "switch into ",
        "change to ",
        "go into ",
        "go to ",
        "stay in ",
        "work in ",
        "use ",
        "enter ",
        "start in ",
        "be in ",
    ];
    // What can be done to a feature of that name too, so nothing may follow.
    const TURN_ON: [&str; 3] = ["enable ", "activate ", "turn on "];
    const LEAVE: [&str; 5] = ["leave ", "exit ", "end ", "quit ", "stop "];
    let text = text.to_lowercase();
    let mut said = None;
    for sentence in sentences(&text) {
        let sentence = polite(sentence);
        let after = |verbs: &[&str]| {
            let rest = verbs.iter().find_map(|verb| sentence.strip_prefix(verb))?;
            rest.strip_prefix("the ").unwrap_or(rest).strip_prefix("plan mode")
        };
        let nothing_more =
            |rest: &str| matches!(rest.trim(), "" | "please" | "now" | "for now" | "first" | "only" | "again");
        let goes_on =
            |rest: &str| rest.starts_with([',', ':']) || rest.starts_with(" and ") || rest.starts_with(" to ");
        if after(&ENTER).is_some_and(|rest| nothing_more(rest) || goes_on(rest))
            || after(&TURN_ON).is_some_and(nothing_more)
            || sentence.strip_prefix("plan mode").is_some_and(|rest| nothing_more(rest) || rest.starts_with([',', ':']))
        {
            said = Some(true);
        } else if after(&LEAVE).is_some_and(|rest| nothing_more(rest) || goes_on(rest)) {
            said = Some(false);
        }
    }
    said
}

fn polite(mut sentence: &str) -> &str {
    for word in ["ok, ", "okay, ", "ok ", "okay ", "now ", "please ", "let's ", "first, ", "first "] {
        sentence = sentence.strip_prefix(word).unwrap_or(sentence);
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_announces_its_mode() {
        let check = |text: &str, expected: Option<bool>| assert_eq!(announced_by_program(text), expected, "{text}");
        check("# Plan Mode - System Reminder", Some(true));
        check("CRITICAL: plan mode ACTIVE - you are in READ-ONLY phase", Some(true));
        check("Plan mode is active. The user does not want you to execute yet.", Some(true));
        check("You are now in plan mode", Some(true));
        check("You are no longer in read-only mode", Some(false));
        check("You are not in plan mode.", Some(false));
        check(
            "Your operational mode has changed from plan to build.\nYou are no longer in read-only mode.",
            Some(false),
        );
        check("Plan mode is active.\nYou have exited plan mode.", Some(false));
        check("You have exited plan mode. Plan mode is active again: plan mode is on.", Some(true));
        // What every system prompt holds.
        check("If you are in plan mode, use ExitPlanMode when the plan is ready.", None);
        check("Use this tool when plan mode is active.", None);
        check("You can enter plan mode for large tasks.\n## Plan mode\nNever write files then.", None);
        check("The project has a pricing plan.", None);
        check("Tools that work in plan mode: read, grep.", None);
        check("A plan mode keeps you from editing.", None);
    }

    #[test]
    fn a_program_may_say_it_in_other_words() {
        let check = |text: &str, expected: Option<bool>| assert_eq!(announced_by_program(text), expected, "{text}");
        check("Plan mode still active. See the full instructions earlier.", Some(true));
        check("Plan mode: ON", Some(true));
        check("You are currently in planning mode.", Some(true));
        check("The session has entered plan mode.", Some(true));
        check("You have left plan mode.", Some(false));
        check("Plan mode isn't active any more.", Some(false));
        check("You're out of plan mode now.", Some(false));
        check("Your mode was switched from plan to build.", Some(false));
    }

    #[test]
    fn a_person_asks_for_a_mode_and_not_for_a_thing_of_that_name() {
        let check = |text: &str, expected: Option<bool>| assert_eq!(announced_with_message(text), expected, "{text}");
        check("Switch to Plan Mode", Some(true));
        check("Please enter plan mode and look at the parser.", Some(true));
        check("Enable plan mode", Some(true));
        check("plan mode please\nI want to think about this", Some(true));
        check("Exit plan mode and implement it", Some(false));
        check("Enable plan mode in the settings page", None);
        check("Add a toggle named plan mode to settings", None);
        check("Why does it say \"plan mode is active\"?", None);
        check("Create the pricing page for each plan", None);
        check("Create a plan for enterprise customers", None);
        check("Plan and then implement the migration", None);
        check("Fix the airplane display bug", None);
    }

    #[test]
    fn a_reminder_in_a_message_is_the_programs() {
        let check = |text: &str, expected: Option<bool>| assert_eq!(announced_with_message(text), expected, "{text}");
        check("Help me\n<system-reminder>\n# Plan Mode - System Reminder\n</system-reminder>", Some(true));
        check("Go on\n<system-reminder>\nYou are no longer in read-only mode.\n</system-reminder>", Some(false));
        check("Enter plan mode\n<system-reminder>\nYou have exited plan mode.\n</system-reminder>", Some(false));
        check("Fix it\n<system-reminder>\nYou have these tools: read, edit.\n</system-reminder>", None);
        check("The log says <system-reminder>plan mode is active</system-reminder>, why?", None);
        check("<system-reminder>plan mode is active", Some(true));
    }
}
