//! Turns for tests, put together call by call.

use super::all::findings;
use super::facts::Facts;
use super::finding::Finding;
use crate::domain::{
    Action, Change, CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Expects, GateOutcome, Outcome,
    Output, Risk, RiskThreshold, SessionId, Signature, ToolKind, ToolStatus, Trace, TreeId,
};
use crate::services::{Observed, RemoteState, TurnEvidence, UsageMeter};
use crate::verification::context::{RepositorySignals, Requirements};
use tokio_util::sync::CancellationToken;

/// A turn and what is required of it.
#[derive(Clone)]
pub(in crate::verification) struct Turn {
    #[expect(clippy::struct_field_names, reason = "what is built")]
    pub(in crate::verification) turn: TurnEvidence,
    pub(in crate::verification) required: Requirements,
    pub(in crate::verification) signals: RepositorySignals,
    pub(in crate::verification) remote: Option<RemoteState>,
}

pub(in crate::verification) fn turn(task: &str) -> Turn {
    let turn = TurnEvidence {
        session: SessionId::new("s1"),
        task: task.to_owned(),
        proposed_part: None,
        expects: None,
        allow: Vec::new(),
        trace: Trace::default(),
        observed: None,
        dir: None,
        author: None,
        ending: None,
        own: None,
        spent: UsageMeter::default(),
        cancel: CancellationToken::new(),
    };
    Turn { turn, required: Requirements::default(), signals: RepositorySignals::default(), remote: None }
}

/// A task that asks for a change and for tests.
pub(in crate::verification) fn coding() -> Turn {
    let mut turn = turn("Fix the total of an empty cart");
    turn.required.change = Some("the task asks for one".to_owned());
    turn.required.tests = Some("Cargo.toml has tests".to_owned());
    turn.signals.tests = vec!["cargo test".to_owned()];
    turn
}

impl Turn {
    pub(in crate::verification) fn call(mut self, kind: ToolKind, tool: &str, edits: &[&str], input: &str) -> Self {
        let action = Action {
            id: format!("c{}", self.turn.trace.calls),
            number: self.turn.trace.calls,
            tool: tool.to_owned(),
            kind,
            command: None,
            edits: edits.iter().map(|&e| e.to_owned()).collect(),
            input: input.to_owned(),
            outcome: None,
            parent: None,
            at: None,
        };
        self.turn.trace.act(action);
        self
    }

    pub(in crate::verification) fn edit(self, path: &str) -> Self {
        self.call(ToolKind::Edit, "edit", &[path], "{}")
    }

    /// A command whose result was not recorded.
    pub(in crate::verification) fn bash(mut self, line: &str) -> Self {
        self = self.call(ToolKind::Execute, "bash", &[], "{}");
        self.last().command = Some(line.to_owned());
        self
    }

    pub(in crate::verification) fn ran(mut self, line: &str, exit: impl Into<Option<i32>>, output: &str) -> Self {
        self = self.bash(line);
        let exit_code = exit.into();
        let status = if exit_code.is_some_and(|c| c != 0) { ToolStatus::Failed } else { ToolStatus::Ok };
        self.last().outcome = Some(Outcome { status, exit_code, output: output.to_owned() });
        self
    }

    pub(in crate::verification) fn last(&mut self) -> &mut Action {
        self.turn.trace.actions.back_mut().unwrap()
    }

    pub(in crate::verification) fn answer(mut self, text: &str) -> Self {
        self.turn.trace.response = text.to_owned();
        self
    }

    /// The runtime recorded this change.
    pub(in crate::verification) fn observed(mut self, files: &[&str], diff: &str) -> Self {
        let change = Change {
            tree: TreeId("t".to_owned()),
            files: files.iter().map(|&f| f.to_owned()).collect(),
            existed: Vec::new(),
            leads_out: Vec::new(),
            carried: Vec::new(),
            behind_links: Vec::new(),
            left_out: Vec::new(),
            remarks: Vec::new(),
            diff_hash: String::new(),
            no_op: files.is_empty(),
        };
        let (checks, baseline, protected) = (vec![], vec![], vec![]);
        let risk = Risk::of(files, RiskThreshold::default());
        self.turn.observed = Some(Observed { change, risk, diff: diff.to_owned(), checks, baseline, protected });
        self
    }

    /// A check of the runtime, at the base and now: `None` green, `Some` red with this output.
    pub(in crate::verification) fn check(mut self, run: &str, before: Option<&str>, after: Option<&str>) -> Self {
        let observed = self.turn.observed.as_mut().unwrap();
        observed.baseline.push(report(CheckScope::Task, run, before));
        observed.checks.push(report(CheckScope::Task, run, after));
        self
    }

    pub(in crate::verification) fn expects(mut self, expects: Expects) -> Self {
        self.turn.expects = Some(expects);
        self
    }

    pub(in crate::verification) fn findings(&self) -> Vec<Finding> {
        let Self { turn, required, signals, remote } = self;
        findings(&Facts { turn, required, signals, remote: remote.as_ref() })
    }

    /// The gate says this, and its evidence contains these words.
    #[track_caller]
    pub(in crate::verification) fn says(&self, gate: &str, expected: GateOutcome, words: &str) -> Finding {
        let found = self.findings().into_iter().find(|f| f.report.gate == gate).unwrap();
        assert_eq!(found.report.outcome, expected, "{}", found.report.evidence);
        assert!(found.report.evidence.contains(words), "{words:?} in {:?}", found.report.evidence);
        found
    }

    #[track_caller]
    pub(in crate::verification) fn passes(&self, gate: &str, words: &str) {
        self.says(gate, GateOutcome::Passed, words);
    }

    #[track_caller]
    pub(in crate::verification) fn fails(&self, gate: &str, words: &str) -> Finding {
        self.says(gate, GateOutcome::Failed, words)
    }

    /// Only a person can say whether it counts.
    #[track_caller]
    pub(in crate::verification) fn asks_owner(&self, gate: &str, words: &str) {
        let found = self.says(gate, GateOutcome::Unproven, words);
        assert!(found.question.is_some_and(|question| question.words.contains("allow")));
    }

    #[track_caller]
    pub(in crate::verification) fn is_silent(&self, gate: &str, words: &str) {
        self.says(gate, GateOutcome::NotRun, words);
    }
}

/// A remote `origin`, with this branch checked out, its upstream, and the default branch.
#[expect(clippy::unnecessary_wraps, reason = "as the gates take it")]
pub(in crate::verification) fn on(
    branch: Option<&str>,
    upstream: Option<&str>,
    default: Option<&str>,
) -> Option<RemoteState> {
    Some(RemoteState {
        remotes: vec!["origin".to_owned()],
        default_branch: default.map(str::to_owned),
        branch: branch.map(str::to_owned),
        upstream: upstream.map(str::to_owned),
        pull_request: None,
    })
}

/// A check's report: `None` green, `Some("not run")` could not start, `Some` red with this output.
pub(in crate::verification) fn report(scope: CheckScope, run: &str, red: Option<&str>) -> CheckReport {
    CheckReport {
        spec: CheckSpec {
            name: run.to_owned(),
            run: CheckCommand::Shell(run.to_owned()),
            timeout_ms: None,
            results: None,
        },
        scope,
        status: match red {
            None => CheckStatus::Passed,
            Some("not run") => CheckStatus::NotRun { because: "no such program".to_owned() },
            Some(_) => CheckStatus::Failed,
        },
        exit_status: Some(i32::from(red.is_some())),
        signal: None,
        timed_out: false,
        output: Output::whole(red.unwrap_or_default()),
        duration_ms: 1,
        signature: Signature { fingerprint: red.unwrap_or_default().to_owned(), ..Signature::default() },
        rewrote: Vec::new(),
        changed_outside: Vec::new(),
    }
}
