//! Which of the paths that commands name are tests, and what the scripts of `sed`, `find` and others do to them.

use super::kept_tests::{is_assertion, is_test_attribute, opens_test};
use super::place::trimmed;
use crate::toolchain::{is_code, is_test};

/// The paths that code removes by name: `os.remove('tests/test_a.py')`.
pub(super) fn removed_by_name(code: &str) -> impl Iterator<Item = &str> {
    const CALLS: [&str; 10] = [
        "os.remove(",
        "os.unlink(",
        "shutil.rmtree(",
        "unlinkSync(",
        "rmSync(",
        "rmdirSync(",
        "File.delete(",
        "FileUtils.rm_rf(",
        "FileUtils.rm(",
        "unlink(",
    ];
    CALLS.iter().flat_map(move |call| {
        code.match_indices(call).filter_map(move |(at, _)| {
            let rest = code[at + call.len()..].trim_start().trim_start_matches('\\');
            let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
            rest[1..].split(quote).next().map(|path| path.trim_end_matches('\\'))
        })
    })
}

/// Whether a script of `sed` or `perl` takes tests or assertions out: `/def test_a/,/^$/d`, `s/def test_a/def _test_a/`.
pub(super) fn takes_out(script: &str) -> bool {
    let plain = |text: &str| text.replace('\\', "").trim_matches(['^', '$', ' ']).replace("s*", "");
    let is_test = |text: &str| {
        let text = text.trim();
        opens_test(text, false).is_some() || is_test_attribute(text) || is_assertion(text)
    };
    if let Some(rest) = script.strip_prefix('s')
        && let Some(delimiter) = rest.chars().next().filter(char::is_ascii_punctuation)
    {
        let mut sides = rest[1..].split(delimiter).map(plain);
        let (old, new) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
        return is_test(&old) && !is_test(&new);
    }
    let Some(address) = script.strip_prefix('/') else { return false };
    script.trim_end().ends_with('d') && is_test(&plain(address.split('/').next().unwrap_or_default()))
}

/// A place, or an ending, for what is no longer used.
pub(super) fn shelved(to: &str) -> bool {
    const PLACES: [&str; 13] = [
        "attic",
        "old",
        "archive",
        "archived",
        "backup",
        "backups",
        "bak",
        "disabled",
        "deprecated",
        "trash",
        "unused",
        "legacy",
        "orig",
    ];
    trimmed(to).split(['/', '.', '_', '-']).any(|part| PLACES.contains(&part.to_ascii_lowercase().as_str()))
}

/// Whether removing this removes tests: a test file, all in a directory of tests, or - where directories go too - the
/// directory itself.
pub(super) fn is_test_target(path: &str, deep: bool) -> bool {
    const DIRS: [&str; 6] = ["test", "tests", "__tests__", "spec", "specs", "e2e"];
    /// What programs leave there, and what tests only read.
    const NO_TESTS: [&str; 22] = [
        "tmp",
        "temp",
        "output",
        "outputs",
        "out",
        "cache",
        "__pycache__",
        "__snapshots__",
        "snapshots",
        "results",
        "reports",
        "coverage",
        "screenshots",
        "videos",
        "logs",
        "node_modules",
        "artifacts",
        "build",
        "dist",
        "target",
        "downloads",
        "data",
    ];
    let path = trimmed(path);
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    let in_tests = parent.split('/').any(|part| DIRS.contains(&part));
    if last.contains('*') {
        let everything = matches!(last, "*" | "**" | "*.*") || last.starts_with("test_") && last.ends_with('*');
        return everything && (in_tests && parent.rsplit('/').next().is_some_and(|part| DIRS.contains(&part)))
            || is_test(&path.replace('*', "x"));
    }
    let part = in_tests && !last.contains('.') && !NO_TESTS.contains(&last);
    is_test(path) || deep && (DIRS.contains(&last) || part)
}

/// Whether `find` may find tests, by a pattern that says nothing of an ending.
pub(super) fn finds_perhaps(args: &[&str]) -> bool {
    let name = args.iter().position(|arg| matches!(*arg, "-name" | "-iname")).and_then(|at| args.get(at + 1));
    let open = name.is_none_or(|name| name.ends_with('*') || is_code(name));
    let below = args
        .iter()
        .take_while(|arg| !arg.starts_with('-'))
        .any(|path| is_test_target(path, true) || trimmed(path) == ".");
    open && below
}

/// What of the tests `find` finds.
pub(super) fn found(args: &[&str]) -> Option<String> {
    let paths: Vec<&str> = args.iter().take_while(|arg| !arg.starts_with('-')).copied().collect();
    let name = args.iter().position(|arg| matches!(*arg, "-name" | "-iname")).and_then(|at| args.get(at + 1));
    let place = paths.first().copied().unwrap_or(".");
    let negated = args.iter().any(|arg| matches!(*arg, "!" | "-not" | "-prune"));
    let hit = match name {
        Some(name) => is_test_target(&format!("{}/{name}", trimmed(place)), true),
        None => {
            paths.iter().any(|path| is_test_target(path, true))
                && !args
                    .iter()
                    .any(|arg| matches!(*arg, "-mtime" | "-empty" | "-mmin" | "-size" | "-path" | "-regex" | "-newer"))
        }
    };
    (hit && !negated).then(|| name.map_or_else(|| place.to_owned(), |name| format!("{}/{name}", trimmed(place))))
}
