//! `memory review`: lessons one by one, for a person to decide about.

use super::super::exit::UsageError;
use super::super::output::{errln, out, outln};
use super::super::{Exit, project};
use super::Memory;
use super::edit::Edited;
use super::evidence::{Seen, failure, whence};
use super::lessons::{as_json, in_words};
use crate::curation::{Standing, State, States};
use crate::domain::{AttemptRecord, LessonChange, Origin, Reflection, ReflectionId, SessionId};
use crate::report::{EffectShown, plural};
use crate::runtime::Records;
use crate::services::RecentQuery;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead as _, IsTerminal as _, stdin};

/// The keys, as they are asked for.
const KEYS: &str = "[k]eep, [e]dit, [r]etire, [s]kip, [q]uit";

/// What a person answers.
enum Answer {
    Keep,
    Edit,
    Retire,
    Skip,
    Quit,
}

/// A lesson that waits for a decision.
struct Waiting {
    lesson: Reflection,
    standing: Standing,
    /// The attempt that it is about, if its journal is left.
    attempt: Option<AttemptRecord>,
    /// That of the lesson in whose place it stands: the one that failed, where the other passed.
    guess: Option<AttemptRecord>,
    shown: Seen,
}

/// What a review has come to.
#[derive(Default)]
struct Tally {
    answered: usize,
    kept: usize,
    edited: usize,
    retired: usize,
    skipped: usize,
}

impl Memory {
    pub(super) async fn review(&self, records: &Records, task: Option<&str>, json: bool) -> anyhow::Result<Exit> {
        let waiting = self.waiting(records, task).await?;
        if json {
            let waiting: Vec<Value> = waiting.iter().map(Waiting::to_json).collect();
            project::print_json(&json!({ "waiting": waiting }))?;
            return Ok(Exit::Confirmed);
        }
        if waiting.is_empty() {
            outln!("no lesson waits for a decision");
            return Ok(Exit::Confirmed);
        }
        let mut tally = Tally::default();
        for (place, one) in waiting.iter().enumerate() {
            one.print(place + 1, waiting.len());
            if !self.decide(one, &mut tally).await? {
                break;
            }
        }
        outln!("{}", tally.in_words(waiting.len()));
        Ok(Exit::Confirmed)
    }

    /// Those that nobody has decided about, in the order in which they are shown.
    async fn waiting(&self, records: &Records, task: Option<&str>) -> anyhow::Result<Vec<Waiting>> {
        let query = RecentQuery { task: task.map(str::to_owned), own_only: true, ..RecentQuery::default() };
        let (states, record) = (self.states().await?, self.lessons.read().await?.whole()?);
        let mut lessons: Vec<(Reflection, Standing)> = self
            .storage
            .recent(&query)
            .await?
            .into_iter()
            .filter_map(|lesson| Some((waits(&states, &lesson)?, lesson)))
            .map(|(standing, lesson)| (lesson, standing))
            .collect();
        // The store gives the newest first, and that order stays within a state.
        lessons.sort_by_key(|(_, standing)| rank(standing.state));
        // What was brought in is of no run here, and no journal is read for it.
        let of_runs = lessons.iter().filter(|(lesson, _)| lesson.origin != Some(Origin::Import));
        let mut sessions: HashSet<_> = of_runs.map(|(lesson, _)| lesson.session_id.clone()).collect();
        let guesses: Vec<ReflectionId> = lessons.iter().filter_map(|(lesson, _)| lesson.replaces.clone()).collect();
        let guesses = self.storage.get_many(&guesses).await?;
        sessions.extend(guesses.values().map(|guess| guess.session_id.clone()));
        let attempts = records.attempts_of(&sessions)?;
        let effects = EffectShown::of(&record.attempts).lessons;
        let of_session = |session: &SessionId| attempts.iter().find(|attempt| attempt.session == *session).cloned();
        let of = |(lesson, standing): (Reflection, Standing)| Waiting {
            attempt: of_session(&lesson.session_id),
            guess: lesson.replaces.as_ref().and_then(|id| of_session(&guesses.get(id)?.session_id)),
            shown: Seen::of(&lesson.id, &record.attempts, &effects),
            lesson,
            standing,
        };
        Ok(lessons.into_iter().map(of).collect())
    }

    /// Asks until there is an answer; whether the review goes on.
    async fn decide(&self, one: &Waiting, tally: &mut Tally) -> anyhow::Result<bool> {
        loop {
            let Some(answer) = ask(tally)? else { return Ok(false) };
            match answer {
                Answer::Quit => return Ok(false),
                Answer::Skip => tally.skipped += 1,
                Answer::Keep => {
                    let pinned = [LessonChange::Promoted, LessonChange::Pinned];
                    let apart = one.standing.state == State::Quarantined;
                    self.say_of(&one.lesson, &pinned[..=usize::from(apart)], None).await?;
                    tally.kept += 1;
                    self.say_standing(&one.lesson).await?;
                }
                Answer::Retire => {
                    self.say_of(&one.lesson, &[LessonChange::Retired], None).await?;
                    tally.retired += 1;
                    self.say_standing(&one.lesson).await?;
                }
                Answer::Edit => {
                    if !self.edited(&one.lesson).await {
                        continue;
                    }
                    tally.edited += 1;
                }
            }
            return Ok(true);
        }
    }

    /// Whether a person has changed the words; what goes wrong there ends no review.
    async fn edited(&self, lesson: &Reflection) -> bool {
        match self.in_editor(lesson, None).await {
            Ok(Edited::New(new)) => {
                outln!("{} stands in the place of {}", new.id, lesson.id);
                return true;
            }
            Ok(Edited::Same | Edited::Empty) => outln!("nothing was changed"),
            Err(error) => errln!("{error}"),
        }
        false
    }

    async fn say_standing(&self, lesson: &Reflection) -> anyhow::Result<()> {
        if let Some(standing) = self.standing(lesson).await? {
            outln!("{}: {}", lesson.id, in_words(&standing, lesson));
        }
        Ok(())
    }
}

/// How far a lesson has come, if it waits for a person.
fn waits(states: &States, lesson: &Reflection) -> Option<Standing> {
    let standing = states.standing(&lesson.id)?;
    let by_rules = match standing.state {
        State::Candidate | State::Probation => !standing.vouched,
        State::Quarantined => standing.by_rules,
        State::Active | State::Stale | State::Retired => false,
    };
    (by_rules && !standing.pinned).then(|| standing.clone())
}

fn rank(state: State) -> u8 {
    match state {
        State::Candidate => 0,
        State::Probation => 1,
        State::Active | State::Stale | State::Quarantined | State::Retired => 2,
    }
}

/// The next answer; none where there are no more.
fn ask(tally: &mut Tally) -> anyhow::Result<Option<Answer>> {
    loop {
        out!("{KEYS}? ");
        let mut line = String::new();
        if stdin().lock().read_line(&mut line)? == 0 {
            outln!();
            if tally.answered == 0 && !stdin().is_terminal() {
                return Err(UsageError(
                    "there is nobody to ask: call this in a terminal, or give answers on stdin, one a line (`printf 's\\nk\\nq\\n' | reflexion memory review`); `--json` prints what waits and asks nothing"
                        .to_owned(),
                )
                .into());
            }
            return Ok(None);
        }
        tally.answered += 1;
        return Ok(Some(match line.trim().to_lowercase().as_str() {
            "k" | "keep" => Answer::Keep,
            "e" | "edit" => Answer::Edit,
            "r" | "retire" => Answer::Retire,
            "s" | "skip" => Answer::Skip,
            "q" | "quit" => Answer::Quit,
            other => {
                outln!("`{other}` is no answer");
                continue;
            }
        }));
    }
}

impl Waiting {
    fn print(&self, place: usize, all: usize) {
        let Self { lesson, standing, attempt, guess, shown } = self;
        outln!("\nlesson {place} of {all}: {}", lesson.id);
        outln!("  failure:  {}", failure(lesson, attempt.as_ref()));
        outln!("  from:     {}", whence(lesson, attempt.as_ref(), guess.as_ref()));
        outln!("  state:    {}", in_words(standing, lesson));
        outln!("  measured: {shown}");
        outln!("  what went wrong:\n    {}", lesson.analysis);
        outln!("  what to do differently:\n    {}", lesson.suggestion);
        for item in &lesson.action_items {
            outln!("    - {item}");
        }
    }

    fn to_json(&self) -> Value {
        let Self { lesson, standing, attempt, guess, shown } = self;
        let ended = |attempt: &AttemptRecord| json!({ "run": attempt.run, "attempt": attempt.attempt, "verdict": attempt.verdict, "failure": attempt.failure });
        let (from, failed) = (attempt.as_ref().map(ended), guess.as_ref().map(ended));
        json!({ "reflection": lesson, "standing": as_json(standing), "from": from, "failed": failed, "measured": shown })
    }
}

impl Tally {
    fn in_words(&self, all: usize) -> String {
        let Self { kept, edited, retired, skipped, .. } = self;
        let left = all - kept - edited - retired;
        format!(
            "kept {kept}, edited {edited}, retired {retired}, skipped {skipped}; {} to decide about",
            plural(left, "lesson")
        )
    }
}
