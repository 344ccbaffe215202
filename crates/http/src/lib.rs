//! The HTTP client of everything that speaks HTTP, see [`http`]. Knows no service.
#![forbid(unsafe_code)]

pub mod http;
