//! A scene as lines of text, for pipes, logs and screen readers.

use super::super::value::TaskState;
use super::super::words::{Times, foreign, plural};
use super::said::Said;
use super::scene::Scene;
use super::words::{at_work, mark, need, spent, standing, tallies};

/// So many of the newest lines are in it.
const LINES: usize = 10;
/// So many tasks that are open are named.
const OPEN: usize = 10;

/// The scene as text: how the run stands, what needs somebody, who is at work, the tasks, and what came last.
#[must_use]
pub fn text(scene: &Scene, times: &Times) -> String {
    let Scene { night, workers, recent, notes } = scene;
    let mut lines = vec![format!("run {}: {}", night.run, standing(night, times))];
    let tallies: Vec<String> = tallies(night).map(|(state, n)| format!("{n} {}", mark(state).1)).collect();
    if !tallies.is_empty() {
        lines.push(format!("{}: {}", plural(night.counts.tasks, "task"), tallies.join(", ")));
    }
    lines.push(format!("used: {}", spent(night)));
    lines.extend(notes.iter().map(|note| format!("note: {}", foreign(note, 300))));
    part(&mut lines, "Needs you", night.needs.iter().map(|it| need(night, it)));
    let works = |at: &super::AtWork| format!("{} {} {}: {}", at.worker + 1, at.task, at.title, at_work(at, times));
    part(&mut lines, "At work", workers.iter().map(works));
    let shown = |state: TaskState| night.tasks.iter().filter(move |task| task.state == state);
    let others = [
        TaskState::Merged,
        TaskState::Confirmed,
        TaskState::Unchanged,
        TaskState::Failed,
        TaskState::Blocked,
        TaskState::Closed,
    ];
    let tasks = others.into_iter().flat_map(shown).chain(shown(TaskState::Open).take(OPEN));
    part(
        &mut lines,
        "Tasks",
        tasks.map(|task| {
            let (sign, word) = mark(task.state);
            format!("{sign} {} {word}  {}", task.id, foreign(&task.title, 160)).trim_end().to_owned()
        }),
    );
    if night.counts.open > OPEN {
        lines.push(format!("  and {} more open", night.counts.open - OPEN));
    }
    part(&mut lines, "Newest", recent.iter().rev().take(LINES).rev().map(|line| said(line, times)));
    lines.join("\n") + "\n"
}

fn part(lines: &mut Vec<String>, title: &str, entries: impl Iterator<Item = String>) {
    let before = lines.len();
    lines.extend(entries.map(|entry| format!("  {entry}")));
    if lines.len() > before {
        lines.insert(before, format!("{title}:"));
    }
}

/// One of the newest lines with its time: `21:04 [slots] attempt 1: repair works`.
#[must_use]
pub fn said(said: &Said, times: &Times) -> String {
    let task = said.task.as_ref().map(|task| format!("[{task}] ")).unwrap_or_default();
    format!("{} {task}{}", times.clock(said.at), said.text)
}
