//! What follows from what: a task's life as a pure function, without clock, I/O or await.
//!
//! [`step`] takes a state and an input and gives the next state and the effects to perform, in order. The bound of
//! every loop is visible here: attempts per subtask, agents in the chain, transient runs. Only a rate limit is waited for
//! as often as it comes; it uses no attempt, and an interruption ends the wait.

use super::judge::Judgement;
use crate::domain::AttemptCount;
use crate::domain::Ending;
use crate::domain::EndingEffect;
use crate::domain::Proof;
use crate::domain::Status;
use crate::domain::Stop;
use crate::domain::Timestamp;
use crate::domain::TreeId;
use crate::domain::Verdict;
use crate::domain::policy::LimitWait;
use crate::domain::policy::RetryStart;
use crate::services::RetryFrom;
use std::time::Duration;

/// How long to wait before the second and third run after a `transient` ending: 30 s in all, so that `run` stays
/// something one can wait for.
const BACK_OFF: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(22)];

/// How long to wait after that where the run has a night's patience; doubled each time,
const LONGER_BACK_OFF: Duration = Duration::from_mins(1);
/// and never longer than this.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(15);

/// How long to wait where a rate limit names no reset.
const UNKNOWN_RESET: Duration = Duration::from_mins(1);

/// What is fixed for the task in this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The task's recorded base.
    pub base: TreeId,
    /// How many attempts each subtask has had before this run; one entry per subtask.
    pub counts: Vec<AttemptCount>,
    /// Attempts per subtask since the task was last opened.
    pub max_attempts: u32,
    /// The fallback chain; never empty.
    pub agents: Vec<Agent>,
    /// What a retry starts from.
    pub retry_start: RetryStart,
    /// What a rate limit means.
    pub limit_wait: LimitWait,
    /// How long passing faults of a service are put up with.
    pub patience: Patience,
    /// Where confirmed work goes.
    pub landing: Landing,
}

/// How long passing faults of a service are put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Three runs and 30 s: somebody waits.
    Short,
    /// Until the run ends, with ever longer waits.
    Night,
}

/// Where confirmed work goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// It stays on the task's branch.
    Branch,
    /// From there it is merged into the run's integration branch; what does not merge is a failed attempt.
    Integration,
}

/// An agent of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What its retries start from under `auto`.
    pub retry_from: RetryFrom,
}

/// Where the task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    plan: Plan,
    part: usize,
    part_start: TreeId,
    /// Attempts judged in this run, by part.
    judged: Vec<u32>,
    agent: usize,
    transient_runs: usize,
    /// What the confirmation that is being merged rests on.
    proof: Option<Proof>,
    /// Change and signature of this part's failures, oldest first.
    failures: Vec<(TreeId, String)>,
    last: Option<Verdict>,
    first_cause: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The workspace is open and the baseline is known.
    Ready,
    /// The agent could not be started.
    NotStarted {
        /// Why.
        because: String,
    },
    /// The agent stopped for a reason that is not judged.
    Stopped {
        /// Why.
        ending: Ending,
        /// The same in the agent's words.
        detail: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// The wait is over.
    Waited,
    /// The attempt was judged.
    Judged {
        /// The verdict.
        judgement: Judgement,
        /// The files as the agent left them.
        tree: TreeId,
        /// What the failure looks like; equal texts are the same failure.
        signature: String,
    },
    /// The confirmed work is on the integration branch.
    Merged,
    /// It is not, and is kept on a branch of its own.
    NotMerged {
        /// Why, in words.
        because: String,
    },
    /// The workspace was opened anew on top of what was merged before.
    Rebased {
        /// Its base.
        base: TreeId,
    },
    /// The run is interrupted.
    Interrupted,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Let an agent work.
    Attempt {
        /// The subtask, counted from 0.
        part: usize,
        /// From 1, over all runs.
        number: u32,
        /// The agent.
        agent: String,
        /// The recorded tree to start from.
        from: TreeId,
    },
    /// Write and store a reflection on the attempt just judged.
    Reflect,
    /// Wait, then report [`Input::Waited`].
    Wait {
        /// How long.
        duration: Duration,
        /// Why, in words.
        because: String,
    },
    /// Commit the confirmed tree.
    Commit {
        /// What to commit.
        tree: TreeId,
    },
    /// Merge what was committed into the integration branch, then report [`Input::Merged`] or [`Input::NotMerged`].
    Merge,
    /// Open the workspace anew on top of what was merged before, then report [`Input::Rebased`].
    Rebase,
    /// The task is over.
    End(End),
}

/// How a task ends in this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Verdict of the last judged attempt.
    pub verdict: Option<Verdict>,
    /// What a confirmation rests on.
    pub proof: Option<Proof>,
    /// The task's status from now on.
    pub status: Status,
    /// Why it is not confirmed.
    pub cause: Option<String>,
    /// What stands in the way, where it is nothing about the work.
    pub stop: Option<Stop>,
}

impl State {
    /// A task that is about to begin.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            part: 0,
            part_start: plan.base.clone(),
            judged: vec![0; plan.counts.len()],
            agent: 0,
            transient_runs: 0,
            proof: None,
            failures: Vec::new(),
            last: None,
            first_cause: None,
            plan,
        }
    }

    fn number(&self) -> u32 {
        self.plan.counts[self.part].last + self.judged[self.part] + 1
    }

    /// Attempts of the part since its task was last opened.
    fn used(&self) -> u32 {
        self.plan.counts[self.part].since_opened + self.judged[self.part]
    }

    fn attempts_left(&self) -> u32 {
        self.plan.max_attempts.saturating_sub(self.used())
    }

    /// The recorded tree that the next attempt starts from.
    fn start_tree(&self) -> TreeId {
        let Some((change, _)) = self.failures.last() else {
            return self.part_start.clone();
        };
        let same_twice = matches!(self.failures.as_slice(), [.., (_, a), (_, b)] if a == b);
        let fresh = match self.plan.retry_start {
            RetryStart::Fresh => true,
            RetryStart::Continue => false,
            RetryStart::Auto => same_twice || self.plan.agents[self.agent].retry_from == RetryFrom::Base,
        };
        if fresh { self.part_start.clone() } else { change.clone() }
    }

    fn attempt(&self) -> Effect {
        Effect::Attempt {
            part: self.part,
            number: self.number(),
            agent: self.plan.agents[self.agent].name.clone(),
            from: self.start_tree(),
        }
    }

    fn end(&self, status: Status, cause: String, stop: Option<Stop>) -> Effect {
        Effect::End(End { verdict: self.last, proof: None, status, cause: Some(cause), stop })
    }
}

/// The next state, and what to do in order.
#[must_use]
pub fn step(mut state: State, input: Input) -> (State, Vec<Effect>) {
    let effects = match input {
        Input::Ready => vec![begin_part(&state)],
        Input::Waited => vec![state.attempt()],
        Input::Interrupted => vec![interrupted(&state)],
        Input::Merged => vec![Effect::End(confirmed(&state))],
        Input::NotMerged { because } => vec![not_merged(&mut state, &because)],
        Input::Rebased { base } => vec![rebased(&mut state, base)],
        Input::NotStarted { because } => vec![next_agent(&mut state, because)],
        Input::Stopped { ending, detail, at } => vec![stopped(&mut state, &ending, detail, at)],
        Input::Judged { judgement, tree, signature } => judged(&mut state, judgement, tree, signature),
    };
    (state, effects)
}

fn begin_part(state: &State) -> Effect {
    if state.attempts_left() > 0 {
        return state.attempt();
    }
    let used = state.used();
    let when = if state.judged[state.part] == 0 { " in earlier runs" } else { "" };
    state.end(Status::Blocked, format!("all {used} attempts were used{when}"), None)
}

fn stopped(state: &mut State, ending: &Ending, detail: Option<String>, at: Timestamp) -> Effect {
    match ending.effect() {
        EndingEffect::AwaitReset => await_reset(state, ending, at),
        EndingEffect::BackOff => back_off(state),
        EndingEffect::NextAgent => {
            let agent = &state.plan.agents[state.agent].name;
            let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            let because = format!("agent `{agent}` ended with `{}`{detail}", ending.as_str());
            next_agent(state, because)
        }
        EndingEffect::Stop | EndingEffect::Judge => interrupted(state),
    }
}

fn interrupted(state: &State) -> Effect {
    state.end(Status::Open, "the run was interrupted".to_owned(), Some(Stop::Interrupted))
}

fn await_reset(state: &State, ending: &Ending, at: Timestamp) -> Effect {
    let reset = match ending {
        Ending::RateLimited { resets_at } => *resets_at,
        _ => None,
    };
    let because = match reset {
        Some(time) => format!("rate limited until {}", seconds(time)),
        None => "rate limited, and nothing says until when".to_owned(),
    };
    match state.plan.limit_wait {
        LimitWait::Off => state.end(Status::Open, because, Some(Stop::Limit)),
        LimitWait::On => {
            // A reset in the past still earns a short wait, or a wrong clock would turn into a busy loop.
            let until_reset = |time: Timestamp| Duration::try_from(time.duration_since(at)).unwrap_or(Duration::ZERO);
            let duration = reset.map_or(UNKNOWN_RESET, until_reset).max(Duration::from_secs(1));
            Effect::Wait { duration, because }
        }
    }
}

/// People read seconds.
fn seconds(time: Timestamp) -> Timestamp {
    time.round(jiff::Unit::Second).unwrap_or(time)
}

fn back_off(state: &mut State) -> Effect {
    let run = state.transient_runs;
    state.transient_runs += 1;
    let longer = (state.plan.patience == Patience::Night).then(|| {
        let doublings = run.saturating_sub(BACK_OFF.len()).min(10);
        (LONGER_BACK_OFF * (1 << doublings)).min(LONGEST_BACK_OFF)
    });
    if let Some(duration) = BACK_OFF.get(run).copied().or(longer) {
        Effect::Wait { duration, because: "the model's service failed for the moment".to_owned() }
    } else {
        let cause = format!("the model's service failed {} times in a row", run + 1);
        state.end(Status::Open, cause, Some(Stop::Limit))
    }
}

/// Moves on to the next agent of the chain; the first cause is what the user has to mend.
fn next_agent(state: &mut State, because: String) -> Effect {
    let cause = state.first_cause.get_or_insert(because).clone();
    if state.agent + 1 < state.plan.agents.len() {
        state.agent += 1;
        state.attempt()
    } else {
        state.end(Status::Open, cause, Some(Stop::Environment))
    }
}

fn judged(state: &mut State, judgement: Judgement, tree: TreeId, signature: String) -> Vec<Effect> {
    let last_part = state.part + 1 == state.plan.counts.len();
    // A part that is done is no verdict on the task: it has one when its end, or a failure, is judged.
    state.last = match judgement.verdict {
        Verdict::Confirmed | Verdict::Unverifiable if !last_part => None,
        verdict => Some(verdict),
    };
    state.judged[state.part] += 1;
    state.transient_runs = 0;
    if !judgement.person.is_empty() {
        return vec![state.end(Status::Blocked, format!("waits for a person: {}", judgement.person.join("; ")), None)];
    }
    match judgement.verdict {
        Verdict::Confirmed if last_part => {
            state.proof = judgement.proof;
            let then = match state.plan.landing {
                Landing::Branch => Effect::End(confirmed(state)),
                Landing::Integration => Effect::Merge,
            };
            vec![Effect::Commit { tree }, then]
        }
        Verdict::Confirmed => vec![next_part(state, tree)],
        Verdict::Unverifiable if !last_part => vec![next_part(state, tree)],
        Verdict::Unverifiable => vec![state.end(Status::Blocked, judgement.because.clone(), None)],
        Verdict::Failed | Verdict::FalseDone => {
            vec![Effect::Reflect, retry(state, &judgement, tree, signature)]
        }
    }
}

fn next_part(state: &mut State, tree: TreeId) -> Effect {
    state.part += 1;
    state.part_start = tree;
    state.failures.clear();
    begin_part(state)
}

fn confirmed(state: &State) -> End {
    End { verdict: state.last, proof: state.proof, status: Status::Closed, cause: None, stop: None }
}

/// Work that does not merge is a failed attempt, and what it was made on is no longer what it must fit.
fn not_merged(state: &mut State, because: &str) -> Effect {
    state.last = Some(Verdict::Failed);
    state.proof = None;
    if state.attempts_left() > 0 { Effect::Rebase } else { used_up(state, because) }
}

/// Every part is done again: their results are changes to another base.
fn rebased(state: &mut State, base: TreeId) -> Effect {
    state.part = 0;
    state.part_start = base.clone();
    state.plan.base = base;
    state.failures.clear();
    begin_part(state)
}

fn retry(state: &mut State, judgement: &Judgement, tree: TreeId, signature: String) -> Effect {
    state.failures.push((tree, signature));
    if state.attempts_left() > 0 { state.attempt() } else { used_up(state, &judgement.because) }
}

fn used_up(state: &State, because: &str) -> Effect {
    let used = state.used();
    let attempts = if used == 1 { "1 attempt".to_owned() } else { format!("{used} attempts") };
    state.end(Status::Blocked, format!("not solved in {attempts}; the last: {because}"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            base: tree("base"),
            counts: vec![AttemptCount::default()],
            max_attempts: 3,
            agents: vec![Agent { name: "a".to_owned(), retry_from: RetryFrom::Change }],
            retry_start: RetryStart::Auto,
            limit_wait: LimitWait::On,
            patience: Patience::Short,
            landing: Landing::Branch,
        }
    }

    fn tree(name: &str) -> TreeId {
        TreeId(name.to_owned())
    }

    fn judged(verdict: Verdict, to: &str, signature: &str) -> Input {
        let judgement = Judgement {
            verdict,
            proof: None,
            because: "red".to_owned(),
            failure: None,
            failing: None,
            person: Vec::new(),
        };
        Input::Judged { judgement, tree: tree(to), signature: signature.to_owned() }
    }

    fn stop(ending: Ending) -> Input {
        Input::Stopped { ending, detail: None, at: Timestamp::UNIX_EPOCH }
    }

    /// Feeds the inputs and gives every effect in words.
    fn play(plan: Plan, inputs: Vec<Input>) -> Vec<String> {
        let mut state = State::new(plan);
        let mut said = Vec::new();
        for input in inputs {
            let (next, effects) = step(state, input);
            state = next;
            said.extend(effects.iter().map(|effect| match effect {
                Effect::Attempt { part, number, agent, from } => {
                    format!("attempt {part}#{number} {agent} from {}", from.0)
                }
                Effect::Reflect => "reflect".to_owned(),
                Effect::Wait { duration, .. } => format!("wait {}", duration.as_secs()),
                Effect::Commit { tree } => format!("commit {}", tree.0),
                Effect::Merge => "merge".to_owned(),
                Effect::Rebase => "rebase".to_owned(),
                Effect::End(end) => format!(
                    "{} {}{}",
                    end.status.as_str(),
                    end.verdict.map_or("null", Verdict::as_str),
                    end.cause.as_ref().map(|c| format!(": {c}")).unwrap_or_default()
                ),
            }));
        }
        said
    }

    fn check(plan: Plan, inputs: Vec<Input>, expected: &[&str]) {
        assert_eq!(play(plan, inputs), expected);
    }

    #[test]
    fn a_failure_is_reflected_upon_and_retried_until_confirmed() {
        check(
            plan(),
            vec![Input::Ready, judged(Verdict::FalseDone, "t1", "x"), judged(Verdict::Confirmed, "t2", "")],
            &["attempt 0#1 a from base", "reflect", "attempt 0#2 a from t1", "commit t2", "closed confirmed"],
        );
    }

    #[test]
    fn the_last_failure_is_reflected_upon_too() {
        let mut plan = plan();
        plan.max_attempts = 1;
        check(
            plan,
            vec![Input::Ready, judged(Verdict::Failed, "t1", "x")],
            &["attempt 0#1 a from base", "reflect", "blocked failed: not solved in 1 attempt; the last: red"],
        );
    }

    #[test]
    fn auto_starts_fresh_after_the_same_failure_twice_and_for_agents_that_work_from_the_base() {
        let failing = || {
            vec![
                Input::Ready,
                judged(Verdict::Failed, "t1", "x"),
                judged(Verdict::Failed, "t2", "x"),
                judged(Verdict::Failed, "t3", "y"),
            ]
        };
        let starts = |plan: Plan| -> Vec<String> {
            let said = play(plan, failing());
            said.iter().filter_map(|s| Some(s.split_once(" from ")?.1.to_owned())).collect()
        };
        let with = |retry_start, retry_from| {
            let mut plan = plan();
            (plan.max_attempts, plan.retry_start, plan.agents[0].retry_from) = (9, retry_start, retry_from);
            plan
        };
        assert_eq!(starts(with(RetryStart::Auto, RetryFrom::Change)), ["base", "t1", "base", "t3"]);
        assert_eq!(starts(with(RetryStart::Auto, RetryFrom::Base)), ["base", "base", "base", "base"]);
        assert_eq!(starts(with(RetryStart::Continue, RetryFrom::Base)), ["base", "t1", "t2", "t3"]);
        assert_eq!(starts(with(RetryStart::Fresh, RetryFrom::Change)), ["base", "base", "base", "base"]);
    }

    #[test]
    fn numbers_go_on_over_runs_and_used_attempts_count() {
        let mut later = plan();
        later.counts = vec![AttemptCount { last: 4, since_opened: 2 }];
        check(
            later.clone(),
            vec![Input::Ready, judged(Verdict::Failed, "t", "x")],
            &["attempt 0#5 a from base", "reflect", "blocked failed: not solved in 3 attempts; the last: red"],
        );
        later.counts[0].since_opened = 3;
        check(later, vec![Input::Ready], &["blocked null: all 3 attempts were used in earlier runs"]);
    }

    #[test]
    fn a_limit_or_a_passing_fault_uses_no_attempt() {
        let reset = Timestamp::UNIX_EPOCH + Duration::from_secs(90);
        check(
            plan(),
            vec![
                Input::Ready,
                stop(Ending::RateLimited { resets_at: Some(reset) }),
                Input::Waited,
                stop(Ending::Transient),
                Input::Waited,
                stop(Ending::Transient),
                Input::Waited,
                stop(Ending::Transient),
            ],
            &[
                "attempt 0#1 a from base",
                "wait 90",
                "attempt 0#1 a from base",
                "wait 8",
                "attempt 0#1 a from base",
                "wait 22",
                "attempt 0#1 a from base",
                "open null: the model's service failed 3 times in a row",
            ],
        );
        let mut off = plan();
        off.limit_wait = LimitWait::Off;
        check(
            off,
            vec![Input::Ready, stop(Ending::RateLimited { resets_at: None })],
            &["attempt 0#1 a from base", "open null: rate limited, and nothing says until when"],
        );
    }

    #[test]
    fn a_missing_or_refused_agent_hands_over_to_the_next_and_the_first_cause_is_kept() {
        let mut chain = plan();
        chain.agents.push(Agent { name: "b".to_owned(), retry_from: RetryFrom::Base });
        check(
            chain,
            vec![Input::Ready, Input::NotStarted { because: "no program".to_owned() }, stop(Ending::Auth)],
            &["attempt 0#1 a from base", "attempt 0#1 b from base", "open null: no program"],
        );
    }

    #[test]
    fn subtasks_run_in_order_each_from_the_previous_result() {
        let mut parts = plan();
        parts.counts = vec![AttemptCount::default(); 3];
        check(
            parts,
            vec![
                Input::Ready,
                judged(Verdict::Unverifiable, "t1", ""),
                judged(Verdict::Failed, "t2", "x"),
                judged(Verdict::Confirmed, "t3", ""),
                judged(Verdict::Confirmed, "t4", ""),
            ],
            &[
                "attempt 0#1 a from base",
                "attempt 1#1 a from t1",
                "reflect",
                "attempt 1#2 a from t2",
                "attempt 2#1 a from t3",
                "commit t4",
                "closed confirmed",
            ],
        );
    }

    #[test]
    fn a_part_that_is_done_is_no_verdict_on_the_task() {
        let mut parts = plan();
        parts.counts = vec![AttemptCount::default(); 2];
        check(
            parts,
            vec![Input::Ready, judged(Verdict::Confirmed, "t1", ""), stop(Ending::Cancelled)],
            &["attempt 0#1 a from base", "attempt 1#1 a from t1", "open null: the run was interrupted"],
        );
    }

    #[test]
    fn what_only_a_person_can_do_ends_without_retry_or_reflection() {
        let Input::Judged { judgement, tree, signature } = judged(Verdict::FalseDone, "t", "x") else { unreachable!() };
        let judgement = Judgement { person: vec!["log in to the registry".to_owned()], ..judgement };
        check(
            plan(),
            vec![Input::Ready, Input::Judged { judgement, tree, signature }],
            &["attempt 0#1 a from base", "blocked false_done: waits for a person: log in to the registry"],
        );
    }

    #[test]
    fn nothing_checkable_ends_without_retry_or_reflection() {
        check(
            plan(),
            vec![Input::Ready, judged(Verdict::Unverifiable, "t", "")],
            &["attempt 0#1 a from base", "blocked unverifiable: red"],
        );
    }

    #[test]
    fn work_that_does_not_merge_is_a_failed_attempt_and_is_done_again_on_what_was_merged() {
        let mut night = plan();
        (night.landing, night.max_attempts) = (Landing::Integration, 2);
        let rebased = || Input::Rebased { base: tree("merged") };
        let not_merged = || Input::NotMerged { because: "it conflicts".to_owned() };
        let confirmed = |to: &str| judged(Verdict::Confirmed, to, "");
        check(
            night.clone(),
            vec![Input::Ready, confirmed("t1"), not_merged(), rebased(), confirmed("t2"), Input::Merged],
            &[
                "attempt 0#1 a from base",
                "commit t1",
                "merge",
                "rebase",
                "attempt 0#2 a from merged",
                "commit t2",
                "merge",
                "closed confirmed",
            ],
        );
        let lost = vec![Input::Ready, confirmed("t1"), not_merged(), rebased(), confirmed("t2"), not_merged()];
        assert_eq!(
            play(night.clone(), lost).last().unwrap(),
            "blocked failed: not solved in 2 attempts; the last: it conflicts"
        );
        night.counts = vec![AttemptCount::default(); 2];
        let parts = vec![
            Input::Ready,
            judged(Verdict::Unverifiable, "t1", ""),
            confirmed("t2"),
            not_merged(),
            rebased(),
            judged(Verdict::Unverifiable, "t3", ""),
        ];
        assert_eq!(
            play(night, parts)[4..],
            ["rebase", "attempt 0#2 a from merged", "attempt 1#2 a from t3"],
            "every part is done again, and none twice under one number"
        );
    }

    #[test]
    fn a_night_puts_up_with_passing_faults_until_it_ends() {
        let mut night = plan();
        night.patience = Patience::Night;
        let inputs = (0..10).flat_map(|_| [stop(Ending::Transient), Input::Waited]);
        let said = play(night, std::iter::once(Input::Ready).chain(inputs).collect());
        let waits: Vec<&str> = said.iter().filter_map(|s| s.strip_prefix("wait ")).collect();
        assert_eq!(waits, ["8", "22", "60", "120", "240", "480", "900", "900", "900", "900"]);
    }

    #[test]
    fn an_interruption_leaves_the_task_open() {
        check(
            plan(),
            vec![Input::Ready, stop(Ending::Cancelled)],
            &["attempt 0#1 a from base", "open null: the run was interrupted"],
        );
    }
}
