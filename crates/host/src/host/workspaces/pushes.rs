//! Refusing pushes, and noticing those that happened all the same.
//!
//! Git takes settings from its environment (`GIT_CONFIG_COUNT`, [git-config(1)]), above all files. There, the push URL of every
//! remote of the repository becomes one of a protocol that does not exist, and so does whatever begins like a remote's URL,
//! like one of a network, or like what the user's own `url.*.insteadOf` makes another one of. Whatever git comes to from there that
//! leads over ssh stops at a line around `ssh`, which lets only fetches through: it sees what git made of a URL, and no spelling.
//! A plain `git push` then stops with that protocol's name, while fetching goes on, and so do the pushes
//! of a project's own tests into repositories that they make. That is a fence, no wall: who clears the environment, or
//! talks to a service without git, is not stopped.

use super::begun::Begun;
use super::home;
use super::home::Whose;
use super::names::DIR;
use super::remotes::Remotes;
use super::repository::Repository;
use crate::files::{Kind, Root};
use crate::services::{OutsideChanges, WorkspaceError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Its name is what whoever pushes gets to read.
const REFUSED: &str = "reflexion-does-not-push://";
/// No log of a ref that an agent has pushed is longer.
const MOST_LOG_BYTES: u64 = 1 << 20;
/// How URLs begin that lead away from this machine.
const NETWORK: [&str; 13] = [
    "https://",
    "http://",
    "ssh://",
    "git+ssh://",
    "ssh+git://",
    "git://",
    "ftps://",
    "ftp://",
    "git@",
    "https::",
    "http::",
    "ftps::",
    "ftp::",
];
/// Around the user's `ssh`, for git, which puts its own words behind it: asks it for anything but to take what is pushed. The user's is looked
/// up when it is needed: the repository of a workspace may name another one.
const SSH: &str = r#"reflexion_ssh() {
case " $* " in *"git-receive-pack "* | *"git receive-pack "*) echo "reflexion-does-not-push: agents, checks and setup do not push (allowPush)" >&2; return 128 ;; esac
reflexion_ssh_of_user=$(env -u GIT_CONFIG_COUNT git config --get core.sshCommand) || reflexion_ssh_of_user=${GIT_SSH:+\"\$GIT_SSH\"}
reflexion_ssh_of_user=${reflexion_ssh_of_user:-ssh}
eval "${GIT_SSH_COMMAND_OF_USER:-$reflexion_ssh_of_user} \"\$@\""
}; reflexion_ssh"#;

impl Remotes {
    pub(super) async fn read(repository: &Repository) -> Result<Self, WorkspaceError> {
        let args =
            ["config", "-z", "--get-regexp", r"^(remote\..*\.(url|pushurl)|url\..*\.(pushinsteadof|insteadof))$"];
        let out = repository.git().call(args).run().await?.stdout;
        let (mut remotes, mut rewritten) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeSet::new());
        for (key, url) in String::from_utf8_lossy(&out).split('\0').filter_map(|entry| entry.split_once('\n')) {
            if key.starts_with("url.") && !url.is_empty() {
                rewritten.insert(url.to_owned());
            }
            let name = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.'));
            if let Some((name, _)) = name {
                remotes.entry(name.to_owned()).or_default().insert(url.to_owned());
            }
        }
        Ok(Self { remotes, rewritten })
    }

    /// Settings for git that refuse pushes to them, and to the network.
    pub(super) fn refused(&self, top: &Path) -> Vec<(String, String)> {
        let rewrite = format!("url.{REFUSED}.pushInsteadOf");
        let prefixes = NETWORK.iter().copied().chain(self.rewritten.iter().map(String::as_str));
        let mut settings: Vec<(String, String)> = prefixes.map(|prefix| (rewrite.clone(), prefix.to_owned())).collect();
        settings.push(("core.sshCommand".to_owned(), SSH.to_owned()));
        for (name, urls) in &self.remotes {
            let key = format!("remote.{name}.pushurl");
            // The empty one takes back what was set before [git 2.46].
            settings.extend([(key.clone(), String::new()), (key, format!("{REFUSED}{name}"))]);
            for url in urls {
                settings.push((rewrite.clone(), url.clone()));
                if let Some(path) = local(url, top) {
                    let path = path.display().to_string();
                    settings.extend([(rewrite.clone(), format!("file://{path}")), (rewrite.clone(), path)]);
                }
            }
        }
        settings
    }

    /// Where remotes are that are directories of this machine.
    fn local<'a>(&'a self, top: &'a Path) -> impl Iterator<Item = (&'a str, PathBuf)> {
        self.remotes.iter().flat_map(move |(name, urls)| {
            let dirs: BTreeSet<PathBuf> = urls.iter().filter_map(|url| local(url, top)).collect();
            dirs.into_iter().map(move |dir| (name.as_str(), dir))
        })
    }

    /// Where the refs of those remotes stand that are directories of this machine.
    async fn tips(&self, repository: &Repository) -> Result<Tips, WorkspaceError> {
        let mut tips = Tips::new();
        for (name, dir) in self.local(&repository.top) {
            let args = ["--git-dir", &*dir.to_string_lossy(), "for-each-ref", FORMAT].map(str::to_owned);
            // Whatever is wrong with somebody else's repository is not ours to say.
            let found = repository.git().call(args).run().await?;
            if found.status == 0 {
                let text = String::from_utf8_lossy(&found.stdout);
                let refs = text.lines().filter_map(|line| line.rsplit_once(' '));
                tips.extend(refs.map(|(ref_name, id)| (format!("`{ref_name}` of the remote `{name}`"), id.to_owned())));
            }
        }
        Ok(tips)
    }
}

/// A ref and where it stands, a line each.
const FORMAT: &str = "--format=%(refname) %(objectname)";

/// By ref and remote, in words.
type Tips = BTreeMap<String, String>;

/// What is looked at before and after somebody works in a workspace.
#[derive(Debug)]
pub(super) struct Watched {
    remotes: Tips,
    /// The user's own branches and tags.
    own: Tips,
    /// What in the home directory steers tools.
    home: home::Watch,
}

impl Watched {
    pub(super) async fn now(begun: &Begun, whose: Whose) -> Result<Self, WorkspaceError> {
        let (remotes, own) = (begun.remotes.tips(&begun.repository).await?, own_tips(&begun.repository).await?);
        let home = begun.home.watch(whose).await?;
        Ok(Self { remotes, own, home })
    }

    /// Says what happened since. Nothing is taken back: others may have it already.
    pub(super) async fn differs(self, begun: &Begun, files: &Root) -> Result<OutsideChanges, WorkspaceError> {
        let mut said = OutsideChanges::default();
        for what in moved(&self.remotes, &begun.remotes.tips(&begun.repository).await?) {
            said.for_person.push(format!("{what}: somebody pushed while an agent worked"));
        }
        for what in moved(&self.own, &own_tips(&begun.repository).await?) {
            said.noticed.push(format!("{what} while an agent worked: by it, by you, or by somebody else"));
        }
        said.noticed.extend(moved_there(files));
        let changed = begun.home.end(self.home).await?;
        said.noticed.extend(changed.notices());
        for what in changed.offences() {
            said.for_person.push(what.clone());
            said.by_agent.push(what);
        }
        for name in pushed(files) {
            let what = format!("the agent pushed to {name}");
            said.for_person.push(what.clone());
            said.by_agent.push(what);
        }
        Ok(said)
    }
}

/// What is different, in words.
fn moved(before: &Tips, now: &Tips) -> Vec<String> {
    let places: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let short = |id: &String| id.chars().take(12).collect::<String>();
    let what = |place: &&String| match (before.get(*place), now.get(*place)) {
        (old, new) if old == new => None,
        (Some(old), Some(new)) => Some(format!("moved from {} to {}", short(old), short(new))),
        (None, Some(new)) => Some(format!("made at {}", short(new))),
        (Some(old), None) => Some(format!("deleted, it was at {}", short(old))),
        (None, None) => None,
    };
    places.into_iter().filter_map(|place| Some(format!("{place} was {}", what(&place)?))).collect()
}

/// Where the user's branches and tags stand, but for those that runs make and move themselves.
async fn own_tips(repository: &Repository) -> Result<Tips, WorkspaceError> {
    let found = repository.git().call(["for-each-ref", FORMAT, "refs/heads", "refs/tags"]).ok().await?;
    let text = String::from_utf8_lossy(&found).into_owned();
    let refs = text.lines().filter_map(|line| line.rsplit_once(' '));
    let own = refs.filter(|(name, _)| !name.starts_with("refs/heads/reflexion/"));
    Ok(own.map(|(name, id)| (format!("`{name}` of your repository"), id.to_owned())).collect())
}

/// Branches that the workspace's own repository had from the user's, and that were moved there, and tags that were made or moved
/// there. Branches of an agent's own are its way to work.
fn moved_there(files: &Root) -> Vec<String> {
    let loose = |dir: &str| {
        let dir = Path::new(DIR).join(dir);
        let is_there = matches!(files.look(&dir), Ok(Some(look)) if look.kind == Kind::Dir);
        let walk = is_there.then(|| files.walk(&dir)).into_iter().flatten().flatten();
        let names = walk.filter(|(_, look)| look.kind == Kind::File);
        names
            .filter_map(|(path, _)| Some(path.strip_prefix(Path::new(DIR)).ok()?.display().to_string()))
            .collect::<Vec<_>>()
    };
    let packed = files.read(&Path::new(DIR).join("packed-refs")).unwrap_or_default();
    let packed = String::from_utf8_lossy(&packed).into_owned();
    let had = |name: &String| packed.lines().any(|line| line.split_once(' ').is_some_and(|(_, packed)| packed == name));
    let branches = loose("refs/heads").into_iter().filter(had);
    let names: Vec<String> = branches.chain(loose("refs/tags")).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!("it moved or made {} in the repository of its workspace, which reaches nobody else", names.join(", "))]
}

/// What the workspace's own git has written down of pushes. An agent may have removed that; an honest one has not.
fn pushed(files: &Root) -> Vec<String> {
    let logs = Path::new(DIR).join("logs/refs/remotes");
    let is_there = matches!(files.look(&logs), Ok(Some(look)) if look.kind == Kind::Dir);
    let walk = is_there.then(|| files.walk(&logs)).into_iter().flatten().flatten();
    let of_push = walk.filter(|(path, look)| {
        let is_log = look.kind == Kind::File && look.len <= MOST_LOG_BYTES;
        let text = if is_log { files.read(path).unwrap_or_default() } else { Vec::new() };
        text.split(|byte| *byte == b'\n').any(|line| line.ends_with(b"\tupdate by push"))
    });
    of_push.filter_map(|(path, _)| Some(format!("`{}`", path.strip_prefix(&logs).ok()?.display()))).collect()
}

/// The directory of a remote on this machine.
fn local(url: &str, top: &Path) -> Option<PathBuf> {
    let path = url.strip_prefix("file://").unwrap_or(url);
    top.join(path).canonicalize().ok().filter(|dir| dir.is_dir())
}

/// Variables that put the line around `ssh` where the environment names one, which has more say than settings.
pub(super) fn around_ssh(now: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let named = now("GIT_SSH_COMMAND").filter(|named| !named.is_empty() && named != SSH);
    let Some(named) = named else { return Vec::new() };
    let ours = [("GIT_SSH_COMMAND", SSH.to_owned()), ("GIT_SSH_COMMAND_OF_USER", named)];
    ours.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Variables that hand settings to git, behind those that `now` has.
pub(super) fn hand_over(
    now: impl Fn(&str) -> Option<String>,
    settings: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let count = now("GIT_CONFIG_COUNT").and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let given =
        (0..count).filter_map(|i| Some((now(&format!("GIT_CONFIG_KEY_{i}"))?, now(&format!("GIT_CONFIG_VALUE_{i}"))?)));
    let all: Vec<(String, String)> = given.chain(settings).collect();
    let total = ("GIT_CONFIG_COUNT".to_owned(), all.len().to_string());
    let each = all
        .into_iter()
        .enumerate()
        .flat_map(|(i, (key, value))| [(format!("GIT_CONFIG_KEY_{i}"), key), (format!("GIT_CONFIG_VALUE_{i}"), value)]);
    std::iter::once(total).chain(each).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_behind_those_that_are_there() {
        let check = |now: &[(&str, &str)], expected: &[(&str, &str)]| {
            let now: BTreeMap<&str, &str> = now.iter().copied().collect();
            let found =
                hand_over(|name| now.get(name).map(|v| (*v).to_owned()), vec![("k".to_owned(), "v".to_owned())]);
            let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, expected);
        };
        let ours = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "k"), ("GIT_CONFIG_VALUE_0", "v")];
        check(&[], &ours);
        check(&[("GIT_CONFIG_COUNT", "many")], &ours);
        // One that `envDeny` has taken away is not counted.
        check(&[("GIT_CONFIG_COUNT", "1")], &ours);
        check(
            &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a"), ("GIT_CONFIG_VALUE_0", "b")],
            &[
                ("GIT_CONFIG_COUNT", "2"),
                ("GIT_CONFIG_KEY_0", "a"),
                ("GIT_CONFIG_VALUE_0", "b"),
                ("GIT_CONFIG_KEY_1", "k"),
                ("GIT_CONFIG_VALUE_1", "v"),
            ],
        );
    }
}
