//! Commands that what a run has started is not to give.

use super::args::{Command, HookCommand, MemoryCommand, TaskCommand};
use crate::runtime;
use crate::services::RunError;
use std::path::Path;

/// What a run has started - an agent, a check, set-up - does not change what that run works by. A fence, no wall.
///
/// # Errors
/// [`RunError::Environment`] for a command that would.
pub(super) fn ensure_not(command: &Command, project: &Path) -> Result<(), RunError> {
    let changes = match command {
        Command::Init(init) => !init.dry_run,
        Command::Trust(trust) => !trust.show,
        Command::Run(run) => !run.dry_run,
        Command::Task(task) => {
            !matches!(task.command, TaskCommand::List { .. } | TaskCommand::Ready { .. } | TaskCommand::Show { .. })
        }
        Command::Memory(memory) => !matches!(
            memory.command,
            MemoryCommand::List { .. }
                | MemoryCommand::Show { .. }
                | MemoryCommand::Check { adopt: false, repair: false, .. }
                | MemoryCommand::Search { .. }
                | MemoryCommand::Stats { .. }
                | MemoryCommand::Export { out: None, .. }
                | MemoryCommand::Review { json: true, .. }
        ),
        Command::Hook(hook) => matches!(hook.command, HookCommand::Install(_) | HookCommand::Uninstall(_)),
        Command::Overnight(_) | Command::Apply(_) | Command::Eval(_) => true,
        Command::Report(_)
        | Command::Status(_)
        | Command::Watch(_)
        | Command::Transcript(_)
        | Command::Judge(_)
        | Command::Risk(_)
        | Command::Analyze(_)
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Notify(_)
        | Command::Completions(_) => false,
    };
    // A notice may well begin something.
    let is_notice = std::env::var_os("REFLEXION_NOTICE").is_some();
    if !changes || is_notice || !runtime::is_within_run_of(&project.join(".reflection")) {
        return Ok(());
    }
    let dir = project.display().to_string();
    Err(RunError::Environment(format!(
        "this was started by a run in {dir} (an agent, a check or `setup`), and does not change what that run works by: do it outside of the run"
    )))
}
