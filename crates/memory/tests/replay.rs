//! The gate on real reflections: recorded ones of published runs, which lie beside the repository on some machines and are not part of it.

use reflexion_core::domain::Reflection;
use reflexion_memory::curation::{kept_from_prompts, stays_home};
use std::fs;
use std::path::PathBuf;

/// Names another directory with the recordings.
const DIRECTORY: &str = "REFLEXION_REPLAY";

/// Of 1,000 reflections that nobody wrote to harm, at most this many may be set apart.
const WRONGLY_SET_APART_PER_1000: usize = 2;

/// And of 100 at least this many are plainly fine for other tasks: most of the others are plans in a household or a library, which name no code, or are about tests.
const FOR_OTHERS_PER_100: usize = 25;

/// Every recorded reflection; none where the recordings are not on this machine.
fn recorded() -> Option<Vec<String>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/replay");
    let directory = std::env::var_os(DIRECTORY).map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let mut files: Vec<PathBuf> = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl")) {
        for line in fs::read_to_string(file).ok()?.lines() {
            let record: serde_json::Value = serde_json::from_str(line).ok()?;
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let attempts = record["attempts"].as_array().into_iter().flatten();
            found.extend(attempts.map(|attempt| text(&attempt["reflection"])));
            found.push(text(&record["new_reflection"]));
        }
    }
    found.retain(|reflection| !reflection.is_empty());
    Some(found)
}

fn reflection(text: &str) -> Reflection {
    let line = r#"{"id":"r","sessionId":"s","taskId":"t","subtaskId":"t","attemptNumber":1,"category":"root_cause",
        "analysis":"","suggestion":"","createdAt":"2026-01-02T03:04:05Z"}"#;
    let empty: Reflection = serde_json::from_str(line).expect("a reflection");
    Reflection { suggestion: text.to_owned(), ..empty }
}

#[test]
fn real_reflections_are_seldom_set_apart() {
    let Some(recorded) = recorded() else {
        eprintln!("SKIPPED: there are no recordings beside the repository; {DIRECTORY} names another directory");
        return;
    };
    let reason = |text: &String| Some((kept_from_prompts(&reflection(text))?, text.clone()));
    let apart: Vec<(String, String)> = recorded.iter().filter_map(reason).collect();
    println!("{} reflections, {} set apart", recorded.len(), apart.len());
    for (why, text) in &apart {
        println!("- {why}\n    {}", text.replace('\n', " "));
    }
    let others = recorded.iter().filter(|text| stays_home(&reflection(text)).is_none()).count();
    println!("{others} may go to other tasks");
    assert!(others * 100 >= recorded.len() * FOR_OTHERS_PER_100, "{others} of {}", recorded.len());
    assert!(apart.len() * 1000 <= recorded.len() * WRONGLY_SET_APART_PER_1000, "{} of {}", apart.len(), recorded.len());
}
