//! Creating the files of a project, never changing one.

use anyhow::Context;
use std::path::Path;

use super::UsageError;
use crate::files::Place;

const MEMORY: &str = "\
# What was learned here

`reflections.jsonl` holds one reflection a line: what went wrong in an attempt, what to do differently, and for which
task. reflexion writes one after every failed attempt and puts those that matter into the prompt of the next.

It is made to be committed, so that what was learned on one machine helps on the next one. Look at it with
`reflexion memory list`, add to it with `reflexion memory add`, and remove old ones with `reflexion memory prune`.
Nothing an agent does can change it: workspaces do not contain this directory.
";

/// Creates what is missing and returns its paths from the project, in the order written. `project.json` comes last, so
/// that a call that failed in between can be repeated.
///
/// # Errors
/// The system's, with the path; a usage error if somebody else wrote a `project.json` meanwhile.
pub(super) fn write(dir: &Path, name: &str, project: &str) -> anyhow::Result<Vec<String>> {
    let mut written = Vec::new();
    for (path, text) in [(".reflection/.gitignore", "*\n"), ("memory/README.md", MEMORY), ("tasks.jsonl", "")] {
        if create(dir, path, text)? {
            written.push(path.to_owned());
        }
    }
    if !create(dir, name, project)? {
        return Err(UsageError(format!("{} was written by somebody else meanwhile", dir.join(name).display())).into());
    }
    written.push(name.to_owned());
    Ok(written)
}

/// Writes a whole file at once; `false` if there is something of that name.
fn create(dir: &Path, path: &str, text: &str) -> anyhow::Result<bool> {
    let place = Place::new(dir, path);
    place.create(text.as_bytes()).with_context(|| format!("failed to write {}", place.path().display()))
}
