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

pub use auc::{Auc, auc};
pub use board::{BoardResult, BoardTask, Says, Signal, board};
pub use calibration::{Bin, Calibration, High, calibrate};
pub use decision::Decision;
pub use experiment::Experiment;
pub use export::{Board, parse_time, read_board};
pub use follow_ups::{FollowUps, Gates, GitHistoryResult, Repair};
pub use gates::Gate;
pub use labelled::{Labelled, Line, read_labelled};
pub use own::{Own, lessons, own_board, self_reports};
pub use repair::RepairKind;
pub use text::{board_history_text, calibration_text, git_history_text};
