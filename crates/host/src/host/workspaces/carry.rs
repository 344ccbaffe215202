//! Choosing which untracked things of the user are copied into a workspace.

use super::layout::blocking;
use super::paths::{inside, is_of_git};
use super::repository::Repository;
use super::whole_paths;
use crate::domain::policy;
use crate::host::git;
use crate::services::WorkspaceError;
use crate::toolchain;
use globset::{Glob, GlobBuilder, GlobMatcher};
use std::fs;
use std::path::{Path, PathBuf};

/// The user's untracked paths that every workspace gets.
pub(super) async fn chosen(policy: &policy::Workspace, repository: &Repository) -> Result<Chosen, WorkspaceError> {
    let carry = Carry::new(&policy.carry, policy.carry_limit_bytes)?;
    if carry.globs.is_empty() {
        return Ok(Chosen::default());
    }
    let list = ["ls-files", "-z", "--others", "--directory"];
    let out = repository.git().call(list).ok().await?;
    let untracked: Vec<PathBuf> = git::paths(&out).collect();
    let (top, prefix) = (repository.top.clone(), repository.prefix.clone());
    blocking(move || carry.choose(&top, &prefix, &untracked)).await
}

/// What `carry` comes to.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The topmost matching paths, from the top of the user's files.
    pub(super) roots: Vec<PathBuf>,
    /// Links in them to directories elsewhere, which are not copied.
    left_out: Vec<PathBuf>,
    /// What belongs to repositories in them, which is not copied either.
    repositories: Vec<PathBuf>,
    /// Globs that match nothing.
    idle: Vec<String>,
}

impl Chosen {
    /// What a person should know of it.
    pub(super) fn said(&self) -> Vec<String> {
        let idle = self.idle.iter().map(|glob| {
            format!(
                "the glob `{glob}` under `carry` matches nothing untracked that is there now: globs start at the project's \
                 directory, and what is tracked is in every workspace anyway"
            )
        });
        let links = self.left_out.iter().map(|link| {
            format!(
                "`{}` leads to a directory elsewhere and is not carried: workspaces share no files with you; let `setup` make it, \
                 or carry a copy",
                link.display()
            )
        });
        let repositories = self.repositories.iter().map(|path| {
            format!(
                "`{}` is not carried, only the files beside it: git in a workspace would work on that repository",
                path.display()
            )
        });
        idle.chain(links).chain(repositories).collect()
    }
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

    /// What matches among the untracked paths below `top`, all relative to it.
    pub(super) fn choose(&self, top: &Path, prefix: &Path, untracked: &[PathBuf]) -> Result<Chosen, WorkspaceError> {
        let mut chosen = Chosen::default();
        let mut found_any = vec![false; self.globs.len()];
        let mut bytes = vec![0_u64; self.globs.len()];
        let project = top.join(prefix);
        for entry in untracked {
            let mut entries = walk(&top.join(entry));
            while let Some(found) = entries.next() {
                let Ok(found) = found else { continue };
                let Ok(path) = found.path().strip_prefix(top) else {
                    continue;
                };
                let Ok(in_project) = path.strip_prefix(prefix) else {
                    continue;
                };
                if in_project.starts_with("memory") || in_project.starts_with(".reflection") {
                    entries.skip_current_dir();
                    continue;
                }
                if let Some(glob) = self.matching(in_project) {
                    chosen.roots.push(path.to_owned());
                    found_any[glob] = true;
                    let mut all_below = walk(found.path());
                    while let Some(below) = all_below.next() {
                        let Ok(below) = below else { continue };
                        // Another glob may name the same, or what is below it.
                        let path = below.path().strip_prefix(&project).unwrap_or(below.path());
                        if is_of_git(path) {
                            chosen.repositories.push(path.to_owned());
                            if below.file_type().is_dir() {
                                all_below.skip_current_dir();
                            }
                            continue;
                        }
                        for (any, (_, glob)) in found_any.iter_mut().zip(&self.globs) {
                            *any = *any || glob.is_match(path);
                        }
                        bytes[glob] += below.metadata().ok().filter(fs::Metadata::is_file).map_or(0, |data| data.len());
                        not_for_the_checkout(top, found.path(), &below)?;
                        if leads_to_dir_elsewhere(&project, &below) {
                            let link = below.path().strip_prefix(&project).unwrap_or(below.path());
                            chosen.left_out.push(link.to_owned());
                        }
                    }
                    if found.file_type().is_dir() {
                        entries.skip_current_dir();
                    }
                } else if found.file_name() == ".git" {
                    entries.skip_current_dir();
                }
            }
        }
        self.check(&bytes)?;
        let idle = self.globs.iter().zip(found_any).filter(|(_, found)| !found);
        chosen.idle = idle.map(|((glob, _), _)| glob.clone()).collect();
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

/// Checks would test the user's own files if a tool found them by a carried file, such as the one of an editable install.
fn not_for_the_checkout(top: &Path, root: &Path, file: &walkdir::DirEntry) -> Result<(), WorkspaceError> {
    if !file.file_type().is_file() || !toolchain::holds_paths(&file.path().to_string_lossy()) {
        return Ok(());
    }
    let Ok(bytes) = fs::read(file.path()) else { return Ok(()) };
    if !whole_paths::lead_to(&bytes, top, root, std::env::home_dir().as_deref()) {
        return Ok(());
    }
    Err(WorkspaceError::Unusable(format!(
        "`carry` brings {}, which leads to your checkout by its whole path: checks would test your files, not the work. Let `setup` make \
         that in each workspace",
        file.path().display()
    )))
}

/// No link is followed, not even one at the path itself.
fn walk(path: &Path) -> walkdir::IntoIter {
    walkdir::WalkDir::new(path).follow_root_links(false).into_iter()
}

fn leads_to_dir_elsewhere(project: &Path, found: &walkdir::DirEntry) -> bool {
    found.path_is_symlink()
        && found.path().is_dir()
        && fs::read_link(found.path()).is_ok_and(|target| inside(project, found.path(), &target).is_none())
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
        let mut chosen = carry.choose(dir.path(), Path::new(""), &untracked).map_err(|e| e.to_string())?.roots;
        chosen.sort();
        Ok(chosen.iter().map(|p| p.display().to_string()).collect())
    }

    #[test]
    fn what_is_not_carried_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let (top, elsewhere) = (dir.path().join("top"), dir.path().join("elsewhere"));
        fs::create_dir_all(top.join("node_modules/own")).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, top.join(name)).unwrap();
        link("../elsewhere", "data");
        link("../../elsewhere", "node_modules/linked");
        link("own", "node_modules/alias");
        let globs = ["data", "node_modules", "node_*", "node_modules/own", "missing"].map(str::to_owned);
        let carry = Carry::new(&globs, 100).unwrap();
        let untracked = ["data", "node_modules"].map(PathBuf::from);
        let chosen = carry.choose(&top, Path::new(""), &untracked).unwrap();
        assert_eq!(chosen.roots, untracked);
        let said = chosen.said();
        assert_eq!(said.len(), 3, "{said:?}");
        for (line, name) in said.iter().zip(["`missing`", "`data`", "`node_modules/linked`"]) {
            assert!(line.contains(name), "{line}");
        }
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
