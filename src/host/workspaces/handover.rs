//! Making a slot that a task has left the workspace of the next one.
//!
//! `git worktree add` writes every file again, which takes seconds in large repositories; most of them are right already. But
//! nothing of the task before may be seen by the next one. So everything is proven again from what only we have written: our
//! index says which files have the content that we checked out, and all others are written again, and so is what has another
//! mode, another name, or attributes (git compares times by the second, so it does not see all of that). Every path that is
//! neither tracked nor kept is removed, whoever ignores it. The worktree's own git directory is put back to the bytes that
//! `git worktree add` made. Where anything is in doubt, the slot is thrown away.

use super::begin::Begun;
use super::carry::Carry;
use super::ground::Ground;
use super::ground::Look;
use super::host_workspaces::Shared;
use super::kept::Kept;
use super::kept::Places;
use super::layout::blocking;
use super::layout::io_error;
use super::removal::remove;
use super::slots::Known;
use super::slots::Slot;
use crate::host::git;
use crate::host::process::is_occupied;
use crate::services::WorkspaceError;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a slot is not used again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Doubt {
    #[error("{0}")]
    Of(&'static str),
    #[error(transparent)]
    Failed(#[from] WorkspaceError),
}

/// What the next task starts from.
pub(super) struct Target<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) begun: &'a Begun,
    /// The commit and its tree.
    pub(super) base: &'a str,
    pub(super) tree: &'a str,
}

/// Makes the slot the workspace of the next task; its index holds the target's tree then.
pub(super) async fn hand_over(slot: &mut Slot, known: &mut Known, to: &Target<'_>) -> Result<(), Doubt> {
    let ground = trusted(slot, known).await?;
    let (top, recorder) = (slot.recorder.top.clone(), &slot.recorder);
    known.look_at(&recorder.index);
    if known.is_spoilt() {
        return Err(Doubt::Of("somebody has written to the index that says what is untouched"));
    }
    let (admin, place, base) = (Arc::clone(&ground), top.clone(), to.base.to_owned());
    blocking(move || admin.renew(&place, &base)).await?;
    let keeps = keep_or_forget(slot, known, to).await?;
    let proven = known.proven.take().filter(|proven| proven.is_settled());
    if keeps && known.loaded == to.tree && slot.is_as(proven.as_ref()).await? {
        return Ok(());
    }
    let hidden = to.begun.repository.hidden();
    let mut hides = false;
    if known.loaded != to.tree {
        let changed = recorder.difference(&known.loaded, to.tree).await?.files;
        if changed.iter().any(|file| file.ends_with(".gitattributes")) {
            return Err(Doubt::Of("what decides about line endings and filters has changed"));
        }
        hides = changed.iter().any(|file| hidden.iter().any(|hidden| Path::new(file).starts_with(hidden)));
    }
    let kept = if keeps { slot.with_kept(|kept| Ok(kept.roots().cloned().collect())).await? } else { Vec::new() };
    let tracked = Tracked::read(&recorder.listing().await?);
    let written = std::mem::take(&mut known.written);
    let sweep = Sweep { top: top.clone(), look: ground.dirs.clone(), tracked, kept, written, hidden: hidden.to_vec() };
    blocking(move || Ok(sweep.run())).await??;
    recorder.checkout(to.tree).await?;
    if hides {
        recorder.hide(&hidden).await?;
    }
    to.tree.clone_into(&mut known.loaded);
    if !keeps {
        let into = Carried { top: &slot.recorder.top, private: &slot.private };
        let kept = carry(to.shared, to.begun, into).await?;
        slot.kept = Arc::new(std::sync::Mutex::new(kept));
    }
    Ok(())
}

/// The worktree's ground, if a real directory is there and nobody in it.
async fn trusted(slot: &Slot, known: &Known) -> Result<Arc<Ground>, Doubt> {
    let Some(ground) = slot.ground.clone().filter(|ground| ground.can_be_renewed()) else {
        return Err(Doubt::Of("it is not a worktree that can be renewed"));
    };
    if !known.nested.is_empty() {
        return Err(Doubt::Of("a repository was made inside"));
    }
    let top = slot.recorder.top.clone();
    blocking(move || {
        Ok(if !top.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            Err(Doubt::Of("its directory is gone"))
        } else if is_occupied(&top) {
            Err(Doubt::Of("a process works in it or has a file of it open"))
        } else {
            Ok(())
        })
    })
    .await??;
    Ok(ground)
}

/// Whether what was carried in and what `setup` made is there for the next task as if it had just been made.
async fn keep_or_forget(slot: &Slot, known: &mut Known, to: &Target<'_>) -> Result<bool, WorkspaceError> {
    let carried = chosen(to.shared, to.begun).await?;
    // A second run of `setup` was one on what an agent had changed; one on another base may have made other things.
    let set_up = match &known.set_up {
        Some(_) => known.set_ups <= 1 && known.set_up_on.as_deref() == Some(to.tree),
        None => known.set_ups == 0,
    };
    let untouched = set_up && slot.with_kept(move |kept| kept.is_untouched(&carried)).await?;
    if !untouched {
        (known.set_up, known.set_ups) = (None, 0);
    }
    Ok(untouched)
}

/// The user's untracked paths that every workspace gets.
async fn chosen(shared: &Shared, begun: &Begun) -> Result<Vec<PathBuf>, WorkspaceError> {
    let policy = &shared.params.workspace;
    let carry = Carry::new(&policy.carry, policy.carry_limit_bytes)?;
    if carry.is_empty() {
        return Ok(Vec::new());
    }
    let list = ["ls-files", "-z", "--others", "--directory"];
    let out = begun.repository.git().call(list).ok().await?;
    let untracked: Vec<PathBuf> = git::paths(&out).collect();
    let (top, prefix) = (begun.repository.top.clone(), begun.repository.prefix.clone());
    blocking(move || carry.choose(&top, &prefix, &untracked)).await
}

/// The directories of a slot.
pub(super) struct Carried<'a> {
    pub(super) top: &'a Path,
    pub(super) private: &'a Path,
}

/// Copies what is carried into a slot that has none of it.
pub(super) async fn carry(shared: &Shared, begun: &Begun, into: Carried<'_>) -> Result<Kept, WorkspaceError> {
    let roots = chosen(shared, begun).await?;
    let places = Places {
        top: into.top.to_owned(),
        source: begun.repository.top.clone(),
        project: begun.repository.top.join(&begun.repository.prefix),
        store: into.private.join("store"),
    };
    blocking(move || {
        remove(&places.store)?;
        let mut kept = Kept::new(places);
        kept.carry(roots)?;
        Ok(kept)
    })
    .await
}

/// What our index says is tracked, as bytes of paths.
#[derive(Debug, Default)]
struct Tracked {
    files: HashMap<Vec<u8>, Kind>,
    dirs: HashSet<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Program,
    Link,
    Submodule,
}

impl Tracked {
    /// From `ls-files -z --stage`: `mode id stage TAB path`, again and again.
    fn read(listing: &[u8]) -> Self {
        let mut tracked = Self::default();
        for entry in listing.split(|byte| *byte == 0) {
            let Some(tab) = memchr::memchr(b'\t', entry) else { continue };
            let path = &entry[tab + 1..];
            // From the deepest directory up to one that is known, and so are all above it.
            let mut end = path.len();
            while let Some(slash) = memchr::memrchr(b'/', &path[..end]) {
                if !tracked.dirs.insert(path[..slash].to_vec()) {
                    break;
                }
                end = slash;
            }
            let kind = match &entry[..6] {
                b"160000" => Kind::Submodule,
                b"120000" => Kind::Link,
                b"100755" => Kind::Program,
                _ => Kind::File,
            };
            tracked.files.insert(path.to_vec(), kind);
        }
        tracked
    }
}

/// Removes what is neither tracked nor kept, and what does not look as it was checked out; directories get the look they had.
struct Sweep {
    top: PathBuf,
    look: Look,
    tracked: Tracked,
    kept: Vec<PathBuf>,
    /// Files that the index knows from somebody else's writing.
    written: BTreeSet<PathBuf>,
    /// What no workspace has, tracked or not.
    hidden: Vec<PathBuf>,
}

impl Sweep {
    fn run(self) -> Result<(), Doubt> {
        self.straighten(&self.top)?;
        let mut walk = walkdir::WalkDir::new(&self.top).min_depth(1).into_iter();
        while let Some(found) = walk.next() {
            let found = found.map_err(|error| io_error("look through", &self.top)(error.into()))?;
            let Ok(path) = found.path().strip_prefix(&self.top) else { continue };
            let is_dir = found.file_type().is_dir();
            if path == Path::new(".git") {
                // The link, which was put back.
                continue;
            }
            if self.kept.iter().any(|root| root == path) {
                if is_dir {
                    walk.skip_current_dir();
                }
                continue;
            }
            let stays = !self.hidden.iter().any(|hidden| hidden == path)
                && if is_dir { self.dir_stays(path)? } else { self.file_stays(path)? };
            if !stays {
                remove(found.path())?;
                if is_dir {
                    walk.skip_current_dir();
                }
            }
        }
        Ok(())
    }

    fn dir_stays(&self, path: &Path) -> Result<bool, Doubt> {
        let (name, full) = (path.as_os_str().as_bytes(), self.top.join(path));
        if self.tracked.files.get(name) == Some(&Kind::Submodule) {
            let mut inside = fs::read_dir(&full).map_err(io_error("read", &full))?;
            if inside.next().is_some() {
                // What is in it is no part of any tree of ours.
                return Err(Doubt::Of("a submodule is filled"));
            }
        } else if !self.tracked.dirs.contains(name) && !self.kept.iter().any(|root| root.starts_with(path)) {
            return Ok(false);
        }
        self.straighten(&full)?;
        Ok(true)
    }

    /// A file that does not stay is written again, if it is tracked.
    fn file_stays(&self, path: &Path) -> Result<bool, Doubt> {
        let Some(kind) = self.tracked.files.get(path.as_os_str().as_bytes()) else { return Ok(false) };
        if self.written.contains(path) {
            return Ok(false);
        }
        let full = self.top.join(path);
        let meta = full.symlink_metadata().map_err(io_error("read", &full))?;
        let looks_right = match kind {
            // Modes of links mean nothing.
            Kind::Link => meta.is_symlink(),
            Kind::File => meta.is_file() && meta.mode() & 0o7777 == self.look.mode & 0o666,
            Kind::Program => meta.is_file() && meta.mode() & 0o7777 == self.look.mode & 0o777,
            Kind::Submodule => false,
        };
        let is_alone = meta.nlink() == 1;
        Ok(looks_right && is_alone && self.look.has_attributes_of(&full).map_err(io_error("read", &full))?)
    }

    fn straighten(&self, dir: &Path) -> Result<(), Doubt> {
        let look = Look::of(dir).map_err(io_error("read", dir))?;
        if look.attributes != self.look.attributes {
            return Err(Doubt::Of("a directory has got extended attributes"));
        }
        if look.mode != self.look.mode {
            let mode = fs::Permissions::from_mode(self.look.mode);
            fs::set_permissions(dir, mode).map_err(io_error("open", dir))?;
        }
        Ok(())
    }
}
