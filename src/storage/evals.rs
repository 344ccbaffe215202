//! Kept results of evaluations: one file a suite and call, and `latest.json`.

use super::locked_file::sync_dir;
use std::fs;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// The newest call's whole result.
const LATEST: &str = "latest.json";

/// The results in `.reflection/evals/`.
#[derive(Debug, Clone)]
pub struct EvalFiles {
    dir: PathBuf,
}

impl EvalFiles {
    /// Those under a project's state directory; nothing is made before something is kept.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self { dir: state_dir.join("evals") }
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
    pub fn kept(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let json = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".json") && name != LATEST && !name.starts_with('.')
        };
        files.retain(json);
        files.sort();
        Ok(files)
    }

    fn write(&self, name: &str, json: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.dir)?;
        let path = self.dir.join(name);
        replace(&path, json)?;
        Ok(path)
    }
}

/// Writes a whole file so that a kill at any moment leaves the old one or the new one.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    sync_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_and_listed_by_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = EvalFiles::new(dir.path());
        assert_eq!(files.kept().unwrap(), Vec::<PathBuf>::new());
        files.keep("20260102-000000", "stuck", "{}").unwrap();
        files.keep("20260101-000000", "stuck", "{}").unwrap();
        for text in ["{}", "{\"v\":1}"] {
            let latest = files.keep_latest(text).unwrap();
            assert_eq!(fs::read_to_string(latest).unwrap(), text);
        }
        let names: Vec<String> =
            files.kept().unwrap().iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["20260101-000000-stuck.json", "20260102-000000-stuck.json"]);
        assert_eq!(fs::read_dir(dir.path().join("evals")).unwrap().count(), 3, "nothing is left over");
    }
}
