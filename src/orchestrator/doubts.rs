//! What was found out about an attempt's red checks.

use crate::domain::{CheckReport, CheckScope, CheckSpec, Flaky, FlakyHow};

/// What was found out about an attempt's red checks.
#[derive(Debug, Clone, Default)]
pub(super) struct Doubts {
    /// Red because of the work.
    pub blamed: Vec<(CheckScope, CheckSpec)>,
    /// Red, and at the base too by now.
    pub at_base: Vec<(CheckScope, CheckSpec)>,
    /// What is to be said.
    pub flaky: Vec<Flaky>,
}

impl Doubts {
    pub fn say(&mut self, check: &CheckSpec, how: FlakyHow, tests: Vec<String>) -> Option<&Flaky> {
        let flaky = Flaky { check: check.name.clone(), how, tests };
        if self.flaky.contains(&flaky) {
            return None;
        }
        self.flaky.push(flaky);
        self.flaky.last()
    }

    /// The checks to run once more.
    pub fn ask(&self, checks: &[CheckReport], baseline: &[CheckReport]) -> Vec<(CheckScope, CheckSpec)> {
        let only_new = |check: &CheckReport| check.tests_beside(baseline).is_some_and(|it| it.is_only_new());
        let turned_red = |check: &&CheckReport| {
            !check.passed() && (check.at_base(baseline).is_some_and(CheckReport::passed) || only_new(check))
        };
        let red = checks.iter().filter(turned_red).map(|check| (check.scope, check.spec.clone()));
        red.filter(|check| !self.blamed.contains(check) && !self.at_base.contains(check)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckCommand, CheckStatus, Output, Signature};

    fn report(name: &str, status: CheckStatus) -> CheckReport {
        CheckReport {
            spec: CheckSpec {
                name: name.to_owned(),
                run: CheckCommand::Shell("x".to_owned()),
                timeout_ms: None,
                results: None,
            },
            scope: CheckScope::Task,
            status,
            exit_status: None,
            signal: None,
            timed_out: false,
            output: Output::default(),
            duration_ms: 1,
            signature: Signature::default(),
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
        }
    }

    #[test]
    fn only_what_was_green_at_the_base_and_is_red_is_asked_again_and_what_is_blamed_is_not() {
        let gone = || CheckStatus::NotRun { because: "gone".to_owned() };
        let baseline = [
            report("broke", CheckStatus::Passed),
            report("gone", CheckStatus::Passed),
            report("target", CheckStatus::Failed),
            report("green", CheckStatus::Passed),
        ];
        let checks = [
            report("broke", CheckStatus::Failed),
            report("gone", gone()),
            report("target", CheckStatus::Failed),
            report("green", CheckStatus::Passed),
            report("unknown", CheckStatus::Failed),
        ];
        let names = |doubts: &Doubts| {
            let asked = doubts.ask(&checks, &baseline);
            asked.into_iter().map(|(_, check)| check.name).collect::<Vec<_>>()
        };
        let mut doubts = Doubts::default();
        assert_eq!(names(&doubts), ["broke", "gone"]);
        doubts.blamed.push((CheckScope::Task, checks[0].spec.clone()));
        assert_eq!(names(&doubts), ["gone"]);
        doubts.at_base.push((CheckScope::Task, checks[1].spec.clone()));
        assert!(names(&doubts).is_empty());
    }
}
