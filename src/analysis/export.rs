//! Reads an exported board: JSON Lines, a JSON list, or CSV with a head; the fields stand in `docs/analyze.md`.

use super::board::{BoardTask, Says, Signal};
use super::words::words;
use crate::domain::{LineProblem, Timestamp};
use serde_json::{Map, Value};

/// What an export held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Board {
    /// The tasks.
    pub tasks: Vec<BoardTask>,
    /// Records that could not be read, by their line; those of a JSON list by their place in it.
    pub problems: Vec<LineProblem>,
}

const DONE: [&str; 8] = ["closed", "complete", "completed", "done", "finished", "merged", "resolved", "shipped"];
const RIGHT: [&str; 7] = ["confirmed", "correct", "ok", "pass", "passed", "right", "success"];
const WRONG: [&str; 9] =
    ["broken", "failed", "failure", "false_done", "incorrect", "regression", "reopened", "reverted", "wrong"];
const FOLLOW_UP_WORDS: [&str; 14] = [
    "broke",
    "broken",
    "bug",
    "fix",
    "fixes",
    "fixup",
    "hotfix",
    "regressed",
    "regression",
    "reopen",
    "reopened",
    "revert",
    "reverted",
    "reverts",
];
const ID: [&str; 3] = ["id", "key", "number"];
const FINISHED_AT: [&str; 6] = ["completed_at", "completedat", "closed_at", "closedat", "finished_at", "resolved_at"];

/// Reads an export. `[` begins a JSON list; `{` a document with the list in `tasks`, as `reflexion task list --json` prints
/// it, or JSON Lines; anything else is CSV.
///
/// # Errors
/// In words, what is no such file as a whole.
pub fn read_board(text: &str) -> Result<Board, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().chars().next() {
        None => Ok(Board::default()),
        Some('[') => {
            let list: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("not a JSON list: {error}"))?;
            Ok(of_list(list))
        }
        Some('{') => {
            if let Ok(Value::Object(mut whole)) = serde_json::from_str(text)
                && !ID.iter().any(|id| whole.contains_key(*id))
                && let Some(Value::Array(list)) = whole.remove("tasks")
            {
                return Ok(of_list(list));
            }
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            Ok(collect(lines.map(|(at, line)| {
                let value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"));
                (at + 1, value)
            })))
        }
        Some(_) => csv(text),
    }
}

fn of_list(list: Vec<Value>) -> Board {
    collect(list.into_iter().enumerate().map(|(at, value)| (at + 1, Ok(value))))
}

fn csv(text: &str) -> Result<Board, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| format!("not CSV: {error}"))?.clone();
    let known = |name: &str| {
        let name = name.to_lowercase();
        FINISHED_AT.contains(&name.as_str()) || ["status", "state", "outcome", "verdict"].contains(&name.as_str())
    };
    if !head.iter().any(known) {
        let message = "it is neither JSON nor CSV whose first line names `status`, `completed_at` or `outcome`";
        return Err(message.to_owned());
    }
    let rows: Vec<(usize, Result<Value, String>)> = reader
        .records()
        .map(|row| match row {
            Ok(row) => {
                let line = row.position().map_or(0, |position| position.line() as usize);
                if row.len() != head.len() {
                    return (line, Err(format!("{} fields where the head has {}", row.len(), head.len())));
                }
                let fields = head.iter().zip(row.iter()).filter(|(_, value)| !value.is_empty());
                let fields: Map<String, Value> =
                    fields.map(|(name, value)| (name.to_owned(), Value::String(value.to_owned()))).collect();
                (line, Ok(Value::Object(fields)))
            }
            Err(error) => (error.position().map_or(0, |p| p.line() as usize), Err(error.to_string())),
        })
        .collect();
    Ok(collect(rows.into_iter()))
}

fn collect(records: impl Iterator<Item = (usize, Result<Value, String>)>) -> Board {
    let mut board = Board::default();
    for (line, record) in records {
        match record.and_then(|value| task(value, line)) {
            Ok(task) => board.tasks.push(task),
            Err(message) => board.problems.push(LineProblem { line, message }),
        }
    }
    board
}

/// Names are compared in lower case, so that `completedAt` and `completed_at` both are known.
fn task(value: Value, line: usize) -> Result<BoardTask, String> {
    let Value::Object(record) = value else { return Err("a task is a JSON object".to_owned()) };
    let record: Map<String, Value> =
        record.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_lowercase(), v)).collect();
    let text = |names: &[&str]| names.iter().find_map(|name| record.get(*name)).and_then(as_text);
    let time = |names: &[&str]| {
        let found = names.iter().find_map(|name| Some((*name, record.get(*name)?)));
        found.map(|(name, value)| as_time(value).ok_or_else(|| no_time(name, value))).transpose()
    };
    let at = time(&FINISHED_AT)?;
    let status = text(&["status", "state"]).map(|status| status.trim().to_lowercase());
    let finished = status.as_deref().map_or(at.is_some(), |status| DONE.contains(&status));
    let mut signals = Vec::new();
    for field in ["outcome", "verdict"] {
        let says = text(&[field]).and_then(|word| outcome(&word));
        let when = time(&["outcome_at", "outcomeat"])?;
        signals.extend(says.map(|says| Signal { at: when, says, what: field.to_owned() }));
    }
    for (field, names) in
        [("reopened_at", ["reopened_at", "reopenedat"]), ("reverted_at", ["reverted_at", "revertedat"])]
    {
        let when = time(&names)?;
        // A task that was opened again is not finished any more, and was.
        signals.extend(when.map(|at| Signal { at: Some(at), says: Says::Wrong, what: field.to_owned() }));
    }
    let was_finished = finished || (at.is_some() && !signals.is_empty());
    signals.extend(follow_ups(record.get("followups").or_else(|| record.get("follow_ups"))));
    let id = text(&ID).unwrap_or_else(|| format!("line {line}"));
    Ok(BoardTask { id, finished: was_finished, at, signals })
}

fn outcome(word: &str) -> Option<Says> {
    let word = word.trim().to_lowercase();
    match () {
        () if RIGHT.contains(&word.as_str()) => Some(Says::Right),
        () if WRONG.contains(&word.as_str()) => Some(Says::Wrong),
        () => None,
    }
}

/// Follow-ups whose words say that something had to be repaired: texts, texts in one field parted by `;`, or objects with
/// `title` and `at`.
fn follow_ups(given: Option<&Value>) -> Vec<Signal> {
    let repairs = |text: &str| words(text).iter().any(|word| FOLLOW_UP_WORDS.contains(&word.as_str()));
    let signal = |at| Signal { at, says: Says::Wrong, what: "followups".to_owned() };
    match given {
        Some(Value::String(texts)) => texts.split(';').filter(|text| repairs(text)).map(|_| signal(None)).collect(),
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|entry| match entry {
                Value::String(text) => repairs(text).then(|| signal(None)),
                Value::Object(entry) => {
                    let text = |name: &&str| entry.get(*name).and_then(Value::as_str);
                    let said = ["title", "text", "type"].iter().filter_map(text).any(repairs);
                    let at = ["at", "created_at", "createdAt"].iter().find_map(|name| as_time(entry.get(*name)?));
                    said.then(|| signal(at))
                }
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn no_time(name: &str, value: &Value) -> String {
    let shown: String = value.to_string().chars().take(40).collect();
    format!("`{name}` is a time such as 2026-05-05T12:00:00Z or a day, not {shown}")
}

fn as_time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => parse_time(text),
        // Seconds since 1970; milliseconds are some thousand times as many.
        Value::Number(number) => match number.as_i64()? {
            seconds @ -99_999_999_999..=99_999_999_999 => Timestamp::from_second(seconds).ok(),
            milliseconds => Timestamp::from_millisecond(milliseconds).ok(),
        },
        _ => None,
    }
}

/// A moment (RFC 3339), or a day (`2026-05-05`, its beginning in UTC).
#[must_use]
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let of_day = || {
        let day: jiff::civil::Date = text.parse().ok()?;
        Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    // A day alone parses as no moment, and a moment's beginning would parse as a day.
    text.parse().ok().or_else(|| if text.len() <= 10 { of_day() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(json: &str) -> BoardTask {
        let board = read_board(json).unwrap();
        assert_eq!(board.problems, [], "{json}");
        board.tasks.into_iter().next().unwrap()
    }

    #[test]
    fn fields_say_whether_a_task_is_finished_and_what_came_of_it() {
        let check = |json: &str, finished: bool, says: &[Says]| {
            let task = one(json);
            let said: Vec<Says> = task.signals.iter().map(|signal| signal.says).collect();
            assert_eq!((task.finished, said.as_slice()), (finished, says), "{json}");
        };
        check(r#"{"id":1,"status":"Done"}"#, true, &[]);
        check(r#"{"id":1,"status":"open"}"#, false, &[]);
        check(r#"{"completedAt":"2026-01-01"}"#, true, &[]);
        check(r#"{"status":"done","outcome":"correct"}"#, true, &[Says::Right]);
        check(r#"{"status":"done","outcome":"who knows"}"#, true, &[]);
        check(r#"{"status":"closed","verdict":"false_done"}"#, true, &[Says::Wrong]);
        check(r#"{"status":"open","completed_at":"2026-01-01","reopened_at":"2026-01-02"}"#, true, &[Says::Wrong]);
        check(r#"{"status":"done","followups":["Fix the crash","praise","prefix"]}"#, true, &[Says::Wrong]);
        check(r#"{"status":"done","followups":[{"title":"regression","at":1767225600}]}"#, true, &[Says::Wrong]);
        check(r#"{"status":"done","outcome":null}"#, true, &[]);
    }

    #[test]
    fn the_three_forms_say_the_same() {
        let lines = "{\"id\":\"a\",\"status\":\"done\",\"completed_at\":\"2026-01-01\"}\n\n{\"id\":\"b\",\"status\":\"done\",\"outcome\":\"wrong\"}\n";
        let list =
            r#"[{"id":"a","status":"done","completed_at":"2026-01-01"},{"id":"b","status":"done","outcome":"wrong"}]"#;
        let csv = "id,status,completed_at,outcome\na,done,2026-01-01,\n\"b\",done,,wrong\n";
        let expected = read_board(lines).unwrap();
        assert_eq!(expected.tasks.len(), 2);
        assert_eq!(read_board(list).unwrap(), expected);
        assert_eq!(read_board(csv).unwrap(), expected);
        let document = format!("{{\n \"tasks\": {list}\n}}\n");
        assert_eq!(read_board(&document).unwrap(), expected);
        assert_eq!(read_board(r#"{"tasks":[]}"#).unwrap(), Board::default());
        assert_eq!(one(r#"{"id":"x","status":"done","tasks":["a","b"]}"#).id, "x");
        assert_eq!(read_board("").unwrap(), Board::default());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let check = |text: &str, line: usize, message: &str| {
            let board = read_board(text).unwrap();
            assert_eq!((board.problems.len(), board.problems[0].line), (1, line), "{text}");
            assert!(board.problems[0].message.contains(message), "{}", board.problems[0].message);
        };
        check("{\"id\":1,\"status\":\"done\"}\n{torn", 2, "not JSON");
        check("[{\"status\":\"done\"}, 7]", 2, "a task is a JSON object");
        check("{\"id\":1,\"completed_at\":\"soon\"}", 1, "`completed_at` is a time such as");
        check("id,status\na,done,more", 2, "3 fields where the head has 2");
        assert!(read_board("hello\nworld").unwrap_err().contains("neither JSON nor CSV"));
        assert!(read_board("[{]").unwrap_err().contains("not a JSON list"));
    }

    #[test]
    fn days_and_moments_are_read() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(parse_time(text).map(|at| at.to_string()).as_deref(), expected, "{text}");
        };
        check("2026-05-05", Some("2026-05-05T00:00:00Z"));
        check("2026-05-05T01:00:00+01:00", Some("2026-05-05T00:00:00Z"));
        check("yesterday", None);
        check("2026-05-05T25:00:00Z", None);
        check("14", None);
    }
}
