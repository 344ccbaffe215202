//! What makes a directory a worktree; an agent can damage all of it.

use super::layout::io_error;
use super::layout::write_whole;
use super::mend::half_done;
use super::removal::remove;
use crate::host::git;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// More than a few small files in a new worktree's git directory is something that we do not know.
const MADE_BYTES: u64 = 1 << 20;

/// A worktree's link and its own git directory, as `git worktree add` made them.
#[derive(Debug)]
pub(super) struct Ground {
    link: Vec<u8>,
    /// The worktree's own git directory.
    pub(super) admin: PathBuf,
    /// Every file in it, and every directory (without content), by its path there.
    made: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// The commit that it was made for.
    head: String,
    /// The mode and the names of extended attributes that a new directory of the worktree has.
    pub(super) dirs: Look,
}

/// What a directory looks like beside what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) mode: u32,
    /// Names of extended attributes; systems give some to every file.
    pub(super) attributes: BTreeSet<Vec<u8>>,
}

impl Look {
    pub(super) fn of(path: &Path) -> std::io::Result<Self> {
        Ok(Self { mode: path.symlink_metadata()?.permissions().mode() & 0o7777, attributes: attributes(path)? })
    }

    /// Whether a file has none that directories do not have as well.
    pub(super) fn has_attributes_of(&self, file: &Path) -> std::io::Result<bool> {
        Ok(attributes(file)?.is_subset(&self.attributes))
    }
}

fn attributes(path: &Path) -> std::io::Result<BTreeSet<Vec<u8>>> {
    let mut names = vec![0_u8; 4096];
    match rustix::fs::llistxattr(path, &mut names[..]) {
        Ok(length) => {
            Ok(names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
        }
        Err(rustix::io::Errno::NOTSUP) => Ok(BTreeSet::new()),
        Err(error) => Err(error.into()),
    }
}

impl Ground {
    /// Of a worktree that was just made for a commit.
    pub(super) fn read(top: &Path, head: &str) -> Result<Self, WorkspaceError> {
        let file = top.join(".git");
        let link = fs::read(&file).map_err(io_error("read", &file))?;
        let admin = String::from_utf8_lossy(&link);
        let admin = PathBuf::from(admin.trim_start_matches("gitdir: ").trim_end());
        let made = files_in(&admin).map_err(io_error("read", &admin))?;
        let dirs = Look::of(top).map_err(io_error("read", top))?;
        Ok(Self { link, admin, made, head: head.to_owned(), dirs })
    }

    /// Whether another task may have the worktree: where refs are no files (reftable), nobody but git can put them back.
    pub(super) fn can_be_renewed(&self) -> bool {
        let head = self.made.get(Path::new("HEAD")).and_then(Option::as_ref);
        head.is_some_and(|head| head.trim_ascii_end() == self.head.as_bytes())
    }

    /// Makes it the same worktree again, with `HEAD` detached at the base and no operation half done, and says which was; its
    /// log stays.
    pub(super) async fn restore(&self, top: &Path, base: &str) -> Result<Vec<&'static str>, WorkspaceError> {
        let mut half = Vec::new();
        let ours = |name: &OsString| {
            self.made.contains_key(Path::new(name)) || ["index", "logs", "HEAD"].iter().any(|known| name == known)
        };
        for entry in fs::read_dir(&self.admin).into_iter().flatten().flatten() {
            if !ours(&entry.file_name()) {
                half.extend(half_done(&entry.file_name().to_string_lossy()));
                remove(&entry.path())?;
            }
        }
        half.sort_unstable();
        half.dedup();
        self.link(top)?;
        let head = self.admin.join("HEAD");
        let now = fs::read_to_string(&head).unwrap_or_default();
        if now.trim_end() == base {
            return Ok(half);
        }
        if now.contains(".invalid") {
            // A repository whose refs are not files (reftable) has only a stub here.
            let git = git::Git::with(&self.admin, top);
            let set = ["update-ref", "--no-deref", "HEAD", base];
            git.call(set).ok().await?;
            return Ok(half);
        }
        write_whole(&head, format!("{base}\n").as_bytes())?;
        Ok(half)
    }

    fn link(&self, top: &Path) -> Result<(), WorkspaceError> {
        put(&top.join(".git"), &self.link)?;
        for name in ["commondir", "gitdir"] {
            if let Some(Some(bytes)) = self.made.get(Path::new(name)) {
                put(&self.admin.join(name), bytes)?;
            }
        }
        Ok(())
    }

    /// Makes it the worktree of another commit, as if it were new: nothing else is in its git directory, and its log
    /// begins here.
    pub(super) fn renew(&self, top: &Path, base: &str) -> Result<(), WorkspaceError> {
        let now = walkdir::WalkDir::new(&self.admin).min_depth(1).contents_first(true);
        for entry in now.into_iter().flatten() {
            let known = entry.path().strip_prefix(&self.admin).ok().and_then(|name| self.made.get(name));
            // What is written below anyway is not removed: a worktree without them is no worktree after a crash.
            let stays = match known {
                Some(Some(_)) => entry.file_type().is_file(),
                Some(None) => entry.file_type().is_dir(),
                None => false,
            };
            if !stays {
                remove(entry.path())?;
            }
        }
        for (name, bytes) in &self.made {
            let path = self.admin.join(name);
            match bytes {
                None => fs::create_dir_all(&path).map_err(io_error("make", &path))?,
                Some(bytes) => put(&path, &replaced(bytes, self.head.as_bytes(), base.as_bytes()))?,
            }
        }
        put(&top.join(".git"), &self.link)
    }
}

/// The commit in `HEAD` and in the log's first line.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match memchr::memmem::find(bytes, from) {
        Some(at) if from != to => [&bytes[..at], to, &bytes[at + from.len()..]].concat(),
        _ => bytes.to_vec(),
    }
}

fn files_in(dir: &Path) -> std::io::Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    for found in walkdir::WalkDir::new(dir).min_depth(1) {
        let found = found?;
        let Ok(name) = found.path().strip_prefix(dir) else { continue };
        let content = if found.file_type().is_dir() { None } else { Some(fs::read(found.path())?) };
        bytes += content.as_ref().map_or(0, |content| content.len() as u64);
        if bytes > MADE_BYTES {
            return Err(std::io::Error::other("a new worktree is larger than expected"));
        }
        files.insert(name.to_owned(), content);
    }
    Ok(files)
}

/// Writes a file if it is not the same already.
fn put(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let same = path.symlink_metadata().is_ok_and(|meta| meta.is_file()) && fs::read(path).is_ok_and(|now| now == bytes);
    if same {
        return Ok(());
    }
    remove(path)?;
    write_whole(path, bytes)
}
