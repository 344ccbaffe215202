//! The recorded tool calls in order: what changed files, what ran, and what cannot be seen.

use super::kept_edits::only_comments;
use super::paths::{in_project, is_log, is_prose};
use super::place::{covers, project};
use super::went::{Went, counts_nothing, went};
use crate::domain::{Action, ToolKind, ToolStatus};
use crate::prompt::{last_bytes, shorten};
use crate::services::TurnEvidence;
use crate::toolchain::{TestSummary, summary};
use crate::verification::commands::{CommandKind, Edits, Run, runs};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A place in the record: the tool call's number, and the command within its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At(pub(super) u64, pub(super) usize);

/// One tool call with its simple commands.
pub(super) struct Step<'a> {
    pub(super) action: &'a Action,
    pub(super) runs: Vec<Run>,
    /// What it does cannot be seen: a sub-agent whose steps are not recorded, a command that is not in the record.
    pub(super) dark: bool,
    /// Where each of the commands runs, as far as the line's own `cd` says: from the project's directory, or absolute.
    pub(super) places: Vec<PathBuf>,
    said: OnceCell<Option<TestSummary>>,
}

/// Of a command that is not for tests so much of the end of its output is searched for a summary: it stands there if
/// anywhere, and a session has thousands of outputs.
const SEARCHED_BYTES: usize = 4 * 1024;

impl Step<'_> {
    /// What a test runner says in its output; read once.
    pub(super) fn said(&self) -> Option<&TestSummary> {
        let read = || {
            let output = self.action.outcome.as_ref().map_or("", |outcome| outcome.output.as_str());
            let tests = self.runs.iter().any(|run| run.kind == CommandKind::Test);
            summary(if tests { output } else { last_bytes(output, SEARCHED_BYTES) })
        };
        self.said.get_or_init(read).as_ref()
    }
}

/// Something that changed files, or perhaps did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) at: At,
    /// The file, or the command.
    pub(super) what: String,
    pub(super) sure: bool,
    /// Only text for people: no test can tell.
    pub(super) prose: bool,
    /// The files, where they are named.
    pub(super) files: Vec<String>,
    /// Taken back later, or taking back: the file is as it was before the session.
    pub(super) undone: bool,
}

/// One command that was run.
pub(super) struct Ran<'s> {
    pub(super) at: At,
    pub(super) run: &'s Run,
    pub(super) line: &'s str,
    /// What a test runner says in the output.
    pub(super) said: Option<&'s TestSummary>,
    pub(super) went: Went,
    /// Where it ran: see [`Step::places`].
    pub(super) place: &'s Path,
    /// It ran in another checkout or directory than the project's.
    pub(super) elsewhere: bool,
}

/// The recorded tool calls in order.
pub(super) struct Timeline<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) changes: Vec<Changed>,
    dir: Option<PathBuf>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(turn: &'a TurnEvidence) -> Self {
        let dir = project(turn);
        let parents: BTreeSet<&str> = turn.trace.actions.iter().filter_map(|a| a.parent.as_deref()).collect();
        let steps: Vec<Step<'a>> = turn
            .trace
            .actions
            .iter()
            .filter(|action| started(action))
            .map(|action| (action, action.command.as_deref().map(runs).unwrap_or_default()))
            .map(|(action, runs)| Step {
                action,
                places: places(&runs, dir.as_deref()),
                runs,
                dark: match action.kind {
                    ToolKind::Agent => !parents.contains(action.id.as_str()),
                    ToolKind::Execute => action.command.is_none(),
                    _ => false,
                },
                said: OnceCell::new(),
            })
            .collect();
        let (mut made, mut found) = (BTreeSet::new(), Vec::new());
        for step in &steps {
            found.extend(changes(step, dir.as_deref(), &made));
            made.extend(makes(step));
        }
        take_back(&steps, &mut found);
        Self { steps, changes: found, dir }
    }

    /// The project's directory, as the record names its files; none where it is not known.
    pub(super) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Nothing was recorded: silence proves nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The last change that a test could tell, and that is sure.
    pub(super) fn last_change(&self) -> Option<&Changed> {
        self.changes.iter().rev().find(|c| c.sure && !c.prose)
    }

    /// Something after this place that perhaps changed files.
    pub(super) fn doubt_after(&self, at: At) -> Option<&Changed> {
        self.changes.iter().rev().find(|c| !c.sure && !c.prose && c.at > at)
    }

    /// The first tool call after a place whose work cannot be seen.
    pub(super) fn dark_after(&self, at: Option<At>) -> Option<&Step<'a>> {
        self.steps.iter().find(|step| step.dark && at.is_none_or(|at| step.action.number > at.0))
    }

    /// Whether a place is surely none of the project's; where the project is not known, edits below it speak for it.
    fn is_elsewhere(&self, place: &Path) -> bool {
        if !place.is_absolute() || self.dir.is_some() {
            return is_elsewhere(place, self.dir.as_deref());
        }
        let mut edited =
            self.steps.iter().flat_map(|step| &step.action.edits).map(Path::new).filter(|path| path.is_absolute());
        let temporary = ["/tmp", "/var/tmp", "/private/tmp"].iter().any(|root| place.starts_with(root));
        temporary && !edited.any(|path| path.starts_with(place))
    }

    /// Every command that was run and is of a kind, oldest first.
    pub(super) fn ran<'s>(&'s self, is: impl Fn(&Step<'_>, usize) -> bool + 's) -> impl Iterator<Item = Ran<'s>> + 's {
        self.steps.iter().flat_map(move |step| {
            let line = step.action.command.as_deref().unwrap_or_default();
            let hits: Vec<usize> = (0..step.runs.len()).filter(|&i| is(step, i)).collect();
            hits.into_iter().map(move |i| Ran {
                at: At(step.action.number, i),
                run: &step.runs[i],
                line,
                said: step.said(),
                went: went(step, i),
                place: &step.places[i],
                elsewhere: self.is_elsewhere(&step.places[i]),
            })
        })
    }
}

/// Whether a place is surely no part of a project that is known, and does not hold it.
pub(super) fn is_elsewhere(place: &Path, dir: Option<&Path>) -> bool {
    place.is_absolute() && dir.is_some_and(|dir| !place.starts_with(dir) && !dir.starts_with(place))
}

/// The directory of each command of a line, by the `cd` before it.
fn places(runs: &[Run], dir: Option<&Path>) -> Vec<PathBuf> {
    let mut place = PathBuf::new();
    let mut all = Vec::with_capacity(runs.len());
    for run in runs {
        if let [program, to, ..] = run.words.as_slice()
            && matches!(program.as_str(), "cd" | "pushd")
        {
            let known = !to.starts_with(['$', '~', '-', '`']);
            let from = if Path::new(to).is_absolute() { PathBuf::new() } else { place };
            place = if known { joined(from, Path::new(to), dir) } else { PathBuf::new() };
        }
        all.push(place.clone());
    }
    all
}

/// A path without `.` and `..`; one that leaves the project by `..` is absolute.
fn joined(mut from: PathBuf, to: &Path, dir: Option<&Path>) -> PathBuf {
    for part in to.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if from.as_os_str().is_empty() => {
                let Some(parent) = dir.and_then(Path::parent) else { continue };
                from = parent.to_owned();
            }
            Component::ParentDir => {
                from.pop();
            }
            part => from.push(part),
        }
    }
    match dir.and_then(|dir| from.strip_prefix(dir).ok()) {
        Some(inner) => inner.to_owned(),
        None => from,
    }
}

impl Ran<'_> {
    /// The command as the record has it, in one line of readable length.
    pub(super) fn shown(&self) -> String {
        shown(self.line)
    }
}

/// A command line as evidence shows it.
pub(super) fn shown(line: &str) -> String {
    format!("`{}`", crate::prompt::shorten(&crate::prompt::one_line(line), 160).replace('`', "'"))
}

/// A refused call never happened.
fn started(action: &Action) -> bool {
    const REFUSED: [&str; 5] = [
        "Permission to use ",
        "The user doesn't want to proceed with this tool use",
        "Claude requested permissions to ",
        "The user rejected permission to use",
        "This command requires approval",
    ];
    action.outcome.as_ref().is_none_or(|outcome| match outcome.status {
        ToolStatus::Denied => false,
        // Some records say it in words only.
        ToolStatus::Failed => {
            outcome.exit_code.is_some() || !REFUSED.iter().any(|words| outcome.output.starts_with(words))
        }
        ToolStatus::Ok => true,
    })
}

/// An edit that the record does not call failed.
pub(super) fn happened(action: &Action) -> bool {
    action.outcome.as_ref().is_none_or(|outcome| !matches!(outcome.status, ToolStatus::Failed | ToolStatus::Denied))
}

/// Files that a step writes whole: if they are removed later, the session cleans up behind itself.
fn makes<'s>(step: &'s Step<'_>) -> impl Iterator<Item = String> + 's {
    let whole = step.action.edits.iter().filter(|_| happened(step.action) && !step.action.input.contains("old"));
    let written = step.runs.iter().filter(|run| !removes(run) && run.edits == Edits::Yes).flat_map(|run| &run.files);
    whole.chain(written).map(|path| path.trim_start_matches("./").to_owned())
}

fn removes(run: &Run) -> bool {
    matches!(run.words.first().map(String::as_str), Some("rm" | "unlink" | "trash" | "shred"))
}

/// An edit whose output is an error, where the record does not say how it went: whether it happened is not known.
pub(super) fn complains(action: &Action) -> bool {
    const WORDS: [&str; 14] = [
        "old_string not found",
        "string to replace not found",
        "no such file",
        "permission denied",
        "not found in file",
        "has not been read",
        "no match",
        "could not find",
        "does not exist",
        "failed to",
        "cannot ",
        "not unique",
        "is a directory",
        "read-only",
    ];
    let Some(outcome) = action.outcome.as_ref().filter(|outcome| outcome.exit_code.is_none()) else { return false };
    let start = shorten(outcome.output.trim(), 300).to_lowercase();
    let tagged = start.trim_start_matches(['<', '[', '{', '"', '*', ' ']);
    let is_error = ["error", "tool_use_error", "failed", "failure", "fatal", "exception", "traceback"]
        .iter()
        .any(|word| tagged.starts_with(word));
    // A file's text may hold such words; a message is short.
    is_error || outcome.output.len() < 300 && WORDS.iter().any(|word| start.contains(word))
}

fn changes(step: &Step<'_>, dir: Option<&Path>, own: &BTreeSet<String>) -> Vec<Changed> {
    let action = step.action;
    if action.kind == ToolKind::Edit && !happened(action) {
        return Vec::new();
    }
    let at = |run| At(action.number, run);
    if !action.edits.is_empty() {
        let files: Vec<String> = action.edits.iter().filter(|path| in_project(path, dir)).cloned().collect();
        if files.is_empty() {
            return Vec::new();
        }
        let prose = files.iter().all(|path| is_prose(path, dir)) || only_comments(action);
        let (what, sure) = (crate::prompt::quote_names(&files), !complains(action));
        return vec![Changed { at: at(0), what, sure, prose, files, undone: false }];
    }
    if action.kind == ToolKind::Edit {
        let (what, sure) = (format!("`{}`", action.tool), !complains(action));
        return vec![Changed { at: at(0), what, sure, prose: false, files: Vec::new(), undone: false }];
    }
    let line = action.command.as_deref().unwrap_or_default();
    let touch = step.runs.iter().enumerate().filter_map(|(i, run)| {
        let sure = touches(run)?;
        if is_elsewhere(&step.places[i], dir) {
            return None;
        }
        if !run.files.is_empty() && run.files.iter().all(|file| !in_project(file, dir)) {
            return None;
        }
        let named = !run.files.is_empty();
        let prose = named && run.files.iter().all(|file| is_prose(file, dir) || is_log(file, dir));
        let scratch = named && removes(run) && run.files.iter().all(|file| own.contains(file.trim_start_matches("./")));
        let files = run.files.clone();
        Some(Changed { at: at(i), what: shown(line), sure: sure && !scratch, prose, files, undone: false })
    });
    touch.collect()
}

/// Notes which changes of single files `git checkout -- FILE` and `git restore FILE` took back.
/// What was committed or staged before is kept; and a change that is made and taken back in one line was a try.
fn take_back(steps: &[Step<'_>], changes: &mut [Changed]) {
    let mut committed = None;
    let mut added: Vec<(At, &Run)> = Vec::new();
    for step in steps {
        let well = step.action.outcome.as_ref().is_none_or(|o| o.exit_code.is_none_or(|code| code == 0));
        for (i, run) in step.runs.iter().enumerate().filter(|_| well) {
            let at = At(step.action.number, i);
            if matches!(run.words.as_slice(), [git, commit, ..] if git == "git" && commit == "commit") {
                committed = Some(at);
            }
            if stages(run) {
                added.push((at, run));
            }
            let Some(paths) = restored(run) else { continue };
            let tried = changes.iter().any(|change| {
                change.at < at
                    && change.at.0 == at.0
                    && change.files.iter().any(|file| paths.iter().any(|p| covers(p, file)))
            });
            let since = if tried { Some(At(at.0, 0)) } else { committed };
            let mine = |file: &String| paths.iter().any(|path| covers(path, file));
            // Files come back from the index, unless a commit is named.
            let of_index = !run.words.iter().any(|word| word == "HEAD");
            let staged = |change: &Changed| {
                let holds =
                    |(at, run): &(At, &Run)| *at >= change.at && change.files.iter().any(|f| stages_file(run, f));
                of_index && added.iter().any(holds)
            };
            let mut any = false;
            for change in
                changes.iter_mut().filter(|change| change.at < at && since.is_none_or(|since| change.at >= since))
            {
                if !change.files.is_empty() && change.files.iter().all(mine) && !staged(change) {
                    change.undone = true;
                    any = true;
                }
            }
            changes.iter_mut().filter(|change| any && change.at == at).for_each(|change| change.undone = true);
        }
    }
}

/// Whether a command takes files into the index.
pub(super) fn stages(run: &Run) -> bool {
    matches!(run.words.as_slice(), [git, add, ..] if git == "git" && matches!(add.as_str(), "add" | "stage"))
}

/// Whether a command that stages takes this file: by its name or place, or with all others.
fn stages_file(run: &Run, file: &str) -> bool {
    let all = |word: &str| matches!(word, "-A" | "--all" | "-u" | "--update" | "--no-ignore-removal");
    run.words.iter().skip(2).any(|word| all(word) || !word.starts_with('-') && covers(word, file))
}

/// The files that a command puts back as they were committed last; none where it does something else.
fn restored(run: &Run) -> Option<Vec<&str>> {
    let words: Vec<&str> = run.words.iter().map(String::as_str).collect();
    let ["git", "checkout" | "restore", args @ ..] = words.as_slice() else { return None };
    let other = |arg: &&str| {
        matches!(*arg, "-b" | "-B" | "-s" | "--staged" | "-S" | "-p" | "--patch" | "--ours" | "--theirs" | "--detach")
            || arg.starts_with("--source")
    };
    if args.iter().any(other) {
        return None;
    }
    let (before, after) = match args.iter().position(|arg| *arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (&args[..0], args),
    };
    // From another commit it brings something new.
    let of_head = before.iter().all(|arg| arg.starts_with('-') || *arg == "HEAD");
    let paths: Vec<&str> = after.iter().copied().filter(|arg| !arg.starts_with('-')).collect();
    (of_head && !paths.is_empty()).then_some(paths)
}

/// Whether a command changes files: surely, perhaps, or not (none). What tests and builds write is their own.
fn touches(run: &Run) -> Option<bool> {
    match (run.edits, &run.kind) {
        (Edits::Yes, kind) if kind.checks() => None,
        (Edits::No, _) => None,
        (Edits::Perhaps, _) => Some(false),
        (Edits::Yes, _) => Some(true),
    }
}

/// Commands that show things and change none.
const READERS: [&str; 40] = [
    "cat", "echo", "printf", "grep", "rg", "egrep", "fgrep", "ag", "tail", "head", "less", "more", "ls", "tree",
    "find", "fd", "wc", "sort", "uniq", "cut", "diff", "pwd", "cd", "which", "type", "env", "date", "stat", "file",
    "du", "df", "ps", "jq", "awk", "sed", "sleep", "true", "test", "[", "basename",
];

/// Whether a command only shows things.
pub(super) fn only_reads(run: &Run) -> bool {
    if run.writes {
        return false;
    }
    let word = |i: usize| run.words.get(i).map_or("", String::as_str);
    match word(0).rsplit('/').next().unwrap_or_default() {
        "git" => matches!(
            word(1),
            "status"
                | "log"
                | "diff"
                | "show"
                | "branch"
                | "remote"
                | "rev-parse"
                | "ls-files"
                | "blame"
                | "grep"
                | "describe"
        ),
        program => READERS.contains(&program),
    }
}

/// Whether a command ran tests: one that is for that, or another that printed a test runner's summary. Listing or
/// building tests runs none.
pub(super) fn runs_tests(step: &Step<'_>, i: usize) -> bool {
    let run = &step.runs[i];
    match run.kind {
        CommandKind::Test => !counts_nothing(run),
        CommandKind::Other if !only_reads(run) => {
            let program = run.words.first().map_or("", |w| w.rsplit('/').next().unwrap_or_default());
            !matches!(program, "git" | "gh" | "curl" | "npm" | "pip" | "cargo")
                && step.runs.iter().all(|r| r.kind != CommandKind::Test)
                && step.said().is_some()
        }
        _ => false,
    }
}

/// Whether a command may well run tests without saying so: a script or target of the project with such a name.
pub(super) fn may_run_tests(run: &Run) -> bool {
    const NAMES: [&str; 12] =
        ["test", "tests", "spec", "specs", "check", "checks", "verify", "validate", "ci", "e2e", "smoke", "qa"];
    let kind = matches!(run.kind, CommandKind::Other) || (run.kind == CommandKind::Lint && is_script(run));
    kind && !only_reads(run)
        && !matches!(run.words.first().map_or("", String::as_str), "git" | "gh" | "curl")
        && run.words.iter().take(4).any(|word| {
            let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
            parts.any(|part| NAMES.contains(&part.as_str()))
        })
}

/// A script or target of the project, which may do anything whatever its name: `./check.sh`, `make check`.
pub(super) fn is_script(run: &Run) -> bool {
    let program = run.words.first().map_or("", String::as_str);
    let runner =
        ["npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "composer", "rake", "sh", "bash", "nox", "tox"];
    program.contains('/') || program.ends_with(".sh") || runner.contains(&program)
}
