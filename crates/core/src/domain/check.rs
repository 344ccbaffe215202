//! Checks: commands the runtime runs, and what came of them.

use super::{Allow, Expects, FileGlobs, Signature, TestsBeside};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A command the *runtime* runs in the attempt's workspace; its exit status is evidence.
///
/// ```
/// # use reflexion_core::domain::CheckSpec;
/// let check: CheckSpec = serde_json::from_str(r#"{"name":"test","run":"cargo test","timeoutMs":60000}"#)?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[serde(expecting = r#"an object such as {"name": "test", "run": "cargo test"}"#)]
pub struct CheckSpec {
    /// How messages and reports call it.
    pub name: String,
    /// What is run: a string goes verbatim to `sh -c` in the workspace, a list runs without a shell. Exit status 0 passes.
    #[serde(deserialize_with = "command")]
    pub run: CheckCommand,
    /// Time limit in milliseconds; 10 minutes if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Glob of the files, relative to the project, into which the run writes the results of its tests as JUnit XML, e.g.
    /// `target/surefire-reports/*.xml`. Where the check is red, its failing tests are then known one by one, whatever it prints. Only
    /// files that the run itself has written are read.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "results")]
    pub results: Option<String>,
}

impl CheckSpec {
    /// The limit for a check that names none: long enough for a cold build, short enough for a night.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

    /// How long the check may run.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(Self::DEFAULT_TIMEOUT, Duration::from_millis)
    }
}

/// A string goes verbatim to `sh -c` (it is the user's own program); an array runs without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CheckCommand {
    /// A shell command line.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

impl std::fmt::Display for CheckCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Argv(argv) => f.write_str(&argv.join(" ")),
        }
    }
}

/// A glob that cannot be read matches nothing, and would be noticed by nobody.
fn results<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Option<String>, D::Error> {
    let glob = String::deserialize(de)?;
    if glob.trim().is_empty() {
        return Err(serde::de::Error::custom("`results` of a check is empty; it is a glob such as `reports/*.xml`"));
    }
    FileGlobs::new(std::slice::from_ref(&glob)).map_err(serde::de::Error::custom)?;
    Ok(Some(glob))
}

/// An empty command line passes always, and would confirm anything.
fn command<'de, D: serde::Deserializer<'de>>(de: D) -> Result<CheckCommand, D::Error> {
    let command = CheckCommand::deserialize(de)?;
    let (empty, text) = match &command {
        CheckCommand::Shell(line) => (line.trim().is_empty(), line.as_str()),
        CheckCommand::Argv(argv) => (argv.first().is_none_or(String::is_empty), ""),
    };
    if empty {
        return Err(serde::de::Error::custom("`run` of a check is empty; it is the command that must pass"));
    }
    if text.contains('\0') {
        return Err(serde::de::Error::custom("`run` of a check contains a NUL character"));
    }
    Ok(command)
}

/// Whose check it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckScope {
    /// Of `project.json`: red at base means *known red*, and only a changed failure counts against an attempt.
    Project,
    /// Of the task or subtask: red at base means that it is the target.
    Task,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The check.
    pub spec: CheckSpec,
    /// Whose check it is.
    pub scope: CheckScope,
    /// Passed, failed, or why it was not run.
    pub status: CheckStatus,
    /// Exit status, if the program exited.
    pub exit_status: Option<i32>,
    /// The signal that ended the program, if one did.
    pub signal: Option<i32>,
    /// The time limit ended it.
    pub timed_out: bool,
    /// What it printed on stdout and stderr, in the order of arrival.
    pub output: Output,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// What the failure looks like; empty for a check that passed.
    pub signature: Signature,
    /// Files that were there when it began and were others, or gone, when it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrote: Vec<String>,
    /// What it changed in the home directory that steers tools, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_outside: Vec<String>,
}

/// A red check whose output names no test: what it runs, and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedCheck {
    /// Its name.
    pub name: String,
    /// Its command.
    pub run: String,
    /// The line of its output that says what is wrong, as far as can be told; none where it printed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

impl RedCheck {
    /// Of a check that failed; none where it passed, or its output names the tests that fail.
    ///
    /// The line is the last one with the error that the failure is known by, else the last one that is not blank.
    #[must_use]
    pub fn of(check: &CheckReport) -> Option<Self> {
        if check.passed() || check.signature.counted.is_some() || !check.signature.tests.is_empty() {
            return None;
        }
        let text = check.output.text();
        let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let code = check.signature.code.as_deref();
        let with_code = code.and_then(|code| lines.clone().find(|line| line.contains(code)));
        let line = with_code.or_else(|| lines.next()).map(str::to_owned);
        Some(Self { name: check.spec.name.clone(), run: check.spec.run.to_string(), line })
    }
}

impl CheckReport {
    /// A check that could not be started, and why, in words.
    #[must_use]
    pub fn not_run(scope: CheckScope, spec: CheckSpec, because: impl Into<String>) -> Self {
        Self {
            spec,
            scope,
            status: CheckStatus::NotRun { because: because.into() },
            exit_status: None,
            signal: None,
            timed_out: false,
            output: Output::default(),
            duration_ms: 0,
            signature: Signature::default(),
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
        }
    }

    /// A check that code decides, in place of a program: `Ok` passes, `Err` fails with this output. Equal outputs are the same failure.
    ///
    /// ```
    /// # use reflexion_core::domain::{CheckReport, CheckScope, CheckSpec};
    /// let spec: CheckSpec = serde_json::from_str(r#"{"name":"answer","run":"none"}"#)?;
    /// let red = CheckReport::decided(CheckScope::Task, spec.clone(), Err("it is 41".to_owned()));
    /// assert_eq!(red.how(), "exit status 1");
    /// assert!(CheckReport::decided(CheckScope::Task, spec, Ok(())).passed());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn decided(scope: CheckScope, spec: CheckSpec, result: Result<(), String>) -> Self {
        let status = if result.is_ok() { CheckStatus::Passed } else { CheckStatus::Failed };
        let exit_status = Some(i32::from(result.is_err()));
        let output = result.err().unwrap_or_default();
        let signature = Signature { fingerprint: output.clone(), ..Signature::default() };
        let output = Output::whole(output);
        Self { status, exit_status, output, signature, ..Self::not_run(scope, spec, "") }
    }

    /// Whether the check ran and passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.status == CheckStatus::Passed
    }

    /// Whether it could not be started, and so says nothing.
    #[must_use]
    pub fn is_not_run(&self) -> bool {
        matches!(self.status, CheckStatus::NotRun { .. })
    }

    /// The same check at the base.
    #[must_use]
    pub fn at_base<'a>(&self, baseline: &'a [Self]) -> Option<&'a Self> {
        baseline.iter().find(|base| base.scope == self.scope && base.spec == self.spec)
    }

    /// What differs between its failing tests and those at the base, where both are red and name their tests.
    #[must_use]
    pub fn tests_beside(&self, baseline: &[Self]) -> Option<TestsBeside> {
        self.at_base(baseline).filter(|base| !base.passed()).and_then(|base| self.signature.beside(&base.signature))
    }

    /// Why it cannot be known whether what fails in it is new, if nothing else is wrong with it.
    #[must_use]
    pub fn fails_unseen(&self, all: &[Self], baseline: &[Self], expects: Expects) -> Option<String> {
        let base =
            self.at_base(baseline).filter(|base| !base.passed() && self.may_be_known_red(all, baseline, expects))?;
        match self.tests_beside(baseline) {
            Some(beside) => beside.is_only_unclear().then(|| beside.words_for_a_person()),
            None => self.signature.unknown_beside(&base.signature).map(|why| {
                let names = match self.output.bytes {
                    0 => "",
                    _ => "what it prints does not name its tests one by one, and ",
                };
                format!("it was at the base, too; whether the same fails is not known, because {names}{why}")
            }),
        }
    }

    /// Whether it was red at the base and passed.
    #[must_use]
    pub fn turned_green(&self, baseline: &[Self]) -> bool {
        self.passed() && self.at_base(baseline).is_some_and(|base| !base.passed())
    }

    /// The tests, by id, that failed in it at the base and are seen to pass now, while others in it are red still. A runner that does not
    /// name those that pass must have run as many as then.
    #[must_use]
    pub fn tests_turned<'a>(&self, baseline: &'a [Self]) -> Vec<&'a str> {
        let base = self.at_base(baseline).filter(|base| !self.passed() && !base.passed());
        let counted = |of: &'_ Self| of.signature.counted.clone();
        let (Some(base), Some(now)) = (base, counted(self)) else { return Vec::new() };
        let Some(before) = base.signature.counted.as_ref() else { return Vec::new() };
        before.failing.keys().map(String::as_str).filter(|test| now.passes(test, before)).collect()
    }

    /// Whether it is red still, names no tests one by one, and prints less than at the base, and nothing new.
    #[must_use]
    pub fn prints_less(&self, baseline: &[Self]) -> bool {
        let base = self.at_base(baseline).filter(|base| !base.passed() && !self.passed());
        base.is_some_and(|base| self.signature.prints_less_than(&base.signature))
    }

    /// Whether it was red at the base and is green now, or a test in it that was.
    #[must_use]
    pub fn has_turned(&self, baseline: &[Self]) -> bool {
        self.turned_green(baseline) || !self.tests_turned(baseline).is_empty()
    }

    /// Whether what failed in it at the base is nobody's fault, if nothing else is red in it: see [`CheckReport::is_known_red`].
    #[must_use]
    pub fn may_be_known_red(&self, all: &[Self], baseline: &[Self], expects: Expects) -> bool {
        let own = all.iter().any(|check| check.scope == CheckScope::Task);
        let turned = |check: &Self| check.has_turned(baseline) || check.prints_less(baseline);
        self.scope == CheckScope::Project && (expects != Expects::Fix || own || all.iter().any(turned))
    }

    /// Whether it is a project's check that was red at the base and fails in the same way, with no more than failed there: it is
    /// nobody's fault. Where a fix is asked for and the task has no check of its own among `all`, one that was red, or a test in it, must
    /// be green now: until then, this is the very thing to be fixed. Where tests may be removed or skipped, those that are gone do not count.
    #[must_use]
    pub fn is_known_red(&self, all: &[Self], baseline: &[Self], expects: Expects, allow: &[Allow]) -> bool {
        let only_gone = || {
            allow.iter().any(|allow| matches!(allow, Allow::RemoveTests | Allow::SkipTests))
                && self.tests_beside(baseline).is_some_and(|beside| beside.is_only_gone())
                && self.at_base(baseline).is_some_and(|base| self.signature.extent.is_within(&base.signature.extent))
        };
        self.may_be_known_red(all, baseline, expects)
            && !self.passed()
            && self
                .at_base(baseline)
                .is_some_and(|base| !base.passed() && (self.signature.is_no_more_than(&base.signature) || only_gone()))
    }

    /// How it ended, in words: `exit status 1`, `signal 9`, `timed out after 30 s`.
    #[must_use]
    pub fn how(&self) -> String {
        if self.timed_out {
            return format!("timed out after {} s", self.spec.timeout().as_secs_f64());
        }
        match (&self.status, self.exit_status, self.signal) {
            (CheckStatus::NotRun { because }, ..) => format!("not run, because {because}"),
            (_, _, Some(signal)) => format!("ended by signal {signal}"),
            (_, Some(code), _) => format!("exit status {code}"),
            _ => "no exit status".to_owned(),
        }
    }
}

/// Three values, never an average: a check that did not run is not a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum CheckStatus {
    /// Exit status 0.
    Passed,
    /// Any other ending.
    Failed,
    /// Could not be started.
    NotRun {
        /// In words.
        because: String,
    },
}

/// How the directory that a check ran in is called where its output is read, wherever it is: the base and the work are checked in other ones, and
/// are compared. A whole path, so that readers of places see one there.
pub const WORKSPACE: &str = "/reflexion/workspace";

/// What a program printed: all of it up to twice the cap, otherwise its beginning and its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The beginning.
    pub head: String,
    /// The end, if the whole did not fit into `head`.
    pub tail: String,
    /// How many bytes were printed in all.
    pub bytes: u64,
}

impl Output {
    /// Takes a short text as it is.
    #[must_use]
    pub fn whole(text: impl Into<String>) -> Self {
        let head = text.into();
        Self { bytes: head.len() as u64, head, tail: String::new() }
    }

    /// Takes of a long text its beginning and its end, at most `keep` bytes of each and cut between two characters: what is kept of a program that prints it.
    ///
    /// ```
    /// # use reflexion_core::domain::Output;
    /// let output = Output::ends_of("äbcdefgh".to_owned(), 3);
    /// assert_eq!((output.head.as_str(), output.tail.as_str(), output.bytes), ("äb", "fgh", 9));
    /// assert_eq!(Output::ends_of("abcdef".to_owned(), 3), Output::whole("abcdef"));
    /// ```
    #[must_use]
    pub fn ends_of(text: String, keep: usize) -> Self {
        if text.len() <= keep.saturating_mul(2) {
            return Self::whole(text);
        }
        let (bytes, behind) = (text.len() as u64, text.ceil_char_boundary(text.len() - keep));
        let tail = text[behind..].to_owned();
        let mut head = text;
        head.truncate(head.floor_char_boundary(keep));
        head.shrink_to_fit();
        Self { head, tail, bytes }
    }

    /// Adds a line of the runtime's own at the end.
    pub fn push(&mut self, line: &str) {
        let end = if self.omitted() == 0 && self.tail.is_empty() { &mut self.head } else { &mut self.tail };
        end.push_str(line);
        self.bytes += line.len() as u64;
    }

    /// How many bytes between head and tail were left out.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Head and tail as one text, with a line that says how much is missing.
    #[must_use]
    pub fn text(&self) -> String {
        match (self.omitted(), self.tail.is_empty()) {
            (0, _) => format!("{}{}", self.head, self.tail),
            (_, true) => self.head.clone(),
            (n, false) => format!("{}\n[… {n} bytes left out …]\n{}", self.head, self.tail),
        }
    }
}
