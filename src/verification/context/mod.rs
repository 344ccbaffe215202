//! What a task and its project ask for.

mod requirements;
mod signals;
mod task_type;

pub use requirements::Requirements;
pub use requirements::requirements;
pub use signals::RepositorySignals;
pub use task_type::task_type;
