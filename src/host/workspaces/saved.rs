//! What a guard has seen, on disk: for the run after one that was killed while an agent worked.
//!
//! `.reflection/guarded/<task>.json` is there, durably, before the agent starts, and goes when everything is put back.
//! Beside it, `<task>.alive` is written again every second: its time is the last sign of life of the runtime.

use super::guard::Content;
use super::guard::Fetched;
use super::guard::Guarded;
use super::guard::Scope;
use super::guard::Seen;
use super::layout::Layout;
use super::layout::blocking;
use super::layout::io_error;
use super::layout::write_whole;
use super::pushes::Remotes;
use super::pushes::Tips;
use super::removal::remove;
use super::repository::Repository;
use super::stash::Stash;
use super::trace::Logs;
use super::watch::Watch;
use crate::domain::RunId;
use crate::services::Tampering;
use crate::services::WorkspaceError;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::SystemTime;
use tokio::task::JoinHandle;

/// How often a guard says that its runtime lives; what an agent does in the last moment before a crash is not blamed on it.
pub(super) const BEAT: Duration = Duration::from_secs(1);
const VERSION: u32 = 1;
const SOLE: &[u8] = b"sole\n";
const SHARED: &[u8] = b"shared\n";

/// How a runtime ended that was killed while it guarded.
#[derive(Debug, Clone)]
pub(super) struct Crash {
    /// When it is known to have lived.
    pub(super) last_sign: SystemTime,
    /// No other attempt was guarded at any time until then.
    pub(super) sole: bool,
}

/// A guard's file.
#[derive(Debug)]
pub(super) struct Saved {
    path: PathBuf,
    pub(super) git_dir: PathBuf,
    /// Where files are kept that are not put back.
    keep: PathBuf,
    beats: Mutex<Option<JoinHandle<()>>>,
}

impl Saved {
    /// Makes it durable.
    pub(super) async fn write(place: &Path, scope: &Scope, seen: &Seen) -> Result<Self, WorkspaceError> {
        let path = with_suffix(place, "json");
        let document = Document::of(scope, seen);
        let saved = Self {
            path: path.clone(),
            git_dir: scope.repository.git_dir.clone(),
            keep: PathBuf::new(),
            beats: Mutex::default(),
        };
        blocking(move || {
            let write = || {
                let dir = path.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(dir)?;
                let mut file = tempfile::NamedTempFile::new_in(dir)?;
                file.write_all(&serde_json::to_vec(&document)?)?;
                file.as_file().sync_data()?;
                file.persist(&path)?;
                File::open(dir)?.sync_all()
            };
            write().map_err(io_error("write", &path))
        })
        .await?;
        Ok(saved)
    }

    /// Says every second that the runtime lives, until this is dropped.
    pub(super) fn beat_while(&self, watch: &Watch) {
        let (alive, sole) = (self.alive(), watch.sole_later());
        beat(&alive, sole());
        let beats = tokio::spawn(async move {
            loop {
                tokio::time::sleep(BEAT).await;
                beat(&alive, sole());
            }
        });
        *self.beats.lock().unwrap_or_else(PoisonError::into_inner) = Some(beats);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn alive(&self) -> PathBuf {
        self.path.with_extension("alive")
    }

    /// Keeps a file as it was; gives the copy.
    pub(super) fn keep(&self, name: &Path, before: Option<&Content>) -> Result<Option<PathBuf>, WorkspaceError> {
        let Some((bytes, _)) = before else { return Ok(None) };
        let copy = self.keep.join(name);
        write_whole(&copy, bytes)?;
        Ok(Some(copy))
    }

    /// Everything is put back.
    pub(super) fn remove(&self) -> Result<(), WorkspaceError> {
        self.stop();
        remove(&self.path)?;
        remove(&self.alive())
    }

    fn stop(&self) {
        if let Some(beats) = self.beats.lock().unwrap_or_else(PoisonError::into_inner).take() {
            beats.abort();
        }
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A sign of life that cannot be given makes the evidence weaker, and nothing else.
fn beat(alive: &Path, sole: bool) {
    if let Err(error) = fs::write(alive, if sole { SOLE } else { SHARED }) {
        tracing::debug!(%error, path = %alive.display(), "no sign of life");
    }
}

/// Puts back what agents did whose runtime was killed, and says what it was. The caller holds the run lock, and has ended
/// what the dead runtime had left running; the worktrees' own git directories are still there, because they hold evidence.
pub(super) async fn put_back(layout: &Layout, repository: &Repository) -> Result<Tampering, WorkspaceError> {
    let mut all = Tampering::default();
    let remotes = Remotes::read(repository).await?;
    let mut guards = Vec::new();
    for path in left(&layout.guarded()) {
        match read(&path, layout, repository) {
            Ok((scope, seen, crash, saved)) => {
                let scope = Scope { remotes: remotes.clone(), ..scope };
                guards.push((scope, Guarded::revive(seen, saved, crash)));
            }
            Err(because) => {
                let aside = set_aside(&path)?;
                all.left.push(format!(
                    "what an agent of a killed run did to your refs, stash, hooks and configuration cannot be looked at, because \
                     {because}; see {}",
                    aside.display()
                ));
            }
        }
    }
    // All are revived before the first one is restored, so that they tell each other what they put back.
    let mut pending = guards.into_iter();
    while let Some((scope, guarded)) = pending.next() {
        let path = guarded.path().to_owned();
        match guarded.restore(&scope).await {
            Ok(said) => {
                all.by_agent.extend(said.by_agent);
                all.left.extend(said.left);
            }
            Err(error) => {
                let aside = set_aside(&path)?;
                all.left.push(format!(
                    "what an agent of the killed run {} changed in your repository could not be put back: {error}; as it was \
                     before stands in {}",
                    scope.run,
                    aside.display()
                ));
            }
        }
    }
    Ok(all)
}

/// The guards' files, in the order in which they were written.
fn left(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(SystemTime, PathBuf)> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH), path))
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Out of the way of the next run, for a person to look at.
fn set_aside(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let aside = with_suffix(path, "not-restored");
    fs::rename(path, &aside).map_err(io_error("rename", path))?;
    remove(&path.with_extension("alive"))?;
    Ok(aside)
}

fn read(path: &Path, layout: &Layout, repository: &Repository) -> Result<(Scope, Seen, Crash, Saved), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let document: Document =
        serde_json::from_slice(&bytes).map_err(|error| format!("its file is damaged ({error})"))?;
    if document.version != VERSION {
        return Err(format!("another version of reflexion wrote it (format {})", document.version));
    }
    if document.git_dir.path() != repository.git_dir {
        return Err(format!("the repository was at {} then", document.git_dir.path().display()));
    }
    let alive = path.with_extension("alive");
    let crash = Crash {
        last_sign: alive.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH),
        sole: fs::read(&alive).is_ok_and(|said| said == SOLE),
    };
    let scope = Scope {
        repository: repository.clone(),
        admin: document.admin.path(),
        run: document.run.clone(),
        remotes: Remotes::default(),
    };
    let saved = Saved {
        path: path.to_owned(),
        git_dir: repository.git_dir.clone(),
        keep: layout.before(&document.run),
        beats: Mutex::default(),
    };
    Ok((scope, document.seen(), crash, saved))
}

/// `with_extension` would take a task's id apart at its last dot.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

/// Names and contents need not be text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Raw(error.into_bytes()), Self::Text)
    }
}

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Self {
        path.as_os_str().to_owned().into_vec().into()
    }
}

impl Bytes {
    fn path(&self) -> PathBuf {
        OsString::from_vec(self.bytes()).into()
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    version: u32,
    run: RunId,
    git_dir: Bytes,
    admin: Bytes,
    refs: BTreeMap<String, String>,
    files: Vec<(Bytes, Bytes, u32)>,
    stash: Stash,
    fetched: Option<Fetched>,
    logs: Vec<(Bytes, usize)>,
    heads: Vec<(Bytes, String)>,
    locks: Vec<Bytes>,
    remote: Tips,
}

impl Document {
    fn of(scope: &Scope, seen: &Seen) -> Self {
        let file = |(name, (bytes, mode)): (&PathBuf, &Content)| (name.as_path().into(), bytes.clone().into(), *mode);
        Self {
            version: VERSION,
            run: scope.run.clone(),
            git_dir: scope.repository.git_dir.as_path().into(),
            admin: scope.admin.as_path().into(),
            refs: seen.refs.clone(),
            files: seen.files.iter().map(file).collect(),
            stash: seen.stash.clone(),
            fetched: seen.fetched,
            heads: seen.heads.iter().map(|(dir, head)| (dir.as_path().into(), head.clone())).collect(),
            locks: seen.locks.iter().map(|lock| lock.as_path().into()).collect(),
            remote: seen.remote.clone(),
            logs: seen.logs.lengths.iter().map(|(dir, length)| (dir.as_path().into(), *length)).collect(),
        }
    }

    fn seen(self) -> Seen {
        let lengths = self.logs.into_iter().map(|(dir, length)| (dir.path(), length)).collect();
        Seen {
            refs: self.refs,
            files: self.files.into_iter().map(|(name, bytes, mode)| (name.path(), (bytes.bytes(), mode))).collect(),
            stash: self.stash,
            fetched: self.fetched,
            heads: self.heads.into_iter().map(|(dir, head)| (dir.path(), head)).collect(),
            locks: self.locks.iter().map(Bytes::path).collect(),
            remote: self.remote,
            logs: Logs { git_dir: self.git_dir.path(), lengths },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_survives() {
        for bytes in [&b"text"[..], b"\xff\x00\n", b""] {
            let written = serde_json::to_vec(&Bytes::from(bytes.to_vec())).unwrap();
            assert_eq!(serde_json::from_slice::<Bytes>(&written).unwrap().bytes(), bytes);
        }
    }

    #[test]
    fn a_task_with_a_dot_has_its_own_file() {
        assert_eq!(with_suffix(Path::new("g/a.b"), "json"), Path::new("g/a.b.json"));
        assert_eq!(with_suffix(Path::new("g/a.b"), "json").with_extension("alive"), Path::new("g/a.b.alive"));
    }
}
