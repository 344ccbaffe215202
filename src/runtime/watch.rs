//! A run that is watched from outside: its journal and the transcripts of its agents are read on while they grow.
//! Nothing is created and no lock is held, so that it works beside the run, and after it.

use super::report::{Lessons, TasksNow, Waiting, kept, life, waiting};
use crate::domain::{Life, RunId, SessionId, policy};
use crate::host::SystemClock;
use crate::report::night::watch::{Live, Said, Scene, working_sessions};
use crate::report::night::{Night, Times, waits};
use crate::services::Clock;
use crate::storage::{RunTail, Seals, TranscriptTail};
use std::collections::HashMap;
use std::io;
use std::time::Duration;

/// Putting a scene together may take one part in so many of a watcher's time, however long the journal is.
const SHARE: u32 = 10;

/// Reads one run of a project on.
pub struct RunWatch {
    project: policy::Project,
    run: RunId,
    clock: SystemClock,
    journal: RunTail,
    /// What the shown scene was made of.
    life: Option<Life>,
    live: HashMap<SessionId, (TranscriptTail, Live)>,
    lessons: Lessons,
    tasks: TasksNow,
    /// When the next scene may be made.
    not_before: Duration,
}

impl RunWatch {
    /// The run, of which nothing is read yet.
    #[must_use]
    pub fn new(project: policy::Project, run: RunId) -> Self {
        let journal = RunTail::new(&project.state_dir(), &run, Seals::of(&project));
        Self {
            project,
            run,
            clock: SystemClock::new(),
            journal,
            life: None,
            live: HashMap::new(),
            lessons: Lessons::default(),
            tasks: TasksNow::default(),
            not_before: Duration::ZERO,
        }
    }

    /// The run in this moment; none if nothing has changed, or if it took so long the last time that it is too early.
    ///
    /// # Errors
    /// If its journal cannot be read at all.
    pub fn scene(&mut self) -> io::Result<Option<Scene>> {
        let began = self.clock.elapsed();
        if began < self.not_before {
            return Ok(None);
        }
        let mut notes = Vec::new();
        // First whether it lives: a run that ends in between is told as one that goes on, not as a dead one.
        let life = life(&self.project, &self.run, &mut notes);
        let mut changed = self.journal.read_on()?;
        changed |= self.life.replace(life) != Some(life);
        for (session, (tail, live)) in &mut self.live {
            match tail.read_on(|record| live.take(record)) {
                Ok(more) => changed |= more,
                Err(error) => notes.push(format!("the transcript of {} cannot be read: {error}", session.as_str())),
            }
        }
        if !changed {
            return Ok(None);
        }
        if let Some(Waiting { pid, until }) = waiting(&self.project) {
            notes.push(waits(pid, until, &Times { zone: self.clock.zone(), now: self.clock.now() }));
        }
        let night = self.night(life, &mut notes);
        let live = self.live.iter().map(|(session, (_, live))| (session.clone(), live.clone())).collect();
        let scene = Scene::of(night, &self.journal.log().entries, &live, notes);
        let now = self.clock.elapsed();
        self.not_before = now + now.saturating_sub(began) * SHARE;
        Ok(Some(scene))
    }

    /// What the journal says, with titles and the words of lessons; and from now on those agents are listened to that work.
    fn night(&mut self, life: Life, notes: &mut Vec<String>) -> Night {
        let night = Night::of(self.journal.log(), life)
            .with_tasks(self.tasks.of(&self.project, notes))
            .seen_at(self.clock.now())
            .with_kept(kept(&self.project, &self.run));
        let words = self.lessons.of(&self.project, &night, notes);
        let night = night.with_lessons(words);
        let run_dir = self.project.run_dir(&self.run);
        let mut before = std::mem::take(&mut self.live);
        for session in working_sessions(&night) {
            let mut heard =
                before.remove(session).unwrap_or_else(|| (TranscriptTail::new(&run_dir, session), Live::default()));
            // The first look at a transcript; what cannot be read now is said the next time.
            let _ = heard.0.read_on(|record| heard.1.take(record));
            self.live.insert(session.clone(), heard);
        }
        night
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
        let mut tail = TranscriptTail::new(&self.project.run_dir(&self.run), session);
        while let Ok(true) = tail.read_on(|record| live.take(record)) {}
        live
    }
}
