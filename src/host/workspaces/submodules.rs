//! What work says about submodules: at which commit each of them is, and what is in them beside that.
//!
//! Only the commit is recorded, so nobody else gets what only the workspace has: a commit that was made in it, or an edit there.
//! Repositories that an agent can reach are not asked.

use super::layout::io_error;
use super::recorder::Difference;
use super::recorder::Submodule;
use super::repository::Kind;
use super::slot::Slot;
use super::workspace::Parts;
use crate::host::git::Git;
use crate::host::process::git_dir_of;
use crate::services::WorkspaceError;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// So many files are named.
const NAMED: usize = 3;

/// Where a submodule's commit is.
enum Place {
    Somewhere,
    /// The submodule's remote was asked.
    Nowhere,
    /// Nobody could be asked, because of this.
    Unknown(String),
}

impl Parts {
    /// Of the submodules that work has put at other commits, says which of these commits only the workspace has.
    pub(super) async fn look_for_commits(&self, tree: &str, difference: &mut Difference) -> Result<(), WorkspaceError> {
        for Submodule { path, commit } in std::mem::take(&mut difference.submodules) {
            let (path, short) = (path.to_string_lossy().into_owned(), &commit[..commit.len().min(12)]);
            match self.place_of(tree, &path, &commit).await? {
                Place::Somewhere => {}
                Place::Nowhere => difference.leads_out.push(format!(
                    "{path} -> commit {short} of the submodule, which its remote does not have (it has to be pushed there first)"
                )),
                Place::Unknown(because) => difference.remarks.push(format!(
                    "the submodule `{path}` is at commit {short} now, and nobody could find out whether anybody else has that \
                     commit ({because}): look it up before you merge this"
                )),
            }
        }
        Ok(())
    }

    async fn place_of(&self, tree: &str, path: &str, commit: &str) -> Result<Place, WorkspaceError> {
        let name = match self.name_of(tree, path).await? {
            Some(name) => Some(name),
            None => self.name_of(&self.begun.commit, path).await?,
        };
        for repository in self.own_repositories(name.as_deref(), path) {
            let has = Git::own(repository).call(["cat-file", "-e"]).arg(format!("{commit}^{{commit}}")).run().await?;
            if has.status == 0 {
                return Ok(Place::Somewhere);
            }
        }
        let Some(name) = name else { return Ok(Place::Unknown("no `.gitmodules` names it".to_owned())) };
        // The user's own word alone: nobody is asked whom only files of the repository name.
        let asked =
            self.begun.repository.git().call(["config", "--get"]).arg(format!("submodule.{name}.url")).run().await?;
        let configured = Some(String::from_utf8_lossy(&asked.stdout).trim().to_owned()).filter(|url| !url.is_empty());
        match configured {
            Some(url) => self.ask_remote(&url, commit).await,
            None => Ok(Place::Unknown("the submodule is not set up in your checkout: `git submodule init`".to_owned())),
        }
    }

    /// Fetches the commit alone, to throw it away.
    async fn ask_remote(&self, url: &str, commit: &str) -> Result<Place, WorkspaceError> {
        let state = self.shared.layout.state();
        let scratch = tempfile::tempdir_in(state).map_err(io_error("write to", state))?;
        let format = if commit.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
        Git::own(scratch.path()).call(["init", "-q", "--bare", format]).ok().await?;
        let fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--depth=1", "--filter=tree:0"];
        let git = Git::with(scratch.path(), scratch.path());
        // It may come to no end where there is no network.
        let asked = match git.call(fetch).args(["--end-of-options", url, commit]).run().await {
            Ok(asked) => asked,
            Err(error) => return Ok(Place::Unknown(error.to_string())),
        };
        Ok(match asked.status {
            0 => Place::Somewhere,
            _ if asked.stderr.contains("not our ref") => Place::Nowhere,
            _ => Place::Unknown(asked.stderr.trim().lines().last().unwrap_or("git fetch failed").to_owned()),
        })
    }

    /// The user's repositories of a submodule, as far as they are there.
    fn own_repositories(&self, name: Option<&str>, path: &str) -> Vec<PathBuf> {
        let repository = &self.begun.repository;
        if repository.kind == Kind::Snapshot {
            return Vec::new();
        }
        let name =
            name.map(Path::new).filter(|name| name.components().all(|part| matches!(part, Component::Normal(_))));
        let modules = [&repository.git_dir, &repository.checkout_dir].map(|dir| dir.join("modules"));
        let named = name.into_iter().flat_map(|name| modules.iter().map(move |dir| dir.join(name)));
        let checkout = repository.top.join(path);
        let checked_out = checkout.join(".git").exists().then(|| git_dir_of(&checkout)).flatten();
        named.chain(checked_out).filter(|dir| dir.is_dir()).collect()
    }

    /// What the `.gitmodules` of a tree calls the submodule at a path.
    async fn name_of(&self, tree: &str, path: &str) -> Result<Option<String>, WorkspaceError> {
        let blob = format!("--blob={tree}:.gitmodules");
        let list = ["config", "-z", &blob, "--get-regexp", r"^submodule\..*\.path$"];
        let out = self.begun.repository.own().call(list).run().await?.stdout;
        let text = String::from_utf8_lossy(&out);
        let mut entries = text.split('\0').filter_map(|entry| entry.split_once('\n'));
        let key = entries.find(|(_, at)| *at == path).map(|(key, _)| key);
        Ok(key.and_then(|key| key.strip_prefix("submodule.")?.strip_suffix(".path")).map(str::to_owned))
    }

    /// Of files in submodules that are not those of their commits, says that they are no part of the work.
    pub(super) async fn edited_in(
        &self,
        slot: &Slot,
        submodules: &[Submodule],
        moved: &[String],
    ) -> Result<Vec<String>, WorkspaceError> {
        let mut said = Vec::new();
        for submodule in submodules {
            let path = &submodule.path;
            if !slot.recorder.is_there(&path.join(".git")) {
                continue;
            }
            let shown = path.display();
            let is_moved = moved.iter().any(|moved| Path::new(moved) == path);
            let edited = if !is_moved && slot.kept_roots().contains(path) {
                Some(slot.rewritten_below(path).await?)
            } else {
                self.differing_from(slot, submodule).await?
            };
            match edited {
                Some(edited) if edited.is_empty() => {}
                Some(edited) => {
                    let named: Vec<_> = edited.iter().take(NAMED).map(|path| path.to_string_lossy()).collect();
                    let more = edited.len().saturating_sub(NAMED);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    said.push(format!(
                        "of the submodule `{shown}` only its commit is part of the change, and these files in it are not: {}{more}. \
                         Work on a submodule belongs into its own repository",
                        named.join(", ")
                    ));
                }
                None => said.push(format!(
                    "of the submodule `{shown}` only its commit is part of the change; whether files in it were edited cannot be told, \
                     because your repository has nothing of that commit (`git submodule update --init`)"
                )),
            }
        }
        Ok(said)
    }

    /// The files of a submodule that are not those of its commit; none where no repository of the user's has that.
    async fn differing_from(&self, slot: &Slot, submodule: &Submodule) -> Result<Option<Vec<PathBuf>>, WorkspaceError> {
        let path = submodule.path.to_string_lossy();
        let known = self.name_of(&self.begun.commit, &path).await?;
        for objects in self.own_repositories(known.as_deref(), &path).into_iter().map(|dir| dir.join("objects")) {
            if objects.is_dir()
                && let Some(edited) = slot.recorder.differing_below(submodule, &objects).await?
            {
                return Ok(Some(edited));
            }
        }
        Ok(None)
    }
}
