//! The reflection service as it runs.

use crate::curation::kept_from_prompts;
use crate::domain::{FailureContext, Reflection, ReflectionId, SubtaskId, TaskId, Timestamp, policy};
use crate::prompt::{certainty, format_reflections, last_bytes, one_line, plain};
use crate::redaction::Redactor;
use crate::services::{
    Clock, Generator, PromptSection, PruneReport, RecentQuery, ReflectionError, ReflectionService, Storage, UsageMeter,
};
use async_trait::async_trait;
use jiff::SignedDuration;
use std::sync::Arc;

/// So many bytes of the agent's closing message are kept: its end says what was done.
const TRIED_BYTES: usize = 1_000;

/// The live [`ReflectionService`]: asks the generator, completes its draft, and leaves keeping to the storage.
///
/// Whether it always answers depends on the generator: put [`with_policies`](super::with_policies) and a [`Fallback`](super::Fallback) around
/// it if it shall, as [`runtime`](crate::runtime) does with every generator. It starts
/// no process and reads no clock but the port.
pub struct ReflectionServiceLive {
    /// Where reflections are kept.
    pub storage: Arc<dyn Storage>,
    /// Who writes them.
    pub generator: Arc<dyn Generator>,
    /// Times and ids.
    pub clock: Arc<dyn Clock>,
    /// Byte budget and retention time.
    pub settings: policy::Reflexion,
}

#[async_trait]
impl ReflectionService for ReflectionServiceLive {
    async fn generate_counted(
        &self,
        failure: &FailureContext,
        spent: &UsageMeter,
    ) -> Result<Reflection, ReflectionError> {
        let draft = self.generator.generate(failure, spent).await?;
        let fingerprint = &failure.signature.fingerprint;
        Ok(Reflection {
            id: ReflectionId::new(format!("ref-{}", self.clock.new_id())),
            session_id: failure.session_id.clone(),
            task_id: failure.task_id.to_string(),
            subtask_id: failure.subtask_id.to_string(),
            attempt_number: failure.attempt_number,
            category: draft.category,
            analysis: draft.analysis,
            suggestion: draft.suggestion,
            action_items: draft.action_items,
            // A generator of somebody else's may answer with what JSON cannot hold.
            confidence: certainty(draft.confidence),
            created_at: self.clock.now(),
            v: Reflection::VERSION,
            origin: Some(draft.origin),
            already_tried: already_tried(&failure.agent_message),
            signature: (!fingerprint.is_empty()).then(|| fingerprint.clone()),
            foreign: false,
        })
    }

    async fn save(&self, reflection: &Reflection) -> Result<(), ReflectionError> {
        Ok(self.storage.append(std::slice::from_ref(reflection)).await?)
    }

    async fn get_recent(&self, subtask: &SubtaskId, limit: usize) -> Result<Vec<Reflection>, ReflectionError> {
        let query = RecentQuery {
            subtask: Some(subtask.to_string()),
            limit: Some(limit),
            own_only: true,
            ..RecentQuery::default()
        };
        Ok(self.storage.recent(&query).await?)
    }

    async fn get_for_task(&self, task: &TaskId) -> Result<Vec<Reflection>, ReflectionError> {
        let query = RecentQuery { task: Some(task.to_string()), own_only: true, ..RecentQuery::default() };
        Ok(self.storage.recent(&query).await?)
    }

    fn format_for_prompt(&self, reflections: &[Reflection]) -> PromptSection {
        let advised = reflections.iter().filter(|one| kept_from_prompts(one).is_none()).cloned();
        let reflections: Vec<Reflection> = advised.collect();
        let (text, ids) =
            format_reflections(&reflections, self.settings.max_reflections_per_retry, self.settings.injection_bytes);
        // What a person or an older version wrote may hold some.
        PromptSection { text: Redactor::of_process().redact_owned(text), ids }
    }

    async fn prune(&self) -> Result<PruneReport, ReflectionError> {
        let older_than = days_before(self.clock.now(), self.settings.retention_days);
        Ok(self.storage.prune(older_than).await?)
    }
}

/// The end of what the agent said, on one line; none if it said nothing.
fn already_tried(message: &str) -> Option<String> {
    let message = one_line(&plain(message));
    let end = last_bytes(&message, TRIED_BYTES).trim();
    (!end.is_empty()).then(|| end.to_owned())
}

/// So many times 24 hours before `now`, or the earliest time there is.
fn days_before(now: Timestamp, days: u32) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::super::test_failure;
    use super::*;
    use crate::domain::{Category, Draft, Origin};
    use crate::services::{GeneratorError, MockClock, MockGenerator, MockStorage, StorageError};
    use mockall::predicate::eq;
    use std::time::Duration;

    fn draft() -> Draft {
        Draft {
            category: Category::TestGap,
            analysis: "the empty cart was forgotten".to_owned(),
            suggestion: "test it".to_owned(),
            action_items: vec!["add a test".to_owned()],
            confidence: f64::NAN,
            origin: Origin::Command,
        }
    }

    /// A service of mocks: no test of this module could start a process, because nothing here can.
    fn service(storage: MockStorage, generator: MockGenerator) -> ReflectionServiceLive {
        let mut clock = MockClock::new();
        clock.expect_new_id().returning(|| "0199".to_owned());
        clock.expect_now().returning(|| "2026-03-31T00:00:00Z".parse().unwrap());
        ReflectionServiceLive {
            storage: Arc::new(storage),
            generator: Arc::new(generator),
            clock: Arc::new(clock),
            settings: policy::Reflexion {
                enabled: true,
                hold_out: false,
                max_reflections_per_retry: 3,
                generation_timeout: Duration::from_secs(30),
                retention_days: 30,
                injection_bytes: 4_000,
                generator: policy::Generator::Heuristic,
            },
        }
    }

    fn answering(answer: fn() -> Result<Draft, GeneratorError>) -> MockGenerator {
        let mut generator = MockGenerator::new();
        generator.expect_generate().times(1).returning(move |_, _| answer());
        generator
    }

    #[tokio::test]
    async fn a_draft_becomes_a_complete_reflection_and_is_not_stored_yet() {
        let service = service(MockStorage::new(), answering(|| Ok(draft())));
        let reflection = service.generate(&test_failure()).await.unwrap();
        assert_eq!(
            reflection,
            Reflection {
                id: ReflectionId::new("ref-0199"),
                session_id: crate::domain::SessionId::new("ses-1"),
                task_id: "cart".to_owned(),
                subtask_id: "cart".to_owned(),
                attempt_number: 1,
                category: Category::TestGap,
                analysis: "the empty cart was forgotten".to_owned(),
                suggestion: "test it".to_owned(),
                action_items: vec!["add a test".to_owned()],
                confidence: 0.5,
                created_at: "2026-03-31T00:00:00Z".parse().unwrap(),
                v: 1,
                origin: Some(Origin::Command),
                already_tried: Some("All done.".to_owned()),
                signature: Some("v1:0123456789abcdef".to_owned()),
                foreign: false,
            }
        );
    }

    #[tokio::test]
    async fn errors_keep_their_kind() {
        let failing = answering(|| Err(GeneratorError::Timeout(Duration::from_secs(3))));
        let error = service(MockStorage::new(), failing).generate(&test_failure()).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), ("timeout", "timeout: no answer within 3 s"));

        let mut storage = MockStorage::new();
        storage.expect_append().returning(|_| {
            Err(StorageError::Io { action: "append to", path: "memory".into(), message: "disk full".to_owned() })
        });
        let service = service(storage, answering(|| Ok(draft())));
        let reflection = service.generate(&test_failure()).await.unwrap();
        assert_eq!(service.save(&reflection).await.unwrap_err().kind(), "storage_error");
    }

    #[tokio::test]
    async fn recall_asks_the_storage_by_subtask_or_task() {
        let mut storage = MockStorage::new();
        storage
            .expect_recent()
            .with(eq(RecentQuery { subtask: Some("cart".to_owned()), limit: Some(2), task: None, own_only: true }))
            .times(1)
            .returning(|_| Ok(Vec::new()));
        storage
            .expect_recent()
            .with(eq(RecentQuery { task: Some("cart".to_owned()), limit: None, subtask: None, own_only: true }))
            .times(1)
            .returning(|_| Ok(Vec::new()));
        let service = service(storage, MockGenerator::new());
        let failure = test_failure();
        assert_eq!(service.get_recent(&failure.subtask_id, 2).await.unwrap(), []);
        assert_eq!(service.get_for_task(&failure.task_id).await.unwrap(), []);
        assert_eq!(service.format_for_prompt(&[]), PromptSection::default());
    }

    #[tokio::test]
    async fn prune_counts_days_back_from_now() {
        let mut storage = MockStorage::new();
        storage
            .expect_prune()
            .with(eq("2026-03-01T00:00:00Z".parse::<Timestamp>().unwrap()))
            .times(1)
            .returning(|_| Ok(PruneReport::default()));
        let service = service(storage, MockGenerator::new());
        service.prune().await.unwrap();
        assert_eq!(days_before(Timestamp::now(), u32::MAX), Timestamp::MIN);
    }

    #[test]
    fn what_was_tried_is_the_end_of_the_message() {
        let check = |message: &str, expected: Option<&str>| {
            assert_eq!(already_tried(message).as_deref(), expected, "{message:?}");
        };
        check("", None);
        check(" \n\t", None);
        check("I fixed\n\n  it.\u{1b}[0m", Some("I fixed it."));
        check(&format!("{}ä{}", "x".repeat(99), "y".repeat(999)), Some(&"y".repeat(999)));
    }
}
