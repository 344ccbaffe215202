//! The reflection service as it runs.

use super::changes;
use super::explained::{ExplainedLesson, explained};
use super::recalled::{in_prompt, recalled};
use super::retention;
use crate::curation::{Shingles, State, due, follow_files, kept_from_prompts, states};
use crate::domain::{
    FailureContext, FailureKey, LessonChange, Recall, Reflection, ReflectionId, SharedLesson, SubtaskId, TaskId,
    changed_lines, policy,
};
use crate::prompt::{OthersLesson, certainty, format_recalled, format_reflections, last_bytes, one_line, plain};
use crate::recall::{Lesson, failure_key};
use crate::redaction::Redactor;
use crate::services::{
    Clock, Generator, LessonRecord, Lessons, PromptSection, PruneQuery, Pruned, RecallQuery, RecentQuery,
    ReflectionError, ReflectionService, Storage, UsageMeter,
};
use async_trait::async_trait;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// With these words an agent's closing message hands something to its next attempt.
const HANDED_ON: &str = "Tried so far";
/// At most this many bytes of that are kept: its end is the newest.
const TRIED_BYTES: usize = 1_000;
/// Of a larger memory this many of the newest lessons are looked at for other tasks: what is older was seldom shown, and a quota keeps 500 alive.
const NEWEST: usize = 20_000;
/// From this share of common words on two lessons say the same.
const SAME: f64 = 0.6;

/// The live [`ReflectionService`]: asks the generator, completes its draft, and leaves keeping to the storage.
///
/// Whether it always answers depends on the generator: put [`Limited`](super::Limited) and a [`Fallback`](super::Fallback) around
/// it if it shall, as [`runtime`](crate::runtime) does with every generator. It starts
/// no process and reads no clock but the port.
pub struct ReflectionServiceLive {
    /// Where reflections are kept.
    pub storage: Arc<dyn Storage>,
    /// What becomes of them.
    pub lessons: Arc<dyn Lessons>,
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
            already_tried: already_tried(failure),
            signature: (!fingerprint.is_empty()).then(|| fingerprint.clone()),
            failure: known_by(failure),
            replaces: failure.passed.as_ref().map(|passed| passed.replaces.clone()),
            files: Vec::new(),
            foreign: false,
        })
    }

    async fn save(&self, reflection: &Reflection) -> Result<ReflectionId, ReflectionError> {
        let Some(old) = &reflection.replaces else {
            self.storage.append(std::slice::from_ref(reflection)).await?;
            return Ok(reflection.id.clone());
        };
        if self.repeats(reflection, old).await? {
            return Ok(old.clone());
        }
        self.storage.append(std::slice::from_ref(reflection)).await?;
        Ok(reflection.id.clone())
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

    async fn recall(&self, query: &RecallQuery) -> Result<Recall, ReflectionError> {
        let Some(known) = self.known(&query.task).await? else { return Ok(Recall::default()) };
        let (query, settings) = (query.clone(), self.settings.clone());
        let found = tokio::task::spawn_blocking(move || {
            let lessons = known.lessons_for(&query);
            recalled(&query, &lessons, &settings)
        });
        // What a panic in it costs is the lessons, not the attempt.
        Ok(found.await.unwrap_or_default())
    }

    async fn proven(&self, limit: usize) -> Result<Vec<Reflection>, ReflectionError> {
        let reflections = self.in_order(None).await?;
        let record = self.lessons.read().await?;
        if record.unreadable.is_some() {
            // A lesson that was retired may be among them.
            return Ok(Vec::new());
        }
        let states = states(&reflections, &record);
        let mut lessons = Lesson::of_project(reflections, &states);
        let vouched = |one: &Lesson| states.standing(&one.reflection.id).is_some_and(|standing| standing.vouched);
        let is_proven = |one: &Lesson| match one.state {
            State::Active => true,
            // A person's word is no measurement, and good enough for a session that a person begins.
            State::Probation => vouched(one),
            State::Candidate | State::Stale | State::Quarantined | State::Retired => false,
        };
        lessons.retain(|one| is_proven(one) && kept_from_prompts(&one.reflection).is_none());
        let helps = |one: &Lesson| one.helps.unwrap_or_default();
        // The newest of equal ones first.
        lessons.reverse();
        lessons.sort_by(|a, b| helps(b).total_cmp(&helps(a)));
        Ok(lessons.into_iter().take(limit).map(|one| one.reflection).collect())
    }

    fn format_recall(&self, recall: &Recall) -> PromptSection {
        let own: Vec<Reflection> = recall.own.iter().filter(|one| kept_from_prompts(one).is_none()).cloned().collect();
        let others = recall.others.iter().filter(|other| kept_from_prompts(&other.lesson).is_none());
        let others: Vec<OthersLesson<'_>> = others.map(in_prompt).collect();
        let (max, bytes) = (self.settings.max_reflections_per_retry, self.settings.injection_bytes);
        let (text, ids) = format_recalled(&own, &others, max, bytes);
        PromptSection { text: Redactor::of_process().redact_owned(text), ids }
    }

    async fn curate(&self) -> Result<usize, ReflectionError> {
        let reflections = self.in_order(None).await?;
        let (record, now) = (self.lessons.read().await?.whole()?, self.clock.now());
        let events = tokio::task::spawn_blocking(move || due(&reflections, &record, now)).await.unwrap_or_default();
        if !events.is_empty() {
            self.lessons.append(&events).await?;
        }
        Ok(events.len())
    }

    fn format_for_prompt(&self, reflections: &[Reflection]) -> PromptSection {
        let advised = reflections.iter().filter(|one| kept_from_prompts(one).is_none()).cloned();
        let reflections: Vec<Reflection> = advised.collect();
        let (text, ids) =
            format_reflections(&reflections, self.settings.max_reflections_per_retry, self.settings.injection_bytes);
        // What a person or an older version wrote may hold some.
        PromptSection { text: Redactor::of_process().redact_owned(text), ids }
    }

    async fn follow_files(&self, names: &BTreeSet<String>) -> Result<usize, ReflectionError> {
        let record = self.lessons.read().await?;
        if record.unreadable.is_some() {
            // Nobody knows what has become of them, and that is said where lessons are recalled.
            return Ok(0);
        }
        let mut reflections = self.in_order(None).await?;
        reflections.retain(|one| !one.files.is_empty());
        if reflections.is_empty() {
            return Ok(0);
        }
        let events = follow_files(&reflections, &states(&reflections, &record), names, self.clock.now());
        if !events.is_empty() {
            self.lessons.append(&events).await?;
        }
        Ok(events.iter().filter(|event| matches!(event.change, LessonChange::Stale { .. })).count())
    }

    async fn expire(&self) -> Result<usize, ReflectionError> {
        retention::expire(self).await
    }

    async fn prune(&self, query: &PruneQuery) -> Result<Pruned, ReflectionError> {
        retention::prune(self, query).await
    }
}

impl ReflectionServiceLive {
    /// Whether a lesson says the same as the one in whose place it would stand.
    async fn repeats(&self, reflection: &Reflection, old: &ReflectionId) -> Result<bool, ReflectionError> {
        let words = |one: &Reflection| Shingles::of(&format!("{} {}", one.analysis, one.suggestion));
        let of_task = RecentQuery { task: Some(reflection.task_id.clone()), own_only: true, ..RecentQuery::default() };
        let stored = self.storage.recent(&of_task).await?;
        let old = stored.iter().find(|one| one.id == *old);
        Ok(old.is_some_and(|old| words(reflection).likeness(&words(old)) >= SAME))
    }

    /// What [`recall`](ReflectionService::recall) makes of every lesson that some prompt may hold: before an attempt whose last one failed like `query` says, and
    /// before the first one of a run. No coin is drawn. The nearest failure comes first; lessons of the task itself come before all others.
    ///
    /// # Errors
    /// `storage_error`.
    pub async fn explain(&self, query: &RecallQuery) -> Result<Vec<ExplainedLesson>, ReflectionError> {
        let Some(known) = self.known(&query.task).await? else { return Ok(Vec::new()) };
        let lessons = known.lessons_for(query);
        let first = RecallQuery { failure: None, ..query.clone() };
        let shown = |query: &RecallQuery| {
            let recall = recalled(query, &lessons, &self.settings);
            let ids = self.format_recall(&recall).ids;
            (recall, ids)
        };
        Ok(explained(query, &lessons, [shown(query), shown(&first)]))
    }

    /// The lessons that are believed and what is known of them; none where there is no lesson.
    async fn known(&self, task: &TaskId) -> Result<Option<Known>, ReflectionError> {
        let reflections = self.in_order(Some(task)).await?;
        let everywhere = self.lessons.everywhere().await.unwrap_or_else(|error| {
            tracing::warn!("no lessons of other projects: {error}");
            Vec::new()
        });
        if reflections.is_empty() && everywhere.is_empty() {
            return Ok(None);
        }
        // Of what cannot be read nobody knows what it takes away: a task keeps its own lessons, and none of others comes.
        let record = self
            .lessons
            .read()
            .await
            .unwrap_or_else(|error| LessonRecord { unreadable: Some(error), ..LessonRecord::default() });
        if let Some(error) = &record.unreadable {
            tracing::warn!("no lessons of other tasks: {error}");
        }
        Ok(Some(Known { reflections, record, everywhere }))
    }

    /// The lessons that are believed, in the order in which they were written: the newest of all, and every one of the task.
    async fn in_order(&self, task: Option<&TaskId>) -> Result<Vec<Reflection>, ReflectionError> {
        let newest = RecentQuery { limit: Some(NEWEST), own_only: true, ..RecentQuery::default() };
        let mut all = self.storage.recent(&newest).await?;
        if let Some(task) = task.filter(|_| all.len() == NEWEST) {
            let have: HashSet<ReflectionId> = all.iter().map(|one| one.id.clone()).collect();
            let older = self.get_for_task(task).await?.into_iter().filter(|one| !have.contains(&one.id));
            all.extend(older);
        }
        all.reverse();
        Ok(all)
    }
}

/// All lessons that are believed, and what is known of them.
struct Known {
    /// Of this project, in the order in which they were written.
    reflections: Vec<Reflection>,
    record: LessonRecord,
    /// What a person lets all of their projects see.
    everywhere: Vec<SharedLesson>,
}

impl Known {
    /// What recall chooses from: the newest last, and those of other projects before all.
    fn lessons_for(mut self, query: &RecallQuery) -> Vec<Lesson> {
        // One that an attempt left which was cut off takes no other's place either.
        self.reflections.retain(|one| !query.without.contains(&one.session_id));
        let states = states(&self.reflections, &self.record);
        let is_whole = self.record.unreadable.is_none();
        let others = if is_whole { self.everywhere } else { Vec::new() };
        let mut lessons = Lesson::of_others(others, &self.reflections, &states);
        let own = Lesson::of_project(self.reflections, &states).into_iter();
        lessons.extend(own.filter(|one| is_whole || one.reflection.task_id == query.task.as_str()));
        lessons
    }
}

/// What a red check's failure is known by, as far as it says anything.
fn known_by(failure: &FailureContext) -> Option<Box<FailureKey>> {
    failure.check.as_ref()?;
    Some(failure_key(&failure.signature, &failure.output.text())).filter(|key| !key.is_empty()).map(Box::new)
}

/// What was changed, in short, and what the agent hands to its next attempt. What else it says is a claim: that it is done, that all tests
/// pass; the failure shows what that is worth.
fn already_tried(failure: &FailureContext) -> Option<String> {
    let message = one_line(&plain(&failure.agent_message));
    let handed_on = message.rfind(HANDED_ON).map(|at| last_bytes(&message[at..], TRIED_BYTES).trim().to_owned());
    let tried: Vec<String> = changes::in_short(changed_lines(&failure.diff)).into_iter().chain(handed_on).collect();
    (!tried.is_empty()).then(|| tried.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::test_failure;
    use super::*;
    use crate::curation::days_before;
    use crate::domain::{Category, Draft, Origin, Timestamp};
    use crate::services::{GeneratorError, MockClock, MockGenerator, MockStorage, Page, PruneReport, StorageError};
    use crate::storage::InMemoryLessons;
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
            lessons: Arc::new(InMemoryLessons::default()),
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
                already_tried: None,
                signature: Some("v1:0123456789abcdef".to_owned()),
                failure: Some(Box::new(FailureKey {
                    tool: "shell".to_owned(),
                    lines: vec!["expected <n>, got <n>".to_owned()],
                    ..FailureKey::default()
                })),
                replaces: None,
                files: Vec::new(),
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
        storage.expect_page().returning(|_, _| Ok(Page::default()));
        storage
            .expect_prune()
            .with(eq("2026-03-01T00:00:00Z".parse::<Timestamp>().unwrap()), eq(BTreeSet::new()))
            .times(1)
            .returning(|_, _| Ok(PruneReport::default()));
        let service = service(storage, MockGenerator::new());
        service.prune(&PruneQuery::default()).await.unwrap();
        assert_eq!(days_before(Timestamp::now(), u32::MAX), Timestamp::MIN);
    }

    #[tokio::test]
    async fn no_more_lessons_are_recalled_than_are_asked_for() {
        let mut storage = MockStorage::new();
        let stored = |n: u32| Reflection {
            id: ReflectionId::new(format!("ref-{n}")),
            ..reflection_of(&format!("words of lesson {n} alone"))
        };
        storage.expect_recent().returning(move |_| Ok((1..=3).map(stored).collect()));
        let service = service(storage, MockGenerator::new());
        let failure = test_failure();
        let query = RecallQuery {
            task: failure.task_id,
            subtask: failure.subtask_id,
            text: String::new(),
            failure: None,
            limit: 2,
            most: None,
            without: BTreeSet::new(),
        };
        for (most, expected) in [(None, 3), (Some(2), 2), (Some(0), 0)] {
            let recall = service.recall(&RecallQuery { most, ..query.clone() }).await.unwrap();
            assert_eq!(recall.own.len(), expected, "{most:?}");
        }
    }

    fn reflection_of(words: &str) -> Reflection {
        let line = serde_json::json!({ "id": "r", "sessionId": "s", "taskId": "cart", "subtaskId": "cart", "attemptNumber": 1,
            "category": "root_cause", "analysis": words, "suggestion": words, "createdAt": "2026-01-02T03:04:05Z" });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn what_was_tried_is_the_change_and_never_a_claim() {
        let check = |diff: &str, message: &str, expected: Option<&str>| {
            let failure = FailureContext { diff: diff.to_owned(), agent_message: message.to_owned(), ..test_failure() };
            assert_eq!(already_tried(&failure).as_deref(), expected, "{diff:?} {message:?}");
        };
        check("", "I fixed it; all tests pass.", None);
        check("", "All good.\n\nTried so far (2): a1\n b2", Some("Tried so far (2): a1 b2"));
        let diff = "--- a/cart.py\n+++ b/cart.py\n@@ -3,2 +3,3 @@\n-    for p in prices[1:]:\n+    for p in prices:\n+        log(p)\n         total += p\n";
        let told = "cart.py:3 `for p in prices[1:]:` to `for p in prices:`, cart.py:4 `log(p)` added.";
        check(diff, "Done.", Some(told));
        check(diff, "Done. Tried so far (1): a1", Some(&format!("{told} Tried so far (1): a1")));
        let turned = "--- a/t.py\n+++ b/t.py\n@@ -1,3 +1,3 @@\n-a == 1\n-b == 2\n+a == 2\n+b == 3\n c\n@@ -9 +9,0 @@\n-d\n@@ -12 +11 @@\n-e\n+f\n";
        let paired = "t.py:1 `a == 1` to `a == 2`, t.py:2 `b == 2` to `b == 3`, t.py:9 `d` taken out, and 1 more.";
        check(turned, "", Some(paired));
        let many = [
            "@@ -1 +0,0 @@\n-x1\n",
            "@@ -2 +0,0 @@\n-x2\n",
            "@@ -3 +0,0 @@\n-x3\n",
            "@@ -4 +0,0 @@\n-x4\n",
            "@@ -5 +0,0 @@\n-x5\n",
        ]
        .concat();
        let many = format!("--- a/x\n+++ b/x\n{many}");
        check(&many, "", Some("x:1 `x1` taken out, x:2 `x2` taken out, x:3 `x3` taken out, and 2 more."));
    }
}
