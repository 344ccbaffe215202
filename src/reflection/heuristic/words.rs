//! What happened, in sentences.

use super::class::Class;
use crate::domain::{Did, Ending, FailureContext, Step, changed_lines, same_file};
use crate::prompt::{one_line, plain, shorten};

/// Cap of what is quoted from the output.
const QUOTE_BYTES: usize = 300;

/// The facts of a failure as the sentences need them.
pub(super) struct Facts<'a> {
    /// The failure.
    pub failure: &'a FailureContext,
    /// What kind it is.
    pub class: Class,
    /// What was expected and what came instead, or the message, from the output itself.
    pub detail: Option<String>,
}

impl Facts<'_> {
    /// The cause, how the agent ended where that is one, and whether the change and the agent came near it. What the next prompt says by
    /// itself (the check's command and status, what it printed, what was changed) is not here.
    pub(super) fn sentences(&self) -> Vec<String> {
        vec![self.agent(), self.cause(), self.apart()]
    }

    /// What is wrong, and where it shows.
    pub(super) fn cause(&self) -> String {
        let tests = match self.failure.signature.tests.len() {
            0 => "the check expects".to_owned(),
            1 => format!("{} expects", first(&self.failure.signature.tests)),
            _ => format!("{} expect", first(&self.failure.signature.tests)),
        };
        let what = match self.class {
            Class::Refuted => return self.refuted(),
            Class::EmptyChange if self.failure.check.is_none() => return "Nothing was changed.".to_owned(),
            Class::EmptyChange => "Nothing was changed, and the failure is as it was".to_owned(),
            Class::MergeConflict => "The work does not fit on what was merged since".to_owned(),
            Class::OnlyInWorkspace => "The work rests on files that are no part of the change".to_owned(),
            Class::AgentLimit | Class::Permission | Class::AgentFailed if self.failure.check.is_some() => {
                "What was there by then still fails".to_owned()
            }
            Class::AgentLimit | Class::Permission | Class::AgentFailed if self.detail.is_none() => {
                return String::new();
            }
            Class::AgentLimit | Class::Permission | Class::AgentFailed => "The last words were".to_owned(),
            Class::CheckTimeout => return self.endless(),
            Class::OutOfMemory => "What the check runs takes more memory than there is".to_owned(),
            Class::MissingProgram => "The check needs a program that is not there or may not be run".to_owned(),
            Class::MissingModule => "Something is used that does not exist under that name".to_owned(),
            Class::Syntax => "The code cannot be parsed, so nothing was tested".to_owned(),
            Class::Compile => "The code does not compile, so nothing was tested".to_owned(),
            Class::Finding => format!("{} reports", self.linter()),
            Class::NoTests => "No test was found, which counts as a failure".to_owned(),
            Class::Assertion => format!("The code does not do what {tests}"),
            Class::EdgeCase => "The code breaks at a value that nobody thought of".to_owned(),
            Class::Crash => "The code breaks".to_owned(),
            Class::Said => "The check is not content with what it got".to_owned(),
            Class::Silent => return self.silent(),
        };
        let said = self.said().map(|said| format!(": {}", said.trim_end_matches('.'))).unwrap_or_default();
        let at = self.place().map(|place| format!(" (at {place})")).unwrap_or_default();
        ended(&format!("{what}{said}{at}"))
    }

    /// What was expected and what came, or the error, with its code.
    fn said(&self) -> Option<String> {
        let is_rule = self.class == Class::Finding;
        let code = self.failure.signature.code.as_deref();
        let code = code.filter(|code| is_rule || code.starts_with(char::is_uppercase));
        match (code, &self.detail) {
            (Some(code), Some(detail)) if !detail.contains(code) => Some(format!("{code}: {detail}")),
            (_, Some(detail)) => Some(detail.clone()),
            (code, None) => code.map(str::to_owned),
        }
    }

    /// Who has found something: cargo only passes it on.
    fn linter(&self) -> &str {
        let signature = &self.failure.signature;
        match (signature.tool.as_str(), signature.code.as_deref()) {
            ("cargo" | "rustc", Some(code)) if code.starts_with("clippy::") => "clippy",
            ("cargo", _) => "rustc",
            (tool, _) => tool,
        }
    }

    /// Where it shows.
    pub(super) fn place(&self) -> Option<&str> {
        self.failure.signature.frame.as_deref().filter(|place| !place.is_empty())
    }

    fn endless(&self) -> String {
        let place = self.endless_line().map(|(place, line)| format!(", most likely at {place} (`{line}`)"));
        format!("What the check runs does not come to an end within its time limit{}.", place.unwrap_or_default())
    }

    /// The first line of the change that goes round or waits: its place and its text.
    fn endless_line(&self) -> Option<(String, String)> {
        const WORDS: [&str; 9] = ["while", "for", "loop", "until", "wait", "sleep", "recv", "read", "join"];
        let goes_round = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word));
        let mut lines = changed_lines(&self.failure.diff).filter(|line| line.is_added && goes_round(line.text));
        let line = lines.next()?;
        Some((format!("{}:{}", line.file, line.number), quote(line.text)?))
    }

    fn silent(&self) -> String {
        let check = self.failure.check.as_ref();
        let how = match check.map(|check| (check.signal, check.exit_status)) {
            Some((Some(signal), _)) => format!("was ended by signal {}", named_signal(signal)),
            Some((_, Some(status))) if status > 128 => {
                format!("ended with status {status} (signal {})", named_signal(status - 128))
            }
            Some((_, Some(status))) => format!("ended with status {status}"),
            _ => "could not be run".to_owned(),
        };
        format!("The check {how} and printed nothing that says why.")
    }

    /// What refuted it where no check is red: the rule, and where the change breaks it.
    fn refuted(&self) -> String {
        let by = self.failure.refuted_by.as_ref();
        let place = by.and_then(|by| by.place.as_deref());
        let line =
            by.and_then(|by| by.line.as_deref()).and_then(quote).map(|line| format!(" (`{}`)", line.replace('`', "'")));
        let shown = |line: &Option<String>| line.clone().unwrap_or_default();
        match (by.map(|by| by.rule.as_str()), place) {
            (Some("protected_paths"), Some(place)) => {
                format!("A protected file was changed, at {place}: that refutes any work, whatever its checks say.")
            }
            (Some("test_count" | "tests_kept"), Some(place)) => format!(
                "A test was taken out or switched off, at {place}{}: a test that does not run counts as missing, not as passed.",
                shown(&line)
            ),
            (rule, _) => {
                let said = self.detail.as_deref().map_or_else(|| "nothing says why".to_owned(), str::to_owned);
                let at = place.map(|place| format!(" (at {place})")).unwrap_or_default();
                let what = match rule {
                    Some("outside") => "Something beside the files was changed, which is no part of any work",
                    Some("nothing_turned") => return "None of the tests that were red before passes now.".to_owned(),
                    Some("rewrote_tests") => "What runs has written to what decides how it is tested",
                    _ => "The checks had nothing against the work, but something else refutes it",
                };
                ended(&format!("{what}: {said}{at}"))
            }
        }
    }

    /// How the agent ended, where that is part of the cause.
    fn agent(&self) -> String {
        match self.failure.ending {
            Ending::Timeout => "The agent was stopped by its time limit before it was done.",
            Ending::Hang => "The agent was stopped because it printed nothing for too long.",
            Ending::Budget => "The agent used up its budget or its turns before it was done.",
            Ending::Context => "The agent's context window overflowed before it was done.",
            Ending::Permission => "The agent stopped because it was not allowed to do something.",
            Ending::Crash => "The agent's process was ended by a signal.",
            Ending::AgentError => "The agent reported an error or exited with a status other than 0.",
            _ => "",
        }
        .to_owned()
    }

    /// Whether the change, or at least the agent, came near the place.
    fn apart(&self) -> String {
        if let Some(file) = self.is_elsewhere() {
            let (never, and) = match self.failure.never_looked_at() {
                Some(_) => ("never looked at", ", and did not change it"),
                None => ("did not change", ""),
            };
            return format!("The agent {never} {file}, where it shows{and}.");
        }
        String::new()
    }

    /// The file in which the fault shows, where the attempt has changed others.
    pub(super) fn is_elsewhere(&self) -> Option<&str> {
        let files = &self.failure.files_changed;
        let file = self.faulty_file().filter(|_| !files.is_empty())?;
        let is_changed = files.iter().any(|changed| same_file(changed, file));
        (!is_changed).then_some(file)
    }

    /// The file in which the fault shows; a test that compares, or a rule of make, is not where it is.
    fn faulty_file(&self) -> Option<&str> {
        let shows = matches!(
            self.class,
            Class::Compile | Class::Syntax | Class::Finding | Class::MissingModule | Class::EdgeCase | Class::Crash
        );
        let frame = self.failure.signature.frame.as_deref().filter(|_| shows)?;
        frame.split([':', ' ']).next()
    }

    /// A command of the agent's that runs the first failing test, if one was seen to run.
    pub(super) fn seen_to_run(&self) -> Option<&str> {
        let test = self.failure.signature.tests.first()?;
        let name = test.rsplit([':', '.', '/', ' ', '>', '›']).next().filter(|name| name.len() > 3)?;
        let runs = |step: &&Step| step.did == Did::Run && step.exit_status.is_some() && step.what.contains(name);
        let is_whole = |step: &&Step| !step.what.ends_with('…');
        self.failure.steps.iter().rev().filter(runs).find(is_whole).map(|step| step.what.as_str())
    }
}

/// A quotation from the output: one line, without escapes, capped.
pub(super) fn quote(text: &str) -> Option<String> {
    let text = one_line(&plain(text));
    (!text.is_empty()).then(|| shorten(&text, QUOTE_BYTES).into_owned())
}

/// `a` and 4 more: the prompt has all of them.
pub(super) fn first(tests: &[String]) -> String {
    let named = tests.first().map(|test| format!("`{}`", one_line(test))).unwrap_or_default();
    match tests.len().saturating_sub(1) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// With a full stop at its end.
fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// Numbers are those of Linux on x86 and ARM, which every check runs on today.
fn named_signal(signal: i32) -> String {
    let name = match signal {
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV, a segmentation fault",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return signal.to_string(),
    };
    format!("{signal}, {name}")
}
