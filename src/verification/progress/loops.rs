//! Loops: an agent that only looks, and an agent that does the same again and again.
//!
//! Counted since the last thing asked. What clears a loop is progress: an edit that was not there before, or the same
//! command with another result.

use super::super::commands::CommandKind;
use super::super::commands::Run;
use super::super::commands::runs;
use super::super::context::task_type;
use super::writes::writes;
use super::writes::wrote;
use crate::domain::Action;
use crate::domain::Outcome;
use crate::domain::TaskType;
use crate::domain::ToolKind;
use crate::domain::Trace;
use crate::prompt::one_line;
use crate::prompt::shorten;
use regex::Regex;
use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Fewer tool calls than this are a look around before the work.
const PLANNING_CALLS: usize = 8;
/// A planning loop writes with fewer than one call in so many.
const PLANNING_SHARE: usize = 10;
/// A command seen so often without progress is a repetition.
const SEEN: usize = 3;
/// Repetitions are a loop from this share of what was done, in percent.
const REPEATED_PERCENT: usize = 60;
/// So much of a command is shown in words.
const SHOWN_BYTES: usize = 200;

/// An agent that looks at things and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanningLoop {
    /// Tool calls in all.
    pub calls: usize,
    /// Those that change something.
    pub writes: usize,
}

/// An agent that repeats itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionLoop {
    /// What is repeated, with how often, most frequent first.
    pub repeated: Vec<(String, usize)>,
    /// What was done in all, reading and planning not counted.
    pub actions: usize,
}

/// The loops that an agent is in, in words for it; none if it is in none.
pub(super) fn in_loop(trace: &Trace) -> Option<String> {
    let planning = asks_for_change(task_type(&trace.task())).then(|| planning_loop(trace.since_asked())).flatten();
    let words: Vec<String> = [planning.map(|found| found.words()), action_loop(trace.since_asked()).map(|found| found.words())]
        .into_iter()
        .flatten()
        .collect();
    (!words.is_empty()).then(|| words.join("\n\n"))
}

/// Whether a task of this type asks for a change; who is to find something out may read as long as it takes.
pub(super) fn asks_for_change(kind: TaskType) -> bool {
    matches!(kind, TaskType::Coding | TaskType::Docs)
}

/// At least eight tool calls of which less than a tenth change something.
#[must_use]
pub fn planning_loop<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Option<PlanningLoop> {
    let mut found = PlanningLoop { calls: 0, writes: 0 };
    for action in actions {
        found.calls += 1;
        found.writes += usize::from(writes(action));
    }
    (found.calls >= PLANNING_CALLS && found.writes * PLANNING_SHARE < found.calls).then_some(found)
}

/// A command seen three times or more without progress, if such repetitions are three fifths of what was done; or two
/// and more different ones in the very same order twice over.
#[must_use]
pub fn action_loop<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Option<ActionLoop> {
    let mut counted = Counted::default();
    for action in actions {
        counted.take(action);
    }
    counted.found()
}

impl PlanningLoop {
    fn words(self) -> String {
        let Self { calls, writes } = self;
        let changed = if writes == 0 { "none".to_owned() } else { format!("only {writes}") };
        format!(
            "You are exploring without changing anything: of your last {calls} tool calls {changed} changed a file. You \
             know enough to begin. Make the first change now, run the checks, and go on from what they say."
        )
    }
}

impl ActionLoop {
    fn words(&self) -> String {
        let listed: Vec<String> = self
            .repeated
            .iter()
            .take(3)
            .map(|(what, times)| format!("- {times} times: `{}`", shorten(&one_line(what), SHOWN_BYTES).replace('`', "'")))
            .collect();
        format!(
            "You are repeating yourself; nothing was changed in between, and nothing else came out:\n{}\nThe same again \
             will give the same result. Read the last output, say what it means, and change something before you run it \
             again - or do it in another way.",
            listed.join("\n")
        )
    }
}

/// What an agent did since its last progress.
#[derive(Default)]
struct Counted<'a> {
    /// Everything that counts, since the last thing asked.
    actions: usize,
    /// Per key: how often since the last progress, and the latest known result.
    seen: HashMap<String, Seen<'a>>,
    /// The keys since the last progress, in order.
    order: Vec<String>,
    /// The edits since the last thing asked: one that was there before is no progress.
    edits: HashSet<String>,
}

struct Seen<'a> {
    what: &'a str,
    times: usize,
    result: Option<&'a Outcome>,
}

impl<'a> Counted<'a> {
    fn take(&mut self, action: &'a Action) {
        if looks_only(action) {
            return;
        }
        let runs = action.command.as_deref().map(runs).unwrap_or_default();
        if waits(&runs) {
            return;
        }
        self.actions += 1;
        let key = key(action);
        if wrote(action) && self.edits.insert(key.clone()) {
            self.seen.clear();
            self.order.clear();
        }
        let result = action.outcome.as_ref();
        let what = action.command.as_deref().unwrap_or(&action.tool);
        let seen = self.seen.entry(key.clone()).or_insert(Seen { what, times: 0, result });
        let changed = matches!((seen.result, result), (Some(before), Some(now)) if differs(before, now));
        seen.times = if changed { 1 } else { seen.times + 1 };
        seen.result = result.or(seen.result);
        if changed {
            self.order.clear();
        }
        self.order.push(key);
    }

    fn found(self) -> Option<ActionLoop> {
        let in_cycle = cycle(&self.order);
        let mut repeated: Vec<&Seen<'_>> =
            self.seen.iter().filter(|(key, seen)| seen.times >= SEEN || in_cycle.contains(key)).map(|(_, seen)| seen).collect();
        repeated.sort_by(|a, b| b.times.cmp(&a.times).then(a.what.cmp(b.what)));
        let times: usize = repeated.iter().map(|seen| seen.times).sum();
        (times > 0 && times * 100 >= REPEATED_PERCENT * self.actions).then(|| ActionLoop {
            repeated: repeated.iter().map(|seen| (seen.what.to_owned(), seen.times)).collect(),
            actions: self.actions,
        })
    }
}

/// The keys of two and more different actions that end the list in the same order twice over.
fn cycle(order: &[String]) -> &[String] {
    let n = order.len();
    (2..=n / 2)
        .map(|period| (&order[n - 2 * period..n - period], &order[n - period..]))
        .find(|(first, second)| first == second && second.iter().collect::<HashSet<_>>().len() == second.len())
        .map_or(&[], |(_, second)| second)
}

/// Reading again is no repetition: files change, and agents forget.
fn looks_only(action: &Action) -> bool {
    match action.kind {
        ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Ask => true,
        ToolKind::Other => {
            let tool = action.tool.to_ascii_lowercase();
            matches!(tool.as_str(), "read" | "glob" | "grep" | "ls" | "list" | "todowrite" | "todoread")
        }
        _ => false,
    }
}

/// Waiting for CI is no loop: asking again is all one can do.
fn waits(runs: &[Run]) -> bool {
    let waits = |run: &Run| run.kind == CommandKind::Ci || run.words.first().is_some_and(|word| word == "sleep");
    !runs.is_empty() && runs.iter().all(waits)
}

/// What makes two actions the same: the command line without what changes from run to run, or the tool with its whole
/// input.
fn key(action: &Action) -> String {
    let parent = action.parent.as_deref().unwrap_or_default();
    match &action.command {
        Some(line) => format!("{parent}\n$ {}", steady(&one_line(line)).to_lowercase()),
        None => format!("{parent}\n{} {}", action.tool, action.input),
    }
}

/// Whether two results say different things. What changes by itself - times, durations, addresses - is no difference.
fn differs(before: &Outcome, now: &Outcome) -> bool {
    if before == now {
        return false;
    }
    before.status != now.status
        || matches!((before.exit_code, now.exit_code), (Some(a), Some(b)) if a != b)
        || steady(&before.output) != steady(&now.output)
}

/// A text without what changes from run to run.
fn steady(text: &str) -> String {
    static CHANGING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d)?([.,]\d+)?(z|[+-]\d\d:?\d\d)?)?",
            r"|\b\d{1,2}:\d\d(:\d\d)?([.,]\d+)?\b",
            r"|\b\d+([.,]\d+)?\s?(ns|us|µs|ms|s|secs?|seconds?|min|minutes?)\b",
            r"|\b0x[0-9a-f]+\b",
            r"|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
            r"|\d{10,}",
            r"|\b(pid|thread)[ =:]*\(?\d+\)?",
            r"|/tmp/[^\s:]+",
        ))
        .expect("the expression is fixed and compiles")
    });
    CHANGING.replace_all(text, "~").into_owned()
}

/// Whether tools, of which only the names are known, look around and nothing else: at least eight, each of them known to
/// read.
pub(super) fn looping_names<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let mut calls = 0;
    for name in names {
        calls += 1;
        let name = name.to_ascii_lowercase().replace(['_', '-'], "");
        let reads = READERS.iter().any(|reader| name.starts_with(reader)) || name.ends_with("read");
        if !reads {
            return false;
        }
    }
    calls >= PLANNING_CALLS
}

/// How tools begin that only look.
const READERS: [&str; 12] = [
    "read", "glob", "grep", "search", "list", "ls", "view", "find", "webfetch", "websearch", "todo", "lsp",
];
