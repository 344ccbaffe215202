//! Whether anything in a directory was touched since it was looked at.
//!
//! Every path is remembered by inode, size, mode, number of names and change time, which no program can set. Where nothing
//! differs, nobody has to be asked what changed. A file's clock ticks every few milliseconds only, so of a file that changed
//! just before the look the content is remembered too.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::BuildHasher;
use std::hash::Hasher;
use std::hash::RandomState;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

/// Longer than any tick of a kernel's clock (10 ms).
const TICK: Duration = Duration::from_millis(30);
/// The same on file systems that count seconds.
const COARSE_TICK: Duration = Duration::from_secs(3);
/// More content than this is not read for it.
const CONTENT_BYTES: u64 = 4 << 20;

/// What a walk saw, in its order.
#[derive(Debug)]
pub(super) struct Seen {
    paths: Vec<u64>,
    /// Content of what had only just changed, by its place in the order.
    recent: HashMap<usize, u64>,
    /// Nothing had only just changed, not even a directory.
    settled: bool,
    key: RandomState,
}

impl Seen {
    /// Looks at everything below a directory; nothing where that is not possible or too much.
    pub(super) fn look(top: &Path) -> Option<Self> {
        let mut seen = Self { paths: Vec::new(), recent: HashMap::new(), settled: true, key: RandomState::new() };
        let started = SystemTime::now();
        let mut room = CONTENT_BYTES;
        for found in walkdir::WalkDir::new(top) {
            let found = found.ok()?;
            let meta = found.metadata().ok()?;
            if is_recent(&meta, started) {
                seen.settled = false;
                room = room.checked_sub(if meta.is_file() { meta.len() } else { 0 })?;
                let content = seen.content(found.path(), &meta).ok()?;
                seen.recent.insert(seen.paths.len(), content);
            }
            seen.paths.push(seen.path(found.path(), &meta));
        }
        Some(seen)
    }

    /// Whether it shows every change there can be. A change of attributes within the tick of the look would not show.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Whether all of it is as it was. Ends at the first difference.
    pub(super) fn is_same(&self, top: &Path) -> bool {
        let mut paths = self.paths.iter().enumerate();
        for found in walkdir::WalkDir::new(top) {
            let Some((place, path)) = paths.next() else { return false };
            let Ok(found) = found else { return false };
            let Ok(meta) = found.metadata() else { return false };
            if self.path(found.path(), &meta) != *path {
                return false;
            }
            if let Some(content) = self.recent.get(&place)
                && self.content(found.path(), &meta).ok() != Some(*content)
            {
                return false;
            }
        }
        paths.next().is_none()
    }

    fn path(&self, path: &Path, meta: &Metadata) -> u64 {
        let mut hash = self.key.build_hasher();
        hash.write(path.as_os_str().as_bytes());
        for number in [meta.ino(), meta.size(), meta.nlink(), u64::from(meta.mode()), u64::from(meta.uid())] {
            hash.write_u64(number);
        }
        hash.write_i64(meta.ctime());
        hash.write_i64(meta.ctime_nsec());
        hash.finish()
    }

    fn content(&self, path: &Path, meta: &Metadata) -> io::Result<u64> {
        let mut hash = self.key.build_hasher();
        if meta.is_symlink() {
            hash.write(std::fs::read_link(path)?.as_os_str().as_bytes());
        } else if meta.is_file() {
            hash.write(&std::fs::read(path)?);
        }
        Ok(hash.finish())
    }
}

/// Whether another change could get the same time. One from the future may, when the clock was set back.
fn is_recent(meta: &Metadata, now: SystemTime) -> bool {
    let tick = if meta.ctime_nsec() == 0 { COARSE_TICK } else { TICK };
    let Ok(seconds) = u64::try_from(meta.ctime()) else { return true };
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, meta.ctime_nsec().try_into().unwrap_or(0));
    now.checked_sub(tick).is_none_or(|before| changed >= before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn whatever_is_touched_is_seen_even_within_one_tick() {
        let check = |act: &dyn Fn(&Path), same: bool| {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().join("top");
            fs::create_dir_all(top.join("d/e")).unwrap();
            for name in ["a", "d/b", "d/e/c"] {
                fs::write(top.join(name), "12").unwrap();
            }
            std::os::unix::fs::symlink("a", top.join("link")).unwrap();
            let seen = Seen::look(&top).unwrap();
            assert!(seen.is_same(&top));
            act(&top);
            assert_eq!(seen.is_same(&top), same);
        };
        check(&|top| drop(fs::read(top.join("a")).unwrap()), true);
        check(&|top| fs::write(top.join("d/b"), "21").unwrap(), false);
        check(&|top| fs::write(top.join("d/e/new"), "").unwrap(), false);
        check(&|top| fs::remove_file(top.join("d/e/c")).unwrap(), false);
        check(&|top| fs::create_dir(top.join("d/e/f")).unwrap(), false);
        check(&|top| fs::rename(top.join("a"), top.join("z")).unwrap(), false);
        check(&|top| fs::hard_link(top.join("a"), top.parent().unwrap().join("outside")).unwrap(), false);
        check(&|top| fs::set_permissions(top.join("d"), fs::Permissions::from_mode(0o700)).unwrap(), false);
        check(&|top| fs::set_permissions(top, fs::Permissions::from_mode(0o700)).unwrap(), false);
        check(
            &|top| {
                fs::remove_file(top.join("link")).unwrap();
                std::os::unix::fs::symlink("b", top.join("link")).unwrap();
            },
            false,
        );
        check(&|top| fs::remove_dir_all(top).unwrap(), false);
    }
}
