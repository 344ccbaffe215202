//! Running suites: every case through the ports, several at a time.

use super::case::{Case, Expectation, Given, ObservedCase, TranscriptCase};
use super::grade::Graded;
use super::result::{CaseResult, RunResult, SuiteResult, Totals};
use super::rubric::Grade;
use super::suite::{Suite, SuiteKind};
use super::threshold::Threshold;
use super::{grade, rubric};
use crate::domain::{
    Change, CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, CompletionVerdict, Ending, Output, Risk,
    RiskThreshold, SessionId, Signature, Trace, TreeId,
};
use crate::services::{CompletionVerifier, Judge, Observed, OpenQuestion, ProgressJudge, TurnEvidence, UsageMeter};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Makes of a case what the ports take.
pub trait Stage: Send + Sync {
    /// Reads a conversation: a JSON object in the plain form, or the text of any transcript.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn conversation(&self, input: &Value) -> Result<Conversation, String>;

    /// Lays out the files of a project.
    ///
    /// # Errors
    /// Why it cannot be done, in words.
    fn lay_out(&self, files: &BTreeMap<String, String>) -> Result<LaidOut, String>;

    /// The question for a score, with the rubric.
    fn grade_question(&self, turn: &TurnEvidence, verdict: &CompletionVerdict) -> OpenQuestion;

    /// Reads its answer.
    ///
    /// # Errors
    /// Why there is no score in it, in words.
    fn read_grade(&self, answer: &str) -> Result<Grade, String>;
}

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// What happened.
    pub trace: Trace,
    /// The task, where it stands apart from the messages.
    pub task: Option<String>,
    /// Why the agent stopped, where that is recorded.
    pub ending: Option<Ending>,
}

/// A project's files for as long as this lives.
pub struct LaidOut {
    /// Where they are.
    pub dir: PathBuf,
    /// Removes them when it is dropped.
    pub keep: Box<dyn Any + Send>,
}

/// Everything that a case is put to: the ports of the runtime, nothing else.
#[derive(Clone)]
pub struct Bench {
    /// Completion.
    pub completion: Arc<dyn CompletionVerifier>,
    /// Stuck and compaction.
    pub progress: Arc<dyn ProgressJudge>,
    /// Scores.
    pub judge: Arc<dyn Judge>,
    /// The readers of conversations.
    pub stage: Arc<dyn Stage>,
}

/// How a suite is run.
#[derive(Clone)]
pub struct RunParams<'a> {
    /// One for each time that every case runs: a verdict that one of them remembers must not answer for the next.
    pub benches: &'a [Bench],
    /// So many cases at a time.
    pub jobs: usize,
    /// The file that the suite was read from, as it was named.
    pub file: &'a str,
    /// What it must come to, instead of what the suite says.
    pub threshold: Option<Threshold>,
    /// Counts what whoever is asked uses.
    pub spent: &'a UsageMeter,
    /// Ends it early; what has not begun is not graded.
    pub cancel: &'a CancellationToken,
}

/// The first case whose conversation cannot be read, and why: such a suite is not worth running.
#[must_use]
pub fn unreadable(suite: &Suite, stage: &dyn Stage) -> Option<(String, String)> {
    suite.cases.iter().find_map(|case| match &case.given {
        Given::Transcript(transcript) => {
            stage.conversation(&transcript.input).err().map(|because| (case.id.clone(), because))
        }
        Given::Stuck(_) | Given::Compaction(_) => None,
    })
}

/// Puts every case to the ports, and grades and counts what comes of it.
pub async fn run(suite: &Suite, params: &RunParams<'_>) -> SuiteResult {
    let jobs = params.jobs.max(1);
    let all =
        suite.cases.iter().flat_map(|case| (1..).zip(params.benches).map(move |(round, bench)| (case, round, bench)));
    let runs: Vec<RunResult> = stream::iter(all)
        .map(|(case, round, bench)| {
            one(Asked { suite, case, round, bench, spent: params.spent, cancel: params.cancel })
        })
        .buffered(jobs)
        .collect()
        .await;
    let mut runs = runs.into_iter();
    let cases: Vec<CaseResult> = suite
        .cases
        .iter()
        .map(|case| {
            let runs: Vec<RunResult> = runs.by_ref().take(params.benches.len()).collect();
            CaseResult {
                id: case.id.clone(),
                description: case.description.clone(),
                expected: case.expect.label(),
                truth: case.expect.truth(),
                outcome: CaseResult::outcome(&runs),
                runs,
            }
        })
        .collect();
    let totals = Totals::of(&cases);
    let threshold = params.threshold.or(suite.threshold);
    let missed = match threshold {
        Some(threshold) => threshold.missed(&totals),
        None => every_case(&totals),
    };
    SuiteResult {
        suite: suite.name.clone(),
        file: params.file.to_owned(),
        kind: suite.kind,
        totals,
        threshold,
        missed,
        notes: suite.notes.clone(),
        cases,
    }
}

/// What falls short where no threshold was set: every case that did not hold.
fn every_case(totals: &Totals) -> Vec<String> {
    let wrong = totals.failed + totals.flaky;
    if wrong > 0 {
        return vec![format!("{wrong} of {} cases do not hold, and no threshold was set", totals.cases)];
    }
    if totals.passed == 0 { vec!["no case was graded".to_owned()] } else { Vec::new() }
}

/// One run of one case.
#[derive(Clone, Copy)]
struct Asked<'a> {
    suite: &'a Suite,
    case: &'a Case,
    round: u32,
    bench: &'a Bench,
    spent: &'a UsageMeter,
    cancel: &'a CancellationToken,
}

async fn one(asked: Asked<'_>) -> RunResult {
    let (case, cancel) = (asked.case, asked.cancel);
    let mut graded = Graded::default();
    let verdict = tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        verdict = verdict(asked, &mut graded) => Some(verdict),
    };
    let verdict = verdict.unwrap_or_else(|| {
        graded = Graded { ungraded: vec!["interrupted".to_owned()], ..Graded::default() };
        Value::Null
    });
    grade::assertions(&case.expect, &verdict.to_string(), &mut graded);
    let Graded { label, said, problems, ungraded } = graded;
    let given = if label.is_empty() { "nothing".to_owned() } else { label };
    RunResult { given, said, problems, ungraded, verdict }
}

/// Asks the port that a case is for.
async fn verdict(asked: Asked<'_>, graded: &mut Graded) -> Value {
    let Asked { suite, case, round, bench, spent, .. } = asked;
    match &case.given {
        Given::Stuck(question) => {
            let verdict = bench.progress.stuck(question, spent).await;
            graded.label = grade::word(&verdict.reason);
            graded.said = Some(grade::stuck_said(&verdict));
            if let Expectation::Stuck(expected) = &case.expect {
                grade::stuck(expected, &verdict, graded);
            }
            document(&verdict)
        }
        Given::Compaction(question) => {
            let verdict = bench.progress.after_compaction(question, spent).await;
            graded.said = Some(grade::compaction_said(&verdict));
            let silent = verdict.confidence <= 0.0;
            graded.label = if silent { "undecided".to_owned() } else { grade::word(&verdict.action) };
            if let Expectation::Compaction(expected) = &case.expect {
                grade::compaction(expected, &verdict, graded);
            }
            document(&verdict)
        }
        Given::Transcript(transcript) => {
            let session = SessionId::new(format!("eval-{}-{}-{round}", suite.name, case.id));
            match turn(transcript, session, asked) {
                Ok((turn, _files)) => judged(suite.kind, case, turn, bench, graded).await,
                Err(because) => {
                    graded.problems.push(because);
                    Value::Null
                }
            }
        }
    }
}

fn document(verdict: &impl Serialize) -> Value {
    serde_json::to_value(verdict).unwrap_or_default()
}

/// A conversation's verdict, or its score.
async fn judged(kind: SuiteKind, case: &Case, turn: TurnEvidence, bench: &Bench, graded: &mut Graded) -> Value {
    let verdict = bench.completion.verify_turn(turn.clone()).await;
    if kind == SuiteKind::Agent {
        return scored(case, &turn, &verdict, bench, graded).await;
    }
    graded.label = grade::word(&verdict.status);
    graded.said = Some(grade::completion_said(&verdict));
    if let Expectation::Completion(expected) = &case.expect {
        grade::completion(expected, &verdict, graded);
    }
    document(&verdict)
}

/// A turn's score: within what its verdict allows, what the judge says.
async fn scored(
    case: &Case,
    turn: &TurnEvidence,
    verdict: &CompletionVerdict,
    bench: &Bench,
    graded: &mut Graded,
) -> Value {
    let allowed = rubric::allowed(&turn.trace, verdict);
    let question = bench.stage.grade_question(turn, verdict);
    let answer = bench.judge.ask(&question, &turn.spent).await.map_err(|error| error.to_string());
    let grade = answer.and_then(|answer| bench.stage.read_grade(&answer));
    if let Expectation::Score(expected) = &case.expect {
        rubric::score(*expected, &allowed, grade.as_ref().ok(), graded);
    }
    if let Err(because) = &grade
        && !graded.ungraded.is_empty()
    {
        graded.ungraded.push(because.clone());
    }
    json!({ "allowed": [allowed.start(), allowed.end()], "grade": grade.ok(), "completion": verdict })
}

/// The evidence of a case, and its files for as long as they are needed.
fn turn(
    case: &TranscriptCase,
    session: SessionId,
    asked: Asked<'_>,
) -> Result<(TurnEvidence, Option<LaidOut>), String> {
    let Asked { bench, spent, cancel, .. } = asked;
    let Conversation { trace, task, ending } = bench.stage.conversation(&case.input)?;
    let files = if case.files.is_empty() { None } else { Some(bench.stage.lay_out(&case.files)?) };
    let turn = TurnEvidence {
        session,
        task: task.unwrap_or_else(|| trace.task()),
        proposed_part: None,
        expects: case.expects,
        allow: Vec::new(),
        trace,
        observed: case.observed.as_ref().map(observed),
        dir: files.as_ref().map(|files| files.dir.clone()),
        author: None,
        ending,
        own: None,
        spent: spent.clone(),
        cancel: cancel.child_token(),
    };
    Ok((turn, files))
}

/// What the runtime would have seen.
fn observed(case: &ObservedCase) -> Observed {
    let report = |run: &str, exit: Option<i32>, output: &str| CheckReport {
        spec: CheckSpec {
            name: run.to_owned(),
            run: CheckCommand::Shell(run.to_owned()),
            timeout_ms: None,
            results: None,
        },
        scope: CheckScope::Project,
        status: match exit {
            Some(0) => CheckStatus::Passed,
            Some(_) => CheckStatus::Failed,
            None => CheckStatus::NotRun { because: "it could not be started".to_owned() },
        },
        exit_status: exit,
        signal: None,
        timed_out: false,
        output: Output::whole(output),
        duration_ms: 0,
        signature: Signature::default(),
        rewrote: Vec::new(),
        changed_outside: Vec::new(),
    };
    let at_base = case.checks.iter().filter(|check| check.base.is_some());
    Observed {
        change: Change {
            tree: TreeId("after".to_owned()),
            files: case.changed.clone(),
            existed: Vec::new(),
            leads_out: Vec::new(),
            carried: Vec::new(),
            behind_links: Vec::new(),
            left_out: Vec::new(),
            remarks: Vec::new(),
            diff_hash: String::new(),
            no_op: case.changed.is_empty(),
        },
        risk: Risk::of(&case.changed, RiskThreshold::default()),
        diff: case.diff.clone(),
        checks: case.checks.iter().map(|check| report(&check.run, check.exit, &check.output)).collect(),
        baseline: at_base.map(|check| report(&check.run, check.base, &check.base_output)).collect(),
        protected: case.protected.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::{Format, read};
    use super::super::result::CaseOutcome;
    use super::*;
    use crate::domain::{GateOutcome, GateReport, Standing, StuckReason, StuckVerdict};
    use crate::services::{JudgeError, MockCompletionVerifier, MockJudge, MockProgressJudge};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Reads nothing, and says which turn is asked about.
    struct Bare;

    impl Stage for Bare {
        fn conversation(&self, input: &Value) -> Result<Conversation, String> {
            let task = input["task"].as_str().ok_or("`input` has no task")?;
            Ok(Conversation { trace: Trace::default(), task: Some(task.to_owned()), ending: None })
        }

        fn lay_out(&self, _: &BTreeMap<String, String>) -> Result<LaidOut, String> {
            Err("there is no disk here".to_owned())
        }

        fn grade_question(&self, turn: &TurnEvidence, _: &CompletionVerdict) -> OpenQuestion {
            OpenQuestion { prompt: turn.task.clone(), schema: Value::Null }
        }

        fn read_grade(&self, answer: &str) -> Result<Grade, String> {
            let score = answer.parse().map_err(|_| "no score".to_owned())?;
            Ok(Grade { score, reason: String::new() })
        }
    }

    fn verdict(status: Standing, complete: bool, reasons: Vec<GateReport>) -> CompletionVerdict {
        CompletionVerdict { complete, reasons, ..CompletionVerdict::bare(status) }
    }

    /// A verifier that answers with the status that the task names.
    fn bench() -> Bench {
        let mut completion = MockCompletionVerifier::new();
        completion.expect_verify_turn().returning(|turn| match turn.task.as_str() {
            "refuted" => verdict(Standing::Refuted, false, Vec::new()),
            "proven" => verdict(Standing::Proven, true, Vec::new()),
            "judged complete" => verdict(Standing::Unproven, true, Vec::new()),
            "judged incomplete" => {
                let judge = GateReport { gate: "judge".into(), outcome: GateOutcome::Failed, evidence: String::new() };
                verdict(Standing::Unproven, false, vec![judge])
            }
            "once" if turn.session.as_str().ends_with("-2") => verdict(Standing::Refuted, false, Vec::new()),
            _ => verdict(Standing::Unproven, false, Vec::new()),
        });
        let mut judge = MockJudge::new();
        judge.expect_ask().returning(|question, _| match question.prompt.as_str() {
            "graded" | "refuted" => Ok("5".to_owned()),
            "garbled" => Ok("splendid".to_owned()),
            _ => Err(JudgeError::NoJudge),
        });
        Bench {
            completion: Arc::new(completion),
            progress: Arc::new(MockProgressJudge::new()),
            judge: Arc::new(judge),
            stage: Arc::new(Bare),
        }
    }

    async fn run_on(text: &str, benches: &[Bench], cancel: &CancellationToken) -> SuiteResult {
        let suite = read("s.yaml", text, Format::Yaml).unwrap();
        let spent = UsageMeter::default();
        run(&suite, &RunParams { benches, jobs: 3, file: "s.yaml", threshold: None, spent: &spent, cancel }).await
    }

    fn completion(cases: &[(&str, bool, &str)]) -> String {
        let case = |(task, done, status): &(&str, bool, &str)| {
            format!(
                "- {{id: {}, description: x, input: {{task: {task}}}, expect: {{done: {done}, status: {status}}}}}\n",
                task.replace(' ', "-")
            )
        };
        format!("kind: completion\ncases:\n{}", cases.iter().map(case).collect::<String>())
    }

    #[tokio::test]
    async fn verdicts_are_put_on_the_right_side() {
        let suite = completion(&[
            ("refuted", true, "refuted"),
            ("proven", false, "proven"),
            ("judged complete", true, "unproven"),
            ("judged incomplete", true, "unproven"),
            ("open", false, "unproven"),
        ]);
        let result = run_on(&suite, &[bench()], &CancellationToken::new()).await;
        let totals = &result.totals;
        assert_eq!((totals.false_complete.count, totals.false_complete.of), (1, 2));
        assert_eq!((totals.false_alarm.count, totals.false_alarm.of), (2, 3), "refuted, and a judge against it");
        assert_eq!(totals.undecided.count, 1);
        assert_eq!(result.cases[1].outcome, CaseOutcome::Failed, "a false complete never passes");
        assert_eq!(result.missed.len(), 1);
    }

    #[tokio::test]
    async fn runs_that_differ_make_a_case_flaky() {
        let suite = completion(&[("once", false, "[unproven, refuted]"), ("refuted", false, "refuted")]);
        let result = run_on(&suite, &[bench(), bench(), bench()], &CancellationToken::new()).await;
        let given = |case: usize| result.cases[case].runs.iter().map(|run| run.given.clone()).collect::<Vec<_>>();
        assert_eq!(given(0), ["unproven", "refuted", "unproven"]);
        assert_eq!(given(1), ["refuted", "refuted", "refuted"]);
        assert_eq!((result.cases[0].outcome, result.cases[1].outcome), (CaseOutcome::Flaky, CaseOutcome::Passed));
    }

    #[tokio::test]
    async fn scores_are_asked_for_and_bounded() {
        let case = |task: &str, range: &str| {
            format!("- {{id: {task}, description: x, input: {{task: {task}}}, expect: {range}}}\n")
        };
        let cases = [
            case("graded", "{min: 4}"),
            case("refuted", "{max: 1}"),
            case("garbled", "{max: 3}"),
            case("proven", "{min: 4}"),
        ];
        let suite = format!("kind: agent\ncases:\n{}", cases.concat());
        let result = run_on(&suite, &[bench()], &CancellationToken::new()).await;
        let is: Vec<CaseOutcome> = result.cases.iter().map(|case| case.outcome).collect();
        // Nothing was called and nothing said in any of them, so that no judge gets more than 0 out of it.
        assert_eq!(is, [CaseOutcome::Failed, CaseOutcome::Passed, CaseOutcome::Passed, CaseOutcome::Failed]);
        assert_eq!(result.cases[0].runs[0].given, "0");
    }

    #[tokio::test]
    async fn what_cannot_be_laid_out_fails_and_what_was_interrupted_is_not_graded() {
        let with_files = completion(&[("refuted", false, "refuted")]).replace("input:", "files: {a: b}, input:");
        let result = run_on(&with_files, &[bench()], &CancellationToken::new()).await;
        assert_eq!(result.cases[0].runs[0].problems, ["there is no disk here"]);
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let result = run_on(&completion(&[("refuted", false, "refuted")]), &[bench()], &cancelled).await;
        assert_eq!(result.cases[0].outcome, CaseOutcome::NotGraded);
        assert_eq!(result.missed, ["no case was graded"]);
    }

    #[tokio::test]
    async fn at_most_so_many_cases_run_at_a_time() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        struct Slow;
        #[async_trait::async_trait]
        impl ProgressJudge for Slow {
            async fn stuck(&self, _: &crate::services::StuckQuestion, _: &UsageMeter) -> StuckVerdict {
                MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                RUNNING.fetch_sub(1, Ordering::SeqCst);
                let (reason, nudge_message) = (StuckReason::Working, String::new());
                StuckVerdict { stuck: false, reason, confidence: 1.0, should_nudge: false, nudge_message }
            }
            async fn after_compaction(
                &self,
                _: &crate::services::CompactionQuestion,
                _: &UsageMeter,
            ) -> crate::domain::CompactionVerdict {
                unreachable!("no case asks")
            }
            fn in_loop(&self, _: &Trace) -> Option<String> {
                None
            }
        }
        let case = |n: usize| {
            format!("- {{id: c{n}, description: x, input: {{}}, expect: {{stuck: false, reason: working}}}}\n")
        };
        let suite = format!("kind: stuck\ncases:\n{}", (0..10).map(case).collect::<String>());
        let bench = Bench { progress: Arc::new(Slow), ..bench() };
        let result = run_on(&suite, &[bench], &CancellationToken::new()).await;
        assert_eq!(result.totals.passed, 10);
        assert_eq!(MOST.load(Ordering::SeqCst), 3);
    }
}
