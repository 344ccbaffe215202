//! Watching an agent while it works: its steps go to the transcript and, in short, to whoever watches the run.

use crate::domain::Event;
use crate::domain::EventKind;
use crate::domain::TaskId;
use crate::domain::TranscriptItem;
use crate::domain::Usage;
use crate::services::AgentWatch;
use crate::services::Clock;
use crate::services::EventSink;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// So much of a tool's first argument is shown.
const SHOWN_BYTES: usize = 80;

/// Passes steps on to a transcript, and tells the run's watchers what the agent is doing.
pub(super) struct Watching {
    pub transcript: Arc<dyn AgentWatch>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
    pub task: TaskId,
    /// Where the agent works: files below it are named from there, because the workspace is gone afterwards.
    pub dir: PathBuf,
    pub so_far: Mutex<SoFar>,
}

/// What the agent has done until now.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    turns: u32,
    usage: Usage,
}

impl AgentWatch for Watching {
    fn step(&self, mut item: TranscriptItem, parent: Option<String>) {
        if let TranscriptItem::ToolCall { edits, .. } = &mut item {
            for file in edits {
                if let Ok(below) = Path::new(file.as_str()).strip_prefix(&self.dir) {
                    *file = below.display().to_string();
                }
            }
        }
        let what = {
            let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
            if let TranscriptItem::Turn { usage } = &item {
                so_far.turns += 1;
                so_far.usage += *usage;
            }
            doing(&item).map(|what| (what, so_far.turns, so_far.usage.tokens()))
        };
        self.transcript.step(item, parent);
        if let Some((what, turns, tokens)) = what {
            let kind = EventKind::AgentActed { what, turns, tokens };
            self.events.publish(Event { at: self.clock.now(), task: Some(self.task.clone()), kind });
        }
    }
}

/// A step in a few words, where it is one that a person would want to see.
fn doing(item: &TranscriptItem) -> Option<String> {
    match item {
        TranscriptItem::ToolCall { tool, input, edits, .. } => {
            let about = edits.first().cloned().or_else(|| first_text(input));
            Some(match about {
                Some(about) => {
                    format!("{tool}: {}", crate::prompt::shorten(&crate::prompt::one_line(&about), SHOWN_BYTES))
                }
                None => tool.clone(),
            })
        }
        TranscriptItem::Retry { status, message } => Some(match status {
            Some(status) => format!("its model answered {status}; trying again"),
            None => format!("trying again: {}", crate::prompt::shorten(&crate::prompt::one_line(message), SHOWN_BYTES)),
        }),
        TranscriptItem::Compaction { .. } => Some("shortening its context".to_owned()),
        _ => None,
    }
}

/// The argument that says most about a call: a command, a file, a pattern.
fn first_text(input: &serde_json::Value) -> Option<String> {
    const TELLING: [&str; 7] = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query"];
    let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    telling.or_else(|| input.as_object()?.values().find_map(serde_json::Value::as_str)).map(str::to_owned)
}
