//! Domain values as text for people.

mod events;
mod run;

pub use events::line;
pub use run::run;
