//! The memory alone: a lesson is kept, recalled and put into a prompt, without the program, its agents or an HTTP client.
//!
//! `cargo run -p reflexion-memory --example lessons`

use reflexion_core::domain::Reflection;
use reflexion_core::services::{RecentQuery, Storage};
use reflexion_memory::storage::JsonlStorage;
use reflexion_text::prompt::format_reflections;
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let memory = JsonlStorage::open(dir.path().join("memory/reflections.jsonl"));

    let lesson: Reflection = serde_json::from_value(serde_json::json!({
        "id": "r-1", "sessionId": "s-1", "taskId": "share-the-cake", "subtaskId": "share-the-cake", "attemptNumber": 1,
        "category": "root_cause", "analysis": "The cake was divided by the number of guests, and nobody came.",
        "suggestion": "Ask how many guests there are before dividing.", "createdAt": "2026-01-01T00:00:00Z"
    }))?;
    memory.append(&[lesson]).await?;

    let query = RecentQuery { task: Some("share-the-cake".into()), limit: Some(3), ..RecentQuery::default() };
    // At most three lessons and 4000 bytes.
    let (section, shown) = format_reflections(&memory.recent(&query).await?, 3, 4_000);
    println!("{section}");
    assert!(shown.len() == 1 && section.contains("Ask how many guests there are"));
    Ok(())
}
