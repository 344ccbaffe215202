//! From what a journal says to what follows from it: sums, and the one sentence.

use super::needs::{go_on, needs, step};
use super::replay::{Replay, millis};
use super::value::{
    AgentSpend, Counts, Injection, Lesson, Limit, Night, NightAttempt, NightState, NightTask, Step, TaskState,
    WorkerTime,
};
use crate::domain::{
    AttemptRecord, Expects, Life, Reflection, ReflectionId, RunKind, RunLog, Status, Task, TaskId, TaskList, Timestamp,
    Usage, Verdict, integration_branch,
};
use crate::effect::{Effect, Whose, trials};
use std::collections::{BTreeMap, HashMap, HashSet};

impl Night {
    /// What a run did.
    ///
    /// `life` says whether a process works on it now, or on a newer run, which no journal can know. Linear in the number of entries.
    #[must_use]
    pub fn of(log: &RunLog, life: Life) -> Self {
        let mut replay = Replay::of(log, life);
        let changed = std::mem::take(&mut replay.changed);
        let security = std::mem::take(&mut replay.security);
        for task in &mut replay.tasks {
            for attempt in &task.attempts {
                task.usage += replay.attempts[*attempt].usage;
                task.agent_ms += replay.attempts[*attempt].agent_ms;
            }
        }
        let merged = replay.tasks.iter().any(|task| task.state == TaskState::Merged);
        // Without git there is no branch that anybody could merge.
        let integration = (merged && !replay.tasks.iter().any(NightTask::is_patch))
            .then(|| integration_branch(&log.run, &replay.ahead));
        let mut night = Self {
            v: 1,
            run: log.run.clone(),
            headline: String::new(),
            state: replay.state.unwrap_or(NightState::Dead),
            halted: replay.halted.clone(),
            changed,
            security,
            superseded: life == Life::Superseded,
            stopped_pid: match life {
                Life::Stopped { pid } if replay.state == Some(NightState::Running) => Some(pid),
                _ => None,
            },
            left_running: Vec::new(),
            past_deadline: replay.state == Some(NightState::Deadline),
            started_at: replay.started_at,
            last_sign_at: replay.last,
            integration,
            brought_in: false,
            next: Vec::new(),
            counts: Counts::default(),
            needs: Vec::new(),
            workers: workers(&replay),
            limits: limits(&replay),
            injection: injection(&replay.attempts),
            effect: None,
            others_effect: None,
            head: replay.head,
            plan: replay.plan,
            tasks: replay.tasks,
            attempts: replay.attempts,
            spend: replay.spend,
            lessons: replay.lessons,
            lessons_over: replay.over,
            spans: replay.spans,
            gaps: replay.gaps,
            heals: replay.heals,
            clock_set_back_ms: millis(replay.set_back),
            problems: log.problems.clone(),
            unreadable: log.unreadable,
            torn: log.torn,
        };
        night.spend.agents = by_agent(&night.attempts);
        night.conclude();
        night
    }

    /// What follows from where the tasks stand.
    pub(super) fn conclude(&mut self) {
        self.counts = counts(self);
        self.needs = needs(self);
        self.headline = headline(self);
        self.next = next(self);
    }

    /// The reflections whose words the report needs.
    pub fn lesson_ids(&self) -> impl Iterator<Item = &ReflectionId> {
        self.lessons.iter().map(|lesson| &lesson.id)
    }

    /// The same with what the task list says now: the titles of tasks that the run never came to, and which of those
    /// that it did not confirm were closed since.
    #[must_use]
    pub fn with_tasks(mut self, list: &TaskList) -> Self {
        let by_id: HashMap<&TaskId, &Task> = list.tasks.iter().map(|task| (&task.id, task)).collect();
        let stuck = stuck(list);
        for task in &mut self.tasks {
            let Some(now) = by_id.get(&task.id) else { continue };
            if task.title.is_empty() {
                task.title.clone_from(&now.title);
            }
            task.is_loose_bug = now.is_fault() && now.expects == Expects::Change;
            task.expects_nothing = now.expects == Expects::Nothing;
            task.after = now.blockers().cloned().collect();
            task.held_by =
                now.blockers().filter(|id| now.status != Status::Closed && stuck.contains(id)).cloned().collect();
            let by = list.closed_by.get(&task.id);
            let left = matches!(task.state, TaskState::Open | TaskState::Failed | TaskState::Blocked);
            if left && now.status == Status::Closed && by != Some(&self.run) {
                let closed = by.map_or("closed by you".to_owned(), |run| format!("confirmed since by run {run}"));
                let found = task.cause.take().filter(|_| task.state != TaskState::Open);
                task.cause =
                    Some(found.map_or(closed.clone(), |found| format!("{closed}; the run had found: {found}")));
                task.state = TaskState::Closed;
            }
        }
        self.conclude();
        self
    }

    /// The same as somebody sees it at this time: a run whose deadline is over does not go on without another.
    #[must_use]
    pub fn seen_at(mut self, now: Timestamp) -> Self {
        self.past_deadline |= self.plan.until.is_some_and(|until| until <= now);
        self.conclude();
        self
    }

    /// The same with what killed runs started and still runs.
    #[must_use]
    pub fn with_left_running(mut self, pids: Vec<u32>) -> Self {
        self.left_running = pids;
        self
    }

    /// What a person may have merged since: the integration branch, and of each task its commit or branch with its place.
    #[must_use]
    pub fn mergeable(&self) -> Vec<(Option<usize>, String)> {
        let integration = self.integration.iter().map(|branch| (None, branch.clone()));
        integration.chain(self.kept_changes().into_iter().map(|(place, of)| (Some(place), of.0))).collect()
    }

    /// The same where a person has merged these since, as [`mergeable`](Self::mergeable) names them.
    #[must_use]
    pub fn with_brought_in(mut self, merged: impl IntoIterator<Item = Option<usize>>) -> Self {
        for place in merged {
            let Some(place) = place else {
                self.brought_in = true;
                let merged = self.tasks.iter_mut().filter(|task| task.state == TaskState::Merged);
                merged.for_each(|task| task.brought_in = true);
                continue;
            };
            if let Some(task) = self.tasks.get_mut(place) {
                task.brought_in = true;
            }
        }
        self.conclude();
        self
    }

    /// The same with the patch files that keep unconfirmed changes, each with the task that it is of.
    #[must_use]
    pub fn with_kept(mut self, patches: Vec<(TaskId, String)>) -> Self {
        for (id, patch) in patches {
            self.tasks.iter_mut().filter(|task| task.id == id).for_each(|task| task.kept.push(patch.clone()));
        }
        // What needs somebody says how to get at them.
        self.conclude();
        self
    }

    /// The same with what is known of the lessons' effect, if a coin decided about those of one of its attempts.
    #[must_use]
    pub fn with_effect(mut self, attempts: impl FnOnce() -> Vec<AttemptRecord>) -> Self {
        let exposures = || self.attempts.iter().filter_map(|attempt| attempt.exposure.as_ref());
        let own = exposures().any(|exposure| exposure.own.is_some());
        let others = exposures().any(|exposure| exposure.others.is_some());
        if own || others {
            let attempts = attempts();
            self.effect = own.then(|| Effect::of(&trials(&attempts, Whose::Own)));
            self.others_effect = others.then(|| Effect::of(&trials(&attempts, Whose::Others)));
        }
        self
    }

    /// The same with the words of its lessons, as far as the memory has them.
    #[must_use]
    pub fn with_lessons(mut self, mut memory: HashMap<ReflectionId, Reflection>) -> Self {
        for lesson in &mut self.lessons {
            let Some(reflection) = memory.remove(&lesson.id) else { continue };
            let Lesson { task, attempt, analysis, suggestion, .. } = lesson;
            task.get_or_insert(reflection.task_id);
            attempt.get_or_insert(reflection.attempt_number);
            *analysis = Some(reflection.analysis);
            *suggestion = Some(reflection.suggestion);
        }
        let mut first: HashMap<String, ReflectionId> = HashMap::new();
        // Those of earlier runs stand nowhere in full, so none is told as the same as one of them.
        for lesson in self.lessons.iter_mut().filter(|lesson| lesson.written) {
            let Some(words) = lesson.words().map(|words| words.split_whitespace().collect::<Vec<_>>().join(" ")) else {
                continue;
            };
            let found = first.entry(words).or_insert_with(|| lesson.id.clone());
            lesson.same_as = (*found != lesson.id).then(|| found.clone());
        }
        self
    }

    /// How long it took from its first sign to its last, in milliseconds.
    #[must_use]
    pub fn took_ms(&self) -> Option<u64> {
        let (from, to) = self.started_at.zip(self.last_sign_at)?;
        Some(super::replay::millis(to.duration_since(from)))
    }

    /// `run` or `night`.
    pub(super) fn noun(&self) -> &'static str {
        match self.plan.kind {
            RunKind::Run => "run",
            RunKind::Overnight => "night",
        }
    }
}

/// The tasks that wait for a person, and those that wait for one of them.
fn stuck(list: &TaskList) -> HashSet<&TaskId> {
    let blocked = list.tasks.iter().filter(|task| task.status == Status::Blocked);
    let mut stuck: HashSet<&TaskId> = blocked.map(|task| &task.id).collect();
    loop {
        let before = stuck.len();
        let waits = |task: &&Task| task.status != Status::Closed && task.blockers().any(|id| stuck.contains(id));
        let more: Vec<&TaskId> = list.tasks.iter().filter(waits).map(|task| &task.id).collect();
        stuck.extend(more);
        if stuck.len() == before {
            return stuck;
        }
    }
}

fn counts(night: &Night) -> Counts {
    let of = |state: TaskState| night.tasks.iter().filter(|task| task.state == state).count();
    Counts {
        tasks: night.tasks.len(),
        merged: of(TaskState::Merged),
        confirmed: of(TaskState::Confirmed),
        unchanged: of(TaskState::Unchanged),
        failed: of(TaskState::Failed),
        blocked: of(TaskState::Blocked),
        open: of(TaskState::Open),
        working: of(TaskState::Working),
        closed: of(TaskState::Closed),
    }
}

fn headline(night: &Night) -> String {
    let noun = night.noun();
    let how = match night.state {
        NightState::Running if night.stopped_pid.is_some() => format!("The {noun} stands still"),
        NightState::Running => format!("The {noun} goes on"),
        NightState::Ended => format!("The {noun} is over"),
        NightState::Deadline => "The time was up".to_owned(),
        NightState::Budget => "The budget was used up".to_owned(),
        NightState::Interrupted => format!("The {noun} was interrupted"),
        NightState::Halted => format!("The {noun} could not go on"),
        NightState::Dead => format!("The {noun} broke off"),
    };
    if night.tasks.is_empty() {
        return format!("{how}, and nothing is known of any task.");
    }
    let counts = night.counts;
    let parts = [
        (counts.merged, "merged"),
        (
            counts.confirmed,
            if counts.confirmed == 1 {
                "confirmed on a branch of its own"
            } else {
                "confirmed on branches of their own"
            },
        ),
        (counts.unchanged, "done without a change"),
        (counts.failed, "failed"),
        (counts.blocked, "blocked"),
        (counts.working, "being worked on"),
        (counts.open, if night.state == NightState::Running { "to do" } else { "left open" }),
        (counts.closed, "closed since"),
    ];
    let tasks = super::words::plural(counts.tasks, "task");
    let parts = parts.into_iter().filter(|(n, _)| *n > 0).enumerate();
    let said =
        parts.map(|(i, (n, what))| if i == 0 { format!("{n} of {tasks} {what}") } else { format!("{n} {what}") });
    let said: Vec<String> = said.collect();
    let needs = match night.things() {
        0 => "Nothing needs you.".to_owned(),
        1 => "One thing needs you.".to_owned(),
        n => format!("{n} things need you."),
    };
    format!("{how}: {}.{} {needs}", super::words::joined(&said), since(night))
}

/// How many tasks are merged since, as a sentence; empty where none is.
pub(super) fn since(night: &Night) -> String {
    match night.tasks.iter().filter(|task| task.brought_in).count() {
        0 => String::new(),
        1 => " One of them is merged into a branch of yours since.".to_owned(),
        n => format!(" {n} of them are merged into a branch of yours since."),
    }
}

/// What to do about the whole run.
fn next(night: &Night) -> Vec<Step> {
    let mut commands = Vec::new();
    let merge = |branch: &String| step(format!("git merge {branch}"), "bring what is merged into your own branch");
    commands.extend(night.integration.as_ref().filter(|_| !night.brought_in).map(merge));
    commands.extend(go_on(night));
    commands
}

fn by_agent(attempts: &[NightAttempt]) -> Vec<AgentSpend> {
    let mut agents: BTreeMap<&str, AgentSpend> = BTreeMap::new();
    for attempt in attempts {
        let agent = agents.entry(&attempt.agent).or_insert_with(|| AgentSpend {
            agent: attempt.agent.clone(),
            runs: 0,
            agent_ms: 0,
            usage: Usage::default(),
        });
        agent.runs += 1;
        agent.agent_ms += attempt.agent_ms;
        agent.usage += attempt.usage;
    }
    agents.into_values().collect()
}

fn limits(replay: &Replay) -> Vec<Limit> {
    let limits = replay.limits.iter();
    let limits = limits.map(|((agent, ending), (times, first_at, last_at))| Limit {
        agent: agent.clone(),
        ending,
        times: *times,
        first_at: *first_at,
        last_at: *last_at,
    });
    limits.collect()
}

fn injection(attempts: &[NightAttempt]) -> Injection {
    let mut injection = Injection::default();
    for attempt in attempts {
        let Some(verdict) = attempt.verdict else { continue };
        let confirmed = usize::from(verdict == Verdict::Confirmed);
        if attempt.injected.is_empty() {
            injection.without += 1;
            injection.without_confirmed += confirmed;
        } else {
            injection.with += 1;
            injection.with_confirmed += confirmed;
        }
    }
    injection
}

/// Workers that never had a task were idle, as far as there were tasks for them.
fn workers(replay: &Replay) -> Vec<WorkerTime> {
    let shares = || replay.courses.iter().flat_map(|course| &course.shares);
    let used = shares().map(|(worker, _)| worker + 1).max().unwrap_or(0);
    let count = used.max(replay.plan.jobs.min(replay.tasks.len()));
    let mut workers = vec![WorkerTime::default(); count];
    for (worker, (held, waited)) in shares() {
        workers[*worker].busy_ms += millis(*held).saturating_sub(millis(*waited));
        workers[*worker].waiting_ms += millis(*waited);
    }
    for worker in &mut workers {
        worker.idle_ms = millis(replay.active).saturating_sub(worker.busy_ms + worker.waiting_ms);
    }
    workers
}

impl Night {
    /// The lesson with this id.
    pub(super) fn lesson(&self, id: &ReflectionId) -> Option<&Lesson> {
        self.lessons.iter().find(|lesson| lesson.id == *id)
    }
}
