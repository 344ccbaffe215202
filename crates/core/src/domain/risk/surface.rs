//! What kind of thing a change touches.

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
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
