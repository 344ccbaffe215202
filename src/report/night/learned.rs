//! What was learned in a run, and where lessons were.

use super::super::effect_words;
use super::block::{Item, LESSON, Line, Mark, Section, section, text, ticked};
use super::needs::step;
use super::value::{Fate, Injection, Lesson, Night, NightAttempt};
use super::words::{foreign, joined, plural};
use crate::domain::{Exposure, Fit, LessonsOver, ReflectionId};
use std::collections::{HashMap, HashSet};

/// So many lessons of earlier runs and other projects are named.
const ELSEWHERE: usize = 20;

/// `in_full` are those whose words stand with an attempt already.
pub(super) fn lessons(night: &Night, in_full: &HashSet<ReflectionId>) -> Option<Section> {
    let over = lessons_over(night.lessons_over);
    if night.lessons.is_empty() && night.effect.is_none() && night.others_effect.is_none() && over.is_none() {
        return None;
    }
    let written: Vec<&Lesson> = night.lessons.iter().filter(|lesson| lesson.written).collect();
    let count = written.len();
    let groups = alike(&written);
    let mut section = section("lessons", "What was learned", &groups, |group| lesson_item(night, group, in_full));
    let Injection { with, with_confirmed, without, without_confirmed } = night.injection;
    let different = if groups.len() < count { format!(", {} of them different", groups.len()) } else { String::new() };
    let written = format!("{} written{different}", plural(count, "lesson"));
    section.lead.push(text(match with {
        0 => format!("{written}."),
        _ => format!(
            "{written}. {} had a lesson in the prompt, {with_confirmed} of them confirmed; of {} without, {without_confirmed}. \
             That says where lessons were, not that they helped: attempts with one are retries.",
            plural(with, "judged attempt"),
            plural(without, "attempt"),
        ),
    }));
    let held_out = |attempt: &&NightAttempt| Exposure::held_out(attempt.exposure.as_ref()).is_some();
    let held_out = night.attempts.iter().filter(held_out).count();
    if held_out > 0 {
        section.lead.push(text(format!(
            "{} went without lessons, which were held out to measure whether they help.",
            plural(held_out, "attempt")
        )));
    }
    if let Some(effect) = &night.effect {
        section.lead.push(text(format!("Over all runs: {}", effect_words(effect))));
    }
    if let Some(effect) = &night.others_effect {
        section.lead.push(text(format!("Lessons of other tasks, over all runs: {}", effect_words(effect))));
    }
    let earlier = night.lessons.len() - count;
    if earlier > 0 {
        section.lead.push(text(format!("{} of earlier runs went into prompts too.", plural(earlier, "lesson"))));
    }
    section.lead.extend(from_elsewhere(night));
    section.lead.extend(over);
    Some(section)
}

/// Why lessons of other tasks were in prompts that no attempt of this run has written.
fn from_elsewhere(night: &Night) -> impl Iterator<Item = Line> {
    let written: HashSet<&ReflectionId> =
        night.lessons.iter().filter(|lesson| lesson.written).map(|lesson| &lesson.id).collect();
    let of = move |attempt: &NightAttempt| {
        let fits = attempt.others.iter().filter(|fit| !written.contains(&fit.lesson));
        let line = |fit: &Fit| {
            let (id, why) = (foreign(fit.lesson.as_str(), 64), foreign(&fit.why, 160));
            text(format!("Attempt {} of {} had {id} in its prompt: {why}.", attempt.attempt, attempt.task))
        };
        fits.map(line).collect::<Vec<_>>()
    };
    night.attempts.iter().flat_map(of).take(ELSEWHERE)
}

/// How many lessons are in no prompt any more since the run, and why.
fn lessons_over(LessonsOver { expired, stale }: LessonsOver) -> Option<Line> {
    let parts = [(expired, "too old"), (stale, "about files that are gone")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
    let lessons = plural((expired + stale) as usize, "lesson");
    (!parts.is_empty()).then(|| text(format!("{lessons} in no prompt any more since: {}.", parts.join(", "))))
}

/// Those of the same words together, in the order of the first of each.
fn alike<'n>(written: &[&'n Lesson]) -> Vec<Vec<&'n Lesson>> {
    let mut places: HashMap<&ReflectionId, usize> = HashMap::new();
    let mut groups: Vec<Vec<&Lesson>> = Vec::new();
    for lesson in written {
        let place = *places.entry(lesson.same_as.as_ref().unwrap_or(&lesson.id)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(lesson);
    }
    groups
}

/// At most this many attempts are named of which a lesson is, or in whose prompt it was.
const NAMED: usize = 6;
/// So much of a lesson that stands with its attempt in full.
const BRIEF: usize = 100;

fn lesson_item(night: &Night, alike: &[&Lesson], in_full: &HashSet<ReflectionId>) -> Item {
    let first = alike[0];
    let mut origins: Vec<String> = alike.iter().take(NAMED).map(|lesson| lesson.origin()).collect();
    origins.extend((alike.len() > NAMED).then(|| format!("{} more", alike.len() - NAMED)));
    let title = if alike.len() > 1 { format!("learned {} times", alike.len()) } else { String::new() };
    let length = if in_full.contains(&first.id) { BRIEF } else { LESSON };
    let words = first.words().map_or_else(|| "the memory no longer has it".to_owned(), |words| foreign(words, length));
    let lines = vec![ticked(&words), in_prompts(night, alike)];
    let commands =
        vec![step(format!("reflexion memory show {}", super::words::quoted(first.id.as_str())), "all of it")];
    Item { mark: Mark::Lesson, name: joined(&origins), title, lines, chain: Vec::new(), change: None, commands }
}

/// The attempts that had one of these lessons in their prompt, and what became of them.
fn in_prompts(night: &Night, alike: &[&Lesson]) -> Line {
    let mut places: Vec<usize> = alike.iter().flat_map(|lesson| &lesson.injected_into).copied().collect();
    places.sort_unstable();
    places.dedup();
    let used = places.iter().take(NAMED).map(|place| {
        let attempt = &night.attempts[*place];
        let came = match (attempt.fate, attempt.verdict) {
            (_, Some(verdict)) => verdict.as_str(),
            (Fate::Working, _) => "still working",
            _ => "not judged",
        };
        let fit = attempt.others.iter().find(|fit| alike.iter().any(|lesson| fit.lesson == lesson.id));
        let why = fit.map(|fit| format!(": {}", foreign(&fit.why, 160))).unwrap_or_default();
        format!("attempt {} of {} ({came}){why}", attempt.attempt, attempt.task)
    });
    let used: Vec<String> = used.collect();
    let more = places.len() - used.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    text(if used.is_empty() {
        "was in no prompt yet".to_owned()
    } else {
        format!("was in the prompt of {}{more}", joined(&used))
    })
}
