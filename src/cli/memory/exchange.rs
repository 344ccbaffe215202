//! `memory import` and `memory export`: lessons from and for somewhere else.

use super::super::args::{ExportFormat, LessonFormat};
use super::super::exit::UsageError;
use super::super::out_file::write_out;
use super::super::output::{errln, out, outln};
use super::super::{Exit, project};
use super::Memory;
use crate::curation::{State, kept_from_prompts, same_words};
use crate::domain::{Category, Reflection, ReflectionId};
use crate::redaction::Redactor;
use crate::report::plural;
use crate::runtime::{self, ImportFormat, ImportHow};
use crate::services::{RecentQuery, RunError};
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;

impl Memory {
    pub(super) async fn import(
        &self,
        file: &Path,
        (format, task): (Option<LessonFormat>, String),
        json: bool,
    ) -> anyhow::Result<Exit> {
        let how = ImportHow { format: format.map(Into::into), task, now: self.clock.now() };
        let imported = runtime::read_import(file, &how).map_err(|e| {
            UsageError(format!(
                "{e}; name a file of lessons, such as another project's memory/reflections.jsonl, and its `--format` if need be"
            ))
        })?;
        for problem in &imported.problems {
            errln!("warning: {}:{}: {}", file.display(), problem.line, problem.message);
        }
        let stored = self.storage.recent(&RecentQuery::default()).await?;
        let says = |one: &Reflection| (one.task_id.clone(), same_words(one));
        let mut ids: HashSet<ReflectionId> = stored.iter().map(|one| one.id.clone()).collect();
        // What others wrote reaches no prompt: it is no reason to leave out what a person brings.
        let mut words: HashSet<(String, String)> = stored.iter().filter(|one| !one.foreign).map(says).collect();
        let (mut new, mut old, mut same) = (Vec::new(), 0, 0);
        for one in imported.reflections {
            // Of two lines with one id, or with the same words, the first is the lesson.
            if !ids.insert(one.id.clone()) {
                old += 1;
            } else if !words.insert(says(&one)) {
                same += 1;
            } else {
                new.push(one);
            }
        }
        self.storage.append(&new).await?;
        let (new, bad, format) = (new.len(), imported.problems.len(), imported.format.as_str());
        if json {
            let all = json!({ "imported": new, "alreadyThere": old, "sayTheSame": same, "unreadable": bad, "format": format });
            project::print_json(&all)?;
        } else {
            outln!(
                "imported {new} reflections ({format}); {old} were there already, {same} say the same as another one of their task, {bad} lines could not be read"
            );
            if new > 0 {
                outln!("each stays with its own task until you let it go to others with `reflexion memory promote`");
            } else if old + same + bad == 0 {
                outln!("the file holds no lesson");
            }
        }
        Ok(if bad == 0 { Exit::Confirmed } else { Exit::NotConfirmed })
    }

    pub(super) async fn export(
        &self,
        format: ExportFormat,
        (state, all): (Option<State>, bool),
        file: Option<&Path>,
    ) -> anyhow::Result<Exit> {
        let lessons = self.to_export(state, all).await?;
        let project = self.settings.project();
        let text = match format {
            ExportFormat::Jsonl => as_lines(&lessons, serde_json::to_string)?,
            ExportFormat::Openagents => as_lines(&lessons, |lesson| Ok(for_golden_loop(lesson).to_string()))?,
            ExportFormat::Markdown => page(&project.name, &lessons),
        };
        match file {
            None => text.split_inclusive('\n').for_each(|line| out!("{line}")),
            Some(path) => {
                write_out(path, &text, project)
                    .map_err(|error| RunError::Environment(format!("failed to write {}: {error}", path.display())))?;
                outln!("{}: {}", path.display(), plural(lessons.len(), "lesson"));
            }
        }
        Ok(Exit::Confirmed)
    }

    /// In the order in which they were written.
    async fn to_export(&self, state: Option<State>, all: bool) -> anyhow::Result<Vec<Reflection>> {
        let states = self.states().await?;
        let own = RecentQuery { own_only: true, ..RecentQuery::default() };
        let mut lessons = self.storage.recent(&own).await?;
        lessons.retain(|lesson| match (states.standing(&lesson.id), state) {
            (None, _) => false,
            (Some(standing), Some(state)) => standing.state == state,
            (Some(standing), None) => all || (standing.is_live_at_home() && kept_from_prompts(lesson).is_none()),
        });
        lessons.reverse();
        Ok(lessons)
    }
}

impl From<LessonFormat> for ImportFormat {
    fn from(format: LessonFormat) -> Self {
        match format {
            LessonFormat::Jsonl | LessonFormat::Openagents => Self::Jsonl,
            LessonFormat::Ace => Self::Ace,
            LessonFormat::Markdown => Self::Markdown,
            LessonFormat::Atif => Self::Atif,
        }
    }
}

fn as_lines(
    lessons: &[Reflection],
    one: impl Fn(&Reflection) -> serde_json::Result<String>,
) -> serde_json::Result<String> {
    let mut text = String::new();
    for lesson in lessons {
        let line = one(lesson)?;
        text.push_str(&String::from_utf8_lossy(&Redactor::of_process().redact_json(line.as_bytes())));
        text.push('\n');
    }
    Ok(text)
}

/// As the Golden Loop's own reader takes it: it leaves out a line with another category's name.
fn for_golden_loop(lesson: &Reflection) -> serde_json::Value {
    let category = match lesson.category {
        Category::RootCause => "root_cause",
        Category::ApproachFlaw => "approach_error",
        Category::MissingContext => "misconception",
        Category::ToolMisuse => "environment",
        Category::TestGap => "edge_case",
        Category::Verification => "verification",
    };
    json!({
        "id": lesson.id,
        "sessionId": lesson.session_id,
        "taskId": lesson.task_id,
        "subtaskId": lesson.subtask_id,
        "attemptNumber": lesson.attempt_number,
        "category": category,
        "analysis": lesson.analysis,
        "suggestion": lesson.suggestion,
        "actionItems": lesson.action_items,
        "confidence": lesson.confidence,
        "createdAt": lesson.created_at,
    })
}

/// A list for people, which `memory import` reads again.
fn page(project: &str, lessons: &[Reflection]) -> String {
    let in_a_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("# Lessons of {project}\n\n");
    for lesson in lessons {
        let Reflection { analysis, suggestion, task_id, .. } = lesson;
        let lines =
            [format!("- {}", in_a_line(analysis)), format!("  - What to do differently: {}", in_a_line(suggestion))];
        let steps = lesson.action_items.iter().map(|item| format!("  - {}", in_a_line(item)));
        for line in lines.into_iter().chain(steps).chain([format!("  - Task: {task_id}")]) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    Redactor::of_process().redact_owned(text)
}
