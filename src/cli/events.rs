//! Who is told what happens in a run: the display on stderr, and a file or stdout that gets it as lines of JSON (`--events`).

use super::exit::UsageError;
use super::out_file::not_to_write_to;
use super::output::{Stdout, errln};
use super::progress::Progress;
use crate::domain::{Event, policy};
use crate::files::{Absent, Output, Refused, nobody_reads, open_output};
use crate::layer::Svc;
use crate::runtime::{EventLines, EventSinks, given_in_sandbox};
use crate::services::{EventSink, Settings};
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a reader may take before the first line, and after the last.
const PATIENCE: Duration = Duration::from_secs(10);

const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// The first line of a file is read as far as this; no event is longer that stands first.
const FIRST_LINE: u64 = 1024 * 1024;

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
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

fn is_stderr(path: &Path) -> bool {
    ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"].iter().any(|name| path == Path::new(name))
}

fn destination(path: &Path, of_others: &[PathBuf]) -> io::Result<Box<dyn Write + Send>> {
    // Opened anew they would be written to from their beginning, or beside what else is written there.
    if is_stdout(path) {
        Ok(Box::new(Stdout))
    } else if is_stderr(path) {
        Ok(Box::new(io::stderr()))
    } else {
        opened(path, of_others)
    }
}

/// A file that is made when the first event comes: what is refused before that leaves none behind.
enum New {
    Absent(Absent),
    Made(File),
}

impl Write for New {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Self::Absent(absent) = self {
            *self = Self::Made(at_its_end(absent.make()?)?);
        }
        match self {
            Self::Made(file) => file.write(bytes),
            Self::Absent(_) => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Made(file) => file.flush(),
            Self::Absent(_) => Ok(()),
        }
    }
}

/// Where links are not the user's own: in the checkout, which may be somebody's clone, and where programs in a sandbox may write.
pub(super) fn places_of_others(project: &policy::Project, sandbox: &policy::Sandbox) -> io::Result<Vec<PathBuf>> {
    let root = project.root.canonicalize()?;
    let clone = root.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok()).unwrap_or(&root);
    let mut places = given_in_sandbox(project, sandbox);
    places.push(clone.to_owned());
    Ok(places)
}

/// Refuses what reflexion or git reads, whether something stands there or not.
fn not_ours(path: &Path, project: &policy::Project) -> io::Result<()> {
    let whole = std::path::absolute(path)?;
    let real = whole.parent().zip(whole.file_name()).and_then(|(dir, name)| Some(dir.canonicalize().ok()?.join(name)));
    // Without its directory it is refused for that.
    match real.and_then(|file| not_to_write_to(&file, project)) {
        Some(because) => Err(io::Error::new(io::ErrorKind::AlreadyExists, because)),
        None => Ok(()),
    }
}

/// Opens a file, pipe or device. A pipe is waited for until somebody reads from it, but not for ever.
fn opened(path: &Path, of_others: &[PathBuf]) -> io::Result<Box<dyn Write + Send>> {
    let mut waited = Duration::ZERO;
    loop {
        match open_output(path, of_others) {
            Ok(Output::File(file)) => return Ok(Box::new(at_its_end(file)?)),
            Ok(Output::Absent(absent)) => return Ok(Box::new(New::Absent(absent))),
            Ok(Output::Stream(file)) => return Ok(Box::new(file)),
            Err(error) if nobody_reads(&error) && waited < PATIENCE => {
                if waited.is_zero() {
                    errln!("--events {}: waiting for somebody to read from that pipe", path.display());
                }
                std::thread::sleep(BETWEEN_TRIES);
                waited += BETWEEN_TRIES;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Events are written behind other events only, so that a slip of the hand appends nothing to a file of another kind. A last line that was torn
/// off stays one by itself.
fn at_its_end(mut file: File) -> io::Result<File> {
    let mut first = Vec::new();
    BufReader::new(&file).take(FIRST_LINE).read_until(b'\n', &mut first)?;
    if first.is_empty() {
        return Ok(file);
    }
    if !is_event(&first) {
        let what = "its first line is no event, and events are written behind other events only: name a new file, or an empty one";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// Whether a line is an event. An entry of a journal is none: there the type stands before the run.
fn is_event(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let run_is_first = text.find("\"run\":") < text.find("\"type\":");
    run_is_first && serde_json::from_str::<Event>(&text).is_ok()
}

/// Why a file was not opened, and what can be named instead.
fn because(path: &Path, error: &io::Error) -> String {
    match Refused::of(error) {
        Some(refused) if refused.is_link() => {
            let link = if refused.path.file_name() == path.file_name() { "it" } else { "a directory on its way" };
            format!("{link} is a symbolic link, and none is followed here: name the file itself, or another one")
        }
        Some(refused) => {
            format!("it is {}: name a file, a pipe that somebody reads from, or `-` for stdout", refused.found)
        }
        None if nobody_reads(error) => {
            format!("nobody read from that pipe for {PATIENCE:?}: start its reader first")
        }
        None if error.kind() == io::ErrorKind::NotFound => {
            "its directory is not there: make it, or name another file".to_owned()
        }
        None => error.to_string(),
    }
}

/// The sinks of one run.
pub(super) struct Events {
    progress: Progress,
    lines: Option<(Arc<EventLines>, PathBuf)>,
}

impl Events {
    /// Opens what `--events` names; no link that came with the project's files, or that another user or a program may have made, is followed to it.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn open(result: ResultTo, events: Option<&Path>, settings: &dyn Settings) -> anyhow::Result<Self> {
        let progress = Progress::new(result != ResultTo::Stdout);
        let Some(path) = events else { return Ok(Self { progress, lines: None }) };
        let lines = not_ours(path, settings.project())
            .and_then(|()| places_of_others(settings.project(), &settings.environment().sandbox))
            .and_then(|places| destination(path, &places))
            .and_then(EventLines::new);
        let lines = lines.map_err(|error| {
            anyhow::anyhow!("--events {}: failed to open it: {}", path.display(), because(path, &error))
        })?;
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
