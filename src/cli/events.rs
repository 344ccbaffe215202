//! Who is told what happens in a run: the display on stderr, and a file or stdout that gets it as lines of JSON (`--events`).

use super::exit::UsageError;
use super::output::{Stdout, errln};
use super::progress::Progress;
use crate::files::Place;
use crate::layer::Svc;
use crate::runtime::{EventLines, EventSinks};
use crate::services::EventSink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Whoever reads the lines gets so long for the last of them.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the result of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultTo {
    /// Words on stdout.
    Stdout,
    /// Words on stderr, because stdout has the events.
    Stderr,
    /// A JSON document on stdout.
    Json,
}

impl ResultTo {
    /// What follows from the flags.
    ///
    /// # Errors
    /// [`UsageError`] if two of them want stdout.
    pub fn of(json: bool, events: Option<&Path>) -> Result<Self, UsageError> {
        match (json, events.is_some_and(is_stdout)) {
            (true, true) => {
                let message = "--events -: stdout has the document of --json; give --events a file";
                Err(UsageError(message.to_owned()))
            }
            (true, false) => Ok(Self::Json),
            (false, true) => Ok(Self::Stderr),
            (false, false) => Ok(Self::Stdout),
        }
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The sinks of one run.
pub(super) struct Events {
    progress: Progress,
    lines: Option<(Arc<EventLines>, PathBuf)>,
}

impl Events {
    /// Opens what `--events` names.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn open(result: ResultTo, events: Option<&Path>) -> anyhow::Result<Self> {
        let progress = Progress::new(result != ResultTo::Stdout);
        let Some(path) = events else { return Ok(Self { progress, lines: None }) };
        let lines = if is_stdout(path) {
            EventLines::new(Stdout)
        } else {
            let place = Place::named(path);
            place.open().and_then(|(root, below)| root.append_to(below)).and_then(EventLines::new)
        };
        let lines =
            lines.map_err(|error| anyhow::anyhow!("--events {}: failed to open it: {error}", path.display()))?;
        Ok(Self { progress, lines: Some((Arc::new(lines), path.to_owned())) })
    }

    /// All of them.
    pub fn sink(&self) -> Svc<dyn EventSink> {
        let lines = self.lines.iter().map(|(lines, _)| Arc::clone(lines) as Arc<dyn EventSink>);
        let progress = Arc::new(self.progress.clone()) as Arc<dyn EventSink>;
        Svc::new(EventSinks::new(std::iter::once(progress).chain(lines)))
    }

    /// Removes the bars, and waits until the lines are written. What could not be written costs the run nothing.
    pub fn finish(&self) {
        self.progress.finish();
        let Some((lines, path)) = &self.lines else { return };
        if let Err(error) = lines.finish(PATIENCE) {
            errln!("warning: --events {}: not all of them were written: {error}", path.display());
        }
    }
}
