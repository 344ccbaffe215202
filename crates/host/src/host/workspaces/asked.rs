//! Directories in which agents were asked something, below the system's temporary directory.
//!
//! Whoever asks holds a lock on a file in it ([`HELD`]), which goes with the process, however that ends.

use crate::files::{Kind, Root};
use crate::services::{ASKED, HELD};
use std::fs::File;
use std::io;
use std::path::Path;

/// Removes those below `temp` that killed processes of this user left, and says how many.
pub(super) fn remove_left(temp: &Path) -> usize {
    let Ok(temp) = Root::open(temp) else { return 0 };
    let entries = temp.list(Path::new("")).unwrap_or_default();
    let left = entries.iter().filter(|(name, kind)| *kind == Kind::Dir && name.to_string_lossy().starts_with(ASKED));
    left.filter(|(name, _)| matches!(remove(&temp, Path::new(name)), Ok(true))).count()
}

/// Whether it was one that nobody holds any more.
fn remove(temp: &Root, name: &Path) -> io::Result<bool> {
    let dir = temp.below(name)?;
    let me = rustix::process::getuid().as_raw();
    if dir.stat(Path::new(""))?.uid != me || dir.stat(Path::new(HELD))?.uid != me {
        return Ok(false);
    }
    // Held until it is gone: nobody takes it meanwhile.
    let held: File = dir.open_file(Path::new(HELD))?;
    if held.try_lock().is_err() {
        return Ok(false);
    }
    temp.remove(name)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let make = |name: &str, held: bool| {
            let dir = temp.path().join(name);
            fs::create_dir_all(dir.join("empty/scratch")).unwrap();
            held.then(|| File::create(dir.join(HELD)).unwrap())
        };
        make("reflexion-decompose-dead", true);
        let alive = make("reflexion-decompose-alive", true).unwrap();
        alive.lock().unwrap();
        make("reflexion-notes", false);
        make("mine", true);
        make("elsewhere/reflexion-x", true);
        std::os::unix::fs::symlink("elsewhere/reflexion-x", temp.path().join("reflexion-link")).unwrap();
        assert_eq!(remove_left(temp.path()), 1);
        let mut names: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["elsewhere", "mine", "reflexion-decompose-alive", "reflexion-link", "reflexion-notes"]);
        assert!(temp.path().join("elsewhere/reflexion-x/empty").exists());
        drop(alive);
        // A program that another test is just starting has all that is open here for a moment, and holds the lock.
        let is_removed = || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            remove_left(temp.path()) == 1
        };
        assert!((0..100).any(|_| is_removed()));
        assert_eq!(remove_left(&temp.path().join("nowhere")), 0);
    }
}
