//! A directory that is worked in, and what is known of it: made, put back, recorded, removed.
//!
//! Everything the runtime does in it goes through the handle of the directory; git works in the very directory that is
//! held. Where what is known of it cannot be trusted any more ([`Doubt`]), it is made anew.

use super::agents_git::Laid;
use super::agents_index::Named;
use super::ages::Ages;
use super::begun::Begun;
use super::carry::chosen;
use super::home::AT_ONCE;
use super::kept::{Kept, Places};
use super::layout::{EACH_RUN, PRIVATE, blocking, io_error, places_of};
use super::names::{INDEX, MODULES};
use super::reads::Reads;
use super::recorder::{IndexStamp, Recorder, stamp};
use super::room_cache::RoomCache;
use super::seen::Seen;
use super::shared::Shared;
use super::slots::{Number, Role, Slots};
use super::sweep::{Dirs, Sweep, Tracked};
use super::{Doubt, agents_git, agents_index};
use crate::files::Root;
use crate::host::process::is_occupied;
use crate::services::WorkspaceError;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longer than a program takes to be started.
const STARTING: Duration = Duration::from_millis(50);

/// The files that a workspace works on, and what belongs to them.
pub(super) struct Slot {
    pub(super) number: Arc<Number>,
    pub(super) name: String,
    /// Where all of its kind are, and where there its files and what is private to it are.
    all: Root,
    place: PathBuf,
    private_place: PathBuf,
    /// Where the files are, if they are where no path that anybody knows leads to.
    aside: Option<PathBuf>,
    pub(super) recorder: Recorder,
    private: Root,
    dirs: Dirs,
    pub(super) kept: Arc<Mutex<Kept>>,
    pub(super) known: Known,
    /// Of the files that it began with.
    pub(super) ages: Arc<Ages>,
    /// The build caches of a clean room, and the tree whose check has used them since they were looked after.
    pub(super) cache: Option<Arc<Mutex<RoomCache>>>,
    pub(super) used_on: Option<String>,
}

/// What is known of a slot's files.
#[derive(Debug)]
pub(super) struct Known {
    /// The tree that our index holds.
    pub(super) loaded: String,
    /// The commit that git shows as checked out.
    head: String,
    /// What `setup` depends on, as it was when it last ran.
    pub(super) set_up: Option<Vec<u8>>,
    /// The tree on which it ran.
    pub(super) set_up_on: Option<String>,
    /// What was beside the room when `setup` had ended: its checks may need that.
    pub(super) beside: BTreeSet<OsString>,
    /// It ended with warnings on the base of a task.
    pub(super) base_warns: bool,
    /// What it read; not known where the file system does not keep that.
    pub(super) reads: Option<Reads>,
    /// Where submodules are.
    pub(super) submodules: BTreeSet<PathBuf>,
    /// Files whose state our index has from what an agent or a check wrote, and not from a checkout.
    pub(super) written: BTreeSet<PathBuf>,
    /// What was there when the files were last left; they were those of the tree in our index then.
    pub(super) seen: Option<Seen>,
    /// The same from before somebody worked there: what has not changed since is as we left it.
    before: Option<Seen>,
    /// When what was seen was found to be so the last time, if nobody has worked there since.
    same_at: Option<Instant>,
    /// Our index as we left it.
    index: Option<IndexStamp>,
    /// The index of whoever works here, as we left it.
    agents_index: Option<IndexStamp>,
}

/// What files are put back to.
pub(super) struct Target<'a> {
    pub(super) shared: &'a Shared,
    pub(super) begun: &'a Begun,
    pub(super) tree: &'a str,
    /// The commit that git shows as checked out, and its tree.
    pub(super) head: &'a str,
    pub(super) head_tree: &'a str,
}

impl Slot {
    /// A new one with the files of the target.
    pub(super) async fn make(shared: &Arc<Shared>, role: Role, target: &Target<'_>) -> Result<Self, WorkspaceError> {
        let number = Arc::new(Number::take(shared, role));
        Self::make_with(number, target).await
    }

    async fn make_with(number: Arc<Number>, target: &Target<'_>) -> Result<Self, WorkspaceError> {
        let (layout, run, name) = (&target.shared.layout, &target.begun.run, number.name());
        let (all, run) = match number.role() {
            Role::Work => (layout.worktrees().map_err(io_error("open", layout.state()))?, run.as_str()),
            Role::Room => (layout.rooms()?, EACH_RUN),
        };
        let (place, private_place) = places_of(run, &name);
        let dirs = (all.clone(), place.clone(), private_place.clone());
        let (files, private) = blocking(move || made(&dirs.0, &dirs.1, &dirs.2)).await?;
        let recorder = Recorder::new(&target.begun.repository.own(), files.clone(), private.clone())
            .with_modes(&target.begun.modes);
        let dirs = Dirs::of(&files).map_err(io_error("read", files.path()))?;
        let kept = Kept::new(Self::places(target, &files, &private)?)?;
        let kept = Arc::new(Mutex::new(kept));
        let known = Known::new(target.tree.to_owned());
        let cache = Self::open_cache(target, &number, &name, &files).await?;
        let used_on = None;
        let mut slot = Self {
            number,
            name,
            all,
            place,
            private_place,
            aside: None,
            recorder,
            private,
            dirs,
            kept,
            known,
            ages: Arc::default(),
            cache,
            used_on,
        };
        slot.fill(target).await?;
        Ok(slot)
    }

    fn places(target: &Target<'_>, files: &Root, private: &Root) -> Result<Places, WorkspaceError> {
        let repository = &target.begun.repository;
        let source = Root::open(&repository.top).map_err(io_error("open", &repository.top))?;
        let project = repository.top.join(&repository.prefix);
        let began = target.begun.began;
        Ok(Places { files: files.clone(), source, project, private: private.clone(), began })
    }

    fn no_kept(&self, target: &Target<'_>, files: &Root, private: &Root) -> Result<Kept, WorkspaceError> {
        let places = Self::places(target, files, private)?;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).emptied(places)
    }

    /// Fills an empty directory.
    async fn fill(&mut self, target: &Target<'_>) -> Result<(), WorkspaceError> {
        self.recorder.load(target.tree, &target.begun.repository.hidden()).await?;
        self.recorder.checkout(target.tree).await?;
        self.note_ages(target.tree).await?;
        self.known = Known { base_warns: self.known.base_warns, ..Known::new(target.tree.to_owned()) };
        let roots = chosen(&target.shared.params.workspace, &target.begun.repository).await?.roots;
        self.with_kept(move |kept| kept.carry(roots)).await?;
        self.leave(target).await
    }

    /// The same place with nothing in it but the files of the target: what was there is removed.
    pub(super) async fn make_anew(&mut self, target: &Target<'_>) -> Result<(), WorkspaceError> {
        let (all, place, private_place) = (self.all.clone(), self.place.clone(), self.private_place.clone());
        let (files, private) = blocking(move || made(&all, &place, &private_place)).await?;
        self.aside = None;
        self.recorder = Recorder::new(&target.begun.repository.own(), files.clone(), private.clone())
            .with_modes(&target.begun.modes);
        self.dirs = Dirs::of(&files).map_err(io_error("read", files.path()))?;
        // What is carried into it is younger than its files, which are new.
        let kept = Kept::new(Self::places(target, &files, &private)?)?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        self.private = private;
        self.fill(target).await
    }

    /// Another place for the next task, because somebody may still be in the old one.
    async fn replace(self, target: &Target<'_>) -> Result<Self, WorkspaceError> {
        let number = Arc::clone(&self.number);
        if let Err(error) = self.remove().await {
            // The next run removes it; meanwhile nobody works in it.
            tracing::warn!(%error, "a workspace was not removed");
        }
        Self::make_with(number, target).await
    }

    /// Makes it the place of the next task, as if it were new.
    pub(super) async fn hand_over(mut self, target: &Target<'_>) -> Result<Self, WorkspaceError> {
        match self.renew(target).await {
            Ok(()) => Ok(self),
            Err(doubt) => {
                tracing::info!(slot = %self.name, %doubt, "a workspace is made anew");
                self.replace(target).await
            }
        }
    }

    async fn renew(&mut self, target: &Target<'_>) -> Result<(), Doubt> {
        self.come_back()?;
        if self.number.role() == Role::Work && target.shared.slots.is_alone(Role::Work) {
            self.remove_others(&target.shared.slots).await?;
        }
        self.is_somebodys();
        let top = self.recorder.files.path().to_owned();
        // A program of ours that is just being started has all that we have open.
        let stays_occupied = move || {
            is_occupied(&top) && {
                std::thread::sleep(STARTING);
                is_occupied(&top)
            }
        };
        if blocking(move || Ok(stays_occupied())).await? {
            return Err(Doubt::Of("a process works in it or has a file of it open"));
        }
        let carried = chosen(&target.shared.params.workspace, &target.begun.repository).await?.roots;
        let set_up = self.known.set_up_on.as_deref().is_none_or(|tree| tree == target.tree);
        if !(set_up && self.with_kept(move |kept| kept.is_untouched(&carried)).await?) {
            self.forget_kept(target).await?;
        }
        self.put_back(target).await.map(drop)
    }

    /// Nothing untracked is kept but what the user has to carry in now, so that `setup` runs as in a new workspace.
    pub(super) async fn forget_kept(&mut self, target: &Target<'_>) -> Result<(), WorkspaceError> {
        (self.known.set_up, self.known.set_up_on) = (None, None);
        self.forget_seen();
        let files = self.recorder.files.clone();
        let gone = self.kept_roots();
        let removed =
            move || gone.iter().try_for_each(|root| files.remove(root)).map_err(io_error("empty", files.path()));
        blocking(removed).await?;
        let mut kept = self.no_kept(target, &self.recorder.files, &self.private)?;
        let roots = chosen(&target.shared.params.workspace, &target.begun.repository).await?.roots;
        let carried = blocking(move || kept.carry(roots).map(|()| kept)).await?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = carried;
        Ok(())
    }

    /// Makes the files exactly those of the target, and what is kept as it was; says which operations of git were half done.
    ///
    /// # Errors
    /// [`Doubt`] where that cannot be proven.
    pub(super) async fn put_back(&mut self, target: &Target<'_>) -> Result<Vec<&'static str>, Doubt> {
        if !self.stands() {
            return Err(Doubt::Of("its directory is gone, or is another one now"));
        }
        if self.is_spoilt() {
            return Err(Doubt::Of("somebody has written to the index that says what is untouched"));
        }
        match self.number.role() {
            Role::Work => self.is_somebodys(),
            // What an earlier check has left beside its room would be found by a search for `..`.
            Role::Room if target.shared.slots.is_alone(Role::Room) => self.remove_others(&target.shared.slots).await?,
            Role::Room => {}
        }
        if self.known.loaded == target.tree && self.is_untouched().await? {
            if self.known.head != target.head {
                self.leave(target).await?;
            }
            return Ok(Vec::new());
        }
        let files = self.recorder.files.clone();
        let half = blocking(move || Ok(agents_git::half_done(&files))).await?;
        let differing = self.differing(target).await?;
        self.let_go_of_filled(&differing, target).await?;
        let hidden = target.begun.repository.hidden();
        let hides = differing.iter().any(|path| hidden.iter().any(|hidden| path.starts_with(hidden)));
        let marks = self.marks(differing).await?;
        self.sweep(target).await?;
        self.recorder.checkout(target.tree).await?;
        self.tell_apart(marks).await?;
        self.give_ages_back(target.tree).await?;
        if hides {
            self.recorder.hide(&hidden).await?;
        }
        target.tree.clone_into(&mut self.known.loaded);
        self.known.written.clear();
        // What follows may fail, and our index is as we leave it all the same.
        self.leave_index();
        self.with_kept(Kept::restore).await?;
        self.leave(target).await?;
        Ok(half)
    }

    /// What `setup` has put into a submodule is not kept where the target has files of its own in that place.
    async fn let_go_of_filled(&mut self, differing: &[PathBuf], target: &Target<'_>) -> Result<(), WorkspaceError> {
        let filled = self.kept_roots();
        let is_filled = |path: &&PathBuf| self.known.submodules.contains(*path) && filled.contains(*path);
        let filled: Vec<PathBuf> = differing.iter().filter(is_filled).cloned().collect();
        if filled.is_empty() || self.recorder.are_submodules(target.tree, &filled).await? {
            return Ok(());
        }
        self.forget_kept(target).await
    }

    /// What differs between the tree in our index and the target.
    async fn differing(&self, target: &Target<'_>) -> Result<Vec<PathBuf>, Doubt> {
        if self.known.loaded == target.tree {
            return Ok(Vec::new());
        }
        let changed = self.recorder.difference(&self.known.loaded, target.tree).await?.paths;
        if changed.iter().any(|path| path.file_name().is_some_and(|name| name == ".gitattributes")) {
            return Err(Doubt::Of("what decides about line endings and filters has changed"));
        }
        Ok(changed)
    }

    /// Which files that are tracked or kept have another content than they had when they were left, or are gone.
    pub(super) async fn rewritten(&mut self) -> Result<BTreeSet<PathBuf>, WorkspaceError> {
        if self.is_untouched().await? {
            return Ok(BTreeSet::new());
        }
        let Some(seen) = self.known.seen.take() else {
            return Ok(self.recorder.modified().await?.into_iter().collect());
        };
        let files = self.recorder.files.clone();
        let (touched, seen) = blocking(move || Ok((seen.differing(&files).0.changed, seen))).await?;
        self.known.seen = Some(seen);
        // Git is not asked where it would wait for a pipe.
        if touched.is_empty() || self.recorder.inspect().await.is_err() {
            return Ok(touched);
        }
        // Of what was installed, programs write anew what is there already; a file of the work that has its old content again may have had
        // another one when it was read.
        let of_kept = move |kept: &mut Kept| {
            let is_kept = |path: &PathBuf| kept.roots().iter().any(|root| path.starts_with(root));
            Ok(touched.into_iter().filter(|path| !is_kept(path) || !kept.has_content(path)).collect::<BTreeSet<_>>())
        };
        let mut rewritten = self.with_kept(of_kept).await?;
        rewritten.extend(self.recorder.modified().await?);
        Ok(rewritten)
    }

    async fn sweep(&mut self, target: &Target<'_>) -> Result<(), Doubt> {
        let tracked = Tracked::read(&self.recorder.listing().await?);
        let mut written = self.known.written.clone();
        let seen = self.known.seen.take().or(self.known.before.take());
        self.known.before = None;
        let files = self.recorder.files.clone();
        let kept = self.kept_roots();
        let (dirs, hidden) = (self.dirs.clone(), target.begun.repository.hidden());
        let run = move || {
            let seen = seen.map(|seen| {
                let (differing, _) = seen.differing(&files);
                written.extend(differing.changed.iter().cloned());
                (seen, differing)
            });
            Ok(Sweep { files, dirs, tracked, kept, written, seen, hidden }.run())
        };
        blocking(run).await?
    }

    /// Takes the files away from their path while checks run elsewhere: what only lies here is found by none of them, although
    /// the work may name it by its whole path.
    pub(super) fn step_aside(&mut self) -> Result<(), WorkspaceError> {
        if self.aside.is_none() && self.stands() {
            let unknown = RandomState::new().build_hasher().finish();
            let aside = self.private_place.join(format!("{unknown:x}"));
            self.all.rename(&self.place, &aside).map_err(io_error("move", self.recorder.files.path()))?;
            self.aside = Some(aside);
        }
        Ok(())
    }

    /// Brings them back, in the place of whatever was made there meanwhile.
    pub(super) fn come_back(&mut self) -> Result<(), WorkspaceError> {
        if let Some(aside) = &self.aside {
            let back = || {
                self.all.remove(&self.place)?;
                self.all.rename(aside, &self.place)
            };
            back().map_err(io_error("bring back", self.recorder.files.path()))?;
            self.aside = None;
        }
        Ok(())
    }

    /// Whether the directories that are held are still where they belong.
    pub(super) fn stands(&self) -> bool {
        let is_at = |held: &Root, place: &Path| self.all.below(place).is_ok_and(|now| now.is_same(held));
        is_at(&self.recorder.files, &self.place) && is_at(&self.private, &self.private_place)
    }

    /// Whether somebody has written to our index.
    pub(super) fn is_spoilt(&self) -> bool {
        self.known.index.is_some() && self.known.index != self.recorder.stamp()
    }

    /// Fills our index anew, with nothing known of the files.
    pub(super) async fn load_anew(&mut self, hidden: &[PathBuf]) -> Result<(), WorkspaceError> {
        self.recorder.forget()?;
        self.recorder.load(&self.known.loaded, hidden).await
    }

    /// Whether nobody has touched the files, or told the git in them anything, since they were left.
    pub(super) async fn is_untouched(&mut self) -> Result<bool, WorkspaceError> {
        if self.known.same_at.is_some_and(|at| at.elapsed() < AT_ONCE) {
            return Ok(true);
        }
        if self.known.agents_index != self.agents_index() {
            return Ok(false);
        }
        let Some(mut seen) = self.known.seen.take() else { return Ok(false) };
        let files = self.recorder.files.clone();
        let (same, seen) = blocking(move || Ok((seen.is_same(&files), seen))).await?;
        self.known.seen = Some(seen);
        self.known.same_at = same.then(Instant::now);
        Ok(same)
    }

    /// Somebody is about to work in the files.
    pub(super) fn begin_work(&mut self) {
        self.is_somebodys();
        self.use_cache();
    }

    /// What was looked at before counts no more.
    pub(super) fn is_somebodys(&mut self) {
        self.known.same_at = None;
    }

    fn agents_index(&self) -> Option<IndexStamp> {
        stamp(&self.recorder.files, Path::new(INDEX))
    }

    /// The files and submodules that the index of whoever works here names, if they have changed it. `id` is the length of an
    /// object's name.
    pub(super) fn told_names(&self, id: usize) -> Vec<Named> {
        let told = self.agents_index().filter(|now| self.known.agents_index.as_ref() != Some(now));
        if told.is_none_or(|(bytes, ..)| bytes > agents_index::MOST_BYTES) {
            return Vec::new();
        }
        self.recorder.files.read(Path::new(INDEX)).map(|bytes| agents_index::names(&bytes, id)).unwrap_or_default()
    }

    /// We are through with the files, which are those of the tree in our index: shows them a clean repository, and remembers
    /// what is there.
    pub(super) async fn leave(&mut self, target: &Target<'_>) -> Result<(), WorkspaceError> {
        let hidden = target.begun.repository.hidden();
        let files = self.recorder.files.clone();
        blocking(move || {
            hidden.iter().try_for_each(|path| files.remove(path)).map_err(io_error("empty", files.path()))
        })
        .await?;
        if let Some(git) = &target.begun.agents_git {
            let index = self.recorder.shown(target.head_tree, &self.known.loaded).await?;
            let config = git.config(target.begun, &self.known.loaded).await?;
            let keeps_modules = self.kept_roots().contains(Path::new(MODULES));
            let with = Laid { head: target.head.to_owned(), index, config, keeps_modules };
            let (git, files) = (Arc::clone(git), self.recorder.files.clone());
            blocking(move || git.lay(&files, &with).map_err(io_error("write to", files.path()))).await?;
        }
        target.head.clone_into(&mut self.known.head);
        self.known.agents_index = self.agents_index();
        self.known.index = self.recorder.stamp();
        self.look().await
    }

    /// Remembers what is there.
    pub(super) async fn look(&mut self) -> Result<(), WorkspaceError> {
        let files = self.recorder.files.clone();
        self.known.seen = blocking(move || Ok(Seen::look(&files))).await?;
        self.known.same_at = self.known.seen.is_some().then(Instant::now);
        Ok(())
    }

    /// We are through with our index, and the files are somebody's work.
    pub(super) fn leave_index(&mut self) {
        self.known.index = self.recorder.stamp();
        if let Some(seen) = self.known.seen.take() {
            self.known.before = Some(seen);
        }
        self.known.same_at = None;
    }

    /// Nothing that was seen of the files counts.
    pub(super) fn forget_seen(&mut self) {
        (self.known.seen, self.known.before, self.known.same_at) = (None, None, None);
    }

    /// Works on the kept paths on a thread for that.
    pub(super) async fn with_kept<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Kept) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let kept = Arc::clone(&self.kept);
        blocking(move || work(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))).await
    }

    /// What is beside it.
    pub(super) fn beside(&self) -> Result<BTreeSet<OsString>, WorkspaceError> {
        let run = self.place.parent().unwrap_or(&self.place);
        let listed = self.all.list(run).map_err(io_error("list", &self.all.path().join(run)))?;
        Ok(listed.into_iter().map(|(name, _)| name).collect())
    }

    /// Removes what agents and checks have made beside their workspaces (`git worktree add ../other`), whatever they have called it.
    async fn remove_others(&self, slots: &Slots) -> Result<(), WorkspaceError> {
        let (all, run) = (self.all.clone(), self.place.parent().unwrap_or(&self.place).to_owned());
        let listed = all.list(&run).map_err(io_error("list", &all.path().join(&run)))?;
        let is_kept = |name: &OsStr| name == PRIVATE || self.known.beside.contains(name);
        let is_other = |name: &OsStr| !is_kept(name) && !name.to_str().is_some_and(|name| slots.has(name));
        let others = listed.into_iter().map(|(name, _)| name).filter(|name| is_other(name)).collect::<Vec<_>>();
        let remove = move || others.iter().try_for_each(|name| all.remove(&run.join(name)));
        let place = self.place.clone();
        blocking(move || remove().map_err(io_error("empty", &place))).await
    }

    /// Removes the files, and what we know of them.
    pub(super) async fn remove(self) -> Result<(), WorkspaceError> {
        let (all, place, private) = (self.all.clone(), self.place.clone(), self.private_place.clone());
        blocking(move || {
            let remove = |place: &Path| all.remove(place).map_err(io_error("remove", &all.path().join(place)));
            remove(&place)?;
            remove(&private)
        })
        .await?;
        self.number.is_gone(&self.name);
        Ok(())
    }
}

impl Known {
    fn new(loaded: String) -> Self {
        Self {
            loaded,
            head: String::new(),
            set_up: None,
            set_up_on: None,
            beside: BTreeSet::new(),
            base_warns: false,
            reads: None,
            submodules: BTreeSet::new(),
            written: BTreeSet::new(),
            seen: None,
            before: None,
            same_at: None,
            index: None,
            agents_index: None,
        }
    }
}

/// Two empty directories, whatever was in their places.
fn made(all: &Root, place: &Path, private: &Path) -> Result<(Root, Root), WorkspaceError> {
    let make = |path: &Path| {
        let make = || {
            all.remove(path)?;
            all.make_below(path)?.on_one_mount()
        };
        make().map_err(io_error("make", &all.path().join(path)))
    };
    Ok((make(place)?, make(private)?))
}
