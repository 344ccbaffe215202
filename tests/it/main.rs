//! The integration tests, one binary: what is seen from outside the crate.

mod architecture;
mod docs;
mod flow;
