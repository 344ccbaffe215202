//! Directories in which agents were asked something by processes that were killed.
//!
//! They are known by where they are: in a place of the runtime's own, in which nothing else stands. Whoever asks holds a lock on a file in its
//! directory ([`HELD`]), which goes with the process, however that ends.

use crate::files::{Kind, Root};
use crate::services::HELD;
use std::io;
use std::path::Path;

/// Removes those in `all` that nobody holds any more, and says how many.
pub(super) fn remove_left(all: &Path) -> usize {
    let Ok(all) = Root::open(all) else { return 0 };
    let entries = all.list(Path::new("")).unwrap_or_default();
    let left = entries.iter().filter(|(_, kind)| *kind == Kind::Dir);
    left.filter(|(name, _)| matches!(remove(&all, Path::new(name)), Ok(true))).count()
}

/// Whether it was one that nobody holds any more.
fn remove(all: &Root, name: &Path) -> io::Result<bool> {
    // Held until it is gone: nobody takes it meanwhile.
    let held = all.below(name)?.open_file(Path::new(HELD))?;
    if held.try_lock().is_err() {
        return Ok(false);
    }
    all.remove(name)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::fs::File;

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let all = tempfile::tempdir().unwrap();
        let make = |name: &str, held: bool| {
            let dir = all.path().join(name);
            fs::create_dir_all(dir.join("empty/scratch")).unwrap();
            held.then(|| File::create(dir.join(HELD)).unwrap())
        };
        make("decompose-dead", true);
        let alive = make("decompose-alive", true).unwrap();
        alive.lock().unwrap();
        make("just-made", false);
        std::os::unix::fs::symlink("decompose-alive", all.path().join("link")).unwrap();
        // A program that another test is just starting has all that is open here for a moment, and holds the lock.
        let is_removed = || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            remove_left(all.path()) == 1
        };
        assert!((0..100).any(|_| is_removed()));
        let mut names: Vec<_> = fs::read_dir(all.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["decompose-alive", "just-made", "link"]);
        drop(alive);
        assert!((0..100).any(|_| is_removed()));
        assert_eq!(remove_left(&all.path().join("nowhere")), 0);
    }
}
