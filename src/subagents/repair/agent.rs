//! The agent behind the port: reads the prompt, makes one edit, says what it did.

use super::briefing::Briefing;
use super::files;
use super::rank::Candidate;
use super::rank::candidates;
use super::source::Source;
use super::tried::Tried;
use crate::domain::AgentReport;
use crate::domain::Ending;
use crate::domain::Usage;
use crate::services::AgentRequest;
use crate::services::Mode;
use crate::services::RetryFrom;
use crate::services::Subagent;
use crate::services::SubagentError;
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
/// use reflexion::services::{RetryFrom, Subagent};
/// assert_eq!(reflexion::subagents::Repair.retry_from(), RetryFrom::Base);
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
        tokio::task::spawn_blocking(move || attempt(&request.dir, &request.prompt, &request.cancel))
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
    let report = |ending, message, detail| AgentReport { ending, message, detail, usage: Usage::default() };
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
