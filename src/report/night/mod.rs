//! The morning report and the state of a run, from its journal alone.
//!
//! `replay` turns entries into what happened, whatever is missing or cut off; `conclude` and `needs` say what follows;
//! that is a [`Night`], which `report --json` prints (`value`). `page` puts it into words and into the report's order,
//! once: `text`, `markdown` and `html` print the same page, and only the HTML adds pictures (`charts`). `status`
//! tells a running or dead run in a few sentences, `watch` what somebody sees who watches one. Pure; the zone and the moment come from whoever asks (`words`).

mod block;
mod chain;
mod change;
mod charts;
mod conclude;
mod figures;
mod heals;
mod html;
mod learned;
mod markdown;
mod needs;
mod notes;
mod page;
#[cfg(test)]
mod page_tests;
mod replay;
mod said;
mod status;
#[cfg(test)]
mod tests;
mod text;
mod used;
mod value;
pub mod watch;
mod words;

pub use html::html;
pub use markdown::markdown;
pub use status::{status, waits};
pub use text::text;
pub use value::{
    AgentSpend, AskedForTest, Counts, Fate, Gap, Heal, Injection, Lesson, Limit, Merge, Need, NeedKind, Night,
    NightAttempt, NightState, NightTask, Span, SpanKind, Spend, Step, TaskChange, TaskState, WorkerTime,
};
pub use words::Times;
pub(super) use words::{by_part, duration};
