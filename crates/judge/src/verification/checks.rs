//! Running checks and saying how each ended.

use super::result_files::ResultFiles;
use crate::domain::{CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Output, WORKSPACE};
use crate::services::{
    Command, CommandEnd, CommandError, CommandOutput, CommandRunner, FailureReader, Sandboxed, Verifier, VerifyRequest,
};
use async_trait::async_trait;
use std::path::{Path, PathBuf};
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
        let places = Places::of(&request.places);
        let seen = places.without(&report);
        let read = read.map(|texts: Result<Vec<String>, String>| {
            let texts: Vec<String> = texts?.iter().map(|text| places.masked(text)).collect();
            self.reader.read_with(&seen, &texts)
        });
        report.signature = match read {
            Some(Ok(signature)) => signature,
            Some(Err(because)) => {
                report.output.push(&format!("\n[The results of its tests are not known one by one: {because}.]\n"));
                self.reader.read(&seen)
            }
            None => self.reader.read(&seen),
        };
        report
    }
}

/// The directories of one workspace in the spellings in which programs print them, and what is read in their place: the base may have been
/// checked in another one than the work, and what a message says of a file (`No such file: '/…/room-2/sample.json'`) is no other
/// failure for that.
struct Places(Vec<(String, String)>);

impl Places {
    fn of(dirs: &[PathBuf]) -> Self {
        let mut all = Vec::new();
        for (number, dir) in dirs.iter().enumerate() {
            let name = if number == 0 { WORKSPACE.to_owned() } else { format!("{WORKSPACE}-{number}") };
            for spelling in spellings(dir) {
                all.push((spelling, name.clone()));
            }
        }
        // What lies in another one first, and what has another one's name behind `/private`.
        all.sort_by_key(|(spelling, _)| std::cmp::Reverse(spelling.len()));
        Self(all)
    }

    fn without(&self, report: &CheckReport) -> CheckReport {
        let output = &report.output;
        let output = Output { head: self.masked(&output.head), tail: self.masked(&output.tail), ..*output };
        let status = match &report.status {
            CheckStatus::NotRun { because } => CheckStatus::NotRun { because: self.masked(because) },
            status => status.clone(),
        };
        CheckReport { output, status, ..report.clone() }
    }

    fn masked(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (place, name)| replaced(&text, place, name))
    }
}

/// How programs name a directory: as we do, with its links resolved, and, as temporary ones on macOS, with or without `/private`.
fn spellings(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for dir in [Some(dir.to_owned()), dir.canonicalize().ok()].into_iter().flatten() {
        let dir = dir.display().to_string();
        let other = dir.strip_prefix("/private").map_or_else(|| format!("/private{dir}"), str::to_owned);
        all.extend([dir, other]);
    }
    // A directory that is not a workspace's own (`/`) would be found everywhere.
    all.retain(|dir| dir.starts_with('/') && dir.matches('/').count() > 1);
    all.sort();
    all.dedup();
    all
}

/// The text with `name` for each `place` that ends there: `room-1` is not the beginning of `room-10`.
fn replaced(text: &str, place: &str, name: &str) -> String {
    let goes_on = |rest: &str| {
        let mut next = rest.chars().skip_while(|c| *c == '.');
        next.next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let mut replaced = String::with_capacity(text.len());
    let mut parts = text.split(place).peekable();
    while let Some(part) = parts.next() {
        replaced.push_str(part);
        if let Some(next) = parts.peek() {
            // Two of them in a row are no end of a name either.
            replaced.push_str(if goes_on(next) { place } else { name });
        }
    }
    replaced
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
    fn a_workspace_has_the_same_name_wherever_it_is() {
        let masked = |text: &str| Places::of(&["/home/r/room-1".into(), "/home/c/room-1".into()]).masked(text);
        assert_eq!(masked("in /home/r/room-1/a.py:3"), "in /reflexion/workspace/a.py:3");
        assert_eq!(
            masked("file:///private/home/r/room-1/a.mjs, /home/c/room-1/x"),
            "file:///reflexion/workspace/a.mjs, /reflexion/workspace-1/x"
        );
        assert_eq!(
            masked("cwd is '/home/r/room-1'; /home/r/room-1. And"),
            "cwd is '/reflexion/workspace'; /reflexion/workspace. And"
        );
        // Other directories with names that begin like it.
        for other in ["/home/r/room-10/a", "/home/r/room-1.2/a", "/home/r/room-1-b"] {
            assert_eq!(masked(other), other);
        }
        assert_eq!(Places::of(&["/".into(), "/tmp".into()]).masked("/tmp/a"), "/tmp/a");
    }

    #[test]
    fn a_missing_file_or_import_of_the_project_is_one() {
        check(127, "sh: 1: ./hello.sh: not found\n", None);
        check(1, "ModuleNotFoundError: No module named 'calc'\n", None);
        check(127, "", None);
        check(2, "sh: 1: x: not found\n", None);
    }
}
