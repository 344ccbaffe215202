//! Running `setup` in a workspace, and keeping what it made.

use super::layout::blocking;
use super::reads::Unread;
use super::room_cache::RoomCache;
use super::slot::Slot;
use super::workspace::HostWorkspace;
use crate::domain::CheckCommand;
use crate::services::{Command, CommandEnd, Workspace, WorkspaceError};
use crate::toolchain;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Installing the dependencies of a large project on a slow line.
const LIMIT: Duration = Duration::from_mins(30);
/// Where git keeps which submodules there are.
const SUBMODULES: &str = ".gitmodules";
/// Of what a failed `setup` printed, so much of the end is told.
const TOLD: usize = 4000;
/// The exit status of a `setup` that went on although something was not as it should be.
const WARNS: i32 = 2;
/// Of the warnings so much is told; all of them stand in what it prints when it is called by hand.
const WARNING_TOLD: usize = 300;

impl HostWorkspace {
    /// Runs `setup` unless what it made is there and is right for the files; what it left untracked is kept, what it changed of the
    /// tree is put back. What it made before is removed first, so that nothing of another state of the files stays. Gives its
    /// warnings.
    pub(super) async fn set_up(
        &self,
        slot: &mut Slot,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, WorkspaceError> {
        let params = &self.parts.shared.params;
        let Some(setup) = &params.workspace.setup else { return Ok(Vec::new()) };
        let mut inputs = slot.recorder.listing_of(&patterns(setup, &self.parts.begun.repository.prefix)).await?;
        if memchr::memmem::find(&inputs, SUBMODULES.as_bytes()).is_some() {
            // At which commit each of them is.
            let all = slot.recorder.listing().await?;
            let are = all.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000"));
            inputs.extend(are.flatten());
        }
        if slot.is_set_up(&inputs, &self.parts.tree).await? {
            return Ok(Vec::new());
        }
        slot.known.set_up = None;
        slot.with_kept(super::kept::Kept::forget_setup).await?;
        slot.with_cache(RoomCache::begin_setup).await?;
        let (files, left_out) = (slot.recorder.files.clone(), slot.kept_roots());
        let unread = blocking(move || Ok(Unread::forget(&files, &left_out))).await?;
        let mut command = Command::new(["sh"], self.dir());
        command.program = setup.clone();
        command.env = self.env();
        command.env_deny = params.environment.deny.clone();
        command.timeout = LIMIT;
        command.cancel = cancel.clone();
        let failed = |how: String, output: String| WorkspaceError::Setup { command: setup.to_string(), how, output };
        slot.forget_seen();
        slot.use_cache();
        let begun = &self.parts.begun;
        let watch = begun.home.watch(self.parts.whose(&slot.known.loaded)).await?;
        let ran = params.runner.run(command).await;
        let changed = begun.home.end(watch).await?;
        {
            let mut by_set_up = self.by_set_up.lock().unwrap_or_else(PoisonError::into_inner);
            by_set_up.by_agent.extend(changed.offences());
            by_set_up.noticed.extend(changed.notices());
        }
        let output = match ran {
            Ok(output) => output,
            Err(error) => return Err(failed("it did not start".into(), error.to_string())),
        };
        let reads = blocking(move || Ok(unread.map(Unread::reads))).await?;
        let warns = output.end == CommandEnd::Exited(WARNS);
        if slot.known.loaded == self.parts.tree {
            slot.known.base_warns = warns;
        }
        // `make` has no other status for what fails: of work, it is a warning only where the base has the same.
        let may_warn = warns && slot.known.base_warns;
        if !output.success() && !may_warn {
            return Err(failed(how(output.end), end_of(&output.combined.text(), TOLD).to_owned()));
        }
        // It may have mounted something, or left a pipe that git would wait for.
        if let Err(error) = slot.recorder.inspect().await {
            return Err(failed("what it left cannot be used".to_owned(), error.to_string()));
        }
        slot.recorder.refresh().await?;
        let rewritten = slot.recorder.modified().await?;
        slot.recorder.checkout(&slot.known.loaded).await?;
        slot.capture(params.workspace.min_free_bytes).await?;
        slot.note_set_up(inputs, reads).await?;
        let loaded = slot.known.loaded.clone();
        let head = self.parts.head_of(&loaded).await?;
        slot.leave(&self.parts.target_at(&loaded, &head)).await?;
        let warning = || {
            let text = output.combined.text();
            let last = end_of(text.trim_end(), WARNING_TOLD).lines().last().unwrap_or_default().trim().to_owned();
            format!("setup `{setup}` ended with warnings (exit status {WARNS}): {last}")
        };
        let put_back = || {
            let files: Vec<_> = rewritten.iter().take(3).map(|path| path.to_string_lossy()).collect();
            format!(
                "setup `{setup}` changes tracked files ({}), which are put back before checks run",
                files.join(", ")
            )
        };
        let said = [warns.then(warning), (!rewritten.is_empty()).then(put_back)];
        Ok(said.into_iter().flatten().collect())
    }
}

/// The tracked files that `setup` depends on, whether it has read them or only looked whether they are there: lockfiles and manifests
/// wherever they are, and what its command names.
fn patterns(setup: &CheckCommand, prefix: &Path) -> Vec<String> {
    let known = toolchain::lockfiles().iter().chain(toolchain::manifests()).map(|name| format!(":(glob)**/{name}"));
    let text = setup.to_string();
    let words = text.split(|c: char| c.is_whitespace() || "\"'();&|<>".contains(c));
    let named = words.map(|word| word.trim_start_matches("./")).filter(|word| {
        // An option is no file, and neither is what leads out of the project.
        !word.is_empty() && !word.starts_with(['-', '/', ':']) && !word.contains("..")
    });
    let submodules = format!(":(top){SUBMODULES}");
    known.chain([submodules]).chain(named.map(|word| format!(":(literal){}", prefix.join(word).display()))).collect()
}

/// The last bytes of a text, from the beginning of a character.
fn end_of(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    &text[(from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

fn how(end: CommandEnd) -> String {
    match end {
        CommandEnd::Exited(status) => format!("exit status {status}"),
        CommandEnd::Signaled(signal) => format!("ended by signal {signal}"),
        CommandEnd::TimedOut => format!("timed out after {} min", LIMIT.as_secs() / 60),
        CommandEnd::Cancelled | CommandEnd::Idle | CommandEnd::Stopped | CommandEnd::TookMemory { .. } => {
            "cancelled".to_owned()
        }
    }
}
