//! Real git, real files; nothing is mocked.

mod apply;
mod crashed;
mod guarding;
mod keeping;
mod mending;
mod project;
mod recording;
mod slots;
mod user_files;
