//! The project a command works on, and what every command prints alike.

use super::output::{errln, outln};
use crate::config::{Effective, Inputs, Override};
use crate::files::Place;
use crate::layer::{Layers, Svc};
use crate::runtime::{Records, Trust};
use crate::services::{Settings, Tasks};
use crate::{config, runtime};
use serde::Serialize;
use std::io;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Loads the settings of the project at `dir`, and prints its warnings on stderr.
pub(super) fn load(dir: &Path, flags: Vec<Override>) -> anyhow::Result<Effective> {
    Ok(warned(config::load(&inputs(dir, flags))?))
}

/// The built-in settings under the environment, for what works without a project.
pub(super) fn without_file(dir: &Path) -> anyhow::Result<Effective> {
    Ok(warned(config::without_file(&inputs(dir, Vec::new()))?))
}

fn inputs(dir: &Path, flags: Vec<Override>) -> Inputs {
    let env = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect();
    Inputs { dir: dir.to_owned(), env, flags }
}

fn warned(effective: Effective) -> Effective {
    for warning in &effective.warnings {
        errln!("warning: {warning}");
    }
    effective
}

/// What the program that this is puts in the place of some services.
static BROUGHT: OnceLock<Box<dyn Fn(Layers) -> Layers + Send + Sync>> = OnceLock::new();

/// Says once, before anything is read, what this program puts in the place of some services.
pub(super) fn bring(change: impl Fn(Layers) -> Layers + Send + Sync + 'static) {
    let _ = BROUGHT.set(Box::new(change));
}

/// The live layers, with what the program brings.
pub(super) fn live() -> Layers {
    BROUGHT.get().map_or_else(runtime::live, |change| change(runtime::live()))
}

/// What runs left and what is remembered, for the project at `dir`.
pub(super) async fn records(dir: &Path) -> anyhow::Result<Records> {
    Ok(Records::of(&layers(dir, Vec::new())?.0).await?)
}

/// The live layers on the project at `dir`.
pub(super) fn layers(dir: &Path, flags: Vec<Override>) -> anyhow::Result<(Layers, Svc<dyn Settings>)> {
    let settings = runtime::settings_before_trust(&load(dir, flags)?)?;
    Ok((live().with(settings.clone()), settings))
}

/// The live layers on the project at `dir`, which begin no task that nobody trusts, and what is trusted there.
pub(super) fn guarded(dir: &Path, flags: Vec<Override>) -> anyhow::Result<(Layers, Svc<dyn Settings>, Trust)> {
    guard(&load(dir, flags)?)
}

/// The same once more with other flags, for a project whose warnings are printed already.
pub(super) fn guarded_again(dir: &Path, flags: Vec<Override>) -> anyhow::Result<(Layers, Svc<dyn Settings>, Trust)> {
    guard(&config::load(&inputs(dir, flags))?)
}

fn guard(effective: &Effective) -> anyhow::Result<(Layers, Svc<dyn Settings>, Trust)> {
    let settings = runtime::settings_before_trust(effective)?;
    let trust = Trust::of(effective)?;
    let tasks = trust.guard(Arc::new(runtime::task_file(&*settings, runtime::system_clock())));
    let layers = live().with(settings.clone()).with(Svc::<dyn Tasks>::from(tasks));
    Ok((layers, settings, trust))
}

/// Writes a file as a whole, durably; a link in its place is replaced itself, a device or a pipe is not. The directory that a
/// person named must be there.
pub(super) fn write(file: &Place, text: &str) -> io::Result<()> {
    if is_special(file.path()) {
        return Err(no_file());
    }
    let mut new = file.begin()?;
    new.write_all(text.as_bytes())?;
    new.finish()
}

/// Whether it is there, and is neither a file nor a directory.
pub(super) fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// What is said then.
pub(super) fn no_file() -> io::Error {
    io::Error::other("it is a device or a pipe; `--out -` writes to stdout, which can be led there")
}

/// Prints one JSON document on stdout.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    outln!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
