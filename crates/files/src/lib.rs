//! Effects on files below one directory, see [`files`]. Knows no product word.
#![forbid(unsafe_code)]

pub mod files;
