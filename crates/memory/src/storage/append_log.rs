//! The append-only file under every store: many writers, one write, one sync.

use super::locked_file::append_locked;
use super::seal::{Chain, LineKind, Seals};
use crate::domain::RunId;
use crate::files::{Place, gone};
use crate::redaction::Redactor;
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// One JSON Lines file that several tasks and several processes append to.
///
/// Group commit: writers that wait while the disk is busy are written together, in the order in which they came, with
/// one `write` and one `sync_data`. A group that fails is cut off again, so that all of it is stored or nothing.
#[derive(Debug, Clone)]
pub(super) struct AppendLog {
    shared: Arc<Shared>,
}

/// How each line shows that this program wrote it.
#[derive(Debug, Clone, Default)]
pub(super) enum Sealing {
    /// It does not.
    #[default]
    None,
    /// Each by itself.
    Each(Seals, LineKind),
    /// Each with those before it: the journal of a run.
    Chain(Seals, RunId),
}

#[derive(Debug)]
struct Shared {
    place: Place,
    sealing: Sealing,
    /// Where the chain of the lines is, once one was written.
    chain: Mutex<Option<Chain>>,
    queue: Mutex<Queue>,
    /// The handle of the last write; the next one uses it again if the path still names the same file.
    file: Mutex<Option<File>>,
    syncs: AtomicU64,
}

/// Who waits, and for what to be written.
#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    waiting: Vec<oneshot::Sender<Result<(), LogError>>>,
    /// A thread is at work and will take what is added now.
    draining: bool,
}

/// The system refused to append.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to {action} {path}: {message}", path = path.display())]
pub(super) struct LogError {
    /// What was tried.
    pub(super) action: &'static str,
    /// The file.
    pub(super) path: PathBuf,
    /// What the system says.
    pub(super) message: String,
}

impl AppendLog {
    /// Names the file; nothing is created before the first append.
    pub(super) fn new(place: Place) -> Self {
        Self::sealed(place, Sealing::None)
    }

    /// As [`AppendLog::new`], of lines that show who wrote them.
    pub(super) fn sealed(place: Place, sealing: Sealing) -> Self {
        Self {
            shared: Arc::new(Shared {
                place,
                sealing,
                chain: Mutex::default(),
                queue: Mutex::default(),
                file: Mutex::default(),
                syncs: AtomicU64::new(0),
            }),
        }
    }

    /// The file.
    pub(super) fn place(&self) -> &Place {
        &self.shared.place
    }

    /// The file's path.
    pub(super) fn path(&self) -> &Path {
        self.shared.place.path()
    }

    /// How its lines show who wrote them.
    pub(super) fn sealing(&self) -> &Sealing {
        &self.shared.sealing
    }

    /// How often the file was synced.
    pub(super) fn syncs(&self) -> u64 {
        self.shared.syncs.load(Ordering::Relaxed)
    }

    /// Appends whole lines, without secrets; durable on return. A caller that stops waiting does not stop the write.
    pub(super) async fn append(&self, lines: &[u8]) -> Result<(), LogError> {
        if lines.is_empty() {
            return Ok(());
        }
        let lines = Redactor::of_process().redact_lines(lines);
        let (done, result) = oneshot::channel();
        let start = {
            let mut queue = lock(&self.shared.queue);
            queue.bytes.extend_from_slice(&lines);
            queue.waiting.push(done);
            !std::mem::replace(&mut queue.draining, true)
        };
        if start {
            let shared = Arc::clone(&self.shared);
            // Its result reaches every waiter by its own channel.
            drop(tokio::task::spawn_blocking(move || shared.drain()));
        }
        result.await.unwrap_or_else(|_| Err(self.shared.error(&io::Error::other("the writing thread went away"))))
    }
}

impl Shared {
    /// Writes group after group until nobody waits.
    fn drain(&self) {
        let mut kept = lock(&self.file);
        loop {
            {
                let mut queue = lock(&self.queue);
                if queue.waiting.is_empty() {
                    queue.draining = false;
                    return;
                }
            }
            // The group is taken only when the lock is ours, so that those who come while we wait belong to it.
            let file = self.is_still_there().and_then(|()| append_locked(&self.place, kept.take()));
            let (bytes, waiting) = {
                let mut queue = lock(&self.queue);
                (std::mem::take(&mut queue.bytes), std::mem::take(&mut queue.waiting))
            };
            let written = file.and_then(|file| {
                let mut chain = lock(&self.chain);
                let (bytes, last) = self.seal(&mut chain, &bytes)?;
                self.write_group(&file, &bytes)?;
                if let (Some(chain), Some(last)) = (&mut *chain, last) {
                    chain.goes_on_at(last);
                }
                Ok(file)
            });
            let result = match written {
                Ok(file) => {
                    *kept = Some(file);
                    Ok(())
                }
                // The handle is dropped, and its lock with it: the next group starts afresh.
                Err(e) => Err(self.error(&e)),
            };
            for waiter in waiting {
                // Nobody listens any more: the record is stored all the same.
                let _ = waiter.send(result.clone());
            }
        }
    }

    /// A chain has no second beginning: where the file was removed meanwhile, the rest of it would be worth nothing.
    fn is_still_there(&self) -> io::Result<()> {
        if lock(&self.chain).is_some() && self.place.look()?.is_none() {
            return Err(gone());
        }
        Ok(())
    }

    /// The lines with their digests, and where the chain ends with them.
    fn seal<'b>(&self, chain: &mut Option<Chain>, bytes: &'b [u8]) -> io::Result<(Cow<'b, [u8]>, Option<u128>)> {
        let mut sealed = Vec::with_capacity(bytes.len() + bytes.len() / 8);
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line));
        match &self.sealing {
            Sealing::None => Ok((Cow::Borrowed(bytes), None)),
            Sealing::Each(seals, kind) => {
                for line in lines {
                    seals.seal(*kind, line, &mut sealed)?;
                    sealed.push(b'\n');
                }
                Ok((Cow::Owned(sealed), None))
            }
            Sealing::Chain(seals, run) => {
                let chain = match chain {
                    Some(chain) => chain,
                    none => none.insert(seals.chain_on(run, &self.place)?),
                };
                let mut last = chain.last();
                for line in lines {
                    last = chain.seal(last, line, &mut sealed)?;
                    sealed.push(b'\n');
                }
                Ok((Cow::Owned(sealed), Some(last)))
            }
        }
    }

    fn write_group(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let len = file.metadata()?.len();
        let appended = self.append_at(file, len, bytes);
        if appended.is_err() {
            // Best effort: if this fails too, the torn line is sealed by the next writer's newline.
            let _ = file.set_len(len);
        }
        appended?;
        file.unlock()
    }

    fn append_at(&self, mut file: &File, len: u64, bytes: &[u8]) -> io::Result<()> {
        if ends_inside_a_line(file, len)? {
            file.write_all(&[b"\n", bytes].concat())?;
        } else {
            file.write_all(bytes)?;
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        file.sync_data()?;
        if len == 0 {
            // The file may be new: its name has to last as well.
            self.place.sync_parent()?;
        }
        Ok(())
    }

    fn error(&self, error: &io::Error) -> LogError {
        LogError { action: "append to", path: self.place.path().to_owned(), message: error.to_string() }
    }
}

/// Whether a crashed writer left the last line without its end; that line must not swallow the next record.
fn ends_inside_a_line(file: &File, len: u64) -> io::Result<bool> {
    if len == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.read_exact_at(&mut last, len - 1)?;
    Ok(last != *b"\n")
}

/// A panic elsewhere leaves these values whole, so a poisoned lock is taken all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
