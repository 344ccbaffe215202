//! Bring your own loop: your orchestrator decides what runs and what counts as done, and uses nothing of this crate but
//! the `ReflectionService`.
//!
//! `cargo run --example own_loop`

use reflexion::domain::{SubtaskId, TaskId};
use reflexion::layer::{BoxError, Svc};
use reflexion::runtime;
use reflexion::services::ReflectionService;

/// Stands for your agent: it divides the right way round only once a lesson in its prompt mentions the traceback.
fn your_agent(prompt: &str) -> &'static str {
    if prompt.contains("ZeroDivisionError") { "print(0 / 4)" } else { "print(4 / 0)" }
}

/// Stands for your way to find out whether the work is good.
async fn your_check(program: &str) -> Result<(), String> {
    let output =
        tokio::process::Command::new("python3").args(["-c", program]).output().await.map_err(|e| e.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    // The memory lives in a project directory; any directory with a project.json (here an empty one) will do.
    let project = tempfile::tempdir()?;
    std::fs::write(project.path().join("project.json"), "{}")?;
    let settings = runtime::project(project.path())?;
    let app = runtime::reflection_service_live().with(settings).build::<Svc<dyn ReflectionService>>().await?;

    let task = TaskId::new("share-the-cake")?;
    let subtask = SubtaskId::from(&task);
    let mut solved_at = None;
    for attempt in 1..=3 {
        // Recall, and put what was learned behind your own prompt.
        let lessons = app.format_for_prompt(&app.get_recent(&subtask, 3).await?);
        let prompt = format!("Print how much of the cake each of four gets.\n\n{}", lessons.text);
        let program = your_agent(&prompt);
        println!("attempt {attempt}, with {} reflections: {program}", lessons.ids.len());

        let Err(output) = your_check(program).await else {
            solved_at = Some(attempt);
            break;
        };
        // Say what is known of the failure - what failed and where is read from the output -, make a reflection of it, and keep it.
        let mut failure = runtime::failed_output(task.clone(), attempt, output);
        failure.agent_message = format!("I wrote `{program}`.");
        let reflection = app.generate(&failure).await?;
        println!("  learned: {}", reflection.analysis);
        // A lesson that knows its failure is found again when that one comes back.
        assert!(reflection.signature.is_some());
        app.save(&reflection).await?;
    }
    app.shutdown().await?;
    println!("solved at attempt {solved_at:?}");
    if solved_at == Some(2) { Ok(()) } else { Err("the second attempt should have used the lesson".into()) }
}
