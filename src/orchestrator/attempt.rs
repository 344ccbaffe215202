//! One attempt: turns of one agent in one conversation, until its last turn is judged.

use super::course::{AgentRun, AgentStop, Attempt, Course, Judged, ResumePoint, Stopped};
use super::doubts::Doubts;
use super::healer;
use super::nudge::Nudge;
use super::task_run::{Prepared, TaskPlan, TaskRun, TaskRunError};
use super::turns::Turn;
use super::watch::{Watching, WatchingParams};
use crate::domain::{
    About, AgentReport, Change, Ending, EndingEffect, EventKind, JournalEntry, SessionId, Trace, TranscriptHead,
    TreeId, TurnReason, Usage,
};
use crate::prompt::{ask_for_test, one_line, shorten};
use crate::services::{Conversation, Earlier, UsageMeter};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The turn before the one that is about to begin.
enum Before {
    /// It was judged.
    Judged(Box<Judged>),
    /// It was stopped, and is judged only if nothing follows.
    Nudged(Box<Stopped>),
}

impl Before {
    /// The files as the agent left them.
    fn tree(&self) -> &TreeId {
        match self {
            Self::Judged(judged) => &judged.change.tree,
            Self::Nudged(stopped) => &stopped.change.tree,
        }
    }
}

impl TaskRun {
    /// Lets an agent work, records what it changed, and judges it, turn after turn.
    pub async fn run_attempt(&mut self, prepared: &Prepared, mut attempt: Attempt) -> Result<AgentStop, TaskRunError> {
        let context = Arc::clone(&self.plan.context);
        let mut resume = self.progress.resume.take().filter(|point| point.is_of(&attempt));
        Box::pin(self.look_after(prepared, attempt.part)).await?;
        let workspace = &*prepared.workspace;
        let start = resume.as_ref().map_or(&attempt.from, |point| &point.tree);
        if let Some(because) = Box::pin(self.plan.put_back_work(workspace, attempt.part, start)).await? {
            if attempt.part > 0 {
                return Err(TaskRunError::Blocked(because));
            }
            let message =
                format!("what the last attempt left cannot be set up, so this one starts from the base: {because}");
            self.plan.publish(EventKind::Warning { message });
            (attempt.from, resume) = (workspace.base(), None);
            self.plan.put_back(workspace, attempt.part, &attempt.from).await?;
        }
        let resumed = resume.is_some();
        let mut course = self.begin(prepared, attempt, resume).await;
        context.record(self.plan.intent(&course)).await?;
        let because = match self.run_agent(prepared, &mut course).await? {
            Ok(first) => return self.turns(prepared, course, first).await,
            Err(because) => because,
        };
        self.drop_attempt(&course, None, None).await?;
        if resumed {
            // The attempt begins anew; what was done before the limit is lost, which costs time and nothing else.
            self.plan.publish(EventKind::Warning { message: format!("the attempt begins anew: {because}") });
            return Box::pin(self.run_attempt(prepared, course.attempt)).await;
        }
        self.plan.publish(EventKind::Warning { message: because.clone() });
        Ok(AgentStop::NotStarted { because })
    }

    /// What the attempt's turns share, before the first one.
    async fn begin(&mut self, prepared: &Prepared, attempt: Attempt, resume: Option<ResumePoint>) -> Course {
        let services = &self.plan.context.services;
        let found = self.recall(attempt.part).await;
        let shown = Box::pin(self.plan.expose(&attempt, found)).await;
        let session = SessionId::new(services.clock.new_id());
        let resumes = services.subagents.get(&attempt.agent).is_ok_and(|agent| agent.abilities().resume);
        let max_turns = if resumes { services.settings.verification().max_turns.max(1) } else { 1 };
        let trace = resume.as_ref().map(|point| point.trace.clone()).unwrap_or_default();
        let watching = self.plan.watch(&attempt, &session, prepared.workspace.dir(), trace);
        let (turn, prompt, before, tampered, cut_short, conversation) = match resume {
            None => {
                let prompt = self.prompt(prepared, &attempt, &shown.section);
                (1, prompt, Usage::default(), Vec::new(), None, Conversation::New)
            }
            Some(point) => {
                let (before, conversation) = (point.earlier.usage, Conversation::Resume(point.earlier));
                (point.turn, point.prompt, before, point.tampered, Some(point.ending), conversation)
            }
        };
        Course {
            attempt,
            session,
            watching,
            shown,
            turn,
            max_turns,
            prompt,
            cut_short,
            conversation,
            before,
            usage: Usage::default(),
            judging: UsageMeter::default(),
            tampered,
            doubts: Doubts::default(),
            not_set_up: None,
            only_there: None,
            rules: Vec::new(),
            previous: None,
            confirmed: None,
            began: self.plan.context.services.clock.elapsed(),
            guard: Mutex::default(),
        }
    }

    /// Goes on from a turn that is over until the attempt's last.
    async fn turns(
        &mut self,
        prepared: &Prepared,
        mut course: Course,
        mut run: AgentRun,
    ) -> Result<AgentStop, TaskRunError> {
        loop {
            let (before, reason, because, agent_session) = match run {
                AgentRun::Stopped(stopped) if stopped.report.ending.effect() != EndingEffect::Judge => {
                    if let Some(confirmed) = course.confirmed.take().filter(|_| course.tampered.is_empty()) {
                        return Ok(self.over(prepared, &course, confirmed).await);
                    }
                    return self.not_judged(&course, stopped).await;
                }
                AgentRun::Stopped(stopped) => {
                    let agent_session = stopped.report.agent_session.clone();
                    if agent_session.is_none() {
                        course.max_turns = course.turn;
                    }
                    let Some(turn) = self.judge_turn(prepared, &mut course, stopped).await? else {
                        return match course.confirmed.take().filter(|_| course.tampered.is_empty()) {
                            Some(confirmed) => Ok(self.over(prepared, &course, confirmed).await),
                            None => self.interrupted(&course).await,
                        };
                    };
                    if let Some(confirmed) = course.instead_of(&turn.judged) {
                        return Ok(self.over(prepared, &course, confirmed).await);
                    }
                    let (Turn::Feedback | Turn::AskForTest, Some(agent_session)) = (turn.next, agent_session) else {
                        return Ok(self.over(prepared, &course, turn.judged).await);
                    };
                    let because = turn.judged.judgement.because.clone();
                    let reason = if turn.next == Turn::AskForTest { TurnReason::Test } else { TurnReason::Feedback };
                    if turn.next == Turn::AskForTest {
                        // Of a change that only goes as a whole, no line is one that no check notices.
                        let hunks = turn.judged.proof_hunks.as_ref().filter(|hunks| !hunks.whole);
                        course.prompt = ask_for_test(&because, hunks.map_or(&[], |hunks| &hunks.not_noticed));
                        course.confirmed = Some(turn.judged.clone());
                    } else {
                        course.prompt = self.plan.feedback(&course, &turn);
                    }
                    course.previous = Some(turn.completion);
                    (Before::Judged(turn.judged), reason, because, agent_session)
                }
                AgentRun::Nudged(stopped, nudge) => {
                    self.plan.nudged(&course, &stopped, &nudge).await?;
                    course.prompt = nudge.prompt();
                    let agent_session = stopped.report.agent_session.clone().unwrap_or_default();
                    (Before::Nudged(Box::new(stopped)), TurnReason::Nudge, nudge.because, agent_session)
                }
            };
            course.next(agent_session);
            self.plan.next_turn(&course, reason, because).await?;
            // What the checks wrote is gone; what the agent left stays.
            let put_back = self.plan.put_back_work(&*prepared.workspace, course.attempt.part, before.tree());
            if let Some(because) = Box::pin(put_back).await? {
                return self.as_it_stands(prepared, course, before, because).await;
            }
            run = match self.run_agent(prepared, &mut course).await? {
                Ok(run) => run,
                Err(because) => return self.as_it_stands(prepared, course, before, because).await,
            };
        }
    }

    /// The agent could not be told anything more: the attempt ends with what it has.
    async fn as_it_stands(
        &mut self,
        prepared: &Prepared,
        mut course: Course,
        before: Before,
        because: String,
    ) -> Result<AgentStop, TaskRunError> {
        self.plan.publish(EventKind::Warning { message: format!("the agent could not be told: {because}") });
        let stopped = match before {
            Before::Judged(judged) => return Ok(self.over(prepared, &course, judged).await),
            Before::Nudged(stopped) => *stopped,
        };
        course.max_turns = course.turn;
        match self.judge_turn(prepared, &mut course, stopped).await? {
            Some(turn) => {
                let judged = course.instead_of(&turn.judged).unwrap_or(turn.judged);
                Ok(self.over(prepared, &course, judged).await)
            }
            None => self.interrupted(&course).await,
        }
    }

    /// The attempt's verdict is that of its last turn.
    async fn over(&mut self, prepared: &Prepared, course: &Course, judged: Box<Judged>) -> AgentStop {
        self.progress.report.reflections_injected += u32::try_from(course.shown.section.ids.len()).unwrap_or(u32::MAX);
        self.progress.report.attempts += 1;
        self.progress.report.verdict = Some(judged.judgement.verdict);
        self.progress.report.risk = Some(judged.risk.clone());
        self.plan.publish(EventKind::Judged {
            verdict: judged.judgement.verdict,
            because: judged.judgement.because.clone(),
        });
        if !judged.judgement.person.is_empty() {
            self.plan.publish(EventKind::PersonNeeded { actions: judged.judgement.person.clone() });
        }
        self.plan.keep_capture(course, &judged).await;
        self.remember_failure(&judged, &prepared.baseline);
        if judged.judgement.failure.is_some() {
            self.work.suspects = healer::suspects(&judged.checks, &prepared.baseline);
            let doubted = judged.doubts.at_base.iter().filter(|check| !self.work.suspects.contains(check)).cloned();
            let doubted: Vec<_> = doubted.collect();
            self.work.suspects.extend(doubted);
        }
        let judging_usage = self.count_judging(course);
        AgentStop::Judged(Box::new(Judged { usage: course.usage, judging_usage, ..*judged }))
    }

    async fn not_judged(&mut self, course: &Course, stopped: Stopped) -> Result<AgentStop, TaskRunError> {
        let Stopped { report, change } = stopped;
        self.progress.resume = self.plan.resume_point(course, &report, &change);
        self.drop_attempt(course, Some(&report.ending), Some((change.files.len(), report.detail.as_deref()))).await?;
        let detail = report.detail.as_deref().map(first_line);
        Ok(AgentStop::Stopped { ending: report.ending, detail })
    }

    async fn interrupted(&mut self, course: &Course) -> Result<AgentStop, TaskRunError> {
        self.progress.report.endings.push(Ending::Cancelled);
        self.drop_attempt(course, Some(&Ending::Cancelled), None).await?;
        Ok(AgentStop::Stopped { ending: Ending::Cancelled, detail: None })
    }

    /// Counts what judging an attempt used to the task, once the attempt is over.
    fn count_judging(&mut self, course: &Course) -> Usage {
        let used = course.judging.total();
        self.progress.usage += used;
        self.plan.context.spent.add(used);
        self.progress.report.judging_usage += used;
        used
    }

    /// `stopped` is what nothing has said yet of how the agent stopped: how many files differ, and what went wrong.
    async fn drop_attempt(
        &mut self,
        course: &Course,
        ending: Option<&Ending>,
        stopped: Option<(usize, Option<&str>)>,
    ) -> Result<(), TaskRunError> {
        let judging_usage = self.count_judging(course);
        let entry = JournalEntry::AttemptDropped {
            task: self.plan.task.id.clone(),
            session: course.session.clone(),
            ending: ending.cloned(),
            usage: course.usage,
            judging_usage,
            files: stopped.map(|(files, _)| files),
            detail: stopped.and_then(|(_, detail)| detail.map(in_short)),
        };
        Ok(self.plan.context.record(entry).await?)
    }
}

impl TaskPlan {
    async fn nudged(&self, course: &Course, stopped: &Stopped, nudge: &Nudge) -> Result<(), TaskRunError> {
        let entry = JournalEntry::TurnNudged {
            task: self.task.id.clone(),
            session: course.session.clone(),
            turn: course.turn,
            usage: stopped.report.usage,
            tree: stopped.change.tree.clone(),
            because: nudge.because.clone(),
            files: Some(stopped.change.files.len()),
        };
        Ok(self.context.record(entry).await?)
    }

    async fn next_turn(&self, course: &Course, reason: TurnReason, because: String) -> Result<(), TaskRunError> {
        let entry = JournalEntry::TurnStarted {
            task: self.task.id.clone(),
            session: course.session.clone(),
            turn: course.turn,
            reason,
            because,
        };
        Ok(self.context.record(entry).await?)
    }

    /// Where the same attempt can go on, if its agent keeps conversations and will be asked again.
    fn resume_point(&self, course: &Course, report: &AgentReport, change: &Change) -> Option<ResumePoint> {
        let attempt = &course.attempt;
        let again = matches!(report.ending.effect(), EndingEffect::AwaitReset | EndingEffect::BackOff);
        let agent = self.context.services.subagents.get(&attempt.agent).ok()?;
        let agent_session = report.agent_session.clone().filter(|_| again && agent.abilities().resume)?;
        Some(ResumePoint {
            part: attempt.part,
            number: attempt.number,
            agent: attempt.agent.clone(),
            tree: change.tree.clone(),
            ending: report.ending.clone(),
            earlier: Earlier { agent_session, usage: course.conversation_usage() },
            turn: course.turn,
            prompt: course.prompt.clone(),
            tampered: course.tampered.clone(),
            trace: course.watching.seen().trace.clone(),
        })
    }

    /// Where the agent's steps go.
    fn watch(&self, attempt: &Attempt, session: &SessionId, dir: PathBuf, trace: Trace) -> Arc<Watching> {
        let services = &self.context.services;
        let subtask = self.parts[attempt.part].id.clone();
        let transcript = services.transcripts.begin(TranscriptHead {
            run: self.context.run.clone(),
            session: session.clone(),
            task: self.task.id.clone(),
            subtask: subtask.clone(),
            attempt: attempt.number,
            agent: attempt.agent.clone(),
        });
        let about = About {
            subtask: Some(subtask),
            attempt: Some(attempt.number),
            session: Some(session.clone()),
            ..About::task(&self.context.run, &self.task.id)
        };
        Arc::new(Watching::new(WatchingParams {
            transcript,
            events: Arc::clone(&services.events),
            clock: Arc::clone(&services.clock),
            about,
            dir,
            trace,
        }))
    }

    fn intent(&self, course: &Course) -> JournalEntry {
        JournalEntry::AttemptStarted {
            task: self.task.id.clone(),
            subtask: self.parts[course.attempt.part].id.clone(),
            attempt: course.attempt.number,
            session: course.session.clone(),
            agent: course.attempt.agent.clone(),
            start: course.attempt.from.clone(),
            injected: course.shown.section.ids.clone(),
            others: course.shown.others.clone(),
            exposure: course.shown.exposure.as_deref().cloned(),
            resumes: match &course.conversation {
                Conversation::Resume(earlier) => Some(earlier.agent_session.clone()),
                Conversation::New | Conversation::Fork(_) => None,
            },
        }
    }
}

/// What an agent failed with, as the journal keeps it: one line.
pub(super) fn in_short(detail: &str) -> String {
    const BYTES: usize = 1000;
    shorten(&one_line(detail), BYTES).into_owned()
}

/// The first two lines of what an agent failed with: how it ended, and what it said.
pub(super) fn first_line(detail: &str) -> String {
    detail
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(2)
        .collect::<Vec<_>>()
        .join(": ")
        .chars()
        .take(300)
        .collect()
}
