//! Domain values as text for people.

mod events;
pub mod night;
mod quoted;
mod risk;
mod run;
mod transcript;
mod verdict;

pub use events::line;
pub use events::plural;
pub use quoted::quoted;
pub use risk::RiskShown;
pub use run::run;
pub use run::run_by_part;
pub use transcript::Detail;
pub use transcript::step;
pub use transcript::steps;
pub use transcript::transcript;
pub use verdict::compaction;
pub use verdict::completion;
pub use verdict::stuck;
