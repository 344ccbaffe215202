//! Lists the files of `config/toolchains/`, so that another tool chain is another file and nothing else.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dir = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("config/toolchains");
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            names.extend(path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    let mut list = String::from("[\n");
    for name in names {
        let _ = writeln!(list, "    ({name:?}, include_str!({:?})),", dir.join(&name).display());
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("files.rs"), list)
}
