//! The contracts: one port per file, with its error; no implementation stands here.
//!
//! A port is a narrow, object-safe trait. Its documentation says its role, who calls it, what is durable when it
//! returns, and what may be repeated or lost.
//!
//! | port | promise | live | double |
//! |---|---|---|---|
//! | [`Settings`] | the user's settings, typed | `config` through `runtime` | `testing::fixed_settings` |
//! | [`Clock`] | time, sleep and new ids | `host` | `testing::TestClock` |
//! | [`CommandRunner`] | runs a program and all it starts, within limits | `host` | mock |
//! | [`Workspaces`], [`Workspace`] | a place to work in, and what changed there | `host` | `testing::MemoryWorkspaces` |
//! | [`WorkTree`] | a checkout as it stands, for hooks | `host` | - |
//! | [`Tasks`] | the task file and what runs found out | `storage` | `testing::MemoryTasks` |
//! | [`Subagents`], [`Subagent`] | one agent run | `subagents` | `testing::ScriptedSubagent`, `testing::Cassette` |
//! | [`Transcripts`], [`AgentWatch`] | what agents did, step by step | `storage` | `storage::MemoryTranscripts` |
//! | [`Models`], [`Model`] | one prompt in, one text out | `llm` | mock, `testing::Cassette` |
//! | [`Respondents`], [`Respondent`] | a question in, an answer of a given form out, whoever gives it | `asking` | mock |
//! | [`Verifier`] | runs checks, reads failures | `verification` | `testing::ScriptedVerifier` |
//! | [`FailureReader`] | what a failure looks like | `reflection` | the real one, it is pure |
//! | [`Generator`] | a lesson from a failure | `reflection` | `testing::CannedGenerator` |
//! | [`Decomposer`] | the parts of a task | `decomposition` | `decomposition::Nobody`, mock |
//! | [`ReflectionService`] | generate, save, recall, format, prune | `reflection` | mock |
//! | [`Storage`] | keeps reflections | `storage` | `storage::InMemoryStorage` |
//! | [`Lessons`] | what became of reflections as lessons for other tasks | `storage` | `storage::InMemoryLessons` |
//! | [`Journal`] | a run's intents and results | `storage` | `storage::MemoryJournal` |
//! | [`Runs`], [`RunReader`], [`TranscriptReader`] | what runs left behind, and how they stand | `runtime`, from `storage` and `host` | `storage::MemoryRuns` |
//! | [`Changes`] | the files that differ from where the work began | `host` | mock |
//! | [`Remote`] | what the remote says | `host` | mock |
//! | [`History`] | what was committed, commit by commit | `host` | mock |
//! | [`KeepAwake`] | the machine does not go to sleep | `host` | mock |
//! | [`RunLock`] | one run at a time | `host` | `testing::Unlocked` |
//! | [`EventSink`] | tells watchers | `cli`, `tracing` | `testing::CollectedEvents` |
//! | [`Notifiers`], [`Notifier`] | tells a person who is not watching | `notify` | `notify::Nobody`, mock |
//! | [`CompletionVerifier`] | whether a turn ended with the task done | `verification` | `testing::Undecided` |
//! | [`Judge`] | an opinion on what facts leave open | `verification` | mock |
//! | [`ProgressJudge`] | stuck, forgetful or looping agents | `verification` | `testing::Undecided` |
//! | [`Verdicts`] | a session's verdict, for other programs | `storage` | `storage::MemoryVerdicts` |
//! | [`Captures`] | what an agent knew at an attempt's end | `hooks` | `hooks::MemoryCaptures` |
//! | [`Orchestrator`] | the loop | `orchestrator` | - |
//!
//! With the feature `testing` every port has a `mockall` mock: `MockStorage`, `MockGenerator`, …

mod captures;
mod changes;
mod clock;
mod command;
mod decomposer;
mod events;
mod failure_reader;
mod generator;
mod history;
mod journal;
mod judge;
mod keep_awake;
mod lessons;
mod model;
mod notifier;
mod orchestrator;
mod reflection;
mod registry;
mod remote;
mod respondent;
mod run_lock;
mod runs;
mod settings;
mod storage;
mod subagent;
mod tasks;
mod transcript;
mod usage_meter;
mod verdicts;
mod verifier;
mod work_tree;
mod workspace;

pub use captures::*;
pub use changes::*;
pub use clock::*;
pub use command::*;
pub use decomposer::*;
pub use events::*;
pub use failure_reader::*;
pub use generator::*;
pub use history::*;
pub use journal::*;
pub use judge::*;
pub use keep_awake::*;
pub use lessons::*;
pub use model::*;
pub use notifier::*;
pub use orchestrator::*;
pub use reflection::*;
pub use remote::*;
pub use respondent::*;
pub use run_lock::*;
pub use runs::*;
pub use settings::*;
pub use storage::*;
pub use subagent::*;
pub use tasks::*;
pub use transcript::*;
pub use usage_meter::*;
pub use verdicts::*;
pub use verifier::*;
pub use work_tree::*;
pub use workspace::*;
