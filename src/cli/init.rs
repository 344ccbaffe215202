//! `reflexion init`: a first `project.json` that says why it says what it says.
//!
//! Looks at the directory and one level of packages below it ([`detect`]), makes a proposal of what was found
//! ([`proposal`]), creates the files that are missing ([`files`]), and tells people or programs about it ([`told`]).
//! It only reads files: no program is started, so a check that was chosen here is tried by `reflexion doctor --checks`
//! and by the first run. An existing `project.json` is never touched.

mod cargo;
mod detect;
mod files;
mod found;
mod known;
mod make;
mod node;
mod package;
mod proposal;
mod python;
mod python_deps;
mod told;

pub(super) use found::quoted;

use super::args::InitArgs;
use super::exit::{Exit, UsageError};
use super::output::{errln, out, outln};
use super::task_checks;
use crate::domain::{COMMON_SETTINGS, OWN_SETTINGS, Task};
use crate::files::Place;
use crate::{config, runtime};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The coding agents that are proposed, the first that is installed; by name only, because nothing else is needed.
const SUGGESTED: [&str; 4] = ["claude", "codex", "opencode", "gemini"];

/// Writes `project.json` and what belongs to it for a directory, or prints what would be written.
///
/// # Errors
/// A usage error if the directory does not exist or has a `project.json` already; anything else if it cannot be read or
/// written.
pub(super) fn init(project: &Path, args: &InitArgs) -> anyhow::Result<Exit> {
    let dir = directory(project)?;
    let name = config::name_to_write(&dir);
    let there = [OWN_SETTINGS, name].into_iter().find(|name| dir.join(name).symlink_metadata().is_ok());
    if let Some(there) = there.filter(|_| !args.dry_run) {
        let shown = dir.join(there);
        return Err(UsageError(format!(
            "{} exists and was left as it is; `reflexion init --dry-run` prints what would be proposed today",
            shown.display()
        ))
        .into());
    }
    let found = detect::detect(&dir).with_context(|| format!("failed to read {}", dir.display()))?;
    let installed = runtime::installed_agents();
    let agent = SUGGESTED.into_iter().find(|name| installed.contains(name));
    let proposal = proposal::proposal(&name_of(&dir), &found, agent);
    let text = format!("{proposal:#}\n");
    let written = if args.dry_run { Vec::new() } else { files::write(&dir, name, &text)? };
    let told =
        told::Told { project, found: &found, proposal: &proposal, written: &written, agent, installed: &installed };
    if args.json {
        outln!("{:#}", told.json());
    } else if args.dry_run {
        out!("{text}");
    }
    if !args.json {
        errln!("{}", told.text().trim_end());
    }
    // Of a task file that was there before: by its words nothing is permitted.
    let asks = tasks_there(&dir).iter().flat_map(task_checks::seems_to_allow).collect::<Vec<_>>();
    asks.iter().for_each(|line| errln!("note: {line}"));
    if let Some(there) = there {
        errln!("note: there is a {there} already; `reflexion init` will not change it");
    }
    if name != COMMON_SETTINGS {
        errln!("note: {COMMON_SETTINGS} here is another tool's, so the settings are in {name}");
    }
    Ok(Exit::Confirmed)
}

/// The tasks that stand in the task file; lines that are none are for whoever works on them to name.
fn tasks_there(dir: &Path) -> Vec<Task> {
    let text = Place::new(dir, "tasks.jsonl").read().unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The project's directory, absolute and without links, so that it has a name even if it was given as `.`.
fn directory(project: &Path) -> anyhow::Result<PathBuf> {
    match project.canonicalize() {
        Ok(dir) if dir.is_dir() => Ok(dir),
        Ok(file) => Err(UsageError(format!("{} is not a directory", file.display())).into()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(UsageError(format!("there is no directory {}; create it first", project.display())).into())
        }
        Err(e) => Err(e).with_context(|| format!("failed to open {}", project.display())),
    }
}

fn name_of(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const REAL: InitArgs = InitArgs { dry_run: false, json: false };

    /// A project with a crate and one more file.
    fn with(path: &str, text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
        std::fs::write(dir.path().join(path), text).unwrap();
        dir
    }

    fn files(dir: &Path) -> BTreeMap<String, String> {
        let files = walkdir::WalkDir::new(dir).into_iter().map(Result::unwrap).filter(|e| e.file_type().is_file());
        files
            .map(|e| {
                (e.path().strip_prefix(dir).unwrap().display().to_string(), std::fs::read_to_string(e.path()).unwrap())
            })
            .collect()
    }

    fn failure(project: &Path) -> (u8, String) {
        let error = init(project, &REAL).unwrap_err();
        (Exit::of(&error).code(), format!("{error:#}"))
    }

    #[test]
    fn writes_the_files_that_are_missing_and_no_others() {
        let dir = with("tasks.jsonl", "{\"id\":\"a\"}\n");
        assert_eq!(init(dir.path(), &REAL).unwrap(), Exit::Confirmed);
        let files = files(dir.path());
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, [".reflection/.gitignore", "Cargo.toml", "memory/README.md", "project.json", "tasks.jsonl"]);
        assert_eq!(files["tasks.jsonl"], "{\"id\":\"a\"}\n");
        assert_eq!(files[".reflection/.gitignore"], "*\n");
        let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&files["project.json"]).unwrap();
        let keys: Vec<&str> = keys.keys().map(String::as_str).collect();
        assert_eq!(keys, ["//", "name", "tasks", "checks", "setup", "carry", "workspace", "agents", "reflexion"]);
    }

    #[test]
    fn never_overwrites_and_changes_nothing_then() {
        let dir = with("project.json", "mine");
        let before = files(dir.path());
        let (code, message) = failure(dir.path());
        assert_eq!(code, 2);
        assert!(message.contains("project.json exists and was left as it is"), "{message}");
        assert_eq!(files(dir.path()), before);
        init(dir.path(), &InitArgs { dry_run: true, json: true }).unwrap();
        assert_eq!(files(dir.path()), before);
    }

    #[test]
    fn a_second_call_is_refused_and_a_repeated_first_one_gives_the_same() {
        let dir = with("x", "");
        init(dir.path(), &REAL).unwrap();
        let first = files(dir.path());
        assert_eq!(failure(dir.path()).0, 2);
        assert_eq!(files(dir.path()), first);
        std::fs::remove_file(dir.path().join("project.json")).unwrap();
        init(dir.path(), &REAL).unwrap();
        assert_eq!(files(dir.path()), first);
    }

    #[test]
    fn a_dry_run_writes_nothing() {
        for json in [false, true] {
            let dir = with("x", "");
            let before = files(dir.path());
            init(dir.path(), &InitArgs { dry_run: true, json }).unwrap();
            assert_eq!(files(dir.path()), before);
        }
    }

    #[test]
    fn a_wrong_directory_is_wrong_usage_and_an_unwritable_one_the_environment() {
        let dir = with("memory", "a file where a directory should be");
        assert_eq!(failure(&dir.path().join("none")).0, 2);
        assert_eq!(failure(&dir.path().join("Cargo.toml")).0, 2);
        let (code, message) = failure(dir.path());
        assert_eq!(code, 4);
        assert!(message.contains("memory/README.md"), "{message}");
        assert!(!dir.path().join("project.json").exists());
    }
}
