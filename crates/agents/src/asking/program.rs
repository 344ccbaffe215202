//! A program that is asked.

use crate::prompt::stderr_end;
use crate::redaction::Redactor;
use crate::services::{
    Accepts, AskError, Command, CommandEnd, CommandOutput, CommandRunner, Question, Respondent, Sandboxed, UsageMeter,
};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Runs a program: the question's data as JSON on stdin, the answer on stdout, exit status 0.
///
/// stdout may hold prose around the JSON object, and at most twice [`Command::KEEP_BYTES`]. What it uses is not known.
pub(super) struct ProgramRespondent {
    pub runner: Arc<dyn CommandRunner>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub dir: PathBuf,
    /// Globs of inherited variables that the program does not get.
    pub env_deny: Vec<String>,
    /// After so long the program is ended.
    pub timeout: Duration,
}

#[async_trait]
impl Respondent for ProgramRespondent {
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        _: &UsageMeter,
    ) -> Result<String, AskError> {
        let stdin = serde_json::to_vec(&question.data).map_err(failed)?;
        let command = Command {
            env: question.env.clone(),
            env_deny: self.env_deny.clone(),
            // Names of files, which an agent chose.
            stdin: Redactor::of_process().redact_json(&stdin).into_owned(),
            timeout: self.timeout,
            sandboxed: Sandboxed::ReadOnly,
            ..Command::new(self.argv.clone(), &self.dir)
        };
        let output = self.runner.run(command).await.map_err(failed)?;
        self.check_end(&output)?;
        let text = output.stdout.text();
        accepts(&text).map_err(|why| AskError::Unreadable(format!("{why}{}", stderr_end(&output.stderr.text()))))?;
        Ok(text.clone())
    }
}

impl ProgramRespondent {
    fn check_end(&self, output: &CommandOutput) -> Result<(), AskError> {
        if output.end == CommandEnd::TimedOut {
            return Err(AskError::Timeout(self.timeout));
        }
        if let Some(how) = output.end.failure() {
            let program = self.argv.first().map_or("", String::as_str);
            return Err(failed(format!("`{program}` {how}{}", stderr_end(&output.stderr.text()))));
        }
        if output.stdout.omitted() > 0 {
            let (bytes, most) = (output.stdout.bytes, 2 * Command::KEEP_BYTES);
            return Err(AskError::Unreadable(format!("the answer has {bytes} bytes; at most {most} are read")));
        }
        Ok(())
    }
}

fn failed(error: impl std::fmt::Display) -> AskError {
    AskError::Failed(error.to_string())
}
