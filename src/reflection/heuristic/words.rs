//! What happened, in sentences.

use super::class::Class;
use crate::domain::{Ending, FailureContext, FailureType};
use crate::prompt::{one_line, plain, shorten};

/// So many tests and files are named; the rest are counted.
const NAMED: usize = 3;
/// Cap of what is quoted from the output.
const QUOTE_BYTES: usize = 300;
/// Cap of a command in a sentence.
const COMMAND_BYTES: usize = 80;

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
    /// What failed, how the agent ended, and what was changed.
    pub(super) fn sentences(&self) -> Vec<String> {
        vec![self.what_failed(), self.agent(), self.change()]
    }

    /// ``Check `test` (`cargo test`) failed with exit status 101: `tests::adds` fails at src/lib.rs:13: …``
    fn what_failed(&self) -> String {
        let failure = self.failure;
        let Some(check) = &failure.check else {
            return match (self.class, &self.detail) {
                (Class::EmptyChange, _) => "The attempt changed nothing.".to_owned(),
                (Class::MergeConflict, Some(said)) => {
                    format!("The work could not be merged: {}", ended(said))
                }
                (Class::MergeConflict, None) => "The work could not be merged.".to_owned(),
                (Class::Refuted, Some(said)) if failure.ran.is_empty() => {
                    format!("No check refutes the attempt, but this: {}", ended(said))
                }
                (_, said) if !failure.ran.is_empty() => {
                    let said = said.as_deref().map_or("nothing says why".into(), ended);
                    format!("Checks ran ({}), and this refutes the attempt: {said}", list(&failure.ran))
                }
                (_, Some(said)) => {
                    format!("No check was run. The last words were: {}", ended(said))
                }
                (_, None) => "No check was run and nothing was printed.".to_owned(),
            };
        };
        let how = match (check.timed_out, failure.signature.out_of_memory, check.signal, check.exit_status) {
            (true, ..) => "ran out of time".to_owned(),
            (_, true, ..) => "ran out of memory".to_owned(),
            (.., Some(signal), _) => format!("was ended by signal {}", named_signal(signal)),
            (.., Some(status)) if status > 128 => {
                format!("failed with exit status {status} (signal {})", named_signal(status - 128))
            }
            (.., Some(status)) => format!("failed with exit status {status}"),
            _ => "could not be run".to_owned(),
        };
        let evidence = self.evidence();
        let behind = if evidence.is_empty() {
            if check.timed_out { ".".to_owned() } else { " and printed nothing that says why.".to_owned() }
        } else {
            format!(": {}", ended(&evidence))
        };
        let name = one_line(&check.name);
        format!("Check `{name}` (`{}`) {how}{behind}", self.command())
    }

    /// Tests, place and quoted words, whichever are known: `` `adds` fails at src/lib.rs:13: left: 5; right: 6``.
    fn evidence(&self) -> String {
        let signature = &self.failure.signature;
        let tests = match signature.tests.len() {
            0 => String::new(),
            1 => format!("{} fails", list(&signature.tests)),
            _ => format!("{} fail", list(&signature.tests)),
        };
        let at = signature.frame.as_ref().map_or(String::new(), |frame| match signature.tests.len() {
            0 | 1 => format!("at {frame}"),
            _ => format!("(one of them at {frame})"),
        });
        let code = signature.code.as_deref().filter(|code| code.starts_with(char::is_uppercase));
        let said = match (code, &self.detail) {
            (Some(code), Some(detail)) if !detail.contains(code) => format!("{code}: {detail}"),
            (_, Some(detail)) => detail.clone(),
            (code, None) => code.unwrap_or_default().to_owned(),
        };
        let place = [tests, at].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        [place, said].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }

    /// How the agent ended, where that says something.
    fn agent(&self) -> String {
        let red = self.failure.check.is_some();
        match self.failure.ending {
            Ending::Finished if self.failure.failure_type == FailureType::FalseDone && red => {
                "The agent stopped as if it was done, although this check is red."
            }
            Ending::Finished if self.class == Class::EmptyChange => "The agent stopped as if it was done.",
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

    /// What was changed, and whether the failing place is in it.
    fn change(&self) -> String {
        let files = &self.failure.files_changed;
        match self.class {
            // That is said already; what differs from the base is of an earlier attempt.
            Class::EmptyChange => return String::new(),
            _ if files.is_empty() => return "The attempt changed no file.".to_owned(),
            _ => {}
        }
        let place = self.faulty_file().unwrap_or_default();
        let elsewhere =
            !place.is_empty() && !files.iter().any(|file| file.ends_with(place) || place.ends_with(file.as_str()));
        let changed = format!("The attempt changed {}", list(files));
        if elsewhere { format!("{changed}, but not {place}, where it fails.") } else { format!("{changed}.") }
    }

    /// The file in which the fault shows; a test that compares, or a rule of make, is not where it is.
    fn faulty_file(&self) -> Option<&str> {
        let shows = matches!(
            self.class,
            Class::Compile | Class::Syntax | Class::MissingModule | Class::EdgeCase | Class::Crash
        );
        let frame = self.failure.signature.frame.as_deref().filter(|_| shows)?;
        frame.split([':', ' ']).next()
    }

    /// The check's command, short.
    pub(super) fn command(&self) -> String {
        let run = self.failure.check.as_ref().map_or(String::new(), |check| check.run.to_string());
        shorten(&one_line(&run), COMMAND_BYTES).into_owned()
    }
}

/// A quotation from the output: one line, without escapes, capped.
pub(super) fn quote(text: &str) -> Option<String> {
    let text = one_line(&plain(text));
    (!text.is_empty()).then(|| shorten(&text, QUOTE_BYTES).into_owned())
}

/// `a`, `b` and 4 more.
pub(super) fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{}`", one_line(name))).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
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
