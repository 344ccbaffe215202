//! What kind of file a path is, as far as its name says.

use crate::toolchain;

/// A kind of file that tells which gate looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A test, or what tests read.
    Test,
    /// How it is built, released and checked.
    Build,
    /// Words for people.
    Docs,
    /// Everything else.
    Code,
}

const BUILD_PLACES: [&str; 5] = [".github", ".gitlab", ".circleci", ".ci", ".buildkite"];
const BUILD_FILES: [&str; 16] = [
    ".gitlab-ci.yml",
    ".travis.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "build.rs",
    "build.xml",
    "cmakelists.txt",
    "containerfile",
    "dockerfile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "meson.build",
    "noxfile.py",
    "tox.ini",
    "tsconfig.json",
];
const DOCS_ENDINGS: [&str; 5] = ["md", "rst", "adoc", "txt", "markdown"];

/// The kind of a file; a test's data are tests, a build's words are its build.
pub(super) fn kind(path: &str) -> FileKind {
    let lower = path.to_lowercase();
    let (places, name) = lower.rsplit_once('/').map_or(("", lower.as_str()), |(places, name)| (places, name));
    let in_one_of = |list: &[&str]| places.split('/').any(|place| list.contains(&place));
    if toolchain::is_test(path) || toolchain::is_test_data(path) {
        FileKind::Test
    } else if BUILD_FILES.contains(&name)
        || toolchain::says_what_is_installed(path)
        || in_one_of(&BUILD_PLACES)
        || name.starts_with("dockerfile.")
        || ends(name, &["lock", "gradle", "cmake", "mk"])
    {
        FileKind::Build
    } else if ends(name, &DOCS_ENDINGS) || in_one_of(&["doc", "docs"]) {
        FileKind::Docs
    } else {
        FileKind::Code
    }
}

/// Files that every change touches: that two changes both touch them says nothing.
pub(super) fn is_bookkeeping(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let is_log = ["changelog", "changes", "history", "news", "releases"].iter().any(|log| {
        let rest = name.strip_prefix(log);
        rest.is_some_and(|rest| rest.is_empty() || DOCS_ENDINGS.contains(&rest.trim_start_matches('.')))
    });
    is_log || ends(name, &["lock"]) || toolchain::is_lockfile(path)
}

fn ends(name: &str, endings: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_file_is() {
        let check = |kind_is: FileKind, paths: &[&str]| {
            for path in paths {
                assert_eq!(kind(path), kind_is, "{path}");
            }
        };
        check(
            FileKind::Test,
            &["tests/a.rs", "src/x_test.go", "test_a.py", "a.spec.ts", "src/FooTest.java", "tests/README.md"],
        );
        check(
            FileKind::Build,
            &["Cargo.toml", ".github/workflows/ci.yml", "docker/Dockerfile.dev", "yarn.lock", "CMakeLists.txt"],
        );
        check(FileKind::Docs, &["README.md", "docs/conf.py", "a/b.rst"]);
        check(FileKind::Code, &["src/latest.rs", "src/contest.py", "src/protest/a.rs", "src/a.rs", "specs.spec"]);
    }

    #[test]
    fn what_every_change_touches_is_known() {
        for path in ["CHANGELOG.md", "a/Cargo.lock", "HISTORY.rst", "package-lock.json", "NEWS"] {
            assert!(is_bookkeeping(path), "{path}");
        }
        for path in ["changes_of_state.rs", "src/history.rs", "Cargo.toml"] {
            assert!(!is_bookkeeping(path), "{path}");
        }
    }
}
