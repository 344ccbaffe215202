//! The project's own instructions.

use crate::domain::Opinion;
use crate::files::open_named;
use crate::prompt::{INSTRUCTIONS_BYTES, excerpt};
use crate::services::{Clock, Judge, JudgeError, JudgeQuestion, JudgeRole, OpenQuestion, UsageMeter};
use async_trait::async_trait;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// For so long the files are not looked at again. Seed 000 of Reflection-3 has the same.
const KEPT_FOR: Duration = Duration::from_mins(1);
/// Files with instructions, in this order; all that there are.
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// No more of a file is read.
const READ_BYTES: u64 = 64 * 1024;

/// Shows a judge the project's own instructions (`AGENTS.md`, `CLAUDE.md`), each shortened, read again after a minute.
///
/// They come from the user's project and never from the workspace that is judged, so that an agent cannot rewrite them.
/// Reviewers and auditors see only the task and the diff, so they get none.
pub struct Instructed {
    inner: Arc<dyn Judge>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    read: Mutex<Option<(Duration, String)>>,
}

impl Instructed {
    /// Around a judge, with the project in `dir`.
    #[must_use]
    pub fn new(inner: Arc<dyn Judge>, clock: Arc<dyn Clock>, dir: PathBuf) -> Self {
        Self { inner, clock, dir, read: Mutex::default() }
    }

    fn instructions(&self) -> String {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.elapsed();
        match &*read {
            Some((since, text)) if now.saturating_sub(*since) < KEPT_FOR => text.clone(),
            _ => read.insert((now, instructions(&self.dir))).1.clone(),
        }
    }
}

#[async_trait]
impl Judge for Instructed {
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError> {
        if question.role != JudgeRole::Judge || !question.instructions.is_empty() {
            return self.inner.judge(question, spent).await;
        }
        let question = JudgeQuestion { instructions: self.instructions(), ..question.clone() };
        self.inner.judge(&question, spent).await
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        self.inner.ask(question, spent).await
    }
}

/// What the files say, those that there are. One that is a link to the other is told once.
fn instructions(dir: &Path) -> String {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for name in FILES {
        let mut text = Vec::new();
        let read = open_named(&dir.join(name)).and_then(|file| file.take(READ_BYTES).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        if read.is_ok() && !text.is_empty() && parts.iter().all(|(_, known)| *known != text) {
            parts.push((name, text));
        }
    }
    let room = INSTRUCTIONS_BYTES / parts.len().max(1) - 100;
    parts.iter().map(|(name, text)| format!("{name}:\n{}", excerpt(text, room))).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::test_question::question;
    use super::*;
    use crate::services::{MockClock, MockJudge};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn the_judge_sees_them_for_a_minute_and_reviewers_never() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "Use tabs.").unwrap();
        std::fs::write(dir.path().join("CLAUDE.md"), "Use tabs.\n").unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let mut inner = MockJudge::new();
        inner.expect_judge().returning(move |question, _| {
            noted.lock().unwrap().push(question.instructions.clone());
            Ok(Opinion::default())
        });
        let seconds = Arc::new(AtomicU64::new(5));
        let told = Arc::clone(&seconds);
        let mut clock = MockClock::new();
        clock.expect_elapsed().returning(move || Duration::from_secs(told.load(Ordering::SeqCst)));
        let judge = Instructed::new(Arc::new(inner), Arc::new(clock), dir.path().to_owned());

        judge.judge(&question(), &UsageMeter::default()).await.unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "Use spaces.").unwrap();
        judge.judge(&question(), &UsageMeter::default()).await.unwrap();
        seconds.store(66, Ordering::SeqCst);
        judge.judge(&question(), &UsageMeter::default()).await.unwrap();
        judge.judge(&JudgeQuestion { role: JudgeRole::Reviewer, ..question() }, &UsageMeter::default()).await.unwrap();
        let once = "AGENTS.md:\nUse tabs.";
        assert_eq!(*seen.lock().unwrap(), [once, once, "AGENTS.md:\nUse spaces.\n\nCLAUDE.md:\nUse tabs.", ""]);
    }

    #[test]
    fn no_files_are_no_instructions_and_long_ones_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(instructions(dir.path()), "");
        for name in FILES {
            std::fs::write(dir.path().join(name), format!("{name} {}", "ä".repeat(100_000))).unwrap();
        }
        let text = instructions(dir.path());
        assert!(text.len() <= INSTRUCTIONS_BYTES, "{}", text.len());
        assert!(text.contains("AGENTS.md:\nAGENTS.md ä") && text.contains("CLAUDE.md:\nCLAUDE.md ä"));
    }
}
