//! Whether new tests notice more of a change than what it brings by name: that a function, a parameter, an option or an export is there, any
//! test can assert of something new, whatever it does.

use super::both_texts;
use super::follows::Shows;
use super::outcome::Outcome;
use super::parts::Parts;
use super::runs::Runs;
use super::seen::{Walls, Within};
use crate::domain::Proof;
use crate::orchestrator::results::no_success;
use crate::orchestrator::task_run::TaskRunError;
use crate::orchestrator::verdict::Judgement;
use crate::services::{Diff, Taken};
use crate::toolchain;
use crate::toolchain::{Brought, CodeChange};
use std::collections::BTreeMap;

/// A change of code, in what it brings by name and in what it does.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// Files of code, by name.
    pub(super) files: BTreeMap<String, Brought>,
    /// What does something as a whole: data, files that are gone.
    whole: Vec<String>,
    /// A file of it cannot be taken apart, or might do harm where no wall stops it.
    is_closed: bool,
}

/// How much of a change its new tests notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notices {
    /// What it does in code that was there.
    Deeds,
    /// There is nothing but what it brings.
    Brought,
    /// With that alone they pass.
    NamesAlone,
    /// That is not known.
    Unknown,
}

/// Whether new tests notice what a change puts in the place of other code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replaced {
    Noticed,
    /// They pass with all that it adds, and with what was there.
    Unnoticed,
    /// It replaces nothing, or they break: that says nothing.
    Unknown,
    /// It may not be taken apart.
    Untried,
}

impl Apart {
    fn has_names(&self) -> bool {
        self.files.values().any(|brought| brought.names)
    }

    fn has_deeds(&self) -> bool {
        !self.whole.is_empty() || self.files.values().any(|brought| brought.deeds)
    }

    /// Whether code is gone, or stands in the place of other code.
    fn replaces(&self) -> bool {
        !self.whole.is_empty() || self.files.values().any(|brought| brought.removes)
    }

    /// Whether there is a line of it that is more than what something takes, or is called.
    pub(super) fn does_something(&self) -> bool {
        let is_body = |brought: &Brought| brought.lines.values().any(|brings| *brings == toolchain::Brings::InNew);
        self.has_deeds() || self.files.values().any(is_body)
    }
}

impl Runs<'_> {
    /// T is red by what new tests assert. That proves the change where they notice something that it does, in code that was there or by a mistake
    /// in what is new.
    pub(super) async fn of_difference(
        &mut self,
        parts: &Parts,
        diff: &Diff,
        t: &Outcome,
    ) -> Result<Judgement, TaskRunError> {
        let before = self.counted.runs;
        let apart = self.apart(parts).await?;
        let notices = self.notices_deeds(&apart, parts).await?;
        // A line that is only added may do anything that such a test asks for: that something is there.
        let replaced = match notices {
            Notices::Deeds if !self.is_of_fault() => self.notices_replaced(&apart, parts).await?,
            _ => Replaced::Unknown,
        };
        if notices == Notices::Deeds && (self.is_of_fault() || replaced == Replaced::Noticed) {
            return Ok(self.proven(Proof::NewTest, &self.fail_without(t)));
        }
        let because = match notices {
            Notices::NamesAlone => "its new tests pass with nothing of the change but the names that it brings",
            _ if replaced == Replaced::Unnoticed => {
                "its new tests notice nothing of the code that the change puts in the place of other code, only what it adds"
            }
            Notices::Deeds | Notices::Brought | Notices::Unknown => {
                "without the rest of the change, what its new tests ask for is not there"
            }
        };
        // That it was asked takes no run from the mistakes.
        self.not_counted += self.counted.runs - before;
        let judgement = self.of_mistakes(parts, diff, because).await?;
        let is_open = judgement.proof == Some(Proof::StayedGreen) && self.counted.mutants.is_none() && !self.used_up;
        // A fault that shows where nothing could be tried is one all the same.
        let shows = match notices {
            Notices::Deeds => !matches!(replaced, Replaced::Unnoticed | Replaced::Untried),
            notices => notices == Notices::Unknown && self.is_of_fault(),
        };
        Ok(if shows && is_open { self.proven(Proof::NewTest, &self.fail_without(t)) } else { judgement })
    }

    /// Runs the new tests on what the change brings, without what it does.
    async fn notices_deeds(&mut self, apart: &Apart, parts: &Parts) -> Result<Notices, TaskRunError> {
        match (apart.has_names(), apart.has_deeds()) {
            (false, _) => return Ok(Notices::Deeds),
            (true, false) => return Ok(Notices::Brought),
            (true, true) if apart.is_closed || matches!(self.walls, Walls::Fail(_)) => return Ok(Notices::Unknown),
            (true, true) => {}
        }
        let Some(outcome) = self.with_texts_of(apart, |brought| (brought.deeds, &brought.text)).await? else {
            return Ok(Notices::Unknown);
        };
        Ok(match outcome.is_red {
            false => Notices::NamesAlone,
            true if self.shows(&outcome, parts) == Shows::Difference => Notices::Deeds,
            true => Notices::Unknown,
        })
    }

    /// Runs the new tests on what the change adds, with what it replaces as it was.
    async fn notices_replaced(&mut self, apart: &Apart, parts: &Parts) -> Result<Replaced, TaskRunError> {
        if apart.is_closed || matches!(self.walls, Walls::Fail(_)) {
            return Ok(Replaced::Untried);
        }
        if !apart.replaces() {
            return Ok(Replaced::Unknown);
        }
        let outcome = self.with_texts_of(apart, |brought| (brought.removes, &brought.added)).await?;
        Ok(match outcome {
            Some(outcome) if !outcome.is_red => Replaced::Unnoticed,
            Some(outcome) if self.shows(&outcome, parts) == Shows::Difference => Replaced::Noticed,
            _ => Replaced::Unknown,
        })
    }

    /// Runs the new tests on the change with other texts of the files of which that is asked for. None: the walls are in the way.
    async fn with_texts_of(
        &mut self,
        apart: &Apart,
        text: impl Fn(&Brought) -> (bool, &String),
    ) -> Result<Option<Outcome>, TaskRunError> {
        let (workspace, now) = (&self.prepared.workspace, &self.confirmed.change.tree);
        let whole = Taken { files: apart.whole.clone(), inline: Vec::new() };
        let tree = workspace.blend(now, &workspace.base(), &whole).await?;
        let texts = apart.files.iter().filter_map(|(file, brought)| {
            let (is_asked_for, text) = text(brought);
            is_asked_for.then(|| (file.clone(), text.clone()))
        });
        let tree = workspace.with_texts(&tree, &texts.collect::<Vec<_>>()).await?;
        let outcome = self.twice(&tree, no_success, Within::Walls).await?;
        Ok(match self.walls_hold(&outcome).await? {
            Ok(()) => Some(outcome.of_tests(self.confirmed.checks)),
            Err(_) => None,
        })
    }

    /// Takes the code of a change apart.
    pub(super) async fn apart(&self, parts: &Parts) -> Result<Apart, TaskRunError> {
        let (workspace, tree) = (&self.prepared.workspace, &self.confirmed.change.tree);
        let base = workspace.base();
        let mut apart = Apart::default();
        for (name, [old, new]) in both_texts(&**workspace, [&base, tree], &parts.code).await? {
            let texts = old.iter().chain(&new);
            let has_effects = texts.into_iter().any(|text| toolchain::effect(name, text).is_some());
            let change = new.as_ref().filter(|_| toolchain::is_code(name)).and_then(|new| {
                CodeChange::between(name, old.as_deref().unwrap_or_default(), new).map(|change| change.brought(name))
            });
            let Some(brought) = change else {
                apart.is_closed |= parts.inline.contains(name);
                apart.whole.push(name.clone());
                continue;
            };
            apart.is_closed |= has_effects && brought.deeds;
            apart.files.insert(name.clone(), brought);
        }
        Ok(apart)
    }
}
