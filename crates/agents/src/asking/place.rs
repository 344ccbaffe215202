//! The directory in which an agent is asked.

use crate::services::HELD;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use tempfile::TempDir;

/// A directory in which an agent is asked; it goes with this value.
pub(super) struct AskedPlace {
    dir: TempDir,
    _held: Option<File>,
}

impl AskedPlace {
    /// Makes one in `all`, in which nothing else stands; where that cannot be made, among the system's temporary files, where
    /// nobody removes what a killed process leaves: anybody's files stand there.
    pub(super) fn make(purpose: &str, all: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        if DirBuilder::new().recursive(true).mode(0o700).create(all).is_err() {
            let dir = builder.prefix(&format!("reflexion-{purpose}-")).tempdir()?;
            return Ok(Self { dir, _held: None });
        }
        let dir = builder.prefix(&format!("{purpose}-")).tempdir_in(all)?;
        let held = hold(dir.path());
        Ok(Self { dir, _held: held })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Nobody sees it before it is locked. Where files cannot be locked there is none, and nobody removes the directory.
fn hold(dir: &Path) -> Option<File> {
    let new = dir.join(".new");
    let file = File::create_new(&new).ok()?;
    file.try_lock().ok()?;
    std::fs::rename(&new, dir.join(HELD)).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_place_is_held_as_long_as_it_is_there() {
        let state = tempfile::tempdir().unwrap();
        let all = state.path().join("reflexion/asked");
        let place = AskedPlace::make("judge", &all).unwrap();
        assert_eq!(place.path().parent(), Some(&*all));
        assert!(File::open(place.path().join(HELD)).unwrap().try_lock().is_err());
        drop(place);
        assert!(fs::read_dir(&all).unwrap().next().is_none());
        // Without a place of its own, it is asked all the same.
        let elsewhere = AskedPlace::make("judge", Path::new("/dev/null/asked")).unwrap();
        assert!(elsewhere.path().is_dir() && !elsewhere.path().join(HELD).exists());
    }
}
