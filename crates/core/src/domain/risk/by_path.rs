//! What a file is, by its path.

use super::name::Name;
use super::surface::Surface;
use super::{files, places, words};
use crate::toolchain;

impl Surface {
    /// What a file is, by its path; `/` and `\` separate segments, and nothing is looked up. A path that ends with one of them
    /// is a repository of its own, such as a submodule that moved: other people's code, and so at least [`Surface::Build`].
    ///
    /// Prose is prose whatever its name (`docs/login.md`), but for what tests compare with (`tests/golden/page.md`); of anything else the heaviest match counts, so that a test of
    /// a login is about logins.
    ///
    /// ```
    /// # use reflexion_core::domain::Surface;
    /// assert_eq!(Surface::of_path("src/auth/mod.rs"), Surface::Auth);
    /// assert_eq!(Surface::of_path("src/lexer/tokenizer.rs"), Surface::None);
    /// assert_eq!(Surface::of_path("tests/golden/page.txt"), Surface::Test);
    /// ```
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        let name = Name::of(path);
        let least = if path.ends_with(['/', '\\']) { Self::Build } else { Self::None };
        if files::is_prose(&name) && !belongs_to_tests(path) {
            return least.max(Self::Docs);
        }
        let least = if is_test_by_name(path) { least.max(Self::Test) } else { least };
        files::surface(&name).max(words::surface(&name)).max(places::surface(&name)).max(least)
    }
}

fn is_test_by_name(path: &str) -> bool {
    let path = path.replace('\\', "/");
    toolchain::is_test(&path) || toolchain::is_test_data(&path)
}

/// Whether a file is a test, or something that tests use: by its name, its place, or a word of either. Prose is neither, unless it lies where
/// tests find what they compare with.
///
/// ```
/// # use reflexion_core::domain::belongs_to_tests;
/// assert!(belongs_to_tests("src/setupTests.ts") && belongs_to_tests("t/01-basic.t"));
/// assert!(belongs_to_tests("tests/golden/page.md"));
/// assert!(!belongs_to_tests("src/latest.rs") && !belongs_to_tests("tests/README.md"));
/// ```
#[must_use]
pub fn belongs_to_tests(path: &str) -> bool {
    let name = Name::of(path);
    if files::is_prose(&name) {
        return toolchain::is_test_data(&path.replace('\\', "/")) && !files::is_about_its_directory(&name);
    }
    is_test_by_name(path) || words::speak_of_tests(&name)
}
