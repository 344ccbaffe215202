//! Settings: `project.json` and what may override it, as typed policies.
//!
//! Precedence, lowest first: built-in defaults, `config/reflexion.json`, `project.json`, the environment
//! (`REFLEXION_…`), flags. Every value remembers which of them set it (`reflexion config show`). A missing or invalid
//! file is an error that says where and what, never a silent default.

mod budget;
mod decompose;
mod effective;
mod environment;
mod error;
mod judging;
mod load;
mod model;
mod notify;
mod place;
mod reference;
mod settings;
mod trust;
mod wire;

pub use effective::{Effective, Inputs, Origin, Override};
pub use environment::env_name;
pub use error::ConfigError;
#[cfg(feature = "cli")]
pub(crate) use error::nearest;
pub use load::{defaults, load, without_file};
pub use place::{around, name_to_write, settings_file};
pub use reference::{capture_schema, reference, schema};
