//! Reading a package's directory: files, subdirectories, and what `.gitignore` says of generated ones.

use std::io;
use std::path::{Path, PathBuf};

/// Directories that are never packages of the project: generated, third-party, or made to fail.
const SKIPPED: [&str; 14] = [
    "node_modules",
    "target",
    "vendor",
    "third_party",
    "dist",
    "build",
    "out",
    "venv",
    "env",
    "fixtures",
    "testdata",
    "examples",
    "fuzz",
    "__pycache__",
];

/// Directories that hold packages rather than being one.
const CONTAINERS: [&str; 8] = ["packages", "apps", "crates", "libs", "services", "modules", "projects", "cmd"];

/// A directory that may belong to a toolchain.
#[derive(Debug, Clone)]
pub(super) struct Package {
    dir: PathBuf,
}

/// The text of a regular file of ordinary length: a clone may have a device, a pipe or a link to one in its place.
fn text_of(path: &Path) -> Option<String> {
    const MOST_BYTES: u64 = 8 << 20;
    let data = std::fs::metadata(path).ok()?;
    (data.is_file() && data.len() <= MOST_BYTES).then(|| std::fs::read_to_string(path).ok())?
}

impl Package {
    /// A package in this directory.
    pub(super) fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Whether there is a file or directory of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    /// The text of a file; nothing if there is none or it is no text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        text_of(&self.dir.join(name))
    }

    /// The names of the files here that `wanted` accepts, sorted; nothing if the directory cannot be read.
    pub(super) fn files(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut names = entries(&self.dir, |kind| kind.is_file()).unwrap_or_default();
        names.retain(|name| wanted(name));
        names
    }

    /// Text files at most `depth` directories below, with their paths from here, sorted; directories that are
    /// generated or third-party are left out.
    pub(super) fn files_below(&self, depth: usize, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let own = |entry: &walkdir::DirEntry| {
            let name = entry.file_name().to_string_lossy();
            let directory = entry.file_type().is_dir() && entry.depth() > 0;
            !(directory && (name.starts_with('.') || SKIPPED.contains(&&*name)))
        };
        walkdir::WalkDir::new(&self.dir)
            .max_depth(depth + 1)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(own)
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_file() && wanted(&entry.file_name().to_string_lossy()))
            .filter_map(|entry| Some(entry.path().strip_prefix(&self.dir).ok()?.to_str()?.to_owned()))
            .collect()
    }

    /// The packages one level below, with their paths from here: its directories, and those of `packages/` and the
    /// like.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub(super) fn below(&self) -> io::Result<Vec<(String, Self)>> {
        let mut all = Vec::new();
        for name in self.directories()? {
            let inner = Self::new(self.dir.join(&name));
            if CONTAINERS.contains(&name.as_str()) {
                // One that cannot be listed has no packages for us.
                let names = inner.directories().unwrap_or_default();
                all.extend(names.into_iter().map(|n| (format!("{name}/{n}"), Self::new(inner.dir.join(n)))));
            }
            all.push((name, inner));
        }
        Ok(all)
    }

    fn directories(&self) -> io::Result<Vec<String>> {
        let mut names = entries(&self.dir, |kind| kind.is_dir())?;
        // A package's tests belong to it, whatever they contain.
        let own = |name: &str| matches!(name, "test" | "tests");
        names.retain(|name| !name.starts_with('.') && !own(name) && !SKIPPED.contains(&name.as_str()));
        Ok(names)
    }

    /// Whether a `.gitignore` here or above (up to the repository's root) names the path. Reads plain lines only; what
    /// it does not understand counts as not ignored.
    pub(super) fn ignores(&self, name: &str) -> bool {
        for dir in self.dir.ancestors() {
            let text = text_of(&dir.join(".gitignore")).unwrap_or_default();
            let plain = |line: &str| line.trim().trim_start_matches("**/").trim_matches('/') == name;
            if text.lines().any(plain) {
                return true;
            }
            if dir.join(".git").exists() {
                break;
            }
        }
        false
    }
}

fn entries(dir: &Path, wanted: impl Fn(std::fs::FileType) -> bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // A name that is no text could not stand in project.json.
        if let (true, Ok(name)) = (wanted(entry.file_type()?), entry.file_name().into_string()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
