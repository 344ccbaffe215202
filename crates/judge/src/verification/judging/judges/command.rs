//! Any program as judge.

use super::super::read_answer;
use crate::domain::Opinion;
use crate::prompt::stderr_end;
use crate::services::{
    Command, CommandEnd, CommandOutput, CommandRunner, Judge, JudgeError, JudgeQuestion, OpenQuestion, Sandboxed,
    UsageMeter,
};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Runs a program: the question as JSON on stdin, the answer on stdout, exit status 0.
///
/// A [`JudgeQuestion`] has the key `role`, and its answer is a verdict; an [`OpenQuestion`] has the keys `prompt` and
/// `schema`, and its answer is whatever the schema says. stdout may hold prose around the JSON object, and at most twice
/// [`Command::KEEP_BYTES`]. The program gets `REFLEXION_SESSION_ID` with the session that it judges.
pub struct CommandJudge {
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
impl Judge for CommandJudge {
    async fn judge(&self, question: &JudgeQuestion, _: &UsageMeter) -> Result<Opinion, JudgeError> {
        let session = ("REFLEXION_SESSION_ID".to_owned(), question.session.as_str().to_owned());
        let mut command = self.command(serde_json::to_vec(question).map_err(failed)?);
        command.env.extend([session]);
        let output = self.run(command).await?;
        read_answer(&output.stdout.text(), question).map_err(|error| match error {
            JudgeError::Unreadable(why) => {
                JudgeError::Unreadable(format!("{why}{}", stderr_end(&output.stderr.text())))
            }
            other => other,
        })
    }

    async fn ask(&self, question: &OpenQuestion, _: &UsageMeter) -> Result<String, JudgeError> {
        let output = self.run(self.command(serde_json::to_vec(question).map_err(failed)?)).await?;
        Ok(output.stdout.text().clone())
    }
}

impl CommandJudge {
    fn command(&self, stdin: Vec<u8>) -> Command {
        Command {
            env_deny: self.env_deny.clone(),
            stdin,
            timeout: self.timeout,
            sandboxed: Sandboxed::ReadOnly,
            ..Command::new(self.argv.clone(), &self.dir)
        }
    }

    async fn run(&self, command: Command) -> Result<CommandOutput, JudgeError> {
        let output = self.runner.run(command).await.map_err(failed)?;
        if output.end == CommandEnd::TimedOut {
            return Err(JudgeError::Timeout(self.timeout));
        }
        if let Some(how) = output.end.failure() {
            let program = self.argv.first().map_or("", String::as_str);
            return Err(failed(format!("`{program}` {how}{}", stderr_end(&output.stderr.text()))));
        }
        if output.stdout.omitted() > 0 {
            return Err(JudgeError::Unreadable(format!(
                "it has {} bytes; at most {} are read",
                output.stdout.bytes,
                2 * Command::KEEP_BYTES
            )));
        }
        Ok(output)
    }
}

fn failed(error: impl std::fmt::Display) -> JudgeError {
    JudgeError::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::test_question::{YES, open, question};
    use super::*;
    use crate::domain::CheckCommand;
    use crate::services::{CommandError, MockCommandRunner};

    fn judge(runner: MockCommandRunner) -> CommandJudge {
        CommandJudge {
            runner: Arc::new(runner),
            argv: vec!["judge".to_owned(), "--strict".to_owned()],
            dir: "/project".into(),
            env_deny: vec!["SECRET_*".to_owned()],
            timeout: Duration::from_secs(30),
        }
    }

    #[tokio::test]
    async fn the_program_gets_the_question_and_gives_the_verdict() {
        let mut runner = MockCommandRunner::new();
        runner
            .expect_run()
            .times(1)
            .withf(|command| {
                serde_json::from_slice::<JudgeQuestion>(&command.stdin).unwrap() == question()
                    && command.program == CheckCommand::Argv(vec!["judge".to_owned(), "--strict".to_owned()])
                    && command.dir == std::path::Path::new("/project")
                    && command.env_deny == ["SECRET_*"]
                    && command.timeout == Duration::from_secs(30)
                    && command.env["REFLEXION_SESSION_ID"] == "ses-1"
            })
            .returning(|_| Ok(CommandOutput::printed(CommandEnd::Exited(0), &format!("here: {YES}\n"), "a warning")));
        assert!(judge(runner).judge(&question(), &UsageMeter::default()).await.unwrap().completes());
    }

    #[tokio::test]
    async fn an_open_question_is_answered_word_for_word() {
        let mut runner = MockCommandRunner::new();
        runner
            .expect_run()
            .withf(|command| serde_json::from_slice::<OpenQuestion>(&command.stdin).unwrap() == open())
            .returning(|_| Ok(CommandOutput::printed(CommandEnd::Exited(0), "because", "")));
        assert_eq!(judge(runner).ask(&open(), &UsageMeter::default()).await, Ok("because".to_owned()));
    }

    #[tokio::test]
    async fn whatever_goes_wrong_is_an_error_and_says_what() {
        async fn check(result: fn() -> Result<CommandOutput, CommandError>, expected: &str) {
            let mut runner = MockCommandRunner::new();
            runner.expect_run().return_once(move |_| result());
            assert_eq!(
                judge(runner).judge(&question(), &UsageMeter::default()).await.unwrap_err().to_string(),
                expected
            );
        }
        check(
            || Ok(CommandOutput::printed(CommandEnd::Exited(2), YES, "\u{1b}[31mno key\u{1b}[0m\n")),
            "the judge could not be asked: `judge` exited with status 2; its stderr ends: no key",
        )
        .await;
        check(|| Ok(CommandOutput::printed(CommandEnd::TimedOut, YES, "")), "the judge gave no answer within 30 s")
            .await;
        check(
            || Ok(CommandOutput::printed(CommandEnd::Signaled(9), YES, "")),
            "the judge could not be asked: `judge` was ended by signal 9",
        )
        .await;
        check(
            || Err(CommandError::NotFound { program: "judge".to_owned() }),
            "the judge could not be asked: program `judge` was not found on PATH",
        )
        .await;
        check(
            || Ok(CommandOutput::printed(CommandEnd::Exited(0), "done!", "quota\nused up")),
            "the judge's answer is no verdict: there is no JSON object with `complete` in it; it begins: \"done!\"; its \
             stderr ends: quota used up",
        )
        .await;
        check(
            || {
                let mut output = CommandOutput::printed(CommandEnd::Exited(0), YES, "");
                output.stdout.bytes = 9_000_000;
                Ok(output)
            },
            "the judge's answer is no verdict: it has 9000000 bytes; at most 131072 are read",
        )
        .await;
    }
}
