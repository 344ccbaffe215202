//! RETRY: the fast loop, from a ready task to a confirmed change.
//!
//! ```text
//!  queue ──▶ open workspace ──▶ baseline ──▶ attempt ──▶ turn ──▶ record the change ──▶ checks ──▶ judge ──▶ gates
//!                                              ▲          ▲                                                 │
//!                                              │          └── feedback, in the same conversation ◀─ to do ──┤
//!                                              └── inject ◀── store ◀── reflect ◀── refuted, no turn left ──┤
//!                                                                                                           ▼
//!                                                                         commit on a branch ◀── confirmed
//! ```
//!
//! What happens next is decided purely: [`queue`] says which task is ready, [`router`] which agents it is given to
//! (by its [`size`] and the agents' [`track_record`] too), [`verdict`] what the evidence says of a turn ([`results`]: what test
//! summaries do, [`review`]: what somebody should see, [`steering`]: what only a person merges), [`turns`] whether
//! another turn follows, [`machine`] what follows from an attempt, [`healer`] what is done about a broken workspace.
//! Between them pass values: `context` (what the tasks of a run share), `task_run` (what is fixed about a task, how far it has come, and where it
//! is worked on), `course` (an attempt while it goes on, and how it ended), `past_failure`, `spent`.
//! `drive`, `task`, `prepare`, `parts`, `attempt`, `turn`, `landing`, `flaky` and `healing` perform those effects through the
//! ports and write each
//! intent to the journal before, each result after; `telling` tells each entry to whoever watches once it is durable; `nudge` looks after an agent while it works, `holdout` decides which retries go without their lessons. [`resume`] feeds the
//! machine again with the journal of a run that was killed.

mod attempt;
mod budget;
mod checking;
mod context;
mod course;
mod cuts;
mod doubts;
mod drive;
mod ended;
mod failure;
mod flaky;
mod halt;
pub mod healer;
mod healing;
mod holdout;
mod landing;
mod lesson;
mod limits;
pub mod machine;
mod newest;
mod nudge;
mod numbering;
pub mod parts;
mod past_failure;
mod ports;
mod prepare;
mod programs;
mod proof;
pub mod queue;
mod request;
pub mod results;
pub mod resume;
pub mod review;
pub mod router;
pub mod size;
mod spent;
pub mod steering;
mod sum_up;
mod task;
mod task_run;
mod telling;
pub mod track_record;
mod turn;
pub mod turns;
pub mod verdict;
mod waiting;
mod watch;

pub use drive::Loop;
pub use ports::Services;
