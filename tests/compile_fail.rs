//! Wrong graphs do not compile, and the errors name the layer and the service.
//!
//! After a wanted change: `INSTA_UPDATE=always cargo test --test compile_fail`, then read the diff.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the variables begin in which cargo tells a test of itself.
const OF_ITSELF: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "CARGO_TARGET_TMPDIR"];

/// The library that this test was built with: the cases are compiled against it, and nothing is built a second time.
fn library() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--no-run", "--test", "compile_fail", "--message-format", "json", "--offline"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells this test of itself would make it build everything again; so would settings that it does not get (`CARGO_INCREMENTAL`).
    for (name, _) in std::env::vars_os() {
        if OF_ITSELF.iter().any(|of| name.to_string_lossy().starts_with(of)) {
            cargo.env_remove(name);
        }
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo.output().unwrap();
    let messages = String::from_utf8(built.stdout).unwrap();
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = |message: &Value| message["target"]["name"] == "reflexion" && message["target"]["kind"][0] == "lib";
    let rlib = artifacts.filter(ours).find_map(|message| Some(PathBuf::from(message["filenames"][0].as_str()?)));
    rlib.unwrap_or_else(|| panic!("no library was built: {}", String::from_utf8_lossy(&built.stderr)))
}

/// What rustc says of a case.
fn said(case: &Path, library: &Path) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["--edition=2024", "--emit=metadata", "--color=never", "--out-dir", env!("CARGO_TARGET_TMPDIR")]);
    command.arg(format!("--extern=reflexion={}", library.display()));
    command.arg(format!("-Ldependency={}", library.parent().unwrap().display()));
    let ended = command.arg(case).output().unwrap();
    assert!(!ended.status.success(), "{} compiles", case.display());
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn wrong_layers_do_not_compile() {
    let library = library();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("compile_fail");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    // Where something stands in our source, and how far the margin is, changes with every edit of it.
    settings.add_filter(r"(?:/[^ \n]*/)?((?:crates/\w+/)?src/[\w/]+\.rs):\d+:\d+", "$1");
    settings.add_filter(r"(?m)^ *\d+ +\|", "LL |");
    settings.add_filter(r"(?m)^ +(-->|\||=|:::)", "   $1");
    settings.add_filter(r"(?m)^ +(= note: the full name for the type|= note: consider using `--verbose`).*\n", "");
    let cases = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail")).unwrap();
    let mut cases: Vec<PathBuf> = cases.map(|case| case.unwrap().path()).collect();
    cases.retain(|case| case.extension().is_some_and(|extension| extension == "rs"));
    assert!(!cases.is_empty());
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap();
        let path = Path::new("tests/compile_fail").join(case.file_name().unwrap());
        settings.bind(|| insta::assert_snapshot!(name, said(&path, &library)));
    }
}
