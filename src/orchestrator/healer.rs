//! Which broken workspaces are repaired, how, and how often. Pure.
//!
//! Only the workspace is repaired: no verdict follows from it, no attempt is used up by it, and no task is closed by it. What
//! had failed is done once more, and that is what counts. How often is counted from the journal, so that a run that
//! goes on counts on; a repair without a result is done again and does not count.

use crate::domain::{CheckReport, CheckScope, CheckSpec, JournalEntry, SubtaskId, Symptom, TaskId, policy};
use crate::services::WorkspaceError;
use std::collections::BTreeMap;

/// What Python, Node and the loader print where a module, a package or a library is missing. No more than a suspicion.
const MISSING: [&str; 5] = [
    "No module named ",
    "Cannot find module ",
    "Cannot find package ",
    "ERR_MODULE_NOT_FOUND",
    "error while loading shared libraries",
];

/// What was being done in a workspace when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Its files were being put back to a recorded tree, with nothing in them that is not recorded.
    Files,
    /// A ref of the run was being moved.
    Refs,
}

/// What is wrong with a workspace in which something failed; none if nothing can be done about it.
#[must_use]
pub fn symptom(error: &WorkspaceError, doing: Doing, stale_locks: usize) -> Option<Symptom> {
    use WorkspaceError::{Git, Io, Waited};
    match (error, doing) {
        (WorkspaceError::Setup { .. }, _) => Some(Symptom::SetupFailed),
        (Git { .. } | Waited { .. } | Io { .. }, _) if stale_locks > 0 => Some(Symptom::StaleLock),
        (Git { .. } | Waited { .. } | Io { .. }, Doing::Files) => Some(Symptom::FilesBroken),
        (Git { .. } | Waited { .. } | Io { .. }, Doing::Refs)
        | (
            WorkspaceError::Conflict { .. }
            | WorkspaceError::NotRecorded(_)
            | WorkspaceError::Unusable(_)
            | WorkspaceError::Interrupted
            | WorkspaceError::Machine(_),
            _,
        ) => None,
    }
}

/// Whether a check says less of the base than it did: it passed and fails, or something that it needs is gone.
#[must_use]
pub fn worse(before: &CheckReport, now: &CheckReport) -> bool {
    (before.passed() && !now.passed()) || (!lacks(before) && lacks(now))
}

/// The checks of a refuted attempt that may have failed because something around its files is gone. Only running them
/// at the base shows whether that is so.
#[must_use]
pub fn suspects(checks: &[CheckReport], baseline: &[CheckReport]) -> Vec<(CheckScope, CheckSpec)> {
    let broke = |check: &&CheckReport| lacks(check) && check.at_base(baseline).is_some_and(|base| !lacks(base));
    checks.iter().filter(broke).map(|check| (check.scope, check.spec.clone())).collect()
}

/// Whether a check looks as if something that it needs were missing.
#[must_use]
pub fn lacks(check: &CheckReport) -> bool {
    // What the shell says of a program that is not there, or is none.
    let no_program = matches!(check.exit_status, Some(126 | 127));
    check.is_not_run()
        || no_program
        || (!check.passed() && MISSING.iter().any(|words| check.output.text().contains(words)))
}

/// How often workspaces of a run were repaired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heals {
    run: u32,
    subtasks: BTreeMap<(TaskId, SubtaskId), u32>,
}

impl Heals {
    /// Counts an entry of the run's journal.
    pub fn take(&mut self, entry: &JournalEntry) {
        if let JournalEntry::HealEnded { task, subtask, .. } = entry {
            self.count(task, subtask);
        }
    }

    /// In the whole run.
    #[must_use]
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Counts one more, if there may be one.
    ///
    /// # Errors
    /// Why there may be none, in words.
    pub fn begin(&mut self, policy: policy::Healer, task: &TaskId, subtask: &SubtaskId) -> Result<(), String> {
        let of_subtask = self.subtasks.get(&(task.clone(), subtask.clone())).copied().unwrap_or_default();
        match (policy.per_run, policy.per_subtask) {
            (0, 0) => return Err("the healer is switched off (`healer`)".to_owned()),
            (0, _) => return Err("none may be repaired in a run (`healer.perRun` is 0)".to_owned()),
            (_, 0) => return Err("none may be repaired for a part of a task (`healer.perSubtask` is 0)".to_owned()),
            _ => {}
        }
        if of_subtask >= policy.per_subtask {
            return Err(format!("its workspace was repaired {} before (`healer.perSubtask`)", times(of_subtask)));
        }
        if self.run >= policy.per_run {
            return Err(format!("workspaces of this run were repaired {} before (`healer.perRun`)", times(self.run)));
        }
        self.count(task, subtask);
        Ok(())
    }

    fn count(&mut self, task: &TaskId, subtask: &SubtaskId) {
        self.run += 1;
        *self.subtasks.entry((task.clone(), subtask.clone())).or_default() += 1;
    }
}

fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckCommand, CheckStatus, HealOutcome, Output, Signature, Spell};

    fn setup() -> WorkspaceError {
        WorkspaceError::Setup { command: "make deps".into(), how: "exit status 1".into(), output: String::new() }
    }

    fn git() -> WorkspaceError {
        WorkspaceError::Git {
            command: "update-ref".into(), message: "Unable to create '….lock': File exists.".into()
        }
    }

    #[test]
    fn each_failure_has_one_symptom_or_none() {
        let check = |error: WorkspaceError, doing, locks, expected: Option<Symptom>| {
            assert_eq!(symptom(&error, doing, locks), expected, "{error} {doing:?} {locks}");
        };
        check(setup(), Doing::Files, 0, Some(Symptom::SetupFailed));
        check(setup(), Doing::Files, 1, Some(Symptom::SetupFailed));
        check(git(), Doing::Files, 0, Some(Symptom::FilesBroken));
        check(git(), Doing::Refs, 1, Some(Symptom::StaleLock));
        // What git prints about a lock proves nothing: it may be somebody's.
        check(git(), Doing::Refs, 0, None);
        check(WorkspaceError::Unusable("no".into()), Doing::Files, 1, None);
        check(WorkspaceError::Machine("the disk is full".into()), Doing::Files, 1, None);
        check(WorkspaceError::Conflict { what: "it".into(), files: vec![] }, Doing::Files, 0, None);
    }

    fn report(status: CheckStatus, exit_status: Option<i32>, printed: &str) -> CheckReport {
        CheckReport {
            spec: CheckSpec {
                name: "test".into(),
                run: CheckCommand::Shell("pytest".into()),
                timeout_ms: None,
                results: None,
            },
            scope: CheckScope::Task,
            status,
            exit_status,
            signal: None,
            timed_out: false,
            output: Output::whole(printed),
            duration_ms: 1,
            signature: Signature::default(),
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
        }
    }

    #[test]
    fn what_needs_something_that_is_gone_is_suspected_and_what_lacked_it_before_is_not() {
        let red = |printed: &str| report(CheckStatus::Failed, Some(1), printed);
        let gone = || report(CheckStatus::NotRun { because: "`pytest` was not found on PATH".into() }, Some(127), "");
        let check = |before: CheckReport, now: CheckReport, suspected: bool, expected: bool| {
            let found = suspects(std::slice::from_ref(&now), std::slice::from_ref(&before));
            assert_eq!(!found.is_empty(), suspected, "{before:?} {now:?}");
            assert_eq!(worse(&before, &now), expected, "{before:?} {now:?}");
        };
        check(red("assert 1 == 2"), gone(), true, true);
        check(red("assert 1 == 2"), red("ModuleNotFoundError: No module named 'requests'"), true, true);
        check(
            red("assert 1 == 2"),
            report(CheckStatus::Failed, Some(127), "sh: venv/bin/pytest: not found"),
            true,
            true,
        );
        check(red("assert 1 == 2"), red("assert 1 == 3"), false, false);
        // The module is what the task is to make.
        check(red("No module named 'cart'"), red("No module named 'cart'"), false, false);
        check(gone(), gone(), false, false);
        let green = || report(CheckStatus::Passed, Some(0), "No module named 'x' is fine");
        check(green(), red("assert"), false, true);
        check(red("assert"), green(), false, false);
    }

    fn ids(task: &str) -> (TaskId, SubtaskId) {
        (TaskId::new(task).unwrap(), SubtaskId::new(task).unwrap())
    }

    #[test]
    fn repairs_are_bounded_for_each_subtask_and_the_run() {
        let mut heals = Heals::default();
        let mut begin = |task: &str| {
            let (task, subtask) = ids(task);
            heals.begin(policy::Healer { per_run: 2, per_subtask: 1 }, &task, &subtask).err()
        };
        assert_eq!(begin("a"), None);
        assert!(begin("a").unwrap().contains("perSubtask"));
        assert_eq!(begin("b"), None);
        assert!(begin("c").unwrap().contains("perRun"));
        let (task, subtask) = ids("d");
        for (per_run, per_subtask, words) in [
            (0, 1, "`healer.perRun` is 0"),
            (1, 0, "`healer.perSubtask` is 0"),
            (0, 0, "the healer is switched off (`healer`)"),
        ] {
            let refused = Heals::default().begin(policy::Healer { per_run, per_subtask }, &task, &subtask).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn a_run_that_goes_on_counts_what_has_a_result() {
        let (task, subtask) = ids("a");
        let (symptom, spell) = (Symptom::SetupFailed, Spell::SetUpAgain);
        let started = JournalEntry::HealStarted {
            task: task.clone(),
            subtask: subtask.clone(),
            symptom,
            spell,
            because: "x".into(),
        };
        let ended = JournalEntry::HealEnded {
            task: task.clone(),
            subtask: subtask.clone(),
            symptom: None,
            spell,
            outcome: HealOutcome::Healed { did: vec![] },
            explains: None,
        };
        let mut heals = Heals::default();
        heals.take(&started);
        heals.take(&started);
        assert_eq!(heals.run(), 0);
        heals.take(&ended);
        assert!(heals.begin(policy::Healer::default(), &task, &subtask).is_err());
    }
}
