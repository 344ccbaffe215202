//! From a journal's entries to what the run did. Whatever is missing, cut off or out of order is taken as it comes.

use super::value::{
    AskedForTest, Fate, Gap, Heal, Lesson, Merge, NightAttempt, NightState, NightTask, Noticed, Span, SpanKind, Spend,
    TaskState,
};
use crate::domain::{
    CostSource, Ending, JournalEntry, LessonsOver, Life, LoggedEntry, MergeOutcome, Proof, ReflectionId, RunLog,
    RunPlan, RunStop, SessionId, Status, SubtaskId, TaskId, TaskReport, Timestamp, TreeId, TurnReason, TurnsUsage,
    Unmerged, Usage, Verdict,
};
use jiff::SignedDuration;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Entries of one moment come in any order; what is further back than this was a clock that was set.
const OUT_OF_ORDER: SignedDuration = SignedDuration::from_secs(5);
/// No machine works on more tasks at a time; a larger number is a broken line.
const MOST_WORKERS: usize = 4096;

/// What a journal says, before anything is concluded from it.
#[derive(Default)]
pub(super) struct Replay {
    pub plan: RunPlan,
    pub started_at: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub state: Option<NightState>,
    /// Why it could not go on.
    pub halted: Option<String>,
    /// Branches that hold what is not on those that the user had checked out.
    pub ahead: Vec<String>,
    /// Where the user's `HEAD` was when it went on elsewhere.
    pub head: Option<String>,
    pub tasks: Vec<NightTask>,
    pub attempts: Vec<NightAttempt>,
    pub lessons: Vec<Lesson>,
    /// Those that are in no prompt any more since it ended.
    pub over: LessonsOver,
    pub spans: Vec<Span>,
    pub gaps: Vec<Gap>,
    pub heals: Vec<Heal>,
    pub spend: Spend,
    pub set_back: SignedDuration,
    pub courses: Vec<Course>,
    by_task: HashMap<TaskId, usize>,
    by_session: HashMap<SessionId, usize>,
    by_lesson: HashMap<ReflectionId, usize>,
    /// What agent runs used, turn by turn, as long as nothing sums it up.
    turn_usage: HashMap<usize, TurnsUsage>,
    /// What agent runs had made at the end of their last judged turn.
    turn_tree: HashMap<usize, TreeId>,
    /// The agent runs in which something was written when a test was asked for.
    wrote_then: HashSet<usize>,
    /// Attempts of which a turn has begun in which the agent was to write a test, and no word of it has come.
    unheard: HashSet<usize>,
    pub limits: BTreeMap<(String, &'static str), (usize, Timestamp, Timestamp)>,
    /// When the process that works now began, and how long the earlier ones worked.
    epoch: Option<Timestamp>,
    pub active: SignedDuration,
    /// What was changed in the user's repository and is not put back, and during which task.
    pub changed: Vec<(Option<usize>, String)>,
    /// What was tried or done beside the work.
    pub security: Vec<Noticed>,
}

/// A task while the journal is read.
#[derive(Default)]
pub(super) struct Course {
    worker: usize,
    /// What is done for it now, and since when.
    pub phase: Option<(SpanKind, Timestamp)>,
    /// Since when a worker has it.
    since: Option<Timestamp>,
    attempt: Option<usize>,
    ended: Option<Status>,
    /// A commit or a merge was begun, and no end of it is known.
    landing: bool,
    /// By worker: how long it had the task, and how much of that it waited.
    pub shares: BTreeMap<usize, (SignedDuration, SignedDuration)>,
}

impl Replay {
    pub(super) fn of(log: &RunLog, life: Life) -> Self {
        let mut replay = Self::default();
        for LoggedEntry { at, entry } in &log.entries {
            let at = replay.time(*at);
            replay.take(at, entry);
        }
        replay.finish(life, log.alive);
        replay
    }

    /// The entry's time on a clock that never goes back.
    fn time(&mut self, at: Timestamp) -> Timestamp {
        let moved = at.checked_add(self.set_back).unwrap_or(at);
        let Some(last) = self.last else {
            self.last = Some(moved);
            return moved;
        };
        let back = last.duration_since(moved);
        if back > OUT_OF_ORDER {
            self.set_back = self.set_back.saturating_add(back);
        }
        moved.max(last)
    }

    fn take(&mut self, at: Timestamp, entry: &JournalEntry) {
        self.epoch.get_or_insert(at);
        match entry {
            JournalEntry::RunStarted { tasks, plan, .. } if self.started_at.is_none() => {
                self.started_at = Some(at);
                self.plan = plan.clone();
                self.begin(at, tasks);
            }
            JournalEntry::RunStarted { tasks, .. } => self.resume(at, tasks, None),
            JournalEntry::RunResumed { tasks, until, seen, plan, head, .. } => {
                if let Some(plan) = plan {
                    self.plan = RunPlan::clone(plan);
                }
                self.plan.until = *until;
                self.head.clone_from(head);
                self.resume(at, tasks, *seen);
            }
            JournalEntry::RunHalted { because } => self.halted = Some(because.clone()),
            JournalEntry::RunEnded { interrupted, stopped, ahead, conflicts, lessons } => {
                self.over = *lessons;
                self.ahead.clone_from(ahead);
                for task in &mut self.tasks {
                    let of_it = conflicts.iter().find(|one| task.branch.as_ref() == Some(&one.branch));
                    task.conflicts = of_it.map(|one| one.files.clone()).unwrap_or_default();
                }
                self.end(at, *interrupted, *stopped);
            }
            JournalEntry::RepositoryChanged { task, what } => {
                let task = task.as_ref().map(|task| self.task(task));
                self.changed.extend(what.iter().map(|what| (task, what.clone())));
            }
            JournalEntry::Noticed { task, what } => {
                what.iter().for_each(|what| self.notice(task.as_ref(), what));
            }
            JournalEntry::TaskStarted { .. }
            | JournalEntry::TaskDecomposed { .. }
            | JournalEntry::AttemptStarted { .. }
            | JournalEntry::AgentStopped { .. }
            | JournalEntry::TurnStarted { .. }
            | JournalEntry::TurnJudged { .. }
            | JournalEntry::TurnNudged { .. }
            | JournalEntry::AttemptDropped { .. }
            | JournalEntry::AttemptJudged { .. }
            | JournalEntry::CommitStarted { .. }
            | JournalEntry::WaitStarted { .. }
            | JournalEntry::WaitEnded { .. }
            | JournalEntry::MergeStarted { .. }
            | JournalEntry::MergeReady { .. }
            | JournalEntry::MergeEnded { .. }
            | JournalEntry::HealStarted { .. }
            | JournalEntry::HealEnded { .. }
            | JournalEntry::TaskEnded { .. } => self.take_of_task(at, entry),
        }
        self.last = Some(at);
    }

    /// The last sign of a process: its last entry, or when it was last known to live, on the clock that never goes back.
    fn later(&self, last: Timestamp, alive: Timestamp) -> Timestamp {
        alive.checked_add(self.set_back).unwrap_or(alive).max(last)
    }

    fn begin(&mut self, at: Timestamp, tasks: &[TaskId]) {
        self.epoch = Some(at);
        for task in tasks {
            self.task(task);
        }
    }

    /// The process before is dead; what it was in the middle of was cut off when it gave its last sign, or later.
    fn resume(&mut self, at: Timestamp, tasks: &[TaskId], seen: Option<Timestamp>) {
        let last = self.last.unwrap_or(at);
        let last = seen.map_or(last, |seen| self.later(last, seen)).min(at);
        self.cut_all(last, Fate::Cut);
        self.close_epoch(last);
        if at > last {
            self.gaps.push(Gap { start: last, end: at });
        }
        (self.state, self.halted) = (None, None);
        self.begin(at, tasks);
    }

    fn end(&mut self, at: Timestamp, interrupted: bool, stopped: Option<RunStop>) {
        self.cut_all(at, Fate::Cut);
        self.close_epoch(at);
        self.state = Some(match (interrupted, stopped) {
            (true, _) | (false, Some(RunStop::Drained)) => NightState::Interrupted,
            (false, Some(RunStop::Deadline)) => NightState::Deadline,
            (false, Some(RunStop::Budget)) => NightState::Budget,
            (false, None) => NightState::Ended,
        });
    }

    fn finish(&mut self, life: Life, alive: Option<Timestamp>) {
        let Some(last) = self.last else {
            let works = matches!(life, Life::Alive | Life::Stopped { .. });
            self.state = Some(if works { NightState::Running } else { NightState::Dead });
            return;
        };
        let (state, fate) = match (self.state, life) {
            (None, Life::Alive | Life::Stopped { .. }) => (NightState::Running, Fate::Working),
            (None, Life::Gone | Life::Superseded) if self.halted.is_some() => (NightState::Halted, Fate::Cut),
            (None, Life::Gone | Life::Superseded) => (NightState::Dead, Fate::Cut),
            (Some(state), _) => (state, Fate::Cut),
        };
        self.state = Some(state);
        // A process that had an agent at work and wrote nothing down lived all the same.
        let last = alive.filter(|_| state == NightState::Dead).map_or(last, |alive| self.later(last, alive));
        self.last = Some(last);
        self.cut_all(last, fate);
        self.close_epoch(last);
        for task in 0..self.tasks.len() {
            self.tasks[task].state = self.standing(task);
        }
    }

    fn close_epoch(&mut self, at: Timestamp) {
        if let Some(epoch) = self.epoch.take() {
            self.active = self.active.saturating_add(at.duration_since(epoch));
        }
    }

    fn cut_all(&mut self, at: Timestamp, fate: Fate) {
        for task in 0..self.courses.len() {
            if self.courses[task].since.is_none() {
                continue;
            }
            self.tasks[task].in_work = true;
            self.tasks[task].landing = self.courses[task].landing;
            self.close_phase(task, at, true);
            self.cut_attempt(task, fate);
            self.release(task, at);
        }
    }

    fn cut_attempt(&mut self, task: usize, fate: Fate) {
        let Some(attempt) = self.courses[task].attempt.take() else { return };
        self.attempts[attempt].fate = fate;
        let used = self.turn_usage.remove(&attempt).unwrap_or_default().sum();
        self.charge(attempt, used, Usage::default(), Usage::default());
    }

    fn take_of_task(&mut self, at: Timestamp, entry: &JournalEntry) {
        match entry {
            JournalEntry::RunStarted { .. }
            | JournalEntry::RunResumed { .. }
            | JournalEntry::RunHalted { .. }
            | JournalEntry::RunEnded { .. }
            | JournalEntry::RepositoryChanged { .. }
            | JournalEntry::Noticed { .. }
            | JournalEntry::MergeReady { .. } => {}
            JournalEntry::TaskStarted { task, title, worker, routed, .. } => {
                self.task_started(at, task, title, *worker);
                let task = self.task(task);
                self.tasks[task].routed.clone_from(routed);
            }
            JournalEntry::TaskDecomposed { task, usage, proposal, .. } => {
                let task = self.task(task);
                self.tasks[task].parts = proposal.parts.iter().map(|part| part.id.clone()).collect();
                self.tasks[task].usage += *usage;
                self.spend.splitting += *usage;
                self.pay(*usage);
            }
            JournalEntry::AttemptStarted { .. } => self.attempt_started(at, entry),
            JournalEntry::AgentStopped { session, ending, usage, .. } => {
                let Some(attempt) = self.by_session.get(session).copied() else { return };
                self.unheard.remove(&attempt);
                self.turn_usage.entry(attempt).or_default().stopped(*usage);
                self.attempts[attempt].ending = Some(ending.clone());
                self.attempts[attempt].stopped_at = Some(at);
                self.attempt_phase(attempt, at, SpanKind::Checking);
            }
            JournalEntry::TurnStarted { session, reason, .. } => {
                let Some(attempt) = self.by_session.get(session).copied() else { return };
                if *reason == TurnReason::Test {
                    self.attempts[attempt].asked_for_test = Some(AskedForTest::Nothing);
                    self.unheard.insert(attempt);
                }
                self.attempts[attempt].turns += 1;
                self.attempt_phase(attempt, at, SpanKind::Agent);
            }
            JournalEntry::TurnJudged { session, usage, .. } | JournalEntry::TurnNudged { session, usage, .. } => {
                if let JournalEntry::TurnJudged { task, failed, .. } = entry {
                    failed.iter().filter_map(|gate| tried(gate)).for_each(|what| self.notice(Some(task), what));
                }
                let Some(attempt) = self.by_session.get(session).copied() else { return };
                self.unheard.remove(&attempt);
                if let JournalEntry::TurnJudged { tree, proof_runs, .. } = entry {
                    let before = self.turn_tree.insert(attempt, tree.clone());
                    if self.attempts[attempt].asked_for_test.is_some() {
                        self.attempts[attempt].test_shows = proof_runs.and_then(|runs| runs.tests_show());
                    }
                    if self.attempts[attempt].asked_for_test.is_some() && before.is_some_and(|before| before != *tree) {
                        self.wrote_then.insert(attempt);
                    }
                }
                self.turn_usage.entry(attempt).or_default().judged(*usage);
                self.attempts[attempt].stopped_at.get_or_insert(at);
                self.attempt_phase(attempt, at, SpanKind::Checking);
            }
            JournalEntry::AttemptDropped { .. } => self.dropped(at, entry),
            JournalEntry::AttemptJudged { .. } => self.judged(at, entry),
            JournalEntry::CommitStarted { task, .. } | JournalEntry::MergeStarted { task, .. } => {
                let task = self.task(task);
                self.courses[task].landing = true;
                self.open_phase(task, at, SpanKind::Merging);
            }
            JournalEntry::WaitStarted { task, .. } => {
                let task = self.task(task);
                self.open_phase(task, at, SpanKind::Waiting);
            }
            JournalEntry::WaitEnded { task } => {
                let task = self.task(task);
                self.close_phase(task, at, false);
            }
            JournalEntry::MergeEnded { task, attempt, outcome, reflection } => {
                let task = self.task(task);
                self.close_phase(task, at, false);
                self.courses[task].landing = false;
                let merge = Merge { attempt: *attempt, at, outcome: outcome.clone(), reflection: reflection.clone() };
                self.tasks[task].unmerged.merge_ended(*attempt, outcome);
                self.tasks[task].merges.push(merge);
                if let Some(id) = reflection {
                    let name = self.tasks[task].id.to_string();
                    self.written(id, name, *attempt);
                }
            }
            JournalEntry::HealStarted { .. } | JournalEntry::HealEnded { .. } => self.heal(at, entry),
            JournalEntry::TaskEnded { task, verdict, proof, branch, cause, status, report } => {
                let task = self.task(task);
                let said = Said { verdict: *verdict, proof: *proof, branch, cause, status: *status };
                self.task_ended(task, at, &said, report.as_deref());
            }
        }
    }

    /// Each thing once, with the tasks that were worked on then.
    fn notice(&mut self, task: Option<&TaskId>, what: &str) {
        let known = self.security.iter().position(|noticed| noticed.what == what);
        let place = known.unwrap_or_else(|| {
            self.security.push(Noticed { what: what.to_owned(), tasks: Vec::new() });
            self.security.len() - 1
        });
        let tasks = &mut self.security[place].tasks;
        if let Some(task) = task.filter(|task| !tasks.contains(task)) {
            tasks.push(task.clone());
        }
    }

    /// The task's place; one that nobody asked for is added.
    pub(super) fn task(&mut self, id: &TaskId) -> usize {
        if let Some(task) = self.by_task.get(id) {
            return *task;
        }
        self.tasks.push(NightTask {
            id: id.clone(),
            title: String::new(),
            state: TaskState::Open,
            started: false,
            routed: None,
            parts: Vec::new(),
            verdict: None,
            proof: None,
            proof_hunks: None,
            branch: None,
            files: Vec::new(),
            tests: None,
            change: None,
            proof_runs: None,
            is_loose_bug: false,
            expects_nothing: false,
            brought_in: false,
            after: Vec::new(),
            cause: None,
            kept: Vec::new(),
            patches: Vec::new(),
            stop: None,
            person: Vec::new(),
            risk: None,
            attempts: Vec::new(),
            judged: 0,
            solved_at: None,
            merges: Vec::new(),
            unmerged: Unmerged::default(),
            conflicts: Vec::new(),
            held_by: Vec::new(),
            in_work: false,
            landing: false,
            usage: Usage::default(),
            agent_ms: 0,
        });
        self.courses.push(Course::default());
        self.by_task.insert(id.clone(), self.tasks.len() - 1);
        self.tasks.len() - 1
    }

    fn task_started(&mut self, at: Timestamp, task: &TaskId, title: &str, worker: usize) {
        let task = self.task(task);
        self.close_phase(task, at, true);
        self.cut_attempt(task, Fate::Cut);
        self.release(task, at);
        let course = &mut self.courses[task];
        (course.worker, course.since, course.ended) = (worker.min(MOST_WORKERS), Some(at), None);
        self.tasks[task].started = true;
        (self.tasks[task].in_work, self.tasks[task].landing) = (false, false);
        if !title.is_empty() {
            title.clone_into(&mut self.tasks[task].title);
        }
        self.open_phase(task, at, SpanKind::Preparing);
    }

    fn attempt_started(&mut self, at: Timestamp, entry: &JournalEntry) {
        let JournalEntry::AttemptStarted { task, subtask, attempt, session, agent, injected, others, exposure, .. } =
            entry
        else {
            return;
        };
        let place = self.task(task);
        self.close_phase(place, at, false);
        self.cut_attempt(place, Fate::Cut);
        let course = &mut self.courses[place];
        course.since.get_or_insert(at);
        let number = self.attempts.len();
        course.attempt = Some(number);
        let (worker, subtask): (usize, &SubtaskId) = (course.worker, subtask);
        self.by_session.insert(session.clone(), number);
        self.attempts.push(NightAttempt {
            task: task.clone(),
            subtask: subtask.clone(),
            attempt: *attempt,
            session: session.clone(),
            agent: agent.clone(),
            worker,
            started_at: at,
            stopped_at: None,
            ended_at: None,
            agent_ms: 0,
            checking_ms: 0,
            turns: 1,
            asked_for_test: None,
            test_shows: None,
            fate: Fate::Working,
            ending: None,
            verdict: None,
            because: String::new(),
            red: None,
            signature: None,
            answer: None,
            flaky: Vec::new(),
            risk: None,
            usage: Usage::default(),
            injected: injected.clone(),
            exposure: exposure.clone(),
            others: others.clone(),
            reflection: None,
        });
        self.tasks[place].started = true;
        self.tasks[place].attempts.push(number);
        for id in injected {
            let lesson = self.lesson(id);
            self.lessons[lesson].injected_into.push(number);
        }
        self.open_phase(place, at, SpanKind::Agent);
    }

    fn dropped(&mut self, at: Timestamp, entry: &JournalEntry) {
        let JournalEntry::AttemptDropped { session, ending, usage, judging_usage, .. } = entry else { return };
        let Some(attempt) = self.close_attempt(session, at, Fate::Dropped) else { return };
        self.attempts[attempt].stopped_at.get_or_insert(at);
        if let Some(ending) = ending {
            self.attempts[attempt].ending = Some(ending.clone());
            self.limit(attempt, ending, at);
        }
        self.charge(attempt, *usage, *judging_usage, Usage::default());
    }

    fn judged(&mut self, at: Timestamp, entry: &JournalEntry) {
        let JournalEntry::AttemptJudged {
            task,
            attempt: number,
            session,
            ending,
            usage,
            tree,
            verdict,
            because,
            proof,
            proof_runs,
            proof_hunks,
            tests,
            person,
            risk,
            flaky,
            failure,
            red,
            signature,
            answer,
            reflection,
            reflection_usage,
            judging_usage,
            ..
        } = entry
        else {
            return;
        };
        let place = self.task(task);
        self.tasks[place].judged += 1;
        self.tasks[place].verdict = Some(*verdict);
        self.tasks[place].unmerged.judged(*number, (*verdict, *failure), because);
        self.tasks[place].person.clone_from(person);
        self.tasks[place].risk.clone_from(risk);
        self.tasks[place].proof_hunks.clone_from(proof_hunks);
        self.tasks[place].tests.clone_from(tests);
        self.tasks[place].proof_runs = *proof_runs;
        if let Some(id) = reflection {
            self.written(id, task.to_string(), *number);
        }
        let Some(attempt) = self.close_attempt(session, at, Fate::Judged) else { return };
        let written = self.turn_tree.remove(&attempt).is_some_and(|last| last != *tree);
        let wrote = self.wrote_then.remove(&attempt);
        let unheard = self.unheard.remove(&attempt);
        let judged = &mut self.attempts[attempt];
        if unheard {
            // It could not be told: its conversation was gone.
            judged.asked_for_test = None;
            judged.turns -= 1;
        }
        judged.asked_for_test = judged.asked_for_test.map(|_| match proof {
            Some(proof) if proof.shows_a_difference() && wrote => AskedForTest::Proves,
            Some(proof) if proof.shows_a_difference() => AskedForTest::HadOne,
            _ if written => AskedForTest::LeftOut,
            _ => AskedForTest::Nothing,
        });
        judged.test_shows = judged.test_shows.filter(|_| judged.asked_for_test == Some(AskedForTest::LeftOut));
        judged.stopped_at.get_or_insert(at);
        judged.ending = Some(ending.clone());
        judged.verdict = Some(*verdict);
        judged.because.clone_from(because);
        judged.red.clone_from(red);
        judged.signature.clone_from(signature);
        judged.answer.clone_from(answer);
        judged.flaky.clone_from(flaky);
        judged.risk.clone_from(risk);
        judged.reflection.clone_from(reflection);
        self.limit(attempt, ending, at);
        self.charge(attempt, *usage, *judging_usage, *reflection_usage);
    }

    /// The agent run with this session, which is over; none if it never began.
    fn close_attempt(&mut self, session: &SessionId, at: Timestamp, fate: Fate) -> Option<usize> {
        let attempt = self.by_session.get(session).copied()?;
        let task = self.task(&self.attempts[attempt].task.clone());
        if self.courses[task].attempt != Some(attempt) {
            // It was over before: a line that is written twice counts once.
            return None;
        }
        self.close_phase(task, at, false);
        self.courses[task].attempt = None;
        self.turn_usage.remove(&attempt);
        self.attempts[attempt].ended_at = Some(at);
        self.attempts[attempt].fate = fate;
        Some(attempt)
    }

    fn charge(&mut self, attempt: usize, agent: Usage, judging: Usage, reflecting: Usage) {
        for usage in [agent, judging, reflecting] {
            self.attempts[attempt].usage += usage;
            self.pay(usage);
        }
        self.spend.judging += judging;
        self.spend.reflecting += reflecting;
        if agent.tokens().is_none() && agent.cost_usd.is_none() {
            self.spend.silent += 1;
        }
    }

    fn pay(&mut self, usage: Usage) {
        self.spend.usage += usage;
        let Some(usd) = usage.cost_usd else { return };
        let sum = match usage.cost_source {
            Some(CostSource::Estimated) => &mut self.spend.estimated_usd,
            Some(CostSource::Reported) | None => &mut self.spend.reported_usd,
        };
        *sum = Some(sum.unwrap_or(0.0) + usd);
    }

    fn limit(&mut self, attempt: usize, ending: &Ending, at: Timestamp) {
        if matches!(ending, Ending::Finished | Ending::Nudged | Ending::Cancelled) {
            return;
        }
        let agent = self.attempts[attempt].agent.clone();
        let limit = self.limits.entry((agent, ending.as_str())).or_insert((0, at, at));
        (limit.0, limit.2) = (limit.0 + 1, at);
    }

    fn lesson(&mut self, id: &ReflectionId) -> usize {
        if let Some(lesson) = self.by_lesson.get(id) {
            return *lesson;
        }
        self.lessons.push(Lesson {
            id: id.clone(),
            written: false,
            task: None,
            attempt: None,
            analysis: None,
            suggestion: None,
            same_as: None,
            injected_into: Vec::new(),
        });
        self.by_lesson.insert(id.clone(), self.lessons.len() - 1);
        self.lessons.len() - 1
    }

    fn written(&mut self, id: &ReflectionId, task: String, attempt: u32) {
        let lesson = self.lesson(id);
        let lesson = &mut self.lessons[lesson];
        (lesson.written, lesson.task, lesson.attempt) = (true, Some(task), Some(attempt));
    }

    fn task_ended(&mut self, task: usize, at: Timestamp, said: &Said<'_>, report: Option<&TaskReport>) {
        self.close_phase(task, at, false);
        self.cut_attempt(task, Fate::Cut);
        self.release(task, at);
        let confirmed = said.verdict == Some(Verdict::Confirmed);
        let course = &mut self.courses[task];
        course.landing = false;
        course.ended = Some(said.status.unwrap_or(if confirmed { Status::Closed } else { Status::Blocked }));
        let ended = &mut self.tasks[task];
        ended.verdict = said.verdict;
        ended.proof = said.proof;
        ended.branch.clone_from(said.branch);
        ended.cause.clone_from(said.cause);
        ended.stop = report.and_then(|report| report.stop);
        ended.files = report.map(|report| report.files.clone()).unwrap_or_default();
        if let Some(patch) = report.and_then(|report| report.patch.clone()) {
            // It was written over.
            ended.patches.retain(|before| before.file != patch.file);
            ended.patches.push(patch);
        }
        (ended.in_work, ended.landing) = (false, false);
        let last = ended.attempts.last().map(|attempt| self.attempts[*attempt].attempt).filter(|_| confirmed);
        ended.solved_at = report.and_then(|report| report.solved_at).or(last);
        if let Some(risk) = report.and_then(|report| report.risk.clone()) {
            ended.risk = Some(risk);
        }
    }

    fn attempt_phase(&mut self, attempt: usize, at: Timestamp, kind: SpanKind) {
        let task = self.task(&self.attempts[attempt].task.clone());
        if self.courses[task].attempt == Some(attempt) {
            self.open_phase(task, at, kind);
        }
    }

    pub(super) fn open_phase(&mut self, task: usize, at: Timestamp, kind: SpanKind) {
        if self.courses[task].phase.is_some_and(|(open, _)| open == kind) {
            return;
        }
        self.close_phase(task, at, false);
        self.courses[task].since.get_or_insert(at);
        self.courses[task].phase = Some((kind, at));
    }

    fn close_phase(&mut self, task: usize, end: Timestamp, cut: bool) {
        let course = &mut self.courses[task];
        let Some((kind, start)) = course.phase.take() else { return };
        let length = end.duration_since(start);
        let worker = course.worker;
        if kind == SpanKind::Waiting {
            let share = course.shares.entry(worker).or_default();
            share.1 = share.1.saturating_add(length);
        }
        let attempt = course.attempt.filter(|_| matches!(kind, SpanKind::Agent | SpanKind::Checking));
        if let Some(attempt) = attempt {
            let attempt = &mut self.attempts[attempt];
            let spent = if kind == SpanKind::Agent { &mut attempt.agent_ms } else { &mut attempt.checking_ms };
            *spent += millis(length);
        }
        self.spans.push(Span { worker, task, attempt, kind, start, end, cut });
    }

    /// The task's worker is free.
    fn release(&mut self, task: usize, at: Timestamp) {
        let course = &mut self.courses[task];
        let Some(since) = course.since.take() else { return };
        let share = course.shares.entry(course.worker).or_default();
        share.0 = share.0.saturating_add(at.duration_since(since));
    }

    fn standing(&self, task: usize) -> TaskState {
        let (course, told) = (&self.courses[task], &self.tasks[task]);
        let merged = matches!(told.merges.last(), Some(Merge { outcome: MergeOutcome::Merged { .. }, .. }));
        let refuted = matches!(told.verdict, Some(Verdict::Failed | Verdict::FalseDone));
        match course.ended {
            Some(Status::Closed) if merged => TaskState::Merged,
            // A parent of others has no attempt of its own.
            Some(Status::Closed) if told.branch.is_none() && told.merges.is_empty() && told.judged > 0 => {
                TaskState::Unchanged
            }
            Some(Status::Closed) => TaskState::Confirmed,
            Some(Status::Blocked) if refuted && told.person.is_empty() => TaskState::Failed,
            Some(Status::Blocked) => TaskState::Blocked,
            Some(Status::Open | Status::InProgress) => TaskState::Open,
            None if merged => TaskState::Merged,
            None if told.in_work && self.state == Some(NightState::Running) => TaskState::Working,
            None => TaskState::Open,
        }
    }
}

/// What a gate that refuted work has found the agent to do, where that is more than unfinished work.
fn tried(gate: &str) -> Option<&'static str> {
    match gate {
        "no_direct_push" => {
            Some("its own record shows a push to the default branch, or a merge, that nobody asked for")
        }
        "hooks_kept" => Some("its own record shows that it passed over the project's git hooks"),
        _ => None,
    }
}

/// What a task's end says.
struct Said<'e> {
    verdict: Option<Verdict>,
    proof: Option<Proof>,
    branch: &'e Option<String>,
    cause: &'e Option<String>,
    status: Option<Status>,
}

pub(super) fn millis(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(0)
}
