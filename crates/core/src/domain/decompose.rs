//! Splitting a task by the explicit structure of its description: one part per item of a checklist or numbered list.
//!
//! Nothing is guessed. Where it is not clear which list is the work (two numbered ones, say steps to reproduce and steps to
//! take), the task stays whole.

use super::policy::Decompose;
use super::{Subtask, SubtaskId, Task};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Each part costs attempts of its own; a list that is longer is a project, not a task.
pub const MOST_PARTS: usize = 32;

/// A list with more items than a task is split into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the list in its description has {items} items, and a task is split into at most {MOST_PARTS} parts; make several tasks of \
     it, or set `decompose` to `off`"
)]
pub struct TooManyItems {
    /// How many are not ticked off.
    pub items: usize,
}

/// The parts that a task's description asks for; none where the task has written subtasks, is not to be split, or has no
/// such list of two or more items.
///
/// Items that are ticked off are no parts. A part's id comes from its first line, so that its attempts count on when items
/// are added, ticked off or moved.
///
/// # Errors
/// [`TooManyItems`].
pub fn decompose(task: &Task, how: Decompose) -> Result<Vec<Subtask>, TooManyItems> {
    if !task.subtasks.is_empty() || how == Decompose::Off {
        return Ok(Vec::new());
    }
    let items = Reader::read(&task.description);
    let (ticked, numbered): (Vec<Item>, Vec<Item>) = items.into_iter().partition(|item| item.tick.is_some());
    let one_list = numbered.first().is_some_and(|item| item.number <= 1)
        && numbered.iter().all(|item| item.list == numbered[0].list);
    let chosen = match how {
        _ if ticked.len() >= 2 => ticked,
        Decompose::Structure if numbered.len() >= 2 && one_list => numbered,
        _ => Vec::new(),
    };
    let open: Vec<Item> = chosen.into_iter().filter(|item| item.tick != Some(Tick::Done)).collect();
    if open.len() > MOST_PARTS {
        return Err(TooManyItems { items: open.len() });
    }
    let mut seen = BTreeMap::new();
    Ok(open.iter().map(|item| item.part(&mut seen)).collect())
}

impl Task {
    /// The same task with the parts that its description asks for as its subtasks, where there are any.
    ///
    /// ```
    /// # use reflexion_core::domain::{Task, policy::Decompose};
    /// let task: Task = serde_json::from_str(r#"{"id":"a","title":"t","description":"- [x] read\n- [ ] write\n- [ ] test"}"#)?;
    /// let parts = task.clone().split(Decompose::Structure).parts();
    /// assert_eq!(parts.iter().map(|part| part.title.as_str()).collect::<Vec<_>>(), ["write", "test"]);
    /// assert_eq!(task.clone().split(Decompose::Off), task);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn split(mut self, how: Decompose) -> Self {
        if let Ok(parts) = decompose(&self, how)
            && !parts.is_empty()
        {
            self.subtasks = parts;
        }
        self
    }
}

/// A part of a task that somebody proposes: words for agents, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedPart {
    /// One line.
    pub title: String,
    /// What is to be done, and when it is.
    pub description: String,
}

/// Proposed parts as subtasks, with ids made of their titles as those of a list's items are.
#[must_use]
pub fn parts_of(proposed: &[ProposedPart]) -> Vec<Subtask> {
    let mut seen = BTreeMap::new();
    proposed.iter().map(|proposed| part(proposed.title.clone(), proposed.description.clone(), &mut seen)).collect()
}

/// The parts that were proposed for a task as it stood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// A digest of the task's title, description and acceptance criteria.
    of: String,
    /// The parts; none where it is better worked on as a whole.
    pub parts: Vec<Subtask>,
}

impl Proposal {
    /// What was proposed for this task.
    #[must_use]
    pub fn new(task: &Task, parts: Vec<Subtask>) -> Self {
        Self { of: digest(task), parts }
    }

    /// Whether the task still says what it said then; its parts are no longer those of another text.
    #[must_use]
    pub fn is_of(&self, task: &Task) -> bool {
        self.of == digest(task)
    }
}

fn digest(task: &Task) -> String {
    let mut digest = Sha256::new();
    for text in [&task.title, &task.description, &task.acceptance_criteria] {
        digest.update(text.as_bytes());
        digest.update([0]);
    }
    digest.finalize()[..16].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The box in front of an item of a checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tick {
    Open,
    Done,
}

/// An item at the top level.
#[derive(Debug)]
struct Item {
    tick: Option<Tick>,
    number: u32,
    /// Which of the description's lists it is in.
    list: usize,
    title: String,
    body: Vec<String>,
}

impl Item {
    fn part(&self, seen: &mut BTreeMap<String, u32>) -> Subtask {
        part(self.title.clone(), self.body.join("\n").trim_matches('\n').to_owned(), seen)
    }
}

fn part(title: String, description: String, seen: &mut BTreeMap<String, u32>) -> Subtask {
    let id = id(&title);
    let count = seen.entry(id.clone()).or_default();
    *count += 1;
    let id = if *count == 1 { id } else { format!("{id}-{count}") };
    let id = SubtaskId::new(id).expect("letters, digits and single dashes, of 62 characters at most");
    Subtask { id, title, description, checks: Vec::new() }
}

/// Some words to know it by, and a digest that tells it from others; blanks and capitals do not matter.
fn id(title: &str) -> String {
    const WORDS: usize = 40;
    let plain = title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let digest = Sha256::digest(plain.as_bytes());
    let digest = format!("{:08x}", u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]));
    let mut id = String::new();
    for word in plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if id.len() + word.len() >= WORDS {
            break;
        }
        id += word;
        id.push('-');
    }
    if id.is_empty() { format!("item-{digest}") } else { id + &digest }
}

/// Reads Markdown line by line, as far as lists need it.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    /// Where the text of the last item begins, while lines may still belong to it.
    inside: Option<Inside>,
    /// The fence that code stands in: its character and length.
    fence: Option<(char, usize)>,
    comment: bool,
    after_blank: bool,
    lists: usize,
}

#[derive(Clone, Copy)]
struct Inside {
    indent: usize,
    text: usize,
}

impl Reader {
    fn read(description: &str) -> Vec<Item> {
        let mut reader = Self::default();
        for line in description.lines() {
            let line = line.replace('\t', "    ");
            let line = line.trim_end();
            reader.line(line);
            reader.after_blank = line.is_empty();
        }
        reader.items
    }

    fn line(&mut self, line: &str) {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        if let Some((mark, length)) = self.fence {
            self.keep(line);
            let closes = run_of(rest, mark) >= length && rest.trim_start_matches(mark).is_empty();
            self.fence = self.fence.filter(|_| !closes);
            return;
        }
        if self.comment {
            self.comment = !rest.contains("-->");
            return;
        }
        if rest.is_empty() {
            self.keep("");
            return;
        }
        // Two blanks are enough in practice, whatever the width of the number is.
        let belongs = self.inside.is_some_and(|item| indent >= item.text.min(item.indent + 2));
        let fence = fence(rest);
        if belongs {
            self.fence = fence;
            self.keep(line);
        } else if indent > 3 {
            // Code by its indentation.
            self.inside = None;
        } else if fence.is_some() {
            self.fence = fence;
            self.inside = None;
        } else if rest.starts_with("<!--") {
            self.comment = !rest.contains("-->");
            self.inside = None;
        } else if let Some(marker) = Marker::read(rest) {
            self.begin(marker, indent);
        } else if self.after_blank || begins_something(rest) {
            self.inside = None;
        } else {
            // A paragraph goes on without indentation.
            self.keep(rest);
        }
    }

    fn begin(&mut self, marker: Marker<'_>, indent: usize) {
        let goes_on =
            self.inside.is_some() && self.items.last().is_some_and(|last| last.tick.is_some() == marker.tick.is_some());
        self.lists += usize::from(!goes_on);
        self.inside = Some(Inside { indent, text: indent + marker.width });
        let title = marker.text.to_owned();
        self.items.push(Item { tick: marker.tick, number: marker.number, list: self.lists, title, body: Vec::new() });
    }

    /// A further line of the item that is being read, without the item's indentation.
    fn keep(&mut self, line: &str) {
        if let (Some(inside), Some(item)) = (self.inside, self.items.last_mut()) {
            let blanks = line.len() - line.trim_start().len();
            item.body.push(line[blanks.min(inside.text)..].to_owned());
        }
    }
}

/// How a line of a list begins.
struct Marker<'a> {
    tick: Option<Tick>,
    number: u32,
    width: usize,
    text: &'a str,
}

impl<'a> Marker<'a> {
    /// A bullet with a box, or a number with or without one.
    fn read(line: &'a str) -> Option<Self> {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let after = &line[digits..];
        let (number, text) = match digits {
            0 => (0, after.strip_prefix(['-', '*', '+'])?),
            1..=9 => (line[..digits].parse().ok()?, after.strip_prefix(['.', ')'])?),
            _ => return None,
        };
        let text = text.strip_prefix(' ')?.trim_start();
        let width = digits + 2;
        let ticked = [("[ ] ", Tick::Open), ("[x] ", Tick::Done), ("[X] ", Tick::Done)];
        let tick = ticked.into_iter().find_map(|(words, tick)| Some((tick, text.strip_prefix(words)?.trim_start())));
        match tick {
            Some((tick, text)) => Some(Self { tick: Some(tick), number, width, text }),
            None if digits > 0 && !text.is_empty() => Some(Self { tick: None, number, width, text }),
            None => None,
        }
    }
}

/// Whether a line cannot be the middle of a paragraph: a heading, a quotation, a table, HTML, a plain bullet.
fn begins_something(line: &str) -> bool {
    let bullet = line.strip_prefix(['-', '*', '+']).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    bullet || line.starts_with(['#', '>', '|', '<']) || line.starts_with("---") || line.starts_with("***")
}

/// The fence that a line opens. With backticks on both sides it would be code in a line.
fn fence(line: &str) -> Option<(char, usize)> {
    let fences = ['`', '~'].map(|mark| (mark, run_of(line, mark)));
    let opens = |(mark, length): &(char, usize)| *length >= 3 && (*mark == '~' || !line[*length..].contains('`'));
    fences.into_iter().find(opens)
}

fn run_of(line: &str, mark: char) -> usize {
    line.chars().take_while(|c| *c == mark).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(description: &str) -> Task {
        serde_json::from_value(serde_json::json!({ "id": "a", "title": "t", "description": description })).unwrap()
    }

    fn parts(description: &str, how: Decompose) -> Vec<(String, String)> {
        let parts = decompose(&task(description), how).unwrap();
        parts.into_iter().map(|part| (part.title, part.description)).collect()
    }

    fn check(description: &str, expected: &[&str]) {
        let titles: Vec<String> =
            parts(description, Decompose::Structure).into_iter().map(|(title, _)| title).collect();
        assert_eq!(titles, expected, "{description}");
    }

    #[test]
    fn a_checklist_or_one_numbered_list_is_a_part_per_item() {
        check("Do this:\n\n- [ ] one\n- [ ] two", &["one", "two"]);
        check("* [ ] one\n+ [X] done\n1. [ ] two", &["one", "two"]);
        check("1. one\n2. two\n10) ten", &["one", "two", "ten"]);
        check("## A\n- [ ] one\n\n## B\n\nText.\n\n- [ ] two", &["one", "two"]);
        // Steps to reproduce beside a checklist are no work.
        check("1. open it\n2. see it fail\n\n- [ ] one\n- [ ] two", &["one", "two"]);
    }

    #[test]
    fn what_is_not_clearly_a_list_of_work_stays_whole() {
        for whole in [
            "",
            "- one\n- two",
            "- [ ] only one",
            "- [x] one\n- [x] two",
            "1. only one",
            "Steps:\n1. a\n2. b\n\nTo do:\n1. c\n2. d",
            "Since\n3. March it fails, and\n4. April too",
            "-[ ] one\n-[ ] two",
            "- [ ]\n- [ ]",
            "- []one\n- []two",
            "2026. one\n2027. two",
            "    - [ ] code\n    - [ ] code",
            "> - [ ] quoted\n> - [ ] quoted",
            "<!--\n- [ ] of the template\n- [ ] of the template\n-->",
        ] {
            check(whole, &[]);
        }
    }

    #[test]
    fn lists_in_code_are_no_structure() {
        check("```\n- [ ] a\n- [ ] b\n```", &[]);
        check("~~~~ md\n1. a\n~~~\n2. b\n~~~~\n1. one\n2. two", &["one", "two"]);
        // A fence that nothing closes goes to the end.
        check("- [ ] one\n- [ ] two\n\n```\n- [ ] three", &["one", "two"]);
        check("- [ ] one\n- [ ] two\n\n```x``` in a line\n- [ ] three", &["one", "two", "three"]);
        let found = parts("- [ ] one\n  ```\n  - [ ] a\n    x\n  ```\n- [ ] two", Decompose::Structure);
        assert_eq!(found[0], ("one".to_owned(), "```\n- [ ] a\n  x\n```".to_owned()));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn an_item_keeps_its_further_lines_and_its_own_lists() {
        let text = "1. one\nlazily goes on\n\n   A paragraph.\n   - [ ] inside\n     1. deeper\n2. two\n\nAfterwards.";
        let found = parts(text, Decompose::Structure);
        let first = "lazily goes on\n\nA paragraph.\n- [ ] inside\n  1. deeper";
        assert_eq!(found, [("one".to_owned(), first.to_owned()), ("two".to_owned(), String::new())]);
        // One blank is no nesting, two are.
        check("- [ ] one\n - [ ] two\n   - [ ] inside two", &["one", "two"]);
    }

    #[test]
    fn the_setting_decides() {
        assert!(parts("- [ ] one\n- [ ] two", Decompose::Off).is_empty());
        assert_eq!(parts("- [ ] one\n- [ ] two", Decompose::Checklist).len(), 2);
        assert!(parts("1. one\n2. two", Decompose::Checklist).is_empty());
        let mut written = task("- [ ] one\n- [ ] two");
        written.subtasks = written.parts();
        assert_eq!(decompose(&written, Decompose::Structure).unwrap(), []);
    }

    #[test]
    fn ids_stay_when_items_are_added_moved_and_ticked_off() {
        let ids = |text: &str| -> Vec<String> {
            let parts = decompose(&task(text), Decompose::Structure).unwrap();
            parts.into_iter().map(|part| part.id.to_string()).collect()
        };
        let before = ids("- [ ] Read the file\n- [ ] Write `x`");
        assert!(before[0].starts_with("read-the-file-") && before[1].starts_with("write-x-"), "{before:?}");
        let after = ids("- [ ] new\n- [x] gone\n- [ ] Write `x`\n  with details\n- [ ] read  the file");
        assert_eq!((&after[2], &after[1]), (&before[0], &before[1]));
        // A last item that is left is still itself.
        assert_eq!(ids("- [x] Read the file\n- [ ] Write `x`"), before[1..]);
        let same = ids("- [ ] again\n- [ ] again\n- [ ] größer als größer\n- [ ] 漢字");
        assert_eq!(same[1], format!("{}-2", same[0]));
        assert!(same[3].starts_with("item-"), "{same:?}");
        assert!(ids(&format!("- [ ] {0}\n- [ ] {0}", "word ".repeat(99))).iter().all(|id| id.len() <= 64));
    }

    #[test]
    fn a_proposal_is_of_the_task_as_it_stood_and_its_ids_are_those_of_a_list() {
        let proposed = ["Read the file", "again", "again"]
            .map(|title| ProposedPart { title: title.to_owned(), description: "in words".to_owned() });
        let before = task("text");
        let proposal = Proposal::new(&before, parts_of(&proposed));
        let ids: Vec<&str> = proposal.parts.iter().map(|part| part.id.as_str()).collect();
        assert_eq!(ids[0], parts_of(&proposed[..1])[0].id.as_str());
        assert_eq!(ids[2], format!("{}-2", ids[1]));
        let listed = decompose(&task("- [ ] Read the file\n- [ ] x"), Decompose::Checklist).unwrap();
        assert_eq!(listed[0].id.as_str(), ids[0]);
        assert!(proposal.is_of(&Task { priority: 0, subtasks: before.parts(), ..before.clone() }));
        assert!(!proposal.is_of(&task("another text")));
        assert!(!proposal.is_of(&Task { acceptance_criteria: "new".to_owned(), ..before }));
    }

    #[test]
    fn too_long_a_list_is_an_error() {
        let list = |n: usize| task(&(0..n).map(|i| format!("- [ ] item {i}\n")).collect::<Vec<_>>().concat());
        assert_eq!(decompose(&list(32), Decompose::Checklist).unwrap().len(), 32);
        assert_eq!(decompose(&list(33), Decompose::Checklist), Err(TooManyItems { items: 33 }));
        assert_eq!(list(33).split(Decompose::Checklist), list(33));
    }
}
