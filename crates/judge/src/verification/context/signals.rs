//! What a project's own files say about how it is tested and built.

use super::manifests;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A manifest is read up to so many bytes; real ones are far smaller.
const MAX_BYTES: u64 = 512 * 1024;
/// So many packages of a monorepo are looked at; more say nothing new.
const MAX_PACKAGES: usize = 200;

/// What a project's own files say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositorySignals {
    /// Command lines that test it, the first is the usual one.
    pub tests: Vec<String>,
    /// Command lines that build it.
    pub builds: Vec<String>,
    /// Where that was read, e.g. `Cargo.toml`, `packages/web/package.json`.
    pub found_in: Vec<String>,
}

impl RepositorySignals {
    /// Reads the manifests of a directory and of its workspaces' members. What cannot be read says nothing, and no link
    /// out of the directory is followed. At most 200 packages with 512 KiB a file are read.
    #[must_use]
    pub fn read(dir: &Path) -> Self {
        let mut signals = Self::default();
        let Ok(root) = dir.canonicalize() else { return signals };
        let package = Package { root: root.clone(), place: String::new() };
        manifests::look(&package, &mut signals);
        let members: BTreeSet<String> = manifests::members(&package).into_iter().take(MAX_PACKAGES).collect();
        for place in members {
            manifests::look(&Package { root: root.clone(), place }, &mut signals);
        }
        signals
    }

    /// Notes what was found, once.
    pub(super) fn test(&mut self, line: String) {
        if !self.tests.contains(&line) {
            self.tests.push(line);
        }
    }

    pub(super) fn build(&mut self, line: String) {
        if !self.builds.contains(&line) {
            self.builds.push(line);
        }
    }

    pub(super) fn found(&mut self, file: String) {
        if !self.found_in.contains(&file) {
            self.found_in.push(file);
        }
    }
}

/// A directory with manifests, within the project's.
pub(super) struct Package {
    root: PathBuf,
    /// Relative to the root; empty for the root itself.
    pub(super) place: String,
}

impl Package {
    /// The project's own directory.
    pub(super) fn root(&self) -> Self {
        Self { root: self.root.clone(), place: String::new() }
    }

    /// A path as it is seen from the root.
    pub(super) fn name(&self, path: &str) -> String {
        if self.place.is_empty() { path.to_owned() } else { format!("{}/{path}", self.place) }
    }

    /// A command line as it is given at the root.
    pub(super) fn line(&self, command: &str) -> String {
        if self.place.is_empty() { command.to_owned() } else { format!("cd {} && {command}", self.place) }
    }

    /// The real path, if it lies within the root.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        let real = self.root.join(&self.place).join(path).canonicalize().ok()?;
        real.starts_with(&self.root).then_some(real)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.inside(path).is_some()
    }

    pub(super) fn has_dir(&self, path: &str) -> bool {
        self.inside(path).is_some_and(|path| path.is_dir())
    }

    /// The text of a regular file that is not too large.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let path = self.inside(path)?;
        let metadata = path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES)?;
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
    }

    /// Names of the files here that do not lead out, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let dir = self.inside(".").and_then(|dir| dir.read_dir().ok());
        let names =
            dir.into_iter().flatten().take(5_000).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| self.inside(name).is_some_and(|path| path.is_file())).collect();
        names.sort();
        names
    }

    /// Names of entries, sorted, at most so many; hidden ones and links are left out.
    pub(super) fn entries(&self, path: &str, most: usize) -> Vec<(String, bool)> {
        let Some(dir) = self.inside(if path.is_empty() { "." } else { path }) else { return Vec::new() };
        let Ok(entries) = dir.read_dir() else { return Vec::new() };
        let mut names: Vec<(String, bool)> = entries
            .take(5_000)
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let kind = entry.file_type().ok().filter(|kind| !kind.is_symlink())?;
                Some((entry.file_name().into_string().ok()?, kind.is_dir()))
            })
            .filter(|(name, _)| !name.starts_with('.') && name != "node_modules" && name != "target")
            .collect();
        names.sort();
        names.truncate(most);
        names
    }
}
