//! The agent behind the port: reads the prompt, makes one edit, says what it did.

use super::briefing::Briefing;
use super::files;
use super::rank::{Candidate, candidates};
use super::source::Source;
use super::tried::Tried;
use crate::domain::{AgentReport, Ending};
use crate::files::Place;
use crate::services::{AgentRequest, Mode, RetryFrom, Subagent, SubagentError};
use async_trait::async_trait;
use std::io;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// The embedded default agent: it repairs small bugs by trying one small edit an attempt.
///
/// It is no AI: no model, no network, no account, no process. It takes the failing check's output, the task and the
/// reflections on earlier attempts from its prompt, and makes the likeliest edit that the reflections do not list as tried.
/// Use it to see the whole loop work (and, with `--no-reflexion`, fail to learn), and for one-token bugs.
/// It knows Python and Rust, and operators and constants of other C-like languages; files above 1 MB, tests and the scripts
/// that checks name are never edited. It remembers the newest 178 tried edits of a subtask.
///
/// ```
/// use reflexion_core::services::{RetryFrom, Subagent};
/// assert_eq!(reflexion_repair::repair::Repair.retry_from(), RetryFrom::Base);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Repair;

#[async_trait]
impl Subagent for Repair {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let failed = |message: String| SubagentError::Failed { agent: "repair".to_owned(), message };
        if request.mode == Mode::ReadOnly {
            return Err(SubagentError::Unsupported {
                agent: "repair".to_owned(),
                message: "it only edits files; it cannot answer questions".to_owned(),
            });
        }
        let work = move || {
            // Nobody else keeps what it was told.
            Place::within(&request.prompt_file, ".reflection").replace_soon(request.prompt.as_bytes())?;
            attempt(&request.dir, &request.prompt, &request.cancel)
        };
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }
}

/// One attempt: reads the sources, makes the best untried edit.
fn attempt(dir: &Path, prompt: &str, cancel: &CancellationToken) -> io::Result<AgentReport> {
    let briefing = Briefing::read(prompt);
    let sources = files::sources(dir);
    let mut tried = Tried::read(&briefing.tried);
    let report = |ending, message, detail| AgentReport { message, detail, ..AgentReport::new(ending) };
    if !briefing.fails {
        let detail = "the prompt shows no failure, so there is nothing to repair".to_owned();
        let message = format!("Nothing changed: {detail}. {}", tried.to_text());
        return Ok(report(Ending::AgentError, message, Some(detail)));
    }
    let Some(best) = candidates(&sources, &briefing, &tried).into_iter().next() else {
        let detail = format!("none of the small edits that this agent knows is left to try in {} files", sources.len());
        let message = format!("Nothing changed: {detail}. {}", tried.to_text());
        return Ok(report(Ending::AgentError, message, Some(detail)));
    };
    if cancel.is_cancelled() {
        return Ok(report(Ending::Cancelled, "Nothing changed: cancelled.".to_owned(), None));
    }
    let source = &sources[best.file];
    let edit = &best.edit;
    let text = [&source.text[..edit.start], &edit.new, &source.text[edit.end..]].concat();
    files::replace(dir, &source.path, &text)?;
    tried.add(best.name);
    let message = format!("{} {}", sentence(source, &best, &text), tried.to_text());
    Ok(report(Ending::Finished, message, None))
}

/// What was changed, in words, at most some 210 bytes.
fn sentence(source: &Source, best: &Candidate, new_text: &str) -> String {
    let line = source.tokens[best.edit.token].line;
    let after = new_text.lines().nth(line as usize - 1).unwrap_or("");
    format!(
        "Changed {} line {line}: `{}` to `{}` ({}). I expect the check to pass.",
        short(&source.path, 48),
        short(source.line(line), 44),
        short(after, 44),
        best.edit.rule.words(),
    )
}

/// The first bytes of a line, blanks around it left out.
fn short(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit - 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::super::token::Language;
    use super::*;
    use crate::domain::{RunId, SessionId, SubtaskId, TaskId};
    use std::fs;

    const TEST: &str = "from calc import half\n\ndef test_half():\n    assert half(3, 1) == 1\n";

    fn project(code: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("calc.py"), code).unwrap();
        fs::write(dir.path().join("test_calc.py"), TEST).unwrap();
        dir
    }

    fn prompt(tried: &[String]) -> String {
        let reflections: Vec<String> =
            tried.iter().rev().map(|t| format!("[ref | attempt 1]\nAlready tried: {t}\n")).collect();
        let reflections = reflections.concat();
        format!(
            "# Task: half is wrong\n\n## Checks\n- test: `pytest`\n\n## Last failure\n<check-output-1>\nE  assert 2 == 1\ntest_calc.py:4: AssertionError\n\
             FAILED test_calc.py::test_half - x\n</check-output-1>\n\n## Reflections on earlier attempts\n<reflections-1>\n{reflections}</reflections-1>\n"
        )
    }

    fn run(dir: &Path, tried: &[String]) -> AgentReport {
        attempt(dir, &prompt(tried), &CancellationToken::new()).unwrap()
    }

    #[test]
    fn every_attempt_makes_another_edit_until_none_is_left() {
        let code = "def half(a, b):\n    return a - b\n";
        let dir = project(code);
        let (mut tried, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
        loop {
            let report = run(dir.path(), &tried[tried.len().saturating_sub(3)..]);
            let now = fs::read_to_string(dir.path().join("calc.py")).unwrap();
            if report.ending == Ending::AgentError {
                assert_eq!(now, code);
                assert!(report.detail.is_some_and(|d| d.contains("left to try")));
                break;
            }
            assert!(now != code && seen.insert(now), "{}", report.message);
            tried.push(report.message.split_whitespace().collect::<Vec<_>>().join(" "));
            fs::write(dir.path().join("calc.py"), code).unwrap();
        }
        assert!(seen.len() >= 5, "{seen:?}");
        assert!(seen.contains("def half(a, b):\n    return a + b\n"));
        assert_eq!(fs::read_to_string(dir.path().join("test_calc.py")).unwrap(), TEST);
    }

    #[test]
    fn the_same_prompt_gives_the_same_edit() {
        let code = "def half(a, b):\n    if a > b:\n        return a + b\n    return b * 2\n";
        let messages: Vec<_> = (0..2).map(|_| run(project(code).path(), &[]).message).collect();
        assert_eq!(messages[0], messages[1]);
    }

    #[test]
    fn line_endings_are_kept() {
        let dir = project("def half(a, b):\r\n    return a - b\r\n");
        run(dir.path(), &[]);
        let now = fs::read_to_string(dir.path().join("calc.py")).unwrap();
        assert_eq!((now.matches("\r\n").count(), now.matches('\n').count()), (2, 2), "{now:?}");
    }

    #[test]
    fn a_closing_message_fits_what_is_kept_of_it() {
        let code = format!("def {0}(a):\n    return {0}(a, {1}) + 1\n", "ä".repeat(60), "b".repeat(80));
        let source = Source::new(format!("src/{}/ä.py", "x".repeat(90)), code, Language::Python);
        let briefing = Briefing::default();
        for candidate in candidates(std::slice::from_ref(&source), &briefing, &Tried::default()) {
            let text = sentence(&source, &candidate, &source.text);
            assert!(text.len() <= 255, "{} bytes: {text}", text.len());
        }
    }

    #[tokio::test]
    async fn it_answers_no_questions() {
        let dir = project("x = 1\n");
        let request = AgentRequest {
            run: RunId::new("r").unwrap(),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            session: SessionId::new("s"),
            prompt: prompt(&[]),
            prompt_file: "prompt.md".into(),
            dir: dir.path().to_owned(),
            mode: Mode::ReadOnly,
            env: std::collections::BTreeMap::new(),
            conversation: crate::services::Conversation::New,
            protect: Vec::new(),
            watch: std::sync::Arc::new(crate::services::Unwatched),
            cancel: CancellationToken::new(),
        };
        let answer = Repair.run(request.clone()).await;
        assert!(matches!(answer, Err(SubagentError::Unsupported { .. })), "{answer:?}");
        let report = Repair.run(AgentRequest { mode: Mode::Work, ..request }).await.unwrap();
        assert_eq!(report.ending, Ending::Finished);
    }
}
