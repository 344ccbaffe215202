//! Wrong graphs do not compile, and the errors name the layer and the service.
//!
//! After a wanted change: `BLESS=1 cargo test --test compile_fail`, then read the diff.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use ui_test::Config;
use ui_test::custom_flags::edition::Edition;
use ui_test::spanned::Spanned;

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

#[test]
fn wrong_layers_do_not_compile() {
    let library = library();
    let mut config = Config::rustc("tests/compile_fail");
    config.comment_defaults.base().set_custom("edition", Edition("2024".to_owned()));
    config.program.args.push(format!("--extern=reflexion={}", library.display()).into());
    config.program.args.push(format!("-Ldependency={}", library.parent().unwrap().display()).into());
    config.program.args.push("--emit=metadata".into());
    // The whole output is compared; notes in the cases would say the same twice.
    config.comment_defaults.base().require_annotations = Spanned::dummy(false).into();
    config.out_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    // Where something stands in our source, and how far the margin is, changes with every edit of it.
    config.stderr_filter(r"((?:crates/\w+/)?src/[\w/]+\.rs):\d+:\d+", "$1");
    config.stderr_filter(r"(?m)^ *\d+ \|", "LL |");
    config.stderr_filter(r"(?m)^ +(-->|\||=|:::)", "   $1");
    config.stderr_filter(r"(?m)^ +(= note: the full name for the type|= note: consider using `--verbose`).*\n", "");
    config.bless_command = Some("BLESS=1 cargo test --test compile_fail".to_owned());
    if std::env::var_os("BLESS").is_some() {
        config.output_conflict_handling = ui_test::bless_output_files;
    }
    ui_test::run_tests(config).unwrap();
}
