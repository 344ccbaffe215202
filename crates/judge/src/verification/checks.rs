//! Running checks and saying how each ended.

use super::result_files::ResultFiles;
use crate::domain::{CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Output};
use crate::services::{
    Command, CommandEnd, CommandError, CommandOutput, CommandRunner, FailureReader, Sandboxed, Verifier, VerifyRequest,
};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs checks as programs.
pub struct Checks {
    runner: Arc<dyn CommandRunner>,
    reader: Arc<dyn FailureReader>,
    env_deny: Vec<String>,
}

impl Checks {
    /// Checks run by `runner`, their failures read by `reader`; `env_deny` are globs of variables they do not get.
    #[must_use]
    pub fn new(runner: Arc<dyn CommandRunner>, reader: Arc<dyn FailureReader>, env_deny: Vec<String>) -> Self {
        Self { runner, reader, env_deny }
    }

    async fn run(&self, scope: CheckScope, spec: &CheckSpec, request: &VerifyRequest) -> CheckReport {
        let command = Command {
            program: spec.run.clone(),
            env: request.env.clone(),
            env_deny: self.env_deny.clone(),
            timeout: spec.timeout(),
            cancel: request.cancel.clone(),
            sandboxed: if request.walled { Sandboxed::Walled } else { Sandboxed::InWorkspaces },
            ..Command::new(Vec::<String>::new(), &request.dir)
        };
        let results = looked(spec.clone(), request.dir.clone()).await;
        let mut report = match self.runner.run(command).await {
            Ok(output) => finished(scope, spec, output),
            Err(error) => not_started(scope, spec, &error),
        };
        if report.passed() {
            return report;
        }
        let read = match results {
            Ok(None) => None,
            Ok(Some(results)) => Some(blocking(move || results.read()).await),
            Err(because) => Some(Err(because)),
        };
        let read = read.map(|texts: Result<Vec<String>, String>| self.reader.read_with(&report, &texts?));
        report.signature = match read {
            Some(Ok(signature)) => signature,
            Some(Err(because)) => {
                let signature = self.reader.read(&report);
                report.output.push(&format!("\n[The results of its tests are not known one by one: {because}.]\n"));
                signature
            }
            None => self.reader.read(&report),
        };
        report
    }
}

#[async_trait]
impl Verifier for Checks {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        let mut reports = Vec::with_capacity(request.checks.len());
        for (scope, spec) in &request.checks {
            reports.push(if request.cancel.is_cancelled() {
                CheckReport::not_run(*scope, spec.clone(), "the run was interrupted")
            } else {
                self.run(*scope, spec, &request).await
            });
        }
        reports
    }
}

async fn looked(spec: CheckSpec, dir: PathBuf) -> Result<Option<ResultFiles>, String> {
    if spec.results.is_none() {
        return Ok(None);
    }
    blocking(move || ResultFiles::of(&spec, &dir)).await
}

/// Looks at files beside what else is going on.
async fn blocking<T: Send + 'static>(look: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(look).await.unwrap_or_else(|error| Err(error.to_string()))
}

fn finished(scope: CheckScope, spec: &CheckSpec, output: CommandOutput) -> CheckReport {
    let mut report = CheckReport { output: output.combined, ..CheckReport::not_run(scope, spec.clone(), "") };
    report.duration_ms = u64::try_from(output.duration.as_millis()).unwrap_or(u64::MAX);
    report.status = CheckStatus::Failed;
    match output.end {
        CommandEnd::Exited(0) => (report.status, report.exit_status) = (CheckStatus::Passed, Some(0)),
        CommandEnd::Exited(code) => report.exit_status = Some(code),
        CommandEnd::Signaled(signal) => report.signal = Some(signal),
        CommandEnd::TimedOut | CommandEnd::Idle | CommandEnd::Stopped => report.timed_out = true,
        // Like one that never ends.
        CommandEnd::TookMemory { .. } => {
            report.timed_out = true;
            let how = output.end.failure().unwrap_or_default();
            report.output.push(&format!("\n[Ended by the runtime: it {how}.]\n"));
        }
        CommandEnd::Cancelled => report.status = CheckStatus::NotRun { because: "the run was interrupted".to_owned() },
    }
    if let Some(because) = cannot_start(&report) {
        report.status = CheckStatus::NotRun { because };
    }
    report
}

fn not_started(scope: CheckScope, spec: &CheckSpec, error: &CommandError) -> CheckReport {
    let missing_path = matches!(error, CommandError::NotFound { program } if program.contains('/'));
    let mut report = CheckReport::not_run(scope, spec.clone(), error.to_string());
    if missing_path {
        // A program of the project that is not there yet may be the very thing to be written.
        report.status = CheckStatus::Failed;
        report.exit_status = Some(127);
        report.output = Output::whole(error.to_string());
    }
    report
}

/// Why a check that exited is one that could not start: the shell did not find a program on PATH, or Python not the
/// module that it was to run. A missing path (`./run.sh`) is a failure like any other: it may be what is to be written.
fn cannot_start(report: &CheckReport) -> Option<String> {
    let text = report.output.text();
    match report.exit_status? {
        127 if matches!(report.spec.run, CheckCommand::Shell(_)) => {
            let line = text.lines().rev().find(|l| l.contains("not found"))?;
            let program = line.trim_end().strip_suffix(": not found").and_then(|l| l.rsplit(": ").next());
            let program = program.or_else(|| line.strip_suffix(": command not found")?.rsplit(": ").next())?;
            (!program.contains('/')).then(|| format!("`{program}` was not found on PATH; install it"))
        }
        1 => {
            let line = text.trim_end().lines().last()?;
            let (python, module) = line.split_once(": No module named ")?;
            let starts = python.rsplit('/').next().is_some_and(|p| p.starts_with("python"));
            starts.then(|| format!("Python has no module {module}; install it"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(run: &str, exit: i32, output: &str) -> CheckReport {
        let spec = CheckSpec {
            name: "x".to_owned(),
            run: CheckCommand::Shell(run.to_owned()),
            timeout_ms: None,
            results: None,
        };
        CheckReport {
            exit_status: Some(exit),
            output: Output::whole(output),
            ..CheckReport::not_run(CheckScope::Task, spec.clone(), "")
        }
    }

    fn check(exit: i32, output: &str, expected: Option<&str>) {
        assert_eq!(cannot_start(&report("x", exit, output)).as_deref(), expected, "{output}");
    }

    #[test]
    fn a_missing_tool_is_no_failure_of_the_work() {
        check(127, "sh: 1: pytset: not found\n", Some("`pytset` was not found on PATH; install it"));
        check(127, "bash: line 1: pytset: command not found\n", Some("`pytset` was not found on PATH; install it"));
        check(1, "/usr/bin/python3: No module named pytest\n", Some("Python has no module pytest; install it"));
    }

    #[test]
    fn a_missing_file_or_import_of_the_project_is_one() {
        check(127, "sh: 1: ./hello.sh: not found\n", None);
        check(1, "ModuleNotFoundError: No module named 'calc'\n", None);
        check(127, "", None);
        check(2, "sh: 1: x: not found\n", None);
    }
}
