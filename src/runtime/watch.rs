//! A run that is watched from outside: its journal and the transcripts of its agents are read on while they grow.
//! Nothing is created and no lock is held, so that it works beside the run, and after it.

use super::report::{Records, Seen};
use crate::domain::{Life, RunId, SessionId, Waiting};
use crate::report::night::watch::{Live, Said, Scene, working_sessions};
use crate::report::night::{Night, Times, waits};
use crate::services::{RunReader, RunsError, TranscriptReader};
use std::collections::HashMap;
use std::time::Duration;

/// Putting a scene together may take one part in so many of a watcher's time, however long the journal is.
const SHARE: u32 = 10;

/// Reads one run of a project on.
pub struct RunWatch {
    records: Records,
    run: RunId,
    journal: Box<dyn RunReader>,
    /// What the shown scene was made of.
    life: Option<Life>,
    live: HashMap<SessionId, (Box<dyn TranscriptReader>, Live)>,
    seen: Seen,
    /// When the next scene may be made.
    not_before: Duration,
}

impl RunWatch {
    /// The run, of which nothing is read yet.
    pub(super) fn new(records: Records, run: RunId) -> Self {
        Self {
            journal: records.runs.open(&run),
            records,
            run,
            life: None,
            live: HashMap::new(),
            seen: Seen::default(),
            not_before: Duration::ZERO,
        }
    }

    /// The run in this moment; none if nothing has changed, or if it took so long the last time that it is too early.
    ///
    /// # Errors
    /// If its journal cannot be read at all.
    pub async fn scene(&mut self) -> Result<Option<Scene>, RunsError> {
        let began = self.records.clock.elapsed();
        if began < self.not_before {
            return Ok(None);
        }
        let mut notes = Vec::new();
        // First whether it lives: a run that ends in between is told as one that goes on, not as a dead one.
        let life = self.records.life(&self.run, &mut notes);
        let mut changed = self.journal.read_on()?;
        changed |= self.life.replace(life) != Some(life);
        for (session, (transcript, live)) in &mut self.live {
            match transcript.read_on(&mut |record| live.take(record)) {
                Ok(more) => changed |= more,
                Err(error) => notes.push(format!("the transcript of {} cannot be read: {error}", session.as_str())),
            }
        }
        if !changed {
            return Ok(None);
        }
        let clock = &self.records.clock;
        if let Some(Waiting { pid, until }) = self.records.waiting() {
            notes.push(waits(pid, until, &Times { zone: clock.zone(), now: clock.now() }));
        }
        let night = self.records.told(&*self.journal, life, &mut self.seen, &mut notes).await;
        self.listen(&night);
        let live = self.live.iter().map(|(session, (_, live))| (session.clone(), live.clone())).collect();
        let scene = Scene::of(night, &self.journal.log().entries, &live, notes);
        let now = self.records.clock.elapsed();
        self.not_before = now + now.saturating_sub(began) * SHARE;
        Ok(Some(scene))
    }

    /// From now on those agents are listened to that work.
    fn listen(&mut self, night: &Night) {
        let mut before = std::mem::take(&mut self.live);
        for session in working_sessions(night) {
            let begin = || (self.journal.transcript(session), Live::default());
            let mut heard = before.remove(session).unwrap_or_else(begin);
            // The first look at a transcript; what cannot be read now is said the next time.
            let _ = heard.0.read_on(&mut |record| heard.1.take(record));
            self.live.insert(session.clone(), heard);
        }
    }

    /// What the journal says from the entry with this number on, in words, and the number of the next one to come.
    #[must_use]
    pub fn said_since(&self, entry: usize) -> (Vec<Said>, usize) {
        let entries = &self.journal.log().entries;
        let new = entries.get(entry..).unwrap_or_default();
        (new.iter().filter_map(|entry| Said::of(entry.at, &entry.entry)).collect(), entries.len())
    }

    /// The newest steps of an agent run, also of one that is over; nothing where it left none.
    #[must_use]
    pub fn steps(&self, session: &SessionId) -> Live {
        if let Some((_, live)) = self.live.get(session) {
            return live.clone();
        }
        let mut live = Live::default();
        let mut transcript = self.journal.transcript(session);
        while let Ok(true) = transcript.read_on(&mut |record| live.take(record)) {}
        live
    }
}
