//! What kind of thing a change touches.

use super::name::Name;
use super::{files, places, words};
use crate::toolchain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of thing a change touches, the lightest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Nothing of the below: ordinary code, or nothing at all.
    #[default]
    None,
    /// Prose.
    Docs,
    /// Tests and what they read.
    Test,
    /// What people see.
    Ui,
    /// How the project is built, and what it depends on.
    Build,
    /// Where and how it runs: containers, clusters, pipelines.
    Infra,
    /// What is stored, and its shape: migrations, schemas, models.
    Data,
    /// Who may do what: logins, sessions, permissions, secrets.
    Auth,
}

impl Surface {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Docs => "docs",
            Self::Test => "test",
            Self::Ui => "ui",
            Self::Build => "build",
            Self::Infra => "infra",
            Self::Data => "data",
            Self::Auth => "auth",
        }
    }

    /// How much it weighs, 0 to 1. The numbers are those of the Mosaic stack's risk floor, which this one follows.
    #[must_use]
    pub fn weight(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Docs => 0.1,
            Self::Test => 0.2,
            Self::Ui => 0.4,
            Self::Build => 0.6,
            Self::Infra => 0.85,
            Self::Data => 0.9,
            Self::Auth => 1.0,
        }
    }

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

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
