//! Replacing a whole file, so that a kill at any moment leaves the old one or the new one.

use super::locked_file::parent;
use super::locked_file::sync_dir;
use std::fs::File;
use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use tempfile::NamedTempFile;

/// A new file in the making beside the one it replaces; dropped unfinished, it is removed.
#[derive(Debug)]
pub(super) struct Replacement {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Replacement {
    /// Begins a file with the permissions of `old`, whose lock the caller holds. A symbolic link is followed, so that
    /// it stays one.
    pub(super) fn begin(path: &Path, old: &File) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.");
        remove_leftovers(parent(&path), &prefix)?;
        let file = tempfile::Builder::new().prefix(&prefix).suffix(SUFFIX).tempfile_in(parent(&path))?;
        file.as_file().set_permissions(old.metadata()?.permissions())?;
        Ok(Self { path, file: BufWriter::with_capacity(256 * 1024, file) })
    }

    /// Makes the new file durable and puts it in the old one's place.
    pub(super) fn finish(self) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|e| e.error)?;
        sync_dir(parent(&self.path))
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

const SUFFIX: &str = ".tmp";

/// Removes what killed processes left unfinished; only the lock's holder makes such files.
fn remove_leftovers(dir: &Path, prefix: &str) -> io::Result<()> {
    for entry in dir.read_dir()? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(prefix) && name.ends_with(SUFFIX) {
            // Another's removal may have been faster.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    Ok(())
}
