//! A transcript as text for people.

use super::events::plural;
use crate::domain::{CostSource, Role, Timestamp, ToolStatus, TranscriptHead, TranscriptItem, TranscriptRecord, Usage};
use crate::prompt::{one_line, plain, shorten};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How much of each step is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The first lines of what was said and printed.
    Brief,
    /// Everything that was kept.
    Full,
}

/// A brief text has so many lines.
const BRIEF_LINES: usize = 4;
/// A brief line has so many bytes.
const BRIEF_BYTES: usize = 160;

/// The steps of a transcript in order, with times since its first one; steps of sub-agents are indented under the call
/// that started them. `unreadable` counts the lines that could not be read.
///
/// Texts of agents are shown without terminal escapes; nothing that was recorded can drive the reader's terminal.
#[must_use]
pub fn transcript(head: &TranscriptHead, records: &[TranscriptRecord], unreadable: u64, detail: Detail) -> String {
    let mut page = Page { text: String::new(), detail, calls: BTreeMap::new(), counts: Counts::default() };
    page.head(head);
    let start = records.first().map(|r| r.at);
    for record in records {
        page.record(record, since(start, record));
    }
    page.foot(records, unreadable);
    page.text
}

/// The same steps without what stands above and below them, as lines; times are since `start`.
#[must_use]
pub fn steps(records: &[TranscriptRecord], start: Option<Timestamp>) -> Vec<String> {
    let mut page =
        Page { text: String::new(), detail: Detail::Brief, calls: BTreeMap::new(), counts: Counts::default() };
    for record in records {
        page.record(record, since(start, record));
    }
    page.text.lines().map(str::to_owned).collect()
}

/// A step in a few words, where it is one that a person would want to see; one line, not longer than 160 bytes.
#[must_use]
pub fn step(item: &TranscriptItem) -> Option<String> {
    let words = match item {
        TranscriptItem::ToolCall { tool, input, edits, .. } => {
            let about = edits.first().cloned().or_else(|| telling(input)).unwrap_or_default();
            format!("{tool} {about}")
        }
        TranscriptItem::Message { role: Role::Assistant, text } if !text.trim().is_empty() => format!("says: {text}"),
        TranscriptItem::Reasoning { text } if !text.trim().is_empty() => format!("thinks: {text}"),
        TranscriptItem::Compaction { .. } => "shortens its context".to_owned(),
        TranscriptItem::Retry { message, .. } => format!("asks its model again: {message}"),
        TranscriptItem::Error { message, .. } => format!("error: {message}"),
        _ => return None,
    };
    Some(shorten(&one_line(&plain(&words)), BRIEF_BYTES).into_owned())
}

struct Page<'a> {
    text: String,
    detail: Detail,
    /// The tool and the depth of each call so far.
    calls: BTreeMap<&'a str, (&'a str, usize)>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    turns: usize,
    calls: usize,
    failed: usize,
    denied: usize,
}

impl<'a> Page<'a> {
    fn head(&mut self, head: &TranscriptHead) {
        let part = if head.subtask.as_str() == head.task.as_str() { "" } else { head.subtask.as_str() };
        let part = if part.is_empty() { String::new() } else { format!(", part {part}") };
        let (agent, session) = (plain(&head.agent), plain(head.session.as_str()));
        let _ =
            writeln!(self.text, "{}#{}{part}: {agent}\nrun {}, session {session}", head.task, head.attempt, head.run);
    }

    fn record(&mut self, record: &'a TranscriptRecord, at: u128) {
        let depth = match &record.parent {
            Some(parent) => self.calls.get(parent.as_str()).map_or(1, |(_, depth)| depth + 1),
            None => 0,
        };
        let lines = match &record.item {
            // Said above, and below.
            TranscriptItem::Head(_) | TranscriptItem::End { .. } => return,
            TranscriptItem::Turn { .. } => {
                self.counts.turns += 1;
                return;
            }
            TranscriptItem::ToolCall { id, tool, input, edits, .. } => {
                self.counts.calls += 1;
                self.calls.insert(id, (tool, depth));
                self.call(tool, input, edits)
            }
            TranscriptItem::ToolResult { id, status, exit_code, output, duration_ms } => {
                let tool = self.calls.get(id.as_str()).map_or("a call", |(tool, _)| tool);
                let how = self.how(tool, *status, *exit_code, *duration_ms);
                with_body(how, self.lines(output))
            }
            item => self.words(item),
        };
        self.push(&lines, at, depth);
    }

    /// A step, its first line with the time, all of it indented by the depth of its sub-agent.
    fn push(&mut self, lines: &[String], at: u128, depth: usize) {
        let bars = "│ ".repeat(depth.min(8));
        for (i, line) in lines.iter().enumerate() {
            let time = if i == 0 { time(at) } else { String::new() };
            let _ = writeln!(self.text, "{}", format!("{time:>9}  {bars}{line}").trim_end());
        }
    }

    fn words(&self, item: &TranscriptItem) -> Vec<String> {
        let status = |status: &Option<u16>| status.map(|s| format!(" {s}")).unwrap_or_default();
        match item {
            TranscriptItem::Session { agent_session, model } => {
                let model = model.as_deref().map(|m| format!(", model {}", plain(m))).unwrap_or_default();
                vec![format!("conversation {}{model}", plain(agent_session))]
            }
            TranscriptItem::Message { role, text } => self.said(role_word(*role), text),
            TranscriptItem::Reasoning { text } => self.said("thinks", text),
            TranscriptItem::Compaction { note } => self.said("~ shortened its context", note),
            TranscriptItem::Retry { status: s, message } => {
                self.said(&format!("↻ asks its model again{}", status(s)), message)
            }
            TranscriptItem::Error { status: s, message } => self.said(&format!("! error{}", status(s)), message),
            TranscriptItem::Unknown { name, line } => {
                let name = format!("? unknown record `{}`", plain(name));
                if self.detail == Detail::Full { self.said(&name, line) } else { vec![name] }
            }
            TranscriptItem::Head(_)
            | TranscriptItem::Turn { .. }
            | TranscriptItem::ToolCall { .. }
            | TranscriptItem::ToolResult { .. }
            | TranscriptItem::End { .. } => Vec::new(),
        }
    }

    /// A word for what it is, then the text; on one line if it has one.
    fn said(&self, what: &str, text: &str) -> Vec<String> {
        let lines = self.lines(text);
        match lines.as_slice() {
            [] => vec![what.to_owned()],
            [only] => vec![format!("{what}: {only}")],
            _ => with_body(format!("{what}:"), lines),
        }
    }

    fn call(&self, tool: &str, input: &Value, edits: &[String]) -> Vec<String> {
        let tool = plain(tool);
        if self.detail == Detail::Full && !input.is_null() {
            let whole = input.as_str().map_or_else(|| format!("{input:#}"), str::to_owned);
            return with_body(format!("▸ {tool}"), self.lines(&whole));
        }
        let about = edits.first().cloned().or_else(|| telling(input)).unwrap_or_default();
        let about = plain(&about);
        let mut lines = about.lines().map(one_line).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let more = match lines.count() + edits.len().saturating_sub(1) {
            0 => String::new(),
            n if edits.is_empty() => format!(" (and {})", plural(n, "more line")),
            n => format!(" (and {})", plural(n, "more file")),
        };
        vec![format!("▸ {tool} {}{more}", shorten(&first, BRIEF_BYTES)).trim_end().to_owned()]
    }

    fn how(&mut self, tool: &str, status: ToolStatus, exit_code: Option<i32>, ms: Option<u64>) -> String {
        let (mark, word) = match status {
            ToolStatus::Ok => ("✓", "ok"),
            ToolStatus::Failed => ("✗", "failed"),
            ToolStatus::Denied => ("✗", "not allowed"),
        };
        self.counts.failed += usize::from(status == ToolStatus::Failed);
        self.counts.denied += usize::from(status == ToolStatus::Denied);
        let exit = exit_code.map(|code| format!(", exit {code}")).unwrap_or_default();
        let took = ms.map(|ms| format!(", {:.1} s", ms as f64 / 1000.0)).unwrap_or_default();
        format!("{mark} {}: {word}{exit}{took}", plain(tool))
    }

    /// The lines of a text that are shown, with a last one that says how many are not.
    fn lines(&self, text: &str) -> Vec<String> {
        let text = plain(text);
        let text = text.trim_end().trim_start_matches('\n');
        if self.detail == Detail::Full {
            return text.lines().map(str::to_owned).collect();
        }
        let shown = |line: &str| shorten(line, BRIEF_BYTES).into_owned();
        let mut lines: Vec<String> = text.lines().take(BRIEF_LINES).map(shown).collect();
        match text.lines().count().saturating_sub(BRIEF_LINES) {
            0 => {}
            // One more line takes no more room than saying so.
            1 => lines.extend(text.lines().nth(BRIEF_LINES).map(shown)),
            n => lines.push(format!("… {n} more lines")),
        }
        lines
    }

    fn foot(&mut self, records: &[TranscriptRecord], unreadable: u64) {
        let took = time(records.last().map_or(0, |last| since(records.first().map(|r| r.at), last)));
        let end = records.iter().rev().find_map(|r| match &r.item {
            TranscriptItem::End { ending, unknown, .. } => Some((ending, unknown)),
            _ => None,
        });
        // Each turn ends, and says what it used itself.
        let mut all = Usage::default();
        for record in records {
            if let TranscriptItem::End { usage, .. } = &record.item {
                all += *usage;
            }
        }
        let counts = &self.counts;
        let mut did = vec![plural(counts.turns, "answer"), plural(counts.calls, "tool call")];
        did.extend((counts.failed > 0).then(|| format!("{} failed", counts.failed)));
        did.extend((counts.denied > 0).then(|| format!("{} not allowed", counts.denied)));
        let did = did.join(", ");
        self.text.push('\n');
        match end {
            Some((ending, unknown)) => {
                let _ = writeln!(self.text, "ended: {} after {took}; {did}\n{}", ending.as_str(), used(&all));
                if !unknown.is_empty() {
                    let kinds = unknown.iter().map(|(name, n)| format!("{} ({n})", plain(name)));
                    let kinds = kinds.collect::<Vec<_>>().join(", ");
                    let _ = writeln!(self.text, "records that no rule knows: {kinds}");
                }
            }
            None => {
                let _ = writeln!(self.text, "no end until {took}: it is at work, or was broken off; {did}");
            }
        }
        if unreadable > 0 {
            let lines = plural(usize::try_from(unreadable).unwrap_or(usize::MAX), "line");
            let _ = writeln!(self.text, "{lines} of the transcript could not be read");
        }
    }
}

fn with_body(first: String, body: Vec<String>) -> Vec<String> {
    std::iter::once(first).chain(body.into_iter().map(|line| format!("    {line}"))).collect()
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "agent",
        Role::System => "system",
    }
}

/// Milliseconds from the start; none where a clock was set back.
fn since(start: Option<Timestamp>, record: &TranscriptRecord) -> u128 {
    start.map_or(0, |start| u128::try_from(record.at.duration_since(start).as_millis()).unwrap_or(0))
}

/// `0:03.2`, minutes and seconds.
fn time(milliseconds: u128) -> String {
    let tenths = milliseconds / 100;
    format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

/// The argument that says most about a call: a command, a file, a pattern; else its first text, else all of it.
fn telling(input: &Value) -> Option<String> {
    const TELLING: [&str; 8] = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "description"];
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        // Codex gives a command as its arguments.
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
        }
        _ => None,
    };
    let telling = TELLING.iter().find_map(|key| text(input.get(key)?));
    telling
        .or_else(|| input.as_object()?.values().find_map(|v| v.as_str().map(str::to_owned)))
        .or_else(|| (!input.is_null()).then(|| input.as_str().map_or_else(|| input.to_string(), str::to_owned)))
}

/// Tokens and money in words.
fn used(usage: &Usage) -> String {
    let count = |n: Option<u64>, what: &str| n.map(|n| format!("{n} {what}"));
    let within =
        |n: Option<u64>, what: &str| n.filter(|n| *n > 0).map(|n| format!(" ({n} {what})")).unwrap_or_default();
    let input = count(usage.input, "tokens in").map(|t| t + &within(usage.cached, "from the cache"));
    let output = count(usage.output, "tokens out").map(|t| t + &within(usage.reasoning, "reasoning"));
    let cost = usage.cost_usd.map(|usd| match usage.cost_source {
        Some(CostSource::Estimated) => format!("about ${usd:.4} (estimated)"),
        Some(CostSource::Reported) | None => format!("${usd:.4}"),
    });
    let used: Vec<String> = [input, output, cost].into_iter().flatten().collect();
    if used.is_empty() { "used: not reported".to_owned() } else { format!("used: {}", used.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A transcript of `(seconds, parent, item)`.
    fn records(steps: Vec<(i64, Option<&str>, Value)>) -> Vec<TranscriptRecord> {
        let record = |(seconds, parent, item): (i64, Option<&str>, Value)| TranscriptRecord {
            v: 1,
            at: jiff::Timestamp::from_second(1_767_225_600 + seconds).unwrap(),
            parent: parent.map(str::to_owned),
            item: serde_json::from_value(item).unwrap(),
        };
        steps.into_iter().map(record).collect()
    }

    fn head() -> TranscriptHead {
        serde_json::from_value(json!({
            "run": "r-1", "session": "s-1", "task": "fix-sum", "subtask": "fix-sum", "attempt": 2, "agent": "claude"
        }))
        .unwrap()
    }

    fn shown(steps: Vec<(i64, Option<&str>, Value)>, detail: Detail) -> String {
        transcript(&head(), &records(steps), 0, detail)
    }

    #[test]
    fn a_session_on_a_page() {
        let steps = vec![
            (0, None, json!({"type": "session", "agentSession": "c-9", "model": "mock"})),
            (1, None, json!({"type": "message", "role": "assistant", "text": "I look.\nThen I mend."})),
            (
                2,
                None,
                json!({"type": "tool_call", "id": "1", "tool": "Bash", "kind": "execute",
                "input": {"command": "make test\nmake lint"}}),
            ),
            (
                3,
                None,
                json!({"type": "tool_result", "id": "1", "status": "failed", "exitCode": 2, "durationMs": 1240,
                "output": "\u{1b}[31mred\u{1b}[0m\n2\n3\n4\n5\n6\n"}),
            ),
            (
                4,
                None,
                json!({"type": "tool_call", "id": "2", "tool": "Task", "kind": "agent", "input": {"prompt": "look"}}),
            ),
            (
                5,
                Some("2"),
                json!({"type": "tool_call", "id": "3", "tool": "Edit", "kind": "edit",
                "input": {"file_path": "/w/a.py"}, "edits": ["/w/a.py", "/w/b.py"]}),
            ),
            (6, Some("2"), json!({"type": "tool_result", "id": "3", "status": "denied"})),
            (7, None, json!({"type": "retry", "status": 529, "message": "overloaded"})),
            (8, None, json!({"type": "compaction"})),
            (70, None, json!({"type": "error", "message": "gone"})),
            (71, None, json!({"type": "turn"})),
            (71, None, json!({"type": "unknown", "name": "hologram", "line": "{}"})),
            (
                72,
                None,
                json!({"type": "end", "ending": {"kind": "agent_error"},
                "usage": {"input": 1200, "cached": 200, "output": 30, "costUsd": 0.5, "costSource": "estimated"},
                "unknown": {"hologram": 1}}),
            ),
        ];
        let expected = "\
fix-sum#2: claude
run r-1, session s-1
   0:00.0  conversation c-9, model mock
   0:01.0  agent:
               I look.
               Then I mend.
   0:02.0  ▸ Bash make test (and 1 more line)
   0:03.0  ✗ Bash: failed, exit 2, 1.2 s
               red
               2
               3
               4
               … 2 more lines
   0:04.0  ▸ Task look
   0:05.0  │ ▸ Edit /w/a.py (and 1 more file)
   0:06.0  │ ✗ Edit: not allowed
   0:07.0  ↻ asks its model again 529: overloaded
   0:08.0  ~ shortened its context
   1:10.0  ! error: gone
   1:11.0  ? unknown record `hologram`

ended: agent_error after 1:12.0; 1 answer, 3 tool calls, 1 failed, 1 not allowed
used: 1200 tokens in (200 from the cache), 30 tokens out, about $0.5000 (estimated)
records that no rule knows: hologram (1)
";
        assert_eq!(shown(steps, Detail::Brief), expected);
    }

    #[test]
    fn everything_is_shown_when_asked_for() {
        let output = (1..=9).map(|i| format!("line {i}")).collect::<Vec<_>>().join("\n");
        let steps = vec![
            (0, None, json!({"type": "tool_call", "id": "1", "tool": "W", "kind": "edit", "input": {"a": {"b": 1}}})),
            (0, None, json!({"type": "tool_result", "id": "1", "status": "ok", "output": output})),
            (0, None, json!({"type": "unknown", "name": "x", "line": "{\"raw\":1}"})),
        ];
        let full = shown(steps.clone(), Detail::Full);
        for part in ["\"b\": 1", "line 9", "{\"raw\":1}", "no end until"] {
            assert!(full.contains(part), "{part}: {full}");
        }
        let brief = shown(steps, Detail::Brief);
        assert!(brief.contains("… 5 more lines") && !brief.contains("line 9") && !brief.contains("raw"), "{brief}");
    }

    #[test]
    fn a_transcript_without_an_end_or_with_odd_records_is_shown() {
        let check = |steps: Vec<(i64, Option<&str>, Value)>, part: &str| {
            let text = shown(steps, Detail::Brief);
            assert!(text.contains(part), "{part}: {text}");
        };
        check(vec![], "no end until 0:00.0: it is at work, or was broken off; 0 answers, 0 tool calls");
        check(vec![(0, None, json!({"type": "tool_result", "id": "9", "status": "ok"}))], "✓ a call: ok");
        check(vec![(0, Some("9"), json!({"type": "reasoning", "text": "hm"}))], "│ thinks: hm");
        // A clock that was set back.
        check(
            vec![(5, None, json!({"type": "turn"})), (0, None, json!({"type": "compaction"}))],
            "0:00.0  ~ shortened",
        );
        check(
            vec![(
                0,
                None,
                json!({"type": "tool_call", "id": "1", "tool": "t\u{202e}x\u{1b}]0;evil\u{7}", "kind": "other",
                "input": ["\u{1b}[2J"]}),
            )],
            "▸ tx [",
        );
    }

    #[test]
    fn a_call_is_named_by_what_says_most() {
        let check = |input: Value, expected: Option<&str>| assert_eq!(telling(&input).as_deref(), expected, "{input}");
        check(json!({"description": "d", "command": "make"}), Some("make"));
        check(json!({"command": ["bash", "-lc", "make"]}), Some("bash -lc make"));
        check(json!({"n": 1, "other": "text"}), Some("text"));
        check(json!("plain"), Some("plain"));
        check(json!([1, 2]), Some("[1,2]"));
        check(Value::Null, None);
    }

    #[test]
    fn a_step_is_a_few_words_that_drive_no_terminal() {
        let check = |item: Value, expected: Option<&str>| {
            let item: TranscriptItem = serde_json::from_value(item).unwrap();
            assert_eq!(step(&item).as_deref(), expected);
        };
        let call = json!({"type": "tool_call", "id": "1", "tool": "Bash", "kind": "execute",
                          "input": {"command": "make \u{1b}[2J\ntest"}});
        check(call, Some("Bash make test"));
        check(json!({"type": "message", "role": "assistant", "text": "a\u{202e}b\r\nc"}), Some("says: ab c"));
        check(json!({"type": "message", "role": "user", "text": "do it"}), None);
        check(json!({"type": "turn"}), None);
        check(json!({"type": "error", "message": "x".repeat(400)}), Some(&format!("error: {}…", "x".repeat(150))));
    }

    #[test]
    fn usage_says_only_what_is_known() {
        let check = |usage: Value, expected: &str| {
            let usage: Usage = serde_json::from_value(usage).unwrap();
            assert_eq!(used(&usage), expected);
        };
        check(json!({}), "used: not reported");
        check(json!({"input": 5, "cached": 0}), "used: 5 tokens in");
        check(
            json!({"output": 5, "reasoning": 2, "costUsd": 0.25, "costSource": "reported"}),
            "used: 5 tokens out (2 reasoning), $0.2500",
        );
    }
}
