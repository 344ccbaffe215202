//! The variables in files that are carried, and in a project's own `.env` files: they hold keys, and what checks and agents print may hold them again.

use super::assignments::{pieces_behind, variables_in, with_expanded};
use crate::domain::policy;
use crate::files::open_named;
use crate::redaction::Redactor;
use crate::toolchain::holds_packages;
use globset::{GlobBuilder, GlobMatcher};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// So many files and directories are looked at, the nearest first.
const MOST_ENTRIES: usize = 20_000;
/// A file with variables is no larger.
const MOST_BYTES: u64 = 1 << 20;
/// More are no settings.
const MOST_VARIABLES: usize = 1000;
/// Of all together so much is read: the others are data.
const MOST_BYTES_OF_ALL: u64 = 8 << 20;

/// Files of variables in a project and below it, whether they are carried or not: an agent may read them where it works, or without a
/// sandbox.
const OF_PROJECT: &str = "**/.env*";

/// Parts of the names of those that are copied and filled in: as people use them, they are in git and hold no secret.
const TEMPLATES: [&str; 6] = ["example", "sample", "template", "dist", "default", "defaults"];

/// The variables of the files that `carry` names, whatever those are called, and of the project's `.env` files, as far as their own names are like a
/// secret's.
pub(super) fn variables(values: &policy::Values) -> Vec<(String, String)> {
    let root = &values.project.root;
    let carried = values.workspace.carry.iter().flat_map(|glob| matching(root, glob, |_| true));
    // What was installed is others', and what is hidden is a tool's: there are too many directories of either.
    let is_own = |dir: &str| !dir.starts_with('.') && !holds_packages(dir);
    let is_filled_in = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        !name.split(['.', '-', '_']).any(|part| TEMPLATES.contains(&part))
    };
    let files: BTreeSet<PathBuf> =
        carried.chain(matching(root, OF_PROJECT, is_own).into_iter().filter(is_filled_in)).collect();
    secrets_in(files.into_iter())
}

/// The variables with names of secrets in these files.
fn secrets_in(files: impl Iterator<Item = PathBuf>) -> Vec<(String, String)> {
    let mut files: Vec<(u64, PathBuf)> =
        files.filter_map(|file| Some((file.symlink_metadata().ok()?.len(), file))).collect();
    // Data is large, and of code there are many files.
    let is_other = |file: &Path| !file.file_name().is_some_and(|name| name.to_string_lossy().contains(".env"));
    files.sort_by_key(|(bytes, file)| (is_other(file), *bytes));
    let (mut found, mut read) = (Vec::new(), 0);
    for (bytes, file) in files {
        if bytes > MOST_BYTES {
            continue;
        }
        read += bytes;
        if read > MOST_BYTES_OF_ALL {
            break;
        }
        let mut text = Vec::new();
        // What cannot be read now cannot be carried either.
        if open_named(&file).is_ok_and(|opened| opened.take(MOST_BYTES).read_to_end(&mut text).is_ok()) {
            let text = decoded(&text);
            let variables = variables_in(&text, !is_other(&file));
            let variables = with_expanded(variables, |name| std::env::var(name).ok());
            found.extend(variables.iter().filter_map(password_in));
            found.extend(variables.into_iter().filter(|(name, value)| Redactor::is_secret_setting(name, value)));
            if !is_other(&file) {
                let pieces = pieces_behind(&text, Redactor::is_secret_name).into_iter();
                found.extend(pieces.filter(|(name, piece)| Redactor::is_secret_setting(name, piece)));
            }
        }
    }
    found.truncate(MOST_VARIABLES);
    found
}

/// The password in a URL, which may be printed without the rest of it; a password that is encoded there is found decoded, too.
fn password_in((name, value): &(String, String)) -> Option<(String, String)> {
    let (_, rest) = value.split_once("://")?;
    let (login, _) = rest.split('/').next()?.rsplit_once('@')?;
    login.split_once(':').map(|(_, password)| (format!("{name}_PASSWORD"), password.to_owned()))
}

/// The files that a glob names, and those in directories that it names.
///
/// `is_entered` says whether anything is looked for in a directory of that name.
fn matching(root: &Path, glob: &str, is_entered: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let glob = glob.trim_start_matches("./").trim_end_matches('/');
    let mut seen = 0;
    if !glob.contains(['*', '?', '[', '{']) {
        return below(vec![root.join(glob)], &mut seen);
    }
    let Ok(matcher) = GlobBuilder::new(glob).literal_separator(true).build().map(|glob| glob.compile_matcher()) else {
        return Vec::new();
    };
    let deepest = if glob.contains("**") { usize::MAX } else { glob.split('/').count() };
    below(named(root, &matcher, deepest, is_entered, &mut seen), &mut seen)
}

/// What is called so.
fn named(
    root: &Path,
    matcher: &GlobMatcher,
    deepest: usize,
    is_entered: impl Fn(&str) -> bool,
    seen: &mut usize,
) -> Vec<PathBuf> {
    let (mut found, mut level) = (Vec::new(), vec![root.to_owned()]);
    for _ in 0..deepest {
        let mut next = Vec::new();
        for (path, is_dir) in level.iter().flat_map(|dir| entries(dir, seen)) {
            if path.strip_prefix(root).is_ok_and(|path| matcher.is_match(path)) {
                found.push(path);
            } else if is_dir && path.file_name().is_some_and(|name| is_entered(&name.to_string_lossy())) {
                next.push(path);
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    found
}

/// These files, and those in these directories.
fn below(places: Vec<PathBuf>, seen: &mut usize) -> Vec<PathBuf> {
    let is_dir = |path: &PathBuf| path.symlink_metadata().is_ok_and(|data| data.is_dir());
    let (mut level, mut files): (Vec<_>, Vec<_>) = places.into_iter().partition(is_dir);
    while !level.is_empty() {
        let found = level.iter().flat_map(|dir| entries(dir, seen)).collect::<Vec<_>>();
        let (dirs, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, is_dir)| *is_dir);
        files.extend(others.into_iter().map(|(path, _)| path));
        level = dirs.into_iter().map(|(path, _)| path).collect();
    }
    files
}

/// What is in a directory, and whether it is one itself; nothing when enough was looked at.
fn entries(dir: &Path, seen: &mut usize) -> Vec<(PathBuf, bool)> {
    let left = MOST_ENTRIES.saturating_sub(*seen);
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(left);
    let found: Vec<_> =
        entries.map(|entry| (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()))).collect();
    *seen += found.len();
    found
}

/// The text of a file, also as editors on Windows write it: two bytes a character, with a mark in front or with a zero in one of the first two.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let units = |number: fn([u8; 2]) -> u16| bytes.as_chunks().0.iter().map(|pair| number(*pair)).collect::<Vec<_>>();
    match bytes.first_chunk().map(|[first, second]| (*first, *second)) {
        Some((0xff, 0xfe) | (1.., 0)) => String::from_utf16_lossy(&units(u16::from_le_bytes)).into(),
        Some((0xfe, 0xff) | (0, 1..)) => String::from_utf16_lossy(&units(u16::from_be_bytes)).into(),
        _ => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_with_the_names_of_secrets_are_found_among_many_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("mods")).unwrap();
        for number in 0..1200 {
            std::fs::write(dir.path().join(format!("mods/{number}.js")), "a = 1\nb = 2\ntoken: \"identifier\"\n")
                .unwrap();
        }
        let text = "# of the shop\nSHOP_API_KEY=one-two-three\nNAME=shop\nMAIL_API_KEY: seven-eight\n#OLD_API_KEY=nine-ten\n\
                    SHOP_URL=postgres://shop:eleven%2F@db:5432/shop?a=b@c\n";
        std::fs::write(dir.path().join(".env"), text).unwrap();
        let wide: Vec<u8> = "\u{feff}WIDE_API_KEY=four-five-six\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(dir.path().join("mods/wide.env"), &wide).unwrap();
        std::fs::write(dir.path().join("mods/unmarked.env"), &wide[2..]).unwrap();
        let mut files = below(vec![dir.path().join("mods"), dir.path().join(".env")], &mut 0);
        assert_eq!(files.len(), 1203);
        let found = secrets_in(files.drain(..));
        let wide = ("WIDE_API_KEY", "four-five-six");
        let wanted = [
            ("MAIL_API_KEY", "seven-eight"),
            ("OLD_API_KEY", "nine-ten"),
            ("SHOP_API_KEY", "one-two-three"),
            ("SHOP_URL_PASSWORD", "eleven%2F"),
            wide,
        ];
        let mut found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        found.sort_unstable();
        // What stands behind a name counts once more by its pieces.
        found.dedup();
        assert_eq!(found, wanted);
    }

    #[test]
    fn globs_are_followed_as_deep_as_they_say_and_directories_to_their_ends() {
        let dir = tempfile::tempdir().unwrap();
        for file in [".env", ".env.local", "app/.env", "app/deep/prod.env", "app/env.py", "closed/.env"] {
            std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let found = |glob: &str| {
            let names = matching(dir.path(), glob, |name| name != "closed").into_iter();
            let mut names: Vec<String> =
                names.map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string()).collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(found(".env*"), ".env .env.local");
        assert_eq!(found("{.env,.env.local}"), ".env .env.local");
        assert_eq!(found("**/.env"), ".env app/.env");
        assert_eq!(found("app/*/*.env"), "app/deep/prod.env");
        assert_eq!(found("./app/"), "app/.env app/deep/prod.env app/env.py");
        assert_eq!(found("ap*"), "app/.env app/deep/prod.env app/env.py");
    }
}
