//! Which files a program reads, by the times that the file system keeps.
//!
//! What `setup` makes depends on what it reads, and no list of names knows that: `pip install .[test]` reads all of the code.

use super::agents_git::DIR;
use super::recorder::Difference;
use crate::files::Kind;
use crate::files::ReadTime;
use crate::files::Root;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::path::PathBuf;

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
    /// file system does not keep when something was read (`noatime`), or somebody has mounted another one there.
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

    /// Who was read since. What cannot be looked at any more counts as read.
    pub(super) fn reads(self) -> Reads {
        let mut reads = Reads { files: BTreeSet::new(), dirs: BTreeSet::new(), there: BTreeSet::new() };
        for (dir, names) in self.times {
            let held = self.files.below(&dir);
            let is_read =
                |name: &Path, time| !held.as_ref().is_ok_and(|held| held.read_time(name).is_ok_and(|now| now == time));
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

/// Whether the file system keeps when something is read.
fn shows_reading(files: &Root) -> io::Result<bool> {
    let dir = Path::new(PROBE);
    let file = dir.join("file");
    let shows = || {
        files.make_below(dir)?;
        files.put(&file, b"?")?;
        let shown = |path: &Path, read: &dyn Fn() -> io::Result<()>| {
            files.forget_read(path)?;
            let before = files.read_time(path)?;
            read()?;
            Ok::<_, io::Error>(files.read_time(path)? != before)
        };
        Ok(shown(&file, &|| files.read(&file).map(drop))? && shown(dir, &|| files.list(dir).map(drop))?)
    };
    let shows: io::Result<bool> = shows();
    files.remove(dir)?;
    shows
}
