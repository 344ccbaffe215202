//! Domain values as text for people.

mod run;

pub use run::run;
