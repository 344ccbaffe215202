//! What was built of a slot's files: by `setup`, which stays in them, and by checks, in build caches. Neither may speak for other files than
//! those that it was built of.

use super::begun::Begun;
use super::layout::{blocking, cache_of, io_error};
use super::names::{DIR, MODULES};
use super::reads::Reads;
use super::room_cache::{Room, RoomCache};
use super::slot::{Known, Slot, Target};
use super::slots::{Number, Role};
use super::space;
use super::sweep::Tracked;
use crate::files::{Kind, Root};
use crate::services::WorkspaceError;
use crate::toolchain;
use crate::toolchain::Reuse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Stands for where build caches are, in the values of `workspace.env`.
pub(super) const CACHE: &str = "{cache}";

/// The second in which a file was changed last, and how long it is.
type Mark = (i64, u64);

/// Those of some files.
pub(super) type Marks = BTreeMap<PathBuf, Mark>;

impl Slot {
    /// The caches of a clean room, if the project has any.
    pub(super) async fn open_cache(
        target: &Target<'_>,
        number: &Number,
        name: &str,
        files: &Root,
    ) -> Result<Option<Arc<Mutex<RoomCache>>>, WorkspaceError> {
        let env = &target.shared.params.workspace.env;
        if number.role() != Role::Room || !env.values().any(|value| value.contains(CACHE)) {
            return Ok(None);
        }
        let layout = &target.shared.layout;
        let state = layout.files().map_err(io_error("open", layout.state()))?;
        let one = Arc::clone(&target.shared.slots.kept_cache);
        let (name, files, known) = (name.to_owned(), files.path().to_owned(), known_caches(env));
        blocking(move || {
            let room = Room { name: &name, files: &files, live: &cache_of(&name), known };
            RoomCache::open(&state, room, one).map(|cache| Some(Arc::new(Mutex::new(cache))))
        })
        .await
    }

    /// A check or `setup` is about to use the build caches.
    pub(super) fn use_cache(&mut self) {
        self.used_on = self.cache.as_ref().map(|_| self.known.loaded.clone());
    }

    /// Keeps what can be used again of what the checks of the run's own base left in the build caches, and takes away all else.
    pub(super) async fn look_after_cache(&mut self, begun: &Begun) -> Result<(), WorkspaceError> {
        let Some(tree) = self.used_on.clone() else { return Ok(()) };
        let base = begun.repository.resolve(&format!("{}^{{tree}}", begun.commit)).await?;
        let keeps = base.as_ref() == Some(&tree) && !self.says_how_dependencies_are_built().await?;
        self.with_cache(move |cache| if keeps { cache.keep() } else { cache.put_back() }).await?;
        self.used_on = None;
        Ok(())
    }

    /// Takes away what is used again for other files, where these say how it is built.
    pub(super) async fn fit_cache(&mut self) -> Result<(), WorkspaceError> {
        if self.cache.is_none() || !self.says_how_dependencies_are_built().await? {
            return Ok(());
        }
        self.use_cache();
        self.with_cache(RoomCache::leave_out_kept).await
    }

    async fn says_how_dependencies_are_built(&self) -> Result<bool, WorkspaceError> {
        let names = toolchain::says_how_dependencies_are_built();
        let patterns: Vec<String> = names.map(|name| format!(":(top,glob)**/{name}")).collect();
        Ok(!self.recorder.listing_of(&patterns).await?.is_empty())
    }

    /// Works on the build caches, if there are any, on a thread for that.
    pub(super) async fn with_cache(
        &self,
        work: impl FnOnce(&mut RoomCache) -> Result<(), WorkspaceError> + Send + 'static,
    ) -> Result<(), WorkspaceError> {
        let Some(cache) = self.cache.clone() else { return Ok(()) };
        blocking(move || work(&mut cache.lock().unwrap_or_else(PoisonError::into_inner))).await
    }

    /// Whether what `setup` made is right for the files: it ran on them, or on the `base` and has read nothing there that differs.
    /// What it made of somebody's work is for that work alone, because it may have run code of it.
    pub(super) async fn is_set_up(&self, inputs: &[u8], base: &str) -> Result<bool, WorkspaceError> {
        let Known { loaded, set_up, set_up_on, reads, .. } = &self.known;
        if set_up.as_deref() != Some(inputs) || self.with_kept(|kept| Ok(kept.has_no_place())).await? {
            return Ok(false);
        }
        if set_up_on.as_ref() == Some(loaded) {
            return Ok(true);
        }
        let (Some(reads), Some(on)) = (reads, set_up_on.as_deref().filter(|on| *on == base)) else { return Ok(false) };
        let differing = self.recorder.difference(on, loaded).await?;
        if differing.paths.is_empty() {
            return Ok(true);
        }
        let tracked = Tracked::read(&self.recorder.listing().await?);
        Ok(!reads.concern(&differing, |path| tracked.has(path)))
    }

    /// New files below these kept paths, of which nobody has said that they are no work by ignoring them.
    pub(super) async fn new_below_kept(&self, kept: &[PathBuf]) -> Result<Vec<String>, WorkspaceError> {
        let ignored = self.recorder.ignored(kept).await?;
        // What git writes for a submodule is nobody's work.
        let open = kept.iter().filter(|path| !ignored.contains(*path) && !path.starts_with(DIR));
        let open: BTreeSet<PathBuf> = open.cloned().collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let new = self.with_kept(move |kept| kept.new_below(&open)).await?;
        let ignored = self.recorder.ignored(&new).await?;
        let is_work = |path: &&PathBuf| !ignored.contains(*path);
        Ok(new.iter().filter(is_work).map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// Whether `setup` has left a repository there, and not only files.
    pub(super) fn was_repository(&self, path: &Path) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).has(&path.join(DIR))
    }

    /// Files below what is kept that are new or have another content now, but those that are ignored.
    pub(super) async fn rewritten_below(&self, root: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        let root = root.to_owned();
        let rewritten = self.with_kept(move |kept| {
            let touched = kept.touched()?.into_iter();
            let is_rewritten = |path: &PathBuf| {
                path.starts_with(&root) && path.iter().all(|name| name != DIR) && !kept.has_content(path)
            };
            Ok(touched.filter(is_rewritten).collect::<Vec<_>>())
        });
        let rewritten = rewritten.await?;
        let ignored = self.recorder.ignored(&rewritten).await?;
        Ok(rewritten.into_iter().filter(|path| !ignored.contains(path)).collect())
    }

    /// What is not tracked and is kept: carried, or made by `setup`.
    pub(super) fn kept_roots(&self) -> BTreeSet<PathBuf> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).roots().clone()
    }

    /// Notes where `setup` has just written to, and what it read.
    pub(super) async fn note_set_up(&mut self, inputs: Vec<u8>, reads: Option<Reads>) -> Result<(), WorkspaceError> {
        self.known.set_up = Some(inputs);
        self.known.reads = reads;
        if self.number.role() == Role::Room {
            self.known.beside = self.beside()?;
        }
        self.known.set_up_on = Some(self.known.loaded.clone());
        self.with_cache(RoomCache::end_setup).await
    }

    /// By what Python tells whether what it has compiled is of these files.
    pub(super) async fn marks(&self, paths: Vec<PathBuf>) -> Result<Marks, WorkspaceError> {
        let is_kept = self.known.set_up.is_some() || self.cache.is_some();
        if self.number.role() != Role::Room || !is_kept {
            return Ok(Marks::new());
        }
        let files = self.recorder.files.clone();
        let mark = move |path: PathBuf| {
            let look = files.look(&path).ok().flatten().filter(|look| look.kind == Kind::File)?;
            Some((path, (look.modified.0, look.len)))
        };
        blocking(move || Ok(paths.into_iter().filter_map(mark).collect())).await
    }

    /// Makes files that were written now, and have the mark of those that were in their places, ones of another second.
    pub(super) async fn tell_apart(&self, before: Marks) -> Result<(), WorkspaceError> {
        const SECOND: Duration = Duration::from_secs(1);
        let now = self.marks(before.keys().cloned().collect()).await?;
        let is_same = |(path, mark): &(PathBuf, Mark)| before.get(path) == Some(mark);
        let same: Vec<PathBuf> = now.into_iter().filter(is_same).map(|(path, _)| path).collect();
        if same.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(SECOND).await;
        self.touch(same).await
    }

    /// Makes now the time at which these files were changed last.
    async fn touch(&self, paths: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        let files = self.recorder.files.clone();
        let touch = move |path: &PathBuf| files.touch(path).map_err(io_error("touch", &files.path().join(path)));
        blocking(move || paths.iter().try_for_each(touch)).await
    }

    /// What is not tracked and is kept from now on, where submodules were filled too. `least` bytes are to be free afterwards.
    pub(super) async fn capture(&mut self, least: u64) -> Result<(), WorkspaceError> {
        let untracked = self.recorder.untracked().await?;
        let files = self.recorder.files.clone();
        let tracked = Tracked::read(&self.recorder.listing().await?);
        self.known.submodules = tracked.submodules().collect();
        let filled = |path: &PathBuf| files.list(path).is_ok_and(|names| !names.is_empty());
        // A submodule and its repository are kept as a whole.
        let submodules = tracked.submodules().chain([PathBuf::from(MODULES)]).filter(filled);
        let made: Vec<PathBuf> =
            untracked.into_iter().flat_map(|path| made_itself(&files, path)).chain(submodules).collect();
        let (there, place) = (files.clone(), self.recorder.private.path().to_owned());
        self.with_kept(move |kept| {
            space::for_a_copy(&there, &made, &place, least)?;
            kept.capture(made)
        })
        .await
    }
}

/// The build caches of which it is known what of them can be used for other files, below where all are.
fn known_caches(env: &BTreeMap<String, String>) -> Vec<(PathBuf, Reuse)> {
    let known = |(variable, value): (&String, &String)| {
        let reuse = toolchain::reuse(variable)?;
        let path = PathBuf::from(value.strip_prefix(CACHE)?.trim_matches('/'));
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        // What has no directory of its own cannot be told from what others have there.
        let is_apart = reuse != Reuse::All || !path.as_os_str().is_empty();
        (is_plain && is_apart).then_some((path, reuse))
    };
    env.iter().filter_map(known).collect()
}

/// What was made at a path: of a directory that has nothing but directories in it, these, because it is only the way to them. Work may put
/// files of its own there.
fn made_itself(files: &Root, path: PathBuf) -> Vec<PathBuf> {
    let mut made = Vec::new();
    let mut look_at = vec![path];
    while let Some(path) = look_at.pop() {
        match files.list(&path) {
            Ok(names) if !names.is_empty() && names.iter().all(|(_, kind)| *kind == Kind::Dir) => {
                look_at.extend(names.into_iter().map(|(name, _)| path.join(name)));
            }
            _ => made.push(path),
        }
    }
    made
}
