//! What is running, on stderr: bars on a terminal, plain lines elsewhere.

use super::output::errln;
use crate::domain::{Event, EventKind, JournalEntry, TaskId};
use crate::prompt::{one_line, printable};
use crate::report;
use crate::services::EventSink;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shows events as they come.
#[derive(Clone)]
pub(super) struct Progress(Arc<Mutex<Display>>);

struct Display {
    bars: MultiProgress,
    tasks: BTreeMap<TaskId, Shown>,
    terminal: bool,
    detail: Detail,
}

/// How much is printed as lines.
#[derive(PartialEq)]
enum Detail {
    /// Verdicts, reflections and warnings.
    Brief,
    /// Checks and agents' endings too: a log file has nothing else to show them.
    Full,
}

struct Shown {
    bar: ProgressBar,
    max_attempts: u32,
    attempt: String,
}

impl Progress {
    /// A display on stderr. A program that reads `--json` from stdout keeps stderr for its log, so lines are full there.
    pub fn new(json: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !json;
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let detail = if terminal { Detail::Brief } else { Detail::Full };
        let bars = MultiProgress::with_draw_target(target);
        Self(Arc::new(Mutex::new(Display { bars, tasks: BTreeMap::new(), terminal, detail })))
    }

    /// Removes the bars.
    pub fn finish(&self) {
        let display = self.lock();
        let _ = display.bars.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Display> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Progress {
    fn publish(&self, event: Event) {
        let mut display = self.lock();
        display.update_bar(&event);
        display.print(&event);
    }
}

impl Display {
    fn print(&self, event: &Event) {
        if self.detail == Detail::Brief && is_detail(&event.kind) {
            return;
        }
        let Some(line) = report::line(event) else { return };
        let line = line.replace('\n', " ");
        if self.terminal {
            let _ = self.bars.println(printable(&line));
        } else {
            errln!("{line}");
        }
    }

    fn update_bar(&mut self, event: &Event) {
        let Some(task) = &event.about.task else { return };
        if let Some(JournalEntry::TaskStarted { max_attempts, .. }) = event.entry() {
            let bar = self.bars.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{spinner} {prefix}  {msg}  {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.set_prefix(task.to_string());
            bar.enable_steady_tick(Duration::from_millis(200));
            let max_attempts = max_attempts.unwrap_or_default();
            self.tasks.insert(task.clone(), Shown { bar, max_attempts, attempt: String::new() });
        }
        if let Some(shown) = self.tasks.get_mut(task) {
            shown.show(&event.kind);
        }
        if let Some(JournalEntry::TaskEnded { .. }) = event.entry()
            && let Some(shown) = self.tasks.remove(task)
        {
            shown.bar.finish_and_clear();
            self.bars.remove(&shown.bar);
        }
    }
}

/// Whether a line of it is for logs only: on a terminal the bar shows it.
fn is_detail(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Checked { .. }
            | EventKind::Recorded(
                JournalEntry::TaskStarted { .. }
                    | JournalEntry::AttemptStarted { .. }
                    | JournalEntry::AgentStopped { .. }
                    | JournalEntry::AttemptDropped { .. }
                    | JournalEntry::TurnNudged { .. }
            )
    )
}

impl Shown {
    /// A bar is one line, and not a way to the terminal for what an agent wrote.
    fn tell(&self, message: &str) {
        self.bar.set_message(printable(&one_line(message)).into_owned());
    }

    fn show(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Recorded(JournalEntry::AttemptStarted { attempt, agent, .. }) => {
                self.attempt = format!("attempt {attempt} of {}", self.max_attempts.max(*attempt));
                self.tell(&format!("{}: {agent}", self.attempt));
            }
            EventKind::Recorded(JournalEntry::AgentStopped { .. }) => {
                self.tell(&format!("{}: checking", self.attempt));
            }
            EventKind::Recorded(JournalEntry::WaitStarted { because, .. }) => {
                self.tell(&format!("{}: waiting, {because}", self.attempt));
            }
            EventKind::AgentActed { what, turns, tokens } => {
                let tokens = tokens.map(|n| format!(", {n} tokens")).unwrap_or_default();
                self.tell(&format!("{} turn {turns}{tokens}: {what}", self.attempt));
            }
            EventKind::Doing { what } => self.tell(&format!("{} {what}", self.attempt)),
            // News, and nothing that the task is at from now on; or the next step says it.
            EventKind::Warning { .. }
            | EventKind::Routed { .. }
            | EventKind::Checked { .. }
            | EventKind::PersonNeeded { .. }
            | EventKind::Judged { .. }
            | EventKind::Reflected { .. }
            | EventKind::Tampered { .. }
            | EventKind::BudgetReached { .. }
            | EventKind::LeftAlone { .. }
            | EventKind::Recorded(
                JournalEntry::RunStarted { .. }
                | JournalEntry::RunResumed { .. }
                | JournalEntry::TaskStarted { .. }
                | JournalEntry::TaskDecomposed { .. }
                | JournalEntry::RepositoryChanged { .. }
                | JournalEntry::Noticed { .. }
                | JournalEntry::TurnStarted { .. }
                | JournalEntry::TurnJudged { .. }
                | JournalEntry::TurnNudged { .. }
                | JournalEntry::AttemptDropped { .. }
                | JournalEntry::AttemptJudged { .. }
                | JournalEntry::CommitStarted { .. }
                | JournalEntry::WaitEnded { .. }
                | JournalEntry::MergeStarted { .. }
                | JournalEntry::MergeReady { .. }
                | JournalEntry::MergeEnded { .. }
                | JournalEntry::HealStarted { .. }
                | JournalEntry::HealEnded { .. }
                | JournalEntry::TaskEnded { .. }
                | JournalEntry::RunHalted { .. }
                | JournalEntry::RunEnded { .. },
            ) => {}
        }
    }
}
