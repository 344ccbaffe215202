//! What is found and chosen.

use super::*;
use crate::curation::State;
use crate::curation::testing::reflection;
use crate::domain::{FailureKey, FailureKind, Reflection, Source};

fn key(tool: &str, tests: &[&str], lines: &[&str]) -> FailureKey {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    FailureKey {
        tool: tool.to_owned(),
        kind: FailureKind::Tests,
        tests: owned(tests),
        lines: owned(lines),
        ..FailureKey::default()
    }
}

fn lesson(id: &str, task: &str, failure: FailureKey) -> Lesson {
    let reflection = Reflection { suggestion: format!("do {id}"), ..reflection(id, task) };
    Lesson { reflection, failure, state: State::Probation, at_home: true, project: Project::Own, helps: None, seen: 1 }
}

/// Twenty lessons about failures that have little in common.
fn others() -> Vec<Lesson> {
    let words = ["cart", "pool", "date", "user", "index", "queue", "token", "graph", "tree", "cache"];
    (0..20)
        .map(|n| {
            let (a, b) = (words[n % 10], words[(n / 2 + 3) % 10]);
            lesson(
                &format!("o{n}"),
                &format!("other{n}"),
                key("pytest", &[&format!("t.py::{a}_{b}_{n}")], &[&format!("{a}Error: no {b} {a}")]),
            )
        })
        .collect()
}

fn query(failure: FailureKey) -> Query {
    Query { task: "mine".to_owned(), subtask: "mine".to_owned(), failure: Some(failure), task_text: String::new() }
}

fn chosen(lessons: &[Lesson], query: &Query, limits: &Limits) -> Vec<String> {
    Index::of(lessons).recall(query, limits).fits.into_iter().map(|fit| fit.lesson.to_string()).collect()
}

fn why_not(lessons: &[Lesson], query: &Query, id: &str) -> String {
    let left_out = Index::of(lessons).recall(query, &Limits::default()).left_out;
    left_out.into_iter().find(|left| left.lesson.as_str() == id).map_or_else(|| "not near".to_owned(), |left| left.why)
}

fn boom() -> FailureKey {
    key("pytest", &["t.py::test_evict"], &["KeyError: 'gone' in evict", "assert pool.size == <n>"])
}

#[test]
fn the_same_and_the_similar_failure_are_found_and_others_are_not() {
    let mut lessons = others();
    lessons.push(lesson("same", "a", boom()));
    lessons.push(lesson(
        "lines",
        "b",
        key("unittest", &["U.test"], &["assert pool.size == <n>", "KeyError: 'gone' in evict"]),
    ));
    lessons.push(lesson(
        "similar",
        "c",
        key(
            "pytest",
            &["t.py::test_evict_all"],
            &["KeyError: 'gone' in evict", "assert pool.size == <n>", "evict again"],
        ),
    ));
    let index = Index::of(&lessons);
    let found = index.like(&boom(), |_| true);
    let named = |n: usize| lessons[found[n].lesson].reflection.id.as_str();
    assert_eq!([named(0), named(1), named(2)], ["same", "lines", "similar"]);
    assert_eq!([found[0].same, found[1].same, found[2].same], [Some(Same::Structure), Some(Same::Lines), None]);
    assert!(found[0].lines > 0.999 && found[0].words > 0.999, "{found:?}");
    assert!(found[2].is_similar() && found[3..].iter().all(|far| !far.is_similar()), "{found:?}");
    assert!(found[2].shared.iter().any(|word| word == "evict"), "{found:?}");
    assert!(index.like(&boom(), |_| false).is_empty());
    assert!(index.like(&FailureKey::default(), |_| true).is_empty());
    let full_disk = FailureKey { kind: FailureKind::Machine, ..boom() };
    assert!(index.like(&full_disk, |_| true).is_empty());
    assert!(Index::of(&[]).like(&boom(), |_| true).is_empty());
}

#[test]
fn names_are_found_by_their_parts_and_tests_count_more_than_words() {
    let mut lessons = others();
    lessons.push(lesson("camel", "a", key("jest", &[], &["TypeError: parseDateRange is no function"])));
    lessons.push(lesson("test", "b", key("jest", &["evict_when_full"], &["a b"])));
    lessons.push(lesson("word", "c", key("jest", &["other"], &["evict_when_full"])));
    let index = Index::of(&lessons);
    let first = |failure: FailureKey| lessons[index.like(&failure, |_| true)[0].lesson].reflection.id.to_string();
    assert_eq!(first(key("jest", &[], &["parse_date_range is missing"])), "camel");
    let words = |id: &str| {
        let found = index.like(&key("jest", &["evict_when_full"], &[]), |_| true);
        found.iter().find(|found| lessons[found.lesson].reflection.id.as_str() == id).unwrap().words
    };
    assert!(words("test") > words("word"));
}

#[test]
fn a_common_test_makes_no_failures_the_same() {
    let wrapper = |id: &str, line: &str| lesson(id, id, key("shell", &["main:run"], &[line]));
    let lessons = [wrapper("a", "no pool"), wrapper("b", "no cart"), wrapper("c", "no date")];
    let found = Index::of(&lessons).like(&key("shell", &["main:run"], &["no user"]), |_| true);
    assert!(found.iter().all(|found| found.same.is_none()), "{found:?}");
    assert!(Index::of(&lessons[..2]).like(&key("shell", &["main:run"], &["no user"]), |_| true)[0].same.is_some());
}

#[test]
fn a_common_test_beside_one_that_tells_does_not_count() {
    let mut lessons: Vec<Lesson> = ["a", "b", "c"]
        .map(|id| lesson(id, id, key("go", &["Main", &format!("Test{id}")], &[&format!("no {id}x")])))
        .into();
    lessons.push(lesson("alone", "d", key("go", &["TestPool"], &["one"])));
    lessons.push(lesson("beside", "e", key("go", &["Main", "TestPool"], &["two"])));
    let found = Index::of(&lessons).like(&key("go", &["TestPool"], &["three"]), |_| true);
    let mut same: Vec<usize> = found.iter().filter(|found| found.same.is_some()).map(|found| found.lesson).collect();
    same.sort_unstable();
    assert_eq!(same, [3, 4]);
}

#[test]
fn own_lessons_come_first_the_latest_of_the_part_before_all() {
    let mut part = lesson("part", "mine", key("x", &[], &["a b"]));
    part.reflection.subtask_id = "mine-2".to_owned();
    let lessons = [lesson("old", "mine", boom()), lesson("new", "mine", boom()), part, lesson("far", "b", boom())];
    assert_eq!(chosen(&lessons, &query(boom()), &Limits::default()), ["new", "far"]);
    let more = Limits { own: 3, ..Limits::default() };
    assert_eq!(chosen(&lessons, &query(boom()), &more), ["new", "old", "part", "far"]);
    assert_eq!(chosen(&lessons, &query(boom()), &Limits { foreign: 0, ..more }), ["new", "old", "part"]);
    assert!(why_not(&lessons, &query(boom()), "old").contains("1 of this task"));
    let recall = Index::of(&lessons).recall(&query(boom()), &Limits::default());
    assert_eq!((recall.fits[0].source, recall.fits[1].source), (Source::Own, Source::Same));
}

#[test]
fn a_candidate_stays_with_its_task_and_another_project_must_have_failed_the_same() {
    let with = |state, project| Lesson { state, project, ..lesson("l", "b", boom()) };
    let seen = |lesson: Lesson| !chosen(&[lesson], &query(boom()), &Limits::default()).is_empty();
    assert!(!seen(with(State::Candidate, Project::Own)));
    assert!(seen(with(State::Probation, Project::Own)));
    let elsewhere = || with(State::Probation, Project::Other("shop".to_owned()));
    assert!(seen(elsewhere()));
    let other_tool = Lesson { failure: FailureKey { tool: "cargo".to_owned(), ..boom() }, ..elsewhere() };
    assert!(!seen(other_tool));
    let similar = FailureKey {
        lines: [&boom().lines[..], &["another".to_owned()]].concat(),
        tests: vec!["t.py::x".to_owned()],
        ..boom()
    };
    assert!(seen(Lesson { failure: similar.clone(), ..with(State::Probation, Project::Own) }));
    let far = Lesson { failure: similar, ..elsewhere() };
    assert!(!seen(far.clone()) && why_not(&[far], &query(boom()), "l").contains("its failure is not the same"));
    for state in [State::Stale, State::Quarantined, State::Retired] {
        assert!(!seen(with(state, Project::Own)), "{state:?}");
        let own = Lesson { state, at_home: false, ..lesson("l", "mine", boom()) };
        assert!(!seen(own.clone()), "{state:?}");
        assert_ne!(why_not(&[own], &query(boom()), "l"), "not near");
    }
    assert!(seen(Lesson { state: State::Retired, ..lesson("l", "mine", boom()) }), "merged, and still the task's own");
    let mut foreign = lesson("l", "mine", boom());
    foreign.reflection.foreign = true;
    assert!(!seen(foreign), "a line that nobody adopted");
    let namesake = Lesson {
        project: Project::Other(String::new()),
        state: State::Active,
        at_home: true,
        ..lesson("l", "mine", key("go", &[], &["x y"]))
    };
    assert!(!seen(namesake), "a task of another project with the same name is no own one");
}

#[test]
fn what_is_measured_ranks_and_nearness_only_lets_in() {
    let near = Lesson { helps: Some(0.4), ..lesson("near", "a", boom()) };
    let helpful = Lesson {
        helps: Some(0.9),
        ..lesson(
            "helpful",
            "b",
            key("pytest", &["t.py::other"], &["KeyError: 'gone' in evict", "assert pool.size == <n>", "a third one"]),
        )
    };
    let unmeasured = lesson("unmeasured", "c", boom());
    let far = Lesson {
        helps: Some(1.0),
        ..lesson("far", "d", key("pytest", &["t.py::z"], &["KeyError: nothing like it", "more of it"]))
    };
    let mut lessons = others();
    lessons.extend([near, helpful, unmeasured, far]);
    let limits = Limits { foreign: 9, ..Limits::default() };
    assert_eq!(chosen(&lessons, &query(boom()), &limits), ["helpful", "unmeasured", "near"]);
    assert!(why_not(&lessons, &query(boom()), "far").contains("not near enough"));
    let promoted = Lesson {
        helps: Some(1.0),
        state: State::Active,
        at_home: true,
        project: Project::Other(String::new()),
        ..lesson("promoted", "z", boom())
    };
    lessons.push(promoted);
    assert_eq!(
        chosen(&lessons, &query(boom()), &limits),
        ["helpful", "unmeasured", "near", "promoted"],
        "this project first"
    );
}

#[test]
fn before_a_first_attempt_the_bar_is_high() {
    let failure =
        FailureKey { frames: vec!["src/pool.rs".to_owned()], ..key("cargo", &["pool::test_evict"], &["boom"]) };
    let proved = Lesson { state: State::Active, at_home: true, helps: Some(0.95), ..lesson("proved", "a", failure) };
    let first = |text: &str| Query { failure: None, task_text: text.to_owned(), ..query(boom()) };
    let seen = |lesson: &Lesson, text: &str| {
        let mut lessons = others();
        lessons.push(lesson.clone());
        !chosen(&lessons, &first(text), &Limits::default()).is_empty()
    };
    let names = "Make test_evict in src/pool.rs faster";
    assert!(seen(&proved, names));
    assert!(!seen(&proved, "Make the cart faster, and look at boom"));
    assert!(!seen(&proved, ""));
    assert!(!seen(&Lesson { helps: Some(0.8), ..proved.clone() }, names));
    assert!(!seen(&Lesson { helps: None, ..proved.clone() }, names));
    assert!(!seen(&Lesson { state: State::Probation, at_home: true, ..proved }, names));
}

#[test]
fn lessons_that_contradict_one_another_never_stand_together() {
    let says = |id: &str, task: &str, suggestion: &str| {
        let mut lesson = lesson(id, task, boom());
        lesson.reflection.suggestion = suggestion.to_owned();
        lesson
    };
    let own = says("own", "mine", "Increase the size of the pool.");
    let lessons = [says("less", "a", "Reduce the size of the pool."), says("more", "b", "Do not log in evict."), own];
    let query = query(boom());
    assert_eq!(chosen(&lessons, &query, &Limits { foreign: 5, ..Limits::default() }), ["own", "more"]);
    assert!(why_not(&lessons, &query, "less").contains("opposite of own"));
    let mut elsewhere = lessons.to_vec();
    elsewhere.extend(others());
    elsewhere[0].failure.tests = vec!["t.py::test_other".to_owned()];
    elsewhere[0].failure.lines.push("and one more".to_owned());
    assert_eq!(
        chosen(&elsewhere, &query, &Limits { foreign: 5, ..Limits::default() }),
        ["own", "more", "less"],
        "another failure"
    );
}

#[test]
fn the_block_keeps_its_size() {
    let long = |id: &str, task: &str| {
        let mut lesson = lesson(id, task, boom());
        lesson.reflection.analysis = "word ".repeat(240);
        lesson
    };
    let lessons = [long("first", "a"), long("second", "c"), lesson("short", "b", boom()), long("own", "mine")];
    let limits = Limits { foreign: 5, ..Limits::default() };
    assert_eq!(chosen(&lessons, &query(boom()), &limits), ["own", "short", "second"]);
    assert!(why_not(&lessons, &query(boom()), "first").contains("stand before it"));
    let small = Limits { tokens: 50, ..limits };
    assert_eq!(chosen(&lessons, &query(boom()), &small), ["own", "short"], "the prompt shortens the own one");
    assert_eq!(chosen(&lessons, &query(boom()), &Limits { tokens: 0, ..limits }), ["own"]);
}

#[test]
fn nothing_is_a_normal_answer_and_the_same_question_has_the_same_answer() {
    let lessons = others();
    let strange = query(key("gcc", &[], &["undefined reference to `main`"]));
    assert_eq!(Index::of(&lessons).recall(&strange, &Limits::default()).fits, []);
    let limits = Limits { foreign: 9, own: 9, tokens: 4_000 };
    let again = || Index::of(&lessons).recall(&query(lessons[4].failure.clone()), &limits);
    assert_eq!(again(), again());
    assert!(!again().fits.is_empty());
}
