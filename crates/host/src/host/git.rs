//! Calling the `git` program.
//!
//! Every call is non-interactive, takes its arguments as they are, ignores the caller's `GIT_*` variables (but those that say
//! where the settings are), runs no hook and no helper, never signs, never collects garbage, and takes no lock that it could
//! do without (the user's index is not even refreshed). A call whose future is dropped is ended.

use super::process::{OF_SHELL, start_child, until_at_pipe, until_idle};
use crate::files::Root;
use crate::services::WorkspaceError;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// No call that we make takes minutes; one that does hangs on a dead file system or a filter that waits.
const LIMIT: Duration = Duration::from_mins(10);

/// A call that does not even work waits for a filter that waits for somebody, or for a pipe where the kernel does not tell so.
const IDLE_LIMIT: Duration = Duration::from_mins(1);

/// The first git that starts hooks which settings name (`hook.NAME.command`); `core.hooksPath` turns off only those that are files.
const CONFIGURED_HOOKS: (u32, u32) = (2, 54);

/// The oldest git that can do all that is asked of it (`merge-tree --merge-base`).
const OLDEST: (u32, u32) = (2, 40);

/// What every call overrides in the user's configuration, whatever stands in it.
const CONFIG: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotepath=off",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "commit.gpgsign=false",
    "gc.auto=0",
    "index.sparse=false",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
    "i18n.commitEncoding=UTF-8",
];

/// What every call is told by its environment: never ask, never take a lock that could be done without.
pub(super) const ENVIRONMENT: [(&str, &str); 4] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("LC_ALL", "C")];

/// What a call that only looks is told as well: it reaches no other machine, whatever a clone has left out.
pub(super) const NOTHING_FETCHED: [(&str, &str); 2] = [("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "")];

/// Where the user's settings are, if not in the home directory: the only variables of git that a call takes over.
pub(super) const SETTINGS: [&str; 4] =
    ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM"];

/// What a call in a repository of the runtime's own is told as well: the settings of that repository are all there is. They
/// were taken over from the user's when the run began; who changes the user's meanwhile changes nothing here.
const ALONE: [(&str, &str); 3] =
    [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1")];

/// Where git is called: a directory, and optionally a repository that is named instead of found.
#[derive(Debug, Clone)]
pub(super) struct Git {
    dir: Dir,
    repository: Option<(PathBuf, Option<PathBuf>)>,
    /// The repository is the runtime's own: no other settings than those in it count.
    alone: bool,
    /// A setting of the calls that comes before those of the repository: `core.fileMode=false`.
    setting: Option<&'static str>,
    /// No other machine is reached.
    looks: bool,
    /// Nothing is written where a link leads that somebody has put into the repository.
    guarded: bool,
}

#[derive(Debug, Clone)]
enum Dir {
    Named(PathBuf),
    /// The very directory, wherever its name leads to by now.
    Held(Root),
}

impl Dir {
    fn path(&self) -> PathBuf {
        match self {
            Self::Named(path) => path.clone(),
            Self::Held(files) => files.place(),
        }
    }
}

impl Git {
    /// Git finds the repository from the directory.
    pub(super) fn found_from(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: Dir::Named(dir.into()),
            repository: None,
            alone: false,
            setting: None,
            looks: false,
            guarded: false,
        }
    }

    /// The repository and the files are given; a `.git` that lies among the files, or not, means nothing.
    pub(super) fn with(git_dir: impl Into<PathBuf>, work_tree: impl Into<PathBuf>) -> Self {
        let work_tree = work_tree.into();
        let repository = Some((git_dir.into(), Some(work_tree.clone())));
        Self { dir: Dir::Named(work_tree), repository, alone: false, setting: None, looks: false, guarded: false }
    }

    /// A repository of the runtime's own, without files.
    pub(super) fn own(git_dir: impl Into<PathBuf>) -> Self {
        let git_dir: PathBuf = git_dir.into();
        let repository = Some((git_dir.clone(), None));
        Self { dir: Dir::Named(git_dir), repository, alone: true, setting: None, looks: false, guarded: false }
    }

    /// The same repository, on these files. Git works in the very directory that is held, wherever its path leads by now.
    pub(super) fn on(&self, files: &Root) -> Self {
        let git_dir = self.repository.as_ref().map(|(git_dir, _)| git_dir.clone()).unwrap_or_default();
        let dir = Dir::Held(files.clone());
        Self { dir, repository: Some((git_dir, Some(PathBuf::from(".")))), ..*self }
    }

    /// The same with another setting than the repository's.
    pub(super) fn setting(self, key_value: &'static str) -> Self {
        Self { setting: Some(key_value), ..self }
    }

    /// The same for whoever only looks: whatever a clone has left out, no other machine is reached for it.
    pub(super) fn looking(self) -> Self {
        Self { looks: true, ..self }
    }

    /// The same repository, in which no link stands in the place of a directory: git would write through it.
    pub(super) fn guarded(self) -> Self {
        Self { guarded: true, ..self }
    }

    /// An error that is nobody's work: whatever is recorded in this run would go where the link leads.
    fn keep_from_links(&self) -> Result<(), WorkspaceError> {
        let Some((dir, _)) = self.repository.as_ref().filter(|_| self.guarded) else { return Ok(()) };
        let objects = dir.join("objects");
        let below = std::fs::read_dir(&objects).into_iter().flatten().flatten();
        let below =
            below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())).map(|entry| entry.path());
        let places = [dir.clone(), dir.join("refs"), objects].into_iter().filter(|place| place.is_symlink());
        let Some(link) = places.chain(below).next() else { return Ok(()) };
        Err(WorkspaceError::Machine(format!(
            "`{}` is a symbolic link where a directory of the runtime's own repository belongs, and nothing is written where it leads: remove \
             the link, or put the directory back",
            link.display()
        )))
    }

    /// Prepares a call.
    pub(super) fn call<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call {
        Call {
            git: self.clone(),
            args: args.into_iter().map(|a| a.as_ref().to_owned()).collect(),
            env: Vec::new(),
            stdin: Vec::new(),
            without: Vec::new(),
            is_bare: false,
        }
    }
}

/// A prepared call.
pub(super) struct Call {
    git: Git,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    /// Settings of the repository that are emptied.
    without: Vec<OsString>,
    /// Without settings, which nothing depends on.
    is_bare: bool,
}

/// What a call left behind.
pub(super) struct GitOutput {
    pub(super) status: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Call {
    /// Uses this file as the index.
    pub(super) fn index(self, index: &Path) -> Self {
        self.env("GIT_INDEX_FILE", index)
    }

    fn bare(self) -> Self {
        Self { is_bare: true, ..self }
    }

    /// Adds an argument.
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub(super) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub(super) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs it; a status other than 0 is an error with what git printed.
    pub(super) async fn ok(self) -> Result<Vec<u8>, WorkspaceError> {
        let command = self.name();
        let output = self.run().await?;
        if output.status == 0 { Ok(output.stdout) } else { Err(failed(command, &output.stderr)) }
    }

    /// As [`Call::ok`], for output that is one line of text.
    pub(super) async fn line(self) -> Result<String, WorkspaceError> {
        let out = self.ok().await?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    fn name(&self) -> String {
        self.args.iter().take(2).map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Runs it, whatever its status.
    pub(super) async fn run(self) -> Result<GitOutput, WorkspaceError> {
        let command = self.name();
        self.run_unless(async |group| {
            tokio::select! {
                pipe = until_at_pipe(group) => WorkspaceError::Waited { command, pipe: Some(pipe) },
                () = until_idle(group, IDLE_LIMIT) => WorkspaceError::Waited { command, pipe: None },
                () = tokio::time::sleep(LIMIT) => failed(command, "it took longer than 10 minutes"),
            }
        })
        .await
    }

    /// The same for a call that asks another machine, which may never answer.
    pub(super) async fn answer(self, within: Duration, until: &CancellationToken) -> Result<GitOutput, WorkspaceError> {
        let command = self.name();
        let why = async |group| {
            tokio::select! {
                () = until.cancelled() => failed(command, "it was stopped"),
                pipe = until_at_pipe(group) => WorkspaceError::Waited { command, pipe: Some(pipe) },
                () = tokio::time::sleep(within) => failed(command, &format!("no answer in {} seconds", within.as_secs())),
            }
        };
        self.run_unless(why).await
    }

    /// Runs it unless it is given up before, with this error: that is told the id of its process group.
    async fn run_unless(
        mut self,
        given_up: impl AsyncFnOnce(u32) -> WorkspaceError,
    ) -> Result<GitOutput, WorkspaceError> {
        self.git.keep_from_links()?;
        self.without = Box::pin(self.configured_hooks()).await?;
        let command = self.name();
        let mut process = self.process();
        let mut child = start_child(|| process.spawn()).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if self.git.dir.path().is_dir() => WorkspaceError::Unusable(
                "the program `git` was not found: install git; reflexion records every change with it, \
                 also in projects that are no git repository"
                    .to_owned(),
            ),
            _ => failed(command.clone(), &error.to_string()),
        })?;
        let id = child.id();
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&self.stdin).await;
            }
        };
        let both = async { tokio::join!(feed, child.wait_with_output()).1 };
        let mut both = std::pin::pin!(both);
        // Dropped before the child, whose id is nobody else's so long.
        let mut guard = EndOnDrop(id);
        let output = tokio::select! {
            output = &mut both => output.map_err(|error| failed(command.clone(), &error.to_string()))?,
            why = given_up(guard.0.unwrap_or_default()) => {
                // It is not waited for before, so that its id is nobody else's.
                guard.end().await;
                return Err(why);
            }
        };
        guard.0 = None;
        Ok(GitOutput {
            status: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs it and shows stdout while it comes, in pieces that end anywhere; a status other than 0 is an error with what
    /// git printed. The limit is on silence, not on how long a large repository takes.
    pub(super) async fn stream(mut self, mut show: impl FnMut(&[u8]) + Send) -> Result<(), WorkspaceError> {
        /// So much of stderr is kept.
        const KEPT: u64 = 16 * 1024;
        self.git.keep_from_links()?;
        self.without = self.configured_hooks().await?;
        let command = self.name();
        let lost = |error: std::io::Error| failed(command.clone(), &error.to_string());
        let mut process = self.process();
        let mut child = start_child(|| process.spawn()).map_err(lost)?;
        let mut guard = EndOnDrop(child.id());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let listen = async {
            let mut said = Vec::new();
            if let Some(mut stderr) = stderr {
                let _ = (&mut stderr).take(KEPT).read_to_end(&mut said).await;
                // Whoever says more must not wait for a reader.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            }
            String::from_utf8_lossy(&said).into_owned()
        };
        let read = async {
            let Some(mut stdout) = stdout else { return Ok(()) };
            let mut piece = vec![0; 256 * 1024];
            loop {
                let silent = || failed(command.clone(), "it said nothing for 10 minutes");
                let length = tokio::time::timeout(LIMIT, stdout.read(&mut piece)).await.map_err(|_| silent())?;
                match length.map_err(lost)? {
                    0 => return Ok(()),
                    length => show(&piece[..length]),
                }
            }
        };
        // Leaving early drops the guard, which ends git, which ends what listens.
        let both = async {
            let read = std::pin::pin!(read);
            let listen = std::pin::pin!(listen);
            tokio::try_join!(read, async { Ok(listen.await) })
        };
        let group = guard.0.unwrap_or_default();
        let ((), said) = tokio::select! {
            said = both => said?,
            pipe = until_at_pipe(group) => return Err(WorkspaceError::Waited { command, pipe: Some(pipe) }),
        };
        let status = child.wait().await.map_err(lost)?;
        guard.0 = None;
        if status.success() { Ok(()) } else { Err(failed(command, &said)) }
    }

    /// What says when the hooks run that the settings name. A repository of the runtime's own takes none over.
    async fn configured_hooks(&self) -> Result<Vec<OsString>, WorkspaceError> {
        // Where git is missing or too old, the call itself says so.
        let is_known_not_to = async || !git_version().await.is_ok_and(|said| starts_configured_hooks(&said));
        if self.is_bare || self.git.alone || is_known_not_to().await {
            return Ok(Vec::new());
        }
        let list = Git { guarded: false, ..self.git.clone() }.call(LIST_NAMES).bare();
        // Outside of any repository, and with settings that cannot be read, the call itself says what is wrong.
        Ok(hook_events(&list.run().await?.stdout))
    }

    fn process(&self) -> tokio::process::Command {
        let mut process = tokio::process::Command::new(&*PROGRAM);
        for (name, _) in std::env::vars_os() {
            let known = name.to_string_lossy();
            let is_of_git = known.starts_with("GIT_") && !SETTINGS.contains(&&*known);
            if is_of_git || OF_SHELL.contains(&&*known) {
                process.env_remove(name);
            }
        }
        if let Some((git_dir, work_tree)) = &self.git.repository {
            process.env("GIT_DIR", git_dir).envs(work_tree.iter().map(|files| ("GIT_WORK_TREE", files)));
        }
        if self.git.alone {
            process.envs(ALONE);
        }
        if self.git.looks {
            process.envs(NOTHING_FETCHED);
        }
        process.envs(ENVIRONMENT).envs(emptied(&self.without)).envs(self.env.iter().map(|(name, value)| (name, value)));
        for key_value in CONFIG.iter().filter(|_| !self.is_bare).chain(&self.git.setting) {
            process.args(["-c", key_value]);
        }
        process
            .args(&self.args)
            .current_dir(self.git.dir.path())
            .stdin(if self.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        process
    }
}

/// What git says of itself, asked once in a process.
///
/// # Errors
/// [`WorkspaceError::Unusable`] where it is too old or not there: a night would find out when its first work is to be merged.
pub async fn git_version() -> Result<String, WorkspaceError> {
    static SAID: OnceCell<Result<String, WorkspaceError>> = OnceCell::const_new();
    SAID.get_or_init(async || {
        let said = Git::found_from("/").call(["version"]).bare().line().await?;
        match too_old(&said) {
            None => Ok(said),
            Some(version) => Err(WorkspaceError::Unusable(format!(
                "git {}.{} or newer is needed; {} is {version}",
                OLDEST.0,
                OLDEST.1,
                PROGRAM.display()
            ))),
        }
    })
    .await
    .clone()
}

/// The version in `git version 2.39.5 (…)`, if it is too old. Whoever builds a git of their own may call it anything.
fn too_old(said: &str) -> Option<&str> {
    version(said).filter(|(_, numbers)| *numbers < OLDEST).map(|(version, _)| version)
}

/// Whether it may start hooks that settings name.
fn starts_configured_hooks(said: &str) -> bool {
    version(said).is_none_or(|(_, numbers)| numbers >= CONFIGURED_HOOKS)
}

fn version(said: &str) -> Option<(&str, (u32, u32))> {
    let version = said.split_whitespace().nth(2)?;
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    Some((version, (numbers.next()??, numbers.next()??)))
}

/// Lists the names of all settings, each with a NUL behind it.
pub(super) const LIST_NAMES: [&str; 4] = ["config", "--null", "--name-only", "--list"];

/// Of the names of settings those that say when a hook runs. An empty value takes back those before it, for every event, whatever the
/// hook is called.
pub(super) fn hook_events(names: &[u8]) -> Vec<OsString> {
    let is_event = |name: &&[u8]| name.starts_with(b"hook.") && name.ends_with(b".event");
    let found: BTreeSet<&[u8]> = names.split(|byte| *byte == 0).filter(is_event).collect();
    found.into_iter().map(|name| OsStr::from_bytes(name).to_owned()).collect()
}

/// The variables that empty these settings. `-c` ends a name at its first `=`, which may be a part of it.
pub(super) fn emptied(keys: &[OsString]) -> impl Iterator<Item = (String, OsString)> {
    let count = ("GIT_CONFIG_COUNT".to_owned(), keys.len().to_string().into());
    let settings = keys.iter().enumerate().flat_map(|(i, key)| {
        [(format!("GIT_CONFIG_KEY_{i}"), key.clone()), (format!("GIT_CONFIG_VALUE_{i}"), OsString::new())]
    });
    std::iter::once(count).chain(settings)
}

/// The program, by its whole path: a part of `PATH` that is relative would be looked for where an agent works.
pub(super) static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git"));
    found.into_iter().find(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("git"))
});

/// Git takes so long, at most, to remove its lock files.
const GRACE: Duration = Duration::from_millis(500);

/// Ends git and its helpers (filters) if the call is given up: by TERM, on which git removes its lock files, and by KILL where somebody
/// does not hear that.
struct EndOnDrop(Option<u32>);

impl EndOnDrop {
    fn send(&self, signal: Signal) {
        let group = self.0.and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Ends those too that do not end by themselves then.
    async fn end(&mut self) {
        self.send(Signal::TERM);
        tokio::time::sleep(GRACE).await;
        self.send(Signal::KILL);
        self.0 = None;
    }
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let Some(leader) = self.0.and_then(|id| Pid::from_raw(id.try_into().ok()?)) else { return };
        self.send(Signal::TERM);
        // Nobody may be there to do it later: a run that is stopped ends soon. Git mostly needs a few milliseconds.
        let begun = Instant::now();
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while begun.elapsed() < GRACE && matches!(waitid(WaitId::Pid(leader), look), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.send(Signal::KILL);
    }
}

/// The error of a call.
pub(super) fn failed(command: impl Into<String>, message: &str) -> WorkspaceError {
    WorkspaceError::Git { command: command.into(), message: message.trim().to_owned() }
}

/// The paths of a NUL-separated listing.
pub(super) fn paths(listing: &[u8]) -> impl Iterator<Item = PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(|path| PathBuf::from(OsStr::from_bytes(path)))
}

/// A NUL-separated listing of paths.
pub(super) fn listing<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_ref().as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_given_up_is_ended_with_all_that_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let deaf = format!("alias.deaf=!trap '' TERM; echo $$ > '{}'; while :; do sleep 1; done", pid.display());
        let call = || Git::found_from(dir.path()).call(["-c", &deaf, "deaf"]);
        let answer = call().answer(Duration::from_millis(700), &CancellationToken::new()).await;
        assert!(matches!(answer, Err(WorkspaceError::Git { message, .. }) if message.starts_with("no answer in")));
        is_gone(&pid).await;
        // The same where nobody waits for it any more.
        std::fs::remove_file(&pid).unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(700), call().run()).await.is_err());
        is_gone(&pid).await;
    }

    async fn is_gone(pid: &Path) {
        let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = || stat().rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"));
        for _ in 0..200 {
            if is_gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it lives: {}", stat());
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let check = |said: &str, expected: Option<&str>| assert_eq!(too_old(said), expected, "{said}");
        check("git version 2.39.5", Some("2.39.5"));
        check("git version 2.39.5 (Apple Git-154)", Some("2.39.5"));
        check("git version 1.99", Some("1.99"));
        for new in ["git version 2.40.0", "git version 2.50.1.windows.1", "git version 3.0", "git version 2.100.0"] {
            check(new, None);
        }
        for own in ["git version next", "git", "", "git version 2.x"] {
            check(own, None);
            assert!(starts_configured_hooks(own), "{own}");
        }
        assert!(!starts_configured_hooks("git version 2.53.1") && starts_configured_hooks("git version 2.54.0"));
    }
}
