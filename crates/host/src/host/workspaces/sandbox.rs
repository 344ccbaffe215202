//! Trying a sandbox out before anything depends on it.

use super::layout::{Layout, io_error};
use crate::domain::policy;
use crate::files::Root;
use crate::host::HostRunner;
use crate::host::process::git_dir_of;
use crate::services::{Command, CommandEnd, CommandError, CommandOutput, CommandRunner, WorkspaceError};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where it is tried, among the places of the runs.
pub(in crate::host) const TRIED: &str = ".sandbox";
/// It takes milliseconds; a program that makes containers may take seconds the first time.
const LIMIT: Duration = Duration::from_mins(1);
/// Writes where it may, then tries where it may not, and says that it came to its end. Nothing is hidden in `/dev/null`: in a
/// sandbox there may be none, and then nothing would be tried.
const SCRIPT: &str = r#"name=$1; shift; printf %s "$name" > "$name" || exit 101
for place; do (: > "$place/$name"); done
if [ -r /proc/self/status ]; then
    while read -r what value; do [ "$what" = CapEff: ] && echo "capabilities $value"; done < /proc/self/status
fi
echo "tried $#""#;
/// Who has this of Linux' capabilities in a sandbox of mounts mounts anew what is read-only there.
const SYS_ADMIN: u64 = 1 << 21;

/// Whether a program can be seen, without starting it.
const SEEN: &str = r#"case $1 in */*) [ -x "$1" ] ;; *) found=$(command -v -- "$1") ;; esac || exit 102"#;
/// How [`SEEN`] says that it cannot.
const HIDDEN: i32 = 102;

/// Tries the sandbox of a project: a program in it must be able to write to its workspace or clean room, and unable to write to the
/// project, its repository and other clean rooms. What it did is looked at from outside.
///
/// # Errors
/// [`WorkspaceError::Unusable`] with what is the matter and what to do; also where it cannot be told.
pub async fn try_sandbox(project: &policy::Project, sandbox: &policy::Sandbox) -> Result<(), WorkspaceError> {
    if *sandbox == policy::Sandbox::None {
        return Ok(());
    }
    let (runner, layout) = (HostRunner::of_project(project.state_dir()), Layout::new(project));
    let tried = try_with(&runner.confined(project, sandbox.clone()), &layout, sandbox).await;
    layout.leave_rooms();
    tried
}

/// Which of these programs cannot be seen inside the sandbox of a project; none is started. Where that cannot be found out, none is named:
/// [`try_sandbox`] says why.
pub async fn hidden_in_sandbox(
    project: &policy::Project,
    sandbox: &policy::Sandbox,
    programs: &[String],
) -> Vec<String> {
    let (runner, layout) = (HostRunner::of_project(project.state_dir()), Layout::new(project));
    let runner = runner.confined(project, sandbox.clone());
    let mut hidden = Vec::new();
    let place = Path::new(TRIED).join(format!("reflexion-probe-{}", uuid::Uuid::now_v7().simple()));
    if let Ok(work) = layout.worktrees()
        && work.make_below(&place).is_ok()
    {
        for program in programs {
            let words = ["sh", "-c", SEEN, "sh", program];
            let command = Command { timeout: LIMIT, ..Command::new(words, work.path().join(&place)) };
            if runner.run(command).await.is_ok_and(|output| output.end == CommandEnd::Exited(HIDDEN)) {
                hidden.push(program.clone());
            }
        }
        let _ = work.remove(&place);
        let own = Path::new(TRIED);
        let _ = work.remove(&own.join(".private")).and_then(|()| work.remove_empty(own));
    }
    layout.leave_rooms();
    hidden
}

/// As [`try_sandbox`], with the runner that the run has.
pub(super) async fn try_with(
    runner: &dyn CommandRunner,
    layout: &Layout,
    sandbox: &policy::Sandbox,
) -> Result<(), WorkspaceError> {
    if *sandbox == policy::Sandbox::None {
        return Ok(());
    }
    let work = layout.worktrees().map_err(io_error("make", layout.state()))?;
    let rooms = layout.rooms()?;
    let forbidden = forbidden(layout, &rooms);
    let is_of_mounts = matches!(sandbox, policy::Sandbox::Command { .. });
    let mut found = Ok(());
    for all in [work, rooms] {
        if found.is_ok() {
            found = try_in(&all, runner, &forbidden, is_of_mounts).await?;
        }
    }
    found.map_err(|because| {
        WorkspaceError::Unusable(format!(
            "the sandbox ({sandbox}) cannot be used: {because}. Agents are not started without it: mend that, choose another \
             one, or set `sandbox` to \"none\" in {}",
            layout.settings
        ))
    })
}

/// Tries it in a place among these.
async fn try_in(
    all: &Root,
    runner: &dyn CommandRunner,
    forbidden: &BTreeSet<PathBuf>,
    is_of_mounts: bool,
) -> Result<Result<(), String>, WorkspaceError> {
    let own = Path::new(TRIED);
    // Another process may be at the same, and a killed one may have left its own.
    let name = format!("reflexion-probe-{}", uuid::Uuid::now_v7().simple());
    let place = own.join(&name);
    let probe = Probe { is_of_mounts, dir: all.path().join(&place), forbidden: forbidden.clone(), name };
    all.make_below(&place).map_err(io_error("make", &probe.dir))?;
    let output = runner.run(probe.command()).await;
    let found = probe.judge(output);
    all.remove(&place).map_err(io_error("remove", &probe.dir))?;
    let _ = all.remove(&own.join(".private")).and_then(|()| all.remove_empty(own));
    Ok(found)
}

/// What belongs to the user, and what only the runtime gives away.
fn forbidden(layout: &Layout, rooms: &Root) -> BTreeSet<PathBuf> {
    let git = git_dir_of(&layout.project);
    let places = [layout.state().to_owned(), layout.project.clone(), rooms.path().to_owned()].into_iter().chain(git);
    places.filter(|place| place.is_dir()).collect()
}

/// Whether a program in it says that it has the right to mount. Where there is no `/proc`, it does not say.
fn may_mount(said: &str) -> bool {
    let held = said.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("capabilities ")?, 16).ok());
    held.is_some_and(|held| held & SYS_ADMIN != 0)
}

/// One try.
struct Probe {
    /// Whether it is made of mounts; Landlock holds whoever may mount.
    is_of_mounts: bool,
    /// Where it may write.
    dir: PathBuf,
    /// Where it may not.
    forbidden: BTreeSet<PathBuf>,
    /// The file that it tries to make everywhere.
    name: String,
}

impl Probe {
    fn command(&self) -> Command {
        let places = self.forbidden.iter().map(|place| place.display().to_string());
        let words = ["sh", "-c", SCRIPT, "sh", &self.name].map(str::to_owned).into_iter().chain(places);
        Command { timeout: LIMIT, ..Command::new(words, &self.dir) }
    }

    /// Whether everything was tried, and only what is allowed has happened. What a program in it says counts only where the
    /// files cannot be asked.
    fn judge(&self, output: Result<CommandOutput, CommandError>) -> Result<(), String> {
        if let Some(place) = self.written() {
            return Err(format!("a program in it can write to {}", place.display()));
        }
        let output = output.map_err(|error| error.to_string())?;
        let said = output.combined.text();
        let said = said.trim();
        match output.end {
            CommandEnd::Exited(0) => {}
            CommandEnd::Exited(101) => {
                return Err(format!("a program in it cannot write to its own workspace: {said}"));
            }
            end => return Err(format!("`sh` in it {}: {said}", end.failure().unwrap_or_default())),
        }
        let stdout = output.stdout.text();
        if stdout.lines().last() != Some(&format!("tried {}", self.forbidden.len())) {
            return Err(format!("whether it protects anything cannot be told, because it does not start `sh`: {said}"));
        }
        let arrived = fs::read_to_string(self.dir.join(&self.name)).is_ok_and(|text| text == self.name);
        let lost = "what a program in it writes to its workspace does not arrive there";
        if !arrived {
            return Err(lost.to_owned());
        }
        if may_mount(&stdout) && self.is_of_mounts {
            return Err("a program in it may mount (CAP_SYS_ADMIN, because you are root), and so write wherever its mounts are read-only: \
                        for bubblewrap, add `\"--cap-drop\", \"ALL\"` to `sandbox.command`"
                .to_owned());
        }
        Ok(())
    }

    /// A place that it has written to and must not; its files are taken away again.
    fn written(&self) -> Option<&Path> {
        let files = self.forbidden.iter().map(|place| (place, place.join(&self.name)));
        let written: Vec<_> = files.filter(|(_, file)| file.symlink_metadata().is_ok()).collect();
        for (_, file) in &written {
            let _ = fs::remove_file(file);
        }
        written.first().map(|(place, _)| place.as_path())
    }
}
