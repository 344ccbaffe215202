//! A batch run from code: a list of tasks worked on unattended, with your own events and a summary.
//!
//! `cargo run --example batch`

use reflexion::domain::{Event, Verdict};
use reflexion::layer::{BoxError, Svc};
use reflexion::services::{EventSink, Orchestrator, RunRequest};
use reflexion::{report, runtime};
use std::path::Path;

/// Your own display in the place of the log.
struct Printed;

impl EventSink for Printed {
    fn publish(&self, event: Event) {
        if let Some(line) = report::line(&event) {
            println!("{line}");
        }
    }
}

/// A project with two bugs, as a user would have one.
fn make_project(dir: &Path) -> std::io::Result<()> {
    std::fs::write(
        dir.join("shop.py"),
        "def total(prices):\n    return sum(prices) - 1\n\n\ndef is_free(price):\n    return price != 0\n",
    )?;
    std::fs::write(
        dir.join("test_total.py"),
        "import unittest\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([2, 3]), 5)\n",
    )?;
    std::fs::write(
        dir.join("test_free.py"),
        "import unittest\nfrom shop import is_free\n\n\nclass Free(unittest.TestCase):\n    def test_is_free(self):\n        self.assertTrue(is_free(0))\n        self.assertFalse(is_free(2))\n",
    )?;
    std::fs::write(
        dir.join("project.json"),
        r#"{"name": "shop", "jobs": 2, "maxAttempts": 8, "reflexion": {"holdout": false}}"#,
    )?;
    let task = |id: &str, title: &str| {
        let check = format!("python3 -m unittest test_{id}");
        serde_json::json!({"id": id, "title": title, "checks": [{"name": "test", "run": check}], "expects": "fix"})
            .to_string()
    };
    let tasks = [task("total", "The total of the basket is wrong"), task("free", "Free things are not shown as free")];
    std::fs::write(dir.join("tasks.jsonl"), tasks.join("\n") + "\n")
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let project = tempfile::tempdir()?;
    make_project(project.path())?;

    let layers = runtime::live().with(runtime::project(project.path())?).with(Svc::<dyn EventSink>::new(Printed));
    let app = layers.build::<Svc<dyn Orchestrator>>().await?;
    let result = app.run(RunRequest::everything(runtime::new_run_id())).await;
    app.shutdown().await?;

    let summary = result?;
    print!("\n{}", report::run(&summary));
    if summary.tasks.iter().all(|t| t.verdict == Some(Verdict::Confirmed)) {
        Ok(())
    } else {
        Err("not all confirmed".into())
    }
}
