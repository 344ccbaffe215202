//! What programs on a command line are run for, and which of them run another one.

use super::file::{Programs, Wrapper};
use super::table::table;
use std::collections::{BTreeMap, BTreeSet};

/// What a program is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// Tests.
    Test,
    /// A build.
    Build,
    /// A linter, or whatever looks at code without running it.
    Lint,
    /// A type checker.
    Typecheck,
    /// A program that rewrites code.
    Format,
    /// Nothing of these.
    Other,
    /// The targets among its arguments, as those of `make`; whether it builds where none is named.
    Targets {
        /// It does.
        builds: bool,
    },
    /// The script of this name, as that of `deno task`.
    Script(&'a str),
}

/// What is known of programs, by their names.
#[derive(Debug, Default)]
pub(super) struct Known {
    entries: BTreeMap<String, Vec<Entry>>,
    by_first_word: BTreeSet<String>,
    /// With whether the program builds where no target is named.
    by_target: BTreeMap<String, bool>,
    scripts: BTreeMap<String, Vec<Words>>,
    only_prints: Vec<(Option<String>, String)>,
    interprets: BTreeSet<String>,
}

/// A program with words that say what it is run for.
#[derive(Debug)]
struct Entry {
    words: Words,
    purpose: Purpose<'static>,
}

/// The words of an entry behind the program.
#[derive(Debug, Default)]
struct Words {
    /// What stands first of all that is no option, in this order.
    first: Vec<String>,
    /// What stands anywhere behind that.
    anywhere: Vec<String>,
    /// Options that are given.
    options: Vec<String>,
    /// Options that are not.
    without: Vec<String>,
}

impl Known {
    pub(super) fn extend(&mut self, more: Programs) {
        let kinds = [
            (more.test, Purpose::Test),
            (more.build, Purpose::Build),
            (more.lint, Purpose::Lint),
            (more.typecheck, Purpose::Typecheck),
            (more.format, Purpose::Format),
            (more.other, Purpose::Other),
        ];
        for (entries, purpose) in kinds {
            for entry in entries.iter().flat_map(|entry| alternatives(entry)) {
                let (program, words) = Words::of(&entry);
                self.entries.entry(program).or_default().push(Entry { words, purpose });
            }
        }
        for entry in more.scripts.iter().flat_map(|entry| alternatives(entry)) {
            let (program, words) = Words::of(&entry);
            self.scripts.entry(program).or_default().push(words);
        }
        self.by_first_word.extend(more.by_first_word);
        self.by_target.extend(more.by_target.into_iter().map(|program| (program, false)));
        self.by_target.extend(more.by_target_or_build.into_iter().map(|program| (program, true)));
        self.interprets.extend(more.interprets);
        let only_prints = more.only_prints.iter().flat_map(|entry| alternatives(entry));
        self.only_prints.extend(only_prints.map(|entry| match entry.split_once(' ') {
            Some((program, option)) => (Some(program.to_owned()), option.to_owned()),
            None => (None, entry),
        }));
    }
}

impl Words {
    fn of(entry: &str) -> (String, Self) {
        let mut words = entry.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let mut of = Self::default();
        let mut is_behind = false;
        for word in words {
            match word.strip_prefix('!') {
                Some(option) => of.without.push(option.to_owned()),
                None if word.starts_with('-') => of.options.push(word),
                None if word == "…" => is_behind = true,
                None if is_behind => of.anywhere.push(word),
                None => of.first.push(word),
            }
        }
        (program, of)
    }

    fn is_in(&self, args: &[&str]) -> bool {
        let plain: Vec<&str> = args.iter().filter(|arg| !arg.starts_with('-')).copied().collect();
        let begins =
            plain.len() >= self.first.len() && self.first.iter().zip(&plain).all(|(word, arg)| fits(word, arg));
        begins
            && self.anywhere.iter().all(|word| plain[self.first.len()..].iter().any(|arg| fits(word, arg)))
            && self.options.iter().all(|option| is_given(option, args))
            && !self.without.iter().any(|option| is_given(option, args))
    }

    /// How much it says: of two entries that fit, this one holds if it says more.
    fn weight(&self) -> usize {
        self.first.len() + self.anywhere.len() + self.options.len() + self.without.len()
    }
}

/// The words that an entry stands for: each of the alternatives in its braces, `{a,b}`.
fn alternatives(entry: &str) -> Vec<String> {
    let Some((before, rest)) = entry.split_once('{') else { return vec![entry.to_owned()] };
    let Some((inner, after)) = rest.split_once('}') else { return vec![entry.to_owned()] };
    let after = alternatives(after);
    inner.split(',').flat_map(|one| after.iter().map(move |after| format!("{before}{one}{after}"))).collect()
}

/// `--target=test`, which is also given as two words.
fn is_given(option: &str, args: &[&str]) -> bool {
    let pair = option.split_once('=');
    let as_two = |(name, value): (&str, &str)| args.windows(2).any(|two| two[0] == name && two[1] == value);
    args.iter().any(|arg| fits(option, arg)) || pair.is_some_and(as_two)
}

/// Whether a word is this one; `*` at its ends stands for anything.
fn fits(word: &str, arg: &str) -> bool {
    match (word.strip_prefix('*'), word.strip_suffix('*')) {
        (Some(_), Some(_)) => arg.contains(word.trim_matches('*')),
        (Some(end), None) => arg.ends_with(end),
        (None, Some(start)) => arg.starts_with(start),
        (None, None) => arg == word,
    }
}

/// What a program with these arguments is run for; none: no table says it.
///
/// ```
/// # use reflexion_toolchain::toolchain::{Purpose, purpose};
/// assert_eq!(purpose("pytest", &["-q"]), Some(Purpose::Test));
/// assert_eq!(purpose("vitest@3", &["list"]), Some(Purpose::Other));
/// assert_eq!(purpose("deno", &["task", "test:unit"]), Some(Purpose::Script("test:unit")));
/// assert_eq!(purpose("a-program-of-ours", &["test"]), None);
/// ```
#[must_use]
pub fn purpose<'a>(program: &str, args: &[&'a str]) -> Option<Purpose<'a>> {
    let known = &table().programs;
    // `vitest@3`
    let name = program.split('@').next().filter(|name| !name.is_empty()).unwrap_or(program);
    let script = known.scripts.get(name).and_then(|all| all.iter().find(|words| words.is_in(args)));
    if let Some(words) = script {
        return args
            .iter()
            .filter(|arg| !arg.starts_with('-'))
            .nth(words.first.len())
            .map(|script| Purpose::Script(script));
    }
    let entries = known.entries.get(name).map(Vec::as_slice).unwrap_or_default();
    let fitting = entries.iter().filter(|entry| entry.words.is_in(args));
    // Of equals the first, as it stands in the file.
    let found = fitting.reduce(|best, entry| if entry.words.weight() > best.words.weight() { entry } else { best });
    if let Some(entry) = found {
        return Some(entry.purpose);
    }
    if known.by_first_word.contains(name) {
        let first = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or_default();
        return Some(of_first_word(first));
    }
    known.by_target.get(name).map(|builds| Purpose::Targets { builds: *builds })
}

fn of_first_word(word: &str) -> Purpose<'static> {
    match word {
        "test" | "tests" | "testOnly" | "testQuick" | "spec" | "eunit" | "ct" => Purpose::Test,
        "build" | "compile" | "assemble" | "publish" | "bundle" | "package" => Purpose::Build,
        "fmt" | "format" => Purpose::Format,
        _ => Purpose::Other,
    }
}

/// Whether a program with these arguments prints help, a version or a list, and runs nothing.
///
/// ```
/// # use reflexion_toolchain::toolchain::only_prints;
/// assert!(only_prints("pytest", &["--collect-only"]) && only_prints("make", &["-n", "test"]));
/// assert!(!only_prints("pytest", &["-n", "4"]));
/// ```
#[must_use]
pub fn only_prints(program: &str, args: &[&str]) -> bool {
    let is_of = |of: &Option<String>| of.as_ref().is_none_or(|of| of == program);
    let own = args.iter().position(|arg| *arg == "--").map_or(args, |at| &args[..at]);
    let is_one = |option: &str| match option.strip_prefix("-- ") {
        Some(option) => args.contains(&option),
        None => own.iter().any(|arg| fits(option, arg)),
    };
    table().programs.only_prints.iter().any(|(of, option)| is_of(of) && is_one(option))
}

/// Whether a program runs the file that is its first argument: `sh`, `node`.
#[must_use]
pub fn interprets(program: &str) -> bool {
    table().programs.interprets.contains(program)
}

/// The program among `env`, `sudo`, `docker exec` and the like that this command line begins with, and how many words name it.
#[must_use]
pub fn wrapper(words: &[&str]) -> Option<(&'static Wrapper, usize)> {
    named(&table().wrappers, words)
}

/// The same among those that run a program of a project's packages: `npx`, `uv run`.
///
/// ```
/// # use reflexion_toolchain::toolchain::package_runner;
/// let (runner, words) = package_runner(&["uv", "run", "--with", "x", "pytest"]).expect("it is known");
/// assert!(words == 2 && runner.valued.contains(&"--with".to_owned()));
/// assert!(package_runner(&["uv", "sync"]).is_none());
/// ```
#[must_use]
pub fn package_runner(words: &[&str]) -> Option<(&'static Wrapper, usize)> {
    named(&table().runners, words)
}

/// The one of these commands that names the most of the first words.
fn named(all: &'static [Wrapper], words: &[&str]) -> Option<(&'static Wrapper, usize)> {
    let (program, rest) = words.split_first()?;
    let count = |command: &str| {
        let mut of = command.split(' ');
        let is_it = of.next() == Some(*program) && of.enumerate().all(|(at, word)| rest.get(at) == Some(&word));
        is_it.then(|| command.split(' ').count())
    };
    let found =
        all.iter().filter_map(|wrapper| Some((wrapper, wrapper.commands.iter().filter_map(|one| count(one)).max()?)));
    found.max_by_key(|(_, count)| *count)
}
