//! Files in the home directory that steer the tools of a check.
//!
//! A check that is made from a recorded tree alone still reads them: git's settings, cargo's, what every Python imports. Which
//! they are stands in `config/home_files.toml`.

use super::git_names;
use globset::GlobBuilder;
use globset::GlobMatcher;
use serde::Deserialize;
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::LazyLock;

/// So much of a file is digested; of a longer one, its length and the time of its last change are compared beside that.
const CAP: u64 = 256 << 10;

/// Where git's own settings of a user are, which name other files.
const GIT_SETTINGS: [&str; 3] = ["$GIT_CONFIG_GLOBAL", "~/.gitconfig", "$XDG_CONFIG_HOME/git/config"];

/// The list of `config/home_files.toml`; a test reads it.
static LIST: LazyLock<List> = LazyLock::new(|| read_list().unwrap_or_default());
/// Its patterns.
static PATTERNS: LazyLock<Vec<Pattern>> =
    LazyLock::new(|| LIST.tools.values().flatten().map(|text| Pattern::read(text)).collect());

/// Where files may be.
#[derive(Debug)]
struct Pattern {
    /// The variable that it begins with; none: the home directory.
    variable: Option<&'static str>,
    parts: Vec<Part>,
}

/// One name of a path.
#[derive(Debug)]
enum Part {
    Name(&'static str),
    Any(GlobMatcher),
}

impl Pattern {
    fn read(text: &'static str) -> Self {
        let (first, rest) = text.split_once('/').unwrap_or((text, ""));
        let part = |part| matcher(part).map_or(Part::Name(part), Part::Any);
        let parts = rest.split('/').filter(|part| !part.is_empty()).map(part).collect();
        Self { variable: first.strip_prefix('$'), parts }
    }

    /// Where it is below the home directory, as far as it is one path; none where a variable without a place names it.
    #[cfg(test)]
    fn below_home(&self) -> Option<PathBuf> {
        let nothing_set = |_: &str| None;
        let start = self.start(Path::new("~"), &nothing_set)?;
        let names = self.parts.iter().map_while(|part| match part {
            Part::Name(name) => Some(*name),
            Part::Any(_) => None,
        });
        Some(names.fold(start, |path, name| path.join(name)).strip_prefix("~").ok()?.to_owned())
    }

    /// Where it begins; none if its variable is not set and has no place.
    fn start(&self, home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let Some(name) = self.variable else { return Some(home.to_owned()) };
        let set = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let place = || LIST.places.get(name).and_then(|place| place.strip_prefix("~/")).map(|place| home.join(place));
        set.or_else(place)
    }

    /// The paths that it stands for: those that may be there, and of `*` those that are.
    fn expand(&self, base: PathBuf) -> Vec<PathBuf> {
        let mut paths = vec![base];
        for part in &self.parts {
            paths = match part {
                Part::Name(name) => paths.into_iter().map(|path| path.join(name)).collect(),
                Part::Any(matcher) => paths.iter().flat_map(|path| entries(path, matcher)).collect(),
            };
        }
        paths
    }
}

/// Where the files of the list are below the home directory.
#[cfg(test)]
pub(in crate::host) fn below_home() -> Vec<PathBuf> {
    let below = PATTERNS.iter().filter_map(Pattern::below_home);
    below.filter(|path| !path.as_os_str().is_empty()).collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// What a variable stands for where it is not set.
    places: BTreeMap<String, String>,
    /// Patterns, by tool.
    tools: BTreeMap<String, Vec<String>>,
}

fn read_list() -> Result<List, toml::de::Error> {
    toml::from_str(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/home_files.toml")))
}

/// The files in the home directory that steer tools, as they are at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HomeFiles {
    home: PathBuf,
    found: BTreeMap<PathBuf, Found>,
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
    /// Looks at the files below this home directory, and at those that the environment names instead.
    ///
    /// What cannot be read counts as it is. Blocks for some milliseconds, and never on a pipe or a device.
    #[must_use]
    pub fn now(home: &Path) -> Self {
        Self::with(home, &|name| std::env::var_os(name))
    }

    fn with(home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let expand = |pattern: &Pattern| pattern.start(home, variable).map(|base| pattern.expand(base));
        let mut paths: BTreeSet<PathBuf> = PATTERNS.iter().filter_map(expand).flatten().collect();
        let settings = GIT_SETTINGS.iter().filter_map(|text| expand(&Pattern::read(text))).flatten();
        paths.extend(git_names::of(settings, home));
        let found = paths.into_iter().filter_map(|path| Found::at(&path).map(|what| (path, what))).collect();
        Self { home: home.to_owned(), found }
    }

    /// What differs from before, in words: `~/.gitconfig was changed`. Nothing: these files steer as they did.
    #[must_use]
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        differences(&before.by_name(Clone::clone), &self.by_name(Clone::clone))
    }

    /// A line for each file, which says what it is without its content: `0123456789abcdef ~/.gitconfig`. The same files give the same
    /// lines with the same salt, and others with another one.
    #[must_use]
    pub fn lines(&self, salt: &str) -> Vec<String> {
        self.digests(salt).into_iter().map(|(name, digest)| format!("{digest} {name}")).collect()
    }

    /// What differs from when these [lines](Self::lines) were made, in words.
    #[must_use]
    pub fn changed_since_lines(&self, lines: &[String], salt: &str) -> Vec<String> {
        let pair = |line: &String| line.split_once(' ').map(|(digest, name)| (name.to_owned(), digest.to_owned()));
        differences(&lines.iter().filter_map(pair).collect(), &self.digests(salt))
    }

    fn digests(&self, salt: &str) -> BTreeMap<String, String> {
        self.by_name(|found| short_digest(&format!("{salt} {found:?}")))
    }

    fn by_name<T>(&self, what: impl Fn(&Found) -> T) -> BTreeMap<String, T> {
        self.found.iter().map(|(path, found)| (self.name(path), what(found))).collect()
    }

    /// The path as a person writes it; a name may contain anything.
    fn name(&self, path: &Path) -> String {
        let path = match path.strip_prefix(&self.home) {
            Ok(below) => Path::new("~").join(below),
            Err(_) => path.to_owned(),
        };
        path.to_string_lossy().escape_debug().to_string()
    }
}

fn short_digest(text: &str) -> String {
    let number = Sha256::digest(text)[..8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{number:016x}")
}

/// What was added, changed and removed, by name.
fn differences<T: PartialEq>(before: &BTreeMap<String, T>, now: &BTreeMap<String, T>) -> Vec<String> {
    let said = now.iter().filter_map(|(name, now)| match before.get(name) {
        None => Some(format!("{name} was added")),
        Some(was) => (was != now).then(|| format!("{name} was changed")),
    });
    let removed = before.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("{name} was removed"));
    let mut said: Vec<String> = said.chain(removed).collect();
    said.sort();
    said
}

fn matcher(part: &str) -> Option<GlobMatcher> {
    if !part.contains('*') {
        return None;
    }
    Some(GlobBuilder::new(part).literal_separator(true).build().ok()?.compile_matcher())
}

fn entries(dir: &Path, matcher: &GlobMatcher) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| matcher.is_match(entry.file_name())).map(|entry| entry.path()).collect()
}

impl Found {
    /// None: nothing is there.
    fn at(path: &Path) -> Option<Self> {
        use std::io::ErrorKind::NotADirectory;
        use std::io::ErrorKind::NotFound;
        let link = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => std::fs::read_link(path).ok(),
            Ok(_) => None,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
            Err(_) => return Some(Self { link: None, kind: Kind::Unknown }),
        };
        // What a link leads to is what the tool reads.
        let kind = path.metadata().map_or(Kind::Unknown, |metadata| Kind::of(path, &metadata));
        Some(Self { link, kind })
    }
}

impl Kind {
    fn of(path: &Path, metadata: &Metadata) -> Self {
        let mode = metadata.mode();
        if metadata.is_dir() {
            return Self::Directory;
        }
        if !metadata.is_file() {
            return Self::Special { mode };
        }
        let length = metadata.len();
        let changed = (length > CAP).then(|| (metadata.ctime(), metadata.ctime_nsec()));
        Self::File { mode, length, digest: digest(path), changed }
    }
}

/// Of the beginning of a file. What became a pipe meanwhile ends at once.
fn digest(path: &Path) -> Option<[u8; 32]> {
    let without_waiting = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(without_waiting.bits()).ok()?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(CAP).read_to_end(&mut bytes).ok()?;
    Some(Sha256::digest(&bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    fn nothing_set(_: &str) -> Option<OsString> {
        None
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_list_is_read_and_its_patterns_begin_where_they_may() {
        let list = read_list().unwrap();
        for (tool, patterns) in &list.tools {
            for pattern in patterns {
                let is_below = pattern.starts_with("~/") || pattern.starts_with('$');
                assert!(is_below && !pattern.contains(".."), "{tool}: {pattern}");
                for part in pattern.split('/').filter(|part| part.contains('*')) {
                    assert!(matcher(part).is_some(), "{tool}: {pattern}");
                }
            }
        }
        assert!(list.places.values().all(|place| place.starts_with("~/")));
    }

    #[test]
    fn what_was_added_changed_and_removed_is_told_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let now = || HomeFiles::with(home, &nothing_set);
        write(&home.join(".gitconfig"), "[user]\n");
        write(&home.join(".npmrc"), "a=b\n");
        write(&home.join(".local/lib/python3.12/site-packages/a.pth"), "");
        write(&home.join(".config/git/ignore"), "build\n");
        write(&home.join(".wgetrc"), "a\n");
        let before = now();
        assert_eq!(now().changed_since(&before), Vec::<String>::new());
        let lines = before.lines("run");
        assert_eq!(now().changed_since_lines(&lines, "run"), Vec::<String>::new());
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
            now().changed_since(&before),
            [
                "~/.cargo/config.toml was added",
                "~/.config/git/attributes was added",
                "~/.gitconfig was changed",
                "~/.local/lib/python3.12/site-packages/b\\n.pth was added",
                "~/.npmrc was removed",
                "~/.wgetrc was changed",
            ]
        );
        assert_eq!(now().changed_since_lines(&lines, "run"), now().changed_since(&before));
    }

    #[test]
    fn a_link_counts_by_where_it_leads_and_by_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let now = || HomeFiles::with(home, &nothing_set);
        write(&home.join("dotfiles/git/config"), "a");
        write(&home.join("other/git/config"), "a");
        symlink(home.join("dotfiles"), home.join(".config")).unwrap();
        symlink("dotfiles/git/config", home.join(".npmrc")).unwrap();
        symlink("nothing", home.join(".curlrc")).unwrap();
        let before = now();
        write(&home.join("dotfiles/git/config"), "b");
        assert_eq!(now().changed_since(&before), ["~/.config/git/config was changed", "~/.npmrc was changed"]);
        let before = now();
        fs::remove_file(home.join(".npmrc")).unwrap();
        symlink("other/git/config", home.join(".npmrc")).unwrap();
        write(&home.join("other/git/config"), "b");
        write(&home.join("nothing"), "");
        assert_eq!(now().changed_since(&before), ["~/.curlrc was changed", "~/.npmrc was changed"]);
    }

    #[test]
    fn a_pipe_and_a_huge_file_do_not_hold_it_up() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let now = || HomeFiles::with(home, &nothing_set);
        let made = std::process::Command::new("mkfifo").arg(home.join(".gitconfig")).status().unwrap();
        assert!(made.success());
        symlink("/dev/zero", home.join(".npmrc")).unwrap();
        let huge = fs::File::create(home.join(".wgetrc")).unwrap();
        huge.set_len(64 << 30).unwrap();
        let before = now();
        assert_eq!(now().changed_since(&before), Vec::<String>::new());
        // Beyond what is digested.
        std::os::unix::fs::FileExt::write_all_at(&huge, b"x", 1 << 30).unwrap();
        fs::remove_file(home.join(".gitconfig")).unwrap();
        write(&home.join(".gitconfig"), "");
        assert_eq!(now().changed_since(&before), ["~/.gitconfig was changed", "~/.wgetrc was changed"]);
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
        let before = HomeFiles::with(&home, &set);
        assert!(before.found.is_empty());
        for path in ["config.toml", "mine", "lib/python3.9/site-packages/usercustomize.py", "other"] {
            write(&elsewhere.join(path), "x");
        }
        write(&home.join(".config/pip/pip.conf"), "x");
        let names: Vec<PathBuf> = HomeFiles::with(&home, &set).found.into_keys().collect();
        let expected = ["config.toml", "lib/python3.9/site-packages/usercustomize.py", "mine"];
        let expected = expected.map(|path| elsewhere.join(path)).into_iter().chain([home.join(".config/pip/pip.conf")]);
        assert_eq!(names, expected.collect::<Vec<_>>());
    }
}
