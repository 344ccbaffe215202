//! The list of `config/home_files.toml`.

use super::HomePlaces;
use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What the environment says.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// As it is written; a test reads it.
static LIST: LazyLock<List> = LazyLock::new(|| read().unwrap_or_default());
/// As it is used.
pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(&LIST));

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// What a variable stands for where it is not set.
    places: BTreeMap<String, String>,
    /// Files, by tool.
    tools: BTreeMap<String, Vec<String>>,
    names: Names,
    upwards: Upwards,
    trees: Trees,
}

/// Files that name others.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    /// Whose files do.
    tools: Vec<String>,
    /// Names of what is written at ordinary work.
    left_out: Vec<String>,
}

/// What is looked for in every directory above a clean room.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Upwards {
    files: Vec<String>,
    trees: Vec<String>,
}

/// Directories.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trees {
    environments: Vec<String>,
    modules: Vec<String>,
    packages: Vec<String>,
    programs: Vec<String>,
    left_out: Vec<String>,
}

fn read() -> Result<List, toml::de::Error> {
    toml::from_str(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/home_files.toml")))
}

/// The patterns of the list.
pub(super) struct Patterns {
    /// Of files.
    pub files: Vec<Pattern>,
    /// Of files that name others.
    pub naming: Vec<Pattern>,
    /// Of what these name, what does not count.
    pub not_named: GlobSet,
    /// Names above a room.
    above: GlobSet,
    /// The same in directories there.
    above_deeper: Vec<Vec<Part>>,
    trees_above: Vec<&'static str>,
    /// Of directories, with what counts in them.
    trees: Vec<(Pattern, Within)>,
    /// What does not count in them, by its name.
    not_in_trees: GlobSet,
    /// The same by its path from the tree's root.
    not_below_trees: GlobSet,
}

/// What counts in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// Everything, also where it is the user's checkout.
    Environment,
    /// Everything.
    All,
    /// What lies directly in it.
    Names,
    /// The programs that lie directly in it.
    Programs,
}

impl Patterns {
    fn of(list: &'static List) -> Self {
        let patterns = |texts: &'static Vec<String>| texts.iter().map(|text| Pattern::read(text));
        let (naming, plain): (Vec<_>, Vec<_>) =
            list.tools.iter().partition(|(tool, _)| list.names.tools.contains(tool));
        let files = |tools: Vec<(&String, &'static Vec<String>)>| {
            tools.into_iter().flat_map(|(_, texts)| patterns(texts)).collect::<Vec<_>>()
        };
        let (deeper, names): (Vec<&String>, Vec<&String>) =
            list.upwards.files.iter().partition(|text| text.contains('/'));
        let trees = [
            (&list.trees.environments, Within::Environment),
            (&list.trees.modules, Within::All),
            (&list.trees.programs, Within::Programs),
            (&list.trees.packages, Within::Names),
        ];
        let (from_root, by_name): (Vec<&String>, Vec<&String>) =
            list.trees.left_out.iter().partition(|text| text.starts_with('/'));
        Self {
            files: files(plain),
            naming: files(naming),
            not_named: globs(list.names.left_out.iter().map(String::as_str)),
            above: globs(names.into_iter().map(String::as_str)),
            above_deeper: deeper.into_iter().map(|text| parts(text)).collect(),
            trees_above: list.upwards.trees.iter().map(String::as_str).collect(),
            trees: trees
                .into_iter()
                .flat_map(|(texts, within)| patterns(texts).map(move |pattern| (pattern, within)))
                .collect(),
            not_in_trees: globs(by_name.into_iter().map(String::as_str)),
            not_below_trees: globs(from_root.into_iter().filter_map(|text| text.strip_prefix('/'))),
        }
    }

    /// The files above a room, in one of the directories there.
    pub(super) fn above(&self, dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let named = entries.filter(|entry| self.above.is_match(entry.file_name())).map(|entry| entry.path());
        let deeper = self.above_deeper.iter().flat_map(|parts| expand(parts, dir.to_owned()));
        named.chain(deeper).collect()
    }

    /// Which trees there are: the pattern with its variable's value, what counts in it, and the directories that it stands for. A pattern
    /// whose variable is set is there even where nothing lies.
    pub(super) fn trees(&self, places: &HomePlaces, variables: Variables<'_>) -> Vec<(PathBuf, Within, Vec<PathBuf>)> {
        let by_list = self.trees.iter().flat_map(|(pattern, within)| {
            let starts = pattern.starts(places.home(), variables);
            starts.into_iter().map(|start| (pattern.shown(&start), *within, pattern.expand(start)))
        });
        let above = places.above();
        let by_place = above.iter().flat_map(|dir| self.trees_above.iter().map(|name| dir.join(name)));
        by_list.chain(by_place.map(|dir| (dir.clone(), Within::All, vec![dir]))).collect()
    }

    /// Whether a name above a room is that of a tree.
    pub(super) fn is_tree_above(&self, name: &OsStr) -> bool {
        self.trees_above.iter().any(|tree| name == *tree)
    }

    /// Whether something in a tree does not count, by its name.
    pub(super) fn is_left_out(&self, name: &OsStr) -> bool {
        self.not_in_trees.is_match(name)
    }

    /// The same by its path from the tree's root, of one or two names.
    pub(super) fn is_left_out_below(&self, below: &Path) -> bool {
        self.not_below_trees.is_match(below)
    }
}

fn globs<'a>(texts: impl Iterator<Item = &'a str>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    texts.filter_map(|text| Glob::new(text).ok()).for_each(|glob| _ = set.add(glob));
    set.build().unwrap_or_default()
}

/// Where something may be.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The variable that it begins with; none: the home directory.
    variable: Option<&'static str>,
    parts: Vec<Part>,
}

/// One name of a path.
#[derive(Debug)]
enum Part {
    Name(&'static str),
    Any(&'static str, GlobMatcher),
}

impl Pattern {
    pub(super) fn read(text: &'static str) -> Self {
        let (first, rest) = text.split_once('/').unwrap_or((text, ""));
        Self { variable: first.strip_prefix('$'), parts: parts(rest) }
    }

    /// Where it begins; none if its variable is not set and has no place.
    fn start(&self, home: &Path, variables: Variables<'_>) -> Option<PathBuf> {
        let Some(name) = self.variable else { return Some(home.to_owned()) };
        let set = variables(name).map(PathBuf::from).filter(|path| path.is_absolute());
        set.or_else(|| place(name, home))
    }

    /// The same where the variable holds a list.
    fn starts(&self, home: &Path, variables: Variables<'_>) -> BTreeSet<PathBuf> {
        let Some(name) = self.variable else { return BTreeSet::from([home.to_owned()]) };
        let set = variables(name).unwrap_or_default();
        let set: BTreeSet<PathBuf> = std::env::split_paths(&set).filter(|path| path.is_absolute()).collect();
        if set.is_empty() { place(name, home).into_iter().collect() } else { set }
    }

    /// The paths that it stands for.
    pub(super) fn paths(&self, home: &Path, variables: Variables<'_>) -> Vec<PathBuf> {
        self.start(home, variables).map(|start| self.expand(start)).unwrap_or_default()
    }

    fn expand(&self, base: PathBuf) -> Vec<PathBuf> {
        expand(&self.parts, base)
    }

    /// As it is written, from where it begins.
    fn shown(&self, start: &Path) -> PathBuf {
        let names = self.parts.iter().map(|part| match part {
            Part::Name(name) | Part::Any(name, _) => name,
        });
        names.fold(start.to_owned(), |path, name| path.join(name))
    }

    /// Where it is below the home directory, as far as it is one path; none where a variable without a place names it.
    #[cfg(test)]
    fn below_home(&self) -> Option<PathBuf> {
        let start = self.start(Path::new("~"), &|_| None)?;
        let names = self.parts.iter().map_while(|part| match part {
            Part::Name(name) => Some(*name),
            Part::Any(..) => None,
        });
        Some(names.fold(start, |path, name| path.join(name)).strip_prefix("~").ok()?.to_owned())
    }
}

/// Where the files and trees of the list are below the home directory.
#[cfg(test)]
pub(in crate::host) fn below_home() -> Vec<PathBuf> {
    let trees = PATTERNS.trees.iter().map(|(pattern, _)| pattern);
    let below = PATTERNS.files.iter().chain(&PATTERNS.naming).chain(trees).filter_map(Pattern::below_home);
    below.filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Where it is that a variable stands for which is not set.
fn place(variable: &str, home: &Path) -> Option<PathBuf> {
    LIST.places.get(variable).and_then(|place| place.strip_prefix("~/")).map(|place| home.join(place))
}

fn parts(text: &'static str) -> Vec<Part> {
    let part = |part| matcher(part).map_or(Part::Name(part), |matcher| Part::Any(part, matcher));
    text.split('/').filter(|part| !part.is_empty()).map(part).collect()
}

/// The paths that may be there, and of `*` those that are.
fn expand(parts: &[Part], base: PathBuf) -> Vec<PathBuf> {
    parts.iter().fold(vec![base], |paths, part| match part {
        Part::Name(name) => paths.into_iter().map(|path| path.join(name)).collect(),
        Part::Any(_, matcher) => paths.iter().flat_map(|path| entries(path, matcher)).collect(),
    })
}

pub(super) fn matcher(part: &str) -> Option<GlobMatcher> {
    if !part.contains('*') {
        return None;
    }
    Some(GlobBuilder::new(part).literal_separator(true).build().ok()?.compile_matcher())
}

pub(super) fn entries(dir: &Path, matcher: &GlobMatcher) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| matcher.is_match(entry.file_name())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_and_its_patterns_begin_where_they_may() {
        let list = read().unwrap();
        let trees = [&list.trees.environments, &list.trees.modules, &list.trees.packages, &list.trees.programs];
        for pattern in list.tools.values().chain(trees).flatten() {
            let is_below = pattern.starts_with("~/") || pattern.starts_with('$');
            assert!(is_below && !pattern.contains(".."), "{pattern}");
            for part in pattern.split('/').filter(|part| part.contains('*')) {
                assert!(matcher(part).is_some(), "{pattern}");
            }
        }
        for name in list.upwards.files.iter().chain(&list.names.left_out).chain(&list.trees.left_out) {
            assert!(Glob::new(name).is_ok() && !name.contains("..") && !name.starts_with('~'), "{name}");
        }
        assert!(list.places.values().all(|place| place.starts_with("~/")));
        for tool in &list.names.tools {
            assert!(list.tools.contains_key(tool), "{tool}");
        }
    }
}
