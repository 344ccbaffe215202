//! Real git, real files; nothing is mocked.

mod apply;
mod as_written;
mod keeping;
mod mending;
mod project;
mod publishing;
mod recording;
mod rooms;
mod slots;
mod user_files;
