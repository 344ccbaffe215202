//! REMEMBER: what outlives a process.
//!
//! Nearly everything here is JSON Lines: reflections, a run's journal, and the marks that runs leave on tasks. All three are
//! written by one component, the append log, which makes one write and one sync of whatever waits at the moment, under
//! a lock that other processes respect; a line torn by a crash costs nothing but itself. Whole files (a pruned memory,
//! a task file a person edits) are replaced atomically under the same lock. Readers take no lock: they skip what they
//! cannot read and say so in [`Storage::check`](crate::services::Storage::check).
//!
//! | what | live | double |
//! |---|---|---|
//! | [`Storage`](crate::services::Storage) | [`JsonlStorage`] | [`InMemoryStorage`] |
//! | [`Lessons`](crate::services::Lessons) | [`LessonFiles`] | [`InMemoryLessons`] |
//! | [`Journal`](crate::services::Journal) | [`FileJournal`] | [`MemoryJournal`] |
//! | [`Verdicts`](crate::services::Verdicts) | [`VerdictFiles`] | [`MemoryVerdicts`] |
//! | [`Tasks`](crate::services::Tasks) | [`FileTasks`] | `testing::MemoryTasks` |

mod append_log;
mod attempts;
mod backward;
mod damage;
mod evals;
mod everywhere;
mod import;
mod import_text;
mod in_memory;
mod journal;
mod jsonl;
mod lessons;
mod line_tail;
mod lines;
mod locked_file;
mod memory_runs;
mod old_transcripts;
mod overlay;
mod pages;
mod past;
mod prune;
mod recent_cache;
mod record;
mod run_journal;
mod run_log;
mod run_sign;
mod seal;
mod state;
mod task_edits;
mod task_file;
mod tasks;
mod transcript_caps;
mod transcript_tail;
mod transcripts;
mod trust;
mod verdicts;

pub use attempts::{AttemptsFile, KeptAttempts, Rebuilt};
pub use damage::{Damage, damage};
pub use evals::EvalFiles;
pub use import::{ImportFormat, ImportHow, Imported, detect, read_import};
pub use in_memory::InMemoryStorage;
pub use journal::{FileJournal, MemoryJournal};
pub use jsonl::JsonlStorage;
pub use lessons::{InMemoryLessons, LessonFiles};
pub use lines::{Line, MAX_LINE, for_each_line};
pub use memory_runs::MemoryRuns;
pub use past::read_past;
pub use run_journal::RunJournal;
pub use run_log::{RunTail, kept_patches, read_run, recorded_runs};
pub use run_sign::{kind_of_run, last_sign};
pub use seal::{Adopted, Seals};
pub use state::check_state;
pub use tasks::FileTasks;
pub use transcript_tail::TranscriptTail;
pub use transcripts::{MemoryTranscripts, TranscriptFiles};
pub use trust::{TrustFile, Trusted};
pub use verdicts::{MemoryVerdicts, VerdictFiles};
