//! Those who are asked where the facts leave it open: self-assessment, judge, committee; and the readers of their answers.

mod assessment;
#[cfg(test)]
mod cases;
mod cross_check;
mod fields;
mod human;
mod judges;
mod none;
mod questions;
mod verdict;

pub use assessment::AssessedBuild;
pub use assessment::AssessedEvidence;
pub use assessment::AssessedPr;
pub use assessment::AssessedStatus;
pub use assessment::AssessedTests;
pub use assessment::AssessedType;
pub use assessment::Results;
pub use assessment::SelfAssessment;
pub use assessment::assess;
pub use assessment::assessment_schema;
pub use assessment::read_assessment;
pub use cross_check::Assessed;
pub use cross_check::cross_check;
pub use human::Split;
pub use human::Who;
pub use human::split;
pub use human::who_acts;
pub use judges::AgentJudge;
pub use judges::Cached;
pub use judges::CommandJudge;
pub use judges::Deadline;
pub use judges::FastModel;
pub use judges::FastModelParams;
pub use judges::Instructed;
pub use judges::ModelJudge;
pub use none::NoJudge;
pub use questions::compaction_question;
pub use questions::grade_question;
pub use questions::question;
pub use questions::stuck_question;
pub use verdict::Grade;
pub use verdict::read_answer;
pub use verdict::read_compaction;
pub use verdict::read_grade;
pub use verdict::read_stuck;
pub use verdict::read_verdict;
