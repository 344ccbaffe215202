//! Trees from files and files from trees, through an index and a repository of our own.
//!
//! The index that an agent can reach may lie (`assume-unchanged`, staged leftovers, a half-done merge), so it is never
//! asked what changed. Ours is a file outside the workspace; its cached stat data make a recording of few changes a
//! matter of milliseconds.

use super::gitmodules::{GITMODULES, Gitmodules};
use super::layout::{blocking, io_error};
use super::names::MODULES;
use super::paths::normal;
use crate::domain::belongs_to_tests;
use crate::files::{Kind, Root};
use crate::host::git;
use crate::host::git::{Call, Git};
use crate::services::WorkspaceError;
use crate::toolchain;
use sha2::Digest;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Files in a directory, an index of our own, and the repository that takes the objects.
#[derive(Debug, Clone)]
pub(super) struct Recorder {
    pub(super) git: Git,
    pub(super) files: Root,
    /// Where the index is, with what else belongs to it.
    pub(super) private: Root,
    /// What git does not keep.
    modes: Arc<Modes>,
}

/// The permissions of files that not everybody may read.
pub(super) type Modes = BTreeMap<PathBuf, u32>;

/// The index, in the directory that is private.
const INDEX: &str = "index";

/// What to record.
pub(super) struct Recording<'a> {
    /// Paths that are no part of it, with everything under them.
    pub(super) left_out: Vec<PathBuf>,
    /// Paths that are part of it although they are ignored.
    pub(super) forced: Vec<PathBuf>,
    /// Submodules that whoever worked here says there are. They are believed where nothing else tells of them.
    pub(super) said: Vec<Submodule>,
    /// The repository is git's: it may have submodules.
    pub(super) has_submodules: bool,
    /// It is somebody's work, of which nothing may be missing; of a user's own files, what cannot be read is left out.
    pub(super) is_work: bool,
    /// More bytes than this in changed files are not recorded.
    pub(super) most_bytes: u64,
    /// The tree that the index holds now, if known: returned at once when nothing differs from it.
    pub(super) loaded: Option<&'a str>,
    /// Of work, the tree that it is a change of: a file that is what git has written for it is none.
    pub(super) base: Option<&'a str>,
}

/// A recorded tree.
pub(super) struct Recorded {
    pub(super) tree: String,
    /// What differed from the index, which has its state from the files now.
    pub(super) changed: HashSet<PathBuf>,
    /// Of somebody's work, the submodules that it has.
    pub(super) submodules: Vec<Submodule>,
}

/// A submodule, and the commit that is recorded for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Submodule {
    pub(super) path: PathBuf,
    pub(super) commit: String,
}

/// What differs between two trees.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) files: Vec<String>,
    /// The same, byte for byte.
    pub(super) paths: Vec<PathBuf>,
    /// Those that are in the first tree.
    pub(super) existed: Vec<String>,
    /// Links that were made or changed and lead to nothing of the tree's, with where they lead.
    pub(super) leads_out: Vec<String>,
    /// Submodules that are new, moved, or at other commits.
    pub(super) submodules: Vec<Submodule>,
    /// The commits at which those were that are another one, or gone.
    pub(super) were: HashSet<String>,
    /// What else is to be said of it, in words.
    pub(super) remarks: Vec<String>,
    pub(super) hash: String,
}

impl Recorder {
    pub(super) fn new(repository: &Git, files: Root, private: Root) -> Self {
        Self { git: repository.on(&files), files, private, modes: Arc::default() }
    }

    /// Files that are checked out get these permissions.
    pub(super) fn with_modes(self, modes: &Arc<Modes>) -> Self {
        Self { modes: Arc::clone(modes), ..self }
    }

    pub(super) fn index(&self) -> PathBuf {
        self.private.path().join(INDEX)
    }

    fn call<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call {
        self.git.call(args).index(&self.index())
    }

    /// Nobody else uses the index, so a lock on it is what a killed git left.
    fn unlock(&self) -> Result<(), WorkspaceError> {
        self.private.remove(Path::new("index.lock")).map_err(io_error("unlock", &self.index()))
    }

    /// The index as it is now: its bytes change with it.
    pub(super) fn stamp(&self) -> Option<IndexStamp> {
        stamp(&self.private, Path::new(INDEX))
    }

    /// Takes the index away.
    pub(super) fn forget(&self) -> Result<(), WorkspaceError> {
        self.private.remove(Path::new(INDEX)).map_err(io_error("remove", &self.index()))
    }

    /// Fills a new index from a tree; `hidden` paths keep their content in every recorded tree and are never written
    /// to disk.
    pub(super) async fn load(&self, tree: &str, hidden: &[PathBuf]) -> Result<(), WorkspaceError> {
        self.call(["read-tree", "--reset", tree]).ok().await.map_err(explained)?;
        self.hide(hidden).await
    }

    /// Marks what the index has of `hidden` paths as never written to disk.
    pub(super) async fn hide(&self, hidden: &[PathBuf]) -> Result<(), WorkspaceError> {
        let list = ["--literal-pathspecs", "ls-files", "-z", "--"];
        let tracked = self.call(list).args(hidden).ok().await?;
        if tracked.is_empty() {
            return Ok(());
        }
        let skip = ["update-index", "--skip-worktree", "-z", "--stdin"];
        self.call(skip).stdin(tracked).ok().await?;
        Ok(())
    }

    /// Makes the tracked files exactly those of the tree; untracked ones stay unless they are in the way.
    pub(super) async fn checkout(&self, tree: &str) -> Result<(), WorkspaceError> {
        self.unlock()?;
        self.call(["read-tree", "--reset", "-u", tree]).ok().await.map_err(explained)?;
        self.narrow().await
    }

    /// Gives the files that not everybody may read their permissions. Whether one is a program is the tree's to say.
    async fn narrow(&self) -> Result<(), WorkspaceError> {
        let (files, modes) = (self.files.clone(), Arc::clone(&self.modes));
        let is_changed = blocking(move || {
            let mut is_changed = false;
            for (path, mode) in modes.iter() {
                let Some(look) = files.look(path).ok().flatten().filter(|look| look.kind == Kind::File) else {
                    continue;
                };
                let program = if look.mode & 0o100 == 0 { 0 } else { 0o100 | (mode & 0o044) >> 2 };
                let mode = mode & 0o666 | program;
                if look.mode & 0o777 != mode {
                    files.set_mode(path, mode).map_err(io_error("write to", &files.path().join(path)))?;
                    is_changed = true;
                }
            }
            Ok(is_changed)
        });
        if is_changed.await? { self.refresh().await } else { Ok(()) }
    }

    /// Everything on disk that is not tracked, ignored or not; a wholly untracked directory is one entry.
    pub(super) async fn untracked(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let list = ["ls-files", "-z", "--others", "--directory"];
        let out = self.call(list).ok().await?;
        // Without the trailing slash of directories.
        Ok(git::paths(&out).map(|p| p.components().collect()).collect())
    }

    /// Tracked files whose content or kind is another one now, or which are gone.
    pub(super) async fn modified(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let out = self.call(["ls-files", "-z", "--modified", "--deleted"]).ok().await?;
        let mut modified: Vec<PathBuf> = git::paths(&out).collect();
        let as_written = self.as_written(&modified.iter().cloned().collect(), None).await?;
        modified.retain(|path| !as_written.contains(path));
        Ok(modified)
    }

    /// Takes over the times of files whose content is that of the index.
    pub(super) async fn refresh(&self) -> Result<(), WorkspaceError> {
        self.unlock()?;
        // Its status says whether some have another content.
        self.call(["update-index", "-q", "--refresh"]).run().await.map(drop)
    }

    /// Everything tracked: `mode id stage TAB path NUL`, again and again.
    pub(super) async fn listing(&self) -> Result<Vec<u8>, WorkspaceError> {
        self.call(["ls-files", "-z", "--stage"]).ok().await
    }

    /// The tracked files of these patterns (`:(glob)**/name`) and their content's ids, as one text.
    pub(super) async fn listing_of(&self, patterns: &[String]) -> Result<Vec<u8>, WorkspaceError> {
        self.call(["ls-files", "-z", "--stage", "--"]).args(patterns).ok().await
    }

    /// Of the files that an agent's index names, those that are ignored: it added them by force.
    pub(super) async fn forced(&self, named: Vec<PathBuf>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let there: Vec<PathBuf> = named.into_iter().filter(|path| self.is_there(path)).collect();
        self.ignored(&there).await.map(|ignored| ignored.into_iter().collect())
    }

    /// Those of these paths that are ignored.
    pub(super) async fn ignored(&self, paths: &[PathBuf]) -> Result<HashSet<PathBuf>, WorkspaceError> {
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let check = ["check-ignore", "-z", "--stdin", "--no-index"];
        let out = self.call(check).stdin(git::listing(paths)).run().await?;
        Ok(git::paths(&out.stdout).collect())
    }

    /// An index of a tree as git shows it to whoever works in the files, with what is known of these.
    pub(super) async fn shown(&self, tree: &str, loaded: &str) -> Result<Vec<u8>, WorkspaceError> {
        const SHOWN: &str = "shown-index";
        let private = self.private.clone();
        let read = |name: &'static str| {
            let private = private.clone();
            blocking(move || private.read(Path::new(name)).map_err(io_error("read from", private.path())))
        };
        let ours = read(INDEX).await?;
        if tree == loaded {
            return Ok(ours);
        }
        let copy = private.clone();
        blocking(move || copy.put(Path::new(SHOWN), &ours).map_err(io_error("write to", copy.path()))).await?;
        let call = |args: &[&str]| self.git.call(args).index(&self.private.path().join(SHOWN));
        call(&["read-tree", "--reset", tree]).ok().await?;
        // Where files have taken the place of a submodule, git would look at none of them.
        let mut gone = submodules(&call(&["ls-files", "-z", "--stage"]).ok().await?);
        if !gone.is_empty() {
            let ours = submodules(&self.listing().await?);
            gone.retain(|submodule| !ours.iter().any(|own| own.path == submodule.path));
            let remove = call(&["update-index", "--force-remove", "-z", "--stdin"]);
            remove.stdin(git::listing(gone.iter().map(|submodule| &submodule.path))).ok().await?;
        }
        read(SHOWN).await
    }

    /// Looks through what an agent left before git does: directories and files are opened for us, and what git would wait for or
    /// not reach is an error in words.
    pub(super) async fn inspect(&self) -> Result<(), WorkspaceError> {
        let files = self.files.clone();
        blocking(move || {
            for found in files.walk(Path::new("")) {
                let failed = |error: &std::io::Error| {
                    WorkspaceError::NotRecorded(format!("what it left cannot be read: {error}"))
                };
                let (path, look) = found.map_err(|error| failed(&error))?;
                let needed = match look.kind {
                    Kind::Dir => 0o700,
                    // One with other names is somebody else's, too.
                    Kind::File if look.links == 1 => 0o400,
                    _ => 0,
                };
                if look.mode & needed != needed {
                    files.set_mode(&path, look.mode | needed).map_err(|error| failed(&error))?;
                }
                let of_git = path.iter().any(|name| name.as_bytes().starts_with(b".git"));
                if look.kind == Kind::Other && of_git {
                    let path = path.display();
                    return Err(WorkspaceError::NotRecorded(format!(
                        "it left a pipe, a socket or a device as {path}, which every git waits for"
                    )));
                }
            }
            Ok(())
        })
        .await
    }

    /// Records the files as a tree.
    pub(super) async fn record(&self, what: Recording<'_>) -> Result<Recorded, WorkspaceError> {
        self.unlock()?;
        let exclude = Path::new("exclude");
        let left_out = patterns(&what.left_out);
        self.private.put(exclude, &left_out).map_err(io_error("write to", self.private.path()))?;
        let exclude = self.private.path().join(exclude);
        let before = if what.is_work { submodules(&self.listing().await?) } else { Vec::new() };
        let mut changed = self.let_go_of(&before, &what.left_out).await?;
        let taken_up =
            if what.is_work && what.has_submodules { self.take_up(&before, &what).await? } else { Vec::new() };
        changed.extend(taken_up.iter().cloned());
        let list = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard", "-X"];
        let out = match self.call(list).arg(&exclude).args(without_caches()).run().await {
            // Of a repository within the files it reads what the `.git` there names, wherever that is.
            Err(error @ WorkspaceError::Waited { .. }) if what.is_work => {
                return Err(WorkspaceError::NotRecorded(format!("what it left cannot be read: {error}")));
            }
            out => out?,
        };
        // Where git only warns of a directory that it cannot open, what is in it would be missing in the record.
        let closed = |line: &&str| what.is_work && line.contains("could not open directory");
        let failed = || out.stderr.lines().find(|line| out.status != 0 && !line.starts_with("hint:"));
        if let Some(line) = out.stderr.lines().find(closed).or_else(failed) {
            return Err(WorkspaceError::NotRecorded(format!("what it left cannot be read: {line}")));
        }
        let out = out.stdout;
        let mut nested: Vec<PathBuf> = Vec::new();
        for path in git::paths(&out) {
            if path.as_os_str().as_bytes().ends_with(b"/") {
                nested.push(path.components().collect());
            } else {
                changed.insert(path);
            }
        }
        // Of other repositories found inside the files are recorded, they themselves are not.
        for repository in &nested {
            changed.extend(self.files_of(repository).await?);
        }
        changed.extend(what.forced.iter().cloned());
        changed.retain(|path| !what.left_out.iter().any(|out| path.starts_with(out)));
        let (touched, entries) = self.touched(&changed, &what).await?;
        self.weigh(&touched, what.most_bytes)?;
        let tree = match what.loaded {
            Some(tree) if touched.is_empty() && entries.is_empty() => tree.to_owned(),
            _ => {
                self.stage(&touched, what.is_work).await?;
                if !entries.is_empty() {
                    self.call(["update-index", "-z", "--index-info"]).stdin(entries).ok().await?;
                }
                self.call(["write-tree"]).line().await?
            }
        };
        let has_any = !(before.is_empty() && taken_up.is_empty());
        let submodules = if has_any { submodules(&self.listing().await?) } else { before };
        Ok(Recorded { tree, changed, submodules })
    }

    /// Takes submodules out of the index in whose places files of the work's own are: git sees none below a submodule. An empty
    /// directory, or one with nothing but ignored files, is a submodule that nobody has filled.
    async fn let_go_of(
        &self,
        submodules: &[Submodule],
        left_out: &[PathBuf],
    ) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let mut replaced = HashSet::new();
        for Submodule { path, .. } in submodules {
            if self.kind(path) != Some(Kind::Dir) || self.is_there(&path.join(".git")) {
                continue;
            }
            let is_work = |file: &PathBuf| !left_out.iter().any(|out| file.starts_with(out));
            if self.files_of(path).await?.iter().any(is_work) {
                replaced.insert(path.clone());
            }
        }
        if !replaced.is_empty() {
            let remove = ["update-index", "--force-remove", "-z", "--stdin"];
            self.call(remove).stdin(git::listing(&replaced)).ok().await?;
        }
        Ok(replaced)
    }

    /// Puts the submodules that work has made or moved into the index: where its `.gitmodules` names a directory that is a repository, or
    /// an empty one of which it is said at which commit it is. Where files were recorded before, the directory stays one of files, which may
    /// be somebody's own, unless whoever worked here has said otherwise to git. Says where they are.
    async fn take_up(&self, before: &[Submodule], what: &Recording<'_>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let Ok(content) = self.files.read(Path::new(GITMODULES)) else { return Ok(Vec::new()) };
        let named = Gitmodules::of_file(&self.git, content).await?;
        let is_new = |path: &PathBuf| {
            !path.as_os_str().is_empty()
                && path.components().all(|part| matches!(part, Component::Normal(_)))
                && !before.iter().any(|known| known.path == *path)
                && !what.left_out.iter().any(|out| path.starts_with(out))
                && self.kind(path) == Some(Kind::Dir)
        };
        let mut taken_up = Vec::new();
        // Without a slash at its end.
        for path in named.paths().map(|(_, path)| path.components().collect()).filter(is_new) {
            let below = self.call(["--literal-pathspecs", "ls-files", "-z", "--"]).arg(&path).ok().await?;
            let is_said = what.said.iter().any(|said| said.path == path);
            if !below.is_empty() && !is_said {
                continue;
            }
            let staged = if self.is_set_up_by_git(&path) {
                let remove = ["update-index", "--force-remove", "-z", "--stdin"];
                self.call(remove).stdin(below).ok().await?;
                let add = self.call(["update-index", "--add", "-z", "--stdin"]);
                add.stdin(git::listing([&path])).run().await?
            } else if let Some(said) = what.said.iter().find(|said| said.path == path)
                && self.files_of(&path).await?.is_empty()
            {
                let entry = format!("160000 {}\t{}\0", said.commit, path.display());
                self.call(["update-index", "--add", "-z", "--index-info"]).stdin(entry).run().await?
            } else {
                continue;
            };
            // One without any commit is not there for git.
            if staged.status == 0 {
                taken_up.push(path);
            }
        }
        Ok(taken_up)
    }

    /// Whether git has put the repository of a submodule there, which it keeps elsewhere. One that stands in the directory itself somebody
    /// has made by hand: nobody else may have its commits, and its files are the work.
    fn is_set_up_by_git(&self, path: &Path) -> bool {
        let link = path.join(".git");
        let text = (self.kind(&link) == Some(Kind::File)).then(|| self.files.read(&link).ok()).flatten();
        let text = text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
        let at = text.trim_end().strip_prefix("gitdir: ").and_then(|at| normal(&path.join(at)));
        at.is_some_and(|at| at.starts_with(MODULES))
    }

    /// The files below a submodule that are not those of its commit, as far as they are not ignored; none if the commit is not among
    /// these objects, which are not those of a repository that an agent can reach.
    pub(super) async fn differing_below(
        &self,
        submodule: &Submodule,
        objects: &Path,
    ) -> Result<Option<Vec<PathBuf>>, WorkspaceError> {
        const OTHER: &str = "submodule-index";
        let Submodule { path: submodule, commit } = submodule;
        let failed = || io_error("read", &self.files.path().join(submodule));
        let git = self.git.on(&self.files.below(submodule).map_err(failed())?);
        self.private.remove(Path::new(OTHER)).map_err(io_error("write to", self.private.path()))?;
        let index = self.private.path().join(OTHER);
        let objects = |call: Call| call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects).index(&index);
        if objects(git.call(["read-tree", commit])).run().await?.status != 0 {
            return Ok(None);
        }
        let list = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"];
        let out = objects(git.call(list)).args(without_caches()).ok().await?;
        let mut differing: Vec<PathBuf> = git::paths(&out).map(|path| submodule.join(path)).collect();
        differing.sort();
        differing.dedup();
        Ok(Some(differing))
    }

    /// A change that is larger than anybody means it to be is not read at all.
    fn weigh(&self, changed: &HashSet<PathBuf>, most: u64) -> Result<(), WorkspaceError> {
        let size = |path: &PathBuf| self.files.look(path).ok().flatten().map_or(0, |look| look.len);
        let all = changed.iter().map(size).fold(0_u64, u64::saturating_add);
        let Some(largest) = changed.iter().max_by_key(|path| size(path)).filter(|_| all > most) else {
            return Ok(());
        };
        let mb = |bytes: u64| bytes >> 20;
        Err(WorkspaceError::NotRecorded(format!(
            "its change has {} MB, and at most {} MB are recorded (`workspace.maxChangeMb`); the largest file is {} with \
             {} MB. What is made by a build or downloaded belongs into .gitignore",
            mb(all),
            mb(most),
            largest.display(),
            mb(size(largest))
        )))
    }

    /// The files of a repository inside ours that are not ignored.
    async fn files_of(&self, repository: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        let (from, files) = (repository.to_owned(), self.files.clone());
        let found = blocking(move || {
            let mut found = Vec::new();
            let mut walk = files.walk(&from);
            while let Some(next) = walk.next() {
                let (path, look) = next.map_err(io_error("look through", &files.path().join(&from)))?;
                let name = path.file_name().and_then(OsStr::to_str);
                if name.is_some_and(|name| name == ".git" || toolchain::is_cache(name)) {
                    if look.kind == Kind::Dir {
                        walk.skip_below();
                    }
                } else if matches!(look.kind, Kind::File | Kind::Link) {
                    found.push(path);
                }
            }
            Ok(found)
        });
        let files = found.await?;
        let ignored = self.ignored(&files).await?;
        Ok(files.into_iter().filter(|f| !ignored.contains(f)).collect())
    }

    async fn stage(&self, changed: &HashSet<PathBuf>, is_work: bool) -> Result<(), WorkspaceError> {
        // Of a user's own files, those that they may not read themselves say nothing, and others come and go meanwhile.
        let is_shut = |path: &&PathBuf| {
            !is_work && self.kind(path) == Some(Kind::File) && self.files.open_file(path).is_err_and(is_denied)
        };
        let shut: HashSet<PathBuf> = changed.iter().filter(is_shut).cloned().collect();
        let changed = changed.difference(&shut);
        // A pipe or a socket is no content: git would wait for it, or fail.
        let is_content = |path: &PathBuf| self.kind(path).is_some_and(|kind| kind != Kind::Other);
        let (there, mut gone): (Vec<PathBuf>, Vec<PathBuf>) = changed.cloned().partition(is_content);
        let (dirs, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
            there.into_iter().partition(|path| matches!(self.kind(path), Some(Kind::Dir)));
        if !dirs.is_empty() {
            // A submodule is asked for its commit; a file that has become a directory is gone.
            let submodules = self.submodules(&dirs).await?;
            let (keep, replaced): (Vec<_>, Vec<_>) = dirs.into_iter().partition(|dir| submodules.contains(dir));
            files.extend(keep);
            gone.extend(replaced);
        }
        // First what is gone, so that a new `a/b` finds no file `a` in its way.
        if !gone.is_empty() {
            let remove = ["update-index", "--force-remove", "-z", "--stdin"];
            self.call(remove).stdin(git::listing(gone)).ok().await?;
        }
        if !files.is_empty() {
            let remove = (!is_work).then_some("--remove");
            let add = ["update-index", "--add", "--replace"].into_iter().chain(remove).chain(["-z", "--stdin"]);
            let out = self.call(add).stdin(git::listing(files)).run().await?;
            let is_full = |line: &str| line.contains("No space left") || line.contains("Disk quota exceeded");
            if let Some(line) = out.stderr.lines().find(|line| line.starts_with("Ignoring path")) {
                return Err(WorkspaceError::NotRecorded(format!("git records no file of this name: {line:?}")));
            }
            if out.status != 0 {
                return Err(match out.stderr.lines().find(|line| !line.starts_with("hint:")) {
                    Some(line) if !out.stderr.lines().any(is_full) => {
                        WorkspaceError::NotRecorded(format!("git cannot record it: {line}"))
                    }
                    _ => git::failed("update-index", &out.stderr),
                });
            }
        }
        Ok(())
    }

    /// Whether the path exists in the files themselves: what lies behind a link is not ours.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        self.kind(path).is_some()
    }

    fn kind(&self, path: &Path) -> Option<Kind> {
        Some(self.files.look(path).ok()??.kind)
    }

    async fn submodules(&self, dirs: &[PathBuf]) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let list = ["--literal-pathspecs", "ls-files", "-z", "--stage", "--"];
        let staged = self.call(list).args(dirs).ok().await?;
        Ok(submodules(&staged).into_iter().map(|submodule| submodule.path).collect())
    }

    /// All submodules of a tree.
    pub(super) async fn all_submodules(&self, tree: &str) -> Result<Vec<Submodule>, WorkspaceError> {
        let listed =
            self.git.call(["ls-tree", "-r", "-z", "--format=%(objectmode) %(objectname) 0%x09%(path)", tree]).ok();
        Ok(submodules(&listed.await?))
    }

    /// Whether a tree has submodules at all of these paths.
    pub(super) async fn are_submodules(&self, tree: &str, paths: &[PathBuf]) -> Result<bool, WorkspaceError> {
        let list = ["--literal-pathspecs", "ls-tree", "-z", tree, "--"];
        let listed = self.git.call(list).args(paths).ok().await?;
        let found = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000"));
        Ok(found.count() == paths.len())
    }

    /// The links of a tree that belong to tests and lead to one of these files, or to a directory around it.
    pub(super) async fn links_to(&self, tree: &str, files: &[String]) -> Result<Vec<String>, WorkspaceError> {
        let mut found = Vec::new();
        if files.is_empty() {
            return Ok(found);
        }
        // `mode type id TAB path NUL`, again and again.
        let listing = self.git.call(["ls-tree", "-r", "-z", tree]).ok().await?;
        let listing = String::from_utf8_lossy(&listing);
        let link = |entry: &'_ str| {
            let (id, path) = entry.strip_prefix("120000 blob ")?.split_once('\t')?;
            belongs_to_tests(path).then(|| (path.to_owned(), id.to_owned()))
        };
        let links: Vec<(String, String)> = listing.split('\0').filter_map(link).collect();
        let targets = self.contents(links.iter().map(|(_, id)| id.as_str())).await?;
        for (path, id) in links {
            let Some(target) = targets.get(&id) else { continue };
            let target = led_to(&path, &String::from_utf8_lossy(target));
            if files.iter().any(|file| Path::new(file).starts_with(&target)) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// What differs between two trees: the paths, and the first 16 hex digits of the raw listing's SHA-256.
    pub(super) async fn difference(&self, from: &str, to: &str) -> Result<Difference, WorkspaceError> {
        let raw = if from == to {
            Vec::new()
        } else {
            let diff = ["diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", from, to];
            self.git.call(diff).ok().await?
        };
        // `:mode mode id id status NUL path NUL`, again and again.
        let mut parts = raw.split(|byte| *byte == 0);
        let (mut files, mut paths, mut existed, mut leads_out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut submodules, mut known, mut links) = (Vec::new(), HashSet::new(), Vec::new());
        while let (Some(modes), Some(path)) = (parts.next(), parts.next()) {
            let bytes = path;
            paths.push(PathBuf::from(OsStr::from_bytes(path)));
            let path = String::from_utf8_lossy(path).into_owned();
            let fields: Vec<_> = modes.split(|byte| *byte == b' ').map(String::from_utf8_lossy).collect();
            if let [was, is, old, new, ..] = &fields[..] {
                if was == ":160000" {
                    known.insert(old.clone().into_owned());
                }
                if is == "160000" {
                    let path = PathBuf::from(OsStr::from_bytes(bytes));
                    submodules.push(Submodule { path, commit: new.clone().into_owned() });
                }
                if is == "120000" {
                    links.push((path.clone(), new.clone().into_owned()));
                }
            }
            if !modes.ends_with(b" A") {
                existed.push(path.clone());
            }
            files.push(path);
        }
        let targets = self.contents(links.iter().map(|(_, id): &(String, String)| id.as_str())).await?;
        for (path, id) in &links {
            let is_link = |place: &str| self.kind(Path::new(place)) == Some(Kind::Link);
            let target = targets.get(id).map(|target| String::from_utf8_lossy(target));
            leads_out.extend(target.and_then(|target| outside(path, &target, is_link)));
        }
        let mut hash = String::new();
        for byte in &sha2::Sha256::digest(&raw)[..8] {
            let _ = write!(hash, "{byte:02x}");
        }
        Ok(Difference { files, paths, existed, leads_out, submodules, were: known, remarks: Vec::new(), hash })
    }
}

/// What git says of a name that some system takes for `.git`, in words that help. Who has one in a repository has switched git's protection off
/// there (`core.protectNTFS`, `core.protectHFS`).
fn explained(error: WorkspaceError) -> WorkspaceError {
    let WorkspaceError::Git { message, .. } = &error else { return error };
    let Some(name) = message.lines().find_map(|line| line.strip_prefix("error: invalid path ")) else { return error };
    WorkspaceError::Unusable(format!(
        "the files of the commit have the name {name}, which some systems take for `.git`: no workspace may have it, whatever \
         `core.protectNTFS` and `core.protectHFS` say in your repository. Rename it there"
    ))
}

fn is_denied(error: std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::PermissionDenied
}

/// Those that `ls-files --stage` names, or what is listed like that.
fn submodules(listing: &[u8]) -> Vec<Submodule> {
    let read = |entry: &[u8]| {
        // `mode id stage TAB path`
        let (about, path) = entry.split_at(memchr::memchr(b'\t', entry)?);
        let commit = String::from_utf8_lossy(about).split(' ').nth(1)?.to_owned();
        Some(Submodule { path: PathBuf::from(OsStr::from_bytes(&path[1..])), commit })
    };
    listing.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000")).filter_map(read).collect()
}

/// Where a relative link leads, by its words.
fn led_to(link: &str, target: &str) -> PathBuf {
    let mut place = Path::new(link).parent().map(Path::to_path_buf).unwrap_or_default();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => _ = place.pop(),
            Component::CurDir => {}
            part => place.push(part),
        }
    }
    place
}

/// A link with where it leads, if that is not below the top of its tree, or is git's own. What is above the place that another link
/// leads to cannot be told by names.
pub(super) fn outside(link: &str, target: &str, is_link: impl Fn(&str) -> bool) -> Option<String> {
    let mut place: Vec<&str> = link.split('/').collect();
    place.pop();
    let mut leaves = target.starts_with('/');
    for name in target.split('/').filter(|name| !name.is_empty() && *name != ".") {
        match name {
            ".." => {
                leaves |= (1..=place.len()).any(|depth| is_link(&place[..depth].join("/")));
                leaves |= place.pop().is_none();
            }
            name => place.push(name),
        }
    }
    leaves |= place.first().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    leaves.then(|| format!("{link} -> {target}"))
}

/// Length, inode and change time.
pub(super) type IndexStamp = (u64, u64, (i64, i64));

pub(super) fn stamp(dir: &Root, path: &Path) -> Option<IndexStamp> {
    let look = dir.look(path).ok()??;
    Some((look.len, look.inode, look.changed))
}

/// For a listing of new files: without what tools keep for themselves. Who has no `.gitignore` means none of it, and an interpreter runs
/// what is in it, or where a link of its name leads, in the place of a source. What is recorded already is not left out by this.
fn without_caches() -> impl Iterator<Item = String> {
    toolchain::caches().map(|name| format!("--exclude={name}"))
}

/// Paths as anchored patterns of a `.gitignore`.
fn patterns(paths: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.push(b'/');
        for byte in path.as_os_str().as_bytes() {
            if b"\\*?[] ".contains(byte) {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_tree_is_told_from_one_in_it() {
        let check = |link: &str, target: &str, expected: bool| {
            assert_eq!(outside(link, target, |place| place == "p").is_some(), expected, "{link} -> {target}");
        };
        check("a", "p/b", false);
        check("a", "p/../b", true);
        check("a", "p/p/../../b", true);
        check("a", "b", false);
        check("d/a", "../b", false);
        check("d/a", "../../b", true);
        check("d/a", "../x/../../b", true);
        check("a", "/etc/passwd", true);
        check("a", ".git/hidden", true);
        check("d/a", "../.GIT/hidden", true);
        check("a", ".", false);
    }

    #[test]
    fn paths_become_patterns_that_match_only_them() {
        assert_eq!(patterns(&["a/b*c".into(), "!x ".into()]), b"/a/b\\*c\n/!x\\ \n");
    }
}
