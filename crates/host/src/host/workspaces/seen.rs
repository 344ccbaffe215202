//! Whether anything in a directory was touched since it was looked at, and what.
//!
//! Every path is remembered by inode, size, mode, number of names and change time, which no program can set. Where nothing
//! differs, nobody has to be asked what changed. A file's clock ticks every few milliseconds only, so of what changed just before
//! the look the content and the names of its extended attributes are remembered too. Of the repository in it, all but the index ([`INDEX`]) counts, whose state
//! is known otherwise.

use super::names::{DIR, INDEX};
use crate::files::{Kind, Look, Root};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Longer than any tick of a kernel's clock (10 ms).
const TICK: Duration = Duration::from_millis(30);
/// The same on file systems that count seconds.
const COARSE_TICK: Duration = Duration::from_secs(3);
/// More content than this is not read for it.
const CONTENT_BYTES: u64 = 4 << 20;

/// A clock that was set back may leave files that are recent for long.
const TRIES: u32 = 3;

/// What a walk saw.
#[derive(Debug)]
pub(super) struct Seen {
    paths: HashMap<PathBuf, Stamp>,
    key: RandomState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    look: u64,
    /// Of what had only just changed.
    content: Option<u64>,
    is_dir: bool,
}

/// What differs from what was seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Differing {
    /// What was there and is another or gone, beside directories and the repository.
    pub(super) changed: BTreeSet<PathBuf>,
    /// What was not there, and directories and files of the repository that are not as they were.
    others: BTreeSet<PathBuf>,
}

impl Differing {
    /// Whether a path was seen, and is what it was.
    pub(super) fn is_same(&self, seen: &Seen, path: &Path) -> bool {
        seen.paths.contains_key(path) && !self.changed.contains(path) && !self.others.contains(path)
    }
}

impl Seen {
    /// Looks at everything in a directory. Where too much has only just changed, it waits until that is a tick ago. Nothing where it
    /// cannot be looked through.
    pub(super) fn look(files: &Root) -> Option<Self> {
        for _ in 0..TRIES {
            match Self::try_look(files, SystemTime::now()) {
                Ok(seen) => return Some(seen),
                Err(Unseen::TooRecent(tick)) => std::thread::sleep(tick),
                Err(Unseen::Failed) => return None,
            }
        }
        None
    }

    fn try_look(files: &Root, started: SystemTime) -> Result<Self, Unseen> {
        let mut seen = Self { paths: HashMap::new(), key: RandomState::new() };
        let mut bytes = 0_u64;
        let mut tick = None;
        let walked = each(files, |path, look| {
            let mut stamp = Stamp { look: seen.hash(&path, &look), content: None, is_dir: look.kind == Kind::Dir };
            let recent = within_tick(&look, started);
            if recent.is_some() || is_top(&path) {
                bytes += if look.kind == Kind::File { look.len } else { 0 };
                if bytes > CONTENT_BYTES {
                    tick = recent;
                    return Ok(Flow::End);
                }
                stamp.content = Some(seen.content(files, &path, &look)?);
            }
            seen.paths.insert(path, stamp);
            Ok(Flow::On)
        });
        match (walked, tick) {
            (Err(_), _) => Err(Unseen::Failed),
            (Ok(()), Some(tick)) => Err(Unseen::TooRecent(tick)),
            (Ok(()), None) => Ok(seen),
        }
    }

    /// Whether all of it is as it was. Ends at the first difference.
    pub(super) fn is_same(&mut self, files: &Root) -> bool {
        let now = SystemTime::now();
        let (mut found, mut same) = (0, true);
        let mut settled = Vec::new();
        let looked = each(files, |path, look| {
            found += 1;
            let stamp = self.paths.get(&path).copied();
            same = stamp.is_some_and(|stamp| self.is_as(files, &path, &look, stamp));
            // From now on a change shows in its time.
            if same && stamp.is_some_and(|stamp| stamp.content.is_some()) && within_tick(&look, now).is_none() {
                settled.push(path);
            }
            Ok(if same { Flow::On } else { Flow::End })
        });
        let same = looked.is_ok() && same && found == self.paths.len();
        for path in settled.iter().filter(|path| same && !is_top(path)) {
            self.paths.entry(path.clone()).and_modify(|stamp| stamp.content = None);
        }
        same
    }

    /// What differs by now.
    ///
    /// # Errors
    /// Where a part of it cannot be looked at; what is said of the rest holds.
    pub(super) fn differing(&self, files: &Root) -> (Differing, io::Result<()>) {
        let mut differing = Differing::default();
        let mut all = Ok(());
        let mut missing: BTreeSet<&PathBuf> = self.paths.keys().collect();
        for found in files.walk(Path::new("")) {
            let (path, look) = match found {
                Ok(found) => found,
                Err(error) => {
                    all = Err(error);
                    continue;
                }
            };
            if path == Path::new(INDEX) {
                continue;
            }
            missing.remove(&path);
            match self.paths.get(&path) {
                Some(stamp) if self.is_as(files, &path, &look, *stamp) => {}
                Some(stamp) if !stamp.is_dir && !path.starts_with(DIR) => _ = differing.changed.insert(path),
                _ => _ = differing.others.insert(path),
            }
        }
        for path in missing {
            if self.paths[path].is_dir || path.starts_with(DIR) {
                differing.others.insert(path.clone());
            } else {
                differing.changed.insert(path.clone());
            }
        }
        (differing, all)
    }

    fn is_as(&self, files: &Root, path: &Path, look: &Look, stamp: Stamp) -> bool {
        self.hash(path, look) == stamp.look
            && stamp.content.is_none_or(|content| self.content(files, path, look).ok() == Some(content))
    }

    fn hash(&self, path: &Path, look: &Look) -> u64 {
        let mut hash = self.key.build_hasher();
        hash.write(path.as_os_str().as_bytes());
        hash.write_u8(look.kind as u8);
        for number in [look.inode, look.len, look.links, u64::from(look.mode), u64::from(look.uid)] {
            hash.write_u64(number);
        }
        // Moving the directory changes its own time.
        let changed = if is_top(path) { (0, 0) } else { look.changed };
        for (seconds, nanoseconds) in [changed, look.modified] {
            hash.write_i64(seconds);
            hash.write_i64(nanoseconds);
        }
        hash.finish()
    }

    fn content(&self, files: &Root, path: &Path, look: &Look) -> io::Result<u64> {
        let mut hash = self.key.build_hasher();
        match look.kind {
            Kind::Link => hash.write(files.target(path)?.as_os_str().as_bytes()),
            Kind::File => hash.write(&files.read(path)?),
            Kind::Dir | Kind::Other => {}
        }
        for name in files.attributes(path)? {
            hash.write(&name);
            hash.write_u8(0);
        }
        Ok(hash.finish())
    }
}

/// Why nothing was seen.
enum Unseen {
    /// Too much has changed within this time.
    TooRecent(Duration),
    /// It cannot be looked through.
    Failed,
}

/// Whether a walk goes on.
enum Flow {
    On,
    End,
}

/// Everything in a directory beside the index of the repository in it.
fn each(files: &Root, mut see: impl FnMut(PathBuf, Look) -> io::Result<Flow>) -> io::Result<()> {
    for found in files.walk(Path::new("")) {
        let (path, look) = found?;
        if path == Path::new(INDEX) {
            continue;
        }
        if matches!(see(path, look)?, Flow::End) {
            break;
        }
    }
    Ok(())
}

fn is_top(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// The tick within which another change could get the same time, if it could. One from the future may, when the clock was set
/// back.
fn within_tick(look: &Look, now: SystemTime) -> Option<Duration> {
    let (seconds, nanoseconds) = look.changed;
    let tick = if nanoseconds == 0 { COARSE_TICK } else { TICK };
    let Ok(seconds) = u64::try_from(seconds) else { return Some(tick) };
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds.try_into().unwrap_or(0));
    now.checked_sub(tick).is_none_or(|before| changed >= before).then_some(tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn whatever_is_touched_is_seen_even_within_one_tick() {
        all_of_it(false);
    }

    #[test]
    fn whatever_is_touched_is_seen_after_it_has_settled() {
        all_of_it(true);
    }

    fn all_of_it(wait: bool) {
        let check = |act: &dyn Fn(&Path), changed: &[&str], same: bool| {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().join("top");
            fs::create_dir_all(top.join("d/e")).unwrap();
            fs::create_dir_all(top.join(".git/refs")).unwrap();
            fs::write(top.join(".git/index"), "").unwrap();
            for name in ["a", "d/b", "d/e/c"] {
                fs::write(top.join(name), "12").unwrap();
            }
            std::os::unix::fs::symlink("a", top.join("link")).unwrap();
            let files = Root::open(&top).unwrap();
            let mut seen = Seen::look(&files).unwrap();
            assert!(seen.is_same(&files));
            if wait {
                std::thread::sleep(TICK * 2);
                assert!(seen.is_same(&files));
                assert!(seen.paths.values().filter(|stamp| stamp.content.is_some()).count() == 1, "the top alone");
            }
            act(&top);
            assert_eq!(seen.is_same(&files), same);
            let (differing, all) = seen.differing(&files);
            all.unwrap();
            assert_eq!(differing == Differing::default(), same);
            assert_eq!(differing.changed.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(), changed);
        };
        check(&|top| drop(fs::read(top.join("a")).unwrap()), &[], true);
        check(&|top| fs::write(top.join(".git/refs/x"), "").unwrap(), &[], false);
        check(&|top| fs::write(top.join(".git/index"), "more is known of it").unwrap(), &[], true);
        check(&|top| fs::write(top.join("d/b"), "21").unwrap(), &["d/b"], false);
        check(&|top| fs::write(top.join("d/e/new"), "").unwrap(), &[], false);
        check(&|top| fs::remove_file(top.join("d/e/c")).unwrap(), &["d/e/c"], false);
        check(&|top| fs::create_dir(top.join("d/e/f")).unwrap(), &[], false);
        check(&|top| fs::rename(top.join("a"), top.join("z")).unwrap(), &["a"], false);
        check(&|top| fs::hard_link(top.join("a"), top.parent().unwrap().join("outside")).unwrap(), &["a"], false);
        check(&|top| fs::set_permissions(top.join("d"), fs::Permissions::from_mode(0o700)).unwrap(), &[], false);
        check(&|top| fs::set_permissions(top, fs::Permissions::from_mode(0o700)).unwrap(), &[], false);
        check(
            &|top| {
                fs::remove_file(top.join("link")).unwrap();
                std::os::unix::fs::symlink("b", top.join("link")).unwrap();
            },
            &["link"],
            false,
        );
        check(&|top| fs::remove_dir_all(top.join("d")).unwrap(), &["d/b", "d/e/c"], false);
        let back = |file: fs::File| file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        check(&|top| back(fs::File::open(top.join("a")).unwrap()), &["a"], false);
        let set = |path: &Path| {
            rustix::fs::setxattr(path, "user.planted", b"1", rustix::fs::XattrFlags::empty()).unwrap();
        };
        check(&|top| set(&top.join("a")), &["a"], false);
        check(&|top| set(&top.join("d")), &[], false);
        check(&|top| set(top), &[], false);
        let there_and_back = |top: &Path| {
            fs::rename(top, top.with_file_name("aside")).unwrap();
            fs::rename(top.with_file_name("aside"), top).unwrap();
        };
        check(&there_and_back, &[], true);
    }
}
