//! Choosing which untracked things of the user are copied into a workspace.

use super::begin::Begun;
use super::host_workspaces::Shared;
use super::layout::blocking;
use crate::host::git;
use crate::services::WorkspaceError;
use globset::Glob;
use globset::GlobBuilder;
use globset::GlobMatcher;
use std::path::Path;
use std::path::PathBuf;

/// The user's untracked paths that every workspace gets.
pub(super) async fn chosen(shared: &Shared, begun: &Begun) -> Result<Vec<PathBuf>, WorkspaceError> {
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

/// The user's `carry` globs.
///
/// A glob is relative to the project and names a path, not a name: `node_modules` is the one beside `project.json`,
/// `**/node_modules` is every one. `*` does not cross a `/`. A matched directory is carried as a whole.
pub(super) struct Carry {
    globs: Vec<(String, GlobMatcher)>,
    limit: u64,
}

impl Carry {
    pub(super) fn new(globs: &[String], limit: u64) -> Result<Self, WorkspaceError> {
        let compile = |text: &String| {
            let path = text.trim_start_matches("./").trim_end_matches('/');
            let path = path.strip_suffix("/**").unwrap_or(path);
            match GlobBuilder::new(path).literal_separator(true).build() {
                Ok(glob) => Ok((text.clone(), Glob::compile_matcher(&glob))),
                Err(error) => Err(WorkspaceError::Unusable(format!("carry glob `{text}`: {error}"))),
            }
        };
        Ok(Self { globs: globs.iter().map(compile).collect::<Result<_, _>>()?, limit })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// The topmost matching paths among the untracked ones below `top`, all relative to it.
    pub(super) fn choose(
        &self,
        top: &Path,
        prefix: &Path,
        untracked: &[PathBuf],
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut chosen = Vec::new();
        let mut bytes = vec![0_u64; self.globs.len()];
        for entry in untracked {
            let mut walk = walkdir::WalkDir::new(top.join(entry)).into_iter();
            while let Some(found) = walk.next() {
                let Ok(found) = found else { continue };
                let Ok(path) = found.path().strip_prefix(top) else {
                    continue;
                };
                let Ok(in_project) = path.strip_prefix(prefix) else {
                    continue;
                };
                if in_project.starts_with("memory") || in_project.starts_with(".reflection") {
                    walk.skip_current_dir();
                    continue;
                }
                if let Some(glob) = self.matching(in_project) {
                    chosen.push(path.to_owned());
                    bytes[glob] += size(found.path());
                    if found.file_type().is_dir() {
                        walk.skip_current_dir();
                    }
                } else if found.file_name() == ".git" {
                    walk.skip_current_dir();
                }
            }
        }
        self.check(&bytes)?;
        Ok(chosen)
    }

    /// The first glob that matches the path or a directory above it.
    fn matching(&self, path: &Path) -> Option<usize> {
        self.globs.iter().position(|(_, glob)| path.ancestors().any(|part| glob.is_match(part)))
    }

    /// More than the limit names the glob that brings the most.
    fn check(&self, bytes: &[u64]) -> Result<(), WorkspaceError> {
        let all: u64 = bytes.iter().sum();
        let most = bytes.iter().zip(&self.globs).max_by_key(|(bytes, _)| **bytes);
        let (Some((bytes, (glob, _))), true) = (most, all > self.limit) else {
            return Ok(());
        };
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        Err(WorkspaceError::Unusable(format!(
            "the carry glob `{glob}` brings {}, with which {} would be copied into every workspace; the limit is {}: \
             carry less, or let `setup` make it, or raise the limit",
            mib(*bytes),
            mib(all),
            mib(self.limit)
        )))
    }
}

fn size(path: &Path) -> u64 {
    walkdir::WalkDir::new(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|meta| meta.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(globs: &[&str], limit: u64) -> Result<Vec<String>, String> {
        let dir = tempfile::tempdir().unwrap();
        for file in ["node_modules/a/x", "p/q/node_modules/y", ".env", "p/.env", "memory/m"] {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "1234").unwrap();
        }
        let globs: Vec<String> = globs.iter().map(|g| (*g).to_owned()).collect();
        let carry = Carry::new(&globs, limit).map_err(|e| e.to_string())?;
        let untracked = ["node_modules", "p", ".env", "memory"].map(PathBuf::from);
        let mut chosen = carry.choose(dir.path(), Path::new(""), &untracked).map_err(|e| e.to_string())?;
        chosen.sort();
        Ok(chosen.iter().map(|p| p.display().to_string()).collect())
    }

    #[test]
    fn globs_name_paths_of_the_project() {
        let check = |globs: &[&str], expected: &[&str]| {
            assert_eq!(chosen(globs, 1000).unwrap(), expected, "{globs:?}");
        };
        check(&["node_modules"], &["node_modules"]);
        check(&["node_modules/**"], &["node_modules"]);
        check(&["./node_modules/", ".env"], &[".env", "node_modules"]);
        check(&["**/node_modules"], &["node_modules", "p/q/node_modules"]);
        check(&["p"], &["p"]);
        check(&["*/.env"], &["p/.env"]);
        check(&["memory"], &[]);
    }

    #[test]
    fn too_much_names_the_glob() {
        let error = chosen(&[".env", "p"], 11).unwrap_err();
        assert!(error.contains("`p`"), "{error}");
        assert!(chosen(&["["], 11).is_err());
    }
}
