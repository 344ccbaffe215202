//! Reading the lines of a task file.

use super::lines::{MAX_LINE, bare_range, for_each_line, json_problem};
use crate::domain::{DistinctKeys, LineProblem, Task, TaskId};
use std::collections::HashMap;
use std::io;
use std::io::Read;
use std::ops::Range;

/// What a task file holds.
#[derive(Debug, Default)]
pub(super) struct TaskFile {
    /// The readable lines, in order.
    pub(super) lines: Vec<TaskLine>,
    /// The others, blank ones apart.
    pub(super) problems: Vec<LineProblem>,
}

/// One readable line.
#[derive(Debug)]
pub(super) struct TaskLine {
    /// The task as the line has it.
    pub(super) task: Task,
    /// Where the JSON object stands in the file.
    pub(super) bytes: Range<usize>,
}

impl TaskFile {
    /// Reads every line; the first of several with the same id is the task, the others are problems.
    pub(super) fn read(mut reader: impl Read) -> io::Result<Self> {
        let mut front = Vec::new();
        reader.by_ref().take(2).read_to_end(&mut front)?;
        if front == [0xFF, 0xFE] || front == [0xFE, 0xFF] {
            return Err(io::Error::other("it is UTF-16; a task file is UTF-8"));
        }
        let mut file = Self::default();
        let mut first_lines: HashMap<TaskId, usize> = HashMap::new();
        for_each_line(front.as_slice().chain(reader), |line| {
            let read = match line.content {
                Some(content) => read_task(content),
                None => Err(format!("longer than {MAX_LINE} bytes")),
            };
            let read = read.and_then(|task| match task {
                Some((task, _)) if first_lines.contains_key(&task.id) => {
                    Err(format!("id `{}` stands already in line {}", task.id, first_lines[&task.id]))
                }
                other => Ok(other),
            });
            match read {
                Ok(Some((task, at))) => {
                    first_lines.insert(task.id.clone(), line.number);
                    let start = usize::try_from(line.start).map_err(io::Error::other)?;
                    file.lines.push(TaskLine { task, bytes: start + at.start..start + at.end });
                }
                Ok(None) => {}
                Err(message) => file.problems.push(LineProblem { line: line.number, message }),
            }
            Ok(())
        })?;
        Ok(file)
    }
}

/// A task and where it stands in the line; nothing if the line is blank.
fn read_task(line: &[u8]) -> Result<Option<(Task, Range<usize>)>, String> {
    let range = bare_range(line);
    let json = &line[range.clone()];
    if json.is_empty() {
        return Ok(None);
    }
    let json =
        std::str::from_utf8(json).map_err(|e| format!("not UTF-8 at byte {}", range.start + e.valid_up_to() + 1))?;
    if !json.starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    distinct_keys(json)?;
    match serde_json::from_str(json) {
        Ok(task) => Ok(Some((task, range))),
        Err(e) => Err(json_problem(&e)),
    }
}

/// Whether no key stands twice in one object; what is no JSON at all is left to whoever reads it as a task.
fn distinct_keys(json: &str) -> Result<(), String> {
    let read: Result<DistinctKeys, _> = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json));
    match read {
        Err(e) if e.inner().is_data() && e.path().iter().next().is_some() => {
            Err(format!("`{}`: {}", e.path(), json_problem(e.inner())))
        }
        Err(e) if e.inner().is_data() => Err(json_problem(e.inner())),
        Ok(DistinctKeys) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], ids: &[&str], problems: &[(usize, &str)]) {
        let file = TaskFile::read(text).unwrap();
        let found: Vec<_> = file.lines.iter().map(|l| l.task.id.as_str()).collect();
        assert_eq!(found, ids);
        for line in &file.lines {
            let json = &text[line.bytes.clone()];
            assert_eq!(serde_json::from_slice::<Task>(json).unwrap(), line.task);
        }
        let found: Vec<_> = file.problems.iter().map(|p| (p.line, p.message.as_str())).collect();
        assert_eq!(found, problems);
    }

    #[test]
    fn every_line_is_a_task_or_a_problem_with_its_number() {
        check(b"", &[], &[]);
        check(b"\n \r\n\0\n", &[], &[]);
        check(b"\xEF\xBB\xBF{\"id\":\"a\",\"title\":\"A\"}\r\n\n{\"id\":\"b\",\"title\":\"B\"}", &["a", "b"], &[]);
        check(
            b"{\"id\":\"a\",\"title\":\"A\"}\n{\"id\":\"a\"\n{\"id\":\"b\"}\n{\"id\":\"../x\",\"title\":\"t\"}\n{\"id\":\"a\",\"title\":\"again\"}\n[]\n",
            &["a"],
            &[
                (2, "not JSON: EOF while parsing an object at column 9"),
                (3, "missing field `title`"),
                (4, "id \"../x\" is not allowed: ids are 1 to 64 of `A-Z a-z 0-9 . _ -` and start with a letter or digit"),
                (5, "id `a` stands already in line 1"),
                (6, "not a JSON object"),
            ],
        );
        check(
            b"{\"id\":\"a\",\"title\":\"\xFF\"}\n\0\0{\"id\":\"b\",\"title\":\"B\"}\0\n{\"id\":\"c\",\"title\":\"\0\"}\n",
            &["b"],
            &[
                (1, "not UTF-8 at byte 20"),
                (3, "not JSON: control character (\\u0000-\\u001F) found while parsing a string at column 20"),
            ],
        );
        // The last value would count, and whoever wrote both may have meant the first.
        check(
            br#"{"id":"a","title":"t","\u0074itle":"u"}
{"id":"b","title":"t","mine":{"x":[{"k":1},{"k":2}],"k":1e999}}
{"id":"c","title":"t","mine":1,"mine":2}
{"id":"d","title":"t","checks":[{"name":"x","run":"make","run":"true"}]}"#,
            &["b"],
            &[
                (1, "the key `title` stands twice"),
                (3, "the key `mine` stands twice"),
                (4, "`checks[0]`: the key `run` stands twice"),
            ],
        );
        let huge =
            [&b"{\"id\":\"a\",\"title\":\"A\"}\n"[..], &vec![b'x'; MAX_LINE + 1], b"\n{\"id\":\"b\",\"title\":\"B\"}"]
                .concat();
        check(&huge, &["a", "b"], &[(2, "longer than 1048576 bytes")]);
    }

    #[test]
    fn utf_16_is_refused_as_a_whole() {
        let text: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let error = TaskFile::read(text.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "it is UTF-16; a task file is UTF-8");
    }
}
