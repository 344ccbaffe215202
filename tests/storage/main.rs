//! Stores on real files, with real processes.

mod any_bytes;
mod files;
mod processes;

use reflexion::domain::{Category, Reflection, ReflectionId, SessionId, Timestamp};
use reflexion::services::{RecentQuery, Storage};
use reflexion::storage::JsonlStorage;
use std::path::Path;

fn reflection(id: &str, subtask: &str, created: i64) -> Reflection {
    Reflection {
        id: ReflectionId::new(id),
        session_id: SessionId::new("session"),
        task_id: "task".to_owned(),
        subtask_id: subtask.to_owned(),
        attempt_number: 1,
        category: Category::TestGap,
        analysis: "what went wrong".to_owned(),
        suggestion: "what to do differently".to_owned(),
        action_items: Vec::new(),
        confidence: 0.5,
        created_at: Timestamp::from_second(created).unwrap(),
        v: 1,
        origin: None,
        already_tried: None,
        signature: None,
        failure: None,
        replaces: None,
        files: Vec::new(),
        foreign: false,
    }
}

fn line(reflection: &Reflection) -> String {
    serde_json::to_string(reflection).unwrap() + "\n"
}

fn of(subtask: &str) -> RecentQuery {
    RecentQuery { subtask: Some(subtask.to_owned()), ..RecentQuery::default() }
}

async fn recent(store: &JsonlStorage, query: &RecentQuery) -> Vec<String> {
    let found = store.recent(query).await.unwrap();
    found.iter().map(|r| r.id.as_str().to_owned()).collect()
}

async fn all(path: &Path) -> Vec<String> {
    recent(&JsonlStorage::open(path), &RecentQuery::default()).await
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
