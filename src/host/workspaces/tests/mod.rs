//! Real git, real files; nothing is mocked.

mod apply;
mod guarding;
mod keeping;
mod project;
mod recording;
mod slots;
mod user_files;
