//! What follows from what: a task's life as a pure function, without clock, I/O or await.
//!
//! [`step`] takes a state and an input and gives the next state and the effects to perform, in order. The bound of
//! every loop is visible here: attempts per subtask, agents in the chain, transient runs. Only a rate limit is waited for
//! as often as it comes; it uses no attempt, and an interruption ends the wait.

use super::verdict::Judgement;
use crate::domain::policy::{LimitWait, RetryStart};
use crate::domain::{
    AttemptCount, Ending, EndingEffect, MergeOutcome, Proof, Status, Stop, Timestamp, TreeId, Unmerged, Verdict,
};
use crate::services::RetryFrom;
use std::time::Duration;

/// How long to wait before the second and third run after a `transient` ending: 30 s in all, so that `run` stays
/// something one can wait for.
const BACK_OFF: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(22)];

/// How long to wait after that where the run has a night's patience; doubled each time,
const LONGER_BACK_OFF: Duration = Duration::from_mins(1);
/// and never longer than this.
pub(super) const LONGEST_BACK_OFF: Duration = Duration::from_mins(15);

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
    /// Stronger agents, which step in one after the other.
    pub stronger: Vec<Agent>,
    /// The next of them does after so many failures in a row with the same signature.
    pub escalate_after: u32,
    /// What a retry starts from.
    pub retry_start: RetryStart,
    /// What a rate limit means.
    pub limit_wait: LimitWait,
    /// How long passing faults of a service are put up with.
    pub patience: Patience,
    /// Where confirmed work goes.
    pub landing: Landing,
    /// So much later than a limit's reset it is asked again: clocks differ, and others wait for the same moment.
    pub jitter: Duration,
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
    /// How many stronger agents have stepped in.
    raised: usize,
    transient_runs: usize,
    /// What the confirmation that is being merged rests on.
    proof: Option<Proof>,
    /// Change and signature of this part's failures, oldest first.
    failures: Vec<(TreeId, String)>,
    last: Option<Verdict>,
    /// What became of confirmed work that could not be merged, and of the attempts after it.
    unmerged: Unmerged,
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
    /// It stays on its branch, confirmed: a person merges it.
    LeftToPerson,
    /// It is not, and is kept on a branch of its own.
    NotMerged {
        /// What came of merging it.
        outcome: MergeOutcome,
    },
    /// The workspace was opened anew on top of what was merged before.
    Rebased {
        /// Its base.
        base: TreeId,
    },
    /// The task's budget leaves nothing for another attempt.
    UsedUp {
        /// In words.
        because: String,
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
    /// Merge what was committed into the integration branch, then report [`Input::Merged`],
    /// [`Input::LeftToPerson`] or [`Input::NotMerged`].
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
    /// The branch that keeps confirmed work which could not be merged.
    pub kept: Option<String>,
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
            raised: 0,
            transient_runs: 0,
            proof: None,
            failures: Vec::new(),
            last: None,
            unmerged: Unmerged::default(),
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

    /// Whose turn it is.
    fn at_work(&self) -> &Agent {
        let raised = self.raised.checked_sub(1).and_then(|i| self.plan.stronger.get(i));
        raised.unwrap_or(&self.plan.agents[self.agent])
    }

    /// Lets the next stronger agent step in, if the last failures look the same and none of them was its own.
    fn escalate(&mut self) {
        let alike = self.failures.iter().rev().take_while(|(_, key)| Some(key) == self.failures.last().map(|f| &f.1));
        let alike = u32::try_from(alike.count()).unwrap_or(u32::MAX);
        let due = (u32::try_from(self.raised).unwrap_or(u32::MAX) + 1).saturating_mul(self.plan.escalate_after);
        if self.raised < self.plan.stronger.len() && alike >= due {
            self.raised += 1;
        }
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
            RetryStart::Auto => same_twice || self.at_work().retry_from == RetryFrom::Base,
        };
        if fresh { self.part_start.clone() } else { change.clone() }
    }

    fn attempt(&self) -> Effect {
        Effect::Attempt {
            part: self.part,
            number: self.number(),
            agent: self.at_work().name.clone(),
            from: self.start_tree(),
        }
    }

    fn end(&self, status: Status, cause: String, stop: Option<Stop>) -> Effect {
        let kept = self.unmerged.kept().map(str::to_owned);
        Effect::End(End { verdict: self.last, proof: None, status, cause: Some(cause), stop, kept })
    }
}

/// The next state, and what to do in order.
#[must_use]
pub fn step(mut state: State, input: Input) -> (State, Vec<Effect>) {
    let effects = match input {
        Input::Ready => vec![begin_part(&state)],
        Input::Waited => vec![state.attempt()],
        Input::Interrupted => vec![interrupted(&state)],
        Input::UsedUp { because } => vec![state.end(Status::Open, because, Some(Stop::Budget))],
        Input::Merged | Input::LeftToPerson => vec![Effect::End(confirmed(&state))],
        Input::NotMerged { outcome } => vec![not_merged(&mut state, &outcome)],
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
            let agent = &state.at_work().name;
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

fn await_reset(state: &mut State, ending: &Ending, at: Timestamp) -> Effect {
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
            // A reset in the past says nothing: asked at once, a wrong clock would turn into a busy loop.
            let left =
                |time: Timestamp| Duration::try_from(time.duration_since(at)).ok().filter(|left| !left.is_zero());
            let duration = reset.and_then(left).unwrap_or(UNKNOWN_RESET).saturating_add(state.plan.jitter);
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
    if state.raised > 0 {
        // A stronger one that is not there is no reason to stop: whoever was at it before goes on.
        state.plan.stronger.remove(state.raised - 1);
        state.raised -= 1;
        return state.attempt();
    }
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
    let (number, refuted) = (state.number(), (judgement.verdict, judgement.failure));
    state.unmerged.judged(number, refuted, &judgement.because);
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
        Verdict::Unverifiable => {
            let cause = state.unmerged.words().unwrap_or_else(|| judgement.because.clone());
            vec![state.end(Status::Blocked, cause, None)]
        }
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
    End { verdict: state.last, proof: state.proof, status: Status::Closed, cause: None, stop: None, kept: None }
}

/// Work that does not merge is a failed attempt, and what it was made on is no longer what it must fit.
fn not_merged(state: &mut State, outcome: &MergeOutcome) -> Effect {
    state.last = Some(Verdict::Failed);
    state.proof = None;
    // The number of the one that was judged last.
    state.unmerged.merge_ended(state.number() - 1, outcome);
    if state.attempts_left() > 0 { Effect::Rebase } else { used_up(state, &outcome.failed().unwrap_or_default()) }
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
    state.escalate();
    if state.attempts_left() > 0 { state.attempt() } else { used_up(state, &judgement.because) }
}

fn used_up(state: &State, because: &str) -> Effect {
    let used = state.used();
    let attempts = if used == 1 { "1 attempt".to_owned() } else { format!("{used} attempts") };
    let cause = state.unmerged.words().unwrap_or_else(|| format!("not solved in {attempts}; the last: {because}"));
    state.end(Status::Blocked, cause, None)
}

#[cfg(test)]
mod tests;
