//! Trying a sandbox out before anything depends on it.

use super::layout::Layout;
use super::layout::io_error;
use super::layout::make_state_dir;
use super::removal::remove;
use crate::domain::policy;
use crate::host::HostRunner;
use crate::services::Command;
use crate::services::CommandEnd;
use crate::services::CommandRunner;
use crate::services::WorkspaceError;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// It takes milliseconds; a program that makes containers may take seconds the first time.
const LIMIT: Duration = Duration::from_mins(1);
/// Writes where it may, then tries where it may not.
const SCRIPT: &str = r#": > probe || exit 101
for place; do if (: > "$place/reflexion-probe") 2>/dev/null; then rm -f "$place/reflexion-probe"; echo "$place"; exit 102; fi; done"#;

/// Tries the sandbox of a project: a program in it must be able to write to its workspace, and unable to write to the project and
/// its repository.
///
/// # Errors
/// [`WorkspaceError::Unusable`] with what is the matter and what to do.
pub async fn try_sandbox(project: &policy::Project, sandbox: &policy::Sandbox) -> Result<(), WorkspaceError> {
    if *sandbox == policy::Sandbox::None {
        return Ok(());
    }
    let runner = HostRunner::of_project(project.state_dir()).confined(project, sandbox.clone());
    try_with(&runner, &Layout::new(project), sandbox).await
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
    make_state_dir(layout.state()).map_err(io_error("make", layout.state()))?;
    let own = layout.worktrees().join(".sandbox");
    let dir = own.join(format!("probe-{}", std::process::id()));
    fs::create_dir_all(&dir).map_err(io_error("make", &dir))?;
    let forbidden = [layout.state().to_owned(), layout.project.clone(), layout.project.join(".git")];
    let forbidden = forbidden.into_iter().filter(|place| place.is_dir());
    let words = ["sh", "-c", SCRIPT, "sh"].map(str::to_owned).into_iter();
    let argv: Vec<String> = words.chain(forbidden.map(|place: PathBuf| place.display().to_string())).collect();
    let command = Command { timeout: LIMIT, ..Command::new(argv, &dir) };
    let output = runner.run(command).await;
    remove(&dir)?;
    // Another one may be at the same.
    let _ = fs::remove_dir_all(own.join(".private")).and_then(|()| fs::remove_dir(&own));
    let because = match output {
        Err(error) => error.to_string(),
        Ok(output) => match output.end {
            CommandEnd::Exited(0) => return Ok(()),
            CommandEnd::Exited(101) => "a program in it cannot write to its own workspace".to_owned(),
            CommandEnd::Exited(102) => format!("a program in it can write to {}", output.stdout.text().trim()),
            end => {
                let how = end.failure().unwrap_or_default();
                format!("`true` in it {how}: {}", output.combined.text().trim())
            }
        },
    };
    Err(WorkspaceError::Unusable(format!(
        "the sandbox ({sandbox}) cannot be used: {because}. Agents are not started without it: mend that, choose another one, or \
         set `sandbox` to \"none\" in project.json"
    )))
}
