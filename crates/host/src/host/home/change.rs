//! What of the files that steer tools is another one than before.

use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One of these files that is another one than before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HomeChange {
    /// Where it is.
    pub(super) path: PathBuf,
    pub(super) how: How,
    /// The tree that it is in.
    pub(super) tree: Option<PathBuf>,
    /// Which is one of programs.
    pub(super) of_programs: bool,
}

impl HomeChange {
    /// Whether it is one of many programs, which package managers replace while somebody works elsewhere.
    #[must_use]
    pub fn is_of_programs(&self) -> bool {
        self.of_programs
    }

    /// Whether it is of a kind that tools run without being asked for it: a program, and what every Python reads.
    pub(super) fn runs_by_itself(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let is_program = || self.path.metadata().is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0);
        name.ends_with(".pth")
            || name.starts_with("sitecustomize.")
            || name.starts_with("usercustomize.")
            || is_program()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    Added,
    Changed,
    Removed,
    /// Something in a tree is another one, and nothing says what.
    Unnamed,
}

impl How {
    /// Behind a name.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Added => "was added",
            Self::Changed => "was changed",
            Self::Removed => "was removed",
            Self::Unnamed => "has other files than before",
        }
    }
}

/// The first of what belongs together, and how many more there are.
pub(super) fn words(changes: &[HomeChange], name: &dyn Fn(&Path) -> String) -> Vec<String> {
    let mut said: Vec<String> = together(changes)
        .into_iter()
        .map(|(tree, changes)| {
            let first = format!("{} {}", name(&changes[0].path), changes[0].how.words());
            match (tree, changes.len() - 1) {
                (Some(tree), more @ 1..) => {
                    let changes = if more == 1 { "change" } else { "changes" };
                    format!("{first} ({more} more {changes} in {})", name(tree))
                }
                _ => first,
            }
        })
        .collect();
    said.sort();
    said
}

/// The changes of a tree; each other one by itself.
pub(super) fn together(changes: &[HomeChange]) -> Vec<(Option<&PathBuf>, Vec<&HomeChange>)> {
    let mut groups: Vec<(Option<&PathBuf>, Vec<&HomeChange>)> = Vec::new();
    for change in changes {
        let tree = change.tree.as_ref();
        match groups.iter_mut().find(|(of, _)| tree.is_some() && *of == tree) {
            Some((_, group)) => group.push(change),
            None => groups.push((tree, vec![change])),
        }
    }
    groups
}
