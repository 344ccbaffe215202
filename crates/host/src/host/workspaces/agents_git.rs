//! The repository that a workspace has of its own, for the git of whoever works in it.
//!
//! It is written file by file and borrows the objects of the runtime's [`store`](super::store), which borrows those of the user's.
//! Branches, tags, stash, configuration and hooks in it are its own: what an agent does to them reaches nobody else, and all
//! of it is written anew before the next attempt. The runtime itself reads nothing of it but which ignored files its index has.

use super::begun::Begun;
use super::gitmodules::{Gitmodules, name_in};
use super::layout::Layout;
use super::names::{DIR, MODULES};
use super::repository::Repository;
use super::settings::Settings;
use super::store::{FILE_MODE, Frozen, IGNORE_CASE, alternates, lay_dirs};
use crate::files::{Kind, Root};
use crate::services::WorkspaceError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What git says while an operation is half done.
const HALF_DONE: [(&str, &str); 8] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
    ("index.lock", "a change of the index"),
    ("HEAD.lock", "a change of HEAD"),
];

/// What a repository is written with, beside what stands in every one of the run.
pub(super) struct Laid {
    /// The commit that is checked out.
    pub(super) head: String,
    pub(super) index: Vec<u8>,
    pub(super) config: String,
    /// The repositories of submodules stay; nothing else does.
    pub(super) keeps_modules: bool,
}

/// What stands in the repository of every workspace of a run.
#[derive(Debug)]
pub(super) struct AgentsGit {
    frozen: Arc<Frozen>,
    /// Its configuration: the first lines, and what is taken over from the user's.
    heading: String,
    settings: Settings,
    /// The user's branches, tags and what is known of remotes, as `packed-refs` [gitrepository-layout(5)].
    refs: Vec<u8>,
    /// `refs/remotes/<name>/HEAD`.
    symbolic: Vec<(PathBuf, Vec<u8>)>,
    alternates: Vec<u8>,
}

impl AgentsGit {
    /// Of the user's repository as it is now.
    pub(super) async fn read(
        layout: &Layout,
        repository: &Repository,
        frozen: Arc<Frozen>,
    ) -> Result<Self, WorkspaceError> {
        let git = repository.git();
        let local = Settings::parse(&git.call(["config", "--local", "--includes", "--list", "-z"]).ok().await?);
        // No object is asked for: one that is missing is the user's business.
        let form = "--format=%(objectname) %(refname)%00%(symref)";
        let list = git.call(["for-each-ref", form, "refs/heads", "refs/tags", "refs/remotes"]).ok().await?;
        let (refs, symbolic) = packed(&String::from_utf8_lossy(&list));
        let mut settings = local.of_agents();
        settings.set("core.logallrefupdates", "true");
        // What is recorded is what its own git shows.
        for key in [FILE_MODE, IGNORE_CASE] {
            let own = repository.own().call(["config", "--get", key]).run().await?.stdout;
            match String::from_utf8_lossy(&own).trim() {
                "" => {}
                own => settings.set(key, own),
            }
        }
        // Its index is read by us, as one file.
        settings.set("core.splitindex", "false");
        let heading = frozen.heading(false);
        let alternates = alternates(&layout.store().join("objects"));
        Ok(Self { frozen, heading, settings, refs, symbolic, alternates })
    }

    /// The configuration beside the files of a tree. Where the user has said from where a submodule comes, that holds as long as the
    /// work has not changed what their own commit says of it: else it comes from where the work says, as in every clone of it.
    pub(super) async fn config(&self, begun: &Begun, tree: &str) -> Result<String, WorkspaceError> {
        if !self.settings.iter().any(|(key, _)| name_in(key, ".url").is_some()) {
            return Ok(self.heading.clone() + &self.settings.render());
        }
        let now = Gitmodules::of_tree(&begun.repository.own(), tree).await?;
        let is_another =
            |key: &str| name_in(key, ".url").is_some_and(|name| now.url(name) != begun.gitmodules.url(name));
        Ok(self.heading.clone() + &self.settings.without(is_another).render())
    }

    /// Writes it anew, with this content.
    pub(super) fn lay(&self, files: &Root, with: &Laid) -> io::Result<()> {
        if with.keeps_modules {
            let there = files.list(Path::new(DIR))?;
            for (name, _) in there.iter().filter(|(name, _)| Path::new(DIR).join(name) != Path::new(MODULES)) {
                files.remove(&Path::new(DIR).join(name))?;
            }
        } else {
            files.remove(Path::new(DIR))?;
        }
        let git_dir = files.make_below(Path::new(DIR))?;
        lay_dirs(&git_dir)?;
        self.frozen.lay_info(&git_dir)?;
        git_dir.put(Path::new("objects/info/alternates"), &self.alternates)?;
        git_dir.put(Path::new("config"), with.config.as_bytes())?;
        git_dir.put(Path::new("packed-refs"), &self.refs)?;
        for (name, content) in &self.symbolic {
            git_dir.put(name, content)?;
        }
        if let Some(shallow) = &self.frozen.shallow {
            git_dir.put(Path::new("shallow"), shallow)?;
        }
        git_dir.put(Path::new("index"), &with.index)?;
        git_dir.put(Path::new("HEAD"), format!("{}\n", with.head).as_bytes())
    }
}

/// The operations that git says are half done in a workspace.
pub(super) fn half_done(files: &Root) -> Vec<&'static str> {
    let dir = Path::new(DIR);
    let is_dir = matches!(files.look(dir), Ok(Some(look)) if look.kind == Kind::Dir);
    let names = if is_dir { files.list(dir).unwrap_or_default() } else { Vec::new() };
    let mut half: Vec<&str> = HALF_DONE
        .iter()
        .filter(|(file, _)| names.iter().any(|(name, _)| name == file))
        .map(|(_, operation)| *operation)
        .collect();
    half.sort_unstable();
    half.dedup();
    half
}

/// `packed-refs` and the symbolic refs, from lines `id name NUL symref`. Branches of runs are nobody's to work on.
fn packed(list: &str) -> (Vec<u8>, Vec<(PathBuf, Vec<u8>)>) {
    let mut text = "# pack-refs with: sorted \n".to_owned();
    let mut symbolic = Vec::new();
    for line in list.lines() {
        let Some((entry, symref)) = line.split_once('\0') else { continue };
        let Some((_, name)) = entry.split_once(' ') else { continue };
        if name.starts_with("refs/heads/reflexion/") {
            continue;
        }
        if symref.is_empty() {
            text.push_str(&format!("{entry}\n"));
        } else {
            symbolic.push((PathBuf::from(name), format!("ref: {symref}\n").into_bytes()));
        }
    }
    (text.into_bytes(), symbolic)
}
