//! The verdict on a turn: gates, then - only where they leave it open - whoever is asked.

use super::commands::CommandKind;
use super::context::{RepositorySignals, Requirements, requirements, task_type};
use super::gates::{Facts, Finding, changes_code, findings};
use super::judging::{Authors, SelfAssessment, assess, cross_check, question};
use super::verdict::Draft;
use crate::domain::{CompletionVerdict, Expects, GateOutcome, Opinion, Risk, Standing, policy};
use crate::prompt::{DIFF_BYTES, without_fences};
use crate::services::{
    CompletionVerifier, Judge, JudgeError, JudgeQuestion, JudgeRole, Remote, RemoteState, TurnEvidence,
};
use async_trait::async_trait;
use std::sync::Arc;

/// What [`Completion`] needs.
pub struct CompletionParams {
    /// The settings.
    pub policy: policy::Verification,
    /// Who is asked where the facts leave it open.
    pub judge: Arc<dyn Judge>,
    /// Finds who did the work, to be asked about it.
    pub authors: Authors,
    /// Who reviews a change, if somebody does.
    pub reviewer: Option<Arc<dyn Judge>>,
    /// Who audits it, if somebody does.
    pub auditor: Option<Arc<dyn Judge>>,
    /// The repository's remote.
    pub remote: Arc<dyn Remote>,
}

/// Decides whether a turn ended with the task done.
///
/// *Refuted* is any failed gate. *Proven* is only what the runtime's own checks show after the last change, with no gate
/// against it and a required pull request and CI there. Everything else is *unproven*: then, and only then, whoever is
/// configured is asked. What would be complete is shown to the committee, and whoever dissents, or cannot be asked,
/// holds it up.
pub struct Completion {
    params: CompletionParams,
}

impl Completion {
    /// Over whoever is configured.
    #[must_use]
    pub fn new(params: CompletionParams) -> Self {
        Self { params }
    }

    /// What must be there, and what the remote says if that has to do with it. Nobody asks git for nothing.
    async fn required(&self, turn: &TurnEvidence, signals: &RepositorySignals) -> (Requirements, Option<RemoteState>) {
        let task = if turn.task.trim().is_empty() { turn.trace.task() } else { turn.task.clone() };
        // A prompt of the runtime's own has words of checks in it.
        let task = without_fences(&task).into_owned();
        let kind = task_type(&task);
        let required = |has_remote| {
            let mut required = requirements(&task, kind, turn.expects, has_remote, self.params.policy.workflow);
            if turn.expects != Some(Expects::Nothing) && changes_code(turn) {
                required.of_changed_code(signals, kind);
            }
            required
        };
        let first = required(None);
        let on_remote = |required: &Requirements| required.pull_request.is_some() || required.ci.is_some();
        let pushed = pushes(turn);
        let Some(dir) = turn.dir.as_deref().filter(|_| !matches!(pushed, Pushed::Nothing) || on_remote(&first)) else {
            return (first, None);
        };
        let mut remote = self.params.remote.state(dir).await;
        // A record that talks to a forge knows of a remote, whatever this checkout says.
        let spoken = !matches!(pushed, Pushed::Nothing) || asks_forge(turn);
        let required = required((!remote.remotes.is_empty() || !spoken).then_some(!remote.remotes.is_empty()));
        if on_remote(&required) {
            let branch = match pushed {
                Pushed::Branch(branch) => Some(branch),
                Pushed::Nothing | Pushed::Current => remote.branch.clone(),
            };
            remote.pull_request = Some(match branch {
                Some(branch) => self.params.remote.pull_request(dir, &branch).await,
                None => Err("no branch is checked out, and none was pushed".to_owned()),
            });
        }
        (required, Some(remote))
    }

    /// Self-assessment and judge, where the facts leave it open.
    async fn ask(&self, turn: &TurnEvidence, required: &Requirements, draft: &mut Draft) {
        let assessment = match self.params.policy.self_assessment {
            policy::SelfAssessment::Off => None,
            policy::SelfAssessment::Fresh => assessment(&*self.params.judge, turn, draft).await,
            policy::SelfAssessment::Agent => match self.params.authors.of(turn) {
                Ok(author) => assessment(&author, turn, draft).await,
                Err(because) => {
                    draft.note("self_assessment", GateOutcome::NotRun, &because);
                    None
                }
            },
        };
        let assessed = assessment.map(|assessment| {
            let mut assessed = cross_check(&assessment, &turn.trace, draft.reasons());
            assessed.missing.extend(admitted(&assessment, required));
            assessed
        });
        let asked = question(turn, JudgeRole::Judge, draft.reasons());
        match self.answer(&*self.params.judge, turn, &asked).await {
            Ok(opinion) => draft.judged("judge", opinion),
            Err(error) => draft.nobody_judges(&format!("no evidence: the facts leave it open, and {error}")),
        }
        if let Some(assessed) = assessed {
            draft.assessed(assessed);
        }
    }

    /// The committee: whoever is configured looks at what would be complete.
    async fn review(&self, turn: &TurnEvidence, draft: &mut Draft) {
        let members = [
            ("reviewer", JudgeRole::Reviewer, &self.params.reviewer),
            ("auditor", JudgeRole::Auditor, &self.params.auditor),
        ];
        for (name, role, member) in members {
            let Some(member) = member else { continue };
            if let Some(risk) = self.not_risky(turn) {
                draft.note(name, GateOutcome::NotRun, &format!("the change needs no review ({})", risk.reason));
                continue;
            }
            let Some(observed) = turn.observed.as_ref().filter(|observed| !observed.change.files.is_empty()) else {
                draft.note(name, GateOutcome::NotRun, "there is no recorded change to look at");
                continue;
            };
            if observed.diff.trim().is_empty() {
                draft.not_reviewed(name, "the change cannot be shown as a diff");
                continue;
            }
            let asked = question(turn, role, draft.reasons());
            match self.answer(&**member, turn, &asked).await {
                Ok(opinion) => draft.reviewed(name, opinion),
                Err(error) => draft.not_reviewed(name, &error.to_string()),
            }
            if observed.diff.len() > DIFF_BYTES {
                let seen = format!("it saw {DIFF_BYTES} of at least {} bytes of the diff", observed.diff.len());
                draft.note(name, GateOutcome::NotRun, &seen);
            }
        }
    }

    /// The risk of a change that nobody needs to look at; none where all are looked at.
    fn not_risky<'t>(&self, turn: &'t TurnEvidence) -> Option<&'t Risk> {
        let risk = &turn.observed.as_ref()?.risk;
        (self.params.policy.review == policy::Review::Risky && !risk.needs_review).then_some(risk)
    }

    async fn answer(
        &self,
        judge: &dyn Judge,
        turn: &TurnEvidence,
        asked: &JudgeQuestion,
    ) -> Result<Opinion, JudgeError> {
        tokio::select! {
            answer = judge.judge(asked, &turn.spent) => answer,
            () = turn.cancel.cancelled() => Err(JudgeError::Failed("the run was interrupted".to_owned())),
        }
    }
}

#[async_trait]
impl CompletionVerifier for Completion {
    async fn verify_turn(&self, turn: TurnEvidence) -> CompletionVerdict {
        let signals = turn.dir.as_deref().map(RepositorySignals::read).unwrap_or_default();
        let (required, remote) = self.required(&turn, &signals).await;
        let mut found =
            findings(&Facts { turn: &turn, required: &required, signals: &signals, remote: remote.as_ref() });
        if turn.trace.broken_off {
            found.iter_mut().for_each(Finding::open_end);
        }
        // Where a task can declare what it permits, nobody but its owner answers for that.
        let mut draft = Draft::new(found, &required, turn.expects.is_some());
        if draft.status() == Standing::Unproven && !draft.waits_for_owner() {
            self.ask(&turn, &required, &mut draft).await;
        }
        if draft.would_be_complete() {
            self.review(&turn, &mut draft).await;
        }
        draft.verdict()
    }
}

/// What somebody answers to structured questions on a turn; none if they cannot be had.
async fn assessment(judge: &dyn Judge, turn: &TurnEvidence, draft: &mut Draft) -> Option<SelfAssessment> {
    let asked = question(turn, JudgeRole::Judge, draft.reasons());
    let answer = tokio::select! {
        answer = assess(judge, &asked, &turn.spent) => answer,
        () = turn.cancel.cancelled() => Err(JudgeError::Failed("the run was interrupted".to_owned())),
    };
    answer.map_err(|error| draft.note("self_assessment", GateOutcome::NotRun, &error.to_string())).ok()
}

/// What an assessment itself admits is not there although it is required, and a stuck agent's need for another way.
fn admitted(assessment: &SelfAssessment, required: &Requirements) -> Vec<String> {
    let evidence = &assessment.evidence;
    let tests = evidence.tests.as_ref().is_some_and(|tests| !tests.ran);
    let build = evidence.build.as_ref().is_some_and(|build| !build.ran);
    let pr = evidence.pr.as_ref().is_some_and(|pr| !pr.created);
    let items = [
        (required.tests.is_some() && tests, "Run the tests after the last change"),
        (required.build.is_some() && build, "Build the project after the last change"),
        (required.pull_request.is_some() && pr, "Open a pull request"),
        (assessment.stuck, "Another approach: this one is stuck"),
    ];
    items.into_iter().filter(|(missing, _)| *missing).map(|(_, item)| item.to_owned()).collect()
}

/// A recorded command asked a forge, or a tool of one was called.
fn asks_forge(turn: &TurnEvidence) -> bool {
    let forge = |line: &str| {
        (line.contains("gh ") || line.contains("glab "))
            && super::commands::runs(line)
                .iter()
                .any(|run| matches!(run.kind, CommandKind::PullRequest | CommandKind::Ci))
    };
    turn.trace.actions.iter().filter_map(|action| action.command.as_deref()).any(forge)
}

/// What the record says about pushes.
enum Pushed {
    /// There is none.
    Nothing,
    /// The branch checked out, as far as the words say.
    Current,
    /// This branch, the last one that any push names.
    Branch(String),
}

fn pushes(turn: &TurnEvidence) -> Pushed {
    let mut pushed = Pushed::Nothing;
    for line in turn.trace.actions.iter().filter_map(|action| action.command.as_deref()) {
        if !line.contains("push") {
            continue;
        }
        for run in super::commands::runs(line) {
            let CommandKind::Push(target) = run.kind else { continue };
            pushed = match (target.branches.last().cloned(), pushed) {
                (Some(branch), _) => Pushed::Branch(branch),
                (None, Pushed::Nothing) => Pushed::Current,
                (None, before) => before,
            };
        }
    }
    pushed
}

#[cfg(test)]
mod tests {
    use super::super::gates::fixture::{Turn, turn};
    use super::*;
    use crate::domain::{Severity, Usage};
    use crate::services::{Ci, Earlier, MockJudge, MockRemote, MockRespondent, MockRespondents, OwnWork, PullRequest};
    use std::time::Duration;

    fn params() -> CompletionParams {
        CompletionParams {
            policy: policy::Verification::default(),
            judge: judge(Err(JudgeError::NoJudge)),
            authors: nobody(),
            reviewer: None,
            auditor: None,
            remote: Arc::new(MockRemote::new()),
        }
    }

    fn nobody() -> Authors {
        Authors { respondents: Arc::new(MockRespondents::new()), limit: Duration::from_secs(60) }
    }

    /// A worker that can be asked about its work, and answers like this.
    fn worker(answer: &'static str) -> Authors {
        let mut respondents = MockRespondents::new();
        respondents.expect_author().returning(move |_, _| {
            let mut agent = MockRespondent::new();
            agent.expect_answer().returning(move |_, _, _| Ok(answer.to_owned()));
            Ok(Arc::new(agent))
        });
        Authors { respondents: Arc::new(respondents), ..nobody() }
    }

    fn judge(answer: Result<Opinion, JudgeError>) -> Arc<dyn Judge> {
        let mut judge = MockJudge::new();
        judge.expect_judge().returning(move |_, _| answer.clone());
        judge.expect_ask().returning(|_, _| Err(JudgeError::NoJudge));
        Arc::new(judge)
    }

    fn done() -> Opinion {
        Opinion { complete: true, ..Opinion::default() }
    }

    async fn verdict(params: CompletionParams, turn: &Turn) -> CompletionVerdict {
        Completion::new(params).verify_turn(turn.turn.clone()).await
    }

    /// A change whose check is green, red or absent.
    fn changed() -> Turn {
        turn("Fix the total of an empty cart")
            .expects(Expects::Change)
            .edit("a.rs")
            .answer("Done.")
            .observed(&["a.rs"], "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\n")
    }

    fn reason<'v>(verdict: &'v CompletionVerdict, gate: &str) -> &'v str {
        verdict.reasons.iter().find(|r| r.gate == gate).map_or("", |r| r.evidence.as_str())
    }

    #[tokio::test]
    async fn only_the_runtimes_own_green_checks_prove() {
        let green = verdict(params(), &changed().check("cargo test", Some("x"), None)).await;
        assert_eq!((green.status, green.complete, green.severity), (Standing::Proven, true, Severity::None));
        assert_eq!((green.feedback.as_str(), green.missing.len()), ("", 0));
        let word = verdict(params(), &turn("Why is it slow?").ran("cargo test", 0, "").answer("Because.")).await;
        assert_eq!((word.status, word.complete, word.severity), (Standing::Unproven, false, Severity::None));
        assert!(reason(&word, "judge").starts_with("no evidence"), "{:?}", word.reasons);
        assert_eq!((word.feedback.as_str(), word.missing.len(), word.requires_human_action), ("", 0, false));
    }

    #[tokio::test]
    async fn a_failed_gate_refutes_and_says_what_to_run() {
        let red = verdict(params(), &changed().check("cargo test", None, Some("test a ... FAILED"))).await;
        assert_eq!((red.status, red.complete, red.severity), (Standing::Refuted, false, Severity::High));
        assert!(red.feedback.contains("Run `cargo test` and fix"), "{}", red.feedback);
        assert_eq!(red.missing, ["Check `cargo test` is red (exit status 1)"]);
        let lie = turn("Fix the total")
            .expects(Expects::Change)
            .edit("a.rs")
            .ran("ls", 0, "")
            .answer("I ran `npm test`, green.");
        let lie = verdict(params(), &lie).await;
        assert_eq!(lie.status, Standing::Refuted);
        assert!(lie.feedback.contains("Run `npm test` now"), "{}", lie.feedback);
    }

    #[tokio::test]
    async fn a_record_that_ends_in_the_middle_refutes_only_what_nothing_can_mend() {
        let check = async |made: Turn, whole, broken_off| {
            for (off, expected) in [(false, whole), (true, broken_off)] {
                let mut made = made.clone();
                made.turn.trace.broken_off = off;
                let verdict = verdict(params(), &made).await;
                assert_eq!((verdict.status, verdict.complete), (expected, false), "{:?}", verdict.reasons);
            }
        };
        let asked = || turn("Fix the total").expects(Expects::Change);
        check(asked().ran("ls", 0, "").answer("x"), Standing::Refuted, Standing::Unproven).await;
        check(asked().edit("a.rs").ran("cargo test", 101, ""), Standing::Refuted, Standing::Unproven).await;
        check(asked().edit("a.rs").ran("git push origin main", 0, ""), Standing::Refuted, Standing::Refuted).await;
    }

    #[tokio::test]
    async fn changed_code_asks_for_tests_where_the_tasks_words_are_silent() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("go.mod"), "module x\n").unwrap();
        std::fs::write(dir.path().join("a_test.go"), "package x\n").unwrap();
        let check = async |path: &str, status| {
            let mut made = turn("Nested comments, please").edit(path).answer("Done.");
            made.turn.dir = Some(dir.path().to_owned());
            assert_eq!(verdict(params(), &made).await.status, status, "{path}");
        };
        check("lexer.go", Standing::Refuted).await;
        for path in
            ["README.md", "deploy/app.yaml", "main.tf", "site.css", "~/.bashrc", "/opt/elsewhere/a.py", "../x.go"]
        {
            check(path, Standing::Unproven).await;
        }
    }

    #[tokio::test]
    async fn code_that_is_only_removed_or_lies_elsewhere_asks_for_no_tests() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("go.mod"), "module x\n").unwrap();
        for (task, line) in [
            ("Delete tests/old_test.py", "rm tests/old_test.py"),
            ("Create a branch for the parser", "git checkout -b parser"),
            ("Write a script /opt/x/a.py that prints the date", "cat > /opt/x/a.py <<'E'\nprint(1)\nE"),
            ("Fix the build artifacts: delete them", "rm -rf build dist"),
        ] {
            let mut made = turn(task).ran(line, 0, "").answer("Done.");
            made.turn.dir = Some(dir.path().to_owned());
            let found = verdict(params(), &made).await;
            assert_eq!(found.status, Standing::Unproven, "{task} {:?}", found.reasons);
        }
    }

    #[tokio::test]
    async fn nobody_is_asked_where_the_facts_decide() {
        let mut silent = MockJudge::new();
        silent.expect_judge().never();
        let red = changed().check("cargo test", None, Some("x"));
        let silent = CompletionParams { judge: Arc::new(silent), ..params() };
        assert_eq!(verdict(silent, &red).await.status, Standing::Refuted);
    }

    #[tokio::test]
    async fn a_judge_completes_what_is_unproven_but_proves_nothing() {
        let judged = |answer| CompletionParams { judge: judge(answer), ..params() };
        let asked = turn("Why is it slow?").answer("Because.");
        let yes = verdict(judged(Ok(done())), &asked).await;
        assert_eq!((yes.status, yes.complete), (Standing::Unproven, true));
        let blocker = Opinion { severity: Severity::Blocker, ..done() };
        assert!(!verdict(judged(Ok(blocker)), &asked).await.complete);
        for error in [JudgeError::Timeout(std::time::Duration::from_secs(1)), JudgeError::Unreadable("x".to_owned())] {
            let verdict = verdict(judged(Err(error)), &asked).await;
            assert_eq!((verdict.status, verdict.complete), (Standing::Unproven, false));
        }
    }

    #[tokio::test]
    async fn what_the_agent_says_of_its_own_work_holds_up_and_never_completes() {
        let check = async |answer, own: bool, opinion: Result<Opinion, JudgeError>, complete, expected: &str| {
            let policy = policy::Verification {
                self_assessment: policy::SelfAssessment::Agent,
                ..policy::Verification::default()
            };
            let mut made = turn("Why is it slow?").ran("ls", 0, "").answer("Because.");
            made.turn.author = Some("worker".to_owned());
            let conversation = Earlier { agent_session: "c".to_owned(), usage: Usage::default() };
            made.turn.own = own.then(|| OwnWork { conversation, dir: "/workspace".into() });
            let params = CompletionParams { policy, judge: judge(opinion), authors: worker(answer), ..params() };
            let found = verdict(params, &made).await;
            assert_eq!((found.status, found.complete), (Standing::Unproven, complete), "{answer} {:?}", found.reasons);
            assert!(reason(&found, "self_assessment").contains(expected), "{answer} {:?}", found.reasons);
            found
        };
        const FINE: &str = r#"{"status": "complete"}"#;
        const LIE: &str = r#"{"status": "complete", "evidence": {"tests": {"ran": true, "commands": ["npm test"]}}}"#;
        check(FINE, true, Err(JudgeError::NoJudge), false, "does not contradict it").await;
        check(FINE, true, Ok(done()), true, "does not contradict it").await;
        let lie = check(LIE, true, Ok(done()), false, "`npm test` ran, which never ran").await;
        assert_eq!(lie.severity, Severity::High);
        check(r#"{"status": "in_progress", "remaining_work": ["Profile it"]}"#, true, Ok(done()), false, "1 things")
            .await;
        check("Fine!", true, Ok(done()), true, "no JSON object").await;
        check(r#"{"complete": true}"#, true, Err(JudgeError::NoJudge), false, "no JSON object").await;
        check(FINE, false, Ok(done()), true, "was not asked").await;
    }

    #[tokio::test]
    async fn what_only_a_person_can_do_is_named_and_never_missing() {
        let opinion = Opinion {
            severity: Severity::Medium,
            feedback: "Not done yet.".to_owned(),
            missing: vec!["Provide the API keys".to_owned(), "Wire the client".to_owned()],
            requires_human_action: true,
            ..Opinion::default()
        };
        let verdict =
            verdict(CompletionParams { judge: judge(Ok(opinion)), ..params() }, &turn("Set it up").answer("x")).await;
        assert_eq!(verdict.missing, ["Wire the client"]);
        assert_eq!(verdict.human_actions, ["Provide the API keys"]);
        assert!(verdict.requires_human_action && !verdict.complete);
    }

    #[tokio::test]
    async fn the_committee_holds_up_what_would_be_complete() {
        let member =
            |answer| CompletionParams { reviewer: Some(judge(answer)), auditor: Some(judge(Ok(done()))), ..params() };
        let green = changed().check("cargo test", Some("x"), None);
        assert!(verdict(member(Ok(done())), &green).await.complete);
        let dissent = Opinion {
            severity: Severity::High,
            feedback: "The total is off by one.".to_owned(),
            missing: vec!["Fix the loop's bound".to_owned()],
            ..Opinion::default()
        };
        let held = verdict(member(Ok(dissent)), &green).await;
        assert_eq!((held.status, held.complete), (Standing::Proven, false));
        assert_eq!(held.missing, ["Fix the loop's bound"]);
        assert!(held.feedback.contains("off by one"));
        let mut idle = MockJudge::new();
        idle.expect_judge().never();
        let idle = CompletionParams { reviewer: Some(Arc::new(idle)), ..params() };
        assert!(!verdict(idle, &changed().check("cargo test", None, Some("x"))).await.complete);
    }

    #[tokio::test]
    async fn only_what_is_risky_is_reviewed_where_the_settings_say_so() {
        let check = async |review, file: &str, complete| {
            let dissent = Opinion { feedback: "No.".to_owned(), severity: Severity::High, ..Opinion::default() };
            let policy = policy::Verification { review, ..policy::Verification::default() };
            let params = CompletionParams { policy, reviewer: Some(judge(Ok(dissent))), ..params() };
            let made = changed().observed(&[file], "diff --git a/a b/a\n").check("cargo test", Some("x"), None);
            let verdict = verdict(params, &made).await;
            assert_eq!(verdict.complete, complete, "{file}: {:?}", verdict.reasons);
            reason(&verdict, "reviewer").to_owned()
        };
        check(policy::Review::Always, "docs/a.md", false).await;
        check(policy::Review::Risky, "src/auth.rs", false).await;
        let because = check(policy::Review::Risky, "docs/a.md", true).await;
        assert_eq!(because, "the change needs no review (docs: docs/a.md)");
    }

    #[tokio::test]
    async fn only_who_looked_at_the_change_and_answered_approves() {
        let green = changed().check("cargo test", Some("x"), None);
        let errors = [
            JudgeError::NoJudge,
            JudgeError::Timeout(Duration::from_secs(1)),
            JudgeError::Failed("no answer".to_owned()),
            JudgeError::Unreadable("it is a verdict on session \"b\", not on \"a\"".to_owned()),
        ];
        for error in errors {
            let erring = || Some(judge(Err(error.clone())));
            let (first, second) = (Some(judge(Ok(done()))), Some(judge(Ok(done()))));
            for (reviewer, auditor, who) in [(erring(), second, "reviewer"), (first, erring(), "auditor")] {
                let found = verdict(CompletionParams { reviewer, auditor, ..params() }, &green).await;
                assert!(!found.complete && reason(&found, who).contains("without its approval"), "{:?}", found.reasons);
            }
        }
        let reviewed = async |change: fn(&mut crate::services::Observed)| {
            let mut made = green.clone();
            made.turn.observed.as_mut().map(change).unwrap();
            let found = verdict(CompletionParams { reviewer: Some(judge(Ok(done()))), ..params() }, &made).await;
            let said: Vec<String> =
                found.reasons.iter().filter(|r| r.gate == "reviewer").map(|r| r.evidence.clone()).collect();
            (found.complete, said.join("; "))
        };
        let (complete, said) = reviewed(|observed| observed.diff = "\n".to_owned()).await;
        assert!(!complete && said.contains("cannot be shown"), "{said}");
        let (complete, said) = reviewed(|observed| observed.diff = "+x\n".repeat(DIFF_BYTES)).await;
        assert!(complete && said.contains("it saw 65536 of at least 196608 bytes"), "{said}");
    }

    #[tokio::test]
    async fn a_required_pull_request_is_asked_for_by_the_runtime() {
        let answered = |answer: Result<Option<PullRequest>, String>| {
            let mut remote = MockRemote::new();
            let state = RemoteState {
                remotes: vec!["origin".to_owned()],
                branch: Some("fix".to_owned()),
                ..RemoteState::default()
            };
            remote.expect_state().returning(move |_| state.clone());
            remote.expect_pull_request().returning(move |_, branch| {
                assert_eq!(branch, "fix");
                answer.clone()
            });
            let workflow = policy::Workflow { pull_request: policy::Required::Yes, ..policy::Workflow::default() };
            let policy = policy::Verification { workflow, ..policy::Verification::default() };
            CompletionParams { policy, remote: Arc::new(remote), ..params() }
        };
        let dir = tempfile::tempdir().unwrap();
        let mut green = changed().check("cargo test", Some("x"), None);
        green.turn.dir = Some(dir.path().to_owned());
        let there = PullRequest { url: "https://x/pull/1".to_owned(), ci: Ci::None };
        let check = async |answer, status, complete| {
            let verdict = verdict(answered(answer), &green).await;
            assert_eq!((verdict.status, verdict.complete), (status, complete), "{:?}", verdict.reasons);
        };
        check(Ok(Some(there)), Standing::Proven, true).await;
        check(Ok(None), Standing::Refuted, false).await;
        check(Err("`gh` is not logged in".to_owned()), Standing::Unproven, false).await;
    }

    #[tokio::test]
    async fn everything_is_bounded() {
        let endless = "x".repeat(100_000);
        let opinion = Opinion {
            feedback: endless.clone(),
            missing: (0..500).map(|i| format!("{i} {endless}")).collect(),
            next_actions: (0..500).map(|i| format!("{i} {endless}")).collect(),
            ..Opinion::default()
        };
        let verdict = verdict(CompletionParams { judge: judge(Ok(opinion)), ..params() }, &turn("x").answer("y")).await;
        assert!(serde_json::to_string(&verdict).unwrap().len() < 40_000);
    }
}
