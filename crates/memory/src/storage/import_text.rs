//! Lessons in texts: ACE's playbooks, and lists in Markdown.

use super::import::{ImportHow, Imported, id_of};
use crate::domain::{Category, LineProblem, Origin, Reflection, SessionId};

/// The label of what is to be done, as a prompt and an exported page have it.
const DO: &str = "What to do differently:";
/// The label of the task, as an exported page has it.
const TASK: &str = "Task:";

/// What a playbook's line says, or what is wrong with it; none where it is no bullet. Its counters are read and not believed: nobody here has counted.
pub(super) fn bullet(line: &str) -> Option<Result<&str, String>> {
    let (_, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    let counted = rest.starts_with("helpful") || rest.contains("::");
    counted.then(|| {
        let rest = counter(rest, "helpful")?;
        let rest = counter(rest, "harmful")?;
        let text = rest.strip_prefix("::").ok_or("`::` is missing behind the counters")?.trim();
        if text.is_empty() { Err("nothing stands behind `::`".to_owned()) } else { Ok(text) }
    })
}

/// What stands behind `name=3`.
fn counter<'t>(text: &'t str, name: &str) -> Result<&'t str, String> {
    let wrong = || format!("`{name}` must be `{name}=` and a number");
    let text = text.strip_prefix(name).and_then(|text| text.strip_prefix('=')).ok_or_else(wrong)?;
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == text.len() { Err(wrong()) } else { Ok(rest.trim_start()) }
}

/// Reads a playbook: each bullet is advice, and its section says what it is about.
pub(super) fn playbook(how: &ImportHow, into: &mut Imported) {
    let whole = std::mem::take(&mut into.whole);
    let mut section = String::new();
    for (place, line) in String::from_utf8_lossy(&whole).lines().enumerate() {
        if let Some(heading) = heading(line) {
            section = heading.to_owned();
            continue;
        }
        match bullet(line) {
            None => {}
            Some(Err(message)) => into.problems.push(LineProblem { line: place + 1, message }),
            Some(Ok(text)) => {
                let found =
                    Item { text: about("an ACE playbook", &section), advice: text.to_owned(), ..Item::default() };
                into.reflections.push(found.into_reflection(how));
            }
        }
    }
}

/// One item of a list.
#[derive(Default)]
struct Item {
    text: String,
    advice: String,
    steps: Vec<String>,
    task: Option<String>,
    line: usize,
}

/// Reads a page: each item of a list is a lesson. Where items below it say what to do, it says what went wrong; else it is advice, and its heading says what
/// it is about. What stands in fences is code.
pub(super) fn markdown(how: &ImportHow, into: &mut Imported) {
    let whole = std::mem::take(&mut into.whole);
    let (mut section, mut fence, mut items) = (String::new(), None, Vec::<(Item, String)>::new());
    for (place, line) in String::from_utf8_lossy(&whole).lines().enumerate() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        if let Some(mark) = mark.filter(|mark| fence.is_none_or(|open| open == *mark)) {
            fence = if fence.is_some() { None } else { Some(mark) };
        } else if fence.is_some() {
        } else if let Some(heading) = heading(line) {
            section = heading.to_owned();
        } else if let Some(text) = item(line) {
            let item = Item { text: text.to_owned(), line: place + 1, ..Item::default() };
            items.push((item, section.clone()));
        } else if let Some((last, _)) =
            items.last_mut().filter(|_| line.starts_with([' ', '\t']) && !line.trim().is_empty())
        {
            last.goes_on(line.trim());
        }
    }
    for (mut item, section) in items {
        if item.advice.is_empty() && item.steps.is_empty() {
            item.advice = std::mem::replace(&mut item.text, about("a list", &section));
        }
        if item.advice.trim().is_empty() {
            let message = format!("the item says what went wrong and nothing to do: `{DO}` is missing below it");
            into.problems.push(LineProblem { line: item.line, message });
        } else {
            into.reflections.push(item.into_reflection(how));
        }
    }
}

impl Item {
    /// A line below the item.
    fn goes_on(&mut self, line: &str) {
        let below = item(line);
        let text = below.unwrap_or(line);
        if let Some(task) = text.strip_prefix(TASK).filter(|_| below.is_some()) {
            self.task = Some(task.trim().to_owned());
        } else if let Some(advice) = text.strip_prefix(DO).filter(|_| below.is_some()) {
            self.advice = advice.trim().to_owned();
        } else if below.is_some() {
            self.steps.push(text.to_owned());
        } else {
            let last = match self.steps.last_mut() {
                Some(step) => step,
                None if !self.advice.is_empty() => &mut self.advice,
                None => &mut self.text,
            };
            last.push(' ');
            last.push_str(text);
        }
    }

    fn into_reflection(self, how: &ImportHow) -> Reflection {
        let task = self.task.filter(|task| !task.is_empty()).unwrap_or_else(|| how.task.clone());
        let said = format!("{}\n{}\n{}", self.text, self.advice, self.steps.join("\n"));
        Reflection {
            id: id_of(said.as_bytes()),
            session_id: SessionId::default(),
            subtask_id: task.clone(),
            task_id: task,
            attempt_number: 1,
            category: Category::RootCause,
            analysis: self.text,
            suggestion: self.advice,
            action_items: self.steps,
            confidence: 0.5,
            created_at: how.now,
            v: Reflection::VERSION,
            origin: Some(Origin::Import),
            already_tried: None,
            signature: None,
            failure: None,
            replaces: None,
            files: Vec::new(),
            foreign: false,
        }
    }
}

fn about(what: &str, section: &str) -> String {
    if section.is_empty() { format!("From {what}") } else { format!("From {what}, under \"{section}\"") }
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len() && text.starts_with(' ')).then(|| text.trim())
}

/// The text of a list's item at the beginning of a line.
pub(super) fn item(line: &str) -> Option<&str> {
    let text = ["- ", "* ", "+ "].into_iter().find_map(|mark| line.strip_prefix(mark))?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::import::ImportFormat;
    use super::*;

    fn read(text: &str, format: ImportFormat) -> Imported {
        let how = ImportHow { format: None, task: "t".to_owned(), now: "2026-05-05T00:00:00Z".parse().unwrap() };
        let mut into =
            Imported { format, reflections: Vec::new(), problems: Vec::new(), whole: text.as_bytes().to_vec() };
        match format {
            ImportFormat::Ace => playbook(&how, &mut into),
            _ => markdown(&how, &mut into),
        }
        into
    }

    #[test]
    fn a_playbooks_bullets_are_advice_and_its_counters_are_not_believed() {
        let text = "## COMMON MISTAKES TO AVOID\n[err-00001] helpful=5 harmful=0 :: Start the sum at zero\n[err-00002] helpful=x harmful=0 :: y\n\
                    [err-00003] helpful=1 harmful=2\n[see the wiki](x)\nprose\n";
        let found = read(text, ImportFormat::Ace);
        let [only] = found.reflections.as_slice() else { panic!("{found:?}") };
        assert_eq!((only.suggestion.as_str(), only.confidence.to_string().as_str()), ("Start the sum at zero", "0.5"));
        assert_eq!(only.analysis, "From an ACE playbook, under \"COMMON MISTAKES TO AVOID\"");
        let problems: Vec<_> = found.problems.iter().map(|one| (one.line, one.message.as_str())).collect();
        assert_eq!(
            problems,
            [(3, "`helpful` must be `helpful=` and a number"), (4, "`::` is missing behind the counters")]
        );
        let again = read(&text.replace("helpful=5", "helpful=9"), ImportFormat::Ace);
        assert_eq!(again.reflections[0].id, only.id, "the same lesson, however often it was counted");
    }

    #[test]
    fn a_lists_items_are_lessons_and_code_is_none() {
        let text = "# Testing\n- Run the formatter\n  before the tests\n\n```\n- not this\n```\n* The pool shrinks while it is read\n  \
                    - What to do differently: Collect the keys\n    first\n  - Look at `evict`\n  - Task: pool\n- It broke\n  - Look at it\n";
        let found = read(text, ImportFormat::Markdown);
        let texts: Vec<_> =
            found.reflections.iter().map(|one| (one.analysis.as_str(), one.suggestion.as_str())).collect();
        let expected = [
            ("From a list, under \"Testing\"", "Run the formatter before the tests"),
            ("The pool shrinks while it is read", "Collect the keys first"),
        ];
        assert_eq!(texts, expected);
        assert_eq!(
            (found.reflections[1].task_id.as_str(), &found.reflections[1].action_items[..]),
            ("pool", &["Look at `evict`".to_owned()][..])
        );
        assert_eq!(found.problems.iter().map(|one| one.line).collect::<Vec<_>>(), [13]);
    }
}
