//! Running checks: in a clean room that holds a recorded tree, and nothing that an agent or another check left.

use super::healer;
use super::review::named;
use super::task_run::{Prepared, TaskPlan, TaskRunError};
use crate::domain::{CheckReport, CheckScope, CheckSpec, CheckStatus, TestSource, TreeId};
use crate::prompt::quote_names;
use crate::services::Workspace;
use crate::toolchain;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many files are named where something rests on them.
const NAMED: usize = 8;

/// What came of running checks.
#[derive(Default)]
pub(super) struct Checked {
    /// In the order in which they were asked for.
    pub reports: Vec<CheckReport>,
    /// Why the room could not be set up with these files; then no check ran.
    pub not_set_up: Option<String>,
}

/// What a green check has changed while it ran, where that decides what it tests: then it says nothing about what was recorded. In
/// words; what it changes at the base, too, it does for a reason of its own.
pub(super) fn rewrote(
    checks: &[CheckReport],
    baseline: &[CheckReport],
    decides: impl Fn(&str) -> bool,
) -> Option<String> {
    wrote(checks, baseline, decides).next().map(|(name, files)| {
        format!(
            "check `{name}` is green, but {} changed while it ran, or had been written to: it has not tested what was recorded",
            quote_names(files)
        )
    })
}

/// What a green check has changed while it ran of what its tests compare with: that may make a test agree with whatever there is. In words.
pub(super) fn rewrote_data(checks: &[CheckReport], baseline: &[CheckReport]) -> Option<String> {
    let (name, files) = wrote(checks, baseline, toolchain::is_test_data).next()?;
    named(&format!("check `{name}` changed what its tests compare with, and then passed"), files.into_iter())
}

/// Green checks that have changed such files while they ran and leave them alone at the base, each with the files.
fn wrote<'a>(
    checks: &'a [CheckReport],
    baseline: &'a [CheckReport],
    is_meant: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
    checks.iter().filter(|check| check.passed()).filter_map(move |check| {
        let base = check.at_base(baseline).map_or(&[][..], |base| &base.rewrote);
        let files: Vec<&str> =
            check.rewrote.iter().filter(|file| !base.contains(file) && is_meant(file)).map(String::as_str).collect();
        (!files.is_empty()).then_some((check.spec.name.as_str(), files))
    })
}

/// What checks changed outside their room and do not change at the base.
pub(super) fn changed_outside(checks: &[CheckReport], baseline: &[CheckReport]) -> Vec<String> {
    let of = |check: &CheckReport| {
        let base = check.at_base(baseline).map_or(&[][..], |base| &base.changed_outside);
        check.changed_outside.iter().filter(|what| !base.contains(what)).cloned().collect::<Vec<_>>()
    };
    checks.iter().flat_map(of).collect()
}

impl TaskPlan {
    /// Runs checks on what was worked, in the task's clean room; walled in, they may write to nothing but that.
    pub(super) async fn checks_of_work(
        &self,
        prepared: &Prepared,
        part: usize,
        tree: &TreeId,
        checks: Vec<(CheckScope, CheckSpec)>,
        walled: bool,
    ) -> Result<Checked, TaskRunError> {
        if checks.is_empty() {
            return Ok(Checked::default());
        }
        let room = prepared.workspace.room().await?;
        let mut checked = self.checks_in(&*room, (part, tree), checks, walled).await?;
        self.align_work(prepared, &*room, (part, tree, walled), &mut checked.reports).await?;
        Ok(checked)
    }

    /// Runs checks one after another, each on exactly the files of the tree: a check runs what the agent wrote, and the next one
    /// must not see what that left.
    pub(super) async fn checks_in(
        &self,
        room: &dyn Workspace,
        (part, tree): (usize, &TreeId),
        checks: Vec<(CheckScope, CheckSpec)>,
        walled: bool,
    ) -> Result<Checked, TaskRunError> {
        let mut checked = Checked::default();
        for check in checks {
            if let Some(because) = Box::pin(self.put_back_work(room, part, tree)).await? {
                return Ok(Checked { not_set_up: Some(because), reports: Vec::new() });
            }
            let mut report = self.check_as_it_stands(room, check, walled).await?;
            Self::look_up_tests(room, tree, &mut report).await?;
            checked.reports.push(report);
            if self.context.cancel.is_cancelled() {
                break;
            }
        }
        Ok(checked)
    }

    /// Looks up where failing tests have failed, as these files have it: a test that failed before may fail earlier now, in the same words.
    pub(super) async fn look_up_tests(
        place: &dyn Workspace,
        tree: &TreeId,
        report: &mut CheckReport,
    ) -> Result<(), TaskRunError> {
        let Some(counted) = &mut report.signature.counted else { return Ok(()) };
        let mut texts: BTreeMap<String, Option<Arc<str>>> = BTreeMap::new();
        for failed in counted.failing.values_mut() {
            let Some((file, line)) = failed.frame.as_deref().and_then(file_and_line) else { continue };
            if !toolchain::is_test(file) {
                continue;
            }
            if !texts.contains_key(file) {
                let path = place.prefix().join(file);
                let text = match path.to_str() {
                    Some(path) => place.text(tree, path).await?.map(Arc::from),
                    None => None,
                };
                texts.insert(file.to_owned(), text);
            }
            let text = texts.get(file).cloned().flatten();
            failed.source = text.map(|text| TestSource { text, line });
        }
        Ok(())
    }

    /// Runs one check on the files as they are, and says what it has written to.
    pub(super) async fn check_as_it_stands(
        &self,
        place: &dyn Workspace,
        check: (CheckScope, CheckSpec),
        walled: bool,
    ) -> Result<CheckReport, TaskRunError> {
        place.begin_work().await?;
        let mut report = self.verify(place, vec![check], walled).await.remove(0);
        report.rewrote = place.rewritten().await?;
        report.changed_outside = self.end_work(place).await?;
        Ok(report)
    }

    /// Where a check that is red in the clean room is green in the workspace, the work rests on files that are no part of it:
    /// in words, with their names. That is tried where something is left there, or where the check says that something is missing.
    pub(super) async fn only_in_workspace(
        &self,
        prepared: &Prepared,
        checks: &[CheckReport],
    ) -> Result<Option<String>, TaskRunError> {
        let red: Vec<&CheckReport> = checks.iter().filter(|check| check.status == CheckStatus::Failed).collect();
        if red.is_empty() {
            return Ok(None);
        }
        let workspace = &*prepared.workspace;
        let named = |path: &String| !path.split('/').any(toolchain::is_cache);
        let left: Vec<String> = workspace.leftovers().await?.into_iter().filter(named).collect();
        if left.is_empty() && !red.iter().any(|check| healer::lacks(check)) {
            return Ok(None);
        }
        self.doing("what failed, where the agent worked");
        for check in red {
            let report = self.check_as_it_stands(workspace, (check.scope, check.spec.clone()), false).await?;
            if report.passed() {
                return Ok(Some(format!(
                    "check `{}` is green in the workspace and red on a clean copy of the change: {}",
                    report.spec.name,
                    rests_on(&left)
                )));
            }
        }
        Ok(None)
    }
}

/// `tests/a.py:3 in test_b`, taken apart.
fn file_and_line(frame: &str) -> Option<(&str, usize)> {
    let (file, rest) = frame.rsplit_once(':')?;
    let line = rest.split(' ').next()?.parse().ok()?;
    Some((file, line))
}

/// What a check needs that is green only in the workspace, where this was left beside the change.
fn rests_on(left: &[String]) -> String {
    if left.is_empty() {
        return "it needs what only the agent's workspace has: what is in your checkout, below which that is (`node_modules`, `.env`), or in \
                its build caches; let `setup` install it, or name it in `carry`"
            .to_owned();
    }
    let more = left.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let files = quote_names(left.iter().take(NAMED));
    format!(
        "it rests on files that are no part of the change, because they are ignored, carried in, or made by `setup` ({files}{more})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckCommand, Output, Signature};

    fn report(name: &str, changed_outside: &[&str], rewrote: &[&str]) -> CheckReport {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        CheckReport {
            spec: CheckSpec {
                name: name.to_owned(),
                run: CheckCommand::Shell("x".to_owned()),
                timeout_ms: None,
                results: None,
            },
            scope: CheckScope::Task,
            status: CheckStatus::Passed,
            exit_status: Some(0),
            signal: None,
            timed_out: false,
            output: Output::default(),
            duration_ms: 1,
            signature: Signature::default(),
            rewrote: list(rewrote),
            changed_outside: list(changed_outside),
        }
    }

    #[test]
    fn what_a_check_does_at_the_base_too_is_nobodys_fault() {
        let base = [report("a", &["~/.gitconfig was changed"], &["t1"]), report("b", &[], &[])];
        let now = [
            report("a", &["~/.gitconfig was changed", "~/.npmrc was added"], &["t1"]),
            report("b", &["~/.gitconfig was changed"], &["x", "t2"]),
        ];
        assert_eq!(changed_outside(&now, &base), ["~/.npmrc was added", "~/.gitconfig was changed"]);
        let tests = |file: &str| file.starts_with('t');
        assert_eq!(rewrote(&now[..1], &base, tests), None);
        assert!(rewrote(&now, &base, tests).is_some_and(|said| said.contains("`b` is green, but `t2` changed")));
        let now = [report("a", &[], &["src/a.rs", "tests/x.snap", "testdata/y.json"])];
        assert!(rewrote_data(&now, &base).is_some_and(|said| said.ends_with("passed: tests/x.snap, testdata/y.json")));
        assert_eq!(rewrote_data(&now, &now), None);
    }
}
