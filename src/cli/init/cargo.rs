//! Cargo: a crate or a workspace.

use super::found::Found;
use super::package::Package;
use crate::domain::{CheckCommand, CheckSpec};

/// A cold build of a large workspace may take longer than the usual ten minutes.
const COLD_BUILD_MS: u64 = 1_800_000;

/// What a `Cargo.toml` asks for.
pub(super) fn find(package: &Package) -> Option<Found> {
    let text = package.text("Cargo.toml")?;
    let mut found = Found::new("cargo");
    let manifest: toml::Table = match toml::from_str(&text) {
        Ok(manifest) => manifest,
        Err(error) => {
            found.because(format!("Cargo.toml cannot be read, so there is no check: {}", error.message()));
            return Some(found);
        }
    };
    let (run, because) = if manifest.contains_key("workspace") {
        (
            "cargo test --workspace --no-fail-fast",
            "Cargo.toml is a workspace: `cargo test --workspace` tests all its members.",
        )
    } else {
        ("cargo test --no-fail-fast", "Cargo.toml is a crate: `cargo test`.")
    };
    let run = CheckCommand::Shell(run.to_owned());
    found.checks.push(CheckSpec { name: "cargo test".to_owned(), run, timeout_ms: Some(COLD_BUILD_MS), results: None });
    found.because(because);
    found.because("--no-fail-fast: without it, cargo stops at the first test program that fails, and what fails behind it is not known.");
    found.env.insert("CARGO_TARGET_DIR".to_owned(), "{cache}/target".to_owned());
    found.because(
        "CARGO_TARGET_DIR: one build cache per worker under .reflection/cache/, so that a new workspace does not \
         compile every dependency again; nothing of your own target/ is used or changed.",
    );
    if !package.has("Cargo.lock") && !package.ignores("Cargo.lock") {
        found.setup.push("cargo generate-lockfile".to_owned());
        found.because(
            "setup: there is no Cargo.lock, so cargo would write one as soon as an agent runs it, and it would count as \
             the agent's change; what setup writes does not.",
        );
    }
    Some(found)
}
