//! What notifiers need to know of the machine.

#[cfg(feature = "notify")]
use crate::domain::policy::Kept;
use crate::services::{CommandRunner, NotifyError};
use std::path::PathBuf;
use std::sync::Arc;

/// Looks something up by its name.
type Lookup<T> = Arc<dyn Fn(&str) -> Option<T> + Send + Sync>;

/// What notifiers need to know of the machine.
#[derive(Clone)]
pub struct Surroundings {
    /// Runs programs.
    pub runner: Arc<dyn CommandRunner>,
    /// The project's directory, where commands run.
    pub root: PathBuf,
    /// The value of an environment variable.
    pub variable: Lookup<String>,
    /// The file that would be started for a program's name.
    pub program: Lookup<PathBuf>,
}

impl Surroundings {
    /// Where a program is.
    pub(super) fn find(&self, program: &str) -> Result<String, NotifyError> {
        let found = (self.program)(program).map(|path| path.display().to_string());
        found.ok_or_else(|| NotifyError::Unavailable(format!("the program `{program}` was not found")))
    }

    /// A variable that has a value.
    #[cfg(feature = "notify")]
    pub(super) fn value(&self, name: &str) -> Result<String, NotifyError> {
        let value = (self.variable)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        value.ok_or_else(|| NotifyError::Unset(name.to_owned()))
    }

    /// A value that may be in the environment.
    #[cfg(feature = "notify")]
    pub(super) fn kept(&self, kept: &Kept) -> Result<String, NotifyError> {
        match kept {
            Kept::Here(value) => Ok(value.clone()),
            Kept::Variable(name) => self.value(name),
        }
    }
}
