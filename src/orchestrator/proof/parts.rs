//! What of a change is test, what decides how tests run, and what is code. Pure.

use crate::domain::{Change, CheckReport, FileGlobs, Surface, belongs_to_tests};
use crate::orchestrator::programs::runs;
use crate::orchestrator::review;
use crate::services::Taken;
use crate::toolchain;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What of a change the checks ask with, and what decides how they do it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Tests.
    pub(super) tests: Vec<String>,
    /// Files that may decide what the tests ask for, and may as well be a part of the work: `Cargo.toml`, fixtures, `sh check.sh`.
    pub(super) settings: Vec<String>,
    /// Files of code of which the tests among it were changed.
    pub(super) inline: Vec<String>,
    /// A file of tests that was there is another one now, or gone.
    pub(super) old_tests: bool,
    /// And it has lost a line: not only new tests have come.
    pub(super) rewritten: bool,
    /// Everything else but prose.
    pub(super) code: Vec<String>,
    /// Of `code`, what was there.
    pub(super) old_code: Vec<String>,
    /// Of `code`, what was there and is named in the lists of commands of task runners.
    pub(super) listed: Vec<String>,
    /// Of `settings`, code that a check runs as its program: it may ask, or be asked.
    pub(super) programs: Vec<String>,
    /// Of files with tests among their code, the lines of the change that are code, from 1.
    pub(super) code_among_tests: BTreeMap<String, BTreeSet<usize>>,
    /// What is only read.
    pub(super) prose: bool,
}

/// What the scripts say that checks run.
#[derive(Debug, Clone, Default)]
pub(super) struct Scripts {
    /// All of them.
    pub(super) given: String,
    /// Without the lists of commands of task runners.
    pub(super) run: String,
    /// These lists.
    pub(super) lists: String,
}

/// What the texts of a change's files say, before and after it.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// The files in which a test or an assertion may be.
    may: BTreeSet<String>,
    /// Those in which a test begins.
    tests: BTreeSet<String>,
    /// Those that tests name, and no other code does.
    compared: BTreeSet<String>,
    code_among_tests: BTreeMap<String, BTreeSet<usize>>,
    /// Those of which no line is gone.
    grown: BTreeSet<String>,
}

impl Held {
    /// The texts of one file, at the base and now.
    pub(super) fn look_at(&mut self, file: &str, texts: [Option<String>; 2]) {
        let any = |is: &dyn Fn(&str) -> bool| texts.iter().flatten().any(|text| is(text));
        // What is no text, or too long for one, may hold anything.
        if texts.iter().all(Option::is_none) || any(&|text| toolchain::may_hold_tests(file, text)) {
            self.may.insert(file.to_owned());
        }
        if any(&|text| !toolchain::tests_in(text.lines()).is_empty()) {
            self.tests.insert(file.to_owned());
        }
        if let [Some(old), Some(new)] = &texts
            && review::has_grown(old, new)
        {
            self.grown.insert(file.to_owned());
        }
        if let Some(apart) = texts[1].as_ref().and_then(|text| toolchain::inline_tests(file, text)) {
            self.code_among_tests.insert(file.to_owned(), apart.numbers.into_iter().collect());
        }
    }

    /// The files in which the name of one stands, which is no code.
    pub(super) fn named_in(&mut self, file: &str, files: &[String]) {
        if files.iter().any(|file| toolchain::is_code(file) && asks(file)) {
            self.unless_named_in(file, files);
        }
    }

    /// The same of one that tests need not name: what makes the names of its files may do so anywhere.
    pub(super) fn unless_named_in(&mut self, file: &str, files: &[String]) {
        let is_product = |file: &String| toolchain::is_code(file) && !toolchain::is_of_a_shell(file) && !asks(file);
        if !files.iter().any(is_product) {
            self.compared.insert(file.to_owned());
        }
    }
}

impl Parts {
    pub(super) fn of(
        change: &Change,
        (checks, baseline, scripts): (&[CheckReport], &[CheckReport], &Scripts),
        (prefix, named): (&Path, &FileGlobs),
        held: Held,
    ) -> Self {
        let mut parts = Self { code_among_tests: held.code_among_tests, ..Self::default() };
        let commands = checks.iter().map(|check| check.spec.run.to_string());
        let commands: Vec<String> = commands.chain([scripts.run.clone()]).collect();
        for file in &change.files {
            let existed = change.existed.contains(file);
            let in_project = Path::new(file).strip_prefix(prefix).ok().and_then(Path::to_str).unwrap_or(file);
            let is_prose = Surface::of_path(file) == Surface::Docs && !belongs_to_tests(file);
            // The program that a check is may ask for less than it did.
            let is_check = existed && commands.iter().any(|command| runs(command, file));
            let is_given = || {
                held.compared.contains(file)
                    || is_given((checks, baseline, &scripts.given), in_project)
                    || held.tests.contains(file) && asserts(checks, baseline, in_project)
            };
            // Settings of tools, most of which nobody lists.
            let is_hidden =
                || Path::new(file).file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            // Product code may lie in `spec/`, and helpers among tests: they may decide what these ask for, and may be the work.
            let is_test = toolchain::is_test(file) && held.may.contains(file);
            if !is_prose && (is_test || named.has(in_project)) {
                parts.old_tests |= existed;
                parts.rewritten |= existed && !held.grown.contains(file);
                parts.tests.push(file.clone());
            } else if is_given() || !is_prose && (is_check || is_hidden() || decides(file)) {
                parts.programs.extend((is_check && toolchain::is_code(file)).then(|| file.clone()));
                parts.settings.push(file.clone());
            } else {
                if existed && toolchain::has_inline_tests(file) {
                    parts.inline.push(file.clone());
                }
                if is_prose {
                    parts.prose = true;
                } else {
                    parts.code.push(file.clone());
                    parts.old_code.extend(existed.then(|| file.clone()));
                    parts.listed.extend((existed && runs(&scripts.lists, file)).then(|| file.clone()));
                }
            }
        }
        parts
    }

    /// Whether a place is in product code, and not in a test: a frame of a failure, as its signature has it.
    pub(super) fn is_in_code(&self, frame: Option<&String>) -> bool {
        is_in(frame, &self.code).is_some_and(|(file, line)| match self.code_among_tests.get(file) {
            Some(code) => line.is_some_and(|line| code.contains(&line)),
            None => !toolchain::has_inline_tests(file),
        }) && is_in(frame, &self.tests).is_none()
    }

    /// Whether it is in product code that the base has, too.
    pub(super) fn is_in_old_code(&self, frame: Option<&String>) -> bool {
        is_in(frame, &self.old_code).is_some_and(|(file, _)| !toolchain::has_inline_tests(file))
            && is_in(frame, &self.tests).is_none()
    }

    /// Whether a file may be what a check asks with, although nothing says so: data, a script of a shell, what a task runner names.
    pub(super) fn may_ask(&self, file: &str) -> bool {
        !toolchain::is_code(file) || toolchain::is_of_a_shell(file) || self.listed.iter().any(|listed| listed == file)
    }

    pub(super) fn has_tests(&self) -> bool {
        !self.tests.is_empty() || !self.inline.is_empty()
    }

    pub(super) fn has_settings(&self) -> bool {
        !self.settings.is_empty()
    }

    /// The tests alone.
    pub(super) fn only_tests(&self) -> Taken {
        Taken { files: self.tests.clone(), inline: self.inline.clone() }
    }

    pub(super) fn with_settings(&self) -> Taken {
        let files = self.tests.iter().chain(&self.settings).cloned().collect();
        Taken { files, inline: self.inline.clone() }
    }
}

/// Whether a check that turned green gives this file, or a glob of it, to a test runner, or it or its directory to a comparison. A directory that a
/// runner is given may be code and tests.
///
/// `scripts` is what the checks' own scripts say, all of them together.
fn is_given((checks, baseline, scripts): (&[CheckReport], &[CheckReport], &str), file: &str) -> bool {
    let module = file.rsplit_once('.').map_or(file, |(module, _)| module).replace('/', ".");
    turned(checks, baseline).any(|(check, _)| {
        let command = format!("{}\n{scripts}", check.spec.run);
        command.split(['\n', ';', '&', '|', '(', ')']).filter_map(toolchain::given).any(|given| {
            let is_module = |word: &str| {
                let below = word.strip_prefix(module.as_str()).filter(|_| given.modules);
                below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
            };
            given.words.iter().any(|word| names(word, file, given.directories) || is_module(word))
        })
    })
}

/// In which of these files a place is, and in which line: places are from the directory that all files of an output share.
fn is_in<'f>(frame: Option<&String>, files: &'f [String]) -> Option<(&'f str, Option<usize>)> {
    let mut parts = frame?.split(':');
    let named = parts.next()?.trim_start_matches("./");
    let line = parts.next().and_then(|line| line.trim().parse().ok());
    let is_it = |file: &&String| {
        let above = file.strip_suffix(named).or_else(|| named.strip_suffix(file.as_str()));
        !named.is_empty() && above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    files.iter().find(is_it).map(|file| (file.as_str(), line))
}

/// Whether a file holds tests, decides how they run, or is read by them.
pub(in crate::orchestrator) fn asks(file: &str) -> bool {
    toolchain::is_test(file) || decides(file)
}

/// Whether a file decides how tests run, or is read by them.
fn decides(file: &str) -> bool {
    toolchain::configures_tests(file) || belongs_to_tests(file) || toolchain::stands_in(file)
}

/// The files that a command line may run as scripts of the project: what it names, and what its task runner reads.
pub(super) fn scripts(command: &str) -> Vec<String> {
    let words = command.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | '(' | ')'));
    let read = |word: &str| toolchain::scripts_in(word).map(str::to_owned);
    let named = |word: &str| word.trim_start_matches("./").to_owned();
    let mut files: Vec<String> = words
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .map(|word| read(word).unwrap_or_else(|| named(word)))
        .collect();
    files.sort();
    files.dedup();
    files
}

/// Whether a word of a command line is this file, a directory that it is in where these count, or a glob of it. Before it may stand where
/// the command is run (`"$PWD/golden"`), and of it what the command has changed its directory to.
fn names(word: &str, file: &str, directories: bool) -> bool {
    let word = word.split("::").next().unwrap_or_default().trim_start_matches("./").trim_end_matches('/');
    if word.is_empty() || word == "." || word.starts_with('-') {
        return false;
    }
    let is_end = |whole: &str, end: &str| whole.strip_suffix(end).is_some_and(|above| above.ends_with('/'));
    let below = file.strip_prefix(word).is_some_and(|below| below.is_empty() || directories && below.starts_with('/'));
    below
        || is_end(word, file)
        || is_end(file, word)
        || (word.contains('*') && FileGlobs::new(&[format!("/{word}")]).is_ok_and(|glob| glob.has(file)))
}

/// Whether an assertion stands in this file that failed at the base in a check that turned green: it is a test, whatever it is called.
fn asserts(checks: &[CheckReport], baseline: &[CheckReport], file: &str) -> bool {
    let is_here = |frame: Option<&String>| {
        // From the directory that all files in the output share, which may be below the project.
        let named = frame.and_then(|frame| frame.split(':').next()).unwrap_or_default().trim_start_matches("./");
        let above = file.strip_suffix(named).filter(|_| !named.is_empty());
        above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    !toolchain::has_inline_tests(file)
        && turned(checks, baseline).any(|(_, base)| {
            let counted = base.signature.counted.iter().flat_map(|counted| counted.failing.values());
            counted.into_iter().any(|failed| is_here(failed.frame.as_ref()) && failed.says_an_assertion_failed())
        })
}

/// The checks that turned green, or of which tests did, with what they were at the base.
fn turned<'a>(
    checks: &'a [CheckReport],
    baseline: &'a [CheckReport],
) -> impl Iterator<Item = (&'a CheckReport, &'a CheckReport)> {
    checks.iter().filter(|check| check.has_turned(baseline)).filter_map(|check| Some((check, check.at_base(baseline)?)))
}
