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

pub use assessment::{
    AssessedBuild, AssessedEvidence, AssessedPr, AssessedStatus, AssessedTests, AssessedType, Results, SelfAssessment,
    assess, assessment_schema, read_assessment,
};
pub use cross_check::{Assessed, cross_check};
pub use human::{Split, Who, split, who_acts};
pub use judges::{AskedJudge, Authors, Instructed};
pub use none::NoJudge;
pub use questions::{compaction_question, grade_question, question, stuck_question};
pub use verdict::{Grade, read_answer, read_compaction, read_grade, read_stuck, read_verdict};
