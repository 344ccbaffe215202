//! Those who are asked where the facts leave it open: self-assessment, judge, committee; and the readers of their answers.

mod human;
mod none;

pub use human::Who;
pub use human::who_acts;
pub use none::NoJudge;
