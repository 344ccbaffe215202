//! Effects on files below one directory, never through a link.
//!
//! Everything goes through handles of directories: each name of a path is opened by itself, relative to the directory
//! before it, and a link is never followed, wherever in the path it stands. So what another process puts in the place
//! of a directory in the meantime changes nothing outside. Only the root itself may be reached through links: that is
//! where a person said to work.
//!
//! Only regular files are read and written, but for [`open_output`]; a pipe, a socket or a device never makes a caller wait.
//!
//! This module knows nothing of the program around it.

mod handles;
mod held;
mod look;
mod mount;
mod output;
mod place;
mod reads;
mod refused;
mod remove;
mod replacement;
mod root;
mod stream;
mod walk;
mod way;

pub use look::{Kind, Look};
pub use output::{Absent, Output, nobody_reads, open_output};
pub use place::{Input, Place, open_named, open_to_its_end, read_named};
pub use reads::ReadTime;
pub use refused::{Refused, gone};
pub use replacement::Replacement;
pub use root::Root;
pub use walk::{MAX_DEPTH, Walk};
pub use way::open_way;

#[cfg(test)]
mod tests;
