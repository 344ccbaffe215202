//! Writing down what a failed attempt teaches.

use super::attempt::Judged;
use super::task::TaskRun;
use crate::domain::{EventKind, FailureContext, Origin, Reflection, ReflectionId};
use crate::services::{ReflectionError, UsageMeter};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl TaskRun {
    /// A reflection that cannot be made or stored is reported and costs the lesson, never the task.
    pub(super) async fn reflect(&mut self, judged: Option<&mut Judged>) {
        let (Some(judged), true) = (judged, self.context.services.settings.reflexion().enabled) else {
            return;
        };
        self.doing("reflecting");
        let cancel = self.context.cancel.clone();
        let spent = UsageMeter::default();
        let stored = tokio::select! {
            stored = self.store_reflection(judged, &spent) => stored.map_err(|error| error.to_string()),
            // Dropping the generator ends its processes; a person who interrupts does not wait for it.
            () = cancel.cancelled() => Err("the run was interrupted".to_owned()),
        };
        judged.reflection_usage = spent.total();
        self.usage += spent.total();
        self.context.spent.add(spent.total());
        match stored {
            Ok(id) => judged.reflection = Some(id),
            Err(because) => {
                self.publish(EventKind::Warning { message: format!("no reflection was stored: {because}") });
            }
        }
    }

    /// What lessons did here decides whether other tasks see them, those of this run too. What it costs if it fails is that.
    pub(super) async fn curate(&self) {
        if self.report.reflections_injected == 0 || !self.context.services.settings.reflexion().enabled {
            return;
        }
        if let Err(error) = self.context.services.reflections.curate().await {
            self.publish(EventKind::Warning { message: format!("lessons stay as they were: {error}") });
        }
    }

    async fn store_reflection(&mut self, judged: &Judged, spent: &UsageMeter) -> Result<ReflectionId, ReflectionError> {
        let failure = self.failure_context(judged).await;
        self.store(&failure, spent).await
    }

    /// Writes the lesson of a failure. An attempt that is done again after a crash may have left one already.
    pub(super) async fn store(
        &mut self,
        failure: &FailureContext,
        spent: &UsageMeter,
    ) -> Result<ReflectionId, ReflectionError> {
        let context = Arc::clone(&self.context);
        if let Some(stored) = self.left_behind(failure).await {
            self.report.reflections_written += 1;
            // It is this attempt's lesson now, and the next one sees it.
            self.open_sessions.retain(|open| *open != stored.session_id);
            return Ok(stored.id);
        }
        let reflection = context.services.reflections.generate_counted(failure, spent).await?;
        context.services.reflections.save(&reflection).await?;
        self.report.reflections_written += 1;
        let origin = reflection.origin.unwrap_or(Origin::Person);
        let generator = &context.services.settings.reflexion().generator;
        if matches!(origin, Origin::Heuristic { .. }) && *generator != crate::domain::policy::Generator::Heuristic {
            context.fallbacks.fetch_add(1, Ordering::Relaxed);
        }
        self.publish(EventKind::Reflected { origin, analysis: reflection.analysis });
        Ok(reflection.id)
    }

    /// The reflection that an earlier process of this run stored on the same attempt, without having written down that it
    /// did.
    async fn left_behind(&self, failure: &FailureContext) -> Option<Reflection> {
        if self.taught.is_empty() {
            return None;
        }
        let stored = self.context.services.reflections.get_for_task(&self.task.id).await.ok()?;
        let of_this = |reflection: &Reflection| {
            let session = self.taught.contains(&reflection.session_id);
            let attempt = reflection.attempt_number == failure.attempt_number;
            session && attempt && reflection.subtask_id == failure.subtask_id.as_str()
        };
        stored.into_iter().find(of_this)
    }
}
