//! The HTTP client of everything that speaks HTTP: models and notices. No step of its own.

mod client;

pub use client::client;
