//! Lessons for all projects of a person: `memory promote --everywhere`, `memory list --everywhere`, and `memory retire` of one that another project has learned.

use super::super::args::LessonArgs;
use super::super::exit::UsageError;
use super::super::output::{errln, outln};
use super::super::{Exit, project};
use super::Memory;
use super::listing::line;
use crate::curation::{kept_from_prompts, plain_name, stays_home};
use crate::domain::{FailureKey, LessonChange, Reflection, ReflectionId, SharedLesson};
use crate::redaction::Redactor;
use crate::services::StorageError;
use serde_json::{Value, json};

impl Memory {
    /// Lets all projects of the user see a lesson, if it is one for them.
    pub(super) async fn promote_everywhere(&self, of: LessonArgs) -> anyhow::Result<Exit> {
        let lesson = self.find(&ReflectionId::new(of.id.clone())).await?;
        let id = lesson.id.clone();
        if let Some(why) = stays_here(&lesson) {
            return Err(UsageError(format!("{id} stays in this project: {why}")).into());
        }
        if !self.lessons.share(&id, self.clock.now()).await? {
            let why = "reflexion did not write it here for you, and what you have adopted is nobody's that your other projects know";
            return Err(UsageError(format!("{id} stays in this project: {why}")).into());
        }
        let exit = self.change(id.as_str(), LessonChange::Promoted, of.why, of.json).await?;
        if !of.json {
            outln!(
                "your other projects see it where an attempt fails in just the same way; `reflexion memory retire {id}` takes it back, there or here"
            );
        }
        Ok(exit)
    }

    /// Takes a lesson out of all prompts: one of this project, or one that another project has let all see.
    pub(super) async fn retire(&self, of: LessonArgs) -> anyhow::Result<Exit> {
        let Some(shared) = self.of_another_project(&of.id).await? else {
            return self.change(&of.id, LessonChange::Retired, of.why, of.json).await;
        };
        let id = shared.lesson.id;
        self.take_back(&id).await?;
        if of.json {
            project::print_json(&json!({ "lesson": id, "standing": null }))?;
        } else {
            outln!("{id}: no other project sees it any more; in the one that it is of it is as it was");
        }
        Ok(Exit::Confirmed)
    }

    /// The only lesson of another project with this id, or whose id begins so, where this project has none.
    async fn of_another_project(&self, id: &str) -> anyhow::Result<Option<SharedLesson>> {
        match self.storage.get(&ReflectionId::new(id)).await {
            Err(StorageError::NotFound { .. }) => {}
            // A line that somebody else wrote here is not the lesson, whatever id it has.
            Ok(lesson) if lesson.foreign => {}
            other => return Ok(other.map(|_| None)?),
        }
        let mut all = self.lessons.everywhere().await?;
        all.retain(|one| !id.is_empty() && one.lesson.id.as_str().starts_with(id));
        let exact = all.iter().position(|one| one.lesson.id.as_str() == id);
        Ok(match (exact, all.len()) {
            (Some(at), _) => Some(all.swap_remove(at)),
            // The beginning of an id of this project's means that one.
            (None, 1) if self.find(&ReflectionId::new(id)).await.is_err() => all.pop(),
            (None, _) => None,
        })
    }

    /// No other project sees a lesson any more. Nothing where none does.
    pub(super) async fn take_back(&self, lesson: &ReflectionId) -> Result<(), StorageError> {
        self.lessons.unshare(lesson, self.clock.now()).await.map(drop)
    }

    /// Prints the lessons that all projects may see, the last one first.
    pub(super) async fn list_everywhere(&self, json: bool) -> anyhow::Result<Exit> {
        let mut all = self.lessons.everywhere().await?;
        all.reverse();
        if json {
            project::print_json(&json!({ "reflections": all.iter().map(as_json).collect::<Vec<_>>() }))?;
        } else if all.is_empty() {
            errln!("no lesson is for all of your projects");
        }
        for SharedLesson { project, lesson } in all.iter().filter(|_| !json) {
            let name = plain_name(project).unwrap_or("a project with another name than one");
            let text = format!("{}\n    of {name}\n    -> {}", line(lesson), lesson.suggestion);
            outln!("{}", Redactor::of_process().redact_owned(text));
        }
        Ok(Exit::Confirmed)
    }
}

/// Why a lesson is none for other projects.
fn stays_here(lesson: &Reflection) -> Option<String> {
    if lesson.foreign {
        return Some(
            "it was not written here, and `reflexion memory check --adopt` is for this project alone".to_owned(),
        );
    }
    if lesson.failure.as_deref().is_none_or(FailureKey::is_empty) {
        return Some(
            "it is about nothing that a check printed, so that no other project could know it again".to_owned(),
        );
    }
    kept_from_prompts(lesson).or_else(|| stays_home(lesson))
}

fn as_json(shared: &SharedLesson) -> Value {
    let mut value = serde_json::to_value(&shared.lesson).unwrap_or_default();
    value["project"] = shared.project.as_str().into();
    value
}
