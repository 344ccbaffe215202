//! Loops: an agent that only looks, and an agent that does the same again and again.
//!
//! Counted since the last thing asked. What clears a loop is progress: an edit that was not there before, or the same
//! command with another result. Waiting for something that runs elsewhere is no loop.

use super::super::commands::{CommandKind, Run, loop_key, runs};
use super::super::context::task_type;
use super::writes::{edited, writes};
use crate::domain::{Action, Outcome, TaskType, ToolKind, Trace};
use crate::prompt::{one_line, shorten};
use regex::Regex;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Fewer tool calls than this are a look around before the work.
const PLANNING_CALLS: usize = 8;
/// A planning loop writes with fewer than one call in so many.
const PLANNING_SHARE: usize = 10;
/// A command seen so often without progress is a repetition.
const SEEN: usize = 3;
/// Repetitions are a loop from this share of what was done, in percent.
const REPEATED_PERCENT: usize = 60;
/// Whoever did other things for long is in a loop all the same if the latest actions are: so many are looked at.
const LATEST: usize = 8;
/// At most so many actions are looked at: a loop that is not seen in these is none.
const WINDOW: usize = 256;
/// A cycle of more steps than this is a way of working.
const LONGEST_CYCLE: usize = 16;
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
///
/// Every good piece of work begins with reading, so a planning loop is one only when the agent came to rest with it.
pub(super) fn in_loop(trace: &Trace) -> Option<String> {
    let ends_with_plan = trace.rests() && asks_for_change(task_type(&trace.task()));
    let planning = ends_with_plan.then(|| planning_loop(trace.since_asked())).flatten();
    let repeating = action_loop(trace.since_asked());
    let words = [planning.map(PlanningLoop::words), repeating.as_ref().map(ActionLoop::words)];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join("\n\n"))
}

/// Whether a task of this type asks for a change; who is to find something out may read as long as it takes.
pub(super) fn asks_for_change(kind: TaskType) -> bool {
    matches!(kind, TaskType::Coding | TaskType::Docs)
}

/// At least eight tool calls of which less than a tenth change something. What a sub-agent looks at is one call of the
/// agent's, what it changes is the agent's change.
#[must_use]
pub fn planning_loop<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Option<PlanningLoop> {
    let mut found = PlanningLoop { calls: 0, writes: 0 };
    for action in actions {
        found.calls += usize::from(action.parent.is_none());
        found.writes += usize::from(writes(action));
    }
    (found.calls >= PLANNING_CALLS && found.writes * PLANNING_SHARE < found.calls).then_some(found)
}

/// A command seen three times or more without progress, if such repetitions are three fifths of what was done, or of
/// the latest eight actions; two and more different ones in the very same order twice over count too.
#[must_use]
pub fn action_loop<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Option<ActionLoop> {
    let mut counted = Counted::default();
    let actions: Vec<&Action> = actions.into_iter().collect();
    for action in &actions[actions.len().saturating_sub(WINDOW)..] {
        counted.take(action);
    }
    counted.found()
}

impl PlanningLoop {
    fn words(self) -> String {
        let Self { calls, writes } = self;
        let changed = if writes == 0 { "none".to_owned() } else { format!("only {writes}") };
        format!(
            "You are exploring without changing anything: of your last {calls} tool calls {changed} changed a file. \
             You know enough to begin. Make the first change now, run the checks, and go on from what they say."
        )
    }
}

impl ActionLoop {
    fn words(&self) -> String {
        let listed: Vec<String> = self
            .repeated
            .iter()
            .take(3)
            .map(|(what, times)| {
                format!("- {times} times: `{}`", shorten(&one_line(what), SHOWN_BYTES).replace('`', "'"))
            })
            .collect();
        format!(
            "You are repeating yourself; nothing was changed in between, and nothing else came out:\n{}\nThe same \
             again will give the same result. Read the last output, say what it means, and change something before \
             you run it again - or do it in another way.",
            listed.join("\n")
        )
    }
}

/// What an agent did, action by action.
#[derive(Default)]
struct Counted<'a> {
    /// Everything that counts, since the last thing asked.
    actions: usize,
    /// What was seen since the last thing asked.
    seen: HashMap<Key, Seen<'a>>,
    /// The steps since the last edit, in order.
    order: Vec<Step>,
    /// The edits since the last thing asked: one that was there before is no progress.
    edits: HashSet<Key>,
}

/// What makes two actions the same, as a hash.
type Key = u64;
/// An action with the number of its result: the same command with another result is another step.
type Step = (Key, u32);

struct Seen<'a> {
    what: &'a str,
    /// The latest known result, and how many different ones came before it.
    result: Option<&'a Outcome>,
    results: u32,
}

impl<'a> Counted<'a> {
    fn take(&mut self, action: &'a Action) {
        if looks_only(action) || waits(action) {
            return;
        }
        self.actions += 1;
        let key = key(action);
        if edited(action) && self.edits.insert(key) {
            self.order.clear();
        }
        let result = action.outcome.as_ref();
        let what = action.command.as_deref().unwrap_or(&action.tool);
        let seen = self.seen.entry(key).or_insert(Seen { what, result, results: 0 });
        if matches!((seen.result, result), (Some(before), Some(now)) if differs(before, now)) {
            seen.results += 1;
        }
        seen.result = result.or(seen.result);
        self.order.push((key, seen.results));
    }

    fn found(&self) -> Option<ActionLoop> {
        let in_cycle: HashSet<Step> = cycle(&self.order).iter().copied().collect();
        let mut times: HashMap<Step, usize> = HashMap::new();
        self.order.iter().for_each(|step| *times.entry(*step).or_default() += 1);
        let mut repeated: Vec<(&str, usize)> = Vec::new();
        times.retain(|step, times| {
            let Some(seen) = self.seen.get(&step.0).filter(|seen| seen.results == step.1) else { return false };
            let again = *times >= SEEN || in_cycle.contains(step);
            if again {
                repeated.push((seen.what, *times));
            }
            again
        });
        repeated.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let is_repeated = |step: &&Step| times.contains_key(step);
        let often = |repeated: usize, of: usize| repeated > 0 && repeated * 100 >= of * REPEATED_PERCENT;
        let lately = self.order.iter().rev().take(LATEST).filter(is_repeated).count();
        let looping = often(self.order.iter().filter(is_repeated).count(), self.actions)
            || often(lately, self.actions.min(LATEST));
        looping.then(|| ActionLoop {
            repeated: repeated.into_iter().map(|(what, times)| (what.to_owned(), times)).collect(),
            actions: self.actions,
        })
    }
}

/// The steps, two and more different ones, that end the list in the same order twice over.
fn cycle(order: &[Step]) -> &[Step] {
    let n = order.len();
    (2..=(n / 2).min(LONGEST_CYCLE))
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

/// Waiting is no loop: for CI, for a while, or for what runs in the background.
fn waits(action: &Action) -> bool {
    let Some(line) = &action.command else {
        let tool = action.tool.to_ascii_lowercase().replace(['_', '-'], "");
        return matches!(
            tool.as_str(),
            "bashoutput" | "taskoutput" | "agentoutput" | "commandstatus" | "writestdin" | "readterminal" | "wait"
        );
    };
    let runs = runs(line);
    let sleeps = |run: &Run| run.words.first().is_some_and(|word| word == "sleep");
    runs.iter().any(sleeps) || runs.iter().any(|run| run.kind == CommandKind::Ci)
}

/// What makes two actions the same: the command line without what changes from run to run, or the tool with its whole
/// input.
fn key(action: &Action) -> Key {
    let mut hasher = DefaultHasher::new();
    action.parent.hash(&mut hasher);
    match &action.command {
        Some(line) => loop_key(line).hash(&mut hasher),
        None => (&action.tool, &action.input).hash(&mut hasher),
    }
    hasher.finish()
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
    let text = CHANGING.replace_all(text, "~");
    // Tests that run at the same time end in any order.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Whether tools, of which only the names are known, look around and nothing else: at least eight, each of them known
/// to read.
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
const READERS: [&str; 12] =
    ["read", "glob", "grep", "search", "list", "ls", "view", "find", "webfetch", "websearch", "todo", "lsp"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Role, ToolStatus, TranscriptItem};
    use serde_json::json;

    /// A session in lines: `$ command => exit output`, `edit file => text`, `read file`, `ask words`, `say words`.
    fn session(lines: &str) -> Trace {
        let mut trace = Trace::default();
        for (number, line) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
            let (what, result) = line.split_once(" => ").unwrap_or((line, ""));
            let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
            let (kind, tool, input, edits) = match verb {
                "ask" | "say" => {
                    let role = if verb == "ask" { Role::User } else { Role::Assistant };
                    trace.step(&TranscriptItem::Message { role, text: rest.to_owned() }, None, None);
                    continue;
                }
                "$" => (ToolKind::Execute, "Bash", json!({ "command": rest }), Vec::new()),
                "edit" => (ToolKind::Edit, "Edit", json!({ "file": rest, "new": result }), vec![rest.to_owned()]),
                "read" => (ToolKind::Read, "Read", json!({ "file": rest }), Vec::new()),
                other => (ToolKind::Other, other, json!({ "about": rest }), Vec::new()),
            };
            let id = number.to_string();
            trace.step(
                &TranscriptItem::ToolCall { id: id.clone(), tool: tool.to_owned(), kind, input, edits },
                None,
                None,
            );
            if verb == "edit" || !result.is_empty() {
                let failed = result.starts_with("failed");
                let (code, output) = result.split_once(' ').unwrap_or((result, ""));
                let status = if failed { ToolStatus::Failed } else { ToolStatus::Ok };
                let output = output.replace(';', "\n");
                let result =
                    TranscriptItem::ToolResult { id, status, exit_code: code.parse().ok(), output, duration_ms: None };
                trace.step(&result, None, None);
            }
        }
        trace
    }

    fn check(lines: &str, expected: Option<&[(&str, usize)]>) {
        let found = action_loop(session(lines).since_asked());
        let found =
            found.as_ref().map(|found| found.repeated.iter().map(|(w, n)| (w.as_str(), *n)).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expected, "{lines}");
    }

    fn times(line: &str, times: usize) -> String {
        format!("{line}\n").repeat(times)
    }

    /// Lines with `#` as their number.
    fn numbered(times: usize, lines: &str) -> String {
        (0..times).map(|number| lines.replace('#', &number.to_string())).collect()
    }

    #[test]
    fn the_same_without_progress_is_a_loop() {
        check(&times("$ npm test => 1 3 failed", 3), Some(&[("npm test", 3)]));
        check(&times("$ npm test => 1 3 failed", 2), None);
        check(
            "$ npm test => 1 a\n$ ls => 0 b\n$ npm test => 1 a\n$ pwd => 0 c\n$ npm test => 1 a",
            Some(&[("npm test", 3)]),
        );
        check(&format!("{}$ a\n$ b\n$ c", times("$ npm test", 3)), None);
        check(&times("mcp_deploy staging", 4), Some(&[("mcp_deploy", 4)]));
    }

    #[test]
    fn time_and_order_are_no_difference() {
        let runs = "$ cargo test => 101 a ... ok;b ... FAILED;finished in 0.02s\n\
                    $ cargo test => 101 b ... FAILED;a ... ok;finished in 1.37s\n\
                    $ cargo test => 101 a ... ok;b ... FAILED;finished in 0.02s at 12:03:44";
        check(&runs.replace(" at 12:03:44", ""), Some(&[("cargo test", 3)]));
        check(
            "$ echo t_1771177929615\n$ echo t_1771177931936\n$ echo t_1771177933000",
            Some(&[("echo t_1771177929615", 3)]),
        );
    }

    #[test]
    fn alternation_is_seen_through() {
        check(&times("$ npm test -- a\n$ npm test -- b", 2), Some(&[("npm test -- a", 2), ("npm test -- b", 2)]));
        check(&times("$ a\n$ b\n$ c", 2), Some(&[("a", 2), ("b", 2), ("c", 2)]));
        check("$ a\n$ b\n$ b\n$ a", None);
    }

    #[test]
    fn an_edit_or_another_result_is_progress() {
        check(&times("$ npm test => 1 same\nedit a.ts => x", 1).repeat(2).replace("=> x", "=> y"), None);
        let tdd = numbered(9, "edit a.ts => #\n$ npm test => 1 same\n");
        check(&tdd, None);
        let fewer = numbered(9, "$ npm test => 1 # failed\n");
        check(&fewer, None);
        check("$ npm test => 1 a\n$ npm test => 1 a\n$ npm test => 0 a", None);
        // The same edit again, or one that failed, is none.
        check(&times("edit a.ts => x\n$ npm test => 1 same", 4), Some(&[("Edit", 4), ("npm test", 4)]));
        check(
            &times("edit a.ts => failed no such text\n$ npm test => 1 same", 3),
            Some(&[("Edit", 3), ("npm test", 3)]),
        );
    }

    #[test]
    fn a_loop_after_long_work_is_found_and_one_before_it_is_forgotten() {
        let work = numbered(100, "edit a.ts => #\n$ npm test => 1 same\n");
        check(&format!("{work}{}", times("$ npm test => 1 same", 4)), Some(&[("npm test", 5)]));
        check(&format!("{}{work}", times("$ npm test => 1 same", 9)), None);
        check(&format!("{}ask Now the docs.\n$ npm test => 1 same", times("$ npm test => 1 same", 9)), None);
    }

    #[test]
    fn reading_and_waiting_are_no_loop() {
        check(&times("read a.ts", 9), None);
        check(&times("BashOutput 1 => 0 running", 9), None);
    }

    #[test]
    fn a_planning_loop_is_named_when_the_agent_rests_with_it() {
        let reads = numbered(12, "read #\n");
        let found = planning_loop(session(&reads).since_asked());
        assert_eq!(found, Some(PlanningLoop { calls: 12, writes: 0 }));
        let at_work = session(&format!("ask Fix the bug\nsay I look.\n{reads}"));
        assert_eq!(in_loop(&at_work), None, "every good piece of work begins with reading");
        let named = |task: &str| in_loop(&session(&format!("ask {task}\n{reads}say That is how it is.")));
        assert!(
            named("Fix the bug in the parser").is_some_and(|words| words.contains("last 12 tool calls none changed"))
        );
        assert_eq!(named("Investigate why the parser is slow"), None);
        assert!(!at_work.rests() && session(&format!("{reads}say Done.")).rests());
    }

    #[test]
    fn a_sub_agents_reads_are_its_own_and_its_edits_the_agents() {
        let mut trace = session("read 1\nTask explore\nedit a.ts => x");
        for number in 0..30 {
            let input = json!({ "file": number });
            let id = format!("s{number}");
            let call = TranscriptItem::ToolCall {
                id,
                tool: "Read".to_owned(),
                kind: ToolKind::Read,
                input,
                edits: Vec::new(),
            };
            trace.step(&call, Some("1"), None);
        }
        assert_eq!(planning_loop(trace.since_asked()), None);
    }

    #[test]
    fn words_name_what_is_repeated() {
        let words = in_loop(&session(&times("$ npm test => 1 same", 3))).expect("a loop");
        assert!(words.contains("- 3 times: `npm test`"), "{words}");
    }
}
