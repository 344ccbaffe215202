//! The HTTP client of everything that speaks HTTP: models and notices. No step of its own, and known to nobody outside.

mod client;

pub(crate) use client::client;
