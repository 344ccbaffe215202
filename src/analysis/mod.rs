//! ANALYZE: three experiments that say whether more self-reflection is worth building.
//!
//! Each has a kill condition that was written down before any data was seen, and each result says first whether it was
//! met ([`Decision`]). [`calibrate`] asks whether an agent's confidence tells right work from wrong (P1), [`FollowUps`]
//! what repairs soon after a change say about the gates that let it pass (P2), [`board`] how often anything says
//! afterwards whether finished work was right (P3). What is too little to decide on is said and decides nothing.
//! Everything is a pure function of what was read; the numbers are those of the cited papers.

mod auc;
mod board;
mod calibration;
mod decision;
mod experiment;
mod export;
mod follow_ups;
mod gates;
mod labelled;
mod landing;
mod own;
mod paths;
mod repair;
mod text;
mod words;

pub use auc::Auc;
pub use auc::auc;
pub use board::BoardResult;
pub use board::BoardTask;
pub use board::Says;
pub use board::Signal;
pub use board::board;
pub use calibration::Bin;
pub use calibration::Calibration;
pub use calibration::High;
pub use calibration::calibrate;
pub use decision::Decision;
pub use experiment::Experiment;
pub use export::Board;
pub use export::parse_time;
pub use export::read_board;
pub use follow_ups::FollowUps;
pub use follow_ups::Gates;
pub use follow_ups::GitHistoryResult;
pub use follow_ups::Repair;
pub use gates::Gate;
pub use labelled::Labelled;
pub use labelled::Line;
pub use labelled::read_labelled;
pub use own::Own;
pub use own::lessons;
pub use own::own_board;
pub use own::self_reports;
pub use repair::RepairKind;
pub use text::board_history_text;
pub use text::calibration_text;
pub use text::git_history_text;
