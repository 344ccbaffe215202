//! Where a project's settings are: in which directory, and in which file of it.

use super::error::ConfigError;
use super::reference::keys;
use crate::domain::{COMMON_SETTINGS as COMMON, OWN_SETTINGS as OWN};
use crate::files::read_named;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What other tools, Nx first of all, write into their `project.json`.
const OF_OTHERS: [&str; 3] = ["$schema", "targets", "projectType"];
/// Keys of ours that anybody may write.
const ANYBODYS: [&str; 2] = ["name", "$schema"];

/// Whose a `project.json` is.
enum Whose {
    /// It has a key of ours, or cannot be read as an object: whoever made a slip in it hears of that.
    Ours,
    /// It says what another tool reads, and nothing of ours.
    Theirs,
    /// It says nothing that tells.
    Anybodys,
}

/// The file with the project's own settings in a directory; none where there is none, or where `project.json` is another tool's.
///
/// # Errors
/// [`ConfigError::Value`] where both names stand there and are ours.
pub fn settings_file(dir: &Path) -> Result<Option<&'static str>, ConfigError> {
    let common = dir.join(COMMON);
    let whose = match read_named(&common) {
        Ok(text) => Some(whose(&text)),
        Err(_) if common.symlink_metadata().is_ok() => Some(Whose::Ours),
        Err(_) => None,
    };
    match (dir.join(OWN).symlink_metadata().is_ok(), whose) {
        (true, Some(Whose::Ours)) => Err(ConfigError::Value {
            origin: dir.display().to_string(),
            message: format!(
                "{OWN} and {COMMON} both hold settings of reflexion, and one must decide: keep them in {OWN}, and remove the other"
            ),
        }),
        (true, _) => Ok(Some(OWN)),
        (false, Some(Whose::Ours | Whose::Anybodys)) => Ok(Some(COMMON)),
        (false, Some(Whose::Theirs) | None) => Ok(None),
    }
}

/// The name for settings that are to be written in a directory: `reflexion.json` where `project.json` is another tool's.
#[must_use]
pub fn name_to_write(dir: &Path) -> &'static str {
    match read_named(&dir.join(COMMON)).map(|text| whose(&text)) {
        Ok(Whose::Theirs) => OWN,
        Ok(Whose::Ours | Whose::Anybodys) | Err(_) => COMMON,
    }
}

/// A file by its path from the working directory where it is below that, else by its whole path: settings may have been found further up,
/// or elsewhere.
pub(super) fn seen_from_here(file: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.as_deref().and_then(|here| file.strip_prefix(here).ok());
    below.unwrap_or(file).display().to_string()
}

fn whose(text: &str) -> Whose {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Ok(Value::Object(map)) = serde_json::from_str(text) else { return Whose::Ours };
    let known = keys();
    let is_own = |key: &String| {
        let of_ours = known.iter().any(|known| known.path.split('.').next() == Some(key.as_str()));
        of_ours && !ANYBODYS.contains(&key.as_str())
    };
    let names_us = map.get("$schema").and_then(Value::as_str).is_some_and(|schema| schema.contains("reflexion"));
    if names_us || map.keys().any(is_own) {
        Whose::Ours
    } else if OF_OTHERS.iter().any(|key| map.contains_key(*key)) {
        Whose::Theirs
    } else {
        Whose::Anybodys
    }
}

/// The directory of the project that `dir` lies in: the nearest with settings, from there up to the top of its checkout, as
/// git looks for it, and never one of another owner. `dir` itself, as it is given, where there is none.
#[must_use]
pub fn around(dir: &Path) -> PathBuf {
    let Ok(start) = std::path::absolute(dir).and_then(|dir| dir.canonicalize()) else { return dir.to_owned() };
    let has_settings = |dir: &Path| !matches!(settings_file(dir), Ok(None));
    if has_settings(&start) {
        return dir.to_owned();
    }
    let is_top = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
    let Some(top) = start.ancestors().find(is_top) else { return dir.to_owned() };
    let me = rustix::process::geteuid().as_raw();
    let is_mine = |dir: &&Path| dir.metadata().is_ok_and(|data| data.uid() == me);
    let mut above = start.ancestors().skip(1).take_while(|above| above.starts_with(top)).take_while(is_mine);
    above.find(|above| has_settings(above)).map_or_else(|| dir.to_owned(), Path::to_owned)
}
