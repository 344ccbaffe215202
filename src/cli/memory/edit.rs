//! `memory edit`: other words for a lesson. What it said stays as a line of its own; the new words are a person's.

use super::super::args::EditArgs;
use super::super::exit::UsageError;
use super::super::output::{errln, outln};
use super::super::{Exit, project};
use super::Memory;
use super::editor::{Draft, Editor};
use super::lessons::{as_json, in_words};
use super::listing::print_whole;
use super::words::Words;
use crate::curation::kept_from_prompts;
use crate::domain::{LessonChange, Origin, Reflection, ReflectionId};
use crate::redaction::Redactor;
use serde_json::Value;

/// What came of an edit.
pub(super) enum Edited {
    /// This one stands in the place of the old one.
    New(Box<Reflection>),
    /// Nothing was changed: the words are the same.
    Same,
    /// Nothing was changed: there are no words.
    Empty,
}

impl Memory {
    pub(super) async fn edit(&self, args: EditArgs) -> anyhow::Result<Exit> {
        let lesson = self.find(&ReflectionId::new(&args.id)).await?;
        let edited = match args.words(&lesson) {
            Some(words) => self.with_words(&lesson, words, args.why).await?,
            None => self.in_editor(&lesson, args.why).await?,
        };
        match edited {
            Edited::New(new) => self.show_edited(&new, args.json).await?,
            Edited::Same => errln!("nothing was changed: {} says this already", lesson.id),
            Edited::Empty => {
                errln!(
                    "nothing was changed: there is no text; `reflexion memory retire {}` takes it out of prompts",
                    lesson.id
                );
                return Ok(Exit::NotConfirmed);
            }
        }
        Ok(Exit::Confirmed)
    }

    async fn show_edited(&self, new: &Reflection, json: bool) -> anyhow::Result<()> {
        let standing = self.standing(new).await?;
        if json {
            let mut value = serde_json::to_value(new)?;
            value["standing"] = standing.as_ref().map_or(Value::Null, as_json);
            return project::print_json(&value);
        }
        print_whole(new);
        if let (Some(standing), Some(old)) = (standing, &new.replaces) {
            outln!("\n{}\nit stands in the place of {old}, which no prompt holds any more", in_words(&standing, new));
        }
        Ok(())
    }

    /// Lets a person change the words in their editor.
    pub(super) async fn in_editor(&self, lesson: &Reflection, why: Option<String>) -> anyhow::Result<Edited> {
        self.ensure_editable(lesson).await?;
        let words = Words::of(lesson);
        let text = words.to_text(lesson).ok_or_else(|| {
            UsageError("the lesson holds a line that divides the editor's text: change it with `--analysis`, `--suggestion` and `--action-item`".to_owned())
        })?;
        let (text, draft) = Editor::chosen()?.change(&text, self.settings.project(), &self.clock.new_id()).await?;
        let edited = match Words::read(&text) {
            Ok(None) => Ok(Edited::Empty),
            Ok(Some(new)) => self.with_words(lesson, new, why).await,
            Err(why) => Err(UsageError(why).into()),
        };
        if edited.is_ok() {
            draft.remove();
        }
        edited.map_err(|error| kept(&error, &draft))
    }

    /// Puts a lesson with other words in the place of one.
    async fn with_words(&self, lesson: &Reflection, words: Words, why: Option<String>) -> anyhow::Result<Edited> {
        // While the editor was open somebody else may have been faster.
        self.ensure_editable(lesson).await?;
        if words == Words::of(lesson) {
            return Ok(Edited::Same);
        }
        let new = self.reworded(lesson, words)?;
        let change = LessonChange::Edited { reflection: new.id.clone() };
        // Killed before the event, both stand beside each other: nothing is lost.
        self.storage.append(std::slice::from_ref(&new)).await?;
        self.say_of(lesson, &[change], why).await?;
        Ok(Edited::New(Box::new(new)))
    }

    /// The lesson with other words, as far as these may stand in a prompt.
    fn reworded(&self, lesson: &Reflection, words: Words) -> anyhow::Result<Reflection> {
        let mut hidden = false;
        let mut without_secrets = |text: String| {
            let clean = Redactor::of_process().redact_owned(text.clone());
            hidden |= clean != text;
            clean
        };
        let new = Reflection {
            id: ReflectionId::new(format!("ref-{}", self.clock.new_id())),
            analysis: without_secrets(words.analysis),
            suggestion: without_secrets(words.suggestion),
            action_items: words.action_items.into_iter().map(without_secrets).collect(),
            confidence: 1.0,
            created_at: self.clock.now(),
            v: Reflection::VERSION,
            origin: Some(Origin::Person),
            replaces: Some(lesson.id.clone()),
            ..lesson.clone()
        };
        if let Some(why) = refused(&new) {
            return Err(
                UsageError(format!("the new words are refused, and {} stays as it is: {why}", lesson.id)).into()
            );
        }
        if hidden {
            errln!("warning: what looks like a secret was taken out of the new words");
        }
        Ok(new)
    }

    /// Only what stands and is believed is edited.
    async fn ensure_editable(&self, lesson: &Reflection) -> anyhow::Result<()> {
        let id = &lesson.id;
        if lesson.foreign {
            return Err(UsageError(format!(
                "{id} was not written here: `reflexion memory check --adopt` takes such lessons over"
            ))
            .into());
        }
        match self.standing(lesson).await?.filter(|standing| standing.edited).and_then(|standing| standing.replaced_by)
        {
            Some(new) => Err(UsageError(format!("{new} stands in the place of {id}: edit that one")).into()),
            None => Ok(()),
        }
    }
}

/// Why new words are refused.
fn refused(new: &Reflection) -> Option<String> {
    for (text, what) in [(&new.analysis, "what went wrong"), (&new.suggestion, "what to do differently")] {
        if text.trim().is_empty() {
            return Some(format!("{what} is empty"));
        }
    }
    kept_from_prompts(new)
}

/// What a person has written is not lost with an error.
fn kept(error: &anyhow::Error, draft: &Draft) -> anyhow::Error {
    let why = format!("{error}; your text is in {draft}");
    if Exit::of(error) == Exit::Usage { UsageError(why).into() } else { anyhow::anyhow!(why) }
}

impl EditArgs {
    /// The lesson's words with those that the call gives; none where it gives none.
    fn words(&self, lesson: &Reflection) -> Option<Words> {
        if self.analysis.is_none() && self.suggestion.is_none() && self.action_item.is_empty() {
            return None;
        }
        let old = Words::of(lesson);
        let given = |text: &Option<String>, old: String| text.as_ref().map_or(old, |text| text.trim().to_owned());
        let items = self.action_item.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty());
        Some(Words {
            analysis: given(&self.analysis, old.analysis),
            suggestion: given(&self.suggestion, old.suggestion),
            action_items: if self.action_item.is_empty() { old.action_items } else { items.collect() },
        })
    }
}
