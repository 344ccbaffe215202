//! What a test holds.

use super::agents::{TapedAgents, taped_agent};
use super::changes::Recorded;
use super::models::{TapedModels, taped_model};
use super::normalise::Normaliser;
use super::tape::{CassetteError, Tape};
use crate::layer::Svc;
use crate::services::{Model, Models, Subagent, Subagents};
use globset::{Glob, GlobSetBuilder};
use std::path::Path;
use std::sync::Arc;

/// Records calls of agents and models to a file, or plays them again from it.
///
/// Use it for a test that needs what a real agent does, without the agent, its account or a network. Record once, look
/// at the file, commit it. Whether it records or plays is said in the code, never by an environment variable that
/// somebody forgot. Record when the file is not there *and* the caller says so:
///
/// ```no_run
/// # use reflexion_core::domain::RunId;
/// # use reflexion_core::services::{Orchestrator, RunRequest, Subagents};
/// # use reflexion_layer::layer::{BoxError, Layers, Svc};
/// # use reflexion_testing::testing::{Cassette, CassetteError};
/// # use std::path::Path;
/// fn cassette(file: &str, may_record: bool) -> Result<Cassette, CassetteError> {
///     if may_record && !Path::new(file).exists() { Cassette::record(file) } else { Cassette::replay(file) }
/// }
///
/// // `live` is `runtime::live().with(settings)`, `run` is `runtime::new_run_id()`.
/// # async fn example(live: Layers, run: RunId) -> Result<(), BoxError> {
/// let cassette = cassette("tests/cassettes/fix-dates.jsonl", cfg!(feature = "record"))?;
/// let tape = cassette.clone();
/// let layers = live.wrap::<dyn Subagents>(move |agents| tape.agents(agents));
/// let app = layers.build::<Svc<dyn Orchestrator>>().await?;
/// let report = app.run(RunRequest::everything(run)).await?;
/// app.shutdown().await?;
/// assert_eq!(report.totals.confirmed, 1);
/// cassette.finish()?;
/// # Ok(())
/// # }
/// ```
///
/// **What is recorded.** Of an agent run: task, subtask, attempt, mode, kind of conversation and prompt; its steps; its
/// report or error; and the files that it created, changed or deleted in its directory, with content, executable bit and
/// symbolic links (`.git`, and directories without files, are left out). A replay leaves the same change. Of a
/// question to a model: the question, and the answer or error.
///
/// **What is compared.** Requests by their text, in which the following stand for what differs from run to run: `<dir>`
/// for the agent's directory, `<prompt-file>`, `<run>` and `<id>` (this run's and session's ids of 8 characters or more,
/// UUIDs, hashes of 40 digits, those of 16 in the tags of a prompt), `<time>` (RFC 3339), `<tmp>` (the first name below a temporary directory), `<duration>`
/// (a number with a unit from ns to minutes). [`Cassette::normalise`] adds to it, [`Cassette::exact`] switches it off.
/// Each recording is played once; equal requests get theirs in the order of the file.
///
/// **Secrets.** The environment of a request is not recorded. Values of variables whose name speaks of a key, token,
/// secret, password or credential, in the request's or this process's environment, are written as `<env:NAME>` wherever
/// they stand in a recording, files included. What else an agent prints is recorded as it is: look before you commit.
///
/// # Panics
/// In the way of the doubles here. While replaying: a call without a recording panics with the difference to the nearest
/// one; recordings that nobody asked for panic when the last clone is dropped without [`Cassette::finish`]. While
/// recording: a call that cannot be written.
#[derive(Clone)]
pub struct Cassette {
    pub(super) tape: Arc<Tape>,
    pub(super) normaliser: Normaliser,
    pub(super) files: Recorded,
}

impl Cassette {
    /// Files of one agent run, together, up to which they are recorded unless [`Cassette::max_bytes`] says otherwise.
    const MAX_BYTES: u64 = 16 << 20;

    /// A new cassette at `path`.
    ///
    /// Until [`Cassette::finish`] (or until the last clone is dropped, unless the test is failing) it is written beside
    /// it as `<path>.recording`; so a recording that breaks off leaves an older one as it was.
    ///
    /// # Errors
    /// [`CassetteError::Write`].
    pub fn record(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        Ok(Self::of(Tape::record(path.as_ref())?))
    }

    /// The cassette at `path`.
    ///
    /// # Errors
    /// [`CassetteError`] if it is missing, of another version, or any line of it cannot be read.
    pub fn replay(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        Ok(Self::of(Tape::replay(path.as_ref())?))
    }

    fn of(tape: Tape) -> Self {
        let files = Recorded { leave_out: globset::GlobSet::empty(), max_bytes: Self::MAX_BYTES };
        Self { tape: Arc::new(tape), normaliser: Normaliser::default(), files }
    }

    /// Also replaces what differs from run to run in your own texts; after the usual replacements, and in the order in
    /// which they are added. It must leave alone what it has replaced, as recorded texts are normalised again.
    ///
    /// ```no_run
    /// # use reflexion_testing::testing::{Cassette, CassetteError};
    /// let cassette = Cassette::replay("night.jsonl")?.normalise(|text| text.replace("build 1234", "build <number>"));
    /// # Ok::<(), CassetteError>(())
    /// ```
    #[must_use]
    pub fn normalise(mut self, normalise: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.normaliser.add(normalise);
        self
    }

    /// Compares and records requests letter by letter, without the usual replacements. Say it both times.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.normaliser.exact();
        self
    }

    /// Leaves out of recorded changes what matches one of these globs, relative to the agent's directory: `target`,
    /// `**/*.log`. A directory that matches is not entered.
    ///
    /// # Errors
    /// [`CassetteError::Glob`].
    pub fn leave_out<'a>(mut self, globs: impl IntoIterator<Item = &'a str>) -> Result<Self, CassetteError> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(Glob::new(glob).map_err(|error| CassetteError::Glob(error.to_string()))?);
        }
        self.files.leave_out = set.build().map_err(|error| CassetteError::Glob(error.to_string()))?;
        Ok(self)
    }

    /// How many bytes the files of one agent run may have together; 16 MiB otherwise.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.files.max_bytes = bytes;
        self
    }

    /// These agents, recorded; or, while replaying, the recorded ones in their place: the given ones are never run. Made
    /// for [`Layers::wrap`](crate::layer::Layers::wrap).
    #[must_use]
    pub fn agents(&self, live: Svc<dyn Subagents>) -> Svc<dyn Subagents> {
        let live = self.tape.is_recording().then_some(live);
        Svc::new(TapedAgents { cassette: self.clone(), live })
    }

    /// This agent, recorded under a name; or, while replaying, the recorded one of that name.
    #[must_use]
    pub fn agent(&self, name: &str, live: Arc<dyn Subagent>) -> Arc<dyn Subagent> {
        taped_agent(self, name, self.tape.is_recording().then_some(live))
    }

    /// The recorded agents, where there are no live ones to wrap: for [`Layers::with`](crate::layer::Layers::with).
    ///
    /// # Panics
    /// While recording, which needs agents to record: [`Cassette::agents`].
    #[must_use]
    pub fn recorded_agents(&self) -> Svc<dyn Subagents> {
        assert!(!self.tape.is_recording(), "{} is being recorded; wrap live agents with `agents`", self.tape.name());
        Svc::new(TapedAgents { cassette: self.clone(), live: None })
    }

    /// These models, recorded; or, while replaying, the recorded ones in their place. A model is known by its provider and
    /// name.
    #[must_use]
    pub fn models(&self, live: Svc<dyn Models>) -> Svc<dyn Models> {
        let live = self.tape.is_recording().then_some(live);
        Svc::new(TapedModels { cassette: self.clone(), live })
    }

    /// This model, recorded under a name; or, while replaying, the recorded one of that name.
    #[must_use]
    pub fn model(&self, name: &str, live: Arc<dyn Model>) -> Arc<dyn Model> {
        taped_model(self, name, self.tape.is_recording().then_some(live))
    }

    /// The recorded models, where there are no live ones to wrap.
    ///
    /// # Panics
    /// While recording, which needs models to record: [`Cassette::models`].
    #[must_use]
    pub fn recorded_models(&self) -> Svc<dyn Models> {
        assert!(!self.tape.is_recording(), "{} is being recorded; wrap live models with `models`", self.tape.name());
        Svc::new(TapedModels { cassette: self.clone(), live: None })
    }

    /// Ends it: a recording takes its place at the path, a replay says what nobody asked for. Calls after it panic.
    ///
    /// # Errors
    /// [`CassetteError::Unused`] while replaying, [`CassetteError::Write`] while recording.
    pub fn finish(&self) -> Result<(), CassetteError> {
        self.tape.finish()
    }
}
