//! What a reader of the page meets first: the numbers, the attempts of each task, names and pictures.

use super::tests::{attempt, ended, judged, log, merge, merged, night, over, started, task, times, words};
use super::{Night, html, markdown, text};
use crate::domain::{ChangeOf, ChangeSize, Life, Reflection, ReflectionId, ShownChange};
use serde_json::{Value, json};
use std::collections::HashMap;

/// A memory with these lessons: id, task, attempt, words.
fn memory(lessons: &[(&str, &str, u32, &str)]) -> HashMap<ReflectionId, Reflection> {
    let lesson = |(id, task, attempt, words): &(&str, &str, u32, &str)| {
        let lesson = json!({
            "id": id, "sessionId": "s", "taskId": task, "subtaskId": task, "attemptNumber": attempt, "category": "root_cause",
            "analysis": "why", "suggestion": words, "actionItems": [], "confidence": 0.5, "createdAt": "2026-11-21T21:00:00Z"
        });
        (ReflectionId::new(*id), serde_json::from_value(lesson).unwrap())
    };
    lessons.iter().map(lesson).collect()
}

/// A refuted attempt, with the lesson of it.
fn refuted(id: &str, n: u32, because: &str, lesson: &str) -> Value {
    let mut entry = judged(id, n, "false_done");
    (entry["because"], entry["reflection"]) = (json!(because), json!(lesson));
    entry
}

/// `a` is confirmed at the second attempt, `b` never.
fn two_tasks() -> Vec<Value> {
    let mut all = vec![started("overnight", &["a", "b"]), task("a"), attempt("a", 1, &[])];
    all.push(refuted("a", 1, "check `test` is red", "r1"));
    all.extend([attempt("a", 2, &["r1"]), judged("a", 2, "confirmed")]);
    all.push(ended("a", json!("confirmed"), "closed", json!({"branch": "reflexion/r1/a", "proof": "turned_green"})));
    all.extend([task("b"), attempt("b", 1, &[]), refuted("b", 1, "check `test` is red", "r2")]);
    all.push(ended("b", json!("false_done"), "blocked", json!({"cause": "not solved in 1 attempt"})));
    all.push(over());
    all
}

const KEEP: &str = "Keep the tests as they are.";

fn both_learned(words: [&str; 2]) -> Night {
    night(&two_tasks()).with_lessons(memory(&[("r1", "a", 1, words[0]), ("r2", "b", 1, words[1])]))
}

#[test]
fn a_report_begins_with_its_numbers() {
    let told = both_learned([KEEP, "Other."]);
    let numbers = "1 needs you · 1 on a branch · 1 failed · 1 min 50 s · 330 tokens · $1.50 cost · 3 attempts · 2 lessons learned";
    assert!(text(&told, &times()).contains(&format!("{numbers}\n")), "{}", text(&told, &times()));
    assert!(markdown(&told, &times()).contains(&numbers.replace('$', "\\$")), "{}", markdown(&told, &times()));
    let page = html(&told, &times());
    assert!(page.contains("<b>$1.50</b> <span>cost</span>") && page.contains("<b>3</b> <span>attempts</span>"));
}

#[test]
fn what_nobody_reported_is_no_zero() {
    let mut silent = judged("a", 1, "failed");
    silent["usage"] = json!({});
    let all = [started("overnight", &["a"]), task("a"), attempt("a", 1, &[]), silent, over()];
    let said = text(&night(&all), &times());
    let numbers = said.lines().find(|line| line.contains(" · ")).unwrap();
    assert!(numbers.contains("1 attempt") && !numbers.contains("token") && !numbers.contains('$'), "{numbers}");
    // An agent that says nothing beside one that does makes a lower bound.
    let mut two = two_tasks();
    two[3]["usage"] = json!({});
    let said = text(&night(&two), &times());
    assert!(said.contains("220 tokens, at least · $1.00 cost, at least"), "{said}");
}

#[test]
fn a_task_tells_its_attempts_with_their_lessons_in_one_place() {
    let told = both_learned([KEEP, "Other."]);
    let said = words(&text(&told, &times()));
    let chain = "✗ attempt 1 (claude, 10 s, 110 tokens, $0.50): stopped by itself, and it was not done: check `test` is red \
                 lesson: Keep the tests as they are. \
                 ✓ attempt 2 (claude, 10 s, 110 tokens, $0.50): confirmed";
    assert!(said.contains(chain), "{said}");
    let page = html(&told, &times());
    let chain = &page[page.find("<ol class=\"chain\"").unwrap()..];
    let chain = &chain[..chain.find("</ol>").unwrap()];
    let places: Vec<usize> = ["✗", KEEP, "✓"].iter().map(|part| chain.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{chain}");
}

#[test]
fn a_lesson_is_told_in_full_once_and_equal_ones_are_one() {
    let long = format!("{KEEP} {}", "Read what the check prints before you change the parser. ".repeat(4));
    let told = both_learned([&long, &long]);
    let said = words(&text(&told, &times()));
    assert_eq!(said.matches(long.trim()).count(), 1, "{said}");
    assert!(said.contains("lesson: the lesson of `a#1` again"), "{said}");
    let learned = "- a#1 and b#1 learned 2 times Keep the tests as they are.";
    assert!(said.contains("2 lessons written, 1 of them different.") && said.contains(learned), "{said}");
    // An older journal of which the memory has no words folds nothing.
    let said = words(&text(&night(&two_tasks()), &times()));
    assert!(said.contains("2 lessons written.") && said.matches("the memory no longer has it").count() == 2, "{said}");
}

#[test]
fn the_timeline_names_the_tasks() {
    let page = html(&both_learned([KEEP, KEEP]), &times());
    let names = &page[page.find("class=\"names\"").unwrap()..];
    let names = &names[..names.find("</div>").unwrap()];
    assert!(names.contains("href=\"#task-done-a\"") && names.contains(">a</a>") && names.contains(">b</a>"), "{names}");
    let bar = &page[page.find("class=\"bar\"").unwrap()..];
    assert!(bar[..200].contains("aria-label=\"Worker 1: 3 agent runs, 1 confirmed"), "{}", &bar[..200]);
}

#[test]
fn charts_that_compare_nothing_are_not_drawn_and_the_cost_stands_before_details() {
    let mut one = vec![started("overnight", &["a"])];
    one.extend(merged("a", "c1", &["a.py"]));
    one.push(over());
    let page = html(&night(&one), &times());
    assert!(!page.contains("id=\"success\"") && !page.contains("id=\"cost\""), "{page}");
    let page = html(&both_learned([KEEP, "Other."]), &times());
    let place = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("{id} in {page}"));
    assert!(place("spend") < place("cost") && place("cost") < place("lessons") && place("cost") < place("runs"));
}

#[test]
fn a_run_of_seconds_is_told_to_the_second() {
    let said = text(&night(&two_tasks()), &times());
    assert!(said.contains("Sat 21 Nov 2026 21:00:00 to 21:01:50 (1 min 50 s)"), "{said}");
    let page = html(&night(&two_tasks()), &times());
    assert!(page.contains(">21:00:30</span>"), "{page}");
    // Hours are told to the minute.
    let mut long = log(&two_tasks());
    let last = long.entries.len() - 1;
    long.entries[last].at = "2026-11-21T23:00:00Z".parse().unwrap();
    let said = text(&Night::of(&long, Life::Gone), &times());
    assert!(said.contains("21:00 to 23:00 (2 h 00 min)"), "{said}");
}

/// A change of one file, with this diff.
fn change_of(night: Night, diff: &str) -> Night {
    let change = ShownChange {
        from: "a".repeat(40),
        to: "b".repeat(40),
        size: ChangeSize { added: 1, removed: 2, files: 1 },
        diff: Some(diff.to_owned()),
    };
    let places: Vec<usize> = night.kept_changes().into_iter().map(|(place, _)| place).collect();
    night.with_changes(places.into_iter().map(|place| (place, Some(change.clone()))))
}

#[test]
fn what_was_merged_or_is_on_a_branch_shows_what_it_changes() {
    let mut all = vec![started("overnight", &["a", "b", "c"])];
    all.extend(merged("a", "c1", &["a.py"]));
    all.extend([task("b"), attempt("b", 1, &[]), judged("b", 1, "confirmed")]);
    all.push(ended("b", json!("confirmed"), "closed", json!({"branch": "reflexion/r1/b"})));
    all.extend([task("c"), attempt("c", 1, &[]), judged("c", 1, "confirmed")]);
    all.push(merge("c", 1, json!({"kind": "red", "because": "x", "kept": "reflexion/r1/c@1"})));
    all.push(ended("c", json!("failed"), "blocked", json!({})));
    all.push(over());
    let of = |name: &str| ChangeOf(name.to_owned());
    let wanted = vec![(0, of("c1")), (1, of("reflexion/r1/b")), (2, of("reflexion/r1/c@1"))];
    assert_eq!(night(&all).kept_changes(), wanted);
    let told = change_of(night(&all), "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+new\n");
    let said = words(&text(&told, &times()));
    assert!(said.contains("changes 1 file (+1 −2 lines): `a.py`"), "{said}");
    assert!(said.contains("$ git diff aaaaaaaaaaaa bbbbbbbbbbbb # see the whole change"), "{said}");
    let page = html(&told, &times());
    assert_eq!(page.matches("<summary>+1 −2 lines in 1 file</summary>").count(), 3, "{page}");
    assert!(page.contains("<span class=\"add\">+new\n</span>") && !page.contains("The rest is not shown"), "{page}");
}

#[test]
fn a_long_diff_is_cut_at_a_line_and_hides_nothing() {
    let mut all = vec![started("overnight", &["a"])];
    all.extend(merged("a", "c1", &["a.py"]));
    all.push(over());
    let hostile =
        "<script>alert(1)</script></pre> \u{1b}[2J\u{202e}\u{200b} token=ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let line = format!("+{hostile}\n");
    let told = change_of(night(&all), &format!("diff --git a/a b/a\n@@ -1 +1 @@\n{}", line.repeat(400)));
    let page = html(&told, &times());
    assert!(page.len() < 100_000 && page.contains("The rest is not shown; <code>git diff aaaaaaaaaaaa"), "{page}");
    let escaped =
        "<span class=\"add\">+&lt;script&gt;alert(1)&lt;/script&gt;&lt;/pre&gt; \\u{1b}[2J\\u{202e}\\u{200b} ";
    assert!(page.contains(escaped) && !page.contains("<script") && !page.contains("ghp_0123"), "{page}");
}

#[test]
fn a_task_says_which_red_tests_are_so_no_more() {
    let mut all = vec![started("overnight", &["a"]), task("a"), attempt("a", 1, &[]), judged("a", 1, "confirmed")];
    all[3]["tests"] = json!({"names": ["t::adds", "t::`odd`"], "turned": 5, "failedBefore": 6, "failing": 1});
    all.push(ended("a", json!("confirmed"), "closed", json!({"branch": "reflexion/r1/a"})));
    all.push(over());
    let said = words(&text(&night(&all), &times()));
    let expected = "`t::adds`, `t::`odd`` and 3 more failed before and do not now; 6 failing tests before, 1 now";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn what_was_committed_in_between_is_in_one_branch_with_what_was_merged_since() {
    let mut resumed = json!({"type": "run_resumed", "run": "r1", "pid": 2, "tasks": ["a"], "head": "c0ffee"});
    resumed["until"] = json!(null);
    let all = [
        started("overnight", &["a"]),
        resumed,
        task("a"),
        attempt("a", 1, &[]),
        judged("a", 1, "confirmed"),
        merge("a", 1, json!({"kind": "merged", "commit": "c1"})),
        ended("a", json!("confirmed"), "closed", json!({"branch": "reflexion/r1/a", "proof": "turned_green"})),
        over(),
    ];
    let before = text(&night(&all), &times());
    assert!(before.contains("is not in it") && before.contains("git merge reflexion/r1/integration"), "{before}");
    let told = night(&all);
    assert_eq!(told.mergeable(), [(None, "reflexion/r1/integration".to_owned()), (Some(0), "c1".to_owned())]);
    let after = text(&told.with_brought_in([None]), &times());
    assert!(!after.contains("is not in it") && !after.contains("git merge"), "{after}");
    assert!(after.contains("One of them is merged into a branch of yours since. Nothing needs you."), "{after}");
}

#[test]
fn new_tests_that_prove_nothing_are_told_with_what_would() {
    let check = |runs: Value, expected: &str| {
        let mut confirmed = judged("a", 1, "confirmed");
        (confirmed["proof"], confirmed["proofRuns"]) = (json!("stayed_green"), runs);
        let ends = json!({"branch": "reflexion/r1/a", "proof": "stayed_green"});
        let ends = ended("a", json!("confirmed"), "closed", ends);
        let all = [started("run", &["a"]), task("a"), attempt("a", 1, &[]), confirmed, ends, over()];
        let said = words(&text(&night(&all), &times()));
        let expected = format!("its new test {expected}; what would prove it: a test that fails, by what it asserts");
        assert!(said.contains(&expected), "{expected} is not in {said}");
    };
    check(json!({"c": "green", "t": "green"}), "does not fail without the change");
    let unknown = "fails without the change, but nothing shows that it would notice a mistake in the new code";
    check(json!({"c": "green", "t": "red"}), unknown);
}
