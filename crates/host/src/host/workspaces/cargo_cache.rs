//! Of a target directory of cargo, what was built of sources that are not in the repository.
//!
//! Those of dependencies do not change: cargo checks them against `Cargo.lock` when it unpacks them. What was built of the repository's own
//! files cargo judges by the times of the files that were read, and no time tells of a new one that is found first (`foo/mod.rs`
//! beside `foo.rs`), nor of one that only a tool looks for (`clippy.toml`).

use crate::files::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where cargo notes, in each profile's directory, of what state of its sources a package was built.
const FINGERPRINT: &str = ".fingerprint";
/// Of each profile, what cargo tells by the package and a digest: `build/serde-0a2f959270a104ed`.
const BY_PACKAGE: [&str; 2] = [FINGERPRINT, "build"];
/// What it tells by a file's stem and the same digest.
const BY_FILE: &str = "deps";
/// What is about all packages.
const OF_ALL: [&str; 3] = [".rustc_info.json", "CACHEDIR.TAG", ".cargo-lock"];
/// Where cargo puts the sources of dependencies, in its home.
const SOURCES: [[&str; 2]; 2] = [["registry", "src"], ["git", "checkouts"]];

/// The paths below a target directory that were built of dependencies alone.
///
/// `live` are the build caches, `paths` what is in them, and `files` is where the repository's files are.
pub(super) fn of_dependencies<'a>(
    live: &Root,
    target: &Path,
    paths: impl Iterator<Item = &'a PathBuf> + Clone,
    files: &Path,
) -> BTreeSet<&'a Path> {
    let paths = paths.map(PathBuf::as_path).filter(|path| path.starts_with(target));
    let packages: BTreeMap<&str, &str> = paths.clone().filter_map(unit).map(|(name, digest)| (digest, name)).collect();
    let (mut elsewhere, mut here) = (BTreeSet::new(), BTreeSet::new());
    for path in paths.clone().filter(|path| path.extension() == Some(OsStr::new("d"))) {
        let Some(package) = digest(path).and_then(|digest| packages.get(digest)) else { continue };
        let list = live.read(path).unwrap_or_default();
        let all_elsewhere = sources(&list).all(|source| is_elsewhere(&source, live.path(), files));
        if all_elsewhere {
            elsewhere.insert(*package)
        } else {
            here.insert(*package)
        };
    }
    let is_dependency = |package: &str| elsewhere.contains(package) && !here.contains(package);
    let is_of_dependency = |path: &&Path| {
        let part = path.ancestors().find_map(unit).map(|(package, _)| package);
        let file = || digest(path).filter(|_| is_in(path, BY_FILE)).and_then(|digest| packages.get(digest).copied());
        let of_all = || path.file_name().is_some_and(|name| OF_ALL.iter().any(|known| name == *known));
        part.or_else(file).map_or_else(of_all, is_dependency)
    };
    paths.filter(is_of_dependency).collect()
}

/// The package and the digest that a directory is named after.
fn unit(path: &Path) -> Option<(&str, &str)> {
    let name = path.file_name()?.to_str()?;
    BY_PACKAGE.iter().any(|dir| is_in(path, dir)).then(|| name.rsplit_once('-')).flatten()
}

fn is_in(path: &Path, dir: &str) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == dir)
}

/// The digest in a file's name: `libserde-0a2f959270a104ed.rlib`.
fn digest(path: &Path) -> Option<&str> {
    Some(path.file_name()?.to_str()?.split('.').next()?.rsplit_once('-')?.1)
}

/// What the compiler says that it has read: each source has a rule of its own.
fn sources(list: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(list).into_owned();
    let rules: Vec<String> =
        text.lines().filter_map(|line| Some(line.strip_suffix(':')?.replace("\\ ", " "))).collect();
    rules.into_iter()
}

fn is_elsewhere(source: &str, live: &Path, files: &Path) -> bool {
    let path = Path::new(source);
    let parts: Vec<&OsStr> = path.iter().collect();
    let of_cargo =
        || parts.windows(2).any(|pair| SOURCES.iter().any(|known| pair[0] == known[0] && pair[1] == known[1]));
    path.is_absolute() && !path.starts_with(files) && (path.starts_with(live) || of_cargo())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_built_of_the_repository_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let (live, files) = (Root::open(dir.path()).unwrap(), Path::new("/rooms/room-1"));
        let debug = dir.path().join("target/debug");
        let digests = ["0a2f959270a104e0", "0a2f959270a104e1", "0a2f959270a104e2"];
        let built = [
            ("serde", "serde", "/home/u/.cargo/registry/src/index-1/serde-1.0/src/lib.rs"),
            ("my-app", "it", "tests/it.rs"),
            ("vendored", "vendored", "/rooms/room-1/registry/src/vendored/lib.rs"),
        ];
        let mut all = vec![PathBuf::from("target"), "target/debug".into(), "target/debug/app".into()];
        for ((package, stem, source), digest) in built.into_iter().zip(digests) {
            let unit = format!("{package}-{digest}");
            let list = format!("target/debug/deps/lib{stem}.rlib: {source}\n\n{source}:\n\n# env-dep:X=1\n");
            for (path, text) in [
                (format!(".fingerprint/{unit}/lib-{stem}"), ""),
                (format!("build/{unit}/out/made.rs"), ""),
                (format!("deps/{stem}-{digest}.d"), &*list),
                (format!("deps/lib{stem}-{digest}.rlib"), ""),
            ] {
                let path = debug.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        fs::write(dir.path().join("target/.rustc_info.json"), "{}").unwrap();
        all.extend(
            walkdir::WalkDir::new(dir.path())
                .min_depth(1)
                .into_iter()
                .map(|entry| entry.unwrap().path().strip_prefix(dir.path()).unwrap().to_owned()),
        );
        let kept = of_dependencies(&live, Path::new("target"), all.iter(), files);
        let kept: Vec<&str> = kept.into_iter().filter_map(|path| path.to_str()).collect();
        let serde = |path: &str| format!("target/debug/{path}").replace('#', digests[0]);
        assert_eq!(
            kept,
            [
                "target/.rustc_info.json",
                &serde(".fingerprint/serde-#"),
                &serde(".fingerprint/serde-#/lib-serde"),
                &serde("build/serde-#"),
                &serde("build/serde-#/out"),
                &serde("build/serde-#/out/made.rs"),
                &serde("deps/libserde-#.rlib"),
                &serde("deps/serde-#.d"),
            ]
        );
    }
}
