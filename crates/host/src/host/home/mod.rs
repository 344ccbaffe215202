//! Files in the home directory that steer the tools of a check.
//!
//! A check that is made from a recorded tree alone still reads them: git's settings, cargo's, what every Python imports. Which
//! they are stands in `config/home_files.toml` ([`list`]): files, those that [these name](named) and that [git's settings name](git_names), and
//! [`trees`] of modules and programs. What of them was changed while a run worked is [kept for the next one](runs).

mod change;
mod git_names;
mod list;
mod named;
mod peek;
mod runs;
mod trees;

pub use change::HomeChange;
pub(super) use runs::Beginning;
pub use runs::{HomeRuns, LeftInHome};

#[cfg(test)]
pub(in crate::host) use list::below_home;

use super::process::{KEY_LENGTH, project_key};
use super::workspaces::{EACH_RUN, TRIED};
use crate::domain::policy;
use crate::files::Replacement;
use change::How;
use list::{PATTERNS, Pattern, Variables};
use peek::first_bytes;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use trees::Tree;

/// So much of a file is digested; of a longer one, its length and the time of its last change are compared beside that.
const CAP: u64 = 256 << 10;
/// Limit of files that are read because others name them.
const MOST_NAMED: usize = 256;

/// Where git's own settings of a user are, which name other files.
const GIT_SETTINGS: [&str; 3] = ["$GIT_CONFIG_GLOBAL", "~/.gitconfig", "$XDG_CONFIG_HOME/git/config"];

/// Where is looked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HomePlaces {
    home: PathBuf,
    /// Where clean rooms are, by its real name.
    rooms: PathBuf,
    /// Directories of the runtime's own.
    own: Vec<PathBuf>,
    /// The user's checkout: whoever works there changes files.
    checkout: PathBuf,
}

impl HomePlaces {
    /// For a project, in this process's home directory.
    #[must_use]
    pub fn of(project: &policy::Project) -> Self {
        let state = project.state_dir();
        let rooms = project_key(&state).map(|key| project.rooms.join(key).join(EACH_RUN));
        let rooms = rooms.unwrap_or_else(|| project.rooms.clone());
        let there = rooms.ancestors().find_map(|dir| Some((dir, dir.canonicalize().ok()?)));
        let real = there.and_then(|(dir, real)| Some(real.join(rooms.strip_prefix(dir).ok()?)));
        let root = &project.root;
        Self {
            home: std::env::home_dir().unwrap_or_default(),
            rooms: real.unwrap_or(rooms),
            own: vec![state, project.user_state().to_owned()],
            checkout: root.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(root).to_owned(),
        }
    }

    fn home(&self) -> &Path {
        &self.home
    }

    /// What others have put into the directories of the runtime's own above a room, whatever its name: there it needs no list of what tools read.
    /// (Beside a room everything is removed before a check.)
    fn intruders(&self) -> Vec<PathBuf> {
        if !self.rooms.ends_with(EACH_RUN) {
            return Vec::new();
        }
        let is_key = |name: &str| name.len() == KEY_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_own: [&dyn Fn(&str) -> bool; 3] =
            [&|name| [EACH_RUN, TRIED].contains(&name), &is_key, &|name| OF_USER.contains(&name)];
        let dirs = self.rooms.ancestors().skip(1).zip(is_own);
        let others = dirs.flat_map(|(dir, is_own)| {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
            let is_made =
                move |name: &OsStr| name.to_str().is_some_and(|name| is_own(name) || Replacement::is_begun(name));
            entries.filter(move |name| !is_made(name) && !PATTERNS.is_tree_above(name)).map(|name| dir.join(name))
        });
        others.collect()
    }

    /// The directories above a room in which the user may put something, and the home directory.
    fn above(&self) -> Vec<PathBuf> {
        // The innermost are made when the first room is.
        let is_theirs = |dir: &&Path| !dir.exists() || may_write(dir);
        let real_home = self.home.canonicalize().unwrap_or_default();
        let dirs = self.rooms.ancestors().filter(|dir| **dir != *real_home && **dir != *self.home).filter(is_theirs);
        dirs.map(Path::to_owned).chain([self.home.clone()]).collect()
    }
}

/// What this program keeps of a user, beside the rooms: of its own in these directories, everything else is somebody's who wants tools to find it.
const OF_USER: [&str; 7] = ["asked", "home", "key", "records", "repositories", "rooms", "trust.jsonl"];

/// The files that steer tools, as they are at one time.
#[derive(Debug, Clone, Default)]
pub struct HomeFiles {
    home: PathBuf,
    found: BTreeMap<PathBuf, Found>,
    /// By what they are called: a directory, or the pattern that it is found by.
    trees: BTreeMap<PathBuf, Arc<Tree>>,
}

/// What is at a path. Two that are equal steer alike.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// Where the link leads, if it is one.
    link: Option<PathBuf>,
    /// What is there, behind the link.
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    File {
        mode: u32,
        length: u64,
        /// Of the first [`CAP`] bytes; none: it may not be read.
        digest: Option<[u8; 32]>,
        /// When a file that is longer than that was changed last.
        changed: Option<(i64, i64)>,
    },
    Directory,
    /// A pipe, a socket, a device.
    Special {
        mode: u32,
    },
    /// A link to nothing, or what may not be looked at.
    Unknown,
}

impl HomeFiles {
    /// Looks at the files of the home directory, at those that the environment names instead, and above the rooms.
    ///
    /// What cannot be read counts as it is. Blocks for some milliseconds, some more where there are tens of thousands of files, and never on
    /// a pipe or a device.
    #[must_use]
    pub fn now(places: &HomePlaces) -> Self {
        Self::with(places, &|name| std::env::var_os(name))
    }

    fn with(places: &HomePlaces, variables: Variables<'_>) -> Self {
        let home = places.home();
        let of = |patterns: &[Pattern]| -> BTreeSet<PathBuf> {
            patterns.iter().flat_map(|pattern| pattern.paths(home, variables)).collect()
        };
        let mut paths = of(&PATTERNS.files);
        let settings = GIT_SETTINGS.iter().flat_map(|text| Pattern::read(text).paths(home, variables));
        paths.extend(git_names::of(settings, home));
        paths.extend(places.above().iter().flat_map(|dir| PATTERNS.above(dir)));
        paths.extend(places.intruders());
        let mut found: BTreeMap<PathBuf, Found> =
            paths.into_iter().filter_map(|path| Found::at(&path).map(|what| (path, what))).collect();
        let naming = of(&PATTERNS.naming);
        let mut left: Vec<(PathBuf, bool)> = naming.into_iter().map(|path| (path, true)).collect();
        let mut read = BTreeSet::new();
        while let Some((path, is_listed)) = left.pop() {
            if read.len() >= MOST_NAMED || !read.insert(path.clone()) {
                continue;
            }
            let Some((what, text)) = Found::read(&path) else { continue };
            // A directory that is only named is none that a tool reads.
            if is_listed || matches!(what.kind, Kind::File { .. }) {
                left.extend(named::of(&text, home).into_iter().map(|path| (path, false)));
                found.insert(path, what);
            }
        }
        Self { home: home.to_owned(), found, trees: trees::now(places, variables, trees::MOST) }
    }

    /// What is not looked at because there is too much, in words.
    #[must_use]
    pub fn not_looked_at(&self) -> Option<String> {
        let large = self.trees.iter().filter(|(_, tree)| tree.is_too_large);
        let large: Vec<String> = large.map(|(path, _)| self.name(path)).collect();
        (!large.is_empty()).then(|| {
            format!(
                "what agents change in {} is not noticed, and checks may use it: there are more than {} files of modules and programs",
                large.join(", "),
                trees::MOST
            )
        })
    }

    /// What differs from before. Nothing: these files steer as they did.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> Vec<HomeChange> {
        let files = differences(&before.found, &self.found, |now, before| now == before);
        let mut changes: Vec<HomeChange> =
            files.into_iter().map(|(path, how)| HomeChange { path, how, tree: None, of_programs: false }).collect();
        for (name, now) in &self.trees {
            let Some(before) = before.trees.get(name).filter(|before| !Arc::ptr_eq(before, now)) else { continue };
            let tree = Some(name.clone());
            if now.is_too_large != before.is_too_large {
                changes.push(HomeChange { path: name.clone(), how: How::Unnamed, tree, of_programs: now.of_programs });
                continue;
            }
            let files = differences(&before.files, &now.files, trees::Stamp::is_as);
            changes.extend(files.into_iter().map(|(path, how)| HomeChange {
                path,
                how,
                tree: tree.clone(),
                of_programs: now.of_programs,
            }));
        }
        changes
    }

    /// A line for each file and tree, which says what it is without its content: `0123456789abcdef ~/.gitconfig`. The same files give the same
    /// lines with the same salt, and others with another one.
    #[must_use]
    pub fn lines(&self, salt: &str) -> Vec<String> {
        self.digests(salt).into_iter().map(|(name, digest)| format!("{digest} {name}")).collect()
    }

    /// What differs from when these [lines](Self::lines) were made, at this time. Trees that were not looked at then, and old files, are no
    /// news: the environment may have been another one.
    #[must_use]
    pub fn changes_since_lines(&self, lines: &[String], salt: &str, at: Option<SystemTime>) -> Vec<HomeChange> {
        let pair = |line: &String| line.split_once(' ').map(|(digest, name)| (name.to_owned(), digest.to_owned()));
        let before: BTreeMap<String, String> = lines.iter().filter_map(pair).collect();
        let now = self.digests(salt);
        let is_new = |path: &Path| at.is_none_or(|at| trees::Stamp::at(path).is_some_and(|stamp| stamp.is_since(at)));
        let mut changes = Vec::new();
        for (path, how) in self.found.keys().filter_map(|path| {
            let name = self.name(path);
            match before.get(&name) {
                None => is_new(path).then_some((path, How::Added)),
                Some(was) => (now.get(&name) != Some(was)).then_some((path, How::Changed)),
            }
        }) {
            changes.push(HomeChange { path: path.clone(), how, tree: None, of_programs: false });
        }
        for (path, tree) in &self.trees {
            let name = self.name_of_tree(path);
            if before.get(&name).is_none_or(|was| now.get(&name) == Some(was)) {
                continue;
            }
            let new = tree.files.iter().filter(|(_, stamp)| at.is_some_and(|at| stamp.is_since(at)));
            let of_tree = |file: &Path, how| HomeChange {
                path: file.to_owned(),
                how,
                tree: Some(path.clone()),
                of_programs: tree.of_programs,
            };
            let new: Vec<HomeChange> = new.map(|(path, _)| of_tree(Path::new(path), How::Changed)).collect();
            let unnamed = new.is_empty().then(|| of_tree(path, How::Unnamed));
            changes.extend(new.into_iter().chain(unnamed));
        }
        let gone = before.keys().filter(|name| !now.contains_key(*name) && !name.ends_with("/**"));
        let gone = gone.map(|name| self.path_of(name)).filter(|path| path.symlink_metadata().is_err());
        changes.extend(gone.map(|path| HomeChange { path, how: How::Removed, tree: None, of_programs: false }));
        changes
    }

    /// Changes in words: `~/.gitconfig was changed`. Those of a tree are one.
    #[must_use]
    pub fn words(&self, changes: &[HomeChange]) -> Vec<String> {
        change::words(changes, &|path| self.name(path))
    }

    fn digests(&self, salt: &str) -> BTreeMap<String, String> {
        let files = self.found.iter().map(|(path, found)| (self.name(path), found.digest(salt)));
        let trees = self.trees.iter().map(|(path, tree)| {
            let mut hash = Sha256::new_with_prefix(salt);
            tree.digest(&mut hash);
            (self.name_of_tree(path), short(&hash.finalize()))
        });
        files.chain(trees).collect()
    }

    fn name_of_tree(&self, path: &Path) -> String {
        format!("{}/**", self.name(path))
    }

    fn name(&self, path: &Path) -> String {
        name(path, &self.home)
    }

    /// The path of a name, as far as it was written as it is.
    fn path_of(&self, name: &str) -> PathBuf {
        name.strip_prefix("~/").map_or_else(|| PathBuf::from(name), |below| self.home.join(below))
    }
}

/// Whether the user may put something into a directory, or may let themselves do so.
fn may_write(dir: &Path) -> bool {
    let is_owner = || dir.metadata().is_ok_and(|dir| dir.uid() == rustix::process::geteuid().as_raw());
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok() || is_owner()
}

/// The path as a person writes it; a name may contain anything.
fn name(path: &Path, home: &Path) -> String {
    let path = match path.strip_prefix(home) {
        Ok(below) => Path::new("~").join(below),
        Err(_) => path.to_owned(),
    };
    path.to_string_lossy().escape_debug().to_string()
}

fn short(digest: &[u8]) -> String {
    let number = digest[..8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{number:016x}")
}

/// What was added, changed and removed.
fn differences<P: Ord + Clone + Into<PathBuf>, T>(
    before: &BTreeMap<P, T>,
    now: &BTreeMap<P, T>,
    is_as: impl Fn(&T, &T) -> bool,
) -> Vec<(PathBuf, How)> {
    let there = now.iter().filter_map(|(path, now)| match before.get(path) {
        None => Some((path, How::Added)),
        Some(was) => (!is_as(now, was)).then_some((path, How::Changed)),
    });
    let removed = before.keys().filter(|path| !now.contains_key(*path)).map(|path| (path, How::Removed));
    there.chain(removed).map(|(path, how)| (path.clone().into(), how)).collect()
}

impl Found {
    /// None: nothing is there.
    fn at(path: &Path) -> Option<Self> {
        Self::read(path).map(|(found, _)| found)
    }

    /// The same with the beginning of the file.
    fn read(path: &Path) -> Option<(Self, Vec<u8>)> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let link = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => std::fs::read_link(path).ok(),
            Ok(_) => None,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
            Err(_) => return Some((Self { link: None, kind: Kind::Unknown }, Vec::new())),
        };
        // What a link leads to is what the tool reads.
        let (kind, text) = path.metadata().map_or((Kind::Unknown, Vec::new()), |metadata| Kind::read(path, &metadata));
        Some((Self { link, kind }, text))
    }

    fn digest(&self, salt: &str) -> String {
        short(&Sha256::digest(format!("{salt} {self:?}")))
    }
}

impl Kind {
    fn read(path: &Path, metadata: &Metadata) -> (Self, Vec<u8>) {
        let mode = metadata.mode();
        if metadata.is_dir() {
            return (Self::Directory, Vec::new());
        }
        if !metadata.is_file() {
            return (Self::Special { mode }, Vec::new());
        }
        let length = metadata.len();
        let changed = (length > CAP).then(|| (metadata.ctime(), metadata.ctime_nsec()));
        let text = first_bytes(path, CAP);
        let digest = text.as_ref().map(|text| Sha256::digest(text).into());
        (Self::File { mode, length, digest, changed }, text.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn nothing_set(_: &str) -> Option<OsString> {
        None
    }

    const ROOMS: &str = "rooms/0123456789abcdef/run";

    fn places(home: &Path) -> HomePlaces {
        let dir = home.join("state/reflexion");
        let rooms = dir.join(ROOMS);
        HomePlaces { home: home.to_owned(), rooms, own: vec![dir], checkout: home.join("checkout") }
    }

    fn changed_since(now: &HomeFiles, before: &HomeFiles) -> Vec<String> {
        now.words(&now.changes_since(before))
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_was_added_changed_and_removed_is_told_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let now = || HomeFiles::with(&places(home), &nothing_set);
        write(&home.join(".gitconfig"), "[user]\n");
        write(&home.join(".npmrc"), "a=b\n");
        write(&home.join(".local/lib/python3.12/site-packages/a.pth"), "");
        write(&home.join(".config/git/ignore"), "build\n");
        write(&home.join(".wgetrc"), "a\n");
        let before = now();
        assert_eq!(changed_since(&now(), &before), Vec::<String>::new());
        let lines = before.lines("run");
        let since = |lines: &[String]| now().words(&now().changes_since_lines(lines, "run", None));
        assert_eq!(since(&lines), Vec::<String>::new());
        assert_ne!(lines, before.lines("another run"));

        // As long as before, with the old times: the content counts.
        let time = fs::metadata(home.join(".gitconfig")).unwrap().modified().unwrap();
        write(&home.join(".gitconfig"), "[core]\n");
        fs::File::options().write(true).open(home.join(".gitconfig")).unwrap().set_modified(time).unwrap();
        fs::remove_file(home.join(".npmrc")).unwrap();
        write(&home.join(".local/lib/python3.12/site-packages/b\n.pth"), "import os");
        write(&home.join(".config/git/attributes"), "* filter=x\n");
        write(&home.join(".cargo/config.toml"), "");
        write(&home.join(".cache/anything"), "");
        fs::set_permissions(home.join(".wgetrc"), fs::Permissions::from_mode(0o000)).unwrap();
        assert_eq!(
            changed_since(&now(), &before),
            [
                "~/.cargo/config.toml was added",
                "~/.config/git/attributes was added",
                "~/.gitconfig was changed",
                "~/.local/lib/python3.12/site-packages/b\\n.pth was added",
                "~/.npmrc was removed",
                "~/.wgetrc was changed",
            ]
        );
        let said = since(&lines);
        assert_eq!(said.len(), 6, "{said:?}");
        assert!(
            said.contains(&"~/.local/lib/python*/site-packages has other files than before".to_owned()),
            "{said:?}"
        );
        // What was there already when a run began is no news of it, whether it was looked at then or not.
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let said = now().words(&now().changes_since_lines(&lines, "run", Some(later)));
        assert!(!said.iter().any(|what| what.contains("was added")), "{said:?}");
    }

    #[test]
    fn trees_are_told_apart_by_times_and_sizes_and_their_changes_are_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let set = |name: &str| match name {
            "VIRTUAL_ENV" => Some(home.join("checkout/venv").into_os_string()),
            "PYTHONPATH" => {
                Some(std::env::join_paths([home.join("py"), "src".into(), home.join("checkout/src")]).unwrap())
            }
            "PATH" => Some(std::env::join_paths([home.join("bin"), "/usr/bin".into(), home.clone()]).unwrap()),
            _ => None,
        };
        let now = || HomeFiles::with(&places(&home), &set);
        let site = home.join("checkout/venv/lib/python3.12/site-packages");
        write(&site.join("a/deep/module.py"), "1");
        write(
            &site.join("dev.pth"),
            &format!(
                "{}
import os
../nothing
",
                home.join("lib/mine").display()
            ),
        );
        write(&home.join("lib/mine/mine.py"), "1");
        write(&home.join("py/x.py"), "1");
        write(&home.join("bin/tool"), "1");
        fs::set_permissions(home.join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::hard_link(site.join("a/deep/module.py"), home.join("shared.py")).unwrap();
        let before = now();
        let lines = before.lines("r");

        // What is there at ordinary work: caches, the checkout, another name of a file, what no program is.
        write(&site.join("a/__pycache__/module.pyc"), "2");
        write(&home.join("checkout/src/own.py"), "2");
        write(&home.join("bin/notes.txt"), "2");
        write(&home.join("tool2"), "2");
        fs::hard_link(site.join("a/deep/module.py"), home.join("shared again.py")).unwrap();
        assert_eq!(changed_since(&now(), &before), Vec::<String>::new());
        assert_eq!(now().changes_since_lines(&lines, "r", None), []);

        // As long as before, with the old times.
        let time = fs::metadata(home.join("py/x.py")).unwrap().modified().unwrap();
        write(&home.join("py/x.py"), "2");
        fs::File::options().write(true).open(home.join("py/x.py")).unwrap().set_modified(time).unwrap();
        write(&home.join("lib/mine/sitecustomize.py"), "2");
        write(&site.join("sitecustomize.py"), "2");
        fs::remove_file(site.join("a/deep/module.py")).unwrap();
        write(&home.join("bin/tool"), "22");
        assert_eq!(
            changed_since(&now(), &before),
            [
                "~/bin/tool was changed",
                "~/checkout/venv/lib/python3.12/site-packages/sitecustomize.py was added (1 more change in ~/checkout/venv)",
                "~/lib/mine/sitecustomize.py was added",
                "~/py/x.py was changed",
            ]
        );
        assert_eq!(now().words(&now().changes_since_lines(&lines, "r", None)).len(), 4);
    }

    #[test]
    fn what_is_above_a_room_counts_wherever_that_is_and_what_settings_name_too() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let now = || HomeFiles::with(&places(&home), &nothing_set);
        write(
            &home.join(".bashrc"),
            ". ~/shell/env.sh
",
        );
        write(
            &home.join("shell/env.sh"),
            ". \"$HOME/shell/more.sh\"
HISTFILE=~/.bash_history
",
        );
        let before = now();
        let above = home.join("state/reflexion").join(ROOMS);
        write(&above.join("node_modules/same/index.js"), "1");
        write(&home.join("state/.cargo/config.toml"), "1");
        write(&home.join("state/reflexion/conftest.py"), "1");
        write(&home.join("package.json"), "1");
        write(&home.join("shell/more.sh"), "1");
        write(&home.join(".bash_history"), "1");
        write(&home.join("state/reflexion/trust.jsonl"), "1");
        write(&above.join("room1/conftest.py"), "1");
        assert_eq!(
            changed_since(&now(), &before),
            [
                "~/package.json was added",
                "~/shell/more.sh was added",
                "~/state/.cargo/config.toml was added",
                "~/state/reflexion/conftest.py was added",
                "~/state/reflexion/rooms/0123456789abcdef/run/node_modules/same/index.js was added",
            ]
        );
    }

    #[test]
    fn in_the_runtimes_own_directories_every_entry_counts_that_it_did_not_make() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let now = || HomeFiles::with(&places(&home), &nothing_set);
        let own = home.join("state/reflexion");
        write(&own.join("unknown.toml"), "1");
        let before = now();
        for made in [
            "trust.jsonl",
            "key",
            "asked/x",
            "home/x",
            "records/x",
            "repositories/x",
            "rooms/fedcba9876543210/run/room-1/x",
        ] {
            write(&own.join(made), "1");
        }
        write(&own.join(".reflexion-replacing-0.tmp"), "1");
        write(&own.join(ROOMS).join("room-1/new.toml"), "1");
        write(&own.join("rooms/0123456789abcdef/.sandbox/x"), "1");
        assert_eq!(changed_since(&now(), &before), Vec::<String>::new());
        write(&own.join("new.toml"), "1");
        write(&own.join("rooms/.new.toml"), "1");
        write(&own.join("rooms/0123456789abcdef/plugins/x.py"), "1");
        write(&own.join("unknown.toml"), "2");
        assert_eq!(
            changed_since(&now(), &before),
            [
                "~/state/reflexion/new.toml was added",
                "~/state/reflexion/rooms/.new.toml was added",
                "~/state/reflexion/rooms/0123456789abcdef/plugins was added",
                "~/state/reflexion/unknown.toml was changed",
            ]
        );
    }

    #[test]
    fn a_link_counts_by_where_it_leads_and_by_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let now = || HomeFiles::with(&places(home), &nothing_set);
        write(&home.join("dotfiles/git/config"), "a");
        write(&home.join("other/git/config"), "a");
        symlink(home.join("dotfiles"), home.join(".config")).unwrap();
        symlink("dotfiles/git/config", home.join(".npmrc")).unwrap();
        symlink("nothing", home.join(".curlrc")).unwrap();
        let before = now();
        write(&home.join("dotfiles/git/config"), "b");
        assert_eq!(changed_since(&now(), &before), ["~/.config/git/config was changed", "~/.npmrc was changed"]);
        let before = now();
        fs::remove_file(home.join(".npmrc")).unwrap();
        symlink("other/git/config", home.join(".npmrc")).unwrap();
        write(&home.join("other/git/config"), "b");
        write(&home.join("nothing"), "");
        assert_eq!(changed_since(&now(), &before), ["~/.curlrc was changed", "~/.npmrc was changed"]);
    }

    #[test]
    fn a_pipe_and_a_huge_file_do_not_hold_it_up() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let now = || HomeFiles::with(&places(home), &nothing_set);
        let made = std::process::Command::new("mkfifo").arg(home.join(".gitconfig")).status().unwrap();
        assert!(made.success());
        symlink("/dev/zero", home.join(".npmrc")).unwrap();
        let huge = fs::File::create(home.join(".wgetrc")).unwrap();
        huge.set_len(64 << 30).unwrap();
        let before = now();
        assert_eq!(changed_since(&now(), &before), Vec::<String>::new());
        // Beyond what is digested.
        std::os::unix::fs::FileExt::write_all_at(&huge, b"x", 1 << 30).unwrap();
        fs::remove_file(home.join(".gitconfig")).unwrap();
        write(&home.join(".gitconfig"), "");
        assert_eq!(changed_since(&now(), &before), ["~/.gitconfig was changed", "~/.wgetrc was changed"]);
    }

    #[test]
    fn the_environment_says_where_files_are() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let elsewhere = dir.path().join("elsewhere");
        let set = |name: &str| match name {
            "CARGO_HOME" | "PYTHONUSERBASE" => Some(elsewhere.clone().into_os_string()),
            "GIT_CONFIG_GLOBAL" => Some(elsewhere.join("mine").into_os_string()),
            "XDG_CONFIG_HOME" => Some("relative".into()),
            _ => None,
        };
        let before = HomeFiles::with(&places(&home), &set);
        assert!(before.found.is_empty());
        for path in ["config.toml", "mine", "lib/python3.9/site-packages/usercustomize.py", "other"] {
            write(&elsewhere.join(path), "x");
        }
        write(&home.join(".config/pip/pip.conf"), "x");
        let now = HomeFiles::with(&places(&home), &set);
        let names: Vec<PathBuf> = now.trees.values().flat_map(|tree| tree.files.keys().map(PathBuf::from)).collect();
        assert_eq!(names, [elsewhere.join("lib/python3.9/site-packages/usercustomize.py")]);
        let names: Vec<PathBuf> = now.found.into_keys().collect();
        let expected = ["config.toml", "mine"];
        let expected = expected.map(|path| elsewhere.join(path)).into_iter().chain([home.join(".config/pip/pip.conf")]);
        assert_eq!(names, expected.collect::<Vec<_>>());
    }
}
