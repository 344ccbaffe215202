//! Asking git about a checkout: as few calls as possible, and none that changes anything.

use super::process::{ChildTree, OF_SHELL, WaitsFor, keep_descriptors};
use super::work_base::{Refs, short};
use super::{git, work_base, work_listing};
use crate::services::{Fork, TreeStatus, WorkTree, WorkTreeError};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A checkout on this machine.
#[derive(Debug, Clone)]
pub struct HostWorkTree {
    top: PathBuf,
    /// When whoever waits for the answers has waited long enough; with none, as long as git is at work.
    until: Option<Instant>,
}

/// A hook holds nobody up longer than this; git waits for ever for a pipe in the place of a file.
const HOOKS_WAIT: Duration = Duration::from_millis(2500);

/// And nobody waits longer for a git that does not even work.
const IDLE_LIMIT: Duration = Duration::from_secs(10);

impl HostWorkTree {
    /// The checkout that a directory lies in, if there is one. Git itself is not asked for it: its rules for that are
    /// simple without `GIT_DIR`, and a process costs more than all the rest of a hook.
    #[must_use]
    pub fn around(dir: &Path) -> Option<Self> {
        let dir = dir.canonicalize().ok()?;
        let top = dir.ancestors().find(|dir| is_git_dir(&dir.join(".git")))?;
        let until = Some(Instant::now() + HOOKS_WAIT);
        Some(Self { top: top.to_owned(), until })
    }

    /// For callers that have the time, as long as git works.
    pub(super) fn patient(self) -> Self {
        Self { until: None, ..self }
    }

    /// For callers that have so much time from now on, whatever they ask.
    pub(super) fn within(self, time: Duration) -> Self {
        Self { until: Some(Instant::now() + time), ..self }
    }

    /// Calls git so that it starts nothing that the repository names: hooks, fetches, and with `without` the programs that files
    /// pass through.
    pub(super) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, WorkTreeError> {
        self.git_without(args, &[])
    }

    fn git_without<S: AsRef<OsStr>>(&self, args: &[S], without: &[OsString]) -> Result<Vec<u8>, WorkTreeError> {
        let mut process = Command::new(&*git::PROGRAM);
        let is_of_git = |name: &OsString| {
            name.as_bytes().starts_with(b"GIT_") && !git::SETTINGS.iter().any(|setting| name == *setting)
        };
        let is_dropped = |name: &OsString| is_of_git(name) || OF_SHELL.iter().any(|of_shell| name == *of_shell);
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_dropped(name)) {
            process.env_remove(name);
        }
        for (name, value) in git::ENVIRONMENT {
            process.env(name, value);
        }
        process.envs(git::NOTHING_FETCHED);
        process.envs(git::emptied(without));
        for key_value in ["core.hooksPath=/dev/null", "core.fsmonitor=false", "status.showStash=false"] {
            process.args(["-c", key_value]);
        }
        process.args(args).current_dir(&self.top).stdin(Stdio::null());
        let failed = |message: &str| WorkTreeError {
            command: args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned()).unwrap_or_default(),
            message: message.lines().next().unwrap_or_default().trim().to_owned(),
        };
        let output = self.output(process).map_err(|error| match error.kind() {
            ErrorKind::NotFound if self.top.is_dir() => failed("the program `git` was not found: install git"),
            _ => failed(&error.to_string()),
        })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if is_for_want_of_objects(&said) && self.is_partial() {
            return Err(failed(MISSING));
        }
        Err(failed(if said.trim().is_empty() { "it said nothing" } else { &said }))
    }

    /// As [`Command::output`], but a program that takes too long, or only waits, is ended.
    fn output(&self, mut process: Command) -> std::io::Result<Output> {
        let until = self.until;
        keep_descriptors();
        let child = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let tree = ChildTree(child.id());
        let (over, wait) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let waits = match until {
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    let is_late = wait.recv_timeout(left) == Err(mpsc::RecvTimeoutError::Timeout);
                    is_late.then_some(WaitsFor::Something)
                }
                None => tree.waits(IDLE_LIMIT, &wait),
            };
            if waits.is_some() {
                tree.kill();
            }
            waits
        });
        let output = child.wait_with_output();
        drop(over);
        let waited = match watch.join().unwrap_or(None) {
            None => return output,
            Some(WaitsFor::Pipe(pipe)) => format!(
                "it waits for a pipe where a file belongs: {} is one, and nobody writes to it; remove it, or put the file back",
                pipe.display()
            ),
            Some(WaitsFor::Something) => "git took too long; is there a pipe in the place of a .gitignore?".to_owned(),
        };
        Err(std::io::Error::new(ErrorKind::TimedOut, waited))
    }

    pub(super) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Option<String> {
        let out = self.git(args).ok()?;
        let line = String::from_utf8_lossy(&out).lines().next()?.trim().to_owned();
        (!line.is_empty()).then_some(line)
    }

    /// The commit that a name stands for, if it stands for one.
    pub(super) fn resolve(&self, name: &str) -> Option<String> {
        self.line(&["rev-parse", "--quiet", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])
    }

    fn is_partial(&self) -> bool {
        self.git(&PARTIAL).is_ok()
    }

    /// The settings by which files pass through programs on their way into the repository, and whether they must, and those by which hooks
    /// run. Without filters a file counts as it lies there: one that passes through a filter may seem to differ, and none that differs
    /// seems not to.
    fn programs(&self) -> Result<Vec<OsString>, WorkTreeError> {
        const KEYS: [&[u8]; 4] = [b".clean", b".smudge", b".process", b".required"];
        let names = self.git(&git::LIST_NAMES)?;
        let is_filter = |name: &&[u8]| name.starts_with(b"filter.") && KEYS.iter().any(|key| name.ends_with(key));
        let filters: BTreeSet<&[u8]> = names.split(|byte| *byte == 0).filter(is_filter).collect();
        let filters = filters.into_iter().map(|name| OsStr::from_bytes(name).to_owned());
        Ok(filters.chain(git::hook_events(&names)).collect())
    }

    /// The submodules that are checked out, from the top.
    fn submodules(&self) -> Vec<PathBuf> {
        // Without one of these there is none that git would look into.
        if !self.top.join(".gitmodules").is_file() && !git_dir(&self.top.join(".git")).join("modules").is_dir() {
            return Vec::new();
        }
        let listed = self.git(&["ls-files", "--stage", "-z"]).unwrap_or_default();
        let links = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        let paths = links.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        // Through a link one may lie in itself, without end.
        let lies_here = |path: &PathBuf| {
            let there = self.top.join(path);
            there.canonicalize().is_ok_and(|real| real == there) && is_git_dir(&there.join(".git"))
        };
        paths.filter(lies_here).collect()
    }

    /// The checkouts of submodules, with their paths.
    pub(super) fn inner(&self) -> impl Iterator<Item = (PathBuf, Self)> {
        let inner = |path: PathBuf| (path.clone(), Self { top: self.top.join(path), until: self.until });
        self.submodules().into_iter().map(inner)
    }

    /// Whether a file of the repository differs from what git has of it, so that git could not bring it back. One that passes through a filter
    /// may seem to.
    ///
    /// # Errors
    /// If git cannot say.
    pub fn has_unsaved_changes(&self, file: &Path) -> Result<bool, WorkTreeError> {
        let Ok(file) = file.strip_prefix(&self.top) else { return Ok(false) };
        let mut only = OsString::from(":(top,literal)");
        only.push(file);
        let list = ["ls-files".into(), "--modified".into(), "-z".into(), "--".into(), only];
        Ok(!self.git_without(&list, &self.programs()?)?.is_empty())
    }

    /// Whether git has something under a path that a sparse checkout leaves out.
    ///
    /// # Errors
    /// If git cannot say.
    pub fn leaves_out(&self, path: &Path) -> Result<bool, WorkTreeError> {
        let Ok(path) = path.strip_prefix(&self.top) else { return Ok(false) };
        let mut only = OsString::from(":(top,literal)");
        only.push(path);
        let listed = self.git(&["ls-files".into(), "-t".into(), "-z".into(), "--".into(), only])?;
        Ok(listed.split(|byte| *byte == 0).any(|entry| entry.starts_with(b"S ")))
    }

    /// Where two commits parted; none where they have nothing in common, or a shallow history does not reach back so far.
    pub(super) fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        self.line(&["merge-base", one, other])
    }
}

/// What is said where a partial clone has left out what would be looked at.
pub(super) const MISSING: &str = "this clone has left objects out (a partial clone), and a command that only looks fetches nothing; \
                       `git backfill`, or `git log --raw > /dev/null`, fetches them";

/// Succeeds where some remote is to be asked for what is not there.
pub(super) const PARTIAL: [&str; 3] = ["config", "--get-regexp", r"^remote\..*\.promisor$"];

/// Whether git says that it could not read an object; each command has words of its own.
pub(super) fn is_for_want_of_objects(said: &str) -> bool {
    let words =
        ["lazy fetching disabled", "promisor remote", "unable to read", "bad object", "ould not read", "missing"];
    words.iter().any(|words| said.contains(words))
}

/// A `.git` directory, or the file that stands in its place in linked worktrees and submodules.
fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok() || path.is_file()
}

/// Where a `.git` file leads; the directory itself if it is one.
fn git_dir(path: &Path) -> PathBuf {
    let link = if path.is_file() { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    match link.strip_prefix(b"gitdir: ") {
        Some(to) => path.with_file_name("").join(OsStr::from_bytes(to.trim_ascii_end())),
        None => path.to_owned(),
    }
}

impl WorkTree for HostWorkTree {
    fn top(&self) -> &Path {
        &self.top
    }

    fn name(&self) -> String {
        // `gitdir: <main>/.git/worktrees/<name>`
        let git = git_dir(&self.top.join(".git"));
        let worktrees = git.parent().filter(|dir| dir.ends_with(".git/worktrees"));
        let main = worktrees.and_then(|dir| dir.parent()?.parent());
        let dir = main.unwrap_or(&self.top);
        dir.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    fn status(&self) -> Result<TreeStatus, WorkTreeError> {
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "--no-ahead-behind",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
            "-z",
        ];
        let mut status = work_listing::status(&self.git_without(&status, &self.programs()?)?);
        // Git itself would look into them by their own settings, which name programs too.
        for (submodule, inner) in self.inner() {
            let is_new = !status.dirty.contains(&submodule);
            if is_new && inner.status().is_ok_and(|inner| !inner.dirty.is_empty()) {
                status.dirty.push(submodule.join(""));
            }
        }
        status.dirty.sort();
        Ok(status)
    }

    fn changed(&self, from: Option<&str>, to: &str) -> Result<Vec<PathBuf>, WorkTreeError> {
        let out = match from {
            Some(from) => {
                let diff = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none"];
                // A name that comes from a file must not be taken for an option: `--output=` writes.
                self.git(&[&diff[..], &["--end-of-options", from, to]].concat())?
            }
            None => self.git(&["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", to])?,
        };
        Ok(work_listing::entries(&out))
    }

    fn fork(&self, status: &TreeStatus) -> Result<Option<Fork>, WorkTreeError> {
        let Some(head) = &status.head else { return Ok(None) };
        let branch = status.branch.as_deref();
        let asked = [vec!["for-each-ref".to_owned(), work_base::FORMAT.to_owned()], work_base::patterns(branch)];
        let listing = String::from_utf8_lossy(&self.git(&asked.concat())?).into_owned();
        let candidates = Refs::read(&listing).candidates(branch);
        let fork = |name: &str| Some(Fork { commit: self.merge_base(head, name)?, from: short(name).to_owned() });
        Ok(candidates.into_iter().find_map(fork))
    }

    fn stamp(&self, path: &Path) -> Option<String> {
        let path = self.top.join(path);
        let meta = path.symlink_metadata().ok()?;
        let mut stamp = one_stamp(&meta);
        if meta.is_dir() {
            // A repository of its own: what is committed, checked out or staged in it writes one of these.
            let inner = git_dir(&path.join(".git"));
            let files = ["HEAD", "index", "logs/HEAD"].map(|file| inner.join(file).metadata().ok());
            files.iter().flatten().for_each(|meta| stamp.push_str(&one_stamp(meta)));
        }
        Some(stamp)
    }
}

fn one_stamp(meta: &Metadata) -> String {
    format!("{}-{}.{:09}-{:o}", meta.size(), meta.mtime(), meta.mtime_nsec(), meta.mode())
}
