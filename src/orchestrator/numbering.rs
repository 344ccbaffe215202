//! Tests that their runner numbers by their place: which of those that fail now are the ones that failed at the base.
//!
//! Where a change has touched files of tests, a number may be another case's. The tests of the base, run on the code of the change, have the
//! numbers that they had there: what fails of them fails still, and what fails beside as many is new.

use super::proof;
use super::review::has_grown;
use super::task_run::{Prepared, TaskPlan, TaskRunError};
use crate::domain::{Cases, CheckReport, CountedTests, FailedTest, TreeId};
use crate::services::{Taken, Workspace};
use crate::toolchain;
use std::path::{Path, PathBuf};

/// What the checks of a tree are compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    pub tree: &'a TreeId,
    pub checks: &'a [CheckReport],
}

/// What a change does to the files that say which tests there are, and what they compare with.
struct Asking {
    files: Vec<Asks>,
    prefix: PathBuf,
}

/// One of them.
struct Asks {
    file: String,
    /// No line of it is gone.
    has_grown: bool,
    /// Tests begin in it, and nothing in it is for others.
    is_of_its_own: bool,
}

impl Asking {
    /// The cases of the test that fails like this: those of its file, or of any where something else has changed as well that may say which
    /// cases there are.
    fn cases(&self, id: &str, failed: &FailedTest) -> Cases {
        let named =
            failed.frame.as_deref().and_then(|frame| frame.split(':').next()).into_iter().chain(id.split("::").next());
        let own: Vec<PathBuf> = named
            .filter(|file| toolchain::is_test(file))
            .map(|file| self.prefix.join(file.trim_start_matches("./")))
            .collect();
        let is_own = |file: &str| own.iter().any(|own| own == Path::new(file));
        let of_one = self.files.iter().find(|asks| is_own(&asks.file));
        let are_of_their_own = self.files.iter().all(|asks| asks.is_of_its_own);
        let has_grown = match of_one {
            Some(asks) if are_of_their_own => asks.has_grown,
            None if are_of_their_own && !own.is_empty() => return Cases::AsTheyWere,
            _ => self.files.iter().all(|asks| asks.has_grown),
        };
        if has_grown { Cases::Added } else { Cases::Changed }
    }
}

/// The tests of a red check, and those of the same check at the base.
fn counted_beside<'a>(check: &'a CheckReport, base: Base<'a>) -> Option<(&'a CountedTests, &'a CountedTests)> {
    let before = check.at_base(base.checks)?.signature.counted.as_ref()?;
    Some((check.signature.counted.as_ref()?, before))
}

impl TaskPlan {
    /// [`TaskRun::align`] of checks that ran on a tree, beside the base of the task.
    pub(super) async fn align_work(
        &self,
        prepared: &Prepared,
        room: &dyn Workspace,
        (part, tree, walled): (usize, &TreeId, bool),
        checks: &mut [CheckReport],
    ) -> Result<(), TaskRunError> {
        let base = Base { tree: &prepared.workspace.base(), checks: &prepared.baseline };
        if *tree == *base.tree || !checks.iter().any(|check| counted_beside(check, base).is_some()) {
            return Ok(());
        }
        let files = prepared.workspace.diff(tree).await?.files();
        self.align(room, (part, tree, walled), base, &files, checks).await
    }

    /// Gives failing tests the ids that they have at the base, where a runner numbers them by their place, and these files of a change may have
    /// given a test another place. Which of those that failed there fail still, the tests of the base are asked on the same code.
    pub(super) async fn align(
        &self,
        room: &dyn Workspace,
        (part, tree, walled): (usize, &TreeId, bool),
        base: Base<'_>,
        files: &[String],
        checks: &mut [CheckReport],
    ) -> Result<(), TaskRunError> {
        let files: Vec<String> = files.iter().filter(|file| proof::asks(file)).cloned().collect();
        if files.is_empty() {
            return Ok(());
        }
        let mut asking = Asking { files: Vec::new(), prefix: room.prefix() };
        for (file, [old, new]) in proof::both_texts(room, [base.tree, tree], &files).await? {
            let begins_tests = |text: &String| !toolchain::tests_in(text.lines()).is_empty();
            let is_of_its_own = toolchain::is_test(file)
                && !toolchain::configures_tests(file)
                && old.iter().chain(&new).all(begins_tests);
            let has_grown = match (old, new) {
                (Some(old), Some(new)) => has_grown(&old, &new),
                (old, _) => old.is_none(),
            };
            asking.files.push(Asks { file: file.clone(), has_grown, is_of_its_own });
        }
        let cases = |id: &str, failed: &FailedTest| asking.cases(id, failed);
        for check in checks {
            let Some((now, before)) = counted_beside(check, base) else { continue };
            let mut there = None;
            if now.may_have_other_ids(before, &cases) {
                there = self.with_old_tests(room, (part, tree, walled), base, &files, check).await?;
            }
            let before = before.clone();
            if let Some(now) = &mut check.signature.counted {
                now.align(&before, there.as_ref(), &cases);
            }
        }
        Ok(())
    }

    /// How the tests of a check end on the same code with the tests as they are at the base. None: they did not run.
    async fn with_old_tests(
        &self,
        room: &dyn Workspace,
        (part, tree, walled): (usize, &TreeId, bool),
        base: Base<'_>,
        files: &[String],
        check: &CheckReport,
    ) -> Result<Option<CountedTests>, TaskRunError> {
        let taken = Taken { files: files.to_vec(), inline: Vec::new() };
        let old = room.blend(tree, base.tree, &taken).await?;
        if old == *base.tree {
            return Ok(check.at_base(base.checks).and_then(|base| base.signature.counted.clone()));
        }
        self.doing("which of the cases that failed before fail still");
        let asked = vec![(check.scope, check.spec.clone())];
        let there = self.checks_in(room, (part, &old), asked, walled).await?.reports.pop();
        Ok(there.and_then(|there| if there.passed() { Some(CountedTests::default()) } else { there.signature.counted }))
    }
}
