//! Provider layers, see [`layer`]: services are built from services, and what is missing is a compile error. Knows no product word.
#![forbid(unsafe_code)]

pub mod layer;
