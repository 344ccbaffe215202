//! What the tools of each language are like, see [`toolchain`]; the data are `config/toolchains/*.toml`.
#![forbid(unsafe_code)]

pub mod toolchain;
