//! From a check's report to its signature.

use super::counted::counted;
use super::extent::extent;
use super::fingerprint::fingerprint;
use super::found::{Found, pattern};
use super::mask::mask;
use super::place::{place, relative};
use super::written::written;
use super::{compilers, go, javascript, linters, prove, python, rust, shell, suites};
use crate::domain::{CheckCommand, CheckReport, CheckStatus, Signature};
use crate::prompt::{plain, shorten};
use crate::services::FailureReader;
use crate::toolchain;
use crate::toolchain::TestSummary;

/// A message longer than this is data, not words.
const MESSAGE_BYTES: usize = 300;
/// A tool that fails everywhere fails for one reason; so many tests name it.
const TESTS: usize = 50;

/// The live [`FailureReader`]: rules per tool family, no state, no I/O.
///
/// ```
/// # use reflexion::reflection::Signatures;
/// # use reflexion::services::FailureReader;
/// # let report = serde_json::from_str(r#"{"spec":{"name":"t","run":"./t"},"scope":"task","status":{"is":"failed"},
/// #   "exitStatus":1,"signal":null,"timedOut":false,"output":{"head":"","tail":"","bytes":0},"durationMs":1,
/// #   "signature":{}}"#)?;
/// let signature = Signatures.read(&report);
/// assert!(signature.fingerprint.starts_with("v1:"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Signatures;

impl FailureReader for Signatures {
    fn read(&self, check: &CheckReport) -> Signature {
        match &check.status {
            CheckStatus::Passed => Signature::default(),
            CheckStatus::Failed => signature(check, &check.output.text()),
            CheckStatus::NotRun { because } => signature(check, because),
        }
    }

    fn read_with(&self, check: &CheckReport, results: &[String]) -> Result<Signature, String> {
        let mut signature = self.read(check);
        let output = check.output.text();
        let Some(counted) = written(results, &output)? else { return Ok(signature) };
        // Anything that runs in the check can write a file; what the runner says of itself must agree.
        let said = toolchain::summaries(&output);
        if let [TestSummary { counts: Some(counts), whole: true, .. }] = said.as_slice()
            && let (failed, listed) = (counts.failed, counted.failing.len() as u64)
            && !(failed.saturating_sub(counts.extra)..=failed).contains(&listed)
        {
            return Err(format!("its output counts {failed} failing, and its files name {listed}"));
        }
        if let Some((_, first)) = counted.failing.first_key_value() {
            let mut how = first.how.split('\u{1f}').map(|part| Some(part.to_owned()).filter(|part| !part.is_empty()));
            signature.code = how.next().flatten();
            let place = how.next().flatten();
            signature.message = how.next_back().flatten().map(|text| shorten(&text, MESSAGE_BYTES).into_owned());
            signature.tests = counted.failing.values().map(|failed| failed.name.clone()).take(TESTS).collect();
            signature.frame.clone_from(&first.frame);
            signature.fingerprint = fingerprint(&signature, place.as_deref());
        }
        signature.counted = Some(counted);
        Ok(signature)
    }
}

fn signature(check: &CheckReport, output: &str) -> Signature {
    let unfolded = go::unfolded(output);
    let output = unfolded.as_deref().unwrap_or(output);
    let found = details(&check.spec.run, output);
    let extent = extent(check, &found, output);
    let out_of_memory = !check.timed_out && out_of_memory(check, &found, output);
    let mut tests = found.tests;
    tests.truncate(TESTS);
    let mut signature = Signature {
        tool: found.tool.to_owned(),
        code: found.code,
        message: found.message.map(|text| shorten(&mask(text.trim()), MESSAGE_BYTES).into_owned()),
        tests,
        frame: found.frame.as_ref().map(|frame| relative(frame, output).to_string()),
        exit_status: check.exit_status,
        signal: check.signal,
        timed_out: check.timed_out,
        out_of_memory,
        fingerprint: String::new(),
        extent,
        counted: counted(found.tool, &plain(output).lines().map(str::trim_end).collect::<Vec<_>>(), output),
    };
    if check.timed_out {
        // What a cut-off run printed last says nothing of who was running.
        signature.tool = shell::tool_of(&check.spec.run).unwrap_or(found.tool).to_owned();
    }
    let place = found.frame.as_ref().map(place);
    signature.fingerprint = fingerprint(&signature, place.as_deref());
    signature
}

/// A rule set: what one tool's own lines say, if there are any.
type Reader = fn(&[&str]) -> Option<Found>;

/// Where two readers rest on the same line the later one wins: runners stand behind the programs they run.
const READERS: [Reader; 22] = [
    rust::panic,
    python::traceback,
    javascript::crash,
    compilers::linker,
    compilers::compiler,
    compilers::csharp_or_kotlin,
    linters::eslint,
    linters::ruff,
    javascript::typescript,
    go::program,
    rust::compile,
    rust::libtest,
    rust::nextest,
    python::unittest,
    python::pytest,
    suites::suite,
    prove::prove,
    prove::doctest,
    javascript::node_test,
    javascript::mocha,
    javascript::vitest,
    javascript::jest,
];

/// What a failed program's output says, in its own words.
pub(in crate::reflection) fn details(run: &CheckCommand, output: &str) -> Found {
    let unfolded = go::unfolded(output);
    let text = plain(unfolded.as_deref().unwrap_or(output));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    READERS
        .iter()
        .filter_map(|read| read(&lines))
        .max_by_key(|found| found.last_mark)
        .or_else(|| compilers::make(&lines))
        .unwrap_or_else(|| shell::read(run, &lines))
}

fn out_of_memory(check: &CheckReport, found: &Found, output: &str) -> bool {
    pattern!(
        KERNEL,
        r"(?i)\bout of memory: kill|\boom[-_]kill|\boom_reaper\b|\bOOMKilled\b|memory cgroup out of memory"
    );
    pattern!(
        PROGRAM,
        r"JavaScript heap out of memory|Cannot allocate memory|memory allocation of \d+ bytes failed|fatal error: runtime: out of memory|java\.lang\.OutOfMemoryError|std::bad_alloc|virtual memory exhausted"
    );
    let killed = check.signal == Some(9) || check.exit_status == Some(128 + 9);
    found.code.as_deref() == Some("MemoryError")
        || (killed && KERNEL.is_match(output))
        // A test runner that lists its failing tests did not run out of memory, it only quotes the words.
        || (found.tests.is_empty() && PROGRAM.is_match(output))
}

/// What is read of this output of a failed check.
#[cfg(test)]
pub(super) fn read(printed: &str) -> Signature {
    read_ended(printed, 1)
}

#[cfg(test)]
pub(super) fn read_ended(printed: &str, status: i32) -> Signature {
    Signatures.read(&CheckReport {
        spec: crate::domain::CheckSpec {
            name: "p".into(),
            run: CheckCommand::Shell("./check".into()),
            timeout_ms: None,
            results: None,
        },
        scope: crate::domain::CheckScope::Project,
        status: CheckStatus::Failed,
        exit_status: Some(status),
        signal: None,
        timed_out: false,
        output: crate::domain::Output::whole(printed),
        duration_ms: 1,
        signature: Signature::default(),
        rewrote: Vec::new(),
        changed_outside: Vec::new(),
    })
}
