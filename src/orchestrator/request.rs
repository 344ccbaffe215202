//! What an agent is told and given: prompt, conversation, place; and which reflections stand in the prompt.

use super::course::{Attempt, Course};
use super::task_run::{Prepared, TaskPlan, TaskRun};
use crate::domain::{
    CheckReport, CheckScope, CheckSpec, EventKind, Expects, Recall, Reflection, SessionId, SubtaskId, WORKSPACE,
};
use crate::prompt::{AttemptPrompt, KnownRed, LastFailure, go_on};
use crate::services::{AgentRequest, AgentWatch, Mode, PromptSection, RecallQuery};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What failed in a check before, without those of its tests that the task's own checks ask for; none where nothing else failed.
fn known<'c>(check: &'c CheckReport, own: &BTreeSet<&str>) -> Option<KnownRed<'c>> {
    let counted = check.signature.counted.as_ref();
    let failing = counted.into_iter().flat_map(|counted| &counted.failing);
    let tests: Vec<&str> =
        failing.filter(|(_, failed)| !own.contains(failed.name.as_str())).map(|(id, _)| id.as_str()).collect();
    let is_all_own = tests.is_empty() && counted.is_some_and(|counted| !counted.failing.is_empty());
    (!is_all_own).then_some(KnownRed { check: &check.spec.name, tests })
}

impl TaskRun {
    /// The lessons for an attempt at a part; none when reflexion is off. Memory that cannot be read costs the lessons, never the attempt.
    pub async fn recall(&self, part: usize) -> Recall {
        let services = &self.plan.context.services;
        let policy = services.settings.reflexion();
        if !policy.enabled {
            return Recall::default();
        }
        let last = self.progress.last_failure.as_ref().filter(|last| last.part == part);
        let check = last.and_then(|last| last.check.as_ref());
        let query = RecallQuery {
            task: self.plan.task.id.clone(),
            subtask: self.plan.parts[part].id.clone(),
            text: self.plan.described(part),
            failure: check.map(|check| (check.signature.clone(), check.output.clone())),
            limit: policy.max_reflections_per_retry,
            most: None,
            // What an attempt that is done again left behind is not its own lesson, and what was gone beside the files is none.
            without: self.progress.open_sessions.iter().cloned().chain(self.sessions_explained().await).collect(),
        };
        services.reflections.recall(&query).await.unwrap_or_else(|error| {
            self.plan.publish(EventKind::Warning { message: format!("reflections could not be read: {error}") });
            Recall::default()
        })
    }

    /// The sessions of lessons about what was gone beside the files. Of an attempt that was done again, an earlier session may have written the lesson.
    async fn sessions_explained(&self) -> Vec<SessionId> {
        let explained = &self.progress.explained;
        if explained.is_empty() {
            return Vec::new();
        }
        let TaskPlan { context, task, .. } = &self.plan;
        let stored = context.services.reflections.get_for_task(&task.id).await.unwrap_or_default();
        let is_explained = |lesson: &Reflection| {
            let of = |(part, attempt): &(SubtaskId, u32)| {
                lesson.subtask_id == part.as_str() && lesson.attempt_number == *attempt
            };
            lesson.replaces.is_none() && explained.iter().any(of)
        };
        stored.into_iter().filter(is_explained).map(|lesson| lesson.session_id).collect()
    }

    /// The attempt's prompt.
    pub fn prompt(&self, prepared: &Prepared, attempt: &Attempt, injected: &PromptSection) -> String {
        let part = &self.plan.parts[attempt.part];
        let checks: Vec<_> = self.plan.checks_of(attempt.part).into_iter().map(|(_, spec)| spec).collect();
        // What of the project was red before is nobody's task, unless a fix is asked for and nothing else is red.
        // Another part's check was made green before, or is not asked for yet.
        let others: Vec<&CheckSpec> =
            self.plan.parts.iter().filter(|one| one.id != part.id).flat_map(|one| &one.checks).collect();
        let asked = |spec: &CheckSpec| part.checks.contains(spec) || !others.contains(&spec);
        let is_red = |scope: CheckScope, c: &CheckReport| c.scope == scope && !c.passed() && asked(&c.spec);
        let red = |scope: CheckScope| prepared.baseline.iter().find(|c| is_red(scope, c));
        let fix = self.plan.task.expects == Expects::Fix;
        let baseline = red(CheckScope::Task).or_else(|| red(CheckScope::Project).filter(|_| fix));
        let own = prepared.baseline.iter().any(|c| c.scope == CheckScope::Task);
        let known_red = |c: &&CheckReport| c.scope == CheckScope::Project && !c.passed();
        let of_own = prepared.baseline.iter().filter(|c| c.scope == CheckScope::Task && asked(&c.spec));
        let of_own = of_own.filter_map(|c| c.signature.counted.as_ref()).flat_map(|counted| counted.failing.values());
        let of_own: BTreeSet<&str> = of_own.map(|failed| failed.name.as_str()).collect();
        let known_red: Vec<KnownRed<'_>> =
            prepared.baseline.iter().filter(known_red).filter_map(|c| known(c, &of_own)).collect();
        let (workspace, room) = (prepared.workspace.dir(), prepared.room.as_deref());
        let dirs: Vec<&Path> = room.into_iter().chain([workspace.as_path(), Path::new(WORKSPACE)]).collect();
        let now = (attempt.number, self.last_number(attempt.part));
        let last_failure = match &self.progress.last_failure {
            Some(last) if last.part == attempt.part => Some(LastFailure {
                attempt: Some(last.number),
                now,
                because: &last.because,
                check: last.check.as_ref(),
                changed_by: last.change.number,
                files: &last.change.files,
                diff: &last.change.diff,
                goes_on: self.progress.last_change.as_ref().is_some_and(|last| last.tree == attempt.from),
                after_parts: attempt.part > 0,
                dirs: &dirs,
            }),
            _ => baseline.map(|check| LastFailure {
                attempt: None,
                now,
                because: "",
                check: Some(check),
                changed_by: 0,
                files: &[],
                diff: "",
                goes_on: false,
                after_parts: attempt.part > 0,
                dirs: &dirs,
            }),
        };
        let protect = self.plan.protect();
        AttemptPrompt {
            task: &self.plan.task,
            part,
            origin: self.plan.origin,
            checks: &checks,
            known_red: &known_red,
            asks_for_any: fix && !own,
            protect: &protect,
            last_failure,
            reflections: &injected.text,
        }
        .render()
    }

    /// The number of the last attempt at a part that may be made; earlier runs' are counted.
    fn last_number(&self, part: usize) -> u32 {
        let count = self.counts()[part];
        (count.last + self.plan.max_attempts()).saturating_sub(count.since_opened)
    }
}

impl TaskPlan {
    /// The part's own reflections, newest first; for a decomposed task then those of its other parts.
    pub async fn recent(&self, part: usize, limit: usize) -> Result<Vec<Reflection>, crate::services::ReflectionError> {
        let service = &self.context.services.reflections;
        let own = &self.parts[part].id;
        if self.parts.len() == 1 {
            return service.get_recent(own, limit).await;
        }
        // Another task may have a part of the same name, so a part's reflections are looked for among its task's.
        let all = service.get_for_task(&self.task.id).await?;
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|r| r.subtask_id == own.as_str());
        Ok(own.into_iter().take(limit).chain(others.into_iter().take(limit)).collect())
    }

    /// One agent run: the course's turn.
    pub fn request(&self, prepared: &Prepared, course: &Course) -> AgentRequest {
        let services = &self.context.services;
        let (attempt, part) = (&course.attempt, &self.parts[course.attempt.part]);
        let run_dir = services.settings.project().run_dir(&self.context.run);
        let turn = if course.turn > 1 { format!(".{}", course.turn) } else { String::new() };
        let file = format!("{}+{}+{}{turn}.md", self.task.id, part.id, attempt.number);
        let watch: Arc<dyn AgentWatch> = course.watching.clone();
        AgentRequest {
            run: self.context.run.clone(),
            task: self.task.id.clone(),
            subtask: part.id.clone(),
            attempt: attempt.number,
            session: course.session.clone(),
            prompt: match &course.cut_short {
                Some(ending) => go_on(ending.as_str(), &course.prompt),
                None => course.prompt.clone(),
            },
            prompt_file: run_dir.join("prompts").join(file),
            dir: prepared.workspace.dir(),
            mode: Mode::Work,
            env: self.agent_environment(prepared, course),
            conversation: course.conversation.clone(),
            protect: self.protect(),
            watch,
            cancel: self.context.cancel.clone(),
        }
    }

    /// The workspace's, and what binds the records of the agent's own hooks to the attempt.
    fn agent_environment(&self, prepared: &Prepared, course: &Course) -> BTreeMap<String, String> {
        let mut env = prepared.workspace.env();
        let services = &self.context.services;
        env.extend(services.captures.environment(&self.captured(course), services.settings.risk().threshold));
        env
    }
}
