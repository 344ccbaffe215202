//! The files that people change through the program.

use crate::services::Clock;
use crate::services::Settings;
pub use crate::storage::FileTasks as TaskFile;
pub use crate::storage::Imported;
pub use crate::storage::check_state;
pub use crate::storage::read_import;
use std::sync::Arc;

/// The project's task file with the runtime's overlay, for a person's edits.
#[must_use]
pub fn task_file(settings: &dyn Settings, clock: Arc<dyn Clock>) -> TaskFile {
    let project = settings.project();
    TaskFile::open(&project.tasks, project.state_dir().join("tasks.jsonl"), clock)
}
