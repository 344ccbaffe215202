//! Which files a program reads, by the times that the file system keeps.
//!
//! What `setup` makes depends on what it reads, and no list of names knows that: `pip install .[test]` reads all of the code.

use super::names::DIR;
use super::recorder::Difference;
use crate::files::{Kind, ReadTime, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A directory of ours, with a file in it, that are read to see whether reading shows.
const PROBE: &str = ".reflexion-probe";

/// The files of a workspace, none of which has been read.
pub(super) struct Unread {
    files: Root,
    /// By directory, its own name empty.
    times: BTreeMap<PathBuf, Vec<(OsString, ReadTime)>>,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reads {
    files: BTreeSet<PathBuf>,
    /// Directories that were listed, or of which a file was read: what comes there or goes might have been looked for.
    dirs: BTreeSet<PathBuf>,
    /// Directories that were there.
    there: BTreeSet<PathBuf>,
}

impl Unread {
    /// Forgets who has read the files, those below `left_out` and the repository excepted. Nothing where that cannot be, because the
    /// file system does not keep when something was read (`noatime`) or copied (overlayfs), or somebody has mounted another one there.
    ///
    /// Git takes what was forgotten for changed until its index is refreshed.
    pub(super) fn forget(files: &Root, left_out: &BTreeSet<PathBuf>) -> Option<Self> {
        let forget = || {
            if !shows_reading(files)? {
                return Ok(None);
            }
            let mut times: BTreeMap<PathBuf, Vec<(OsString, ReadTime)>> = BTreeMap::new();
            let mut walk = files.walk(Path::new(""));
            while let Some(found) = walk.next() {
                let (path, look) = found?;
                if left_out.contains(&path) || path.starts_with(DIR) {
                    if look.kind == Kind::Dir {
                        walk.skip_below();
                    }
                    continue;
                }
                if look.kind == Kind::Dir {
                    times.entry(path).or_default().push((OsString::new(), (0, 0)));
                } else if let Some(name) = path.file_name() {
                    let dir = path.parent().unwrap_or(Path::new("")).to_owned();
                    times.entry(dir).or_default().push((name.to_owned(), (0, 0)));
                }
            }
            // Walking reads directories, so that all are done after it.
            for (dir, names) in &mut times {
                let dir = files.below(dir)?;
                for (name, time) in names {
                    dir.forget_read(Path::new(name))?;
                    *time = dir.read_time(Path::new(name))?;
                }
            }
            Ok(Some(times))
        };
        let forgotten: io::Result<_> = forget();
        let times = forgotten.unwrap_or_else(|error| {
            tracing::info!(%error, "what setup reads is not known");
            None
        });
        times.map(|times| Self { files: files.clone(), times })
    }

    /// Who was read since. What cannot be looked at any more counts as read, and so does what has another name by now (`ln`): its content
    /// stays there when the work has another one.
    pub(super) fn reads(self) -> Reads {
        let mut reads = Reads { files: BTreeSet::new(), dirs: BTreeSet::new(), there: BTreeSet::new() };
        for (dir, names) in self.times {
            let held = self.files.below(&dir);
            let is_linked =
                |held: &Root, name: &Path| !is_root(name) && held.stat(name).is_ok_and(|look| look.links > 1);
            let is_unread = |held: &Root, name: &Path, time| {
                held.read_time(name).is_ok_and(|now| now == time) && !is_linked(held, name)
            };
            let is_read = |name: &Path, time| !held.as_ref().is_ok_and(|held| is_unread(held, name, time));
            for (name, time) in names {
                if is_read(Path::new(&name), time) {
                    reads.dirs.insert(dir.clone());
                    if !name.is_empty() {
                        reads.files.insert(dir.join(&name));
                    }
                }
            }
            reads.there.insert(dir);
        }
        reads
    }
}

impl Reads {
    /// Whether who read these files might do something else with others, which differ like this. `is_there` says of a file or directory
    /// whether it is among those.
    pub(super) fn concern(&self, differing: &Difference, is_there: impl Fn(&Path) -> bool) -> bool {
        let existed: BTreeSet<&str> = differing.existed.iter().map(String::as_str).collect();
        differing.paths.iter().any(|path| {
            let stays = existed.contains(&*path.to_string_lossy()) && is_there(path);
            // Whoever only writes to a directory that goes reads nothing there, and fails.
            let dir_goes =
                || path.ancestors().skip(1).any(|dir| self.there.contains(dir) && !is_root(dir) && !is_there(dir));
            self.files.contains(path) || (!stays && (self.changes_a_listing(path) || dir_goes()))
        })
    }

    /// Of a path that comes or goes: whether that shows in a directory that was looked at.
    fn changes_a_listing(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        above.find(|dir| self.there.contains(*dir)).is_none_or(|dir| self.dirs.contains(dir))
    }
}

fn is_root(dir: &Path) -> bool {
    dir.as_os_str().is_empty()
}

/// Whether the file system keeps when something is read: by its content, by the system's own call for copies, which `cp` uses too (where
/// two files share one content on the disk, or another file system lies below, nothing is read then), and by being listed.
fn shows_reading(files: &Root) -> io::Result<bool> {
    /// Enough to be a block of its own, which could be shared.
    const BYTES: usize = 1 << 16;
    let dir = Path::new(PROBE);
    let (file, copy) = (dir.join("file"), dir.join("copy"));
    let shows = || {
        files.make_below(dir)?;
        files.put(&file, &[b'?'; BYTES])?;
        let shown = |path: &Path, read: &dyn Fn() -> io::Result<()>| {
            files.forget_read(path)?;
            let before = files.read_time(path)?;
            read()?;
            Ok::<_, io::Error>(files.read_time(path)? != before)
        };
        Ok(shown(&file, &|| files.read(&file).map(drop))?
            && shown(&file, &|| files.copy(&copy, files, &file))?
            && shown(dir, &|| files.list(dir).map(drop))?)
    };
    let shows: io::Result<bool> = shows();
    files.remove(dir)?;
    shows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs as root only; elsewhere nobody can mount.
    #[test]
    fn where_copying_does_not_show_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            dir.path().join(name)
        };
        let [place, lower, upper, work] = ["place", "lower", "upper", "work"].map(make);
        let of = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        let run = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        if !run(Command::new("mount").args(["-t", "overlay", "overlay", "-o", &of]).arg(&place)) {
            eprintln!("SKIPPED: nothing can be mounted here");
            return;
        }
        std::fs::write(place.join("file"), "1").unwrap();
        let forgotten = Root::open(&place).map(|files| Unread::forget(&files, &BTreeSet::new()).is_some());
        // How it is there today: what the probe has to find out.
        let shows = || {
            let files = Root::open(&place)?;
            files.forget_read(Path::new("file"))?;
            std::fs::copy(place.join("file"), place.join("other"))?;
            Ok::<_, io::Error>(files.read_time(Path::new("file"))? != (0, 0))
        };
        let shows: io::Result<bool> = shows();
        assert!(run(Command::new("umount").arg(&place)));
        assert_eq!(forgotten.unwrap(), shows.unwrap());
    }
}
