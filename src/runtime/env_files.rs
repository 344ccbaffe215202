//! The variables in files that are carried: a `.env` that git ignores holds keys, and what checks print may hold them again.

use crate::domain::policy;
use crate::files::open_named;
use globset::GlobBuilder;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// So many files and directories are looked at for globs at most, the nearest first.
const MOST_ENTRIES: usize = 20_000;

/// No such file is larger.
const MOST_BYTES: u64 = 1 << 20;

/// The variables of the files that `carry` names and that are called like one with variables: `.env`, `.env.local`, `prod.env`.
pub(super) fn variables(values: &policy::Values) -> Vec<(String, String)> {
    let globs = values.workspace.carry.iter().map(|glob| glob.trim_start_matches("./"));
    let files = globs.filter(|glob| is_env(glob)).flat_map(|glob| matching(&values.project.root, glob));
    // What cannot be read now cannot be carried either.
    let texts = files.filter_map(|file| {
        let mut text = String::new();
        open_named(&file).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok().map(|_| text)
    });
    texts.flat_map(|text| text.lines().filter_map(variable).collect::<Vec<_>>()).collect()
}

fn is_env(glob: &str) -> bool {
    let name = glob.rsplit('/').next().unwrap_or(glob);
    name.starts_with(".env") || name.trim_end_matches('*').ends_with(".env")
}

/// The files that a glob names.
fn matching(root: &Path, glob: &str) -> Vec<PathBuf> {
    if !glob.contains(['*', '?', '[', '{']) {
        return vec![root.join(glob)];
    }
    let Ok(matcher) = GlobBuilder::new(glob).literal_separator(true).build().map(|glob| glob.compile_matcher()) else {
        return Vec::new();
    };
    let deepest = if glob.contains("**") { usize::MAX } else { glob.split('/').count() };
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut level = vec![root.to_owned()];
    for _ in 0..deepest {
        let mut below = Vec::new();
        for entry in level.iter().flat_map(std::fs::read_dir).flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return found;
            }
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir {
                below.push(path);
            } else if path.strip_prefix(root).is_ok_and(|path| matcher.is_match(path)) {
                found.push(path);
            }
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    found
}

/// `NAME=value`, `export NAME="value"`, `NAME=value # why`.
fn variable(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let is_name =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
    let quoted = ['"', '\'', '`'].into_iter().find_map(|quote| value.strip_prefix(quote)?.split(quote).next());
    let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or(value).trim_end());
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_read_as_shells_and_libraries_read_it() {
        let check = |line: &str, wanted: Option<(&str, &str)>| {
            assert_eq!(variable(line), wanted.map(|(name, value)| (name.to_owned(), value.to_owned())), "{line}");
        };
        check("A_KEY=one two", Some(("A_KEY", "one two")));
        check("  export A_KEY = \"a#b\" # why\r", Some(("A_KEY", "a#b")));
        check("A_KEY='it is' ", Some(("A_KEY", "it is")));
        check("A_KEY=value # why", Some(("A_KEY", "value")));
        check("# A_KEY=value", None);
        check("nothing", None);
    }

    #[test]
    fn globs_are_followed_as_deep_as_they_say() {
        let dir = tempfile::tempdir().unwrap();
        for file in [".env", ".env.local", "app/.env", "app/deep/prod.env", "app/env.py"] {
            std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let found = |glob: &str| {
            let names = matching(dir.path(), glob).into_iter();
            let mut names: Vec<String> =
                names.map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string()).collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(found(".env*"), ".env .env.local");
        assert_eq!(found("**/.env"), ".env app/.env");
        assert_eq!(found("app/*/*.env"), "app/deep/prod.env");
        assert!(
            is_env(".env*") && is_env("app/*.env") && is_env("**/.env") && !is_env("data/models") && !is_env("env")
        );
    }
}
