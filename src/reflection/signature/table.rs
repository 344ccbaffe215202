//! What is read from the captured outputs, a line each.

use super::*;
use crate::domain::*;
use crate::services::FailureReader;

fn report(run: &str, output: &str, status: i32) -> CheckReport {
    CheckReport {
        spec: CheckSpec { name: "check".to_owned(), run: CheckCommand::Shell(run.to_owned()), timeout_ms: None },
        scope: CheckScope::Task,
        status: CheckStatus::Failed,
        exit_status: Some(status),
        signal: None,
        timed_out: false,
        output: Output::whole(output),
        duration_ms: 1,
        signature: Signature::default(),
    }
}

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/failures/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn dump() {
    let dir = format!("{}/tests/fixtures/failures", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".txt"))
        .collect();
    names.sort();
    for name in names {
        let name = name.trim_end_matches(".txt");
        let output = fixture(name);
        let s = Signatures.read(&report("./run", &output, 1));
        let d = details(&CheckCommand::Shell("./run".to_owned()), &output);
        println!(
            "{name} | {} | {} | {} | {} | {}{}\n      {:?}",
            s.tool,
            s.code.unwrap_or_default(),
            s.tests.join(","),
            s.frame.unwrap_or_default(),
            s.message.unwrap_or_default(),
            if s.out_of_memory { " OOM" } else { "" },
            d.detail.unwrap_or_default()
        );
    }
}
