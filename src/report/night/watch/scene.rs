//! A run in this moment: beside the [`Night`], who is at work on what, and what came last.

use super::super::value::{Fate, Night, NightState, Span, SpanKind};
use super::super::words::foreign;
use super::said::Said;
use crate::domain::{LoggedEntry, SessionId, TaskId, Timestamp, TranscriptItem, TranscriptRecord, Usage};
use crate::report::transcript::step;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// So many of the newest lines are kept.
pub const RECENT: usize = 200;
/// So many of an agent's newest steps are kept.
const STEPS: usize = 300;

/// A run in this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// What its journal says.
    pub night: Night,
    /// Who is at work, by worker; nobody if no process works on the run.
    pub workers: Vec<AtWork>,
    /// What happened last, the newest at the end; not more than [`RECENT`].
    pub recent: Vec<Said>,
    /// What a watcher must know about what is shown, e.g. what cannot be read.
    pub notes: Vec<String>,
}

/// What a worker does now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AtWork {
    /// Which worker, from 0.
    pub worker: usize,
    /// Its task.
    pub task: TaskId,
    /// The task's title, in one line that drives no terminal.
    pub title: String,
    /// What is done for the task; null between two steps.
    pub phase: Option<SpanKind>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// The number of the attempt that is at work or is judged.
    pub attempt: Option<u32>,
    /// Its agent.
    pub agent: Option<String>,
    /// Answers of the agent's model so far, as its transcript tells.
    pub turns: u32,
    /// Tokens so far, where the agent says so while it works.
    pub tokens: Option<u64>,
    /// The agent's last step in a few words.
    pub doing: Option<String>,
    /// When that was.
    pub doing_at: Option<Timestamp>,
    /// The task, as a place in the night's tasks.
    #[serde(skip)]
    pub place: usize,
}

/// What an agent has done until now, as its transcript tells while it is written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// When it began.
    pub started: Option<Timestamp>,
    /// Its newest steps.
    pub steps: VecDeque<TranscriptRecord>,
    turns: u32,
    usage: Usage,
    doing: Option<(Timestamp, String)>,
}

impl Live {
    /// The next line of the transcript.
    pub fn take(&mut self, record: TranscriptRecord) {
        self.started.get_or_insert(record.at);
        if let TranscriptItem::Turn { usage } = &record.item {
            self.turns += 1;
            self.usage += *usage;
        }
        // What a sub-agent does says less than the call that started it.
        if record.parent.is_none()
            && let Some(words) = step(&record.item)
        {
            self.doing = Some((record.at, words));
        }
        self.steps.push_back(record);
        if self.steps.len() > STEPS {
            self.steps.pop_front();
        }
    }
}

impl Scene {
    /// The run in this moment, from its journal's newest entries and the transcripts of the agents at work.
    #[must_use]
    pub fn of(night: Night, entries: &[LoggedEntry], live: &HashMap<SessionId, Live>, notes: Vec<String>) -> Self {
        let mut recent: Vec<Said> =
            entries.iter().rev().filter_map(|entry| Said::of(entry.at, &entry.entry)).take(RECENT).collect();
        recent.reverse();
        let workers = at_work(&night, live);
        Self { night, workers, recent, notes }
    }
}

/// The agent runs whose transcripts are being written.
pub fn working_sessions(night: &Night) -> impl Iterator<Item = &SessionId> {
    let last = night.tasks.iter().filter(|task| task.in_work).filter_map(|task| task.attempts.last());
    let last = last.map(|place| &night.attempts[*place]);
    last.filter(|attempt| attempt.fate == Fate::Working).map(|attempt| &attempt.session)
}

fn at_work(night: &Night, live: &HashMap<SessionId, Live>) -> Vec<AtWork> {
    if night.state != NightState::Running {
        return Vec::new();
    }
    let mut open: HashMap<usize, &Span> = HashMap::new();
    for span in going_on(night) {
        open.entry(span.task).or_insert(span);
    }
    let tasks = night.tasks.iter().enumerate().filter(|(_, task)| task.in_work);
    let mut workers: Vec<AtWork> = tasks
        .map(|(place, task)| {
            let span = open.get(&place);
            let last = task.attempts.last().map(|attempt| &night.attempts[*attempt]);
            let working = last.filter(|attempt| attempt.fate == Fate::Working);
            let live = working.and_then(|attempt| live.get(&attempt.session));
            let doing = live.and_then(|live| live.doing.clone());
            AtWork {
                worker: span.map(|span| span.worker).or_else(|| last.map(|attempt| attempt.worker)).unwrap_or_default(),
                task: task.id.clone(),
                title: foreign(&task.title, 160),
                phase: span.map(|span| span.kind),
                since: span.map(|span| span.start),
                attempt: working.map(|attempt| attempt.attempt),
                agent: working.map(|attempt| foreign(&attempt.agent, 60)),
                turns: live.map_or(0, |live| live.turns),
                tokens: live.and_then(|live| live.usage.tokens()),
                doing_at: doing.as_ref().map(|(at, _)| *at),
                doing: doing.map(|(_, words)| words),
                place,
            }
        })
        .collect();
    workers.sort_by_key(|at_work| at_work.worker);
    workers
}

/// The spans that have no end yet; they come last.
pub(super) fn going_on(night: &Night) -> impl Iterator<Item = &Span> {
    let runs = night.state == NightState::Running;
    let last = night.last_sign_at;
    night.spans.iter().rev().take_while(move |span| runs && span.cut && Some(span.end) == last)
}
