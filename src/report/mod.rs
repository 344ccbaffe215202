//! Domain values as text for people.

mod events;
mod run;
mod transcript;

pub use events::line;
pub use run::run;
pub use transcript::Detail;
pub use transcript::transcript;
