//! Writing the files of an answer: all of them, or none.

use crate::domain::FileGlobs;
use crate::files::{Kind, Place, Refused, Replacement};
use crate::prompt::AnsweredFile;
use std::io;
use std::io::Write;
use std::path::{Component, Path};

/// Why a file of an answer may not be written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathError {
    #[error("the answer writes `{0}`, which is outside of the project")]
    Outside(String),
    #[error("the answer writes `{0}`, which is behind a link")]
    Link(String),
    #[error("the answer writes `{0}`, which is not an agent's to write")]
    Reserved(String),
    #[error("the answer writes `{0}`, which is protected")]
    Protected(String),
    #[error("the answer writes `{0}`, of which it saw only the beginning")]
    Cut(String),
    #[error("the answer writes `{0}`, which is there already and which it did not see")]
    Unseen(String),
    #[error("the answer writes `{0}` both as a file and as a directory")]
    Parent(String),
    #[error("the answer writes `{0}`, which cannot be a file here")]
    NoFile(String),
}

/// Why an answer is not applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    /// It asks for something that it may not; nothing was touched.
    #[error(transparent)]
    Refused(#[from] PathError),
    /// The file system refused.
    #[error("failed to write the answer's files: {0}")]
    Write(#[from] io::Error),
}

/// A file of an answer and where it goes.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    /// Relative to the project, without `.`.
    pub path: String,
    place: Place,
    text: &'a str,
}

impl Planned<'_> {
    /// Whether it would replace something.
    pub fn is_there(&self) -> bool {
        self.place.look().is_ok_and(|look| look.is_some())
    }
}

/// Checks every file of an answer; nothing is written yet.
///
/// # Errors
/// [`PathError`] of the first that may not be written.
pub(super) fn plan<'a>(
    dir: &Path,
    files: &'a [AnsweredFile],
    protected: &FileGlobs,
) -> Result<Vec<Planned<'a>>, PathError> {
    let planned: Vec<_> = files.iter().map(|file| plan_one(dir, file, protected)).collect::<Result<_, _>>()?;
    let is_parent = |file: &Planned<'_>| planned.iter().any(|other| is_below(&other.path, &file.path));
    match planned.iter().find(|file| is_parent(file)) {
        Some(parent) => Err(PathError::Parent(parent.path.clone())),
        None => Ok(planned),
    }
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'))
}

fn plan_one<'a>(dir: &Path, file: &'a AnsweredFile, protected: &FileGlobs) -> Result<Planned<'a>, PathError> {
    let said = || file.path.clone();
    // An absolute path into the workspace is what a model copies from an error message.
    let relative = Path::new(&file.path).strip_prefix(dir).unwrap_or(Path::new(&file.path));
    let mut parts = Vec::new();
    for component in relative.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str().ok_or_else(|| PathError::NoFile(said()))?),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(PathError::Outside(said()));
            }
        }
    }
    let Some(first) = parts.first() else { return Err(PathError::NoFile(said())) };
    let git = parts.iter().any(|part| part.eq_ignore_ascii_case(".git"));
    if git || ["memory", ".reflection"].iter().any(|own| first.eq_ignore_ascii_case(own)) {
        return Err(PathError::Reserved(said()));
    }
    let path = parts.join("/");
    if protected.has(&path) {
        return Err(PathError::Protected(said()));
    }
    let place = Place::new(dir, &path);
    match place.look() {
        Ok(None) => {}
        Ok(Some(look)) if look.kind == Kind::File => {}
        Ok(Some(look)) if look.kind == Kind::Link => return Err(PathError::Link(said())),
        Err(error) if Refused::of(&error).is_some_and(Refused::is_link) => return Err(PathError::Link(said())),
        _ => return Err(PathError::NoFile(said())),
    }
    if file.path.ends_with('/') {
        return Err(PathError::NoFile(said()));
    }
    Ok(Planned { path, place, text: &file.text })
}

/// Writes planned files: every one beside its place first, then each put there at once.
///
/// A file that is there keeps its permissions and its line ends.
pub(super) fn write(planned: &[Planned<'_>]) -> io::Result<()> {
    let ready: Vec<Replacement> = planned.iter().map(prepare).collect::<io::Result<_>>()?;
    ready.into_iter().try_for_each(Replacement::finish_soon)
}

fn prepare(file: &Planned<'_>) -> io::Result<Replacement> {
    let mut new = file.place.begin()?;
    match file.place.read() {
        Ok(old) => {
            let text = if has_crlf(&old) { file.text.replace('\n', "\r\n") } else { file.text.to_owned() };
            new.write_all(text.as_bytes())?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => new.write_all(file.text.as_bytes())?,
        Err(error) => return Err(error),
    }
    Ok(new)
}

/// Whether a file's first line ends as on Windows.
fn has_crlf(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_some_and(|end| end > 0 && text[end - 1] == b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn answered(path: &str, text: &str) -> AnsweredFile {
        AnsweredFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/a.py"), "x = 0\n").unwrap();
        dir
    }

    #[test]
    fn what_leads_elsewhere_is_refused_by_name() {
        let (dir, outside) = (project(), project());
        symlink(outside.path(), dir.path().join("linked")).unwrap();
        symlink(outside.path().join("src/a.py"), dir.path().join("a.py")).unwrap();
        symlink(dir.path().join("nowhere"), dir.path().join("dangling.py")).unwrap();
        let protected = FileGlobs::new(&["tests".to_owned(), "*.lock".to_owned()]).unwrap();
        let check = |path: &str, expected: fn(String) -> PathError| {
            let files = [answered(path, "")];
            assert_eq!(plan(dir.path(), &files, &protected).unwrap_err(), expected(path.to_owned()), "{path}");
        };
        check("/etc/passwd", PathError::Outside);
        check("../a.py", PathError::Outside);
        check("src/../../a.py", PathError::Outside);
        check("src/../a.py", PathError::Outside);
        check("linked/src/a.py", PathError::Link);
        check("linked/new.py", PathError::Link);
        check("a.py", PathError::Link);
        check("dangling.py", PathError::Link);
        check(".git/hooks/pre-commit", PathError::Reserved);
        check("src/.GIT/config", PathError::Reserved);
        check(".git", PathError::Reserved);
        check("memory/reflections.jsonl", PathError::Reserved);
        check("./.reflection/x", PathError::Reserved);
        check("tests/test_a.py", PathError::Protected);
        check("./tests/deep/test_a.py", PathError::Protected);
        check("src/poetry.lock", PathError::Protected);
        check("src", PathError::NoFile);
        check("src/", PathError::NoFile);
        check("src/a.py/b.py", PathError::NoFile);
        check("src/new/", PathError::NoFile);
        check("", PathError::NoFile);
        check(".", PathError::NoFile);
        check("src/a\0.py", PathError::NoFile);
    }

    #[test]
    fn a_file_cannot_be_the_directory_of_another() {
        let check = |paths: [&str; 2], expected: Option<&str>| {
            let files = paths.map(|path| answered(path, ""));
            let refused = plan(project().path(), &files, &FileGlobs::default()).err();
            assert_eq!(refused, expected.map(|path| PathError::Parent(path.to_owned())), "{paths:?}");
        };
        check(["a", "a/b"], Some("a"));
        check(["new/a/b.py", "./new"], Some("new"));
        check(["a", "ab/c"], None);
    }

    #[test]
    fn one_file_that_may_not_be_written_keeps_all_from_being_written() {
        let dir = project();
        let files = [answered("src/a.py", "x = 1\n"), answered("../b.py", "")];
        assert!(plan(dir.path(), &files, &FileGlobs::default()).is_err());
        assert_eq!(fs::read_to_string(dir.path().join("src/a.py")).unwrap(), "x = 0\n");
    }

    #[test]
    fn files_are_replaced_and_made() {
        let dir = project();
        let script = dir.path().join("run.sh");
        fs::write(&script, "a\r\nb\r\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let absolute = dir.path().join("src/a.py");
        let files = [
            answered(absolute.to_str().unwrap(), "x = 1\n"),
            answered("./new/deep/b.py", "y = 2\n"),
            answered("run.sh", "a\nc\n"),
        ];
        let planned = plan(dir.path(), &files, &FileGlobs::default()).unwrap();
        assert_eq!(
            planned.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
            ["src/a.py", "new/deep/b.py", "run.sh"]
        );
        write(&planned).unwrap();
        assert_eq!(fs::read_to_string(absolute).unwrap(), "x = 1\n");
        assert_eq!(fs::read_to_string(dir.path().join("new/deep/b.py")).unwrap(), "y = 2\n");
        assert_eq!(fs::read(&script).unwrap(), b"a\r\nc\r\n", "line ends are kept");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&script), 0o755);
        assert_eq!(mode(&dir.path().join("new/deep/b.py")) & 0o444, 0o444 & !umask());
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "a temporary file is left: {left:?}");
    }

    /// The user's mask, read off a file made as editors make them.
    fn umask() -> u32 {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x"), "").unwrap();
        0o666 & !fs::metadata(dir.path().join("x")).unwrap().permissions().mode()
    }
}
