//! Writing down what a failed attempt teaches.

use super::context::RunContext;
use super::course::Judged;
use super::failure::{failed_check, files_named};
use super::past_failure::{OldFailures, PastFailure};
use super::task_run::TaskRun;
use crate::domain::{
    CheckReport, EventKind, FailureContext, LessonsOver, Origin, PassedAttempt, Reflection, ReflectionId, Verdict,
};
use crate::services::{ReflectionError, UsageMeter};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl RunContext {
    /// Ends lessons that are too old. What it costs if it fails is that they stay.
    pub(super) async fn expire_lessons(&self) {
        if !self.services.settings.reflexion().enabled {
            return;
        }
        match self.services.reflections.expire().await {
            Ok(expired) => self.expired.store(u32::try_from(expired).unwrap_or(u32::MAX), Ordering::Relaxed),
            Err(error) => self.publish(None, EventKind::Warning { message: format!("old lessons stay: {error}") }),
        }
    }
}

impl RunContext {
    /// Looks which files the run begins with: what a lesson is about may be gone, or be there again. Who deletes a file in a workspace changes nothing of that.
    pub(super) async fn follow_files(&self) {
        if !self.services.settings.reflexion().enabled {
            return;
        }
        let names = match self.services.workspaces.file_names().await {
            Ok(names) => self.file_names.get_or_init(|| names),
            Err(error) => return self.lessons_stay(&error),
        };
        match self.services.reflections.follow_files(names).await {
            Ok(stale) => self.stale.store(u32::try_from(stale).unwrap_or(u32::MAX), Ordering::Relaxed),
            Err(error) => self.lessons_stay(&error),
        }
    }

    /// What has become of lessons while it worked.
    pub(super) fn lessons_over(&self) -> LessonsOver {
        LessonsOver { expired: self.expired.load(Ordering::Relaxed), stale: self.stale.load(Ordering::Relaxed) }
    }

    fn lessons_stay(&self, error: &dyn Display) {
        let message = format!("lessons about files that are gone stay as they are: {error}");
        self.publish(None, EventKind::Warning { message });
    }

    /// The names of the files that a lesson is about, as far as the run began with them: those that its words name, or else those in which its failure shows.
    fn files_of(&self, lesson: &Reflection) -> Vec<String> {
        let Some(names) = self.file_names.get() else { return Vec::new() };
        let there = |files: Vec<String>| -> Vec<String> {
            let name = |file: &String| file.rsplit('/').next().unwrap_or_default().to_owned();
            let found: BTreeSet<String> = files.iter().map(name).filter(|name| names.contains(name)).collect();
            found.into_iter().collect()
        };
        let named = there(files_named(lesson));
        if !named.is_empty() {
            return named;
        }
        let frames = lesson.failure.iter().flat_map(|failure| &failure.frames);
        there(frames.map(|frame| frame.split(" in ").next().unwrap_or_default().to_owned()).collect())
    }
}

impl TaskRun {
    /// A reflection that cannot be made or stored is reported and costs the lesson, never the task.
    pub(super) async fn reflect(&mut self, judged: Option<&mut Judged>) {
        let Some(judged) = judged.filter(|_| self.plan.context.services.settings.reflexion().enabled) else { return };
        let failure = self.plan.failure_context(judged).await;
        self.write_lesson(judged, &failure).await;
    }

    /// An attempt that was confirmed behind one that failed shows what passes: what makes the difference stands in the place of the guess
    /// that was made then.
    pub(super) async fn reflect_on_pass(&mut self, judged: Option<&mut Judged>, baseline: &[CheckReport]) {
        let is_on = self.plan.context.services.settings.reflexion().enabled;
        let Some(judged) = judged.filter(|judged| is_on && judged.judgement.verdict == Verdict::Confirmed) else {
            return;
        };
        if let Some(failure) = self.contrast(judged, baseline).await {
            self.write_lesson(judged, &failure).await;
        }
    }

    /// What an attempt that passed shows of the one before it; none where nothing shows that it is the change which made the difference.
    /// It is a lesson of the attempt that passed, so that it does not count where that one is cut off; and it is made of nothing but what a run
    /// that goes on after it was killed knows as well.
    async fn contrast(&self, judged: &Judged, baseline: &[CheckReport]) -> Option<FailureContext> {
        let (part, attempt) = (judged.attempt.part, judged.attempt.number);
        let failed = |last: &&PastFailure| {
            let is_before = last.part == part && last.number + 1 == attempt;
            is_before && last.change.number == last.number && !last.change.diff.is_empty()
        };
        let last = self.progress.failed_before.as_ref().filter(failed)?;
        let check = last.check.as_ref()?;
        let asked = (self.plan.expects(part), self.plan.task.allow.as_slice());
        let old = OldFailures::of(std::slice::from_ref(check), baseline, Some(0), asked);
        if old.lost || old.open {
            return None;
        }
        let stored = self.plan.context.services.reflections.get_for_task(&self.plan.task.id).await.ok()?;
        let of_it = |lesson: &&Reflection| {
            let here = lesson.subtask_id == self.plan.parts[part].id.as_str() && lesson.attempt_number == last.number;
            here && lesson.replaces.is_none()
        };
        let guess = stored.iter().find(of_it)?;
        let diff = judged.diff.clone();
        let passed = PassedAttempt { attempt, diff, replaces: guess.id.clone(), hunks: judged.proof_hunks.clone() };
        let services = &self.plan.context.services;
        Some(FailureContext {
            id: format!("fc-{}", services.clock.new_id()),
            session_id: judged.session.clone(),
            subtask_id: self.plan.parts[part].id.clone(),
            subtask_description: self.plan.described(part),
            acceptance_criteria: self.plan.task.acceptance_criteria.clone(),
            check: Some(failed_check(check)),
            output: judged.relative(check.output.clone()),
            signature: judged.relative_signature(old.rest.unwrap_or_else(|| check.signature.clone())),
            files_changed: last.change.files.clone(),
            diff: last.change.diff.clone(),
            passed: Some(passed),
            ..FailureContext::new(self.plan.task.id.clone(), last.number, services.clock.now())
        })
    }

    async fn write_lesson(&mut self, judged: &mut Judged, failure: &FailureContext) {
        self.plan.doing("reflecting");
        let cancel = self.plan.context.cancel.clone();
        let spent = UsageMeter::default();
        let stored = tokio::select! {
            stored = self.store(failure, &spent) => stored.map_err(|error| error.to_string()),
            // Dropping the generator ends its processes; a person who interrupts does not wait for it.
            () = cancel.cancelled() => Err("the run was interrupted".to_owned()),
        };
        judged.reflection_usage = spent.total();
        self.progress.usage += spent.total();
        self.plan.context.spent.add(spent.total());
        match stored {
            Ok(id) => judged.reflection = Some(id),
            Err(because) => {
                self.plan.publish(EventKind::Warning { message: format!("no reflection was stored: {because}") });
            }
        }
    }

    /// What lessons did here decides whether other tasks see them, those of this run too. What it costs if it fails is that.
    pub(super) async fn curate(&self) {
        if self.progress.report.reflections_injected == 0 || !self.plan.context.services.settings.reflexion().enabled {
            return;
        }
        if let Err(error) = self.plan.context.services.reflections.curate().await {
            self.plan.publish(EventKind::Warning { message: format!("lessons stay as they were: {error}") });
        }
    }

    /// Writes the lesson of a failure. An attempt that is done again after a crash may have left one already.
    pub(super) async fn store(
        &mut self,
        failure: &FailureContext,
        spent: &UsageMeter,
    ) -> Result<ReflectionId, ReflectionError> {
        let context = Arc::clone(&self.plan.context);
        if let Some(stored) = self.left_behind(failure).await {
            self.progress.report.reflections_written += 1;
            // It is this attempt's lesson now, and the next one sees it.
            self.progress.open_sessions.retain(|open| *open != stored.session_id);
            return Ok(stored.id);
        }
        let mut reflection = context.services.reflections.generate_counted(failure, spent).await?;
        reflection.files = context.files_of(&reflection);
        let stands = context.services.reflections.save(&reflection).await?;
        if stands != reflection.id {
            return Ok(stands);
        }
        self.progress.report.reflections_written += 1;
        let origin = reflection.origin.unwrap_or(Origin::Person);
        if origin.is_of_fallback() {
            context.fallbacks.fetch_add(1, Ordering::Relaxed);
        }
        self.plan.publish(EventKind::Reflected { origin, analysis: reflection.analysis });
        Ok(reflection.id)
    }

    /// The reflection that an earlier process of this run stored on the same attempt, without having written down that it
    /// did.
    async fn left_behind(&self, failure: &FailureContext) -> Option<Reflection> {
        if self.progress.taught.is_empty() && failure.passed.is_none() {
            return None;
        }
        let stored = self.plan.context.services.reflections.get_for_task(&self.plan.task.id).await.ok()?;
        let of_this = |reflection: &Reflection| {
            let here = reflection.attempt_number == failure.attempt_number
                && reflection.subtask_id == failure.subtask_id.as_str();
            let replaces = failure.passed.as_ref().map(|passed| &passed.replaces);
            here && reflection.replaces.as_ref() == replaces
                && (replaces.is_some() || self.progress.taught.contains(&reflection.session_id))
        };
        stored.into_iter().find(of_this)
    }
}
