//! What somebody sees who watches a run, before it is drawn: pure values and words.
//!
//! A [`Scene`] is the [`Night`](super::Night) of a journal with who is at work in this moment (from the transcripts that
//! are being written, [`Live`]) and the newest entries in words ([`Said`]). `timeline` puts spans into columns, `detail`
//! tells one task, `words` has the short sentences, and `text` puts a scene into lines, for pipes and screen readers. Every
//! word from outside comes out in one line that drives no terminal.

mod detail;
mod said;
mod scene;
mod text;
mod timeline;
mod words;

pub use detail::{Passage, PassageKind, detail};
pub use said::Said;
pub use scene::{AtWork, Live, RECENT, Scene, working_sessions};
pub use text::{said, text};
pub use timeline::{Cell, Timeline, timeline};
pub use words::{at_work, line, mark, need, phase, spent, standing, tallies};
