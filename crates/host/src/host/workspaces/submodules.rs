//! What work says about submodules: at which commit each of them is, and what is in them beside that.
//!
//! Only the commit is recorded, so nobody else gets what only the workspace has: a commit that was made in it, or an edit there.
//! Which of the user's repositories and remotes may speak for one is told by where the work says that it comes from, never by the name
//! that the work gives it. Repositories that an agent can reach are not asked.

use super::answers::{Answers, Place, Remote};
use super::gitmodules::{GITMODULES, Gitmodules};
use super::layout::io_error;
use super::parts::Parts;
use super::recorder::{Difference, Recorder, Submodule};
use super::repository::Kind;
use super::slot::Slot;
use crate::host::git::Git;
use crate::host::process::{git_dir_of, marked};
use crate::services::WorkspaceError;
use futures_util::future::try_join_all;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// So many files are named.
const NAMED: usize = 3;

/// One commit is asked for, and it is fetched without its files. A remote that does not answer is asked once in a run.
const LIMIT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 20 });

/// How the directories begin, in the machine state, into which a commit is fetched. What a killed run left is removed.
pub(super) const FETCHED: &str = "fetched-";

/// What became of a question.
enum Answer {
    Of(Place),
    /// There was none, because of this.
    Silence(String),
}

impl Answers {
    fn of(&self, url: &str) -> Arc<Mutex<Remote>> {
        let mut remotes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(remotes.entry(url.to_owned()).or_default())
    }
}

/// The user's own of a submodule: by what name they know it, and where it is in their checkout.
struct Own<'a> {
    name: Option<&'a str>,
    path: &'a Path,
}

impl Parts {
    /// Of the submodules that work has put at other commits, or whose commits are to come from elsewhere, says which of these commits only
    /// the workspace has.
    pub(super) async fn look_for_commits(
        &self,
        recorder: &Recorder,
        tree: &str,
        difference: &mut Difference,
        until: &CancellationToken,
    ) -> Result<(), WorkspaceError> {
        let says_another = difference.paths.iter().any(|path| path == Path::new(GITMODULES));
        if difference.submodules.is_empty() && !says_another {
            return Ok(());
        }
        let own = self.begun.repository.own();
        let (now, before) = (Gitmodules::of_tree(&own, tree).await?, Gitmodules::of_tree(&own, &self.tree).await?);
        let (all, known) = (recorder.all_submodules(tree).await?, recorder.all_submodules(&self.tree).await?);
        let known: BTreeSet<_> = known.iter().map(|known| (&known.commit, before.url_at(&known.path))).collect();
        let is_new = |submodule: &&Submodule| !known.contains(&(&submodule.commit, now.url_at(&submodule.path)));
        let new: Vec<&Submodule> = all.iter().filter(is_new).collect();
        // No remote keeps another one waiting.
        let places = new.iter().map(|submodule| self.place_of(&now, &submodule.path, &submodule.commit, until));
        let places = try_join_all(places).await?;
        for (Submodule { path, commit }, place) in new.into_iter().zip(places) {
            let (shown, short) = (path.display(), &commit[..commit.len().min(12)]);
            match place {
                Place::Somewhere => {}
                Place::Nowhere => difference.leads_out.push(format!(
                    "{shown} -> commit {short} of the submodule, which its remote does not have (it has to be pushed there first)"
                )),
                Place::Unknown(because) => difference.remarks.push(format!(
                    "the submodule `{shown}` is at commit {short} now, and nobody could find out whether it can be had from where \
                     `.gitmodules` says ({because}): look it up before you merge this"
                )),
            }
        }
        Ok(())
    }

    async fn place_of(
        &self,
        now: &Gitmodules,
        path: &Path,
        commit: &str,
        until: &CancellationToken,
    ) -> Result<Place, WorkspaceError> {
        let own = self.own_of(now, path);
        for repository in own.iter().flat_map(|own| self.own_repositories(own)) {
            let has = Git::own(repository)
                .looking()
                .call(["cat-file", "-e"])
                .arg(format!("{commit}^{{commit}}"))
                .run()
                .await?;
            if has.status == 0 {
                return Ok(Place::Somewhere);
            }
        }
        if now.url_at(path).is_none() {
            return Ok(Place::Unknown("it says nothing of it".to_owned()));
        }
        if own.is_empty() {
            return Ok(Place::Unknown(
                "it comes from where none of your submodules comes from, and only you may say whom to ask".to_owned(),
            ));
        }
        // The user's own word alone: nobody is asked whom only files of the repository name.
        for name in own.iter().filter_map(|own| own.name) {
            let asked = self.begun.repository.git().call(["config", "--get"]).arg(format!("submodule.{name}.url"));
            let url = String::from_utf8_lossy(&asked.run().await?.stdout).trim().to_owned();
            if !url.is_empty() {
                return self.ask_once(&url, commit, until).await;
            }
        }
        Ok(Place::Unknown("the submodule is not set up in your checkout: `git submodule init`".to_owned()))
    }

    /// What of the user's comes from where the work says that the submodule at a path does. Where neither says anything, it is what
    /// they have in that place.
    fn own_of<'a>(&'a self, now: &Gitmodules, path: &'a Path) -> Vec<Own<'a>> {
        let known = &self.begun.gitmodules;
        match now.url_at(path) {
            Some(url) => {
                let same = known.paths().filter(|(name, _)| known.url(name) == Some(url));
                same.map(|(name, path)| Own { name: Some(name), path }).collect()
            }
            None if known.url_at(path).is_none() => vec![Own { name: None, path }],
            None => Vec::new(),
        }
    }

    /// Asks a remote for a commit, unless it has answered, or has been silent, in this run.
    async fn ask_once(&self, url: &str, commit: &str, until: &CancellationToken) -> Result<Place, WorkspaceError> {
        let interrupted = || Place::Unknown("the run was stopped".to_owned());
        let remote = self.begun.answers.of(url);
        let Some(mut remote) = until.run_until_cancelled(remote.lock()).await else {
            return Ok(interrupted());
        };
        if let Some(place) = remote.places.get(commit) {
            return Ok(place.clone());
        }
        if let Some(because) = &remote.is_silent {
            return Ok(Place::Unknown(because.clone()));
        }
        let answer = self.ask_remote(url, commit, until).await?;
        if until.is_cancelled() {
            return Ok(interrupted());
        }
        match answer {
            Answer::Silence(because) => {
                remote.is_silent = Some(because.clone());
                Ok(Place::Unknown(because))
            }
            Answer::Of(place) => {
                if !matches!(place, Place::Nowhere) {
                    remote.places.insert(commit.to_owned(), place.clone());
                }
                Ok(place)
            }
        }
    }

    /// Fetches the commit alone, to throw it away.
    async fn ask_remote(&self, url: &str, commit: &str, until: &CancellationToken) -> Result<Answer, WorkspaceError> {
        let state = self.shared.layout.state();
        let scratch =
            tempfile::Builder::new().prefix(FETCHED).tempdir_in(state).map_err(io_error("write to", state))?;
        let format = if commit.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
        Git::own(scratch.path()).call(["init", "-q", "--bare", format]).ok().await?;
        let fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--depth=1", "--filter=tree:0"];
        let fetch = Git::with(scratch.path(), scratch.path()).call(fetch).args(["--end-of-options", url, commit]);
        // If this process is killed meanwhile, the next run finds it by that.
        let (name, mark) = marked(state);
        let asked = match fetch.env(name, mark).answer(LIMIT, until).await {
            Ok(asked) => asked,
            Err(WorkspaceError::Git { message, .. }) => return Ok(Answer::Silence(message)),
            Err(error) => return Ok(Answer::Silence(error.to_string())),
        };
        let said = || asked.stderr.trim().lines().last().unwrap_or("git fetch failed").to_owned();
        Ok(match asked.status {
            0 => Answer::Of(Place::Somewhere),
            _ if asked.stderr.contains("not our ref") => Answer::Of(Place::Nowhere),
            // It may allow others: those that a branch of it is at.
            _ if asked.stderr.contains("unadvertised object") => Answer::Of(Place::Unknown(said())),
            _ => Answer::Silence(said()),
        })
    }

    /// The user's repositories of a submodule, as far as they are there.
    fn own_repositories(&self, own: &Own<'_>) -> Vec<PathBuf> {
        let repository = &self.begun.repository;
        if repository.kind == Kind::Snapshot {
            return Vec::new();
        }
        let is_plain = |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let modules = [&repository.git_dir, &repository.checkout_dir].map(|dir| dir.join("modules"));
        let name = own.name.map(Path::new).filter(is_plain);
        let named = name.into_iter().flat_map(|name| modules.iter().map(move |dir| dir.join(name)));
        let checkout = Some(own.path).filter(is_plain).map(|path| repository.top.join(path));
        let checked_out = checkout.filter(|dir| dir.join(".git").exists()).and_then(|dir| git_dir_of(&dir));
        named.chain(checked_out).filter(|dir| dir.is_dir()).collect()
    }

    /// Of files in submodules that are not those of their commits, says that they are no part of the work.
    pub(super) async fn edited_in(
        &self,
        slot: &Slot,
        submodules: &[Submodule],
        moved: &[String],
    ) -> Result<Vec<String>, WorkspaceError> {
        let mut said = Vec::new();
        if submodules.is_empty() {
            return Ok(said);
        }
        let now = Gitmodules::of_tree(&self.begun.repository.own(), &slot.known.loaded).await?;
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
                self.differing_from(slot, &now, submodule).await?
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
    async fn differing_from(
        &self,
        slot: &Slot,
        now: &Gitmodules,
        submodule: &Submodule,
    ) -> Result<Option<Vec<PathBuf>>, WorkspaceError> {
        let own = self.own_of(now, &submodule.path);
        let repositories = own.iter().flat_map(|own| self.own_repositories(own));
        for objects in repositories.map(|dir| dir.join("objects")) {
            if objects.is_dir()
                && let Some(edited) = slot.recorder.differing_below(submodule, &objects).await?
            {
                return Ok(Some(edited));
            }
        }
        Ok(None)
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_that_is_asked_keeps_only_those_waiting_who_ask_it_too() {
        let answers = Answers::default();
        let (one, same, another) = (answers.of("ssh://one"), answers.of("ssh://one"), answers.of("ssh://another"));
        let _asking = one.try_lock().unwrap();
        assert!(same.try_lock().is_err());
        assert!(another.try_lock().is_ok());
    }
}
