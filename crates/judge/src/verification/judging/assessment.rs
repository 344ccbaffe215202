//! Self-assessment: structured questions on an agent's work, and the reader of the answers.

use super::fields::{Fields, unreadable};
use super::questions::assessment_prompt;
use crate::prompt::{ask_again, beginning, objects};
use crate::services::{Judge, JudgeError, JudgeQuestion, OpenQuestion, UsageMeter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

/// An agent's work in the words of whoever was asked about it. Nothing in it completes a task.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelfAssessment {
    /// What the task asks for, in a sentence.
    pub task_summary: String,
    /// What kind of task it is.
    pub task_type: AssessedType,
    /// How the work stands.
    pub status: AssessedStatus,
    /// How sure the answer is, 0 to 1; it decides nothing.
    pub confidence: Option<f64>,
    /// What shows it.
    pub evidence: AssessedEvidence,
    /// What is left to do.
    pub remaining_work: Vec<String>,
    /// Steps that the task still needs.
    pub next_steps: Vec<String>,
    /// What only a person can do.
    pub needs_user_action: Vec<String>,
    /// It repeats itself without getting anywhere.
    pub stuck: bool,
    /// What to try instead, if it is stuck.
    pub alternate_approach: String,
}

/// What kind of task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum AssessedType {
    Feature,
    Bugfix,
    Refactor,
    Docs,
    Research,
    Ops,
    Other,
}

/// How the work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssessedStatus {
    /// All of it is done.
    Complete,
    /// A part is left.
    InProgress,
    /// It cannot go on.
    Blocked,
    /// It repeats itself.
    Stuck,
    /// A person must act.
    WaitingForUser,
}

/// What shows how the work stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssessedEvidence {
    /// Tests.
    pub tests: Option<AssessedTests>,
    /// A build.
    pub build: Option<AssessedBuild>,
    /// A pull request.
    pub pr: Option<AssessedPr>,
}

/// Tests, as they are said to have gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssessedTests {
    /// They ran.
    pub ran: bool,
    /// What came of the last run.
    pub results: Results,
    /// They ran after the last change.
    pub ran_after_changes: bool,
    /// The commands as they were run.
    pub commands: Vec<String>,
    /// Some were left out.
    pub skipped: bool,
    /// Why, if so.
    pub skip_reason: String,
}

/// A build, as it is said to have gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssessedBuild {
    /// It ran.
    pub ran: bool,
    /// What came of the last one.
    pub results: Results,
}

/// A pull request, as it is said to stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssessedPr {
    /// There is one.
    pub created: bool,
    /// Where.
    pub url: String,
    /// How CI stands on it.
    pub ci_status: Results,
    /// Somebody looked at CI.
    pub checked: bool,
}

/// What came of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Results {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// Nobody knows.
    Unknown,
}

/// The shape of an assessment as a JSON Schema: every field is there, and no other.
#[must_use]
pub fn assessment_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<SelfAssessment>().to_value()
}

/// Asks for an assessment, in a conversation of its own; once more with the reason if the answer cannot be read.
///
/// # Errors
/// [`JudgeError`]; the turn stays as it was.
pub async fn assess(
    judge: &dyn Judge,
    question: &JudgeQuestion,
    spent: &UsageMeter,
) -> Result<SelfAssessment, JudgeError> {
    let prompt = assessment_prompt(question);
    let schema = assessment_schema();
    let first = OpenQuestion { prompt: prompt.clone(), schema: schema.clone() };
    match read_assessment(&judge.ask(&first, spent).await?) {
        Err(error @ JudgeError::Unreadable(_)) => {
            let again = OpenQuestion { prompt: ask_again(&prompt, &error.to_string()), schema };
            read_assessment(&judge.ask(&again, spent).await?)
        }
        other => other,
    }
}

/// Reads an assessment out of any text: the first object that is one.
///
/// Only `status` must be there. A single text is a list of one, and "none" or "n/a" is no item; what is not said of
/// evidence is not claimed.
///
/// # Errors
/// [`JudgeError::Unreadable`]: no object with a `status` that is one, or a field of the wrong type.
///
/// ```
/// # use reflexion_judge::verification::judging::{AssessedStatus, read_assessment};
/// let read = read_assessment(r#"So: {"status": "complete", "remaining_work": "none"} {"note": 1}"#)?;
/// assert_eq!((read.status, read.remaining_work.len()), (AssessedStatus::Complete, 0));
/// # Ok::<(), reflexion_core::services::JudgeError>(())
/// ```
pub fn read_assessment(text: &str) -> Result<SelfAssessment, JudgeError> {
    let mut error = None;
    for object in objects(text).filter(|object| object.contains_key("status")) {
        match read(Fields(&object)) {
            Ok(assessment) => return Ok(assessment),
            Err(why) => error = Some(why),
        }
    }
    Err(error.unwrap_or_else(|| {
        unreadable(format!("there is no JSON object with a `status` in it; it begins: {:?}", beginning(text)))
    }))
}

const STATUSES: [(&str, AssessedStatus); 5] = [
    ("complete", AssessedStatus::Complete),
    ("in_progress", AssessedStatus::InProgress),
    ("blocked", AssessedStatus::Blocked),
    ("stuck", AssessedStatus::Stuck),
    ("waiting_for_user", AssessedStatus::WaitingForUser),
];
const TYPES: [(&str, AssessedType); 6] = [
    ("feature", AssessedType::Feature),
    ("bugfix", AssessedType::Bugfix),
    ("refactor", AssessedType::Refactor),
    ("docs", AssessedType::Docs),
    ("research", AssessedType::Research),
    ("ops", AssessedType::Ops),
];
const RESULTS: [(&str, Results); 3] = [("pass", Results::Pass), ("fail", Results::Fail), ("unknown", Results::Unknown)];

fn read(fields: Fields<'_>) -> Result<SelfAssessment, JudgeError> {
    let evidence = part(fields, "evidence")?;
    let of = |name: &str| evidence.map_or(Ok(None), |evidence| part(evidence, name));
    Ok(SelfAssessment {
        task_summary: fields.text(&["task_summary"])?,
        // Nothing hangs on it, so that a word of the answer's own is no reason to refuse the answer.
        task_type: fields.word(&["task_type"], &TYPES).ok().flatten().unwrap_or(AssessedType::Other),
        status: fields.word(&["status"], &STATUSES)?.ok_or_else(|| unreadable("`status` is null"))?,
        confidence: fields.share("confidence")?,
        evidence: AssessedEvidence {
            tests: of("tests")?.map(tests).transpose()?,
            build: of("build")?.map(build).transpose()?,
            pr: of("pr")?.map(pull_request).transpose()?,
        },
        remaining_work: fields.list(&["remaining_work"])?,
        next_steps: fields.list(&["next_steps"])?,
        needs_user_action: fields.list(&["needs_user_action"])?,
        stuck: fields.flag(&["stuck"])?.unwrap_or(false),
        alternate_approach: fields.text(&["alternate_approach"])?,
    })
}

fn part<'a>(fields: Fields<'a>, name: &str) -> Result<Option<Fields<'a>>, JudgeError> {
    match fields.value(&[name]) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(Fields(object))),
        Some(_) => Err(unreadable(format!("`{name}` is no object"))),
    }
}

fn tests(fields: Fields<'_>) -> Result<AssessedTests, JudgeError> {
    Ok(AssessedTests {
        ran: fields.flag(&["ran"])?.unwrap_or(false),
        results: results(fields, "results")?,
        ran_after_changes: fields.flag(&["ran_after_changes"])?.unwrap_or(false),
        commands: fields.list(&["commands"])?,
        skipped: fields.flag(&["skipped"])?.unwrap_or(false),
        skip_reason: fields.text(&["skip_reason"])?,
    })
}

fn build(fields: Fields<'_>) -> Result<AssessedBuild, JudgeError> {
    Ok(AssessedBuild { ran: fields.flag(&["ran"])?.unwrap_or(false), results: results(fields, "results")? })
}

fn pull_request(fields: Fields<'_>) -> Result<AssessedPr, JudgeError> {
    Ok(AssessedPr {
        created: fields.flag(&["created"])?.unwrap_or(false),
        url: fields.text(&["url"])?,
        ci_status: results(fields, "ci_status")?,
        checked: fields.flag(&["checked"])?.unwrap_or(false),
    })
}

fn results(fields: Fields<'_>, name: &str) -> Result<Results, JudgeError> {
    Ok(fields.word(&[name], &RESULTS)?.unwrap_or(Results::Unknown))
}

#[cfg(test)]
mod tests {
    use super::super::read_verdict;
    use super::*;
    use crate::domain::SessionId;
    use crate::services::{JudgeRole, MockJudge};
    use proptest::prelude::*;

    fn check(text: &str, expected: Result<AssessedStatus, &str>) {
        let said = read_assessment(text).map(|read| read.status).map_err(|error| error.to_string());
        match expected {
            Ok(status) => assert_eq!(said, Ok(status), "{text}"),
            Err(words) => assert!(said.as_ref().is_err_and(|said| said.contains(words)), "{text}\n{said:?}"),
        }
    }

    #[test]
    fn an_assessment_is_found_amid_anything() {
        check("Here: {\"status\":\"complete\",} — and {\"note\":1}", Ok(AssessedStatus::Complete));
        check("```json\n{\"status\": \"Waiting for user\"}\n```", Ok(AssessedStatus::WaitingForUser));
        check(r#"{"status":"ok"} {"status":"in-progress"}"#, Ok(AssessedStatus::InProgress));
        check(r#"{"status":"ok"}"#, Err("`status` is \"ok\" where complete|in_progress|"));
        check("{}", Err("no JSON object with a `status`"));
        check("I am done.", Err("it begins: \"I am done.\""));
        check(r#"{"status":"complete","confidence":"0.9"}"#, Err("`confidence` is \"0.9\" where a number"));
        check(r#"{"status":"complete","stuck":"maybe"}"#, Err("`stuck` is \"maybe\" where true or false"));
        check(r#"{"status":"complete","evidence":"all green"}"#, Err("`evidence` is no object"));
        check(r#"{"status":"complete","evidence":{"tests":{"ran":1}}}"#, Err("`ran` is 1"));
    }

    #[test]
    fn texts_stand_for_lists_and_words_for_nothing_for_none() {
        let text = r#"{"status":"complete","remaining_work":"None.","next_steps":["n/a","ship it"," "],
            "needs_user_action":null,"evidence":{"tests":{"ran":"true","commands":"npm test","results":"PASS"},"build":null}}"#;
        let read = read_assessment(text).unwrap();
        assert_eq!(read.remaining_work, Vec::<String>::new());
        assert_eq!((read.next_steps, read.needs_user_action), (vec!["ship it".to_owned()], Vec::new()));
        let tests = read.evidence.tests.unwrap();
        assert_eq!((tests.ran, tests.results, tests.commands), (true, Results::Pass, vec!["npm test".to_owned()]));
        assert!(!tests.ran_after_changes, "what is not said is not claimed");
        assert_eq!(read.evidence.build, None);
    }

    #[test]
    fn what_fits_the_schema_is_read_back() {
        let schema = assessment_schema();
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        assert_eq!(schema["required"].as_array().map(Vec::len), Some(10), "{schema}");
        assert!(!schema.to_string().contains("$ref"), "{schema}");
        let text = r#"{"task_summary":"s","task_type":"bugfix","status":"stuck","confidence":0.5,"evidence":{"tests":{"ran":true,"results":"fail",
            "ran_after_changes":true,"commands":["./t"],"skipped":true,"skip_reason":"r"},"build":{"ran":true,"results":"pass"},
            "pr":{"created":true,"url":"u","ci_status":"unknown","checked":true}},"remaining_work":["a"],"next_steps":["b"],
            "needs_user_action":["c"],"stuck":true,"alternate_approach":"d"}"#;
        let written = serde_json::to_value(read_assessment(text).unwrap()).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_asked_for_once_more() {
        let question = JudgeQuestion {
            v: 1,
            role: JudgeRole::Judge,
            session: SessionId::new("s".to_owned()),
            task: "Fix it".to_owned(),
            actions: Vec::new(),
            diff: String::new(),
            response: String::new(),
            reasons: Vec::new(),
            instructions: String::new(),
        };
        let mut judge = MockJudge::new();
        judge.expect_ask().times(2).returning(|question, _| {
            assert!(question.prompt.contains("\nFix it\n") && question.schema == assessment_schema());
            let again = question.prompt.contains("You were asked this before");
            Ok(if again { r#"{"status":"complete"}"# } else { "Sure!" }.to_owned())
        });
        assert_eq!(assess(&judge, &question, &UsageMeter::default()).await.unwrap().status, AssessedStatus::Complete);
    }

    proptest! {
        #[test]
        fn no_answer_panics_and_an_assessment_is_no_verdict(text in r#"([{}\[\],:]|"status":|"complete"|"evidence":|"tests":|"ran":|true|"x"|null| ){0,30}"#) {
            if read_assessment(&text).is_ok() {
                prop_assert!(read_verdict(&text, &SessionId::new("s".to_owned())).is_err());
            }
        }
    }
}
