//! What every store must do.

use crate::domain::{Category, Origin, Reflection, ReflectionId, SessionId, Timestamp};
use crate::services::{PruneReport, RecentQuery, Storage, StorageError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Checks that a [`Storage`] keeps its contract; run it for each implementation of your own.
///
/// `make` gives a new, empty store each time. Needs a tokio runtime.
///
/// # Panics
/// On the first broken promise, naming it.
///
/// ```
/// # use reflexion_memory::storage::InMemoryStorage;
/// # use reflexion_testing::testing::storage_contract;
/// # use std::sync::Arc;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// storage_contract(|| Arc::new(InMemoryStorage::default())).await;
/// # }
/// ```
pub async fn storage_contract(make: impl Fn() -> Arc<dyn Storage>) {
    an_empty_store_is_no_error(&*make()).await;
    recent_is_last_appended_first(&*make()).await;
    filters_are_exact(&*make()).await;
    a_query_sees_what_was_appended_since(&*make()).await;
    every_text_comes_back(&*make()).await;
    an_id_may_be_appended_twice(&*make()).await;
    a_batch_is_stored_whole_or_not_at_all(&*make()).await;
    prune_removes_what_is_older(&*make()).await;
    concurrent_appends_lose_nothing(make()).await;
}

async fn an_empty_store_is_no_error(store: &dyn Storage) {
    assert_eq!(ids(store, None, None, None).await, Vec::<String>::new());
    assert_eq!(ids(store, Some("t"), Some("s"), Some(3)).await, [""; 0]);
    not_found(store, "a").await;
    append(store, &[]).await;
    let pruned = store.prune(Timestamp::MAX, &BTreeSet::new()).await.expect("prune of nothing");
    assert_eq!(pruned, PruneReport::default(), "prune of an empty store");
    let report = store.check().await.expect("check of nothing");
    assert_eq!((report.reflections, report.unreadable), (0, 0));
}

async fn recent_is_last_appended_first(store: &dyn Storage) {
    // Times run against the order of appending, because they order nothing.
    for (id, at) in [("a", 30), ("b", 20), ("c", 10)] {
        append(store, &[reflection(id, "t", "s", at)]).await;
    }
    assert_eq!(ids(store, None, None, None).await, ["c", "b", "a"]);
    for (limit, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (usize::MAX, 3)] {
        let found = ids(store, None, Some("s"), Some(limit)).await;
        assert_eq!(found, ["c", "b", "a"][..expected], "limit {limit}");
    }
}

async fn filters_are_exact(store: &dyn Storage) {
    let rows = [
        ("a", "t1", "s1"),
        ("b", "t1", "s2"),
        ("c", "t2", "s1"),
        ("d", "t1", "s1"),
        // Ids that contain others, or stand in another field, are not those others.
        ("e", "t11", "s11"),
        ("s1", "s1", "t1"),
        ("f", "T1", "S1"),
    ];
    let rows = rows.map(|(id, task, subtask)| reflection(id, task, subtask, 1));
    append(store, &rows).await;
    for (task, subtask, expected) in [
        (Some("t1"), None, &["d", "b", "a"][..]),
        (None, Some("s1"), &["d", "c", "a"]),
        (Some("t1"), Some("s1"), &["d", "a"]),
        (Some("t2"), Some("s2"), &[]),
        (Some("t"), None, &[]),
        (Some(""), None, &[]),
    ] {
        let found = ids(store, task, subtask, None).await;
        assert_eq!(found, expected, "task {task:?}, subtask {subtask:?}");
    }
    assert_eq!(ids(store, None, Some("s1"), Some(2)).await, ["d", "c"]);
    let found = store.get(&ReflectionId::new("s1")).await.expect("get");
    assert_eq!(found.task_id, "s1", "get looks at the id only");
}

async fn a_query_sees_what_was_appended_since(store: &dyn Storage) {
    for id in ["a", "b", "c", "d"] {
        append(store, &[reflection(id, "t", "s", 1)]).await;
        append(store, &[reflection("other", "t", "other", 1)]).await;
        let newest = ids(store, None, Some("s"), Some(1)).await;
        assert_eq!(newest, [id], "asked again after an append");
        assert_eq!(ids(store, None, Some("absent"), Some(1)).await, [""; 0]);
    }
    let two = ids(store, None, Some("s"), Some(2)).await;
    assert_eq!(two, ["d", "c"]);
}

async fn every_text_comes_back(store: &dyn Storage) {
    let texts = ["t-1", "tâche", "任务-1", "a\"b\\c", "a/b", "line\nbreak", "tab\t\0\u{1b}", "\u{2028}🦀", " ", ""];
    for text in texts {
        let mut written = reflection(text, text, text, 1);
        written.analysis = text.repeat(100);
        written.action_items = vec![text.to_owned(), String::new()];
        written.already_tried = Some(text.to_owned());
        written.signature = Some(text.to_owned());
        written.origin = Some(Origin::Heuristic { because: text.to_owned() });
        append(store, std::slice::from_ref(&written)).await;
        let query =
            RecentQuery { task: Some(text.to_owned()), subtask: Some(text.to_owned()), ..RecentQuery::default() };
        let found = store.recent(&query).await.expect("recent");
        assert_eq!(found, [written.clone()], "recent of {text:?}");
        let found = store.get(&written.id).await.expect("get");
        assert_eq!(found, written, "get of {text:?}");
    }
    let report = store.check().await.expect("check");
    assert_eq!((report.reflections, report.unreadable), (texts.len(), 0));
}

async fn an_id_may_be_appended_twice(store: &dyn Storage) {
    let mut second = reflection("a", "t", "s", 1);
    second.analysis.push_str(", again");
    append(store, &[reflection("a", "t", "s", 1)]).await;
    append(store, &[reflection("b", "t", "s", 1)]).await;
    append(store, std::slice::from_ref(&second)).await;
    let all = ids(store, None, None, None).await;
    assert_eq!(all, ["a", "b", "a"], "both records are kept");
    let last = store.get(&second.id).await.expect("get");
    assert_eq!(last, second, "get gives the last one");
    not_found(store, "c").await;
}

/// Makes a reflection one that cannot be kept.
type Spoil = fn(&mut Reflection);

async fn a_batch_is_stored_whole_or_not_at_all(store: &dyn Storage) {
    let batch = ["a", "b", "c"].map(|id| reflection(id, "t", "s", 1));
    append(store, &batch).await;
    assert_eq!(ids(store, None, None, None).await, ["c", "b", "a"]);

    let spoiled: [(&str, Spoil); 3] = [
        ("a `confidence` of NaN", |r| r.confidence = f64::NAN),
        ("a `confidence` without end", |r| r.confidence = f64::INFINITY),
        ("a `v` above `Reflection::VERSION`", |r| r.v = Reflection::VERSION + 1),
    ];
    for (what, spoil) in spoiled {
        let mut batch = ["d", "e"].map(|id| reflection(id, "t", "s", 1));
        spoil(&mut batch[1]);
        let refused = store.append(&batch).await;
        let is_refused = matches!(refused, Err(StorageError::Io { .. }));
        assert!(is_refused, "{what} is refused, for it is not `Reflection::storable`: {refused:?}");
        let stored = ids(store, None, None, None).await;
        assert_eq!(stored, ["c", "b", "a"], "nothing stays of a batch that is refused for {what}");
    }
}

async fn prune_removes_what_is_older(store: &dyn Storage) {
    let rows = [("a", 10), ("b", 30), ("c", 20), ("d", 19), ("e", 40)];
    append(store, &rows.map(|(id, at)| reflection(id, "t", "s", at))).await;
    let none = BTreeSet::new();
    let asked_before = ids(store, Some("t"), None, None).await;
    assert_eq!(asked_before.len(), 5);
    let pruned = store.prune(at(20), &[ReflectionId::new("d"), ReflectionId::new("z")].into()).await.expect("prune");
    let expected = PruneReport { removed: 1, kept: 4, unreadable: 0 };
    assert_eq!(pruned, expected, "what is created at the limit stays, and what is named");
    assert_eq!(ids(store, Some("t"), None, None).await, ["e", "d", "c", "b"]);
    not_found(store, "a").await;
    append(store, &[reflection("f", "t", "s", 50)]).await;
    assert_eq!(ids(store, Some("t"), None, Some(2)).await, ["f", "e"]);
    let again = store.prune(at(20), &none).await.expect("prune again");
    assert_eq!((again.removed, again.kept), (1, 4));
    let rest = store.prune(Timestamp::MAX, &none).await.expect("prune all");
    assert_eq!((rest.removed, rest.kept), (4, 0));
    assert_eq!(ids(store, Some("t"), None, None).await, [""; 0]);
}

async fn concurrent_appends_lose_nothing(store: Arc<dyn Storage>) {
    const WRITERS: usize = 32;
    const EACH: usize = 8;
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.push(tokio::spawn(async move {
            let subtask = format!("s{writer}");
            for n in 0..EACH {
                let id = format!("{writer}-{n}");
                append(&*store, &[reflection(&id, "t", &subtask, 1)]).await;
                let newest = ids(&*store, None, Some(&subtask), Some(1)).await;
                assert_eq!(newest, [id], "an append that returned is visible");
            }
        }));
    }
    for writer in writers {
        writer.await.expect("a writer");
    }
    assert_eq!(ids(&*store, Some("t"), None, None).await.len(), WRITERS * EACH);
    for writer in 0..WRITERS {
        let subtask = format!("s{writer}");
        let expected: Vec<_> = (0..EACH).rev().map(|n| format!("{writer}-{n}")).collect();
        let found = ids(&*store, None, Some(&subtask), None).await;
        assert_eq!(found, expected, "a writer's own order is kept");
    }
}

async fn append(store: &dyn Storage, reflections: &[Reflection]) {
    store.append(reflections).await.expect("append");
}

async fn ids(store: &dyn Storage, task: Option<&str>, subtask: Option<&str>, limit: Option<usize>) -> Vec<String> {
    let query =
        RecentQuery { task: task.map(str::to_owned), subtask: subtask.map(str::to_owned), limit, own_only: false };
    let found = store.recent(&query).await.expect("recent");
    found.iter().map(|r| r.id.as_str().to_owned()).collect()
}

async fn not_found(store: &dyn Storage, id: &str) {
    let id = ReflectionId::new(id);
    match store.get(&id).await {
        Err(StorageError::NotFound { id: named }) => assert_eq!(named, id),
        other => panic!("`{id}` is not there, but get gave {other:?}"),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a time of this century")
}

fn reflection(id: &str, task: &str, subtask: &str, created: i64) -> Reflection {
    Reflection {
        id: ReflectionId::new(id),
        session_id: SessionId::new("session"),
        task_id: task.to_owned(),
        subtask_id: subtask.to_owned(),
        attempt_number: 1,
        category: Category::RootCause,
        analysis: "what went wrong".to_owned(),
        suggestion: "what to do differently".to_owned(),
        action_items: vec!["a step".to_owned()],
        confidence: 0.5,
        created_at: at(created),
        v: Reflection::VERSION,
        origin: None,
        already_tried: None,
        signature: None,
        failure: None,
        replaces: None,
        files: Vec::new(),
        foreign: false,
    }
}
