//! Any program: the notice as JSON on stdin.

use super::Surroundings;
use crate::domain::Notice;
use crate::services::{Command, Notifier, NotifyError, Sandboxed};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// A program of the user's, run without a shell in the project's directory.
///
/// It inherits the whole environment, because it may need keys that `envDeny` keeps from agents.
pub(super) struct ByCommand {
    pub argv: Vec<String>,
    pub surroundings: Surroundings,
}

#[async_trait]
impl Notifier for ByCommand {
    fn name(&self) -> String {
        format!("command {}", self.argv[0])
    }

    fn check(&self) -> Result<String, NotifyError> {
        self.surroundings.find(&self.argv[0])
    }

    async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let mut stdin = serde_json::to_vec(notice).map_err(|e| NotifyError::Failed(e.to_string()))?;
        stdin.push(b'\n');
        let env = variables(notice);
        let command = Command {
            env,
            stdin,
            sandboxed: Sandboxed::ReadOnly,
            ..Command::new(self.argv.clone(), self.surroundings.root.clone())
        };
        run(&self.surroundings, command).await
    }
}

/// Runs a program that must end with exit status 0.
pub(super) async fn run(surroundings: &Surroundings, command: Command) -> Result<(), NotifyError> {
    let command = Command { keep_bytes: 4096, ..command };
    let output = surroundings.runner.run(command).await.map_err(|e| NotifyError::Unavailable(e.to_string()))?;
    let Some(failure) = output.end.failure() else { return Ok(()) };
    let stderr = output.stderr.text();
    let first = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    let said = first.map(|line| format!(": {}", line.chars().take(200).collect::<String>())).unwrap_or_default();
    Err(NotifyError::Failed(format!("it {failure}{said}")))
}

/// For programs that do not read JSON.
fn variables(notice: &Notice) -> BTreeMap<String, String> {
    let mut env = BTreeMap::from([
        ("REFLEXION_NOTICE".to_owned(), notice.kind().as_str().to_owned()),
        ("REFLEXION_NOTICE_TITLE".to_owned(), notice.title().to_owned()),
        ("REFLEXION_NOTICE_TEXT".to_owned(), notice.text().to_owned()),
    ]);
    env.extend(notice.run().map(|run| ("REFLEXION_RUN_ID".to_owned(), run.to_string())));
    env.extend(notice.task().map(|task| ("REFLEXION_TASK_ID".to_owned(), task.to_string())));
    env
}
