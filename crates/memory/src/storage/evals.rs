//! Kept results of evaluations: one file a suite and call, and `latest.json`.

use super::state;
use crate::files::Place;
use std::io;
use std::path::{Path, PathBuf};

/// The newest call's whole result.
const LATEST: &str = "latest.json";

/// The results in `.reflection/evals/`.
#[derive(Debug, Clone)]
pub struct EvalFiles {
    dir: Place,
}

impl EvalFiles {
    /// Those under a project's state directory; nothing is made before something is kept.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self { dir: state::state(state_dir).join("evals") }
    }

    /// Keeps one suite's result as `<time>-<suite>.json`; `time` sorts as text.
    ///
    /// # Errors
    /// If it cannot be written; then no half of it is there.
    pub fn keep(&self, time: &str, suite: &str, json: &str) -> io::Result<PathBuf> {
        self.write(&format!("{time}-{suite}.json"), json)
    }

    /// Puts the whole result of a call in the place of the last one's, at once.
    ///
    /// # Errors
    /// If it cannot be written; then the old one is still there.
    pub fn keep_latest(&self, json: &str) -> io::Result<PathBuf> {
        self.write(LATEST, json)
    }

    /// The kept results, oldest first; `latest.json` is none of them.
    ///
    /// # Errors
    /// If the directory cannot be read; one that is not there is empty.
    pub fn kept(&self) -> io::Result<Vec<Place>> {
        let mut names: Vec<_> = self.dir.list()?.into_iter().map(|(name, _)| name).collect();
        names.retain(|name| {
            let name = name.to_string_lossy();
            name.ends_with(".json") && name != LATEST && !name.starts_with('.')
        });
        Ok(names.into_iter().map(|name| self.dir.join(name)).collect())
    }

    fn write(&self, name: &str, json: &str) -> io::Result<PathBuf> {
        let place = self.dir.join(name);
        place.replace(json.as_bytes())?;
        Ok(place.path().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn results_are_kept_and_listed_by_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = EvalFiles::new(dir.path());
        assert_eq!(files.kept().unwrap(), []);
        files.keep("20260102-000000", "stuck", "{}").unwrap();
        files.keep("20260101-000000", "stuck", "{}").unwrap();
        for text in ["{}", "{\"v\":1}"] {
            let latest = files.keep_latest(text).unwrap();
            assert_eq!(fs::read_to_string(latest).unwrap(), text);
        }
        let names: Vec<String> = files
            .kept()
            .unwrap()
            .iter()
            .map(|p| p.path().file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["20260101-000000-stuck.json", "20260102-000000-stuck.json"]);
        assert_eq!(fs::read_dir(dir.path().join("evals")).unwrap().count(), 3, "nothing is left over");
    }
}
