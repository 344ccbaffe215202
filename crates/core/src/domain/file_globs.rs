//! Globs of the project's files: those that no attempt may change (`protect`), and those that are tests (`tests`).

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Path, PathBuf};

/// Globs of files, relative to the project.
///
/// ```
/// # use reflexion_core::domain::FileGlobs;
/// let protected = FileGlobs::new(&["./tests/".to_owned(), "/*.lock".to_owned()])?;
/// assert!(protected.has("tests/deep/test_a.py") && protected.has("poetry.lock"));
/// assert!(!protected.has("src/poetry.lock"));
/// # Ok::<(), reflexion_core::domain::GlobError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FileGlobs(Vec<One>);

/// One glob of the user's, and what it stands for.
#[derive(Debug, Clone)]
struct One {
    glob: String,
    files: GlobSet,
    /// The directory that the glob names before its first wildcard.
    below: PathBuf,
}

/// A glob that cannot be read, or that can match no file, whatever the project has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the glob `{glob}` {because}")]
pub struct GlobError {
    /// As it was written.
    pub glob: String,
    /// What is wrong with it and what to write instead, after "the glob".
    pub because: String,
}

impl FileGlobs {
    /// Each glob also has everything below what it matches, so that `ci` has the directory. A leading `./` says
    /// nothing; a leading `/` means the project's directory, and then `*` does not reach into directories.
    ///
    /// # Errors
    /// [`GlobError`] for the first glob that cannot be read, or that names nothing in the project: an empty one, and one with `..`.
    pub fn new(globs: &[String]) -> Result<Self, GlobError> {
        let one = |glob: &String| {
            let wrong = |because: String| GlobError { glob: glob.clone(), because };
            if let Some(because) = names_nothing(glob) {
                return Err(wrong(because.to_owned()));
            }
            let files = files(glob).map_err(|error| wrong(format!("cannot be read: {}", error.kind())))?;
            let plain = plain(glob).0.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
            Ok(One { glob: glob.clone(), files, below: plain.collect() })
        };
        globs.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a changed path, given from the project's directory, is one of these: it matches, or stands for a directory with
    /// such files, as a submodule does.
    #[must_use]
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        self.0.iter().any(|one| one.files.is_match(path) || one.below.starts_with(path))
    }

    /// The directories, or files, that the globs name before their first wildcards: what they match is there or below.
    pub fn below(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|one| one.below.as_path())
    }

    /// The globs, as they were written, that match none of these files.
    #[must_use]
    pub fn without_file<P: AsRef<Path>>(&self, files: &[P]) -> Vec<&str> {
        let none = |one: &&One| !files.iter().any(|file| one.files.is_match(file.as_ref()));
        self.0.iter().filter(none).map(|one| one.glob.as_str()).collect()
    }
}

/// A glob without what says only where it begins, and whether it begins at the project's directory.
fn plain(glob: &str) -> (&str, bool) {
    let mut rest = glob;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    let plain = rest.trim_start_matches('/').trim_end_matches('/');
    (plain, plain.len() < rest.trim_end_matches('/').len())
}

/// Why no file of any project can match, if that is so.
fn names_nothing(glob: &str) -> Option<&'static str> {
    let (plain, _) = plain(glob);
    let mut parts = plain.split('/');
    if glob.trim().is_empty() {
        Some("is empty: write which files of the project it means, such as `tests/**`")
    } else if parts.clone().any(|part| part == "..") {
        Some(
            "has a `..`, so it leaves the project, where nothing can match: globs start at the project's directory, as `tests/**` does",
        )
    } else if parts.next() == Some("~") {
        Some(
            "begins in a home directory, where nothing can match: globs start at the project's directory, as `tests/**` does",
        )
    } else if plain.is_empty() || parts.any(|part| part == ".") || plain == "." || plain.starts_with("./") {
        Some("names no file: `**` means every file of the project, `tests` a directory with all below it")
    } else {
        None
    }
}

fn files(glob: &str) -> Result<GlobSet, globset::Error> {
    let (plain, from_root) = plain(glob);
    let mut set = GlobSetBuilder::new();
    for glob in [plain.to_owned(), format!("{plain}/**")] {
        set.add(GlobBuilder::new(&glob).literal_separator(from_root).build()?);
    }
    set.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_directory_protects_what_is_in_it() {
        for glob in [
            "tests",
            "tests/",
            "./tests",
            "./tests/",
            "/tests",
            "/tests/",
            "tests/**",
            "./tests/**",
            "/tests/**",
            ".//tests",
        ] {
            let protected = FileGlobs::new(&[glob.to_owned()]).unwrap();
            assert!(protected.has("tests/a.py") && protected.has("tests/deep/b.py"), "{glob}");
            assert!(!protected.has("src/tests.py") && !protected.has("src/tests/a.py"), "{glob}");
        }
    }

    #[test]
    fn a_leading_slash_means_the_projects_directory() {
        let has = |glob: &str, file: &str| FileGlobs::new(&[glob.to_owned()]).unwrap().has(file);
        assert!(has("*.lock", "a/b.lock") && has("*.lock", "b.lock"));
        assert!(!has("/*.lock", "a/b.lock") && has("/*.lock", "b.lock"));
        assert!(has("/**/*.lock", "a/b.lock"));
    }

    #[test]
    fn a_submodule_is_protected_by_what_is_protected_in_it() {
        let has = |glob: &str, file: &str| FileGlobs::new(&[glob.to_owned()]).unwrap().has(file);
        assert!(has("libs/one/tests/**", "libs/one") && has("./libs/one/*.py", "libs/one"));
        assert!(!has("libs/one/tests/**", "libs/two") && !has("libs/one/**", "libs/on") && !has("*.py", "libs"));
    }

    #[test]
    fn globs_without_a_file_and_globs_that_cannot_be_read_are_named() {
        let protected = FileGlobs::new(&["./tests".to_owned(), "spec/**".to_owned()]).unwrap();
        assert_eq!(protected.without_file(&["tests/a.py"]), ["spec/**"]);
        assert_eq!(FileGlobs::new(&["a[".to_owned()]).unwrap_err().glob, "a[");
    }

    #[test]
    fn globs_that_can_match_nothing_say_why() {
        for (glob, why) in [
            ("", "is empty"),
            (" ", "is empty"),
            ("/", "names no file"),
            (".", "names no file"),
            ("./", "names no file"),
            ("tests/./a.py", "names no file"),
            ("..", "leaves the project"),
            ("../up", "leaves the project"),
            ("/../up", "leaves the project"),
            ("a/../b/**", "leaves the project"),
            ("~/notes", "home directory"),
        ] {
            let error = FileGlobs::new(&[glob.to_owned()]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the glob `{glob}` ")) && error.contains(why), "{error}");
        }
        for glob in ["**", "*", "/abs/**", "...", "a/..b", ".env", "~a"] {
            assert!(FileGlobs::new(&[glob.to_owned()]).is_ok(), "{glob}");
        }
    }
}
