//! Opening a file under a lock that all processes of a project respect.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens `path` for appending and takes its exclusive lock; creates the file and its directories if needed.
///
/// `kept` is a handle of an earlier call, used again if the path still names the same file.
pub(super) fn append_locked(path: &Path, kept: Option<File>) -> io::Result<File> {
    lock_current(path, kept, open_for_append)
}

/// Opens an existing `path` for reading and takes its exclusive lock.
pub(super) fn read_locked(path: &Path) -> io::Result<File> {
    lock_current(path, None, |path| File::open(path))
}

/// While we waited for the lock, its holder may have replaced the file; writing to the old one would lose the record,
/// so the lock only counts if the path still names the file that is locked.
fn lock_current(path: &Path, mut kept: Option<File>, open: impl Fn(&Path) -> io::Result<File>) -> io::Result<File> {
    loop {
        let file = match kept.take() {
            Some(file) => file,
            None => open(path)?,
        };
        lock(&file)?;
        if is_at(&file, path)? {
            return Ok(file);
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn open_for_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            create_parents(path)?;
            options.open(path)
        }
        other => other,
    }
}

/// Creates the directories above `path`, so that they survive a power cut.
fn create_parents(path: &Path) -> io::Result<()> {
    let dir = parent(path);
    let mut to_sync = vec![dir];
    while let Some(last) = to_sync.last().filter(|d| !d.exists()) {
        to_sync.push(parent(last));
    }
    std::fs::create_dir_all(dir)?;
    to_sync.into_iter().try_for_each(sync_dir)
}

/// The directory that holds `path`.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
