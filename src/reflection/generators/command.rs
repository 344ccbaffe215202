//! Any program as generator.

use super::drafted;
use crate::domain::{Draft, FailureContext, Origin};
use crate::prompt::{parse_reply, stderr_end};
use crate::redaction::Redactor;
use crate::services::{
    Command, CommandEnd, CommandOutput, CommandRunner, Generator, GeneratorError, Sandboxed, UsageMeter,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Runs a program: the failure context as JSON on stdin, a reflection as JSON on stdout, exit status 0.
///
/// stdout may hold prose around the JSON object (see [`parse_reply`]), and at most twice [`Command::KEEP_BYTES`].
/// The program gets `REFLEXION_TASK_ID`, `REFLEXION_SUBTASK_ID`, `REFLEXION_ATTEMPT` and `REFLEXION_SESSION_ID`.
pub struct CommandGenerator {
    /// Runs it.
    pub runner: Arc<dyn CommandRunner>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory: the project's root.
    pub dir: PathBuf,
    /// Globs of inherited variables that the program does not get.
    pub env_deny: Vec<String>,
    /// After so long the program is ended.
    pub timeout: Duration,
}

#[async_trait]
impl Generator for CommandGenerator {
    async fn generate(&self, failure: &FailureContext, _: &UsageMeter) -> Result<Draft, GeneratorError> {
        let stdin = serde_json::to_vec(failure).map_err(failed)?;
        // Names of files, which an agent chose.
        let stdin = Redactor::of_process().redact_json(&stdin).into_owned();
        let command = Command {
            env: variables(failure),
            env_deny: self.env_deny.clone(),
            stdin,
            timeout: self.timeout,
            sandboxed: Sandboxed::ReadOnly,
            ..Command::new(self.argv.clone(), &self.dir)
        };
        let output = self.runner.run(command).await.map_err(failed)?;
        self.check_end(&output)?;
        if output.stdout.omitted() > 0 {
            return Err(GeneratorError::Parse(format!(
                "the answer has {} bytes; at most {} are read",
                output.stdout.bytes,
                2 * Command::KEEP_BYTES
            )));
        }
        parse_reply(output.stdout.text())
            .map(|reply| drafted(reply, Origin::Command))
            .map_err(|error| GeneratorError::Parse(format!("{error}{}", stderr_end(&output.stderr.text()))))
    }
}

impl CommandGenerator {
    fn check_end(&self, output: &CommandOutput) -> Result<(), GeneratorError> {
        if output.end == CommandEnd::TimedOut {
            return Err(GeneratorError::Timeout(self.timeout));
        }
        let Some(how) = output.end.failure() else { return Ok(()) };
        let program = self.argv.first().map_or("", String::as_str);
        Err(failed(format!("`{program}` {how}{}", stderr_end(&output.stderr.text()))))
    }
}

fn failed(error: impl std::fmt::Display) -> GeneratorError {
    GeneratorError::GenerationFailed(error.to_string())
}

fn variables(failure: &FailureContext) -> BTreeMap<String, String> {
    [
        ("REFLEXION_TASK_ID", failure.task_id.to_string()),
        ("REFLEXION_SUBTASK_ID", failure.subtask_id.to_string()),
        ("REFLEXION_ATTEMPT", failure.attempt_number.to_string()),
        ("REFLEXION_SESSION_ID", failure.session_id.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::super::test_failure;
    use super::*;
    use crate::domain::{Category, CheckCommand};
    use crate::services::{CommandError, MockCommandRunner};

    const ANSWER: &str = r#"{"category":"test_gap","analysis":"a","suggestion":"s","actionItems":[],"confidence":0.8}"#;

    fn generator(runner: MockCommandRunner) -> CommandGenerator {
        CommandGenerator {
            runner: Arc::new(runner),
            argv: vec!["lesson".to_owned(), "--brief".to_owned()],
            dir: "/project".into(),
            env_deny: vec!["SECRET_*".to_owned()],
            timeout: Duration::from_secs(30),
        }
    }

    #[tokio::test]
    async fn the_program_gets_the_failure_and_gives_the_draft() {
        let mut runner = MockCommandRunner::new();
        runner
            .expect_run()
            .times(1)
            .withf(|command| {
                let failure: FailureContext = serde_json::from_slice(&command.stdin).unwrap();
                failure == test_failure()
                    && command.program == CheckCommand::Argv(vec!["lesson".to_owned(), "--brief".to_owned()])
                    && command.dir == std::path::Path::new("/project")
                    && command.env_deny == ["SECRET_*"]
                    && command.timeout == Duration::from_secs(30)
                    && command.env
                        == BTreeMap::from([
                            ("REFLEXION_ATTEMPT".to_owned(), "1".to_owned()),
                            ("REFLEXION_SESSION_ID".to_owned(), "ses-1".to_owned()),
                            ("REFLEXION_SUBTASK_ID".to_owned(), "cart".to_owned()),
                            ("REFLEXION_TASK_ID".to_owned(), "cart".to_owned()),
                        ])
            })
            .returning(|_| {
                Ok(CommandOutput::printed(CommandEnd::Exited(0), &format!("here: {ANSWER}\n"), "a warning"))
            });
        let draft = generator(runner).generate(&test_failure(), &UsageMeter::default()).await.unwrap();
        assert_eq!((draft.category, draft.origin), (Category::TestGap, Origin::Command));
        assert_eq!((draft.analysis.as_str(), draft.confidence), ("a", 0.8));
    }

    #[tokio::test]
    async fn every_failure_says_what_happened() {
        async fn check(result: fn() -> Result<CommandOutput, CommandError>, expected: &str) {
            let mut runner = MockCommandRunner::new();
            runner.expect_run().return_once(move |_| result());
            let error = generator(runner).generate(&test_failure(), &UsageMeter::default()).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        check(
            || Ok(CommandOutput::printed(CommandEnd::Exited(2), ANSWER, "\u{1b}[31mno key\u{1b}[0m\n")),
            "generation_failed: `lesson` exited with status 2; its stderr ends: no key",
        )
        .await;
        check(
            || Ok(CommandOutput::printed(CommandEnd::Signaled(9), "", "")),
            "generation_failed: `lesson` was ended by signal 9",
        )
        .await;
        check(|| Ok(CommandOutput::printed(CommandEnd::TimedOut, "", "")), "timeout: no answer within 30 s").await;
        check(
            || Err(CommandError::NotFound { program: "lesson".to_owned() }),
            "generation_failed: program `lesson` was not found on PATH",
        )
        .await;
        check(
            || Ok(CommandOutput::printed(CommandEnd::Exited(0), "sorry", "quota\nused up")),
            "parse_error: the answer holds no JSON object with an `analysis`; it begins: \"sorry\"; its stderr ends: quota used up",
        )
        .await;
        check(
            || {
                let mut output = CommandOutput::printed(CommandEnd::Exited(0), ANSWER, "");
                output.stdout.bytes = 9_000_000;
                Ok(output)
            },
            "parse_error: the answer has 9000000 bytes; at most 131072 are read",
        )
        .await;
    }
}
